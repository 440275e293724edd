//! What a campaign is compared with when it has ended: gates, a baseline, conditions.

use std::path::Path;

use bakeoff_plan::Plan;
use bakeoff_record::{Machine, Record, shell_path, shell_word};
use bakeoff_report::{
    Compare, CompareError, Condition, Course, Gates, Redacted, Ruling, Undecidable, awaits_rounds,
    baseline_mismatches, compare_across, compare_text, compare_within, conditions_of,
    contenders_of, fits, undecidable, widest,
};

use crate::commands::compare::{exit_code, is_of_same_campaign, refuse_without_rounds};
use crate::commands::report::{name_of, redacted, text_options_of};
use crate::flags::GateFlags;
use crate::{exit, output};

/// Rows of a screen whose size nobody knows, such as the log of a build.
const ROWS: usize = 24;

/// What a campaign is held against.
#[derive(Default)]
pub(super) struct Gated {
    gates: Option<Gates>,
    conditions: Vec<Condition>,
    baseline: Option<(Redacted, Option<String>)>,
    /// The flags that say so, as the end of a command line.
    arguments: String,
}

impl Gated {
    /// As flags say it. A baseline is read before anything is measured; it is not the record that
    /// `goes_on`, nor a copy of it, because that comparison could not fail.
    pub(super) fn of(
        flags: &GateFlags,
        baseline: Option<&Path>,
        goes_on: Option<&Record>,
    ) -> anyhow::Result<Self> {
        let read = |path: &Path| -> anyhow::Result<_> {
            let record = Record::read(path).map_err(crate::commands::folder_error)?;
            refuse_without_rounds(&record, path)?;
            if goes_on.is_some_and(|going_on| is_of_same_campaign(&record, going_on)) {
                return Err(exit::usage(format!(
                    "--baseline {} is of the campaign that goes on; name an earlier record",
                    path.display()
                )));
            }
            Ok((redacted(record, false), name_of(path)))
        };
        Ok(Self {
            arguments: arguments(flags, baseline),
            gates: flags.gate.clone(),
            conditions: flags.conditions.fail_if.clone(),
            baseline: baseline.map(read).transpose()?,
        })
    }

    /// The flags that say so, as the end of a command line; empty without any.
    pub(super) fn arguments(&self) -> &str {
        &self.arguments
    }

    /// What decides whether a campaign goes on: with a stopping rule how far intervals reach, and
    /// without one whether rounds are awaited, where there is no width.
    pub(super) fn widest(&self, record: &Record) -> Option<f64> {
        if record.plan.until.is_none() {
            return (!awaits_rounds(record)).then_some(0.0);
        }
        widest(record)
    }

    /// The trials of a campaign that time ends: until its gates are decided, where it has some.
    pub(super) fn course(&self) -> Course {
        match (&self.gates, &self.baseline) {
            (Some(gates), None) => Course::of_gates(gates.clone()),
            _ => Course::default(),
        }
    }

    /// Refuses gates and conditions that no load of the plan has a number for.
    pub(super) fn refuse_what_fits_nothing(&self, plan: &Plan) -> anyhow::Result<()> {
        if self.gates.is_some() && self.baseline.is_some() && plan.budget.is_some() {
            return Err(exit::usage(
                "--gate against a --baseline is decided by rounds, and the plan ends when its own \
                 differences are decided, or by time; add --rounds 10, or --until 5%",
            ));
        }
        let is_asked = self.gates.is_some() || !self.conditions.is_empty();
        let question = plan.question();
        if is_asked && !question.has_rounds() {
            return Err(exit::usage(format!(
                "--gate and --fail-if are for plans with rounds, and this one is {}; leave them \
                 out, or measure a fixed load",
                question.name()
            )));
        }
        let fits_nothing = |condition: &&Condition| {
            let mut loads = plan.loads.iter();
            loads.all(|load| condition.is_given_by(&load.model))
        };
        if let Some(condition) = self.conditions.iter().find(fits_nothing) {
            return Err(exit::usage(format!(
                "the condition `{condition}` fits no load here: in an open loop the rate is the \
                 one that was asked for; hold it against a closed loop, with --clients"
            )));
        }
        match (&self.gates, &self.baseline) {
            (Some(gates), Some(_)) => fits_across(gates, plan)?,
            (Some(_), None) if plan.contenders.len() < 2 => {
                return Err(exit::usage(
                    "--gate holds contenders against the first one, and the plan has one alone; \
                     name a second --contender, or a record with --baseline",
                ));
            }
            (Some(gates), None) => fits(gates, plan).map_err(exit::usage)?,
            (None, _) => {}
        }
        self.refuse_what_is_never_decided(plan)
    }

    /// Refuses what no record of the plan could decide.
    fn refuse_what_is_never_decided(&self, plan: &Plan) -> anyhow::Result<()> {
        let mut compared = plan.clone();
        if self.baseline.is_some() {
            compared.loads.retain(|load| !load.model.is_share());
        }
        let gates = self.gates.clone().unwrap_or_default();
        if let Some((what, why)) = undecidable(&compared, &gates, &self.conditions) {
            return Err(exit::usage(format!("{what} can never be decided: {why}")));
        }
        let baseline = self.baseline.as_ref().filter(|_| !gates.is_empty());
        let rounds = baseline.map(|(baseline, _)| baseline.record().rounds_begun());
        match rounds.and_then(Undecidable::of_rounds) {
            Some(why) => Err(exit::usage(format!(
                "--baseline can decide no gate: {why}; name a record with more rounds"
            ))),
            None => Ok(()),
        }
    }

