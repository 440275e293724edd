//! A list of requests, one in a line: `URL`, `METHOD URL`, `WEIGHT URL` or `WEIGHT METHOD URL`. As
//! in vegeta's lists, lines with headers and one with `@FILE` may follow it, and a line may be an
//! object of JSON instead.
//!
//! Whether a URL can be asked is for others to say: here it is what has no blank in it.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use crate::requests::REQUESTS_MAX;
use crate::rules::method;

/// Largest weight of a line.
const WEIGHT_MAX: u32 = 1_000_000;

/// A request of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedRequest {
    /// How often it is sent, relative to the others; lines that say the same are added up.
    pub weight: u32,
    /// `None` where the line names none.
    pub method: Option<String>,
    /// As it stands in the line.
    pub url: String,
    /// Its own headers, in order.
    pub headers: Vec<(String, String)>,
    /// Its own body.
    pub body: Option<ListedBody>,
    /// Number of its first line, from 1.
    pub line: usize,
}

/// The body of a listed request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListedBody {
    /// What this file holds.
    File(String),
    /// What this is in Base64.
    Base64(String),
}

/// Why a list cannot be used. It does not repeat URLs, which may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// A line that is no request.
    #[error("line {line}: {problem}; expected URL, METHOD URL or WEIGHT METHOD URL")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// There are too many.
    #[error("line {line} is a request too many: a list can have {REQUESTS_MAX} different ones")]
    TooMany {
        /// Number of the first line beyond, from 1.
        line: usize,
    },
    /// There is nothing but comments and blank lines.
    #[error("it lists no request; write a URL in each line")]
    Empty,
}

/// Reads a list of requests. Blank lines and those that begin with `#` are comments.
///
/// # Errors
/// The first line that is no request, too many requests, or none.
pub fn parse_request_list(text: &str) -> Result<Vec<ListedRequest>, ListError> {
    let mut list = List::default();
    let mut open: Option<Block> = None;
    // Some editors begin a file with a mark of its byte order.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(problem) = other_form(text) {
        return Err(ListError::Line {
            line: 1,
            problem: problem.to_owned(),
        });
    }
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |problem: String| ListError::Line {
            line: number,
            problem,
        };
        if let Some(detail) = Detail::of(line) {
            let block = open.as_mut().ok_or_else(|| {
                wrong("a header or a body stands before the first request".to_owned())
            })?;
            block.add(line, detail);
            continue;
        }
        let next = Block::of(line, number).map_err(wrong)?;
        if let Some(whole) = open.replace(next) {
            list.take(whole)?;
        }
    }
    list.take(open.ok_or(ListError::Empty)?)?;
    Ok(list.requests)
}

/// What a text is instead of a list, as its begin shows.
fn other_form(text: &str) -> Option<&'static str> {
    /// How much of it is looked at, bytes.
    const BEGIN_MAX: usize = 4096;
    let text = text.trim_start();
    let end = (0..=BEGIN_MAX.min(text.len())).rfind(|at| text.is_char_boundary(*at));
    let begin = &text[..end.unwrap_or(0)];
    let has = |words: &str| begin.contains(words);
    let is_json = begin.starts_with('{');
    if is_json && has("\"log\"") && (has("\"creator\"") || has("\"entries\"")) {
        return Some("it is an HTTP Archive, which --har takes");
    }
    if is_json && (has("getpostman.com") || has("\"_postman_id\"")) {
        return Some("it is a collection of Postman: copy each request as cURL there");
    }
    if begin.starts_with('<') {
        return Some("it is XML or HTML: write its URLs alone");
    }
    if has("'k6/http'") || has("\"k6/http\"") {
        return Some("it is a script of k6, and scripts are not run");
    }
    let is_api = ["openapi:", "swagger:"]
        .iter()
        .any(|key| begin.starts_with(key));
    let is_api = is_api || is_json && (has("\"openapi\"") || has("\"swagger\""));
    is_api.then_some("it describes an API: write the URLs that are to be asked")
}

