//! `bakeoff plan`: what a plan would run, in which order and for how long.
//!
//! It executes nothing, not even for the version of a program: a plan from somebody else can be
//! looked at first.

use bakeoff_conduct::{Depth, Finding, Overloads, Sequence as _, preflight};
use bakeoff_plan::{Plan, expected, expected_duration, trials};
use bakeoff_record::TrialEnd;
use bakeoff_report::{Redaction, counted, share};
use bakeoff_stage::Asks;

use super::findings::print;
use super::plan_notes;
use crate::display::{about, counted_to, spoken};
use crate::flags::PlanFlags;
use crate::interrupt::Interrupt;
use crate::library::Folder;
use crate::run_folder::RunFolder;
use crate::{exit, output};

pub(crate) fn carry_out(flags: &PlanFlags) -> anyhow::Result<u8> {
    let library = Folder::of(&flags.library)?;
    let plan = library.plan(flags)?;
    let interrupt = Interrupt::listen_with_limit()?;
    let scratch = RunFolder::make()?;
    let (_, stage) = scratch.stage(library.servers().asking(Asks::None))?;
    let findings = preflight(&plan, &stage, &scratch.path().join("check"), Depth::Files);
    if interrupt.came() {
        return Ok(exit::INTERRUPTED);
    }
    output::result(&listing(&plan, &findings))?;
    let redaction = Redaction::of_plan(&plan);
    plan_notes::print(&plan, &redaction);
    print(&findings, &redaction)?;
    Ok(exit::DONE)
}

/// What the plan comes to at the top, and below a long list of trials once more.
fn listing(plan: &Plan, findings: &[Finding]) -> String {
    let (summary, below) = match (plan.is_search(), plan.is_overload()) {
        (true, _) => (String::new(), searches(plan)),
        (_, true) => overloads(plan),
        _ => rounds(plan),
    };
    let mut text = format!("{}: {}\n{summary}", plan.name, plan.description.trim());
    let missing = not_installed(findings);
    if !missing.is_empty() {
        text.push_str(&format!("not installed: {}\n", missing.join(", ")));
    }
    text + &below
}

/// Contenders that are skipped because their program is missing.
fn not_installed(findings: &[Finding]) -> Vec<&str> {
    let is_missing = |it: &&Finding| matches!(it.end, TrialEnd::Skipped { .. });
    let missing = findings.iter().filter(is_missing);
    let mut names: Vec<&str> = missing.map(|it| it.contender.as_str()).collect();
    // A contender's findings are next to each other.
    names.dedup();
    names
}

/// The line at the top, and every trial.
fn rounds(plan: &Plan) -> (String, String) {
    let (least, most) = (plan.rounds_at_least(), plan.rounds_at_most());
    let trials = trials(plan);
    let in_all = |rounds: u32| trials.len() as u64 / u64::from(least.max(1)) * u64::from(rounds);
    let (rounds, extent) = match plan.budget {
        Some(budget) => {
            let each = trials.iter().map(|trial| expected(plan, trial)).sum();
            let rounds = format!("rounds of {}", counted(trials.len() as u64, "trial"));
            let extent = format!(
                "about {} each, until each difference is decided, for {} at the most",
                spoken(each),
                spoken(budget.now)
            );
            (rounds, extent)
        }
        None => {
            let rounds = counted_to(u64::from(least), u64::from(most), "round");
            let trials = counted_to(in_all(least), in_all(most), "trial");
            let [least, most] = [least, most].map(|rounds| expected_duration(plan, rounds));
            (rounds, format!("{trials}, {}", about(least, most)))
        }
    };
    let summary = format!(
        "{}, {}, {}, {rounds}: {extent}\n",
        counted(plan.contenders.len() as u64, "contender"),
        counted(plan.workloads.len() as u64, "workload"),
        counted(plan.loads.len() as u64, "load"),
    );
    let mut text = String::new();
    let mut round = 0;
    for trial in &trials {
        if trial.round != round {
            round = trial.round;
            text.push_str(&format!("round {round}\n"));
        }
        let seconds = trial.load.warmup_s + trial.load.duration_s;
        text.push_str(&format!(
            "  {:4}  {:6.1} s  {}\n",
            trial.index + 1,
            seconds,
            trial.id
        ));
    }
    text.push_str(&format!("{extent}\n"));
    (summary, text)
}

