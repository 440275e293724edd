//! Summarises in a few plain lines how far a campaign can be trusted.
//!
//! It adds no check of its own: each line comes from the record, its checks and its comparisons.

mod number;

use bakeoff_plan::{REPEAT_FROM, distinct, grouped};
use bakeoff_record::{Disturbance, Record, TrialEnd, TrialRecord};
use bakeoff_stats::{Metric, Number};
use serde::Serialize;

use crate::cell::JudgedCell;
use crate::check::{Check, Level, Weakness};
use crate::code::Code;
use crate::comparisons::{Floor, is_upper_bound};
use crate::conclusion::{Comparison, Conclusion};
use crate::equivalence::Inequality;
use crate::figures::{counted, so_in_more};
use crate::findings::{Finding, Tone};
use crate::more::More;
use crate::verdict::Verdict;
use number::Weighed;

/// How far a campaign can be trusted, number by number.
#[derive(Debug, Clone, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Trust {
    /// Each number that is tested in it, in the order of tables.
    pub numbers: Vec<NumberTrust>,
    /// What else weakens it, worst first; four at the most.
    pub reasons: Vec<Weakness>,
}

/// How far what is said of one number can be trusted.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct NumberTrust {
    /// The number.
    pub metric: Metric,
    /// Whether it says which one is better.
    pub direction: bool,
    /// Within what share of a ratio it says by how much: 0.12 is 12 %; null where it does not.
    pub size: Option<f64>,
    /// What takes away from it most; null where nothing does.
    pub reason: Option<Weakness>,
}

/// Reasons that are shown.
const REASONS: usize = 4;

impl Trust {
    /// How far a number can be trusted; `None` where it is not tested.
    pub fn of(&self, metric: Metric) -> Option<&NumberTrust> {
        self.numbers.iter().find(|one| one.metric == metric)
    }
}

impl Finding {
    /// Takes care that it reads as no more than the campaign is worth.
    pub(crate) fn hold_against(&mut self, trust: &Trust) {
        let of_metric = trust.of(self.metric);
        let is_known = of_metric.is_none_or(|one| one.direction && one.size.is_some());
        let is_whole = is_known && self.weakened_by.is_empty();
        if self.tone == Tone::Good && !is_whole {
            self.tone = Tone::Note;
        }
    }
}

