//! What is wrong with a JSON text of a record, by trial and field. A position alone helps nobody
//! whose line has 100 KB.

use serde::de::DeserializeOwned;

/// Longest place that is named, bytes.
const PLACE_MOST: usize = 200;

/// What a reader of a `T` says of a text, with the trial that the text is of and the field where it
/// stopped, and without the position in the text.
pub(super) fn reason<T: DeserializeOwned>(text: &str, error: &serde_json::Error) -> String {
    #[derive(serde::Deserialize)]
    struct Named {
        id: String,
    }
    let said = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    let mut reason = said.strip_suffix(&position).unwrap_or(&said).to_owned();
    if let Some(place) = place::<T>(text) {
        reason = format!("{reason} (at {place})");
    }
    match serde_json::from_str::<Named>(text) {
        Ok(Named { id }) => format!("trial {id}: {reason}"),
        Err(_) => reason,
    }
}

/// Where in a text its reader stops, such as `result.intervals[3].latency`. `None` at the top, and
/// where the place is too long to be shown.
fn place<T: DeserializeOwned>(text: &str) -> Option<String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let stopped = serde_path_to_error::deserialize::<_, T>(&mut reader).err()?;
    let place = stopped.path().to_string();
    (place != "." && place.len() <= PLACE_MOST).then_some(place)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_place_is_that_of_the_value_where_reading_stopped() {
        let place = place::<BTreeMap<String, BTreeMap<String, Vec<u8>>>>;
        let long = format!("{{\"{}\": 1}}", "k".repeat(PLACE_MOST + 1));
        for (text, expected) in [
            (r#"{"a": {"b": [1, 2, "x"]}}"#, Some("a.b[2]")),
            (r#"{"a": {"b": 1}}"#, Some("a.b")),
            ("[", None),
            (&long, None),
        ] {
            assert_eq!(place(text).as_deref(), expected, "{text}");
        }
    }
}
