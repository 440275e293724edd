//! What only several rounds together can show (family D), and what those of each round come to.

use bakeoff_plan::{LoadModel, Plan, distinct, grouped};
use bakeoff_record::{ContenderKind, Interval, Record, TrialEnd, TrialRecord};
use bakeoff_stats::{Cell, ERROR_SHARE_APART, INTERVAL_FROM, Metric, Number, modes, walsh};

use crate::check::{Check, Level};
use crate::code::Code;
use crate::figures::in_rounds;
use crate::figures::rate;
use crate::limits::{
    MODES_APART, RATE_VARIATION, ROUNDS_MIN, ROUNDS_SHARE, STEADY_ROUNDS_SHARE, STEADY_SHARE,
};
use crate::verdict::Judgement;

/// Believable rounds of a cell from which half of all are enough, where time ends the campaign.
const ROUNDS_TIMED: usize = 2;

/// A trial with what can be believed of it.
type Round<'r> = (&'r TrialRecord, Judgement);

/// Checks of a cell over its measured rounds.
pub(crate) fn check(record: &Record, cell: &Cell<'_>, measured: &[&Round<'_>]) -> Vec<Check> {
    let rounds: Vec<&Judgement> = measured.iter().map(|(_, judgement)| judgement).collect();
    let rounds = rounds.as_slice();
    let needed = rounds_needed(record, cell);
    // A round in which everything failed, or nothing ended, has no rate: the others would speak
    // for it.
    let fails = cell
        .error_share()
        .is_some_and(|share| share > ERROR_SHARE_APART);
    let mut checks = merge(rounds, needed, fails);
    if let Some(died) = died(cell) {
        // What a round without a death says of it does not stand beside one.
        checks.retain(|check| check.code != died.code || check.level == Level::Invalid);
        checks.push(died);
    }
    if let Some(unsteady) = unsteady(cell, measured) {
        let is_seen = |check: &Check| check.code == unsteady.code && check.level > Level::Note;
        if !checks.iter().any(is_seen) {
            // That single windows look level does not stand beside it.
            checks.retain(|check| check.code != unsteady.code);
            checks.push(unsteady);
        }
    }
    checks.extend(program_changed(record, cell));
    checks.extend(complete(record, cell, rounds.len(), needed));
    checks.extend(accepted(&checks, rounds, needed));
    checks.push(agree(record, cell, measured));
    checks.extend(two_modes(cell, measured));
    checks
}

/// The values of a measure in the rounds that its estimate is of.
fn values(measured: &[&Round<'_>], measure: Metric) -> Vec<f64> {
    let number = measure.number();
    let usable = measured
        .iter()
        .filter(|(_, judgement)| judgement.level(number) < Level::Disturbed);
    usable
        .filter_map(|(trial, _)| measure.of(trial).ok())
        .collect()
}

/// Rounds that the plan asked for of a cell, with those that were added to them. Where time ends a
/// campaign, a cell has those that it took part in.
fn rounds_planned(record: &Record, cell: &Cell<'_>) -> usize {
    let plan = &record.plan;
    if !plan.has_fixed_rounds() {
        return cell.trials.len();
    }
    let begun = record.rounds_begun().min(plan.rounds_at_most());
    plan.rounds_at_least().max(begun) as usize
}

/// Rounds of a cell whose number must be believable.
fn rounds_needed(record: &Record, cell: &Cell<'_>) -> usize {
    let rounds = match cell.kind {
        ContenderKind::Contender | ContenderKind::Control => rounds_planned(record, cell),
        // A reference need not run in every round.
        _ => cell.trials.len(),
    };
    needed_of(&record.plan, rounds)
}

/// How many of `rounds` rounds of a plan must be believable: most of those planned, and all where
/// few were. The rounds that are added make up for what the machine spoiled, so they do not raise
/// what is needed until they are the most of them: half of all must be believable.
pub(crate) fn needed_of(plan: &Plan, rounds: usize) -> usize {
    if !plan.has_fixed_rounds() {
        return rounds.div_ceil(2).max(rounds.min(ROUNDS_TIMED));
    }
    needed_among(rounds.min(plan.rounds_at_least() as usize), rounds)
}

/// The same of `planned` rounds among `rounds`.
pub(crate) fn needed_among(planned: usize, rounds: usize) -> usize {
    if planned < ROUNDS_MIN {
        return planned;
    }
    let most = (planned as f64 * ROUNDS_SHARE).ceil() as usize;
    most.max(ROUNDS_MIN).max(rounds.div_ceil(2))
}

/// The checks of several rounds in one: whether answers were right is as bad as in the worst
/// round; what the machine or the load did to a round takes the number only where too few rounds
/// are left without it.
///
/// Nor do rounds without failures stand for a contender that `fails` over all of them together.
fn merge<'r>(rounds: &[&'r Judgement], needed: usize, fails: bool) -> Vec<Check> {
    let kind = |check: &'r Check| {
        let text = (check.code == Code::Warning).then_some(&check.text);
        ((check.code, text), check)
    };
    let all = rounds.iter().flat_map(|round| &round.checks);
    let kinds = grouped(all.map(kind)).into_iter();
    kinds
        .map(|(_, checks)| merged(&checks, rounds, needed, fails))
        .collect()
}