pub(crate) fn weigh(
    record: &Record,
    cells: &[JudgedCell<'_>],
    (comparisons, floors): (&[Comparison], &[Floor]),
    findings: &[Finding],
) -> Trust {
    let contenders = cells.iter().filter(|one| one.is_contender());
    let measured = contenders.filter(|one| one.cell.measured().next().is_some());
    let contenders: Vec<&JudgedCell<'_>> = measured.collect();
    let fits = |metric: Metric| record.plan.loads.iter().any(|it| metric.fits(&it.model));
    let tested = floors
        .iter()
        .filter(|floor| floor.metric.is_tested() && fits(floor.metric));
    let number = |floor: &Floor| {
        let of_metric = comparisons.iter().filter(|one| one.metric == floor.metric);
        let compared: Vec<&Comparison> = of_metric
            .filter(|one| one.conclusion != Conclusion::NotCompared)
            .collect();
        let one = Weighed {
            record,
            floor,
            compared,
            contenders: &contenders,
            findings,
        };
        one.number()
    };
    let mut numbers: Vec<NumberTrust> = tested.filter_map(number).collect();
    let shared_reason = of_all(&mut numbers);
    let is_said = |one: &Weakness| {
        let of_numbers = numbers.iter().filter_map(|number| number.reason.as_ref());
        let mut said = of_numbers.chain(&shared_reason);
        said.any(|known| known.code == one.code)
    };
    let doubtful = doubtful(&contenders).filter(|one| !is_said(one));
    let known = [shared_reason, doubtful, shared(record, &contenders)];
    let mut reasons: Vec<Weakness> = known.into_iter().flatten().collect();
    reasons.extend(disturbed(record));
    reasons.extend(rounds(record, comparisons));
    reasons.extend(two_modes(&contenders));
    reasons.extend(unequal(comparisons));
    reasons.extend(changing(&contenders));
    reasons.sort_by_key(|one| std::cmp::Reverse(one.level));
    reasons.truncate(REASONS);
    Trust { numbers, reasons }
}

/// What takes away from each of several numbers alike: it is said once, of the campaign.
fn of_all(numbers: &mut [NumberTrust]) -> Option<Weakness> {
    let (first, others) = numbers.split_first()?;
    let reason = first.reason.clone()?;
    let is_same = |one: &NumberTrust| one.reason.as_ref() == Some(&reason);
    if others.is_empty() || !others.iter().all(is_same) {
        return None;
    }
    numbers.iter_mut().for_each(|one| one.reason = None);
    Some(reason)
}

fn weakness(code: &str, level: Level, text: String) -> Weakness {
    Weakness {
        code: code.to_owned(),
        text,
        level,
    }
}

/// Bodies that nothing is known of beforehand.
fn changing(contenders: &[&JudgedCell<'_>]) -> Option<Weakness> {
    let code = Code::BodiesCompared;
    let mut checks = contenders
        .iter()
        .filter_map(|one| one.judgement.check(code));
    let check = checks.find(|check| check.level == Level::Note)?;
    Some(weakness(code.name(), Level::Note, check.text.clone()))
}

fn is_valid(judged: &JudgedCell<'_>) -> bool {
    judged.judgement.verdicts.of(judged.ranked_by()) == Verdict::Valid
}

/// Rates and latencies that cannot be believed, with what is most often to blame.
fn doubtful(contenders: &[&JudgedCell<'_>]) -> Option<Weakness> {
    // A bound has a reason of its own.
    let is_doubtful = |one: &&&JudgedCell<'_>| !is_valid(one) && !is_upper_bound(one);
    let doubtful: Vec<&&JudgedCell<'_>> = contenders.iter().filter(is_doubtful).collect();
    let blamed = most_to_blame_of(doubtful.iter().map(|one| (**one, one.ranked_by())));
    let (code, level, counted) = blamed?;
    let why = why_doubted(code, level);
    let numbers: Vec<Number> = contenders.iter().map(|one| one.ranked_by()).collect();
    let noun = match (
        numbers.contains(&Number::Rate),
        numbers.contains(&Number::Latency),
    ) {
        (true, false) => "rates",
        (false, _) => "latencies",
        (true, true) => "rates and latencies",
    };
    let text = format!(
        "{counted} of {} {noun} {} because {why}",
        contenders.len(),
        match counted {
            1 => "is not ranked,",
            _ => "are not ranked, most",
        }
    );
    Some(weakness(code.name(), level, text))
}

/// The check that is most often to blame for a number, with its level and how many cells have one
/// that is.
fn most_to_blame(cells: &[&&JudgedCell<'_>], number: Number) -> Option<(Code, Level, usize)> {
    most_to_blame_of(cells.iter().map(|one| (**one, number)))
}

fn most_to_blame_of<'c, 'r: 'c>(
    cells: impl Iterator<Item = (&'c JudgedCell<'r>, Number)>,
) -> Option<(Code, Level, usize)> {
    let causes = cells.filter_map(|(one, number)| cause(one, number));
    // A number near that of a reference is a bound, which has a reason of its own.
    let causes = causes.filter(|check| !is_near_reference(check.code));
    let codes = grouped(causes.map(|check| (check.code, check.level)));
    let counted = codes.iter().map(|(_, levels)| levels.len()).sum();
    let (code, levels) = codes.iter().rev().max_by_key(|(_, levels)| levels.len())?;
    Some((*code, *levels.iter().max()?, counted))
}

/// Why a number is in doubt, in a few words.
fn why_doubted(code: Code, level: Level) -> &'static str {
    match level {
        Level::NotRun => not_known(code),
        _ => plain(code),
    }
}

/// What is to blame for a number: what happened, sooner than the number of rounds that it left;
/// and what disturbed rounds, where that was in more of them than what is worse.
fn cause<'c>(judged: &'c JudgedCell<'_>, number: Number) -> Option<&'c Check> {
    let judgement = &judged.judgement;
    let worse = judgement.checks.iter().filter(|check| {
        let counts_rounds = matches!(check.code, Code::RoundsAccepted | Code::RoundsComplete);
        check.of(number) > Level::NotRun && !counts_rounds
    });
    let spoiled = |check: &Check| {
        let of_rounds = judged.counted().filter_map(|round| round.check(check.code));
        of_rounds
            .filter(|one| one.of(number) > Level::NotRun)
            .count()
    };
    let worst = worse.clone().rev().max_by_key(|check| check.of(number));
    let full_link = judgement
        .check(Code::LinkRoom)
        .filter(|check| check.of(number) > Level::NotRun);
    let worst = match (worst, full_link) {
        // The yardstick and the upstream were asked over the same link.
        (Some(worst), Some(link)) if is_near_reference(worst.code) => Some(link),
        (worst, _) => worst,
    };
    let disturbing = worse
        .filter(|check| check.of(number) == Level::Disturbed)
        .rev()
        .max_by_key(|check| spoiled(check));
    match (worst, disturbing) {
        // A machine that was disturbed changes rates. It makes no answer wrong, and none fail.
        (Some(worst), Some(disturbing))
            if !is_of_answers(worst.code) && spoiled(disturbing) > spoiled(worst) =>
        {
            Some(disturbing)
        }
        (worst, _) => worst.or_else(|| judgement.blame(number)),
    }
}

/// Whether a check says that answers were wrong, or failed, or did not come.
fn is_of_answers(code: Code) -> bool {
    code.is_correctness() || matches!(code, Code::FailedShare | Code::Starved)
}

/// Whether a check says that a rate is near that of a reference.
fn is_near_reference(code: Code) -> bool {
    matches!(code, Code::GeneratorCeiling | Code::BackendBound)
}

/// What a check that could not run leaves open, in a few words.
fn not_known(code: Code) -> &'static str {
    match code {
        Code::RoundsAgree => "fewer than three rounds do not say how far rounds are apart",
        Code::BodiesCompared => plain(code),
        Code::NotSteady => "their windows are too short to show whether they came to rest",
        Code::AnswerBefore | Code::AnswerAfter => "no answer was compared beside the load",
        Code::ServerAlive | Code::ServerRestarted => "the server's processes were not watched",
        Code::Recovered => "the server was not asked after the load",
        Code::OtherLoad | Code::Steal => "what else ran on the machine is not known",
        Code::ListenOverflows | Code::UdpDrops | Code::HostDrops => {
            "the kernel's network counters were not read"
        }
        Code::BackendBound => "the upstream was not measured by itself",
        Code::EngineBusy | Code::EngineKept | Code::EngineLag | Code::SendLag => {
            "it is not known whether the load engine was late or busy"
        }
        Code::ScheduleKept | Code::QueueGrows => "how many requests waited is not known",
        Code::Starved => "answers were not counted client by client",
        Code::LinkMeasured | Code::LinkRoom | Code::Way => "a link between hosts was not measured",
        Code::ClockError | Code::StartSpread => "clocks of hosts were not compared",
        _ => "something that they rest on was not recorded",
    }
}

/// What a check means, in a few words without figures.
fn plain(code: Code) -> &'static str {
    match code {
        Code::OtherLoad => "other programs ran at the same time",
        Code::Steal => "the hypervisor took processor time",
        Code::Throttled => "a quota held programs back",
        Code::Drift => "the machine was faster or slower in some rounds",
        Code::EngineKept => "something else ran on the load engine's processor",
        Code::EngineBusy => "the load engine was the slower side",
        Code::FailedShare => "requests failed",
        Code::NotSteady => "the rate changed inside the window",
        Code::RoundsComplete | Code::RoundsAccepted => "too few rounds can be believed",
        Code::ProgramChanged => "the program changed during the campaign",
        Code::WrongBody | Code::AnswerBefore | Code::AnswerAfter => "answers were wrong",
        Code::ServerAlive | Code::ServerRestarted => "the server did not live to the end",
        Code::ScheduleKept => "requests were not begun when they were due",
        Code::SendLag => "the load engine sent requests late",
        Code::EngineLag => "the load engine read answers late",
        Code::LocalErrors => "the load engine could not send requests",
        Code::Unended => "requests had no end",
        Code::QueueGrows => "more and more requests waited",
        Code::Starved => "some clients waited much longer than others",
        Code::ClientTime => "clients spent time on something other than requests",
        Code::Recovered => "the server was slow to answer after the load",
        Code::BodiesCompared => "bodies were not compared",
        Code::BodyBytes | Code::Little | Code::CountsAddUp | Code::ServerCounted => {
            "counts contradict each other"
        }
        Code::OriginAsked => "requests did not reach the upstream",
        Code::SetUpCounted => "connections were set up inside the load",
        Code::Frequency => "the processors' frequency changed",
        Code::Pressure => "work waited for a processor, memory or a disk",
        Code::MajorFaults => "the server waited for a disk",
        Code::SoftnetDrops | Code::UdpDrops | Code::HostDrops => "packets were dropped",
        Code::ListenOverflows | Code::AcceptQueue => "an accept queue was full",
        Code::FdLimit => "the server had too few files for its connections",
        Code::ServerLimit => "a limit of the server's own was below the load",
        Code::LinkRoom => "the link between hosts was full",
        Code::LinkMeasured => "a link was not measured, or changed",
        Code::Way => "much of the latency is the way between hosts",
        Code::ClockError => "a host's clock is not known well enough",
        Code::StartSpread | Code::GeneratorsAgree => "the generators differ",
        Code::HostLost => "a host was lost",
        Code::RoundsAgree | Code::TwoModes => "rounds differ much from each other",
        Code::Warning | Code::TrialEnded => "trials did not come to their end",
        Code::GeneratorCeiling
        | Code::BackendBound
        | Code::CoLocated
        | Code::CpuLevel
        | Code::Conntrack
        | Code::ForeignOverflow
        | Code::Equal(_) => "a check did not pass",
    }
}

