//! Every server that can be staged: the user's own folders first, then the embedded ones.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bakeoff_record::{Step, read_regular_text};

use crate::error::{Cause, StageError};
use crate::program::{self, Found};
use crate::server::{Asks, FILE_BYTES_MAX, Files, Server, list};
use crate::source::{Source, SourceKind};

/// `servers/` as it was when this was built: name below it and text.
static EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/servers.rs"));

/// Where servers are looked up.
#[derive(Debug, Clone)]
pub struct Servers {
    user_folder: Option<PathBuf>,
    asks: Asks,
}

/// One server and what is installed of it.
#[derive(Debug)]
pub struct Listed {
    /// Name of the folder.
    pub name: String,
    /// The server's name as people write it; the folder's name when the folder cannot be used.
    pub title: String,
    /// Its variants: `NAME:VARIANT` is a contender.
    pub variants: Vec<String>,
    /// Every program of it that was found; first the one that is taken when no version is asked
    /// for.
    pub found: Vec<Found>,
    /// Why there is none, with the way to get it.
    pub missing: Option<StageError>,
    /// Kind and package of each source that `bakeoff install` knows.
    pub sources: Vec<String>,
    /// The kinds of these sources.
    pub kinds: Vec<SourceKind>,
}

impl Servers {
    /// Servers of `user_folder`, which may be absent, before the embedded ones.
    pub fn new(user_folder: Option<PathBuf>) -> Self {
        Self {
            user_folder,
            asks: Asks::All,
        }
    }

    /// The same servers; to learn what a program is, only these commands are run.
    pub fn asking(self, asks: Asks) -> Self {
        Self { asks, ..self }
    }

    /// The server in the folder `name`.
    ///
    /// # Errors
    /// When there is no such folder or its `server.toml` cannot be used.
    pub fn find(&self, name: &str) -> Result<Server, StageError> {
        if let Some(folder) = self.user_folder.as_ref().map(|folder| folder.join(name))
            && is_plain(name)
            && folder.join("server.toml").is_file()
        {
            let path = folder.join("server.toml");
            let text = read_regular_text(&path, FILE_BYTES_MAX)
                .map_err(|cause| StageError::file(Step::Prepare, path, cause))?;
            let server = Server::parse(name, &text, Files::Folder(folder));
            return server.map(|server| server.asking(self.asks));
        }
        let wanted = format!("{name}/server.toml");
        match EMBEDDED.iter().find(|(file, _)| *file == wanted) {
            Some((_, text)) => {
                let server = Server::parse(name, text, Files::Embedded(EMBEDDED));
                server.map(|server| server.asking(self.asks))
            }
            None => {
                let known = list(self.names().iter().map(String::as_str));
                let cause = Cause::UnknownServer {
                    name: name.to_owned(),
                    known,
                };
                Err(StageError::new(Step::Prepare, cause))
            }
        }
    }

    /// Every server by name, with the program that was found of it.
    pub fn list(&self) -> Vec<Listed> {
        let listed = |name: String| match self.find(&name) {
            Ok(server) => {
                let mut found = program::find_all(&server);
                let missing = found.is_empty().then(|| program::find(&server, None, None));
                // A program that answered too late the first time may answer now.
                let missing = missing.and_then(|one| one.map(|it| found.push(it.into())).err());
                Listed {
                    name,
                    title: server.title().to_owned(),
                    variants: server.variants().map(str::to_owned).collect(),
                    missing,
                    found,
                    sources: server.sources().map(ToString::to_string).collect(),
                    kinds: server.sources().map(Source::kind).collect(),
                }
            }
            Err(error) => Listed {
                title: name.clone(),
                variants: Vec::new(),
                name,
                missing: Some(error),
                found: Vec::new(),
                sources: Vec::new(),
                kinds: Vec::new(),
            },
        };
        self.names().into_iter().map(listed).collect()
    }

    /// Every server whose folder can be used, by name.
    pub(crate) fn all(&self) -> impl Iterator<Item = Server> {
        let names = self.names().into_iter();
        names.filter_map(|name| self.find(&name).ok())
    }

