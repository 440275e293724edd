//! What a box has that this machine has not: names of upstreams, certificates, folders to write to.

use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::path::{Component, Path, PathBuf};

use bakeoff_probe::Network;
use bakeoff_record::{ConfigChange, Step};

use super::{Boxed, LOCALHOST, NAMED, parts_of, upstreams};
use crate::certificates::CertificateFiles;
use crate::error::StageError;
use crate::files;
use crate::found::{Found, Named};
use crate::keeper::launch::Room;
use crate::own::OwnFiles;
use crate::user::{BOX_FOLDER, User};

/// Where servers write without being asked to.
const WRITTEN: [&str; 5] = ["/run", "/tmp", "/var/cache", "/var/log", "/var/tmp"];
const HOSTS: &str = "/etc/hosts";
const LOOPBACK_NAMES: &str = "127.0.0.1 localhost\n::1 localhost\n";

/// The network and the file system of a server that is about to start. By default they are this
/// process's.
#[derive(Debug, Default)]
pub(crate) struct Quarters {
    pub(crate) network: Option<Network>,
    pub(crate) room: Option<Room>,
    /// Folder of the user's file, where it starts then.
    folder: Option<PathBuf>,
    /// What is said of what was made.
    pub(crate) made: Vec<ConfigChange>,
    /// Upstreams that nobody answers there, as the file has them.
    unanswered: Vec<String>,
}

impl Quarters {
    /// Makes what a configuration needs, below the folder `trial`, for a server of this user's.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn furnish(
        boxed: Boxed,
        trial: &Path,
        own: &OwnFiles,
        certificate: &CertificateFiles,
        user: Option<&User>,
    ) -> Result<Self, StageError> {
        let folder = trial.join(BOX_FOLDER);
        let found = &boxed.found;
        let make = || {
            let pem = std::fs::read(&certificate.certificate_and_key)?;
            let mut maker = Maker::start(&folder, own.named())?;
            maker.put(Path::new(HOSTS), hosts(found).as_bytes())?;
            maker.put_certificates(&found.certificates, &pem, user)?;
            maker.put_logs(&found.logs)?;
            maker.show_plainly(&found.roots);
            Ok(Self {
                network: Some(boxed.network()),
                unanswered: upstreams::unanswered(found),
                ..maker.finish(trial)
            })
        };
        make().map_err(|cause: io::Error| StageError::file(Step::Prepare, &folder, cause))
    }

    /// Why a server that does not start well may have found no upstream.
    pub(crate) fn explain(&self, mut error: StageError) -> StageError {
        if !self.unanswered.is_empty() {
            let message = error.message.take().unwrap_or_default();
            let all = self.unanswered.join(", ");
            return error.with_message(format!(
                "{message}\n(the upstream of a box speaks HTTP/1.1 without TLS, at names and \
                 addresses; it does not answer {all})"
            ));
        }
        error
    }

    /// Where it starts; in `usual` outside of a box.
    pub(crate) fn folder(&self, usual: PathBuf) -> PathBuf {
        self.folder.clone().unwrap_or(usual)
    }
}

struct Maker {
    folder: PathBuf,
    /// Where relative paths begin.
    base: PathBuf,
    over: BTreeSet<PathBuf>,
    instead: BTreeSet<PathBuf>,
    plain: BTreeSet<PathBuf>,
    changes: Vec<ConfigChange>,
}

impl Maker {
    fn start(folder: &Path, main: &Path) -> io::Result<Self> {
        for folder in [
            folder.to_owned(),
            folder.join("memory"),
            folder.join("made"),
        ] {
            files::create_folder(&folder)?;
        }
        let base = main.parent().unwrap_or(Path::new("/")).to_owned();
        let mut maker = Self {
            folder: folder.to_owned(),
            base,
            over: BTreeSet::new(),
            instead: BTreeSet::new(),
            plain: BTreeSet::new(),
            changes: Vec::new(),
        };
        for written in WRITTEN {
            // Where it is a link, its files are those of another folder.
            if let Ok(real) = Path::new(written).canonicalize()
                && real.is_dir()
            {
                maker.lay_over(&real)?;
            }
        }
        Ok(maker)
    }

    /// Makes the certificates and keys that are named and that this user cannot read.
    fn put_certificates(
        &mut self,
        all: &[Named],
        pem: &[u8],
        user: Option<&User>,
    ) -> io::Result<()> {
        for named in all {
            let path = self.base.join(&named.text);
            let can_read = match user {
                Some(user) => user.can_read(&path),
                None => path.is_file(),
            };
            if !can_read && self.put(&path, pem)? {
                self.note(
                    named,
                    "the trial's certificate and key",
                    "bakeoff cannot read the file",
                );
            }
        }
        Ok(())
    }

    /// Makes empty files in place of those that are written to.
    fn put_logs(&mut self, all: &[Named]) -> io::Result<()> {
        for named in all {
            let path = self.base.join(&named.text);
            if !path.starts_with("/dev") && self.put(&path, b"")? {
                let why = "nothing is written among the real files";
                self.note(named, "a file in memory, for the trial alone", why);
            }
        }
        Ok(())
    }

