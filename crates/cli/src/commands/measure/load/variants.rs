//! The requests of a load as the engine sends them, each with its variants where it has
//! placeholders.

use std::sync::Arc;

use bakeoff_load::{Exchange, Order, Request, Speaking};
use bakeoff_plan::{Random, with_user_agent};

use super::placeholder::{Place, Tables, Template};
use super::requests::{Asked, AskedOne};
use crate::commands::measure::sent;
use crate::flags::LoadFlags;
use crate::{exit, output};

/// What all requests may take together, bytes: each is kept with its body.
const REQUEST_BYTES_MAX: usize = 1 << 30;
/// Most variants of a request with placeholders.
const VARIANTS_MAX: usize = 100_000;
/// What all variants take together, bytes, as far as one of each request says it.
const VARIANT_BYTES_MAX: usize = 64 << 20;

/// Each request with all of its variants, and how many it has.
pub(super) fn of(
    asked: &Asked,
    flags: &LoadFlags,
    speaking: &Speaking,
) -> anyhow::Result<(Vec<Exchange>, u32)> {
    let bytes: usize = asked.requests.iter().map(|it| it.body.len()).sum();
    if bytes > REQUEST_BYTES_MAX {
        return Err(exit::usage(format!(
            "the bodies of {} requests have {bytes} bytes; expected at most {REQUEST_BYTES_MAX} \
             bytes together",
            asked.requests.len()
        )));
    }
    let one = |one| Parts::of(one, &asked.order).map_err(exit::usage);
    let requests: Vec<Parts<'_>> = asked.requests.iter().map(one).collect::<Result<_, _>>()?;
    let templates = || requests.iter().flat_map(Parts::templates);
    let tables = Tables::read(templates()).map_err(exit::usage)?;
    let rows = Template::rows(templates(), &tables);
    let varies = templates().any(|template| !template.is_plain());
    let mut making = Making::new(flags, speaking, tables)?;
    let first = requests.iter().map(|parts| making.variant(parts, 1));
    let exchanges: Vec<Exchange> = first.collect::<anyhow::Result<_>>()?;
    if !varies {
        return Ok((exchanges, 1));
    }
    let bytes: usize = exchanges.iter().map(|each| each.request.len().max(1)).sum();
    let most = VARIANTS_MAX.min(VARIANT_BYTES_MAX / bytes).max(1) as u64;
    let asked_for = flags.amount.requests.unwrap_or(most);
    let variants = most.min(rows.unwrap_or(most)).min(asked_for).max(1);
    let mut all = Vec::new();
    for (parts, first) in requests.iter().zip(exchanges) {
        all.push(first);
        for number in 2..=variants {
            all.push(making.variant(parts, number)?);
        }
    }
    if !flags.print.quiet && !flags.print.json {
        let variants = bakeoff_report::count(variants);
        output::note(&format!(
            "{variants} variants of each request are made before the load; then the first comes \
             again"
        ));
    }
    Ok((all, variants as u32))
}

/// A request, cut at its placeholders.
struct Parts<'a> {
    asked: &'a AskedOne,
    path: Template,
    headers: Vec<(String, Template)>,
    /// The body, where it is text with placeholders.
    text: Template,
}

impl<'a> Parts<'a> {
    fn of(asked: &'a AskedOne, order: &Order) -> Result<Self, String> {
        let path = &asked.target.path;
        let text = |text: &str| Template::parse(text, Place::Text);
        let headers = with_user_agent(&asked.headers).into_iter();
        let headers = headers.map(|(name, value)| Ok((name, text(&value)?)));
        Ok(Self {
            asked,
            path: match order {
                // A browser recorded what it sent, braces and all.
                Order::InTurn => Template::plain(path),
                Order::ByWeight => Template::parse(path, Place::Url)?,
            },
            headers: headers.collect::<Result<_, String>>()?,
            // What is no text has no placeholders.
            text: text(std::str::from_utf8(&asked.body).unwrap_or_default())?,
        })
    }

    fn templates(&self) -> impl Iterator<Item = &Template> {
        let headers = self.headers.iter().map(|(_, value)| value);
        headers.chain([&self.path, &self.text])
    }
}

/// What every variant of a request is made of.
struct Making<'a> {
    flags: &'a LoadFlags,
    speaking: &'a Speaking,
    expected: Option<Arc<[u8]>>,
    tables: Tables,
    random: Random,
}

impl<'a> Making<'a> {
    fn new(flags: &'a LoadFlags, speaking: &'a Speaking, tables: Tables) -> anyhow::Result<Self> {
        let expected = flags.checks.expect_body.as_deref();
        let expected = expected.map(|path| sent::read("--expect-body", path));
        Ok(Self {
            flags,
            speaking,
            expected: expected.transpose()?.map(Into::into),
            tables,
            random: Random::labelled(flags.pace.seed, "placeholders"),
        })
    }

    /// The variant of this number, from 1 on.
    fn variant(&mut self, parts: &Parts<'_>, number: u64) -> anyhow::Result<Exchange> {
        let (tables, random, asked) = (&self.tables, &mut self.random, parts.asked);
        let mut filled =
            |template: &Template, place| template.filled(number, random, tables, place);
        let path = filled(&parts.path, Place::Url);
        let headers = parts.headers.iter();
        let headers: Vec<(String, String)> = headers
            .map(|(name, value)| (name.clone(), filled(value, Place::Text)))
            .collect();
        let text = (!parts.text.is_plain()).then(|| filled(&parts.text, Place::Text));
        let request = Request {
            method: &asked.method,
            target: &path,
            host: &asked.target.host,
            headers: &headers,
            body: text.as_ref().map_or(&asked.body, |text| text.as_bytes()),
            keep_alive: !self.flags.connection.no_keepalive,
        };
        let bytes = if self.flags.request.chunked {
            request.encode_chunked()
        } else {
            request.encode()
        };
        let has_streams = !self.speaking.is_h1();
        let h2 = has_streams.then(|| Exchange::over_h2(&request, asked.target.secure));
        // Results are of all variants together.
        let name = (number == 1).then(|| asked.target.url.clone());
        Ok(Exchange {
            name: name.unwrap_or_default(),
            request: bytes.map_err(exit::usage)?.into(),
            h2: h2.transpose().map_err(exit::usage)?,
            to_head_request: asked.method.eq_ignore_ascii_case("HEAD"),
            status: asked.status,
            body: self.expected.clone(),
            weight: asked.weight,
        })
    }
}
