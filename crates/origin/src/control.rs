//! Reports counts on a separate listener, and asks for them.
//!
//! One request a connection: `GET /counts`, answered with the JSON of [`Counts`]; over TCP also
//! `POST /restart`, and for an origin on demand `POST /behaviour/on` and `POST /behaviour/off`,
//! answered with the same. Slow on purpose in one way: one client at a time, so that asking never
//! takes a core from answering.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use crate::behaviour::Behaviour;
use crate::counts::{Counters, Counts};
use crate::halt::Halt;

/// Longest sleep between two looks at whether to end.
const TICK: Duration = Duration::from_millis(50);

/// How long a client of the control listener may take to ask.
const ASK: Duration = Duration::from_millis(500);

/// How long the asking side waits for an answer.
const ANSWER: Duration = Duration::from_secs(5);

/// Bytes that an exchange may have in either direction.
const BYTES_MAX: usize = 8 * 1024;

/// What can be asked: the start of a request line, with the blank that ends the target.
const COUNTS: &str = "GET /counts ";
const ON: &str = "POST /behaviour/on ";
const OFF: &str = "POST /behaviour/off ";
const RESTART: &str = "POST /restart ";

/// How long a restart takes.
const RESTART_TAKES: Duration = Duration::from_millis(200);

/// Why counts could not be had.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The control address could not be asked.
    #[error("get counts from {address}: {source}; is the server still running?")]
    Ask {
        /// The control address.
        address: SocketAddr,
        /// The system's cause.
        source: io::Error,
    },
    /// Something answered that is no control listener.
    #[error("read the counts of {address}: expected 200 and JSON, found {found:?}")]
    Answer {
        /// The control address.
        address: SocketAddr,
        /// The start of what was answered.
        found: String,
    },
}

/// Asks the server whose control listener is at `address` what it has counted.
///
/// # Errors
/// When nothing answers within five seconds, or something else than a control listener does.
pub fn counts(address: SocketAddr) -> Result<Counts, ControlError> {
    exchange_with(address, COUNTS)
}

/// Makes an origin on demand behave as demanded, or with `begin` false to answer at once;
/// requests that have come keep what was decided of them.
///
/// # Errors
/// Those of [`counts`].
pub fn behave(address: SocketAddr, begin: bool) -> Result<Counts, ControlError> {
    exchange_with(address, if begin { ON } else { OFF })
}

/// Makes a server over TCP do as if it was started anew: it closes all connections, and lets nobody
/// in for a fifth of a second.
///
/// # Errors
/// Those of [`counts`].
pub fn restart(address: SocketAddr) -> Result<Counts, ControlError> {
    exchange_with(address, RESTART)
}

fn exchange_with(address: SocketAddr, question: &str) -> Result<Counts, ControlError> {
    let answer = ask(address, question).map_err(|source| ControlError::Ask { address, source })?;
    let text = String::from_utf8_lossy(&answer);
    let counts = text.split_once("\r\n\r\n").and_then(|(head, body)| {
        head.starts_with("HTTP/1.1 200 ")
            .then(|| serde_json::from_str(body).ok())
            .flatten()
    });
    counts.ok_or_else(|| ControlError::Answer {
        address,
        found: text.chars().take(80).collect(),
    })
}

fn ask(address: SocketAddr, question: &str) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&address, ANSWER)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))?;
    let question = format!("{question}HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(question.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(BYTES_MAX as u64).read_to_end(&mut answer)?;
    Ok(answer)
}

/// Adds up the counts of all loops.
pub(crate) fn total(counters: &[Counters]) -> Counts {
    let mut total = Counts::default();
    for one in counters {
        total.merge(one.snapshot());
    }
    total
}

/// Reports counts until the server ends.
pub(crate) fn report<B: Behaviour>(
    listener: &TcpListener,
    counters: &[Counters],
    behaviour: &B,
    halt: Halt<'_>,
) {
    while !halt.asked() {
        wait(listener);
        let Ok((stream, _)) = listener.accept() else {
            continue;
        };
        // A client that misbehaves loses its answer; nobody else needs to know.
        let _ = exchange(stream, counters, behaviour, halt);
    }
}

/// Sleeps until somebody asks, at the most a tick; after an error too, so that none makes it spin.
fn wait(listener: &TcpListener) {
    let tick = Timespec {
        tv_sec: 0,
        tv_nsec: TICK.subsec_nanos().into(),
    };
    let mut descriptors = [PollFd::new(listener, PollFlags::IN)];
    match poll(&mut descriptors, Some(&tick)) {
        Ok(_)
            if !descriptors[0]
                .revents()
                .intersects(PollFlags::ERR | PollFlags::NVAL) => {}
        _ => std::thread::sleep(TICK),
    }
}

fn exchange<B: Behaviour>(
    mut stream: TcpStream,
    counters: &[Counters],
    behaviour: &B,
    halt: Halt<'_>,
) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(TICK))?;
    stream.set_write_timeout(Some(TICK))?;
    let started = Instant::now();
    let mut question = Vec::new();
    while !question.windows(4).any(|window| window == b"\r\n\r\n") {
        let mut bytes = [0; 1024];
        match stream.read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(read) => question.extend_from_slice(&bytes[..read]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        let late = started.elapsed() > ASK || halt.asked();
        if late || question.len() > BYTES_MAX {
            return Ok(());
        }
    }
    let asks = |what: &str| question.starts_with(what.as_bytes());
    if asks(ON) || asks(OFF) {
        behaviour.behave(asks(ON));
    }
    if asks(RESTART) {
        halt.send_away(RESTART_TAKES);
    }
    let known = [COUNTS, ON, OFF, RESTART];
    let (status, body) = if known.into_iter().any(asks) {
        ("200 OK", serde_json::to_string(&total(counters))?)
    } else {
        (
            "404 Not Found",
            r#"{"error":"known are GET /counts, POST /behaviour/on or /off, and /restart"}"#
                .to_owned(),
        )
    };
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    );
    stream.write_all(answer.as_bytes())
}
