//! A session with the agent of one host: a local child process, and the frames that pass through
//! it.
//!
//! ```text
//! send ─► input of the child
//! output ─► reader thread: greeting, then frames; pongs get their time here ─► receive
//! pinging thread: a ping each second; after 10 s of silence it ends the child
//! ```
//!
//! The session does not look into asks and answers, and does not reconnect: a session that has
//! ended stays ended.

mod child;

use std::process::ChildStdin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::clock::{ClockOffset, Exchange, monotonic_ns};
use crate::digest::Own;
use crate::error::{Cause, HostError, cause_of_end};
use crate::frame::{FRAME_BYTES_MAX, Frame, FrameReader, write_frame};
use crate::greeting::{Greeting, GreetingError, GreetingReader};
use crate::lease::{Lease, SILENCE_MAX};
use crate::message::{Fits, Hello, Order, Report};
use crate::patience::{Coming, Patience};
use crate::way::Place;

pub(crate) use child::Child;

/// How long an agent may take to greet.
const GREETING_WITHIN: Duration = Duration::from_secs(20);
/// Between two looks at the child.
const LOOK_PERIOD: Duration = Duration::from_millis(250);
/// Of so many looks, one sends a ping: one a second.
const LOOKS_PER_PING: u32 = 4;
/// Exchanges of one look at the clock.
const EXCHANGES: usize = 40;
/// How long one of them may take.
const EXCHANGE_WITHIN: Duration = Duration::from_secs(2);
/// How long the agent may take to say that the host is taken.
const HELLO_WITHIN: Duration = Duration::from_secs(10);
/// What a child may take to end by itself.
const END_WITHIN: Duration = Duration::from_millis(500);
/// Reports that wait to be taken, and bytes of all of them: two of the longest.
const WAITING_MAX: usize = 64;
const WAITING_BYTES_MAX: usize = 2 * FRAME_BYTES_MAX;
/// Between two looks at whether an answer is still waited for.
const ASK_PERIOD: Duration = Duration::from_millis(100);
/// Bytes read at once.
const PIECE: usize = 64 << 10;

/// Why nothing more comes from a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// Its output ended.
    Ended,
    /// Nothing came for [`SILENCE_MAX`].
    Silent,
    /// It was no frame, or none that belongs there.
    Confused(String),
}

/// How the start of an agent went.
pub(crate) enum Begun {
    /// It greeted.
    Greeted(Box<Session>, Greeting),
    /// The command that was to start it ended.
    Ended(EarlyEnd),
}

/// How a command ended before its agent greeted.
pub(crate) struct EarlyEnd {
    pub(crate) code: Option<i32>,
    pub(crate) message: String,
}

/// What the reader thread passes on.
enum Event {
    Greeted(Greeting),
    NoGreeting(GreetingError),
    /// A report, and its length in bytes.
    Said(Report, usize),
    Stopped(Stop),
}

/// What the threads of a session share.
struct Shared {
    child: Mutex<Child>,
    input: Mutex<Option<ChildStdin>>,
    heard: Lease,
    coming: Coming,
    /// Bytes of what waits to be taken.
    waiting: AtomicUsize,
    banner: Mutex<String>,
}

/// A session with the agent of one host. Dropping it ends the agent.
pub struct Session {
    host: String,
    shared: Arc<Shared>,
    events: Receiver<Event>,
    exchanges: Receiver<Exchange>,
    greeting: Option<Greeting>,
    stopped: Option<Stop>,
    hello: Hello,
}

impl Session {
    /// Starts the agent and waits for its greeting.
    pub(crate) fn begin(place: &Place, own: &Own) -> Result<Begun, Cause> {
        let mut child = Child::start(&place.agent(own))?;
        let (input, output) = (child.take_input(), child.take_output());
        let shared = Arc::new(Shared {
            child: Mutex::new(child),
            input: Mutex::new(input),
            heard: Lease::new(SILENCE_MAX, monotonic_ns()),
            coming: Coming::default(),
            waiting: AtomicUsize::new(0),
            banner: Mutex::default(),
        });
        let (to_events, events) = sync_channel(WAITING_MAX);
        let (to_exchanges, exchanges) = sync_channel(WAITING_MAX);
        let mut session = Self {
            host: place.name.clone(),
            shared: shared.clone(),
            events,
            exchanges,
            greeting: None,
            stopped: None,
            hello: Hello::default(),
        };
        let reader = move || {
            let Some(mut output) = output else { return };
            let stop = read(&mut output, &shared, &to_events, &to_exchanges);
            let _ = to_events.send(Event::Stopped(stop));
        };
        thread("agent-output", reader)?;
        match session.events.recv_timeout(GREETING_WITHIN) {
            Ok(Event::Greeted(greeting)) => {
                let shared = session.shared.clone();
                shared.heard.renew(monotonic_ns());
                thread("agent-pings", move || keep_alive(&shared))?;
                session.greeting = Some(greeting.clone());
                Ok(Begun::Greeted(Box::new(session), greeting))
            }
            Ok(Event::NoGreeting(source)) => Err(Cause::Greeting {
                source,
                banner: session.banner(),
            }),
            Err(RecvTimeoutError::Timeout) => Err(Cause::NoGreeting(session.banner())),
            Ok(_) | Err(RecvTimeoutError::Disconnected) => Ok(Begun::Ended(session.early_end())),
        }
    }

