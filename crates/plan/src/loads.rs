//! Load tables become [`Load`]s, one for each number of clients.

use std::collections::HashSet;
use std::time::Duration;

use crate::error::PlanError;
use crate::file::{ClientsText, LoadTable};
use crate::model::{Arrival, Connect, Load, LoadModel, Plan};
use crate::rules::{self, Fault};
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
            return Err(PlanError::Conflict {
                place: at("warmup"),
                problem: "`warmup` beside `requests`: the first requests of so many are measured"
                    .to_owned(),
                mend: "take one of them out".to_owned(),
            });
        }
        if table.rate.is_some() && table.connect == Some(Connect::AsNeeded) {
            return Err(PlanError::Conflict {
                place: at("connect"),
                problem: "`connect` is as-needed beside `rate`: an open loop sends by the clock, \
                          so its connections must be there first"
                    .to_owned(),
                mend: "take one of them out".to_owned(),
            });
        }
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
            };
            if !labels.insert(load.label()) {
                return Err(PlanError::Duplicate {
                    place: at("clients"),
                    what: "load",
                    name: load.label(),
                    mend: "two loads must differ in clients, streams, requests, rate, arrival or \
                           connect"
                        .to_owned(),
                });
            }
            loads.push(load);
        }
    }
    Ok(loads)
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
    if table.arrival.is_some() && table.rate.is_none() {
        return Err(PlanError::Conflict {
            place: at("arrival"),
            problem: "`arrival` without `rate`: a closed loop has no gaps to choose".to_owned(),
            mend: "add a rate, such as `rate = 500`, or take `arrival` out".to_owned(),
        });
    }
    let counts = match (&table.clients, table.rate) {
        (Some(ClientsText::One(clients)), _) => vec![*clients],
        (Some(ClientsText::Each(list)), _) => list.clone(),
        (None, Some(_)) => vec![OPEN_CLIENTS],
        (None, None) => {
            let mend =
                "write `clients = [10, 200]` for a closed loop or `rate = 500` for an open one";
            return Err(Fault::new("this load has neither `clients` nor `rate`", mend).at(at("")));
        }
    };
    let model = |clients| match table.rate {
        None => LoadModel::Closed { clients },
        Some(rate_per_s) => {
            let arrival = table.arrival.unwrap_or(Arrival::Poisson);
            LoadModel::Open {
                rate_per_s,
                arrival,
                clients,
            }
        }
    };
    Ok(counts.into_iter().map(model).collect())
}
