//! Whether two campaigns can be compared: the same machine, kernel, workloads, loads and engine,
//! and yardsticks that did the same.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use bakeoff_plan::{LoadModel, Pinning, Plan, Values, Workload, distinct, why_no_references};
use bakeoff_record::{ContenderKind, Machine, Record, TrialRecord};
use bakeoff_stats::{CellKey, Metric};
use serde::Serialize;

use crate::cell::JudgedCell;
use crate::judged::Judged;
use crate::limits::YARDSTICKS_APART;

/// Something in which two campaigns differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Mismatch {
    /// `machine`, `kernel`, `workload`, `load`, `engine` or `yardstick`.
    pub what: &'static str,
    /// For people.
    pub text: String,
}

impl Mismatch {
    fn new(what: &'static str, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { what, text }
    }

    /// A workload of both that is known to ask or expect something else.
    pub fn asks_otherwise(workload: &str) -> Self {
        Self::new(
            "workload",
            format!("{workload} asks or expects something else"),
        )
    }

    /// A workload of both of which a shared copy does not say all that it asks.
    pub fn asks_unknown(workload: &str) -> Self {
        let text = format!(
            "{workload}: a shared copy leaves out values of its headers, so nothing shows that \
             both ask the same; take the records that the copies were made of"
        );
        Self::new("workload", text)
    }
}

/// Everything in which two campaigns differ that makes their numbers incomparable.
pub fn mismatches(first: (&Record, &Judged<'_>), second: (&Record, &Judged<'_>)) -> Vec<Mismatch> {
    let ((first, judged_first), (second, judged_second)) = (first, second);
    let mut found = plan_mismatches(
        (&first.machine, &first.plan),
        (&second.machine, &second.plan),
    );
    if engine_settings(&first.trials) != engine_settings(&second.trials) {
        let text = "the load engine was set otherwise (threads, waiting or connecting) or ran on \
                    other hosts";
        found.push(Mismatch::new("engine", text));
    }
    for cell in judged_first.cells.iter() {
        let is_compared = cell.is_contender() && !cell.is_at_share();
        if is_compared && has(judged_second, &cell.cell.key) {
            found.extend(yardstick(judged_first, judged_second, &cell.cell.key));
        }
    }
    distinct(found)
}

/// How the load engine was set in trials, and on which hosts they ran: what two campaigns must have
/// in common.
pub fn engine_settings<'r>(trials: impl IntoIterator<Item = &'r TrialRecord>) -> BTreeSet<String> {
    let one = |trial: &TrialRecord| {
        let result = trial.result.as_ref()?;
        let mut settings = format!("{} threads, {:?}", result.threads, result.settings);
        for host in trial.hosts.iter().flat_map(|hosts| &hosts.hosts) {
            let _ = write!(settings, ", {} {:?}", host.name, host.roles);
        }
        Some(settings)
    };
    trials.into_iter().filter_map(one).collect()
}

/// What of it is known before anything is measured.
pub fn plan_mismatches(first: (&Machine, &Plan), second: (&Machine, &Plan)) -> Vec<Mismatch> {
    let ((machine, plan), (other_machine, other_plan)) = (first, second);
    let mut found = of_machines(machine, other_machine);
    found.extend(of_workloads(plan, other_plan));
    found.extend(of_loads(plan, other_plan));
    let of_engine = of_engine(
        (machine, &plan.pinning),
        (other_machine, &other_plan.pinning),
    );
    found.extend(of_engine);
    found
}

/// Workloads of a plan that nothing can stand beside to show that the machine did the same as in
/// another campaign: two records with one of them are refused ([`mismatches`]), and this is known
/// before anything is measured.
pub fn without_yardstick(plan: &Plan, other: &Plan) -> Vec<Mismatch> {
    if !(plan.references.yardstick && other.references.yardstick) {
        let text = "one of the two plans says `yardstick = false`, so nothing shows that the \
                    machine did the same";
        return vec![Mismatch::new("yardstick", text)];
    }
    let one = |workload: &Workload| {
        let why = why_no_references(workload)?;
        let text = format!(
            "{}: the built-in servers cannot answer it ({why}), so nothing shows that the machine \
             did the same",
            workload.name
        );
        Some(Mismatch::new("yardstick", text))
    };
    plan.workloads.iter().filter_map(one).collect()
}

