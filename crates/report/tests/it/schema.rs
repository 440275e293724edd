//! The schema that scripts take is that of the types, and the document keeps to it.

#![expect(
    clippy::disallowed_methods,
    reason = "a test reads its files; the library does not"
)]

use std::path::Path;

use bakeoff_report::{json, report_schema, view};
use serde_json::Value;

/// `BLESS=1 cargo test -p bakeoff-report --test it schema` writes it anew.
#[test]
fn docs_schema_is_current() {
    let path = "../../docs/schema/report.schema.json";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, report_schema()).expect("the folder can be written");
    }
    let stored = std::fs::read_to_string(&path).expect("the schema is there");
    assert!(
        stored == report_schema(),
        "bless docs/schema/report.schema.json"
    );
}

#[test]
fn documents_keep_to_the_schema() {
    let schema: Value = serde_json::from_str(&report_schema()).expect("a schema is JSON");
    for record in [
        bakeoff_testing::record(),
        bakeoff_testing::campaign(7),
        bakeoff_testing::record_at_constant_rate(),
    ] {
        let document: Value = serde_json::from_str(&json(&view(&record))).expect("it is JSON");
        let mut faults = Vec::new();
        check(&schema, &schema, &document, "report", &mut faults);
        assert!(faults.is_empty(), "{:#?}", &faults[..faults.len().min(10)]);
    }
}

/// The part of JSON Schema that these types come to; every property must be known.
fn check(root: &Value, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    if let Some(name) = schema["$ref"].as_str() {
        let part = root
            .pointer(name.trim_start_matches('#'))
            .expect("it is defined");
        return check(root, part, value, at, faults);
    }
    for kind in ["anyOf", "oneOf"] {
        if let Some(options) = schema[kind].as_array() {
            let fits = |option: &Value| {
                let mut own = Vec::new();
                check(root, option, value, at, &mut own);
                own.is_empty()
            };
            if !options.iter().any(fits) {
                faults.push(format!("{at}: none of {kind} fits {value}"));
            }
            return;
        }
    }
    if let Some(constant) = schema.get("const").filter(|constant| *constant != value) {
        faults.push(format!("{at}: {value} is not {constant}"));
    }
    if let Some(names) = schema["enum"]
        .as_array()
        .filter(|names| !names.contains(value))
    {
        faults.push(format!("{at}: {value} is none of {names:?}"));
    }
    if !is_of_type(&schema["type"], value) {
        faults.push(format!("{at}: {value} is no {}", schema["type"]));
    }
    match value {
        Value::Array(items) if schema["items"].is_object() => {
            for (index, item) in items.iter().enumerate() {
                check(
                    root,
                    &schema["items"],
                    item,
                    &format!("{at}[{index}]"),
                    faults,
                );
            }
        }
        Value::Object(fields) => {
            for required in schema["required"].as_array().into_iter().flatten() {
                if !fields.contains_key(required.as_str().expect("a name")) {
                    faults.push(format!("{at}: {required} is missing"));
                }
            }
            for (name, field) in fields {
                let at = format!("{at}.{name}");
                let known = schema["properties"].get(name);
                let more = &schema["additionalProperties"];
                let pattern = schema["patternProperties"].as_object();
                let by_pattern = pattern.and_then(|patterns| patterns.values().next());
                match known.or(by_pattern) {
                    Some(part) => check(root, part, field, &at, faults),
                    None if more.is_object() => check(root, more, field, &at, faults),
                    None => faults.push(format!("{at}: not in the schema")),
                }
            }
        }
        _ => {}
    }
}

fn is_of_type(wanted: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    match wanted {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}
