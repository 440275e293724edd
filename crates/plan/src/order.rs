//! Trials of a plan, in the order in which they are run (method R19).
//!
//! A block is one workload under one load in one round. Within it every contender and reference
//! answers once, in the order of a row of a Williams square ([`crate::williams`]) over entrants
//! that the seed has shuffled for that workload and load. So each entrant is equally often first,
//! second, ... and follows each other one equally often: a machine that grows warm or slow over a
//! block favours none of them, nor does what the one before it has left behind.

use std::collections::HashSet;
use std::time::Duration;

use crate::contender::{Contender, ServerChoice};
use crate::model::{Encoding, Load, Plan, Workload};
use crate::random::Random;
use crate::rules::{Fault, TRIALS_MAX};
use crate::trial::{Trial, control_name};
use crate::williams;

/// What a trial takes besides warm-up, window and rest: checking the configuration, starting
/// the server until it answers, draining and stopping. Between nginx (less) and caddy (more).
pub const TRIAL_OVERHEAD: Duration = Duration::from_millis(600);

/// One workload under one load in one round.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Round, from 1.
    pub round: u32,
    /// The workload's name.
    pub workload: String,
    /// Label of the plan's load.
    pub load: String,
    /// Its trials in their first attempt, in order.
    pub trials: Vec<Trial>,
}

/// Every trial that `plan` runs in any case, in order.
pub fn trials(plan: &Plan) -> Vec<Trial> {
    let blocks = blocks(plan, plan.rounds_at_least());
    blocks.into_iter().flat_map(|block| block.trials).collect()
}

/// The blocks of the first `rounds` rounds of `plan`, in order. More rounds only add to them.
pub fn blocks(plan: &Plan, rounds: u32) -> Vec<Block> {
    let mut index = 0;
    let mut blocks = Vec::new();
    for round in 1..=rounds {
        for (workload, load) in cells(plan) {
            let trials = block(plan, round, workload, load, index);
            index += trials.len();
            blocks.push(Block {
                round,
                workload: workload.name.clone(),
                load: load.label(),
                trials,
            });
        }
    }
    blocks
}

/// The trials of one block; the first of them is at `index` in the campaign.
fn block(plan: &Plan, round: u32, workload: &Workload, load: &Load, index: usize) -> Vec<Trial> {
    let mut entrants = entrants(plan, workload, load);
    let label = format!("{} {}", workload.name, load.label());
    Random::labelled(plan.seed, &label).shuffle(&mut entrants);
    let row = williams::row(entrants.len(), round - 1);
    let ordered = row.into_iter().map(|place| &entrants[place]);
    let trial = |(position, entrant): (usize, &Entrant)| Trial {
        index: index + position,
        round,
        attempt: 1,
        id: format!("r{round}-{}", cell_name(&entrant.contender, workload, load)),
        contender: entrant.contender.clone(),
        is_control: entrant.is_control,
        workload: workload.clone(),
        load: load_for(plan, &entrant.contender, load),
        load_name: None,
        ramp: None,
    };
    ordered.enumerate().map(trial).collect()
}

/// About how long `rounds` rounds of `plan` take: every trial's warm-up, window and rest, and
/// [`TRIAL_OVERHEAD`] for each. Repetitions come on top.
pub fn expected_duration(plan: &Plan, rounds: u32) -> Duration {
    let round = blocks(plan, 1);
    let trials = round.iter().flat_map(|block| &block.trials);
    let round: Duration = trials.map(|trial| expected(plan, trial)).sum();
    round.saturating_mul(rounds)
}

/// About how long a trial of `plan` takes, the rest after it included.
pub fn expected(plan: &Plan, trial: &Trial) -> Duration {
    let load_s = trial.load.warmup_s + trial.load.duration_s;
    let load = Duration::try_from_secs_f64(load_s).unwrap_or(Duration::MAX);
    load.saturating_add(plan.rest + TRIAL_OVERHEAD)
}

