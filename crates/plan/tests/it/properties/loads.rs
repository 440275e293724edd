//! Any loads, and any searches, overloads and changes.

use std::time::Duration;

use bakeoff_plan::{Action, Actions, Arrival, Connect, Load, LoadModel, Overload, Search, goals};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::subsequence;

use super::{duration, seconds};

fn load(index: u32) -> impl Strategy<Value = Load> {
    // Clients differ from load to load, so labels do.
    let clients = (1..1000_u32).prop_map(move |clients| clients * 4 + index);
    let arrival = prop_oneof![Just(Arrival::Constant), Just(Arrival::Poisson)];
    let rate = prop_oneof![0.001..1e7, (1..1_000_000_u32).prop_map(f64::from)];
    // The first load is a closed loop, so that there is a capacity to take a share of.
    let open = option::of((rate, arrival, option::of(0.01..10.0)));
    let model = (clients, open).prop_map(move |(clients, open)| match open {
        Some((rate_per_s, arrival, None)) if index > 0 => LoadModel::Open {
            rate_per_s,
            arrival,
            clients,
        },
        Some((_, arrival, Some(capacity_share))) if index > 0 => LoadModel::OpenShare {
            capacity_share,
            arrival,
            clients,
        },
        _ => LoadModel::Closed { clients },
    });
    let requests = option::of(1..=1_000_000_000_u64);
    (
        model,
        1..=1000_u32,
        requests,
        seconds(0),
        seconds(1),
        seconds(1),
        any::<bool>(),
    )
        .prop_map(
            |(model, streams, requests, warmup_s, duration_s, timeout_s, first)| Load {
                connect: match model {
                    LoadModel::Closed { .. } if !first => Connect::AsNeeded,
                    _ => Connect::First,
                },
                model,
                streams,
                requests,
                warmup_s: if requests.is_some() { 0.0 } else { warmup_s },
                duration_s,
                timeout_s,
                actions: None,
            },
        )
}

/// A change number `index`, which differs from the others in its clients.
fn changed(index: u32) -> impl Strategy<Value = Load> {
    let action = prop::sample::select(&Action::ALL[..]);
    let arrival = prop_oneof![Just(Arrival::Constant), Just(Arrival::Poisson)];
    (
        action,
        arrival,
        1..=100_u32,
        1_000..=60_000_u64,
        0.0..=1.0_f64,
        0.001..1e7,
    )
        .prop_map(
            move |(action, arrival, times, every_ms, kept, rate_per_s)| {
                let every = Duration::from_millis(every_ms);
                let actions = Actions {
                    action,
                    times,
                    every,
                    kept,
                };
                let clients = 10 + index;
                let model = LoadModel::Open {
                    rate_per_s,
                    arrival,
                    clients,
                };
                Load {
                    warmup_s: 1.0,
                    timeout_s: 5.0,
                    ..Load::new(model, actions.window().as_secs_f64()).with_actions(actions)
                }
            },
        )
}

/// A load whose rate is sought.
fn sought(index: u32) -> impl Strategy<Value = Load> {
    let objectives = subsequence(vec!["p99<10ms", "p99.9<1s", "p50<250us"], 0..=2);
    let errors = subsequence(vec![0.0, 0.001, 0.5, 12.5], 1..=3);
    let arrival = prop_oneof![Just(Arrival::Constant), Just(Arrival::Poisson)];
    let shares = (0.0..=0.9_f64, 0.001..=0.5_f64, vec(0.01..=1.0_f64, 0..5));
    let times = (1_000..=600_000_u64, 0..=600_000_u64, duration(1));
    (
        objectives,
        errors,
        arrival,
        shares,
        times,
        1..1000_u32,
        1..=1000_u32,
    )
        .prop_map(
            move |(objectives, errors, arrival, shares, times, clients, streams)| {
                let objectives: Vec<_> = objectives.iter().map(|it| it.parse().unwrap()).collect();
                let (exceed, width, curve) = shares;
                let (trial_ms, confirm_ms, budget) = times;
                let trial = Duration::from_millis(trial_ms);
                let search = Search {
                    goals: goals(&objectives, &errors),
                    arrival,
                    clients: clients * 4 + index,
                    sum: trial * 6,
                    exceed,
                    width,
                    budget,
                    confirm: Duration::from_millis(confirm_ms),
                    curve,
                };
                Load {
                    streams,
                    ..Load::sought(search, trial, Duration::from_millis(confirm_ms))
                }
            },
        )
}

/// An overload number `index`, which differs from the others in its clients.
fn beyond(index: u32) -> impl Strategy<Value = Load> {
    let between = vec(0.05..20.0_f64, 1..9);
    (
        between,
        option::of(0.001..1e6_f64),
        1..100_u32,
        4_000..600_000_u64,
    )
        .prop_map(move |(between, capacity_per_s, rungs, step_ms)| {
            let overload = Overload {
                steps: std::iter::once(0.5).chain(between).chain([0.9]).collect(),
                capacity_per_s,
                arrival: Arrival::Poisson,
                clients: 10 + index,
                ladder: (1..rungs % 8).map(|rung| rung * 7).collect(),
                rung: Duration::from_millis(step_ms),
            };
            let step = Duration::from_millis(step_ms);
            Load::beyond(overload, step, step / 20)
        })
}

/// Loads, or searches, overloads or changes in their place.
pub(super) fn loads() -> impl Strategy<Value = Vec<Load>> {
    let loads = (1..4_u32).prop_flat_map(|n| (0..n).map(load).collect::<Vec<_>>());
    let searches = (1..3_u32).prop_flat_map(|n| (0..n).map(sought).collect::<Vec<_>>());
    let overloads = (1..3_u32).prop_flat_map(|n| (0..n).map(beyond).collect::<Vec<_>>());
    let changes = (1..3_u32).prop_flat_map(|n| (0..n).map(changed).collect::<Vec<_>>());
    prop_oneof![3 => loads, 1 => searches, 1 => overloads, 1 => changes]
}
