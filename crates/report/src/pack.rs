//! The view model for the page, without its repetitions.
//!
//! A campaign of a thousand trials repeats a thousand times which program ran, which answer came
//! before the load and which checks passed. Objects and lists that occur more than once, and are
//! long enough for that to pay, are kept in a list and replaced by references to it. Each set of
//! keys is written once. The page unpacks it before it reads anything (`web/src/unpack.ts`), so the
//! document that scripts get is the same with or without this.
//!
//! ```text
//! {"packed": 1, "keys": [["a", "b"], ...], "shared": [V, ...], "value": V}
//! V: null, a boolean, a number, a string, or
//!    [0, V, ...]       a list
//!    [1, K, V, ...]    an object with the keys K of `keys`, and its values in their order
//!    [2, N]            what stands at N in `shared`, which refers only to what stands before it
//! ```

use std::collections::HashMap;

use serde_json::Value;

use crate::document::{draw, of_page};
use crate::safe::{plain, plain_lines};
use crate::view::Report;

/// Shortest text of something that is worth a reference.
const WORTH_SHARING: usize = 24;

/// The report as one packed document, whose texts are fit to be shown: a page would act on marks
/// of direction too. With it is what is drawn of it, which is all that the page shows in tables.
pub fn packed(report: &Report) -> String {
    let mut value =
        serde_json::to_value(report).expect("the view model has only text keys and numbers");
    value["document"] = of_page(&draw(report));
    pack(&shown(value))
}

fn shown(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(plain_lines(&text)),
        Value::Array(items) => items.into_iter().map(shown).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            fields
                .map(|(key, field)| (plain(&key), shown(field)))
                .collect()
        }
        other => other,
    }
}

fn pack(value: &Value) -> String {
    let mut packer = Packer::default();
    packer.count(value);
    let text = packer.write(value);
    let keys = serde_json::to_string(&packer.keys).unwrap_or_default();
    let shared = packer.shared.join(",");
    format!("{{\"packed\":1,\"keys\":{keys},\"shared\":[{shared}],\"value\":{text}}}")
}

#[derive(Default)]
struct Packer {
    /// How often each text of an object, list or string occurs.
    times: HashMap<String, usize>,
    /// Sets of keys, and where each stands.
    keys: Vec<Vec<String>>,
    places_of_keys: HashMap<Vec<String>, usize>,
    /// What is shared, written out, and where each stands.
    shared: Vec<String>,
    places: HashMap<String, usize>,
}

impl Packer {
    /// Counts what may be shared. Parts of what was seen before are not counted again: they are
    /// shared with it.
    fn count(&mut self, value: &Value) {
        let is_known = is_large(value) && {
            let times = self.times.entry(value.to_string()).or_default();
            *times += 1;
            *times > 1
        };
        match value {
            _ if is_known => {}
            Value::Array(items) => items.iter().for_each(|item| self.count(item)),
            Value::Object(fields) => fields.values().for_each(|field| self.count(field)),
            _ => {}
        }
    }

    fn write(&mut self, value: &Value) -> String {
        let text = is_large(value).then(|| value.to_string());
        let text = text.filter(|text| text.len() >= WORTH_SHARING);
        let Some(text) = text.filter(|text| self.times.get(text).is_some_and(|n| *n > 1)) else {
            return self.write_out(value);
        };
        if let Some(place) = self.places.get(&text) {
            return format!("[2,{place}]");
        }
        let written = self.write_out(value);
        let place = self.shared.len();
        self.shared.push(written);
        self.places.insert(text, place);
        format!("[2,{place}]")
    }

    fn write_out(&mut self, value: &Value) -> String {
        match value {
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.write(item)).collect();
                list("0", &items)
            }
            Value::Object(fields) => {
                let keys: Vec<String> = fields.keys().cloned().collect();
                let place = self.place_of_keys(keys);
                let values: Vec<String> = fields.values().map(|field| self.write(field)).collect();
                list(&format!("1,{place}"), &values)
            }
            Value::Number(_) => number(value),
            other => other.to_string(),
        }
    }

    fn place_of_keys(&mut self, keys: Vec<String>) -> usize {
        if let Some(place) = self.places_of_keys.get(&keys) {
            return *place;
        }
        self.keys.push(keys.clone());
        self.places_of_keys.insert(keys, self.keys.len() - 1);
        self.keys.len() - 1
    }
}

