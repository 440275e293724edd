//! The requests of a load as the engine sends them, each with its variants where it has
//! placeholders.

use std::sync::Arc;

use bakeoff_load::{Exchange, Order, Request, Speaking};
use bakeoff_plan::{Cut, ValueTable, Variant, with_user_agent};
use bakeoff_record::read_regular_text;

use super::requests::{Asked, AskedOne};
use crate::commands::measure::sent;
use crate::flags::LoadFlags;
use crate::library::table_of;
use crate::{exit, output};

/// What all requests may take together, bytes: each is kept with its body.
const REQUEST_BYTES_MAX: usize = 1 << 30;
/// Longest file of values, bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

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
    let cuts = asked.requests.iter().map(|one| cut(one, asked.order));
    let cuts: Vec<Cut> = cuts.collect::<Result<_, _>>().map_err(exit::usage)?;
    let values = bakeoff_plan::Values::read(&cuts, flags.pace.seed, &table);
    let values = values.map_err(exit::usage)?;
    let variants = values.count(&cuts, flags.amount.requests);
    let expected = flags.checks.expect_body.as_deref();
    let expected = expected.map(|path| sent::read("--expect-body", path));
    let expected: Option<Arc<[u8]>> = expected.transpose()?.map(Into::into);
    let mut all = Vec::new();
    for (position, (one, cut)) in asked.requests.iter().zip(&cuts).enumerate() {
        // Results are of all variants together.
        let mut name = one.target.url.clone();
        for number in 1..=u64::from(variants) {
            let variant = values.variant(cut, position, number);
            let exchange = exchange(one, &variant, flags, speaking)?;
            all.push(Exchange {
                name: std::mem::take(&mut name),
                body: expected.clone(),
                ..exchange
            });
        }
    }
    if variants > 1 && !flags.print.quiet && !flags.print.json {
        let variants = bakeoff_report::count(variants.into());
        output::note(&format!(
            "{variants} variants of each request are made before the load; then the first comes \
             again"
        ));
    }
    Ok((all, variants))
}

/// The values in a file that somebody at this machine names.
fn table(file: &str) -> std::io::Result<ValueTable> {
    table_of(&read_regular_text(file.as_ref(), FILE_BYTES_MAX)?)
}

fn cut(one: &AskedOne, order: Order) -> Result<Cut, String> {
    let copied = &one.copied;
    let mut headers = with_user_agent(&[&one.headers[..], &copied.headers].concat());
    headers.truncate(headers.len() - copied.headers.len());
    let path = &one.target.path;
    match order {
        Order::ByWeight => {
            let (body, copied_body) = match copied.is_body {
                true => (&[][..], Some(&*one.body)),
                false => (&*one.body, None),
            };
            Ok(Cut::of(path, &headers, body)?.with_copied(&copied.headers, copied_body))
        }
        // A browser recorded what it sent, braces and all.
        Order::InTurn => Ok(Cut::of("", &headers, &one.body)?.with_path(path)),
    }
}

/// A variant of a request, to which any body is right.
fn exchange(
    one: &AskedOne,
    variant: &Variant,
    flags: &LoadFlags,
    speaking: &Speaking,
) -> anyhow::Result<Exchange> {
    let request = Request {
        method: &one.method,
        target: &variant.path,
        host: &one.target.host,
        headers: &variant.headers,
        body: variant
            .body
            .as_ref()
            .map_or(&one.body, |text| text.as_bytes()),
        keep_alive: !flags.connection.no_keepalive,
    };
    let bytes = if flags.request.chunked {
        request.encode_chunked()
    } else {
        request.encode()
    };
    let has_streams = !speaking.is_h1();
    let h2 = has_streams.then(|| Exchange::over_h2(&request, one.target.secure));
    Ok(Exchange {
        name: String::new(),
        request: bytes.map_err(exit::usage)?.into(),
        h2: h2.transpose().map_err(exit::usage)?,
        to_head_request: one.method.eq_ignore_ascii_case("HEAD"),
        status: one.status,
        body: None,
        weight: one.weight,
    })
}