/// What was read so far.
#[derive(Default)]
struct List<'a> {
    requests: Vec<ListedRequest>,
    /// Where a request is that says the same.
    known: HashMap<Vec<&'a str>, usize>,
}

/// A request with the lines that belong to it.
struct Block<'a> {
    request: ListedRequest,
    /// All that it says, but its weight.
    says: Vec<&'a str>,
}

/// A line that belongs to the request above it.
enum Detail<'a> {
    Header(&'a str, &'a str),
    File(&'a str),
}

impl<'a> List<'a> {
    fn take(&mut self, block: Block<'a>) -> Result<(), ListError> {
        let request = block.request;
        if let Some(same) = self.known.get(&block.says) {
            let listed = &mut self.requests[*same];
            listed.weight = listed.weight.saturating_add(request.weight);
            return Ok(());
        }
        if self.requests.len() == REQUESTS_MAX {
            return Err(ListError::TooMany { line: request.line });
        }
        self.known.insert(block.says, self.requests.len());
        self.requests.push(request);
        Ok(())
    }
}

impl<'a> Detail<'a> {
    /// What a line adds to the request above it; `None` where it is a request of its own. A URL
    /// has no blank behind its colon.
    fn of(line: &'a str) -> Option<Self> {
        if let Some(path) = line.strip_prefix('@') {
            return Some(Self::File(path.trim()));
        }
        let (name, value) = line.split_once(':')?;
        let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
        let is_apart = value.is_empty() || value.starts_with(char::is_whitespace);
        (is_name && is_apart && !line.starts_with('{')).then(|| Self::Header(name, value.trim()))
    }
}

impl<'a> Block<'a> {
    /// Reads the line that begins a request.
    fn of(line: &'a str, number: usize) -> Result<Self, String> {
        if line.starts_with('{') {
            let request = in_json(line, number)?;
            let says = vec![line];
            return Ok(Self { request, says });
        }
        let (weight, method, url) = parts(line)?;
        let request = ListedRequest {
            weight,
            method: method.map(str::to_owned),
            url: url.to_owned(),
            headers: Vec::new(),
            body: None,
            line: number,
        };
        let says = vec![method.unwrap_or_default(), url];
        Ok(Self { request, says })
    }

    fn add(&mut self, line: &'a str, detail: Detail<'a>) {
        self.says.push(line);
        let request = &mut self.request;
        match detail {
            Detail::Header(name, value) => {
                request.headers.push((name.to_owned(), value.to_owned()));
            }
            Detail::File(path) => request.body = Some(ListedBody::File(path.to_owned())),
        }
    }
}

/// A request as one object of JSON, as vegeta has it.
#[derive(Deserialize)]
struct InJson {
    method: Option<String>,
    url: String,
    header: Option<BTreeMap<String, Vec<String>>>,
    body: Option<String>,
}

/// Reads a request in JSON. What serde says of it could repeat a secret.
fn in_json(line: &str, number: usize) -> Result<ListedRequest, String> {
    let no_target = |_| "it is no object of JSON with `url`, `method`, `header` and `body`";
    let read: InJson = serde_json::from_str(line).map_err(no_target)?;
    let is_url = !read.url.is_empty() && !read.url.contains(char::is_whitespace);
    if !is_url || read.method.as_deref().is_some_and(|it| method(it).is_err()) {
        return Err("its `url` has a blank, or its `method` is not in capitals".to_owned());
    }
    let all = read.header.unwrap_or_default().into_iter();
    let each = |(name, values): (String, Vec<String>)| {
        values.into_iter().map(move |value| (name.clone(), value))
    };
    Ok(ListedRequest {
        weight: 1,
        method: read.method,
        url: read.url,
        headers: all.flat_map(each).collect(),
        body: read.body.map(ListedBody::Base64),
        line: number,
    })
}

