//! What a keeper is asked to run, and how, as it reads that from its standard input.
//!
//! ```text
//! arg=PROGRAM NUL arg=ARGUMENT NUL ... group=FOLDER NUL cpus=0,1 NUL uid=65534 NUL ... NUL
//! ```
//!
//! Each entry ends with a NUL byte, and an empty entry ends them all. None of it is on the
//! keeper's command line, where a search for bakeoff's or a server's name (`pkill -f`) would find
//! it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

/// A command line may be 2 MiB long on Linux; anything longer is no launch.
const BYTES_MAX: usize = 4 << 20;

/// What a keeper is asked to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Launch {
    /// The program's name and its arguments.
    pub(crate) command: Vec<String>,
    /// The file to execute, where it is not the one that the command names.
    pub(crate) program: Option<PathBuf>,
    /// The control group for the program, which is there.
    pub(crate) group: Option<PathBuf>,
    /// Control groups that limit the program, which are there.
    pub(crate) limiting: Vec<PathBuf>,
    /// Processors that it may use; empty for all.
    pub(crate) cpus: Vec<usize>,
    /// Whom it runs as; `None` for the keeper's own user.
    pub(crate) user: Option<User>,
    /// File that the keeper adds its number to before it starts anything.
    pub(crate) note: Option<PathBuf>,
    /// Whether to use a PID namespace, if the system permits one.
    pub(crate) namespace: bool,
    /// Whether it can get no more rights than it is started with (`no_new_privs`): neither by
    /// programs such as `sudo` nor by capabilities of its file.
    pub(crate) confined: bool,
    /// Variables of the keeper's own environment that it does not get.
    pub(crate) unset: Vec<String>,
    /// What it sees of the file system; `None` for what the keeper sees.
    pub(crate) room: Option<Room>,
}

/// A file system that a program sees in place of this machine's, which it cannot write to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Room {
    /// Where it is put together. What is made for it is in the folder `made` there, each at the
    /// path that it is seen at.
    pub(crate) folder: PathBuf,
    /// Folders that what is made is laid over; what is written to them stays in memory. Those
    /// around others come first.
    pub(crate) over: Vec<PathBuf>,
    /// Files in whose place others are seen.
    pub(crate) instead: Vec<PathBuf>,
    /// Folders that are seen as they are, whatever lies over those around them: files are read
    /// faster so.
    pub(crate) plain: Vec<PathBuf>,
    /// Folder of the trial, which it writes to.
    pub(crate) own: PathBuf,
}

/// A user that a program runs as, without supplementary groups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl Launch {
    /// Every control group of the program.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &PathBuf> {
        self.group.iter().chain(&self.limiting)
    }

    /// The bytes for a keeper's standard input.
    ///
    /// # Errors
    /// When a value holds a NUL byte, which no argument of a program can.
    pub(crate) fn encode(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut entry = |key: &str, value: &OsStr| {
            if value.as_bytes().contains(&0) {
                let cause = format!("`{key}` holds a NUL byte: {value:?}");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, cause));
            }
            bytes.extend_from_slice(key.as_bytes());
            bytes.push(b'=');
            bytes.extend_from_slice(value.as_bytes());
            bytes.push(0);
            Ok(())
        };
        for argument in &self.command {
            entry("arg", argument.as_ref())?;
        }
        let paths = [
            ("program", &self.program),
            ("group", &self.group),
            ("note", &self.note),
        ];
        for (key, path) in paths {
            if let Some(path) = path {
                entry(key, path.as_os_str())?;
            }
        }
        for group in &self.limiting {
            entry("limiting", group.as_os_str())?;
        }
        if !self.cpus.is_empty() {
            entry("cpus", list(&self.cpus).as_ref())?;
        }
        if let Some(user) = &self.user {
            entry("uid", user.uid.to_string().as_ref())?;
            entry("gid", user.gid.to_string().as_ref())?;
        }
        if self.namespace {
            entry("namespace", "yes".as_ref())?;
        }
        if self.confined {
            entry("confined", "yes".as_ref())?;
        }
        for name in &self.unset {
            entry("unset", name.as_ref())?;
        }
        if let Some(room) = &self.room {
            entry("room", room.folder.as_os_str())?;
            entry("room-own", room.own.as_os_str())?;
            let lists = [
                ("room-over", &room.over),
                ("room-instead", &room.instead),
                ("room-plain", &room.plain),
            ];
            for (key, paths) in lists {
                paths
                    .iter()
                    .try_for_each(|path| entry(key, path.as_os_str()))?;
            }
        }
        bytes.push(0);
        Ok(bytes)
    }

    /// Reads a launch, and nothing that comes after it.
    ///
    /// # Errors
    /// When the input ends before the launch does, or says what no keeper knows.
    pub(crate) fn read(input: impl AsFd) -> io::Result<Self> {
        let mut bytes = Vec::new();
        let mut chunk = [0; 4096];
        while !bytes.ends_with(b"\0\0") {
            match rustix::io::read(&input, &mut chunk) {
                Ok(0) => return Err(io::Error::other("its orders are cut off")),
                Ok(length) => bytes.extend_from_slice(&chunk[..length]),
                Err(rustix::io::Errno::INTR) => {}
                Err(cause) => return Err(cause.into()),
            }
            if bytes.len() > BYTES_MAX {
                return Err(io::Error::other("its orders do not end"));
            }
        }
        Self::decode(&bytes)
    }

    fn decode(bytes: &[u8]) -> io::Result<Self> {
        let mut launch = Self::default();
        for entry in bytes.split(|&byte| byte == 0) {
            if entry.is_empty() {
                break;
            }
            let at = entry.iter().position(|&byte| byte == b'=').unwrap_or(0);
            let (key, value) = (&entry[..at], entry.get(at + 1..).unwrap_or_default());
            launch.take(key, value)?;
        }
        if launch.command.is_empty() {
            return Err(io::Error::other("no program was named"));
        }
        Ok(launch)
    }

    fn take(&mut self, key: &[u8], value: &[u8]) -> io::Result<()> {
        let path = || Some(PathBuf::from(OsString::from_vec(value.to_vec())));
        match key {
            b"arg" => self.command.push(text(value)?.to_owned()),
            b"program" => self.program = path(),
            b"group" => self.group = path(),
            b"limiting" => self.limiting.extend(path()),
            b"note" => self.note = path(),
            b"cpus" => self.cpus = numbers(value)?,
            b"uid" => self.user_mut().uid = number(value)?,
            b"gid" => self.user_mut().gid = number(value)?,
            b"namespace" => self.namespace = true,
            b"confined" => self.confined = true,
            b"unset" => self.unset.push(text(value)?.to_owned()),
            b"room" => self.room_mut().folder = path().unwrap_or_default(),
            b"room-own" => self.room_mut().own = path().unwrap_or_default(),
            b"room-over" => self.room_mut().over.extend(path()),
            b"room-plain" => self.room_mut().plain.extend(path()),
            b"room-instead" => self.room_mut().instead.extend(path()),
            _ => {
                let key = String::from_utf8_lossy(key);
                return Err(io::Error::other(format!("unknown order `{key}`")));
            }
        }
        Ok(())
    }

    fn user_mut(&mut self) -> &mut User {
        self.user.get_or_insert_default()
    }

    fn room_mut(&mut self) -> &mut Room {
        self.room.get_or_insert_default()
    }
}