    /// The name of the host.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// What greeted.
    pub fn greeting(&self) -> Option<&Greeting> {
        self.greeting.as_ref()
    }

    /// What the host wrote before the greeting.
    pub fn banner(&self) -> String {
        lock(&self.shared.banner).clone()
    }

    /// What the agent said when the host was taken.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Asks the agent something.
    ///
    /// # Errors
    /// The session has ended, or it is longer than a frame.
    pub fn ask(&mut self, ask: &impl Serialize) -> Result<(), HostError> {
        self.send(serde_json::to_vec(ask).map(Frame::Raw))
    }

    fn send(&mut self, frame: serde_json::Result<Frame>) -> Result<(), HostError> {
        let frame = &frame.map_err(|error| self.confused(&error.to_string()))?;
        let sent = {
            let mut input = lock(&self.shared.input);
            let wrote = || self.shared.heard.renew(monotonic_ns());
            input.as_mut().map(|input| write_frame(input, frame, wrote))
        };
        match sent {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) if error.kind() == std::io::ErrorKind::Other => {
                Err(self.error(Cause::Confused(error.to_string())))
            }
            // The reader knows why.
            _ => Err(self.why_stopped()),
        }
    }

    /// What the agent answers next; `None` if it says nothing for so long.
    ///
    /// # Errors
    /// The session has ended, or the agent refused or said something else.
    pub fn answer<A: DeserializeOwned>(
        &mut self,
        within: Duration,
    ) -> Result<Option<A>, HostError> {
        let report = self.receive(within)?;
        report.map(|report| answer_in(self, report)).transpose()
    }

    fn receive(&mut self, within: Duration) -> Result<Option<Report>, HostError> {
        if let Some(stop) = self.stopped.clone() {
            return Err(self.stop_error(&stop));
        }
        match self.events.recv_timeout(within) {
            Ok(Event::Said(report, bytes)) => {
                self.shared.waiting.fetch_sub(bytes, Ordering::Relaxed);
                Ok(Some(report))
            }
            Ok(Event::Stopped(stop)) => {
                self.stopped = Some(stop.clone());
                Err(self.stop_error(&stop))
            }
            Ok(Event::Greeted(_) | Event::NoGreeting(_)) => {
                Err(self.error(Cause::Confused("a second greeting".to_owned())))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(self.stop_error(&Stop::Ended)),
        }
    }

    /// Whether an answer has been waited for long enough. One that comes may take longer than one
    /// that does not.
    pub fn is_over(&self, patience: Patience) -> bool {
        patience.is_over(monotonic_ns(), self.shared.coming.last_ns())
    }

    /// Takes the host for `owner`.
    pub(crate) fn take(&mut self, owner: &str) -> Result<(), HostError> {
        let hello = Order::Hello {
            host: self.host.clone(),
            owner: owner.to_owned(),
        };
        self.send(hello.frame())?;
        let read = |session: &Self, report| match report {
            Report::Hello(hello) => Ok(Some(hello)),
            other => answer_in(session, other).map(|()| None),
        };
        let said = self.wait("say hello", HELLO_WITHIN, &|| true, read)?;
        self.hello = said.unwrap_or_default();
        Ok(())
    }

    /// Asks something, and waits for what `fits`.
    ///
    /// # Errors
    /// The session has ended, the agent refused or said something else, or took too long: it did
    /// not do `what`.
    pub fn asked<A: DeserializeOwned, T>(
        &mut self,
        ask: &impl Serialize,
        what: &'static str,
        within: Duration,
        fits: impl FnMut(A) -> Fits<T>,
    ) -> Result<T, HostError> {
        self.ask(ask)?;
        let answer = self.expect(what, within, &|| true, fits)?;
        answer.ok_or_else(|| self.late(what, within))
    }

    /// Waits for what `fits` as long as it `goes_on`, which is asked ten times a second; `None`
    /// where it does not any more.
    ///
    /// # Errors
    /// As of [`asked`](Self::asked).
    pub fn expect<A: DeserializeOwned, T>(
        &mut self,
        what: &'static str,
        within: Duration,
        goes_on: &dyn Fn() -> bool,
        mut fits: impl FnMut(A) -> Fits<T>,
    ) -> Result<Option<T>, HostError> {
        self.wait(what, within, goes_on, |session, report| {
            match fits(answer_in(session, report)?) {
                Fits::This(answer) => Ok(Some(answer)),
                Fits::Before => Ok(None),
                Fits::Not => Err(session.confused("another answer")),
            }
        })
    }

    fn wait<T>(
        &mut self,
        what: &'static str,
        within: Duration,
        goes_on: &dyn Fn() -> bool,
        mut read: impl FnMut(&Self, Report) -> Result<Option<T>, HostError>,
    ) -> Result<Option<T>, HostError> {
        let patience = Patience::new(within, monotonic_ns());
        while goes_on() {
            let is_over = match self.receive(ASK_PERIOD)? {
                Some(report) => match read(self, report)? {
                    Some(found) => return Ok(Some(found)),
                    None => patience.is_over(monotonic_ns(), None),
                },
                None => self.is_over(patience),
            };
            if is_over {
                return Err(self.late(what, within));
            }
        }
        Ok(None)
    }

    /// Looks at the agent's clock. Not to be done while a load runs.
    ///
    /// # Errors
    /// The session has ended, or no exchange came to an end.
    pub fn clock(&mut self) -> Result<ClockOffset, HostError> {
        let mut exchanges = Vec::with_capacity(EXCHANGES);
        for _ in 0..EXCHANGES {
            exchanges.extend(self.exchange()?);
        }
        ClockOffset::of(&exchanges).ok_or_else(|| self.late("answer a ping", EXCHANGE_WITHIN))
    }

    /// Makes sure that the agent is there: it answers a ping. Not to be done while a load runs.
    ///
    /// # Errors
    /// The session has ended, or nothing came.
    pub fn check(&mut self) -> Result<(), HostError> {
        let answered = self.exchange()?.map(drop);
        answered.ok_or_else(|| self.late("answer a ping", EXCHANGE_WITHIN))
    }

    /// One ping, and its answer if that comes in time.
    fn exchange(&mut self) -> Result<Option<Exchange>, HostError> {
        // What comes without end is no reason to go on.
        let _old = self.exchanges.try_iter().take(WAITING_MAX).count();
        let sent_ns = monotonic_ns();
        self.send(Order::Ping { sent_ns }.frame())?;
        let end = Instant::now() + EXCHANGE_WITHIN;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.exchanges.recv_timeout(left) {
                Ok(exchange) if exchange.sent_ns == sent_ns => return Ok(Some(exchange)),
                // One of the pings of every second.
                Ok(_) if !left.is_zero() => {}
                Ok(_) | Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => return Err(self.why_stopped()),
            }
        }
    }

    /// Why the host is given up. Waits a moment for what the host or the child wrote last.
    fn why_stopped(&mut self) -> HostError {
        let end = Instant::now() + END_WITHIN;
        while Instant::now() < end {
            match self.receive(END_WITHIN) {
                Err(error) => return error,
                Ok(Some(Report::Refused { why, usage })) => return self.refused(why, usage),
                Ok(_) => {}
            }
        }
        self.stop_error(&Stop::Ended)
    }

    fn stop_error(&self, stop: &Stop) -> HostError {
        if self.shared.heard.left(monotonic_ns()).is_none() || *stop == Stop::Silent {
            let seconds = SILENCE_MAX.as_secs();
            return self.error(Cause::Silent { seconds });
        }
        match stop {
            Stop::Confused(what) => self.error(Cause::Confused(what.clone())),
            _ => {
                let message = lock(&self.shared.child).errors(Instant::now() + END_WITHIN);
                self.error(match cause_of_end(None, message) {
                    // After the greeting this is said of another connection.
                    Cause::HostKey(message) | Cause::LogIn(message) => Cause::Ended(message),
                    other => other,
                })
            }
        }
    }

    /// The error of a host that did not do `what` in time.
    pub fn late(&self, what: &'static str, within: Duration) -> HostError {
        let seconds = within.as_secs();
        self.error(Cause::Late { what, seconds })
    }

    /// The error of an agent that sent something that makes no sense here.
    pub fn confused(&self, what: &str) -> HostError {
        self.error(Cause::Confused(what.to_owned()))
    }

    /// The error of an agent that refused; `usage` if the user can fix it in what was asked for.
    pub fn refused(&self, why: String, usage: bool) -> HostError {
        self.error(match why.strip_prefix(crate::lock::BUSY) {
            Some(owner) => Cause::Busy(owner.to_owned()),
            None => Cause::Refused { why, usage },
        })
    }

    fn error(&self, cause: Cause) -> HostError {
        HostError {
            host: self.host.clone(),
            cause,
        }
    }

    fn early_end(&self) -> EarlyEnd {
        let mut child = lock(&self.shared.child);
        let status = child.ended_within(END_WITHIN);
        let mut message = child.errors(Instant::now() + END_WITHIN);
        if message.is_empty() {
            message = self.banner();
        }
        EarlyEnd {
            code: status.and_then(|status| status.code()),
            message,
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let shared = &self.shared;
        // Whoever holds it waits for a write that its child does not take.
        if let Ok(mut input) = shared.input.try_lock() {
            if let (Some(input), Ok(frame)) = (input.as_mut(), Order::End.frame()) {
                // The end of the input says the same.
                let _ = write_frame(input, &frame, || {});
            }
            input.take();
        }
        let mut child = lock(&shared.child);
        if child.ended_within(END_WITHIN).is_none() {
            child.kill();
        }
    }
}