    /// Refuses a baseline from another machine or of another plan, or one that no yardstick could
    /// be held beside.
    pub(super) fn refuse_unlike(&self, machine: &Machine, plan: &Plan) -> anyhow::Result<()> {
        let Some((baseline, _)) = &self.baseline else {
            return Ok(());
        };
        let found = baseline_mismatches(baseline, machine, plan);
        if found.is_empty() {
            return Ok(());
        }
        let found: Vec<String> = found
            .iter()
            .map(|one| format!("\n  {}: {}", one.what, one.text))
            .collect();
        Err(exit::usage(format!(
            "this campaign could not be compared with --baseline, because they differ in:{}\n\
             measure both in one campaign, such as `bakeoff race A B`, or name another baseline",
            found.concat()
        )))
    }

    /// Says what the record comes to and returns the exit code, or `otherwise` where it is fine.
    pub(super) fn conclude(&self, path: &Path, otherwise: u8) -> anyhow::Result<u8> {
        if self.gates.is_none() && self.conditions.is_empty() {
            return Ok(otherwise);
        }
        let record = redacted(
            Record::read(path).map_err(crate::commands::folder_error)?,
            false,
        );
        let mut ruling = Ruling::Passed;
        if let Some(gates) = &self.gates {
            match self.compare(&record, path, gates) {
                Ok(compare) => {
                    // A note is escaped, so it has no colours.
                    let text = compare_text(&compare, text_options_of(false));
                    let rows = output::drawing_size().map_or(ROWS, |(_, rows)| rows);
                    let text = with_its_end(text.trim_end(), &compare.text, rows);
                    output::note(&format!("\n{text}"));
                    ruling = compare.ruling;
                }
                // It was measured, and shows nothing.
                Err(error) => {
                    output::note(&format!("cannot tell: {error}"));
                    ruling = Ruling::CannotTell;
                }
            }
        }
        let conditions = conditions_of(&record, &self.conditions);
        conditions.lines.iter().for_each(|line| output::note(line));
        Ok(worse_of(ruling.max(conditions.ruling), otherwise))
    }

    fn compare(
        &self,
        record: &Redacted,
        path: &Path,
        gates: &Gates,
    ) -> Result<Compare, CompareError> {
        let mut compare = match &self.baseline {
            Some((baseline, _)) => compare_across(baseline, record, gates, false)?,
            None => {
                let names = contenders_of(record);
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let (first, seconds) = names.split_first().unwrap_or((&"", &[]));
                compare_within(record, first, seconds, gates)?
            }
        };
        compare.second.record = name_of(path);
        compare.first.record = match &self.baseline {
            Some((_, name)) => name.clone(),
            None => compare.second.record.clone(),
        };
        Ok(compare)
    }
}

/// Refuses gates that fit nothing that is compared with a baseline.
fn fits_across(gates: &Gates, plan: &Plan) -> anyhow::Result<()> {
    let mut compared = plan.clone();
    compared.loads.retain(|load| !load.model.is_share());
    fits(gates, &compared).map_err(|error| match fits(gates, plan) {
        Ok(()) => exit::usage(format!(
            "{error}; with --baseline, loads at a share of the capacity are not compared, because \
             each campaign finds a rate of its own"
        )),
        Err(error) => exit::usage(error),
    })
}

/// A text that begins with the verdict, and ends with it too where its tables fill a screen: then
/// the beginning is out of sight.
fn with_its_end(text: &str, verdict: &str, rows: usize) -> String {
    // The prompt takes a row.
    if text.lines().count() < rows {
        text.to_owned()
    } else {
        format!("{text}\n\n{verdict}")
    }
}

fn arguments(flags: &GateFlags, baseline: Option<&Path>) -> String {
    let mut text = String::new();
    if let Some(gates) = &flags.gate {
        text += &format!(" --gate {}", shell_word(&gates.to_string()));
    }
    for condition in &flags.conditions.fail_if {
        text += &format!(" --fail-if {}", shell_word(&condition.to_string()));
    }
    if let Some(baseline) = baseline {
        text += &format!(" --baseline {}", shell_path(baseline));
    }
    text
}

/// A breach is shown by numbers that are valid, whatever others are; what is not decided and what
/// is not valid end alike.
pub(super) fn worse_of(ruling: Ruling, otherwise: u8) -> u8 {
    match exit_code(ruling) {
        exit::DONE => otherwise,
        code => code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_that_scrolls_away_is_said_again() {
        let verdict = "breached: b against a: 1 of 3 gates";
        let text = format!("{verdict}\n  rate of html-small, c50: 25 % worse\n\nhtml-small, c50");
        assert_eq!(with_its_end(&text, verdict, 24), text);
        assert_eq!(with_its_end(&text, verdict, 5), text);
        let again = with_its_end(&text, verdict, 4);
        assert_eq!(again, format!("{text}\n\n{verdict}"));
    }
}
