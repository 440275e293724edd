//! A search as a document: the answer, the bounds, the latency curve, and the trials.

use super::FindReport;
use super::sentence::{searches_have_a_goal_in_common, trust};
use super::view::{CurveRow, FoundRow, QuantileRow};
use crate::document::{Extent, Field, Line, Part, Rows, Section, Unit, known};
use crate::number::plain;
use crate::own::{answer_section, heading};
use crate::style;
use crate::view::Tone;
use bakeoff_plan::grouped;

/// Characters of a bar that reaches the objective.
const BAR: usize = 16;

pub(super) fn sections(report: &FindReport) -> Vec<Section> {
    let mut sections = vec![answer_section(report), trusted(report), found(report)];
    sections.extend(curve(report));
    sections.push(heading(report));
    sections.push(trials(report));
    sections
}

fn trusted(report: &FindReport) -> Section {
    let lines = trust(&report.rows).into_iter();
    let lines = lines.zip(&report.rows).map(|(line, row)| {
        let is_weak = !(row.trust.lower && row.trust.upper);
        Line::toned(if is_weak { Tone::Note } else { Tone::Good }, line)
    });
    let parts = vec![Part::Lines(lines.collect())];
    Section::new("trust", "How far to trust it", parts)
}

fn found(report: &FindReport) -> Section {
    let table = Rows::new("found", &report.rows)
        .text("contender", "contender", |row| row.contender.clone())
        .text("workload", "workload", |row| row.workload.clone())
        .text("goal", "goal", |row| row.goal.text.clone())
        .per_second("lower_per_s", "lower", |row| {
            known(row.lower_per_s, &row.why)
        })
        .per_second("upper_per_s", "upper", |row| {
            known(row.upper_per_s, &row.why)
        })
        .per_second("achieved_per_s", "achieved", |row| {
            known(row.achieved_per_s, &row.why)
        })
        .text("irregular", "irregular", |row| {
            row.irregular.map_or("", |irregular| irregular.name())
        })
        .text("confirmed", "confirmed", |row| match row.confirmed {
            Some(true) => "yes",
            Some(false) => "no",
            None => "-",
        })
        .count("trials", "trials", |row| row.trials.len())
        .data("lower_servers", Unit::Count, |row| row.behind.lower_servers)
        .data("upper_servers", Unit::Count, |row| row.behind.upper_servers)
        .data("set_aside", Unit::Count, |row| row.behind.set_aside)
        .data("missed", Unit::Count, |row| row.tally.all_missed() as f64)
        .data("lowered_from_per_s", Unit::PerSecond, |row| {
            row.behind.lowered_from_per_s
        })
        .data("yardstick_per_s", Unit::PerSecond, |row| {
            row.behind.yardstick_per_s
        })
        .data("spent_s", Unit::Count, |row| row.behind.spent_s);
    let table = with_search(table, report, |row| row);
    Section::new("found", "Bounds, requests/s", vec![table.part()])
}

/// With the search that a row is of, for eyes where its goal does not name it.
fn with_search<R>(table: Rows<R>, report: &FindReport, of: impl Fn(&R) -> &FoundRow) -> Rows<R> {
    let search = |row: &R| of(row).goal.search.clone();
    let table = table.text("search", "search", search);
    table.shown_if(searches_have_a_goal_in_common(&report.rows))
}

/// Each contender at each workload once: the goals share its curve.
pub(super) fn curves<'r>(report: &'r FindReport) -> Vec<&'r FoundRow> {
    let with_curve = report.rows.iter().filter(|row| !row.curve.is_empty());
    let key = |row: &'r FoundRow| (&row.contender, &row.workload, &row.goal.search);
    let all = grouped(with_curve.map(|row| (key(row), row)));
    all.into_iter().map(|(_, rows)| rows[0]).collect()
}

/// A row of the table of curves: a point, or a bound as the end of the curve.
struct CurvePlace<'r> {
    row: &'r FoundRow,
    /// `None` of a bound.
    point: Option<&'r CurveRow>,
    /// `None` under the upper bound, where it would be a share of more than all.
    share: Option<f64>,
    rate_per_s: f64,
    /// The quantile of the goal.
    goal_ns: Option<u64>,
}

