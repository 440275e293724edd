//! A comparison as a document: the answer first, then a table for each workload and load.

use bakeoff_audit::{Ruling, Worse, percent};
use bakeoff_stats::Metric;

use super::{Compare, CompareRow, CompareSide, CompareValue};
use crate::document::{Document, Field, Line, Part, Rows, Section, Unit, fitted, unit_of};
use crate::number::counted;
use crate::view::Tone;

/// Rounds beyond which more of them are no advice.
use bakeoff_audit::ROUNDS_PROPOSED_MAX;

pub(super) fn document(compare: &Compare) -> Document {
    let mut sections = vec![answer_section(compare)];
    let same = |left: &CompareRow, right: &CompareRow| {
        left.workload == right.workload
            && left.load == right.load
            && left.first == right.first
            && left.second == right.second
    };
    sections.extend(compare.rows.chunk_by(same).map(cell));
    fitted(Document {
        title: String::new(),
        sections,
    })
}

/// The answer as a sentence.
pub(super) fn answer(compare: &Compare) -> String {
    let gated = compare.rows.iter().filter(|row| row.gate.is_some());
    let of = |ruling: Ruling| {
        gated
            .clone()
            .filter(move |row| row.ruling == ruling)
            .count() as u64
    };
    let all = gated.clone().count() as u64;
    let (first, second) = (names(&compare.first), names(&compare.second));
    match compare.ruling {
        Ruling::Shown => format!("{second} against {first}; there is no gate"),
        Ruling::Passed => format!(
            "passed: {second} {} not worse than {first} by {}",
            match compare.second.contenders.len() {
                1 => "is",
                _ => "are",
            },
            match all {
                1 => "the gate".to_owned(),
                _ => format!("any of {}", counted(all, "gate")),
            }
        ),
        Ruling::Breached => format!(
            "breached: {second} against {first}: {} of {}",
            of(Ruling::Breached),
            counted(all, "gate")
        ),
        Ruling::CannotTell if all == 0 => {
            format!("cannot tell: no number of {second} and {first} can be compared")
        }
        Ruling::CannotTell if of(Ruling::CannotTell) == 0 => {
            format!("cannot tell: {second} against {first}: contenders are missing")
        }
        Ruling::CannotTell => format!(
            "cannot tell: {second} against {first}: {} of {}",
            of(Ruling::CannotTell),
            counted(all, "gate")
        ),
    }
}

fn names(side: &CompareSide) -> String {
    let names = side.contenders.join(", ");
    match &side.record {
        Some(record) => format!("{names} ({record})"),
        None => names,
    }
}

fn answer_section(compare: &Compare) -> Section {
    let tone = match compare.ruling {
        Ruling::Shown => Tone::Note,
        Ruling::Passed => Tone::Good,
        Ruling::CannotTell => Tone::Warning,
        Ruling::Breached => Tone::Bad,
    };
    let mut lines = vec![Line {
        tone: Some(tone).filter(|tone| *tone != Tone::Bad),
        ..Line::new(&compare.text)
    }];
    for wanted in [Ruling::Breached, Ruling::CannotTell] {
        let rows = compare.rows.iter().filter(|row| row.gate.is_some());
        let rows = rows.filter(|row| row.ruling == wanted);
        lines.extend(rows.map(|row| Line::new(sentence(row, whose(compare))).below()));
    }
    if !compare.paired {
        let began = format!(
            "two campaigns, begun {} and {}: their rounds are not paired, and the machine may have \
             changed in between; two contenders of one campaign are compared more reliably",
            compare.first.started_at, compare.second.started_at
        );
        lines.push(Line::toned(Tone::Warning, began));
    }
    for one in &compare.not_compared {
        lines.push(Line::toned(Tone::Warning, one.text()));
    }
    if compare.forced {
        let text = "compared with --force although the records differ in:";
        lines.push(Line::toned(Tone::Warning, text));
        let differences = compare.differences.iter();
        lines.extend(differences.map(|one| {
            let text = format!("{}: {}", one.what, one.text);
            Line::new(text).below()
        }));
    }
    Section::new("answer", "", vec![Part::Lines(lines)])
}

/// What a sentence has to name beside workload and load.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Whose {
    /// Nothing: all are of the same contender.
    Known,
    /// The contender that is held against another.
    Named,
}

/// Whether sentences have to say which contender they are of.
fn whose(compare: &Compare) -> Whose {
    let is_known = compare
        .rows
        .windows(2)
        .all(|two| two[0].second == two[1].second);
    if is_known { Whose::Known } else { Whose::Named }
}

