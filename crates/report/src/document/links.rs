//! What the network between hosts carried.

use super::{Column, Field, Part, Section, Table, Unit};
use crate::number::{digits, plain};
use crate::view::{Link, Report};

/// Each link with both measurements; nothing where one machine did everything.
pub(super) fn draw(report: &Report) -> Option<Section> {
    let links = &report.campaign.links;
    let columns = vec![
        Column::new("from", "from", Unit::Text),
        Column::new("to", "to", Unit::Text),
        Column::new("before_bits_per_s", "before the first round", Unit::Bits),
        Column::new("after_bits_per_s", "after the last", Unit::Bits),
        Column::new("rtt_ns", "round trip", Unit::Milliseconds),
        Column::new("changed", "by more than a tenth", Unit::Text),
    ];
    let table = || Table::of("links", columns, links.iter().map(row).collect());
    let section = || Section::new("links", "Links between hosts", vec![Part::Table(table())]);
    (!links.is_empty()).then(section)
}

fn row(link: &Link) -> Vec<Field> {
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
    vec![
        names(&link.from),
        names(&link.to),
        bits(link.before_bits_per_s),
        bits(link.after_bits_per_s),
        Field::number(link.rtt_ns.map(|ns| ns as f64)),
        Field::text(changed),
    ]
}
