//! The first contact with each contender, before the first round: does it start, and what does it
//! answer?
//!
//! What is wrong with several is known at once then. Where the plan leaves the right answer open,
//! each is asked three times, the last time a second later and of another start: what changes in
//! between cannot be compared. Nothing of it is recorded but what [`crate::learn`] makes of it.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bakeoff_plan::{
    ConfigSource, ContainerSource, Contender, Plan, Request, ServerChoice, Workload,
};
use bakeoff_record::{AnswerCheck, OwnLimits, Pinned, Step, TrialEnd};
use bakeoff_stage::{Cause, Fetched, Stage, StageError};

use crate::answers::{ANSWER_LIMIT, chosen};
use crate::clock::Clock;
use crate::contestant::{Answered, Contestant, Place};
use crate::learn::{Answers, Pair, Seen, learn};
use crate::preflight::Finding;
use crate::site::{FirstAnswers, Part, StartOrder};

/// A clock in seconds has moved on by then.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(1100);
/// Contenders that are asked at the same time.
const AT_ONCE: usize = 6;

/// What a first contact needs.
#[derive(Debug, Clone, Copy)]
pub struct Approach<'a> {
    /// Where servers are started.
    pub stage: &'a Stage,
    /// This program, which the built-in servers are a part of.
    pub bakeoff: &'a Path,
    /// Folder for logs.
    pub folder: &'a Path,
    /// Set to look no further.
    pub stop: &'a AtomicBool,
}

/// Starts each contender for each workload and asks it, except where `known` says that it cannot be
/// measured.
pub fn first_answers(plan: &Plan, known: &[Finding], approach: &Approach<'_>) -> FirstAnswers {
    let is_known = |contender: &Contender, workload: &Workload| {
        let mut known = known.iter();
        known.any(|it| it.contender == contender.name && it.workload == workload.name)
    };
    let mut pairs: Vec<Pair> = Vec::new();
    for (index, contender) in plan.contenders.iter().enumerate() {
        let workloads = plan.workloads.iter().enumerate();
        let asked = workloads.filter(|(_, workload)| !is_known(contender, workload));
        pairs.extend(asked.map(|(workload, _)| (index, workload)));
    }
    let (apart, together): (Vec<Pair>, Vec<Pair>) = pairs
        .into_iter()
        .partition(|(contender, _)| needs_its_own_port(&plan.contenders[*contender]));
    let ask = |pair: Pair| (pair, contact(plan, pair, approach));
    let came = at_once_of(AT_ONCE, together, approach.stop, &ask);
    // Two commands that listen where they like may have wanted the same port.
    let (again, mut came): (Vec<Outcome>, Vec<Outcome>) = came.into_iter().partition(|came| {
        let is_free = listens_where_it_likes(&plan.contenders[came.0.0]);
        is_free
            && came
                .1
                .as_ref()
                .is_err_and(|refused| refused.may_be_the_port)
    });
    let apart = again
        .into_iter()
        .map(|(pair, _)| pair)
        .chain(apart)
        .collect();
    came.extend(at_once_of(1, apart, approach.stop, &ask));
    came.sort_by_key(|(pair, _)| *pair);
    let mut findings = Vec::new();
    let mut answers: Vec<(Pair, Answers)> = Vec::new();
    for (pair, outcome) in came {
        match outcome {
            Ok(seen) => answers.push((pair, seen)),
            Err(refused) => findings.push(Finding {
                contender: plan.contenders[pair.0].name.clone(),
                workload: plan.workloads[pair.1].name.clone(),
                end: refused.end,
            }),
        }
    }
    let (plan, notes) = learn(plan, &answers);
    FirstAnswers {
        findings,
        plan,
        notes,
    }
}

