//! Servers that send on and on, and never a whole answer.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

use bakeoff_plan::Protocol;

use super::{Answer, Approach, Expectation};

/// A frame of HTTP/2: settings that say nothing.
const SETTINGS: &[u8] = b"\0\0\0\x04\0\0\0\0\0";
/// A frame of HTTP/2 that nobody heeds: the priority of stream 3.
const PRIORITY: &[u8] = b"\0\0\x05\x02\0\0\0\0\x03\0\0\0\0\x10";
/// The beginning of a TLS record of 16 KiB with a handshake.
const RECORD: &[u8] = b"\x16\x03\x03\x40\0";

/// A server of one connection; the thread ends with whether the client hung up.
fn server(
    serve: impl FnOnce(TcpStream) -> io::Result<()> + Send + 'static,
) -> (SocketAddr, JoinHandle<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        serve(stream).is_err()
    });
    (address, serving)
}

fn ask(protocol: Protocol, address: SocketAddr, limit: Duration) -> io::Result<Answer> {
    let workload = bakeoff_plan::parse_workload("name = \"w\"\n", "w").unwrap();
    let request = workload.requests.first();
    Expectation::of(request, protocol, &Approach::by(None, &workload.client)).ask(address, limit)
}

/// The time of an exchange ends while the server still sends a `piece` every few milliseconds.
#[track_caller]
fn check_trickle(protocol: Protocol, first: &'static [u8], piece: &'static [u8]) {
    let (address, serving) = server(move |mut stream| {
        stream.write_all(first)?;
        for _ in 0..2_000 {
            stream.write_all(piece)?;
            sleep(Duration::from_millis(3));
        }
        Ok(())
    });
    let failed = ask(protocol, address, Duration::from_millis(300)).unwrap_err();
    assert_eq!(failed.kind(), io::ErrorKind::TimedOut, "{failed}");
    assert!(serving.join().unwrap(), "it was read to its end");
}

#[test]
fn an_exchange_ends_in_time_whatever_trickles_in() {
    check_trickle(Protocol::H1, b"HTTP/1.1 200 OK\r\n", b"A: b\r\n");
    check_trickle(Protocol::H2c, SETTINGS, PRIORITY);
    check_trickle(Protocol::H1Tls, RECORD, b"x");
    check_trickle(Protocol::H2, RECORD, b"x");
}

/// Reads until the head of the request on stream 1 has begun.
fn read_request(stream: &mut TcpStream) -> io::Result<()> {
    let mut left = [0; 24];
    stream.read_exact(&mut left)?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head)?;
        if head[3] == 1 {
            return Ok(());
        }
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        io::copy(&mut (&*stream).take(u64::from(length)), &mut io::sink())?;
    }
}

#[test]
fn a_body_without_end_is_given_up() {
    let (address, serving) = server(|mut stream| {
        stream.write_all(SETTINGS)?;
        read_request(&mut stream)?;
        stream.write_all(b"\0\0\x01\x01\x04\0\0\0\x01\x88")?;
        for _ in 0..4 {
            stream.write_all(b"\0\x3f\0\0\0\0\0\0\x01")?;
            stream.write_all(&[0; 0x3f00])?;
        }
        // Until the client hangs up.
        io::copy(&mut stream, &mut io::sink()).map(drop)
    });
    let failed = ask(Protocol::H2c, address, Duration::from_secs(5)).unwrap_err();
    assert!(failed.to_string().contains("does not end"), "{failed}");
    serving.join().unwrap();
}