/// Fewer processors than roles, and numbers that are bounds for it.
fn shared(record: &Record, contenders: &[&JudgedCell<'_>]) -> Option<Weakness> {
    let proxied = record.plan.workloads.iter().any(|one| one.proxied);
    let (cpus, roles) = (record.machine.cpus, if proxied { 3 } else { 2 });
    let bounds = bounds(contenders);
    // As `bakeoff doctor` names them.
    let who = if proxied {
        "server, origin and load engine"
    } else {
        "server and load engine"
    };
    let what = if cpus == 1 { "processor" } else { "processors" };
    // Where roles are on several hosts, the check of each trial says what they share.
    let is_one_machine = record.trials.iter().all(|it| it.hosts.is_none());
    let text = match (cpus < roles && is_one_machine, bounds) {
        (false, bounds) => bounds?,
        (true, None) => format!("{who} share {cpus} {what}: ratios mean more than figures"),
        (true, Some(bounds)) => format!("{who} share {cpus} {what}; {bounds}"),
    };
    Some(weakness(Code::CoLocated.name(), Level::Note, text))
}

/// Numbers that are bounds, because the engine or the upstream was near its own limit, or late.
fn bounds(contenders: &[&JudgedCell<'_>]) -> Option<String> {
    let is_by_link = |one: &JudgedCell<'_>| {
        cause(one, Number::Rate).is_some_and(|check| check.code == Code::LinkRoom)
    };
    let is_low = |one: &&&JudgedCell<'_>| {
        one.rate_bound.is_some()
            && one.judgement.verdicts.rate <= Verdict::Suspect
            && !is_by_link(one)
    };
    let rates = contenders.iter().filter(is_low).count();
    let latencies = contenders.iter().filter(|one| is_upper_bound(one)).count();
    let lower = match rates {
        0 => None,
        1 => Some("one rate is a lower bound".to_owned()),
        n => Some(format!("{n} rates are lower bounds")),
    };
    let upper = match latencies {
        0 => None,
        1 => Some("one latency holds the engine's own delay".to_owned()),
        n => Some(format!("{n} latencies hold the engine's own delay")),
    };
    let both: Vec<String> = [lower, upper].into_iter().flatten().collect();
    (!both.is_empty()).then(|| both.join(" and ") + ", so a lead may be larger")
}

