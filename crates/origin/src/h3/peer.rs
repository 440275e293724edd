//! One connection's streams: requests read, answers written as far as QUIC takes them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Instant;

use bytes::Bytes;
use quinn_proto::{
    Connection, ConnectionHandle, Dir, Event, ReadError, StreamEvent, StreamId, VarInt, WriteError,
};

use super::replies::Ready;
use super::request::{Refused, RequestReader, Sections, code};
use crate::behaviour::{Behaviour, Decision};
use crate::connection::{count, count_act};
use crate::counts::Counters;
use crate::delivery::{Delivery, Progress};
use crate::replies::Replies;
use crate::request::{Method, Request, Version};

/// The control stream's first and only bytes: its type, and SETTINGS without any (RFC 9114, 6.2.1).
const CONTROL: &[u8] = &[0x0, 0x4, 0x0];

/// What the peers of a thread share.
pub(super) struct Kit<'a, B> {
    pub(super) replies: &'a Replies<Ready>,
    pub(super) counters: &'a Counters,
    pub(super) behaviour: B,
    pub(super) sections: Sections,
}

/// One connection.
pub(super) struct Peer {
    pub(super) connection: Connection,
    pub(super) handle: ConnectionHandle,
    pub(super) remote: SocketAddr,
    /// The time that the loop will wake it at.
    pub(super) alarm: Option<Instant>,
    /// Whether it is among those that are to be driven.
    pub(super) is_marked: bool,
    /// Streams that have to wait for something. QUIC's limit of streams bounds them.
    exchanges: BTreeMap<StreamId, Exchange>,
    /// Those that wait for their time.
    waiting: BTreeSet<(Instant, StreamId)>,
}

/// A request that has not come whole, or an answer that has not gone.
#[derive(Default)]
struct Exchange {
    reader: RequestReader,
    answer: Option<Answer>,
}

struct Answer {
    delivery: Delivery,
    is_head: bool,
    /// How it goes on when nothing is unsent.
    progress: Progress,
    /// What QUIC has not taken.
    unsent: Bytes,
}

impl Peer {
    pub(super) fn new(
        handle: ConnectionHandle,
        connection: Connection,
        remote: SocketAddr,
    ) -> Self {
        Self {
            connection,
            handle,
            remote,
            alarm: None,
            is_marked: false,
            exchanges: BTreeMap::new(),
            waiting: BTreeSet::new(),
        }
    }

    /// When the connection wants to be woken.
    pub(super) fn next(&mut self) -> Option<Instant> {
        let answer = self.waiting.first().map(|(at, _)| *at);
        let times = [self.connection.poll_timeout(), answer];
        times.into_iter().flatten().min()
    }

    /// Goes on with what was to be done by `now`.
    pub(super) fn wake<B: Behaviour>(&mut self, kit: &mut Kit<'_, B>, now: Instant) {
        self.connection.handle_timeout(now);
        while let Some((at, id)) = self.waiting.first().copied()
            && at <= now
        {
            self.waiting.pop_first();
            if let Some(answer) = self.answer_of(id) {
                answer.delivery.wake();
                answer.progress = Progress::More;
            }
            self.go_on(id, kit);
        }
    }

    /// Takes what the connection has to say.
    pub(super) fn poll<B: Behaviour>(&mut self, kit: &mut Kit<'_, B>, now: Instant) {
        while let Some(event) = self.connection.poll() {
            let heard = match event {
                Event::Connected => {
                    self.open_control();
                    Ok(())
                }
                Event::Stream(event) => self.hear(event, kit),
                Event::ConnectionLost { .. } => {
                    self.exchanges.clear();
                    self.waiting.clear();
                    Ok(())
                }
                Event::HandshakeDataReady | Event::DatagramReceived | Event::DatagramsUnblocked => {
                    Ok(())
                }
            };
            if let Err(number) = heard {
                kit.counters.bad_requests.add(1);
                let code = VarInt::from_u32(number);
                self.connection.close(now, code, Bytes::new());
            }
        }
    }

    fn open_control(&mut self) {
        // A client that allows no stream of ours speaks no HTTP/3; it is answered all the same.
        if let Some(id) = self.connection.streams().open(Dir::Uni) {
            let _ = self.connection.send_stream(id).write(CONTROL);
        }
    }

    /// An error is the code that the connection is to be closed with.
    #[inline]
    fn hear<B: Behaviour>(&mut self, event: StreamEvent, kit: &mut Kit<'_, B>) -> Result<(), u32> {
        match event {
            StreamEvent::Opened { dir } => {
                while let Some(id) = self.connection.streams().accept(dir) {
                    self.read(id, kit)?;
                }
                Ok(())
            }
            StreamEvent::Readable { id } => self.read(id, kit),
            StreamEvent::Writable { id } => {
                self.go_on(id, kit);
                Ok(())
            }
            StreamEvent::Stopped { id, .. } => {
                self.reset(id, code::NO_ERROR);
                Ok(())
            }
            StreamEvent::Finished { .. } | StreamEvent::Available { .. } => Ok(()),
        }
    }

