//! Requests with placeholders, and the variants that they are sent as.
//!
//! A value depends on the seed, the position of the request and the number of the variant alone. So
//! each variant can be made by itself, before a load, and is the same wherever it is made. What a
//! placeholder is stands in `placeholder`.

use std::io;

use serde::{Deserialize, Serialize};

use crate::content::Content;
use crate::placeholder::{Place, Tables, Template, ValueTable};
use crate::random::Random;
use crate::request::Request;

/// Most variants of a request with placeholders.
const VARIANTS_MAX: u64 = 100_000;
/// What all variants take together, bytes, as far as one of each request says it.
const VARIANT_BYTES_MAX: usize = 64 << 20;
/// What the head of a request takes beside its path and its own headers, bytes, about.
const HEAD_BYTES: usize = 64;

/// A request, cut at its placeholders.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    pub(crate) path: Template,
    headers: Vec<(String, Template)>,
    /// The body, where it is not sent as it stands.
    body: Option<Template>,
    /// Bytes of the body as it stands.
    body_bytes: usize,
}

/// A variant of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// Request target.
    pub path: String,
    /// Headers, in order.
    pub headers: Vec<(String, String)>,
    /// The body; `None` where it is sent as it stands, if there is one.
    pub body: Option<String>,
}

/// What placeholders stand for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Values {
    /// Seed of values that are drawn: the plan's.
    pub seed: u64,
    /// Values that were read.
    pub tables: Tables,
}

impl Cut {
    /// Cuts a request; of a body that is no text nothing is cut.
    ///
    /// # Errors
    /// A placeholder that is not known, or lacks something, and what to write.
    pub fn of(path: &str, headers: &[(String, String)], body: &[u8]) -> Result<Self, String> {
        let text = |text: &str| Template::parse(text, Place::Text);
        let each = headers.iter();
        let each = each.map(|(name, value)| Ok((name.clone(), text(value)?)));
        let as_text = std::str::from_utf8(body).unwrap_or_default();
        let is_changed = |body: &Template| body.plain_text() != Some(as_text);
        Ok(Self {
            path: Template::parse(path, Place::Url)?,
            headers: each.collect::<Result<_, String>>()?,
            body: Some(text(as_text)?).filter(is_changed),
            body_bytes: body.len(),
        })
    }

    /// A request whose braces are braces.
    fn literal(request: &Request) -> Self {
        let headers = request.headers.iter();
        let headers = headers.map(|(name, text)| (name.clone(), Template::plain(text)));
        let body = request.body.as_ref();
        Self {
            path: Template::plain(&request.path),
            headers: headers.collect(),
            body: None,
            body_bytes: body.map_or(0, |body| body.content.length()),
        }
    }

    /// The same with this path, whose braces are braces.
    #[must_use]
    pub fn with_path(self, path: &str) -> Self {
        Self {
            path: Template::plain(path),
            ..self
        }
    }

    /// The same with headers whose braces are braces, and perhaps with such a body.
    #[must_use]
    pub fn with_copied(mut self, headers: &[(String, String)], body: Option<&[u8]>) -> Self {
        let copied = headers.iter();
        let copied = copied.map(|(name, text)| (name.clone(), Template::plain(text)));
        self.headers.extend(copied);
        if let Some(body) = body {
            (self.body, self.body_bytes) = (None, body.len());
        }
        self
    }

    /// Whether anything differs from variant to variant.
    pub fn varies(&self) -> bool {
        self.templates().any(|it| it.plain_text().is_none())
    }

    /// Columns of values in its headers, as header, file and column.
    pub fn header_columns(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.headers.iter().flat_map(|(name, value)| {
            let columns = value.columns();
            columns.map(move |(file, column)| (name.as_str(), file, column))
        })
    }

    fn templates(&self) -> impl Iterator<Item = &Template> {
        let headers = self.headers.iter().map(|(_, value)| value);
        headers.chain([&self.path]).chain(&self.body)
    }
}

impl Values {
    /// What the placeholders of `cuts` stand for; `read` finds the table in a file.
    ///
    /// # Errors
    /// A table that cannot be read, lacks a column, or holds what a header cannot.
    pub fn read(
        cuts: &[Cut],
        seed: u64,
        read: &dyn Fn(&str) -> io::Result<ValueTable>,
    ) -> Result<Self, String> {
        let tables = Tables::of(cuts.iter().flat_map(Cut::templates), read)?;
        for (_, file, column) in cuts.iter().flat_map(Cut::header_columns) {
            let value = tables.values(file, column).find(|it| is_no_header(it));
            if let Some(value) = value {
                return Err(format!(
                    "{{csv {file} {column}}}: a header cannot have the value {value:?}"
                ));
            }
        }
        Ok(Self { seed, tables })
    }

