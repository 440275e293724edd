//! Measurements with a scripted contestant and scripted generators: no process, no socket.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Mutex;

use bakeoff_plan::{Load, Pinning, Plan};
use bakeoff_record::{LostHost, Pinned, ServerFacts, StopFacts, TrialRecord};
use bakeoff_stage::Fetched;

use super::*;
use crate::answers::check_after;
use crate::generators::{Generators, OwnEngine};
use crate::preflight::Finding;
use crate::roles::Roles;
use crate::scripts::{Host, answer, gone, plan};
use crate::site::{
    Answer, FirstAnswers, Reached, Site, SiteError, StartFailed, StartOrder, Started,
};
use crate::trial::{Away, Carried, blank, carry_out};

/// A contestant that only notes what it is asked.
#[derive(Debug, Default)]
struct Scripted {
    asked: Vec<String>,
    /// The look at which it is dead.
    dies_at: Option<u32>,
    looks: u32,
    /// Why it was ended by bakeoff.
    strayed: Option<&'static str>,
    /// Why its host is given up.
    lost: Option<&'static str>,
    /// Where it is reached.
    address: Option<SocketAddr>,
    /// How often it was asked for an answer.
    fetches: u32,
    /// Whether right answers come.
    answers: bool,
    /// The host that is away.
    away: Option<LostHost>,
}

impl Staged for Scripted {
    fn started(&self) -> Started {
        let address = self.address.unwrap_or(([192, 0, 2, 1], 80).into());
        Started {
            facts: ServerFacts::without_folder("script", address),
            pinned: Pinned::default(),
            reached: Reached {
                address,
                host: None,
                authority: None,
                network: None,
            },
        }
    }

    fn ask(&mut self, ask: Ask) -> Answer {
        match ask {
            Ask::Fetch { .. } => {
                self.fetches += 1;
                if self.answers {
                    return Answer::Fetched(Box::new(right()));
                }
                return Answer::Failed(TrialEnd::Failed {
                    step: Step::CheckAgain,
                    cause: "nothing came".to_owned(),
                    message: None,
                });
            }
            Ask::Observe { .. } => return Answer::Work(Box::default()),
            Ask::Grown => return Answer::Grown(Vec::new()),
            Ask::LogTail => return Answer::LogTail("out of memory".to_owned()),
            Ask::OriginCounts => return Answer::OriginCounts(None),
            Ask::Sample { network } => self.asked.push(format!("sample {network}")),
            Ask::NoteEdge(edge) => self.asked.push(format!("{edge:?}")),
            Ask::Act(action) => self.asked.push(action.name().to_owned()),
            Ask::TakenUp => return Answer::TakenUp(None),
            Ask::NoteWritten | Ask::Behave { .. } | Ask::MayAct(_) | Ask::MakeReady(_) => {}
        }
        Answer::Done
    }

    fn strayed(&mut self) -> Option<String> {
        self.strayed.map(str::to_owned)
    }

    fn lost(&mut self) -> Option<String> {
        self.lost.map(str::to_owned)
    }

    fn away(&mut self) -> Option<LostHost> {
        self.away.clone()
    }

    fn died(&mut self) -> Option<String> {
        self.looks += 1;
        let is_dead = self.dies_at.is_some_and(|at| self.looks >= at);
        is_dead.then(|| "exit status 1".to_owned())
    }

    fn sampled(&mut self, start: Option<Instant>) -> Usage {
        self.asked.push(format!("sampled {}", start.is_some()));
        Usage::default()
    }

    fn stop(self: Box<Self>) -> Result<Option<StopFacts>, TrialEnd> {
        Ok(None)
    }
}

/// Generators on other hosts whose load takes a moment, and has the result that the test says.
#[derive(Debug)]
struct Far {
    lost: bool,
}

struct Load100 {
    began: Instant,
    /// How often somebody has asked whether it is over: not before the tenth time, so that what
    /// happens at an earlier look happens in it.
    asked: u32,
    is_over: bool,
    load: Load,
    stopped: AtomicBool,
    lost: bool,
}