/// Weight, method and URL of a line.
fn parts(line: &str) -> Result<(u32, Option<&str>, &str), String> {
    if let Some(what) = of_another_kind(line) {
        return Err(what.to_owned());
    }
    let fields: Vec<&str> = line.split_whitespace().take(4).collect();
    if let Some((_, before)) = fields.split_last()
        && before.iter().any(|field| field.contains(['/', ':']))
    {
        return Err("its URL has a blank: write %20 for it".to_owned());
    }
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (weight, named, url) = match fields[..] {
        [url] => ("1", None, url),
        [weight, url] if is_number(weight) => (weight, None, url),
        [named, url] => ("1", Some(named), url),
        [weight, named, url] => (weight, Some(named), url),
        _ => return Err("it has more than three fields".to_owned()),
    };
    let number = weight.parse::<u32>().ok();
    let Some(number) = number.filter(|number| (1..=WEIGHT_MAX).contains(number)) else {
        let weight = weight.escape_debug();
        return Err(format!("`{weight}` is no weight from 1 to {WEIGHT_MAX}"));
    };
    match named {
        Some(named) if method(named).is_err() => {
            let named = named.escape_debug();
            Err(format!("`{named}` is no method in capitals, such as GET"))
        }
        _ => Ok((number, named, url)),
    }
}

