//! What `/proc` reports about a server's processes: how many wait for connections, what they may
//! use, and which files they write.
//!
//! A process may end while it is looked at; what it had is left out then.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use bakeoff_record::{Crew, GrownFile};
use rustix::process::Pid;

use crate::listeners;
use crate::tree;
use crate::user::user_name;

/// Sizes of the regular files that processes have open for writing, by path.
pub(crate) type Sizes = BTreeMap<PathBuf, u64>;

/// The processes as they are; `port` is where the server listens. `None` when nobody of them
/// seems to.
pub(crate) fn crew(pids: &[Pid], port: u16) -> Option<Crew> {
    let inodes: HashSet<u64> = listeners::held_by(pids)
        .iter()
        .filter(|listener| listener.address.port() == port)
        .map(|listener| listener.inode)
        .collect();
    let holders: Vec<Pid> = pids
        .iter()
        .copied()
        .filter(|&pid| listeners::holds(pid, &inodes))
        .collect();
    let leaves: Vec<Pid> = holders
        .iter()
        .copied()
        .filter(|&pid| {
            let children = tree::children(pid);
            !children.iter().any(|child| holders.contains(child))
        })
        .collect();
    let first = leaves.first()?;
    let loops = leaves.iter().map(|&pid| loops(pid, &inodes)).sum();
    let users = users(pids);
    let allowed = status(*first, "Cpus_allowed_list").map_or(0, |list| processors(&list));
    Some(Crew {
        processes: count(pids.len()),
        threads: pids.iter().map(|&pid| threads(pid)).sum(),
        listening: count(leaves.len()),
        loops,
        listening_threads: leaves.iter().map(|&pid| threads(pid)).sum(),
        processors: allowed,
        open_files: leaves.iter().filter_map(|&pid| open_files(pid)).min(),
        users,
    })
}

/// The users that processes run as, by name, each once.
pub(crate) fn users(pids: &[Pid]) -> Vec<String> {
    let numbers: BTreeSet<u32> = pids.iter().filter_map(|&pid| effective_user(pid)).collect();
    numbers.into_iter().map(user_name).collect()
}

/// The number of the user that a process runs as.
pub(crate) fn effective_user(pid: Pid) -> Option<u32> {
    // Real, effective, saved, and the one that files are opened as.
    let numbers = status(pid, "Uid")?;
    numbers.split_whitespace().nth(1)?.parse().ok()
}

/// Sizes now of what `pids` write.
pub(crate) fn sizes(pids: &[Pid]) -> Sizes {
    let mut sizes = Sizes::new();
    for &pid in pids {
        for (number, target) in files(pid) {
            // `stat` through the link finds a file that has been removed or lies elsewhere, too.
            let link = format!("/proc/{pid}/fd/{number}");
            let Ok(file) = std::fs::metadata(link) else {
                continue;
            };
            if file.is_file() && is_written(pid, &number) {
                sizes.insert(target, file.len());
            }
        }
    }
    sizes
}

/// What grew from `before` to `after`. A file that was not open before counts from its start: a
/// log may have been turned over.
pub(crate) fn grown(before: &Sizes, after: &Sizes) -> Vec<GrownFile> {
    let growth = |(path, size): (&PathBuf, &u64)| {
        let bytes = size.saturating_sub(before.get(path).copied().unwrap_or(0));
        (bytes > 0).then(|| GrownFile {
            path: path.display().to_string(),
            bytes,
        })
    };
    after.iter().filter_map(growth).collect()
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Number and target of each open file.
fn files(pid: Pid) -> Vec<(String, PathBuf)> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/fd")) else {
        return Vec::new();
    };
    let open = entries.flatten().filter_map(|entry| {
        let number = entry.file_name().into_string().ok()?;
        Some((number, std::fs::read_link(entry.path()).ok()?))
    });
    open.collect()
}

/// The flags stand in octal; the last two bits are the way of access, 0 for reading.
fn is_written(pid: Pid, number: &str) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & 3 != 0)
}

/// Event loops of a process that watch one of these sockets.
fn loops(pid: Pid, inodes: &HashSet<u64>) -> u32 {
    let polls = files(pid)
        .into_iter()
        .filter(|(_, target)| target == Path::new("anon_inode:[eventpoll]"));
    let watches = polls.filter(|(number, _)| {
        let path = format!("/proc/{pid}/fdinfo/{number}");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines()
            .filter_map(watched)
            .any(|inode| inodes.contains(&inode))
    });
    count(watches.count())
}

/// The inode of a watched file, which such a line has in hex (proc(5), fdinfo of epoll).
fn watched(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("tfd:")?;
    let inode = rest
        .split_whitespace()
        .find_map(|field| field.strip_prefix("ino:"))?;
    u64::from_str_radix(inode, 16).ok()
}

fn status(pid: Pid, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    lines
        .find(|(name, _)| *name == key)
        .map(|(_, value)| value.trim().to_owned())
}

fn threads(pid: Pid) -> u32 {
    status(pid, "Threads")
        .and_then(|threads| threads.parse().ok())
        .unwrap_or(0)
}

/// How many a list such as `0-3,8` names.
fn processors(list: &str) -> u32 {
    let part = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        Some(last.checked_sub(first)?.saturating_add(1))
    };
    list.split(',')
        .filter_map(part)
        .fold(0, u32::saturating_add)
}

fn open_files(pid: Pid) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn lists_of_processors_are_counted() {
        for (list, count) in [("0", 1), ("0-3", 4), ("0-1,4,6-7", 5), ("", 0), ("3-1", 0)] {
            assert_eq!(processors(list), count, "{list:?}");
        }
        let line = "tfd:        5 events:       19 data:                5  pos:0 ino:1a2f sdev:8";
        assert_eq!(watched(line), Some(0x1a2f));
        assert_eq!(watched("flags:\t02"), None);
    }

    #[test]
    fn what_a_process_writes_is_seen_to_grow() {
        let me = rustix::process::getpid();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        let mut log = File::create(&path).unwrap();
        let before = sizes(&[me]);
        log.write_all(&[b'x'; 100]).unwrap();
        let reader = File::open(&path).unwrap();
        let grown = grown(&before, &sizes(&[me]));
        drop(reader);
        let mine: Vec<&GrownFile> = grown
            .iter()
            .filter(|file| Path::new(&file.path) == path)
            .collect();
        assert_eq!(
            mine.iter().map(|file| file.bytes).collect::<Vec<_>>(),
            [100]
        );
    }

    #[test]
    fn an_event_loop_counts_when_it_watches_the_listener() {
        use rustix::event::epoll;
        let me = rustix::process::getpid();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = crew(&[me], port).unwrap();
        assert_eq!((seen.processes, seen.listening, seen.loops), (1, 1, 0));
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let (data, flags) = (epoll::EventData::new_u64(0), epoll::EventFlags::IN);
        epoll::add(&poll, &listener, data, flags).unwrap();
        let seen = crew(&[me], port).unwrap();
        assert_eq!(seen.loops, 1);
        assert!(seen.processors >= 1 && seen.threads >= 1);
        let me_by_name = user_name(rustix::process::geteuid().as_raw());
        assert_eq!(seen.users, [me_by_name]);
        assert!(crew(&[me], 1).is_none(), "nobody listens there");
    }
}
