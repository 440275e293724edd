//! What more rounds would decide.

use crate::conclusion::{Comparison, Conclusion};

/// Most rounds that a report proposes. A ratio that takes more of them is so near to 1,
/// or rounds are so far apart, that the machine changes before it is decided.
pub const ROUNDS_PROPOSED_MAX: u32 = 40;

/// What more rounds would decide of the comparisons that are open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct More {
    /// Comparisons that are open.
    pub open: usize,
    /// Those that at most [`ROUNDS_PROPOSED_MAX`] rounds would decide.
    pub within: usize,
    /// Those that would take more.
    pub beyond: usize,
    /// Rounds that would decide all of those within; `None` without any.
    pub rounds: Option<u32>,
}

impl More {
    /// What more rounds would decide of `comparisons`.
    pub fn of(comparisons: &[Comparison]) -> Self {
        let mut more = Self::default();
        for one in comparisons.iter().filter(|one| is_open(one)) {
            more.open += 1;
            match one.rounds_needed {
                Some(rounds) if rounds <= ROUNDS_PROPOSED_MAX => {
                    more.within += 1;
                    more.rounds = more.rounds.max(Some(rounds));
                }
                Some(_) => more.beyond += 1,
                None => {}
            }
        }
        more
    }

    /// What follows `12 of 42 comparisons are not decided by 7 rounds`; empty where nothing is
    /// known of it.
    pub(crate) fn ending(self) -> String {
        let beyond = match (self.beyond, self.within) {
            (0, _) => String::new(),
            (all, 0) if all == self.open => format!("; they need more than {ROUNDS_PROPOSED_MAX}"),
            (1, _) => format!("; 1 needs more than {ROUNDS_PROPOSED_MAX}"),
            (n, _) => format!("; {n} need more than {ROUNDS_PROPOSED_MAX}"),
        };
        let within = match (self.rounds, self.within) {
            (None, _) => String::new(),
            (Some(rounds), all) if all == self.open => {
                format!("; about {rounds} would decide all of them")
            }
            (Some(rounds), n) => format!("; about {rounds} would decide {n} of them"),
        };
        within + &beyond
    }
}

fn is_open(one: &Comparison) -> bool {
    matches!(
        one.conclusion,
        Conclusion::CannotTell | Conclusion::PlainNotProven(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_the_most_rounds_is_not_promised() {
        let ending = |open, within, beyond, rounds| {
            let more = More {
                open,
                within,
                beyond,
                rounds,
            };
            more.ending()
        };
        assert_eq!(
            ending(3, 3, 0, Some(14)),
            "; about 14 would decide all of them"
        );
        assert_eq!(
            ending(3, 2, 0, Some(14)),
            "; about 14 would decide 2 of them"
        );
        assert_eq!(
            ending(5, 3, 2, Some(28)),
            "; about 28 would decide 3 of them; 2 need more than 40"
        );
        assert_eq!(ending(2, 0, 2, None), "; they need more than 40");
        assert_eq!(ending(2, 0, 1, None), "; 1 needs more than 40");
        assert_eq!(ending(2, 0, 0, None), "");
    }
}
