//! A configuration file that somebody names on the command line: whose it is and what it contains.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bakeoff_plan::Protocol;
use bakeoff_record::{RecordFolder, kind_of_bytes, read_regular, shell_path};
use bakeoff_stage::{
    FileFound, Misplaced, Server, Servers, Service, UpstreamKind, compose, misplaced,
};

use crate::exit;

/// Longest configuration file that is looked into.
const CONFIG_BYTES_MAX: u64 = 4 << 20;
/// Entries of a folder that are looked at for a configuration file.
const ENTRIES_MAX: usize = 1_000;

/// A configuration file.
#[derive(Debug, Clone)]
pub(super) struct OwnFile {
    /// Absolute.
    pub(super) path: PathBuf,
    /// Name of the server.
    pub(super) server: String,
    /// The server's name as people write it.
    pub(super) title: String,
    /// Whether it asks an upstream.
    pub(super) has_upstream: bool,
    pub(super) found: FileFound,
}

/// The server of files that is said.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said<'a> {
    pub(super) server: &'a str,
    /// Whether it is about one file, and so decides. It helps among several where neither name nor
    /// content says it.
    pub(super) of_one: bool,
}

/// Looks into the file at `path`, of the server `said` where that decides.
pub(super) fn read(
    path: PathBuf,
    servers: &Servers,
    said: Option<Said<'_>>,
) -> anyhow::Result<OwnFile> {
    let shown = path.display();
    let failed =
        |cause: &dyn std::fmt::Display| exit::usage(format!("failed to read {shown}: {cause}"));
    if path.is_dir() {
        return Err(exit::usage(of_folder(&path, servers)));
    }
    if path.to_str().is_none() {
        return Err(exit::usage(format!(
            "the path {shown} is not UTF-8, and a plan names files in UTF-8: rename it"
        )));
    }
    let bytes = read_regular(&path, CONFIG_BYTES_MAX).map_err(|error| failed(&error))?;
    if let Some(kind) = kind_of_bytes(&bytes) {
        let problem = format!("{shown} is {kind}; expected the configuration of a server");
        return Err(exit::usage(problem));
    }
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_start_matches('\u{feff}');
    if let Some(services) = compose(&path, text) {
        return Err(exit::usage(of_compose(&path, &services)));
    }
    if let Some(Misplaced { what, instead }) = misplaced(&path, text) {
        return Err(exit::usage(format!("{shown} {what}; {instead}")));
    }
    if is_caddy_json(text) {
        return Err(exit::usage(format!(
            "{shown} is in Caddy's JSON, and only Caddyfiles are read; add \
             --start 'caddy run --config {}' to start it yourself",
            shell_path(&path)
        )));
    }
    let mut names = match said {
        Some(said) if said.of_one => Vec::new(),
        _ => servers.recognise(&path, text).servers,
    };
    let last = names.pop();
    let found: Server = match (said, last, names.as_slice()) {
        (_, Some(name), []) => servers.find(&name),
        (Some(said), ..) => servers.find(said.server),
        (None, Some(last), others) => {
            return Err(exit::usage(format!(
                "{shown} may be a configuration of {} or {last}; add --server {last}",
                others.join(", ")
            )));
        }
        (None, None, _) => {
            return Err(exit::usage(format!(
                "{shown} does not look like a configuration of any server known here; add \
                 --server NAME, or --start 'COMMAND' to start it yourself"
            )));
        }
    }
    .map_err(super::stage_error)?;
    let has_upstream = found.asks_upstream(&path).map_err(super::stage_error)?;
    let title = found.title().to_owned();
    let found_in = servers
        .look_into(&found.name, &path)
        .map_err(super::stage_error)?;
    Ok(OwnFile {
        has_upstream: has_upstream
            || found_in
                .upstreams
                .iter()
                .any(|it| it.kind != UpstreamKind::Tcp),
        server: found.name,
        title,
        path,
        found: found_in,
    })
}

