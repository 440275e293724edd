//! The result of a search, goal by goal: the two bounds, or the name of the reason why there are
//! none.
//!
//! It reads the trials of a search and chooses none: `progress.rs` does.

use bakeoff_plan::Goal;
use bakeoff_record::limits::CEILING_SHARE;
use schemars::JsonSchema;
use serde::Serialize;

use crate::bounds::{Bounds, Rates, shown};
use crate::classify::Class;
use crate::confirming::{Confirmed, Confirming, Kept, kept};
use crate::curve::{self, CurvePoint};
use crate::judged::{Judged, Why, judge};
use crate::progress::{LOST_MAX, Progress, TRIALS_MAX, of_servers};
use crate::seen::{Came, Measured, Purpose, Seen};
use crate::taken::why_taken;
use crate::unseen::unseen;

/// Share of the yardstick's rate from which on it was no ceiling.
const BEYOND: f64 = 1.1;

bakeoff_plan::named! {
    /// Why a result is not a pair of bounds as near as was asked for (method R28).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Irregular {
        /// The load engine, and not the server, is what ends above the lower bound, or may be.
        GeneratorLimited = "generator-limited",
        /// The connections of the load, and not the server, are what ends above the lower bound.
        ConnectionsTaken = "connections-taken",
        /// No rate meets the goal, however low.
        NoLower = "no-lower",
        /// Longer trials missed it at every rate that they tried, below the lower bound too.
        NotConfirmed = "not-confirmed",
        /// The trials that meet it are too short to show the failures of higher rates.
        TooFewRequests = "too-few-requests",
        /// Every rate that was tried meets it.
        NoUpper = "no-upper",
        /// A rate above one that misses it meets it.
        Inversion = "inversion",
        /// Trials at or below the lower bound missed it, and were set aside as disturbed.
        SetAsideMissed = "set-aside-missed",
        /// Time or trials were used up before the bounds were near enough, or before longer trials
        /// confirmed the lower one.
        Budget = "budget",
        /// The search was stopped, or the contender ceased to run; it can go on.
        Unfinished = "unfinished",
        /// The contender came to no trial at a rate, or gave no right answer.
        Failed = "failed",
    }
}

/// What was found for one goal.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The goal.
    pub goal: Goal,
    /// Bounds and what stands behind them.
    pub standing: Standing,
    /// Why it is not a regular result.
    pub irregular: Option<Irregular>,
    /// In a sentence, where there is more to say than its name.
    pub why: Option<String>,
    /// Whether longer trials confirmed the lower bound, and no trial at or below it missed the
    /// goal; `None` where no longer ones were made.
    pub confirmed: Option<bool>,
    /// Whether longer trials hold at the lower bound; `None` where none were made.
    pub held: Option<bool>,
    /// Trials at or below the lower bound.
    pub tally: Tally,
    /// Whether they did not because the load engine was too late or too busy in them: then they
    /// say nothing about the server.
    pub is_confirmation_spoiled: bool,
    /// The lower bound that the search found, where trials at or below it missed the goal, requests
    /// per second.
    pub lowered_from_per_s: Option<f64>,
    /// Its trials, in the order in which they ended.
    pub trials: Vec<TrialFound>,
}

/// Bounds of one goal, requests per second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Standing {
    /// The highest rate that meets the goal, below the upper bound.
    pub lower_per_s: Option<f64>,
    /// The lowest rate that does not.
    pub upper_per_s: Option<f64>,
    /// Right answers per second at the lower bound.
    pub achieved_per_s: Option<f64>,
    /// Fresh servers that met the goal at the lower bound in full trials.
    pub lower_servers: usize,
    /// Fresh servers that missed it at the upper bound.
    pub upper_servers: usize,
}

/// Trials at or below a lower bound that say something of the server, whatever they were for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tally {
    /// All of them, with those that were set aside.
    pub of: usize,
    /// Those that missed the goal and count: shorter ones, which only said where to look.
    pub missed: usize,
    /// Those that were set aside as disturbed.
    pub set_aside: usize,
    /// Those of them that missed the goal.
    pub set_aside_missed: usize,
}

impl Tally {
    /// Those that missed the goal, whether they count or not.
    pub fn all_missed(&self) -> usize {
        self.missed + self.set_aside_missed
    }

    /// Whether none of them missed it.
    pub(crate) fn is_clean(&self) -> bool {
        self.all_missed() == 0
    }
}

