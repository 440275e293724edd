//! Lists in curl's forms: its commands, as browsers copy them, and its configuration files (`-K`).
//! Each becomes the words of a command line, which are read as flags of `load` are.
//!
//! It is no shell: what one would fill in is refused, and so are pipes and redirections.

use std::iter::Peekable;
use std::str::Chars;

/// What is asked together: URLs that share their flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurlCommand {
    /// Number of its first line, from 1.
    pub line: usize,
    /// Flags and URLs.
    pub words: Vec<String>,
}

/// Letters of a variable's name that are shown.
const NAME_LETTERS_MAX: usize = 40;
/// First words of a line in a configuration file.
const KEYS: [&str; 14] = [
    "cookie",
    "json",
    "output",
    "referer",
    "user-agent",
    "write-out",
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
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
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

/// What curl makes of a letter behind a backslash; it knows no others.
fn escaped(letter: char) -> char {
    match letter {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        other => other,
    }
}

/// Commands as a shell reads them, one after the other.
fn in_shell(text: &str) -> Result<Vec<CurlCommand>, String> {
    let mut all: Vec<CurlCommand> = Vec::new();
    let (mut words, mut word): (Vec<String>, Option<String>) = (Vec::new(), None);
    let mut begun = 1;
    let mut shell = Shell {
        rest: text.chars().peekable(),
        line: 1,
    };
    loop {
        let line = shell.line;
        match shell.next() {
            Some('\'') => word.get_or_insert_default().push_str(&shell.plain()?),
            Some('"') => word.get_or_insert_default().push_str(&shell.double()?),
            Some('$') => match shell.rest.next_if(|next| matches!(next, '\'' | '"')) {
                Some('\'') => word.get_or_insert_default().push_str(&shell.ansi()?),
                Some(_) => word.get_or_insert_default().push_str(&shell.double()?),
                None => word.get_or_insert_default().push(shell.dollar()?),
            },
            Some('\\') => match shell.next() {
                Some('\n') => {}
                Some('\r') if shell.rest.peek() == Some(&'\n') => {
                    shell.next();
                }
                other => word.get_or_insert_default().extend(other),
            },
            Some('^') if matches!(shell.rest.peek(), Some('"' | '\n' | '\r')) => {
                return Err(format!(
                    "line {line}: `^` is of the Windows command line: copy it as cURL (bash)"
                ));
            }
            Some('#') if word.is_none() => {
                while shell.rest.next_if(|letter| *letter != '\n').is_some() {}
            }
            Some(letter @ ('|' | '<' | '>' | '&' | '`')) => return Err(of_shell(line, letter)),
            end @ (None | Some('\n' | ';')) => {
                words.extend(word.take());
                if let Some(program) = words.first() {
                    if program != "curl" {
                        return Err(format!("line {begun}: it is no command of curl"));
                    }
                    let words = words.drain(..).skip(1).collect();
                    all.push(CurlCommand { line: begun, words });
                }
                if end.is_none() {
                    return Ok(all);
                }
                begun = shell.line;
            }
            Some(blank) if blank.is_whitespace() => words.extend(word.take()),
            Some(other) => word.get_or_insert_default().push(other),
        }
    }
}

fn of_shell(line: usize, letter: char) -> String {
    format!("line {line}: `{letter}` is for a shell: write plain commands")
}

/// A text that a shell reads.
struct Shell<'t> {
    rest: Peekable<Chars<'t>>,
    /// Number of the line, from 1.
    line: usize,
}

