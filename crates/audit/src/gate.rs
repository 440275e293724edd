//! Gates: how much worse a number may become before a build is red.
//!
//! How much worse is a logarithm of a ratio, turned so that worse is above 0, with an interval that
//! holds over everything that the campaign compares by the same metric ([`bakeoff_stats::locate`]).
//! A gate is passed where the whole interval lies below it, and breached where the interval lies
//! above 0 and its centre at the gate or beyond. The interval holds with 95 %, and for a breach
//! with 99 %. Everything else cannot be decided, and so is every number that is not valid: it
//! neither passes a gate nor breaches one.
//!
//! With one exception: where nothing but the machine weakens the numbers of a campaign, ten rounds
//! or more that it left alone can breach a gate, and not pass it. Which rounds those are is decided
//! by readings of the machine, which are as likely for one as for the other of two equal servers:
//! chance alone breaches a gate no more often so.

mod across;
mod alike;
mod within;

use std::fmt;

use bakeoff_stats::{Estimate, Located, Metric};
use serde::Serialize;

pub use across::compare_records;
pub use alike::{
    Mismatch, asked, engine_settings, machine_mismatches, mismatches, plan_mismatches,
    without_yardstick,
};
pub(crate) use within::left_of_gates;
pub use within::{compare_contenders, fits};

use crate::cell::JudgedCell;
use crate::conclusion::PairKey;
use bakeoff_plan::named;

/// Most that a gate may allow: a number that is 100 times as bad.
const GATE_MOST: f64 = 100.0;

/// How much worse each metric may become.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gates(Vec<(Metric, f64)>);

impl fmt::Display for Gates {
    /// As they are parsed.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (metric, share)) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            // 0.07 * 100 is not quite 7.
            let percent = (share * 1e10).round() / 1e8;
            write!(out, "{comma}{}={percent}%", metric.short_name())?;
        }
        Ok(())
    }
}

impl Gates {
    /// Reads gates such as `rate=5%,p99=10%,cpu=5%`.
    ///
    /// # Errors
    /// Says what of it is no gate.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut gates = Vec::new();
        for part in text.split(',') {
            let wrong = || format!("`{part}` is not a gate: write rate=5%, or rate=5%,p99=10%");
            let (name, share) = part.split_once('=').ok_or_else(wrong)?;
            let name = name.trim();
            let metric = Metric::COMPARED
                .into_iter()
                .find(|one| one.short_name() == name);
            let metric = metric.ok_or_else(|| {
                let names = Metric::COMPARED.map(Metric::short_name).join(", ");
                format!("`{name}` cannot be gated; expected one of {names}")
            })?;
            let percent = share.trim().strip_suffix('%').ok_or_else(wrong)?;
            let share = percent.trim().parse::<f64>().map_err(|_| wrong())? / 100.0;
            if !(share > 0.0 && share <= GATE_MOST) {
                return Err(format!("`{part}`: a gate is above 0% and at most 10000%"));
            }
            if gates.iter().any(|(known, _)| *known == metric) {
                return Err(format!("`{name}` has two gates; give one"));
            }
            gates.push((metric, share));
        }
        Ok(Self(gates))
    }

    /// How much worse a metric may become, as a share; `None` where it has no gate.
    pub fn of(&self, metric: Metric) -> Option<f64> {
        let found = self.0.iter().find(|(known, _)| *known == metric);
        found.map(|(_, share)| *share)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every gate.
    pub fn iter(&self) -> impl Iterator<Item = (Metric, f64)> + '_ {
        self.0.iter().copied()
    }
}

named! {
    /// What a gate comes to.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Ruling {
        /// There is no gate.
        Shown = "shown",
        /// It is not worse by as much as the gate.
        Passed = "passed",
        /// The rounds leave both open, or a number is not valid.
        CannotTell = "cannot-tell",
        /// It is worse by the gate or more.
        Breached = "breached",
    }
}

/// How much worse the second is than the first, as a share: 0.05 is 5 % worse, below 0 is better.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Worse {
    /// Centre over the rounds.
    pub point: f64,
    /// The least that it may be; null where the rounds don't say.
    pub low: Option<f64>,
    /// The most that it may be; null where the rounds don't say.
    pub high: Option<f64>,
    /// Rounds behind it: of two records those of the shorter one.
    pub n: usize,
}

