//! A server of one page for a few scrapers: HTTP/1.1, a connection for each request.
//!
//! Everything that a client can feed is bounded: connections, the length of a request's head, and
//! the time that a connection takes. A body is not read.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Source;

/// Connections at once; a further one takes the place of the oldest.
const CONNECTIONS_MAX: usize = 4;
/// Longest head of a request, bytes.
const HEAD_BYTES_MAX: usize = 8 << 10;
/// Header fields of a request.
const FIELDS_MAX: usize = 64;
/// What a connection may take from its beginning to its end.
const WITHIN: Duration = Duration::from_secs(5);
/// From one reading to the next.
const PERIOD: Duration = Duration::from_secs(1);
/// The content type of OpenMetrics 1.0.
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves until the other end of the pipe is closed.
pub(super) fn serve(listener: &TcpListener, over: &OwnedFd, mut source: impl Source) {
    let mut open: Vec<Connection> = Vec::new();
    let mut next = Instant::now();
    // After an error of accepting, such as of too many files, until the next reading.
    let mut rests = false;
    loop {
        let now = Instant::now();
        if now >= next {
            source.tick(now);
            (next, rests) = (now + PERIOD, false);
        }
        open.retain(|one| !one.is_over && one.until > now);
        let until = open.iter().map(|one| one.until).fold(next, Instant::min);
        let Some(ready) = wait(over, listener, !rests, &open, until - now) else {
            return;
        };
        for (one, is_ready) in open.iter_mut().zip(&ready.connections) {
            if *is_ready {
                one.go_on(&mut source);
            }
        }
        if ready.listener {
            match listener.accept() {
                Ok((stream, _)) => {
                    // Those who hold a place and say nothing keep nobody away.
                    if open.len() == CONNECTIONS_MAX {
                        open.remove(0);
                    }
                    open.extend(Connection::new(stream));
                }
                Err(error) => rests = !is_passing(error.kind()),
            }
        }
    }
}

struct Ready {
    listener: bool,
    connections: Vec<bool>,
}

/// Waits until something is to be done; `None` when it is over.
fn wait(
    over: &OwnedFd,
    listener: &TcpListener,
    accepts: bool,
    open: &[Connection],
    at_most: Duration,
) -> Option<Ready> {
    let mut waited = vec![PollFd::new(over, PollFlags::IN)];
    waited.push(if accepts {
        PollFd::new(listener, PollFlags::IN)
    } else {
        PollFd::new(listener, PollFlags::empty())
    });
    waited.extend(open.iter().map(|one| {
        let wanted = if one.writes() {
            PollFlags::OUT
        } else {
            PollFlags::IN
        };
        PollFd::new(&one.stream, wanted)
    }));
    let at_most = Timespec::try_from(at_most).ok();
    // An interrupted wait is one that found nothing.
    if poll(&mut waited, at_most.as_ref()).is_err() {
        waited.iter_mut().for_each(PollFd::clear_revents);
    }
    let is_ready: Vec<bool> = waited.iter().map(|it| !it.revents().is_empty()).collect();
    (!is_ready[0]).then(|| Ready {
        listener: is_ready[1],
        connections: is_ready[2..].to_vec(),
    })
}

fn is_passing(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted
    )
}

/// A request and its answer.
struct Connection {
    stream: TcpStream,
    until: Instant,
    head: Vec<u8>,
    /// The answer, and how much of it is sent; empty before the head is there.
    answer: Vec<u8>,
    sent: usize,
    is_over: bool,
}

impl Connection {
    fn new(stream: TcpStream) -> Option<Self> {
        stream.set_nonblocking(true).ok()?;
        Some(Self {
            stream,
            until: Instant::now() + WITHIN,
            head: Vec::new(),
            answer: Vec::new(),
            sent: 0,
            is_over: false,
        })
    }

    /// Whether the answer, or a part of it, is still to be sent.
    fn writes(&self) -> bool {
        self.sent < self.answer.len()
    }

    fn go_on(&mut self, source: &mut impl Source) {
        let gone = if self.answer.is_empty() {
            self.read(source)
        } else if self.writes() {
            self.write()
        } else {
            self.linger()
        };
        self.is_over = gone.is_err_and(|error| !is_passing(error.kind()));
    }