fn curve(report: &FindReport) -> Option<Section> {
    let shown = curves(report);
    shown.first()?;
    let places = shown.iter().flat_map(|row| {
        let points = row.curve.iter().map(|point| CurvePlace {
            row,
            point: Some(point),
            share: Some(point.share),
            rate_per_s: point.rate_per_s,
            goal_ns: point.latency_ns(row.goal.quantile),
        });
        points.chain(bounds(row))
    });
    let mut table = Rows::new("curve", places)
        .text("contender", "contender", |it| it.row.contender.clone())
        .text("workload", "workload", |it| it.row.workload.clone())
        .percent("share", "of lower", |it| it.share)
        .per_second("rate_per_s", "requests/s", |it| it.rate_per_s);
    for one in quantiles(&shown) {
        let name = one.name();
        table = table.milliseconds(&name, &name, |it| latency(it, one));
    }
    let table = table
        .text("bar", "of the objective", |it| bar(it.row, it.goal_ns))
        .count("count", "requests", |it| it.point.and_then(|it| it.count))
        .percent("failed_share", "failed", |it| it.point?.failed_share);
    let table = with_search(table, report, |it| it.row);
    let mut parts = vec![table.part()];
    let remarks: Vec<Line> = shown.iter().flat_map(|row| remarks(row)).collect();
    if !remarks.is_empty() {
        parts.push(Part::Lines(remarks));
    }
    let title = "Latency up to the knee";
    Some(Section::new("curve", title, parts))
}

/// The quantiles of all curves, each once: those of two searches may differ.
fn quantiles(shown: &[&FoundRow]) -> Vec<QuantileRow> {
    let points = shown.iter().flat_map(|row| &row.curve);
    let mut all: Vec<QuantileRow> = points.flat_map(|point| &point.quantiles).copied().collect();
    all.sort_by(|left, right| left.quantile.total_cmp(&right.quantile));
    all.dedup_by_key(|one| one.quantile);
    all
}

/// What weakens points of a curve, or why they were not measured.
fn remarks(row: &FoundRow) -> impl Iterator<Item = Line> {
    row.curve.iter().filter_map(|point| {
        let why = point.why.as_deref()?;
        let (contender, workload) = (plain(&row.contender), plain(&row.workload));
        let share = (point.share * 1e4).round() / 1e2;
        let text = format!("{contender}, {workload}, at {share} %: {}", plain(why));
        Some(Line::toned(Tone::Note, text))
    })
}

/// A quantile at a place of the curve, or why there is none.
fn latency(place: &CurvePlace<'_>, column: QuantileRow) -> Field {
    let is_goals = Some(column.quantile) == place.row.goal.quantile;
    let Some(point) = place.point else {
        return Field::from(place.goal_ns.filter(|_| is_goals));
    };
    let value = point.latency_ns(Some(column.quantile));
    let mut own = point.quantiles.iter();
    let why = match &point.why {
        Some(why) if point.count.is_none() => why.as_str(),
        _ if !own.any(|one| one.quantile == column.quantile) => "a quantile of another search",
        _ => "too few requests",
    };
    known(value, &Some(why.to_owned()))
}

/// The bounds as the ends of the curve, where trials there have the quantile of the goal.
fn bounds(row: &FoundRow) -> impl Iterator<Item = CurvePlace<'_>> {
    row.ends().map(|(per_s, ns)| CurvePlace {
        row,
        point: None,
        share: row.lower_per_s.filter(|whole| *whole == per_s).map(|_| 1.0),
        rate_per_s: per_s,
        goal_ns: Some(ns),
    })
}

/// A latency beside the objective: a bar that reaches it is 16 characters long, and one beyond ends
/// in an arrow.
fn bar(row: &FoundRow, latency_ns: Option<u64>) -> Field {
    let Some((ns, below)) = latency_ns.zip(row.goal.below_ns.filter(|below| *below > 0)) else {
        return Field::text("");
    };
    let share = ns as f64 / below as f64;
    let beyond = if share > 1.0 { "▶" } else { "" };
    Field::text(style::bar(share.min(1.0), BAR) + beyond)
}

fn trials(report: &FindReport) -> Section {
    let rows = report.rows.iter();
    let rows = rows.flat_map(|found| found.trials.iter().map(move |one| (found, one)));
    let table = Rows::new("trials", rows)
        .text("id", "trial", |(_, one)| one.id.clone())
        .text("goal", "goal", |(found, _)| found.goal.text.clone())
        .text("purpose", "for", |(_, one)| one.purpose.name())
        .per_second("rate_per_s", "requests/s", |(_, one)| one.rate_per_s)
        .ratio("length_s", "seconds", |(_, one)| one.length_s)
        .per_second("achieved_per_s", "achieved", |(_, one)| one.achieved_per_s)
        .milliseconds("latency_ns", "quantile", |(_, one)| one.latency_ns)
        .percent("failed_share", "failed", |(_, one)| one.failed_share)
        .text("outcome", "came to", |(_, one)| match one.why {
            Some(why) => format!("{} ({})", one.outcome, why.text()),
            None => one.outcome.to_owned(),
        });
    Section::new("trials", "Trials", vec![table.part()]).within(Extent::Full)
}
