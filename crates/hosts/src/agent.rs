//! The agent's side of a session: greets, answers pings, passes on orders, and ends with the
//! input, or when nothing has come for too long.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;

use crate::clock::monotonic_ns;
use crate::digest::own_program;
use crate::frame::{FRAME_BYTES_MAX, Frame, FrameReader, write_frame};
use crate::greeting::Greeting;
use crate::lease::{Lease, SILENCE_MAX};
use crate::message::{Order, Report};

/// Bytes read at once.
const PIECE: usize = 64 << 10;
/// While something long comes, home hears of it once in so many nanoseconds.
const TAKING_PERIOD_NS: u64 = 1_000_000_000;

/// What has come from home.
#[derive(Debug)]
pub enum Heard {
    /// An order.
    Order(Order),
    /// What is asked, as JSON.
    Ask(Vec<u8>),
    /// Nothing more comes: the input has ended, or does not make sense.
    End,
}

/// Where reports go. Every clone writes to the same output, whole frames at a time.
#[derive(Clone)]
pub struct Outbox {
    output: Arc<Mutex<Box<dyn Write + Send>>>,
    lease: Arc<Lease>,
}

impl Outbox {
    /// Says something to home.
    ///
    /// # Errors
    /// Home no longer listens.
    pub fn send(&self, report: &Report) -> io::Result<()> {
        let bytes = serde_json::to_vec(report).map_err(io::Error::other)?;
        self.write(&Frame::Json(bytes))
    }

    /// Answers what home has asked.
    ///
    /// # Errors
    /// Home no longer listens, or nothing was sent: as `FileTooLarge` because the answer is longer
    /// than home takes, as `InvalidData` because it cannot be written.
    pub fn answer(&self, answer: &impl Serialize) -> io::Result<()> {
        let bytes = serde_json::to_vec(answer);
        let bytes = bytes.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        check_length(bytes.len())?;
        self.write(&Frame::Raw(bytes))
    }

    fn write(&self, frame: &Frame) -> io::Result<()> {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever reads waits for this lock with an answer to a ping, so that the pings behind it
        // lie unread while something long is sent. That home takes it shows its life instead. The
        // first piece shows none: what lies between takes that from a home that is gone, too.
        let mut is_first = true;
        write_frame(&mut *output, frame, || {
            if !std::mem::take(&mut is_first) {
                self.lease.renew(monotonic_ns());
            }
        })
    }
}

/// Refuses what home would not take: it gives a host up that sends more.
fn check_length(bytes: usize) -> io::Result<()> {
    if bytes <= FRAME_BYTES_MAX {
        return Ok(());
    }
    let refusal = format!("send {bytes} bytes home: expected at most {FRAME_BYTES_MAX}");
    Err(io::Error::new(io::ErrorKind::FileTooLarge, refusal))
}

/// The agent's side of a session.
pub struct Agent<R> {
    input: R,
    frames: FrameReader,
    piece: Vec<u8>,
    lease: Arc<Lease>,
    outbox: Outbox,
    /// When home last heard that something long comes.
    said_taking_ns: u64,
}

impl<R: Read> Agent<R> {
    /// Greets as `version`, and calls `silence` on a thread of its own when nothing has come for
    /// [`SILENCE_MAX`]; it must end the process.
    ///
    /// # Errors
    /// This program cannot be read, nobody listens, or no thread can be started.
    pub fn greet(
        input: R,
        mut output: Box<dyn Write + Send>,
        version: &str,
        silence: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let (digest, _) = own_program()?;
        let greeting = Greeting {
            version: version.to_owned(),
            digest,
            arch: std::env::consts::ARCH.to_owned(),
        };
        // What a login file wrote may have left its line open.
        output.write_all(format!("\n{greeting}\n").as_bytes())?;
        output.flush()?;
        let lease = Arc::new(Lease::new(SILENCE_MAX, monotonic_ns()));
        let watched = lease.clone();
        let watch = move || {
            while let Some(left) = watched.left(monotonic_ns()) {
                // A machine that slept must not find that its lease ran out meanwhile: the clock
                // stands still then too.
                std::thread::sleep(left.min(Duration::from_millis(500)));
            }
            silence();
        };
        let thread = std::thread::Builder::new().name("lease".to_owned());
        thread.spawn(watch)?;
        Ok(Self {
            input,
            frames: FrameReader::default(),
            piece: vec![0; PIECE],
            lease: lease.clone(),
            outbox: Outbox {
                output: Arc::new(Mutex::new(output)),
                lease,
            },
            said_taking_ns: 0,
        })
    }

    /// Where reports go.
    pub fn outbox(&self) -> Outbox {
        self.outbox.clone()
    }