/// Refuses a plan whose trials are too many, or two of which would have one name: contender
/// `a` with workload `b-c`, and contender `a-b` with workload `c`.
pub(crate) fn check_ids(plan: &Plan) -> Result<(), Fault> {
    // Each workload has the contenders, the control and at most two references.
    let most = plan.workloads.len() * plan.loads.len() * (plan.contenders.len() + 3);
    if most.saturating_mul(plan.rounds_at_most() as usize) > TRIALS_MAX {
        return Err(Fault::new(
            format!("the plan has more than {TRIALS_MAX} trials"),
            "take out rounds, loads, workloads or contenders",
        ));
    }
    let mut seen = HashSet::new();
    for (workload, load) in cells(plan) {
        for Entrant { contender, .. } in entrants(plan, workload, load) {
            let name = cell_name(&contender, workload, load);
            if seen.contains(&name) {
                return Err(Fault::new(
                    format!("two trials would be called `{name}`"),
                    format!(
                        "rename contender `{}` or workload `{}`",
                        contender.name, workload.name
                    ),
                ));
            }
            seen.insert(name);
        }
    }
    Ok(())
}

/// Workloads times loads, in the order of the plan; of the loads of a workload those last whose
/// rate the others show.
fn cells(plan: &Plan) -> impl Iterator<Item = (&Workload, &Load)> {
    let is_share = |load: &&Load| load.model.is_share();
    let known = plan.loads.iter().filter(move |load| !is_share(load));
    let loads: Vec<&Load> = known.chain(plan.loads.iter().filter(is_share)).collect();
    plan.workloads.iter().flat_map(move |workload| {
        let loads = loads.clone();
        loads.into_iter().map(move |load| (workload, load))
    })
}

/// Somebody who answers in a block.
#[derive(Debug, Clone)]
struct Entrant {
    contender: Contender,
    is_control: bool,
}

/// Who answers `workload` under `load`: the contenders, the first of them once more, then the
/// references that know it.
fn entrants(plan: &Plan, workload: &Workload, load: &Load) -> Vec<Entrant> {
    let entrant = |contender: Contender| Entrant {
        contender,
        is_control: false,
    };
    let mut entrants: Vec<Entrant> = plan.contenders.iter().cloned().map(entrant).collect();
    let first = plan.contenders.first().filter(|_| plan.has_control());
    entrants.extend(first.map(|first| Entrant {
        contender: Contender {
            name: control_name(&first.name),
            ..first.clone()
        },
        is_control: true,
    }));
    if !has_references(workload, load) {
        return entrants;
    }
    if plan.references.yardstick {
        entrants.push(entrant(reference("yardstick", ServerChoice::Yardstick)));
    }
    if plan.references.origin && workload.proxied {
        entrants.push(entrant(reference("origin", ServerChoice::Origin)));
    }
    entrants
}

/// References show what the machine can carry at most. Where the rate is one that every contender
/// can carry, they show nothing that the closed loops do not.
fn has_references(workload: &Workload, load: &Load) -> bool {
    why_no_references(workload).is_none() && !load.model.is_share()
}

/// Why the built-in servers cannot answer `workload`, as a sentence; `None` where they can.
pub fn why_no_references(workload: &Workload) -> Option<&'static str> {
    let requests = &workload.requests;
    if requests
        .iter()
        .any(|one| one.expect.encoding != Encoding::Identity)
    {
        return Some("they compress nothing");
    }
    match requests.one_answer() {
        None => Some("they have one answer, and its requests expect several"),
        Some(answer) if answer.body.is_none() => Some("it does not say what a right body is"),
        Some(_) => None,
    }
}

fn reference(name: &str, server: ServerChoice) -> Contender {
    Contender::plain(name, server)
}

fn load_for(plan: &Plan, contender: &Contender, load: &Load) -> Load {
    let mut load = load.clone();
    let built_in = contender.server.is_built_in();
    if let Some(duration) = plan.references.duration.filter(|_| built_in) {
        load.duration_s = duration.as_secs_f64();
    }
    load
}

