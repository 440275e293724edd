//! A search as a document: the answer, the bounds, the latency curve, and the trials.

use std::fmt::Write as _;

use super::sentence::rate;
use super::view::{CurveRow, FindReport, FoundRow, TrialRow};
use crate::document::{
    Column, Document, Extent, Field, Line, Part, Row, Section, Table, Unit, Value, fitted,
};
use crate::number::plain;
use crate::view::Tone;

/// Width and height of a picture.
const SIZE: (f64, f64) = (640.0, 260.0);
/// Room around its axes: left, right, top, bottom.
const ROOM: (f64, f64, f64, f64) = (60.0, 20.0, 30.0, 36.0);

pub(super) fn draw(report: &FindReport) -> Document {
    let mut sections = vec![answer(report), found(report)];
    sections.extend(curve(report));
    sections.push(heading(report));
    sections.push(trials(report));
    let document = Document {
        title: plain(&report.name),
        sections,
    };
    fitted(document)
}

fn section(name: &'static str, title: &str, extent: Extent, parts: Vec<Part>) -> Section {
    Section {
        name,
        title: title.to_owned(),
        extent,
        parts,
    }
}

fn answer(report: &FindReport) -> Section {
    let weak = report.contenders.iter().any(|row| row.irregular.is_some());
    let lines = report.answer.iter().map(|line| match weak {
        true => Line::toned(Tone::Note, plain(line)),
        false => Line::toned(Tone::Good, plain(line)),
    });
    section(
        "answer",
        "",
        Extent::Short,
        vec![Part::Lines(lines.collect())],
    )
}

fn heading(report: &FindReport) -> Section {
    let lines = [plain(&report.description), plain(&report.machine)];
    let lines = lines.into_iter().filter(|line| !line.is_empty());
    let parts = vec![Part::Lines(lines.map(Line::new).collect())];
    section("campaign", "", Extent::Short, parts)
}

fn column(name: &str, title: &str, unit: Unit, extent: Extent) -> Column {
    Column {
        name: name.to_owned(),
        title: title.to_owned(),
        unit,
        ends: false,
        extent,
    }
}

fn found(report: &FindReport) -> Section {
    use Extent::{Data, Short};
    let columns = vec![
        column("contender", "contender", Unit::Text, Short),
        column("workload", "workload", Unit::Text, Short),
        column("goal", "goal", Unit::Text, Short),
        column("lower_per_s", "lower", Unit::PerSecond, Short),
        column("upper_per_s", "upper", Unit::PerSecond, Short),
        column("achieved_per_s", "achieved", Unit::PerSecond, Short),
        column("irregular", "irregular", Unit::Text, Short),
        column("confirmed", "confirmed", Unit::Text, Short),
        column("trials", "trials", Unit::Count, Short),
        column("lower_servers", "servers below", Unit::Count, Data),
        column("upper_servers", "servers above", Unit::Count, Data),
        column("set_aside", "set aside", Unit::Count, Data),
        column("yardstick_per_s", "null server", Unit::PerSecond, Data),
        column("spent_s", "seconds", Unit::Count, Data),
    ];
    let table = Table {
        name: "found",
        title: String::new(),
        columns,
        rows: report.contenders.iter().map(found_row).collect(),
    };
    section(
        "found",
        "Bounds, requests/s",
        Extent::Short,
        vec![Part::Table(table)],
    )
}

fn found_row(row: &FoundRow) -> Row {
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
    Row {
        reference: false,
        fields: vec![
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
            Field::number(behind.yardstick_per_s),
            Field::of(Value::Number(behind.spent_s)),
        ],
    }
}

/// Each contender at each workload once: the goals share its curve.
fn curves(report: &FindReport) -> Vec<&FoundRow> {
    let mut shown: Vec<&FoundRow> = Vec::new();
    for row in report.contenders.iter().filter(|row| !row.curve.is_empty()) {
        let key = |row: &FoundRow| {
            (
                row.contender.clone(),
                row.workload.clone(),
                row.goal.search.clone(),
            )
        };
        if !shown.iter().any(|other| key(other) == key(row)) {
            shown.push(row);
        }
    }
    shown
}

