use std::collections::BTreeSet;
use std::path::Path;

use bakeoff_plan::{Builtin, parse};

use super::*;

fn plan(more: &str) -> Plan {
    let text = format!(
        "name = \"two\"\nworkloads = [\"html-large\", \"proxy\"]\n{more}\n\
         [[contender]]\nname = \"one\"\nserver = \"nginx\"\n\
         [[contender]]\nname = \"there\"\nurl = \"http://127.0.0.1:9/\"\n\
         [[load]]\nclients = 10\nduration = \"30s\"\n"
    );
    parse(&text, "two", Path::new("/"), &Builtin).unwrap()
}

fn suspicion(contender: &str, workload: &str, change: Change) -> Suspicion {
    Suspicion {
        contender: contender.to_owned(),
        workload: workload.to_owned(),
        load: "c10".to_owned(),
        change,
        workers: Some(1),
    }
}

/// The changed arm on a machine of `cpus` processors.
fn changed_on(plan: &Plan, suspicion: &Suspicion, cpus: usize) -> Result<Changed, String> {
    let allowed: Vec<usize> = (0..cpus).collect();
    experiment(plan, suspicion, 1, &allowed).unwrap().changed
}

#[test]
fn one_resource_is_changed_and_nothing_else() {
    let plan = plan("");
    let base = Changed {
        contender: plan.contenders[0].clone(),
        workload: plan.workloads[0].clone(),
        pinning: plan.pinning.clone(),
    };
    let of = |change, cpus| changed_on(&plan, &suspicion("one", "html-large", change), cpus);
    let more = of(Change::WorkerMore, 2).unwrap();
    assert_eq!(
        more.contender.overlays,
        [("worker_count".to_owned(), "2".to_owned())]
    );
    assert_eq!(
        (&more.workload, &more.pinning),
        (&base.workload, &base.pinning)
    );
    let less = of(Change::ProcessorLess, 8).unwrap();
    assert_eq!(less.pinning.server, Cpus::List(vec![0, 1]));
    assert_eq!(
        (&less.contender, &less.workload),
        (&base.contender, &base.workload)
    );
    let half = of(Change::HalfBody, 2).unwrap();
    assert_eq!(half.workload.files[0].content.length(), 289_812 / 2);
    let body = half.workload.requests.first().expect.body.clone().unwrap();
    assert_eq!(body.bytes(), half.workload.files[0].content.bytes());
    assert_eq!(
        (&half.contender, &half.pinning),
        (&base.contender, &base.pinning)
    );
}

#[test]
fn what_cannot_be_changed_says_why() {
    let plan = plan("[pinning]\nserver = [0]\nengine = [1]\norigin = [0]");
    let check = |contender, workload, change, cpus, expected: &str| {
        let changed = changed_on(&plan, &suspicion(contender, workload, change), cpus);
        assert_eq!(changed.unwrap_err(), expected);
    };
    check(
        "one",
        "proxy",
        Change::ProcessorLess,
        2,
        "its one processor cannot be taken away",
    );
    check(
        "one",
        "proxy",
        Change::EngineThreadMore,
        2,
        "no processor is free for another engine thread",
    );
    check(
        "one",
        "proxy",
        Change::NullOrigin,
        2,
        "the upstream does nothing but answer already",
    );
    check(
        "there",
        "proxy",
        Change::WorkerMore,
        2,
        "it runs already, and nothing of it can be changed",
    );
    let thread = suspicion("one", "proxy", Change::EngineThreadMore);
    let more = changed_on(&plan, &thread, 3).unwrap();
    assert_eq!(more.pinning.engine, Cpus::List(vec![1, 2]));
}

#[test]
fn the_arms_take_turns_in_every_order() {
    let plan = plan("");
    let suspicions = [
        suspicion("one", "html-large", Change::WorkerMore),
        suspicion("one", "proxy", Change::HalfBody),
        suspicion("gone", "proxy", Change::HalfBody),
    ];
    let experiments = Experiments::new(&plan, &suspicions, vec![0, 1]);
    let trials = experiments.trials();
    assert_eq!(trials.len(), 2 * 3 * 6);
    assert_eq!(experiments.expected().trials, trials.len());
    let ids: BTreeSet<&str> = trials.iter().map(|(trial, _)| trial.id.as_str()).collect();
    assert_eq!(ids.len(), trials.len());
    let names: Vec<&str> = trials
        .iter()
        .map(|(it, _)| it.contender.name.as_str())
        .collect();
    assert_eq!(names[..4], ["one", "one~", "one+worker-more", "one"]);
    let orders: BTreeSet<&[&str]> = names.chunks(3).step_by(2).collect();
    assert_eq!(orders.len(), 6, "each order once");
    assert!(trials.iter().all(|(it, _)| it.load.duration_s <= 5.0));
    let controls = trials.iter().filter(|(it, _)| it.is_control);
    assert!(controls.clone().all(|(it, _)| it.contender.name == "one~"));
    assert_eq!(controls.count(), 12);
}

/// What is suspected may change between two runs. The number was the place in the list, so that an
/// experiment took over the trials of the one that had its place before.
#[test]
fn an_experiment_keeps_its_number_and_never_has_that_of_another() {
    let plan = plan("");
    let more = suspicion("one", "html-large", Change::WorkerMore);
    let less = suspicion("one", "html-large", Change::ProcessorLess);
    let half = suspicion("one", "proxy", Change::HalfBody);
    let of = |all: &[&Suspicion], earlier: &[TrialRecord]| {
        let all: Vec<Suspicion> = all.iter().map(|&one| one.clone()).collect();
        Experiments::new(&plan, &all, vec![0, 1, 2]).numbered(earlier)
    };
    let recorded = |experiments: &Experiments<'_>| {
        let roles = experiments.roles(&plan.pinning).unwrap();
        let trials = experiments.trials().into_iter();
        let trials = trials.map(|(trial, _)| trial::blank(&trial, &roles, &Clock::default()));
        trials.collect::<Vec<TrialRecord>>()
    };
    let numbers = |experiments: &Experiments<'_>| {
        let all = experiments.all.iter();
        all.map(|one| one.number).collect::<Vec<usize>>()
    };
    let first = of(&[&more, &half], &[]);
    assert_eq!(numbers(&first), [1, 2]);
    let earlier = recorded(&first);
    let second = of(&[&less, &half], &earlier);
    assert_eq!(numbers(&second), [3, 2]);
    let ids: BTreeSet<&str> = earlier.iter().map(|it| it.id.as_str()).collect();
    let trials = second.trials();
    let known = trials.iter().filter(|(it, _)| ids.contains(it.id.as_str()));
    assert_eq!(known.count(), 18, "those of the second alone");
    // One that was interrupted before its changed arm begins again.
    let began = &earlier[..2];
    assert!(
        began
            .iter()
            .all(|it| it.contender != Change::WorkerMore.name_of("one"))
    );
    assert_eq!(numbers(&of(&[&more], began)), [2]);
    let mut odd = earlier[..3].to_vec();
    odd[0].id = format!("e{}-r1", usize::MAX);
    assert_eq!(numbers(&of(&[&more, &less], &odd)), [1, 2]);
}