fn merged(checks: &[&Check], rounds: &[&Judgement], needed: usize, fails: bool) -> Check {
    let total = rounds.len();
    let worst = checks.iter().map(|check| check.level).max();
    let worst = worst.unwrap_or(Level::Note);
    // The one farthest from its limit among those as bad as the worst; the earliest of equals.
    let as_bad = checks.iter().filter(|check| check.level == worst);
    let times = as_bad.clone().count();
    let far = |check: &Check| match (check.value, check.limit) {
        (Some(value), Some(limit)) if check.level >= Level::Suspect => (value - limit).abs(),
        _ => 0.0,
    };
    let farthest = as_bad.rev().max_by(|a, b| far(a).total_cmp(&far(b)));
    let mut check = (*farthest.unwrap_or(&checks[0])).clone();
    check.numbers = numbers_of(checks);
    let correctness = check.code.is_correctness();
    let stays = fails && check.code == Code::FailedShare;
    check.relevel(|number, level| {
        if correctness || level <= Level::Note {
            return level;
        }
        let worse = checks
            .iter()
            .filter(|one| one.of(number) > Level::Note)
            .count();
        let usable = |round: &&&Judgement| round.level(number) < Level::Disturbed;
        match level {
            _ if total - worse >= needed && !stays => Level::Note,
            // Some rounds can still be shown.
            Level::Invalid if rounds.iter().any(|round| usable(&round)) => Level::Suspect,
            level => level,
        }
    });
    if worst >= Level::NotRun && total > 1 {
        check.text = format!("{} (in {times} of {total} rounds)", check.text);
    }
    check
}

/// The worst level of each number.
fn numbers_of(checks: &[&Check]) -> Vec<(Number, Level)> {
    let mut numbers: Vec<(Number, Level)> = Vec::new();
    for (number, level) in checks.iter().flat_map(|check| &check.numbers) {
        match numbers.iter_mut().find(|(known, _)| known == number) {
            Some((_, known)) => *known = (*known).max(*level),
            None => numbers.push((*number, *level)),
        }
    }
    numbers
}

/// A server that died under load in some rounds. Those rounds have no number, and the others would
/// speak for it: they are shown, and not ranked. What others on the machine may have had a part in
/// is not held against it.
fn died(cell: &Cell<'_>) -> Option<Check> {
    let undisturbed = cell.trials.iter().filter(|it| !it.is_disturbed());
    let died: Vec<(u32, &str)> = undisturbed
        .filter_map(|trial| Some((trial.round, trial.server_died()?)))
        .collect();
    let (_, cause) = died.first()?;
    let rounds: Vec<u32> = died.iter().map(|(round, _)| *round).collect();
    let text = format!("{cause}{}", in_rounds(&rounds));
    let check = Check::new(Code::ServerAlive, Level::Suspect, text);
    Some(check.figures(died.len() as f64, 0.0))
}

