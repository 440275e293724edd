//! What a server does that means harm, or is broken: floods, silence, ends at the wrong time.

use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::{Dir, StreamId, VarInt};

use super::Peer;

/// Datagrams or frames that a flood has in one go.
const AT_ONCE: u64 = 64;
/// What looks like a packet and is none.
const JUNK: &[u8] = &[0x45; 30];
/// Control stream whose SETTINGS has a length of 2^30 - 1.
const LONG_SETTINGS: &[u8] = b"\0\x04\xbf\xff\xff\xff";
/// Control stream with SETTINGS, and a GOAWAY that refuses every request.
const GOAWAY: &[u8] = b"\0\x04\0\x07\x01\0";
/// A stream of a type that is nobody's, and some of what is on it.
const UNKNOWN: &[u8] = b"\x21 and so on";

/// What a server does besides answering, from the handshake's end on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Hostility {
    #[default]
    None,
    /// Nothing at all is sent any more.
    FallsSilent,
    /// Closes the connection with this code.
    Closes(u32),
    /// Refuses all requests by GOAWAY.
    GoesAway,
    /// Sends SETTINGS that have no end.
    EndlessSettings,
    /// Opens streams of an unknown type, as many as it may.
    UnknownStreams,
    /// Sends PINGs as fast as it may.
    Pings,
    /// Sends datagrams that are nothing, as fast as it can.
    Junk,
    /// Sends datagrams of so many bytes that are nothing, as long as there is the connection and
    /// from a thread of its own, which does nothing else.
    JunkWithoutRest(usize),
    /// Raises its limits again and again.
    Windows,
    /// Does not end streams that the client has stopped.
    KeepsStopped,
    /// Answers a request as soon as it begins.
    AnswersEarly,
}

impl Hostility {
    /// Whether it goes on without being asked.
    pub(super) fn is_flood(self) -> bool {
        matches!(self, Self::Pings | Self::Junk | Self::Windows)
    }

    /// What is on the control stream at first.
    pub(super) fn control(self) -> &'static [u8] {
        match self {
            Self::EndlessSettings => LONG_SETTINGS,
            Self::GoesAway => GOAWAY,
            _ => b"\0\x04\0",
        }
    }

    /// Does what is done at the handshake's end.
    pub(super) fn begin(self, peer: &mut Peer, socket: &UdpSocket, now: Instant) {
        match self {
            Self::JunkWithoutRest(bytes) => {
                let socket = socket.try_clone().expect("another handle");
                let to = peer.connection.remote_address();
                let is_there = Arc::downgrade(&peer.is_there);
                std::thread::spawn(move || {
                    while is_there.strong_count() > 0 {
                        let _ = socket.send_to(&JUNK[..bytes], to);
                    }
                });
            }
            Self::FallsSilent => peer.is_silent = true,
            Self::Closes(code) => {
                let code = VarInt::from_u32(code);
                peer.connection.close(now, code, "".into());
            }
            Self::EndlessSettings => {
                if let Some(control) = peer.control {
                    let settings = b"\x21\0".repeat(2_000).leak();
                    peer.endless.push(Endless::new(control, b"", settings));
                }
            }
            _ => {}
        }
    }

    /// Does what is done again and again.
    pub(super) fn go_on(self, peer: &mut Peer, socket: &UdpSocket) {
        if peer.control.is_none() {
            return;
        }
        peer.done += 1;
        match self {
            Self::UnknownStreams => {
                while let Some(id) = peer.connection.streams().open(Dir::Uni) {
                    let _ = peer.connection.send_stream(id).write(UNKNOWN);
                }
            }
            Self::Windows => {
                let streams = VarInt::from_u32(100 + peer.done as u32);
                peer.connection.set_max_concurrent_streams(Dir::Bi, streams);
                let window = VarInt::from_u32(10_000_000 + 1_000 * peer.done as u32);
                peer.connection.set_receive_window(window);
            }
            Self::Junk => {
                for _ in 0..AT_ONCE {
                    let _ = socket.send_to(JUNK, peer.connection.remote_address());
                }
            }
            _ => {}
        }
    }

    /// Makes the next datagram of a flood; `false` where there is none.
    pub(super) fn next_packet(self, peer: &mut Peer, sent: u64) -> bool {
        let goes_on = self == Self::Pings && sent < AT_ONCE && peer.control.is_some();
        if goes_on {
            peer.connection.ping();
        }
        goes_on
    }
}

/// A stream on which a piece comes again and again.
pub(super) struct Endless {
    id: StreamId,
    /// What is still to come before the pieces.
    head: &'static [u8],
    piece: &'static [u8],
    at: usize,
}

impl Endless {
    pub(super) fn new(id: StreamId, head: &'static [u8], piece: &'static [u8]) -> Self {
        Self {
            id,
            head,
            piece,
            at: 0,
        }
    }

    /// Writes as much as finds room; `false` once the stream has ended.
    pub(super) fn go_on(&mut self, connection: &mut quinn_proto::Connection) -> bool {
        let mut stream = connection.send_stream(self.id);
        loop {
            let is_head = !self.head.is_empty();
            let next = if is_head {
                self.head
            } else {
                &self.piece[self.at..]
            };
            match stream.write(next) {
                Ok(written) if is_head => self.head = &self.head[written..],
                Ok(written) => self.at = (self.at + written) % self.piece.len(),
                Err(quinn_proto::WriteError::Blocked) => return true,
                Err(_) => return false,
            }
        }
    }
}