    /// Names of all servers.
    pub fn names(&self) -> BTreeSet<String> {
        let embedded = EMBEDDED
            .iter()
            .filter_map(|(file, _)| file.strip_suffix("/server.toml"));
        let mut names: BTreeSet<String> = embedded.map(str::to_owned).collect();
        let entries = self
            .user_folder
            .as_ref()
            .and_then(|folder| std::fs::read_dir(folder).ok());
        for entry in entries.into_iter().flatten().flatten() {
            if entry.path().join("server.toml").is_file() {
                names.extend(entry.file_name().to_str().map(str::to_owned));
            }
        }
        names
    }
}

/// A name that cannot lead out of the folder.
fn is_plain(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|file| file == name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use bakeoff_plan::Protocol;

    use super::*;

    #[test]
    fn embedded_servers_are_found_and_their_templates_too() {
        let servers = Servers::new(None);
        for name in servers.names() {
            let server = servers.find(&name).unwrap();
            for (variant, templates) in &server.description.templates {
                for file in templates.values() {
                    let wanted = format!("{name}/{file}");
                    let there = EMBEDDED.iter().any(|(file, _)| *file == wanted);
                    assert!(there, "{wanted} of variant {variant}");
                }
            }
        }
    }

    #[test]
    fn every_cell_has_a_template_or_a_reason_why_not() {
        let servers = Servers::new(None);
        for name in servers.names() {
            let server = servers.find(&name).unwrap();
            let workloads = ["synthetic", "html-small", "html-large", "gzip", "proxy"];
            for (variant, workload, protocol) in server.variants().flat_map(|variant| {
                workloads.into_iter().flat_map(move |workload| {
                    Protocol::ALL.map(|protocol| (variant, workload, protocol))
                })
            }) {
                let asked = crate::golden::workload(workload, protocol);
                let cell = format!("{name} {variant} {workload} {}", protocol.name());
                match server
                    .template(variant, &asked)
                    .map_err(|error| *error.cause)
                {
                    Ok(_) => {}
                    Err(Cause::Unsupported { reason }) => {
                        assert!(!reason.starts_with("the templates of"), "{cell}: {reason}");
                    }
                    Err(other) => panic!("{cell}: {other:?}"),
                }
            }
        }
    }

    /// It was listed with neither a version nor a reason.
    #[test]
    fn a_program_that_answers_only_the_second_time_is_listed_with_its_version() {
        let library = tempfile::tempdir().unwrap();
        // As root it is asked as nobody.
        let everyone = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(library.path(), everyone).unwrap();
        let folder = library.path().join("late");
        std::fs::create_dir(&folder).unwrap();
        let asked = library.path().join("asked");
        let script = format!(
            "test -e {0} && echo late 1.2 || (touch {0} && false)",
            asked.display()
        );
        let text = format!(
            "title = \"Late\"\nprograms = [\"sh\"]\ninstall = []\nconfig = \"c\"\n\
             [version]\ncommand = [\"{{{{ binary }}}}\", \"-c\", \"{script}\"]\n\
             pattern = 'late ([0-9.]+)'\n[start]\ncommand = [\"true\"]\n\
             [stop]\nsignal = \"TERM\"\ngrace_ms = 1\n[templates.default]\n"
        );
        std::fs::write(folder.join("server.toml"), text).unwrap();
        let servers = Servers::new(Some(library.path().to_owned())).asking(Asks::All);
        let listed = servers.list();
        let late = listed.iter().find(|it| it.name == "late").unwrap();
        let versions: Vec<_> = late.found.iter().map(|it| it.version.as_deref()).collect();
        assert_eq!(
            (&versions[..], late.missing.is_some()),
            (&[Some("1.2")][..], false)
        );
    }

    #[test]
    fn an_unknown_server_is_named_with_the_known_ones() {
        let error = Servers::new(None).find("ngnix").unwrap_err().to_string();
        for name in ["`ngnix`", "`caddy`, ", "`nginx`"] {
            assert!(error.contains(name), "no {name} in {error}");
        }
    }
}
