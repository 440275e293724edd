//! A TOML text that knows the place of each of its values.
//!
//! What may be at a place is up to `check` (keys, types, ranges) and `resolve`.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Place, PlanError};

/// A TOML text with its tree.
pub(crate) struct Source<'t> {
    name: &'t str,
    text: &'t str,
    root: Spanned<DeTable<'t>>,
}

impl<'t> Source<'t> {
    /// Reads `text`; `name` is what messages call it.
    ///
    /// # Errors
    /// The text is not TOML.
    pub(crate) fn read(text: &'t str, name: &'t str) -> Result<Self, PlanError> {
        match DeTable::parse(text) {
            Ok(root) => Ok(Self { name, text, root }),
            Err(error) => Err(PlanError::Syntax {
                place: place_in(text, name, error.span().map_or(0, |span| span.start)),
                problem: error.message().trim().replace('\n', ", "),
            }),
        }
    }

    /// The value that the text stands for.
    ///
    /// # Errors
    /// The text does not fit the type, in the type's own words.
    pub(crate) fn deserialize<T: serde::de::DeserializeOwned>(&self) -> Result<T, PlanError> {
        toml::from_str(self.text).map_err(|error| PlanError::Unreadable {
            place: self.place_at(error.span().map_or(0, |span| span.start)),
            problem: error.message().trim().replace('\n', ", "),
        })
    }

    /// The whole text.
    pub(crate) fn text(&self) -> &'t str {
        self.text
    }

    /// The tree.
    pub(crate) fn root(&self) -> &Spanned<DeTable<'t>> {
        &self.root
    }

    /// The place of the byte at `offset`.
    pub(crate) fn place_at(&self, offset: usize) -> Box<Place> {
        place_in(self.text, self.name, offset)
    }

    /// The place of the value at `path`, such as `load.1.clients`, or of the nearest table
    /// around it where the text does not have it.
    pub(crate) fn place(&self, path: &str) -> Box<Place> {
        let mut steps = path.split('.').filter(|step| !step.is_empty());
        let Some(first) = steps.next() else {
            return self.place_at(self.root.span().start);
        };
        let Some(mut value) = child(self.root.get_ref(), first) else {
            return self.place_at(self.root.span().start);
        };
        for step in steps {
            let next = match value.get_ref() {
                DeValue::Table(table) => child(table, step),
                DeValue::Array(list) => step.parse().ok().and_then(|index: usize| list.get(index)),
                _ => None,
            };
            match next {
                Some(next) => value = next,
                None => break,
            }
        }
        self.place_at(value.span().start)
    }
}

fn child<'a, 't>(table: &'a DeTable<'t>, key: &str) -> Option<&'a Spanned<DeValue<'t>>> {
    table
        .iter()
        .find(|(name, _)| name.get_ref() == key)
        .map(|(_, value)| value)
}

fn place_in(text: &str, name: &str, offset: usize) -> Box<Place> {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    Box::new(Place {
        source: name.to_owned(),
        position: Some((line, column)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name = \"ä\" # ä\n[[load]]\nclients = 1\n[[load]]\nclients = [2,\n 3]\n";

    #[track_caller]
    fn check(path: &str, line: usize, column: usize) {
        let source = Source::read(TEXT, "a.toml").unwrap();
        assert_eq!(source.place(path).position, Some((line, column)), "{path}");
    }

    #[test]
    fn finds_values_and_falls_back_to_what_is_around_them() {
        check("name", 1, 8);
        check("load.0", 2, 1);
        check("load.1.clients", 5, 11);
        check("load.1.clients.1", 6, 2);
        check("load.1.rate", 4, 1);
        check("rounds", 1, 1);
        check("", 1, 1);
    }

    #[test]
    fn columns_count_characters() {
        let error = Source::read("name = \"ä\" ß", "a.toml").err().unwrap();
        assert_eq!(error.place().to_string(), "a.toml:1:12");
    }
}