impl Generators for Far {
    fn begin(&self, order: &LoadOrder<'_>) -> Result<Box<dyn UnderWay>, String> {
        Ok(Box::new(Load100 {
            began: Instant::now(),
            asked: 0,
            is_over: false,
            load: order.trial.load.clone(),
            stopped: AtomicBool::new(false),
            lost: self.lost,
        }))
    }

    fn are_here(&self) -> bool {
        false
    }
}

impl UnderWay for Load100 {
    fn window(&self) -> Option<(Instant, Instant)> {
        Some((self.began, self.began + Duration::from_millis(50)))
    }

    /// The last requests end with the load.
    fn live(&self) -> (u64, u64) {
        if self.is_over { (9, 2) } else { (7, 1) }
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn is_over(&mut self) -> bool {
        self.asked += 1;
        let is_done = self.asked >= 10 && self.began.elapsed() > Duration::from_millis(100);
        self.is_over = is_done || self.stopped.load(Ordering::Relaxed);
        self.is_over
    }

    fn finish(self: Box<Self>) -> Generated {
        let mut hosts = Hosts::default();
        let mut failed = None;
        if self.lost {
            hosts.lost.push(LostHost {
                host: "g2".to_owned(),
                at_s: Some(0.01),
                message: "no answer for 10 s".to_owned(),
            });
            failed = Some("g2 was lost: no answer for 10 s".to_owned());
        }
        Generated {
            result: Some(LoadResult::empty(self.load, 0.05)),
            hosts: Some(hosts),
            failed,
            ..Generated::default()
        }
    }
}

/// An answer as it was asked for.
fn right() -> Fetched {
    Fetched {
        check: answer(200),
        body: Vec::new(),
    }
}

fn first_trial() -> Trial {
    bakeoff_plan::trials(&plan()).remove(0)
}

fn roles() -> Roles {
    Roles::divide(&Pinning::default()).expect("processors")
}

fn measured(generators: &dyn Generators, contestant: &mut Scripted) -> Measured {
    heard(generators, contestant, &mut |_| {})
}

fn heard(
    generators: &dyn Generators,
    contestant: &mut Scripted,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Measured {
    let setting = Setting {
        site: &Host::default(),
        roles: &roles(),
        generators,
        seed: 1,
        stop: &AtomicBool::new(false),
    };
    let encoded = Encoded::new();
    measure(&setting, &first_trial(), &encoded, contestant, on_event)
}

#[test]
fn live_events_add_up_to_all_that_ended() {
    let mut sum = (0, 0);
    let mut add = |event: Event<'_>| {
        if let Event::Live { ok, errors, .. } = event {
            sum = (sum.0 + ok, sum.1 + errors);
        }
    };
    heard(&Far { lost: false }, &mut Scripted::default(), &mut add);
    assert_eq!(sum, (9, 2));
}

#[test]
fn generators_elsewhere_are_followed_like_the_engine_here() {
    let mut contestant = Scripted::default();
    let measured = measured(&Far { lost: false }, &mut contestant);
    assert_eq!(measured.end, None);
    assert!(measured.result.is_some() && measured.hosts.is_some());
    // What crosses the network is sampled, because the load does.
    let asked = ["sample true", "Start", "End", "sampled true"];
    assert_eq!(contestant.asked, asked);
}

#[test]
fn a_lost_generator_fails_the_trial_and_keeps_what_there_is() {
    let measured = measured(&Far { lost: true }, &mut Scripted::default());
    let Some(TrialEnd::Failed { step, cause, .. }) = measured.end else {
        panic!("it failed: {:?}", measured.end);
    };
    assert_eq!(step, Step::Measure);
    assert!(cause.contains("g2 was lost"), "{cause}");
    assert!(measured.result.is_some());
    assert_eq!(measured.hosts.map(|hosts| hosts.lost.len()), Some(1));
}

#[test]
fn a_server_that_dies_ends_the_load_on_other_hosts() {
    let mut contestant = Scripted {
        dies_at: Some(2),
        ..Scripted::default()
    };
    let measured = measured(&Far { lost: false }, &mut contestant);
    let Some(TrialEnd::Failed { cause, message, .. }) = measured.end else {
        panic!("it failed: {:?}", measured.end);
    };
    assert_eq!(cause, "the server died under load: exit status 1");
    assert_eq!(message.as_deref(), Some("out of memory"));
}

#[test]
fn a_server_that_asks_somebody_else_ends_the_load_and_was_not_measured() {
    let mut contestant = Scripted {
        strayed: Some("Script is connected to 192.0.2.7:80"),
        // It was ended.
        dies_at: Some(1),
        ..Scripted::default()
    };
    let measured = measured(&Far { lost: false }, &mut contestant);
    let Some(TrialEnd::Failed { cause, .. }) = &measured.end else {
        panic!("it failed: {:?}", measured.end);
    };
    assert_eq!(cause, "Script is connected to 192.0.2.7:80");
    assert_eq!(died(measured), None, "it did not die by itself");
}

#[test]
fn a_lost_host_of_the_server_ends_the_load_and_is_named() {
    let mut contestant = Scripted {
        lost: Some("host sut was lost: nothing came for 10 s"),
        ..Scripted::default()
    };
    let measured = measured(&Far { lost: false }, &mut contestant);
    let Some(TrialEnd::Failed { cause, message, .. }) = measured.end else {
        panic!("it failed: {:?}", measured.end);
    };
    assert_eq!(cause, "host sut was lost: nothing came for 10 s");
    assert_eq!(message, None);
    assert!(measured.result.is_some(), "what was measured is kept");
}

/// Generators that cannot put a load on anything.
#[derive(Debug)]
struct Unable;

impl Generators for Unable {
    fn begin(&self, _: &LoadOrder<'_>) -> Result<Box<dyn UnderWay>, String> {
        Err("start a thread: no memory".to_owned())
    }

