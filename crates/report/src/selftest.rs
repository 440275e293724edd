//! What `bakeoff selftest` found: the faults that were planted, and what the checks said of them.
//!
//! `cli` plants the faults and counts. This module has the limits of the counts, and the formats.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::json;

use crate::number::percent;
use crate::safe::pretty_json;

mod markdown;
mod text;

pub use markdown::selftest_markdown;
pub use text::selftest_text;

/// Version of the document.
pub const SELFTEST_SCHEMA: &str = "bakeoff.selftest/1";
/// R41: share of the times that a fault was planted in which it must be named.
const FOUND_SHARE: f64 = 0.8;
/// R41: share of all clean twins that may be flagged.
const TWINS_SHARE: f64 = 0.05;
/// R41: share of pairs of equal servers of which one may be called better.
const WINNERS_SHARE: f64 = 0.05;

/// A self-test as far as it came.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SelfTest {
    /// Where and when.
    pub rig: SelfTestRig,
    /// Whether only the certain faults were planted, and nothing is asked of the twins.
    pub quick: bool,
    /// Why it ended early; `None` where it did not.
    pub ended_early: Option<String>,
    /// Every fault, planted or not.
    pub faults: Vec<FaultRow>,
    /// Pairs of equal servers.
    pub pairs: Pairs,
}

/// Where and when a self-test ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SelfTestRig {
    /// Version of bakeoff.
    pub bakeoff: String,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// How long it took, seconds.
    pub took_s: f64,
    /// Processors that it could use.
    pub cpus: u32,
    /// Their model.
    pub cpu_model: Option<String>,
    /// Kernel release.
    pub kernel: String,
    /// Load average over one minute when it began: what other programs did then.
    pub load_average: Option<f64>,
}

/// One fault and its twin.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FaultRow {
    /// Stable name, such as `wrong-body`.
    pub name: String,
    /// Requirement in `docs/checks.md`.
    pub rule: String,
    /// What is planted.
    pub planted: String,
    /// What must name it: any of these.
    pub named_by: Vec<String>,
    /// What was seen with the fault.
    pub with: Tally,
    /// What was seen of the same set-up without it.
    pub without: Tally,
    /// What was doubted of its numbers without it, by any check.
    pub doubts: Doubts,
    /// Why this machine does not allow it to be planted; `None` where it does.
    pub left_out: Option<String>,
    /// Why its set-up, or that of its twin, could not be carried out though the machine allows it.
    pub failed: Option<String>,
}

/// What was seen in all runs of one set-up.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Tally {
    /// Runs.
    pub runs: u32,
    /// Those of them in which the fault was named.
    pub named: u32,
    /// Runs that were made once more because other programs took processors away.
    pub again: u32,
    /// Those of the runs that other programs disturbed all the same.
    pub disturbed: u32,
    /// Everything that weakened a number, or was noted, by its code: in how many runs.
    pub seen: BTreeMap<String, u32>,
}

/// What clean twins were doubted for that nothing else on the machine disturbed.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Doubts {
    /// Runs that were not disturbed.
    pub undisturbed: u32,
    /// Of them those in which a check weakened a number or a comparison, whatever the fault is.
    pub weakened: u32,
    /// These checks, by code: in how many of the runs.
    pub by: BTreeMap<String, u32>,
}

/// Pairs of equal servers, compared as if they were two.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Pairs {
    /// Pairs that were compared.
    pub compared: u32,
    /// Those of them of which one side was called better.
    pub winners: u32,
}

impl Tally {
    /// Adds a run: whether it named the fault, and all that it saw.
    pub fn add(&mut self, named: bool, seen: &BTreeSet<String>) {
        self.runs += 1;
        self.named += u32::from(named);
        for code in seen {
            *self.seen.entry(code.clone()).or_default() += 1;
        }
    }
}

