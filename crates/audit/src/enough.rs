//! How many rounds would be enough where something passing spoiled a few of them.
//!
//! Which checks spoiled a round decides that, and no value of it.

use bakeoff_record::Record;
use bakeoff_stats::{ERROR_SHARE_APART, Number};

use crate::cell::JudgedCell;
use crate::check::Level;
use crate::checks::rounds::{needed_among, needed_of};
use crate::code::Code;
use crate::comparisons::{DISTURBS, is_disturbed};
use crate::more::ROUNDS_PROPOSED_MAX;
use crate::verdict::{Judgement, Verdict};

/// What a number lacks to be valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lack {
    /// Nothing.
    Nothing,
    /// Believable rounds: it has enough with this many rounds, if nothing disturbs the added ones.
    Rounds(u32),
    /// What further rounds do not bring: they would be as bad, or half of them were spoiled, and
    /// the machine has to become quiet first. A campaign that may still add rounds does.
    Else,
}

/// The number of rounds with which every compared number has enough believable rounds that lacks
/// nothing but those. `None` where there is no such number, whatever others lack.
pub(crate) fn rounds_enough(record: &Record, cells: &[JudgedCell<'_>]) -> Option<u32> {
    let contenders = cells.iter().filter(|one| one.is_contender());
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
    let begun = record.plan.rounds.max(record.rounds_begun());
    let most = record.plan.rounds_at_most();
    let has_rule = record.plan.until.is_some();
    let may_go_on = begun < most;
    match judged.judgement.verdicts.of(number) {
        Verdict::Valid => return Lack::Nothing,
        Verdict::Suspect => {}
        // No round is left to be shown, and further ones may be.
        Verdict::Invalid if may_go_on => {}
        _ => return Lack::Else,
    }
    let rounds: Vec<&Judgement> = judged.counted().collect();
    let spoiled = Spoiled::of(&rounds, number);
    let is_final = spoiled.all * 2 >= rounds.len() || spoiled.was_not_measured;
    // Only a rule waits for a server that failed.
    let may_pass = may_go_on && (has_rule || !spoiled.was_not_measured);
    if spoiled.all == 0 || is_final && !may_pass || stays(judged, number) {
        return Lack::Else;
    }
    let is_enough = |more: &u32| {
        let added = more - begun;
        let bad = spoiled.all + spoiled.expected(added as usize);
        // Beyond the most of a plan without a rule, another number of rounds has to be planned.
        let is_planned = !has_rule && *more > most;
        let more = *more as usize;
        let needed = if is_planned {
            needed_among(more, more)
        } else {
            needed_of(&record.plan, more)
        };
        more.saturating_sub(bad) >= needed
    };
    let proposed = if is_final {
        most
    } else {
        ROUNDS_PROPOSED_MAX.max(most)
    };
    let enough = (begun + 1..=proposed).find(is_enough);
    enough.map_or(Lack::Else, Lack::Rounds)
}

/// The rounds whose number cannot be believed.
struct Spoiled {
    all: usize,
    /// Those that nothing passing explains: the engine or the server may be at its limit in each.
    lasting: usize,
    /// Rounds that say how often that is so: those that nothing passing spoiled.
    calm: usize,
    /// Whether one of them was not measured at all: a server that failed may fail again.
    was_not_measured: bool,
}

impl Spoiled {
    fn of(rounds: &[&Judgement], number: Number) -> Self {
        let is_weak = |round: &&&Judgement| round.level(number) > Level::Note;
        let weak: Vec<&Judgement> = rounds.iter().filter(is_weak).copied().collect();
        let lasting = weak
            .iter()
            .filter(|round| !is_passing(round, number))
            .count();
        let ended_otherwise = |round: &&Judgement| round.check(Code::TrialEnded).is_some();
        Self {
            all: weak.len(),
            lasting,
            calm: rounds.len() - (weak.len() - lasting),
            was_not_measured: weak.iter().any(ended_otherwise),
        }
    }

    /// How many of further rounds would be spoiled again, if what is not passing lasts. One round
    /// of many says little: a yardstick whose time was taken makes a server look too fast for the
    /// engine, and no reading of that server's own trial shows it.
    fn expected(&self, added: usize) -> usize {
        (added * self.lasting).checked_div(self.calm).unwrap_or(0)
    }
}

/// Whether a machine may do to one round, and not to the next, what weakens a number in this one.
/// What it takes of a trial also brings checks about that no machine fails by itself.
fn is_passing(round: &Judgement, number: Number) -> bool {
    let disturbs = |code: Code| DISTURBS.contains(&code);
    let mut weak = round.checks.iter().filter(|it| it.of(number) > Level::Note);
    is_disturbed(round) || weak.all(|check| check.code == Code::NotSteady || disturbs(check.code))
}

/// Whether something weakens a number that no further round takes back: what one wrong answer, a
/// death or a failing server says of it is said of all rounds together.
fn stays(judged: &JudgedCell<'_>, number: Number) -> bool {
    let share = judged.cell.error_share();
    let fails = share.is_some_and(|share| share > ERROR_SHARE_APART);
    let checks = &judged.judgement.checks;
    let mut weak = checks.iter().filter(|it| it.of(number) > Level::Note);
    weak.any(|check| match check.code {
        Code::FailedShare => fails,
        code => code.is_correctness(),
    })
}
