//! A list of requests, one in a line: `URL`, `METHOD URL`, `WEIGHT URL` or `WEIGHT METHOD URL`.
//!
//! Whether a URL can be asked is for others to say: here it is what has no blank in it.

use std::collections::HashMap;

use crate::requests::{REQUESTS_MAX, method};

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
    /// Number of its first line, from 1.
    pub line: usize,
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
    let mut list: Vec<ListedRequest> = Vec::new();
    let mut known: HashMap<(Option<&str>, &str), usize> = HashMap::new();
    // Some editors begin a file with a mark of its byte order.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (weight, method, url) = parts(line).map_err(|problem| ListError::Line {
            line: number,
            problem,
        })?;
        if let Some(same) = known.get(&(method, url)) {
            let listed = &mut list[*same];
            listed.weight = listed.weight.saturating_add(weight);
            continue;
        }
        if list.len() == REQUESTS_MAX {
            return Err(ListError::TooMany { line: number });
        }
        known.insert((method, url), list.len());
        list.push(ListedRequest {
            weight,
            method: method.map(str::to_owned),
            url: url.to_owned(),
            line: number,
        });
    }
    if list.is_empty() {
        Err(ListError::Empty)
    } else {
        Ok(list)
    }
}

/// Weight, method and URL of a line.
fn parts(line: &str) -> Result<(u32, Option<&str>, &str), String> {
    let fields: Vec<&str> = line.split_whitespace().take(4).collect();
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
            &line("it has more than three fields"),
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
            "# nothing\n\n",
            "it lists no request; write a URL in each line",
        );
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
