//! One connection of a client: opening streams, and the state that both directions share.

mod input;
mod receive;
mod send;

use std::sync::Arc;

use super::hpack::{Decoder, Encoder};
use super::request::Requests;
use super::response::Meanings;
use super::settings::{Config, PeerSettings};
use super::stream::{Slot, Streams};
use super::violation::ErrorCode;
use super::window::{self, ReceiveWindow, SendWindow};
use super::{Event, Violation, frame};
use crate::fields::HeaderBytes;
use input::Input;
use send::ReadyHead;

/// One HTTP/2 connection of a client.
///
/// The caller moves bytes: what is appended to `out` goes to the server, in this order, and what
/// comes from the server goes to [`handle`](Self::handle). A connection without streams owns
/// little memory beside itself; each stream in flight takes 50 bytes.
#[derive(Debug)]
pub struct Client {
    requests: Arc<Requests>,
    config: Config,
    control: Control,
    streams: Streams,
    /// Identifier of the next stream.
    next_id: u32,
    /// Streams at most at once, by both sides' limits; 0 once the server said GOAWAY.
    limit: u32,
    /// The last stream that the server takes, once it said GOAWAY.
    last_taken: Option<u32>,
    encoder: Encoder,
    /// HEADERS frames that were sent, to be sent again; found by the request's index.
    ready: Vec<ReadyHead>,
    meanings: Meanings,
    header_bytes: HeaderBytes,
    receive: ReceiveWindow,
    send: SendWindow,
    /// Streams whose request is not sent whole.
    pub(super) unsent: u32,
    /// The slot whose body is sent on first.
    turn: u16,
    input: Input,
    broken: Option<Violation>,
}

/// What SETTINGS and PING have come to.
#[derive(Debug)]
struct Control {
    peer: PeerSettings,
    /// Whether `peer` is what the server said.
    has_settings: bool,
    /// Whether the server has yet to acknowledge this side's settings.
    awaits_ack: bool,
    /// Bytes of acknowledgements that were appended and not reported.
    ack_bytes: u32,
    /// What the last GOAWAY said beside its code, as far as it is kept.
    debug: Option<Box<[u8]>>,
}

impl Control {
    const NEW: Self = Self {
        peer: PeerSettings::ASSUMED,
        has_settings: false,
        awaits_ack: true,
        ack_bytes: 0,
        debug: None,
    };
}

/// Why a stream cannot be opened now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Blocked {
    /// As many streams are open as both sides allow; one that ends makes room.
    #[error("as many streams are open as are allowed")]
    Full,
    /// The server said GOAWAY, or the connection ended by an error: another one is needed.
    #[error("the connection takes no more streams")]
    GoingAway,
    /// All identifiers are used up: another connection is needed.
    #[error("all stream identifiers of the connection are used up")]
    UsedUp,
}

impl Client {
    /// A connection that has not begun, for any of `requests`.
    pub fn new(config: &Config, requests: Arc<Requests>) -> Self {
        let config = config.clamped();
        Self {
            requests,
            config,
            control: Control::NEW,
            streams: Streams::default(),
            next_id: 1,
            limit: limit(&config, &PeerSettings::ASSUMED),
            last_taken: None,
            encoder: Encoder::default(),
            ready: Vec::new(),
            meanings: Meanings::new(Decoder::new(config.header_table_size)),
            header_bytes: HeaderBytes::default(),
            receive: ReceiveWindow::new(config.connection_window),
            send: SendWindow::new(window::DEFAULT_BYTES),
            unsent: 0,
            turn: 0,
            input: Input::default(),
            broken: None,
        }
    }