fn answer_in<A: DeserializeOwned>(session: &Session, report: Report) -> Result<A, HostError> {
    match report {
        Report::Answer(bytes) => serde_json::from_slice(&bytes)
            .map_err(|error| session.confused(&format!("a bad answer: {error}"))),
        Report::Refused { why, usage } => Err(session.refused(why, usage)),
        _ => Err(session.confused("another answer")),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Cause> {
    let started = std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work);
    started.map(drop).map_err(|source| Cause::Command {
        program: "a thread".to_owned(),
        source,
    })
}

/// Reads to the end of the output, and returns why there is no more.
fn read(
    output: &mut impl std::io::Read,
    shared: &Shared,
    events: &SyncSender<Event>,
    exchanges: &SyncSender<Exchange>,
) -> Stop {
    let mut greeting = Some(GreetingReader::default());
    let mut frames = FrameReader::default();
    let mut piece = vec![0; PIECE];
    loop {
        let length = match output.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let received_ns = monotonic_ns();
        shared.heard.renew(received_ns);
        let bytes = &piece[..length];
        if let Some(reader) = &mut greeting {
            let found = reader.put(bytes);
            *lock(&shared.banner) = reader.banner();
            match found {
                Ok(None) => continue,
                Ok(Some((found, rest))) => {
                    frames.put(&rest);
                    greeting = None;
                    let _ = events.send(Event::Greeted(found));
                }
                Err(error) => {
                    let _ = events.send(Event::NoGreeting(error));
                    return Stop::Ended;
                }
            }
        } else {
            frames.put(bytes);
        }
        let to = (events, &shared.waiting, exchanges);
        if let Err(what) = pass_on(&mut frames, received_ns, to) {
            return Stop::Confused(what);
        }
        shared.coming.came(received_ns, frames.holds_bytes());
    }
    match shared.heard.left(monotonic_ns()) {
        None => Stop::Silent,
        Some(_) => Stop::Ended,
    }
}

/// Passes on every whole frame.
fn pass_on(
    frames: &mut FrameReader,
    received_ns: u64,
    (events, waiting, exchanges): (&SyncSender<Event>, &AtomicUsize, &SyncSender<Exchange>),
) -> Result<(), String> {
    loop {
        let frame = match frames.next_frame() {
            Ok(None) => return Ok(()),
            Ok(Some(frame)) => frame,
            Err(error) => return Err(error.to_string()),
        };
        let bytes = frame.bytes().len();
        match Report::of(frame)? {
            Report::Pong { sent_ns, clock_ns } => {
                let exchange = Exchange {
                    sent_ns,
                    theirs_ns: clock_ns,
                    received_ns,
                };
                // Nobody looks at the clock now, and what is full of old ones is emptied first.
                if let Err(TrySendError::Disconnected(_)) = exchanges.try_send(exchange) {
                    return Ok(());
                }
            }
            // That it came is all that it says.
            Report::Taking => {}
            report => {
                let before = waiting.fetch_add(bytes, Ordering::Relaxed);
                if before.saturating_add(bytes) > WAITING_BYTES_MAX {
                    let mib = WAITING_BYTES_MAX >> 20;
                    return Err(format!("more than {mib} MiB that nobody had asked for"));
                }
                if events.send(Event::Said(report, bytes)).is_err() {
                    return Ok(());
                }
            }
        }
    }
}

/// Pings until the child has ended, and ends it when nothing comes from it any more.
fn keep_alive(shared: &Shared) {
    for look in 1_u32.. {
        std::thread::sleep(LOOK_PERIOD);
        if shared.heard.left(monotonic_ns()).is_none() {
            lock(&shared.child).kill();
            return;
        }
        if lock(&shared.child).ended().is_some() {
            return;
        }
        if look % LOOKS_PER_PING != 0 {
            continue;
        }
        // While something long is sent, that is life enough.
        let Ok(mut input) = shared.input.try_lock() else {
            continue;
        };
        let Some(input) = input.as_mut() else {
            return;
        };
        let sent_ns = monotonic_ns();
        if let Ok(frame) = (Order::Ping { sent_ns }).frame() {
            let _ = write_frame(input, &frame, || {});
        }
    }
}

#[cfg(test)]
mod tests;
