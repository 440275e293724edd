//! The configurations of the user's own that a plan names, for the host that its servers run on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bakeoff_plan::{ConfigSource, Plan, ServerChoice};
use bakeoff_record::read_regular;
use bakeoff_stage::{Along, AlongFile, Servers};

use crate::commands::measure::agent::OwnFolder;
use crate::{exit, output};

/// Bytes of all files of a plan's configurations.
const BYTES_MAX: usize = 128 << 20;
/// Longest PEM file.
const PEM_BYTES_MAX: u64 = 16 << 20;

/// Folders and the files in them, for `host`. What is not here is on the host.
pub(super) fn of(
    plan: &Plan,
    servers: Option<&Path>,
    host: &str,
) -> anyhow::Result<Vec<OwnFolder>> {
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
    let mut folders = sent(found, host);
    folders.extend(certificates(plan)?);
    Ok(folders)
}

/// The certificates that clients show, and their keys: answers are asked for on that host, too.
fn certificates(plan: &Plan) -> anyhow::Result<Vec<OwnFolder>> {
    let shown = plan.workloads.iter();
    let shown = shown.filter_map(|it| it.client.certificate.as_ref());
    let paths: BTreeSet<&Path> = shown.flat_map(|it| [&*it.chain, &*it.key]).collect();
    let sent = paths.into_iter().map(|path| {
        let bytes = read_regular(path, PEM_BYTES_MAX);
        let bytes = bytes
            .map_err(|cause| exit::usage(format!("failed to read {}: {cause}", path.display())))?;
        let file = AlongFile {
            bytes,
            mode: 0o600,
            is_text: false,
        };
        let below = path.file_name().map(PathBuf::from).unwrap_or_default();
        let along = Along {
            folder: path.parent().map(Path::to_owned).unwrap_or_default(),
            files: [(below, file)].into(),
            ..Along::default()
        };
        let configs = BTreeMap::new();
        Ok(OwnFolder { configs, along })
    });
    sent.collect()
}

/// As they are sent, those of one folder together.
fn sent(found: BTreeMap<&Path, Along>, host: &str) -> Vec<OwnFolder> {
    let mut folders: BTreeMap<PathBuf, OwnFolder> = BTreeMap::new();
    for (path, along) in found {
        let known = folders.entry(along.folder.clone());
        let known = known.or_insert_with(|| OwnFolder {
            configs: BTreeMap::new(),
            along: Along::default(),
        });
        known.configs.insert(path.to_owned(), along.main.clone());
        known.along.add(along);
    }
    let folders = folders.into_values();
    folders
        .inspect(|folder| tell(&folder.along, host))
        .collect()
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