/// One metric of one pair at one workload and load, held against its gate.
#[derive(Debug, Clone, PartialEq)]
pub struct GateRow {
    /// What is compared; the first is the one that the second is held against.
    pub pair: PairKey,
    /// By what.
    pub metric: Metric,
    /// Value of the first; `None` where there is none or it is withheld.
    pub first: Option<Estimate>,
    /// Value of the second.
    pub second: Option<Estimate>,
    /// Whether the first's and the second's values are only lower bounds, as a report shows them.
    pub at_least: [bool; 2],
    /// How much worse the second is; `None` where one of the two is not valid, unless ten rounds or
    /// more were undisturbed: then it is of those.
    pub worse: Option<Worse>,
    /// How much worse it may be.
    pub gate: Option<f64>,
    /// What the gate comes to.
    pub ruling: Ruling,
    /// Rounds that would decide it; `None` where it is decided, or nothing is known of it.
    pub rounds_needed: Option<u32>,
    /// Rounds with which both numbers would be valid, if nothing disturbs the added ones; `None`
    /// where they lack none, or rounds bring none. It says nothing of the ruling, so that a rule
    /// that adds rounds may go by it.
    pub rounds_enough: Option<u32>,
    /// The round of the look after which no further one changes the ruling; `None` where one may.
    pub settled_at: Option<u32>,
    /// Why it cannot be decided, or what a breach rests on.
    pub reason: Option<String>,
}

/// Why two sides are not compared.
#[derive(Debug, Clone, PartialEq)]
pub enum GateError {
    /// The record has no such contender.
    NoContender {
        /// What was asked for.
        name: String,
        /// The contenders that it has.
        known: Vec<String>,
    },
    /// Both sides are the same contender.
    Same(String),
    /// No workload and load has both.
    NothingCommon {
        /// Contenders of the first.
        first: Vec<String>,
        /// Contenders of the second.
        second: Vec<String>,
    },
    /// All that two records have in common are loads at a share of the capacity.
    AtShareOnly {
        /// These workloads and loads.
        places: Vec<String>,
    },
    /// A gate is of a metric that nothing is compared by.
    FitsNothing(Metric),
}

impl fmt::Display for GateError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoContender { name, known } => write!(
                out,
                "the record has no contender `{name}`; it has {}",
                known.join(", ")
            ),
            Self::Same(name) => write!(out, "`{name}` is compared with itself; name two"),
            Self::NothingCommon { first, second } => write!(
                out,
                "no workload and load was measured with both: the first has {}, the second {}; \
                 name two contenders of one record, or records with the same contenders",
                first.join(", "),
                second.join(", ")
            ),
            Self::AtShareOnly { places } => write!(
                out,
                "both records have only loads at a share of the capacity in common ({}), and those \
                 are not compared: each campaign found a rate of its own for them; compare two \
                 contenders of one record, or measure both records with a load whose rate or \
                 clients the plan gives",
                places.join("; ")
            ),
            Self::FitsNothing(metric) => {
                let name = metric.short_name();
                let why = match metric {
                    Metric::RatePerS => {
                        "in an open loop the rate is the one that was asked for; gate it under a \
                         closed loop, with --clients"
                    }
                    metric if metric.is_latency() => {
                        "in a closed loop latency is clients divided by rate; gate it under an \
                         open loop, with --rate"
                    }
                    _ => "nothing was compared by it",
                };
                write!(out, "the gate {name} fits no load here: {why}")
            }
        }
    }
}

impl std::error::Error for GateError {}

/// How much worse a pair became, as logarithms, worse above 0.
struct Change {
    point: f64,
    low: f64,
    high: f64,
    /// The ends of the interval that holds with 99 %.
    certain: [f64; 2],
    n: usize,
}

impl Change {
    /// Turned so that worse is above 0.
    fn of(metric: Metric, located: &Located) -> Self {
        let (held, certain) = (&located.held, &located.certain);
        let change = Self {
            point: held.mean,
            low: held.low,
            high: held.high,
            certain: [certain.low, certain.high],
            n: located.rounds,
        };
        if metric.more_is_better() {
            change.turned()
        } else {
            change
        }
    }

    /// The same, seen from the other side.
    fn turned(self) -> Self {
        let [low, high] = self.certain;
        Self {
            point: -self.point,
            low: -self.high,
            high: -self.low,
            certain: [-high, -low],
            n: self.n,
        }
    }

    fn shares(&self) -> Worse {
        let end =
            |log: f64| Some(log.exp_m1()).filter(|share| share.is_finite() && log.is_finite());
        Worse {
            point: self.point.exp_m1(),
            low: end(self.low),
            high: end(self.high),
            n: self.n,
        }
    }

    /// What a gate comes to. What is no number is on neither side of anything. A build that is red
    /// by chance costs somebody a day: that it is worse at all has to be shown with 99 %.
    fn held_against(&self, gate: f64) -> Ruling {
        let limit = gate.ln_1p();
        if self.high < limit {
            Ruling::Passed
        } else if self.certain[0] > 0.0 && self.point >= limit {
            Ruling::Breached
        } else {
            Ruling::CannotTell
        }
    }

    /// How far the nearer of the two limits is, which an interval has to leave out to decide.
    fn distance(&self, gate: f64) -> f64 {
        let limit = gate.ln_1p();
        if self.point < limit {
            limit - self.point
        } else {
            self.point
        }
    }
}