    /// Makes a file that is seen at this path. Returns whether one can be there.
    fn put(&mut self, path: &Path, bytes: &[u8]) -> io::Result<bool> {
        let Some((there, rest)) = real(path) else {
            return Ok(false);
        };
        if rest.as_os_str().is_empty() {
            if !there.is_file() {
                return Ok(false);
            }
            self.instead.insert(there.clone());
        } else if there == Path::new("/") {
            let top = rest.components().next();
            let Some(top) = top.filter(|_| rest.components().count() > 1) else {
                return Ok(false);
            };
            self.lay_over(&there.join(top))?;
        } else if there.is_dir() {
            self.lay_over(&there)?;
        } else {
            return Ok(false);
        }
        let path = there.join(rest);
        let below = path.strip_prefix("/").unwrap_or(&path);
        let place = files::place(&self.folder.join("made"), below)?;
        files::replace(&place, bytes, files::FOR_OWNER)?;
        Ok(true)
    }

    /// Has a folder written to in memory.
    fn lay_over(&mut self, folder: &Path) -> io::Result<()> {
        let below = folder.strip_prefix("/").unwrap_or(folder);
        files::place(&self.folder.join("made"), &below.join("x"))?;
        self.over.insert(folder.to_owned());
        Ok(())
    }

    /// Shows served folders without what lies over those around them, unless it is in them.
    fn show_plainly(&mut self, roots: &[Named]) {
        for named in roots {
            let Ok(root) = self.base.join(&named.text).canonicalize() else {
                continue;
            };
            let covers = |folder: &PathBuf| root.starts_with(folder);
            let is_inside = |path: &PathBuf| path.starts_with(&root);
            let is_made = self.over.iter().chain(&self.instead).any(is_inside);
            if root.is_dir() && self.over.iter().any(covers) && !is_made {
                self.plain.insert(root);
            }
        }
    }

    fn note(&mut self, named: &Named, after: &str, why: &str) {
        let change = ConfigChange {
            file: named.place.file.display().to_string(),
            line: named.place.line,
            before: named.text.clone(),
            after: after.to_owned(),
            why: why.to_owned(),
        };
        if !self.changes.contains(&change) {
            self.changes.push(change);
        }
    }

    fn finish(self, trial: &Path) -> Quarters {
        Quarters {
            network: None,
            room: Some(Room {
                folder: self.folder,
                over: self.over.into_iter().collect(),
                instead: self.instead.into_iter().collect(),
                plain: self.plain.into_iter().collect(),
                own: trial.join("run"),
            }),
            folder: Some(self.base),
            made: self.changes,
            unanswered: Vec::new(),
        }
    }
}

/// What is there of a path, without links, and the rest of it.
fn real(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let there = path.ancestors().find(|it| it.symlink_metadata().is_ok())?;
    let rest = path.strip_prefix(there).ok()?;
    let is_name = |part: Component<'_>| matches!(part, Component::Normal(_));
    if !rest.components().all(is_name) {
        return None;
    }
    Some((there.canonicalize().ok()?, rest.to_owned()))
}

/// The names of all upstreams.
pub(super) fn hosts(found: &Found) -> String {
    let hosts = found
        .upstreams
        .iter()
        .filter_map(|it| parts_of(&it.address));
    let is_name = |host: &String| host.parse::<IpAddr>().is_err() && host != LOCALHOST;
    let names: BTreeSet<String> = hosts.map(|(host, _)| host).filter(is_name).collect();
    let lines = names.iter().map(|name| format!("{NAMED} {name}\n"));
    std::iter::once(LOOPBACK_NAMES.to_owned())
        .chain(lines)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::found::{Place, Upstream};

    fn named(text: &str) -> Named {
        Named {
            text: text.to_owned(),
            place: Place::default(),
        }
    }

    #[test]
    fn what_is_made_lies_at_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let there = folder.path().canonicalize().unwrap();
        let site = there.join("site");
        std::fs::create_dir(&site).unwrap();
        std::fs::write(site.join("is.log"), "theirs").unwrap();
        let mut maker = Maker::start(&there.join("box"), &site.join("h2o.conf")).unwrap();
        let logs = [
            "new/a.log",
            "is.log",
            "../up.log",
            "/dev/stdout",
            "is.log/no",
            ".",
            "/x",
        ];
        maker.put_logs(&logs.map(named)).unwrap();
        maker
            .put_certificates(&[named("a.pem"), named("is.log")], b"pem", None)
            .unwrap();
        let said: Vec<&str> = maker.changes.iter().map(|it| it.before.as_str()).collect();
        assert_eq!(said, ["new/a.log", "is.log", "../up.log", "a.pem"]);
        assert!(maker.over.contains(&site) && maker.over.contains(&there));
        let www = site.join("www");
        std::fs::create_dir(&www).unwrap();
        maker.show_plainly(&["www", ".", "none", "is.log"].map(named));
        assert_eq!(maker.plain.iter().collect::<Vec<_>>(), [&www]);
        assert_eq!(
            maker.instead.iter().collect::<Vec<_>>(),
            [&site.join("is.log")]
        );
        let made = there.join("box/made").join(site.strip_prefix("/").unwrap());
        assert_eq!(std::fs::read(made.join("new/a.log")).unwrap(), b"");
        assert_eq!(std::fs::read(made.join("a.pem")).unwrap(), b"pem");
        assert_eq!(std::fs::read(site.join("is.log")).unwrap(), b"theirs");
    }

    #[test]
    fn names_are_known_and_addresses_are_not_named() {
        let upstream = |address: &str| Upstream {
            address: address.to_owned(),
            ..Upstream::default()
        };
        let asked = [
            "http://b:1",
            "a:2",
            "b:3",
            "10.0.0.1:4",
            "localhost:5",
            "bad name:6",
        ];
        let found = Found {
            upstreams: asked.map(upstream).to_vec(),
            ..Found::default()
        };
        let expected = format!("{LOOPBACK_NAMES}{NAMED} a\n{NAMED} b\n");
        assert_eq!(hosts(&found), expected);
    }
}
