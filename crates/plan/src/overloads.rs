//! Overload tables become loads, and back.

use std::time::Duration;

use crate::error::PlanError;
use crate::file::{DurationText, OverloadTable, PlanFile};
use crate::load::{Connect, Load, LoadModel};
use crate::model::Plan;
use crate::overload::{Overload, RUNGS_MAX, STEPS_MAX};
use crate::rules::{self, Fault};
use crate::searches::{TableKind, of_tables};
use crate::source::Source;

/// Shares of the capacity that a step may have.
const SHARES: std::ops::RangeInclusive<f64> = 0.05..=20.0;
/// Most of the capacity that counts as below it: before the ramp and after it.
const BELOW: f64 = 0.9;
/// Lengths of a step.
const STEP: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(600);
/// How much longer than what it takes to answer the requests that wait at the turn the way back
/// must be. They are at most as old as a client's patience, and only the share of the capacity that
/// the last step leaves free answers them: with half of it free, two patiences.
const BACK_LEAST: f64 = 2.0;
/// What chance in the last digit may add to a length.
const ROUNDED: f64 = 1e-9;

impl Plan {
    /// Whether it goes beyond capacities: such a plan has overloads in place of loads.
    pub fn is_overload(&self) -> bool {
        self.loads.iter().any(|load| load.overload().is_some())
    }
}

impl Load {
    /// The overload that it is.
    pub fn overload(&self) -> Option<&Overload> {
        match &self.model {
            LoadModel::Overload(overload) => Some(overload),
            _ => None,
        }
    }

    /// The load of an overload: with the length of a step, and the time after which a client gives
    /// up.
    pub fn beyond(overload: Overload, step: Duration, patience: Duration) -> Self {
        Self {
            warmup_s: 1.0,
            timeout_s: patience.as_secs_f64(),
            connect: Connect::AsNeeded,
            ..Self::new(LoadModel::Overload(Box::new(overload)), step.as_secs_f64())
        }
    }
}

/// The loads of a plan's overload tables.
pub(crate) fn overloads(source: &Source<'_>, file: &PlanFile) -> Result<Vec<Load>, PlanError> {
    let kind = TableKind {
        name: "overload",
        key: "clients",
        fix: "two overloads must differ in clients or streams",
    };
    let loads = of_tables(source, &kind, &file.overload, load)?;
    if !(loads.is_empty() || file.load.is_empty() && file.search.is_empty()) {
        return Err(Fault::new(
            "a plan has one of `[[load]]`, `[[search]]` and `[[overload]]`",
            "write several plans",
        )
        .at(source.place("overload")));
    }
    Ok(loads)
}

fn load(table: &OverloadTable) -> Result<Load, (&'static str, Fault)> {
    let overload = Overload {
        steps: table.steps.clone(),
        capacity_per_s: table.capacity,
        arrival: table.arrival,
        clients: table.clients,
        ladder: table.ladder.clone(),
        rung: table.rung.0,
    };
    rules::clients(table.clients).map_err(|fault| ("clients", fault))?;
    rules::streams(table.streams).map_err(|fault| ("streams", fault))?;
    rules::pause("warmup", table.warmup.0).map_err(|fault| ("warmup", fault))?;
    rules::length("patience", table.patience.0).map_err(|fault| ("patience", fault))?;
    overload.check(table.step.0, table.patience.0)?;
    Ok(Load {
        streams: table.streams,
        warmup_s: table.warmup.0.as_secs_f64(),
        ..Load::beyond(overload, table.step.0, table.patience.0)
    })
}

