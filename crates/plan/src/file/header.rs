//! A request header as it is written: a text, or a table that marks its value as secret.
//!
//! Whether name and value make a header is not looked at here; `requests` does that.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A header: `"Name: value"`, or `{ name = "Name", value = "value", secret = true }`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Written", into = "Written")]
pub(crate) struct HeaderText {
    /// The header as one line, `Name: value`.
    pub(crate) line: String,
    /// Whether reports hide its value.
    pub(crate) secret: bool,
}

/// A header as it stands in a file.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Header")]
enum Written {
    Line(String),
    Table(HeaderTable),
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

impl From<Written> for HeaderText {
    fn from(written: Written) -> Self {
        match written {
            Written::Line(line) => Self {
                line,
                secret: false,
            },
            Written::Table(table) => Self::new(&table.name, &table.value, table.secret),
        }
    }
}

impl From<HeaderText> for Written {
    fn from(header: HeaderText) -> Self {
        match header.line.split_once(": ").filter(|_| header.secret) {
            None => Self::Line(header.line),
            Some((name, value)) => Self::Table(HeaderTable {
                name: name.to_owned(),
                value: value.to_owned(),
                secret: true,
            }),
        }
    }
}