    /// How many variants there are of each of `cuts`, of which so many are asked for at most: the
    /// rows of the longest file where nothing but files differs, and no more than are kept.
    pub fn count(&self, cuts: &[Cut], asked_for: Option<u64>) -> u32 {
        if !cuts.iter().any(Cut::varies) {
            return 1;
        }
        let first = cuts.iter().enumerate();
        let bytes = first.map(|(at, cut)| self.variant(cut, at, 1).bytes() + cut.body_bytes);
        let bytes: usize = bytes.sum();
        let most = VARIANTS_MAX.min((VARIANT_BYTES_MAX / bytes.max(1)) as u64);
        let rows = Template::rows(cuts.iter().flat_map(Cut::templates), &self.tables);
        let variants = most.min(rows.unwrap_or(most));
        // At most `VARIANTS_MAX`.
        variants.min(asked_for.unwrap_or(variants)).max(1) as u32
    }

    /// The variant of this number, from 1 on, of the request at this position.
    pub fn variant(&self, cut: &Cut, position: usize, number: u64) -> Variant {
        let label = format!("placeholders-{position}-{number}");
        let mut random = Random::labelled(self.seed, &label);
        let mut filled = |template: &Template, place| {
            let (random, tables) = (&mut random, &self.tables);
            template.filled(number, random, tables, place)
        };
        let path = filled(&cut.path, Place::Url);
        let headers = cut.headers.iter();
        let headers = headers.map(|(name, value)| (name.clone(), filled(value, Place::Text)));
        Variant {
            path,
            headers: headers.collect(),
            body: cut.body.as_ref().map(|it| filled(it, Place::Text)),
        }
    }
}

fn is_no_header(value: &str) -> bool {
    value.chars().any(char::is_control)
}

impl Variant {
    /// What its head takes, about.
    fn bytes(&self) -> usize {
        let headers = self.headers.iter();
        let headers = headers.map(|(name, value)| name.len() + value.len());
        self.path.len() + headers.sum::<usize>() + HEAD_BYTES
    }
}

impl Request {
    /// Takes its braces for what they are: a request in which none is a placeholder says so.
    ///
    /// # Errors
    /// As of [`Cut::of`].
    pub(crate) fn settle(&mut self) -> Result<(), String> {
        if !self.placeholders {
            return Ok(());
        }
        let cut = self.cut_as_written()?;
        self.placeholders = cut.varies();
        if !self.placeholders {
            *self = self.filled(Values::default().variant(&cut, 0, 1));
        }
        Ok(())
    }

    /// The request, cut at its placeholders.
    pub fn cut(&self) -> Cut {
        // A plan that was read has no placeholder that is wrong.
        let cut = self.placeholders.then(|| self.cut_as_written().ok());
        cut.flatten().unwrap_or_else(|| Cut::literal(self))
    }

    /// Whether it is read again as it is, where nobody says whether its braces are placeholders.
    pub(crate) fn is_plainly_written(&self) -> bool {
        let as_read = self.cut_as_written().map(|cut| {
            let filled = (!cut.varies()).then(|| Values::default().variant(&cut, 0, 1));
            filled.map_or(self.placeholders, |filled| self.filled(filled) == *self)
        });
        as_read.unwrap_or(false)
    }

    fn cut_as_written(&self) -> Result<Cut, String> {
        Cut::of(&self.path, &self.headers, self.text().as_bytes())
    }

    /// The text of its body.
    fn text(&self) -> &str {
        match self.body.as_ref().map(|body| &body.content) {
            Some(Content::Text(text)) => text,
            Some(Content::Generated { .. }) | None => "",
        }
    }

