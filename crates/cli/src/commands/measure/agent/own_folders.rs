//! Configurations of the user's own that came from home, as they are on this host.
//!
//! Home says their names as they are there, and hears them so: in plans, in messages, in what the
//! record keeps.

use std::fs::{DirBuilder, File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use anyhow::Context as _;
use bakeoff_plan::{Client, ConfigSource, Contender, ServerChoice};
use bakeoff_stage::{Along, AlongFile, with_leads};
use serde_json::Value;

use super::ask::{Ask, OwnFolder};

/// Folders in such a folder.
const DEPTH_MAX: usize = 40;
/// Mode of folders: a server that gives up root must find what it serves.
const FOLDER: u32 = 0o755;

/// Folders with configurations.
#[derive(Debug, Default)]
pub(super) struct OwnFolders(Vec<Placed>);

/// One of them.
#[derive(Debug)]
struct Placed {
    /// What it is at home. Its files hold nothing any more.
    own: OwnFolder,
    /// Where it is here, without links in its path.
    here: PathBuf,
}

impl OwnFolders {
    /// Makes them in the new folder `root`.
    pub(super) fn place(root: &Path, folders: Vec<OwnFolder>) -> anyhow::Result<Self> {
        if folders.is_empty() {
            return Ok(Self::default());
        }
        make_folder(root)?;
        let found = root.canonicalize();
        let root = found.with_context(|| format!("use {}", root.display()))?;
        let mut placed = Vec::new();
        for (number, mut own) in folders.into_iter().enumerate() {
            let along = &mut own.along;
            if let Some(path) = along.elsewhere.iter().find(|path| !path.exists()) {
                anyhow::bail!(
                    "a configuration in {} takes in {}, which is not in that folder and so was not \
                     sent, and is not on this host: put it there at the same path, or into the \
                     folder",
                    along.folder.display(),
                    path.display()
                );
            }
            // No name is the beginning of another one.
            let here = root.join(format!("{number}-files"));
            make_folder(&here)?;
            for (below, file) in std::mem::take(&mut along.files) {
                write(&here, along, &below, &file)?;
                let bytes = Vec::new();
                along.files.insert(below, AlongFile { bytes, ..file });
            }
            placed.push(Placed { own, here });
        }
        Ok(Self(placed))
    }

    /// Has an order say where configurations are here.
    pub(super) fn lead(&self, ask: &mut Ask) {
        match ask {
            Ask::Programs { plan, .. } | Ask::Preflight { plan } | Ask::First { plan, .. } => {
                plan.contenders.iter_mut().for_each(|it| self.lead_one(it));
                let clients = plan.workloads.iter_mut().map(|it| &mut it.client);
                clients.for_each(|it| self.lead_client(it));
            }
            Ask::Start {
                contender,
                workload,
                ..
            } => {
                self.lead_one(contender);
                self.lead_client(&mut workload.client);
            }
            _ => {}
        }
    }

    fn lead_client(&self, client: &mut Client) {
        let Some(certificate) = &mut client.certificate else {
            return;
        };
        for path in [&mut certificate.chain, &mut certificate.key] {
            let here = self.0.iter().find_map(|placed| {
                let along = &placed.own.along;
                let below = path.strip_prefix(&along.folder).ok()?;
                along.files.get(below)?;
                Some(placed.here.join(below))
            });
            *path = here.unwrap_or_else(|| std::mem::take(path));
        }
    }

    fn lead_one(&self, contender: &mut Contender) {
        let ServerChoice::Program { config, .. } = &mut contender.server else {
            return;
        };
        let ConfigSource::File(path) = config else {
            return;
        };
        let mut all = self.0.iter();
        let found = all.find_map(|placed| Some((placed, placed.own.configs.get(path)?)));
        let Some((placed, below)) = found else {
            return;
        };
        *path = placed.here.join(below);
        for replacement in &mut contender.replacements {
            for text in [&mut replacement.from, &mut replacement.to] {
                *text = with_leads(text, &placed.own.along.leads, &placed.here);
            }
        }
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Has what is said name files as they are at home.
    pub(super) fn as_at_home(&self, said: &mut Value) {
        match said {
            Value::String(text) => {
                for Placed { own, here } in &self.0 {
                    let here = here.to_string_lossy();
                    if text.contains(&*here) {
                        *text = text.replace(&*here, &own.along.folder.to_string_lossy());
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.as_at_home(item)),
            Value::Object(fields) => {
                fields.values_mut().for_each(|field| self.as_at_home(field));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

fn make_folder(path: &Path) -> anyhow::Result<()> {
    let made = DirBuilder::new().recursive(true).create(path);
    // Whatever the umask is.
    let made = made.and_then(|()| std::fs::set_permissions(path, Permissions::from_mode(FOLDER)));
    made.with_context(|| format!("make the folder {}", path.display()))
}

/// Makes a file as it is at home, but for paths that lead to what came with it.
fn write(here: &Path, along: &Along, below: &Path, file: &AlongFile) -> anyhow::Result<()> {
    if !is_plain(below, DEPTH_MAX) {
        anyhow::bail!("`{}` is no name of a configuration's file", below.display());
    }
    let mut folder = here.to_owned();
    for name in below.parent().into_iter().flat_map(Path::components) {
        folder.push(name);
        make_folder(&folder)?;
    }
    let text = std::str::from_utf8(&file.bytes).ok();
    let text = text.filter(|_| file.is_text);
    let text = text.map(|text| with_leads(text, &along.leads, here));
    let bytes = text
        .as_ref()
        .map_or(&file.bytes[..], |text| text.as_bytes());
    let path = here.join(below);
    let written = write_new(&path, bytes, file.mode & 0o755 | 0o400);
    written.with_context(|| format!("write {}", path.display()))
}

fn write_new(path: &Path, bytes: &[u8], mode: u32) -> std::io::Result<()> {
    let mut options = File::options();
    options.write(true).create_new(true).mode(0o600);
    let mut made = options.open(path)?;
    made.write_all(bytes)?;
    made.set_permissions(Permissions::from_mode(mode))
}

/// Whether a path leads nowhere but below the folder that it is taken from.
pub(crate) fn is_plain(path: &Path, depth_max: usize) -> bool {
    let mut parts = path.components();
    let depth = path.components().count();
    (1..=depth_max).contains(&depth) && parts.all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    /// A folder with these files and texts in them.
    fn folder(files: &[(&str, &str)]) -> OwnFolder {
        let files = files.iter().map(|(name, text)| {
            let file = AlongFile {
                bytes: text.as_bytes().to_vec(),
                mode: 0o640,
                is_text: name.ends_with(".conf"),
            };
            (PathBuf::from(name), file)
        });
        OwnFolder {
            configs: BTreeMap::from([("/etc/a.conf".into(), "a.conf".into())]),
            along: Along {
                folder: "/home/me/etc".into(),
                files: files.collect(),
                leads: [("/home/me/etc/www".to_owned(), "www".into())].into(),
                ..Along::default()
            },
        }
    }

    fn place(folders: Vec<OwnFolder>) -> anyhow::Result<(tempfile::TempDir, OwnFolders)> {
        let run = tempfile::tempdir().unwrap();
        let placed = OwnFolders::place(&run.path().join("own"), folders)?;
        Ok((run, placed))
    }

    #[test]
    fn files_are_made_with_paths_that_lead_to_them_and_are_called_as_at_home() {
        let text = "root /home/me/etc/www;";
        let own = folder(&[("a.conf", text), ("www/index.html", text)]);
        let (_run, placed) = place(vec![own]).unwrap();
        let here = &placed.0[0].here;
        let there = std::fs::read_to_string(here.join("a.conf")).unwrap();
        assert_eq!(there, format!("root {}/www;", here.display()));
        assert_eq!(
            std::fs::read_to_string(here.join("www/index.html")).unwrap(),
            text
        );
        let mode = here.join("a.conf").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        let mut said = json!({ "a": [there, 1], "b": { "c": here.join("a.conf") } });
        placed.as_at_home(&mut said);
        let expected = json!({ "a": [text, 1], "b": { "c": "/home/me/etc/a.conf" } });
        assert_eq!(said, expected);
    }

    #[test]
    fn a_contender_gets_the_configuration_that_came_for_it() {
        let (_run, placed) = place(vec![folder(&[("a.conf", "")])]).unwrap();
        let config = |path: &str| {
            let mut contender = Contender::plain(
                "a",
                ServerChoice::Program {
                    server: "nginx".to_owned(),
                    version: None,
                    binary: None,
                    config: ConfigSource::File(path.into()),
                },
            );
            placed.lead_one(&mut contender);
            match contender.server {
                ServerChoice::Program {
                    config: ConfigSource::File(path),
                    ..
                } => path,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(config("/etc/a.conf"), placed.0[0].here.join("a.conf"));
        assert_eq!(
            config("/etc/b.conf"),
            Path::new("/etc/b.conf"),
            "it is on the host"
        );
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        // A file and a folder of one name.
        let error = place(vec![folder(&[("a.conf", ""), ("a.conf/b", "")])]).unwrap_err();
        let why = format!("{error:#}");
        assert!(why.contains("own/0-files/a.conf: "), "{why}");
        assert!(error.downcast_ref::<std::io::Error>().is_some(), "{why}");
    }

    #[test]
    fn names_that_lead_elsewhere_and_files_that_are_missing_are_refused() {
        let refused = |folder: OwnFolder| place(vec![folder]).unwrap_err().to_string();
        assert!(refused(folder(&[("../a", "")])).contains("`../a`"));
        assert!(refused(folder(&[("/a", "")])).contains("`/a`"));
        let mut without = folder(&[]);
        without.along.elsewhere = [PathBuf::from("/nowhere/x.conf")].into();
        let why = refused(without);
        assert!(
            why.contains("/nowhere/x.conf") && why.contains("/home/me/etc"),
            "{why}"
        );
    }
}
