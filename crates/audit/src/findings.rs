//! The answer of a campaign: sentences that hold over several cells.
//!
//! A sentence counts the cells in which it holds and those in which it does not. It never claims
//! more than the comparisons that it summarises, and it computes no new estimate.

mod weakening;

use std::cmp::{Ordering, Reverse};

use bakeoff_stats::Metric;
use serde::Serialize;

use crate::cell::JudgedCell;
use crate::check::Weakness;
use crate::conclusion::{Comparison, Conclusion, Direction, Evidence};
use crate::figures::counted;
use crate::more::ROUNDS_PROPOSED_MAX;
use crate::sentence;
use bakeoff_plan::{distinct, grouped, named};

/// A sentence that holds over several cells.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Finding {
    /// The sentence.
    pub text: String,
    /// How to take it.
    pub tone: Tone,
    /// The metric that they are compared by.
    pub metric: Metric,
    /// The contender that it is held against.
    pub first: String,
    /// The contender that it speaks of.
    pub second: String,
    /// Cells that were compared.
    pub cells: usize,
    /// Cells that agree with the sentence.
    pub cells_agreeing: usize,
    /// How well it is founded in most of the cells that agree; the text counts the others.
    pub grade: Grade,
    /// What takes away from its meaning, although its numbers are valid.
    pub weakened_by: Vec<Weakness>,
}

/// How to take a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tone {
    /// Can be relied on.
    Good,
    /// Must be known.
    Note,
    /// Weakens the numbers.
    Warning,
    /// Takes numbers away.
    Bad,
}

named! {
    /// How well a finding is founded.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Grade {
        /// Beyond chance and the floor, or equal.
        Shown = "shown",
        /// Too few rounds for a proof, and all of them agree.
        Plain = "plain",
        /// Likely, and not corrected for how much was looked at.
        Indication = "indication",
        /// No difference was shown.
        NotShown = "not-shown",
    }
}

/// Metrics by what a reader asks first.
const ORDER: [Metric; 5] = [
    Metric::RatePerS,
    Metric::LatencyP99Ns,
    Metric::CpuNsPerRequest,
    Metric::MemoryPeakBytes,
    Metric::LatencyP50Ns,
];
/// Ratio from which "times as much" reads better than "percent more".
const TIMES_FROM: f64 = 1.5;

/// The findings of a campaign, most important first.
pub(crate) fn find(comparisons: &[Comparison], cells: &[JudgedCell<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for metric in ORDER {
        let of_metric = comparisons.iter().filter(|one| one.metric == metric);
        let named = of_metric.map(|one| {
            let names = (one.pair.first.as_str(), one.pair.second.as_str());
            (names, one)
        });
        let found = grouped(named).into_iter().filter_map(|(names, all)| {
            let mut sides = Sides::new(metric, names);
            all.into_iter().for_each(|one| sides.add(one));
            Some((sides.farthest(), sides.finding(cells)?))
        });
        let mut found: Vec<(Option<f64>, Finding)> = found.collect();
        found.sort_by(by_importance);
        findings.extend(found.into_iter().map(|(_, finding)| finding));
    }
    findings
}

/// A difference before what is level; then the better founded one, the one in more cells, and the
/// larger one.
fn by_importance(one: &(Option<f64>, Finding), other: &(Option<f64>, Finding)) -> Ordering {
    let key = |(farthest, finding): &(Option<f64>, Finding)| {
        let agreeing = Reverse(finding.cells_agreeing);
        (farthest.is_none(), finding.grade, agreeing)
    };
    let size = |(farthest, _): &(Option<f64>, Finding)| farthest.unwrap_or(0.0);
    let larger_first = size(other).total_cmp(&size(one));
    key(one).cmp(&key(other)).then(larger_first)
}

/// The comparisons of two contenders by one metric, by their results.
struct Sides<'c> {
    metric: Metric,
    names: (&'c str, &'c str),
    higher: Vec<&'c Comparison>,
    lower: Vec<&'c Comparison>,
    equal: Vec<&'c Comparison>,
    undecided: Vec<&'c Comparison>,
    not_ranked: usize,
}

impl<'c> Sides<'c> {
    fn new(metric: Metric, names: (&'c str, &'c str)) -> Self {
        Self {
            metric,
            names,
            higher: Vec::new(),
            lower: Vec::new(),
            equal: Vec::new(),
            undecided: Vec::new(),
            not_ranked: 0,
        }
    }

