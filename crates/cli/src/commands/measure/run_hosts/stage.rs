//! The stage of another host, seen from home: sends requests to it and reads the answers.
//!
//! If a host is lost, home connects to it again before the next trial, in a few attempts. The trial
//! that ran on it has failed and is not repeated here.

use std::net::IpAddr;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bakeoff_conduct::{Programs, SiteError};
use bakeoff_hosts::{ClockOffset, Fits, HostError, Own, Place, Session, open};
use bakeoff_plan::Plan;
use bakeoff_record::{FileBytes, LostHost, Step, TrialEnd};
use bakeoff_stage::host;

use super::again;
use crate::commands::measure::agent::{Answer, Ask, SetUp, StageFacts};

/// What setting up a stage may take.
pub(super) const SET_UP_WITHIN: Duration = Duration::from_secs(30);
/// What is taken at once of what nobody has asked for.
const HEARD_MAX: u32 = 64;

/// A host with a stage.
pub(super) struct FarHost {
    pub(super) place: Place,
    own: Own,
    owner: String,
    /// How it is set up.
    set_up: Ask,
    state: Mutex<State>,
}

/// What is known of a host.
#[derive(Default)]
struct State {
    /// `None` after it was lost, until the next start.
    session: Option<Session>,
    facts: Option<StageFacts>,
    /// For a stage that is set up again.
    programs: Option<Ask>,
    /// Status and last words of a server that ended by itself.
    died: Option<(String, String)>,
    /// Why it was given up in this trial.
    lost: Option<Gone>,
}

/// Why a host was given up.
#[derive(Debug, Clone)]
pub(super) struct Gone {
    pub(super) host: String,
    /// Without what other programs wrote; the record hides addresses.
    pub(super) problem: String,
    pub(super) text: String,
    /// Whether it is away; otherwise it did not do what it was asked.
    pub(super) is_away: bool,
}

impl From<HostError> for Gone {
    fn from(error: HostError) -> Self {
        Self {
            problem: error.cause.reason(),
            text: error.to_string(),
            is_away: error.cause.is_loss(),
            host: error.host,
        }
    }
}

impl Gone {
    /// What the record has of it.
    pub(super) fn for_record(&self) -> String {
        self.clone().into_record().to_string()
    }

    /// The same among the hosts of a trial that did not begin.
    pub(super) fn into_record(self) -> LostHost {
        LostHost {
            host: self.host,
            at_s: None,
            message: self.problem,
        }
    }

    /// Of a host that nothing leads to; it is reached before it is asked.
    fn unreached() -> Self {
        let text = "it was not reached".to_owned();
        Self {
            host: String::new(),
            problem: text.clone(),
            text,
            is_away: true,
        }
    }
}

impl std::fmt::Debug for FarHost {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.place.name)
    }
}

impl FarHost {
    /// Sets up a stage over a session that was opened for it.
    pub(super) fn set_up(
        place: Place,
        session: Session,
        own: Own,
        owner: String,
        set_up: SetUp,
    ) -> Result<Self, SiteError> {
        let host = Self {
            place,
            own,
            owner,
            set_up: Ask::SetUp(Box::new(set_up)),
            state: Mutex::default(),
        };
        let mut state = host.state();
        state.session = Some(session);
        host.set_up_again(&mut state)?;
        drop(state);
        Ok(host)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_up_again(&self, state: &mut State) -> Result<(), SiteError> {
        let asked = state.ask(&self.set_up, SET_UP_WITHIN, &mut |_| {});
        match asked.map_err(lost)? {
            Answer::SetUp(facts) => state.facts = Some(*facts),
            other => return Err(self.other(&other)),
        }
        let Some(programs) = state.programs.clone() else {
            return Ok(());
        };
        let asked = state.ask(&programs, SET_UP_WITHIN, &mut |_| {});
        match asked.map_err(lost)? {
            Answer::Programs(_) => Ok(()),
            other => Err(self.other(&other)),
        }
    }

    /// What was said in place of the answer.
    pub(super) fn other(&self, answer: &Answer) -> SiteError {
        let name = &self.place.name;
        match answer {
            Answer::Refused(why) => SiteError::Refused(format!("host {name}: {why}")),
            Answer::Cannot(why) | Answer::FullDisk(why) => {
                SiteError::Lost(format!("host {name} failed to {why}"))
            }
            _ => SiteError::Lost(format!("host {name} gave another answer than expected")),
        }
    }

    /// The end of a trial, with the host where it says what is wrong there.
    pub(super) fn named(&self, end: TrialEnd) -> TrialEnd {
        let host = &self.place.name;
        match end {
            TrialEnd::Failed {
                step,
                cause,
                message,
            } => TrialEnd::Failed {
                step,
                cause: format!("on host {host}: {cause}"),
                message,
            },
            TrialEnd::Skipped { reason, fix } => TrialEnd::Skipped {
                reason: format!("on host {host}: {reason}"),
                fix,
            },
            TrialEnd::Measured | TrialEnd::Unsupported { .. } | TrialEnd::Interrupted => end,
        }
    }

    /// Fixes programs, and keeps them for a stage that is set up again.
    pub(super) fn fix_programs(&self, plan: &Plan, before: Programs) -> Result<(), SiteError> {
        let plan = Box::new(plan.clone());
        let asked = |before| Ask::Programs {
            plan: plan.clone(),
            before,
        };
        match self.ask(&asked(before), SET_UP_WITHIN).map_err(lost)? {
            Answer::Programs(fixed) => {
                self.state().programs = Some(asked(fixed));
                Ok(())
            }
            other => Err(self.other(&other)),
        }
    }

    /// What the stage has said of itself.
    pub(super) fn facts(&self) -> Option<StageFacts> {
        self.state().facts.clone()
    }

    /// Where servers listen.
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.facts().map(|facts| facts.address)
    }

