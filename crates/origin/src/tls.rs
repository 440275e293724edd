//! TLS under a connection, on rustls without buffers of its own.
//!
//! Records are decrypted in place in memory that all connections of a thread share. A connection
//! keeps bytes only of a record that is not whole yet, and ciphertext that the socket did not
//! take. It asks for no certificate of the client, takes no early data and uses no kernel TLS.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags};
use rustls::server::{ServerConfig, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, EncodeError, EncodeTlsData, UnbufferedStatus};

use crate::link::Link;

/// Bytes of an unfinished record, or of an unfinished message of the handshake, that a client may
/// have; rustls itself takes messages of up to 64 KiB, and none of a client's is that long.
const PARTIAL_MAX: usize = 32 * 1024;

/// Bytes that are read at once behind those.
const READ_BYTES: usize = 32 * 1024;

/// Bytes that are encrypted in one call.
const SEND_BYTES: usize = 128 * 1024;

/// Bytes of plaintext in a record at the most.
const RECORD_BYTES: usize = 16 * 1024;

/// Room that a record takes beyond its plaintext, rounded up: its header, type and tag.
const OVERHEAD_BYTES: usize = 64;

/// Alerts and messages that are sent before a failed connection is closed.
const ALERT_STEPS_MAX: usize = 4;

/// What the TLS connections of a thread share.
#[derive(Default)]
pub(crate) struct Room {
    config: Option<Arc<ServerConfig>>,
    /// Ciphertext as it is read, decrypted in place.
    incoming: Vec<u8>,
    /// Ciphertext of answers.
    outgoing: Vec<u8>,
    /// Ciphertext of the handshake and what follows from it.
    talk: Vec<u8>,
}

impl Room {
    /// For a server with this `config`; without one there is no TLS.
    pub(crate) fn new(config: Option<Arc<ServerConfig>>) -> Self {
        let sized = |length| vec![0; if config.is_some() { length } else { 0 }];
        Self {
            incoming: sized(PARTIAL_MAX + READ_BYTES),
            outgoing: sized(SEND_BYTES + OVERHEAD_BYTES * (SEND_BYTES / RECORD_BYTES + 1)),
            talk: Vec::new(),
            config,
        }
    }

    /// The settings of TLS, if there is any.
    pub(crate) fn config(&self) -> Option<Arc<ServerConfig>> {
        self.config.clone()
    }
}

/// A connection under TLS.
pub(crate) struct Secure {
    socket: OwnedFd,
    /// Boxed, as it is larger than all the rest of a connection.
    session: Box<UnbufferedServerConnection>,
    /// Ciphertext of a record whose end has not come.
    partial: Vec<u8>,
    /// Ciphertext that the socket has not taken. The last byte of its plaintext is reported as
    /// unsent until all of it is out, so that whoever sends tries again.
    unsent: Vec<u8>,
    /// The client will send nothing more.
    is_closed: bool,
}

/// The client broke the protocol or TLS did not come about; what was to be said of it was said.
struct Broken;

impl Link for Secure {
    fn new(socket: OwnedFd, room: &Room) -> Option<Self> {
        let session = UnbufferedServerConnection::new(room.config()?).ok()?;
        Some(Self {
            socket,
            session: Box::new(session),
            partial: Vec::new(),
            unsent: Vec::new(),
            is_closed: false,
        })
    }

    #[inline]
    fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    fn receive(&mut self, room: &mut Room, buffer: &mut [u8]) -> Result<usize, Errno> {
        if self.is_closed {
            return Ok(0);
        }
        let waiting = self.partial.len();
        // Plaintext is shorter than its ciphertext, so what is read will fit.
        let most = READ_BYTES.min(buffer.len().saturating_sub(waiting));
        if waiting > PARTIAL_MAX || most == 0 {
            return Err(Errno::PROTO);
        }
        room.incoming[..waiting].copy_from_slice(&self.partial);
        let behind = &mut room.incoming[waiting..waiting + most];
        let read = net::recv(&self.socket, behind, RecvFlags::empty())?.0;
        if read == 0 {
            return Ok(0);
        }
        let (incoming, talk) = (&mut room.incoming[..waiting + read], &mut room.talk);
        talk.clear();
        let decrypted = self.decrypt(incoming, talk, buffer);
        // A handshake's messages always find room in a socket that nothing else was sent to; what
        // a client that takes nothing provokes beside them is not kept for it.
        if !talk.is_empty() && send(&self.socket, talk).unwrap_or(0) < talk.len() {
            return Err(Errno::PROTO);
        }
        match decrypted {
            Err(Broken) => Err(Errno::PROTO),
            Ok(0) if !self.is_closed => Err(Errno::AGAIN),
            Ok(plain) => Ok(plain),
        }
    }

