//! When the pairs of a campaign are decided: looks after some rounds, each with a share of the
//! chance to err.
//!
//! A look decides what it can ([`Decided`]), and what it decides stays so. All looks together err
//! with a chance of 5 % for the whole family: a campaign that ends by time spends 4 % in step with
//! that time, and keeps 1 % for being resumed. One with a number of rounds has one look, at their
//! end. Within a look chances are corrected by Holm (1979) over the pairs that are still open.

use crate::family::{Family, Held, Mean, Member, rounds_for};
use crate::floor::NORMAL_80;

/// Chance that anything said of a family is false.
pub const FAMILY_ALPHA: f64 = 0.05;
/// The part of it that a campaign spends within the time it was given first.
pub const SPENT_FIRST: f64 = 0.04;
/// A ratio this near to 1 is called equal, as a share.
pub const EQUAL_WITHIN: f64 = 0.03;
/// The round after which a campaign is looked at first.
pub const FIRST_LOOK: u32 = FIRST_LOOKS[0];
/// Rounds after which it is looked at; from the last two on, their doubles.
const FIRST_LOOKS: [u32; 6] = [2, 3, 4, 5, 7, 10];

/// A look at a family.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// The last round that it sees.
    pub round: u32,
    /// The chance to err that it has, for the whole family.
    pub chance: f64,
}

impl Look {
    /// The only look of a campaign with a number of rounds.
    pub const ALL_ROUNDS: Self = Self {
        round: u32::MAX,
        chance: FAMILY_ALPHA,
    };
}

/// Whether a campaign is looked at after this round: 2, 3, 4, 5, 7, 10, 14, 20, 28, 40 and so on.
pub fn is_look(round: u32) -> bool {
    if round <= 10 {
        return FIRST_LOOKS.contains(&round);
    }
    round.is_multiple_of(2) && round / 2 > 5 && is_look(round / 2)
}

/// What a family says of one of its pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// What was decided; `None` where nothing is.
    pub decided: Option<Decided>,
    /// The round of the look that it is of.
    pub round: u32,
    /// The mean with its interval, at the look that decided, or at the last one: that of this pair
    /// alone, which holds 95 % however early the campaign ended.
    pub held: Held,
    /// Rounds that it is of.
    pub rounds: usize,
    /// Chance of such rounds between equals, on whichever side, corrected for all pairs and for
    /// all looks: at most 5 % where a difference is shown.
    pub p_value: f64,
    /// The same of this pair alone.
    pub alone: f64,
    /// Smallest logarithm of a ratio that would have been shown with 80 %.
    pub smallest_shown: f64,
    /// Rounds that would decide it with 80 %, if it is as it looks; `None` where that would take
    /// more than 200.
    pub rounds_needed: Option<u32>,
}

/// What was decided of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decided {
    /// The second is higher.
    Higher,
    /// The second is lower.
    Lower,
    /// They are equal within [`EQUAL_WITHIN`].
    Equal,
}

/// What the looks say of each member of a family; `None` where none of them saw enough rounds of
/// it. A difference of `floor`, a logarithm, or less is none.
pub fn decide(members: &[Member], looks: &[Look], floor: f64) -> Vec<Option<Decision>> {
    let mut all = vec![None; members.len()];
    for (look, family) in families(members, looks) {
        let looking = Looking {
            family,
            round: look.round,
            chance: look.chance,
            floor,
        };
        looking.update(&mut all);
    }
    all
}

/// The looks that see enough rounds, with the family as each sees it.
pub(crate) fn families(members: &[Member], looks: &[Look]) -> impl Iterator<Item = (Look, Family)> {
    let mut saved = 0.0;
    looks.iter().filter_map(move |look| {
        // What could not be looked at took nothing of the chance.
        saved += look.chance;
        let family = Family::after(members, look.round)?;
        let chance = std::mem::take(&mut saved);
        Some((Look { chance, ..*look }, family))
    })
}

/// A look at work.
struct Looking {
    family: Family,
    round: u32,
    chance: f64,
    floor: f64,
}

impl Decision {
    /// The round of the look that decided it; `None` where it is open.
    pub fn decided_at(&self) -> Option<u32> {
        self.decided.map(|_| self.round)
    }
}