    /// Makes the host ready for a trial: reached, and nothing known of the one before.
    pub(super) fn begin(&self) -> Result<(), Gone> {
        let mut state = self.state();
        state.look();
        (state.died, state.lost) = (None, None);
        if state.session.is_some() {
            return Ok(());
        }
        again::attempted(|| self.reach_again(&mut state))
    }

    /// Reaches the host after it was lost, in one attempt.
    fn reach_again(&self, state: &mut State) -> Result<(), Gone> {
        state.session = Some(open(&self.place, &self.own, &self.owner)?);
        let ready = self.set_up_again(state);
        ready.map_err(|error| {
            // Without its stage it is of no use.
            state.session = None;
            let problem = format!("its stage could not be set up again: {error}");
            state.lost.take().unwrap_or_else(|| Gone {
                host: self.place.name.clone(),
                text: problem.clone(),
                problem,
                is_away: true,
            })
        })
    }

    /// Says something to the stage, and waits for the answer.
    pub(super) fn ask(&self, ask: &Ask, within: Duration) -> Result<Answer, Gone> {
        self.state().ask(ask, within, &mut |_| {})
    }

    /// The same for a start, whose steps are passed on.
    pub(super) fn ask_for_start(
        &self,
        start: &Ask,
        within: Duration,
        step: &mut dyn FnMut(Step),
    ) -> Result<Answer, Gone> {
        self.state().ask(start, within, step)
    }

    /// The host's clock against that of home.
    pub(super) fn clock(&self) -> Result<ClockOffset, Gone> {
        self.state().of_session(Session::clock)
    }

    /// What is done over the session of the host.
    pub(super) fn with_session<T>(
        &self,
        work: impl FnOnce(&mut Session) -> Result<T, HostError>,
    ) -> Result<T, Gone> {
        self.state().of_session(work)
    }

    /// How the server ended by itself, if it has. Does not wait.
    pub(super) fn died(&self) -> Option<(String, String)> {
        let mut state = self.state();
        state.hear();
        state.died.clone()
    }

    /// Why the host was given up in this trial. Does not wait.
    pub(super) fn lost(&self) -> Option<Gone> {
        let mut state = self.state();
        state.hear();
        state.lost.clone()
    }
}

/// The error of a host that cannot be asked.
pub(super) fn lost(gone: Gone) -> SiteError {
    SiteError::Lost(gone.text)
}

impl State {
    fn of_session<T>(
        &mut self,
        work: impl FnOnce(&mut Session) -> Result<T, HostError>,
    ) -> Result<T, Gone> {
        let done = match (&mut self.session, &self.lost) {
            (Some(session), _) => work(session),
            (None, Some(gone)) => return Err(gone.clone()),
            (None, None) => return Err(Gone::unreached()),
        };
        done.map_err(|error| {
            let gone = Gone::from(error);
            // What a session is at then is not known. Its end is that of all below the agent.
            self.session = None;
            self.lost = Some(gone.clone());
            gone
        })
    }

