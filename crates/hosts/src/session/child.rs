//! The process at home that leads to a host.

use std::collections::VecDeque;
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::Cause;

/// Bytes kept of what it writes to its standard error, the last ones.
const ERRORS_BYTES_MAX: usize = 8 << 10;
/// Between two looks at it.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A child process with pipes. Dropping it ends it by force.
pub(crate) struct Child {
    process: std::process::Child,
    errors: Arc<Mutex<Errors>>,
}

/// What it writes to its standard error.
#[derive(Default)]
struct Errors {
    last: VecDeque<u8>,
    is_whole: bool,
}

impl Child {
    /// Starts a command, which has at least one word. It is in a process group of its own, so
    /// that Ctrl-C at home does not cut off what hosts have measured.
    pub(crate) fn start(command: &[String]) -> Result<Self, Cause> {
        let program = command.first().cloned().unwrap_or_default();
        let failed = |source| Cause::Command {
            program: program.clone(),
            source,
        };
        let mut process = Command::new(&program)
            .args(command.iter().skip(1))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let errors = Arc::new(Mutex::new(Errors::default()));
        if let Some(mut output) = process.stderr.take() {
            let errors = errors.clone();
            let reader = std::thread::Builder::new().name("agent-errors".to_owned());
            let read = move || keep(&mut output, &errors);
            reader.spawn(read).map_err(failed)?;
        }
        Ok(Self { process, errors })
    }

    pub(crate) fn take_input(&mut self) -> Option<ChildStdin> {
        self.process.stdin.take()
    }

    pub(crate) fn take_output(&mut self) -> Option<ChildStdout> {
        self.process.stdout.take()
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.process.try_wait().ok().flatten()
    }

    /// Waits so long for its end.
    pub(crate) fn ended_within(&mut self, within: Duration) -> Option<ExitStatus> {
        let end = Instant::now() + within;
        loop {
            match self.ended() {
                None if Instant::now() < end => std::thread::sleep(LOOK_AGAIN),
                ended => return ended,
            }
        }
    }

    /// Ends it by force, and what it started: a script that leads to a host may wait for another
    /// command.
    pub(crate) fn kill(&mut self) {
        // All fail only if it has ended. Once it was waited for its group may be somebody else's.
        if self.ended().is_none() {
            let _ = kill_process_group(Pid::from_child(&self.process), Signal::KILL);
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// What it wrote last to its standard error, waiting for the end of that until `end`.
    pub(crate) fn errors(&self, end: Instant) -> String {
        loop {
            let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
            if errors.is_whole || Instant::now() >= end {
                let bytes: Vec<u8> = errors.last.iter().copied().collect();
                return String::from_utf8_lossy(&bytes).trim().to_owned();
            }
            drop(errors);
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Reads to the end, and keeps the last bytes.
fn keep(output: &mut impl std::io::Read, errors: &Mutex<Errors>) {
    let mut piece = vec![0; 4096];
    loop {
        let length = match output.read(&mut piece) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Ok(length) => length,
            Err(_) => 0,
        };
        let mut errors = errors.lock().unwrap_or_else(PoisonError::into_inner);
        if length == 0 {
            errors.is_whole = true;
            return;
        }
        errors.last.extend(&piece[..length]);
        let over = errors.last.len().saturating_sub(ERRORS_BYTES_MAX);
        errors.last.drain(..over);
    }
}
