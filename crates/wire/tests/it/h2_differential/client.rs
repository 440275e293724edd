//! The client's side: opens what the script says, and holds each event against it.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use bakeoff_wire::h2::{Client, Event, Request, Requests, Violation};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

use crate::h2_differential::script::{Connection, Exchange, Length, Random};
use crate::h2_differential::shadow::{Block, Shadow};

/// How exchanges ended.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    pub(crate) whole: usize,
    pub(crate) reset: usize,
    pub(crate) refused: usize,
    pub(crate) malformed: usize,
    pub(crate) cancelled: usize,
    /// In flight when the connection ended.
    pub(crate) cut_off: usize,
}

impl Ends {
    pub(crate) fn count(&self) -> usize {
        self.whole + self.reset + self.refused + self.malformed + self.cancelled + self.cut_off
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.whole += other.whole;
        self.reset += other.reset;
        self.refused += other.refused;
        self.malformed += other.malformed;
        self.cancelled += other.cancelled;
        self.cut_off += other.cut_off;
    }
}

/// What has come of one exchange.
#[derive(Debug, Default)]
struct Seen {
    interim: usize,
    status: Option<u16>,
    body: Vec<u8>,
}

struct Driver {
    script: Arc<Connection>,
    client: Client,
    shadow: Shadow,
    random: Random,
    /// By token, which is the exchange's number.
    in_flight: BTreeMap<u32, Seen>,
    next: u32,
    /// Whether a stream ended on one side before it did on the other: the `h2` crate counts it
    /// until it has sent all it meant to, and may refuse another one in its place.
    raced: bool,
    ends: Ends,
    out: Vec<u8>,
}

/// Carries out one connection's exchanges, until all have ended or the connection has.
pub(crate) async fn drive(pipe: DuplexStream, script: Arc<Connection>, random: Random) -> Ends {
    let request = |(number, exchange): (usize, &Exchange)| {
        let path = format!("/{number}");
        let (method, body) = (exchange.method, exchange.body.clone());
        Request::new(method, "http", "a.test", &path, &exchange.headers, body).expect("valid")
    };
    let requests = script.exchanges.iter().enumerate().map(request).collect();
    let mut driver = Driver {
        client: Client::new(&script.config, Arc::new(Requests::new(requests))),
        shadow: Shadow::new(script.config.header_table_size),
        script,
        random,
        in_flight: BTreeMap::new(),
        next: 0,
        raced: false,
        ends: Ends::default(),
        out: Vec::new(),
    };
    driver.client.begin(&mut driver.out);
    driver.run(pipe).await;
    driver.ends
}

impl Driver {
    async fn run(&mut self, mut pipe: DuplexStream) {
        let mut buffer = vec![0; 70_000];
        loop {
            self.open_some();
            if self.in_flight.is_empty() {
                return;
            }
            let length = self.random.below(buffer.len()) + 1;
            let length = if self.random.one_in(2) {
                length
            } else {
                length % 50 + 1
            };
            let Some(read) = move_bytes(&mut pipe, &mut self.out, &mut buffer[..length]).await
            else {
                return self.handle_end();
            };
            let mut events = Vec::new();
            let bytes = &buffer[..read];
            let handled = self.client.handle(bytes, &mut events, &mut self.out);
            assert_eq!(handled, Ok(read), "{:?}", self.script);
            for block in self.shadow.handle(bytes) {
                self.check_fields(block);
            }
            for event in events {
                self.handle(event, bytes);
            }
            if self.client.has_to_send() {
                self.client.send(&mut self.out);
            }
        }
    }

    /// Opens some of the next exchanges, or all that there is room for.
    fn open_some(&mut self) {
        let most = self.random.pick(&[0, 1, 5, 1000]);
        let most = if self.in_flight.is_empty() {
            1000
        } else {
            most
        };
        for _ in 0..most {
            if !self.client.can_open() || self.next as usize == self.script.exchanges.len() {
                return;
            }
            let opened = self.client.open(self.next, self.next, &mut self.out);
            assert_eq!(opened, Ok(()));
            assert!((self.in_flight.len() as u32) < self.script.config.streams);
            let theirs = self.script.server.streams;
            let most = if self.client.has_settings() {
                theirs
            } else {
                1
            };
            assert!((self.in_flight.len() as u32) < most);
            self.in_flight.insert(self.next, Seen::default());
            self.next += 1;
            assert_eq!(self.client.open_streams() as usize, self.in_flight.len());
        }
    }

    /// Holds a head's fields against the script's; they may come in another order.
    fn check_fields(&self, (stream, mut fields): Block) {
        let exchange = &self.script.exchanges[stream as usize / 2];
        let status = fields.iter().position(|(name, _)| name == ":status");
        let Some(status) = status.map(|at| fields.remove(at).1) else {
            return assert_eq!(fields, [("x-trailer".to_owned(), "1".to_owned())]);
        };
        if status == "103" {
            return assert_eq!(fields, []);
        }
        fields.retain(|(name, _)| !["content-length", "date"].contains(&name.as_str()));
        let mut expected = exchange.answer_headers.clone();
        fields.sort();
        expected.sort();
        assert_eq!((status, fields), (exchange.status.to_string(), expected));
    }

