//! Whose processes a server's are: ours, an engine's, or somebody else's. `/proc` says whose, as
//! far as this user may read it.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Pid;

use crate::between;
use crate::container::measured::Container;
use crate::kept::{Gone, Kept};
use crate::listeners::{self, Transport};
use crate::tree;

/// Whose processes a server's are.
#[derive(Debug)]
pub(crate) enum Held {
    /// Ours, under a keeper.
    Kept(Box<Kept>),
    /// Somebody else's.
    Already(Already),
    /// Those of a container, which an engine holds for us.
    Container(Box<Container>),
}

/// The processes of a server that ran already; none where they cannot be seen.
#[derive(Debug, Default)]
pub(crate) struct Already {
    /// Those that listen, without those that another one of them has started; each with its start,
    /// as [`tree::started`] has it.
    roots: Vec<(Pid, u64)>,
    /// Why there are none, where somebody else listens in their place.
    unknown: Option<String>,
}

impl From<Kept> for Held {
    fn from(kept: Kept) -> Self {
        Self::Kept(Box::new(kept))
    }
}

impl Held {
    /// Every process of it now.
    pub(crate) fn pids(&self) -> Vec<Pid> {
        match self {
            Self::Kept(kept) => kept.pids(),
            Self::Already(already) => already.pids(),
            Self::Container(container) => container.pids(),
        }
    }

    pub(crate) fn group(&self) -> Option<&Path> {
        match self {
            Self::Kept(kept) => kept.group(),
            Self::Already(_) => None,
            Self::Container(container) => container.group(),
        }
    }

    /// A process that limits hold; an engine may limit each container.
    pub(crate) fn limited(&self) -> Option<Pid> {
        match self {
            Self::Kept(kept) => kept.is_limited().then(|| kept.main_pid()),
            Self::Already(_) => None,
            Self::Container(_) => self.main_pid(),
        }
    }

    /// The keeper; of a server without one, its first process.
    pub(crate) fn keeper_pid(&self) -> Option<Pid> {
        match self {
            Self::Kept(kept) => Some(kept.keeper_pid()),
            Self::Already(_) | Self::Container(_) => self.main_pid(),
        }
    }

    /// The keeper's inner process; of a server without one, its first process.
    pub(crate) fn guard_pid(&self) -> Option<Pid> {
        match self {
            Self::Kept(kept) => Some(kept.guard_pid()),
            Self::Already(_) | Self::Container(_) => self.main_pid(),
        }
    }

    pub(crate) fn main_pid(&self) -> Option<Pid> {
        match self {
            Self::Kept(kept) => Some(kept.main_pid()),
            Self::Already(already) => already.first(),
            Self::Container(container) => Some(container.main()),
        }
    }

    /// Root of the tree to sample, and whether it belongs to the server itself. `None` where there
    /// is none, or where there are several.
    pub(crate) fn root(&self) -> Option<(Pid, bool)> {
        match self {
            Self::Kept(kept) => Some((kept.guard_pid(), false)),
            Self::Already(already) => match already.roots[..] {
                [(root, _)] => Some((root, true)),
                _ => None,
            },
            Self::Container(container) => Some((container.main(), true)),
        }
    }

    /// Why its processes are not known, where that is known.
    pub(crate) fn unknown(&self) -> Option<&str> {
        match self {
            Self::Kept(_) | Self::Container(_) => None,
            Self::Already(already) => already.unknown.as_deref(),
        }
    }

    pub(crate) fn status(&self) -> Option<&str> {
        match self {
            Self::Kept(kept) => kept.status(),
            Self::Already(_) => None,
            Self::Container(container) => container.status(),
        }
    }

    /// How it ended by itself, if it has.
    pub(crate) fn died(&mut self) -> Option<String> {
        match self {
            Self::Kept(kept) => kept.died(),
            Self::Already(already) => already.died(),
            Self::Container(container) => container.died(),
        }
    }

    /// Waits this long, or until its keeper has something to say.
    pub(crate) fn hear(&mut self, wait: Duration) {
        match self {
            Self::Kept(kept) => kept.hear(wait),
            Self::Already(_) | Self::Container(_) => std::thread::sleep(wait),
        }
    }

    /// Has its output so far where its log is.
    pub(crate) fn copy_log(&self) {
        if let Self::Container(container) = self {
            container.copy_log();
        }
    }

    /// Ends what is ours by force.
    pub(crate) fn end(&mut self) {
        match self {
            Self::Kept(kept) => kept.end(),
            Self::Already(_) => {}
            Self::Container(container) => container.end(),
        }
    }

    /// Stops what is ours. What an engine holds it still holds, ended or not.
    pub(crate) fn stop(&mut self, signal: &str, grace: Duration) -> Gone {
        match self {
            Self::Kept(kept) => kept.stop(signal, grace),
            Self::Already(_) => Gone::Gracefully,
            Self::Container(container) => container.stop(signal, grace),
        }
    }
}