    fn are_here(&self) -> bool {
        true
    }
}

#[test]
fn a_load_that_cannot_begin_is_no_death_of_the_server() {
    let measured = measured(&Unable, &mut Scripted::default());
    let Some(TrialEnd::Failed { cause, .. }) = &measured.end else {
        panic!("it failed: {:?}", measured.end);
    };
    assert_eq!(cause, "failed to start a thread: no memory");
    assert_eq!(died(measured), None);
}

/// What the record of a trial that ended so says of the server's death.
fn died(measured: Measured) -> Option<String> {
    let mut record = blank(&first_trial(), &roles(), &Clock::default());
    record.end = measured.end.expect("it failed");
    (record.result, record.hosts) = (measured.result, measured.hosts);
    record.server_died().map(str::to_owned)
}

#[test]
fn a_death_in_the_warm_up_leaves_a_result_that_shows_it() {
    // Nobody accepts: the kernel takes what fits into the queue.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut contestant = Scripted {
        dies_at: Some(1),
        address: listener.local_addr().ok(),
        ..Scripted::default()
    };
    let measured = measured(&OwnEngine::of(&roles()), &mut contestant);
    assert!(measured.result.is_some(), "{:?}", measured.end);
    let died = died(measured);
    assert_eq!(
        died.as_deref(),
        Some("the server died under load: exit status 1")
    );
}

#[test]
fn after_a_host_is_lost_no_answer_is_waited_for() {
    let mut contestant = Scripted {
        lost: Some("host sut was lost: nothing came for 10 s"),
        ..Scripted::default()
    };
    let trial = first_trial();
    let mut record = blank(&trial, &roles(), &Clock::default());
    let setting = Setting {
        site: &Host::default(),
        roles: &roles(),
        generators: &Far { lost: false },
        seed: 1,
        stop: &AtomicBool::new(false),
    };
    let end = check_after(&trial, &mut contestant, &mut record, &setting);
    let Some(TrialEnd::Failed { step, cause, .. }) = end else {
        panic!("it failed: {end:?}, {:?}", record.warnings);
    };
    assert_eq!(step, Step::CheckAgain);
    assert_eq!(cause, "host sut was lost: nothing came for 10 s");
    assert_eq!(contestant.fetches, 1);
    assert_eq!(record.warnings, []);
}

/// Generators that no load comes from, because a host is away or for another reason.
#[derive(Debug, Clone)]
struct Never {
    away: Option<LostHost>,
}