/// A trial and what it said.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialFound {
    /// Id in the record.
    pub id: String,
    /// What it was for.
    pub purpose: Purpose,
    /// Rate offered, requests per second; `None` in a closed loop.
    pub rate_per_s: Option<f64>,
    /// Measured time, seconds.
    pub length_s: f64,
    /// Right answers per second; `None` where nothing was measured.
    pub achieved_per_s: Option<f64>,
    /// The quantile of the goal, or p99, at the least, nanoseconds.
    pub latency_ns: Option<u64>,
    /// Share of the requests due that did not come out right.
    pub failed_share: Option<f64>,
    /// Whether something disturbed it.
    pub is_disturbed: bool,
    /// Whether it does not count for that reason.
    pub is_set_aside: bool,
    /// What it says about the goal; `None` where it did not come to its load.
    pub judged: Option<Judged>,
}

impl Found {
    /// The same without its lower bound, which its trials do not show.
    fn without_lower(mut self, why: String) -> Self {
        self.standing = Standing {
            upper_per_s: self.standing.upper_per_s,
            upper_servers: self.standing.upper_servers,
            ..Standing::default()
        };
        (self.lowered_from_per_s, self.confirmed, self.held) = (None, None, None);
        self.tally = Tally::default();
        self.is_confirmation_spoiled = false;
        // A search that can go on may still find one.
        if !matches!(
            self.irregular,
            Some(Irregular::Unfinished | Irregular::Failed)
        ) {
            (self.irregular, self.why) = (Some(Irregular::TooFewRequests), Some(why));
        }
        self
    }
}