impl Looking {
    /// Puts what this look says in place of what earlier ones left open.
    fn update(&self, all: &mut [Option<Decision>]) {
        let is_open = |known: &Option<Decision>| known.is_none_or(|one| one.decided.is_none());
        let open = all.iter().enumerate().filter(|(_, known)| is_open(known));
        let mut open: Vec<(usize, Mean, f64)> = open
            .filter_map(|(place, _)| {
                let mean = self.family.mean(place)?;
                Some((place, mean, self.family.chance(&mean, self.floor)))
            })
            .collect();
        open.sort_by(|one, other| one.2.total_cmp(&other.2));
        let (mut left, mut corrected) = (open.len(), 0.0_f64);
        let near = self
            .family
            .reach(self.chance / self.family.count().max(1) as f64);
        let alone_reach = self.family.reach(self.of_one());
        let mut reach = self.family.reach(self.chance / left.max(1) as f64);
        for (place, mean, alone) in open {
            // One that fails leaves the others failed.
            corrected = corrected.max(alone * left as f64);
            let is_shown = corrected <= self.chance;
            let within = mean.within(near);
            let margin = EQUAL_WITHIN.ln_1p();
            let decided = match is_shown {
                true if mean.log > 0.0 => Some(Decided::Higher),
                true => Some(Decided::Lower),
                false if within.low > -margin && within.high < margin => Some(Decided::Equal),
                false => None,
            };
            let error = mean.spread / (mean.rounds as f64).sqrt();
            all[place] = Some(Decision {
                decided,
                round: self.round,
                held: mean.within(alone_reach),
                rounds: mean.rounds,
                p_value: (corrected * FAMILY_ALPHA / self.chance).min(1.0),
                alone,
                smallest_shown: self.floor + (reach + NORMAL_80) * error,
                rounds_needed: self.rounds_needed(&mean, reach, near),
            });
            if is_shown {
                left -= 1;
                reach = self.family.reach(self.chance / left.max(1) as f64);
            }
        }
    }

    /// The chance that one interval has: as much of 5 % as this look has of what is spent.
    fn of_one(&self) -> f64 {
        FAMILY_ALPHA * (self.chance / SPENT_FIRST).min(1.0)
    }

    /// Rounds that would show the difference, or that there is none to speak of.
    fn rounds_needed(&self, mean: &Mean, reach: f64, near: f64) -> Option<u32> {
        let log = mean.log.abs();
        let shown = rounds_for(mean.spread, log - self.floor, reach);
        let equal = rounds_for(mean.spread, EQUAL_WITHIN.ln_1p() - log, near);
        shown.into_iter().chain(equal).min()
    }
}

/// The looks of a campaign that ends by time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spending {
    /// The time that it was given first, s.
    pub first_s: f64,
    /// The time that it has now, s.
    pub now_s: f64,
    /// How often it was given more.
    pub resumed: u32,
}

impl Spending {
    /// The looks after rounds that took `ended` seconds by their end, counted from the campaign's
    /// begin. `is_over` where no round comes after the last one.
    pub fn looks(&self, ended: &[(u32, f64)], is_over: bool) -> Vec<Look> {
        let mut looks = Vec::new();
        let mut spent = 0.0;
        for (place, (round, time)) in ended.iter().enumerate() {
            let is_last = is_over && place + 1 == ended.len();
            if !is_look(*round) && !is_last {
                continue;
            }
            let may = if is_last { self.all() } else { self.by(*time) };
            let chance = (may - spent).max(0.0);
            spent += chance;
            looks.push(Look {
                round: *round,
                chance,
            });
        }
        looks
    }

    /// What may be spent by this time. Each time that a campaign is given more, it has half of what
    /// is left.
    fn by(&self, time: f64) -> f64 {
        let first = SPENT_FIRST * (time / self.first_s).clamp(0.0, 1.0);
        let later = self.now_s - self.first_s;
        if later <= 0.0 {
            return first;
        }
        let share = ((time - self.first_s) / later).clamp(0.0, 1.0);
        first + (self.all() - SPENT_FIRST) * share
    }

