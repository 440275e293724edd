//! Trials of a plan, in the order in which they are run (method R19).
//!
//! A block is one workload under one load. Within it every contender and reference answers
//! once, in an order drawn from the seed for that block; each round rotates it by one. Over as
//! many rounds as there are entrants each of them is first, second, ... once: a cyclic Latin
//! square. So a machine that grows warm or slow over a block does not favour one of them, and
//! never are all trials of A run before all of B.

use std::collections::HashSet;
use std::time::Duration;

use crate::model::{
    CertificateKey, Contender, Encoding, Load, Plan, ServerChoice, Trial, Workload,
};
use crate::random::Random;
use crate::rules::{Fault, TRIALS_MAX};

/// What a trial takes besides warm-up, window and rest: checking the configuration, starting
/// the server until it answers, draining and stopping. Between nginx (less) and caddy (more).
pub const TRIAL_OVERHEAD: Duration = Duration::from_millis(600);

/// Every trial of `plan`, in order.
pub fn trials(plan: &Plan) -> Vec<Trial> {
    let mut trials = Vec::new();
    for round in 1..=plan.rounds {
        for (workload, load) in blocks(plan) {
            let mut entrants = entrants(plan, workload);
            let label = format!("{} {}", workload.name, load.label());
            Random::labelled(plan.seed, &label).shuffle(&mut entrants);
            let turn = (round - 1) as usize % entrants.len().max(1);
            entrants.rotate_left(turn);
            for contender in entrants {
                let id = format!("r{round}-{}", cell_name(&contender, workload, load));
                let load = load_for(plan, &contender, load);
                let index = trials.len();
                let workload = workload.clone();
                trials.push(Trial {
                    index,
                    round,
                    id,
                    contender,
                    workload,
                    load,
                });
            }
        }
    }
    trials
}

/// About how long carrying out `plan` takes: every trial's warm-up, window and rest, and
/// [`TRIAL_OVERHEAD`] for each.
pub fn expected_duration(plan: &Plan) -> Duration {
    let mut round_s = 0.0;
    for (workload, load) in blocks(plan) {
        for contender in entrants(plan, workload) {
            let load = load_for(plan, &contender, load);
            round_s += load.warmup_s + load.duration_s;
            round_s += (plan.rest + TRIAL_OVERHEAD).as_secs_f64();
        }
    }
    Duration::try_from_secs_f64(round_s * f64::from(plan.rounds)).unwrap_or(Duration::MAX)
}

/// Refuses a plan whose trials are too many, or two of which would have one name: contender
/// `a` with workload `b-c`, and contender `a-b` with workload `c`.
pub(crate) fn check_ids(plan: &Plan) -> Result<(), Fault> {
    // Each workload has the contenders and at most two references.
    let most = plan.workloads.len() * plan.loads.len() * (plan.contenders.len() + 2);
    if most.saturating_mul(plan.rounds as usize) > TRIALS_MAX {
        return Err(Fault::new(
            format!("the plan has more than {TRIALS_MAX} trials"),
            "take out rounds, loads, workloads or contenders",
        ));
    }
    let mut seen = HashSet::new();
    for (workload, load) in blocks(plan) {
        for contender in entrants(plan, workload) {
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

/// Workloads times loads, in the order of the plan.
fn blocks(plan: &Plan) -> impl Iterator<Item = (&Workload, &Load)> {
    let loads = &plan.loads;
    plan.workloads
        .iter()
        .flat_map(move |workload| loads.iter().map(move |load| (workload, load)))
}

/// Who answers `workload`: the contenders, then the references that know it.
fn entrants(plan: &Plan, workload: &Workload) -> Vec<Contender> {
    let mut entrants = plan.contenders.clone();
    if why_no_references(workload).is_some() {
        return entrants;
    }
    if plan.references.yardstick {
        entrants.push(reference("yardstick", ServerChoice::Yardstick));
    }
    if plan.references.origin && workload.proxied {
        entrants.push(reference("origin", ServerChoice::Origin));
    }
    entrants
}

/// Why the built-in servers cannot answer `workload`, in words; `None` where they can.
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
    Contender {
        name: name.to_owned(),
        server,
        overlays: Vec::new(),
        certificate: CertificateKey::default(),
        host: None,
        replacements: Vec::new(),
    }
}

fn load_for(plan: &Plan, contender: &Contender, load: &Load) -> Load {
    let mut load = load.clone();
    let built_in = !matches!(contender.server, ServerChoice::Program { .. });
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
    use crate::library::tests::builtin;

    fn names(trials: &[Trial]) -> Vec<&str> {
        trials
            .iter()
            .map(|trial| trial.contender.name.as_str())
            .collect()
    }

    #[test]
    fn each_entrant_is_equally_often_in_each_place() {
        let mut plan = builtin("quick");
        // Three contenders, the yardstick and the origin.
        plan.workloads.retain(|workload| workload.proxied);
        plan.rounds = 5;
        for seed in 0..20 {
            plan.seed = seed;
            let mut places: BTreeMap<(String, usize), u32> = BTreeMap::new();
            for block in trials(&plan).chunks(5) {
                for (place, trial) in block.iter().enumerate() {
                    *places
                        .entry((trial.contender.name.clone(), place))
                        .or_default() += 1;
                }
            }
            assert_eq!(places.len(), 25);
            assert!(
                places
                    .values()
                    .all(|times| *times as usize == plan.loads.len())
            );
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
            .take(34)
            .map(|trial| trial.id.as_str())
            .collect();
        assert_eq!(trials.len(), 3 * 34);
        assert_eq!(
            ids,
            include_str!("../tests/golden/quick-order.txt")
                .lines()
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn quick_measures_for_at_most_six_minutes() {
        let plan = builtin("quick");
        let measuring: f64 = trials(&plan)
            .iter()
            .map(|trial| trial.load.warmup_s + trial.load.duration_s)
            .sum();
        assert!(measuring <= 360.0, "{measuring} s");
        let expected = expected_duration(&plan).as_secs_f64();
        let besides = 102.0 * (plan.rest + TRIAL_OVERHEAD).as_secs_f64();
        assert!(
            (expected - measuring - besides).abs() < 1e-6,
            "{expected} s"
        );
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
