//! Workload tables become [`Workload`]s and back.

use crate::check::check;
use crate::demand::{Demand, demand_table, resolve_demand};
use crate::error::PlanError;
use crate::file::{
    ExpectTable, GeneratedTable, ServedFileTable, WorkloadFile, workload_schema_value,
};
use crate::model::{Content, Encoding, Protocol, ServedFile, Workload};
use crate::protocols::{Asked, Over, check_each};
use crate::rules::{self, Fault};
use crate::source::Source;

/// Headers that the engine writes itself, because the message would break without them.
const OWN_HEADERS: [&str; 3] = ["host", "content-length", "transfer-encoding"];

/// Reads a workload file; `origin_name` is what messages call it. Of one that is asked over
/// several protocols this is the one that it is without a plan: over h1.
///
/// # Errors
/// The text is not TOML, or not a workload.
pub fn parse_workload(text: &str, origin_name: &str) -> Result<Workload, PlanError> {
    read_workload(text, origin_name).map(|asked| asked.workload)
}

/// The same with what it says of protocols.
pub(crate) fn read_workload(text: &str, origin_name: &str) -> Result<Asked, PlanError> {
    let source = Source::read(text, origin_name)?;
    check(&source, workload_schema_value())?;
    let table: WorkloadFile = source.deserialize()?;
    resolve_workload(&source, "", &table)
}

/// The workload of the table at `path` (empty for a whole file, or `workload.0.`).
pub(crate) fn resolve_workload(
    source: &Source<'_>,
    path: &str,
    table: &WorkloadFile,
) -> Result<Asked, PlanError> {
    let at = |key: &str| source.place(&format!("{path}{key}"));
    rules::name(&table.name).map_err(|fault| fault.at(at("name")))?;
    let template = table.template.as_ref().unwrap_or(&table.name);
    rules::name(template).map_err(|fault| fault.at(at("template")))?;
    let (protocol, over) = protocols(source, path, table)?;
    method(&table.method).map_err(|fault| fault.at(at("method")))?;
    target(&table.path).map_err(|fault| fault.at(at("path")))?;
    let mut headers = Vec::new();
    for (index, line) in table.headers.iter().enumerate() {
        headers.push(header(line).map_err(|fault| fault.at(at(&format!("headers.{index}"))))?);
    }
    let mut files: Vec<ServedFile> = Vec::new();
    for (index, entry) in table.file.iter().enumerate() {
        let file = served_file(source, &format!("{path}file.{index}."), entry)?;
        if files.iter().any(|other| other.path == file.path) {
            return Err(PlanError::Duplicate {
                place: at(&format!("file.{index}.path")),
                what: "file",
                name: file.path,
                mend: "give each `[[file]]` a path of its own".to_owned(),
            });
        }
        files.push(file);
    }
    encoding(&table.expect, &headers).map_err(|fault| fault.at(at("expect.encoding")))?;
    let workload = Workload {
        name: table.name.clone(),
        description: table.description.clone(),
        template: template.clone(),
        protocol,
        method: table.method.clone(),
        path: table.path.clone(),
        headers,
        expect_status: table.expect.status,
        expect_body: expected_body(source, &format!("{path}expect."), &table.expect, &files)?,
        expect_encoding: table.expect.encoding,
        files,
        proxied: table.proxied,
        origin: origin(source, path, table)?,
    };
    Ok(Asked { workload, over })
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
        return Err(PlanError::Conflict {
            place: source.place(&format!("{path}origin")),
            problem: "`origin` asks something of an upstream that this workload does not have"
                .to_owned(),
            mend: "write `proxied = true`, or take `origin` out".to_owned(),
        });
    }
    resolve_demand(source, &format!("{path}origin."), origin).map(Some)
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
        (Some(_), Some(_)) => Err(PlanError::Conflict {
            place: source.place(&format!("{path}protocols")),
            problem: "`protocol` and `protocols` contradict each other".to_owned(),
            mend: "keep one of them".to_owned(),
        }),
    }
}

/// An encoding that nobody asks for would never come.
fn encoding(expect: &ExpectTable, headers: &[(String, String)]) -> Result<(), Fault> {
    let asked = headers.iter().any(|(name, value)| {
        name.eq_ignore_ascii_case("accept-encoding") && value.to_ascii_lowercase().contains("gzip")
    });
    if expect.encoding == Encoding::Identity || asked {
        return Ok(());
    }
    Err(Fault::new(
        "a compressed answer is expected and not asked for",
        "add `headers = [\"Accept-Encoding: gzip\"]`",
    ))
}

