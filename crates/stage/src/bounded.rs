//! Runs a short command to its end, within a limit of time, and keeps its output.
//!
//! For questions such as a version, a check of a configuration, a download or a build. It runs
//! under a keeper like a server, so that nothing of it goes on when bakeoff is killed; in a program
//! that has no keeper in it, it is a child with a process group of its own.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::host;
use crate::keeper::launch::{Launch, Room};
use crate::kept::Kept;
use crate::user::User;

/// Bytes of output that are kept at the beginning, and as many at the end; the rest is cut.
const TEXT_BYTES: u64 = 32 * 1024;
/// Longest output of a command that is let go on: it lies in memory.
const OUTPUT_BYTES_MAX: u64 = 64 << 20;
/// Between two looks at a command that runs.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

#[derive(Debug, Clone)]
pub(crate) struct Output {
    pub(crate) status: ExitStatus,
    /// Standard output and error together, in the order of writing.
    pub(crate) text: String,
}

/// How a command came to its end.
#[derive(Debug)]
pub(crate) enum End {
    Itself(ExitStatus),
    /// It was killed with all that it had started, at its limit.
    TooSlow,
    /// It was killed with all that it had started, because it wrote without end.
    TooLong,
    /// It was killed with all that it had started, when that was asked for.
    Interrupted,
}

/// How a command is run.
pub(crate) struct Question<'a> {
    pub(crate) environment: &'a [(String, String)],
    /// Variables of bakeoff's own environment that it does not get.
    pub(crate) unset: &'a [String],
    pub(crate) folder: &'a Path,
    pub(crate) limit: Duration,
    /// Whom it runs as, if not as bakeoff does.
    pub(crate) user: Option<&'a User>,
    /// What it sees of the file system, if not what bakeoff does.
    pub(crate) room: Option<&'a Room>,
}

impl<'a> Question<'a> {
    /// One that bakeoff's own user asks, in its own environment.
    pub(crate) fn plain(folder: &'a Path, limit: Duration) -> Self {
        Self {
            environment: &[],
            unset: &[],
            folder,
            limit,
            user: None,
            room: None,
        }
    }
}

/// Runs it to its end, or until somebody asks bakeoff to end.
///
/// # Errors
/// When it cannot be run, or does not end in time; of kind `Interrupted` when it was cut short.
pub(crate) fn run(command: &[String], question: &Question<'_>) -> io::Result<Output> {
    let never = AtomicBool::new(false);
    let limit = question.limit;
    let (end, text) = ask(command, question, &never)?;
    match end {
        End::Itself(status) => Ok(Output { status, text }),
        End::TooSlow => Err(io::Error::other(format!("it did not end within {limit:?}"))),
        End::TooLong => Err(io::Error::other(too_long())),
        End::Interrupted => Err(host::interrupted()),
    }
}

/// What is said of a command that wrote too much.
pub(crate) fn too_long() -> String {
    let most = OUTPUT_BYTES_MAX >> 20;
    format!("it was ended because its output was longer than {most} MiB")
}

/// Runs a command as bakeoff's own user, until `interrupted` is set.
pub(crate) fn run_unless(
    command: &[String],
    environment: &[(String, String)],
    folder: &Path,
    limit: Duration,
    interrupted: &AtomicBool,
) -> io::Result<(End, String)> {
    let question = Question {
        environment,
        unset: &[],
        folder,
        limit,
        user: None,
        room: None,
    };
    ask(command, &question, interrupted)
}

fn ask(
    command: &[String],
    question: &Question<'_>,
    interrupted: &AtomicBool,
) -> io::Result<(End, String)> {
    if command.is_empty() {
        return Err(io::Error::other("the command is empty"));
    }
    // A file without a name instead of a pipe: a child that is left behind cannot hold it open.
    let output = nameless_file()?;
    let until = Instant::now() + question.limit;
    let length = || output.metadata().map_or(0, |data| data.len());
    let cut_short = || {
        if length() > OUTPUT_BYTES_MAX {
            return Some(End::TooLong);
        }
        if interrupted.load(Ordering::Relaxed) || host::is_interrupted() {
            return Some(End::Interrupted);
        }
        (Instant::now() >= until).then_some(End::TooSlow)
    };
    if let Some(end) = cut_short() {
        return Ok((end, String::new()));
    }
    let mut running = match Running::start(command, question, output.try_clone()?) {
        Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {
            return Ok((End::Interrupted, String::new()));
        }
        started => started?,
    };
    let end = loop {
        if let Some(status) = running.ended()? {
            // One that was quick to write too much would pass otherwise.
            break if length() > OUTPUT_BYTES_MAX {
                End::TooLong
            } else {
                End::Itself(status)
            };
        }
        if let Some(end) = cut_short() {
            break end;
        }
    };
    running.kill();
    Ok((end, read_output(output)?))
}

/// A command that runs. Dropping it ends it.
enum Running {
    Kept(Box<Kept>),
    /// In a program without a keeper.
    Alone(Child),
}