impl Doubts {
    /// Adds a run that was not disturbed, with the codes of what weakened it.
    pub fn add(&mut self, codes: &BTreeSet<String>) {
        self.undisturbed += 1;
        self.weakened += u32::from(!codes.is_empty());
        for code in codes {
            *self.by.entry(code.clone()).or_default() += 1;
        }
    }

    fn merge(&mut self, other: &Self) {
        self.undisturbed += other.undisturbed;
        self.weakened += other.weakened;
        for (code, runs) in &other.by {
            *self.by.entry(code.clone()).or_default() += runs;
        }
    }

    /// In a sentence; `None` where every run was disturbed.
    fn text(&self) -> Option<String> {
        let weakened = match self.weakened {
            0 => "none".to_owned(),
            runs => runs.to_string(),
        };
        let by = if self.by.is_empty() {
            String::new()
        } else {
            format!(", by {}", most_frequent(&self.by))
        };
        (self.undisturbed > 0).then(|| {
            format!(
                "Of {} undisturbed twins, {weakened} had any number weakened{by}.",
                self.undisturbed
            )
        })
    }
}

impl FaultRow {
    /// Whether it was named often enough; `None` where it was not planted.
    pub fn is_found(&self) -> Option<bool> {
        let runs = f64::from(self.with.runs);
        (runs > 0.0).then(|| f64::from(self.with.named) >= FOUND_SHARE * runs)
    }

    fn finding(&self) -> String {
        if let Some(why) = &self.failed {
            return format!("FAILED: {why}");
        }
        let finding = match (self.is_found(), &self.left_out) {
            (_, Some(why)) => return format!("left out: {why}"),
            (None, None) => return "not reached".to_owned(),
            (Some(true), None) => "found",
            (Some(false), None) => "MISSED",
        };
        let disturbed = self.with.disturbed + self.without.disturbed;
        match disturbed {
            0 => finding.to_owned(),
            runs => {
                let all = self.with.runs + self.without.runs;
                format!("{finding} ({runs} of {all} runs disturbed)")
            }
        }
    }
}

impl SelfTest {
    /// Faults that were planted and not named often enough.
    pub fn missed(&self) -> Vec<&FaultRow> {
        let rows = self.faults.iter();
        rows.filter(|row| row.is_found() == Some(false)).collect()
    }

    /// Twins that were flagged, of all.
    pub fn twins(&self) -> (u32, u32) {
        let each = |of: fn(&Tally) -> u32| self.faults.iter().map(|row| of(&row.without)).sum();
        (each(|tally| tally.named), each(|tally| tally.runs))
    }

    /// What undisturbed twins were doubted for, of all.
    pub fn doubts(&self) -> Doubts {
        let mut all = Doubts::default();
        self.faults.iter().for_each(|row| all.merge(&row.doubts));
        all
    }

    /// Whether it came to its end and all limits hold; those on twins and pairs are not asked
    /// of a quick one.
    pub fn holds(&self) -> bool {
        let (flagged, twins) = self.twins();
        let within = |part: u32, all: u32, share: f64| f64::from(part) <= share * f64::from(all);
        let calm = within(flagged, twins, TWINS_SHARE)
            && within(self.pairs.winners, self.pairs.compared, WINNERS_SHARE);
        let planted = self.faults.iter().any(|row| row.with.runs > 0);
        let mut rows = self.faults.iter();
        let reached =
            rows.all(|row| row.failed.is_none() && (row.with.runs > 0 || row.left_out.is_some()));
        let whole = planted && reached && self.ended_early.is_none();
        whole && self.missed().is_empty() && (calm || self.quick)
    }