fn is_large(value: &Value) -> bool {
    match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::String(text) => text.len() >= WORTH_SHARING,
        _ => false,
    }
}

fn list(head: &str, items: &[String]) -> String {
    if items.is_empty() {
        format!("[{head}]")
    } else {
        format!("[{head},{}]", items.join(","))
    }
}

/// The document that was packed, as the page reads it; `None` where it is not one.
pub fn unpacked(document: &Value) -> Option<Value> {
    unpacked_within(document, usize::MAX)
}

/// The same, of a document that somebody else packed: `None` also where it unpacks to more values
/// than `values_most`. What is shared may be made of what is shared, twice over each time.
pub(crate) fn unpacked_within(document: &Value, values_most: usize) -> Option<Value> {
    let mut unpacker = Unpacker {
        keys: document.get("keys")?.as_array()?,
        shared: Vec::new(),
        left: values_most,
    };
    for one in document.get("shared")?.as_array()? {
        let before = unpacker.left;
        let value = unpacker.unpack(one)?;
        unpacker.shared.push((value, before - unpacker.left));
    }
    unpacker.unpack(document.get("value")?)
}

struct Unpacker<'d> {
    keys: &'d [Value],
    /// What is shared, each with the number of values in it.
    shared: Vec<(Value, usize)>,
    /// Values that may still come.
    left: usize,
}

impl Unpacker<'_> {
    fn take(&mut self, values: usize) -> Option<()> {
        self.left = self.left.checked_sub(values)?;
        Some(())
    }

    fn unpack(&mut self, value: &Value) -> Option<Value> {
        self.take(1)?;
        let Value::Array(items) = value else {
            return Some(value.clone());
        };
        let place = || usize::try_from(items.get(1)?.as_u64()?).ok();
        match items.first()?.as_u64()? {
            0 => {
                let rest = items.iter().skip(1).map(|item| self.unpack(item));
                rest.collect::<Option<Vec<Value>>>().map(Value::Array)
            }
            1 => {
                let names = self.keys.get(place()?)?.as_array()?;
                let mut fields = serde_json::Map::new();
                for (name, item) in names.iter().zip(items.iter().skip(2)) {
                    fields.insert(name.as_str()?.to_owned(), self.unpack(item)?);
                }
                Some(Value::Object(fields))
            }
            2 => {
                let place = place()?;
                let values = self.shared.get(place)?.1;
                self.take(values)?;
                Some(self.shared[place].0.clone())
            }
            _ => None,
        }
    }
}

/// A number, whole ones without a point: a script reads both as the same.
fn number(value: &Value) -> String {
    let text = value.to_string();
    match text.strip_suffix(".0") {
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_packed_comes_out_again() {
        let server = json!({"server": "nginx", "command": ["/usr/sbin/nginx", "-c", "a.conf"]});
        let value = json!({
            "trials": [
                {"server": server, "at_s": [0.5, 1.5], "none": [], "text": null},
                {"server": server, "at_s": [0.5, 2.5], "none": {}, "text": "</script>"},
            ],
            "alone": server["command"],
            "is": true,
        });
        let text = pack(&value);
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(unpacked(&document), Some(value));
        assert_eq!(text.matches("/usr/sbin/nginx").count(), 1, "{text}");
    }

    #[test]
    fn what_unpacks_to_too_much_is_refused() {
        let doubled = |place: usize| json!([0, [2, place], [2, place]]);
        let mut shared = vec![json!("a text")];
        shared.extend((0..60).map(doubled));
        let document = json!({"keys": [], "shared": shared, "value": [2, 60]});
        assert_eq!(unpacked_within(&document, 1_000_000), None);
        let small = json!({"keys": [], "shared": ["a text"], "value": [0, [2, 0], [2, 0]]});
        let value = Some(json!(["a text", "a text"]));
        assert_eq!(unpacked_within(&small, 10), value);
    }
}