    /// What comes next from home. Pings are answered here.
    pub fn receive(&mut self) -> Heard {
        loop {
            match self.frames.next_frame() {
                Ok(Some(Frame::Raw(bytes))) => return Heard::Ask(bytes),
                Ok(Some(Frame::Json(bytes))) => match serde_json::from_slice(&bytes) {
                    Ok(Order::Ping { sent_ns }) => {
                        let clock_ns = monotonic_ns();
                        let pong = Report::Pong { sent_ns, clock_ns };
                        if self.outbox.send(&pong).is_err() {
                            return Heard::End;
                        }
                    }
                    Ok(order) => return Heard::Order(order),
                    Err(_) => return Heard::End,
                },
                Ok(None) if self.say_taking().is_err() => return Heard::End,
                Ok(None) => match self.input.read(&mut self.piece) {
                    Ok(0) => return Heard::End,
                    Ok(length) => {
                        self.lease.renew(monotonic_ns());
                        self.frames.put(&self.piece[..length]);
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return Heard::End,
                },
                Err(_) => return Heard::End,
            }
        }
    }

    /// Says that something long comes, if it does. What home has written may lie between for
    /// longer than its patience, with its pings behind.
    fn say_taking(&mut self) -> io::Result<()> {
        let now_ns = monotonic_ns();
        let is_due = now_ns.saturating_sub(self.said_taking_ns) >= TAKING_PERIOD_NS;
        if !is_due || !self.frames.holds_bytes() {
            return Ok(());
        }
        self.said_taking_ns = now_ns;
        self.outbox.send(&Report::Taking)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::greeting::GreetingReader;

    /// What an agent wrote.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn input(frames: &[Frame]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for frame in frames {
            write_frame(&mut bytes, frame, || {}).unwrap();
        }
        bytes
    }

    fn order(order: &Order) -> Frame {
        Frame::Json(serde_json::to_vec(order).unwrap())
    }

    /// What an agent of this program has said after its greeting.
    fn sent(written: &Written) -> Vec<Report> {
        let written = written.0.lock().unwrap().clone();
        let mut greeting = GreetingReader::default();
        let (greeting, rest) = greeting.put(&written).unwrap().unwrap();
        assert_eq!(greeting.digest, own_program().unwrap().0);
        let mut frames = FrameReader::default();
        frames.put(&rest);
        let mut said = Vec::new();
        while let Some(Frame::Json(report)) = frames.next_frame().unwrap() {
            said.push(serde_json::from_slice(&report).unwrap());
        }
        said
    }

    #[test]
    fn it_greets_answers_pings_and_passes_on_the_rest() {
        let frames = [
            order(&Order::Ping { sent_ns: 5 }),
            order(&Order::End),
            Frame::Raw(b"ask".to_vec()),
        ];
        let (bytes, written) = (input(&frames), Written::default());
        let mut agent =
            Agent::greet(&bytes[..], Box::new(written.clone()), "0.1.0", || {}).unwrap();
        assert!(matches!(agent.receive(), Heard::Order(Order::End)));
        assert!(matches!(agent.receive(), Heard::Ask(bytes) if bytes == b"ask"));
        assert!(matches!(agent.receive(), Heard::End));
        let said = sent(&written);
        assert!(matches!(said[..], [Report::Pong { sent_ns: 5, clock_ns }] if clock_ns > 0));
    }

    #[test]
    fn home_hears_while_something_long_comes() {
        let file = Frame::Raw(vec![7; 4 * PIECE]);
        let (bytes, written) = (input(std::slice::from_ref(&file)), Written::default());
        let mut agent =
            Agent::greet(&bytes[..], Box::new(written.clone()), "0.1.0", || {}).unwrap();
        assert!(matches!(agent.receive(), Heard::Ask(bytes) if bytes.len() == 4 * PIECE));
        let frames = sent(&written);
        assert_eq!(frames.first(), Some(&Report::Taking));
    }

    /// Writes there, and has a lease that was given at this time of the monotonic clock.
    fn outbox(written: &Written, at_ns: u64) -> Outbox {
        Outbox {
            output: Arc::new(Mutex::new(Box::new(written.clone()))),
            lease: Arc::new(Lease::new(SILENCE_MAX, at_ns)),
        }
    }

    /// An agent that sends long logs home reads nothing meanwhile, and must not take that for the
    /// end of home.
    #[test]
    fn something_long_that_is_taken_renews_the_lease() {
        for (bytes, expected) in [(9, false), (1 << 20, true)] {
            let outbox = outbox(&Written::default(), 0);
            let left = || outbox.lease.left(monotonic_ns()).is_some();
            assert!(!left(), "it ran out long ago");
            outbox.answer(&"x".repeat(bytes)).unwrap();
            assert_eq!(left(), expected, "{bytes}");
        }
    }

    #[test]
    fn what_home_would_not_take_is_refused() {
        check_length(FRAME_BYTES_MAX).unwrap();
        let failed = check_length(FRAME_BYTES_MAX + 1).unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::FileTooLarge, "{failed}");
    }

    #[test]
    fn what_is_no_message_ends_it() {
        for bytes in [
            &b"\x7f\xff\xff\xff"[..],
            &input(&[Frame::Json(b"{}".to_vec())]),
            &input(&[Frame::Json(b"\"dance\"".to_vec())]),
        ] {
            let written = Box::new(Written::default());
            let mut agent = Agent::greet(bytes, written, "0.1.0", || {}).unwrap();
            assert!(matches!(agent.receive(), Heard::End));
        }
    }
}
