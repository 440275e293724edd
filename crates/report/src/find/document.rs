//! A search as a document: the answer, the bounds, the latency curve, and the trials.

use super::sentence::{searches_have_a_goal_in_common, trust};
use super::view::{CurveRow, FindReport, FoundRow, QuantileRow, TrialRow};
use crate::document::{
    Column, Document, Extent, Field, Line, Part, Section, Table, Unit, Value, fitted,
};
use crate::number::plain;
use crate::own::heading;
use crate::view::Tone;
use bakeoff_plan::grouped;

/// Characters of a bar that reaches the objective.
const BAR: f64 = 16.0;
/// Parts of a character that a bar may end with.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

pub(super) fn draw(report: &FindReport) -> Document {
    let mut sections = vec![answer(report), trusted(report), found(report)];
    sections.extend(curve(report));
    sections.push(heading(&report.description, &report.machine));
    sections.push(trials(report));
    let document = Document {
        title: plain(&report.name),
        sections,
    };
    fitted(document)
}

fn answer(report: &FindReport) -> Section {
    let is_weak =
        |row: &FoundRow| row.irregular.is_some() || row.behind.lowered_from_per_s.is_some();
    let weak = report.contenders.iter().any(is_weak);
    let lines = report.answer.iter().map(|line| {
        if weak {
            Line::toned(Tone::Note, plain(line))
        } else {
            Line::toned(Tone::Good, plain(line))
        }
    });
    Section::new("answer", "", vec![Part::Lines(lines.collect())])
}

fn trusted(report: &FindReport) -> Section {
    let lines = trust(&report.contenders).into_iter();
    let lines = lines.zip(&report.contenders).map(|(line, row)| {
        let is_weak = !(row.trust.lower && row.trust.upper);
        Line::toned(if is_weak { Tone::Note } else { Tone::Good }, line)
    });
    let parts = vec![Part::Lines(lines.collect())];
    Section::new("trust", "How far to trust it", parts)
}

fn found(report: &FindReport) -> Section {
    let data = |name, title, unit| Column::new(name, title, unit).within(Extent::Data);
    let columns = vec![
        Column::new("contender", "contender", Unit::Text),
        Column::new("workload", "workload", Unit::Text),
        Column::new("goal", "goal", Unit::Text),
        Column::new("lower_per_s", "lower", Unit::PerSecond),
        Column::new("upper_per_s", "upper", Unit::PerSecond),
        Column::new("achieved_per_s", "achieved", Unit::PerSecond),
        Column::new("irregular", "irregular", Unit::Text),
        Column::new("confirmed", "confirmed", Unit::Text),
        Column::new("trials", "trials", Unit::Count),
        data("lower_servers", "servers below", Unit::Count),
        data("upper_servers", "servers above", Unit::Count),
        data("set_aside", "set aside", Unit::Count),
        data("missed", "missed below", Unit::Count),
        data("lowered_from_per_s", "lowered from", Unit::PerSecond),
        data("yardstick_per_s", "null server", Unit::PerSecond),
        data("spent_s", "seconds", Unit::Count),
        search_column(report),
    ];
    let rows = report.contenders.iter().map(found_row).collect();
    let table = Part::Table(Table::of("found", columns, rows));
    Section::new("found", "Bounds, requests/s", vec![table])
}

/// The search that a row is of, for eyes where its goal does not name it.
fn search_column(report: &FindReport) -> Column {
    let extent = if searches_have_a_goal_in_common(&report.contenders) {
        Extent::Short
    } else {
        Extent::Data
    };
    Column::new("search", "search", Unit::Text).within(extent)
}

fn found_row(row: &FoundRow) -> Vec<Field> {
    let known = |value: Option<f64>| Field {
        reason: row.why.clone().filter(|_| value.is_none()),
        ..Field::number(value)
    };
    let confirmed = match row.confirmed {
        Some(true) => "yes",
        Some(false) => "no",
        None => "-",
    };
    let behind = &row.behind;
    vec![
        Field::text(plain(&row.contender)),
        Field::text(plain(&row.workload)),
        Field::text(row.goal.text.clone()),
        known(row.lower_per_s),
        known(row.upper_per_s),
        known(row.achieved_per_s),
        Field::text(row.irregular.map_or("", |irregular| irregular.name())),
        Field::text(confirmed),
        Field::of(Value::Number(row.trials.len() as f64)),
        Field::of(Value::Number(behind.lower_servers as f64)),
        Field::of(Value::Number(behind.upper_servers as f64)),
        Field::of(Value::Number(behind.set_aside as f64)),
        Field::of(Value::Number(row.tally.all_missed() as f64)),
        Field::number(behind.lowered_from_per_s),
        Field::number(behind.yardstick_per_s),
        Field::of(Value::Number(behind.spent_s)),
        Field::text(plain(&row.goal.search)),
    ]
}

/// Each contender at each workload once: the goals share its curve.
pub(super) fn curves<'r>(report: &'r FindReport) -> Vec<&'r FoundRow> {
    let with_curve = report.contenders.iter().filter(|row| !row.curve.is_empty());
    let key = |row: &'r FoundRow| (&row.contender, &row.workload, &row.goal.search);
    let all = grouped(with_curve.map(|row| (key(row), row)));
    all.into_iter().map(|(_, rows)| rows[0]).collect()
}

