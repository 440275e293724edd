//! What the checks said of a run, and whether that names the fault.

use std::collections::BTreeSet;

use bakeoff_record::ContenderKind;
use bakeoff_report::view::{
    Code, Comparison, Conclusion, Evidence, Level, Limiter, OverloadClass, Report,
};
use bakeoff_report::{Metric, OverloadReport};

/// R4: by how much a quantile may be off that a known stop makes.
const P99_SHARE: f64 = 0.15;
/// Checks that cannot be made without a reference or more rounds, which most set-ups leave out.
const NEEDS: [Code; 3] = [
    Code::BackendBound,
    Code::GeneratorCeiling,
    Code::RoundsAgree,
];

/// What must be said of a fault.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Finds {
    /// One of these checks weakens a number.
    Weakened(&'static [Code]),
    /// One of these checks makes a number invalid: it must not be shown at all.
    Invalid(&'static [Code]),
    /// One of these checks weakens a number, or could not be made.
    Present(&'static [Code]),
    /// One of these is noted.
    Noted(&'static [Code]),
    /// One of these facts makes a comparison unfair.
    Unequal(&'static [Code]),
    /// The bottleneck has one of these names.
    Bottleneck(&'static [Limiter]),
    /// It ends with 2 and a message with one of these.
    Refused(&'static [&'static str]),
    /// p99 is so many milliseconds, within 15 %.
    P99Ms(f64),
    /// The second one's rate is shown to differ, and the interval holds a ratio from here to there.
    Ratio(f64, f64),
    /// No difference is shown.
    NotShown,
    /// This check weakens a number, and nothing says that the second one is better.
    NeverWins(Code),
    /// Beyond its capacity the server is said to do one of these, as `bakeoff overload` says it.
    Class(&'static [OverloadClass]),
    /// No check weakens a number or a comparison, and each one could be made.
    Nothing,
}

/// What was seen of one run.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Codes of checks that weaken a number of a contender.
    weakened: BTreeSet<Code>,
    /// Those of them that make one invalid.
    invalid: BTreeSet<Code>,
    noted: BTreeSet<Code>,
    not_run: BTreeSet<Code>,
    unequal: BTreeSet<Code>,
    bottlenecks: BTreeSet<Limiter>,
    /// What the server does beyond its capacity; `None` where it was not asked for more.
    classes: Option<BTreeSet<OverloadClass>>,
    /// Whether something disturbed an overload.
    is_beside: bool,
    /// Of the first trial.
    p99_ms: Option<f64>,
    /// Whether the second one's rate was shown to be higher or lower, and the ratio's interval.
    rate: Option<Shown>,
    /// Exit code and output of a line.
    printed: Option<String>,
    /// Metrics of which one of two was called better, tested against chance.
    pub(super) winners: Vec<&'static str>,
}

#[derive(Debug)]
struct Shown {
    conclusion: Conclusion,
    interval: Option<(f64, f64)>,
}

impl Finds {
    /// What of it names the fault; empty where nothing does.
    pub(super) fn named_by(self) -> Vec<String> {
        let own = |codes: &[Code]| codes.iter().map(ToString::to_string).collect();
        match self {
            Self::Weakened(codes) | Self::Noted(codes) | Self::Unequal(codes) => own(codes),
            Self::Present(codes) => {
                let each = codes.iter();
                each.flat_map(|&code| [code.to_string(), not_run(code)])
                    .collect()
            }
            Self::Invalid(codes) => codes.iter().map(|&code| invalid(code)).collect(),
            Self::Bottleneck(names) => names
                .iter()
                .map(|one| format!("bottleneck {}", one.name()))
                .collect(),
            Self::Class(all) => all
                .iter()
                .map(|one| format!("class {}", one.name()))
                .collect(),
            Self::Refused(texts) => {
                let each = texts.iter();
                each.map(|text| format!("refused: \"{text}\"")).collect()
            }
            Self::P99Ms(ms) => vec![format!("p99 of {ms:.0} ms, within 15 %")],
            Self::Ratio(low, high) => vec![format!(
                "a difference, with one of {low:.3} to {high:.3} in its interval"
            )],
            Self::NotShown => vec!["no difference shown".to_owned()],
            Self::NeverWins(code) => vec![format!("{code}, and it does not win")],
            Self::Nothing => vec!["no finding".to_owned()],
        }
    }

    /// Whether a run names it.
    pub(super) fn is_in(self, seen: &Seen) -> bool {
        let any = |codes: &[Code], of: &BTreeSet<Code>| codes.iter().any(|it| of.contains(it));
        match self {
            Self::Weakened(codes) => any(codes, &seen.weakened),
            Self::Invalid(codes) => any(codes, &seen.invalid),
            Self::Present(codes) => any(codes, &seen.weakened) || any(codes, &seen.not_run),
            Self::Noted(codes) => any(codes, &seen.noted),
            Self::Unequal(codes) => any(codes, &seen.unequal),
            Self::Bottleneck(names) => names.iter().any(|it| seen.bottlenecks.contains(it)),
            Self::Class(all) => {
                let seen = seen.classes.as_ref();
                seen.is_some_and(|seen| all.iter().any(|it| seen.contains(it)))
            }
            Self::Refused(texts) => seen.printed.as_ref().is_some_and(|printed| {
                printed.starts_with("code 2\n") && texts.iter().any(|text| printed.contains(text))
            }),
            Self::P99Ms(ms) => {
                let off = |p99: f64| (p99 / ms - 1.0).abs();
                seen.p99_ms.is_some_and(|p99| off(p99) <= P99_SHARE)
            }
            Self::Ratio(least, most) => seen.rate.as_ref().is_some_and(|rate| {
                let holds = |(low, high): (f64, f64)| low <= most && least <= high;
                rate.is_shown() && rate.interval.is_some_and(holds)
            }),
            Self::NotShown => seen.rate.as_ref().is_some_and(|rate| !rate.is_shown()),
            Self::NeverWins(code) => {
                let rate = seen.rate.as_ref();
                let wins = rate.is_some_and(|it| it.conclusion == Conclusion::Higher);
                any(&[code], &seen.weakened) && !wins
            }
            Self::Nothing => seen.is_sound(),
        }
    }

    /// Whether a run of the clean twin is named as faulty.
    pub(super) fn flags(self, twin: &Seen) -> bool {
        match self {
            // Equal servers have no ratio to be right about.
            Self::Ratio(..) => twin.rate.as_ref().is_some_and(Shown::is_shown),
            Self::Nothing => !self.is_in(twin),
            // Of a twin a doubt is too much.
            Self::Invalid(codes) => Self::Weakened(codes).is_in(twin),
            other => other.is_in(twin),
        }
    }

    /// Whether what other programs do may be what a run was made to show.
    pub(super) fn is_of_the_machine(self) -> bool {
        let codes: &[Code] = match self {
            Self::Weakened(codes) | Self::Invalid(codes) | Self::Present(codes) => codes,
            _ => &[],
        };
        codes.iter().any(|code| DISTURBING.contains(code))
    }
}

/// Checks that fail because of other programs on the machine.
const DISTURBING: [Code; 3] = [Code::OtherLoad, Code::Steal, Code::EngineKept];
/// Checks that may fail with them: a load engine without a processor is late, and rounds are lost.
const FOLLOWING: [Code; 2] = [Code::EngineLag, Code::RoundsAccepted];

impl Shown {
    fn is_shown(&self) -> bool {
        matches!(self.conclusion, Conclusion::Higher | Conclusion::Lower)
    }
}

impl Seen {
    /// What a report says of its contenders.
    pub(super) fn of(report: &Report) -> Self {
        let mut seen = Self::default();
        let contenders = report
            .cells
            .iter()
            .filter(|cell| cell.kind == ContenderKind::Contender);
        for cell in contenders {
            for check in &cell.verdict.checks {
                match check.level {
                    Level::Invalid => {
                        seen.invalid.insert(check.code);
                        seen.weakened.insert(check.code)
                    }
                    Level::Suspect | Level::Disturbed => seen.weakened.insert(check.code),
                    Level::Note => seen.noted.insert(check.code),
                    Level::NotRun => seen.not_run.insert(check.code),
                    Level::Passed => false,
                };
            }
            if let Some(bottleneck) = &cell.bottleneck {
                let also = bottleneck.also.iter().map(|cause| cause.name);
                seen.bottlenecks.extend(also.chain([bottleneck.name]));
            }
        }
        // Of the trial: where something disturbed it, the cell shows none.
        let mut trials = report.trials.iter();
        let p99 = &Metric::LatencyP99Ns;
        let p99 = trials.find_map(|it| it.values.get(p99).or(it.at_least.get(p99)));
        seen.p99_ms = p99.map(|ns| ns / 1e6);
        let unequal = report.equivalence.iter().flat_map(|it| &it.inequalities);
        seen.unequal.extend(unequal.map(|it| it.check.code));
        seen.rate = report
            .comparisons
            .iter()
            .find(|it| it.metric == Metric::RatePerS)
            .map(shown);
        let winners = report
            .comparisons
            .iter()
            .filter(|it| it.evidence == Evidence::Test && shown(it).is_shown());
        seen.winners = winners.map(|it| it.metric.name()).collect();
        seen
    }

    /// What a report of an overload says of its contenders.
    pub(super) fn of_overload(report: &OverloadReport) -> Self {
        let ramps = report.rows.iter().flat_map(|row| &row.ramps);
        let classes = ramps.flat_map(|ramp| &ramp.classes);
        let mut rows = report.rows.iter();
        Self {
            classes: Some(classes.map(|it| it.class).collect()),
            is_beside: rows.any(|row| !row.disturbed.is_empty()),
            ..Self::default()
        }
    }

    /// What a line printed, and its exit code.
    pub(super) fn of_line(printed: String) -> Self {
        Self {
            printed: Some(printed),
            ..Self::default()
        }
    }

    /// Whether another program on the machine was in the numbers.
    pub(super) fn is_disturbed(&self) -> bool {
        self.is_beside || DISTURBING.iter().any(|code| self.weakened.contains(code))
    }

    /// Whether nothing weakens a number or a comparison, apart from a disturbance by other programs
    /// and what follows from it.
    fn is_sound(&self) -> bool {
        let mut not_run = self.not_run.iter();
        let is_made = not_run.all(|code| NEEDS.contains(code));
        let is_disturbed = self.is_disturbed();
        let of_the_machine = |code: &Code| DISTURBING.contains(code) || FOLLOWING.contains(code);
        let mut weakened = self.weakened.iter();
        let is_whole = weakened.all(|code| is_disturbed && of_the_machine(code));
        is_whole && self.unequal.is_empty() && is_made
    }

    /// Codes of what weakens a number or a comparison; `None` where another program disturbed the
    /// run, or no numbers were judged in it.
    pub(super) fn doubts(&self) -> Option<BTreeSet<String>> {
        let is_judged = self.printed.is_none() && self.classes.is_none();
        let counts = is_judged && !self.is_disturbed();
        counts.then(|| names(self.weakened.union(&self.unequal)))
    }

    /// Everything that was said, by codes; what was looked for in any case.
    pub(super) fn codes(&self, sought: Finds) -> BTreeSet<String> {
        let mut codes = names(self.weakened.iter().chain(&self.unequal));
        // Every trial here has several roles on few processors.
        let noted = self.noted.iter().filter(|code| **code != Code::CoLocated);
        codes.extend(names(noted));
        let sought = sought.named_by();
        let is_shown = |code: &&Code| sought.contains(&code.to_string()) || !NEEDS.contains(code);
        let unmade = self.not_run.iter().filter(is_shown);
        codes.extend(unmade.map(|code| not_run(*code)));
        let invalid = self.invalid.iter().map(|code| invalid(*code));
        codes.extend(invalid.filter(|code| sought.contains(code)));
        let mut add = |kind: &str, name: &str| codes.insert(format!("{kind} {name}"));
        for one in &self.bottlenecks {
            add("bottleneck", one.name());
        }
        for one in self.classes.iter().flatten() {
            add("class", one.name());
        }
        if let Some(rate) = &self.rate {
            add("rate", rate.conclusion.name());
        }
        for metric in &self.winners {
            add("winner by", metric);
        }
        if let Some(printed) = &self.printed {
            let code = printed.lines().next().unwrap_or("no exit code");
            codes.insert(format!("exit {code}"));
        }
        codes
    }
}

fn names<'c>(codes: impl Iterator<Item = &'c Code>) -> BTreeSet<String> {
    codes.map(ToString::to_string).collect()
}

/// A check that makes a number invalid, as tables call it.
fn invalid(code: Code) -> String {
    format!("{code} (invalid)")
}

/// A check that could not be made, as tables call it.
fn not_run(code: Code) -> String {
    format!("{code} (not run)")
}

fn shown(comparison: &Comparison) -> Shown {
    let ratio = comparison.ratio;
    Shown {
        conclusion: comparison.conclusion,
        interval: ratio.map(|ratio| (ratio.low, ratio.high)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(all: &[&str]) -> BTreeSet<String> {
        all.iter().map(|&code| code.to_owned()).collect()
    }

    fn set<T: Ord + Copy>(all: &[T]) -> BTreeSet<T> {
        all.iter().copied().collect()
    }

    fn seen(weakened: &[Code], invalid: &[Code]) -> Seen {
        Seen {
            weakened: set(weakened),
            invalid: set(invalid),
            ..Seen::default()
        }
    }

    /// A wrong answer that is only suspect stays in the table.
    #[test]
    fn what_must_be_invalid_is_not_found_where_it_is_suspect() {
        let finds = Finds::Invalid(&[Code::WrongBody]);
        assert_eq!(finds.named_by(), ["wrong-body (invalid)"]);
        let suspect = seen(&[Code::WrongBody], &[]);
        let withheld = seen(&[Code::WrongBody], &[Code::WrongBody]);
        assert!(!finds.is_in(&suspect) && finds.is_in(&withheld));
        assert!(finds.flags(&suspect), "of a twin it is too much");
        assert!(!finds.flags(&seen(&[Code::EngineLag], &[Code::Starved])));
        let shown = withheld.codes(finds);
        assert_eq!(shown, codes(&["wrong-body", "wrong-body (invalid)"]));
        assert_eq!(suspect.codes(finds), codes(&["wrong-body"]));
    }

    /// The table says what counts, so that a check that was not made is seen to.
    #[test]
    fn a_check_that_may_not_be_made_is_named_both_ways() {
        let finds = Finds::Present(&[Code::AnswerAfter]);
        let names = codes(&["answer-after", "answer-after (not run)"]);
        assert_eq!(finds.named_by().into_iter().collect::<BTreeSet<_>>(), names);
        let unmade = Seen {
            not_run: set(&[Code::AnswerAfter]),
            ..Seen::default()
        };
        assert!(finds.is_in(&unmade));
        assert_eq!(unmade.codes(finds), codes(&["answer-after (not run)"]));
    }

    #[test]
    fn an_overload_is_held_against_the_class_of_its_server() {
        let finds = Finds::Class(&[OverloadClass::Stall, OverloadClass::Metastable]);
        assert_eq!(finds.named_by(), ["class stall", "class metastable"]);
        let seen = |classes: &[OverloadClass]| Seen {
            classes: Some(set(classes)),
            ..Seen::default()
        };
        assert!(finds.is_in(&seen(&[OverloadClass::Queue, OverloadClass::Metastable])));
        assert!(
            !finds.is_in(&seen(&[OverloadClass::Queue]))
                && !finds.flags(&seen(&[OverloadClass::Queue]))
        );
        assert!(!finds.is_in(&Seen::default()), "no overload at all");
        let shown = seen(&[OverloadClass::Queue]).codes(finds);
        assert_eq!(shown, codes(&["class queue"]));
        assert_eq!(seen(&[OverloadClass::Queue]).doubts(), None);
    }

    #[test]
    fn a_set_up_without_a_fault_must_have_no_finding() {
        let check = |seen: &Seen, is_sound: bool| {
            assert_eq!(Finds::Nothing.is_in(seen), is_sound, "{seen:?}");
            assert_eq!(Finds::Nothing.flags(seen), !is_sound, "{seen:?}");
        };
        let noted = Seen {
            noted: set(&[Code::CoLocated]),
            not_run: set(&[Code::RoundsAgree]),
            bottlenecks: set(&[Limiter::CpuBound]),
            ..Seen::default()
        };
        check(&noted, true);
        check(&seen(&[Code::Little], &[]), false);
        // What another program did is no finding of the set-up, and hides none.
        check(&seen(&[Code::Steal, Code::EngineLag], &[]), true);
        check(&seen(&[Code::EngineLag], &[]), false);
        check(&seen(&[Code::Steal, Code::Little], &[]), false);
        let not_run = set(&[Code::EngineLag]);
        check(
            &Seen {
                not_run,
                ..Seen::default()
            },
            false,
        );
        let unequal = set(&[Code::Equal("equal-keep-alive")]);
        check(
            &Seen {
                unequal,
                ..Seen::default()
            },
            false,
        );
    }

    #[test]
    fn doubts_are_of_runs_that_nothing_disturbed() {
        let doubted = seen(&[Code::EngineLag], &[]);
        assert_eq!(doubted.doubts(), Some(codes(&["engine-lag"])));
        assert_eq!(seen(&[], &[]).doubts(), Some(codes(&[])));
        assert_eq!(seen(&[Code::EngineLag, Code::Steal], &[]).doubts(), None);
        assert_eq!(Seen::of_line("code 4\n".to_owned()).doubts(), None);
    }
}