/// A search decides its trials as it goes.
fn searches(plan: &Plan) -> String {
    let mut text = String::new();
    for load in &plan.loads {
        let Some(search) = load.search() else {
            continue;
        };
        text.push_str(&format!(
            "{}: {} contenders, {} workloads, trials of {} s, at most {}\n",
            load.label(),
            plan.contenders.len(),
            plan.workloads.len(),
            load.duration_s,
            spoken(search.budget)
        ));
        for goal in &search.goals {
            text.push_str(&format!("  {goal}\n"));
        }
    }
    text
}

/// The rates of an overload are known once the capacities are.
fn overloads(plan: &Plan) -> (String, String) {
    let left = Overloads::new(plan, &[]).left(&[]);
    let summary = format!(
        "{}, {}, {}: {}, about {}\n",
        counted(plan.contenders.len() as u64, "contender"),
        counted(plan.workloads.len() as u64, "workload"),
        counted(u64::from(plan.rounds), "round"),
        counted(left.trials as u64, "trial"),
        spoken(left.expected)
    );
    let mut text = String::new();
    for load in &plan.loads {
        let Some(overload) = load.overload() else {
            continue;
        };
        let steps: Vec<String> = overload.steps.iter().map(|it| share(*it)).collect();
        text.push_str(&format!(
            "  {}: {} % of the capacity, {} s each\n",
            load.label(),
            steps.join(", "),
            load.duration_s
        ));
    }
    (summary, text)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use bakeoff_plan::{Budget, Builtin, Until, builtin_plan, parse};

    use super::*;

    fn smoke() -> Plan {
        let text = builtin_plan("smoke").unwrap();
        parse(text, "smoke", Path::new("/"), &Builtin).unwrap()
    }

    #[test]
    fn a_list_begins_and_ends_with_how_much_there_is() {
        let mut plan = smoke();
        let text = listing(&plan, &[]);
        let lines: Vec<&str> = text.lines().collect();
        let extent = "7 trials, about 8 s";
        let said = "2 contenders, 2 workloads, 1 load, 1 round: ";
        assert_eq!(lines[1], format!("{said}{extent}"), "{text}");
        assert_eq!(lines[2], "round 1");
        assert_eq!(lines.last(), Some(&extent));

        // Rounds that a stopping rule asks for are listed, and those that it may add are said.
        plan.rounds = 3;
        plan.until = Some(Until {
            width: 0.03,
            max_rounds: 40,
        });
        let text = listing(&plan, &[]);
        let lines: Vec<&str> = text.lines().collect();
        let rounds = lines.iter().filter(|line| line.starts_with("round "));
        assert_eq!(rounds.count(), 10, "{text}");
        assert!(lines[1].contains(", 10 to 40 rounds: 90 to 360 trials, about "));
        let last = lines.last().unwrap();
        assert!(last.starts_with("90 to 360 trials, about "), "{last}");

        // Where time ends it, the first round is listed.
        (plan.rounds, plan.until) = (1, None);
        plan.budget = Some(Budget::new(Duration::from_secs(90)));
        let text = listing(&plan, &[]);
        let line = text.lines().nth(1).unwrap();
        let said = "1 load, rounds of 8 trials: about 10 s each, until each difference is decided, \
                    for 1 min 30 s at the most";
        assert!(line.ends_with(said), "{line}");
    }

    #[test]
    fn steps_of_an_overload_are_listed_as_they_were_written() {
        let text = "name = \"beyond\"\nworkloads = [\"html-small\"]\n\
                    [[contender]]\nname = \"a\"\nserver = \"nginx\"\n\
                    [[overload]]\nsteps = [0.5, 1.1, 1.4, 0.5]\n";
        let plan = parse(text, "beyond", Path::new("/"), &Builtin).unwrap();
        let (_, text) = overloads(&plan);
        assert!(
            text.contains(": 50, 110, 140, 50 % of the capacity"),
            "{text}"
        );
    }

    #[test]
    fn who_is_not_installed_is_named_above_the_trials() {
        let finding = |contender: &str, workload: &str, end: TrialEnd| Finding {
            contender: contender.to_owned(),
            workload: workload.to_owned(),
            end,
        };
        let skipped = || TrialEnd::Skipped {
            reason: "Caddy is not installed".to_owned(),
            fix: "bakeoff install caddy".to_owned(),
        };
        let unsupported = TrialEnd::Unsupported {
            reason: "it cannot".to_owned(),
        };
        let findings = [
            finding("nginx-default", "proxy", unsupported),
            finding("caddy-default", "synthetic", skipped()),
            finding("caddy-default", "proxy", skipped()),
        ];
        let text = listing(&smoke(), &findings);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[2..4], ["not installed: caddy-default", "round 1"]);
    }
}
