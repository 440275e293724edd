//! What can never be decided, whatever is measured: a window too short to be judged or to hold a
//! percentile, and too few rounds for an interval. It is refused before anything is measured.

use std::fmt;
use std::time::Duration;

use bakeoff_plan::{Load, LoadModel, Plan, format_duration};
use bakeoff_stats::{INTERVAL_FROM, Metric, SERIES_MIN};

use crate::code::Code;
use crate::condition::Condition;
use crate::figures::{amount, count};
use crate::gate::Gates;
use crate::limits::BEYOND_QUANTILE;

/// Parts that the engine cuts a window into that is shorter than ten seconds.
const PART: Duration = Duration::from_millis(100);

/// Why a gate or a condition can never be decided, with the least that can be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Undecidable {
    /// A window does not show whether it came to rest.
    Window {
        /// Its length.
        of: Duration,
        /// The shortest that does.
        least: Duration,
    },
    /// A load has too few requests for a percentile.
    Count {
        /// How many it has.
        of: u64,
        /// The fewest that it takes.
        least: u64,
    },
    /// An open loop's window has too few requests for a percentile.
    Rate {
        /// Requests per second.
        per_s: f64,
        /// How long it is.
        of: Duration,
        /// The fewest requests that it takes.
        least: u64,
    },
    /// Too few rounds have no interval.
    Rounds {
        /// How many there are at the most.
        of: u32,
    },
}

impl fmt::Display for Undecidable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Window { of, least } => write!(
                out,
                "a window of {} does not show whether it came to rest; the shortest that does is \
                 {} (--duration)",
                format_duration(of),
                format_duration(least)
            ),
            Self::Count { of, least } => write!(
                out,
                "it takes {} requests, and {} are asked for (--requests)",
                count(least),
                count(of)
            ),
            Self::Rate { per_s, of, least } => {
                let seconds = (least as f64 / per_s).ceil().min(1e9);
                write!(
                    out,
                    "it takes {} requests in a window, and {}/s for {} are fewer; give it {} \
                     (--duration) or a higher rate",
                    count(least),
                    amount(per_s, 2),
                    format_duration(of),
                    format_duration(Duration::from_secs_f64(seconds))
                )
            }
            Self::Rounds { of } => write!(
                out,
                "{of} round{} no interval; {INTERVAL_FROM} have one, and ten decide most \
                 (--rounds)",
                if of == 1 { " has" } else { "s have" }
            ),
        }
    }
}

impl std::error::Error for Undecidable {}

impl Undecidable {
    /// Why a percentile of one load can never be known.
    pub fn of_percentile(load: &Load, measure: Metric) -> Option<Self> {
        let quantile = measure.quantile().filter(|quantile| *quantile > 0.5)?;
        let least = (BEYOND_QUANTILE / (1.0 - quantile) - 1e-3).ceil() as u64;
        if let Some(of) = load.requests {
            return (of < least).then_some(Self::Count { of, least });
        }
        let LoadModel::Open { rate_per_s, .. } = load.model else {
            return None;
        };
        let due = rate_per_s * load.duration_s;
        (due < least as f64 - 1e-6).then_some(Self::Rate {
            per_s: rate_per_s,
            of: Duration::from_secs_f64(load.duration_s),
            least,
        })
    }

    /// Why no window of a load can be judged. One by count is as long as its requests take.
    fn of_window(load: &Load, measure: Metric) -> Option<Self> {
        let of = Duration::from_secs_f64(load.duration_s);
        let least = PART * u32::try_from(SERIES_MIN).unwrap_or(u32::MAX);
        let is_judged = Code::NotSteady.guards().contains(&measure.number());
        (is_judged && load.requests.is_none() && of < least).then_some(Self::Window { of, least })
    }

    /// Why so many rounds of a campaign can never decide a gate.
    pub fn of_rounds(rounds: u32) -> Option<Self> {
        ((rounds as usize) < INTERVAL_FROM).then_some(Self::Rounds { of: rounds })
    }
}

