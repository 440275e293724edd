//! Change tables become loads in which actions are carried out, and back.

use crate::action::Actions;
use crate::error::PlanError;
use crate::file::{ChangeTable, DurationText, PlanFile};
use crate::load::{Load, LoadModel};
use crate::loads::TWO_RATES;
use crate::model::Plan;
use crate::rules::{self, Fault};
use crate::searches::{TableKind, of_tables};
use crate::source::Source;

/// Requests per second, of a change that says nothing of them.
pub const CHANGE_RATE: f64 = 1000.0;
/// Shares of a capacity at which something may be done.
const SHARES: std::ops::RangeInclusive<f64> = 0.01..=1.0;
/// How long the closed loop is that shows the capacity, seconds, and the time before it.
const CAPACITY_S: (f64, f64) = (2.0, 1.0);

impl Plan {
    /// Whether something is done to its servers under load: such a plan has changes in place of
    /// loads.
    pub fn is_change(&self) -> bool {
        self.loads.iter().any(|load| load.actions.is_some())
    }
}

/// The closed loop that shows the capacity which changes have a share of: none of them needs one
/// where each has a rate.
fn capacity_of(changes: &[Load]) -> Option<Load> {
    let shares = changes.iter().filter(|load| load.model.is_share());
    let most = shares.max_by_key(|load| load.clients() * load.streams)?;
    let clients = most.clients();
    let (duration_s, warmup_s) = CAPACITY_S;
    Some(Load {
        streams: most.streams,
        warmup_s,
        ..Load::new(LoadModel::Closed { clients }, duration_s)
    })
}

/// The loads of a plan's change tables.
pub(crate) fn changes(source: &Source<'_>, file: &PlanFile) -> Result<Vec<Load>, PlanError> {
    let kind = TableKind {
        name: "change",
        key: "action",
        fix: "two changes must differ in action, times, kept, rate, capacity_share, clients or \
              streams",
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
    Ok(capacity_of(&loads).into_iter().chain(loads).collect())
}

fn load(table: &ChangeTable) -> Result<Load, (&'static str, Fault)> {
    let model = model(table)?;
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
    Ok(Load {
        streams: table.streams,
        warmup_s: table.warmup.0.as_secs_f64(),
        timeout_s: table.timeout.0.as_secs_f64(),
        ..Load::new(model, actions.window().as_secs_f64()).with_actions(actions)
    })
}

fn model(table: &ChangeTable) -> Result<LoadModel, (&'static str, Fault)> {
    let (arrival, clients) = (table.arrival, table.clients);
    let Some(capacity_share) = table.capacity_share else {
        let rate_per_s = table.rate.unwrap_or(CHANGE_RATE);
        rules::rate(rate_per_s).map_err(|fault| ("rate", fault))?;
        return Ok(LoadModel::Open {
            rate_per_s,
            arrival,
            clients,
        });
    };
    if table.rate.is_some() {
        let fault = Fault::new(TWO_RATES, "take one of them out");
        return Err(("capacity_share", fault));
    }
    let fix = "write a share from 0.01 to 1";
    rules::in_range("capacity_share", &capacity_share, &SHARES, fix)?;
    Ok(LoadModel::OpenShare {
        capacity_share,
        arrival,
        clients,
    })
}

/// The table of a load in which something is done.
pub(crate) fn change_table(load: &Load) -> Option<ChangeTable> {
    let actions = load.actions.as_ref()?;
    let (rate, capacity_share) = match load.model {
        LoadModel::OpenShare { capacity_share, .. } => (None, Some(capacity_share)),
        _ => (load.model.rate_per_s(), None),
    };
    Some(ChangeTable {
        action: actions.action,
        times: actions.times,
        every: DurationText(actions.every),
        rate,
        capacity_share,
        arrival: load.model.arrival()?,
        clients: load.clients(),
        streams: load.streams,
        kept: actions.kept,
        warmup: DurationText::of_seconds(load.warmup_s),
        timeout: DurationText::of_seconds(load.timeout_s),
    })
}
