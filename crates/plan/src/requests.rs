//! What a workload's tables say of its requests becomes [`Requests`], and back.

use std::borrow::Cow;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use crate::content::{Content, Encoding, ServedFile};
use crate::error::{Place, PlanError};
use crate::file::{
    AnyBody, BodyTable, ExpectTable, GeneratedTable, HeaderText, RequestTable, ValuesTable,
    WorkloadFile, default_method, default_path,
};
use crate::headers::{own_header, repeated_header};
use crate::library::Library;
use crate::placeholder::{ValueTable, joined_placeholders};
use crate::request::{Expected, KnownBy, Request, RequestBody, Requests, SentBody};
use crate::rules::{self, Fault};
use crate::source::Source;
use crate::variants::{Cut, Values};

/// Most requests in a workload: each is kept encoded in the engine.
pub const REQUESTS_MAX: usize = 10_000;
/// Most bytes of values that a plan keeps.
const VALUES_BYTES_MAX: usize = 4 << 20;
/// Longest body that is read from a file, bytes: it is written into the record's plan.
const BODY_FILE_BYTES_MAX: u64 = 1 << 20;

/// What the tables of a workload refer to.
pub(crate) struct Surroundings<'a> {
    pub(crate) source: &'a Source<'a>,
    /// Path of the workload's table in the source, empty or with a dot at its end.
    pub(crate) path: &'a str,
    pub(crate) files: &'a [ServedFile],
    /// Where relative paths begin.
    pub(crate) folder: &'a Path,
    pub(crate) library: &'a dyn Library,
}

/// The requests of `table`: its own one, or those of its list.
pub(crate) fn requests(
    around: &Surroundings<'_>,
    table: &WorkloadFile,
) -> Result<Requests, PlanError> {
    let at = |key: &str| around.source.place(&format!("{}{key}", around.path));
    let list = table.request.iter().enumerate();
    let list: Result<Vec<Request>, PlanError> = list
        .map(|(index, entry)| request(around, &format!("{}request.{index}.", around.path), entry))
        .collect();
    let Some(list) = Requests::new(list?) else {
        return own(around, table).map(Requests::from);
    };
    let own_keys = [
        ("method", table.method.is_some()),
        ("path", table.path.is_some()),
        ("headers", table.headers.is_some()),
        ("expect", table.expect.is_some()),
    ];
    if let Some((key, _)) = own_keys.iter().find(|(_, said)| *said) {
        return Err(Fault::new(
            format!("`{key}` stands beside `[[request]]` tables"),
            "write it in each of them, or take them out",
        )
        .at(at(key)));
    }
    if list.len() > REQUESTS_MAX {
        let problem = format!("the workload asks {} requests", list.len());
        let fault = Fault::new(problem, format!("keep at most {REQUESTS_MAX} of them"));
        return Err(fault.at(at("request")));
    }
    Ok(list)
}

/// The one request that a workload's own keys are.
fn own(around: &Surroundings<'_>, table: &WorkloadFile) -> Result<Request, PlanError> {
    let one = RequestTable {
        method: table.method.clone().unwrap_or_else(default_method),
        path: table.path.clone().unwrap_or_else(default_path),
        placeholders: true,
        headers: table.headers.clone().unwrap_or_default(),
        weight: 1,
        body: None,
        expect: table.expect.clone(),
    };
    request(around, around.path, &one)
}

