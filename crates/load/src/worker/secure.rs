//! Connections under TLS: the handshake, and reading what is encrypted.
//!
//! Ciphertext is read behind the part of a record that came before, decrypted in place, and its
//! plaintext goes to the same response reader as in the clear. A connection is closed without
//! `close_notify`: the response told where it ends, and the alert would cost a write each time.

use bakeoff_record::Outcome;
use bakeoff_wire::h1::{Response, Violation};
use rustix::io::Errno;

use super::Worker;
use super::exchange::{Read, ReadTime, early_end, failed_read, receive, whole};
use crate::clock::now;
use crate::connection::Phase;
use crate::spec::Protocol;
use crate::tls::{Progress, TlsFailure};

/// What one read of ciphertext came to.
pub(super) enum Ciphertext {
    /// So many bytes are in the buffer, those that waited before included.
    Some(usize, ReadTime),
    /// Nothing for now.
    Drained,
    /// The stream has ended.
    End,
    Failed(Errno),
}

impl Worker<'_> {
    /// Goes on with a handshake as far as what has come allows.
    pub(super) fn handle_handshaking(&mut self, slot: u32) {
        if !self.connections[slot as usize].unsent.is_empty() {
            self.flush(slot);
        }
        loop {
            let bytes = match self.read_ciphertext(slot) {
                Ciphertext::Some(bytes, _) => bytes,
                Ciphertext::Drained => return,
                Ciphertext::End => {
                    let words = || "the server closed the connection in the handshake".to_owned();
                    return self.fail(slot, Outcome::ClosedEarly, now(), words);
                }
                Ciphertext::Failed(errno) => {
                    let Read::Failed(outcome, words) = failed_read(errno) else {
                        return;
                    };
                    return self.fail(slot, outcome, now(), || words);
                }
            };
            let connection = &mut self.connections[slot as usize];
            let Some(tls) = &mut connection.tls else {
                return;
            };
            // An HTTP/2 server may say something in the segment that ends the handshake.
            let mut early = self.h2.as_mut().map(|h2| &mut h2.early);
            let mut plain = |data: &[u8]| {
                if let Some(early) = &mut early {
                    early.extend_from_slice(data);
                }
            };
            let incoming = &mut self.buffer[..bytes];
            match tls.handle(incoming, &mut self.made, &mut plain) {
                Ok(Progress {
                    established: true, ..
                }) => return self.finish_handshake(slot),
                Ok(Progress { closed: true, .. }) => {
                    let words = || "the server closed TLS in the handshake".to_owned();
                    return self.fail(slot, Outcome::Tls, now(), words);
                }
                Ok(_) => self.flush(slot),
                Err(failure) => {
                    return self.fail(slot, Outcome::Tls, now(), || failure.to_string());
                }
            }
        }
    }

    /// The handshake has ended: what the client still has to say goes with the request.
    fn finish_handshake(&mut self, slot: u32) {
        let now = now();
        let connection = &self.connections[slot as usize];
        let Some(tls) = &connection.tls else { return };
        let took_ns = now.saturating_sub(connection.begun);
        self.tally
            .handshake(took_ns, tls.is_resumed(), || tls.agreed());
        let may_be_h1 = connection.multiplex.is_none()
            && matches!(self.spec.protocol, Protocol::Auto | Protocol::H1);
        if tls.is_h2() {
            self.make_multiplexed(slot, now);
            self.take_early(slot, now);
            return;
        }
        if let Some(h2) = &mut self.h2 {
            h2.early.clear();
        }
        if may_be_h1 {
            self.make_ready(slot, now);
        } else {
            let words = || "the server did not agree to HTTP/2 (ALPN h2)".to_owned();
            self.fail(slot, Outcome::Protocol, now, words);
        }
    }

    /// Reads and decrypts until the response is whole or the socket is empty.
    pub(super) fn read_tls(&mut self, slot: u32, ended: bool) -> (Read, ReadTime) {
        loop {
            let (bytes, time) = match self.read_ciphertext(slot) {
                Ciphertext::Some(bytes, time) => (bytes, time),
                Ciphertext::Drained => return (Read::Drained, ReadTime::now()),
                Ciphertext::Failed(errno) => return (failed_read(errno), ReadTime::now()),
                Ciphertext::End => {
                    // Without close_notify the end could be anybody's: not the end of a body.
                    let end = self.connections[slot as usize].reader.handle_end();
                    let cut = bakeoff_wire::h1::EarlyEnd::InsideResponse;
                    return (early_end(end.err().unwrap_or(cut)), ReadTime::now());
                }
            };
            let (result, response, broken, beyond) = self.decrypt(slot, bytes, time.arrived);
            if !self.made.is_empty() {
                self.flush(slot);
            }
            if let Some(violation) = broken {
                return (Read::Failed(Outcome::Protocol, violation.to_string()), time);
            }
            self.answers_are_short = response.is_some();
            if let Some(response) = response {
                return (Read::Whole { response, beyond }, time);
            }
            match result {
                Err(failure) => return (Read::Failed(Outcome::Tls, failure.to_string()), time),
                Ok(Progress { closed: true, .. }) => {
                    let end = self.connections[slot as usize].reader.handle_end();
                    return (end.map_or_else(early_end, whole), time);
                }
                Ok(_) => {}
            }
            if bytes < self.buffer.len() && !ended {
                return (Read::Drained, time);
            }
        }
    }

    /// Decrypts `bytes` of the buffer and hands the plaintext to the response reader. Returns
    /// the response when it became whole, the rule that was broken, and whether bytes followed.
    fn decrypt(
        &mut self,
        slot: u32,
        bytes: usize,
        arrived: u64,
    ) -> (
        Result<Progress, TlsFailure>,
        Option<Response>,
        Option<Violation>,
        bool,
    ) {
        let connection = &mut self.connections[slot as usize];
        let exchange = &self.spec.exchanges[connection.exchange as usize];
        let expected = exchange.body.as_deref().unwrap_or_default();
        let (reader, comparison) = (&mut connection.reader, &mut connection.body);
        let (memo, first_byte) = (&mut self.memo, &mut connection.first_byte);
        let (mut response, mut broken, mut beyond) = (None, None, false);
        let mut plain = |data: &[u8]| {
            if response.is_some() || broken.is_some() {
                beyond |= !data.is_empty();
                return;
            }
            if *first_byte == 0 && !data.is_empty() {
                *first_byte = arrived;
            }
            let mut compare = |part: &[u8]| comparison.compare(expected, part);
            match reader.handle(data, memo, &mut compare) {
                Ok(progress) => {
                    beyond = progress.response.is_some() && progress.consumed < data.len();
                    response = progress.response;
                }
                Err(violation) => broken = Some(violation),
            }
        };
        let Some(tls) = &mut connection.tls else {
            return (Ok(Progress::default()), None, None, false);
        };
        let result = tls.handle(&mut self.buffer[..bytes], &mut self.made, &mut plain);
        (result, response, broken, beyond)
    }

    /// An idle connection under TLS became ready: tickets, the server's end, or talk.
    pub(super) fn handle_idle_tls(&mut self, slot: u32) {
        loop {
            let bytes = match self.read_ciphertext(slot) {
                Ciphertext::Some(bytes, _) => bytes,
                Ciphertext::Drained => return,
                Ciphertext::End | Ciphertext::Failed(_) => return self.lose_idle(slot),
            };
            let connection = &mut self.connections[slot as usize];
            let Some(tls) = &mut connection.tls else {
                return;
            };
            let mut talked = false;
            let incoming = &mut self.buffer[..bytes];
            let result = tls.handle(incoming, &mut self.made, &mut |data| {
                talked |= !data.is_empty();
            });
            let usable = matches!(result, Ok(Progress { closed: false, .. })) && !talked;
            if !usable {
                self.made.clear();
                return self.lose_idle(slot);
            }
            if !self.made.is_empty() {
                self.flush(slot);
            }
            if self.connections[slot as usize].phase != Phase::Idle {
                return;
            }
        }
    }

    /// Reads behind the ciphertext that waits for the rest of its record.
    pub(super) fn read_ciphertext(&mut self, slot: u32) -> Ciphertext {
        let connection = &self.connections[slot as usize];
        let (Some(socket), Some(tls)) = (&connection.socket, &connection.tls) else {
            return Ciphertext::Drained;
        };
        let waiting = tls.partial().len();
        if self.buffer.len() < waiting + super::READ_BYTES {
            // Records are at most 16 KiB, handshake messages rarely more: this happens once.
            let mut larger = vec![0; waiting + super::READ_BYTES];
            larger[..self.buffer.len()].copy_from_slice(&self.buffer);
            self.buffer = larger.into_boxed_slice();
        }
        self.buffer[..waiting].copy_from_slice(tls.partial());
        loop {
            return match receive(socket, &mut self.buffer[waiting..], self.stamps_ahead) {
                Ok((0, _)) => Ciphertext::End,
                Ok((read, time)) => {
                    self.tally.read(read);
                    Ciphertext::Some(waiting + read, time)
                }
                Err(Errno::AGAIN) => Ciphertext::Drained,
                Err(Errno::INTR) => continue,
                Err(errno) => Ciphertext::Failed(errno),
            };
        }
    }
}
