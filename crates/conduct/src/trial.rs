//! One trial from its first step to its record.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

use bakeoff_origin::Counts;
use bakeoff_plan::Trial;
use bakeoff_record::{
    ContenderKind, Hosts, LostHost, ServerFacts, Step, StepTime, StopFacts, TrialEnd, TrialRecord,
    UpstreamWork, Usage,
};

use crate::ConductError;
use crate::answers::{check_after, check_before};
use crate::clock::Clock;
use crate::event::Event;
use crate::measure::{Measured, counts, measure};
use crate::roles::Roles;
use crate::setting::Setting;
use crate::site::{Ask, Part, Staged, StartFailed, StartOrder};
use crate::skip::forbidden;
use crate::spec::Encoded;

/// Requests that show what a contender does for an answer: enough to distinguish
/// one connection for each from a few that are kept, and one log line for each from an occasional
/// message.
const OBSERVED: u32 = 10;

/// A trial as it went.
pub(crate) struct Carried {
    pub(crate) record: TrialRecord,
    /// Why it was left for later, if it was.
    pub(crate) away: Option<Away>,
}

/// A host that is away, so that the load of a trial never began.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Away {
    /// It was lost earlier and cannot be reached again.
    Unreached(LostHost),
    /// It was lost in the trial.
    Lost(LostHost),
}

