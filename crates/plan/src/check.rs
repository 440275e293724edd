//! Holds a TOML text against the JSON Schema of the type that it becomes: keys, types, ranges,
//! choices. So the schema that editors take and the errors that a run gives cannot differ.
//!
//! It knows the part of JSON Schema that our types produce, not all of it; what it lets through
//! is still refused by the types themselves.

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{PlanError, meant};
use crate::in_order::distinct;
use crate::nearest::nearest;
use crate::rules::Fault;
use crate::source::Source;

/// Checks all of `source` against `schema`.
///
/// # Errors
/// Of everything wrong, the first in the text; a missing key only when nothing else is wrong,
/// since a mistyped key is the likelier cause.
pub(crate) fn check(source: &Source<'_>, schema: &Value) -> Result<(), PlanError> {
    let mut checker = Checker {
        source,
        root: schema,
        found: Vec::new(),
    };
    let table = source.root();
    checker.table(schema, "", table.span().start, table.get_ref());
    let first = checker
        .found
        .into_iter()
        .min_by_key(|(offset, error)| (matches!(error, PlanError::MissingKey { .. }), *offset));
    first.map_or(Ok(()), |(_, error)| Err(error))
}

struct Checker<'s> {
    source: &'s Source<'s>,
    root: &'s Value,
    found: Vec<(usize, PlanError)>,
}