    fn add(&mut self, one: &'c Comparison) {
        match one.conclusion {
            Conclusion::Higher | Conclusion::PlainNotProven(Direction::Higher) => {
                self.higher.push(one);
            }
            Conclusion::Lower | Conclusion::PlainNotProven(Direction::Lower) => {
                self.lower.push(one);
            }
            Conclusion::Equal => self.equal.push(one),
            Conclusion::NoDifferenceShown | Conclusion::CannotTell => self.undecided.push(one),
            Conclusion::NotComparable => self.not_ranked += 1,
            Conclusion::NotCompared => {}
        }
    }

    fn compared(&self) -> usize {
        self.higher.len() + self.lower.len() + self.equal.len() + self.undecided.len()
    }

    fn finding(&self, cells: &[JudgedCell<'_>]) -> Option<Finding> {
        if self.compared() == 0 {
            return None;
        }
        let found = if self.higher.is_empty() && self.lower.is_empty() {
            self.alike()?
        } else {
            self.apart()
        };
        let all = [&self.higher, &self.lower, &self.equal, &self.undecided];
        let all: Vec<&Comparison> = all.into_iter().flatten().copied().collect();
        Some(Finding {
            weakened_by: weakening::of(&all, cells),
            ..found
        })
    }

    /// Who has more in which cells: the side that has so in most of them is spoken of, and comes
    /// first, of equally many the one that has so by more.
    fn leading(&self) -> [(&'c str, &[&'c Comparison]); 2] {
        let (first, second) = self.names;
        let weight = |cells: &[&Comparison]| (cells.len(), Apart::of(cells).most);
        let higher = (second, self.higher.as_slice());
        let lower = (first, self.lower.as_slice());
        if weight(higher.1) >= weight(lower.1) {
            [higher, lower]
        } else {
            [lower, higher]
        }
    }

    /// The logarithm of the largest ratio that its finding counts; `None` where there is no
    /// difference.
    fn farthest(&self) -> Option<f64> {
        let [(_, cells), _] = self.leading();
        (!cells.is_empty()).then(|| Apart::of(cells).most.ln())
    }

    /// One side has more in some cells.
    fn apart(&self) -> Finding {
        let [(more, cells), (less, against)] = self.leading();
        let grade = grade_of_most(cells);
        let mut text = if against.is_empty() {
            self.sentence(more, less, cells) + &graded_otherwise(cells, grade)
        } else {
            self.mixed(more, cells, less, against, grade)
        };
        text += &self.rest();
        text += &causes(cells);
        Finding {
            text,
            tone: match grade {
                Grade::Shown if against.is_empty() => Tone::Good,
                _ => Tone::Note,
            },
            metric: self.metric,
            first: less.to_owned(),
            second: more.to_owned(),
            cells: self.compared(),
            cells_agreeing: cells.len(),
            grade,
            weakened_by: Vec::new(),
        }
    }

    /// `B and A differ by cell: B has 2.2x the requests/s in 4 of 7 cells, A 20 % more in 2`.
    fn mixed(
        &self,
        more: &str,
        cells: &[&Comparison],
        less: &str,
        against: &[&Comparison],
        grade: Grade,
    ) -> String {
        let (apart, other) = (Apart::of(cells), Apart::of(against));
        let spell = |apart: &Apart| {
            if apart.times() {
                format!("{apart} the")
            } else {
                format!("{apart} more")
            }
        };
        format!(
            "{more} and {less} differ by cell: {more} has {} {} {}{}{}, {less} {} in {}{}{}",
            spell(&apart),
            self.metric.phrase(),
            of_cells(cells.len(), self.compared()),
            bounds(cells),
            graded_otherwise(cells, grade),
            if other.times() {
                other.to_string()
            } else {
                format!("{other} more")
            },
            against.len(),
            bounds(against),
            graded_otherwise(against, grade)
        )
    }

