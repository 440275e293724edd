//! Runs a short command to its end, within a limit of time, and keeps its words.
//!
//! For questions such as a version or a check of a configuration, never for a server: those run
//! under a keeper.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

/// Words that are kept; a command that says more is cut.
const TEXT_BYTES: u64 = 64 * 1024;

pub(crate) struct Output {
    pub(crate) status: ExitStatus,
    /// Standard output and error together, in the order of writing.
    pub(crate) text: String,
}

pub(crate) fn run(
    command: &[String],
    environment: &[(String, String)],
    folder: &Path,
    limit: Duration,
) -> io::Result<Output> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(io::Error::other("the command is empty"));
    };
    // A file without a name instead of a pipe: a child that is left behind cannot hold it open.
    let mut words = nameless_file()?;
    let mut builder = Command::new(program);
    builder.args(arguments).current_dir(folder).process_group(0);
    builder.envs(environment.iter().map(|(name, value)| (name, value)));
    builder
        .stdin(Stdio::null())
        .stdout(words.try_clone()?)
        .stderr(words.try_clone()?);
    // SAFETY: one system call, without allocation or lock.
    unsafe {
        builder.pre_exec(|| {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
                .map_err(io::Error::from)
        });
    }
    let mut child = builder.spawn()?;
    let end = Instant::now() + limit;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= end {
            let _ = rustix::process::kill_process_group(Pid::from_child(&child), Signal::KILL);
            child.wait()?;
            return Err(io::Error::other(format!("it did not end within {limit:?}")));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    words.rewind()?;
    let mut bytes = Vec::new();
    words.take(TEXT_BYTES).read_to_end(&mut bytes)?;
    Ok(Output {
        status,
        text: String::from_utf8_lossy(&bytes).into_owned(),
    })
}

fn nameless_file() -> io::Result<File> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    Ok(File::from(rustix::fs::memfd_create(
        "bakeoff-words",
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
    fn keeps_both_kinds_of_words_and_the_status() {
        let output = shell("echo one; echo two >&2; exit 3", Duration::from_secs(20)).unwrap();
        assert_eq!(output.text, "one\ntwo\n");
        assert_eq!(output.status.code(), Some(3));
    }

    #[test]
    fn ends_what_does_not_end() {
        let cause = shell("sleep 600", Duration::from_millis(50)).err().unwrap();
        assert!(cause.to_string().contains("did not end"), "{cause}");
    }
}
