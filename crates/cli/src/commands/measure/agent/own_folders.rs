//! Configurations of the user's own that came from home, as they are on this host.
//!
//! Home says their names as they are there, and hears them so: in plans, in messages, in what the
//! record keeps.

use std::fs::{DirBuilder, File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use bakeoff_plan::{Client, ConfigSource, Contender, ServerChoice};
use bakeoff_stage::with_leads;
use serde_json::Value;

use super::stage_order::{OwnFile, OwnFolder, StageOrder};
use super::stages::is_plain;

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
    /// What it is at home.
    own: OwnFolder,
    /// Where it is here, without links in its path.
    here: PathBuf,
}

impl OwnFolders {
    /// Makes them in the new folder `root`.
    pub(super) fn place(
        root: &Path,
        folders: Vec<OwnFolder>,
        files: &[Vec<u8>],
    ) -> anyhow::Result<Self> {
        let expected: usize = folders.iter().map(|folder| folder.files.len()).sum();
        if expected != files.len() {
            anyhow::bail!(
                "{} files of configurations came, not {expected}",
                files.len()
            );
        }
        if folders.is_empty() {
            return Ok(Self::default());
        }
        make_folder(root)?;
        let found = root.canonicalize();
        let root = found.with_context(|| format!("use {}", root.display()))?;
        let mut left = files.iter();
        let mut placed = Vec::new();
        for (number, own) in folders.into_iter().enumerate() {
            if let Some(path) = own.elsewhere.iter().find(|path| !path.exists()) {
                anyhow::bail!(
                    "a configuration in {} takes in {}, which is not in that folder and so was not \
                     sent, and is not on this host: put it there at the same path, or into the \
                     folder",
                    own.folder.display(),
                    path.display()
                );
            }
            // No name is the beginning of another one.
            let here = root.join(format!("{number}-files"));
            make_folder(&here)?;
            for (file, bytes) in own.files.iter().zip(&mut left) {
                write(&here, &own, file, bytes)?;
            }
            placed.push(Placed { own, here });
        }
        Ok(Self(placed))
    }

    /// Has an order say where configurations are here.
    pub(super) fn lead(&self, order: &mut StageOrder) {
        match order {
            StageOrder::Programs { plan, .. }
            | StageOrder::Preflight { plan }
            | StageOrder::First { plan, .. } => {
                plan.contenders.iter_mut().for_each(|it| self.lead_one(it));
                let clients = plan.workloads.iter_mut().map(|it| &mut it.client);
                clients.for_each(|it| self.lead_client(it));
            }
            StageOrder::Start {
                contender,
                workload,
                ..
            } => {
                self.lead_one(contender);
                self.lead_client(&mut workload.client);
            }
            StageOrder::SetUp(_) | StageOrder::OfContestant(_) => {}
        }
    }

    fn lead_client(&self, client: &mut Client) {
        let Some(certificate) = &mut client.certificate else {
            return;
        };
        for path in [&mut certificate.chain, &mut certificate.key] {
            let here = self.0.iter().find_map(|placed| {
                let below = path.strip_prefix(&placed.own.folder).ok()?;
                let mut files = placed.own.files.iter();
                files.find(|file| file.below == below)?;
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
                *text = with_leads(text, &placed.own.leads, &placed.here);
            }
        }
    }

    /// Has what is said name files as they are at home.
    pub(super) fn as_at_home(&self, said: &mut Value) {
        if self.0.is_empty() {
            return;
        }
        match said {
            Value::String(text) => {
                for Placed { own, here } in &self.0 {
                    let here = here.to_string_lossy();
                    if text.contains(&*here) {
                        *text = text.replace(&*here, &own.folder.to_string_lossy());
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
fn write(here: &Path, own: &OwnFolder, file: &OwnFile, bytes: &[u8]) -> anyhow::Result<()> {
    let below = &file.below;
    if !is_plain(below, DEPTH_MAX) {
        anyhow::bail!("`{}` is no name of a configuration's file", below.display());
    }
    let mut folder = here.to_owned();
    for name in below.parent().into_iter().flat_map(Path::components) {
        folder.push(name);
        make_folder(&folder)?;
    }
    let text = std::str::from_utf8(bytes).ok().filter(|_| file.is_text);
    let text = text.map(|text| with_leads(text, &own.leads, here));
    let bytes = text.as_ref().map_or(bytes, |text| text.as_bytes());
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn folder(files: &[&str]) -> OwnFolder {
        let file = |name: &&str| OwnFile {
            below: name.into(),
            mode: 0o640,
            is_text: name.ends_with(".conf"),
        };
        OwnFolder {
            folder: "/home/me/etc".into(),
            configs: BTreeMap::from([("/etc/a.conf".into(), "a.conf".into())]),
            files: files.iter().map(file).collect(),
            leads: [("/home/me/etc/www".to_owned(), "www".into())].into(),
            elsewhere: Default::default(),
        }
    }

    fn place(
        folders: Vec<OwnFolder>,
        files: &[&str],
    ) -> anyhow::Result<(tempfile::TempDir, OwnFolders)> {
        let run = tempfile::tempdir().unwrap();
        let files: Vec<Vec<u8>> = files.iter().map(|text| text.as_bytes().to_vec()).collect();
        let placed = OwnFolders::place(&run.path().join("own"), folders, &files)?;
        Ok((run, placed))
    }

    #[test]
    fn files_are_made_with_paths_that_lead_to_them_and_are_called_as_at_home() {
        let own = folder(&["a.conf", "www/index.html"]);
        let text = "root /home/me/etc/www;";
        let (_run, placed) = place(vec![own], &[text, text]).unwrap();
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
        let (_run, placed) = place(vec![folder(&["a.conf"])], &[""]).unwrap();
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
        let error = place(vec![folder(&["a.conf", "a.conf/b"])], &["", ""]).unwrap_err();
        let why = format!("{error:#}");
        assert!(why.contains("own/0-files/a.conf: "), "{why}");
        assert!(error.downcast_ref::<std::io::Error>().is_some(), "{why}");
    }

    #[test]
    fn names_that_lead_elsewhere_and_files_that_are_missing_are_refused() {
        let refused = |folder: OwnFolder, files: &[&str]| {
            let error = place(vec![folder], files).unwrap_err();
            error.to_string()
        };
        assert!(refused(folder(&["../a"]), &[""]).contains("`../a`"));
        assert!(refused(folder(&["/a"]), &[""]).contains("`/a`"));
        assert!(refused(folder(&["a"]), &[]).contains("0 files"));
        let mut without = folder(&[]);
        without.elsewhere = [PathBuf::from("/nowhere/x.conf")].into();
        let why = refused(without, &[]);
        assert!(
            why.contains("/nowhere/x.conf") && why.contains("/home/me/etc"),
            "{why}"
        );
    }
}
