//! Text from outside, made fit for where it goes: a terminal, a file's line, a JSON document.
//!
//! One list says which characters are not shown as they are: those that move a cursor, begin an
//! escape sequence, turn the direction of text or cannot be seen. What a format needs besides
//! (quotes, pipes, `<`) is escaped by the format.

use serde::Serialize;

/// One line of text: characters that are not shown as they are become `\u{..}`, and line ends
/// and tabs become spaces.
pub fn plain(text: &str) -> String {
    shown(text, |character| match character {
        '\n' | '\t' => Some(' '),
        _ => None,
    })
}

/// The same for text of several lines, which keeps its line ends and tabs.
pub fn plain_lines(text: &str) -> String {
    shown(text, |character| {
        matches!(character, '\n' | '\t').then_some(character)
    })
}

fn shown(text: &str, instead: impl Fn(char) -> Option<char>) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match instead(character) {
            Some(other) => safe.push(other),
            None if is_unseen(character) => safe.extend(character.escape_unicode()),
            None => safe.push(character),
        }
    }
    safe
}

/// A JSON document in which no such character stands as it is. They can only stand in strings,
/// where `\u202e` means the same.
pub fn json_safe(document: &str) -> String {
    let mut safe = String::with_capacity(document.len());
    let mut units = [0_u16; 2];
    for character in document.chars() {
        // Line ends and tabs between values are JSON's own; in strings they are escaped already.
        if is_unseen(character) && !matches!(character, '\n' | '\t') {
            for unit in character.encode_utf16(&mut units) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            safe.push(character);
        }
    }
    safe
}

/// A value as such a document, a field on each line.
pub(crate) fn pretty_json(value: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(value);
    json_safe(&text.expect("it has only text keys and numbers"))
}

/// Whether a character acts on what shows it, or cannot be seen and so hides in a text.
fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(character,
            // Soft hyphen, joiners, marks and overrides of direction, fillers.
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            // Tags, which spell invisible text.
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_do_not_reach_a_terminal() {
        assert_eq!(plain("a\u{1b}[31mb\nc"), "a\\u{1b}[31mb c");
        assert_eq!(plain("x\u{202e}y"), "x\\u{202e}y");
        assert_eq!(plain("a\rb\u{9b}2J"), "a\\u{d}b\\u{9b}2J");
        assert_eq!(plain_lines("a\n\tb\r\u{200b}"), "a\n\tb\\u{d}\\u{200b}");
        assert_eq!(plain("µ, 漢字, é, 🎂"), "µ, 漢字, é, 🎂");
    }

    #[test]
    fn a_json_document_means_the_same() {
        let value = serde_json::json!({ "a\u{1b}": "\u{202e}\u{e0041}\u{9b}\"\\", "b": 1 });
        for text in [
            value.to_string(),
            serde_json::to_string_pretty(&value).unwrap(),
        ] {
            let safe = json_safe(&text);
            assert!(
                !safe.chars().any(|it| is_unseen(it) && it != '\n'),
                "{safe}"
            );
            let read: serde_json::Value = serde_json::from_str(&safe).unwrap();
            assert_eq!(read, value);
        }
    }
}
