//! The live view of a load as lines of text: its progress, the results of the last second and of
//! all of it, and a curve of the rate.
//!
//! Times, readings and the size of the terminal come in, lines go out; none is wider than the
//! terminal. Fields keep their places while their numbers change.

use std::collections::VecDeque;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use bakeoff_load::Reading;
use bakeoff_report::{count, milliseconds, plain};

mod line;

use line::{Line, bar, cut, sparkline};

/// What the figures of the moment are about.
const LAST: Duration = Duration::from_secs(1);
/// Fewer latencies than this have no p99; then the longest is shown.
const P99_FROM: u64 = 100;
/// Cells of the rate's course at the most; beyond it they are joined in pairs.
const CELLS_MAX: usize = 120;
/// Length of a cell at first, seconds.
const CELL_S: f64 = 0.2;
/// Widest view: longer lines are no easier to read.
const WIDTH_MAX: usize = 100;
/// Columns of a label where there is room for two fields beside it.
const LABEL: usize = 13;
/// Columns of a field, and of the gap behind it.
const FIELD: usize = 15;
const GAP: usize = 2;
/// Columns before fields that stand below their label.
const INDENT: usize = 2;

const TITLE: Style = Style::new().bold();
const ASIDE: Style = Style::new().dimmed();
const DONE: Style = AnsiColor::Cyan.on_default();
const WRONG: Style = AnsiColor::Red.on_default().bold();
const NORMAL: Style = Style::new();

/// What is loaded, and how.
#[derive(Debug, Clone, Default)]
pub(super) struct About {
    /// Without secrets.
    pub(super) url: String,
    /// Such as `closed loop, 50 clients`.
    pub(super) how: String,
    /// Requests after which the load ends.
    pub(super) requests: Option<u64>,
}

/// Where the load is, and for how long it has been there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Connections are opened.
    Connecting(Duration),
    /// Not measured yet, of so long in all.
    WarmUp(Duration, Duration),
    /// Measured, of so long in all.
    Measuring(Duration, Duration),
    /// The last answers are waited for.
    Ending,
}

/// Columns and rows of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// What is known of a running load.
pub(super) struct View {
    about: About,
    /// Readings of the last second with their times, and the one before them; oldest first.
    recent: VecDeque<(Duration, Reading)>,
    course: Course,
}

impl View {
    pub(super) fn new(about: About) -> Self {
        Self {
            about,
            recent: VecDeque::new(),
            course: Course::default(),
        }
    }

    /// Takes in what was read at this time since the start.
    pub(super) fn take(&mut self, at: Duration, reading: Reading) {
        let before = self.recent.back().map(|(_, last)| last);
        let since = reading.since(before.unwrap_or(&Reading::default()));
        self.course.add(since.ok, since.covered_s);
        self.recent.push_back((at, reading));
        let start = at.saturating_sub(LAST);
        while self.recent.get(1).is_some_and(|(at, _)| *at <= start) {
            self.recent.pop_front();
        }
    }

    /// The lines to show, with colours or without. The cursor needs a row below them.
    pub(super) fn frame(&self, phase: Phase, size: Size, colour: bool) -> Vec<String> {
        let width = size.columns.saturating_sub(1).min(WIDTH_MAX);
        // What matters least goes first where there are too few rows.
        let mut parts = [
            (2, self.title(width)),
            (4, vec![self.progress(phase, width)]),
            (5, self.last_second(width)),
            (1, self.so_far(width)),
            (3, vec![self.rate(width)]),
        ];
        let most = size.rows.saturating_sub(1).max(1);
        for least in 1..=5 {
            if parts.iter().map(|(_, lines)| lines.len()).sum::<usize>() <= most {
                break;
            }
            let left = parts.iter_mut().filter(|(rank, _)| *rank == least);
            left.for_each(|(_, lines)| lines.truncate(if least == 5 { most } else { 0 }));
        }
        let lines = parts.into_iter().flat_map(|(_, lines)| lines);
        lines.map(|line| line.text(width, colour)).collect()
    }

