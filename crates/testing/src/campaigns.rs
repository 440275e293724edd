//! Made-up campaigns of other sizes: one of seven rounds with a control, an open loop and lower
//! bounds, and one of a thousand trials.

use bakeoff_plan::{Arrival, ConfigSource, Contender, Load, LoadModel, Plan, ServerChoice};
use bakeoff_record::{ConfigFile, Hosts, LinkFacts, Record, Step, TrialEnd, TrialRecord, When};

use super::{Shape, contender, load, plan, record_of, seed_of, traffic, unmeasured, workload};

/// Requests per second of the open loop, which every contender can carry.
const OPEN_RATE: f64 = 4_000.0;

/// Three contenders and a control at two workloads, in closed loops of 10 and 200 clients and an
/// open loop, in `rounds` rounds. nginx-optimized comes near the yardstick's rate, so that its own
/// is a lower bound; the server of nginx-default fails requests of 200 clients.
pub fn campaign(rounds: u32) -> Record {
    let mut plan = plan(rounds);
    plan.loads.push(open_loop());
    plan.contenders[1].name = "nginx-optimized".into();
    let mut record = with_control(plan);
    for trial in &mut record.trials {
        let fast = trial.contender == "nginx-optimized" && trial.workload == "synthetic";
        if fast && matches!(trial.load.model, LoadModel::Closed { .. }) {
            near_the_yardstick(trial);
        }
    }
    record
}

/// At least a thousand trials: five contenders and a control at five workloads and four loads in
/// eight rounds. Each trial has a configuration with a port and a folder of its own.
pub fn large() -> Record {
    let mut plan = plan(8);
    let names = ["apache-default", "haproxy-default", "envoy-default"];
    let more = names.map(|name| contender(name, name.split('-').next().unwrap_or(name), "default"));
    plan.contenders.truncate(2);
    plan.contenders.extend(more);
    for name in ["html-small", "html-large", "api"] {
        plan.workloads
            .push(workload(name, "The server serves a file.", false));
    }
    plan.loads = vec![load(25), load(50), load(100), open_loop()];
    let mut record = with_control(plan);
    for (index, trial) in record.trials.iter_mut().enumerate() {
        own_configuration(trial, index);
    }
    record
}

fn open_loop() -> Load {
    let mut open = load(50);
    open.model = LoadModel::Open {
        rate_per_s: OPEN_RATE,
        arrival: Arrival::Poisson,
        clients: 50,
    };
    open
}

fn with_control(plan: Plan) -> Record {
    let mut record = record_of(plan, true);
    for trial in &mut record.trials {
        let is_open = matches!(trial.load.model, LoadModel::Open { .. });
        if let Some(result) = trial.result.as_mut().filter(|_| is_open) {
            traffic::drain(result);
        }
    }
    record
}

/// The contender once more, under the control's name.
pub(super) fn again(contender: &Contender) -> Contender {
    let mut control = contender.clone();
    control.name = format!("{}~", contender.name);
    if let ServerChoice::Program { config, .. } = &mut control.server {
        *config = ConfigSource::Variant("default".into());
    }
    control
}

/// Makes the rate 91 % of the yardstick's, with a processor that is not used up.
fn near_the_yardstick(trial: &mut TrialRecord) {
    let seed = seed_of(&[&trial.contender, &trial.workload], trial.round);
    let mut shape = super::shape(&trial.contender, &trial.workload, trial.load.clients());
    shape.rate = 84_000.0 * (1.0 + ((seed % 41) as f64 - 20.0) / 1000.0);
    shape.cores = 0.9;
    let result = traffic::result(&trial.load, &shape, seed);
    trial.usage = super::usage::usage(&shape, result.requests.completed, false);
    trial.result = Some(result);
}

/// Lets a contender answer 20 requests a second at `synthetic`, too few for a p99.
pub fn slow_down(record: &mut Record, contender: &str) {
    reshape(record, contender, |shape, _| {
        (shape.rate, shape.cores) = (20.0, 0.05)
    });
}