    fn send(&mut self, room: &mut Room, bytes: &[u8]) -> Result<usize, Errno> {
        if !self.unsent.is_empty() {
            self.flush()?;
            return Ok(1.min(bytes.len()));
        }
        let bytes = &bytes[..bytes.len().min(SEND_BYTES)];
        let UnbufferedStatus { state, .. } = self.session.process_tls_records(&mut []);
        let Ok(ConnectionState::WriteTraffic(mut traffic)) = state else {
            return Err(Errno::PROTO);
        };
        let encrypted = traffic.encrypt(bytes, &mut room.outgoing);
        let length = encrypted.map_err(|_| Errno::PROTO)?;
        let sent = match send(&self.socket, &room.outgoing[..length]) {
            Err(Errno::AGAIN | Errno::INTR) => 0,
            other => other?,
        };
        if sent == length {
            return Ok(bytes.len());
        }
        self.unsent.extend_from_slice(&room.outgoing[sent..length]);
        Ok(bytes.len().saturating_sub(1))
    }

    fn end(&mut self, room: &mut Room) {
        let UnbufferedStatus { state, .. } = self.session.process_tls_records(&mut []);
        if let Ok(ConnectionState::WriteTraffic(mut traffic)) = state
            && let Ok(length) = traffic.queue_close_notify(&mut room.outgoing)
        {
            // The client may be gone already, and nobody else needs to know.
            let _ = send(&self.socket, &room.outgoing[..length]);
        }
    }
}

impl Secure {
    /// Decrypts `incoming` to `plain` and returns how many bytes that made; what is to be said
    /// is appended to `talk`.
    fn decrypt(
        &mut self,
        incoming: &mut [u8],
        talk: &mut Vec<u8>,
        plain: &mut [u8],
    ) -> Result<usize, Broken> {
        let (mut used, mut filled) = (0, 0);
        loop {
            let status = self.session.process_tls_records(&mut incoming[used..]);
            let UnbufferedStatus { mut discard, state } = status;
            match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(|_| Broken)?;
                        discard += record.discard;
                        let end = filled + record.payload.len();
                        let room = plain.get_mut(filled..end).ok_or(Broken)?;
                        room.copy_from_slice(record.payload);
                        filled = end;
                    }
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => encode(&mut data, talk)?,
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::WriteTraffic(_) | ConnectionState::BlockedHandshake) => {
                    used += discard;
                    break;
                }
                Ok(ConnectionState::PeerClosed | ConnectionState::Closed) => {
                    self.is_closed = true;
                    return Ok(filled);
                }
                _ => {
                    self.encode_alert(talk);
                    return Err(Broken);
                }
            }
            used += discard;
        }
        let rest = &incoming[used..];
        if !rest.is_empty() {
            self.partial.clear();
            self.partial.extend_from_slice(rest);
        } else if self.partial.capacity() > 0 {
            self.partial = Vec::new();
        }
        Ok(filled)
    }

    /// The alert that says why.
    #[cold]
    fn encode_alert(&mut self, talk: &mut Vec<u8>) {
        for _ in 0..ALERT_STEPS_MAX {
            match self.session.process_tls_records(&mut []).state {
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    if encode(&mut data, talk).is_err() {
                        return;
                    }
                }
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                _ => return,
            }
        }
    }

    /// Sends ciphertext left from earlier; `AGAIN` if that was not all of it.
    fn flush(&mut self) -> Result<(), Errno> {
        let sent = send(&self.socket, &self.unsent)?;
        if sent < self.unsent.len() {
            self.unsent.drain(..sent);
            return Err(Errno::AGAIN);
        }
        self.unsent = Vec::new();
        Ok(())
    }
}

fn send(socket: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    net::send(socket, bytes, SendFlags::NOSIGNAL)
}

fn encode<Data>(data: &mut EncodeTlsData<'_, Data>, out: &mut Vec<u8>) -> Result<(), Broken> {
    let start = out.len();
    match data.encode(&mut []) {
        Ok(_) => return Ok(()),
        Err(EncodeError::InsufficientSize(needed)) => out.resize(start + needed.required_size, 0),
        Err(_) => return Err(Broken),
    }
    let length = data.encode(&mut out[start..]).map_err(|_| Broken)?;
    out.truncate(start + length);
    Ok(())
}
