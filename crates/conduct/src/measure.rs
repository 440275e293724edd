//! Puts the load on a contestant and watches it. The engine and the probe run on threads of their
//! own. This thread checks whether the server still lives and whether somebody wants to stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bakeoff_origin::Counts;
use bakeoff_plan::Trial;
use bakeoff_record::{
    ActionDone, Hosts, LoadResult, LostHost, OriginCounts, Step, TrialEnd, Usage, Warning,
};

use crate::actions::Acting;
use crate::clock::Clock;
use crate::event::Event;
use crate::generators::{Generated, UnderWay};
use crate::setting::Setting;
use crate::site::{Ask, Edge, Staged};
use crate::spec::{Encoded, LoadOrder};

/// How often the watch looks.
const WATCH_PERIOD: Duration = Duration::from_millis(20);
/// How long before the window a server is asked for its own counters.
const COUNTERS_LEAD: Duration = Duration::from_millis(60);
/// The same where the upstream's counts are read at the window's start: as long as a busy server
/// is waited for, so that they are not read late because of it.
const COUNTERS_LEAD_PROXIED: Duration = Duration::from_millis(550);
/// How long after the window's start the upstream's counts may have come. Checks allow for what it
/// was asked in that time.
const COUNTS_WITHIN: Duration = Duration::from_millis(50);
/// How often live counters are shown.
const LIVE_PERIOD: Duration = Duration::from_millis(100);

/// What came of the load.
pub(crate) struct Measured {
    /// What the engine saw; kept of a trial that failed in its window, too.
    pub(crate) result: Option<LoadResult>,
    /// The hosts that took part; `None` where it was this machine alone.
    pub(crate) hosts: Option<Hosts>,
    pub(crate) usage: Usage,
    pub(crate) origin: Option<OriginCounts>,
    pub(crate) warnings: Vec<Warning>,
    /// What was done to the server, and what clients noticed of it.
    pub(crate) actions: Vec<ActionDone>,
    /// How the trial ends, unless it goes on to its next step.
    pub(crate) end: Option<TrialEnd>,
    /// The host that is away, where that is why the load never began.
    pub(crate) away: Option<LostHost>,
}

