//! What surrounds the numbers: what was run, what weakens them, and what has no result.

use bakeoff_audit::Level;
use bakeoff_plan::grouped;
use bakeoff_stats::Metric;

use super::{Extent, Field, Line, Part, Rows, Section, Value};
use crate::number::plain;
use crate::view::{Lost, LostCell, Note, Published, Report};

/// Cells listed under a note before the rest is only counted.
const CELLS_PER_NOTE: usize = 3;

pub(super) fn heading(report: &Report) -> Section {
    let campaign = &report.campaign;
    let machine = &campaign.machine;
    let versions: Vec<String> = campaign
        .contenders
        .iter()
        .filter(|one| !one.versions.is_empty())
        .map(|one| format!("{} {}", plain(&one.name), plain(&one.versions.join(", "))))
        .collect();
    let lines = [
        plain(&campaign.description),
        format!(
            "{} CPUs ({}), {}, Linux {}, started {}",
            machine.cpus,
            plain(machine.cpu_model.as_deref().unwrap_or("model unknown")),
            plain(machine.os.as_deref().unwrap_or("system unknown")),
            plain(&machine.kernel),
            plain(&machine.started_at),
        ),
        versions.join("; "),
        campaign.caption.clone(),
    ];
    let lines = lines.into_iter().filter(|line| !line.is_empty());
    let parts = vec![Part::Lines(lines.map(Line::new).collect())];
    Section::new("campaign", "", parts)
}

/// Verdicts and what weakens them, in sentences; what sums up a note stands with the notes.
pub(super) fn cautions(report: &Report) -> Option<Section> {
    let own = report.summary.iter().filter(|one| one.note.is_none());
    let lines: Vec<Line> = own
        .map(|one| Line::toned(one.tone, plain(&one.text)))
        .collect();
    let section = Section::of_lines("cautions", "What to know", lines)?;
    Some(section.within(Extent::Full))
}

/// Every pair by every metric that was compared, with what was concluded.
pub(super) fn comparisons(report: &Report) -> Option<Section> {
    let shown = report.comparisons.iter().filter(|one| one.ratio.is_some());
    let rows = shown.map(|it| {
        let names = [&it.workload, &it.load, &it.first, &it.second];
        ((names, it.metric), it)
    });
    let table = pairs("comparisons", rows)
        .ratio("ratio", "ratio", |(_, it)| Field {
            bound: it.bound.map(crate::view::sign),
            ..Field::of(it.ratio.map_or(Value::Nothing, Value::Estimate))
        })
        .text("conclusion", "conclusion", |(_, it)| it.conclusion.name());
    (!table.table.rows.is_empty()).then(|| {
        let section = Section::new("comparisons", "Comparisons", vec![table.part()]);
        section.within(Extent::Full)
    })
}

/// Workload, load, first, second and metric of a pair.
type Pair<'r> = ([&'r String; 4], Metric);

/// A table of pairs by metric.
fn pairs<'r, R>(
    name: &'static str,
    rows: impl Iterator<Item = (Pair<'r>, R)>,
) -> Rows<(Pair<'r>, R)> {
    Rows::new(name, rows)
        .text("workload", "workload", |((names, _), _)| names[0].clone())
        .text("load", "load", |((names, _), _)| names[1].clone())
        .text("pair", "pair", |(([.., first, second], _), _)| {
            format!("{} / {}", plain(second), plain(first))
        })
        .text("metric", "metric", |((_, metric), _)| metric.phrase())
}

/// What was published of the same comparison, and whether it holds here.
pub(super) fn published(known: &Published) -> [Section; 2] {
    let rows = known.ratios.iter().map(|it| {
        let names = [&it.workload, &it.load, &it.first, &it.second];
        ((names, it.metric), it)
    });
    let table = pairs("published-ratios", rows)
        .ratio("published", "published", |(_, it)| it.published)
        .ratio("here", "here", |(_, it)| {
            Field::of(it.here.map_or(Value::Nothing, Value::Estimate))
        })
        .text("answer", "answer", |(_, it)| it.holds.text())
        .text("this record says", "this record says", |(_, it)| {
            it.says.as_str()
        });
    let line = format!("{} {}", known.title, known.summary());
    let lines = vec![Part::Lines(vec![Line::new(line)])];
    let ratios = Section::new("published-ratios", "Published ratios", vec![table.part()]);
    [
        Section::new("published", "Beside what was published", lines),
        ratios.within(Extent::Full),
    ]
}

/// What did not pass, each kind once.
pub(super) fn notes(report: &Report) -> Option<Section> {
    let bad = report.notes.iter().filter(|note| note.level > Level::Note);
    let lines: Vec<Line> = bad.flat_map(note).collect();
    Some(Section::of_lines("notes", "Notes", lines)?.within(Extent::Full))
}

fn note(note: &Note) -> Vec<Line> {
    let head = format!("[{}] {} ({})", note.number, note.code.name(), note.rule);
    let mut lines = vec![Line::new(head)];
    for cell in note.cells.iter().take(CELLS_PER_NOTE) {
        let (contender, workload) = (plain(&cell.contender), plain(&cell.workload));
        let text = format!(
            "{contender}, {workload}, {}: {}",
            plain(&cell.load),
            plain(&cell.text)
        );
        lines.push(Line::new(text).below());
    }
    if note.cells.len() > CELLS_PER_NOTE {
        let more = note.cells.len() - CELLS_PER_NOTE;
        lines.push(Line::new(format!("and {more} more")).below());
    }
    lines
}

/// Trials without a result, with reason and remedy.
pub(super) fn lost(report: &Report) -> Option<Section> {
    let mut lines = Vec::new();
    for lost in &report.lost {
        lines.push(Line::new(lost_trials(lost)));
        if let Some(message) = &lost.message {
            lines.push(Line::new(format!("the server said: {}", plain(message))).below());
        }
    }
    Section::of_lines("lost", "Trials without a result", lines)
}

/// A line about trials without a result: one cell by its name, several behind their reason.
fn lost_trials(lost: &Lost) -> String {
    let rounds: Vec<String> = lost.rounds.iter().map(ToString::to_string).collect();
    let contender = plain(&lost.contender);
    let end = format!(
        "{} (round {}): {}",
        lost.verdict.name(),
        rounds.join(", "),
        plain(&lost.text)
    );
    match &lost.cells[..] {
        [cell] => {
            let (workload, load) = (plain(&cell.workload), plain(&cell.load));
            format!("{contender}, {workload}, {load}: {end}")
        }
        cells => format!("{contender}: {end}; {}", places(cells)),
    }
}

/// Cells by load: `c10: this, that; c200: this`.
fn places(cells: &[LostCell]) -> String {
    let loads = cells
        .iter()
        .map(|cell| (plain(&cell.load), plain(&cell.workload)));
    let by_load = grouped(loads);
    let one =
        |(load, workloads): &(String, Vec<String>)| format!("{load}: {}", workloads.join(", "));
    by_load.iter().map(one).collect::<Vec<_>>().join("; ")
}