    fn read(&mut self, source: &mut impl Source) -> std::io::Result<()> {
        let mut part = [0; HEAD_BYTES_MAX];
        let room = HEAD_BYTES_MAX - self.head.len();
        let count = self.stream.read(&mut part[..room])?;
        if count == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.head.extend_from_slice(&part[..count]);
        match asked(&self.head) {
            Some(status) => self.answer = answer(status, source),
            None if self.head.len() == HEAD_BYTES_MAX => {
                self.answer = answer(Status::TooLong, source);
            }
            None => return Ok(()),
        }
        self.write()
    }

    fn write(&mut self) -> std::io::Result<()> {
        while self.writes() {
            self.sent += self.stream.write(&self.answer[self.sent..])?;
        }
        self.stream.shutdown(Shutdown::Write)
    }

    /// Reads what comes after the answer away: closing over it would take the answer back.
    fn linger(&mut self) -> std::io::Result<()> {
        let mut rest = [0; HEAD_BYTES_MAX];
        match self.stream.read(&mut rest)? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// What a request comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Page,
    /// The same without a body.
    Head,
    Elsewhere,
    /// It names a host that is not this machine.
    Foreign,
    NotRead,
    Wrong,
    TooLong,
}

/// What is asked for; `None` while the head is not whole.
fn asked(head: &[u8]) -> Option<Status> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(head) {
        Ok(httparse::Status::Partial) => return None,
        Ok(httparse::Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => return Some(Status::TooLong),
        Err(_) => return Some(Status::Wrong),
    }
    let path = request.path.unwrap_or_default();
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let mut hosts = request.headers.iter();
    if let Some(host) = hosts.find(|field| field.name.eq_ignore_ascii_case("host"))
        && !is_of_loopback(host.value)
    {
        return Some(Status::Foreign);
    }
    Some(match (request.method, path) {
        (Some("GET"), "/metrics") => Status::Page,
        (Some("HEAD"), "/metrics") => Status::Head,
        (Some("GET" | "HEAD"), _) => Status::Elsewhere,
        _ => Status::NotRead,
    })
}

/// Whether a `Host` names this machine. A browser that a foreign page has sent here, by a name that
/// leads to a loopback address, sends that name; it must not read the page.
fn is_of_loopback(host: &[u8]) -> bool {
    let text = String::from_utf8_lossy(host);
    let text = text.trim();
    let after_brackets = text.rfind(']').map_or(0, |at| at + 1);
    let end = text[after_brackets..].find(':');
    let name = &text[..end.map_or(text.len(), |at| after_brackets + at)];
    let address = name.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = |address: std::net::IpAddr| address.is_loopback();
    name.eq_ignore_ascii_case("localhost") || address.parse().is_ok_and(is_loopback)
}

fn answer(status: Status, source: &mut impl Source) -> Vec<u8> {
    let plain = "text/plain; charset=utf-8";
    let page = |source: &mut dyn Source| source.page();
    let (line, kind, body) = match status {
        Status::Page | Status::Head => ("200 OK", CONTENT_TYPE, page(source)),
        Status::Elsewhere => (
            "404 Not Found",
            plain,
            "the metrics are at /metrics\n".to_owned(),
        ),
        Status::Foreign => (
            "403 Forbidden",
            plain,
            "ask for a loopback address, such as 127.0.0.1, or localhost\n".to_owned(),
        ),
        Status::NotRead => (
            "405 Method Not Allowed",
            plain,
            "only GET is answered\n".to_owned(),
        ),
        Status::Wrong => (
            "400 Bad Request",
            plain,
            "this is not a request\n".to_owned(),
        ),
        Status::TooLong => (
            "431 Request Header Fields Too Large",
            plain,
            "the head of the request is too long\n".to_owned(),
        ),
    };
    let allow = match status {
        Status::NotRead => "allow: GET, HEAD\r\n",
        _ => "",
    };
    let head = format!(
        "HTTP/1.1 {line}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n{allow}\
         cache-control: no-store\r\nx-content-type-options: nosniff\r\nconnection: close\r\n\r\n",
        body.len()
    );
    match status {
        Status::Head => head.into_bytes(),
        _ => (head + &body).into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::super::{Endpoint, Serving};
    use super::*;

    struct Fixed(u64);

    impl Source for Fixed {
        fn tick(&mut self, _now: Instant) {
            self.0 += 1;
        }

        fn page(&mut self) -> String {
            format!("ticks {}\n# EOF\n", self.0)
        }
    }

    fn served() -> (SocketAddr, Serving) {
        let endpoint = Endpoint::open(([127, 0, 0, 1], 0).into()).expect("a port is free");
        let address = endpoint.address;
        (address, endpoint.serve(Fixed(0)).expect("it serves"))
    }

    /// All that comes back, as text.
    fn exchanged(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.write_all(request).expect("it reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it answers");
        text
    }

    #[test]
    fn the_page_is_given_and_nothing_else() {
        let (address, _serving) = served();
        let page = exchanged(address, b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
        assert!(
            page.contains(CONTENT_TYPE) && page.ends_with("# EOF\n"),
            "{page}"
        );
        let first = |request: &[u8]| {
            let all = exchanged(address, request);
            let (head, body) = all.split_once("\r\n\r\n").expect("a head");
            (head[9..12].to_owned(), body.is_empty())
        };
        let line = |text: &str| first(format!("{text} HTTP/1.1\r\n\r\n").as_bytes());
        assert_eq!(line("HEAD /metrics"), ("200".to_owned(), true));
        assert_eq!(line("GET /metrics?x=1"), ("200".to_owned(), false));
        assert_eq!(line("GET /"), ("404".to_owned(), false));
        assert_eq!(line("POST /metrics"), ("405".to_owned(), false));
        assert_eq!(first(b"\0\r\n\r\n"), ("400".to_owned(), false));
        let long = [
            b"GET /metrics HTTP/1.1\r\nx: ".to_vec(),
            vec![b'y'; 64 << 10],
        ]
        .concat();
        let mut stream = TcpStream::connect(address).expect("it listens");
        // It may answer and close before all of it is sent.
        let _ = stream.write_all(&long);
        let mut start = [0; 12];
        stream.read_exact(&mut start).expect("it answers");
        assert_eq!(&start, b"HTTP/1.1 431");
        let many = "a: b\r\n".repeat(FIELDS_MAX + 1);
        let many = format!("GET /metrics HTTP/1.1\r\n{many}\r\n");
        assert_eq!(first(many.as_bytes()).0, "431");
    }

    /// A name that leads here is how a foreign page would read the metrics.
    #[test]
    fn only_names_of_this_machine_are_answered() {
        let own = [
            "127.0.0.1:9464",
            "localhost",
            "LocalHost:9464",
            "[::1]:9464",
            "127.8.9.1",
        ];
        let foreign = [
            "x",
            "rebound.example:9464",
            "localhost.example",
            "192.0.2.1",
            "",
            "[",
            "]",
        ];
        for (hosts, expected) in [
            (own.as_slice(), Status::Page),
            (foreign.as_slice(), Status::Foreign),
        ] {
            for host in hosts {
                let request = format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n");
                assert_eq!(asked(request.as_bytes()), Some(expected), "{host}");
            }
        }
    }

    #[test]
    fn silent_clients_do_not_keep_others_away() {
        let (address, serving) = served();
        let silent: Vec<TcpStream> = (0..CONNECTIONS_MAX)
            .map(|_| TcpStream::connect(address).expect("it listens"))
            .collect();
        let page = exchanged(address, b"GET /metrics HTTP/1.1\r\n\r\n");
        assert!(page.starts_with("HTTP/1.1 200"), "{page}");
        drop(silent);
        drop(serving);
        // A child that another test has just forked has the listener too until it runs its program.
        let end = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(address).is_ok() {
            assert!(Instant::now() < end, "it is gone");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn only_loopback_and_a_free_port_are_taken() {
        let (address, _serving) = served();
        for refused in [
            address,
            ([0, 0, 0, 0], 0).into(),
            ([192, 0, 2, 1], 9464).into(),
        ] {
            let error = Endpoint::open(refused).err().expect("it is refused");
            assert_eq!(crate::exit::code_of(&error), crate::exit::USAGE, "{error}");
        }
    }
}