    /// What may be spent in all.
    fn all(&self) -> f64 {
        let kept = FAMILY_ALPHA - SPENT_FIRST;
        FAMILY_ALPHA - kept * 0.5_f64.powi(self.resumed.min(64) as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::tests::member;

    fn at(round: u32, chance: f64) -> Look {
        Look { round, chance }
    }

    #[test]
    fn looks_come_seldom_once_rounds_are_many() {
        let looks: Vec<u32> = (1..=100).filter(|round| is_look(*round)).collect();
        assert_eq!(looks, [2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 56, 80]);
    }

    #[test]
    fn a_factor_of_four_is_decided_at_the_first_look_and_stays_so() {
        let mut members: Vec<Member> = (1..8)
            .map(|cell| member(cell, &[0.02, -0.03, 0.01]))
            .collect();
        members.insert(0, member(0, &[1.4, 1.35, -9.0]));
        let looks = [at(2, 0.02), at(3, 0.02)];
        let found = decide(&members, &looks, 0.01_f64.ln_1p());
        let first = found[0].expect("it was looked at");
        assert_eq!((first.decided, first.rounds), (Some(Decided::Higher), 2));
        assert!(first.held.low > 0.0 && first.p_value <= FAMILY_ALPHA);
        let other = found[1].expect("it was looked at");
        assert_eq!((other.decided, other.rounds), (None, 3));
        assert!(other.p_value > FAMILY_ALPHA && other.held.low < 0.0);
    }

    #[test]
    fn a_shown_difference_has_an_interval_that_leaves_one() {
        let members = [
            member(0, &[0.3, 0.4, 0.5, 0.42, 0.41]),
            member(1, &[0.02, -0.05, 0.1, 0.04, 0.0]),
        ];
        for floor in [0.0, 0.05, 0.1, 0.2, 0.3] {
            let found = decide(&members, &[Look::ALL_ROUNDS], floor)[0].expect("five rounds");
            let is_shown = found.decided == Some(Decided::Higher);
            assert!(!is_shown || found.held.low > floor, "{found:?}");
            assert_eq!(is_shown, found.p_value <= FAMILY_ALPHA, "{found:?}");
        }
    }

    #[test]
    fn equal_needs_all_of_the_interval_within_three_percent() {
        let near = [0.001, -0.002, 0.001, 0.0, 0.002, -0.001];
        let found = decide(&[member(0, &near)], &[Look::ALL_ROUNDS], 0.01)[0];
        assert_eq!(found.and_then(|one| one.decided), Some(Decided::Equal));
        let far = near.map(|log| log * 30.0);
        let found = decide(&[member(0, &far)], &[Look::ALL_ROUNDS], 0.01)[0];
        assert_eq!(found.and_then(|one| one.decided), None);
    }

    #[test]
    fn a_look_that_sees_too_little_leaves_its_chance_to_the_next() {
        let one = [member(0, &[0.2, 0.21, 0.19])];
        let decided = |looks: &[Look]| decide(&one, looks, 0.01)[0].map(|found| found.p_value);
        assert_eq!(decided(&[at(2, 0.01)]), None);
        assert_eq!(
            decided(&[at(2, 0.01), at(3, 0.01)]),
            decided(&[at(3, 0.02)])
        );
    }

    #[test]
    fn undecided_pairs_say_how_many_rounds_would_decide_them() {
        let noisy = [0.15, -0.05, 0.13, 0.01, 0.12, 0.0];
        let found = decide(&[member(0, &noisy)], &[Look::ALL_ROUNDS], 0.01)[0];
        let needed = found
            .and_then(|one| one.rounds_needed)
            .expect("it is near enough");
        assert!((7..100).contains(&needed), "{needed}");
        let level = [0.03, 0.031, 0.029, 0.03, 0.6, -0.5];
        let found = decide(&[member(0, &level)], &[Look::ALL_ROUNDS], 0.01)[0];
        assert_eq!(found.and_then(|one| one.rounds_needed), None, "{found:?}");
    }

    #[test]
    fn time_spends_four_percent_and_each_resumption_half_of_what_is_left() {
        let ended: Vec<(u32, f64)> = (1..=4)
            .map(|round| (round, f64::from(round) * 50.0))
            .collect();
        let spending = Spending {
            first_s: 200.0,
            now_s: 200.0,
            resumed: 0,
        };
        let sum = |looks: &[Look]| looks.iter().map(|look| look.chance).sum::<f64>();
        let looks = spending.looks(&ended[..3], false);
        assert_eq!(
            looks.iter().map(|look| look.round).collect::<Vec<_>>(),
            [2, 3]
        );
        assert!((looks[0].chance - 0.02).abs() < 1e-12 && (sum(&looks) - 0.03).abs() < 1e-12);
        // The last one takes the rest, whether or not it is one of the others.
        let looks = spending.looks(&ended[..3], true);
        assert!((sum(&looks) - SPENT_FIRST).abs() < 1e-12);
        let more = Spending {
            now_s: 400.0,
            resumed: 1,
            ..spending
        };
        let looks = more.looks(&ended, false);
        assert!((sum(&looks) - SPENT_FIRST).abs() < 1e-12);
        let ended: Vec<(u32, f64)> = (1..=8)
            .map(|round| (round, f64::from(round) * 50.0))
            .collect();
        let looks = more.looks(&ended, true);
        assert_eq!(looks.last().map(|look| look.round), Some(8));
        assert!((sum(&looks) - 0.045).abs() < 1e-12);
    }
}