/// Trials that were disturbed, and whether their blocks were repeated.
fn disturbed(record: &Record) -> Option<Weakness> {
    let measured = record
        .trials
        .iter()
        .filter(|trial| trial.end == TrialEnd::Measured);
    let all = measured.clone().count();
    let hit: Vec<&TrialRecord> = measured.filter(|trial| trial.is_disturbed()).collect();
    let causes = hit.iter().flat_map(|trial| &trial.disturbed);
    let causes: Vec<Disturbance> = causes.copied().collect();
    let what = Disturbance::most_of(&causes)?;
    let again = record.trials.iter().any(|trial| trial.attempt > 1);
    let text = format!(
        "{} of {all} trials {} by {}{}",
        hit.len(),
        match hit.len() {
            1 => "was disturbed",
            _ => "were disturbed, most",
        },
        what.source(),
        if again {
            "; disturbed blocks were repeated"
        } else if record.plan.has_fixed_rounds() && record.plan.rounds < REPEAT_FROM {
            "; blocks are repeated from three rounds on"
        } else {
            ""
        }
    );
    Some(weakness(what.name(), Level::Disturbed, text))
}

/// Too few rounds for what was asked.
fn rounds(record: &Record, comparisons: &[Comparison]) -> Option<Weakness> {
    let more = More::of(comparisons);
    if more.open == 0 {
        return None;
    }
    let compared = comparisons
        .iter()
        .filter(|one| one.conclusion != Conclusion::NotCompared);
    let text = format!(
        "{} of {} comparisons {} not decided by {}{}",
        more.open,
        compared.count(),
        match more.open {
            1 => "is",
            _ => "are",
        },
        counted(record.rounds_begun().into(), "round"),
        more.ending()
    );
    Some(weakness(Code::RoundsAccepted.name(), Level::Note, text))
}

