//! The pictures that links to pages show elsewhere: the answer, and bars of the numbers behind it.

use bakeoff_audit::Verdict;
use bakeoff_stats::{Metric, Number};

use super::SiteOptions;
use super::canvas::{Canvas, Colour, Letters, wrapped};
use super::index::summary;
use super::record::SiteRecord;
use crate::find::FindReport;
use crate::number::{digits, milliseconds, plain, whole};
use crate::view::{RatioCell, RatioRow, RatioTable, Report};

/// Width and height, as sites that show previews want them.
const SIZE: (usize, usize) = (1200, 630);
/// Left edge of text, and the width that it has.
const LEFT: f64 = 64.0;
const WIDE: f64 = 1200.0 - 2.0 * LEFT;
/// Bars that have room.
const BARS: usize = 4;
/// Characters of a contender's name beside its bar.
const NAME_CHARACTERS: usize = 22;
/// What stands where letters of a name were cut out.
const CUT: &str = "...";

const GROUND: Colour = [0x10, 0x13, 0x16];
const TEXT: Colour = [0xe7, 0xea, 0xee];
const MUTED: Colour = [0xa2, 0xab, 0xb5];
const ACCENT: Colour = [0x5a, 0xae, 0xe8];
const BAR: Colour = [0x2f, 0x6f, 0xa3];

/// Bars of numbers of one unit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bars {
    /// What they show.
    title: String,
    bars: Vec<Bar>,
}

#[derive(Debug, Clone, PartialEq)]
struct Bar {
    name: String,
    value: f64,
    text: String,
}

/// The picture of a record's page.
pub(super) fn of_record(record: &SiteRecord, bars: Option<&Bars>) -> Vec<u8> {
    let kicker = format!("bakeoff, {}", plain(record.day()));
    let answer = plain(record.headline());
    let mut canvas = begun(&kicker, &plain(&record.title), &answer, lines(bars));
    if let Some(bars) = bars {
        draw(&mut canvas, bars);
    }
    footer(&mut canvas, &plain(&record.facets.machine));
    canvas.png()
}

/// The picture of the index.
pub(super) fn of_site(records: &[SiteRecord], options: &SiteOptions) -> Vec<u8> {
    let newest = records.first().map_or(String::new(), |one| {
        format!(
            "The newest, {}: {}",
            plain(&one.title),
            plain(one.headline())
        )
    });
    let text = format!("{} {newest}", summary(records));
    let mut canvas = begun("bakeoff", &plain(&options.title), &text, lines(None));
    footer(&mut canvas, "Every number has an interval and a verdict.");
    canvas.png()
}

/// Lines of the answer that have room.
fn lines(bars: Option<&Bars>) -> usize {
    match bars {
        Some(_) => 4,
        None => 9,
    }
}

fn letters(height: f64, is_bold: bool, colour: Colour) -> Letters {
    Letters {
        height,
        is_bold,
        colour,
    }
}

fn begun(kicker: &str, title: &str, text: &str, lines: usize) -> Canvas {
    let (width, height) = SIZE;
    let mut canvas = Canvas::new(width, height, GROUND);
    canvas.fill((0.0, 0.0), (16.0, height as f64), ACCENT);
    canvas.write((LEFT, 36.0), kicker, letters(28.0, false, MUTED));
    let large = letters(52.0, true, TEXT);
    for line in wrapped(title, large.fit(WIDE), 1) {
        canvas.write((LEFT, 72.0), &line, large);
    }
    let body = letters(36.0, false, TEXT);
    for (index, line) in wrapped(text, body.fit(WIDE), lines).iter().enumerate() {
        canvas.write((LEFT, 150.0 + index as f64 * 46.0), line, body);
    }
    canvas
}

fn footer(canvas: &mut Canvas, text: &str) {
    let small = letters(26.0, false, MUTED);
    for line in wrapped(text, small.fit(WIDE), 1) {
        canvas.write((LEFT, 578.0), &line, small);
    }
}

fn draw(canvas: &mut Canvas, bars: &Bars) {
    let small = letters(26.0, false, MUTED);
    for line in wrapped(&bars.title, small.fit(WIDE), 1) {
        canvas.write((LEFT, 350.0), &line, small);
    }
    let most = bars.bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    let label = letters(28.0, false, TEXT);
    let from = LEFT + (NAME_CHARACTERS + 1) as f64 * label.width();
    // Room for the longest number beside the longest bar.
    let longest = bars.bars.iter().map(|bar| bar.text.chars().count()).max();
    let room = 1200.0 - LEFT - from - (longest.unwrap_or(0) + 1) as f64 * label.width();
    for (index, bar) in bars.bars.iter().enumerate() {
        let y = 392.0 + index as f64 * 44.0;
        for line in wrapped(&fitting(&bar.name), NAME_CHARACTERS, 1) {
            canvas.write((LEFT, y), &line, label);
        }
        let share = if most > 0.0 { bar.value / most } else { 0.0 };
        let length = (share * room).max(2.0);
        canvas.fill((from, y + 3.0), (length, 24.0), BAR);
        canvas.write((from + length + label.width(), y), &bar.text, label);
    }
}

/// A name that has room beside its bar: both ends of a longer one, because variants of a server
/// differ in the last letters.
fn fitting(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= NAME_CHARACTERS {
        return name.to_owned();
    }
    let tail = (NAME_CHARACTERS - CUT.len()).div_ceil(2);
    let head = NAME_CHARACTERS - CUT.len() - tail;
    let (head, tail) = (&letters[..head], &letters[letters.len() - tail..]);
    let text = |letters: &[char]| letters.iter().collect::<String>();
    [&text(head), CUT, &text(tail)].concat()
}

