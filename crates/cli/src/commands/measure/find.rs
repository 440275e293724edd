//! `bakeoff find`: the highest rate at which each contender meets its goals.
//!
//! The arguments are those of a race; what is made of them is a plan whose rate is sought, which is
//! carried out, recorded and continued like any other.

use std::time::Duration;

use bakeoff_plan::{Load, Plan, Question, Search, goals};

use super::made::{self, Asked, Kind};
use crate::display::spoken;
use crate::flags::FindFlags;
use crate::library::Folder;
use crate::output;

/// Time for each contender at each workload with one goal.
const BUDGET: Duration = Duration::from_secs(12 * 60);
/// Time for each goal more.
const BUDGET_GOAL: Duration = Duration::from_secs(4 * 60);
/// By how much a first look is shorter.
const QUICK: u32 = 5;
/// Full trials that decide a rate in any case: three of them, and one more, may be enough.
const FULL_TRIALS: u32 = 6;

/// A search, as the command line asks for one.
const SEARCH: Kind = Kind {
    question: Question::Search,
    name: "search",
    without_contenders: "a search needs a contender: a URL, a server, a configuration file or \
                         --start 'COMMAND', as in `bakeoff find nginx --slo 'p99<10ms'`",
    announce,
};

pub(crate) fn carry_out(flags: &FindFlags) -> anyhow::Result<u8> {
    // A record may go on with more time.
    let change = |plan: &mut Plan| {
        if let Some(budget) = flags.goals.budget {
            for load in &mut plan.loads {
                load.set_budget(budget);
            }
        }
    };
    let plan = |library: &Folder| plan(flags, library);
    SEARCH.carry_out(&flags.operands, &flags.record, plan, change)
}

/// What it will do at the most, before it does anything.
fn announce(plan: &Plan) {
    for search in plan.loads.iter().filter_map(Load::search) {
        let goals: Vec<String> = search.goals.iter().map(ToString::to_string).collect();
        output::note(&format!(
            "searching at most {} for the highest rate of {} with {}; Ctrl-C keeps what was \
             measured",
            spoken(search.budget),
            made::names(plan),
            goals.join("; and with ")
        ));
    }
}

fn plan(flags: &FindFlags, library: &Folder) -> anyhow::Result<Plan> {
    let asked = Asked {
        clients: flags.load.clients,
        streams: flags.load.streams,
        rounds: 1,
        seed: flags.load.seed,
        pinning: &flags.load.pinning,
    };
    SEARCH.plan(&flags.operands, &asked, library, |plan| {
        plan.description = format!("The highest rates of {}.", made::names(plan));
        let mut load = sought(flags);
        if flags.goals.budget.is_none() {
            let cells = plan.contenders.len() * plan.workloads.len();
            let one = load.search().map_or(BUDGET, |search| search.budget);
            load.set_budget(one * u32::try_from(cells.max(1)).unwrap_or(u32::MAX));
        }
        Ok(vec![load])
    })
}

/// Longest confirming trial that a plan may have.
const CONFIRM_MOST: Duration = Duration::from_secs(600);

/// The load whose rate is sought, with the budget of one contender at one workload.
fn sought(flags: &FindFlags) -> Load {
    let (asked, load) = (&flags.goals, &flags.load);
    let usual = |usual_ms: u64, quick_ms: u64| {
        Duration::from_millis(if asked.quick { quick_ms } else { usual_ms })
    };
    let trial = load.duration.unwrap_or(usual(10_000, 2_000));
    let goals = goals(&asked.slo, &asked.errors);
    let more = u32::try_from(goals.len().saturating_sub(1)).unwrap_or(0);
    let budget = BUDGET + BUDGET_GOAL * more;
    let budget = if asked.quick { budget / QUICK } else { budget };
    let search = Search {
        goals,
        arrival: load.arrival.ready(),
        clients: load.clients,
        sum: trial * FULL_TRIALS,
        exceed: 0.5,
        width: asked.width,
        budget: asked.budget.unwrap_or(budget),
        // Longer than what they confirm.
        confirm: load
            .confirm
            .unwrap_or(usual(30_000, 6_000).max(trial * 3).min(CONFIRM_MOST)),
        curve: vec![0.25, 0.5, 0.75, 0.9],
    };
    let warmup = load.warmup.unwrap_or(usual(1_000, 500));
    Load::sought(search, trial, warmup)
}