/// A gate as a sentence: `rate of html-small, c50: 6.1 % worse (4 to 8.2 %), gate 5 %`.
pub(super) fn sentence(row: &CompareRow, whose: Whose) -> String {
    let contender = match whose {
        Whose::Known => String::new(),
        Whose::Named => format!("{}, ", row.second),
    };
    let mut text = format!(
        "{} of {contender}{}, {}",
        row.metric.short_name(),
        row.workload,
        row.load
    );
    if let Some(worse) = &row.worse {
        text.push_str(&format!(": {}", amount(worse)));
        if row.metric == Metric::RatePerS {
            text.push_str(&fewer(worse));
        }
    }
    if let Some(gate) = row.gate {
        text.push_str(&format!(", gate {} %", percent(gate)));
    }
    if row.ruling == Ruling::CannotTell || row.reason.is_some() {
        text.push_str(&open(row));
    }
    text
}

/// Why it is not decided, and what would decide it.
fn open(row: &CompareRow) -> String {
    let reason = row.reason.as_ref().map(|reason| format!(": {reason}"));
    let rounds = match row.rounds_needed {
        Some(rounds) if rounds > ROUNDS_PROPOSED_MAX => {
            format!("; it would take more than {ROUNDS_PROPOSED_MAX} rounds")
        }
        Some(rounds) => format!("; about {rounds} rounds would decide it"),
        None => String::new(),
    };
    reason.unwrap_or_default() + &rounds
}

/// `, that is 20 % fewer requests/s`, of a rate that is 25 % worse. Gates take 1.25 times as bad
/// for worse by 25 % of every metric, but readers of a rate expect its own change.
fn fewer(worse: &Worse) -> String {
    let change = 1.0 / (1.0 + worse.point) - 1.0;
    let noun = if change < 0.0 { "fewer" } else { "more" };
    let (own, gates) = (percent(change.abs()), percent(worse.point.abs()));
    if own == gates {
        String::new()
    } else {
        format!(", that is {own} % {noun} requests/s")
    }
}

/// `6.1 % worse (4 to 8.2 %)`, `2 % better (-1 to 5 %)`.
fn amount(worse: &Worse) -> String {
    let (share, noun) = if worse.point > 0.0 {
        (worse.point, "worse")
    } else {
        (-worse.point, "better")
    };
    let end = |end: Option<f64>| {
        end.map_or("?".to_owned(), |end| {
            percent(if worse.point > 0.0 { end } else { -end })
        })
    };
    let (low, high) = if worse.point > 0.0 {
        (worse.low, worse.high)
    } else {
        (worse.high, worse.low)
    };
    format!(
        "{} % {noun} ({} to {} %)",
        percent(share),
        end(low),
        end(high)
    )
}

fn cell(rows: &[CompareRow]) -> Section {
    let head = &rows[0];
    let shown = |share: Option<f64>, none: &str| {
        share.map_or(none.to_owned(), |share| format!("{} %", percent(share)))
    };
    let end = |end: Option<f64>| end.map_or("?".to_owned(), percent);
    let interval = |one: &Worse| format!("{} to {} %", end(one.low), end(one.high));
    let table = Rows::new("compare", rows)
        .text("", "", |row| row.metric.phrase())
        .text("", &head.first, |row| {
            value(row.metric, row.first_value.as_ref())
        })
        .text("", &head.second, |row| {
            value(row.metric, row.second_value.as_ref())
        })
        .text("", "worse by", |row| {
            shown(row.worse.as_ref().map(|one| one.point), "-")
        })
        .text("", "interval", |row| {
            row.worse.as_ref().map_or("-".to_owned(), interval)
        })
        .text("", "gate", |row| shown(row.gate, ""))
        .text("", "", |row| ruling(row));
    let title = format!("{}, {}", head.workload, head.load);
    Section::new("cells", title, vec![table.part()])
}

fn ruling(row: &CompareRow) -> Field {
    let tone = match row.ruling {
        Ruling::Shown => None,
        Ruling::Passed => Some(Tone::Good),
        Ruling::CannotTell => Some(Tone::Warning),
        Ruling::Breached => Some(Tone::Bad),
    };
    Field {
        tone,
        ..Field::text(match row.ruling {
            // Why is in the lines above where there is a gate.
            Ruling::Shown if row.worse.is_none() => "not comparable",
            Ruling::Shown => "",
            ruling => ruling.name(),
        })
    }
}

/// A value with its unit.
fn value(metric: Metric, value: Option<&CompareValue>) -> String {
    let unit = unit_of(metric);
    let sign = match unit {
        Unit::PerSecond => "/s",
        Unit::Milliseconds => " ms",
        Unit::Microseconds => " µs",
        _ => "",
    };
    value.map_or("-".to_owned(), |one| {
        let bound = one.bound.map_or(String::new(), |sign| format!("{sign} "));
        format!("{bound}{}{sign}", unit.show(one.estimate.point))
    })
}