    #[inline]
    fn read<B: Behaviour>(&mut self, id: StreamId, kit: &mut Kit<'_, B>) -> Result<(), u32> {
        if id.dir() == Dir::Uni {
            self.throw_away(id);
            return Ok(());
        }
        let kept = self.exchanges.get_mut(&id);
        let mut fresh = RequestReader::default();
        let is_fresh = kept.is_none();
        let reader = kept.map_or(&mut fresh, |exchange| &mut exchange.reader);
        let mut stream = self.connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else {
            return Ok(());
        };
        let read = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    kit.counters.bytes_read.add(chunk.bytes.len() as u64);
                    if let Err(refused) = reader.take(&chunk.bytes, &mut kit.sections) {
                        break Err(refused);
                    }
                }
                Ok(None) => break reader.finish().map(Some),
                Err(ReadError::Blocked) => break Ok(None),
                Err(ReadError::Reset(_)) => {
                    let _ = chunks.finalize();
                    self.reset(id, code::NO_ERROR);
                    return Ok(());
                }
            }
        };
        let _ = chunks.finalize();
        match read {
            Ok(Some(method)) => self.answer(id, method, kit),
            Ok(None) if is_fresh => {
                let exchange = Exchange {
                    reader: fresh,
                    answer: None,
                };
                self.exchanges.insert(id, exchange);
            }
            Ok(None) => {}
            Err(Refused::Connection(code)) => return Err(code),
            Err(Refused::Stream(code)) => {
                kit.counters.bad_requests.add(1);
                let _ = self.connection.recv_stream(id).stop(VarInt::from_u32(code));
                self.reset(id, code);
            }
        }
        Ok(())
    }

    /// What a client says on its control stream and QPACK's changes nothing here.
    fn throw_away(&mut self, id: StreamId) {
        if let Ok(mut chunks) = self.connection.recv_stream(id).read(true) {
            while let Ok(Some(_)) = chunks.next(usize::MAX) {}
            let _ = chunks.finalize();
        }
    }

    /// Answers a request that is whole.
    #[inline]
    fn answer<B: Behaviour>(&mut self, id: StreamId, method: Method, kit: &mut Kit<'_, B>) {
        let request = Request {
            method,
            version: Version::Http3,
            keep_alive: true,
        };
        count(kit.counters, &request);
        let is_head = method == Method::Head;
        let body = |ready: &Ready| if is_head { 0 } else { ready.body() };
        let delivery = match kit.behaviour.decide(&request) {
            Decision::Answer => Delivery::whole(body(kit.replies.get(None))),
            Decision::Act(act) => {
                count_act(kit.counters, &act);
                Delivery::of(&act, body(kit.replies.get(act.reply)))
            }
        };
        let mut answer = Answer {
            delivery,
            is_head,
            progress: Progress::More,
            unsent: Bytes::new(),
        };
        if let Some(at) = delivery.wake_at() {
            answer.progress = Progress::Wait(at);
            self.waiting.insert((at, id));
        } else if deliver(&mut self.connection, id, &mut answer, kit) {
            if !self.exchanges.is_empty() {
                self.exchanges.remove(&id);
            }
            return;
        } else if let Progress::Wait(at) = answer.progress {
            self.waiting.insert((at, id));
        }
        self.exchanges.entry(id).or_default().answer = Some(answer);
    }

    /// Goes on with an answer that had to wait.
    fn go_on<B: Behaviour>(&mut self, id: StreamId, kit: &Kit<'_, B>) {
        let exchange = self.exchanges.get_mut(&id);
        let Some(answer) = exchange.and_then(|exchange| exchange.answer.as_mut()) else {
            return;
        };
        if deliver(&mut self.connection, id, answer, kit) {
            self.exchanges.remove(&id);
        } else if let Progress::Wait(at) = answer.progress {
            self.waiting.insert((at, id));
        }
    }

    fn answer_of(&mut self, id: StreamId) -> Option<&mut Answer> {
        self.exchanges.get_mut(&id)?.answer.as_mut()
    }

    /// Ends a stream without an answer, or without the rest of it.
    fn reset(&mut self, id: StreamId, code: u32) {
        let exchange = self.exchanges.remove(&id);
        if let Some(answer) = exchange.and_then(|exchange| exchange.answer)
            && let Some(at) = answer.delivery.wake_at()
        {
            self.waiting.remove(&(at, id));
        }
        // It fails where the stream has ended already.
        let _ = self
            .connection
            .send_stream(id)
            .reset(VarInt::from_u32(code));
    }
}

/// Writes what can go of an answer; true if nothing more is to be done for it.
#[inline]
fn deliver<B>(
    connection: &mut Connection,
    id: StreamId,
    answer: &mut Answer,
    kit: &Kit<'_, B>,
) -> bool {
    let mut stream = connection.send_stream(id);
    loop {
        while !answer.unsent.is_empty() {
            let mut chunk = [std::mem::take(&mut answer.unsent)];
            let written = stream.write_chunks(&mut chunk);
            [answer.unsent] = chunk;
            match written {
                Ok(written) => kit.counters.bytes_written.add(written.bytes as u64),
                Err(WriteError::Blocked) => return false,
                Err(WriteError::Stopped(_) | WriteError::ClosedStream) => return true,
            }
        }
        match answer.progress {
            Progress::More => answer.take_piece(kit.replies),
            Progress::Wait(_) => return false,
            Progress::Whole => {
                let _ = stream.finish();
                return true;
            }
            Progress::Cut => {
                let _ = stream.reset(VarInt::from_u32(code::INTERNAL_ERROR));
                return true;
            }
        }
    }
}

impl Answer {
    /// Takes the next piece of the reply: the head comes with the first one.
    #[inline]
    fn take_piece(&mut self, replies: &Replies<Ready>) {
        let ready = replies.get(self.delivery.reply);
        let (at, bytes) = self.delivery.ready();
        let (mut begin, mut end) = (ready.body_at + at, ready.body_at + at + bytes);
        if !self.delivery.is_begun {
            self.delivery.is_begun = true;
            begin = 0;
            if self.is_head {
                end = ready.head;
            }
            if !self.delivery.has_head() {
                end = 0;
            }
        }
        self.unsent = ready.whole.slice(begin..end);
        self.progress = self.delivery.advance(bytes, Instant::now);
    }
}
