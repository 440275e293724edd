//! What belongs to a connection as a whole: the unidirectional streams of both sides.

use super::frame::{FrameReader, Kind, Step};
use super::settings::{Config, PeerSettings};
use super::{Violation, varint};

/// Most unidirectional streams that are kept track of at once.
const MAX_STREAMS: usize = 64;
/// Longest SETTINGS that are read, bytes; those of real servers have less than 100.
const MAX_SETTINGS_BYTES: u64 = 4096;
/// Type of a control stream.
const CONTROL: u8 = 0x0;

/// One HTTP/3 connection of a client, beside its request streams.
///
/// After a violation the connection is to be closed with its code.
#[derive(Debug)]
pub struct Connection {
    config: Config,
    peer: PeerSettings,
    /// The server's unidirectional streams that have not ended.
    streams: Vec<Stream>,
    control: Control,
    /// Which of the streams that there is one of came, a bit each.
    came: u8,
}

/// What a server said of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlEvent {
    /// The server's settings came, see [`Connection::peer_settings`].
    Settings,
    /// The server wants no more requests on this connection.
    GoAway {
        /// Requests on this stream and later ones are not processed.
        first_refused: u64,
    },
    /// A stream of an unknown type came. What comes on it is dropped; the caller may as well ask
    /// the server to stop sending, with the code H3_STREAM_CREATION_ERROR (RFC 9114, 6.2).
    Unwanted {
        /// Identifier of the stream.
        stream: u64,
    },
}

/// A unidirectional stream of the server's.
#[derive(Debug)]
struct Stream {
    id: u64,
    /// What has come of its type, and how many bytes of it have not.
    number: u64,
    missing: u8,
    kind: StreamKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamKind {
    /// Its type has not come whole.
    Untold,
    Control,
    /// QPACK's encoder: with no table it can say only that the table has no bytes.
    Encoder,
    /// QPACK's decoder, and whether it is within an integer's further bytes.
    Decoder {
        more: u8,
    },
    Unknown,
}

impl Connection {
    /// A connection that has not begun.
    pub fn new(config: &Config) -> Self {
        Self {
            config: *config,
            peer: PeerSettings::default(),
            streams: Vec::new(),
            control: Control::default(),
            came: 0,
        }
    }

    /// Appends what belongs on a unidirectional stream of this side, which stays open as long as
    /// the connection: its type and SETTINGS. Requests need not wait for the server's.
    pub fn begin(&self, out: &mut Vec<u8>) {
        out.push(CONTROL);
        self.config.write(out);
    }

    /// Takes bytes of a unidirectional stream of the server's, cut anywhere; `fin` says that the
    /// stream ends behind them. Hands what came of them to `on_event`.
    pub fn handle_uni(
        &mut self,
        stream: u64,
        bytes: &[u8],
        fin: bool,
        mut on_event: impl FnMut(ControlEvent),
    ) -> Result<(), Violation> {
        let place = self.place_of(stream)?;
        let mut at = 0;
        if self.streams[place].kind == StreamKind::Untold {
            self.read_type(place, bytes, &mut at, &mut on_event)?;
        }
        let rest = bytes.get(at..).unwrap_or_default();
        match &mut self.streams[place].kind {
            StreamKind::Control => self.control.read(rest, &mut self.peer, on_event)?,
            StreamKind::Encoder => super::qpack::check_encoder_without_table(rest)?,
            StreamKind::Decoder { more } => read_decoder_stream(more, rest)?,
            StreamKind::Untold | StreamKind::Unknown => {}
        }
        if fin {
            return self.end(place);
        }
        Ok(())
    }

    /// Ends a unidirectional stream of the server's that the server reset.
    pub fn handle_uni_reset(&mut self, stream: u64) -> Result<(), Violation> {
        match self.streams.iter().position(|known| known.id == stream) {
            Some(place) => self.end(place),
            None => Ok(()),
        }
    }

    /// The server's settings; until they come, the defaults.
    pub fn peer_settings(&self) -> &PeerSettings {
        &self.peer
    }

    /// Where a stream is; it is entered if it is new.
    fn place_of(&mut self, id: u64) -> Result<usize, Violation> {
        if let Some(place) = self.streams.iter().position(|known| known.id == id) {
            return Ok(place);
        }
        if self.streams.len() == MAX_STREAMS {
            return Err(Violation::TooManyStreams);
        }
        self.streams.push(Stream {
            id,
            number: 0,
            missing: 0,
            kind: StreamKind::Untold,
        });
        Ok(self.streams.len() - 1)
    }

    /// Reads a stream's type, as far as it has come.
    fn read_type(
        &mut self,
        place: usize,
        bytes: &[u8],
        at: &mut usize,
        on_event: &mut impl FnMut(ControlEvent),
    ) -> Result<(), Violation> {
        let stream = &mut self.streams[place];
        let Some(number) = varint::read(&mut stream.number, &mut stream.missing, bytes, at) else {
            return Ok(());
        };
        stream.kind = match number {
            0x0 => StreamKind::Control,
            0x1 => return Err(Violation::Push),
            0x2 => StreamKind::Encoder,
            0x3 => StreamKind::Decoder { more: 0 },
            _ => {
                stream.kind = StreamKind::Unknown;
                on_event(ControlEvent::Unwanted { stream: stream.id });
                return Ok(());
            }
        };
        let bit = 1 << number;
        if self.came & bit != 0 {
            return Err(Violation::SecondStream);
        }
        self.came |= bit;
        Ok(())
    }

