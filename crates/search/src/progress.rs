//! How far the search of one contender at one workload is: which trial is next, and when it ends.
//!
//! Nothing is remembered: everything is worked out from the trials so far, in the order in which
//! they ended. So a search that was interrupted goes on exactly where it was.

use bakeoff_plan::{CONFIRMING, Goal, Load, Search};

use crate::bounds::{Bounds, Range, Rates, readable};
use crate::judged::{Judged, judge};
use crate::seen::{Came, Purpose, Seen};
use crate::stage::{Stage, stages};

/// Trials of one contender at one workload, at the most.
pub const TRIALS_MAX: usize = 500;
/// Trials in a row that did not come to their load, after which a contender is given up.
pub(crate) const LOST_MAX: usize = 3;
/// Closed loops without a right answer, after which it is given up.
const WRONG_MAX: usize = 2;
/// Share of the closed loop's rate at which the search begins.
const BEGIN: f64 = 0.5;
/// How far from the closed loop's rate a search may come, as a factor either way.
const FAR_BELOW: f64 = 128.0;
const FAR_ABOVE: f64 = 64.0;
/// Length of the first closed loop, seconds. The next is as long as a full trial.
pub const CLOSED_S: f64 = 2.0;
/// Starting and stopping a server, seconds: a guess, for what is planned alone.
const OVERHEAD_S: f64 = 1.0;
/// Disturbed trials that are set aside in any case; beyond, half of all.
const SET_ASIDE: usize = 4;

/// The next trial of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// What the trial is for.
    pub purpose: Purpose,
    /// Rate, requests per second; `None` of a closed loop.
    pub rate_per_s: Option<f64>,
    /// Measured time, seconds.
    pub length_s: f64,
}

impl Step {
    /// A closed loop of this length.
    pub fn closed(length_s: f64) -> Self {
        Self {
            purpose: Purpose::Closed,
            rate_per_s: None,
            length_s,
        }
    }
}

/// The search of one contender at one workload, as far as it has come.
#[derive(Debug, Clone)]
pub struct Progress<'s> {
    pub(crate) search: &'s Search,
    pub(crate) load: &'s Load,
    pub(crate) trials: Vec<Seen>,
    /// Which of them were disturbed and do not count.
    pub(crate) set_aside: Vec<bool>,
    /// What it may take, seconds.
    pub(crate) budget_s: f64,
    pub(crate) stages: Vec<Stage>,
    /// How many of the trials were made before the search was resumed. That those were lost is no
    /// reason to give up now.
    pub(crate) resumed_at: usize,
}

impl<'s> Progress<'s> {
    /// The search of `load`, whose rate is sought, with its trials so far in the order in which
    /// they ended. `None` of a load that has a rate.
    pub(crate) fn new(load: &'s Load, trials: Vec<Seen>, budget_s: f64) -> Option<Self> {
        let search = load.search()?;
        Some(Self {
            search,
            load,
            set_aside: set_aside(&trials),
            trials,
            budget_s,
            stages: stages(search, load.duration_s),
            resumed_at: 0,
        })
    }

    /// What the trials so far took, seconds.
    pub fn spent_s(&self) -> f64 {
        self.trials.iter().map(|trial| trial.took_s).sum()
    }

    /// Why no more is tried: the contender does not run, or not any more, or gives no right answer.
    pub(crate) fn gave_up(&self) -> Option<String> {
        let own = self.trials.get(self.resumed_at..).unwrap_or_default();
        let lost = |trial: &Seen| match &trial.came {
            Came::Lost(why) => Some(why.clone()),
            _ => None,
        };
        let last: Vec<Option<String>> = own.iter().rev().take(LOST_MAX).map(lost).collect();
        if last.len() == LOST_MAX && last.iter().all(Option::is_some) {
            return last.into_iter().next().flatten();
        }
        // Of those that ran, none has a right answer where there is no rate.
        let ran = closed(own).count();
        let died = closed(own).filter(|trial| trial.came == Came::Died);
        (self.closed_per_s().is_none() && ran >= WRONG_MAX).then(|| match died.count() {
            0 => why_none_right(own),
            died => format!("the server ended in {died} of {ran} closed loops"),
        })
    }