/// Cells whose rounds fall into two groups.
fn two_modes(contenders: &[&JudgedCell<'_>]) -> Option<Weakness> {
    let mut cells = contenders.iter().filter_map(|one| {
        let check = one.judgement.check(Code::TwoModes)?;
        Some((&one.cell.key, check))
    });
    let (key, check) = cells.next()?;
    let others = so_in_more(cells.count());
    let text = format!(
        "{}, {}: {}{others}",
        key.contender, key.workload, check.text
    );
    Some(weakness(Code::TwoModes.name(), Level::Note, text))
}

/// What contenders do that others do not, where it may be the cause of a difference.
fn unequal(comparisons: &[Comparison]) -> Vec<Weakness> {
    let causes = comparisons.iter().flat_map(|one| {
        let workload = one.pair.workload.as_str();
        one.causes
            .iter()
            .map(move |cause| (cause.fact, (cause, workload)))
    });
    let one = |(_, causes): (&str, Vec<(&Inequality, &str)>)| {
        let (causes, workloads): (Vec<&Inequality>, Vec<&str>) = causes.into_iter().unzip();
        let check = &causes[0].check;
        let text = format!("{}: {}", distinct(workloads).join(", "), check.text);
        weakness(check.code.name(), Level::Note, text)
    };
    grouped(causes).into_iter().map(one).collect()
}

fn is_decided(one: &Comparison) -> bool {
    let is_decided = matches!(
        one.conclusion,
        Conclusion::Higher | Conclusion::Lower | Conclusion::Equal | Conclusion::PlainNotProven(_)
    );
    is_decided && one.metric.is_tested()
}