    /// `B is faster than A: 1.8x to 6x the requests/s in 7 of 8 cells`.
    fn sentence(&self, more: &str, less: &str, cells: &[&Comparison]) -> String {
        let apart = Apart::of(cells);
        let counted = of_cells(cells.len(), self.compared()) + &bounds(cells);
        let is_times = apart.times();
        let (more_of, than) = if is_times {
            ("the", "of")
        } else {
            ("more", "than")
        };
        match self.metric {
            Metric::RatePerS => {
                format!("{more} is faster than {less}: {apart} {more_of} requests/s {counted}")
            }
            Metric::CpuNsPerRequest => {
                let what = "CPU time per request";
                format!("{more} needs {apart} {more_of} {what} {than} {less} {counted}")
            }
            Metric::MemoryPeakBytes => {
                format!("{more} takes {apart} {more_of} memory {than} {less} {counted}")
            }
            latency => {
                let higher = if is_times { "" } else { " higher than" };
                let what = latency.phrase();
                format!("{what} of {more} is {apart}{higher} that of {less} {counted}")
            }
        }
    }

    /// The results of the other cells.
    fn rest(&self) -> String {
        let mut text = String::new();
        if !self.equal.is_empty() {
            text += &format!(", level in {}", self.equal.len());
        }
        let none = |one: &&&Comparison| one.conclusion == Conclusion::NoDifferenceShown;
        let not_shown = self.undecided.iter().filter(none).count();
        if not_shown > 0 {
            text += &format!(", no difference shown in {not_shown}");
        }
        if self.undecided.len() > not_shown {
            text += &format!(", not decided in {}", self.undecided.len() - not_shown);
        }
        text + &self.not_ranked()
    }

    /// The cells whose numbers stand beside the sentence, for nobody to rely on.
    fn not_ranked(&self) -> String {
        match self.not_ranked {
            0 => String::new(),
            n => format!(", not ranked in {n}"),
        }
    }

    /// How many rounds would decide the cells that are not, and how many cells that is.
    fn would_decide(&self) -> String {
        let needed = self.undecided.iter().filter_map(|one| one.rounds_needed);
        let (within, beyond): (Vec<u32>, Vec<u32>) =
            needed.partition(|rounds| *rounds <= ROUNDS_PROPOSED_MAX);
        let of = |cells: usize| {
            if cells == self.compared() {
                String::new()
            } else {
                format!(" {cells} of them")
            }
        };
        let near = within.iter().max().map(|rounds| {
            let cells = of(within.len());
            format!("; about {rounds} rounds would decide{cells}")
        });
        match (near, beyond.len()) {
            (None, 0) => String::new(),
            (Some(near), 0) => near,
            (None, n) => format!(
                "; more than {ROUNDS_PROPOSED_MAX} rounds would decide{}",
                of(n)
            ),
            (Some(near), 1) => format!("{near}; 1 needs more than {ROUNDS_PROPOSED_MAX}"),
            (Some(near), n) => format!("{near}; {n} need more than {ROUNDS_PROPOSED_MAX}"),
        }
    }

    /// No cell shows a difference; reported for what is tested only, which is what a load is for.
    fn alike(&self) -> Option<Finding> {
        if !self.metric.is_tested() {
            return None;
        }
        let ((first, second), what) = (self.names, self.metric.phrase());
        let all_equal = self.equal.len() == self.compared();
        let shown = self.undecided.iter().filter_map(|one| one.smallest_shown);
        let smallest = shown.fold(0.0, f64::max);
        let not_ranked = self.not_ranked();
        let text = if all_equal {
            let within = self.equal.iter().map(|one| one.within());
            let cells = counted(self.equal.len() as u64, "cell");
            format!(
                "{first} and {second} are level: the same {what} within {} in {cells}{not_ranked}",
                percent(within.fold(0.0, f64::max))
            )
        } else {
            let cells = counted(self.compared() as u64, "cell");
            let more = match self.would_decide() {
                none if none.is_empty() && smallest > 0.0 => {
                    format!("; {} or more would have been", percent(smallest))
                }
                more => more,
            };
            let none = format!("{first} and {second}: no difference in {what} is shown");
            format!("{none} in {cells}{not_ranked}{more}")
        };
        Some(Finding {
            text,
            tone: if all_equal { Tone::Good } else { Tone::Note },
            metric: self.metric,
            first: first.to_owned(),
            second: second.to_owned(),
            cells: self.compared(),
            cells_agreeing: self.equal.len(),
            grade: if all_equal {
                Grade::Shown
            } else {
                Grade::NotShown
            },
            weakened_by: Vec::new(),
        })
    }
}

