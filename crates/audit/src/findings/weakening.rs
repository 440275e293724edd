//! What weakens a finding, although each of its numbers is valid by itself.
//!
//! A rate counts right answers, whichever clients got them. If some clients got none, or waited for
//! a connection, the load was another one than the plan asked for.
use bakeoff_stats::Metric;

use crate::cell::JudgedCell;
use crate::check::{Check, Level, Weakness};
use crate::code::Code;
use crate::conclusion::Comparison;
use crate::figures::so_in_more;

/// What makes a load another one than was asked for, the worst first. A queue that overflowed was
/// full.
const TRAPS: [&[Code]; 3] = [
    &[Code::Starved],
    &[Code::ListenOverflows, Code::AcceptQueue],
    &[Code::ServerLimit],
];
/// Name of what is said of a server that had time to spare.
const IDLE_SERVER: &str = "idle-server";

/// What stands under a finding that rests on these comparisons: a sentence for each kind, with the
/// first cell where it is so.
pub(super) fn of(comparisons: &[&Comparison], cells: &[JudgedCell<'_>]) -> Vec<Weakness> {
    let is_of_speed =
        |one: &&&Comparison| one.metric == Metric::RatePerS || one.metric.is_latency();
    let used: Vec<&JudgedCell<'_>> = cells
        .iter()
        .filter(|cell| {
            let mut all = comparisons.iter().filter(is_of_speed);
            all.any(|one| uses(one, cell))
        })
        .collect();
    let trap = |codes: &&[Code]| {
        let seen = |cell: &JudgedCell<'_>| {
            let mut codes = codes.iter();
            codes.find_map(|code| trapped(cell.judgement.check(*code)?))
        };
        weakness(codes[0].name(), Level::Suspect, &used, seen)
    };
    let idle = |cell: &JudgedCell<'_>| cell.idle_server.clone();
    let idle = weakness(IDLE_SERVER, Level::Note, &used, idle);
    TRAPS.iter().filter_map(trap).chain(idle).collect()
}

fn uses(one: &Comparison, cell: &JudgedCell<'_>) -> bool {
    let (pair, key) = (&one.pair, &cell.cell.key);
    let is_there = pair.workload == key.workload && pair.load == key.load;
    is_there && (pair.first == key.contender || pair.second == key.contender)
}

fn trapped(check: &Check) -> Option<String> {
    let is_trap = check.level > Level::NotRun
        || check.level == Level::Note && check.code == Code::ServerLimit;
    is_trap.then(|| check.text.clone())
}

/// What was seen in these cells, of the first of them.
fn weakness(
    code: &str,
    level: Level,
    used: &[&JudgedCell<'_>],
    seen: impl Fn(&JudgedCell<'_>) -> Option<String>,
) -> Option<Weakness> {
    let mut seen = used.iter().filter_map(|cell| Some((cell, seen(cell)?)));
    let (first, text) = seen.next()?;
    let key = &first.cell.key;
    let more = so_in_more(seen.count());
    Some(Weakness {
        code: code.to_owned(),
        text: format!(
            "{} at {}, {}: {text}{more}",
            key.contender, key.workload, key.load
        ),
        level,
    })
}
