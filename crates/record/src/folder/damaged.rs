//! What is wrong with a JSON text of a record, by trial and field. A position alone helps nobody
//! whose line has 100 KB.

/// Longest place that is named, bytes.
const PLACE_MOST: usize = 200;

/// What a reader says of a text, with the trial that the text is of and the field where it stopped,
/// and without the position in the text.
pub(super) fn reason(text: &str, error: &serde_json::Error) -> String {
    #[derive(serde::Deserialize)]
    struct Named {
        id: String,
    }
    let said = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    let mut reason = said.strip_suffix(&position).unwrap_or(&said).to_owned();
    if let Some(place) = place(read_part(text, error)) {
        reason = format!("{reason} (at {place})");
    }
    match serde_json::from_str::<Named>(text) {
        Ok(Named { id }) => format!("trial {id}: {reason}"),
        Err(_) => reason,
    }
}

/// What had been read of the text.
fn read_part<'t>(text: &'t str, error: &serde_json::Error) -> &'t [u8] {
    let lines = text.split_inclusive('\n').map(str::len);
    let before: usize = lines.take(error.line().saturating_sub(1)).sum();
    let end = before.saturating_add(error.column()).min(text.len());
    &text.as_bytes()[..end]
}

/// An object with the key that was read last, or a list with the position in it.
enum Level<'t> {
    Object(Option<&'t [u8]>),
    List(usize),
}

/// Where in a JSON value its first part ends, such as `result.intervals[3].latency`. `None` at
/// the top, and where the place is too long to be shown.
fn place(read: &[u8]) -> Option<String> {
    let mut levels: Vec<Level<'_>> = Vec::new();
    let mut at = 0;
    while let Some(byte) = read.get(at) {
        match byte {
            b'{' => levels.push(Level::Object(None)),
            b'[' => levels.push(Level::List(0)),
            b'}' | b']' => drop(levels.pop()),
            b',' => match levels.last_mut() {
                Some(Level::Object(key)) => *key = None,
                Some(Level::List(index)) => *index += 1,
                None => {}
            },
            b'"' => {
                let end = string_end(read, at + 1);
                if let Some(Level::Object(key @ None)) = levels.last_mut() {
                    *key = read.get(at + 1..end);
                }
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    let mut place = String::new();
    for level in &levels {
        match level {
            Level::Object(None) => {}
            Level::Object(Some(key)) => {
                let dot = if place.is_empty() { "" } else { "." };
                place = place + dot + &String::from_utf8_lossy(key);
            }
            Level::List(index) => place = format!("{place}[{index}]"),
        }
        if place.len() > PLACE_MOST {
            return None;
        }
    }
    (!place.is_empty()).then_some(place)
}

/// Where the string ends whose first byte is at `from`: at its quote, or the end of the text.
fn string_end(read: &[u8], from: usize) -> usize {
    let mut at = from;
    loop {
        match read.get(at) {
            Some(b'\\') => at += 2,
            Some(b'"') | None => return at.min(read.len()),
            Some(_) => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_that_of_the_value_that_was_read_last() {
        let places = [
            ("", None),
            ("{", None),
            (r#"{"a": 1, "b"#, Some("b")),
            (r#"{"a": {"b": [1, {"c": {"d": 2}}"#, Some("a.b[1]")),
            (r#"{"a": {"b": [1, {"c": {"d": 2}"#, Some("a.b[1].c")),
            (r#"{"x": [{}, "]}\"", {"y": "\\"}], "z": {"#, Some("z")),
        ];
        for (read, expected) in places {
            assert_eq!(place(read.as_bytes()).as_deref(), expected, "{read}");
        }
        let long = format!("{{\"{}\":", "k".repeat(PLACE_MOST + 1));
        assert_eq!(place(long.as_bytes()), None);
    }
}