/// What to name instead of a folder.
fn of_folder(path: &Path, servers: &Servers) -> String {
    let shown = path.display();
    if RecordFolder::is_at(path).unwrap_or(false) {
        let record = shell_path(path);
        return format!("{shown} is a record of bakeoff; `bakeoff report {record}` explains it");
    }
    let entries = path.read_dir().into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .take(ENTRIES_MAX)
        .map(|entry| entry.path())
        .filter(|file| file.is_file() && servers.recognise(file, "").servers.len() == 1)
        .collect();
    files.sort();
    let such = files.first().map_or(String::new(), |file| {
        format!(", such as {}", shell_path(file))
    });
    format!("{shown} is a folder; name the configuration file in it{such}")
}

/// Whether a text is Caddy's own form of a configuration, an object with `apps`.
fn is_caddy_json(text: &str) -> bool {
    let object: Option<BTreeMap<String, serde::de::IgnoredAny>> = serde_json::from_str(text).ok();
    object.is_some_and(|it| it.contains_key("apps"))
}

/// The services of a compose file; `None` for any other file, and none.
pub(super) fn services(path: &Path) -> Option<Vec<Service>> {
    let bytes = read_regular(path, CONFIG_BYTES_MAX).ok()?;
    compose(path, &String::from_utf8_lossy(&bytes))
}

/// What is in a compose file, and how a service of it is measured.
fn of_compose(path: &Path, services: &[Service]) -> String {
    let one = |service: &Service| {
        let image = service.image.as_deref().unwrap_or("built here");
        let mut said = vec![image.to_owned()];
        said.extend(service.ports.iter().map(|port| format!("port {port}")));
        match (service.asks.as_slice(), service.after.as_slice()) {
            ([], []) => {}
            ([], after) => said.push(format!("after {}", after.join(" and "))),
            (asks, _) => said.push(format!("asks {}", asks.join(" and "))),
        }
        format!("{} ({})", service.name, said.join(", "))
    };
    let all: Vec<String> = services.iter().map(one).collect();
    format!(
        "{} is a compose file, with {}; it is measured as it is, and no port of it has to be \
         published: bakeoff race {} OTHER --service NAME /",
        path.display(),
        all.join(", "),
        shell_path(path)
    )
}

impl OwnFile {
    /// Why it cannot be measured, with file, line and a hint.
    pub(super) fn refusal(&self) -> Option<String> {
        let problem = self.found.problems.first()?;
        let (file, line) = (problem.place.file.display(), problem.place.line);
        Some(format!("{file}:{line}: {}; {}", problem.what, problem.hint))
    }

    /// Whether it asks PHP.
    pub(super) fn has_php(&self) -> bool {
        let mut upstreams = self.found.upstreams.iter();
        upstreams.any(|it| it.kind == UpstreamKind::FastCgi)
    }
}

/// The protocol that the first file is there for, if all others speak it; else one that all speak.
/// `None` where nothing is known of one of them.
pub(super) fn protocol_of_all<'f>(
    files: impl Iterator<Item = &'f FileFound> + Clone,
) -> Option<Protocol> {
    let has_all = |protocol: Protocol| {
        let mut files = files.clone();
        files.all(|found| found.protocols().contains(protocol.name()))
    };
    let wanted = files.clone().map(|found| found.choice(None).protocol);
    let usual = [
        Protocol::H1,
        Protocol::H2,
        Protocol::H1Tls,
        Protocol::H2c,
        Protocol::H3,
    ];
    wanted.chain(usual).find(|protocol| has_all(*protocol))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_of_caddy_is_told_from_other_files() {
        for (text, expected) in [
            ("{\"apps\": {\"http\": {}}}", true),
            ("\n{\n  \"admin\": {},\n  \"apps\": {}\n}\n", true),
            ("{\"static_resources\": {}}", false),
            ("{\n\tadmin off\n}\n:80 {\n\trespond apps\n}\n", false),
        ] {
            assert_eq!(is_caddy_json(text), expected, "{text}");
        }
    }
}
