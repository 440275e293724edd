//! One connection: reads into the thread's buffer, answers, and remembers only what is unfinished.
//!
//! An idle connection owns no buffer: bytes are kept with it only while a head is incomplete or
//! the client does not take its answer. While an answer cannot be sent nothing more is read, so
//! a client that pipelines without reading slows itself down and not the server.

use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::sockopt::set_socket_linger;
use rustix::net::{self, RecvFlags, Shutdown};

use crate::answer::{After, Output};
use crate::behaviour::{Act, Behaviour, Decision, Ending, Queueing};
use crate::counts::Counters;
use crate::driven::{Driven, Shared, Wait};
use crate::link::Link;
use crate::play::{Next, Play, Plays, Then};
use crate::request::{Method, Request, RequestReader, Step, Version};

/// Bytes that a thread reads at once.
pub(crate) const BUFFER_BYTES: usize = 64 * 1024;

/// How long a refused client may go on sending before its connection is closed on it.
const LINGER: Duration = Duration::from_secs(1);

/// Reads in a row that a lingering connection may cost the others.
const LINGER_READS_MAX: usize = 16;

/// One connection.
pub(crate) struct Connection<L> {
    link: L,
    reader: RequestReader,
    /// Bytes read and not yet used: the start of a head, or what came behind a blocked answer.
    kept: Vec<u8>,
    /// An answer that the client has not taken yet.
    output: Option<Output>,
    /// Set once the connection has sent everything it will send.
    lingers_until: Option<Instant>,
    /// What it is registered for.
    wait: Wait,
}

/// What became of an attempt to send.
enum Sent {
    All(After),
    Blocked,
    /// There is more at a later time.
    Held,
    Failed,
}

impl<B: Behaviour, L: Link> Driven<B> for Connection<L> {
    #[inline]
    fn new(socket: OwnedFd, shared: &Shared<'_, B>) -> Option<Self> {
        Some(Self {
            link: L::new(socket, &shared.room)?,
            reader: RequestReader::default(),
            kept: Vec::new(),
            output: None,
            lingers_until: None,
            wait: Wait::Readable,
        })
    }

    #[inline]
    fn socket(&self) -> &OwnedFd {
        self.link.socket()
    }

    #[inline]
    fn registered(&mut self) -> &mut Wait {
        &mut self.wait
    }

    fn lingers_until(&self) -> Option<Instant> {
        self.lingers_until
    }

    fn is_deaf(&self, shared: &Shared<'_, B>) -> bool {
        self.wake_at(&shared.plays).is_some()
    }

    fn alarm(&mut self, shared: &Shared<'_, B>) -> Option<Instant> {
        self.wake_at(&shared.plays)
    }

    fn is_due(&mut self, shared: &Shared<'_, B>, at: Instant) -> bool {
        self.wake_at(&shared.plays) == Some(at)
    }

    /// Always inlined: left to itself the compiler calls it, and a new connection is copied for
    /// that, which costs some 40 instructions (callgrind, 2026-11-21).
    #[inline(always)]
    fn proceed(&mut self, shared: &mut Shared<'_, B>) -> Wait {
        if self.lingers_until.is_some() {
            return drain(self.link.socket(), shared);
        }
        match self.output {
            Some(output) => self.send_rest(shared, output),
            None => self.receive(shared),
        }
    }

    /// Goes on with an answer whose time has come, and then with what came behind it.
    fn wake(&mut self, shared: &mut Shared<'_, B>, _now: Instant) -> Wait {
        let sent = self.go_on(shared);
        self.after(shared, sent)
    }
}

impl<L: Link> Connection<L> {
    /// When its answer goes on, if time is all that it waits for.
    fn wake_at(&self, plays: &Plays) -> Option<Instant> {
        match self.output {
            None => plays.get(self.slot())?.wake_at,
            Some(_) => None,
        }
    }

    fn slot(&self) -> usize {
        self.link.socket().as_raw_fd() as usize
    }