/// Windows whose rate is never at rest, by too little for one of them to show beside its noise: in
/// all rounds together the mean of a window lies on the same side of its last third (R24). An open
/// loop's rate is given, and by count the clients of a closed one run out of requests.
fn unsteady(cell: &Cell<'_>, measured: &[&Round<'_>]) -> Option<Check> {
    let load = &cell.trials.first()?.load;
    let is_closed = matches!(load.model, LoadModel::Closed { .. }) && load.requests.is_none();
    if !matches!(cell.kind, ContenderKind::Contender | ContenderKind::Control) || !is_closed {
        return None;
    }
    let usable = measured
        .iter()
        .filter(|(_, judgement)| judgement.level(Number::Rate) < Level::Disturbed);
    let away: Vec<f64> = usable
        .filter_map(|(trial, _)| away_from_the_end(trial))
        .collect();
    if away.len() < ROUNDS_MIN {
        return None;
    }
    let found = walsh(&away)?;
    // The end of the interval that is nearer to no distance, if that is not within it.
    let (nearer, side, course) = if found.point > 0.0 {
        (found.low, "above", "slower")
    } else {
        (-found.high, "below", "faster")
    };
    let share = nearer.exp_m1();
    let (level, limit) = match share {
        share if share > STEADY_SHARE => (Level::Suspect, STEADY_SHARE),
        share if share > STEADY_ROUNDS_SHARE => (Level::Note, STEADY_ROUNDS_SHARE),
        _ => return None,
    };
    let text = format!(
        "over {} rounds the rate of a window is {:.1} % {side} that of its last third, {:.1} % or \
         more with 95 %: the server becomes {course} in each window",
        away.len(),
        found.point.abs().exp_m1() * 100.0,
        share * 100.0
    );
    let numbers = [(Number::Rate, level), (Number::Latency, level)];
    Some(Check::graded(Code::NotSteady, numbers, text).figures(share, limit))
}

/// Logarithm of a window's rate over that of its last third; `None` without any.
fn away_from_the_end(trial: &TrialRecord) -> Option<f64> {
    let parts = &trial.result.as_ref()?.intervals;
    let third = parts.len() / 3;
    let rate = |parts: &[Interval]| {
        let ok: u64 = parts.iter().map(|part| part.ok).sum();
        ok as f64 / parts.iter().map(|part| part.length_s).sum::<f64>()
    };
    let away = (rate(parts) / rate(&parts[parts.len() - third..])).ln();
    Some(away).filter(|away| away.is_finite())
}

/// One program for a whole campaign: a row of two programs is of neither.
fn program_changed(record: &Record, cell: &Cell<'_>) -> Option<Check> {
    let mine = record
        .trials
        .iter()
        .filter(|trial| trial.contender == cell.key.contender && trial.end == TrialEnd::Measured);
    let servers = mine.filter_map(|trial| trial.server.as_ref());
    let programs = distinct(servers.map(|server| (&server.version, &server.binary_sha256)));
    let [first, second, ..] = programs[..] else {
        return None;
    };
    let name = |(version, sha256): (&String, &String)| {
        let digest: String = sha256.chars().take(8).collect();
        format!("{version} ({digest})")
    };
    let text = format!(
        "the program changed during the campaign: {} in some rounds, {} in others",
        name(first),
        name(second)
    );
    Some(Check::new(Code::ProgramChanged, Level::Invalid, text))
}

/// Fewer rounds than were planned: shown, and not ranked where too few are left.
fn complete(record: &Record, cell: &Cell<'_>, measured: usize, needed: usize) -> Option<Check> {
    let planned = match cell.kind {
        ContenderKind::Contender | ContenderKind::Control => {
            rounds_planned(record, cell).max(cell.trials.len())
        }
        _ => cell.trials.len(),
    };
    if measured >= planned {
        return None;
    }
    let lost: Vec<String> = cell
        .trials
        .iter()
        .filter(|trial| trial.end != TrialEnd::Measured)
        .map(|trial: &&TrialRecord| trial.round.to_string())
        .collect();
    let text = if lost.is_empty() {
        format!("{measured} of {planned} planned rounds were carried out")
    } else {
        format!(
            "{} of {planned} rounds were not measured (round {}): the numbers are of the others",
            planned - measured,
            lost.join(", ")
        )
    };
    let level = if measured >= needed {
        Level::Note
    } else {
        Level::Suspect
    };
    let check = Check::new(Code::RoundsComplete, level, text);
    Some(check.figures(measured as f64, needed as f64))
}