    /// Right answers per second in the closed loop.
    pub(crate) fn closed_per_s(&self) -> Option<f64> {
        let rates = closed(&self.trials).filter_map(Seen::ok_per_s);
        rates.into_iter().find(|rate| *rate > 0.0)
    }

    /// Trials of a purpose that count, with what each says about a goal.
    pub(crate) fn judged(
        &self,
        goal: &Goal,
        purpose: Purpose,
    ) -> impl Iterator<Item = (&Seen, Judged)> {
        let of_purpose = move |(trial, _): &(&Seen, Judged)| trial.purpose == purpose;
        self.counted(goal).filter(of_purpose)
    }

    /// Trials that count, with what each says about a goal.
    fn counted(&self, goal: &Goal) -> impl Iterator<Item = (&Seen, Judged)> {
        let counts = self.trials.iter().zip(&self.set_aside);
        let counted = counts.filter(|(_, is_set_aside)| !**is_set_aside);
        counted.filter_map(move |(trial, _)| Some((trial, judge(goal, trial)?)))
    }

    /// Trials of rates that count, are as long as a bound takes, and missed a goal. Shorter ones
    /// only say where to look.
    pub(crate) fn missed_in_full(&self, goal: &Goal) -> impl Iterator<Item = &Seen> {
        let missed = self.counted(goal).filter(|(trial, judged)| {
            let is_full = trial.length_s >= self.last_stage().trial_s;
            is_full && trial.purpose != Purpose::Closed && matches!(judged, Judged::Exceeds(_))
        });
        missed.map(|(trial, _)| trial)
    }

    pub(crate) fn rates(&self, goal: &Goal) -> Rates {
        let mut rates = Rates::default();
        for (trial, judged) in self.judged(goal, Purpose::Search) {
            rates.add(trial.rate_per_s, trial.length_s, judged);
        }
        rates
    }

    /// What full trials show of a goal so far.
    pub(crate) fn bounds(&self, goal: &Goal) -> Bounds {
        self.rates(goal).bounds(self.last_stage())
    }

    pub(crate) fn last_stage(&self) -> &Stage {
        self.stages
            .last()
            .expect("there is always the goal's own stage")
    }

    pub(crate) fn range(&self, goal: &Goal, closed_per_s: f64) -> Range {
        let needed = needed(goal) / self.load.duration_s;
        let least = readable(needed.max(closed_per_s / FAR_BELOW).max(0.001));
        let most = readable((closed_per_s * FAR_ABOVE).min(1e7)).max(least);
        Range {
            start: readable(closed_per_s * BEGIN).clamp(least, most),
            least,
            most,
        }
    }

    /// Length of a full trial that has enough requests at an eighth of the closed loop's rate,
    /// whole seconds; `None` where trials have that length, or are tried at lower rates already.
    pub(crate) fn longer_trial_s(&self, goal: &Goal, closed_per_s: f64) -> Option<u64> {
        let needed = needed(goal);
        let is_least = needed / self.load.duration_s > closed_per_s / FAR_BELOW;
        let length_s = (8.0 * needed / closed_per_s).ceil();
        (is_least && length_s > self.load.duration_s).then_some(length_s as u64)
    }

    pub(crate) fn search_step(&self, goal: &Goal, closed_per_s: f64) -> Option<Step> {
        let range = self.range(goal, closed_per_s);
        let (rate_per_s, stage) = self.rates(goal).next(&self.stages, range)?;
        // A short trial at a low rate is made long enough to have the quantile at all.
        let enough_s = (needed(goal) / rate_per_s * 10.0).ceil() / 10.0;
        let length_s = stage.trial_s.max(enough_s.min(self.load.duration_s));
        Some(Step {
            purpose: Purpose::Search,
            rate_per_s: Some(rate_per_s),
            length_s,
        })
    }

    /// Whether the budget has room for a trial; a search leaves room for what follows it.
    pub(crate) fn may_take(&self, step: &Step, is_search: bool) -> bool {
        let kept_s = if is_search { self.reserved_s() } else { 0.0 };
        let trial_s = step.length_s + self.load.warmup_s + self.overhead_s();
        self.spent_s() + kept_s + trial_s <= self.budget_s
    }

