//! Why a host cannot be used: which one, why, and what to do.

use crate::greeting::{Greeting, GreetingError};

/// Why a host cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("host {host}: {}", .cause.in_full())]
pub struct HostError {
    /// Its name in the hosts file.
    pub host: String,
    /// Why.
    pub cause: Cause,
}

/// Why a host cannot be used, shown without what other programs wrote.
///
/// Texts in it are what programs at home or there have written, which may hold addresses and names
/// of users; that of a program that is missing is where it should be.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// The command at home that leads there cannot be started.
    #[error("`{program}` cannot be started")]
    Command {
        /// Its first word.
        program: String,
        /// The system's cause.
        source: std::io::Error,
    },
    /// It does not answer to ssh, kubectl or the command given.
    #[error("it cannot be reached")]
    Unreachable(String),
    /// The command that leads to it ended before the agent there greeted.
    #[error("{}", not_begun(.code))]
    NotBegun {
        /// Its exit code; `None` where a signal ended it.
        code: Option<i32>,
        /// The command, and what it wrote.
        message: String,
    },
    /// Its host key is unknown, or another one than expected.
    #[error("its host key is unknown or has changed")]
    HostKey(String),
    /// It lets this user in with none of the user's keys.
    #[error("it does not let you in")]
    LogIn(String),
    /// Nothing came for too long before the greeting.
    #[error("its agent did not greet in time")]
    NoGreeting(String),
    /// What came is no greeting.
    #[error("{source}")]
    Greeting {
        /// Why.
        source: GreetingError,
        /// What came.
        banner: String,
    },
    /// Another bakeoff answers than this one.
    #[error(
        "{program} there is bakeoff {} with digest {}, and this one has digest {own}",
        .theirs.version,
        .theirs.digest.short()
    )]
    OtherProgram {
        /// What answers.
        theirs: Box<Greeting>,
        /// Where it is there.
        program: String,
        /// The digest of the program here.
        own: String,
    },
    /// The program is not there, and cannot be put there.
    #[error("{0} is missing there")]
    Missing(String),
    /// The disk there has no room for the program.
    #[error("its disk has no room for the program, {} MiB", .bytes.div_ceil(1 << 20))]
    DiskFull {
        /// Length of the program, bytes.
        bytes: u64,
        /// What the host wrote.
        message: String,
    },
    /// The user's cache there cannot be written.
    #[error("~/.cache/bakeoff cannot be written there")]
    ReadOnly(String),
    /// The program could not be put there for another reason.
    #[error("the program could not be copied there")]
    Upload(String),
    /// The program is there and cannot be executed.
    #[error("{program} cannot be executed there")]
    NotExecutable {
        /// Where it is.
        program: String,
        /// What the host wrote.
        message: String,
    },
    /// Another campaign uses the host.
    #[error("another campaign uses it")]
    Busy(String),
    /// The connection ended.
    #[error("the connection to it has ended")]
    Ended(String),
    /// Nothing came for too long.
    #[error("nothing came from it for {seconds} s")]
    Silent {
        /// Seconds.
        seconds: u64,
    },
    /// What came makes no sense here.
    #[error("its agent sent {0}")]
    Confused(String),
    /// The host did not do something in time.
    #[error("it did not {what} within {seconds} s")]
    Late {
        /// What.
        what: &'static str,
        /// Seconds.
        seconds: u64,
    },
    /// The agent refused.
    #[error("its agent refused")]
    Refused {
        /// Why, which may hold addresses.
        why: String,
        /// Whether the user can fix it in what was asked for.
        usage: bool,
    },
    /// Nothing says by which address the others reach it.
    #[error("nothing says by which address the others reach it")]
    NoAddress,
    /// The address by which the others are to reach it cannot be used.
    #[error("{problem}")]
    BadAddress {
        /// The address, and the system's cause where there is one.
        address: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// No pod matches.
    #[error("no running pod in namespace {namespace} matches {selector}")]
    NoPods {
        /// The namespace.
        namespace: String,
        /// The selector.
        selector: String,
    },
}

impl HostError {
    /// The same without what programs at home or there have written; that of the agent is kept.
    pub fn without_messages(&self) -> String {
        let problem = self.cause.reason();
        match self.cause.fix() {
            "" => format!("host {}: {problem}", self.host),
            fix => format!("host {}: {problem}; {fix}", self.host),
        }
    }
}

