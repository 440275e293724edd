//! The configurations of the user's own that a plan names, for the host that its servers run on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bakeoff_plan::{ConfigSource, Plan, ServerChoice};
use bakeoff_stage::{Along, Servers};

use crate::commands::measure::agent::{OwnFile, OwnFolder};
use crate::{exit, output};

/// Bytes of all files of a plan's configurations.
const BYTES_MAX: usize = 128 << 20;

/// Folders and the files in them, for `host`. What is not here is on the host.
pub(super) fn of(
    plan: &Plan,
    servers: Option<&Path>,
    host: &str,
) -> anyhow::Result<(Vec<OwnFolder>, Vec<Vec<u8>>)> {
    let servers = Servers::new(servers.map(Path::to_owned));
    let mut found: BTreeMap<&Path, Along> = BTreeMap::new();
    for contender in &plan.contenders {
        let ServerChoice::Program { server, config, .. } = &contender.server else {
            continue;
        };
        let ConfigSource::File(path) = config else {
            continue;
        };
        if found.contains_key(&**path) {
            continue;
        }
        if !path.exists() {
            output::note(&format!(
                "{}: {} is not on this machine; the file of host {host} at that path is used",
                contender.name,
                path.display()
            ));
            continue;
        }
        let along = servers.along(server, path).map_err(exit::usage)?;
        found.insert(path, along);
    }
    let bytes = found.values().flat_map(|it| it.files.values());
    if bytes.map(|file| file.bytes.len()).sum::<usize>() > BYTES_MAX {
        return Err(exit::usage(format!(
            "the configurations of the plan come with more than {} MiB, which cannot be sent to \
             host {host}: put what they serve there, at the same path",
            BYTES_MAX >> 20
        )));
    }
    Ok(sent(found, host))
}

/// As they are sent, those of one folder together.
fn sent(found: BTreeMap<&Path, Along>, host: &str) -> (Vec<OwnFolder>, Vec<Vec<u8>>) {
    let mut folders: BTreeMap<PathBuf, (Along, BTreeMap<PathBuf, PathBuf>)> = BTreeMap::new();
    for (path, along) in found {
        let known = folders.entry(along.folder.clone()).or_default();
        known.1.insert(path.to_owned(), along.main.clone());
        known.0.add(along);
    }
    let (mut sent, mut bytes) = (Vec::new(), Vec::new());
    for (folder, (along, configs)) in folders {
        tell(&along, host);
        let files = along.files.into_iter().map(|(below, file)| {
            bytes.push(file.bytes);
            OwnFile {
                below,
                mode: file.mode,
                is_text: file.is_text,
            }
        });
        sent.push(OwnFolder {
            folder,
            configs,
            files: files.collect(),
            leads: along.leads,
            elsewhere: along.elsewhere,
        });
    }
    (sent, bytes)
}

/// Says what goes to a host, and what does not.
fn tell(along: &Along, host: &str) {
    let bytes: usize = along.files.values().map(|file| file.bytes.len()).sum();
    output::note(&format!(
        "host {host} gets {} files of {}, {bytes} bytes",
        along.files.len(),
        along.folder.display()
    ));
    for key in &along.keys {
        output::note(&format!(
            "{} holds a private key and is not sent to host {host}: trials have keys of their own",
            key.display()
        ));
    }
    for path in &along.left_out {
        output::note(&format!(
            "{} is too large to be sent to host {host}, or has names that are not UTF-8: if the \
             server needs it, put it there at the same path",
            path.display()
        ));
    }
}