impl Progress<'_> {
    /// What was found so far for each goal, in their order. `yardstick_per_s` is what the null
    /// server answered in a closed loop.
    pub fn found(&self, yardstick_per_s: Option<f64>) -> Vec<Found> {
        let goals = self.search.goals.iter();
        goals
            .map(|goal| self.found_for(goal, yardstick_per_s))
            .collect()
    }

    fn found_for(&self, goal: &Goal, yardstick_per_s: Option<f64>) -> Found {
        let stage = self.last_stage();
        let rates = self.rates(goal);
        let bounds = rates.bounds(stage);
        let kept = kept(self, goal, bounds);
        let Bounds { lower, mut upper } = kept.bounds;
        let (irregular, why) = self.irregular(goal, yardstick_per_s, &kept);
        let is_limited = irregular == Some(Irregular::GeneratorLimited);
        let is_ceiling = why_ceiling(bounds, yardstick_per_s).is_some();
        let is_taken = irregular == Some(Irregular::ConnectionsTaken);
        if is_taken || (is_limited && is_ceiling && rates.cap(bounds).is_none()) {
            // What ends there is the connections, or may be the engine's ceiling.
            upper = None;
        }
        let trials = self.trials_found(goal);
        let tally = lower.map_or_else(Tally::default, |lower| tally(&trials, lower));
        let (irregular, why) = match (irregular, why_set_aside(tally)) {
            (None, Some(why)) => (Some(Irregular::SetAsideMissed), Some(why)),
            known => (known.0, why),
        };
        let found = Found {
            goal: *goal,
            standing: Standing {
                lower_per_s: lower,
                upper_per_s: upper,
                achieved_per_s: lower.and_then(|rate| self.achieved(goal, rate)),
                lower_servers: lower.map_or(0, |rate| {
                    let confirming = Confirming::of(self, goal, rate);
                    confirming.behind_lower() + rates.servers(stage, rate, Class::Lower)
                }),
                upper_servers: upper.map_or(0, |rate| {
                    let confirming = Confirming::of(self, goal, rate);
                    confirming.behind_upper() + rates.servers(stage, rate, Class::Upper)
                }),
            },
            irregular,
            why,
            confirmed: kept.held.map(|is| is && tally.is_clean()),
            held: kept.held,
            tally,
            is_confirmation_spoiled: kept.is_spoiled(),
            lowered_from_per_s: kept.lowered_from_per_s,
            trials,
        };
        // One that longer trials refuted may be none for that reason, too.
        let refuted = kept.lowered_from_per_s;
        let refuted = refuted.filter(|_| irregular == Some(Irregular::Budget));
        match lower.or(refuted).and_then(|rate| unseen(self, goal, rate)) {
            Some(why) => found.without_lower(why),
            None => found,
        }
    }

    fn irregular(
        &self,
        goal: &Goal,
        yardstick: Option<f64>,
        kept: &Kept,
    ) -> (Option<Irregular>, Option<String>) {
        let gave_up = self.gave_up();
        if let Some(why) = gave_up.as_ref().filter(|_| !has_run(&self.trials)) {
            return (Some(Irregular::Failed), Some(why.clone()));
        }
        let Some(closed_per_s) = self.closed_per_s() else {
            return match self.further() {
                Some(_) => (Some(Irregular::Unfinished), None),
                None => {
                    let why = "time ended before a closed loop showed where to begin";
                    (Some(Irregular::Budget), Some(why.to_owned()))
                }
            };
        };
        let (stage, rates) = (self.last_stage(), self.rates(goal));
        let bounds = rates.bounds(stage);
        let is_open = self.search_step(goal, closed_per_s).is_some();
        let is_missing = matches!(kept.ended, Confirmed::Missing { .. });
        let goes_on = match self.further().map(|step| step.purpose) {
            Some(Purpose::Search) => is_open || is_missing,
            Some(Purpose::Confirm) => is_missing,
            Some(Purpose::Closed | Purpose::Curve { .. }) | None => false,
        };
        if goes_on {
            // What was found before it ceased to run stands.
            let why = gave_up
                .map(|why| format!("its last {LOST_MAX} trials did not come to their load: {why}"));
            return (Some(Irregular::Unfinished), why);
        }
        match kept.ended {
            Confirmed::No { rate_per_s } => {
                let least = shown(rate_per_s);
                let why =
                    format!("longer trials missed it at every rate down to {least} requests/s");
                return (Some(Irregular::NotConfirmed), Some(why));
            }
            Confirmed::Missing {
                rate_per_s,
                held_per_s,
            } if bounds.lower != Some(rate_per_s) => {
                return (
                    Some(Irregular::Budget),
                    why_ended(self, held_per_s.is_none()),
                );
            }
            _ => {}
        }
        if let Some(why) = why_limited(self, &rates, kept, yardstick) {
            return (Some(Irregular::GeneratorLimited), Some(why));
        }
        if is_open || is_missing {
            return (Some(Irregular::Budget), why_ended(self, is_missing));
        }
        of_bounds(self, goal, &rates, kept, closed_per_s)
    }

    /// The conditional throughput of MLRsearch (appendix B): of the full trials at a rate, best
    /// first, the loss of the last that the time without the tolerated share takes in.
    fn achieved(&self, goal: &Goal, rate: f64) -> Option<f64> {
        let stage = self.last_stage();
        let all = of_servers(self, goal);
        let here = all.filter(|(trial, _)| trial.rate_per_s == rate);
        let mut trials: Vec<(f64, f64)> = here
            .filter(|(trial, _)| trial.length_s >= stage.trial_s)
            .filter_map(|(trial, _)| Some((trial.measured()?.failed_share()?, trial.length_s)))
            .collect();
        trials.sort_by(|left, right| left.0.total_cmp(&right.0));
        let whole: f64 = trials.iter().map(|(_, length_s)| length_s).sum();
        let mut left_s = whole.max(stage.sum_s) * (1.0 - stage.exceed);
        let mut loss = None;
        for (share, length_s) in trials {
            if loss.is_some() && left_s <= 1e-9 {
                break;
            }
            loss = Some(share);
            left_s -= length_s;
        }
        loss.map(|loss| rate * (1.0 - loss))
    }

    fn trials_found(&self, goal: &Goal) -> Vec<TrialFound> {
        let trials = self.trials.iter().zip(&self.set_aside);
        let quantile = goal
            .objective
            .map_or(0.99, |objective| objective.quantile());
        let one = |(trial, is_set_aside): (&Seen, &bool)| {
            let measured = trial.measured();
            TrialFound {
                id: trial.id.clone(),
                purpose: trial.purpose,
                rate_per_s: Some(trial.rate_per_s).filter(|rate| *rate > 0.0),
                length_s: trial.length_s,
                achieved_per_s: trial.ok_per_s(),
                latency_ns: measured.and_then(|it| it.latency.quantile(quantile)),
                failed_share: measured.and_then(Measured::failed_share),
                is_disturbed: trial.is_disturbed,
                is_set_aside: *is_set_aside,
                judged: judge(goal, trial).filter(|_| trial.purpose != Purpose::Closed),
            }
        };
        trials.map(one).collect()
    }

    /// The latency curve as far as it was begun, by rising rate.
    pub fn curve(&self) -> Vec<CurvePoint> {
        curve::curve(self)
    }
}