/// What a line is that people take for a request, and what to do.
fn of_another_kind(line: &str) -> Option<&'static str> {
    let begins = |words: &[&str]| words.iter().any(|word| line.starts_with(word));
    if line.contains(" [") && line.contains("] \"") {
        Some("it is of an access log, which a plan replays (`[replay]` in docs/plan-files.md)")
    } else if begins(&["Invoke-WebRequest", "$session", "fetch(", "await fetch("]) {
        Some("it is of PowerShell or JavaScript: copy it as cURL (bash)")
    } else if begins(&["$ ", "> ", "% "]) {
        Some("a shell's prompt stands before it: leave that out")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(u32, Option<&str>, &str, usize)]) {
        let list = parse_request_list(text).unwrap();
        let found: Vec<_> = list
            .iter()
            .map(|it| (it.weight, it.method.as_deref(), it.url.as_str(), it.line))
            .collect();
        assert_eq!(found, expected);
    }

    #[track_caller]
    fn refused(text: &str, message: &str) {
        assert_eq!(parse_request_list(text).unwrap_err().to_string(), message);
    }

    #[test]
    fn lines_are_urls_with_methods_and_weights() {
        check("http://a/", &[(1, None, "http://a/", 1)]);
        check(
            "\u{feff}# pages\n\n a:80/b \r\nPOST\thttp://a/c\n9 http://a/#x\n2 HEAD http://a/",
            &[
                (1, None, "a:80/b", 3),
                (1, Some("POST"), "http://a/c", 4),
                (9, None, "http://a/#x", 5),
                (2, Some("HEAD"), "http://a/", 6),
            ],
        );
    }

    #[test]
    fn headers_and_bodies_follow_their_request_as_in_vegeta() {
        let text = "GET http://a/\nX-Account-ID: 8675309\n\n\
                    POST http://a/things\n@/new thing.json\n\
                    X-Empty:\nlocalhost:80/\nGET http://a/\nX-Account-ID: 8675309\n\
                    {\"method\":\"PUT\",\"url\":\"http://a/\",\"body\":\"UHVuY2gh\",\
                    \"header\":{\"A\":[\"b: c\",\"d\"]}}";
        let list = parse_request_list(text).unwrap();
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let found: Vec<_> = list
            .iter()
            .map(|it| (it.weight, &it.headers[..], it.body.as_ref(), it.line))
            .collect();
        let file = ListedBody::File("/new thing.json".to_owned());
        let text = ListedBody::Base64("UHVuY2gh".to_owned());
        let expected = [
            (2, &[header("X-Account-ID", "8675309")][..], None, 1),
            (1, &[header("X-Empty", "")], Some(&file), 4),
            (1, &[], None, 7),
            (1, &[header("A", "b: c"), header("A", "d")], Some(&text), 10),
        ];
        assert_eq!(found, expected);
        assert_eq!(list[3].method.as_deref(), Some("PUT"));
    }

    #[test]
    fn lines_that_say_the_same_are_one_request() {
        check(
            "http://a/\n4 http://a/\nGET http://a/\nhttp://a/\n",
            &[(6, None, "http://a/", 1), (1, Some("GET"), "http://a/", 3)],
        );
    }

    #[test]
    fn other_lines_are_refused_by_number_and_without_their_urls() {
        let expected = "; expected URL, METHOD URL or WEIGHT METHOD URL";
        let line = |problem: &str| format!("line 2: {problem}{expected}");
        refused(
            "#\n1 GET http://a/ x",
            &line("its URL has a blank: write %20 for it"),
        );
        refused("#\n1 2 GET x", &line("it has more than three fields"));
        for (text, problem) in [
            (
                "127.0.0.1 - - [30/Nov/2026:22:00:00 +0000] \"GET /a HTTP/1.1\" 200 6 \"-\"",
                "it is of an access log, which a plan replays (`[replay]` in docs/plan-files.md)",
            ),
            (
                "Invoke-WebRequest -UseBasicParsing -Uri \"http://a/\"",
                "it is of PowerShell or JavaScript: copy it as cURL (bash)",
            ),
            (
                "fetch(\"http://a/\", {});",
                "it is of PowerShell or JavaScript: copy it as cURL (bash)",
            ),
            (
                "$ curl http://a/",
                "a shell's prompt stands before it: leave that out",
            ),
        ] {
            refused(&format!("#\n{text}"), &line(problem));
        }
        refused(
            "#\nhttp://u:p@a/b c",
            &line("its URL has a blank: write %20 for it"),
        );
        refused(
            "#\nget u:p@a",
            &line("`get` is no method in capitals, such as GET"),
        );
        refused("#\n0 u:p@a", &line("`0` is no weight from 1 to 1000000"));
        refused(
            "#\nGET GET a",
            &line("`GET` is no weight from 1 to 1000000"),
        );
        refused(
            "#\nAccept: text/html",
            &line("a header or a body stands before the first request"),
        );
        refused(
            "#\n{\"url\": 1}",
            &line("it is no object of JSON with `url`, `method`, `header` and `body`"),
        );
        refused(
            "# nothing\n\n",
            "it lists no request; write a URL in each line",
        );
    }

    #[test]
    fn what_is_another_form_is_named() {
        for (text, part) in [
            (
                "{\"log\": {\"creator\": {}, \"entries\": []}}",
                "--har takes",
            ),
            (
                "{\n\"info\": {\"_postman_id\": \"1\"}}",
                "copy each request as cURL",
            ),
            (
                "\u{feff}<?xml version=\"1.0\"?>\n<urlset>",
                "it is XML or HTML",
            ),
            ("import http from 'k6/http';\n", "scripts are not run"),
            ("openapi: 3.0.0\npaths:\n", "it describes an API"),
        ] {
            let message = parse_request_list(text).unwrap_err().to_string();
            assert!(
                message.starts_with("line 1: ") && message.contains(part),
                "{message}"
            );
        }
    }

    #[test]
    fn a_list_is_bounded_by_different_requests() {
        let many = |count: usize| -> String {
            let lines = (0..count).map(|number| format!("http://a/{number}\n"));
            lines.collect::<String>() + "http://a/0\n"
        };
        let most = parse_request_list(&many(REQUESTS_MAX)).unwrap();
        assert_eq!((most.len(), most[0].weight), (REQUESTS_MAX, 2));
        refused(
            &many(REQUESTS_MAX + 1),
            "line 10001 is a request too many: a list can have 10000 different ones",
        );
    }
}
