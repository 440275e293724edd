//! The words of reports: facts in, sentences out. Nothing reads a sentence to learn a fact.

pub(crate) mod bounds;
pub(crate) mod change;
pub(crate) mod find;
pub(crate) mod overload;

use crate::number::plain;

/// A text with a capital letter first.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

/// A name, with what distinguishes it from others of that name behind it in brackets.
pub(crate) fn named<'p>(name: &str, among: impl IntoIterator<Item = (bool, &'p String)>) -> String {
    let parts = among.into_iter().filter(|(differs, _)| *differs);
    let parts: Vec<String> = parts.map(|(_, part)| plain(part)).collect();
    match parts.is_empty() {
        true => plain(name),
        false => format!("{} ({})", plain(name), parts.join(", ")),
    }
}
