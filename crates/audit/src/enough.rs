//! How many rounds would be enough where something passing spoiled a few of them.

use bakeoff_record::{ContenderKind, Record};

use crate::check::Level;
use crate::checks::rounds::needed_of;
use crate::code::Code;
use crate::comparisons::DISTURBS;
use crate::judged::JudgedCell;
use crate::more::ROUNDS_PROPOSED_MAX;
use crate::number::Number;
use crate::verdict::{Judgement, Verdict};

/// What a number lacks to be valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lack {
    /// Nothing.
    Nothing,
    /// Believable rounds: it has enough with this many rounds, if nothing disturbs the added ones.
    Rounds(u32),
    /// What further rounds do not bring: another one would be as bad, or half of them were spoiled,
    /// and the machine has to become quiet first. A stopping rule that may still add rounds does.
    Else,
}

/// The number of rounds with which every compared number has enough believable rounds that lacks
/// nothing but those. `None` where there is no such number, whatever others lack.
pub(crate) fn rounds_enough(record: &Record, cells: &[JudgedCell<'_>]) -> Option<u32> {
    let contenders = cells
        .iter()
        .filter(|one| one.cell.kind == ContenderKind::Contender);
    let compared = contenders.flat_map(|one| [(one, one.ranked_by()), (one, Number::Cpu)]);
    let rounds = compared.filter_map(|(one, number)| match lack_of(record, one, number) {
        Lack::Rounds(rounds) => Some(rounds),
        Lack::Nothing | Lack::Else => None,
    });
    rounds.max()
}

/// The number of rounds with which a number of both sides of a pair would be valid. `None` where
/// neither lacks rounds, and where one of them lacks something else.
pub(crate) fn rounds_of_both(
    record: &Record,
    sides: [&JudgedCell<'_>; 2],
    number: Number,
) -> Option<u32> {
    match sides.map(|side| lack_of(record, side, number)) {
        [Lack::Rounds(one), Lack::Rounds(other)] => Some(one.max(other)),
        [Lack::Rounds(one), Lack::Nothing] | [Lack::Nothing, Lack::Rounds(one)] => Some(one),
        [Lack::Nothing, Lack::Nothing] | [Lack::Else, _] | [_, Lack::Else] => None,
    }
}

fn lack_of(record: &Record, judged: &JudgedCell<'_>, number: Number) -> Lack {
    match judged.judgement.verdicts.of(number) {
        Verdict::Valid => return Lack::Nothing,
        Verdict::Suspect => {}
        _ => return Lack::Else,
    }
    let rounds: Vec<&Judgement> = judged.counted().collect();
    let weak = |judgement: &&Judgement| judgement.level(number) > Level::Note;
    let spoiled: Vec<&Judgement> = rounds.iter().copied().filter(weak).collect();
    let passes = |judgement: &&Judgement| {
        let mut checks = judgement.checks.iter();
        checks.all(|check| check.of(number) <= Level::Note || is_passing(check.code))
    };
    let begun = record.plan.rounds.max(record.rounds_begun());
    let may_go_on = record.plan.until.is_some_and(|it| begun < it.max_rounds);
    let is_unquiet = spoiled.len() * 2 >= rounds.len() && !may_go_on;
    if spoiled.is_empty() || is_unquiet || !spoiled.iter().all(passes) {
        return Lack::Else;
    }
    let is_enough = |more: &u32| {
        let more = *more as usize;
        more - spoiled.len() >= needed_of(&record.plan, more)
    };
    let enough = (begun + 1..=ROUNDS_PROPOSED_MAX).find(is_enough);
    enough.map_or(Lack::Else, Lack::Rounds)
}

/// Whether a machine may do this to one round and not to the next.
fn is_passing(code: Code) -> bool {
    code == Code::NotSteady || DISTURBS.contains(&code)
}