fn list<T: ToString>(numbers: &[T]) -> String {
    let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    texts.join(",")
}

fn text(value: &[u8]) -> io::Result<&str> {
    std::str::from_utf8(value).map_err(io::Error::other)
}

fn number<T: std::str::FromStr>(value: &[u8]) -> io::Result<T> {
    let text = text(value)?;
    text.parse()
        .map_err(|_| io::Error::other(format!("`{text}` is no number")))
}

fn numbers<T: std::str::FromStr>(value: &[u8]) -> io::Result<Vec<T>> {
    if value.is_empty() {
        return Ok(Vec::new());
    }
    value.split(|&byte| byte == b',').map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let launch = Launch {
            command: ["server", "-c", "", "a=b\nc", "käse"]
                .map(str::to_owned)
                .to_vec(),
            program: Some("/proc/self/exe".into()),
            group: Some("/sys/fs/cgroup/it".into()),
            limiting: ["/sys/fs/cgroup/cpu/it", "/sys/fs/cgroup/memory/it"]
                .map(Into::into)
                .to_vec(),
            cpus: vec![0, 3],
            user: Some(User {
                uid: 65534,
                gid: 65533,
            }),
            note: Some(OsString::from_vec(b"/tmp/\xff".to_vec()).into()),
            namespace: true,
            confined: true,
            unset: ["http_proxy", "a=b"].map(str::to_owned).to_vec(),
            room: Some(Room {
                folder: "/run/trial/box".into(),
                over: vec!["/etc/a b".into(), "/run".into()],
                instead: vec!["/etc/hosts".into()],
                plain: vec!["/tmp/www".into()],
                own: "/run/trial/run".into(),
            }),
        };
        let plain = Launch {
            command: vec!["server".to_owned()],
            ..Launch::default()
        };
        for launch in [launch, plain] {
            let bytes = launch.encode().unwrap();
            assert_eq!(Launch::decode(&bytes).unwrap(), launch);
            let (read, write) = rustix::pipe::pipe().unwrap();
            rustix::io::write(&write, &bytes).unwrap();
            assert_eq!(Launch::read(&read).unwrap(), launch);
        }
    }

    #[test]
    fn what_is_no_launch_is_refused() {
        let check = |bytes: &[u8], words: &str| {
            let (read, write) = rustix::pipe::pipe().unwrap();
            rustix::io::write(&write, bytes).unwrap();
            drop(write);
            let cause = Launch::read(&read).unwrap_err().to_string();
            assert!(cause.contains(words), "{cause}");
        };
        check(b"", "cut off");
        check(b"arg=server\0", "cut off");
        check(b"cpus=0\0\0", "no program");
        check(b"arg=server\0cpus=0,x\0\0", "`x` is no number");
        check(b"arg=server\0colour=red\0\0", "unknown order `colour`");
        let launch = Launch {
            command: vec!["a\0b".to_owned()],
            ..Launch::default()
        };
        assert!(launch.encode().is_err());
    }
}
