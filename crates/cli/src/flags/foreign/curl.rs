//! Commands of curl as flags of `load`: of what they say, what is sent is kept.
//!
//! What a load would have to do otherwise is refused by the flags of `load` themselves.

/// What a flag of curl is, for a request of a load.
#[derive(Clone, Copy)]
enum Says {
    /// This flag of `load`, with the same value.
    Same(&'static str),
    /// A header of this name.
    Header(&'static str),
    /// A body in JSON.
    Json,
    /// A URL.
    Url,
    /// What is done with the answer, with a value or without one: a load only counts it.
    Answer { has_value: bool },
}

use Says::{Answer, Header, Json, Same, Url};

/// Names of flags and what they say. A name of one letter is a short flag.
const CURL: [(&str, Says); 15] = [
    ("d data data-ascii", Same("data")),
    ("data-binary", Same("data-binary")),
    ("data-raw", Same("data-raw")),
    ("H header", Same("header")),
    ("X request", Same("method")),
    ("u user", Same("user")),
    ("url", Url),
    ("json", Json),
    ("b cookie", Header("Cookie")),
    ("A user-agent", Header("User-Agent")),
    ("e referer", Header("Referer")),
    (
        "o output w write-out D dump-header c cookie-jar m max-time max-redirs trace trace-ascii \
         stderr",
        Answer { has_value: true },
    ),
    (
        "s silent S show-error v verbose i include # progress-bar no-progress-meter O remote-name \
         J remote-header-name N no-buffer",
        Answer { has_value: false },
    ),
    ("f fail fail-with-body", Answer { has_value: false }),
    ("L location g globoff", Answer { has_value: false }),
];

/// The words of a command as those of `load`.
///
/// # Errors
/// What cannot be read of it.
pub(crate) fn as_load(words: Vec<String>) -> Result<Vec<String>, String> {
    let mut all = Vec::with_capacity(words.len());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let mut rest = Some(word);
        while let Some(word) = rest.take() {
            let (name, attached) = flag(&word);
            let Some(says) = name.and_then(says) else {
                all.push(word);
                break;
            };
            if let Answer { has_value: false } = says {
                let is_short = !word.starts_with("--");
                rest = attached.filter(|_| is_short).map(|it| format!("-{it}"));
                continue;
            }
            let value = attached.map(str::to_owned).or_else(|| words.next());
            let value = value.ok_or_else(|| format!("{word} has no value"))?;
            match says {
                Same(flag) => all.push(format!("--{flag}={value}")),
                Header("Cookie") if !value.contains('=') => {
                    return Err(format!(
                        "{word} names a file of cookies, which is not read: write the cookies \
                         themselves, as NAME=VALUE"
                    ));
                }
                // `;auto` is about redirects.
                Header(header) => {
                    let value = value.strip_suffix(";auto").unwrap_or(&value);
                    all.push(format!("--header={header}: {value}"));
                }
                Json => {
                    all.extend(
                        ["Content-Type", "Accept"]
                            .map(|name| format!("--header={name}: application/json")),
                    );
                    all.push(format!("--data-binary={value}"));
                }
                Url => all.push(value),
                Answer { .. } => {}
            }
        }
    }
    Ok(all)
}

/// The name of a flag and the value that is attached to it; `None` for a word that is none.
fn flag(word: &str) -> (Option<&str>, Option<&str>) {
    if let Some(long) = word.strip_prefix("--") {
        return match long.split_once('=') {
            Some((name, value)) => (Some(name), Some(value)),
            None => (Some(long), None),
        };
    }
    let Some(short) = word.strip_prefix('-') else {
        return (None, None);
    };
    let end = short.chars().next().map_or(0, char::len_utf8);
    let (name, value) = short.split_at(end);
    (Some(name), Some(value).filter(|value| !value.is_empty()))
}

fn says(name: &str) -> Option<Says> {
    let mut all = CURL.iter();
    let found = all.find(|(names, _)| names.split_whitespace().any(|it| it == name))?;
    Some(found.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &[&str], expected: Result<&[&str], &str>) {
        let words = command.iter().map(|&word| word.to_owned()).collect();
        let found = as_load(words);
        let found: Result<Vec<&str>, &str> = match &found {
            Ok(words) => Ok(words.iter().map(String::as_str).collect()),
            Err(problem) => Err(problem),
        };
        assert_eq!(found, expected.map(<[&str]>::to_vec), "{command:?}");
    }

    #[test]
    fn what_is_sent_is_kept_and_what_is_done_with_answers_is_not() {
        check(
            &[
                "http://a/",
                "-b",
                "sid=a; t=1",
                "-A",
                "M",
                "-ehttp://r/;auto",
            ],
            Ok(&[
                "http://a/",
                "--header=Cookie: sid=a; t=1",
                "--header=User-Agent: M",
                "--header=Referer: http://r/",
            ]),
        );
        check(
            &[
                "-sSLo",
                "/dev/null",
                "-w",
                "%{http_code}",
                "-sXPUT",
                "--url=http://a/",
            ],
            Ok(&["--method=PUT", "http://a/"]),
        );
        check(
            &[
                "--location",
                "--request",
                "POST",
                "--data-raw",
                "-d",
                "-da=1",
                "-k",
                "--compressed",
            ],
            Ok(&[
                "--method=POST",
                "--data-raw=-d",
                "--data=a=1",
                "-k",
                "--compressed",
            ]),
        );
        check(
            &["--json", "{}", "-F", "a=@b"],
            Ok(&[
                "--header=Content-Type: application/json",
                "--header=Accept: application/json",
                "--data-binary={}",
                "-F",
                "a=@b",
            ]),
        );
        check(&["--silent", "-", "-sF"], Ok(&["-", "-F"]));
        check(
            &["-b", "jar.txt"],
            Err(
                "-b names a file of cookies, which is not read: write the cookies themselves, as \
                 NAME=VALUE",
            ),
        );
        check(&["-so"], Err("-o has no value"));
    }
}
