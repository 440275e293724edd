//! A request header as it is written: a text, or a table that marks its value as secret.
//!
//! Whether name and value make a header is not looked at here; `requests` does that.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// A header: `"Name: value"`, or `{ name = "Name", value = "value", secret = true }`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeaderText {
    /// The header as one line, `Name: value`.
    pub(crate) line: String,
    /// Whether reports hide its value.
    pub(crate) secret: bool,
}

/// The table.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HeaderTable {
    /// Name of the header.
    #[schemars(extend("examples" = ["X-Session"]))]
    name: String,
    /// Its value.
    #[schemars(extend("examples" = ["0123456789"]))]
    value: String,
    /// Whether reports and shared records hide the value.
    #[serde(default)]
    #[schemars(extend("examples" = [true]))]
    secret: bool,
}

impl HeaderText {
    /// The header of a name and a value.
    pub(crate) fn new(name: &str, value: &str, secret: bool) -> Self {
        Self {
            line: format!("{name}: {value}"),
            secret,
        }
    }
}

impl Serialize for HeaderText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some((name, value)) = self.line.split_once(": ").filter(|_| self.secret) else {
            return serializer.serialize_str(&self.line);
        };
        let table = HeaderTable {
            name: name.to_owned(),
            value: value.to_owned(),
            secret: true,
        };
        table.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for HeaderText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Expected;
        impl<'de> Visitor<'de> for Expected {
            type Value = HeaderText;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("`Name: value`, or a table of `name`, `value` and `secret`")
            }

            fn visit_str<E: de::Error>(self, line: &str) -> Result<HeaderText, E> {
                let line = line.to_owned();
                let secret = false;
                Ok(HeaderText { line, secret })
            }

            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<HeaderText, M::Error> {
                let table = HeaderTable::deserialize(MapAccessDeserializer::new(map))?;
                Ok(HeaderText::new(&table.name, &table.value, table.secret))
            }
        }
        deserializer.deserialize_any(Expected)
    }
}

impl JsonSchema for HeaderText {
    fn schema_name() -> Cow<'static, str> {
        "Header".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<HeaderTable>();
        json_schema!({ "anyOf": [{ "type": "string" }, table] })
    }
}
