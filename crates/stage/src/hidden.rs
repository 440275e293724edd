//! Processes that this user may not look at: which sockets are theirs, the system does not say.
//!
//! It refuses where a program has file capabilities, which make its processes unreadable to the
//! very user that runs them, where a process is another user's, and where root lacks
//! `CAP_SYS_PTRACE`.

use std::io;

use rustix::process::Pid;

use crate::crew::effective_user;
use crate::error::Cause;
use crate::tree;
use crate::user::user_name;

/// What root can do.
const IN_CONTAINER: &str =
    "add the capability CAP_SYS_PTRACE to the container, or set `user = \"root\"` in the contender";
/// What to do about a program that hides its processes from its own user.
const BY_ITSELF: &str = "take the capabilities off its program (`getcap FILE` shows them, `sudo \
                         setcap -r FILE` takes them off), or start a copy of it, which has none";

/// The first of these processes that may not be looked at.
pub(crate) fn first_of(pids: &[Pid]) -> Option<Pid> {
    pids.iter().copied().find(|&pid| is_hidden(pid))
}

fn is_hidden(pid: Pid) -> bool {
    let is_refusal = |cause: io::Error| cause.kind() == io::ErrorKind::PermissionDenied;
    match std::fs::read_dir(format!("/proc/{pid}/fd")) {
        // Root without CAP_SYS_PTRACE may list them, and not see what they are.
        Ok(entries) => entries
            .flatten()
            .any(|entry| std::fs::read_link(entry.path()).is_err_and(is_refusal)),
        Err(cause) => is_refusal(cause),
    }
}

/// The error of a server that has such a process.
pub(crate) fn cause(pid: Pid) -> Cause {
    Cause::Hidden {
        process: format!("{pid} ({})", tree::name(pid)),
        remedy: remedy(effective_user(pid), rustix::process::geteuid().as_raw()),
    }
}

/// What to do about a process of user `theirs` that user `own` may not look at.
fn remedy(theirs: Option<u32>, own: u32) -> String {
    let other = theirs.filter(|user| *user != own);
    match (own, other) {
        (0, _) => IN_CONTAINER.to_owned(),
        (_, Some(user)) => format!(
            "it runs as user {}; start it without sudo and the like, or run bakeoff as root",
            user_name(user)
        ),
        (_, None) => BY_ITSELF.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_looked_at_is_not_hidden() {
        let me = rustix::process::getpid();
        assert_eq!(first_of(&[me]), None);
        assert_eq!(
            effective_user(me),
            Some(rustix::process::geteuid().as_raw())
        );
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let gone = Pid::from_child(&child);
        child.wait().unwrap();
        assert_eq!(first_of(&[gone]), None, "what is gone is not hidden");
    }

    #[test]
    fn what_to_do_depends_on_whose_the_process_is() {
        for (theirs, own, words) in [
            (Some(1000), 1000, "setcap -r"),
            (None, 1000, "setcap -r"),
            (Some(0), 1000, "it runs as user "),
            (Some(65534), 0, "CAP_SYS_PTRACE"),
            (Some(0), 0, "CAP_SYS_PTRACE"),
        ] {
            let remedy = remedy(theirs, own);
            assert!(remedy.contains(words), "{theirs:?} of {own}: {remedy}");
        }
    }
}
