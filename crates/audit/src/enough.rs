//! How many rounds would be enough where something passing spoiled a few of them.

use bakeoff_record::{ContenderKind, Record};

use crate::check::Level;
use crate::checks::rounds::needed_of;
use crate::code::Code;
use crate::judged::JudgedCell;
use crate::more::ROUNDS_MOST;
use crate::number::Number;
use crate::verdict::{Judgement, Verdict};

/// What a machine does to a round and may not do to the next one.
const PASSING: [Code; 6] = [
    Code::OtherLoad,
    Code::Steal,
    Code::Throttled,
    Code::EngineKept,
    Code::Drift,
    Code::NotSteady,
];

/// The number of rounds with which every compared number that lacks believable rounds would have
/// enough of them, if nothing disturbs the added ones. `None` where no number lacks any, where
/// another round would be as bad, and where half of the rounds were spoiled: then the machine has
/// to become quiet first.
pub(crate) fn rounds_enough(record: &Record, cells: &[JudgedCell<'_>]) -> Option<u32> {
    let contenders = cells
        .iter()
        .filter(|one| one.cell.kind == ContenderKind::Contender);
    let compared = contenders.flat_map(|one| [(one, one.ranked_by()), (one, Number::Cpu)]);
    let lacking = compared.filter_map(|(one, number)| enough_of(record, one, number));
    lacking.max()
}

/// The same for one number of one cell.
pub(crate) fn enough_of(record: &Record, judged: &JudgedCell<'_>, number: Number) -> Option<u32> {
    if judged.judgement.verdicts.of(number) != Verdict::Suspect {
        return None;
    }
    let rounds: Vec<&Judgement> = judged.counted().collect();
    let weak = |judgement: &&Judgement| judgement.level(number) > Level::Note;
    let spoiled: Vec<&Judgement> = rounds.iter().copied().filter(weak).collect();
    let passes = |judgement: &&Judgement| {
        let mut checks = judgement.checks.iter();
        checks.all(|check| check.of(number) <= Level::Note || PASSING.contains(&check.code))
    };
    if spoiled.is_empty() || spoiled.len() * 2 >= rounds.len() || !spoiled.iter().all(passes) {
        return None;
    }
    let begun = record.plan.rounds.max(record.rounds_begun());
    let is_enough = |more: &u32| {
        let more = *more as usize;
        more - spoiled.len() >= needed_of(&record.plan, more)
    };
    (begun + 1..=ROUNDS_MOST).find(is_enough)
}