/// What of it is not of the plan: the machine, its kernel, bakeoff itself and where it ran.
pub fn machine_mismatches(
    first: (&Machine, &Pinning),
    second: (&Machine, &Pinning),
) -> Vec<Mismatch> {
    let mut found = of_machines(first.0, second.0);
    found.extend(of_engine(first, second));
    found
}

fn of_engine(first: (&Machine, &Pinning), second: (&Machine, &Pinning)) -> Vec<Mismatch> {
    let both = |of: fn((&Machine, &Pinning)) -> String| [of(first), of(second)];
    let facts = [
        (
            "version of bakeoff",
            both(|it| format!("{:?}", it.0.bakeoff)),
        ),
        ("processors of the roles", both(|it| format!("{:?}", it.1))),
    ];
    differing("engine", facts)
}

/// The facts that differ, each with its values.
fn differing<const N: usize>(what: &'static str, facts: [(&str, [String; 2]); N]) -> Vec<Mismatch> {
    let facts = facts.into_iter();
    let differ = facts.filter(|(_, [first, second])| first != second);
    differ
        .map(|(noun, [first, second])| Mismatch::new(what, format!("{noun}: {first} and {second}")))
        .collect()
}

fn of_machines(first: &Machine, second: &Machine) -> Vec<Mismatch> {
    let both = |of: fn(&Machine) -> String| [of(first), of(second)];
    let machine = [
        ("host", both(|it| format!("{:?}", it.host))),
        ("processor", both(|it| format!("{:?}", it.cpu_model))),
        ("processors", both(|it| format!("{:?}", it.cpus))),
        ("hypervisor", both(|it| format!("{:?}", it.hypervisor))),
        ("governor", both(|it| format!("{:?}", it.governor))),
        (
            "bytes of memory",
            both(|it| format!("{:?}", it.memory_bytes)),
        ),
        (
            "limits",
            both(|it| {
                let (files, ports) = (it.open_files, it.ephemeral_ports);
                format!("{:?}", (files, ports, it.somaxconn, it.tcp_tw_reuse))
            }),
        ),
    ];
    let kernel = [
        ("kernel", both(|it| format!("{:?}", it.kernel))),
        ("system", both(|it| format!("{:?}", it.os))),
    ];
    let mut found = differing("machine", machine);
    if first.settings != second.settings {
        let text = "settings of processor or kernel (microcode, swap, sysctls)";
        found.push(Mismatch::new("machine", text));
    }
    found.extend(differing("kernel", kernel));
    found
}

/// A workload without what only its readers see: what two campaigns must have in common.
pub fn asked(workload: &Workload) -> Workload {
    let values = workload.values.clone();
    Workload {
        // Which values are drawn matters as little as the order of trials.
        values: values.map(|values| Values { seed: 0, ..values }),
        description: String::new(),
        notes: Vec::new(),
        ..workload.clone()
    }
}

/// The workload of the same name.
fn twin<'p>(plan: &'p Plan, one: &Workload) -> Option<&'p Workload> {
    plan.workloads.iter().find(|other| other.name == one.name)
}

fn of_workloads(first: &Plan, second: &Plan) -> Vec<Mismatch> {
    let alone = |one: &Workload| {
        Mismatch::new(
            "workload",
            format!("{} is in one of the two alone", one.name),
        )
    };
    let of_first = first
        .workloads
        .iter()
        .filter_map(|one| match twin(second, one) {
            None => Some(alone(one)),
            Some(other) if asked(one) != asked(other) => Some(Mismatch::asks_otherwise(&one.name)),
            Some(_) => None,
        });
    let more = second.workloads.iter();
    let more = more.filter(|one| twin(first, one).is_none());
    of_first.chain(more.map(alone)).collect()
}