fn grade_of(one: &Comparison) -> Grade {
    match (one.conclusion, one.evidence) {
        (Conclusion::PlainNotProven(_), _) => Grade::Plain,
        (_, Evidence::Test) => Grade::Shown,
        (_, Evidence::Indication) => Grade::Indication,
        (_, Evidence::Descriptive) => Grade::NotShown,
    }
}

/// The grade that most of these cells have, of equally many the weaker one.
fn grade_of_most(cells: &[&Comparison]) -> Grade {
    let count = |grade: Grade| cells.iter().filter(|one| grade_of(one) == grade).count();
    let grades = cells.iter().map(|one| grade_of(one));
    let most = grades.max_by_key(|grade| (count(*grade), *grade));
    most.unwrap_or(Grade::NotShown)
}

/// How many of these cells have another grade than the finding: `, plain in 1 of them`.
fn graded_otherwise(cells: &[&Comparison], grade: Grade) -> String {
    let names = [
        (Grade::Shown, "shown"),
        (Grade::Plain, "plain"),
        (Grade::Indication, "an indication"),
    ];
    let mut text = String::new();
    for (other, name) in names.into_iter().filter(|(other, _)| *other != grade) {
        match cells.iter().filter(|one| grade_of(one) == other).count() {
            0 => {}
            all if all == cells.len() => text += &format!(", {name}"),
            n => text += &format!(", {name} in {n} of them"),
        }
    }
    text
}

/// How much larger the larger of two is, over some cells.
struct Apart {
    least: f64,
    most: f64,
}

impl Apart {
    fn of(cells: &[&Comparison]) -> Self {
        let points = cells.iter().filter_map(|one| one.ratio.as_ref());
        let ratios = points.map(|ratio| ratio.point.max(1.0 / ratio.point));
        let (least, most) = ratios.fold((f64::MAX, 1.0_f64), |(least, most), ratio| {
            (least.min(ratio), most.max(ratio))
        });
        Self {
            least: least.min(most),
            most,
        }
    }

    /// Whether it is reported in times rather than in percent.
    fn times(&self) -> bool {
        self.most >= TIMES_FROM
    }
}

impl std::fmt::Display for Apart {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let spell = |ratio: f64| {
            if self.times() {
                times(ratio)
            } else {
                percent(ratio - 1.0)
            }
        };
        let (least, most) = (spell(self.least), spell(self.most));
        if least == most {
            out.write_str(&most)
        } else {
            write!(out, "{least} to {most}")
        }
    }
}

/// `1.8x`, `12x`.
fn times(ratio: f64) -> String {
    let digits = match ratio {
        ratio if ratio < 2.0 => 2,
        ratio if ratio < 10.0 => 1,
        _ => 0,
    };
    let text = format!("{ratio:.digits$}");
    let short = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{short}x")
}

/// `4.5 %`, `45 %`.
fn percent(share: f64) -> String {
    sentence::percent(share) + " %"
}

fn of_cells(agreeing: usize, all: usize) -> String {
    let cells = counted(all as u64, "cell");
    if agreeing == all {
        format!("in {cells}")
    } else {
        format!("in {agreeing} of {cells}")
    }
}

/// How many of the ratios are bounds on the side where that strengthens them.
fn bounds(cells: &[&Comparison]) -> String {
    match cells.iter().filter(|one| one.bound.is_some()).count() {
        0 => String::new(),
        1 if cells.len() == 1 => " at least".to_owned(),
        all if all == cells.len() => " at least, in each".to_owned(),
        n => format!(" (at least, in {n})"),
    }
}

/// The work that is not equal in these cells, as possible causes, and where it is so unless it is
/// so everywhere.
fn causes(cells: &[&Comparison]) -> String {
    let unequal = || cells.iter().filter(|one| !one.causes.is_empty());
    let titles = unequal().flat_map(|one| one.causes.iter().map(|cause| cause.title));
    let titles = distinct(titles);
    let places = distinct(unequal().map(|one| one.pair.workload.as_str()));
    let all = distinct(cells.iter().map(|one| one.pair.workload.as_str()));
    let place = match places.len() {
        0 => return String::new(),
        n if n == all.len() => String::new(),
        1 | 2 => format!(" in {}", places.join(" and ")),
        n => format!(" in {n} of {} workloads", all.len()),
    };
    format!("; their work differs{place}: {}", titles.join(", "))
}

#[cfg(test)]
mod tests;