/// Whether two of it, or it and another, are likely to want the same port.
fn needs_its_own_port(contender: &Contender) -> bool {
    match &contender.server {
        ServerChoice::Program { config, .. } => matches!(config, ConfigSource::File(_)),
        ServerChoice::Url(_) => true,
        // A compose file may publish ports.
        ServerChoice::Container(own) => matches!(own.source, ContainerSource::Compose(_)),
        ServerChoice::Command(_) | ServerChoice::Yardstick | ServerChoice::Origin => false,
    }
}

/// Whether it is a command that may ignore the port in its environment.
fn listens_where_it_likes(contender: &Contender) -> bool {
    match &contender.server {
        ServerChoice::Command(own) => !own.command.contains("{port}"),
        _ => false,
    }
}

/// Why a contender did not answer.
struct Refused {
    end: TrialEnd,
    may_be_the_port: bool,
}

impl From<StageError> for Refused {
    fn from(error: StageError) -> Self {
        let cause = &*error.cause;
        Self {
            may_be_the_port: matches!(
                cause,
                Cause::PortTaken { .. } | Cause::Died { .. } | Cause::NeverListened { .. }
            ),
            end: error.trial_end(),
        }
    }
}

type Outcome = (Pair, Result<Answers, Refused>);

/// Asks at most `width` pairs at the same time.
fn at_once_of(
    width: usize,
    pairs: Vec<Pair>,
    stop: &AtomicBool,
    ask: &(dyn Fn(Pair) -> Outcome + Sync),
) -> Vec<Outcome> {
    let (next, came) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let Some(pair) = pairs.get(next.fetch_add(1, Ordering::Relaxed)) else {
                return;
            };
            let outcome = ask(*pair);
            let mut came = came
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            came.push(outcome);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..width.min(pairs.len()) {
            scope.spawn(work);
        }
    });
    came.into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Starts one contender for one workload, asks it and stops it.
fn contact(plan: &Plan, pair: Pair, approach: &Approach<'_>) -> Result<Answers, Refused> {
    let contender = &plan.contenders[pair.0];
    let workload = plan.workloads[pair.1].asked_of(contender);
    let logs = format!("{}-{}", contender.name, workload.name);
    let start = || {
        let place = Place {
            stage: approach.stage,
            bakeoff: approach.bakeoff,
            logs: &approach.folder.join(&logs),
            pinned: &Pinned::default(),
            allowed: &[],
            seed: plan.seed,
        };
        let order = StartOrder {
            contender,
            workload: &workload.filled(),
            logs: place.logs,
            part: Part::Whole,
            action: None,
        };
        Contestant::start(place, &order, &mut |_| {})
    };
    let mut contestant = start()?;
    let asked = chosen(&workload.requests, true);
    let open = asked.filter(|(_, one)| one.expect.is_open());
    let open = open.map(|(index, one)| (index, workload.samples(index, one)));
    let open: Vec<(usize, Vec<Request>)> = open.collect();
    if open.is_empty() {
        let first = &workload.first_variant(0, workload.requests.first());
        let fetched = fetch(&contestant, &workload, first)?.fetched;
        if !fetched.check.right {
            return Err(Refused {
                end: wrong(first, &fetched),
                may_be_the_port: false,
            });
        }
        contestant.stop_all()?;
        return Ok(Vec::new());
    }
    let began = Instant::now();
    let mut seen = Vec::new();
    for (index, samples) in &open {
        let ask = |at: usize| {
            let one = (*index, &samples[at.min(samples.len() - 1)]);
            open_answer(&contestant, &workload, one)
        };
        let mut first = Seen::of(ask(0)?);
        for at in 1..samples.len().max(2) {
            first.meet(&ask(at)?);
        }
        seen.push((*index, first));
    }
    let left = ASK_AGAIN_AFTER.saturating_sub(began.elapsed());
    Clock::default().rest(left, approach.stop);
    if contestant.server.is_kept() {
        contestant.stop_all()?;
        contestant = start()?;
    }
    for ((index, samples), (_, seen)) in open.iter().zip(&mut seen) {
        if let Some(first) = samples.first() {
            seen.meet(&open_answer(&contestant, &workload, (*index, first))?);
        }
    }
    contestant.stop_all()?;
    Ok(seen)
}