fn curve(report: &FindReport) -> Option<Section> {
    let shown = curves(report);
    shown.first()?;
    let quantiles = quantiles(&shown);
    let mut columns = vec![
        Column::new("contender", "contender", Unit::Text),
        Column::new("workload", "workload", Unit::Text),
        Column::new("share", "of lower", Unit::Percent),
        Column::new("rate_per_s", "requests/s", Unit::PerSecond),
    ];
    for one in &quantiles {
        let title = one.name();
        columns.push(Column::new(&title, &title, Unit::Milliseconds));
    }
    columns.push(Column::new("bar", "of the objective", Unit::Text));
    columns.push(Column::new("count", "requests", Unit::Count));
    columns.push(Column::new("failed_share", "failed", Unit::Percent));
    columns.push(search_column(report));
    let rows = shown.iter().flat_map(|row| {
        let points = row.curve.iter();
        let points = points.map(|point| curve_row(row, point, &quantiles));
        points.chain(bound_rows(row, &quantiles))
    });
    let table = Table::of("curve", columns, rows.collect());
    let mut parts = vec![Part::Table(table)];
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

fn curve_row(row: &FoundRow, point: &CurveRow, quantiles: &[QuantileRow]) -> Vec<Field> {
    let mut fields = vec![
        Field::text(plain(&row.contender)),
        Field::text(plain(&row.workload)),
        Field::of(Value::Number(point.share)),
        Field::of(Value::Number(point.rate_per_s)),
    ];
    fields.extend(quantiles.iter().map(|column| {
        let mut of_point = point.quantiles.iter();
        let own = of_point.find(|one| one.quantile == column.quantile);
        let value = own.and_then(|one| one.latency_ns).map(|ns| ns as f64);
        let reason = || match &point.why {
            Some(why) if point.count.is_none() => why.clone(),
            _ if own.is_none() => "a quantile of another search".to_owned(),
            _ => "too few requests".to_owned(),
        };
        let reason = value.is_none().then(reason);
        Field {
            reason,
            ..Field::number(value)
        }
    }));
    let mut of_goal = point.quantiles.iter();
    let of_goal = of_goal.find(|one| Some(one.quantile) == row.goal.quantile);
    fields.push(bar(row, of_goal.and_then(|one| one.latency_ns)));
    fields.push(Field::number(point.count.map(|count| count as f64)));
    fields.push(Field::number(point.failed_share));
    fields.push(Field::text(plain(&row.goal.search)));
    fields
}

/// The bounds as the ends of the curve, where trials there have the quantile of the goal.
fn bound_rows<'r>(
    row: &'r FoundRow,
    quantiles: &'r [QuantileRow],
) -> impl Iterator<Item = Vec<Field>> + 'r {
    let behind = &row.behind;
    let lower = row.lower_per_s.zip(behind.lower_latency_ns);
    let upper = row.upper_per_s.zip(behind.upper_latency_ns);
    let whole = row.lower_per_s;
    lower.into_iter().chain(upper).map(move |(per_s, ns)| {
        // Under the upper bound it would be a share of more than all.
        let share = whole.filter(|whole| *whole == per_s).map(|_| 1.0);
        let mut fields = vec![
            Field::text(plain(&row.contender)),
            Field::text(plain(&row.workload)),
            Field::number(share),
            Field::of(Value::Number(per_s)),
        ];
        fields.extend(quantiles.iter().map(|one| {
            let is_goals = Some(one.quantile) == row.goal.quantile;
            Field::number(Some(ns as f64).filter(|_| is_goals))
        }));
        fields.extend([bar(row, Some(ns)), Field::number(None), Field::number(None)]);
        fields.push(Field::text(plain(&row.goal.search)));
        fields
    })
}

/// A latency beside the objective: a bar that reaches it is 16 characters long, and one beyond ends
/// in an arrow.
fn bar(row: &FoundRow, latency_ns: Option<u64>) -> Field {
    let Some((ns, below)) = latency_ns.zip(row.goal.below_ns.filter(|below| *below > 0)) else {
        return Field::text("");
    };
    let share = ns as f64 / below as f64;
    if share > 1.0 {
        return Field::text("█".repeat(BAR as usize) + "▶");
    }
    let eighths = (share * BAR * 8.0).round() as usize;
    Field::text("█".repeat(eighths / 8) + EIGHTHS[eighths % 8])
}

fn trials(report: &FindReport) -> Section {
    let columns = vec![
        Column::new("id", "trial", Unit::Text),
        Column::new("goal", "goal", Unit::Text),
        Column::new("purpose", "for", Unit::Text),
        Column::new("rate_per_s", "requests/s", Unit::PerSecond),
        Column::new("length_s", "seconds", Unit::Ratio),
        Column::new("achieved_per_s", "achieved", Unit::PerSecond),
        Column::new("latency_ns", "quantile", Unit::Milliseconds),
        Column::new("failed_share", "failed", Unit::Percent),
        Column::new("outcome", "came to", Unit::Text),
    ];
    let row = |found: &FoundRow, one: &TrialRow| {
        vec![
            Field::text(plain(&one.id)),
            Field::text(found.goal.text.clone()),
            Field::text(one.purpose.name()),
            Field::number(one.rate_per_s),
            Field::of(Value::Number(one.length_s)),
            Field::number(one.achieved_per_s),
            Field::number(one.latency_ns.map(|ns| ns as f64)),
            Field::number(one.failed_share),
            Field::text(match one.why {
                Some(why) => format!("{} ({})", one.outcome, why.text()),
                None => one.outcome.to_owned(),
            }),
        ]
    };
    let rows = report
        .contenders
        .iter()
        .flat_map(|found| found.trials.iter().map(|one| row(found, one)));
    let table = Part::Table(Table::of("trials", columns, rows.collect()));
    Section::new("trials", "Trials", vec![table]).within(Extent::Full)
}