/// The first gate or condition that a plan can never decide, as it was written, and why.
pub fn undecidable(
    plan: &Plan,
    gates: &Gates,
    conditions: &[Condition],
) -> Option<(String, Undecidable)> {
    let gated = gates.iter().map(|(metric, _)| {
        let name = format!("the gate {}", metric.short_name());
        let rounds = Undecidable::of_rounds(plan.rounds_at_most());
        let loads = plan.loads.iter().filter(|load| metric.fits(&load.model));
        let why = rounds.or_else(|| of_loads(loads, metric));
        (name, why)
    });
    let held = conditions.iter().map(|condition| {
        let measure = condition.metric();
        let is_over_rounds = Code::RoundsAgree.guards().contains(&measure.number());
        let rounds = Undecidable::of_rounds(plan.rounds_at_most()).filter(|_| is_over_rounds);
        let loads = plan.loads.iter();
        let loads = loads.filter(|load| !condition.is_given_by(&load.model));
        let why = rounds.or_else(|| of_loads(loads, measure));
        (format!("the condition `{condition}`"), why)
    });
    let all = gated.chain(held).map(|(name, why)| Some((name, why?)));
    all.flatten().next()
}

fn of_loads<'p>(mut loads: impl Iterator<Item = &'p Load>, measure: Metric) -> Option<Undecidable> {
    loads.find_map(|load| {
        let window = Undecidable::of_window(load, measure);
        window.or_else(|| Undecidable::of_percentile(load, measure))
    })
}

#[cfg(test)]
mod tests {
    use bakeoff_plan::{Builtin, parse};

    use super::*;

    fn plan(load: &str, rounds: u32) -> Plan {
        let text = format!(
            "name = \"p\"\nrounds = {rounds}\nworkloads = [\"html-small\"]\nload = [{{ {load} }}]\n\
             [[contender]]\nname = \"a\"\nserver = \"nginx\"\n\
             [[contender]]\nname = \"b\"\nserver = \"caddy\"\n"
        );
        parse(&text, "p", std::path::Path::new("/"), &Builtin).unwrap()
    }

    /// What of gates and of conditions can never be decided, and with which text.
    #[test]
    fn what_no_campaign_decides_is_found_before_it() {
        let check =
            |load: &str, rounds: u32, gate: &str, condition: &str, expected: Option<&str>| {
                let gates = Gates::parse(gate).unwrap_or_default();
                let conditions: Vec<Condition> = Condition::parse(condition).into_iter().collect();
                let found = undecidable(&plan(load, rounds), &gates, &conditions);
                let text = found.map(|(name, why)| format!("{name}: {why}"));
                match (expected, &text) {
                    (None, None) => {}
                    (Some(part), Some(text)) => assert!(text.contains(part), "{text}"),
                    other => panic!("{load} {rounds} {gate} {condition}: {other:?}"),
                }
            };
        let short = "clients = 4, duration = \"400ms\"";
        let window =
            Some("of 400ms does not show whether it came to rest; the shortest that does is 600ms");
        check(short, 10, "rate=5%", "", window);
        check(short, 10, "cpu=5%", "", window);
        check(short, 10, "", "rate < 10", window);
        check(short, 10, "", "errors > 1%", None);
        check("clients = 4, duration = \"600ms\"", 10, "rate=5%", "", None);
        check("clients = 4, requests = 50", 10, "rate=5%", "", None);
        let few = Some("it takes 1,000 requests, and 50 are asked for");
        check("clients = 4, requests = 50", 10, "", "p99 > 1s", few);
        let slow = "rate = 100, duration = \"5s\"";
        let slow_p99 = Some("100/s for 5s are fewer; give it 10s (--duration)");
        check(slow, 10, "p99=5%", "", slow_p99);
        check(slow, 10, "p90=5%,cpu=5%", "p50 > 1s", None);
        check(
            slow,
            10,
            "",
            "p99.9 > 1s",
            Some("it takes 10,000 requests in a window"),
        );
        check(
            "clients = 4, duration = \"2s\"",
            2,
            "rate=5%",
            "",
            Some("2 rounds have no interval; 3 have"),
        );
        check(
            "clients = 4, duration = \"2s\"",
            1,
            "",
            "cpu > 1ms",
            Some("1 round has no interval"),
        );
        check(
            "clients = 4, duration = \"2s\"",
            1,
            "",
            "memory > 1MB",
            None,
        );
        check(
            "clients = 4, duration = \"2s\"",
            3,
            "rate=5%",
            "cpu > 1ms",
            None,
        );
    }
}
