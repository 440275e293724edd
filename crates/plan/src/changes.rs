//! Change tables become loads in which actions are carried out, and back.

use crate::action::Actions;
use crate::error::PlanError;
use crate::file::{ChangeTable, DurationText, PlanFile};
use crate::load::{Load, LoadModel};
use crate::model::Plan;
use crate::rules::{self, Fault};
use crate::searches::{TableKind, of_tables};
use crate::source::Source;

impl Plan {
    /// Whether something is done to its servers under load: such a plan has changes in place of
    /// loads.
    pub fn is_change(&self) -> bool {
        self.loads.iter().any(|load| load.actions.is_some())
    }
}

/// The loads of a plan's change tables.
pub(crate) fn changes(source: &Source<'_>, file: &PlanFile) -> Result<Vec<Load>, PlanError> {
    let kind = TableKind {
        name: "change",
        key: "action",
        fix: "two changes must differ in action, times, kept, rate, clients or streams",
    };
    let loads = of_tables(source, &kind, &file.change, load)?;
    let others = [
        !file.load.is_empty(),
        !file.search.is_empty(),
        !file.overload.is_empty(),
    ];
    if !loads.is_empty() && others.contains(&true) {
        return Err(Fault::new(
            "a plan has one of `[[load]]`, `[[search]]`, `[[overload]]` and `[[change]]`",
            "write several plans",
        )
        .at(source.place("change")));
    }
    Ok(loads)
}

fn load(table: &ChangeTable) -> Result<Load, (&'static str, Fault)> {
    rules::rate(table.rate).map_err(|fault| ("rate", fault))?;
    rules::clients(table.clients).map_err(|fault| ("clients", fault))?;
    rules::streams(table.streams).map_err(|fault| ("streams", fault))?;
    rules::pause("warmup", table.warmup.0).map_err(|fault| ("warmup", fault))?;
    rules::length("timeout", table.timeout.0).map_err(|fault| ("timeout", fault))?;
    let actions = Actions {
        action: table.action,
        times: table.times,
        every: table.every.0,
        kept: table.kept,
    };
    actions.check()?;
    let model = LoadModel::Open {
        rate_per_s: table.rate,
        arrival: table.arrival,
        clients: table.clients,
    };
    Ok(Load {
        streams: table.streams,
        warmup_s: table.warmup.0.as_secs_f64(),
        timeout_s: table.timeout.0.as_secs_f64(),
        ..Load::new(model, actions.window().as_secs_f64()).with_actions(actions)
    })
}

/// The table of a load in which something is done.
pub(crate) fn change_table(load: &Load) -> Option<ChangeTable> {
    let actions = load.actions.as_ref()?;
    let LoadModel::Open {
        rate_per_s,
        arrival,
        clients,
    } = load.model
    else {
        return None;
    };
    Some(ChangeTable {
        action: actions.action,
        times: actions.times,
        every: DurationText(actions.every),
        rate: rate_per_s,
        arrival,
        clients,
        streams: load.streams,
        kept: actions.kept,
        warmup: DurationText::of_seconds(load.warmup_s),
        timeout: DurationText::of_seconds(load.timeout_s),
    })
}
