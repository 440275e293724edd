//! What the right answer to a request of a log is, and the files that it needs.

use std::collections::{BTreeMap, BTreeSet};

use super::Replay;
use super::log::{AccessLog, Kind, LeftOut};
use crate::content::{Content, ContentKind, Encoding, ServedFile};
use crate::request::{Expected, KnownBy, Request};
use crate::rules;

/// Largest generated file, bytes: the largest content there is.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Most bytes of all generated files: the engine holds each, to compare what comes with it.
const FILES_BYTES_MAX: u64 = 256 << 20;

/// Where right answers come from.
pub(super) enum Answers {
    /// Files are made as large as the logged answers.
    Files,
    /// The server has its own: only the logged status is expected.
    Status,
    /// All are this one.
    This(Expected),
}

impl Answers {
    /// The request of this kind that expects its right answer, with the headers of `model`.
    pub(super) fn request(&self, kind: &Kind, model: &Request) -> Result<Request, LeftOut> {
        let mut request = Request {
            method: kind.method.clone(),
            path: kind.target.clone(),
            expect: Expected {
                status: kind.status,
                body: None,
                encoding: Encoding::Identity,
                known_by: KnownBy::Plan,
            },
            ..model.clone()
        };
        let read = ["GET", "HEAD"].contains(&kind.method.as_str());
        match (self, kind.status) {
            (Self::This(expect), _) => request.expect = expect.clone(),
            // RFC 9110, 13.1.2: a condition that every client's copy fulfils.
            (_, 304) if read => {
                let condition = ("If-None-Match".to_owned(), "*".to_owned());
                request.headers.push(condition);
            }
            // With 444 nginx says that it closed the connection, with 499 that the client did.
            (_, 408 | 444 | 499 | 500..) => return Err(LeftOut::Failed),
            // No log says which part of a file was asked for.
            (_, ..200 | 206 | 304) => return Err(LeftOut::Status),
            (Self::Status, _) => {}
            (Self::Files, 200 | 404) if read => {}
            (Self::Files, _) => return Err(LeftOut::Status),
        }
        Ok(request)
    }
}

/// Makes the files that `list` needs, those of the most frequent first, and leaves out what no
/// file gives. What `files` has already is served as it is.
pub(super) fn serve(log: &mut AccessLog, list: &mut Vec<Replay>, files: &mut Vec<ServedFile>) {
    retain(log, list, |one| match file_of(&one.request.path) {
        None => Err(LeftOut::NoName),
        Some(_) => Ok(()),
    });
    let sizes = sizes(list);
    let mut bytes_left = FILES_BYTES_MAX;
    let mut served: BTreeMap<String, Content> = BTreeMap::new();
    for file in files.iter() {
        served.insert(file.path.clone(), file.content.clone());
    }
    let folders = folders(list, &served);
    retain(log, list, |one| {
        let path = file_of(&one.request.path).ok_or(LeftOut::NoName)?;
        let below_a_file = parents(&path).any(|folder| served.contains_key(folder));
        if folders.contains(&path) || below_a_file {
            return Err(LeftOut::Folder);
        }
        if one.request.expect.status == 404 {
            // Servers differ in what they say of a folder without an index.
            let index = path.strip_suffix("index.html");
            let folder = index.map(|folder| folder.trim_end_matches('/'));
            let is_one = folder.is_some_and(|folder| folders.contains(folder));
            return if is_one { Err(LeftOut::Folder) } else { Ok(()) };
        }
        if served.contains_key(&path) {
            return Ok(());
        }
        let bytes = sizes.get(&path).copied().unwrap_or(0);
        if bytes > FILE_BYTES_MAX {
            return Err(LeftOut::TooLarge);
        }
        bytes_left = bytes_left.checked_sub(bytes).ok_or(LeftOut::NoRoom)?;
        let content = Content::Generated {
            kind: kind_of(&path),
            bytes: bytes as usize,
        };
        served.insert(path, content);
        Ok(())
    });
    retain(log, list, |one| {
        let path = file_of(&one.request.path).ok_or(LeftOut::NoName)?;
        match (one.request.expect.status, served.get(&path)) {
            (404, Some(_)) => Err(LeftOut::Status),
            (200, content) => {
                one.request.expect.body = content.cloned();
                Ok(())
            }
            _ => Ok(()),
        }
    });
    for file in files.iter() {
        served.remove(&file.path);
    }
    let made = served.into_iter();
    files.extend(made.map(|(path, content)| ServedFile { path, content }));
}

/// Keeps what `check` agrees to.
fn retain(
    log: &mut AccessLog,
    list: &mut Vec<Replay>,
    mut check: impl FnMut(&mut Replay) -> Result<(), LeftOut>,
) {
    list.retain_mut(|one| match check(one) {
        Ok(()) => true,
        Err(why) => {
            log.leave_out(why, one.times);
            false
        }
    });
}

/// How large the answers with a file's content were most often; of equals the larger, since an
/// answer that was cut off is smaller.
fn sizes(list: &[Replay]) -> BTreeMap<String, u64> {
    let mut found: BTreeMap<String, BTreeMap<u64, u64>> = BTreeMap::new();
    for one in list {
        let whole = one.request.method == "GET" && one.request.expect.status == 200;
        if let (true, Some(path)) = (whole, file_of(&one.request.path)) {
            let sizes = found.entry(path).or_default();
            for (bytes, times) in &one.sizes {
                *sizes.entry(*bytes).or_default() += times;
            }
        }
    }
    let each = found.into_iter().filter_map(|(path, sizes)| {
        let most = sizes
            .into_iter()
            .max_by_key(|(bytes, times)| (*times, *bytes));
        most.map(|(bytes, _)| (path, bytes))
    });
    each.collect()
}

/// Every folder that the files are in; the document root is `""`.
fn folders(list: &[Replay], served: &BTreeMap<String, Content>) -> BTreeSet<String> {
    let asked = list.iter().filter(|one| one.request.expect.status != 404);
    let asked = asked.filter_map(|one| file_of(&one.request.path));
    let mut folders = BTreeSet::from([String::new()]);
    for path in asked.chain(served.keys().cloned()) {
        folders.extend(parents(&path).map(str::to_owned));
    }
    folders
}

/// The folders that a file is in, but for the document root.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    let slashes = path.bytes().enumerate().filter(|(_, byte)| *byte == b'/');
    slashes.filter_map(|(at, _)| path.get(..at))
}

/// The file that answers a request for `target`; `None` where none of this name can be.
fn file_of(target: &str) -> Option<String> {
    let path = target.split('?').next()?;
    let mut name = decoded(path.strip_prefix('/')?)?;
    if name.is_empty() || name.ends_with('/') {
        name += "index.html";
    }
    rules::file_path(&name).ok().map(|()| name)
}

/// `path` without percent signs; `None` where it is no text then.
fn decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut parts = path.split('%');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        digits
            .bytes()
            .all(|digit| digit.is_ascii_hexdigit())
            .then_some(())?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

/// What a file of this name looks like to a compressor.
fn kind_of(path: &str) -> ContentKind {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        None | Some("html" | "htm") => ContentKind::Html,
        Some("js" | "mjs" | "css" | "json" | "map" | "svg" | "txt" | "xml" | "csv" | "md") => {
            ContentKind::Script
        }
        Some(_) => ContentKind::Random,
    }
}