impl Generators for Never {
    fn begin(&self, _: &LoadOrder<'_>) -> Result<Box<dyn UnderWay>, String> {
        Ok(Box::new(self.clone()))
    }

    fn are_here(&self) -> bool {
        false
    }
}

impl UnderWay for Never {
    fn window(&self) -> Option<(Instant, Instant)> {
        None
    }

    fn live(&self) -> (u64, u64) {
        (0, 0)
    }

    fn stop(&self) {}

    fn is_over(&mut self) -> bool {
        true
    }

    fn finish(self: Box<Self>) -> Generated {
        Generated {
            hosts: Some(Hosts {
                lost: self.away.iter().cloned().collect(),
                ..Hosts::default()
            }),
            failed: Some("it could not be made ready".to_owned()),
            away: self.away,
            ..Generated::default()
        }
    }
}

/// Where the contestant is that is started once.
#[derive(Debug)]
struct Stand(Mutex<Option<Scripted>>);

impl Site for Stand {
    fn fix_programs(&self, _: &Plan, _: &[TrialRecord]) -> Result<(), SiteError> {
        Ok(())
    }

    fn preflight(&self, _: &Plan) -> Result<Vec<Finding>, SiteError> {
        Ok(Vec::new())
    }

    fn first_answers(&self, _: &Plan, _: &[Finding]) -> Result<FirstAnswers, SiteError> {
        unreachable!("it is asked before a campaign")
    }

    fn open_files(&self) -> Option<u64> {
        None
    }

    fn start(
        &self,
        _: &StartOrder<'_>,
        _: &mut dyn FnMut(Step),
    ) -> Result<Box<dyn Staged>, StartFailed> {
        let contestant = self.0.lock().expect("no panic").take();
        Ok(Box::new(contestant.expect("it is started once")))
    }
}

/// A whole trial of a contestant.
fn trial_of(contestant: Scripted, generators: &dyn Generators) -> Carried {
    let setting = Setting {
        site: &Stand(Mutex::new(Some(contestant))),
        roles: &roles(),
        generators,
        seed: 1,
        stop: &AtomicBool::new(false),
    };
    carry_out(&setting, &first_trial(), Path::new("/"), &mut |_| {}).expect("room")
}

/// A contestant that answers, on a host that is there.
fn answering() -> Scripted {
    Scripted {
        answers: true,
        ..Scripted::default()
    }
}

#[test]
fn a_host_that_is_away_before_the_load_is_no_failure_of_the_contender() {
    let ready = Far { lost: false };
    let none = Never { away: None };
    // Its host goes away while it is asked for the first answer, or as the load is to begin.
    let unanswered = Scripted {
        away: Some(gone()),
        ..Scripted::default()
    };
    let unreached = Scripted {
        lost: Some("host g1 was lost: nothing came for 10 s"),
        away: Some(gone()),
        ..answering()
    };
    let never = Never { away: Some(gone()) };
    let cases: [(Scripted, &dyn Generators); 3] = [
        (unanswered, &ready),
        (unreached, &none),
        (answering(), &never),
    ];
    for (contestant, generators) in cases {
        let Carried { record, away } = trial_of(contestant, generators);
        assert_eq!(away, Some(Away::Lost(gone())));
        assert_eq!(record.end, TrialEnd::Interrupted, "it is begun again");
        assert_eq!(record.lost(), [gone()]);
        assert!(record.result.is_none());
    }
}

#[test]
fn what_fails_for_another_reason_or_under_load_is_not_begun_again() {
    let lost_under_load = Scripted {
        lost: Some("host g1 was lost: nothing came for 10 s"),
        away: Some(gone()),
        ..answering()
    };
    let cases: [(Scripted, &dyn Generators); 4] = [
        (Scripted::default(), &Far { lost: false }),
        (answering(), &Never { away: None }),
        (answering(), &Far { lost: true }),
        (lost_under_load, &Far { lost: false }),
    ];
    for (contestant, generators) in cases {
        let Carried { record, away } = trial_of(contestant, generators);
        assert_eq!(away, None);
        assert!(
            matches!(record.end, TrialEnd::Failed { .. }),
            "{:?}",
            record.end
        );
    }
}