impl Shell<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.rest.next();
        self.line += usize::from(next == Some('\n'));
        next
    }

    /// What is in `'...'`.
    fn plain(&mut self) -> Result<String, String> {
        let begun = self.line;
        let mut quoted = String::new();
        loop {
            match self.next() {
                Some('\'') => return Ok(quoted),
                Some(letter) => quoted.push(letter),
                None => return Err(not_closed(begun)),
            }
        }
    }

    /// What is in `"..."`.
    fn double(&mut self) -> Result<String, String> {
        let begun = self.line;
        let mut quoted = String::new();
        loop {
            match self.next() {
                Some('"') => return Ok(quoted),
                Some('\\') => match self.next() {
                    Some('\n') => {}
                    Some(next) if !"$`\"\\".contains(next) => quoted.extend(['\\', next]),
                    next => quoted.extend(next),
                },
                Some('`') => return Err(of_shell(self.line, '`')),
                Some('$') => quoted.push(self.dollar()?),
                Some(letter) => quoted.push(letter),
                None => return Err(not_closed(begun)),
            }
        }
    }

    /// A `$` that is itself: what begins with one mostly is filled in.
    fn dollar(&mut self) -> Result<char, String> {
        let is_name = |it: &char| it.is_ascii_alphanumeric() || *it == '_';
        let ahead = self.rest.clone();
        let name: String = ahead.take_while(is_name).take(NAME_LETTERS_MAX).collect();
        let is_block = matches!(self.rest.peek(), Some('{' | '('));
        if name.is_empty() && !is_block {
            return Ok('$');
        }
        let what = if is_block { "{...}" } else { &name };
        Err(format!(
            "line {}: `${what}` is for a shell: write what it stands for",
            self.line
        ))
    }

    /// What is in `$'...'`, whose escapes may be of bytes.
    fn ansi(&mut self) -> Result<String, String> {
        let begun = self.line;
        let mut quoted = Vec::new();
        loop {
            match self.next() {
                Some('\'') => break,
                Some('\\') => {
                    let letter = self.next().ok_or_else(|| not_closed(begun))?;
                    self.escape(letter, &mut quoted)?;
                }
                Some(letter) => push(&mut quoted, letter),
                None => return Err(not_closed(begun)),
            }
        }
        String::from_utf8(quoted).map_err(|_| {
            format!("line {begun}: the escapes of `$'...'` make bytes that are no text")
        })
    }

    /// What bash makes of a letter behind a backslash.
    fn escape(&mut self, letter: char, quoted: &mut Vec<u8>) -> Result<(), String> {
        let line = self.line;
        let wrong = |what: &str| format!("line {line}: `\\{letter}` in `$'...'` {what}");
        let byte = match letter {
            'a' => 0x07,
            'b' => 0x08,
            'e' | 'E' => 0x1b,
            'f' => 0x0c,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 0x0b,
            '\\' | '\'' | '"' | '?' => letter as u8,
            '0'..='7' => {
                let first = letter.to_digit(8).unwrap_or_default();
                // Of more than a byte, the lowest is taken.
                (self
                    .number(8, 2)
                    .map_or(first, |(rest, digits)| first * 8_u32.pow(digits) + rest)
                    & 0xff) as u8
            }
            'x' => self.number(16, 2).ok_or_else(|| wrong("has no digits"))?.0 as u8,
            'u' | 'U' => {
                let digits = if letter == 'u' { 4 } else { 8 };
                let code = self
                    .number(16, digits)
                    .ok_or_else(|| wrong("has no digits"))?
                    .0;
                let code = self.joined(code);
                let letter = char::from_u32(code).filter(|it| *it != '\0');
                push(quoted, letter.ok_or_else(|| wrong("is no letter"))?);
                return Ok(());
            }
            'c' => match self.next() {
                Some(control) if control.is_ascii() && control != '\'' => control as u8 & 0x1f,
                _ => return Err(wrong("names no control character")),
            },
            _ => return Err(wrong("is no escape of bash: write the letter itself")),
        };
        if byte == 0 {
            return Err(wrong("is the byte 0, which no argument can have"));
        }
        quoted.push(byte);
        Ok(())
    }

    /// A letter of two escapes, as JavaScript writes those beyond the first 65,536.
    fn joined(&mut self, code: u32) -> u32 {
        let mut ahead = self.rest.clone();
        if !(0xd800..0xdc00).contains(&code)
            || (ahead.next(), ahead.next()) != (Some('\\'), Some('u'))
        {
            return code;
        }
        let mut next = Shell {
            rest: ahead,
            line: self.line,
        };
        match next.number(16, 4) {
            Some((low @ 0xdc00..0xe000, _)) => {
                self.rest = next.rest;
                0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00)
            }
            _ => code,
        }
    }

    /// A number of up to so many digits, and how many there are; `None` where there are none.
    fn number(&mut self, radix: u32, digits_max: u32) -> Option<(u32, u32)> {
        let (mut number, mut digits) = (0_u32, 0);
        while digits < digits_max
            && let Some(digit) = self.rest.next_if(|it| it.is_digit(radix))
        {
            number = (number << radix.ilog2()) | digit.to_digit(radix).unwrap_or_default();
            digits += 1;
        }
        (digits > 0).then_some((number, digits))
    }
}