/// The request of the table at `path`.
pub(crate) fn request(
    around: &Surroundings<'_>,
    path: &str,
    table: &RequestTable,
) -> Result<Request, PlanError> {
    let at = |key: &str| around.source.place(&format!("{path}{key}"));
    rules::method(&table.method).map_err(|fault| fault.at(at("method")))?;
    let path_text = match table.placeholders {
        true => Cow::Owned(joined_placeholders(&table.path)),
        false => Cow::Borrowed(&*table.path),
    };
    rules::target(&path_text).map_err(|fault| fault.at(at("path")))?;
    let (mut headers, mut secret_headers) = (Vec::new(), Vec::new());
    for (index, written) in table.headers.iter().enumerate() {
        let place = || at(&format!("headers.{index}"));
        let (name, value) = header(written).map_err(|fault| fault.at(place()))?;
        if written.secret && !secret_headers.contains(&name) {
            secret_headers.push(name.clone());
        }
        headers.push((name, value));
        if let Some(name) = repeated_header(&headers) {
            let problem = format!("`{name}` is given twice, and a request has it once");
            return Err(Fault::new(problem, "keep one of them").at(place()));
        }
    }
    let body = table
        .body
        .as_ref()
        .map(|body| RequestBody::of(around, &format!("{path}body."), body));
    let mut request = Request {
        method: table.method.clone(),
        path: table.path.clone(),
        placeholders: table.placeholders,
        secret_headers,
        weight: table.weight,
        body: body.transpose()?,
        expect: match &table.expect {
            Some(expect) => expected(around, &format!("{path}expect."), expect, &headers)?,
            None => Expected::first_answer(),
        },
        headers,
    };
    request.settle().map_err(|problem| {
        let fix = "write `placeholders = false` beside `path` where its braces are none";
        Fault::new(problem, fix).at(at("path"))
    })?;
    Ok(request)
}

/// What the placeholders of `requests` stand for: values in tables of the workload, or in files
/// beside it.
pub(crate) fn values(
    around: &Surroundings<'_>,
    requests: &Requests,
    tables: &[ValuesTable],
) -> Result<Option<Values>, PlanError> {
    let cuts: Vec<Cut> = requests.iter().map(Request::cut).collect();
    let read = |file: &str| match tables.iter().find(|table| table.file == file) {
        Some(table) => Ok(ValueTable {
            columns: table.columns.clone(),
            rows: table.rows.clone(),
        }),
        None => around.library.table(around.folder, file),
    };
    let values = Values::read(&cuts, 0, &read).and_then(|values| {
        let bytes: usize = values.tables.iter().map(|(_, table)| table.bytes()).sum();
        match bytes {
            0..=VALUES_BYTES_MAX => Ok(values),
            _ => Err(format!(
                "the values of its placeholders have {bytes} bytes, and a plan keeps at most \
                 {VALUES_BYTES_MAX}"
            )),
        }
    });
    let values = values.map_err(|problem| {
        let fix = "name a table of fewer values in CSV beside this file, header first";
        Fault::new(problem, fix).at(around.source.place(around.path))
    })?;
    Ok(cuts.iter().any(Cut::varies).then_some(values))
}

impl RequestBody {
    fn of(around: &Surroundings<'_>, path: &str, table: &BodyTable) -> Result<Self, PlanError> {
        let content = match &table.file {
            None => content(
                around.source,
                path,
                table.text.as_ref(),
                table.generated.as_ref(),
                ", `file`",
            )?,
            Some(name) => {
                let place = || around.source.place(&format!("{path}file"));
                if table.text.is_some() || table.generated.is_some() {
                    return Err(beside_another("file", place()));
                }
                let text = around.text_of(name).map_err(|fault| fault.at(place()))?;
                Content::Text(text)
            }
        };
        Ok(Self {
            content,
            chunked: table.chunked,
        })
    }
}

impl Surroundings<'_> {
    /// The text of a file beside the one that names it.
    fn text_of(&self, name: &str) -> Result<String, Fault> {
        let path = self.folder.join(name);
        let fix = "name a file of text in the folder of this workload";
        let failed = |cause: std::io::Error| {
            Fault::new(format!("failed to read {}: {cause}", path.display()), fix)
        };
        let reader = self.library.open(self.folder, name).map_err(failed)?;
        let mut text = String::new();
        let mut reader = reader.take(BODY_FILE_BYTES_MAX + 1);
        let length = reader.read_to_string(&mut text).map_err(failed)?;
        if length as u64 <= BODY_FILE_BYTES_MAX {
            return Ok(text);
        }
        Err(Fault::new(
            format!(
                "{} is longer than {BODY_FILE_BYTES_MAX} bytes",
                path.display()
            ),
            "write `generated = { kind = \"random\", bytes = 2097152 }` for a large body",
        ))
    }
}