    /// Appends what a client sends first: the preface, its settings and its window. One stream
    /// may be opened at once; how many more is known when the server's settings have come.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(frame::PREFACE);
        self.config.write(out);
        let more = self.config.connection_window - window::DEFAULT_BYTES;
        if more > 0 {
            frame::write_window_update(0, more, out);
        }
    }

    /// Whether a stream can be opened now.
    #[inline]
    pub fn can_open(&self) -> bool {
        self.streams.open() < self.limit && self.next_id <= frame::STREAM_MAX
    }

    /// How many more streams can be opened now.
    pub fn capacity(&self) -> u32 {
        let identifiers = (frame::STREAM_MAX + 2).saturating_sub(self.next_id) / 2;
        let room = self.limit.saturating_sub(self.streams.open());
        room.min(identifiers)
    }

    /// Number of streams in flight.
    #[inline]
    pub fn open_streams(&self) -> u32 {
        self.streams.open()
    }

    /// Opens a stream for the request of this index and appends the request, as much of its body
    /// as flow control allows. Events name the stream by `token`.
    #[inline]
    pub fn open(&mut self, request: u32, token: u32, out: &mut Vec<u8>) -> Result<(), Blocked> {
        if !self.can_open() {
            return Err(self.blocked());
        }
        let id = self.next_id;
        self.next_id += 2;
        let has_body = !self.requests.body(request).is_empty();
        self.write_head(id, request, !has_body, out);
        let mut slot = Slot::new(id, token, request);
        slot.receive = ReceiveWindow::new(self.config.stream_window);
        slot.send = SendWindow::new(self.control.peer.initial_window_size);
        slot.is_sent = !has_body;
        let at = self.streams.insert(slot);
        if has_body {
            self.unsent += 1;
            self.send_body(at, u32::MAX, out);
        }
        Ok(())
    }

    #[cold]
    fn blocked(&self) -> Blocked {
        if self.is_going_away() {
            Blocked::GoingAway
        } else if self.next_id > frame::STREAM_MAX {
            Blocked::UsedUp
        } else {
            Blocked::Full
        }
    }

    /// Ends a stream that is no longer wanted; no event will name it. What the server still
    /// sends for it is dropped.
    ///
    /// Returns whether a part of its request is unsent because the window of the stream or of the
    /// connection is used up.
    pub fn cancel(&mut self, token: u32, out: &mut Vec<u8>) -> bool {
        let found = self.streams.all().find(|(_, slot)| slot.token == token);
        let Some((at, slot)) = found else {
            return false;
        };
        let window = slot.send.left().min(self.send.left());
        let (id, was_held) = (slot.id, !slot.is_sent && window == 0);
        frame::write_reset(id, ErrorCode::CANCEL, out);
        self.streams.remember_cancelled(id);
        self.release(at);
        was_held
    }

    /// Takes bytes from the server, cut anywhere, appends what came of them to `events` and what
    /// the connection answers by itself to `out`. Returns how many were taken: all, or 4 GiB.
    ///
    /// A violation ends the connection: `out` gets a GOAWAY that names the reason, `events` what
    /// had come before, and streams in flight get no event.
    #[inline]
    pub fn handle(
        &mut self,
        bytes: &[u8],
        events: &mut Vec<Event>,
        out: &mut Vec<u8>,
    ) -> Result<usize, Violation> {
        if let Some(violation) = self.broken {
            return Err(violation);
        }
        // Places in `bytes` are kept in 32 bits.
        let bytes = &bytes[..bytes.len().min(u32::MAX as usize)];
        match self.read(bytes, events, out) {
            Ok(()) => Ok(bytes.len()),
            Err(violation) => Err(self.break_off(violation, out)),
        }
    }

    /// Ends the connection because the server sends what has to be acknowledged and does not
    /// read the acknowledgements: appends GOAWAY with ENHANCE_YOUR_CALM. Only the caller knows
    /// how much of `out` is still unsent; [`take_ack_bytes`](Self::take_ack_bytes) reports what
    /// was added to it.
    ///
    /// Returns the violation that the connection ended by, which is an earlier one if it had
    /// ended before; then nothing is appended.
    #[cold]
    pub fn calm(&mut self, out: &mut Vec<u8>) -> Violation {
        match self.broken {
            Some(earlier) => earlier,
            None => self.break_off(Violation::Flood, out),
        }
    }

    #[cold]
    fn break_off(&mut self, violation: Violation, out: &mut Vec<u8>) -> Violation {
        self.broken = Some(violation);
        self.limit = 0;
        // A client has processed no stream of the server's.
        frame::write_goaway(0, violation.code(), out);
        violation
    }

    /// Bytes that [`handle`](Self::handle) appended since the last call of this, in answer to
    /// SETTINGS and PING: the only frames that make a client send without any request of its
    /// own. A caller adds them up until what it has to send is sent, and calls
    /// [`calm`](Self::calm) when they become too many.
    #[inline]
    pub fn take_ack_bytes(&mut self) -> u32 {
        std::mem::take(&mut self.control.ack_bytes)
    }

    /// Whether the server's settings have come: then the connection is ready, and its limits are
    /// the server's own.
    #[inline]
    pub fn has_settings(&self) -> bool {
        self.control.has_settings
    }

    /// Whether the server's settings have come and it has acknowledged this side's: then it has
    /// begun to read the connection.
    #[inline]
    pub fn is_settled(&self) -> bool {
        self.control.has_settings && !self.control.awaits_ack
    }

    /// The server's settings; until they come, what is assumed of them.
    pub fn peer_settings(&self) -> &PeerSettings {
        &self.control.peer
    }

    /// Whether no more streams can be opened because the server said GOAWAY or broke a rule.
    pub(crate) fn is_going_away(&self) -> bool {
        self.last_taken.is_some() || self.broken.is_some()
    }

    /// What the server's GOAWAY said beside its code, up to 100 bytes: a text for people, and
    /// whatever bytes it likes (RFC 9113, 6.8).
    pub fn goaway_debug(&self) -> &[u8] {
        self.control.debug.as_deref().unwrap_or_default()
    }

    /// What `location` said in the first head of a status, up to 1,024 bytes.
    pub fn location(&self, status: u16) -> Option<&[u8]> {
        self.meanings.location(status)
    }

    /// Size of the header blocks that came so far.
    pub fn header_bytes(&self) -> HeaderBytes {
        self.header_bytes
    }

    /// Goes on with this identifier: tests use up all without opening a thousand million.
    #[cfg(test)]
    pub(super) fn next_id(&mut self, id: u32) {
        self.next_id = id;
    }

    /// Frees the slot of a stream that has ended.
    #[inline]
    fn release(&mut self, at: u16) {
        self.unsent -= u32::from(!self.streams.slot(at).is_sent);
        self.streams.remove(at);
    }
}

/// Streams at most at once.
fn limit(config: &Config, peer: &PeerSettings) -> u32 {
    let theirs = peer.max_concurrent_streams.unwrap_or(u32::MAX);
    config.streams.min(theirs)
}
