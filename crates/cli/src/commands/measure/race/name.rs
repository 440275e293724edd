//! Names of contenders that nobody has named: short, fit for a folder's name, each once.

use std::path::Path;

use bakeoff_plan::Url;

/// Longest part that is taken from a text.
const PART_MAX: usize = 40;

/// Shortest part of a path that may be a token, where it has a digit.
const TOKEN_SHORTEST: usize = 16;
/// Longest part of a path that is a word, and not a token.
const WORD_LONGEST: usize = 24;

/// `127.0.0.1-9001`, with the path where there is one. Names are printed and published as they
/// are, so what may let somebody in is no part of one: the query, parameters of the path, and
/// parts of it that look like a token.
pub(super) fn of_url(url: &Url) -> String {
    let path = url.path.split(['?', ';']).next().unwrap_or_default();
    let is_token = |part: &&str| {
        let has_digit = part.contains(|c: char| c.is_ascii_digit());
        part.len() > WORD_LONGEST || part.len() >= TOKEN_SHORTEST && has_digit
    };
    let parts: Vec<&str> = path.split('/').filter(|part| !is_token(part)).collect();
    slug(&format!("{} {} {}", url.host, url.port, parts.join(" ")))
}

/// The program and what it runs: `node-app.js`, `python3-http.server`.
pub(super) fn of_command(command: &str) -> String {
    let words = command.split_whitespace();
    let words: Vec<&str> = words.map(|word| word.trim_matches(['"', '\''])).collect();
    let program = words.first().copied().unwrap_or("command");
    let program = Path::new(program)
        .file_name()
        .and_then(|name| name.to_str());
    let is_plain = |word: &&&str| {
        !word.starts_with('-') && !word.contains(['{', '$', '=']) && word.parse::<u64>().is_err()
    };
    let first = words.iter().skip(1).find(is_plain).copied();
    let first = first.and_then(|word| Path::new(word).file_name()?.to_str());
    slug(&[program.unwrap_or("command"), first.unwrap_or_default()].join(" "))
}

/// The file's name, with its folder's where `is_long`.
pub(in crate::commands::measure) fn of_file(path: &Path, is_long: bool) -> String {
    let part = |path: Option<&std::ffi::OsStr>| {
        path.map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    let folder = path.parent().and_then(Path::file_name).filter(|_| is_long);
    slug(&format!("{} {}", part(folder), part(path.file_name())))
}

/// `text` in the letters of a name, its words joined by dashes.
pub(super) fn slug(text: &str) -> String {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
    let words = text.split(|c: char| !is_letter(c));
    let words: Vec<&str> = words
        .filter(|word| !word.trim_matches('.').is_empty())
        .collect();
    let joined: String = words.join("-").chars().take(PART_MAX).collect();
    let name = joined.trim_matches(['.', '_', '-']);
    match name {
        "" => "contender".to_owned(),
        // The built-in references have these names.
        "yardstick" | "origin" => format!("{name}-1"),
        name => name.to_owned(),
    }
}

/// `name`, or with a number behind it the first that is not among `taken`.
pub(in crate::commands::measure) fn free(name: String, taken: &[String]) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    names.find(|name| !taken.contains(name)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_runs() {
        for (command, name) in [
            ("node app.js", "node-app.js"),
            ("python3 -m http.server {port}", "python3-http.server"),
            ("/opt/app/run fast", "run-fast"),
            ("./server --port={port}", "server"),
            ("'quoted'", "quoted"),
            ("!!", "contender"),
        ] {
            assert_eq!(of_command(command), name, "{command}");
        }
        let url = |text| of_url(&Url::parse(text).unwrap());
        assert_eq!(url("http://127.0.0.1:9001/"), "127.0.0.1-9001");
        assert_eq!(url("http://[::1]:80/api/v2"), "1-80-api-v2");
        assert_eq!(of_file(Path::new("./a/nginx.conf"), true), "a-nginx.conf");
        assert_eq!(of_file(Path::new("./a/nginx.conf"), false), "nginx.conf");
        assert_eq!(slug("yardstick"), "yardstick-1");
    }

    #[test]
    fn a_name_holds_nothing_of_a_url_that_lets_somebody_in() {
        let name = |path| of_url(&Url::parse(&format!("http://127.0.0.1:80{path}")).unwrap());
        for path in [
            "/?token=sekret123",
            "/?sekret123",
            "/;session=sekret123",
            "/c0ffee12-3456-789a-bcde-f0123456789a/",
            "/tHisIsALongOneWithoutAnyDigit",
        ] {
            assert_eq!(name(path), "127.0.0.1-80", "{path}");
        }
        assert_eq!(name("/hooks/T0123456789abcdef/in"), "127.0.0.1-80-hooks-in");
        // What differs in the query alone still gets two names.
        let first = name("/a?token=x1");
        assert_eq!(free(name("/a?token=x2"), &[first]), "127.0.0.1-80-a-2");
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        let taken = ["a".to_owned(), "a-2".to_owned()];
        assert_eq!(free("a".to_owned(), &taken), "a-3");
        assert_eq!(free("b".to_owned(), &taken), "b");
    }
}