impl Overload {
    /// What is wrong with it, and with which key.
    pub(crate) fn check(
        &self,
        step: Duration,
        patience: Duration,
    ) -> Result<(), (&'static str, Fault)> {
        let steps = |problem: &str, fix: &str| Err(("steps", Fault::new(problem, fix)));
        if !(3..=STEPS_MAX).contains(&self.steps.len()) {
            return steps(
                "`steps` is too short or too long",
                "write 3 to 12 shares of the capacity, such as [0.5, 1.1, 1.4, 2.0, 4.0, 0.5]",
            );
        }
        if !self.steps.iter().all(|share| SHARES.contains(share)) {
            return steps(
                "`steps` has a share out of range",
                "write shares of the capacity from 0.05 to 20",
            );
        }
        let ends = [self.steps.first(), self.steps.last()];
        if ends.into_iter().flatten().any(|share| *share > BELOW) {
            return steps(
                "`steps` begins or ends near the capacity or beyond it",
                "begin and end with at most 0.9, so that there is a load to go back to",
            );
        }
        if let Some(capacity) = self.capacity_per_s {
            rules::rate(capacity).map_err(|fault| ("capacity", fault))?;
        }
        rules::in_range("step", &step, &STEP, "write a time from 1s to 10m")?;
        let last = self.steps.last().copied().unwrap_or(BELOW);
        let most = (1.0 - last) / BACK_LEAST;
        let most_s = step.as_secs_f64() * most * (1.0 + ROUNDED);
        if patience.is_zero() || patience.as_secs_f64() > most_s {
            let percent = |share: f64| (share * 1000.0).round() / 10.0;
            let fix = format!(
                "write at most {} % of `step` where the last step is {} %: what waits at the \
                 turn must be over before the way back ends",
                percent(most),
                percent(last)
            );
            return Err(("patience", Fault::new("`patience` is out of range", fix)));
        }
        if self.ladder.len() > RUNGS_MAX {
            let fault = Fault::new(
                "`ladder` is too long",
                "write at most 16 numbers of clients",
            );
            return Err(("ladder", fault));
        }
        for clients in &self.ladder {
            rules::clients(*clients).map_err(|fault| ("ladder", fault))?;
        }
        let rises = self.ladder.windows(2).all(|pair| pair[0] < pair[1]);
        if !rises {
            let fault = Fault::new("`ladder` does not rise", "write each rung above the last");
            return Err(("ladder", fault));
        }
        rules::in_range("rung", &self.rung, &STEP, "write a time from 1s to 10m")
    }
}

/// The table of a load that is an overload.
pub(crate) fn overload_table(load: &Load) -> Option<OverloadTable> {
    let overload = load.overload()?;
    Some(OverloadTable {
        steps: overload.steps.clone(),
        step: DurationText::of_seconds(load.duration_s),
        capacity: overload.capacity_per_s,
        clients: overload.clients,
        streams: load.streams,
        arrival: overload.arrival,
        patience: DurationText::of_seconds(load.timeout_s),
        warmup: DurationText::of_seconds(load.warmup_s),
        ladder: overload.ladder.clone(),
        rung: DurationText(overload.rung),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Arrival;

    /// The less the last step leaves free, the longer it takes to answer what waits.
    #[test]
    fn the_patience_has_a_limit_that_goes_by_the_last_step() {
        let check = |last: f64, patience_ms: u64| {
            let overload = Overload {
                steps: vec![0.5, 2.0, last],
                capacity_per_s: None,
                arrival: Arrival::Poisson,
                clients: 100,
                ladder: Vec::new(),
                rung: Duration::from_secs(1),
            };
            let patience = Duration::from_millis(patience_ms);
            let checked = overload.check(Duration::from_secs(4), patience);
            checked.map_err(|(key, fault)| format!("{key}: {}", fault.fix))
        };
        for (last, most_ms) in [(0.2, 1600), (0.5, 1000), (0.8, 400), (0.9, 200)] {
            assert_eq!(check(last, most_ms), Ok(()), "{last}");
            assert!(check(last, most_ms + 1).is_err(), "{last}");
        }
        let wrong = check(0.9, 201).unwrap_err();
        let expected = "patience: write at most 5 % of `step` where the last step is 90 %";
        assert!(wrong.starts_with(expected), "{wrong}");
    }
}
