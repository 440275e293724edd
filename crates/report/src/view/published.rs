//! Ratios that somebody published of the comparison that a plan of the program repeats, beside
//! those of the record.

use bakeoff_audit::{Comparison, Conclusion};
use bakeoff_plan::PublishedRow;
use bakeoff_stats::{Estimate, Metric};
use schemars::JsonSchema;
use serde::Serialize;

/// Published values of one run that are closer together than this say nothing: the same Caddy
/// measured twice differed by up to 8.9 % in the hot-dog article (appendix B).
const ALIKE: f64 = 0.09;

/// What was published, row by row, beside what was measured here.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Published {
    /// Where and when it was published.
    pub title: String,
    /// Its ratios, as far as the record has their cells.
    pub ratios: Vec<PublishedRatio>,
}

impl Published {
    /// How many of its ratios hold here.
    pub(crate) fn summary(&self) -> String {
        let count = |holds| self.ratios.iter().filter(|it| it.holds == holds).count();
        format!(
            "Published ratios that hold here: {} of {}; that do not: {}; not decided here: {}.",
            count(Holds::Holds),
            self.ratios.len(),
            count(Holds::DoesNotHold),
            count(Holds::Undecided),
        )
    }
}

/// A published ratio beside that of the record.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PublishedRatio {
    /// Workload's name.
    pub workload: String,
    /// Label of the load.
    pub load: String,
    /// What is compared.
    pub metric: Metric,
    /// The contender whose value is the ratio's denominator.
    pub first: String,
    /// The contender whose value is the numerator.
    pub second: String,
    /// Second over first, as published.
    pub published: f64,
    /// The same here; null where there is none.
    pub here: Option<Estimate>,
    /// Whether what was published holds here.
    pub holds: Holds,
    /// What this record says of the pair: `faster by 12 % (8 to 16 %)`, or why it cannot tell.
    pub says: String,
}

/// Whether a published ratio holds here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// The same one is ahead, or both are alike.
    Holds,
    /// The other one is ahead, or they are alike where they were not, or the other way round.
    DoesNotHold,
    /// This record does not decide it.
    Undecided,
}

impl Holds {
    /// As tables say it.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::Undecided => "not decided here",
        }
    }

    fn of(published: f64, here: Conclusion) -> Self {
        let is_alike = (published.ln()).abs() <= (1.0 + ALIKE).ln();
        let holds = match here {
            Conclusion::Higher => !is_alike && published > 1.0,
            Conclusion::Lower => !is_alike && published < 1.0,
            Conclusion::Equal => is_alike,
            _ => return Self::Undecided,
        };
        if holds {
            Self::Holds
        } else {
            Self::DoesNotHold
        }
    }
}

/// What was published of the plan's comparison; `None` where nothing was, or the record has none
/// of its cells.
pub(super) fn draw(plan: &str, comparisons: &[Comparison]) -> Option<Published> {
    let known = bakeoff_plan::published(plan)?;
    let ratios: Vec<_> = known
        .rows
        .iter()
        .filter_map(|row| beside(row, comparisons))
        .collect();
    (!ratios.is_empty()).then(|| Published {
        title: known.title.to_owned(),
        ratios,
    })
}

fn beside(row: &PublishedRow, comparisons: &[Comparison]) -> Option<PublishedRatio> {
    let found = comparisons.iter().find(|one| {
        let pair = [one.pair.first.as_str(), one.pair.second.as_str()];
        (one.pair.workload.as_str(), one.pair.load.as_str()) == (row.workload, row.load)
            && one.metric.name() == row.metric
            && (pair == [row.first, row.second] || pair == [row.second, row.first])
    })?;
    let pair = found.pair.clone();
    // As this record has the pair.
    let published = if pair.first == row.first {
        row.ratio
    } else {
        1.0 / row.ratio
    };
    Some(PublishedRatio {
        workload: pair.workload,
        load: pair.load,
        metric: found.metric,
        first: pair.first,
        second: pair.second,
        published,
        here: found.ratio,
        holds: Holds::of(published, found.conclusion),
        says: found.phrase(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_holds_where_the_same_one_is_ahead() {
        use Conclusion::{CannotTell, Equal, Higher, Lower};
        for (published, here, holds) in [
            (1.2, Higher, Holds::Holds),
            (1.2, Lower, Holds::DoesNotHold),
            (1.2, Equal, Holds::DoesNotHold),
            (0.8, Lower, Holds::Holds),
            (1.05, Equal, Holds::Holds),
            (1.05, Higher, Holds::DoesNotHold),
            (0.5, CannotTell, Holds::Undecided),
        ] {
            assert_eq!(Holds::of(published, here), holds, "{published} {here:?}");
        }
    }
}