    fn ask(
        &mut self,
        ask: &Ask,
        within: Duration,
        step: &mut dyn FnMut(Step),
    ) -> Result<Answer, Gone> {
        let mut died = None;
        let can_wait = !matches!(ask, Ask::Contestant(_) | Ask::Sampled { .. } | Ask::Stop);
        let answer = self.of_session(|session| {
            session.ask(ask)?;
            // The end of the session ends whatever it is at.
            let goes_on = || !(can_wait && host::is_interrupted());
            let answer = session.expect("answer", within, &goes_on, |answer| match answer {
                Answer::Step(begun) => {
                    step(begun);
                    Fits::Before
                }
                Answer::Died { status, log_tail } => {
                    died = Some((status, log_tail));
                    Fits::Before
                }
                answer => Fits::This(answer),
            })?;
            answer.ok_or_else(|| session.late("answer before it was interrupted", within))
        });
        if died.is_some() {
            self.died = died;
        }
        answer
    }

    /// Gives a session up whose agent is not there any more. Between two trials nobody asks it
    /// for anything, so that this is not known.
    fn look(&mut self) {
        self.hear();
        if self.session.is_some() {
            let _ = self.of_session(Session::check);
        }
    }

    /// Takes what nobody has asked for.
    fn hear(&mut self) {
        let mut died = None;
        if self.session.is_some() {
            let _ = self.of_session(|session| {
                for _ in 0..HEARD_MAX {
                    let Some(answer) = session.answer(Duration::ZERO)? else {
                        break;
                    };
                    if let Answer::Died { status, log_tail } = answer {
                        died = Some((status, log_tail));
                    }
                }
                Ok(())
            });
        }
        if died.is_some() {
            self.died = died;
        }
    }
}

/// Writes what came of another host below a folder of the record.
pub(super) fn keep(folder: &Path, logs: &[(String, FileBytes)]) {
    for (name, bytes) in logs {
        let path = Path::new(name);
        if !crate::commands::measure::agent::is_plain(path, 8) {
            continue;
        }
        let path = folder.join(path);
        let parent = path.parent().unwrap_or(folder);
        // The record of the trial holds what matters; a log that has no room is no failure.
        let _ = bakeoff_record::private_folder(parent)
            .and_then(|()| bakeoff_record::replace_private(&path, &bytes.0));
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_conduct::RolesHere;
    use bakeoff_hosts::Way;
    use bakeoff_plan::Pinning;
    use bakeoff_record::Machine;

    use super::super::scripts;
    use super::*;

    /// A host that is reached by this command, after it was lost.
    fn host_reached_by(script: &str) -> FarHost {
        host_at(Place {
            name: "sut".to_owned(),
            way: Way::Command(["sh", "-c", script, "-"].map(str::to_owned).to_vec()),
            program: Some("/bakeoff".to_owned()),
        })
    }

    fn host_at(place: Place) -> FarHost {
        FarHost {
            place,
            own: Own::find().unwrap(),
            owner: "ada".to_owned(),
            set_up: Ask::SetUp(Box::new(SetUp {
                address: None,
                names: Vec::new(),
                pinning: Pinning::default(),
                roles: RolesHere::ALL,
                seed: 1,
                library: Vec::new(),
                own: Vec::new(),
            })),
            state: Mutex::default(),
        }
    }

    #[test]
    fn a_host_whose_session_has_ended_is_set_up_again_before_the_next_trial() {
        let folder = tempfile::tempdir().unwrap();
        let facts = StageFacts {
            open_files: None,
            address: IpAddr::from([127, 0, 0, 1]),
            machine: Box::new(Machine {
                bakeoff: "0.1.0".to_owned(),
                ..bakeoff_probe::machine()
            }),
        };
        let ready = Answer::SetUp(Box::new(facts));
        let own = Own::find().unwrap();
        let host = host_at(scripts::host_that_ends(folder.path(), &own, Some(&ready)));
        host.state().session = Some(open(&host.place, &own, "ada").unwrap());
        host.begin().unwrap();
        assert_eq!(scripts::starts(folder.path()), 2);
        assert!(host.facts().is_some());
        assert_eq!(host.lost().map(|gone| gone.text), None);
    }

    #[test]
    fn why_a_host_is_not_reached_again_is_said_without_addresses() {
        let script = "echo 'ssh: connect to host 203.0.113.9 port 22: refused' >&2; exit 255";
        let host = host_reached_by(script);
        let gone = host.reach_again(&mut host.state()).unwrap_err();
        let lost = gone.into_record();
        assert_eq!(lost.host, "sut");
        assert!(!lost.message.contains("203.0.113.9"), "{}", lost.message);
    }
}