/// Writes `requests` into `table`: as its own keys, where they can say them.
pub(crate) fn write_requests(requests: &Requests, table: &mut WorkloadFile) {
    let one = requests.first();
    let is_own = one.weight == 1 && one.body.is_none() && one.is_plainly_written();
    if requests.len() > 1 || !is_own {
        table.request = requests.iter().map(request_table).collect();
        return;
    }
    let one = request_table(one);
    table.method = Some(one.method);
    table.path = Some(one.path);
    table.headers = Some(one.headers);
    table.expect = one.expect;
}

fn request_table(request: &Request) -> RequestTable {
    let headers = request.headers.iter();
    let body = request.body.as_ref().map(|body| {
        let (text, generated) = content_keys(&body.content);
        BodyTable {
            text,
            generated,
            file: None,
            chunked: body.chunked,
        }
    });
    let expect = &request.expect;
    let (text, generated) = expect.body.as_ref().map(content_keys).unwrap_or_default();
    let sent = expect.sent().cloned().unwrap_or_default();
    RequestTable {
        method: request.method.clone(),
        path: request.path.clone(),
        placeholders: request.placeholders || request.is_plainly_written(),
        headers: headers
            .map(|(name, value)| {
                let secret = request.secret_headers.contains(name);
                HeaderText::new(name, value, secret)
            })
            .collect(),
        weight: request.weight,
        body,
        expect: Some(ExpectTable {
            status: expect.status,
            encoding: expect.encoding,
            text,
            generated,
            file: None,
            body: match &expect.known_by {
                KnownBy::Plan => expect.body.is_none().then_some(AnyBody::Any),
                KnownBy::FirstAnswer => Some(AnyBody::First),
                KnownBy::Sent(sent) if *sent == SentBody::default() => Some(AnyBody::Any),
                KnownBy::Sent(_) => None,
            },
            bytes: sent.bytes,
            sha256: sent.sha256,
        }),
    }
}

/// The keys that say `content`.
pub(crate) fn content_keys(content: &Content) -> (Option<String>, Option<GeneratedTable>) {
    match content {
        Content::Text(text) => (Some(text.clone()), None),
        Content::Generated { kind, bytes } => {
            // A content that was read has at most 64 MiB.
            let bytes = u32::try_from(*bytes).unwrap_or(u32::MAX);
            (None, Some(GeneratedTable { kind: *kind, bytes }))
        }
    }
}

/// A right answer that the table at `path` says.
fn expected(
    around: &Surroundings<'_>,
    path: &str,
    table: &ExpectTable,
    headers: &[(String, String)],
) -> Result<Expected, PlanError> {
    let at = |key: &str| around.source.place(&format!("{path}{key}"));
    encoding(table, headers).map_err(|fault| fault.at(at("encoding")))?;
    let keys = [
        ("body", table.body.is_some()),
        ("bytes", table.bytes.is_some()),
        ("sha256", table.sha256.is_some()),
        ("file", table.file.is_some()),
        ("generated", table.generated.is_some()),
    ];
    let is_said = |key: &str| keys.iter().any(|(name, is_said)| *name == key && *is_said);
    let other = table.text.is_some() || is_said("generated");
    let is_sent = is_said("bytes") || is_said("sha256");
    let reported = [is_said("body"), is_sent, is_said("file") || other];
    if reported.iter().filter(|is_said| **is_said).count() > 1 {
        let first = keys.iter().find(|(_, is_said)| *is_said);
        let key = first.map_or("text", |(key, _)| key);
        return Err(beside_another(key, at(key)));
    }
    let mut expected = Expected {
        status: table.status,
        body: None,
        encoding: table.encoding,
        known_by: KnownBy::Plan,
    };
    match table.body {
        Some(AnyBody::Any) => {}
        Some(AnyBody::First) => expected.known_by = KnownBy::FirstAnswer,
        None if is_sent => {
            let sha256 = table.sha256.as_deref();
            let sha256 = sha256.map(digest).transpose();
            expected.known_by = KnownBy::Sent(SentBody {
                bytes: table.bytes,
                sha256: sha256.map_err(|fault| fault.at(at("sha256")))?,
                changing: None,
            });
        }
        None => expected.body = Some(expected_body(around, path, table)?),
    }
    Ok(expected)
}

