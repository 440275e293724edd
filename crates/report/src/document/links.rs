//! What the network between hosts carried.

use super::{Field, Rows, Section, known};
use crate::number::digits;
use crate::view::{Link, Report};

/// Each link with both measurements; nothing where one machine did everything.
pub(super) fn draw(report: &Report) -> Option<Section> {
    let links = &report.campaign.links;
    let table = Rows::new("links", links)
        .text("from", "from", |link| link.from.join(" + "))
        .text("to", "to", |link| link.to.join(" + "))
        .bits("before_bits_per_s", "before the first round", |link| {
            bits(link, link.before_bits_per_s)
        })
        .bits("after_bits_per_s", "after the last", |link| {
            bits(link, link.after_bits_per_s)
        })
        .milliseconds("rtt_ns", "round trip", |link| link.rtt_ns)
        .text("changed", "by more than a tenth", |link| changed(link));
    let section = || Section::new("links", "Links between hosts", vec![table.part()]);
    (!links.is_empty()).then(section)
}

fn bits(link: &Link, bits: Option<f64>) -> Field {
    Field {
        bound: (link.at_least && bits.is_some()).then_some(">="),
        ..known(bits, &Some("not measured".to_owned()))
    }
}

fn changed(link: &Link) -> String {
    match (link.changed, link.before_bits_per_s, link.after_bits_per_s) {
        (Some(true), Some(before), Some(after)) => {
            let share = (after / before.max(1.0) - 1.0) * 100.0;
            let sign = if share > 0.0 { "+" } else { "" };
            format!("changed: {sign}{} %", digits(share))
        }
        (Some(_), ..) => "no".to_owned(),
        (None, ..) => String::new(),
    }
}