/// Puts the trial's load on the contestant; `encoded` holds the bodies that were
/// fetched before of what the server encodes.
pub(crate) fn measure(
    setting: &Setting<'_>,
    trial: &Trial,
    encoded: &Encoded,
    contestant: &mut dyn Staged,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Measured {
    let Setting {
        generators, stop, ..
    } = *setting;
    let mut warnings = Vec::new();
    let network = !generators.are_here();
    if let Err(cause) = contestant.have(Ask::Sample { network }) {
        warnings.push(Warning {
            code: "no-probe".to_owned(),
            text: format!("resources were not sampled: failed to {cause}"),
            hint: "see `bakeoff doctor`".to_owned(),
        });
    }
    let mut counts_at_start = None;
    let proxied = trial.workload.proxied;
    if trial.load.requests.is_some() {
        // Without a warm-up the window opens with the load, and may be over at the first look.
        counts_at_start = counts(contestant, proxied);
        contestant.ask(Ask::NoteEdge(Edge::Start));
    }
    let order = LoadOrder {
        trial,
        encoded,
        seed: setting.seed.wrapping_add(u64::from(trial.round)),
        reached: &contestant.started().reached,
    };
    let load = match generators.begin(&order) {
        Ok(load) => load,
        Err(cause) => return Measured::failed(Step::Measure, format!("failed to {cause}")),
    };
    let clock = setting.site.clock();
    let mut watch = Watch::new(load, clock.clone(), proxied, counts_at_start);
    watch.is_start_noted = trial.load.requests.is_some();
    watch.acting = trial.load.actions.clone().map(Acting::of);
    while !watch.load.is_over() {
        clock.sleep(watch.nap());
        watch.look(contestant, stop, on_event);
    }
    watch.look_last(contestant, on_event);
    let start = watch.load.window().map(|(start, _)| start);
    let usage = contestant.sampled(start);
    let mut measured = watch.finish(usage, warnings, stop);
    if start.is_none() {
        measured.away = measured.away.or_else(|| contestant.away());
    }
    measured
}

/// What the upstream of a proxied workload has counted.
pub(crate) fn counts(contestant: &mut dyn Staged, proxied: bool) -> Option<Counts> {
    proxied.then(|| contestant.origin_counts()).flatten()
}

impl Measured {
    fn failed(step: Step, cause: String) -> Self {
        Self {
            result: None,
            hosts: None,
            usage: Usage::default(),
            origin: None,
            warnings: Vec::new(),
            actions: Vec::new(),
            end: Some(TrialEnd::failed(step, cause)),
            away: None,
        }
    }
}

/// Looks at a load from outside while it is on.
struct Watch {
    load: Box<dyn UnderWay>,
    clock: Clock,
    proxied: bool,
    /// What is done to the server in the window.
    acting: Option<Acting>,
    step: Option<Step>,
    /// Whether what is counted at the window's start was read.
    is_start_noted: bool,
    /// Whether what is counted at the window's end was read.
    is_end_noted: bool,
    shown: (u64, u64),
    shown_at: Instant,
    counts_at_start: Option<Counts>,
    counts_at_end: Option<Counts>,
    /// How the server ended, or its host was lost.
    died: Option<Death>,
    /// Whether it was ended because of whom it was in contact with.
    is_strayed: bool,
}

/// Why a load was ended early.
struct Death {
    step: Step,
    cause: String,
    log_tail: String,
}

impl Watch {
    fn new(
        load: Box<dyn UnderWay>,
        clock: Clock,
        proxied: bool,
        counts_at_start: Option<Counts>,
    ) -> Self {
        Self {
            load,
            shown_at: clock.now(),
            clock,
            proxied,
            acting: None,
            step: None,
            is_start_noted: false,
            is_end_noted: false,
            shown: (0, 0),
            counts_at_start,
            counts_at_end: None,
            died: None,
            is_strayed: false,
        }
    }

    fn look(
        &mut self,
        contestant: &mut dyn Staged,
        stop: &AtomicBool,
        on_event: &mut dyn FnMut(Event<'_>),
    ) {
        if stop.load(Ordering::Relaxed) {
            self.load.stop();
        }
        self.look_at_phase(contestant, on_event);
        self.act(contestant, stop);
        if self.died.is_none() {
            if let Some(cause) = contestant.lost() {
                self.give_up(cause, String::new());
            } else if let Some(cause) = contestant.strayed() {
                self.give_up(cause, contestant.log_tail());
                self.is_strayed = true;
            } else if let Some(status) = contestant.died() {
                let cause = format!("the server died under load: {status}");
                self.give_up(cause, contestant.log_tail());
            }
        }
        if self.since_shown() >= LIVE_PERIOD {
            self.show_live(on_event);
        }
    }

    /// Carries out what is due, as long as the load goes on.
    fn act(&mut self, contestant: &mut dyn Staged, stop: &AtomicBool) {
        if self.died.is_some() || stop.load(Ordering::Relaxed) {
            return;
        }
        if let Some(acting) = &mut self.acting
            && let Some((start, _)) = self.load.window()
        {
            acting.act(start, &self.clock, contestant);
        }
    }

    /// Says what has ended since the last time.
    fn show_live(&mut self, on_event: &mut dyn FnMut(Event<'_>)) {
        let since = self.since_shown();
        let now = self.load.live();
        // Other hosts may say anything.
        let ok = now.0.saturating_sub(self.shown.0);
        let errors = now.1.saturating_sub(self.shown.1);
        on_event(Event::Live { ok, errors, since });
        self.shown = now;
        self.shown_at = self.clock.now();
    }

    fn since_shown(&self) -> Duration {
        self.clock.now().duration_since(self.shown_at)
    }

    /// Ends the load early. The cause belongs to the running step.
    fn give_up(&mut self, cause: String, log_tail: String) {
        self.died = Some(Death {
            step: self.step.unwrap_or(Step::WarmUp),
            cause,
            log_tail,
        });
        self.load.stop();
    }

    /// How long to sleep until the next look, which is due at the window's start and at the next
    /// action at the latest.
    fn nap(&self) -> Duration {
        let start = self.load.window().map(|(start, _)| start);
        let action = self.acting.as_ref().zip(start);
        let action = action.and_then(|(acting, start)| acting.next(start));
        let now = self.clock.now();
        let edges = [start, action].into_iter().flatten();
        let left = edges.map(|at| at.saturating_duration_since(now));
        let left = left.filter(|left| !left.is_zero()).min();
        left.map_or(WATCH_PERIOD, |left| left.min(WATCH_PERIOD))
    }

    /// Follows the window: warm-up, measuring, over.
    fn look_at_phase(&mut self, contestant: &mut dyn Staged, on_event: &mut dyn FnMut(Event<'_>)) {
        let Some((start, end)) = self.load.window() else {
            return;
        };
        let now = self.clock.now();
        if self.step.is_none() {
            self.step = Some(Step::WarmUp);
            on_event(Event::Step(Step::WarmUp));
        }
        let lead = if self.proxied {
            COUNTERS_LEAD_PROXIED
        } else {
            COUNTERS_LEAD
        };
        if now + lead >= start && !self.is_start_noted {
            self.is_start_noted = true;
            contestant.ask(Ask::NoteEdge(Edge::Start));
        }
        if now >= start && self.step == Some(Step::WarmUp) {
            self.step = Some(Step::Measure);
            if self.counts_at_start.is_none() {
                // Read later, they would lack a part of the window, as if it had not been asked
                // for. That is known once they are there: a full processor gives them late.
                let read = counts(contestant, self.proxied);
                let late = self.clock.now().duration_since(start);
                self.counts_at_start = read.filter(|_| late <= COUNTS_WITHIN);
            }
            on_event(Event::Step(Step::Measure));
        }
        if now >= end && !self.is_end_noted {
            self.end(contestant);
        }
    }

    /// A load by count may end before its window does, and before the first look.
    fn look_last(&mut self, contestant: &mut dyn Staged, on_event: &mut dyn FnMut(Event<'_>)) {
        self.look_at_phase(contestant, on_event);
        if !self.is_end_noted {
            self.end(contestant);
        }
        if let Some(acting) = &mut self.acting {
            acting.note_what_followed(contestant);
        }
        // Without what has ended since the last time, no sum of these events would be right.
        self.show_live(on_event);
    }

    fn end(&mut self, contestant: &mut dyn Staged) {
        self.is_end_noted = true;
        self.counts_at_end = counts(contestant, self.proxied);
        contestant.ask(Ask::NoteEdge(Edge::End));
    }

    fn finish(self, usage: Usage, warnings: Vec<Warning>, stop: &AtomicBool) -> Measured {
        let counts = self.counts_at_start.zip(self.counts_at_end);
        let origin = counts.map(|(start, end)| recorded(&end.since(&start)));
        let Generated {
            result,
            hosts,
            failed,
            away,
            noted,
        } = self.load.finish();
        let acting = self.acting.as_ref();
        let actions = acting.map(|acting| acting.reduce(&noted));
        let undone = acting.and_then(Acting::all_failed);
        let undone = undone.map(|cause| TrialEnd::failed(Step::Measure, cause.to_owned()));
        let failure = failed.map(|cause| {
            TrialEnd::failed(Step::Measure, format!("the load engine failed: {cause}"))
        });
        let died = self.died.map(|death| TrialEnd::Failed {
            step: death.step,
            cause: death.cause,
            message: (!death.log_tail.trim().is_empty()).then_some(death.log_tail),
        });
        let stopped = stop
            .load(Ordering::Relaxed)
            .then_some(TrialEnd::Interrupted);
        // A window that the user cut short is no measurement, nor is one of a server that asked
        // somebody else; one that the server's death cut short shows how it died.
        let result = if stopped.is_some() && died.is_none() || self.is_strayed {
            None
        } else {
            result
        };
        Measured {
            result,
            hosts,
            usage,
            origin,
            warnings,
            actions: actions.unwrap_or_default(),
            end: died.or(failure).or(stopped).or(undone),
            away,
        }
    }
}

/// What the record keeps of the upstream's counts.
fn recorded(counts: &Counts) -> OriginCounts {
    OriginCounts {
        requests: counts.requests,
        connections: counts.connections,
        http_1_0: counts.http_1_0,
        bytes_read: counts.bytes_read,
        bytes_written: counts.bytes_written,
        delayed: counts.delayed,
        errors: counts.errors,
        resets: counts.resets,
        closes: counts.closes,
        slow_bodies: counts.slow_bodies,
        queued: counts.queued,
        queue_full: counts.queue_full,
        queued_max: counts.queued_max,
    }
}

#[cfg(test)]
mod tests;