impl Cause {
    /// A short name for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Command { .. } => "no-command",
            Self::Unreachable(_) => "unreachable",
            Self::NotBegun { .. } => "not-begun",
            Self::HostKey(_) => "host-key",
            Self::LogIn(_) => "log-in",
            Self::NoGreeting(_) => "no-greeting",
            Self::Greeting { .. } => "bad-greeting",
            Self::OtherProgram { .. } => "other-program",
            Self::Missing(_) => "missing",
            Self::DiskFull { .. } => "disk-full",
            Self::ReadOnly(_) => "read-only",
            Self::Upload(_) => "upload",
            Self::NotExecutable { .. } => "not-executable",
            Self::Busy(_) => "busy",
            Self::Ended(_) => "ended",
            Self::Silent { .. } => "silent",
            Self::Confused(_) => "confused",
            Self::Late { .. } => "late",
            Self::Refused { .. } => "refused",
            Self::NoAddress => "no-address",
            Self::BadAddress { .. } => "bad-address",
            Self::NoPods { .. } => "no-pods",
        }
    }

    /// What went wrong, with what the agent itself gave as its reason, which may hold addresses.
    pub fn reason(&self) -> String {
        match self {
            Self::Refused { why, .. } => format!("{self} ({why})"),
            _ => self.to_string(),
        }
    }

    /// Whether the host is away, whatever it was asked to do. An agent that is late, that refuses
    /// or that says something else is there.
    pub fn is_loss(&self) -> bool {
        !matches!(
            self,
            Self::Late { .. } | Self::Refused { .. } | Self::Confused(_)
        )
    }

    /// What to do; empty where nothing general can be said.
    pub fn fix(&self) -> &'static str {
        match self {
            Self::Command { .. } => "install it, or choose another way to the host",
            Self::Unreachable(_) => {
                "try the same by hand, such as `ssh -o BatchMode=yes ALIAS true` or `kubectl get \
                 pods`; where that works, remove ~/.cache/bakeoff there, which may hold a damaged \
                 copy of the program"
            }
            Self::NotBegun { .. } => "run that command by hand",
            Self::HostKey(_) => {
                "if the host was set up anew, remove its old key with `ssh-keygen -R`, and connect \
                 once by hand to accept the new one"
            }
            Self::LogIn(_) => "add your key to its authorized_keys, or to your ssh-agent",
            Self::NoGreeting(_) => {
                "look for what its login files write or wait for; `program` names an installed \
                 bakeoff"
            }
            Self::Greeting { .. } | Self::Confused(_) => {
                "use the same bakeoff on both sides, and let login files write nothing"
            }
            Self::OtherProgram { .. } => {
                "install this version there, or leave `program` out of the hosts file to have it \
                 copied; a damaged copy in ~/.cache/bakeoff can be removed"
            }
            Self::Missing(_) => {
                "correct `program` in the hosts file, or leave it out to have the program copied"
            }
            Self::DiskFull { .. } => "make room in the home folder there, or set `program`",
            Self::ReadOnly(_) => {
                "make the home folder there writable, or install bakeoff and set `program`"
            }
            Self::Upload(_) => "copy it yourself and set `program` in the hosts file",
            Self::NotExecutable { .. } => {
                "its folder may be mounted noexec, or the processor be another one: install \
                 bakeoff elsewhere there and set `program`"
            }
            Self::Busy(_) => "wait until it has ended, or end it",
            Self::Ended(_) | Self::Silent { .. } | Self::Late { .. } => {
                "check the link and the host, then measure again"
            }
            Self::Refused { .. } => "",
            Self::NoAddress => {
                "write `address` in its table of the hosts file (`[hosts.home]` for this machine); \
                 only `bakeoff load` needs none"
            }
            Self::BadAddress { .. } => "correct it in its table of the hosts file",
            Self::NoPods { .. } => {
                "apply the Job that `bakeoff hosts manifest` prints, or correct the selector"
            }
        }
    }

    /// What went wrong, what other programs wrote of it, and what to do.
    pub fn in_full(&self) -> String {
        let mut text = self.to_string();
        if let Self::Command { source, .. } = self {
            text += &format!(" ({source})");
        }
        let message = last_lines(self.message());
        if !message.is_empty() {
            text += &format!(" ({message})");
        }
        match self.fix() {
            "" => text,
            fix => format!("{text}; {fix}"),
        }
    }

    /// What other programs wrote about it.
    fn message(&self) -> &str {
        match self {
            Self::Unreachable(message)
            | Self::NotBegun { message, .. }
            | Self::HostKey(message)
            | Self::LogIn(message)
            | Self::DiskFull { message, .. }
            | Self::ReadOnly(message)
            | Self::Upload(message)
            | Self::NotExecutable { message, .. }
            | Self::Ended(message) => message,
            Self::NoGreeting(banner) | Self::Greeting { banner, .. } => banner,
            Self::Busy(owner) => owner,
            Self::BadAddress { address, .. } => address,
            Self::Refused { why, .. } => why,
            _ => "",
        }
    }
}

