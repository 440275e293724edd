//! Workload tables become [`Workload`]s and back.

use std::path::Path;

use crate::check::check;
use crate::client::{client, client_table};
use crate::content::ServedFile;
use crate::demand::Demand;
use crate::error::PlanError;
use crate::file::{
    ConnectionsName, ServedFileTable, ValuesTable, WorkloadFile, workload_schema_value,
};
use crate::library::{Library, NoFiles};
use crate::model::Workload;
use crate::protocol::Protocol;
use crate::protocols::{Asked, Over, check_each, travels};
use crate::replay::replay;
use crate::request::Connections;
use crate::requests::{Surroundings, content, content_keys, requests, values, write_requests};
use crate::rules::{self, Fault};
use crate::source::Source;
use crate::variants::Values;

/// Reads a workload file; `origin_name` is what messages call it. Of one that is asked over
/// several protocols this is the one that it is without a plan: over h1.
///
/// # Errors
/// The text is not TOML, not a workload, or needs another file.
pub fn parse_workload(text: &str, origin_name: &str) -> Result<Workload, PlanError> {
    let asked = read_workload(text, origin_name, Path::new(""), &NoFiles)?;
    Ok(asked.workload)
}

/// The same with what it says of protocols; files that it names lie below `folder`.
pub(crate) fn read_workload(
    text: &str,
    origin_name: &str,
    folder: &Path,
    library: &dyn Library,
) -> Result<Asked, PlanError> {
    let source = Source::read(text, origin_name)?;
    check(&source, workload_schema_value())?;
    let table: WorkloadFile = source.deserialize()?;
    resolve_workload(&source, "", &table, folder, library)
}

/// The workload of the table at `path` (empty for a whole file, or `workload.0.`).
pub(crate) fn resolve_workload(
    source: &Source<'_>,
    path: &str,
    table: &WorkloadFile,
    folder: &Path,
    library: &dyn Library,
) -> Result<Asked, PlanError> {
    let at = |key: &str| source.place(&format!("{path}{key}"));
    rules::name(&table.name).map_err(|fault| fault.at(at("name")))?;
    let template = table.template.as_ref().unwrap_or(&table.name);
    rules::name(template).map_err(|fault| fault.at(at("template")))?;
    let (protocol, over) = protocols(source, path, table)?;
    let mut files: Vec<ServedFile> = Vec::new();
    for (index, entry) in table.file.iter().enumerate() {
        let file = served_file(source, &format!("{path}file.{index}."), entry)?;
        if files.iter().any(|other| other.path == file.path) {
            let place = at(&format!("file.{index}.path"));
            let fix = "give each `[[file]]` a path of its own";
            return Err(PlanError::twice(place, "file", &file.path, fix));
        }
        files.push(file);
    }
    let surroundings = Surroundings {
        source,
        path,
        files: &files,
        folder,
        library,
    };
    let (requests, files, notes) = match &table.replay {
        None => {
            let requests = requests(&surroundings, table)?;
            (requests, files.clone(), Vec::new())
        }
        Some(log) => {
            let replayed = replay(&surroundings, table, log)?;
            (replayed.requests, replayed.files, replayed.notes)
        }
    };
    if table.proxied && requests.one_answer().is_none() {
        return Err(Fault::new(
            "the upstream behind the server has one answer, and these requests expect \
                      several",
            "expect one status and body of all of them, or make a workload of each",
        )
        .at(at("proxied")));
    }
    let client = client(&surroundings, table.client.as_ref())?;
    let values = values(&surroundings, &requests, &table.values)?;
    let workload = Workload {
        name: table.name.clone(),
        description: table.description.clone(),
        template: template.clone(),
        protocol,
        requests,
        connections: connections(source, path, table)?,
        client,
        values,
        files,
        proxied: table.proxied,
        origin: origin(source, path, table)?,
        notes: table.notes.iter().cloned().chain(notes).collect(),
    };
    if over == Over::One {
        travels(&workload, protocol).map_err(|fault| fault.at(at("protocol")))?;
    }
    Ok(Asked { workload, over })
}

