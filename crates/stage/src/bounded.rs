//! Runs a short command to its end, within a limit of time, and keeps its output.
//!
//! For questions such as a version or a check of a configuration, never for a server: those run
//! under a keeper.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

/// Bytes of output that are kept at the beginning, and as many at the end; the rest is cut.
const TEXT_BYTES: u64 = 32 * 1024;

pub(crate) struct Output {
    pub(crate) status: ExitStatus,
    /// Standard output and error together, in the order of writing.
    pub(crate) text: String,
}

/// How a command came to its end.
#[derive(Debug)]
pub(crate) enum End {
    Itself(ExitStatus),
    /// It was killed with its process group, at its limit.
    TooSlow,
    /// It was killed with its process group, when that was asked for.
    Interrupted,
}

pub(crate) fn run(
    command: &[String],
    environment: &[(String, String)],
    folder: &Path,
    limit: Duration,
) -> io::Result<Output> {
    let never = AtomicBool::new(false);
    let (end, text) = run_unless(command, environment, folder, limit, &never)?;
    match end {
        End::Itself(status) => Ok(Output { status, text }),
        End::TooSlow | End::Interrupted => {
            Err(io::Error::other(format!("it did not end within {limit:?}")))
        }
    }
}

/// As [`run`], until `interrupted` is set.
pub(crate) fn run_unless(
    command: &[String],
    environment: &[(String, String)],
    folder: &Path,
    limit: Duration,
    interrupted: &AtomicBool,
) -> io::Result<(End, String)> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(io::Error::other("the command is empty"));
    };
    // A file without a name instead of a pipe: a child that is left behind cannot hold it open.
    let output = nameless_file()?;
    let mut builder = Command::new(program);
    builder.args(arguments).current_dir(folder).process_group(0);
    builder.envs(environment.iter().map(|(name, value)| (name, value)));
    builder
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?);
    // SAFETY: one system call, without allocation or lock.
    unsafe {
        builder.pre_exec(|| {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
                .map_err(io::Error::from)
        });
    }
    let mut child = builder.spawn()?;
    let limit = Instant::now() + limit;
    let end = loop {
        if let Some(status) = child.try_wait()? {
            break End::Itself(status);
        }
        let forced = match (interrupted.load(Ordering::Relaxed), Instant::now() >= limit) {
            (true, _) => Some(End::Interrupted),
            (_, true) => Some(End::TooSlow),
            _ => None,
        };
        if let Some(forced) = forced {
            let _ = rustix::process::kill_process_group(Pid::from_child(&child), Signal::KILL);
            child.wait()?;
            break forced;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    Ok((end, read_output(output)?))
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
        run(
            &["/bin/sh", "-c", script].map(str::to_owned),
            &[],
            Path::new("/"),
            limit,
        )
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
    fn ends_what_does_not_end() {
        let cause = shell("sleep 600", Duration::from_millis(50)).err().unwrap();
        assert!(cause.to_string().contains("did not end"), "{cause}");
    }
}