    /// What a trial takes beside its load, seconds: as much as the longest so far, as this one may.
    fn overhead_s(&self) -> f64 {
        let own = |trial: &Seen| trial.took_s - trial.length_s - self.load.warmup_s;
        let ran = |trial: &&Seen| !matches!(trial.came, Came::Lost(_));
        let longest = self.trials.iter().filter(ran).map(own).reduce(f64::max);
        longest.map_or(OVERHEAD_S, |longest| longest.max(0.0))
    }

    /// Confirmation of every goal that has a lower bound, which may fail once, and the curve; half
    /// of the budget at the most. Without a lower bound there is nothing to confirm: all of the
    /// time is for finding one.
    fn reserved_s(&self) -> f64 {
        let goals = self.search.goals.iter();
        let has_lower = |goal: &&Goal| self.bounds(goal).lower.is_some();
        let to_confirm = goals.filter(has_lower).count();
        if to_confirm == 0 {
            return 0.0;
        }
        let confirm_s = self.search.confirm.as_secs_f64();
        let confirming = if confirm_s > 0.0 {
            2.0 * f64::from(CONFIRMING) * to_confirm as f64
        } else {
            0.0
        };
        let curve = self.search.curve.len() as f64 * cost_s(self.load, self.load.duration_s);
        (confirming * cost_s(self.load, confirm_s) + curve).min(self.budget_s / 2.0)
    }
}

/// Trials that searched and that confirmed, with what each says about a goal.
pub(crate) fn of_servers<'a>(
    progress: &'a Progress<'_>,
    goal: &'a Goal,
) -> impl Iterator<Item = (&'a Seen, Judged)> {
    let search = progress.judged(goal, Purpose::Search);
    search.chain(progress.judged(goal, Purpose::Confirm))
}

/// What a trial of this length takes in all, seconds.
pub(crate) fn cost_s(load: &Load, length_s: f64) -> f64 {
    length_s + load.warmup_s + OVERHEAD_S
}

/// Closed loops that ran.
pub(crate) fn closed(trials: &[Seen]) -> impl Iterator<Item = &Seen> {
    let is_closed = |trial: &&Seen| trial.purpose == Purpose::Closed;
    let ran = |trial: &&Seen| !matches!(trial.came, Came::Lost(_));
    trials.iter().filter(is_closed).filter(ran)
}

/// Why closed loops that ran have no right answer.
fn why_none_right(trials: &[Seen]) -> String {
    let ended = |trial: &Seen| trial.measured().is_some_and(|measured| measured.due > 0);
    if closed(trials).any(ended) {
        return "no answer was right in a closed loop".to_owned();
    }
    let longest_s = closed(trials).map(|trial| trial.length_s);
    let longest_s = longest_s.fold(0.0, f64::max);
    format!("no request ended in a closed loop of {longest_s} s; give it a longer --duration")
}

/// Requests that a trial must hold to say something about a goal.
fn needed(goal: &Goal) -> f64 {
    goal.objective
        .map_or(1.0, |objective| objective.requests_least())
}

/// Which trials are set aside because something disturbed them: decided by that alone, never by
/// what they came to. Only some are, so that a machine with other load on it ends its search too:
/// half of all, and a quarter where more than two of three are disturbed, because then the next
/// one most likely is, too.
///
/// Of 24 simulated searches whose trials were disturbed one time in two, and then 30 % slower, the
/// lower bounds lay at 736 to 777/s with this rule, and at 594 to 747/s where a quarter was set
/// aside (the middle 80 %). The server's own was 773/s.
fn set_aside(trials: &[Seen]) -> Vec<bool> {
    let (mut disturbed, mut count) = (0, 0);
    let aside = trials.iter().enumerate().map(|(index, trial)| {
        let all = index + 1;
        let is_disturbed = trial.is_disturbed && trial.purpose != Purpose::Closed;
        disturbed += usize::from(is_disturbed);
        let one_of = if 3 * disturbed > 2 * all { 4 } else { 2 };
        let may_be = count < SET_ASIDE.max(all.div_ceil(one_of));
        let is_set_aside = is_disturbed && may_be;
        count += usize::from(is_set_aside);
        is_set_aside
    });
    aside.collect()
}

#[cfg(test)]
mod tests;
