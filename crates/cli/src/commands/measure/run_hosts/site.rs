//! Contestants on another host, with the interface of those on this one: every call is a message to
//! the agent there, and its answer.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bakeoff_conduct::{
    Edge, Finding, FirstAnswers, Programs, Reached, Site, SiteError, Staged, StartFailed,
    StartOrder,
};
use bakeoff_hosts::{ClockOffset, monotonic_ns};
use bakeoff_origin::Counts;
use bakeoff_plan::{Plan, Protocol, Request, Workload};
use bakeoff_record::{
    GrownFile, HostClock, Hosts, LostHost, Pinned, ServerFacts, Step, StopFacts, TrialEnd,
    TrialRecord, Usage, When, Work, replace_private,
};
use bakeoff_stage::Fetched;

use super::reading;
use super::stage::{FarHost, Gone, keep, lost};
use crate::commands::measure::agent::{Of, StageOrder, StageReport, Started, unpacked_samples};

/// What may take as long as commands of the user's own.
const START_WITHIN: Duration = Duration::from_secs(300);
/// What asking all contenders may take.
const FIRST_WITHIN: Duration = Duration::from_secs(3600);
/// What the rest may take until its answer comes, beside what it is given itself.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// Another host as a site.
#[derive(Debug)]
pub(super) struct FarSite(pub(super) Arc<FarHost>);

impl Site for FarSite {
    fn fix_programs(&self, plan: &Plan, earlier: &[TrialRecord]) -> Result<(), SiteError> {
        let before = Programs::of_trials(plan, earlier);
        self.0.fix_programs(plan, before)
    }

    fn preflight(&self, plan: &Plan) -> Result<Vec<Finding>, SiteError> {
        let plan = Box::new(plan.clone());
        let order = StageOrder::Preflight { plan };
        match self.0.ask(&order, START_WITHIN).map_err(lost)?.0 {
            StageReport::Findings(findings) => {
                let named = findings.into_iter().map(|finding| Finding {
                    end: self.0.named(finding.end),
                    ..finding
                });
                Ok(named.collect())
            }
            other => Err(self.0.other(&other)),
        }
    }

    fn first_answers(&self, plan: &Plan, known: &[Finding]) -> Result<FirstAnswers, SiteError> {
        let order = StageOrder::First {
            plan: Box::new(plan.clone()),
            known: known.to_vec(),
        };
        match self.0.ask(&order, FIRST_WITHIN).map_err(lost)?.0 {
            StageReport::First(first) => Ok(*first),
            other => Err(self.0.other(&other)),
        }
    }

    fn open_files(&self) -> Option<u64> {
        self.0.facts()?.open_files
    }

    fn start(
        &self,
        order: &StartOrder<'_>,
        step: &mut dyn FnMut(Step),
    ) -> Result<Box<dyn Staged>, StartFailed> {
        let failed = |cause: String| {
            StartFailed::Trial(TrialEnd::Failed {
                step: Step::Prepare,
                cause,
                message: None,
            })
        };
        let ready = self.0.begin();
        ready.map_err(|gone| StartFailed::Unreached(gone.into_record()))?;
        let name = order.logs.file_name().unwrap_or_default();
        let start = StageOrder::Start {
            contender: Box::new(order.contender.clone()),
            workload: Box::new(order.workload.clone()),
            logs: name.to_string_lossy().into_owned(),
            part: order.part,
        };
        let answer = self.0.ask_for_start(&start, START_WITHIN, step);
        let (report, files) = answer.map_err(|gone| {
            if gone.is_away {
                StartFailed::Lost(gone.into_record())
            } else {
                failed(gone.for_record())
            }
        })?;
        let started = match report {
            StageReport::Started(started) => *started,
            StageReport::Failed(end) => return Err(StartFailed::Trial(self.0.named(end))),
            StageReport::FullDisk(why) => {
                let host = &self.0.place.name;
                return Err(StartFailed::FullDisk(format!("{why} on host {host}")));
            }
            other => return Err(failed(self.0.other(&other).to_string())),
        };
        let authority = match files.first() {
            None => None,
            Some(pem) => {
                let path = self.0.folder.join(format!("{}.pem", self.0.place.name));
                let written = replace_private(&path, pem);
                written.map_err(|error| {
                    failed(format!("failed to write {}: {error}", path.display()))
                })?;
                Some(path)
            }
        };
        Ok(Box::new(FarStaged {
            host: self.0.clone(),
            started,
            authority,
            logs: order.logs.to_owned(),
            clocks: Mutex::default(),
            is_stopped: false,
        }))
    }
}