impl Already {
    /// The processes that listen at `address` on this machine, as far as they may be seen.
    pub(crate) fn at(address: SocketAddr, transport: Transport) -> Self {
        let is_it = |listener: &listeners::Listener| {
            let at = listener.address;
            let ip = at.ip() == address.ip() || at.ip().is_unspecified();
            ip && at.port() == address.port() && listener.transport == transport
        };
        let inodes: HashSet<u64> = listeners::listeners()
            .iter()
            .filter(|listener| is_it(listener))
            .map(|listener| listener.inode)
            .collect();
        if inodes.is_empty() {
            return Self::default();
        }
        let mut holders = tree::all();
        holders.retain(|&pid| listeners::holds(pid, &inodes));
        // Before those below others are left out: a server that its manager has started is.
        let mut unknown = None;
        holders.retain(|&pid| {
            let why = between::why_unknown(pid, address.port());
            let may_be_it = why.is_none();
            unknown = unknown.take().or(why);
            may_be_it
        });
        let below: HashSet<Pid> = holders
            .iter()
            .flat_map(|&pid| tree::descendants(pid))
            .collect();
        holders.retain(|pid| !below.contains(pid));
        let roots = holders.into_iter();
        let roots = roots.filter_map(|pid| Some((pid, tree::started(pid)?)));
        let roots: Vec<(Pid, u64)> = roots.collect();
        Self {
            unknown: unknown.filter(|_| roots.is_empty()),
            roots,
        }
    }

    fn first(&self) -> Option<Pid> {
        self.roots.first().map(|(pid, _)| *pid)
    }

    fn pids(&self) -> Vec<Pid> {
        let each = self.roots.iter();
        each.flat_map(|&(root, _)| std::iter::once(root).chain(tree::descendants(root)))
            .collect()
    }

    fn died(&self) -> Option<String> {
        // A later process may have its number.
        let is_gone = |(pid, started): &&(Pid, u64)| !tree::is_running(*pid, *started);
        let (gone, _) = self.roots.iter().find(is_gone)?;
        Some(format!("process {gone}, which listened there, has ended"))
    }

    /// The program that listens.
    pub(crate) fn program(&self) -> Option<PathBuf> {
        std::fs::read_link(format!("/proc/{}/exe", self.first()?)).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::OwnedFd;
    use std::os::unix::fs::symlink;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command, Stdio};
    use std::time::Instant;

    use rustix::process::{Signal, kill_process_group};

    use super::*;

    const LOOK_AGAIN: Duration = Duration::from_millis(50);

    /// A shell under the name of another program, which holds a listening socket; it ends with all
    /// that it has started.
    struct Holder {
        shell: Child,
        _folder: tempfile::TempDir,
    }

    impl Holder {
        fn named(name: &str, script: &str) -> (Self, SocketAddr) {
            let folder = tempfile::tempdir().unwrap();
            let program = folder.path().join(name);
            symlink("/bin/sh", &program).unwrap();
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            // As its standard input no other process gets it.
            let mut command = Command::new(program);
            command.arg0("sh").args(["-c", script]).process_group(0);
            command.stdin(Stdio::from(OwnedFd::from(listener)));
            let shell = command.spawn().unwrap();
            let holder = Self {
                shell,
                _folder: folder,
            };
            (holder, address)
        }

        fn pid(&self) -> Pid {
            Pid::from_child(&self.shell)
        }
    }

    impl Drop for Holder {
        fn drop(&mut self) {
            let _ = kill_process_group(self.pid(), Signal::KILL);
            let _ = self.shell.wait();
        }
    }

    /// What listens there once that is as `expected`.
    fn once(address: SocketAddr, expected: impl Fn(&Held) -> bool) -> Held {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let held = Held::Already(Already::at(address, Transport::Tcp));
            if expected(&held) {
                return held;
            }
            assert!(Instant::now() < end, "{held:?}");
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    #[test]
    fn what_forwards_is_not_taken_for_the_server() {
        let script = "sleep 600 < /dev/null; true";
        let (holder, address) = Holder::named("docker-proxy", script);
        let held = once(address, |held| held.unknown().is_some());
        assert_eq!(held.root(), None);
        assert!(held.pids().is_empty(), "{held:?}");
        let why = held.unknown().unwrap();
        let expected = format!("docker-proxy (process {})", holder.pid());
        assert!(why.contains(&expected), "{why}");
    }

    #[test]
    fn a_manager_that_keeps_the_socket_is_not_taken_for_its_service() {
        let (holder, address) = Holder::named("systemd", "sleep 600; true");
        let is_service = |pid| tree::name(pid) == "sleep";
        let held = once(address, |held| {
            held.root().is_some_and(|(root, _)| is_service(root))
        });
        assert_eq!(held.unknown(), None);
        assert!(!held.pids().contains(&holder.pid()));

        let (holder, address) = Holder::named("systemd", "sleep 600 < /dev/null; true");
        let held = once(address, |held| held.unknown().is_some());
        assert_eq!(held.root(), None, "the service takes one connection each");
        let expected = format!("systemd (process {})", holder.pid());
        assert!(held.unknown().unwrap().contains(&expected));
    }

    #[test]
    fn the_process_that_listens_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let me = rustix::process::getpid();
        // What another test starts has our sockets too until it runs its program.
        let mut held = once(address, |held| held.root() == Some((me, true)));
        assert!(held.pids().contains(&me));
        assert_eq!(held.died(), None);
        let Held::Already(already) = &mut held else {
            unreachable!("it was made so");
        };
        already.roots[0].1 += 1;
        let died = held.died().unwrap();
        assert!(died.contains(&format!("process {me}")), "{died}");
        drop(listener);
        once(address, |held| held.root().is_none());
    }
}