    #[inline]
    fn receive<B: Behaviour>(&mut self, shared: &mut Shared<'_, B>) -> Wait {
        let kept = self.kept.len();
        shared.buffer[..kept].copy_from_slice(&self.kept);
        match self
            .link
            .receive(&mut shared.room, &mut shared.buffer[kept..])
        {
            Ok(0) => Wait::Close,
            Ok(read) => {
                shared.counters.bytes_read.add(read as u64);
                self.answer(shared, kept + read)
            }
            Err(Errno::AGAIN | Errno::INTR) => Wait::Readable,
            Err(_) => Wait::Close,
        }
    }

    /// Answers all requests in the first `length` bytes of the buffer and keeps what is left.
    #[inline]
    fn answer<B: Behaviour>(&mut self, shared: &mut Shared<'_, B>, length: usize) -> Wait {
        let mut at = 0;
        let mut wait = Wait::Readable;
        while at < length {
            let (taken, step) = self
                .reader
                .step(&mut shared.memo, &shared.buffer[at..length]);
            at += taken;
            let sent = match step {
                Step::More => break,
                Step::Request(request) => self.decide(shared, &request),
                Step::Continue => self.send(shared, shared.answers.proceed()),
                Step::Refused(refusal) => {
                    shared.counters.bad_requests.add(1);
                    at = length;
                    self.send(shared, shared.answers.refusal(refusal))
                }
            };
            match sent {
                Sent::All(After::Read) => {}
                Sent::All(After::Close) => return self.end(shared),
                Sent::Failed => return Wait::Close,
                Sent::All(After::Linger) => return self.linger(shared),
                Sent::Blocked => {
                    wait = Wait::Writable;
                    break;
                }
                Sent::Held => {
                    wait = Wait::Timer;
                    break;
                }
            }
        }
        self.keep(&shared.buffer[at..length]);
        wait
    }

    #[inline]
    fn decide<B: Behaviour>(&mut self, shared: &mut Shared<'_, B>, request: &Request) -> Sent {
        count(shared.counters, request);
        match shared.behaviour.decide(request) {
            Decision::Answer => self.send(shared, shared.answers.reply(request)),
            Decision::Act(act) => self.begin(shared, request, &act),
        }
    }

    /// Begins an answer that is not the whole one at once.
    fn begin<B: Behaviour>(
        &mut self,
        shared: &mut Shared<'_, B>,
        request: &Request,
        act: &Act,
    ) -> Sent {
        count_act(shared.counters, act);
        let play = Play::new(shared.answers, request, act);
        shared.plays.put(self.slot(), play);
        if act.begin_at.is_some() {
            return Sent::Held;
        }
        self.go_on(shared)
    }

    /// Does what is next of such an answer.
    fn go_on<B: Behaviour>(&mut self, shared: &mut Shared<'_, B>) -> Sent {
        match shared.plays.get_mut(self.slot()).map(Play::next) {
            Some(Next::Piece(output)) => self.send(shared, output),
            Some(Next::Reset) => {
                // Closing with nothing to wait for makes the kernel send a reset (socket(7)). If
                // it cannot be set, the client sees an end without an answer instead.
                let _ = set_socket_linger(self.link.socket(), Some(Duration::ZERO));
                Sent::Failed
            }
            None => Sent::Failed,
        }
    }

    /// What comes after a piece of such an answer; of any other, it was the whole of it.
    fn piece_sent(&self, plays: &mut Plays, after: After) -> Sent {
        let Some(play) = plays.get_mut(self.slot()) else {
            return Sent::All(after);
        };
        match play.sent(Instant::now()) {
            Then::Wait(_) => Sent::Held,
            Then::Close => Sent::All(After::Close),
            Then::Ended => {
                plays.remove(self.slot());
                Sent::All(after)
            }
        }
    }