    fn handle(&mut self, event: Event, bytes: &[u8]) {
        match event {
            Event::SettingsChanged => assert!(self.client.has_settings()),
            Event::GoAway { .. } => assert!(self.script.server.goaway_after.is_some()),
            Event::Informational { token, status } => {
                let seen = self.seen(token);
                assert_eq!((status, seen.status), (103, None));
                seen.interim += 1;
            }
            Event::Head { token, status } => {
                let seen = self.seen(token);
                assert_eq!(seen.status.replace(status), None);
                if self.script.exchanges[token as usize].is_cancelled {
                    self.cancel(token);
                }
            }
            Event::Data {
                token,
                start,
                length,
            } => {
                assert!(length > 0);
                let part = &bytes[start as usize..][..length as usize];
                // Events from before the cancellation may still follow it.
                if !self.script.exchanges[token as usize].is_cancelled {
                    self.seen(token).body.extend_from_slice(part);
                }
            }
            Event::End { token, .. }
            | Event::Reset { token, .. }
            | Event::Refused { token }
            | Event::BeyondGoAway { token }
            | Event::Malformed { token, .. } => self.end(token, event),
        }
    }

    fn seen(&mut self, token: u32) -> &mut Seen {
        self.in_flight.get_mut(&token).expect("in flight")
    }

    /// Cancels a stream, unless its end is among the events of the same call.
    fn cancel(&mut self, token: u32) {
        let before = self.client.open_streams();
        self.client.cancel(token, &mut self.out);
        if self.client.open_streams() < before {
            self.in_flight.remove(&token);
            self.ends.cancelled += 1;
            self.raced = true;
        }
    }

    fn end(&mut self, token: u32, event: Event) {
        let seen = self.in_flight.remove(&token).expect("in flight");
        let exchange = &self.script.exchanges[token as usize];
        let answer = exchange.answer();
        let server = &self.script.server;
        self.raced |= !exchange.is_read && !exchange.body.is_empty() || exchange.reset.is_some();
        if !exchange.is_cancelled {
            assert!(answer.starts_with(&seen.body), "{event:?} {exchange:?}");
        }
        match event {
            Event::Refused { .. } | Event::BeyondGoAway { .. } => {
                let by_script = exchange.reset.is_some_and(|reset| reset.code == 7);
                let by_goaway = server.goaway_after.is_some();
                assert!(
                    by_script || by_goaway || self.raced,
                    "{token} {exchange:?} {:?}",
                    self.script
                );
                self.ends.refused += 1;
            }
            Event::Reset { code, .. } => {
                let reset = exchange.reset.expect("the script resets");
                assert_eq!(code.0, reset.code, "{exchange:?}");
                // A head that had not left yet when the stream was reset never comes.
                assert!(!reset.before_head || seen.status.is_none());
                assert!(seen.status.is_some() || seen.body.is_empty());
                self.ends.reset += 1;
            }
            Event::Malformed { violation, .. } => {
                assert_eq!(violation, Violation::ContentLength);
                assert_eq!(exchange.content_length, Length::Wrong);
                self.ends.malformed += 1;
            }
            Event::End {
                had_trailers,
                body_bytes,
                ..
            } => {
                assert!(exchange.reset.is_none() && exchange.content_length != Length::Wrong);
                assert_eq!(seen.status, Some(exchange.status));
                assert_eq!(seen.interim, exchange.interim);
                assert_eq!(had_trailers, exchange.has_trailers);
                assert_eq!(body_bytes, answer.len() as u64);
                assert!(exchange.is_cancelled || seen.body == answer);
                assert!(!exchange.has_no_body() || body_bytes == 0);
                self.ends.whole += 1;
            }
            _ => {}
        }
    }

    /// The server has closed the connection.
    fn handle_end(&mut self) {
        assert!(
            self.script.server.goaway_after.is_some(),
            "{:?}",
            self.script
        );
        self.ends.cut_off += self.in_flight.len();
    }
}

/// Writes what there is, reads what there is, and waits if that is nothing. `None` at the end.
async fn move_bytes(
    pipe: &mut DuplexStream,
    out: &mut Vec<u8>,
    buffer: &mut [u8],
) -> Option<usize> {
    poll_fn(|context| {
        while !out.is_empty() {
            match Pin::new(&mut *pipe).poll_write(context, out) {
                Poll::Ready(Ok(written)) => drop(out.drain(..written)),
                Poll::Ready(Err(_)) => out.clear(),
                Poll::Pending => break,
            }
        }
        let mut room = ReadBuf::new(buffer);
        match Pin::new(&mut *pipe).poll_read(context, &mut room) {
            Poll::Ready(Ok(())) if !room.filled().is_empty() => {
                Poll::Ready(Some(room.filled().len()))
            }
            Poll::Ready(_) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}
