//! How far what is said of one number can be trusted.

use bakeoff_record::Record;
use bakeoff_stats::{Number, half_width};

use super::{NumberTrust, is_decided, most_to_blame, weakness, why_doubted};
use crate::cell::JudgedCell;
use crate::check::{Level, Weakness};
use crate::code::Code;
use crate::comparisons::{Floor, is_upper_bound, shown_only};
use crate::conclusion::{Comparison, Conclusion};
use crate::figures::{counted, percent};
use crate::findings::Finding;
use crate::limits::NOISE_MOST;
use crate::verdict::Verdict;

/// What one number is weighed by.
pub(super) struct Weighed<'a, 'r> {
    pub(super) record: &'a Record,
    /// What two runs of one server differ by.
    pub(super) floor: &'a Floor,
    /// Its comparisons.
    pub(super) compared: Vec<&'a Comparison>,
    pub(super) contenders: &'a [&'a JudgedCell<'r>],
    pub(super) findings: &'a [Finding],
}

impl Weighed<'_, '_> {
    /// `None` where nothing is compared by it.
    pub(super) fn number(&self) -> Option<NumberTrust> {
        if self.compared.is_empty() {
            return None;
        }
        let direction = self.compared.iter().any(|one| is_decided(one)) && self.half_is_valid();
        let doubts = [self.noise_unknown(), self.weakened(), self.bounds()];
        let size = direction && doubts.iter().all(Option::is_none);
        let [unknown, weakened, bounds] = doubts;
        let reason = self.control().or_else(|| match direction {
            true => unknown.or(weakened).or(bounds).or_else(|| self.noise()),
            false => self
                .doubtful()
                .or_else(|| self.noise())
                .or_else(|| self.undecided()),
        });
        Some(NumberTrust {
            metric: self.floor.metric,
            direction,
            size: size.then(|| self.size()).flatten(),
            reason,
        })
    }

    /// Whether half of its cells can be ranked: their numbers are valid, or bounds.
    fn half_is_valid(&self) -> bool {
        let number = self.floor.metric.number();
        let is_bound = |one: &JudgedCell<'_>| match number {
            Number::Rate => one.rate_bound.is_some(),
            Number::Latency => is_upper_bound(one),
            _ => false,
        };
        let is_usable = |one: &&&JudgedCell<'_>| {
            one.judgement.verdicts.of(number) == Verdict::Valid || is_bound(one)
        };
        let usable = self.fitting().filter(is_usable).count();
        usable > 0 && 2 * usable >= self.fitting().count()
    }

    /// The contenders' cells whose load it is compared under.
    fn fitting(&self) -> impl Iterator<Item = &&JudgedCell<'_>> {
        let fits = |one: &&&JudgedCell<'_>| shown_only(self.floor.metric, one).is_none();
        self.contenders.iter().filter(fits)
    }

    /// How far the widest interval of what is decided reaches, or what two runs of one server
    /// differ by in the middle where that is more.
    fn size(&self) -> Option<f64> {
        let decided = self.compared.iter().filter(|one| is_decided(one));
        let widths = decided.filter_map(|one| one.ratio.as_ref().map(half_width));
        let apart = self.floor.centre.unwrap_or(0.0);
        Some(widths.fold(apart, f64::max)).filter(|share| share.is_finite())
    }

    /// Two runs of one server that differ beyond chance.
    fn control(&self) -> Option<Weakness> {
        let text = format!(
            "two runs of the same server differ, beyond chance, by up to {}: no less is a \
             difference",
            percent(self.floor.floor)
        );
        self.floor
            .shown
            .then(|| weakness("control-differs", Level::Suspect, text))
    }

    /// That nobody knows which part of a size is noise.
    fn noise_unknown(&self) -> Option<Weakness> {
        let why = match (self.floor.n, self.floor.doubtful) {
            (_, true) => "too few rounds of two runs of the same server can be believed",
            (0, false) => "no server was run twice",
            _ => return None,
        };
        let text = format!("{why}: which part of a difference is noise is not known");
        Some(weakness("no-control", Level::Suspect, text))
    }

    /// What stands under a finding.
    fn weakened(&self) -> Option<Weakness> {
        let mine = self.findings.iter();
        let mine = mine.filter(|finding| finding.metric == self.floor.metric);
        let mut all = mine.flat_map(|finding| &finding.weakened_by);
        let worst = all.find(|one| one.level > Level::Note)?;
        let text = "the load was not what was asked for, as is said under a finding: it may be \
                    the cause of a difference";
        Some(weakness(&worst.code, Level::Suspect, text.to_owned()))
    }

    /// Ratios of which one end alone is known, or that are not proven.
    fn bounds(&self) -> Option<Weakness> {
        let is_open = |one: &&Comparison| match one.conclusion {
            Conclusion::PlainNotProven(_) => true,
            Conclusion::NotComparable => false,
            _ => one.bound.is_some(),
        };
        let open = self.compared.iter().any(is_open);
        let text = "a number of one side is a bound, so a lead may be larger";
        open.then(|| weakness("bounds", Level::Note, text.to_owned()))
    }

    /// Two runs of one server that differ so much that little can be seen.
    fn noise(&self) -> Option<Weakness> {
        let floor = self.floor;
        let text = format!(
            "two runs of the same server differ by up to {}",
            percent(floor.floor)
        );
        let is_large = floor.n > 0 && floor.floor > NOISE_MOST;
        is_large.then(|| weakness("noise-floor", Level::Suspect, text))
    }

    /// What is most often to blame for cells that are not valid.
    fn doubtful(&self) -> Option<Weakness> {
        let number = self.floor.metric.number();
        let weak = self.fitting().filter(|one| {
            let verdict = one.judgement.verdicts.of(number);
            verdict != Verdict::Valid
        });
        let weak: Vec<&&JudgedCell<'_>> = weak.collect();
        let (code, level, _) = most_to_blame(&weak, number)?;
        let text = format!(
            "{} of {} are not ranked, most because {}",
            weak.len(),
            self.fitting().count(),
            why_doubted(code, level)
        );
        Some(weakness(code.name(), level, text))
    }

    /// That nothing is decided.
    fn undecided(&self) -> Option<Weakness> {
        let rounds = counted(self.record.rounds_begun().into(), "round");
        let text = format!("{rounds} decide nothing of it");
        Some(weakness(Code::RoundsAccepted.name(), Level::Note, text))
    }
}