    #[inline]
    fn send<B: Behaviour>(&mut self, shared: &mut Shared<'_, B>, mut output: Output) -> Sent {
        let rest = if B::ACTS {
            shared.answers.rest::<true>(&output)
        } else {
            shared.answers.rest::<false>(&output)
        };
        match self.link.send(&mut shared.room, rest) {
            Ok(written) => {
                shared.counters.bytes_written.add(written as u64);
                if output.advance(written) {
                    self.output = None;
                    if B::ACTS {
                        return self.piece_sent(&mut shared.plays, output.after());
                    }
                    return Sent::All(output.after());
                }
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => return Sent::Failed,
        }
        self.output = Some(output);
        Sent::Blocked
    }

    /// Sends more of a blocked answer.
    fn send_rest<B: Behaviour>(&mut self, shared: &mut Shared<'_, B>, output: Output) -> Wait {
        let sent = self.send(shared, output);
        self.after(shared, sent)
    }

    /// What the connection waits for after an attempt to send that was not made from
    /// [`answer`](Self::answer): if the answer is out, what came behind it is next.
    fn after<B: Behaviour>(&mut self, shared: &mut Shared<'_, B>, sent: Sent) -> Wait {
        match sent {
            Sent::Blocked => Wait::Writable,
            Sent::Held => Wait::Timer,
            Sent::All(After::Close) => self.end(shared),
            Sent::Failed => Wait::Close,
            Sent::All(After::Linger) => self.linger(shared),
            Sent::All(After::Read) => {
                let kept = std::mem::take(&mut self.kept);
                shared.buffer[..kept.len()].copy_from_slice(&kept);
                self.answer(shared, kept.len())
            }
        }
    }

    /// Says that no more will come.
    #[inline]
    fn end<B: Behaviour>(&mut self, shared: &mut Shared<'_, B>) -> Wait {
        self.link.end(&mut shared.room);
        Wait::Close
    }

    /// Says that no more will come and waits for the client to say the same.
    fn linger<B: Behaviour>(&mut self, shared: &mut Shared<'_, B>) -> Wait {
        self.kept = Vec::new();
        self.link.end(&mut shared.room);
        self.lingers_until = shut(self.link.socket());
        match self.lingers_until {
            Some(_) => Wait::Readable,
            None => Wait::Close,
        }
    }

    #[inline]
    fn keep(&mut self, rest: &[u8]) {
        if !rest.is_empty() {
            self.kept.clear();
            self.kept.extend_from_slice(rest);
        } else if self.kept.capacity() > 0 {
            self.kept = Vec::new();
        }
    }
}

/// Ends the sending half of a connection that has sent everything; says when it must go, or `None`
/// if it is gone already.
pub(crate) fn shut(socket: &OwnedFd) -> Option<Instant> {
    let shut = net::shutdown(socket, Shutdown::Write);
    shut.ok().map(|()| Instant::now() + LINGER)
}

/// Discards what still arrives on a connection that has sent everything.
pub(crate) fn drain<B>(socket: &OwnedFd, shared: &mut Shared<'_, B>) -> Wait {
    for _ in 0..LINGER_READS_MAX {
        match net::recv(socket, &mut shared.buffer[..], RecvFlags::empty()) {
            Ok((0, _)) => return Wait::Close,
            Ok((read, _)) => shared.counters.bytes_read.add(read as u64),
            Err(Errno::AGAIN | Errno::INTR) => return Wait::Readable,
            Err(_) => return Wait::Close,
        }
    }
    Wait::Readable
}

#[inline]
pub(crate) fn count(counters: &Counters, request: &Request) {
    counters.requests.add(1);
    match request.version {
        Version::Http11 | Version::FastCgi => {}
        Version::Http10 => counters.http_1_0.add(1),
        Version::Http2 => counters.http_2.add(1),
        Version::Http3 => counters.http_3.add(1),
    }
    if !request.keep_alive {
        counters.close.add(1);
    }
    match request.method {
        Method::Get => {}
        Method::Head => counters.head.add(1),
        Method::Post => counters.post.add(1),
        Method::Other => counters.other_methods.add(1),
    }
}

/// Counts what an origin on demand makes of a request.
pub(crate) fn count_act(counters: &Counters, act: &Act) {
    let flags = [
        (&counters.delayed, act.begin_at.is_some()),
        (&counters.errors, act.is_error),
        (&counters.resets, act.ending == Ending::Reset),
        (&counters.closes, act.ending == Ending::Closed),
        (&counters.slow_bodies, act.slow_body.is_some()),
        (&counters.queued, matches!(act.queueing, Queueing::Among(_))),
        (&counters.queue_full, act.queueing == Queueing::Refused),
    ];
    for (counter, _) in flags.iter().filter(|(_, counts)| *counts) {
        counter.add(1);
    }
    if let Queueing::Among(waiting) = act.queueing {
        counters.queued_max.raise_to(waiting);
    }
}
