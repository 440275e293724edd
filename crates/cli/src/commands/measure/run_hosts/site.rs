//! Contestants on another host, with the interface of those on this one: every call is a message to
//! the agent there, and its answer.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bakeoff_conduct::{
    self as conduct, Finding, FirstAnswers, Programs, Site, SiteError, Staged, StartFailed,
    StartOrder, Started,
};
use bakeoff_hosts::{ClockOffset, monotonic_ns};
use bakeoff_plan::Plan;
use bakeoff_record::{HostClock, Hosts, LostHost, Step, StopFacts, TrialEnd, TrialRecord, Usage};

use super::reading;
use super::stage::{FarHost, Gone, keep, lost};
use crate::commands::measure::agent::{Answer, Ask};

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
        let asked = self.0.ask(&Ask::Preflight { plan }, START_WITHIN);
        match asked.map_err(lost)? {
            Answer::Findings(findings) => {
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
        let first = Ask::First {
            plan: Box::new(plan.clone()),
            known: known.to_vec(),
        };
        match self.0.ask(&first, FIRST_WITHIN).map_err(lost)? {
            Answer::First(first) => Ok(*first),
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
        let start = Ask::Start {
            contender: Box::new(order.contender.clone()),
            workload: Box::new(order.workload.clone()),
            logs: name.to_string_lossy().into_owned(),
            part: order.part,
            action: order.action,
        };
        let answer = self.0.ask_for_start(&start, START_WITHIN, step);
        let answer = answer.map_err(|gone| {
            if gone.is_away {
                StartFailed::Lost(gone.into_record())
            } else {
                failed(gone.for_record())
            }
        })?;
        match answer {
            Answer::Started(started) => Ok(Box::new(FarStaged {
                host: self.0.clone(),
                started: *started,
                logs: order.logs.to_owned(),
                clocks: Clocks::default(),
                is_stopped: false,
            })),
            Answer::Failed(end) => Err(StartFailed::Trial(self.0.named(end))),
            Answer::FullDisk(why) => {
                let host = &self.0.place.name;
                Err(StartFailed::FullDisk(format!("{why} on host {host}")))
            }
            other => Err(failed(self.0.other(&other).to_string())),
        }
    }
}

/// The host's clock before the load and after it.
type Clocks = (Option<ClockOffset>, Option<ClockOffset>);

/// A contestant on another host.
struct FarStaged {
    host: Arc<FarHost>,
    started: Started,
    logs: PathBuf,
    clocks: Clocks,
    is_stopped: bool,
}

impl Staged for FarStaged {
    fn started(&self) -> Started {
        self.started.clone()
    }

    fn ask(&mut self, ask: conduct::Ask) -> conduct::Answer {
        let mut within = ANSWER_WITHIN;
        match &ask {
            conduct::Ask::Fetch { within: own, .. } => within += *own,
            conduct::Ask::Sample { .. } => match self.host.clock() {
                Ok(before) => self.clocks = (Some(before), None),
                Err(gone) => return conduct::Answer::Lost(gone.into_record()),
            },
            conduct::Ask::LogTail => {
                if let Some((_, log_tail)) = self.host.died() {
                    return conduct::Answer::LogTail(log_tail);
                }
            }
            _ => {}
        }
        match self.host.ask(&Ask::Contestant(ask), within) {
            Ok(Answer::Contestant(conduct::Answer::Failed(end))) => {
                conduct::Answer::Failed(self.host.named(end))
            }
            Ok(Answer::Contestant(answer)) => answer,
            Ok(other) => conduct::Answer::Cannot(format!("ask host: {}", self.host.other(&other))),
            Err(gone) => conduct::Answer::Lost(gone.into_record()),
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
        if let (Some(found), (Some(before), Some(after))) = (found, self.clocks) {
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
                ..gone.into_record()
            });
        }
    }

    fn sampled(&mut self, start: Option<Instant>) -> Usage {
        self.clocks.1 = self.host.clock().ok();
        let start_ns = start.zip(self.clocks.0);
        let start_ns = start_ns.and_then(|(start, clock)| clock.theirs(monotonic_of(start)));
        match self.host.ask(&Ask::Sampled { start_ns }, ANSWER_WITHIN) {
            Ok(Answer::Sampled(usage)) => *usage,
            _ => Usage::default(),
        }
    }

    fn stop(mut self: Box<Self>) -> Result<Option<StopFacts>, TrialEnd> {
        self.is_stopped = true;
        let cause = match self.host.ask(&Ask::Stop, START_WITHIN) {
            Ok(Answer::Stopped { stopped, logs }) => {
                keep(&self.logs, &logs);
                return stopped;
            }
            Ok(other) => self.host.other(&other).to_string(),
            Err(error) => error.for_record(),
        };
        Err(TrialEnd::Failed {
            step: Step::Stop,
            cause,
            message: None,
        })
    }
}

impl Drop for FarStaged {
    fn drop(&mut self) {
        if !self.is_stopped && self.host.lost().is_none() {
            let _ = self.host.ask(&Ask::Drop, ANSWER_WITHIN);
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
