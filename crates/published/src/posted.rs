//! Takes off what mail, forums and logs put before each line of a result.
//!
//! A line stays a line, so places in messages are those of the file.

use std::borrow::Cow;

/// The text as it was printed.
pub(crate) fn bare(text: &str) -> Cow<'_, str> {
    let text = without_quotes(text);
    let text = match beginning(&text) {
        Some(beginning) => without_beginning(&text, beginning),
        None => text,
    };
    without_fences(text)
}

/// Lines of a quote without their marks. It follows a blank line, or one that ends in a colon; else
/// the marks are of the result, as in Gatling's text.
fn without_quotes(text: &str) -> Cow<'_, str> {
    if !text.lines().any(|line| line.starts_with('>')) {
        return Cow::Borrowed(text);
    }
    let mut is_quoted = true;
    let lines = text.lines().map(|line| {
        if line.starts_with('>') {
            return if is_quoted { unquoted(line) } else { line };
        }
        is_quoted = line.trim().is_empty() || line.trim_end().ends_with(':');
        line
    });
    Cow::Owned(joined(lines))
}

fn unquoted(line: &str) -> &str {
    let mut rest = line;
    while let Some(inner) = rest.strip_prefix('>') {
        rest = inner.strip_prefix(' ').unwrap_or(inner);
    }
    rest
}

/// What a log puts before each line.
#[derive(Debug, Clone, Copy)]
enum Beginning<'a> {
    /// When it came, as the logs of most build services have it.
    Time,
    /// Who wrote it, as compose has it: `load-1  | `.
    Name(&'a str),
}

impl Beginning<'_> {
    /// The line without it; `None` where it has none.
    fn cut<'l>(&self, line: &'l str) -> Option<&'l str> {
        match self {
            Self::Time => {
                let (time, rest) = line.split_once(' ').unwrap_or((line, ""));
                is_time(time).then_some(rest)
            }
            Self::Name(name) => {
                let rest = line.strip_prefix(name)?;
                Some(rest.strip_prefix(' ').unwrap_or(rest))
            }
        }
    }
}

/// What all lines begin with that have anything in them.
fn beginning(text: &str) -> Option<Beginning<'_>> {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let named = |line: &str| {
        let (name, _) = line.split_once('|')?;
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        let word = name.trim_end();
        let is_apart = word.len() < name.len() && !word.is_empty();
        (is_apart && word.chars().all(is_name)).then_some(name.len() + 1)
    };
    let first = lines().next()?;
    let mut found = [
        Some(Beginning::Time),
        named(first).map(|end| Beginning::Name(&first[..end])),
    ]
    .into_iter()
    .flatten();
    found.find(|one| lines().all(|line| one.cut(line).is_some()))
}

fn without_beginning<'t>(text: &str, beginning: Beginning<'_>) -> Cow<'t, str> {
    let lines = text.lines();
    let lines = lines.map(|line| beginning.cut(line).unwrap_or(line));
    Cow::Owned(joined(lines))
}

/// Whether a word is a time such as `2024-05-01T12:00:00.1234567Z`.
fn is_time(word: &str) -> bool {
    let begins = |text: &str, form: &str| {
        let mut both = text.bytes().zip(form.bytes());
        let fits = |(byte, like): (u8, u8)| match like {
            b'0' => byte.is_ascii_digit(),
            like => byte == like,
        };
        text.len() >= form.len() && both.all(fits)
    };
    let is_of_time = |c: char| c.is_ascii_digit() || ".:+-TZ".contains(c);
    begins(word, "0000-00-00T00:00:00") && word.chars().all(is_of_time)
}

/// A text that begins with a fence of Markdown without its fences.
fn without_fences(text: Cow<'_, str>) -> Cow<'_, str> {
    let is_fence = |line: &str| line.trim_start().starts_with("```");
    if !text
        .lines()
        .find(|line| !line.trim().is_empty())
        .is_some_and(is_fence)
    {
        return text;
    }
    let lines = text.lines();
    Cow::Owned(joined(
        lines.map(|line| if is_fence(line) { "" } else { line }),
    ))
}

fn joined<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.fold(String::new(), |all, line| all + line + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_lose_what_others_put_before_them() {
        for (posted, expected) in [
            ("> a,b\n> 1,2\n", "a,b\n1,2\n"),
            (">a\n>\n> > b\n>> c\n", "a\n\nb\nc\n"),
            (
                "On Monday she wrote:\n> a\n\nSo.\n",
                "On Monday she wrote:\na\n\nSo.\n",
            ),
            // Marks of the result itself.
            ("load,p99\n>10,1\n>20,2\n", "load,p99\n>10,1\n>20,2\n"),
            ("---- Global\n> count 1\n", "---- Global\n> count 1\n"),
            ("load-1  | a\nload-1  |\nload-1  | b\n", "a\n\nb\n"),
            ("a | b\n--- | ---\n1 | 2\n", "a | b\n--- | ---\n1 | 2\n"),
            (
                "2024-05-01T12:00:00.1234567Z a  b\n2024-05-01T12:00:01.1Z \n",
                "a  b\n\n",
            ),
            (
                "2024-05-01T12:00:00Z,5\n2024-05-01T12:00:01Z,6\n",
                "2024-05-01T12:00:00Z,5\n2024-05-01T12:00:01Z,6\n",
            ),
            ("```text\na,b\n1,2\n```\n", "\na,b\n1,2\n\n"),
            ("> ```\n> a,b\n> ```\n", "\na,b\n\n"),
        ] {
            assert_eq!(bare(posted), expected, "{posted}");
        }
    }
}