/// The table that [`resolve_workload`] makes `workload` of.
pub(crate) fn workload_table(workload: &Workload) -> WorkloadFile {
    let (text, generated) = content_keys(&workload.expect_body);
    let headers = workload
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}"));
    let files = workload.files.iter().map(|file| {
        let (text, generated) = content_keys(&file.content);
        ServedFileTable {
            path: file.path.clone(),
            text,
            generated,
        }
    });
    WorkloadFile {
        name: workload.name.clone(),
        description: workload.description.clone(),
        template: Some(workload.template.clone()),
        protocol: Some(workload.protocol),
        protocols: None,
        method: workload.method.clone(),
        path: workload.path.clone(),
        headers: headers.collect(),
        proxied: workload.proxied,
        origin: workload.origin.as_ref().map(demand_table),
        expect: ExpectTable {
            status: workload.expect_status,
            encoding: workload.expect_encoding,
            text,
            generated,
            file: None,
        },
        file: files.collect(),
    }
}

fn content_keys(content: &Content) -> (Option<String>, Option<GeneratedTable>) {
    match content {
        Content::Text(text) => (Some(text.clone()), None),
        Content::Generated { kind, bytes } => {
            // A content that was read has at most 64 MiB.
            let bytes = u32::try_from(*bytes).unwrap_or(u32::MAX);
            (None, Some(GeneratedTable { kind: *kind, bytes }))
        }
    }
}

fn expected_body(
    source: &Source<'_>,
    path: &str,
    table: &ExpectTable,
    files: &[ServedFile],
) -> Result<Content, PlanError> {
    let Some(name) = &table.file else {
        return content(
            source,
            path,
            table.text.as_ref(),
            table.generated.as_ref(),
            ", `file`",
        );
    };
    if table.text.is_some() || table.generated.is_some() {
        return Err(PlanError::Conflict {
            place: source.place(&format!("{path}file")),
            problem: "`file` stands beside another body".to_owned(),
            mend: "keep one of `text`, `generated` and `file`".to_owned(),
        });
    }
    match files.iter().find(|file| file.path == *name) {
        Some(file) => Ok(file.content.clone()),
        None => {
            let known: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
            Err(PlanError::UnknownName {
                place: source.place(&format!("{path}file")),
                what: "`[[file]]`",
                name: name.clone(),
                nearest: crate::nearest(name, &known).map(str::to_owned),
                known,
            })
        }
    }
}

fn served_file(
    source: &Source<'_>,
    path: &str,
    table: &ServedFileTable,
) -> Result<ServedFile, PlanError> {
    let visible = table
        .path
        .chars()
        .all(|c| c.is_ascii_graphic() && !"\\?#%".contains(c));
    let inside = table
        .path
        .split('/')
        .all(|part| !part.is_empty() && part != "." && part != "..");
    if !visible || !inside || table.path.len() > 200 {
        return Err(Fault::new(
            format!(
                "`{}` is not a path below the document root",
                table.path.escape_debug()
            ),
            "write it without a leading slash, `..` or blanks, such as `index.html`",
        )
        .at(source.place(&format!("{path}path"))));
    }
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

fn content(
    source: &Source<'_>,
    path: &str,
    text: Option<&String>,
    generated: Option<&GeneratedTable>,
    others: &str,
) -> Result<Content, PlanError> {
    match (text, generated) {
        (Some(text), None) => Ok(Content::Text(text.clone())),
        (None, Some(table)) => Ok(Content::Generated {
            kind: table.kind,
            bytes: table.bytes as usize,
        }),
        (Some(_), Some(_)) => Err(PlanError::Conflict {
            place: source.place(&format!("{path}generated")),
            problem: "`text` and `generated` contradict each other".to_owned(),
            mend: "keep one of them".to_owned(),
        }),
        (None, None) => Err(Fault::new(
            "nothing says what the content is",
            format!("write one of `text`, `generated`{others}, such as `text = \"Hello, world!\"`"),
        )
        .at(source.place(path))),
    }
}

fn method(method: &str) -> Result<(), Fault> {
    if (1..=32).contains(&method.len()) && method.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Ok(());
    }
    Err(Fault::new(
        format!("`{}` is not a request method", method.escape_debug()),
        "write it in capitals, such as `method = \"GET\"`",
    ))
}

fn target(path: &str) -> Result<(), Fault> {
    let visible = path
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'#');
    if path.starts_with('/') && visible && path.len() <= 4096 {
        return Ok(());
    }
    Err(Fault::new(
        format!("`{}` is not a request target", path.escape_debug()),
        "begin with a slash, and write blanks and other signs as %20 and so on",
    ))
}

fn header(line: &str) -> Result<(String, String), Fault> {
    let shown = line.escape_debug();
    let split = line
        .split_once(':')
        .map(|(name, value)| (name, value.trim_matches([' ', '\t'])));
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let Some((name, value)) = split.filter(|(name, value)| {
        !name.is_empty() && name.chars().all(token) && !value.chars().any(char::is_control)
    }) else {
        let mend = "write it as `Name: value`, such as `Accept: text/html`";
        return Err(Fault::new(format!("`{shown}` is not a header"), mend));
    };
    if OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
        let problem = format!("`{name}` is written by the load engine itself");
        return Err(Fault::new(problem, "take this header out"));
    }
    Ok((name.to_owned(), value.to_owned()))
}