    /// The request as this variant.
    pub fn filled(&self, variant: Variant) -> Self {
        let mut request = self.clone();
        request.placeholders = false;
        request.path = variant.path;
        request.headers = variant.headers;
        if let (Some(body), Some(text)) = (&mut request.body, variant.body) {
            body.content = Content::Text(text);
        }
        request
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use std::path::Path;

    use super::*;
    use crate::library::NoFiles;
    use crate::model::Plan;
    use crate::{parse, parse_workload};

    const PLAN: &str = r#"
        name = "p"
        seed = 7
        [[contender]]
        name = "a"
        server = "nginx"
        [[load]]
        clients = 1
        [[workload]]
        name = "shop"
        [[workload.request]]
        method = "POST"
        path = "/user/{csv users.csv name}?x={random 1-9}"
        headers = ["X-Id: {uuid}"]
        body.text = '{"n": {n}, "{a}": "{{n}}"}'
        expect.body = "any"
        [[workload.request]]
        path = "/{{a}}"
        [[workload.request]]
        path = "/{a}"
        placeholders = false
        [[workload.values]]
        file = "users.csv"
        columns = ["age", "name"]
        rows = [["5", "Ann Lee"], ["6", "Bob"]]
    "#;

    fn plan(text: &str) -> Plan {
        parse(text, "p.toml", Path::new("/"), &crate::Builtin).unwrap()
    }

    #[test]
    fn variants_come_from_seed_position_and_number() {
        let plan = plan(PLAN);
        let workload = &plan.workloads[0];
        let (cuts, values) = (workload.cuts(), workload.values());
        let filled =
            |at: usize, number| workload.requests[at].filled(values.variant(&cuts[at], at, number));
        let second = filled(0, 2);
        assert!(second.path.starts_with("/user/Bob?x="), "{}", second.path);
        assert_eq!(second.text(), r#"{"n": 2, "{a}": "{n}"}"#);
        assert_eq!(second, filled(0, 2));
        let id = |number| filled(0, number).headers[0].1.clone();
        assert_ne!(id(1), id(2));
        assert_eq!(filled(1, 2).path, "/{a}");
        assert_eq!(filled(2, 2).path, "/{a}");
        let other = parse(
            &PLAN.replace("seed = 7", "seed = 8"),
            "p",
            Path::new("/"),
            &crate::Builtin,
        );
        let other = other.unwrap();
        let first = |plan: &Plan| plan.workloads[0].filled().requests[0].headers.clone();
        assert_ne!(first(&plan), first(&other));
        let overrides = crate::Overrides {
            seed: Some(8),
            ..crate::Overrides::default()
        };
        assert_eq!(
            first(&plan.clone().with(&overrides).unwrap()),
            first(&other)
        );
        assert_eq!(
            plan.workloads[0].requests[0].name(),
            "POST /user/{csv users.csv name}?x={random 1-9}"
        );
    }

    #[test]
    fn a_plan_keeps_the_values_that_are_named_and_is_read_again_as_it_is() {
        let plan = plan(PLAN);
        let text = plan.to_toml();
        assert!(!text.contains("age"), "{text}");
        assert_eq!(text.matches("placeholders = false").count(), 2, "{text}");
        assert_eq!(
            parse(&text, "again", Path::new("/"), &NoFiles).unwrap(),
            plan
        );
        let json = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
        let plain = parse_workload("name = \"w\"\npath = \"/a\"", "w").unwrap();
        assert_eq!(
            (plain.values.clone(), plain.filled().into_owned()),
            (None, plain)
        );
    }

    #[test]
    fn there_are_as_many_variants_as_rows_or_requests_or_as_are_kept() {
        let count = |path: &str, body: &str, asked_for| {
            let cut = Cut::of(path, &[], body.as_bytes()).unwrap();
            Values::default().count(&[cut], asked_for)
        };
        assert_eq!(count("/", "", Some(5)), 1);
        assert_eq!(count("/{n}", "", Some(5)), 5);
        assert_eq!(count("/{n}", "", Some(0)), 1);
        assert_eq!(count("/{n}", "", None), 100_000);
        // 64 MiB of bodies.
        assert_eq!(count("/{n}", &"x".repeat(1 << 20), None), 63);
        let plan = plan(
            &PLAN
                .replace("?x={random 1-9}", "")
                .replace("{uuid}", "1")
                .replace("{n}", "1"),
        );
        let workload = &plan.workloads[0];
        assert_eq!(workload.values().count(&workload.cuts(), None), 2);
        // A server is made ready for all paths, and asked for the first.
        let filled = workload.filled();
        let paths = filled.requests.iter().map(|it| it.path.as_str());
        assert_eq!(
            paths.collect::<Vec<_>>(),
            ["/user/Ann%20Lee", "/{a}", "/{a}", "/user/Bob"]
        );
        let samples = workload.samples(0, &workload.requests[0]);
        assert_eq!(samples.len(), 2);
    }

    #[test]
    fn what_cannot_be_filled_in_is_named_with_its_line() {
        let message = |old: &str, new: &str| {
            let text = PLAN.replacen(old, new, 1);
            let read = parse(&text, "p.toml", Path::new("/"), &crate::Builtin);
            read.map(|_| ()).unwrap_err().to_string()
        };
        let wrong = message("{random 1-9}", "{random 9}");
        assert!(wrong.starts_with("p.toml:13:"), "{wrong}");
        assert!(
            wrong.contains("two whole numbers") && wrong.contains("placeholders = false"),
            "{wrong}"
        );
        let wrong = message("placeholders = false", "");
        assert!(
            wrong.contains("{a} is no placeholder; there are {n}, "),
            "{wrong}"
        );
        let wrong = message("{csv users.csv name}", "{csv users.csv id}");
        assert!(
            wrong.contains("users.csv has no such column; there are age, name"),
            "{wrong}"
        );
        let wrong = message("{csv users.csv name}", "{csv other.csv id}");
        assert!(
            wrong.contains("other.csv: no files are read here"),
            "{wrong}"
        );
        let text = PLAN
            .replace("{uuid}", "{csv users.csv name}")
            .replace("Ann Lee", "a\\nb");
        let wrong = parse(&text, "p.toml", Path::new("/"), &crate::Builtin)
            .unwrap_err()
            .to_string();
        assert!(
            wrong.contains(r#"a header cannot have the value "a\nb""#),
            "{wrong}"
        );
    }
}