fn not_begun(code: &Option<i32>) -> String {
    match code {
        Some(code) => {
            format!("the command to it ended with status {code} before its agent greeted")
        }
        None => "the command to it was ended before its agent greeted".to_owned(),
    }
}

/// The last lines of a text, on one line: they say why, what is before them often only that.
fn last_lines(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines.collect();
    let from = lines.len().saturating_sub(3);
    let text = lines[from..].join(" / ");
    match text.char_indices().nth(400) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// Why a command to a host ended with `code` before it did its work; `message` is what it and
/// the host wrote.
pub(crate) fn cause_of_end(code: Option<i32>, message: String) -> Cause {
    let has = |part: &str| message.contains(part);
    if has("Host key verification failed") || has("HOST IDENTIFICATION HAS CHANGED") {
        return Cause::HostKey(message);
    }
    if has("Permission denied (") || has("Too many authentication failures") {
        return Cause::LogIn(message);
    }
    // 255 is ssh's own; 1 is kubectl's, and that of most others.
    match code {
        Some(_) => Cause::Unreachable(message),
        None => Cause::Ended(message),
    }
}

/// Why an upload failed; `message` is what the host wrote.
pub(crate) fn cause_of_upload(code: Option<i32>, bytes: u64, message: String) -> Cause {
    let has = |part: &str| message.contains(part);
    if has("No space left") || has("Disk quota exceeded") {
        return Cause::DiskFull { bytes, message };
    }
    if code == Some(255) {
        return cause_of_end(code, message);
    }
    if has("Read-only file system") || has("Permission denied") {
        return Cause::ReadOnly(message);
    }
    Cause::Upload(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(cause: Cause, code: &str) {
        let (problem, fix) = (cause.to_string(), cause.fix());
        assert_eq!(cause.code(), code);
        let text = HostError {
            host: "g1".to_owned(),
            cause,
        };
        let text = text.to_string();
        assert!(text.starts_with("host g1: "), "{text}");
        assert!(text.contains(&problem) && text.ends_with(fix), "{text}");
        assert!(!problem.contains("10.0.0.1"), "no address: {problem}");
    }

    #[test]
    fn messages_of_ssh_can_be_left_out() {
        let message = "connect to 10.0.0.1 port 22: refused".to_owned();
        let error = HostError {
            host: "g1".to_owned(),
            cause: Cause::Ended(message),
        };
        assert!(error.to_string().contains("10.0.0.1"));
        assert_eq!(
            error.without_messages(),
            "host g1: the connection to it has ended; check the link and the host, then measure \
             again"
        );
    }

    #[test]
    fn what_ssh_writes_becomes_a_cause() {
        for (code, message, expected) in [
            (
                Some(255),
                "ssh: Could not resolve hostname g9",
                "unreachable",
            ),
            (
                Some(255),
                "ssh: connect to host 10.0.0.1 port 22: Connection refused",
                "unreachable",
            ),
            (Some(255), "Host key verification failed.", "host-key"),
            (
                Some(255),
                "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key for 10.0.0.1",
                "host-key",
            ),
            (
                Some(255),
                "u@10.0.0.1: Permission denied (publickey).",
                "log-in",
            ),
            (Some(1), "Error from server (NotFound): pods", "unreachable"),
            (None, "", "ended"),
        ] {
            check(cause_of_end(code, message.to_owned()), expected);
        }
    }

    #[test]
    fn what_an_upload_meets_becomes_a_cause() {
        for (code, message, expected) in [
            (1, "cat: write error: No space left on device", "disk-full"),
            (
                1,
                "mkdir: cannot create directory: Read-only file system",
                "read-only",
            ),
            (
                1,
                "mkdir: cannot create directory '/x': Permission denied",
                "read-only",
            ),
            (255, "u@10.0.0.1: Permission denied (publickey).", "log-in"),
            (127, "sh: not found", "upload"),
        ] {
            check(cause_of_upload(Some(code), 9, message.to_owned()), expected);
        }
    }

    #[test]
    fn long_messages_are_cut_to_their_last_lines() {
        let text = last_lines("banner\n\na\n b \nc\n");
        assert_eq!(text, "a / b / c");
        assert!(last_lines(&"ä".repeat(1000)).chars().count() < 410);
    }
}