/// Whether any trial at a rate came to its load.
fn has_run(trials: &[Seen]) -> bool {
    let mut trials = trials.iter();
    trials.any(|it| it.purpose != Purpose::Closed && !matches!(it.came, Came::Lost(_)))
}

/// Why the bounds of a search that ended are no regular result.
fn of_bounds(
    progress: &Progress<'_>,
    goal: &Goal,
    rates: &Rates,
    kept: &Kept,
    closed_per_s: f64,
) -> (Option<Irregular>, Option<String>) {
    let stage = progress.last_stage();
    let bounds = rates.bounds(stage);
    if kept.bounds.lower.is_none() && bounds.lower.is_some() && !kept.is_spoiled() {
        let why = "trials missed it at or below every rate at which others met it";
        return (Some(Irregular::NotConfirmed), Some(why.to_owned()));
    }
    let in_curve = bounds.lower;
    let in_curve = in_curve.and_then(|met| missed_in_curve(progress, goal, met));
    match (bounds.lower, bounds.upper) {
        (Some(_), Some(_)) if rates.is_inverted(stage) => (Some(Irregular::Inversion), None),
        _ if in_curve.is_some() => (Some(Irregular::Inversion), in_curve),
        (Some(_), _) if kept.is_spoiled() => {
            let why = "the load engine was too late or too busy in the confirming trials";
            (Some(Irregular::GeneratorLimited), Some(why.to_owned()))
        }
        (Some(_), Some(_)) => {
            let taken = kept
                .bounds
                .upper
                .and_then(|upper| why_taken(progress, goal, upper));
            (taken.as_ref().map(|_| Irregular::ConnectionsTaken), taken)
        }
        (None, _) => {
            let least = progress.range(goal, closed_per_s).least;
            let longer_s = progress.longer_trial_s(goal, closed_per_s);
            let more = match (failures_at(progress, goal, least), longer_s) {
                (Some(share), _) => format!(": {} % of the requests fail there", percent(share)),
                (None, Some(length_s)) => format!(
                    ": at a lower one a trial has too few requests for the quantile, so give it \
                     --duration {length_s}s"
                ),
                (None, None) => String::new(),
            };
            let why = format!(
                "missed at {} requests/s too, the lowest rate tried{more}",
                shown(least)
            );
            (Some(Irregular::NoLower), Some(why))
        }
        (Some(_), None) => (Some(Irregular::NoUpper), None),
    }
}

/// What trials at or below a lower bound say, all of them.
fn tally(trials: &[TrialFound], lower_per_s: f64) -> Tally {
    let mut tally = Tally::default();
    for trial in trials {
        let is_here = trial.rate_per_s.is_some_and(|rate| rate <= lower_per_s);
        let missed = match trial.judged.filter(|_| is_here) {
            Some(Judged::Meets) => 0,
            Some(Judged::Exceeds(_)) => 1,
            Some(Judged::Limited) | None => continue,
        };
        tally.of += 1;
        if trial.is_set_aside {
            tally.set_aside += 1;
            tally.set_aside_missed += missed;
        } else {
            tally.missed += missed;
        }
    }
    tally
}

/// Why a bound may hold on a quiet machine alone.
fn why_set_aside(tally: Tally) -> Option<String> {
    let Tally {
        set_aside,
        set_aside_missed: missed,
        ..
    } = tally;
    (missed > 0).then(|| {
        format!(
            "{missed} of {set_aside} trials at or below it that were set aside as disturbed missed \
             the goal, so it may hold on a quiet machine alone"
        )
    })
}

/// Why a trial of the curve takes away a rate that met the goal: it missed it at a lower one.
fn missed_in_curve(progress: &Progress<'_>, goal: &Goal, met: f64) -> Option<String> {
    let missed = progress.missed_in_full(goal);
    let missed = missed.filter(|it| matches!(it.purpose, Purpose::Curve { .. }));
    let least = missed.map(|it| it.rate_per_s).reduce(f64::min)?;
    (least < met).then(|| {
        format!(
            "a trial at {} requests/s missed it, and those at {} met it",
            shown(least),
            shown(met)
        )
    })
}

