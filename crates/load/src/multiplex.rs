//! HTTP/2 on one connection, as far as its requests go.
//!
//! ```text
//! bytes ─► Multiplex::take ─► Client::handle ─► events ─► Places ─► Tally
//! ```

use std::sync::Arc;

use bakeoff_record::Outcome;
use bakeoff_wire::h2::{
    Blocked, Client, Config, ErrorCode, Event, PeerSettings, Requests, Violation,
};

use crate::places::{Attempt, Opened, Places, Sink};

/// One connection's HTTP/2.
pub(crate) struct Multiplex {
    pub(crate) client: Client,
    /// The server said GOAWAY.
    is_left: bool,
    /// It said so without an error.
    is_graceful: bool,
}

/// Room for what a call leaves behind.
pub(crate) struct Room<'a> {
    /// Empty between calls.
    pub(crate) events: &'a mut Vec<Event>,
    /// Frames that answer what was read.
    pub(crate) frames: &'a mut Vec<u8>,
}

impl Multiplex {
    pub(crate) fn new(config: &Config, requests: &Arc<Requests>) -> Self {
        Self {
            client: Client::new(config, requests.clone()),
            is_left: false,
            is_graceful: false,
        }
    }

    /// Opens a stream for the request that waits longest, if there is one and room for it.
    #[inline]
    pub(crate) fn open_next(
        &mut self,
        places: &mut Places,
        is_closed_loop: bool,
        now: u64,
        frames: &mut Vec<u8>,
    ) -> Option<Opened> {
        places.open_next(is_closed_loop, now, |exchange, token| {
            match self.client.open(exchange, token, frames) {
                Ok(()) => Attempt::Opened,
                Err(Blocked::Full) => Attempt::Full,
                Err(Blocked::GoingAway | Blocked::UsedUp) => Attempt::Draining,
            }
        })
    }

    /// Takes what the server sent, and counts what has ended by it.
    pub(crate) fn take(
        &mut self,
        places: &mut Places,
        bytes: &[u8],
        room: Room<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<(), Violation> {
        let result = self.client.handle(bytes, room.events, room.frames);
        for event in room.events.drain(..) {
            self.handle(places, event, bytes, sink);
        }
        result.map(|_| ())
    }

    #[inline]
    fn handle(&mut self, places: &mut Places, event: Event, bytes: &[u8], sink: &mut Sink<'_>) {
        match event {
            Event::Head { token, status } => places.head(token, status, sink),
            Event::Data {
                token,
                start,
                length,
            } => {
                let part = &bytes[start as usize..(start + length) as usize];
                places.data(token, part, sink);
            }
            Event::End {
                token, body_bytes, ..
            } => places.end(token, body_bytes, sink),
            Event::Reset { token, code } => {
                let words = || format!("the server reset the stream: {code}");
                places.end_error(token, Outcome::Reset, None, sink, words);
            }
            Event::Refused { token } if self.is_graceful => places.withdraw(token, sink),
            Event::Refused { token } => {
                let words = || "the server did not take the stream".to_owned();
                places.end_error(token, Outcome::RefusedStream, None, sink, words);
            }
            Event::Malformed { token, violation } => {
                let words = || violation.to_string();
                places.end_error(token, Outcome::Protocol, None, sink, words);
            }
            Event::GoAway { code, .. } => {
                places.is_draining = true;
                self.is_graceful = code == ErrorCode::NO_ERROR;
                // A server may say it twice: that it will end, and later where.
                if !std::mem::replace(&mut self.is_left, true) {
                    sink.tally.counts.connections.goaways += 1;
                }
            }
            Event::SettingsChanged => {
                let settings = *self.client.peer_settings();
                sink.tally.counts.peer_settings.get_or_insert(settings);
            }
            Event::Informational { .. } => {}
        }
    }
}

/// What settings the first connection's server sent, as the record keeps them.
pub(crate) fn recorded(settings: &PeerSettings) -> bakeoff_record::PeerSettings {
    bakeoff_record::PeerSettings {
        max_concurrent_streams: settings.max_concurrent_streams,
        initial_window_bytes: settings.initial_window_size,
        frame_bytes_max: settings.max_frame_size,
        header_table_bytes: settings.header_table_size,
    }
}