/// A contestant on another host.
struct FarStaged {
    host: Arc<FarHost>,
    started: Started,
    authority: Option<PathBuf>,
    logs: PathBuf,
    /// The host's clock before the load and after it.
    clocks: Mutex<(Option<ClockOffset>, Option<ClockOffset>)>,
    is_stopped: bool,
}

impl FarStaged {
    fn ask(&self, of: Of) -> Result<StageReport, Gone> {
        self.host.ask_of(of, ANSWER_WITHIN)
    }

    fn clocks(&self) -> (Option<ClockOffset>, Option<ClockOffset>) {
        *self.clocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Text that follows "failed to".
    fn done(&self, of: Of) -> Result<(), String> {
        match self.ask(of) {
            Ok(StageReport::Done) => Ok(()),
            Ok(StageReport::Cannot(why)) => Err(why),
            Ok(other) => Err(format!("ask host: {}", self.host.other(&other))),
            Err(gone) => Err(format!("ask host {}: {}", gone.host, gone.problem)),
        }
    }
}

impl Staged for FarStaged {
    fn facts(&self) -> ServerFacts {
        self.started.facts.clone()
    }

    fn pinned(&self) -> Pinned {
        self.started.pinned.clone()
    }

    fn reached(&self) -> Reached {
        Reached {
            address: self.started.address,
            host: self.started.host.clone(),
            authority: self.authority.clone(),
            network: None,
        }
    }

    fn fetch(
        &self,
        request: &Request,
        protocol: Protocol,
        when: When,
        within: Duration,
    ) -> Result<Fetched, TrialEnd> {
        let order = StageOrder::OfContestant(Of::Fetch {
            request: Box::new(request.clone()),
            protocol,
            when,
            within_ns: u64::try_from(within.as_nanos()).unwrap_or(u64::MAX),
        });
        let step = match when {
            When::Before => Step::Start,
            When::After => Step::CheckAgain,
        };
        let failed = |cause| TrialEnd::Failed {
            step,
            cause,
            message: None,
        };
        match self.host.ask(&order, within + ANSWER_WITHIN) {
            Ok((StageReport::Fetched(check), files)) if !files.is_empty() => Ok(Fetched {
                check: *check,
                body: files.concat(),
            }),
            Ok((StageReport::Failed(end), _)) => Err(self.host.named(end)),
            Ok((other, _)) => Err(failed(self.host.other(&other).to_string())),
            Err(error) => Err(failed(error.for_record())),
        }
    }

    fn observe(&self, workload: &Workload, requests: u32) -> Work {
        let workload = Box::new(workload.clone());
        let why = match self.ask(Of::Observe { workload, requests }) {
            Ok(StageReport::Work(work)) => return *work,
            Ok(other) => self.host.other(&other).to_string(),
            Err(error) => error.for_record(),
        };
        let mut work = Work {
            requests,
            ..Work::default()
        };
        for fact in ["connections", "certificate", "grown", "crew"] {
            work.unknown.insert(fact.to_owned(), why.clone());
        }
        work
    }

    fn note_written(&mut self) {
        let _ = self.ask(Of::NoteWritten);
    }

    fn grown(&self) -> Vec<GrownFile> {
        match self.ask(Of::Grown) {
            Ok(StageReport::Grown(grown)) => grown,
            _ => Vec::new(),
        }
    }