impl GateRow {
    fn new(pair: PairKey, metric: Metric, gates: &Gates) -> Self {
        let gate = gates.of(metric);
        Self {
            pair,
            metric,
            first: None,
            second: None,
            at_least: [false; 2],
            worse: None,
            gate,
            ruling: gate.map_or(Ruling::Shown, |_| Ruling::CannotTell),
            rounds_needed: None,
            rounds_enough: None,
            settled_at: None,
            reason: None,
        }
    }

    /// Takes the values of both sides as they are shown.
    fn take(&mut self, sides: [&JudgedCell<'_>; 2]) {
        let measure = self.metric;
        let [first, second] = sides.map(|side| side.estimate(measure).ok());
        (self.first, self.second) = (first, second);
        let is_rate = self.metric == Metric::RatePerS;
        self.at_least = sides.map(|side| is_rate && side.rate_bound.is_some());
    }

    /// Holds a change against the gate.
    fn hold(&mut self, change: &Change, located: &Located) {
        self.worse = Some(change.shares());
        let Some(gate) = self.gate else { return };
        self.ruling = change.held_against(gate);
        if self.ruling != Ruling::CannotTell {
            return;
        }
        let needed = located.rounds_to_decide(change.distance(gate));
        self.rounds_needed = needed.map(|rounds| rounds.max(change.n as u32 + 1));
        self.reason = Some(
            match (change.low.is_finite(), change.point < gate.ln_1p()) {
                (false, _) => format!("{} rounds are too few for an interval", change.n),
                (true, true) => "it may be worse by the gate or more".to_owned(),
                (true, false) if change.low > 0.0 => {
                    "that it is worse at all is shown with 95 %, and a breach takes 99 %".to_owned()
                }
                (true, false) => "it may not be worse at all".to_owned(),
            },
        );
    }
}

/// What all gates come to: breached if one is, else not decided if one is not.
pub fn worst_ruling(rows: &[GateRow]) -> Ruling {
    let rulings = rows.iter().map(|row| row.ruling);
    rulings.max().unwrap_or(Ruling::CannotTell)
}

/// Refuses gates that nothing here is held against.
fn all_fit(gates: &Gates, rows: &[GateRow]) -> Result<(), GateError> {
    let mut metrics = gates.iter().map(|(metric, _)| metric);
    match metrics.find(|metric| rows.iter().all(|row| row.metric != *metric)) {
        Some(metric) => Err(GateError::FitsNothing(metric)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_read_and_what_is_none_is_refused() {
        let gates = Gates::parse("rate=5%, p99 = 12.5 %").unwrap();
        assert_eq!(gates.of(Metric::RatePerS), Some(0.05));
        assert_eq!(gates.of(Metric::LatencyP99Ns), Some(0.125));
        assert_eq!(gates.of(Metric::CpuNsPerRequest), None);
        for (text, problem) in [
            ("", "is not a gate"),
            ("rate", "is not a gate"),
            ("rate=5", "is not a gate"),
            ("rate=x%", "is not a gate"),
            ("rate=0%", "above 0%"),
            ("rate=-5%", "above 0%"),
            ("rate=nan%", "above 0%"),
            ("rate=inf%", "above 0%"),
            ("speed=5%", "expected one of rate, p50"),
            ("rate=5%,rate=6%", "two gates"),
            ("rate=5%,", "is not a gate"),
        ] {
            let error = Gates::parse(text).unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }

    #[test]
    fn an_interval_passes_breaches_or_leaves_it_open() {
        let ruling = |point: f64, low: f64, high: f64| {
            let change = Change {
                point,
                low,
                high,
                certain: [low - 0.01, high + 0.01],
                n: 10,
            };
            change.held_against(0.05)
        };
        let limit = 0.05_f64.ln_1p();
        assert_eq!(ruling(0.0, -0.02, 0.02), Ruling::Passed);
        assert_eq!(
            ruling(0.03, 0.02, 0.04),
            Ruling::Passed,
            "worse, and within"
        );
        assert_eq!(ruling(-0.5, -0.9, 0.0), Ruling::Passed);
        assert_eq!(ruling(limit, 0.011, 0.2), Ruling::Breached);
        assert_eq!(
            ruling(limit, 0.009, 0.2),
            Ruling::CannotTell,
            "not with 99 %"
        );
        assert_eq!(ruling(0.2, 0.1, f64::INFINITY), Ruling::Breached);
        assert_eq!(ruling(0.2, 0.0, 0.4), Ruling::CannotTell);
        assert_eq!(ruling(0.03, 0.01, 0.05), Ruling::CannotTell);
        assert_eq!(ruling(0.0, -0.1, limit), Ruling::CannotTell);
        assert_eq!(ruling(f64::NAN, f64::NAN, f64::NAN), Ruling::CannotTell);
    }
}
