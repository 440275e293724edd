//! Servers for `bakeoff load` that do one wrong thing each, on threads of the test.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Calls `serve` with every connection, on a thread of its own, until the test program ends.
pub(crate) fn server(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Answers every request with these bytes and keeps the connection.
pub(crate) fn always(bytes: &'static [u8]) -> SocketAddr {
    server(move |mut stream| {
        while read_request(&mut stream) {
            if stream.write_all(bytes).is_err() {
                return;
            }
        }
    })
}

/// Answers the first request of a connection with these bytes and closes it.
pub(crate) fn once(bytes: &'static [u8]) -> SocketAddr {
    server(move |mut stream| {
        if read_request(&mut stream) {
            let _ = stream.write_all(bytes);
        }
    })
}

/// Reads requests and never answers.
pub(crate) fn stalling() -> SocketAddr {
    server(|mut stream| {
        while read_request(&mut stream) {}
        std::thread::sleep(Duration::from_secs(1));
    })
}

/// Ports of tests, below those that Linux chooses for sockets without one.
const PORTS: Range<u16> = 20_000..32_000;

/// A port that nobody listens on. No two tests get the same, nor does a server of a test that
/// listens where the kernel chose: else a test asks the server of another one.
pub(crate) fn nobody() -> SocketAddr {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    // Two test programs at a time, whose ids may be neighbours, have different ports.
    let first = std::process::id().wrapping_mul(257);
    for _ in PORTS {
        let nth = first.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed));
        let port = PORTS.start + (nth % PORTS.len() as u32) as u16;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
    panic!("each port of {PORTS:?} is taken");
}

/// The end of a request's head, or nothing more to come.
fn read_request(stream: &mut TcpStream) -> bool {
    let mut head = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return false,
            Ok(length) => head.extend_from_slice(&chunk[..length]),
        }
        if head.ends_with(b"\r\n\r\n") {
            return true;
        }
    }
}
