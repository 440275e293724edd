//! What the network between hosts carried.

use super::{Column, Extent, Field, Part, Row, Section, Table, Unit, Value};
use crate::number::{digits, plain};
use crate::view::{Link, Report};

/// Each link with both measurements; nothing where one machine did everything.
pub(super) fn draw(report: &Report) -> Option<Section> {
    let links = &report.campaign.links;
    let rows: Vec<Row> = links.iter().map(row).collect();
    (!rows.is_empty()).then(|| Section {
        name: "links",
        title: "Links between hosts".to_owned(),
        extent: Extent::Short,
        parts: vec![Part::Table(Table {
            name: "links",
            title: String::new(),
            columns: vec![
                column("from", "from", Unit::Text),
                column("to", "to", Unit::Text),
                column("before_bits_per_s", "before the first round", Unit::Bits),
                column("after_bits_per_s", "after the last", Unit::Bits),
                column("rtt_ns", "round trip", Unit::Milliseconds),
                column("changed", "by more than a tenth", Unit::Text),
            ],
            rows,
        })],
    })
}

fn column(name: &str, title: &str, unit: Unit) -> Column {
    Column {
        name: name.to_owned(),
        title: title.to_owned(),
        unit,
        ends: false,
        extent: Extent::Short,
    }
}

fn row(link: &Link) -> Row {
    let names = |names: &[String]| Field::text(plain(&names.join(" + ")));
    let bits = |bits: Option<f64>| Field {
        bound: (link.at_least && bits.is_some()).then_some(">="),
        reason: bits.is_none().then(|| "not measured".to_owned()),
        ..Field::number(bits)
    };
    let changed = match (link.changed, link.before_bits_per_s, link.after_bits_per_s) {
        (Some(true), Some(before), Some(after)) => {
            let share = (after / before.max(1.0) - 1.0) * 100.0;
            let sign = if share > 0.0 { "+" } else { "" };
            format!("changed: {sign}{} %", digits(share))
        }
        (Some(_), ..) => "no".to_owned(),
        (None, ..) => String::new(),
    };
    Row {
        reference: false,
        fields: vec![
            names(&link.from),
            names(&link.to),
            bits(link.before_bits_per_s),
            bits(link.after_bits_per_s),
            Field::of(
                link.rtt_ns
                    .map_or(Value::Nothing, |ns| Value::Number(ns as f64)),
            ),
            Field::text(changed),
        ],
    }
}