fn connections(
    source: &Source<'_>,
    path: &str,
    table: &WorkloadFile,
) -> Result<Connections, PlanError> {
    match (table.connections, table.requests_per_connection) {
        (None | Some(ConnectionsName::KeepAlive), None) => Ok(Connections::KeepAlive),
        (Some(ConnectionsName::New), None) => Ok(Connections::New),
        (None, Some(requests)) => Ok(Connections::Requests(requests)),
        (Some(_), Some(_)) => Err(Fault::new(
            "`connections` and `requests_per_connection` contradict each other",
            "keep one of them",
        )
        .at(source.place(&format!("{path}requests_per_connection")))),
    }
}

/// What is wanted of the origin, if the answer comes from there.
fn origin(
    source: &Source<'_>,
    path: &str,
    table: &WorkloadFile,
) -> Result<Option<Demand>, PlanError> {
    let Some(origin) = &table.origin else {
        return Ok(None);
    };
    if !table.proxied {
        return Err(Fault::new(
            "`origin` asks something of an upstream that this workload does not have",
            "write `proxied = true`, or take `origin` out",
        )
        .at(source.place(&format!("{path}origin"))));
    }
    let checked = origin.fault();
    checked.map_err(|(key, fault)| fault.at(source.place(&format!("{path}origin.{key}"))))?;
    Ok(Some(origin.clone()))
}

/// The protocol of the workload as it stands, and over what a plan asks it.
fn protocols(
    source: &Source<'_>,
    path: &str,
    table: &WorkloadFile,
) -> Result<(Protocol, Over), PlanError> {
    match (table.protocol, &table.protocols) {
        (None, None) => Ok((Protocol::H1, Over::Unsaid)),
        (Some(protocol), None) => Ok((protocol, Over::One)),
        (None, Some(each)) => {
            check_each(source, &format!("{path}protocols"), each)?;
            Ok((Protocol::H1, Over::Each(each.clone())))
        }
        (Some(_), Some(_)) => Err(Fault::new(
            "`protocol` and `protocols` contradict each other",
            "keep one of them",
        )
        .at(source.place(&format!("{path}protocols")))),
    }
}

/// The table that [`resolve_workload`] makes `workload` of.
pub(crate) fn workload_table(workload: &Workload) -> WorkloadFile {
    let files = workload.files.iter().map(|file| {
        let (text, generated) = content_keys(&file.content);
        ServedFileTable {
            path: file.path.clone(),
            text,
            generated,
        }
    });
    let (connections, requests_per_connection) = match workload.connections {
        Connections::KeepAlive => (ConnectionsName::KeepAlive.into(), None),
        Connections::New => (ConnectionsName::New.into(), None),
        Connections::Requests(requests) => (None, Some(requests)),
    };
    let mut table = WorkloadFile {
        name: workload.name.clone(),
        description: workload.description.clone(),
        template: Some(workload.template.clone()),
        protocol: Some(workload.protocol),
        protocols: None,
        method: None,
        path: None,
        headers: None,
        connections,
        requests_per_connection,
        client: client_table(&workload.client),
        proxied: workload.proxied,
        origin: workload.origin.clone(),
        expect: None,
        request: Vec::new(),
        replay: None,
        values: workload.values.iter().flat_map(values_tables).collect(),
        notes: workload.notes.clone(),
        file: files.collect(),
    };
    write_requests(&workload.requests, &mut table);
    table
}

fn values_tables(values: &Values) -> impl Iterator<Item = ValuesTable> {
    let tables = values.tables.iter();
    tables.map(|(file, table)| ValuesTable {
        file: file.to_owned(),
        columns: table.columns.clone(),
        rows: table.rows.clone(),
    })
}

fn served_file(
    source: &Source<'_>,
    path: &str,
    table: &ServedFileTable,
) -> Result<ServedFile, PlanError> {
    rules::file_path(&table.path)
        .map_err(|fault| fault.at(source.place(&format!("{path}path"))))?;
    let content = content(
        source,
        path,
        table.text.as_ref(),
        table.generated.as_ref(),
        "",
    )?;
    Ok(ServedFile {
        path: table.path.clone(),
        content,
    })
}