/// Carries out one trial. Whatever goes wrong is in the record.
///
/// # Errors
/// When there is no room for the trial's files: then no trial can be carried out.
pub(crate) fn carry_out(
    setting: &Setting<'_>,
    trial: &Trial,
    logs: &Path,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<Carried, ConductError> {
    let trial = &trial.as_asked();
    let time = setting.site.clock();
    let mut record = blank(trial, setting.roles, &time);
    if let Some(end) = forbidden(trial, setting.site, setting.generators) {
        record.end = end;
        return Ok(Carried { record, away: None });
    }
    let mut clock = StepClock::start(time);
    let mut begin = |step| {
        clock.begin(step);
        on_event(Event::Step(step));
    };
    let filled = trial.workload.filled();
    let order = StartOrder {
        contender: &trial.contender,
        workload: &filled,
        logs,
        part: Part::Whole,
        action: trial.load.actions.as_ref().map(|it| it.action),
    };
    let reached = setting.generators.reach_again();
    let started = reached.map_err(StartFailed::Unreached);
    let away = match started.and_then(|()| setting.site.start(&order, &mut begin)) {
        Ok(contestant) => {
            let staged = (contestant, &mut clock);
            let lost = on_stage(setting, trial, staged, &mut record, on_event);
            lost.map(Away::Lost)
        }
        Err(StartFailed::FullDisk(error)) => return Err(ConductError::FullDisk(error)),
        Err(StartFailed::Unreached(lost)) => Some(Away::Unreached(lost)),
        Err(StartFailed::Lost(lost)) => Some(Away::Lost(lost)),
        Err(StartFailed::Trial(end)) => {
            record.end = end;
            None
        }
    };
    if let Some(Away::Unreached(lost) | Away::Lost(lost)) = &away {
        leave(&mut record, setting.generators.hosts(trial), lost);
    }
    // A stop that came before the window is the user's wish, not the server's failure.
    let measured = matches!(record.end, TrialEnd::Measured);
    if setting.stop.load(Ordering::Relaxed) && !measured {
        record.end = TrialEnd::Interrupted;
    }
    record.steps = clock.finish();
    Ok(Carried { record, away })
}

/// A trial whose load never began because of a host that was lost. It is left to be begun again,
/// in this campaign or in one that goes on with the record: as a failure of its contender it would
/// never be run again.
fn leave(record: &mut TrialRecord, known: Option<Hosts>, lost: &LostHost) {
    let hosts = record.hosts.take();
    let mut hosts = hosts.or(known).unwrap_or_default();
    if hosts.lost.iter().all(|other| other.host != lost.host) {
        hosts.lost.push(lost.clone());
    }
    record.hosts = Some(hosts);
    record.result = None;
    record.end = TrialEnd::Interrupted;
}

/// How a trial comes to its stop before its last check.
enum Early {
    /// It ends so.
    End(TrialEnd),
    /// This host is away, and the load never began.
    Away(LostHost),
}

impl Early {
    /// Of a trial that would end so before its load.
    fn before_load(end: TrialEnd, contestant: &mut dyn Staged) -> Self {
        contestant.away().map_or(Self::End(end), Self::Away)
    }
}

/// The trial from the first right answer to the last process gone. Returns the host that is away,
/// where that is why the load never began.
fn on_stage(
    setting: &Setting<'_>,
    trial: &Trial,
    (mut contestant, clock): (Box<dyn Staged>, &mut StepClock),
    record: &mut TrialRecord,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Option<LostHost> {
    let started = contestant.started();
    record.server = Some(ServerFacts {
        limits: trial.contender.limits,
        ..started.facts
    });
    record.pinned = started.pinned;
    let early = match check_before(trial, &mut *contestant, record) {
        Err(end) => Some(Early::before_load(end, &mut *contestant)),
        Ok(encoded) => {
            let mut follow = |event: Event<'_>| {
                if let Event::Step(step) = event {
                    clock.begin(step);
                }
                on_event(event);
            };
            observe(trial, &mut *contestant, record, &mut follow);
            load_and_watch(
                setting,
                trial,
                &encoded,
                &mut *contestant,
                record,
                &mut follow,
            )
        }
    };
    let early = early.or_else(|| {
        clock.begin(Step::CheckAgain);
        on_event(Event::Step(Step::CheckAgain));
        let end = check_after(trial, &mut *contestant, record, setting);
        end.map(Early::End)
    });
    // A host may have been lost since the load.
    if let Some(hosts) = record.hosts.as_mut() {
        contestant.add_to(hosts);
    }
    clock.begin(Step::Stop);
    on_event(Event::Step(Step::Stop));
    let stopped = contestant.stop();
    record.end = match (early, stopped) {
        (Some(Early::Away(lost)), stopped) => {
            keep_stop(record, stopped.ok().flatten());
            return Some(lost);
        }
        (Some(Early::End(end)), stopped) => {
            keep_stop(record, stopped.ok().flatten());
            end
        }
        (None, Ok(facts)) => {
            keep_stop(record, facts);
            TrialEnd::Measured
        }
        (None, Err(end)) => end,
    };
    None
}

/// Makes a few requests to see what a contender does for an answer; references are not compared.
fn observe(
    trial: &Trial,
    contestant: &mut dyn Staged,
    record: &mut TrialRecord,
    on_event: &mut dyn FnMut(Event<'_>),
) {
    // The control is treated like the contender that it is, but compared with nobody.
    let is_control = record.kind == ContenderKind::Control;
    if record.kind != ContenderKind::Contender && !is_control {
        return;
    }
    on_event(Event::Step(Step::Observe));
    let proxied = trial.workload.proxied;
    let before = counts(contestant, proxied);
    let mut work = contestant.observe(trial.workload.filled().into_owned(), OBSERVED);
    let after = counts(contestant, proxied);
    match before.zip(after).filter(|_| work.connections.is_some()) {
        Some((before, after)) => work.upstream = Some(upstream(&after.since(&before))),
        None if proxied => {
            let why = "the upstream's counts could not be read".to_owned();
            work.unknown.entry("upstream".to_owned()).or_insert(why);
        }
        None => {}
    }
    record.work = Some(work);
    if !is_control {
        on_event(Event::Observed(record));
    }
}

fn upstream(counts: &Counts) -> UpstreamWork {
    UpstreamWork {
        requests: counts.requests,
        connections: counts.connections,
        http_1_0: counts.http_1_0,
        close: counts.close,
    }
}

/// The load, unless somebody wants to stop, and what the server wrote meanwhile.
fn load_and_watch(
    setting: &Setting<'_>,
    trial: &Trial,
    encoded: &Encoded,
    contestant: &mut dyn Staged,
    record: &mut TrialRecord,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Option<Early> {
    if setting.stop.load(Ordering::Relaxed) {
        return Some(Early::End(TrialEnd::Interrupted));
    }
    if let Some(actions) = &trial.load.actions
        && let Err(reason) = contestant.have(Ask::MayAct(actions.action))
    {
        return Some(Early::before_load(
            TrialEnd::Unsupported { reason },
            contestant,
        ));
    }
    contestant.ask(Ask::NoteWritten);
    let early = under_load(setting, trial, encoded, contestant, record, on_event);
    if let Some(work) = record.work.as_mut().filter(|_| early.is_none()) {
        work.grown_under_load = Some(contestant.grown());
    }
    early
}

/// The load and its result; the trial's end, unless it goes on.
fn under_load(
    setting: &Setting<'_>,
    trial: &Trial,
    encoded: &Encoded,
    contestant: &mut dyn Staged,
    record: &mut TrialRecord,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Option<Early> {
    if let Err(error) = contestant.have(Ask::Behave { begin: true }) {
        return Some(Early::before_load(unled(&error), contestant));
    }
    let measured = measure(setting, trial, encoded, contestant, on_event);
    let Measured {
        result,
        hosts,
        usage,
        origin,
        warnings,
        actions,
        end,
        away,
    } = measured;
    record.hosts = hosts.map(|mut hosts| {
        contestant.add_to(&mut hosts);
        hosts
    });
    record.result = result;
    record.usage = usage;
    record.origin = origin;
    record.warnings = warnings;
    record.actions = actions;
    if let Some(lost) = away {
        return Some(Early::Away(lost));
    }
    // A server that has died needs no more right answers, and its end says more.
    let end = end.or_else(|| {
        let behaves = contestant.have(Ask::Behave { begin: false });
        behaves.err().map(|error| unled(&error))
    });
    end.map(|end| Early::End(with_memory(end, trial, &record.usage)))
}

/// The end of a load, with the limit of memory that the server died of, if it did.
fn with_memory(mut end: TrialEnd, trial: &Trial, usage: &Usage) -> TrialEnd {
    if let TrialEnd::Failed { cause, .. } = &mut end
        && usage.memory_kills() > 0
    {
        let limits = trial
            .contender
            .limits
            .filter(|it| it.memory_bytes.is_some());
        let limit = limits.map_or(String::new(), |it| format!(" of {}", it.of_memory()));
        cause.push_str(&format!(
            ", because it reached the limit{limit} of its memory"
        ));
    }
    end
}

/// The end of a trial whose origin could not be given an order.
fn unled(error: &str) -> TrialEnd {
    TrialEnd::failed(Step::Origin, format!("failed to {error}"))
}

fn keep_stop(record: &mut TrialRecord, facts: Option<StopFacts>) {
    if let Some(server) = record.server.as_mut() {
        server.stopped = facts;
    }
}

/// A record with nothing measured yet.
pub(crate) fn blank(trial: &Trial, roles: &Roles, clock: &Clock) -> TrialRecord {
    TrialRecord {
        started_at: clock.timestamp().to_string(),
        pinned: roles.pinned.clone(),
        ..TrialRecord::of(trial)
    }
}

/// Times the steps of a trial.
struct StepClock {
    clock: Clock,
    running: Option<(Step, Instant)>,
    ended: Vec<StepTime>,
}

impl StepClock {
    fn start(clock: Clock) -> Self {
        Self {
            clock,
            running: None,
            ended: Vec::new(),
        }
    }

    /// Ends the running step and begins another.
    fn begin(&mut self, step: Step) {
        self.end();
        self.running = Some((step, self.clock.now()));
    }

    fn end(&mut self) {
        if let Some((step, since)) = self.running.take() {
            self.ended.push(StepTime {
                step,
                took_s: self.clock.now().duration_since(since).as_secs_f64(),
            });
        }
    }

    fn finish(mut self) -> Vec<StepTime> {
        self.end();
        self.ended
    }
}