impl Bars {
    /// The bars that have room: where there are more, the baseline's and the best of the others.
    fn of(title: String, bars: Vec<Bar>, baseline: &str, more_is_better: bool) -> Self {
        let all = bars.len();
        if all <= BARS {
            return Self { title, bars };
        }
        let is_baseline = |bar: &Bar| bar.name == baseline;
        let (mut bars, mut others): (Vec<Bar>, Vec<Bar>) = bars.into_iter().partition(is_baseline);
        others.sort_by(|left, right| {
            let order = left.value.total_cmp(&right.value);
            if more_is_better {
                order.reverse()
            } else {
                order
            }
        });
        bars.extend(others);
        bars.truncate(BARS);
        Self {
            // In front, because a long title loses its end.
            title: format!("{BARS} of {all}: {title}"),
            bars,
        }
    }
}

/// Bars of the first row of the answer that has most valid numbers.
pub(super) fn bars_of_rounds(report: &Report) -> Option<Bars> {
    let table = report.answer.tables.first()?;
    let rows = table
        .rows
        .iter()
        .map(|row| (row, bars_of_row(report, table, row)));
    // The first of equal rows is taken.
    let (row, bars) = rows.rev().max_by_key(|(_, bars)| bars.len())?;
    let title = format!("{} at {}, {}", table.title, plain(&row.workload), row.title);
    let more_is_better = table.metric.more_is_better();
    (bars.len() > 1).then(|| Bars::of(title, bars, &plain(&table.baseline), more_is_better))
}

fn bars_of_row(report: &Report, table: &RatioTable, row: &RatioRow) -> Vec<Bar> {
    let is_valid = |cell: &&RatioCell| {
        let same = |one: &&crate::view::Cell| {
            one.contender == cell.contender && one.workload == row.workload && one.load == row.load
        };
        let found = report.cells.iter().find(same);
        found.is_some_and(|one| verdict(table, one) == Verdict::Valid)
    };
    let bar = |cell: &RatioCell| {
        let value = cell.value?;
        let bound = cell.value_bound.unwrap_or("");
        Some(Bar {
            name: plain(&cell.contender),
            value: value.point,
            text: format!("{bound}{}", amount(table.metric, value.point)?),
        })
    };
    row.cells.iter().filter(is_valid).filter_map(bar).collect()
}

fn verdict(table: &RatioTable, cell: &crate::view::Cell) -> Verdict {
    cell.verdicts.of(table.metric.number())
}

fn amount(metric: Metric, value: f64) -> Option<String> {
    match metric.number() {
        Number::Rate => Some(digits(value)),
        Number::Latency => Some(milliseconds(value)),
        Number::Cpu | Number::Memory | Number::Counts => None,
    }
}

/// Bars of the lower bounds of the first goal.
pub(super) fn bars_of_search(report: &FindReport) -> Option<Bars> {
    let first = report.contenders.first()?;
    let rows = report.contenders.iter();
    let same = rows.filter(|row| row.workload == first.workload && row.goal == first.goal);
    let regular = same.filter(|row| row.irregular.is_none() && row.confirmed == Some(true));
    let bar = |row: &crate::find::FoundRow| {
        let value = row.lower_per_s?;
        let (name, text) = (plain(&row.contender), whole(value));
        Some(Bar { name, value, text })
    };
    let bars: Vec<Bar> = regular.filter_map(bar).collect();
    let title = format!(
        "requests/s at {} with {}",
        plain(&first.workload),
        first.goal.text
    );
    (!bars.is_empty()).then(|| Bars::of(title, bars, &plain(&first.contender), true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bars(values: &[f64]) -> Vec<Bar> {
        let bar = |(number, value): (i32, &f64)| Bar {
            name: format!("c{number}"),
            value: *value,
            text: String::new(),
        };
        (1..).zip(values).map(bar).collect()
    }

    #[track_caller]
    fn check(values: &[f64], more_is_better: bool, title: &str, names: &[&str]) {
        let found = Bars::of("req/s".to_owned(), bars(values), "c2", more_is_better);
        let drawn: Vec<&str> = found.bars.iter().map(|bar| bar.name.as_str()).collect();
        assert_eq!((found.title.as_str(), drawn.as_slice()), (title, names));
    }

    #[test]
    fn of_many_bars_those_of_the_baseline_and_of_the_best_are_drawn() {
        let values = [5.0, 1.0, 7.0, 2.0, 9.0, 8.0];
        check(&values, true, "4 of 6: req/s", &["c2", "c5", "c6", "c3"]);
        check(&values, false, "4 of 6: req/s", &["c2", "c4", "c1", "c3"]);
    }

    #[test]
    fn bars_that_have_room_keep_their_order() {
        let names = ["c1", "c2", "c3", "c4"];
        check(&[5.0, 1.0, 7.0, 2.0], true, "req/s", &names);
    }

    #[test]
    fn a_long_name_keeps_both_ends() {
        let rows = [
            ("nginx-optimized-workers-4", "nginx-opt...-workers-4"),
            ("nginx-optimized-workers-8", "nginx-opt...-workers-8"),
            ("twenty-two-letters-abc", "twenty-two-letters-abc"),
        ];
        for (name, text) in rows {
            assert_eq!(fitting(name), text);
            assert!(text.chars().count() <= NAME_CHARACTERS);
        }
    }
}
