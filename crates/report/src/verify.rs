//! Whether a page still agrees with its record: computes every verdict and estimate again and
//! compares them with the document that the page was drawn with.
//!
//! The page may come from anybody, so the size of what it unpacks to is bounded.

use serde_json::Value;

use crate::pack::{packed, unpacked_within};
use crate::view::Report;

/// Most values that a stored document may unpack to: a campaign of a thousand trials has some
/// three million.
const VALUES_MOST: usize = 50_000_000;
/// Longest value that a difference quotes, characters.
const QUOTED_MOST: usize = 80;

/// A figure that a page holds and its record does not give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Where it stands, such as `trials[r1-nginx-c10].verdict`.
    pub place: String,
    /// What the page holds.
    pub stored: String,
    /// What the record gives.
    pub computed: String,
}

/// What the element that holds the document begins with, in part.
const MARK: &str = " id=\"record\">";

/// A page around its document.
struct Parts<'p> {
    before: &'p str,
    json: &'p str,
    after: &'p str,
}

impl<'p> Parts<'p> {
    /// `None` where there is no place for a document.
    fn of(page: &'p str) -> Result<Option<Self>, String> {
        let Some((before, rest)) = page.split_once(MARK) else {
            return Ok(None);
        };
        // A browser may take another of them than we do.
        if rest.contains(MARK) {
            return Err("it has more than one place for a document".to_owned());
        }
        let parts = rest.split_once("</script>");
        let (json, after) = parts.ok_or("its document is cut off")?;
        // In a drawn one it is written in another way. To a browser it can mean that the script
        // goes on.
        if json.contains('<') {
            return Err("its document is damaged: it holds a `<`".to_owned());
        }
        Ok(Some(Self {
            before,
            json,
            after,
        }))
    }
}

/// Whether a page is what this bakeoff draws of the report, its document left out.
pub fn is_drawn_around(report: &Report, page: &str) -> bool {
    let drawn = crate::html::html(report);
    match (Parts::of(&drawn), Parts::of(page)) {
        (Ok(Some(drawn)), Ok(Some(page))) => {
            drawn.before == page.before && drawn.after == page.after
        }
        _ => false,
    }
}

/// The document in a page that [`crate::html`] drew; `None` where it holds none, as where the page
/// with charts was not built in.
///
/// # Errors
/// There is a place for a document, and what stands there is none: the page was damaged or cut off.
/// Or there are several places.
pub fn stored_document(page: &str) -> Result<Option<Value>, String> {
    let Some(Parts { json, .. }) = Parts::of(page)? else {
        return Ok(None);
    };
    match serde_json::from_str::<Value>(json) {
        Ok(Value::Null) => Ok(None),
        Ok(value) if value.is_object() => Ok(Some(value)),
        Ok(_) => Err("its document is damaged".to_owned()),
        Err(error) => Err(format!("its document is damaged: {error}")),
    }
}

/// What a stored document differs in from the report of its record: nothing where they are equal.
///
/// # Errors
/// The document is not one of a report.
pub fn differences(report: &Report, stored: &Value) -> Result<Vec<Difference>, String> {
    let mut computed: Value =
        serde_json::from_str(&packed(report)).map_err(|error| error.to_string())?;
    if computed == *stored {
        return Ok(Vec::new());
    }
    let unpacked = |document: &Value| unpacked_within(document, VALUES_MOST);
    let mut stored = unpacked(stored).ok_or("its document cannot be unpacked")?;
    computed = unpacked(&computed).ok_or("the report cannot be unpacked")?;
    if stored["schema"] != computed["schema"] {
        return Err(format!(
            "its document is of schema {}",
            quoted(&stored["schema"])
        ));
    }
    // The folder may have another name by now.
    for document in [&mut stored, &mut computed] {
        if let Some(answer) = document["answer"].as_object_mut() {
            answer.remove("record");
        }
    }
    let mut found = Vec::new();
    walk("", &stored, &computed, &mut found);
    Ok(found)
}

