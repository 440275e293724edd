//! What a running campaign or load shows to a scraper, as OpenMetrics 1.0: how far it is, and
//! figures of the moment. No result is made of it, and no verdict goes with it.

use std::fmt::{Display, Write as _};

use bakeoff_record::{Outcome, OutcomeCounts};

use crate::safe::plain;

/// A campaign that runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveCampaign {
    /// Trials that have ended, those recorded before included.
    pub trials_ended: u64,
    /// Trials of the plan, as far as that is known.
    pub trials_planned: u64,
    /// Expected time that is left, seconds.
    pub left_s: f64,
    /// The trial that runs.
    pub trial: Option<LiveTrial>,
    /// Requests that ended as `ok` and otherwise under all loads so far, warm-ups included.
    pub ended: (u64, u64),
    /// Requests per second that ended as `ok` when last looked at; `None` while no load is on.
    pub ok_per_s: Option<f64>,
    /// Requests in the windows of ended trials, by outcome.
    pub outcomes: OutcomeCounts,
}

/// A trial that runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveTrial {
    /// Its id.
    pub id: String,
    /// Contender's name.
    pub contender: String,
    /// Workload's name.
    pub workload: String,
    /// What it is at, such as `measure`.
    pub step: &'static str,
}

/// A load that runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveLoad {
    /// Where it is: one of [`LiveLoad::PHASES`].
    pub phase: &'static str,
    /// Requests that ended as `ok` since the start, warm-up included.
    pub ok: u64,
    /// Requests that ended otherwise, by outcome.
    pub failed: OutcomeCounts,
    /// Requests per second that ended as `ok` in the last second; `None` before there was one.
    pub ok_per_s: Option<f64>,
    /// Quantiles of the latency of `ok` responses in the last second: share and seconds.
    pub latency_s: Vec<(f64, f64)>,
}

impl LiveLoad {
    /// The phases of a load, in order.
    pub const PHASES: [&'static str; 4] = ["connecting", "warm-up", "measuring", "ending"];
}

/// A campaign as OpenMetrics.
pub fn live_campaign(live: &LiveCampaign) -> String {
    let mut out = String::new();
    let name = "bakeoff_trials_planned";
    let help = "Trials of the plan, as far as that is known.";
    family(&mut out, name, "gauge", help);
    sample(&mut out, name, &[], live.trials_planned);
    let name = "bakeoff_trials_ended";
    let help = "Trials that have ended, those recorded before included.";
    family(&mut out, name, "counter", help);
    sample(&mut out, &format!("{name}_total"), &[], live.trials_ended);
    let name = "bakeoff_left_seconds";
    family(&mut out, name, "gauge", "Expected time that is left.");
    sample(&mut out, name, &[], live.left_s);
    let name = "bakeoff_trial_running";
    let help = "The trial that runs, and the step that it is at.";
    family(&mut out, name, "gauge", help);
    if let Some(trial) = &live.trial {
        let labels = [
            ("trial", trial.id.as_str()),
            ("contender", &trial.contender),
            ("workload", &trial.workload),
            ("step", trial.step),
        ];
        sample(&mut out, name, &labels, 1);
    }
    let help = "Requests that ended under the loads so far, warm-ups included.";
    requests(&mut out, live.ended, help);
    rate(&mut out, live.ok_per_s);
    let help = "Requests that did not end as ok, in the windows of the trials that have ended.";
    failed(&mut out, &live.outcomes, help);
    out + "# EOF\n"
}

/// A load as OpenMetrics.
pub fn live_load(live: &LiveLoad) -> String {
    let mut out = String::new();
    let name = "bakeoff_phase";
    family(&mut out, name, "stateset", "Where the load is.");
    for phase in LiveLoad::PHASES {
        sample(
            &mut out,
            name,
            &[(name, phase)],
            u8::from(phase == live.phase),
        );
    }
    let help = "Requests that ended since the start, warm-up included.";
    requests(&mut out, (live.ok, live.failed.errors()), help);
    rate(&mut out, live.ok_per_s);
    let help = "Requests that did not end as ok since the start, warm-up included.";
    failed(&mut out, &live.failed, help);
    let name = "bakeoff_latency_seconds";
    let help = "Latency of ok responses in the last second, to 1.1 %.";
    family(&mut out, name, "summary", help);
    for (share, seconds) in &live.latency_s {
        sample(&mut out, name, &[("quantile", &share.to_string())], seconds);
    }
    out + "# EOF\n"
}

/// Requests that ended, as `ok` and otherwise.
fn requests(out: &mut String, (ok, error): (u64, u64), help: &str) {
    let name = "bakeoff_requests";
    family(out, name, "counter", help);
    for (result, count) in [("ok", ok), ("error", error)] {
        sample(out, &format!("{name}_total"), &[("result", result)], count);
    }
}

fn rate(out: &mut String, ok_per_s: Option<f64>) {
    let name = "bakeoff_ok_per_second";
    let help = "Right answers per second at the moment; nothing while no load is on.";
    family(out, name, "gauge", help);
    if let Some(rate) = ok_per_s.filter(|rate| rate.is_finite()) {
        sample(out, name, &[], rate);
    }
}

fn failed(out: &mut String, counts: &OutcomeCounts, help: &str) {
    let name = "bakeoff_failed_requests";
    family(out, name, "counter", help);
    for (outcome, count) in counts.iter().filter(|(outcome, _)| *outcome != Outcome::Ok) {
        sample(
            out,
            &format!("{name}_total"),
            &[("outcome", outcome.name())],
            count,
        );
    }
}

/// The head of a family; a name that ends in a unit says so.
pub(crate) fn family(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# TYPE {name} {kind}");
    for unit in ["seconds", "bytes"] {
        if name.ends_with(&format!("_{unit}")) {
            let _ = writeln!(out, "# UNIT {name} {unit}");
        }
    }
    let _ = writeln!(out, "# HELP {name} {help}");
}

pub(crate) fn sample(out: &mut String, name: &str, labels: &[(&str, &str)], value: impl Display) {
    let labels: Vec<String> = labels
        .iter()
        .map(|(key, value)| format!("{key}=\"{}\"", escaped(value)))
        .collect();
    let labels = if labels.is_empty() {
        String::new()
    } else {
        format!("{{{}}}", labels.join(","))
    };
    let _ = writeln!(out, "{name}{labels} {value}");
}

/// Fit for the value of a label.
fn escaped(text: &str) -> String {
    plain(text).replace('\\', "\\\\").replace('"', "\\\"")
}