/// The share of the requests due that failed at a rate, median of the trials there, if failures are
/// why each of them missed the goal: then a longer trial or a lower rate would not help.
fn failures_at(progress: &Progress<'_>, goal: &Goal, rate: f64) -> Option<f64> {
    let here = of_servers(progress, goal).filter(|(trial, _)| trial.rate_per_s == rate);
    let missed: Vec<(&Seen, Judged)> = here
        .filter(|(_, judged)| matches!(judged, Judged::Exceeds(_)))
        .collect();
    let by_failures = |(_, judged): &(&Seen, Judged)| *judged == Judged::Exceeds(Why::Failures);
    if !missed.iter().all(by_failures) {
        return None;
    }
    let mut shares: Vec<f64> = missed
        .iter()
        .filter_map(|(trial, _)| trial.measured()?.failed_share())
        .collect();
    shares.sort_by(f64::total_cmp);
    shares.get(shares.len() / 2).copied()
}

/// A share in percent, to two digits.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = (1.0 - percent.log10().floor()).clamp(0.0, 6.0);
    let scale = 10_f64.powf(decimals);
    format!("{}", (percent * scale).round() / scale)
}

/// Why nothing goes on, where its name does not say it: `is_missing` where longer trials are.
fn why_ended(progress: &Progress<'_>, is_missing: bool) -> Option<String> {
    if progress.trials.len() >= TRIALS_MAX {
        return Some(format!("{TRIALS_MAX} trials were not enough"));
    }
    is_missing.then(|| "time ended before longer trials confirmed a lower bound".to_owned())
}

/// Why the load engine, and not the server, is what ends below the upper bound: it spoils trials
/// from a rate on, or the lower bound is near what the null server answered. A server that is well
/// beyond that proves that it is no ceiling here.
fn why_limited(
    progress: &Progress<'_>,
    rates: &Rates,
    kept: &Kept,
    yardstick_per_s: Option<f64>,
) -> Option<String> {
    let bounds = rates.bounds(progress.last_stage());
    let capped = rates.cap(bounds);
    let capped = capped.map(|cap| why_capped(progress, cap, bounds.upper, kept));
    capped.or_else(|| why_ceiling(bounds, yardstick_per_s))
}

fn why_ceiling(bounds: Bounds, yardstick_per_s: Option<f64>) -> Option<String> {
    let (lower, ceiling) = bounds.lower.zip(yardstick_per_s)?;
    (CEILING_SHARE * ceiling..=BEYOND * ceiling)
        .contains(&lower)
        .then(|| {
            format!(
                "more than 80 % of the {} requests/s that the null server answered",
                shown(ceiling)
            )
        })
}

/// What the engine did at the rate from which on it spoils trials, and whether something else on
/// the machine may be why.
fn why_capped(progress: &Progress<'_>, cap: f64, upper: Option<f64>, kept: &Kept) -> String {
    let here = progress.trials.iter().filter(|it| it.rate_per_s == cap);
    let (disturbed, quiet): (Vec<&Seen>, Vec<&Seen>) = here.partition(|it| it.is_disturbed);
    let beside = match (disturbed.len(), disturbed.len() + quiet.len()) {
        (0, _) => String::new(),
        (disturbed, all) => {
            format!("; something else on the machine disturbed {disturbed} of {all} trials there")
        }
    };
    let range = match upper {
        Some(upper) => format!("between {} and {} requests/s", shown(cap), shown(upper)),
        None => format!("from {} requests/s on", shown(cap)),
    };
    let confirming = if kept.is_spoiled() {
        " and in the confirming trials"
    } else {
        ""
    };
    format!("{range}{confirming} the load engine was too late or too busy{beside}")
}

impl TrialFound {
    /// What it says, as every output format names it.
    pub fn outcome(&self) -> &'static str {
        match self.judged {
            _ if self.is_set_aside => "set-aside",
            Some(Judged::Meets) => "meets",
            Some(Judged::Exceeds(_)) => "exceeds",
            Some(Judged::Limited) => "limited",
            None if self.achieved_per_s.is_some() => "measured",
            None => "lost",
        }
    }

    /// In what it missed the goal.
    pub fn why(&self) -> Option<Why> {
        match self.judged {
            Some(Judged::Exceeds(why)) => Some(why),
            Some(Judged::Meets | Judged::Limited) | None => None,
        }
    }
}