fn curve(report: &FindReport) -> Option<Section> {
    let shown = curves(report);
    let first = shown.first()?.curve.first()?;
    let mut columns = vec![
        column("contender", "contender", Unit::Text, Extent::Short),
        column("workload", "workload", Unit::Text, Extent::Short),
        column("share", "of lower", Unit::Percent, Extent::Short),
        column("rate_per_s", "requests/s", Unit::PerSecond, Extent::Short),
    ];
    for one in &first.quantiles {
        let percent = (one.quantile * 1e6).round() / 1e4;
        let title = format!("p{percent}");
        columns.push(column(&title, &title, Unit::Milliseconds, Extent::Short));
    }
    columns.push(column("count", "requests", Unit::Count, Extent::Short));
    columns.push(column(
        "failed_share",
        "failed",
        Unit::Percent,
        Extent::Short,
    ));
    let rows = shown
        .iter()
        .flat_map(|row| row.curve.iter().map(|point| curve_row(row, point)));
    let table = Table {
        name: "curve",
        title: String::new(),
        columns,
        rows: rows.collect(),
    };
    let title = "Latency on the way to the lower bound";
    Some(section(
        "curve",
        title,
        Extent::Short,
        vec![Part::Table(table)],
    ))
}

fn curve_row(row: &FoundRow, point: &CurveRow) -> Row {
    let mut fields = vec![
        Field::text(plain(&row.contender)),
        Field::text(plain(&row.workload)),
        Field::of(Value::Number(point.share)),
        Field::of(Value::Number(point.rate_per_s)),
    ];
    fields.extend(point.quantiles.iter().map(|one| {
        let value = one.latency_ns.map(|ns| ns as f64);
        let reason = value.is_none().then(|| "too few requests".to_owned());
        Field {
            reason,
            ..Field::number(value)
        }
    }));
    fields.push(Field::of(Value::Number(point.count as f64)));
    fields.push(Field::number(point.failed_share));
    Row {
        reference: false,
        fields,
    }
}

fn trials(report: &FindReport) -> Section {
    use Extent::Full;
    let columns = vec![
        column("id", "trial", Unit::Text, Full),
        column("goal", "goal", Unit::Text, Full),
        column("purpose", "for", Unit::Text, Full),
        column("rate_per_s", "requests/s", Unit::PerSecond, Full),
        column("length_s", "seconds", Unit::Ratio, Full),
        column("achieved_per_s", "achieved", Unit::PerSecond, Full),
        column("latency_ns", "quantile", Unit::Milliseconds, Full),
        column("failed_share", "failed", Unit::Percent, Full),
        column("outcome", "came to", Unit::Text, Full),
    ];
    let row = |found: &FoundRow, one: &TrialRow| Row {
        reference: false,
        fields: vec![
            Field::text(plain(&one.id)),
            Field::text(found.goal.text.clone()),
            Field::text(one.purpose),
            Field::number(one.rate_per_s),
            Field::of(Value::Number(one.length_s)),
            Field::number(one.achieved_per_s),
            Field::number(one.latency_ns.map(|ns| ns as f64)),
            Field::number(one.failed_share),
            Field::text(match one.why {
                Some(why) => format!("{} ({})", one.outcome, why.text()),
                None => one.outcome.to_owned(),
            }),
        ],
    };
    let rows = report
        .contenders
        .iter()
        .flat_map(|found| found.trials.iter().map(|one| row(found, one)));
    let table = Table {
        name: "trials",
        title: String::new(),
        columns,
        rows: rows.collect(),
    };
    section("trials", "Trials", Full, vec![Part::Table(table)])
}

/// The latency curve of each contender as SVG, with its knee between the bounds: latency on a
/// logarithmic axis over the rate.
pub(super) fn picture(report: &FindReport) -> String {
    curves(report).into_iter().filter_map(one_picture).collect()
}

