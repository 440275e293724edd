//! `bakeoff overload`: what each contender does beyond its capacity, and on the way back.
//!
//! The operands are those of a race; what is made of them is a plan with an overload, which is
//! carried out, recorded and continued like any other.

use std::time::Duration;

use bakeoff_load::check_clients;
use bakeoff_plan::{Load, Overload, Plan, Question};
use bakeoff_report::share;

use super::made::{self, Asked, Kind};
use crate::flags::OverloadFlags;
use crate::library::Folder;
use crate::output;

/// Lengths of steps and of rungs, and repetitions; the second of each is for a first look.
const STEP: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(4)];
const RUNG: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(2)];
const WARMUP: [Duration; 2] = [Duration::from_secs(1), Duration::from_millis(500)];
const ROUNDS: [u32; 2] = [3, 1];
/// A client gives up after so long, or after such a part of a step, times the share of the capacity
/// that the last one leaves free, where that is shorter. What waits when the load goes back is as
/// old at the most, and is over long before the step is.
const PATIENCE: Duration = Duration::from_secs(5);
const PATIENCE_OF_STEP: f64 = 0.25;
/// What a last step leaves free at the least; a plan with less is refused.
const FREE_LEAST: f64 = 0.1;

/// An overload, as the command line asks for one.
const OVERLOAD: Kind = Kind {
    question: Question::Overload,
    name: "overload",
    without_contenders: "an overload needs a contender: a URL, a server, a configuration file or \
                         --start 'COMMAND', as in `bakeoff overload nginx caddy`",
    announce,
};

pub(crate) fn carry_out(flags: &OverloadFlags) -> anyhow::Result<u8> {
    let plan = |library: &Folder| plan(flags, library);
    OVERLOAD.carry_out(&flags.operands, &flags.record, plan, |_| {})
}

/// What it will do, and what this machine cannot.
fn announce(plan: &Plan) {
    for (load, overload) in overloads(plan) {
        let asked = asking(plan.contenders.len(), &made::names(plan), load, overload);
        output::note(&format!("{asked}; Ctrl-C keeps what was measured"));
        for clients in &overload.ladder {
            if let Err(shortage) = check_clients(*clients, 1) {
                output::note(&format!(
                    "the ladder ends before {clients} clients: {shortage}"
                ));
                break;
            }
        }
    }
}

/// What contenders of these names are asked for.
fn asking(contenders: usize, names: &str, load: &Load, overload: &Overload) -> String {
    let steps = overload.steps.iter();
    let steps: Vec<String> = steps.map(|it| format!("{} %", share(*it))).collect();
    let each = if contenders > 1 { "each of " } else { "" };
    let whole = match overload.capacity_per_s {
        Some(capacity) => format!("{capacity} requests/s"),
        None => "its capacity".to_owned(),
    };
    let (steps, step_s) = (steps.join(", "), load.duration_s);
    format!("asking {each}{names} for {steps} of {whole}, {step_s} s each")
}

fn overloads(plan: &Plan) -> impl Iterator<Item = (&Load, &Overload)> {
    let loads = plan.loads.iter();
    loads.filter_map(|load| Some((load, load.overload()?)))
}

fn plan(flags: &OverloadFlags, library: &Folder) -> anyhow::Result<Plan> {
    let ramp = &flags.ramp;
    let usual = usize::from(ramp.quick);
    let asked = Asked {
        clients: ramp.clients,
        streams: ramp.streams,
        rounds: ramp.rounds.unwrap_or(ROUNDS[usual]),
        seed: ramp.seed,
        pinning: &ramp.pinning,
    };
    OVERLOAD.plan(&flags.operands, &asked, library, |plan| {
        plan.description = format!("{} beyond their capacity and back.", made::names(plan));
        Ok(vec![load(flags)])
    })
}

fn load(flags: &OverloadFlags) -> Load {
    let (ramp, ladder) = (&flags.ramp, &flags.ladder);
    let usual = usize::from(ramp.quick);
    let step = ramp.step.unwrap_or(STEP[usual]);
    let patience = ramp
        .patience
        .unwrap_or_else(|| usual_patience(step, &ramp.steps));
    let overload = Overload {
        steps: ramp.steps.clone(),
        capacity_per_s: ramp.capacity,
        arrival: ramp.arrival.ready(),
        clients: ramp.clients,
        ladder: ladder.ladder.clone(),
        rung: ladder.rung.unwrap_or(RUNG[usual]),
    };
    let warmup = ladder.warmup.unwrap_or(WARMUP[usual]);
    Load {
        warmup_s: warmup.as_secs_f64(),
        ..Load::beyond(overload, step, patience)
    }
}

/// The time after which a client gives up, where none is asked for.
fn usual_patience(step: Duration, steps: &[f64]) -> Duration {
    let last = steps.last().copied().unwrap_or(0.0);
    let free = (1.0 - last).clamp(FREE_LEAST, 1.0);
    PATIENCE.min(step.mul_f64(PATIENCE_OF_STEP * free))
}

#[cfg(test)]
mod tests {
    use bakeoff_plan::Arrival;

    use super::*;

    #[test]
    fn a_client_is_less_patient_where_less_is_free_on_the_way_back() {
        let usual = |step: Duration, last: f64| usual_patience(step, &[0.5, 2.0, last]).as_millis();
        assert_eq!(usual(STEP[0], 0.5), 5000);
        assert_eq!(usual(STEP[1], 0.5), 500);
        assert_eq!(usual(STEP[0], 0.9), 1500);
        assert_eq!(usual(STEP[1], 0.9), 100);
        assert_eq!(usual(STEP[1], 0.2), 800);
        // Such steps are refused afterwards.
        assert_eq!(usual(STEP[1], 1.5), 100);
    }

    #[test]
    fn what_is_asked_for_is_said_in_one_sentence() {
        let asked = |contenders: usize, names: &str, capacity_per_s| {
            let overload = Overload {
                steps: vec![0.5, 1.1, 0.5],
                capacity_per_s,
                arrival: Arrival::Poisson,
                clients: 100,
                ladder: Vec::new(),
                rung: RUNG[0],
            };
            let load = Load::beyond(overload.clone(), STEP[0], PATIENCE);
            asking(contenders, names, &load, &overload)
        };
        assert_eq!(
            asked(1, "nginx", None),
            "asking nginx for 50 %, 110 %, 50 % of its capacity, 60 s each"
        );
        assert_eq!(
            asked(2, "nginx, caddy", Some(2000.0)),
            "asking each of nginx, caddy for 50 %, 110 %, 50 % of 2000 requests/s, 60 s each"
        );
    }
}