/// Where each check by itself leaves enough rounds, and all of them together do not.
fn accepted(checks: &[Check], rounds: &[&Judgement], needed: usize) -> Option<Check> {
    let mut numbers = Vec::new();
    let mut fewest = rounds.len();
    for number in Number::ALL {
        let known = checks.iter().map(|check| check.of(number)).max();
        let known = known.unwrap_or(Level::Passed);
        let usable = rounds
            .iter()
            .filter(|round| round.level(number) < Level::Disturbed)
            .count();
        let valid = rounds
            .iter()
            .filter(|round| round.level(number) <= Level::Note)
            .count();
        let level = match (usable, valid) {
            (0, _) if known < Level::Invalid => Level::Invalid,
            // What was counted in few rounds was counted all the same.
            (_, valid) if valid < needed && known <= Level::Note && number != Number::Counts => {
                Level::Suspect
            }
            _ => continue,
        };
        fewest = fewest.min(valid);
        numbers.push((number, level));
    }
    if numbers.is_empty() {
        return None;
    }
    let text = format!(
        "{fewest} of {} rounds can be believed, and {needed} are needed",
        rounds.len()
    );
    let check = Check::graded(Code::RoundsAccepted, numbers, text);
    Some(check.figures(fewest as f64, needed as f64))
}

/// Two groups of rounds with nothing between them: the median lies in one of them, or in the gap,
/// and says nothing of the other. A fact about the server, which takes nothing away.
fn two_modes(cell: &Cell<'_>, measured: &[&Round<'_>]) -> Option<Check> {
    let load = &cell.trials.first()?.load.model;
    let measures = match load {
        LoadModel::Closed { .. } => [Metric::RatePerS, Metric::CpuNsPerRequest],
        _ => [Metric::LatencyP99Ns, Metric::CpuNsPerRequest],
    };
    let mut found = measures
        .into_iter()
        .filter_map(|measure| Some((measure, modes(&values(measured, measure))?)));
    let (measure, modes) = found.next()?;
    let value = |value: f64| match measure {
        Metric::RatePerS => format!("{} requests/s", rate(value)),
        Metric::LatencyP99Ns => format!("{:.2} ms p99", value / 1e6),
        _ => format!("{:.1} µs of CPU per request", value / 1e3),
    };
    let (low, high) = (value(modes.low), value(modes.high));
    let text = format!(
        "the rounds fall into two groups: {} near {low} and {} near {high}; the median does not \
         speak for both",
        modes.low_count, modes.high_count
    );
    let check = Check::note(Code::TwoModes, text);
    Some(check.figures(modes.high / modes.low, MODES_APART))
}

/// Coefficient of variation of the rate over rounds. It drifts with the machine, so that the rate
/// of a contender keeps its interval and its verdict; a reference does the same work each time.
fn agree(record: &Record, cell: &Cell<'_>, measured: &[&Round<'_>]) -> Check {
    let mut rates = values(measured, Metric::RatePerS);
    if rates.len() < INTERVAL_FROM {
        // Too few are left to be an estimate, which other checks say: these are shown.
        let all = measured.iter();
        rates = all
            .filter_map(|(trial, _)| Metric::RatePerS.of(trial).ok())
            .collect();
    }
    let n = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / n;
    if rates.len() < INTERVAL_FROM || mean <= 0.0 {
        let text = match (measured.len(), rates.len()) {
            (0..=2, _) => "fewer than three rounds: how far they are apart is not known",
            (_, 1..=2) => {
                "fewer than three rounds have a rate: how far they are apart is not known"
            }
            _ => "no round has a rate: no request came out right",
        };
        // Who is decided early is so by the spread of the whole family.
        return match record.plan.has_fixed_rounds() || rates.is_empty() {
            true => Check::not_run(Code::RoundsAgree, text),
            false => Check::new(Code::RoundsAgree, Level::Note, text),
        };
    }
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let variation = variance.sqrt() / mean;
    let level = match (variation < RATE_VARIATION, cell.kind) {
        (true, _) => Level::Passed,
        (false, ContenderKind::Yardstick | ContenderKind::Origin) => Level::Suspect,
        (false, _) => Level::Note,
    };
    let text = format!(
        "the rate varies by {:.1} % (standard deviation over mean) from round to round",
        variation * 100.0
    );
    Check::new(Code::RoundsAgree, level, text).figures(variation, RATE_VARIATION)
}
