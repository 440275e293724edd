//! Trials of a plan, in the order in which they are run (method R19).
//!
//! A block is one workload under one load in one round. Within it every contender and reference
//! answers once, in an order that the seed draws anew for each block. So the machine may do to
//! neighbouring trials whatever it likes: to swap two contenders of a block is a symmetry of the
//! design, and what the machine did is as likely to have met the one as the other.

use std::collections::HashSet;
use std::time::Duration;

use crate::contender::{Contender, ServerChoice};
use crate::content::Encoding;
use crate::load::Load;
use crate::model::{Plan, Workload};
use crate::random::Random;
use crate::rules::{Fault, TRIALS_MAX};
use crate::trial::{Trial, control_name};

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
pub(crate) fn block(
    plan: &Plan,
    round: u32,
    workload: &Workload,
    load: &Load,
    index: usize,
) -> Vec<Trial> {
    let mut entrants = entrants(plan, workload, load);
    if !has_control(plan, workload, load, round) {
        entrants.retain(|entrant| !entrant.is_control);
    }
    let label = format!("{} {} r{round}", workload.name, load.label());
    Random::labelled(plan.seed, &label).shuffle(&mut entrants);
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
    entrants.iter().enumerate().map(trial).collect()
}

/// Whether the first contender is measured twice in a block. Where time ends a campaign that is so
/// in one block of each round, in turn over the loads of one workload after the other: what two
/// runs of one server differ by says how far a number can be trusted, and decides nothing.
fn has_control(plan: &Plan, workload: &Workload, load: &Load, round: u32) -> bool {
    let in_turn = plan
        .workloads
        .iter()
        .flat_map(|workload| plan.loads.iter().map(move |load| (workload, load)));
    let place = in_turn.clone().position(|one| one == (workload, load));
    plan.has_fixed_rounds() || place == Some((round as usize - 1) % in_turn.count().max(1))
}

/// About how long `rounds` rounds of `plan` take: every trial's warm-up, window and rest, and
/// [`TRIAL_OVERHEAD`] for each. Repetitions come on top. With a budget, what it is.
pub fn expected_duration(plan: &Plan, rounds: u32) -> Duration {
    if let Some(budget) = plan.budget {
        return budget.now;
    }
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
    // Time ends a campaign before it has as many.
    let rounds = plan.budget.map_or(plan.rounds_at_most(), |_| 1);
    if most.saturating_mul(rounds as usize) > TRIALS_MAX {
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
/// rate the others show. Where time ends the campaign, closed loops first.
pub(crate) fn cells(plan: &Plan) -> Vec<(&Workload, &Load)> {
    let mut loads: Vec<&Load> = plan.loads.iter().collect();
    loads.sort_by_key(|load| load.model.is_share());
    let of_workload = |workload| loads.iter().map(move |load| (workload, *load));
    let mut cells: Vec<_> = plan.workloads.iter().flat_map(of_workload).collect();
    if !plan.has_fixed_rounds() {
        cells.sort_by_key(|(_, load)| load.model.is_open());
    }
    cells
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
    let knows_rate = !load.model.is_share() && load.actions.is_none();
    why_no_references(workload).is_none() && knows_rate
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
    if workload.client.proxy_protocol.is_some() {
        return Some("they read no PROXY header");
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

    /// The plan with a number of rounds in place of its time.
    fn quick(rounds: u32) -> Plan {
        let mut plan = builtin("quick");
        (plan.budget, plan.rounds) = (None, rounds);
        plan
    }

    fn names(trials: &[Trial]) -> Vec<&str> {
        trials
            .iter()
            .map(|trial| trial.contender.name.as_str())
            .collect()
    }

    #[test]
    fn the_order_is_drawn_anew_in_each_round() {
        let mut plan = quick(200);
        // Three contenders, the control, the yardstick and the origin.
        plan.workloads.retain(|workload| workload.proxied);
        let blocks = blocks(&plan, 200);
        let closed: Vec<&Block> = blocks.iter().filter(|block| block.load == "c50").collect();
        let mut first: BTreeMap<&str, u32> = BTreeMap::new();
        let mut same = 0;
        for two in closed.windows(2) {
            let [one, other] = [0, 1].map(|at| names(&two[at].trials));
            assert_eq!(one.len(), 6);
            *first.entry(one[0]).or_default() += 1;
            same += u32::from(one == other);
        }
        // 199 blocks, one of 720 orders each: 33 times first, give or take five.
        assert!(first.len() == 6 && first.values().all(|times| (12..60).contains(times)));
        assert!(same < 5, "{same}");
    }

    #[test]
    fn with_a_budget_one_block_of_a_round_has_a_control() {
        let plan = builtin("quick");
        let all = blocks(&plan, 8);
        let with = all
            .iter()
            .filter(|block| block.trials.iter().any(|trial| trial.is_control));
        let with: Vec<(u32, &str, &str)> = with
            .map(|block| (block.round, block.workload.as_str(), block.load.as_str()))
            .collect();
        let workloads = ["synthetic", "html-small", "html-large", "proxy"];
        let loads = |name| ["c50", "share0.5p-c50"].map(|load| (name, load));
        let in_turn = workloads.into_iter().flat_map(loads);
        let expected = (1..)
            .zip(in_turn)
            .map(|(round, (name, load))| (round, name, load));
        assert_eq!(with, expected.collect::<Vec<_>>());
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
        let mut plan = quick(7);
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
        let plan = quick(7);
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
        let mut plan = quick(7);
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
        let mut plan = quick(7);
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
    fn the_first_round_of_quick_is_in_the_order_of_its_seed() {
        let plan = quick(7);
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
    fn a_round_of_quick_takes_a_third_of_its_three_minutes() {
        let mut plan = builtin("quick");
        let budget = plan.budget.take().map(|budget| budget.now);
        assert_eq!(budget, Some(Duration::from_secs(180)));
        plan.references.control = Some(false);
        let round = expected_duration(&plan, 1).as_secs_f64();
        assert!((50.0..60.0).contains(&round), "{round} s");
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