    /// Ends a stream, unless the connection needs it.
    fn end(&mut self, place: usize) -> Result<(), Violation> {
        match self.streams.swap_remove(place).kind {
            StreamKind::Untold | StreamKind::Unknown => Ok(()),
            _ => Err(Violation::ClosedCriticalStream),
        }
    }
}

/// The server's control stream.
#[derive(Debug, Default)]
struct Control {
    frames: FrameReader,
    /// What has come of an integer in a payload, and how many bytes of it have not.
    number: u64,
    missing: u8,
    /// Whether SETTINGS has begun.
    has_settings: bool,
    /// The identifier of the setting whose value is next.
    setting: Option<u64>,
    /// The stream that a GOAWAY names which has not ended.
    goaway: Option<u64>,
    first_refused: Option<u64>,
}

impl Control {
    fn read(
        &mut self,
        bytes: &[u8],
        peer: &mut PeerSettings,
        mut on_event: impl FnMut(ControlEvent),
    ) -> Result<(), Violation> {
        let mut at = 0;
        while let Some(step) = self.frames.next(bytes, &mut at) {
            match step {
                Step::Header(kind, length) => self.check(kind, length)?,
                Step::Payload(Kind::Settings, part, is_last) => {
                    self.read_settings(part, peer)?;
                    if is_last {
                        self.check_whole(self.setting.is_none())?;
                        on_event(ControlEvent::Settings);
                    }
                }
                Step::Payload(Kind::GoAway, part, is_last) => {
                    self.read_goaway(part)?;
                    if is_last {
                        let first_refused = self.go_away()?;
                        on_event(ControlEvent::GoAway { first_refused });
                    }
                }
                Step::Payload(..) => {}
            }
        }
        Ok(())
    }

    /// Checks a frame's type; what a client may not be sent there is refused.
    fn check(&mut self, kind: Kind, length: u64) -> Result<(), Violation> {
        if kind == Kind::OfHttp2 {
            return Err(Violation::Http2Frame);
        }
        let is_first = !self.has_settings;
        match kind {
            Kind::Settings if is_first && length > MAX_SETTINGS_BYTES => {
                Err(Violation::SettingsTooLong)
            }
            Kind::Settings if is_first => {
                self.has_settings = true;
                Ok(())
            }
            _ if is_first => Err(Violation::MissingSettings),
            Kind::GoAway | Kind::Unknown => Ok(()),
            Kind::CancelPush => Err(Violation::Push),
            _ => Err(Violation::FrameUnexpected),
        }
    }

    /// Reads identifiers and values, as far as they have come.
    fn read_settings(&mut self, part: &[u8], peer: &mut PeerSettings) -> Result<(), Violation> {
        let mut at = 0;
        while let Some(number) = varint::read(&mut self.number, &mut self.missing, part, &mut at) {
            match self.setting.take() {
                None => self.setting = Some(number),
                Some(id) => peer.set(id, number)?,
            }
        }
        Ok(())
    }

    /// Reads a stream's identifier, and nothing behind it.
    fn read_goaway(&mut self, part: &[u8]) -> Result<(), Violation> {
        let mut at = 0;
        if self.goaway.is_none() {
            self.goaway = varint::read(&mut self.number, &mut self.missing, part, &mut at);
        }
        if at < part.len() {
            return Err(Violation::FrameLength);
        }
        Ok(())
    }

    /// Takes a GOAWAY that is whole (RFC 9114, 5.2 and 7.2.6).
    fn go_away(&mut self) -> Result<u64, Violation> {
        let id = self.goaway.take();
        self.check_whole(id.is_some())?;
        let id = id.unwrap_or_default();
        let is_raised = self.first_refused.is_some_and(|before| id > before);
        // Requests are on bidirectional streams of the client: every fourth one.
        if !id.is_multiple_of(4) || is_raised {
            return Err(Violation::GoAwayId);
        }
        self.first_refused = Some(id);
        Ok(id)
    }

    /// Checks that a payload does not end within an integer or between two that belong together.
    fn check_whole(&self, is_whole: bool) -> Result<(), Violation> {
        let fits = (is_whole && self.missing == 0).then_some(());
        fits.ok_or(Violation::FrameLength)
    }
}

/// Most bytes of a stream's identifier behind its prefix: nine times seven bits hold 62.
const MAX_MORE_BYTES: u8 = 9;

/// Reads what the server's decoder says. As this side inserts nothing, all that may come is that
/// a stream was cancelled, whatever its identifier, which means nothing here (RFC 9204, 4.4).
fn read_decoder_stream(more: &mut u8, bytes: &[u8]) -> Result<(), Violation> {
    for &byte in bytes {
        *more = match (*more, byte) {
            (0, 0x40..0x7f) => 0,
            (0, 0x7f) => 1,
            (0, _) => return Err(Violation::DecoderStream),
            (_, ..0x80) => 0,
            (MAX_MORE_BYTES, _) => return Err(Violation::DecoderStream),
            (count, _) => count + 1,
        };
    }
    Ok(())
}