fn not_closed(line: usize) -> String {
    format!("line {line}: a quote is not closed")
}

fn push(bytes: &mut Vec<u8>, letter: char) {
    bytes.extend(letter.encode_utf8(&mut [0; 4]).as_bytes());
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
    fn a_mark_of_the_byte_order_is_no_part_of_a_command() {
        check("\u{feff}curl http://a/\n", &[(1, &["http://a/"])]);
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
        check(
            "curl 'a'$'b\\n' \"a\\\nb$ c$\" \\\r\n --data=$'\\x41' '$''c\\n' $\"d\" $",
            &[(1, &["ab\n", "ab$ c$", "--data=A", "$c\\n", "d", "$"])],
        );
        let refused = |text: &str| curl_commands(text).unwrap_err();
        let windows = refused("curl \"http://a/\" ^\n  -H ^\"a: b^\"");
        assert!(windows.ends_with("copy it as cURL (bash)"), "{windows}");
        assert!(refused("curl \"http://a/$ID\"").starts_with("line 1: `$ID` is for a shell"));
        assert!(
            refused("curl http://a/\ncurl ${A}").starts_with("line 2: `${...}` is for a shell")
        );
        assert!(refused("curl \"`id`\"").starts_with("line 1: ``` is for a shell"));
        assert!(refused("curl http://a/ | jq").starts_with("line 1: `|` is for a shell"));
        assert!(refused("curl http://a/\nwget x").starts_with("line 2: it is no command"));
        assert!(refused("curl 'http://a/").starts_with("line 1: a quote"));
    }

    #[test]
    fn escapes_are_those_of_bash_and_no_other() {
        for (escapes, expected) in [
            (r"Hi\u0021 \x41\x4 \u00fc", "Hi! A\u{4} ü"),
            (
                r"\xc3\xbc\303\274 \U0001f600 \ud83d\ude00",
                "üü \u{1f600} \u{1f600}",
            ),
            (
                r#"\a\b\e\E\f\n\r\t\v\\\'\"\?"#,
                "\x07\x08\x1b\x1b\x0c\n\r\t\x0b\\'\"?",
            ),
            (r"\1011\41x \u21g \cA\501", "A1!x !g \x01A"),
        ] {
            check(&format!("curl $'{escapes}'"), &[(1, &[expected])]);
        }
        for (escapes, problem) in [
            (
                r"\q",
                r"`\q` in `$'...'` is no escape of bash: write the letter itself",
            ),
            (r"\xg", r"`\x` in `$'...'` has no digits"),
            (r"\u0000", r"`\u` in `$'...'` is no letter"),
            (r"\ud83d", r"`\u` in `$'...'` is no letter"),
            (
                r"\0",
                r"`\0` in `$'...'` is the byte 0, which no argument can have",
            ),
            (
                r"\xff",
                "the escapes of `$'...'` make bytes that are no text",
            ),
        ] {
            let refused = curl_commands(&format!("curl a $'{escapes}'"));
            assert_eq!(refused, Err(format!("line 1: {problem}")), "{escapes}");
        }
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