fn walk(place: &str, stored: &Value, computed: &Value, found: &mut Vec<Difference>) {
    match (stored, computed) {
        (Value::Object(left), Value::Object(right)) => {
            for (key, stored) in left {
                let computed = right.get(key).unwrap_or(&Value::Null);
                walk(&joined(place, key), stored, computed, found);
            }
            for (key, computed) in right.iter().filter(|(key, _)| !left.contains_key(*key)) {
                walk(&joined(place, key), &Value::Null, computed, found);
            }
        }
        (Value::Array(left), Value::Array(right)) => {
            for index in 0..left.len().max(right.len()) {
                let (stored, computed) = (left.get(index), right.get(index));
                let named = computed
                    .or(stored)
                    .map_or(String::new(), |it| name(it, index));
                let null = &Value::Null;
                walk(
                    &format!("{place}[{named}]"),
                    stored.unwrap_or(null),
                    computed.unwrap_or(null),
                    found,
                );
            }
        }
        _ if stored == computed => {}
        _ => found.push(Difference {
            place: place.to_owned(),
            stored: quoted(stored),
            computed: quoted(computed),
        }),
    }
}

fn joined(place: &str, key: &str) -> String {
    match place {
        "" => key.to_owned(),
        place => format!("{place}.{key}"),
    }
}

/// What an item of a list is called: a trial by its name, a cell or a comparison by what it is of.
fn name(item: &Value, index: usize) -> String {
    if let Some(id) = item["id"].as_str() {
        return id.to_owned();
    }
    let keys = ["contender", "first", "second", "workload", "load", "metric"];
    let parts = keys.iter().filter_map(|key| item[*key].as_str());
    let parts: Vec<&str> = parts.collect();
    match parts.len() {
        0 | 1 => index.to_string(),
        _ => parts.join(" "),
    }
}

fn quoted(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(QUOTED_MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_differs_is_named_by_trial_and_field() {
        let stored = json!({
            "trials": [{"id": "r1-a", "verdict": "valid"}, {"id": "r2-a", "verdict": "valid"}],
            "cells": [{"contender": "a", "workload": "w", "load": "c1", "estimates": {"x": 1.5}}],
        });
        let computed = json!({
            "trials": [{"id": "r1-a", "verdict": "suspect"}],
            "cells": [{"contender": "a", "workload": "w", "load": "c1", "estimates": {"y": 2}}],
        });
        let mut found = Vec::new();
        walk("", &stored, &computed, &mut found);
        let lines = found
            .iter()
            .map(|one| format!("{}: {} / {}", one.place, one.stored, one.computed));
        assert_eq!(
            lines.collect::<Vec<_>>(),
            [
                "cells[a w c1].estimates.x: 1.5 / null",
                "cells[a w c1].estimates.y: null / 2",
                "trials[r1-a].verdict: \"valid\" / \"suspect\"",
                "trials[r2-a]: {\"id\":\"r2-a\",\"verdict\":\"valid\"} / null",
            ]
        );
    }

    #[test]
    fn a_page_without_a_document_has_none() {
        assert_eq!(stored_document("<html></html>"), Ok(None));
        assert_eq!(
            stored_document("<script id=\"record\">null</script>"),
            Ok(None)
        );
        let page = "<script type=\"x\" id=\"record\">{\"packed\":1}</script>";
        assert_eq!(stored_document(page), Ok(Some(json!({"packed": 1}))));
    }

    #[test]
    fn a_damaged_document_is_not_a_missing_one() {
        let damaged = ["{</script>", "[]</script>", "{\"packed\":1}", ""];
        for rest in damaged {
            let page = format!("<script id=\"record\">{rest}");
            assert!(stored_document(&page).is_err(), "{page}");
        }
    }

    /// The first of two was compared, and a browser showed the other.
    #[test]
    fn a_second_document_is_refused() {
        let one = "<script id=\"record\">{}</script>";
        for before in ["<!-- id=\"record\">{}</script> -->", one] {
            assert!(
                stored_document(&[before, one].concat()).is_err(),
                "{before}"
            );
        }
        let within = "<script id=\"record\">{\"a\":\"<!--<script>\"}</script>";
        assert!(stored_document(within).is_err());
        assert!(stored_document(one).is_ok());
    }
}