/// Lets a contender be 5 % and 25 % faster than the first one at `synthetic`, in turns: more rounds
/// would decide that.
pub fn waver(record: &mut Record, contender: &str) {
    let first = record.plan.contenders[0].name.clone();
    reshape(record, contender, |shape, trial| {
        let faster = if trial.round % 2 == 0 { 1.05 } else { 1.25 };
        let base = super::shape(&first, &trial.workload, trial.load.clients());
        shape.rate = base.rate * faster;
    });
}

/// Gives the closed loops of a contender at `synthetic` another shape.
fn reshape(record: &mut Record, contender: &str, change: impl Fn(&mut Shape, &TrialRecord)) {
    for trial in &mut record.trials {
        let is_closed = matches!(trial.load.model, LoadModel::Closed { .. });
        if trial.contender != contender || trial.workload != "synthetic" || !is_closed {
            continue;
        }
        let seed = seed_of(&[&trial.contender, &trial.workload], trial.round);
        let mut shape = super::shape(&trial.contender, &trial.workload, trial.load.clients());
        change(&mut shape, trial);
        let result = traffic::result(&trial.load, &shape, seed);
        trial.usage = super::usage::usage(&shape, result.requests.completed, false);
        trial.result = Some(result);
    }
}

/// A configuration as a real trial has it: with a port and a folder of its own.
fn own_configuration(trial: &mut TrialRecord, index: usize) {
    let Some(server) = &mut trial.server else {
        return;
    };
    let port = (20_000 + index).to_string();
    let run = format!("/tmp/bakeoff-1234/trial-{index}/run");
    let lines: String = (0..40)
        .map(|line| format!("    setting_{line} {}:{line};\n", server.server))
        .collect();
    server.command.push(format!("{run}/server.conf"));
    server.address = format!("127.0.0.1:{port}");
    server.configs = vec![ConfigFile {
        path: format!("logs/{}/server.conf", trial.id),
        text: format!("pid {run}/server.pid;\nlisten 127.0.0.1:{port};\n{lines}"),
        filled: [
            ("run".to_owned(), run.clone()),
            ("port".to_owned(), port.clone()),
        ]
        .into(),
    }];
    for answer in &mut trial.answers {
        answer.headers.push((
            "Date".into(),
            format!("Sat, 21 Nov 2026 04:{:02}:00 GMT", index % 60),
        ));
        answer
            .headers
            .push(("Server".into(), server.server.clone()));
    }
}

/// Lets the servers of a contender give no answer for 30 s after each load.
pub fn answer_late(record: &mut Record, contender: &str) {
    let trials = record.trials.iter_mut();
    for trial in trials.filter(|it| it.contender == contender) {
        trial.answers.retain(|it| it.when != When::After);
        let mut steps = trial.steps.iter_mut();
        if let Some(asked) = steps.find(|it| it.step == Step::CheckAgain) {
            asked.took_s = 30.0;
        }
    }
}

/// Lets the servers of a contender end before they answer, in every trial.
pub fn fail(record: &mut Record, contender: &str) {
    let trials = record.trials.iter_mut();
    for trial in trials.filter(|it| it.contender == contender) {
        unmeasured(trial);
        trial.end = TrialEnd::failed(
            Step::Start,
            "the server ended with exit status 1 before it answered",
        );
    }
}

/// Gives each trial what links to two generators carried, of which the first was measured twice
/// and has changed.
pub fn measure_links(record: &mut Record) {
    let link = |to: &str, bits_per_s, when| LinkFacts {
        from: vec!["sut".to_owned()],
        to: vec![to.to_owned()],
        bits_per_s,
        at_least: to == "g2",
        rtt_ns: Some(120_000),
        when,
    };
    for trial in &mut record.trials {
        trial.hosts = Some(Hosts {
            links: vec![
                link("g1", 96e6, When::Before),
                link("g2", 9.5e9, When::Before),
                link("g1", 80e6, When::After),
            ],
            ..Hosts::default()
        });
    }
}
