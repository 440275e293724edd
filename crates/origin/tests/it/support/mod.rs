//! A server in this process, and how tests talk to it: raw sockets, ports from the system.

#![allow(dead_code, reason = "each test program takes what it needs")]

pub(crate) mod tls;
pub(crate) mod wire;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bakeoff_origin::{
    Behaviour, Counts, Immediate, Name, OriginError, Reply, ServeOptions, counts, serve_with,
};
use bakeoff_plan::Protocol;

pub(crate) const GET: &[u8] = b"GET /a HTTP/1.1\r\nHost: a\r\nX-Hotdogs: aplenty\r\n\r\n";

/// How long a test waits for what must come; only a failure takes that long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) control: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Counts, OriginError>>,
}

pub(crate) fn options(body: &[u8]) -> ServeOptions {
    ServeOptions {
        listen: "127.0.0.1:0".parse().unwrap(),
        also: Vec::new(),
        control: "127.0.0.1:0".parse().unwrap(),
        threads: 1,
        pin: Vec::new(),
        reply: Reply {
            status: 200,
            content_type: "text/plain".into(),
            body: body.into(),
        },
        name: Name::Origin,
        protocol: Protocol::H1,
        certificate: None,
    }
}

impl Server {
    pub(crate) fn start(options: ServeOptions) -> Self {
        Self::start_with(options, Immediate)
    }

    pub(crate) fn start_with<B: Behaviour + 'static>(options: ServeOptions, behaviour: B) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::spawn({
            let stop = Arc::clone(&stop);
            move || {
                let mut announce = |address, control| sender.send((address, control)).unwrap();
                serve_with(&options, behaviour, &mut announce, &stop)
            }
        });
        let (address, control) = receiver.recv_timeout(PATIENCE).unwrap();
        Self {
            address,
            control,
            stop,
            thread,
        }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    /// Everything that is answered to `request` until the server closes.
    pub(crate) fn last_word(&self, request: &[u8]) -> String {
        let mut stream = self.connect();
        stream.write_all(request).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8(answer).unwrap()
    }

    /// The counts as soon as they are as expected.
    pub(crate) fn counts_when(&self, expected: impl Fn(&Counts) -> bool) -> Counts {
        let started = Instant::now();
        loop {
            let now = counts(self.control).unwrap();
            if expected(&now) {
                return now;
            }
            assert!(started.elapsed() < PATIENCE, "still {now:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn end(self) -> Counts {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap().unwrap()
    }
}

/// Reads one answer with a body of `body` bytes and returns all of it.
pub(crate) fn read_answer(stream: &mut impl Read, body: usize) -> String {
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    let head = answer.len();
    answer.resize(head + body, 0);
    stream.read_exact(&mut answer[head..]).unwrap();
    String::from_utf8(answer).unwrap()
}