    fn title(&self, width: usize) -> Vec<Line> {
        // A wide character would take two columns.
        let url: String = plain(&self.about.url)
            .chars()
            .map(|each| if each.is_ascii() { each } else { '?' })
            .collect();
        let how = &self.about.how;
        if url.len() + 3 + how.len() <= width {
            return vec![Line::of(TITLE, &url).then(ASIDE, &format!("   {how}"))];
        }
        vec![
            Line::of(TITLE, &cut(&url, width)),
            Line::of(ASIDE, &cut(how, width)),
        ]
    }

    fn progress(&self, phase: Phase, width: usize) -> Line {
        let (name, mut time, mut share) = match phase {
            Phase::Connecting(passed) => ("connecting", time(passed, passed), None),
            Phase::WarmUp(passed, all) => ("warm-up", of(passed, all), part(passed, all)),
            Phase::Measuring(passed, all) => ("measuring", of(passed, all), part(passed, all)),
            Phase::Ending => ("ending", "waiting for the last answers".to_owned(), None),
        };
        if let (Phase::Measuring(passed, _), Some(most)) = (phase, self.about.requests) {
            let now = self.now();
            let ended = (now.ok + now.errors).min(most);
            let passed = self::time(passed, passed);
            time = format!("{} of {} requests, {passed}", count(ended), count(most));
            share = Some(ended as f64 / most.max(1) as f64);
        }
        let line = Line::label(name, LABEL).then(NORMAL, &time);
        let Some(share) = share else { return line };
        let percent = format!("{:>4.0} %", share * 100.0);
        let room = width.saturating_sub(line.width() + GAP + percent.len());
        let (done, rest) = bar(share, room.min(40));
        if done.is_empty() && rest.is_empty() {
            let fits = line.width() + percent.len() <= width;
            return if fits {
                line.then(NORMAL, &percent)
            } else {
                line
            };
        }
        line.then(NORMAL, "  ")
            .then(DONE, &done)
            .then(ASIDE, &rest)
            .then(NORMAL, &percent)
    }

    fn last_second(&self, width: usize) -> Vec<Line> {
        let before = self.recent.front().map(|(_, first)| first);
        let last = self.now().since(before.unwrap_or(&Reading::default()));
        let latency = |name: &str, q: f64| {
            let value = last.quantile_ns(q).map(|ns| milliseconds(ns as f64));
            let value = value.map_or("-".to_owned(), |value| format!("{value} ms"));
            (NORMAL, format!("{name} {value:>11}"))
        };
        let slow = match last.latencies() {
            few if few < P99_FROM => latency("max", 1.0),
            _ => latency("p99", 0.99),
        };
        let fields = [
            (TITLE, format!("{:>10} ok/s", rate(last.ok, last.covered_s))),
            errors(last.errors),
            latency("p50", 0.5),
            slow,
        ];
        flow("last second", &fields, width)
    }

    fn so_far(&self, width: usize) -> Vec<Line> {
        let now = self.now();
        let fields = [
            (NORMAL, format!("{:>10} ok", short(now.ok))),
            errors(now.errors),
            (NORMAL, format!("{:>10} ok/s", rate(now.ok, now.covered_s))),
        ];
        flow("so far", &fields, width)
    }

    fn rate(&self, width: usize) -> Line {
        let line = Line::label("rate", LABEL);
        let (rates, most) = self.course.rates();
        let most = format!("  at most {:>10} ok/s", short(most.round() as u64));
        let room = width.saturating_sub(line.width() + most.len());
        if room < 8 {
            let room = width.saturating_sub(line.width());
            return line.then(DONE, &sparkline(&rates, room));
        }
        // The course grows to the right, and what is at its end keeps its place.
        let course = sparkline(&rates, room);
        line.then(DONE, &format!("{course:<room$}"))
            .then(ASIDE, &most)
    }

    fn now(&self) -> Reading {
        let last = self.recent.back().map(|(_, last)| last.clone());
        last.unwrap_or_default()
    }
}

/// `ok` requests over the run, in cells of equal time.
struct Course {
    cell_s: f64,
    /// Requests and seconds of each cell.
    cells: Vec<(u64, f64)>,
}