fn of_loads(first: &Plan, second: &Plan) -> Vec<Mismatch> {
    let mut found = Vec::new();
    for (loads, others) in [(&first.loads, &second.loads), (&second.loads, &first.loads)] {
        for load in loads.iter().filter(|load| !others.contains(load)) {
            let label = load.label();
            let text = if others.iter().any(|other| other.label() == label) {
                format!("{label} has another duration, warm-up or timeout")
            } else {
                format!("{label} is in one of the two alone")
            };
            found.push(Mismatch::new("load", text));
        }
    }
    distinct(found)
}

fn has(judged: &Judged<'_>, key: &CellKey) -> bool {
    judged.cells.iter().any(|one| beside(one, key))
}

fn beside(cell: &JudgedCell<'_>, key: &CellKey) -> bool {
    cell.cell.key.workload == key.workload && cell.cell.key.load == key.load
}

/// What the null server came to beside a cell: its rate where that is free, else its CPU time for
/// each request.
fn yardstick_value(judged: &Judged<'_>, key: &CellKey) -> Option<f64> {
    let mut cells = judged.cells.iter();
    let cell = cells.find(|one| one.cell.kind == ContenderKind::Yardstick && beside(one, key))?;
    let is_closed = matches!(
        cell.cell.trials.first()?.load.model,
        LoadModel::Closed { .. }
    );
    let measure = if is_closed {
        Metric::RatePerS
    } else {
        Metric::CpuNsPerRequest
    };
    let value = cell.cell.estimate(measure).ok()?.point;
    (value > 0.0).then_some(value)
}

/// Logarithm of what the yardsticks beside a cell differ by; `None` where one was not measured.
pub(super) fn yardstick_log(first: &Judged<'_>, second: &Judged<'_>, key: &CellKey) -> Option<f64> {
    let values = (yardstick_value(first, key)?, yardstick_value(second, key)?);
    Some((values.1 / values.0).ln()).filter(|log| log.is_finite())
}

fn yardstick(first: &Judged<'_>, second: &Judged<'_>, key: &CellKey) -> Option<Mismatch> {
    let place = format!("{}, {}", key.workload, key.load);
    let Some(log) = yardstick_log(first, second, key) else {
        let text = format!(
            "{place}: it was not measured in both, so nothing shows that the machine did the same"
        );
        return Some(Mismatch::new("yardstick", text));
    };
    let apart = log.abs().exp_m1();
    (apart > YARDSTICKS_APART).then(|| {
        let text = format!("{place}: {:.1} % apart", apart * 100.0);
        Mismatch::new("yardstick", text)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bakeoff_plan::{Builtin, parse};

    use super::*;

    #[test]
    fn workloads_that_no_yardstick_can_stand_beside_are_known_before() {
        let plan = |workload: &str, references: &str| {
            let text = format!(
                "name = \"one\"\nworkloads = [\"{workload}\"]\n{references}\n\
                 [[contender]]\nname = \"one\"\nserver = \"nginx\"\n\
                 [[load]]\nclients = 10\nduration = \"1s\"\n"
            );
            parse(&text, "one", Path::new("/"), &Builtin).unwrap()
        };
        let none = "[references]\nyardstick = false";
        let check = |plan: &Plan, other: &Plan, expected: &str| {
            let found = without_yardstick(plan, other);
            let texts: Vec<&str> = found.iter().map(|one| one.text.as_str()).collect();
            assert!(texts.concat().starts_with(expected), "{texts:?}");
            assert_eq!(found.is_empty(), expected.is_empty(), "{texts:?}");
        };
        let (plain, without) = (plan("synthetic", ""), plan("synthetic", none));
        let gzip = plan("gzip", "");
        check(&plain, &plain, "");
        check(&plain, &without, "one of the two plans says `yardstick = f");
        check(&without, &plain, "one of the two plans says `yardstick = f");
        check(&gzip, &gzip, "gzip: the built-in servers cannot answer it");
    }
}