fn cell_name(contender: &Contender, workload: &Workload, load: &Load) -> String {
    format!("{}-{}-{}", contender.name, workload.name, load.label())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::course::Until;
    use crate::library::tests::builtin;

    fn names(trials: &[Trial]) -> Vec<&str> {
        trials
            .iter()
            .map(|trial| trial.contender.name.as_str())
            .collect()
    }

    #[test]
    fn each_entrant_follows_each_other_equally_often() {
        let mut plan = builtin("quick");
        // Three contenders, the control, the yardstick and the origin.
        plan.workloads.retain(|workload| workload.proxied);
        plan.rounds = 6;
        for seed in 0..20 {
            plan.seed = seed;
            let mut follows: BTreeMap<(String, String), u32> = BTreeMap::new();
            for block in blocks(&plan, 6).iter().filter(|block| block.load == "c50") {
                for pair in names(&block.trials).windows(2) {
                    let pair = (pair[0].to_owned(), pair[1].to_owned());
                    *follows.entry(pair).or_default() += 1;
                }
            }
            assert_eq!(follows.len(), 6 * 5, "{seed}");
            assert!(follows.values().all(|times| *times == 1), "{follows:?}");
        }
    }

    #[test]
    fn from_six_rounds_on_the_first_contender_is_measured_twice_in_each_block() {
        let mut plan = builtin("hotdog");
        let controls = |plan: &Plan| -> Vec<Trial> {
            let trials = trials(plan).into_iter();
            trials.filter(|trial| trial.is_control).collect()
        };
        assert_eq!(controls(&plan), []);
        plan.rounds = 6;
        let found = controls(&plan);
        assert_eq!(found.len(), 6 * 4 * 5, "one a block");
        let expected = Contender {
            name: "nginx-default~".to_owned(),
            ..plan.contenders[0].clone()
        };
        assert!(found.iter().all(|trial| trial.contender == expected));
        plan.references.control = Some(false);
        assert_eq!(controls(&plan), []);
        plan.rounds = 1;
        assert_eq!(controls(&plan.extended(8)), [], "who is measured stays");
    }

    #[test]
    fn loads_whose_rate_is_found_come_after_those_that_show_it() {
        let mut plan = builtin("quick");
        plan.loads.reverse();
        let blocks = blocks(&plan, 1);
        let loads: Vec<&str> = blocks.iter().map(|block| block.load.as_str()).collect();
        assert_eq!(loads, ["c50", "share0.5p-c50"].repeat(4));
        let built_in = |block: &Block| {
            let trials = block.trials.iter();
            let server = |trial: &Trial| trial.contender.server.clone();
            trials.map(server).any(|it| it == ServerChoice::Yardstick)
        };
        assert!(built_in(&blocks[0]) && !built_in(&blocks[1]));
    }

    #[test]
    fn an_attempt_has_an_id_of_its_own_and_a_found_rate_the_plans_label() {
        let plan = builtin("quick");
        let share = blocks(&plan, 1).remove(1).trials.remove(0);
        assert_eq!(share.load_label(), "share0.5p-c50");
        let found = share.again(2).at_rate(1200.0);
        assert_eq!(found.id, format!("{}-a2", share.id));
        assert_eq!((found.attempt, found.index), (2, share.index));
        assert_eq!(found.load.label(), "r1200p-c50");
        assert_eq!(found.load_label(), "share0.5p-c50");
        assert_eq!(share.again(1), share);
    }

    #[test]
    fn a_stopping_rule_asks_for_ten_rounds_before_it_looks() {
        let mut plan = builtin("quick");
        let rounds = |plan: &Plan| (plan.rounds_at_least(), plan.rounds_at_most());
        assert_eq!(rounds(&plan), (7, 10));
        let rule = |max_rounds| {
            Some(Until {
                width: 0.03,
                max_rounds,
            })
        };
        plan.until = rule(40);
        assert_eq!(rounds(&plan), (10, 40));
        assert_eq!(trials(&plan).len(), 10 * 37);
        plan.until = rule(8);
        assert_eq!(rounds(&plan), (8, 8));
    }

    #[test]
    fn without_a_rule_half_as_many_rounds_may_make_up_for_spoiled_ones() {
        let mut plan = builtin("quick");
        for (rounds, most) in [(1, 1), (5, 5), (6, 9), (7, 10), (10, 15), (40, 45)] {
            plan.rounds = rounds;
            let found = (plan.rounds_at_least(), plan.rounds_at_most());
            assert_eq!(found, (rounds, most));
        }
    }

    #[test]
    fn a_seed_gives_one_order_and_seeds_differ() {
        let mut plan = builtin("quick");
        let first = trials(&plan);
        assert_eq!(trials(&plan), first);
        plan.seed += 1;
        assert_ne!(names(&trials(&plan)), names(&first));
    }

    #[test]
    fn taking_a_workload_out_leaves_the_order_of_the_others() {
        let all = builtin("quick");
        let mut fewer = all.clone();
        fewer.workloads.remove(1);
        let ids = |plan: &Plan| -> Vec<String> {
            trials(plan).into_iter().map(|trial| trial.id).collect()
        };
        let mut expected = ids(&all);
        expected.retain(|id| !id.contains("html-small"));
        assert_eq!(ids(&fewer), expected);
    }

    #[test]
    fn references_answer_what_they_know_for_their_own_time() {
        let plan = builtin("hotdog");
        let trials = trials(&plan);
        let of = |name: &str| -> Vec<&Trial> {
            trials
                .iter()
                .filter(|trial| trial.contender.name == name)
                .collect()
        };
        assert_eq!(of("yardstick").len(), 4 * 5 * 3);
        assert_eq!(of("origin").len(), 5 * 3);
        assert!(of("origin").iter().all(|trial| trial.workload.proxied));
        assert!(
            of("yardstick")
                .iter()
                .all(|trial| trial.load.duration_s == 5.0)
        );
        assert!(
            of("nginx-default")
                .iter()
                .all(|trial| trial.load.duration_s == 30.0)
        );
        let indices: Vec<usize> = trials.iter().map(|trial| trial.index).collect();
        assert!(indices.into_iter().eq(0..trials.len()));
    }

    #[test]
    fn the_first_round_of_quick_is_as_it_always_was() {
        let plan = builtin("quick");
        let trials = trials(&plan);
        let ids: Vec<&str> = trials
            .iter()
            .take(37)
            .map(|trial| trial.id.as_str())
            .collect();
        assert_eq!(trials.len(), 7 * 37);
        assert_eq!(
            ids,
            include_str!("../tests/golden/quick-order.txt")
                .lines()
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn quick_measures_for_at_most_nine_minutes_and_takes_twelve() {
        let plan = builtin("quick");
        let measuring: f64 = trials(&plan)
            .iter()
            .map(|trial| trial.load.warmup_s + trial.load.duration_s)
            .sum();
        assert!(measuring <= 540.0, "{measuring} s");
        let expected = expected_duration(&plan, plan.rounds).as_secs_f64();
        let besides = 259.0 * (plan.rest + TRIAL_OVERHEAD).as_secs_f64();
        assert!(
            (expected - measuring - besides).abs() < 1e-3,
            "{expected} s"
        );
        // Room for a few blocks that are repeated.
        assert!(expected <= 680.0, "{expected} s");
    }

    #[test]
    fn trials_of_one_name_are_refused() {
        let mut plan = builtin("smoke");
        plan.contenders[0].name = "a".to_owned();
        plan.contenders[1].name = "a-b".to_owned();
        plan.workloads[0].name = "b-c".to_owned();
        plan.workloads[1].name = "c".to_owned();
        let fault = check_ids(&plan).unwrap_err();
        assert_eq!(fault.problem, "two trials would be called `a-b-c-c5`");
        plan.contenders[1].name = "d".to_owned();
        check_ids(&plan).unwrap();
    }
}
