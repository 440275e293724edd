//! A way to a server that takes its time and loses some of what is sent on it, both ways.

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

/// What the relay does to each datagram, either way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    pub(crate) delay: Duration,
    /// Datagrams lost of ten thousand.
    pub(crate) lost: u64,
    pub(crate) seed: u64,
}

/// What the relay counted on the way to the server.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) came: AtomicU64,
    pub(crate) lost: AtomicU64,
}

/// A datagram on its way.
struct Late {
    due: Instant,
    socket: Arc<UdpSocket>,
    to: SocketAddr,
    bytes: Vec<u8>,
}

/// Relays to `server`, for the life of the test. Returns the port that clients send to.
pub(crate) fn relay(server: u16, way: Way) -> (u16, Arc<Counts>) {
    let counts = Arc::new(Counts::default());
    let front = Arc::new(UdpSocket::bind("127.0.0.1:0").expect("a free port"));
    let port = front.local_addr().expect("bound").port();
    let shared = counts.clone();
    std::thread::spawn(move || carry_there(&front, server, way, &shared));
    (port, counts)
}

/// Carries what clients send; each has a socket of its own before the server.
fn carry_there(front: &Arc<UdpSocket>, server: u16, way: Way, counts: &Counts) {
    let server = SocketAddr::from(([127, 0, 0, 1], server));
    let line = delay_line();
    let mut dice = Dice(way.seed);
    let mut backs: HashMap<SocketAddr, Arc<UdpSocket>> = HashMap::new();
    let mut buffer = vec![0; 65536];
    while let Ok((length, from)) = front.recv_from(&mut buffer) {
        let next = backs.len() as u64 + 1;
        let back = backs.entry(from).or_insert_with(|| {
            let back = Arc::new(UdpSocket::bind("127.0.0.1:0").expect("a free port"));
            let (mine, front) = (back.clone(), front.clone());
            let way = Way {
                seed: way.seed.wrapping_add(next),
                ..way
            };
            std::thread::spawn(move || carry_back(&mine, &front, from, way));
            back
        });
        counts.came.fetch_add(1, Ordering::Relaxed);
        if dice.is_lost(way.lost) {
            counts.lost.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        let late = Late {
            due: Instant::now() + way.delay,
            socket: back.clone(),
            to: server,
            bytes: buffer[..length].to_vec(),
        };
        line.send(late).expect("the line outlives its ends");
    }
}

/// Carries what the server sends to one client.
fn carry_back(back: &UdpSocket, front: &Arc<UdpSocket>, client: SocketAddr, way: Way) {
    let line = delay_line();
    let mut dice = Dice(way.seed);
    let mut buffer = vec![0; 65536];
    while let Ok(length) = back.recv(&mut buffer) {
        if dice.is_lost(way.lost) {
            continue;
        }
        let late = Late {
            due: Instant::now() + way.delay,
            socket: front.clone(),
            to: client,
            bytes: buffer[..length].to_vec(),
        };
        line.send(late).expect("the line outlives its ends");
    }
}

/// Sends each datagram when it is due, in the order in which they came.
fn delay_line() -> Sender<Late> {
    let (line, end) = channel::<Late>();
    std::thread::spawn(move || {
        for late in end {
            std::thread::sleep(late.due.saturating_duration_since(Instant::now()));
            let _ = late.socket.send_to(&late.bytes, late.to);
        }
    });
    line
}

/// SplitMix64, a short generator of which the seed is all the state (Steele, Lea, Flood 2014).
struct Dice(u64);

impl Dice {
    fn is_lost(&mut self, of_ten_thousand: u64) -> bool {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % 10_000 < of_ten_thousand
    }
}