    /// The result in a few sentences.
    fn answer(&self) -> Vec<String> {
        let planted = self.faults.iter().filter(|row| row.with.runs > 0).count();
        let missed = self.missed();
        let mut lines = vec![format!(
            "{} of {planted} faults were found in {:.0} % of their runs or more.",
            planted - missed.len(),
            FOUND_SHARE * 100.0
        )];
        if !missed.is_empty() {
            let names: Vec<&str> = missed.iter().map(|row| row.name.as_str()).collect();
            lines.push(format!("Missed: {}.", names.join(", ")));
        }
        let named = |is: fn(&FaultRow) -> bool| {
            let rows = self.faults.iter().filter(|row| is(row));
            rows.map(|row| row.name.as_str()).collect::<Vec<_>>()
        };
        let left_out = named(|row| row.left_out.is_some());
        if !left_out.is_empty() {
            let were = if left_out.len() == 1 { "was" } else { "were" };
            let names = left_out.join(", ");
            lines.push(format!("{} {were} left out: {names}.", left_out.len()));
        }
        let failed = named(|row| row.failed.is_some());
        if !failed.is_empty() {
            let names = failed.join(", ");
            lines.push(format!("Set-ups that could not be carried out: {names}."));
        }
        let (flagged, twins) = self.twins();
        let share = |part: u32, all: u32| percent(f64::from(part) / f64::from(all.max(1)));
        lines.push(format!(
            "{flagged} of {twins} clean twins were flagged ({} %; at most {} % may be).",
            share(flagged, twins),
            percent(TWINS_SHARE)
        ));
        lines.extend(self.doubts().text());
        if self.pairs.compared > 0 {
            let Pairs { compared, winners } = self.pairs;
            lines.push(format!(
                "In {winners} of {compared} pairs of equal servers one was called better ({} %; \
                 at most {} % may be).",
                share(winners, compared),
                percent(WINNERS_SHARE)
            ));
        }
        if let Some(why) = &self.ended_early {
            lines.push(format!("It ended early: {why}."));
        }
        let holds = match (self.holds(), self.quick) {
            (true, true) => {
                "Every certain fault that was planted was found; a quick run asks no more."
            }
            (true, false) => "The limits hold.",
            (false, _) => "The limits do not hold.",
        };
        lines.push(holds.to_owned());
        lines
    }

    /// Where and when, in one line.
    fn rig_line(&self) -> String {
        let rig = &self.rig;
        let model = rig.cpu_model.as_deref().unwrap_or("model not known");
        let load = match rig.load_average {
            Some(load) => format!(", load average {load:.2} before it"),
            None => String::new(),
        };
        format!(
            "bakeoff {}, {}, {} processors ({model}), Linux {}{load}; {:.0} s",
            rig.bakeoff, rig.started_at, rig.cpus, rig.kernel, rig.took_s
        )
    }
}

/// The self-test as the document that scripts rely on.
pub fn selftest_json(test: &SelfTest) -> String {
    let (flagged, twins) = test.twins();
    let document = json!({
        "schema": SELFTEST_SCHEMA,
        "holds": test.holds(),
        "missed": test.missed().iter().map(|row| &row.name).collect::<Vec<_>>(),
        "twins": {"runs": twins, "flagged": flagged, "doubts": test.doubts()},
        "limits": {"found_share": FOUND_SHARE, "twins_share": TWINS_SHARE,
                   "winners_share": WINNERS_SHARE},
        "selftest": test,
    });
    pretty_json(&document)
}

/// How often something was, of how many times.
fn of(part: u32, all: u32) -> String {
    match all {
        0 => "-".to_owned(),
        all => format!("{part} of {all}"),
    }
}

/// What was seen, most frequent first: `engine-kept 5, other-load 4`.
fn seen(tally: &Tally) -> String {
    let text = most_frequent(&tally.seen);
    if text.is_empty() {
        "-".to_owned()
    } else {
        text
    }
}

fn most_frequent(codes: &BTreeMap<String, u32>) -> String {
    let mut all: Vec<(&String, &u32)> = codes.iter().collect();
    all.sort_by_key(|(code, runs)| (std::cmp::Reverse(**runs), code.as_str()));
    let each = all.iter().map(|(code, runs)| format!("{code} {runs}"));
    each.collect::<Vec<_>>().join(", ")
}
