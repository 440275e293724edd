//! What happens on a connection, drawn at random beforehand so that both sides know it.

use bakeoff_wire::h2::Config;

/// A generator of random numbers (xorshift64*).
#[derive(Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end
    }

    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Another generator, so that what one side draws does not depend on the other.
    pub(crate) fn branch(&mut self) -> Self {
        Self(self.next() | 1)
    }
}

/// What one connection is like.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) config: Config,
    pub(crate) server: Server,
    pub(crate) exchanges: Vec<Exchange>,
    /// Bytes that the pipe holds in each direction.
    pub(crate) pipe_bytes: usize,
}

/// The server's limits.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) streams: u32,
    pub(crate) stream_window: u32,
    pub(crate) header_table_size: u32,
    pub(crate) max_frame_size: u32,
    /// After so many requests the server says GOAWAY, if at all.
    pub(crate) goaway_after: Option<usize>,
    /// Whether it does so abruptly.
    pub(crate) abruptly: bool,
}

/// A request and its answer.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) method: &'static str,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Whether the server reads the request's body before it answers.
    pub(crate) is_read: bool,
    pub(crate) interim: usize,
    pub(crate) status: u16,
    pub(crate) answer_headers: Vec<(String, String)>,
    pub(crate) content_length: Length,
    /// The answer's body, in the parts that the server sends it in.
    pub(crate) parts: Vec<Vec<u8>>,
    pub(crate) has_trailers: bool,
    pub(crate) reset: Option<Reset>,
    /// Whether the client cancels the stream once the head has come.
    pub(crate) is_cancelled: bool,
}

/// What the answer says of its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    Absent,
    Right,
    Wrong,
}

/// The server resets the stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reset {
    /// Before the head, or else behind the body's parts.
    pub(crate) before_head: bool,
    pub(crate) code: u32,
}

impl Exchange {
    /// The answer's body.
    pub(crate) fn answer(&self) -> Vec<u8> {
        self.parts.concat()
    }

    /// Whether the answer is its head alone.
    pub(crate) fn has_no_body(&self) -> bool {
        self.method == "HEAD" || matches!(self.status, 204 | 304)
    }

    fn random(random: &mut Random) -> Self {
        let method = random.pick(&["GET", "GET", "HEAD", "POST", "PUT"]);
        let has_body = matches!(method, "POST" | "PUT");
        let status = random.pick(&[200, 200, 200, 201, 204, 304, 404, 500, 503]);
        let is_empty = method == "HEAD" || matches!(status, 204 | 304);
        let parts = if is_empty { 0 } else { random.below(4) };
        let reset = random.one_in(20).then(|| Reset {
            before_head: random.one_in(2),
            code: random.pick(&[2, 7, 8, 11, 0xbeef]),
        });
        let content_length = match random.below(20) {
            0 if !is_empty => Length::Wrong,
            1..=9 => Length::Right,
            _ => Length::Absent,
        };
        Self {
            method,
            headers: headers(random),
            body: if has_body { bytes(random) } else { Vec::new() },
            is_read: !random.one_in(5),
            interim: random.below(8).saturating_sub(5),
            status,
            answer_headers: headers(random),
            content_length,
            parts: (0..parts).map(|_| bytes(random)).collect(),
            has_trailers: !is_empty && random.one_in(5),
            reset,
            is_cancelled: random.one_in(25),
        }
    }
}

impl Connection {
    pub(crate) fn random(random: &mut Random) -> Self {
        let config = Config {
            streams: random.pick(&[1, 3, 10, 100]),
            stream_window: random.pick(&[100, 1_000, 65_535, 1 << 20]),
            connection_window: random.pick(&[65_535, 100_000, 1 << 24]),
            header_table_size: random.pick(&[0, 100, 4096, 65_536]),
            max_frame_size: random.pick(&[16_384, 20_000]),
        };
        let server = Server {
            streams: random.pick(&[2, 10, 100, 1000]),
            stream_window: random.pick(&[1_000, 10_000, 65_535, 1 << 20]),
            header_table_size: random.pick(&[0, 100, 4096, 65_536]),
            max_frame_size: random.pick(&[16_384, 50_000]),
            goaway_after: random.one_in(4).then(|| random.below(40) + 1),
            abruptly: random.one_in(3),
        };
        Self {
            config,
            server,
            exchanges: (0..60).map(|_| Exchange::random(random)).collect(),
            pipe_bytes: random.pick(&[50, 1_000, 20_000, 1 << 20]),
        }
    }
}

/// A few headers: some that come again and again, some long, some with bytes beyond ASCII.
fn headers(random: &mut Random) -> Vec<(String, String)> {
    let names = [
        "x-hotdogs",
        "server",
        "etag",
        "accept-language",
        "cache-control",
        "x-y",
    ];
    let value = |random: &mut Random| match random.below(6) {
        0 => String::new(),
        1 => "Sat, 21 Nov 2026 09:13:00 GMT".to_owned(),
        2 => format!("{:x}", random.next()),
        3 => "a\u{e9}\\~|<>".repeat(random.below(9)),
        4 => "gzip, deflate".to_owned(),
        _ => "v".repeat(random.below(400)),
    };
    (0..random.below(6))
        .map(|_| (random.pick(&names).to_owned(), value(random)))
        .collect()
}

/// Up to 70,000 bytes, most often few.
fn bytes(random: &mut Random) -> Vec<u8> {
    let length = match random.below(10) {
        0 => random.below(70_000),
        1..=3 => random.below(3_000),
        _ => random.below(30),
    };
    (0..length).map(|_| random.next() as u8).collect()
}
