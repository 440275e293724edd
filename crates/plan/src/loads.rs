//! Load tables become [`Load`]s, one for each number of clients.

use std::collections::HashSet;
use std::time::Duration;

use crate::error::PlanError;
use crate::file::{ClientsText, LoadTable};
use crate::load::{Connect, Load, LoadModel};
use crate::model::Plan;
use crate::rules::{self, Fault};
use crate::schedule::Arrival;
use crate::source::Source;

/// Connections of an open loop that does not say how many.
const OPEN_CLIENTS: u32 = 50;
/// Warm-up of a load by time that does not say how long.
const WARMUP: Duration = Duration::from_secs(1);

/// Every load of a plan's tables.
pub(crate) fn loads(source: &Source<'_>, tables: &[LoadTable]) -> Result<Vec<Load>, PlanError> {
    let mut loads: Vec<Load> = Vec::new();
    let mut labels = HashSet::new();
    for (index, table) in tables.iter().enumerate() {
        let at = |key: &str| source.place(&format!("load.{index}.{key}"));
        let warmup = warmup(table);
        rules::length("duration", table.duration.0).map_err(|fault| fault.at(at("duration")))?;
        rules::pause("warmup", warmup).map_err(|fault| fault.at(at("warmup")))?;
        rules::length("timeout", table.timeout.0).map_err(|fault| fault.at(at("timeout")))?;
        if table.requests.is_some() && !warmup.is_zero() {
            return Err(Fault::new(
                "`warmup` beside `requests`: the first requests of so many are measured",
                "take one of them out",
            )
            .at(at("warmup")));
        }
        open_loop(table).map_err(|(key, problem, fix)| Fault::new(problem, fix).at(at(key)))?;
        for model in models(source, index, table)? {
            let usual = Connect::usual(&model, table.requests.is_some());
            let load = Load {
                model,
                streams: table.streams,
                requests: table.requests,
                warmup_s: warmup.as_secs_f64(),
                duration_s: table.duration.0.as_secs_f64(),
                timeout_s: table.timeout.0.as_secs_f64(),
                connect: table.connect.unwrap_or(usual),
                actions: None,
            };
            if !labels.insert(load.label()) {
                let fix = "two loads must differ in clients, streams, requests, rate, \
                           capacity_share, arrival or connect";
                return Err(PlanError::twice(at("clients"), "load", &load.label(), fix));
            }
            loads.push(load);
        }
    }
    Ok(loads)
}

impl Load {
    /// What is wrong with its search, its overload or its actions: flags may have changed them, and
    /// of a plan that was stored anything may stand there.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        let span = |s: f64| Duration::try_from_secs_f64(s).unwrap_or(Duration::ZERO);
        let duration = span(self.duration_s);
        let checked = match (&self.model, &self.actions) {
            (LoadModel::Sought(search), _) => search.check(duration),
            (LoadModel::Overload(overload), _) => overload.check(duration, span(self.timeout_s)),
            (_, Some(actions)) => actions.check(),
            (_, None) => Ok(()),
        };
        checked.map_err(|(_, fault)| fault)
    }
}

/// What is wrong with a rate and a share of the capacity in one table.
pub(crate) const TWO_RATES: &str =
    "`rate` and `capacity_share` both say how many requests are sent";

/// What contradicts each other in an open loop: the key, the problem and what to do.
fn open_loop(table: &LoadTable) -> Result<(), (&'static str, &'static str, &'static str)> {
    let one = "take one of them out";
    if table.rate.is_some() && table.capacity_share.is_some() {
        return Err(("capacity_share", TWO_RATES, one));
    }
    let is_open = table.rate.is_some() || table.capacity_share.is_some();
    if is_open && table.connect == Some(Connect::AsNeeded) {
        let problem = "`connect` is as-needed in an open loop, which sends by the clock, so its \
                       connections must be there first";
        return Err(("connect", problem, one));
    }
    if table.arrival.is_some() && !is_open {
        let problem = "`arrival` without `rate`: a closed loop has no gaps to choose";
        let fix = "add a rate, such as `rate = 500`, or take `arrival` out";
        return Err(("arrival", problem, fix));
    }
    Ok(())
}

/// Refuses a share of a capacity that nothing measures.
pub(crate) fn check_shares(loads: &[Load]) -> Result<(), Fault> {
    let needs = loads.iter().any(|load| load.model.is_share());
    if !needs || loads.iter().any(|load| !load.model.is_open()) {
        return Ok(());
    }
    Err(Fault::new(
        "`capacity_share` is a share of what a closed loop shows, and the plan has none",
        "add one, such as `[[load]]` with `clients = 50`",
    ))
}

/// Refuses several streams on connections that carry one request at a time.
pub(crate) fn check_streams(plan: &Plan) -> Result<(), Fault> {
    let many = plan.loads.iter().map(|load| load.streams).max();
    let Some(streams) = many.filter(|streams| *streams > 1) else {
        return Ok(());
    };
    let one = plan.workloads.iter().find(|it| !it.protocol.has_streams());
    one.map_or(Ok(()), |workload| {
        let (name, protocol) = (&workload.name, workload.protocol.name());
        Err(Fault::new(
            format!("`streams` is {streams}, and workload `{name}` is asked over {protocol}"),
            "ask over h2, h2c or h3, such as `protocols = [\"h2\"]`, or write `streams = 1`",
        ))
    })
}

fn warmup(table: &LoadTable) -> Duration {
    let left_out = if table.requests.is_some() {
        Duration::ZERO
    } else {
        WARMUP
    };
    table.warmup.map_or(left_out, |warmup| warmup.0)
}

fn models(
    source: &Source<'_>,
    index: usize,
    table: &LoadTable,
) -> Result<Vec<LoadModel>, PlanError> {
    let at = |key: &str| source.place(&format!("load.{index}.{key}"));
    let arrival = table.arrival.unwrap_or(Arrival::Poisson);
    let is_open = table.rate.is_some() || table.capacity_share.is_some();
    let counts = match &table.clients {
        Some(ClientsText::One(clients)) => vec![*clients],
        Some(ClientsText::Each(list)) => list.clone(),
        None if is_open => vec![OPEN_CLIENTS],
        None => {
            let fix =
                "write `clients = [10, 200]` for a closed loop or `rate = 500` for an open one";
            return Err(Fault::new("this load has neither `clients` nor `rate`", fix).at(at("")));
        }
    };
    let model = |clients| match (table.rate, table.capacity_share) {
        (Some(rate_per_s), _) => LoadModel::Open {
            rate_per_s,
            arrival,
            clients,
        },
        (None, Some(capacity_share)) => LoadModel::OpenShare {
            capacity_share,
            arrival,
            clients,
        },
        (None, None) => LoadModel::Closed { clients },
    };
    Ok(counts.into_iter().map(model).collect())
}
