//! What a server does that means no harm: it answers each request after a pause.

use std::io;
use std::time::Duration;

use super::Protocol;
use super::frames::{self, Frame, Incoming};
use super::line::Line;

pub(super) const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Answers requests until the client leaves.
pub(super) fn answer(protocol: Protocol, line: &mut Line, pause: Duration) -> io::Result<()> {
    if !protocol.is_h2() {
        line.open(&[])?;
        loop {
            read_request(line)?;
            std::thread::sleep(pause);
            line.send(HELLO)?;
        }
    }
    line.open(&frames::settings())?;
    let (mut incoming, mut frames) = (Incoming::default(), Vec::new());
    while incoming.read(line, &mut frames)? {
        let answers: Vec<u8> = frames.drain(..).flat_map(answer_to).collect();
        if !answers.is_empty() {
            std::thread::sleep(pause);
            line.send(&answers)?;
        }
    }
    Ok(())
}

fn answer_to(frame: Frame) -> Vec<u8> {
    let is_ack = frame.flags & frames::ACK != 0;
    match frame.kind {
        frames::HEADERS => frames::answer(frame.stream),
        frames::SETTINGS if !is_ack => frames::frame(frames::SETTINGS, frames::ACK, 0, &[]),
        frames::PING if !is_ack => frames::frame(frames::PING, frames::ACK, 0, &frame.payload),
        _ => Vec::new(),
    }
}

/// Reads a request's head; one with a body is none of ours.
pub(super) fn read_request(line: &mut Line) -> io::Result<()> {
    let (mut head, mut buffer) = (Vec::new(), [0; 4096]);
    while !head.ends_with(b"\r\n\r\n") {
        match line.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            length => head.extend_from_slice(&buffer[..length]),
        }
    }
    Ok(())
}