impl Running {
    fn start(command: &[String], question: &Question<'_>, output: File) -> io::Result<Self> {
        let Some(keeper) = host::keeper() else {
            if question.room.is_some() {
                return Err(io::Error::other("only a keeper makes a box"));
            }
            return Self::alone(command, question, output);
        };
        let launch = Launch {
            command: command.to_vec(),
            note: keeper.note.clone(),
            user: question.user.map(User::to_launch),
            unset: question.unset.to_vec(),
            namespace: question.room.is_some(),
            room: question.room.cloned(),
            ..Launch::default()
        };
        let (environment, folder) = (question.environment, question.folder);
        let kept = Kept::launch(&keeper, launch, environment, folder, output)?;
        Ok(Self::Kept(Box::new(kept)))
    }

    fn alone(command: &[String], question: &Question<'_>, output: File) -> io::Result<Self> {
        let user = question.user.cloned();
        let way = user
            .as_ref()
            .map(|user| user.way_to(Path::new(&command[0])));
        let way = way.transpose()?;
        let found = way.as_ref().map(|way| way.program.as_os_str());
        let mut builder = Command::new(found.unwrap_or(command[0].as_ref()));
        builder.arg0(&command[0]).args(&command[1..]);
        builder.current_dir(question.folder).process_group(0);
        let environment = question.environment.iter();
        builder.envs(environment.map(|(name, value)| (name, value)));
        for name in question.unset {
            builder.env_remove(name);
        }
        builder
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        let before_exec = move || {
            if let Some(user) = &user {
                user.assume()?;
            }
            if let Some(way) = &way {
                way.keep()?;
            }
            // A change of the user takes the signal back, so it comes last.
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
                .map_err(io::Error::from)
        };
        // SAFETY: the closure makes system calls only; it neither allocates nor locks.
        unsafe { builder.pre_exec(before_exec) };
        Ok(Self::Alone(builder.spawn()?))
    }

    /// How it ended, if it has; waits for that a moment.
    fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        match self {
            Self::Kept(kept) => match kept.ended(LOOK_AGAIN) {
                Some(status) => Ok(Some(ExitStatus::from_raw(status?))),
                None => Ok(None),
            },
            Self::Alone(child) => {
                let ended = child.try_wait()?;
                if ended.is_none() {
                    std::thread::sleep(LOOK_AGAIN);
                }
                Ok(ended)
            }
        }
    }

    /// Kills it with all that it has started.
    fn kill(mut self) {
        match &mut self {
            Self::Kept(kept) => kept.end(),
            Self::Alone(child) => {
                if matches!(child.try_wait(), Ok(None)) {
                    let group = Pid::from_child(child);
                    let _ = rustix::process::kill_process_group(group, Signal::KILL);
                    let _ = child.wait();
                }
            }
        }
    }
}

fn read_output(mut output: File) -> io::Result<String> {
    let length = output.metadata()?.len();
    output.rewind()?;
    let mut bytes = Vec::new();
    output.by_ref().take(TEXT_BYTES).read_to_end(&mut bytes)?;
    let rest = length.saturating_sub(TEXT_BYTES);
    if rest > TEXT_BYTES {
        bytes.extend_from_slice(b"\n...\n");
    }
    output.seek(SeekFrom::Start(length - rest.min(TEXT_BYTES)))?;
    output.take(TEXT_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn nameless_file() -> io::Result<File> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    Ok(File::from(rustix::fs::memfd_create(
        "bakeoff-output",
        flags,
    )?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> io::Result<Output> {
        let question = Question {
            environment: &[],
            unset: &[],
            folder: Path::new("/"),
            limit,
            user: None,
            room: None,
        };
        run(&["/bin/sh", "-c", script].map(str::to_owned), &question)
    }

    #[test]
    fn keeps_both_kinds_of_output_and_the_status() {
        let output = shell("echo one; echo two >&2; exit 3", Duration::from_secs(20)).unwrap();
        assert_eq!(output.text, "one\ntwo\n");
        assert_eq!(output.status.code(), Some(3));
    }

    #[test]
    fn keeps_the_beginning_and_the_end_of_long_output() {
        let text = |script| shell(script, Duration::from_secs(20)).unwrap().text;
        let long = text("echo first; seq 100000; echo last");
        assert!(long.starts_with("first\n1\n"), "{long:.20}");
        assert!(long.ends_with("100000\nlast\n") && long.contains("\n...\n"));
        assert_eq!(
            text("seq 10000"),
            (1..=10000).map(|n| format!("{n}\n")).collect::<String>()
        );
    }

    #[test]
    fn ends_what_writes_without_end() {
        let cause = shell("exec yes", Duration::from_secs(120)).err().unwrap();
        assert!(cause.to_string().contains("longer than 64 MiB"), "{cause}");
    }

    #[test]
    fn ends_what_does_not_end() {
        let cause = shell("sleep 600", Duration::from_millis(50)).err().unwrap();
        assert!(cause.to_string().contains("did not end"), "{cause}");
    }
}
