//! Lists in curl's forms: its commands, as browsers copy them, and its configuration files (`-K`).
//! Each becomes the words of a command line, which are read as flags of `load` are.
//!
//! It is no shell: nothing is expanded, and pipes and redirections are refused.

/// What is asked together: URLs that share their flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurlCommand {
    /// Number of its first line, from 1.
    pub line: usize,
    /// Flags and URLs.
    pub words: Vec<String>,
}

/// First words of a line in a configuration file.
const KEYS: [&str; 8] = [
    "url",
    "request",
    "header",
    "user",
    "data",
    "data-raw",
    "data-binary",
    "next",
];

/// The commands of a list; `None` where it is not in a form of curl's.
///
/// # Errors
/// What is no plain command, with its line.
pub fn curl_commands(text: &str) -> Result<Option<Vec<CurlCommand>>, String> {
    let lines = text.lines().map(str::trim);
    let Some(first) = lines.clone().find(|line| !is_comment(line)) else {
        return Ok(None);
    };
    if first.starts_with("curl ") {
        return in_shell(text).map(Some);
    }
    let (key, behind) = key_of(first);
    let is_key = KEYS.contains(&key.trim_start_matches('-'));
    Ok((is_key && (!behind.is_empty() || key == "next")).then(|| in_configuration(text)))
}

fn is_comment(line: &str) -> bool {
    line.is_empty() || line.starts_with('#')
}

/// The key of a line and what is behind it, with what stands between them.
fn key_of(line: &str) -> (&str, &str) {
    let end = line.find(|c: char| c.is_whitespace() || c == '=' || c == ':');
    line.split_at(end.unwrap_or(line.len()))
}

/// Lines of `key = value`; `next` begins with other flags.
fn in_configuration(text: &str) -> Vec<CurlCommand> {
    let mut all = Vec::new();
    let mut open: Option<CurlCommand> = None;
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if is_comment(line) {
            continue;
        }
        let (key, behind) = key_of(line);
        let key = key.trim_start_matches('-');
        if key == "next" {
            all.extend(open.take());
            continue;
        }
        let command = open.get_or_insert(CurlCommand {
            line: number,
            words: Vec::new(),
        });
        let value = value_of(
            behind.trim_start_matches(|c: char| c.is_whitespace() || c == '=' || c == ':'),
        );
        match (key, value) {
            ("url", Some(url)) => command.words.push(url),
            (_, Some(value)) => command.words.push(format!("--{key}={value}")),
            (_, None) => command.words.push(format!("--{key}")),
        }
    }
    all.extend(open);
    all
}

/// A value with its quotes and escapes taken off; `None` where there is none.
fn value_of(text: &str) -> Option<String> {
    let Some(quoted) = text.strip_prefix('"') else {
        return text.split_whitespace().next().map(str::to_owned);
    };
    let mut value = String::new();
    let mut letters = quoted.chars();
    while let Some(letter) = letters.next().filter(|letter| *letter != '"') {
        value.extend(match letter {
            '\\' => letters.next().map(escaped),
            other => Some(other),
        });
    }
    Some(value)
}

fn escaped(letter: char) -> char {
    match letter {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        other => other,
    }
}

/// Commands as a shell reads them, one after the other.
fn in_shell(text: &str) -> Result<Vec<CurlCommand>, String> {
    let mut all: Vec<CurlCommand> = Vec::new();
    let (mut words, mut word): (Vec<String>, Option<String>) = (Vec::new(), None);
    let (mut line, mut begun) = (1, 1);
    let mut letters = text.chars().chain(['\n']).peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' | '"' => {
                let is_raw = letter == '\'' && word.as_deref() != Some("$");
                let mut quoted = word.take().filter(|word| word != "$").unwrap_or_default();
                loop {
                    match letters.next() {
                        Some(end) if end == letter => break,
                        Some('\\') if !is_raw => match (letter, letters.next()) {
                            ('"', Some(next)) if !"$`\"\\".contains(next) => {
                                quoted.extend(['\\', next]);
                            }
                            ('"', next) => quoted.extend(next),
                            (_, next) => quoted.extend(next.map(escaped)),
                        },
                        Some(inside) => {
                            line += usize::from(inside == '\n');
                            quoted.push(inside);
                        }
                        None => return Err(format!("line {begun}: a quote is not closed")),
                    }
                }
                word = Some(quoted);
            }
            '\\' => match letters.next() {
                Some('\n') => line += 1,
                Some(other) => word.get_or_insert_default().push(other),
                None => {}
            },
            '#' if word.is_none() => while letters.next_if(|letter| *letter != '\n').is_some() {},
            '|' | '<' | '>' | '&' | '`' => {
                return Err(format!(
                    "line {line}: `{letter}` is for a shell: write plain commands"
                ));
            }
            '\n' | ';' => {
                words.extend(word.take());
                if let Some(program) = words.first() {
                    if program != "curl" {
                        return Err(format!("line {begun}: it is no command of curl"));
                    }
                    let words = words.drain(..).skip(1).collect();
                    all.push(CurlCommand { line: begun, words });
                }
                line += usize::from(letter == '\n');
                begun = line;
            }
            blank if blank.is_whitespace() => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(usize, &[&str])]) {
        let found = curl_commands(text).unwrap().unwrap();
        let found: Vec<(usize, Vec<&str>)> = found
            .iter()
            .map(|it| (it.line, it.words.iter().map(String::as_str).collect()))
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(line, words)| (*line, words.to_vec()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn commands_are_read_as_browsers_copy_them() {
        check(
            "# copied\ncurl 'http://a/x' \\\n  -H 'accept: */*' \\\n  \
             --data-raw '{\"a\":\n\"it'\\''s\"}' ;\n\
             curl -X \"P\\\"U\\nT\" http://a/ # not this\ncurl --data-raw $'a\\'b' http://a/\n",
            &[
                (
                    2,
                    &[
                        "http://a/x",
                        "-H",
                        "accept: */*",
                        "--data-raw",
                        "{\"a\":\n\"it's\"}",
                    ],
                ),
                (6, &["-X", "P\"U\\nT", "http://a/"]),
                (7, &["--data-raw", "a'b", "http://a/"]),
            ],
        );
        let refused = |text: &str| curl_commands(text).unwrap_err();
        assert!(refused("curl http://a/ | jq").starts_with("line 1: `|` is for a shell"));
        assert!(refused("curl http://a/\nwget x").starts_with("line 2: it is no command"));
        assert!(refused("curl 'http://a/").starts_with("line 1: a quote"));
    }

    #[test]
    fn configurations_are_flags_by_their_long_names() {
        check(
            "# pages\nurl = \"http://a/1\"\nurl=http://a/2\nheader = \"A: \\\"b\\\"\"\nnext\n\
             --data: a=1\ninsecure\nurl http://a/3\n",
            &[
                (2, &["http://a/1", "http://a/2", "--header=A: \"b\""]),
                (6, &["--data=a=1", "--insecure", "http://a/3"]),
            ],
        );
    }

    #[test]
    fn other_lists_are_none_of_curls() {
        for text in [
            "",
            "# a\n",
            "http://a/",
            "GET http://a/",
            "url.test:80/",
            "9 http://a/",
            "curl.test:80",
        ] {
            assert_eq!(curl_commands(text), Ok(None), "{text}");
        }
    }
}