    fn died(&mut self) -> Option<String> {
        self.host.died().map(|(status, _)| status)
    }

    fn lost(&mut self) -> Option<String> {
        self.host.lost().map(|error| error.for_record())
    }

    fn away(&mut self) -> Option<LostHost> {
        let gone = self.host.lost().filter(|gone| gone.is_away);
        gone.map(Gone::into_record)
    }

    fn add_to(&self, hosts: &mut Hosts) {
        let name = &self.host.place.name;
        let found = hosts.hosts.iter_mut().find(|host| host.name == *name);
        if let (Some(found), (Some(before), Some(after))) = (found, self.clocks()) {
            found.clock = Some(HostClock {
                before: reading(before),
                after: reading(after),
            });
        }
        if let Some(gone) = self.host.lost()
            && hosts.lost.iter().all(|lost| lost.host != *name)
        {
            hosts.lost.push(LostHost {
                host: name.clone(),
                at_s: None,
                message: gone.problem,
            });
        }
    }

    fn log_tail(&self) -> String {
        if let Some((_, log_tail)) = self.host.died() {
            return log_tail;
        }
        match self.ask(Of::LogTail) {
            Ok(StageReport::LogTail(tail)) => tail,
            _ => String::new(),
        }
    }

    fn behave(&self, begin: bool) -> Result<(), String> {
        self.done(Of::Behave { begin })
    }

    fn origin_counts(&self) -> Option<Counts> {
        match self.ask(Of::OriginCounts) {
            Ok(StageReport::OriginCounts(counts)) => counts.map(|counts| *counts),
            _ => None,
        }
    }

    fn sample(&mut self, network: bool) -> Result<(), String> {
        let before = self.host.clock().map_err(|error| error.for_record())?;
        let clocks = self.clocks.get_mut();
        *clocks.unwrap_or_else(PoisonError::into_inner) = (Some(before), None);
        self.done(Of::Sample { network })
    }

    fn note_edge(&mut self, edge: Edge) {
        let _ = self.ask(Of::NoteEdge(edge));
    }

    fn sampled(&mut self, start: Option<Instant>) -> Usage {
        let (before, _) = self.clocks();
        let after = self.host.clock().ok();
        let clocks = self.clocks.get_mut();
        *clocks.unwrap_or_else(PoisonError::into_inner) = (before, after);
        let start_ns = start.zip(before);
        let start_ns = start_ns.and_then(|(start, clock)| clock.theirs(monotonic_of(start)));
        let order = StageOrder::OfContestant(Of::Sampled { start_ns });
        match self.host.ask(&order, ANSWER_WITHIN) {
            Ok((StageReport::Sampled, files)) => unpacked_samples(&files).unwrap_or_default(),
            _ => Usage::default(),
        }
    }

    fn stop(mut self: Box<Self>) -> Result<Option<StopFacts>, TrialEnd> {
        self.is_stopped = true;
        let failed = |cause| TrialEnd::Failed {
            step: Step::Stop,
            cause,
            message: None,
        };
        let order = StageOrder::OfContestant(Of::Stop);
        match self.host.ask(&order, START_WITHIN) {
            Ok((StageReport::Stopped { stopped, logs }, files)) => {
                keep(&self.logs, &logs, &files);
                stopped
            }
            Ok((other, _)) => Err(failed(self.host.other(&other).to_string())),
            Err(error) => Err(failed(error.for_record())),
        }
    }
}

impl Drop for FarStaged {
    fn drop(&mut self) {
        if !self.is_stopped && self.host.lost().is_none() {
            let _ = self.ask(Of::Drop);
        }
    }
}

/// A time of this process, by this machine's monotonic clock.
fn monotonic_of(time: Instant) -> u64 {
    let (now, now_ns) = (Instant::now(), monotonic_ns());
    let nanos = |length: Duration| u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
    let before = nanos(now.saturating_duration_since(time));
    let after = nanos(time.saturating_duration_since(now));
    now_ns.saturating_sub(before).saturating_add(after)
}