fn one_picture(row: &FoundRow) -> Option<String> {
    let points: Vec<(f64, Vec<(f64, f64)>)> = row
        .curve
        .iter()
        .map(|point| {
            let known = point.quantiles.iter();
            let known = known.filter_map(|it| Some((it.quantile, it.latency_ns? as f64)));
            (point.rate_per_s, known.collect())
        })
        .collect();
    let all = points
        .iter()
        .flat_map(|(_, known)| known)
        .map(|(_, ns)| *ns);
    let asked = row.goal.below_ns.map(|ns| ns as f64);
    let least = all.clone().chain(asked).reduce(f64::min)?.max(1.0) / 2.0;
    let most = all.chain(asked).reduce(f64::max)?.max(2.0) * 2.0;
    let end = row.upper_per_s.or(row.lower_per_s)? * 1.05;
    let (left, right, top, bottom) = ROOM;
    let x = |rate: f64| left + rate / end * (SIZE.0 - left - right);
    let y = |ns: f64| {
        let share = (ns / least).ln() / (most / least).ln();
        SIZE.1 - bottom - share * (SIZE.1 - top - bottom)
    };
    let name = crate::html::escaped(&plain(&format!("{} ({})", row.contender, row.workload)));
    let mut out = format!(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"latency over rate of {name}\">\n\
         <text x=\"{left}\" y=\"16\">{name}: latency in ms over requests/s</text>\n",
        SIZE.0, SIZE.1
    );
    marks(&mut out, row, &points, &|rate, ns| (x(rate), y(ns)));
    lines(&mut out, row, &points, &|rate, ns| (x(rate), y(ns)));
    out.push_str("</svg>\n");
    Some(out)
}

/// The axes, the knee between the bounds, the objective, and the rates of the points.
fn marks(
    out: &mut String,
    row: &FoundRow,
    points: &[(f64, Vec<(f64, f64)>)],
    place: &dyn Fn(f64, f64) -> (f64, f64),
) {
    let (left, right, top, bottom) = ROOM;
    let floor = SIZE.1 - bottom;
    let (x, y) = (|rate: f64| place(rate, 1.0).0, |ns: f64| place(0.0, ns).1);
    let _ = writeln!(
        out,
        "<path d=\"M{left} {top} V{floor} H{}\" fill=\"none\" stroke=\"currentColor\"/>",
        SIZE.0 - right
    );
    if let (Some(lower), Some(upper)) = (row.lower_per_s, row.upper_per_s) {
        let _ = writeln!(
            out,
            "<rect x=\"{:.1}\" y=\"{top}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#d55e00\" \
             opacity=\"0.4\"><title>knee: {} to {} requests/s</title></rect>",
            x(lower),
            (x(upper) - x(lower)).max(1.0),
            floor - top,
            rate(lower),
            rate(upper)
        );
    }
    if let Some(asked) = row.goal.below_ns.map(|ns| ns as f64) {
        let _ = writeln!(
            out,
            "<path d=\"M{left} {0:.1} H{1}\" stroke=\"#888\" stroke-dasharray=\"4 3\"/>\
             <text x=\"4\" y=\"{0:.1}\">{2}</text>",
            y(asked),
            SIZE.0 - right,
            Unit::Milliseconds.show(asked)
        );
    }
    for (rate_per_s, _) in points {
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            x(*rate_per_s),
            SIZE.1 - 12.0,
            rate(*rate_per_s)
        );
    }
}

/// One line for each quantile, with its values.
fn lines(
    out: &mut String,
    row: &FoundRow,
    points: &[(f64, Vec<(f64, f64)>)],
    place: &dyn Fn(f64, f64) -> (f64, f64),
) {
    let colours = ["#0072b2", "#009e73", "#cc79a7", "#e69f00"];
    let quantiles = row.curve.first().map(|point| &point.quantiles);
    for (one, colour) in quantiles.into_iter().flatten().zip(colours) {
        let of_quantile = points.iter().filter_map(|(rate, known)| {
            let found = known
                .iter()
                .find(|(quantile, _)| *quantile == one.quantile)?;
            Some((*rate, found.1))
        });
        let of_quantile: Vec<(f64, f64)> = of_quantile.collect();
        let places: Vec<String> = of_quantile
            .iter()
            .map(|(rate, ns)| {
                let (x, y) = place(*rate, *ns);
                format!("{x:.1},{y:.1}")
            })
            .collect();
        let percent = (one.quantile * 1e6).round() / 1e4;
        let _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\">\
             <title>p{percent}</title></polyline>",
            places.join(" ")
        );
        if let Some((rate, ns)) = of_quantile.last() {
            let (x, y) = place(*rate, *ns);
            let shown = Unit::Milliseconds.show(*ns);
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">p{percent} {shown}</text>",
                x + 4.0,
                y - 4.0
            );
        }
    }
}