impl Default for Course {
    fn default() -> Self {
        Self {
            cell_s: CELL_S,
            cells: Vec::new(),
        }
    }
}

impl Course {
    fn add(&mut self, ok: u64, covered_s: f64) {
        match self.cells.last_mut() {
            // A little less is as much: readings are a tenth of a second apart.
            Some(last) if last.1 < self.cell_s * 0.9 => *last = (last.0 + ok, last.1 + covered_s),
            _ => self.cells.push((ok, covered_s)),
        }
        if self.cells.len() > CELLS_MAX {
            self.cells = joined(&self.cells, 2);
            self.cell_s *= 2.0;
        }
    }

    /// The rate of each cell that is long enough for one, and the highest.
    fn rates(&self) -> (Vec<f64>, f64) {
        let whole = self.cells.iter().filter(|cell| cell.1 >= self.cell_s * 0.5);
        let rates: Vec<f64> = whole.map(|(ok, s)| *ok as f64 / s).collect();
        let most = rates.iter().copied().fold(0.0, f64::max);
        (rates, most)
    }
}

/// Joins each run of `each` cells into one.
fn joined(cells: &[(u64, f64)], each: usize) -> Vec<(u64, f64)> {
    let sum = |part: &[(u64, f64)]| {
        let sum = part.iter();
        sum.fold((0, 0.0), |sum, cell| (sum.0 + cell.0, sum.1 + cell.1))
    };
    cells.chunks(each).map(sum).collect()
}

/// Fields beside their label, or below it where there is room for less than two.
fn flow(label: &str, fields: &[(Style, String)], width: usize) -> Vec<Line> {
    let beside = width >= LABEL + 2 * FIELD + GAP;
    let (mut line, indent) = if beside {
        (Line::label(label, LABEL), LABEL)
    } else {
        (Line::label(label, 0), INDENT)
    };
    let mut lines = Vec::new();
    let each = ((width + GAP).saturating_sub(indent) / (FIELD + GAP)).max(1);
    for (index, (style, field)) in fields.iter().enumerate() {
        let at = index % each;
        if at == 0 && (index > 0 || !beside) {
            lines.push(std::mem::replace(&mut line, Line::blank(indent)));
        }
        if at > 0 {
            line = line.then(NORMAL, &" ".repeat(GAP));
        }
        line = line.then(*style, &format!("{field:<FIELD$}"));
    }
    lines.push(line);
    lines
}

fn errors(errors: u64) -> (Style, String) {
    let noun = if errors == 1 { "error " } else { "errors" };
    let style = if errors > 0 { WRONG } else { NORMAL };
    (style, format!("{:>8} {noun}", short(errors)))
}

fn rate(requests: u64, covered_s: f64) -> String {
    if covered_s > 0.0 {
        short((requests as f64 / covered_s).round() as u64)
    } else {
        "-".to_owned()
    }
}

/// A count in at most ten columns.
fn short(value: u64) -> String {
    match value {
        0..100_000_000 => count(value),
        100_000_000..100_000_000_000 => format!("{}M", count(value / 1_000_000)),
        _ => format!("{}G", count(value / 1_000_000_000)),
    }
}

fn part(passed: Duration, all: Duration) -> Option<f64> {
    let all = all.as_secs_f64();
    (all > 0.0).then(|| (passed.as_secs_f64() / all).min(1.0))
}

fn of(passed: Duration, all: Duration) -> String {
    format!("{} of {}", time(passed.min(all), all), time(all, all))
}

/// A time within one that is `all` long, in as many columns whatever has passed.
fn time(passed: Duration, all: Duration) -> String {
    let s = passed.as_secs_f64();
    let whole = (s + 0.05) as u64;
    // A minute that ends a moment early is one.
    match all.as_secs_f64() + 0.05 {
        short if short < 60.0 => format!("{s:.1} s"),
        medium if medium < 3600.0 => format!("{}:{:02} min", whole / 60, whole % 60),
        _ => format!("{}:{:02} h", whole / 3600, whole / 60 % 60),
    }
}

#[cfg(test)]
mod tests;
