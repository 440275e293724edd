//! Servers that want to do harm: floods without end, and connections that end where it hurts.
//!
//! ```text
//! Server::start(Protocol, Act) ─► a thread accepts ─► Line (in the clear or TLS) ─► Act, on a
//!                                                     thread for each connection
//! ```
//!
//! They run on threads of the program that starts them, on the loopback, at a port from the
//! system. Every loop ends by itself: with its server, with its connection, after [`LIFE`] or
//! after [`BYTES_MAX`]. They know nothing of bakeoff and check nothing of what they are sent.

mod edge;
mod flood;
mod frames;
mod good;
mod line;

pub(crate) use edge::Edge;
pub(crate) use flood::Flood;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use line::{Life, Line, Secure};

/// The longest that a connection is kept busy.
const LIFE: Duration = Duration::from_secs(60);
/// Most bytes that a connection is sent.
const BYTES_MAX: u64 = 1 << 37;
/// As many connections may wait to be accepted as the system lets them.
const BACKLOG: i32 = 4096;

/// What a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    H1,
    H1Tls,
    H2c,
    H2,
}

impl Protocol {
    pub(crate) const ALL: [Self; 4] = [Self::H1, Self::H1Tls, Self::H2c, Self::H2];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::H1 => "h1",
            Self::H1Tls => "h1-tls",
            Self::H2c => "h2c",
            Self::H2 => "h2",
        }
    }

    pub(crate) fn is_secure(self) -> bool {
        matches!(self, Self::H1Tls | Self::H2)
    }

    pub(crate) fn is_h2(self) -> bool {
        matches!(self, Self::H2c | Self::H2)
    }
}

/// What a server does with its connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// Floods every connection.
    Flood(Flood),
    /// Floods one connection at a time and answers on the others, each request after a pause.
    Beside(Flood, Duration),
    /// The same without the flood: says nothing on one connection.
    BesideSilence(Duration),
    /// Ends every connection at an edge.
    Edge(Edge),
    /// Accepts and says nothing, ever.
    Silent,
}

impl Act {
    /// Everything that can be done over a protocol, by name.
    pub(crate) fn all(protocol: Protocol) -> Vec<(String, Self)> {
        /// What an answer takes beside a flood.
        const PAUSE: Duration = Duration::from_millis(1);
        let mut acts = vec![
            ("silent".to_owned(), Self::Silent),
            ("beside:silence".to_owned(), Self::BesideSilence(PAUSE)),
        ];
        for &flood in Flood::over(protocol) {
            acts.push((format!("flood:{}", flood.name()), Self::Flood(flood)));
            acts.push((
                format!("beside:{}", flood.name()),
                Self::Beside(flood, PAUSE),
            ));
        }
        for &edge in Edge::over(protocol) {
            acts.push((format!("edge:{}", edge.name()), Self::Edge(edge)));
        }
        acts
    }
}

/// A server that runs until it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

/// What a server's threads have in common.
struct Shared {
    protocol: Protocol,
    act: Act,
    secure: Option<Secure>,
    is_over: Arc<AtomicBool>,
    accepted: AtomicUsize,
    /// Whether one connection is being flooded, or left in silence, beside the others.
    is_taken: AtomicBool,
}

impl Server {
    pub(crate) fn start(protocol: Protocol, act: Act) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        rustix::net::listen(&listener, BACKLOG).unwrap();
        let address = listener.local_addr().unwrap();
        if matches!(act, Act::Flood(flood) | Act::Beside(flood, _) if !flood.is_drained()) {
            // What is not read is to be felt soon.
            rustix::net::sockopt::set_socket_recv_buffer_size(&listener, 4096).unwrap();
        }
        let shared = Arc::new(Shared {
            protocol,
            act,
            secure: protocol.is_secure().then(|| Secure::new(protocol)),
            is_over: Arc::new(AtomicBool::new(false)),
            accepted: AtomicUsize::new(0),
            is_taken: AtomicBool::new(false),
        });
        let theirs = shared.clone();
        let acceptor = std::thread::spawn(move || accept(&listener, &theirs));
        Self {
            address,
            shared,
            acceptor: Some(acceptor),
        }
    }

    pub(crate) fn url(&self) -> String {
        let scheme = if self.shared.protocol.is_secure() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}/", self.address)
    }

    /// Connections that were accepted so far.
    pub(crate) fn accepted(&self) -> usize {
        self.shared.accepted.load(Relaxed)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Relaxed);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut silent = Vec::new();
    while !shared.is_over.load(Relaxed) {
        let socket = match listener.accept() {
            Ok((socket, _)) => socket,
            // No file left, most likely: what is open may close.
            Err(_) => {
                std::thread::sleep(Duration::from_millis(10));
                continue;
            }
        };
        shared.accepted.fetch_add(1, Relaxed);
        if shared.act == Act::Silent {
            silent.push(socket);
            continue;
        }
        let shared = shared.clone();
        // An error is a client that left, or a server that is over.
        std::thread::spawn(move || drop(shared.serve(socket)));
    }
}

impl Shared {
    fn serve(&self, socket: TcpStream) -> std::io::Result<()> {
        let life = Life {
            is_over: self.is_over.clone(),
            until: Instant::now() + LIFE,
            bytes_left: BYTES_MAX,
        };
        let mut line = Line::new(socket, self.secure.as_ref(), life)?;
        match self.act {
            Act::Flood(flood) => flood.send(self.protocol, &mut line),
            Act::Edge(edge) => edge.act(self.protocol, &mut line),
            Act::Silent => Ok(()),
            Act::Beside(_, pause) | Act::BesideSilence(pause) => self.beside(&mut line, pause),
        }
    }

    /// One connection at a time is the other one, the rest get answers.
    fn beside(&self, line: &mut Line, pause: Duration) -> std::io::Result<()> {
        if self.is_taken.swap(true, Relaxed) {
            // Answers go before floods on this processor, so that they wait for the client alone.
            let _ = rustix::process::setpriority_process(None, -10);
            return good::answer(self.protocol, line, pause);
        }
        let result = match self.act {
            Act::Beside(flood, _) => {
                let _ = rustix::process::setpriority_process(None, 19);
                flood.send(self.protocol, line)
            }
            _ => line.drain(),
        };
        self.is_taken.store(false, Relaxed);
        result
    }
}