impl Checker<'_> {
    fn table(&mut self, schema: &Value, name: &str, start: usize, table: &DeTable<'_>) {
        let open = schema
            .get("additionalProperties")
            .filter(|rest| rest.is_object());
        let properties = schema.get("properties").and_then(Value::as_object);
        for (key, value) in table.iter() {
            let text = key.get_ref().as_ref();
            match properties
                .and_then(|properties| properties.get(text))
                .or(open)
            {
                Some(schema) => self.value(schema, text, value),
                None => {
                    let known: Vec<String> = properties
                        .into_iter()
                        .flatten()
                        .map(|(key, _)| key.clone())
                        .collect();
                    let offset = key.span().start;
                    let error = PlanError::UnknownKey {
                        place: self.source.place_at(offset),
                        key: text.to_owned(),
                        table: name.to_owned(),
                        nearest: nearest(text, &known).map(str::to_owned),
                        known,
                    };
                    self.found.push((offset, error));
                }
            }
        }
        for key in schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let key = key.as_str().unwrap_or_default();
            if !table.iter().any(|(name, _)| name.get_ref() == key) {
                self.missing(properties.and_then(|all| all.get(key)), key, name, start);
            }
        }
    }

    fn missing(&mut self, schema: Option<&Value>, key: &str, table: &str, start: usize) {
        let fix = match schema {
            Some(schema) if self.takes_tables(schema) => format!("a `[[{key}]]` table"),
            Some(schema) if self.forms(schema).iter().any(|form| kind(form) == "object") => {
                format!("a `{key}` table")
            }
            Some(schema) => self.example(schema, key),
            None => String::new(),
        };
        let place = self.source.place_at(start);
        let (key, table) = (key.to_owned(), table.to_owned());
        self.found.push((
            start,
            PlanError::MissingKey {
                place,
                key,
                table,
                fix,
            },
        ));
    }

    fn value(&mut self, schema: &Value, key: &str, value: &Spanned<DeValue<'_>>) {
        let forms: Vec<Value> = self.forms(schema);
        let fitting: Vec<&Value> = forms
            .iter()
            .filter(|form| fits(kind(form), value.get_ref()))
            .collect();
        let Some(form) = fitting.first() else {
            return self.wrong_type(schema, &forms, key, value);
        };
        let offset = value.span().start;
        match value.get_ref() {
            DeValue::Table(table) => self.table(form, key, offset, table),
            DeValue::Array(list) => {
                let least = form.get("minItems").and_then(Value::as_u64).unwrap_or(0);
                if (list.len() as u64) < least {
                    let fix = format!("write at least one{}", self.such_as(schema, key));
                    self.bad(offset, format!("`{key}` is empty"), fix);
                }
                if let Some(items) = form.get("items") {
                    list.iter().for_each(|item| self.value(items, key, item));
                }
            }
            DeValue::String(text) => self.choice(&fitting, key, text, offset),
            DeValue::Integer(_) | DeValue::Float(_) => {
                let written = self.source.text().get(value.span()).unwrap_or_default();
                self.range(schema, form, key, value.get_ref(), written, offset);
            }
            DeValue::Boolean(_) | DeValue::Datetime(_) => {}
        }
    }

    fn choice(&mut self, forms: &[&Value], key: &str, text: &str, offset: usize) {
        let mut known: Vec<String> = Vec::new();
        for form in forms {
            let listed = form
                .get("enum")
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            known.extend(
                listed
                    .chain(form.get("const"))
                    .filter_map(Value::as_str)
                    .map(str::to_owned),
            );
        }
        if !known.is_empty() && !known.iter().any(|choice| choice == text) {
            let fix = meant(nearest(text, &known), &known);
            self.bad(offset, format!("`{key}` cannot be `{text}`"), fix);
        }
    }

    fn range(
        &mut self,
        schema: &Value,
        form: &Value,
        key: &str,
        value: &DeValue<'_>,
        written: &str,
        offset: usize,
    ) {
        let bound = |name, none| form.get(name).cloned().unwrap_or(Value::from(none));
        let (least, most) = (bound("minimum", i64::MIN), bound("maximum", i64::MAX));
        let number = match value {
            DeValue::Integer(integer) => i128::from_str_radix(integer.as_str(), integer.radix())
                .map_or(f64::NAN, |n| n as f64),
            DeValue::Float(float) => float.as_str().parse().unwrap_or(f64::NAN),
            _ => return,
        };
        // A comparison with NaN is false, so that NaN is out of every range.
        if Some(number) >= least.as_f64() && Some(number) <= most.as_f64() {
            return;
        }
        let such_as = self.such_as(schema, key);
        let fix = format!("write a number from {least} to {most}{such_as}");
        self.bad(offset, format!("`{key}` is {written}"), fix);
    }

    fn bad(&mut self, offset: usize, problem: String, fix: String) {
        let place = self.source.place_at(offset);
        self.found
            .push((offset, Fault::new(problem, fix).at(place)));
    }

    fn wrong_type(
        &mut self,
        schema: &Value,
        forms: &[Value],
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) {
        let kinds = distinct(forms.iter().map(|form| kind_name(kind(form))));
        let scalar = !matches!(value.get_ref(), DeValue::Table(_) | DeValue::Array(_));
        let written = self.source.text().get(value.span()).unwrap_or_default();
        let fix = if self.takes_tables(schema) {
            format!("`[[{key}]]`")
        } else if kinds == [kind_name("string")] && scalar && self.example(schema, key).is_empty() {
            format!("`{key} = \"{written}\"`")
        } else {
            self.example(schema, key)
        };
        let offset = value.span().start;
        let error = PlanError::WrongType {
            place: self.source.place_at(offset),
            key: key.to_owned(),
            expected: kinds.join(" or "),
            found: found_name(value.get_ref()).to_owned(),
            fix,
        };
        self.found.push((offset, error));
    }

    /// The schemas that a value may follow: references followed, choices opened, null left out
    /// because TOML has none.
    fn forms(&self, schema: &Value) -> Vec<Value> {
        if let Some(target) = self.target(schema) {
            return self.forms(target);
        }
        for choices in ["anyOf", "oneOf"] {
            if let Some(list) = schema.get(choices).and_then(Value::as_array) {
                return list
                    .iter()
                    .filter(|form| kind(form) != "null")
                    .flat_map(|form| self.forms(form))
                    .collect();
            }
        }
        vec![schema.clone()]
    }

    /// What a `$ref` points to.
    fn target(&self, schema: &Value) -> Option<&Value> {
        let name = schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
        self.root.get("$defs")?.get(name)
    }

    /// Whether the key stands for `[[key]]` tables.
    fn takes_tables(&self, schema: &Value) -> bool {
        let items = schema.get("items");
        items.is_some_and(|items| self.forms(items).iter().all(|form| kind(form) == "object"))
    }

    /// The schema's example as a line of TOML in backticks; empty where it has none.
    fn example(&self, schema: &Value, key: &str) -> String {
        let own = schema.get("examples").and_then(|list| list.get(0));
        if let Some(value) = own {
            return format!("`{key} = {}`", as_toml(value));
        }
        let choices = schema
            .get("anyOf")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let inner = self.target(schema).into_iter().chain(choices);
        inner
            .map(|form| self.example(form, key))
            .find(|text| !text.is_empty())
            .unwrap_or_default()
    }

    fn such_as(&self, schema: &Value, key: &str) -> String {
        match self.example(schema, key) {
            _ if self.takes_tables(schema) => format!(" under `[[{key}]]`"),
            example if example.is_empty() => String::new(),
            example => format!(", such as {example}"),
        }
    }
}

/// A value as TOML: but for lists, what our examples hold is written as in JSON.
fn as_toml(value: &Value) -> String {
    match value.as_array() {
        Some(list) => format!(
            "[{}]",
            list.iter().map(as_toml).collect::<Vec<_>>().join(", ")
        ),
        None => value.to_string(),
    }
}

/// The JSON type of a schema; of two, the one that is not null.
fn kind(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => kinds
            .iter()
            .filter_map(Value::as_str)
            .find(|kind| *kind != "null")
            .unwrap_or("null"),
        _ => "",
    }
}

fn fits(kind: &str, value: &DeValue<'_>) -> bool {
    match kind {
        "string" => value.is_str(),
        "integer" => value.is_integer(),
        "number" => value.is_integer() || value.is_float(),
        "boolean" => value.is_bool(),
        "array" => value.is_array(),
        "object" => value.is_table(),
        _ => true,
    }
}

fn kind_name(kind: &str) -> &'static str {
    match kind {
        "string" => "text in quotes",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "a table",
        _ => "something else",
    }
}

fn found_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