/// A SHA-256 in hex.
pub(crate) fn digest(text: &str) -> Result<String, Fault> {
    if text.len() == 64 && text.chars().all(|c| c.is_ascii_hexdigit()) {
        return Ok(text.to_ascii_lowercase());
    }
    let problem = format!("`{}` is no SHA-256", text.escape_debug());
    Err(Fault::new(
        problem,
        "write 64 hexadecimal digits, as sha256sum prints them",
    ))
}

/// The body of a right answer, where the plan says it.
fn expected_body(
    around: &Surroundings<'_>,
    path: &str,
    table: &ExpectTable,
) -> Result<Content, PlanError> {
    let place = || around.source.place(&format!("{path}file"));
    let Some(name) = &table.file else {
        let (text, generated) = (table.text.as_ref(), table.generated.as_ref());
        return content(around.source, path, text, generated, ", `file`");
    };
    if table.text.is_some() || table.generated.is_some() {
        return Err(beside_another("file", place()));
    }
    if let Some(file) = around.files.iter().find(|file| file.path == *name) {
        return Ok(file.content.clone());
    }
    // A file that is there and cannot be used is not one that was forgotten.
    let opened = around.library.open(around.folder, name);
    if opened.map_or_else(|cause| cause.kind() != ErrorKind::NotFound, |_| true) {
        let text = around.text_of(name);
        return text.map(Content::Text).map_err(|fault| fault.at(place()));
    }
    let known: Vec<String> = around.files.iter().map(|file| file.path.clone()).collect();
    Err(PlanError::unknown(place(), "`[[file]]`", name, known))
}

fn beside_another(key: &str, place: Box<Place>) -> PlanError {
    Fault::new(
        format!("`{key}` stands beside another body"),
        "keep one of them",
    )
    .at(place)
}

/// The content that two keys say, one of which must be there.
pub(crate) fn content(
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
        (Some(_), Some(_)) => Err(Fault::new(
            "`text` and `generated` contradict each other",
            "keep one of them",
        )
        .at(source.place(&format!("{path}generated")))),
        (None, None) => Err(Fault::new(
            "nothing says what the content is",
            format!("write one of `text`, `generated`{others}, such as `text = \"Hello, world!\"`"),
        )
        .at(source.place(path))),
    }
}

/// An encoding that nobody asks for would never come, and one of any body is not looked at.
fn encoding(expect: &ExpectTable, headers: &[(String, String)]) -> Result<(), Fault> {
    let asked = headers.iter().any(|(name, value)| {
        name.eq_ignore_ascii_case("accept-encoding") && value.to_ascii_lowercase().contains("gzip")
    });
    if expect.encoding == Encoding::Identity {
        return Ok(());
    }
    if expect.body.is_some() {
        return Err(Fault::new(
            "nothing is looked at in a body that may be any",
            "take `encoding` out, or say what the body is",
        ));
    }
    if asked {
        return Ok(());
    }
    Err(Fault::new(
        "a compressed answer is expected and not asked for",
        "add `headers = [\"Accept-Encoding: gzip\"]`",
    ))
}

fn header(written: &HeaderText) -> Result<(String, String), Fault> {
    let line = &written.line;
    // What is secret is not repeated on a terminal.
    let shown = if written.secret {
        "a header with `secret = true`".to_owned()
    } else {
        format!("`{}`", line.escape_debug())
    };
    let split = line
        .split_once(':')
        .map(|(name, value)| (name, value.trim_matches([' ', '\t'])));
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let Some((name, value)) = split.filter(|(name, value)| {
        !name.is_empty() && name.chars().all(token) && !value.chars().any(char::is_control)
    }) else {
        let fix = "write it as `Name: value`, such as `Accept: text/html`";
        return Err(Fault::new(format!("{shown} is not a header"), fix));
    };
    let header = (name.to_owned(), value.to_owned());
    if own_header(std::slice::from_ref(&header)).is_some() {
        let problem = format!("`{name}` is written by the load engine itself");
        return Err(Fault::new(problem, "take this header out"));
    }
    Ok(header)
}