fn fetch(
    contestant: &Contestant,
    workload: &Workload,
    request: &Request,
) -> Result<Answered, StageError> {
    contestant.ask(request, workload.protocol, ANSWER_LIMIT)
}

/// An answer that may become the right one of a request, which has a position in the workload.
fn open_answer(
    contestant: &Contestant,
    workload: &Workload,
    (index, request): (usize, &Request),
) -> Result<Answered, Refused> {
    let asked = fetch(contestant, workload, request)?;
    let server = &contestant.server;
    let before = server.first_status().filter(|_| index == 0);
    let (name, answer) = (request.name(), &asked.fetched);
    let cause = if bakeoff_stage::speaks_tls(&answer.body) && !workload.protocol.is_secure() {
        format!("`{name}` is answered in the clear that TLS is spoken there: give the https URL")
    } else if let Some(cause) = refusal(&name, before, &answer.check) {
        let limits = OwnLimits::of(&server.facts());
        let limit = limits.refusing(answer.check.status, &request.path);
        let limit = limit.map(|limit| format!(": {limit} limits how often it is asked"));
        cause + &limit.unwrap_or_default()
    } else {
        return Ok(asked);
    };
    let log = server.log_tail();
    Err(Refused {
        end: TrialEnd::Failed {
            step: Step::Start,
            cause,
            message: (!log.trim().is_empty()).then_some(log),
        },
        may_be_the_port: false,
    })
}

/// Why an answer cannot become the right one: it is a failure, or it refuses what was answered
/// with the status `before` when the server was found ready. A limit of requests gives such
/// answers to all that a load asks, and learned as right they would be the fastest server's.
fn refusal(name: &str, before: Option<u16>, check: &AnswerCheck) -> Option<String> {
    let status = check.status;
    let was_answered = before.is_some_and(|before| before < 400);
    let is_limited = was_answered && matches!(status, 403 | 429);
    if check.right && !is_limited {
        return None;
    }
    let advice = match status {
        403 | 429 | 503 => {
            "if it limits how often it is asked, as `limit_req` of nginx does, raise that limit"
        }
        _ => "see its log",
    };
    Some(match before {
        Some(before) if before != status => format!(
            "`{name}` was answered with status {before}, and the next time with {status}; {advice}"
        ),
        _ => format!("`{name}` is answered with status {status}; {advice}"),
    })
}

fn wrong(request: &Request, fetched: &Fetched) -> TrialEnd {
    TrialEnd::failed(
        Step::Start,
        format!(
            "the answer to `{}` is wrong: status {} and {} bytes, expected status {}",
            request.name(),
            fetched.check.status,
            fetched.check.body_bytes,
            request.expect.status
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripts::answer;

    #[test]
    fn what_refuses_or_fails_is_not_learned_as_right() {
        let refused = |before: u16, status: u16| refusal("GET /", Some(before), &answer(status));
        for status in [403, 429, 503] {
            let said = refused(200, status).unwrap();
            let both = format!("with status 200, and the next time with {status}; if it limits");
            assert!(said.contains(&both), "{said}");
        }
        let said = refused(200, 500).unwrap();
        assert!(said.ends_with("with 500; see its log"), "{said}");
        let said = refusal("GET /b", None, &answer(502)).unwrap();
        assert_eq!(said, "`GET /b` is answered with status 502; see its log");
        // What a server always answers is measured, and a page may come after its first 404.
        for (before, status) in [(200, 200), (429, 429), (403, 403), (404, 200), (200, 404)] {
            assert_eq!(refused(before, status), None, "{before}, {status}");
        }
        assert_eq!(refusal("GET /b", None, &answer(429)), None);
    }
}
