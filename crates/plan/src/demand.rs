//! What a proxied workload demands of the origin: the `[origin]` table as a ready value, and back.
//!
//! How the origin fulfils it is not known here; see [`Demand`] for the meaning of each part.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::duration::{format_duration, parse_duration};
use crate::error::PlanError;
use crate::file::DurationText;
use crate::rules::{self, Fault};
use crate::source::Source;
use crate::stored;

/// What is wanted of the origin. Shares are of all its requests, from 0 to 1, all together too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demand {
    /// Time from a whole request to the begin of its answer; `None` is none.
    pub delay: Option<Delay>,
    /// Share answered with `error_status`.
    pub errors: f64,
    /// That status, 400 to 599.
    pub error_status: u16,
    /// Share whose connection is reset instead of an answer.
    pub resets: f64,
    /// Share whose connection is closed half way through the body.
    pub closes: f64,
    /// The body in pieces.
    pub slow_body: Option<SlowBody>,
    /// Requests in service at once; the others wait in order.
    pub workers: Option<u32>,
    /// Requests that may wait; one more is answered with 503. `None` is without limit.
    pub queue: Option<u32>,
}

impl Default for Demand {
    /// Nothing; errors that are asked for are 503.
    fn default() -> Self {
        Self {
            delay: None,
            errors: 0.0,
            error_status: default_error_status(),
            resets: 0.0,
            closes: 0.0,
            slow_body: None,
            workers: None,
            queue: None,
        }
    }
}

impl Demand {
    /// Whether it changes no answer.
    pub fn is_nothing(&self) -> bool {
        let error_status = self.error_status;
        *self
            == Self {
                error_status,
                ..Self::default()
            }
    }

    /// Whether its parts can be together.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self) -> Result<(), String> {
        self.fault().map_err(|(_, fault)| fault.problem)
    }

    /// The same, with the key that is at fault.
    fn fault(&self) -> Result<(), (&'static str, Fault)> {
        if let Some(delay) = &self.delay {
            delay.check().map_err(|fault| ("delay", fault))?;
        }
        if let Some(slow) = &self.slow_body {
            rules::length("every", slow.every).map_err(|fault| ("slow_body.every", fault))?;
        }
        // Three shares that are meant to be 1 together may be a little more by rounding.
        if self.errors + self.resets + self.closes > 1.0 + 1e-9 {
            let problem = "`errors`, `resets` and `closes` are more than 1 together";
            let fix = "write shares of all requests";
            return Err(("errors", Fault::new(problem, fix)));
        }
        if self.workers.is_some() && self.delay.is_none() && self.slow_body.is_none() {
            let problem = "`workers` limits nothing where no answer takes time";
            let fix = "add a `delay`, such as `delay = \"5ms\"`, or a `slow_body`";
            return Err(("workers", Fault::new(problem, fix)));
        }
        if self.queue.is_some() && self.workers.is_none() {
            let problem = "nobody waits in a `queue` without `workers`";
            let fix = "add `workers`, such as `workers = 16`";
            return Err(("queue", Fault::new(problem, fix)));
        }
        Ok(())
    }
}

/// A distribution of times, each at most a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Delay {
    /// Always this.
    Constant(Duration),
    /// Each time between the two as likely as any other.
    Uniform {
        /// Shortest.
        from: Duration,
        /// Longest.
        to: Duration,
    },
    /// Exponential.
    Exponential {
        /// Mean, above 0.
        mean: Duration,
    },
    /// Lognormal.
    Lognormal {
        /// Median, above 0.
        median: Duration,
        /// 99 of 100 are below it.
        p99: Duration,
    },
}

/// A body in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowBody {
    /// Bytes of a piece, at least 1.
    pub bytes: u32,
    /// Time from a piece to the next.
    #[serde(rename = "every_s", with = "stored::seconds")]
    pub every: Duration,
}

/// As text, for the reader of a report.
impl fmt::Display for Demand {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.delay.map(|delay| format!("delay {delay}")));
        let status = format!("errors ({})", self.error_status);
        let shares = [
            (status.as_str(), self.errors),
            ("resets", self.resets),
            ("closes", self.closes),
        ];
        for (name, share) in shares.into_iter().filter(|(_, share)| *share > 0.0) {
            parts.push(format!("{name} {share} of all"));
        }
        parts.extend(self.slow_body.map(|slow| {
            let every = format_duration(slow.every);
            format!("{} bytes every {every}", slow.bytes)
        }));
        parts.extend(self.workers.map(|workers| format!("{workers} workers")));
        parts.extend(self.queue.map(|queue| format!("a queue of {queue}")));
        out.write_str(&parts.join(", "))
    }
}

/// As `bakeoff origin --delay` takes it.
impl fmt::Display for Delay {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, times): (_, &[Duration]) = match self {
            Self::Constant(delay) => ("", &[*delay]),
            Self::Uniform { from, to } => ("uniform", &[*from, *to]),
            Self::Exponential { mean } => ("exponential", &[*mean]),
            Self::Lognormal { median, p99 } => ("lognormal", &[*median, *p99]),
        };
        out.write_str(name)?;
        for (index, time) in times.iter().enumerate() {
            let between = if index == 0 && name.is_empty() {
                ""
            } else {
                ":"
            };
            write!(out, "{between}{}", format_duration(*time))?;
        }
        Ok(())
    }
}

impl FromStr for Delay {
    type Err = String;

    /// Reads `5ms`, `uniform:2ms:10ms`, `exponential:5ms` or `lognormal:5ms:50ms`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let first = parts.next().unwrap_or_default();
        let times: Result<Vec<Duration>, _> = parts.map(parse_duration).collect();
        let times = times.map_err(|error| error.to_string())?;
        let delay = match (first, times.as_slice()) {
            ("uniform", [from, to]) => Self::Uniform {
                from: *from,
                to: *to,
            },
            ("exponential", [mean]) => Self::Exponential { mean: *mean },
            ("lognormal", [median, p99]) => Self::Lognormal {
                median: *median,
                p99: *p99,
            },
            (time, []) if time.starts_with(|c: char| c.is_ascii_digit()) => {
                Self::Constant(parse_duration(time).map_err(|error| error.to_string())?)
            }
            _ => {
                return Err(format!(
                    "`{text}` is no delay: write 5ms, uniform:2ms:10ms, exponential:5ms (its \
                     mean) or lognormal:5ms:50ms (its median and p99)"
                ));
            }
        };
        delay.check().map_err(|fault| fault.to_string())?;
        Ok(delay)
    }
}

impl From<Delay> for String {
    fn from(delay: Delay) -> Self {
        delay.to_string()
    }
}

impl TryFrom<String> for Delay {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl Delay {
    /// Holds the times against each other.
    fn check(&self) -> Result<(), Fault> {
        match *self {
            Self::Constant(delay) => rules::pause("delay", delay),
            Self::Uniform { from, to } if from > to => Err(Fault::new(
                "a uniform delay ends before it begins",
                "write the shorter time as `from`, the longer one as `to`",
            )),
            Self::Uniform { to, .. } => rules::pause("to", to),
            Self::Exponential { mean } => rules::length("mean", mean),
            Self::Lognormal { median, p99 } if p99 < median => Err(Fault::new(
                "`p99` is below `median`",
                "write how long half of the answers take as `median`, 99 of 100 as `p99`",
            )),
            Self::Lognormal { median, p99 } => {
                rules::length("median", median).and_then(|()| rules::pause("p99", p99))
            }
        }
    }
}

/// What is wanted of the origin behind the server.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OriginTable {
    /// Time before each answer: always the same, or drawn from a distribution.
    pub(crate) delay: Option<DelayText>,
    /// Share of the requests answered with `error_status`.
    #[serde(default)]
    #[schemars(extend("minimum" = 0, "maximum" = 1, "examples" = [0.01]))]
    pub(crate) errors: f64,
    /// Status of these errors.
    #[serde(default = "default_error_status")]
    #[schemars(range(min = 400, max = 599), extend("examples" = [503]))]
    pub(crate) error_status: u16,
    /// Share of the requests whose connection is reset instead of an answer.
    #[serde(default)]
    #[schemars(extend("minimum" = 0, "maximum" = 1, "examples" = [0.01]))]
    pub(crate) resets: f64,
    /// Share of the requests whose connection is closed half way through the body.
    #[serde(default)]
    #[schemars(extend("minimum" = 0, "maximum" = 1, "examples" = [0.01]))]
    pub(crate) closes: f64,
    /// The body in pieces, with a time between them.
    pub(crate) slow_body: Option<SlowBodyTable>,
    /// Requests in service at once; the others wait in order.
    #[schemars(range(min = 1, max = 1_000_000), extend("examples" = [16]))]
    pub(crate) workers: Option<u32>,
    /// Requests that may wait for a worker; one more is answered with 503.
    #[schemars(range(min = 0, max = 1_000_000_000), extend("examples" = [128]))]
    pub(crate) queue: Option<u32>,
}

/// A body in pieces.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SlowBodyTable {
    /// Bytes of a piece.
    #[schemars(range(min = 1, max = 67_108_864), extend("examples" = [1024]))]
    pub(crate) bytes: u32,
    /// Time from a piece to the next.
    pub(crate) every: DurationText,
}

/// A time, or a table that names a distribution.
#[derive(Debug, Clone)]
pub(crate) enum DelayText {
    Constant(DurationText),
    Drawn(DelayTable),
}

/// A distribution of times: exactly one.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DelayTable {
    /// Each time between the two as likely as any other.
    pub(crate) uniform: Option<UniformTable>,
    /// Many short ones, few long ones.
    pub(crate) exponential: Option<ExponentialTable>,
    /// A long tail, as response times often have.
    pub(crate) lognormal: Option<LognormalTable>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UniformTable {
    /// Shortest.
    from: DurationText,
    /// Longest.
    to: DurationText,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExponentialTable {
    /// Mean.
    mean: DurationText,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LognormalTable {
    /// Half are below it.
    median: DurationText,
    /// 99 of 100 are below it.
    p99: DurationText,
}

/// What the `[origin]` table at `path` (with a dot at its end) asks for.
///
/// # Errors
/// Values that contradict each other.
pub(crate) fn resolve_demand(
    source: &Source<'_>,
    path: &str,
    table: &OriginTable,
) -> Result<Demand, PlanError> {
    let at = |key: &str| source.place(&format!("{path}{key}"));
    let delay = table.delay.as_ref().map(resolve_delay).transpose();
    let delay = delay.map_err(|fault| fault.at(at("delay")))?;
    let demand = Demand {
        delay,
        errors: table.errors,
        error_status: table.error_status,
        resets: table.resets,
        closes: table.closes,
        slow_body: table.slow_body.as_ref().map(|slow| SlowBody {
            bytes: slow.bytes,
            every: slow.every.0,
        }),
        workers: table.workers,
        queue: table.queue,
    };
    demand.fault().map_err(|(key, fault)| fault.at(at(key)))?;
    Ok(demand)
}

fn resolve_delay(text: &DelayText) -> Result<Delay, Fault> {
    Ok(match text {
        DelayText::Constant(time) => Delay::Constant(time.0),
        DelayText::Drawn(table) => match (&table.uniform, &table.exponential, &table.lognormal) {
            (Some(uniform), None, None) => Delay::Uniform {
                from: uniform.from.0,
                to: uniform.to.0,
            },
            (None, Some(exponential), None) => Delay::Exponential {
                mean: exponential.mean.0,
            },
            (None, None, Some(lognormal)) => Delay::Lognormal {
                median: lognormal.median.0,
                p99: lognormal.p99.0,
            },
            _ => {
                return Err(Fault::new(
                    "`delay` must name one distribution",
                    "write one of `uniform`, `exponential` and `lognormal`, such as \
                     `delay = { lognormal = { median = \"5ms\", p99 = \"50ms\" } }`",
                ));
            }
        },
    })
}

/// The table that [`resolve_demand`] makes `demand` of.
pub(crate) fn demand_table(demand: &Demand) -> OriginTable {
    let empty = DelayTable::default();
    let delay = demand.delay.map(|delay| match delay {
        Delay::Constant(time) => DelayText::Constant(DurationText(time)),
        Delay::Uniform { from, to } => DelayText::Drawn(DelayTable {
            uniform: Some(UniformTable {
                from: DurationText(from),
                to: DurationText(to),
            }),
            ..empty
        }),
        Delay::Exponential { mean } => DelayText::Drawn(DelayTable {
            exponential: Some(ExponentialTable {
                mean: DurationText(mean),
            }),
            ..empty
        }),
        Delay::Lognormal { median, p99 } => DelayText::Drawn(DelayTable {
            lognormal: Some(LognormalTable {
                median: DurationText(median),
                p99: DurationText(p99),
            }),
            ..empty
        }),
    });
    OriginTable {
        delay,
        errors: demand.errors,
        error_status: demand.error_status,
        resets: demand.resets,
        closes: demand.closes,
        slow_body: demand.slow_body.map(|slow| SlowBodyTable {
            bytes: slow.bytes,
            every: DurationText(slow.every),
        }),
        workers: demand.workers,
        queue: demand.queue,
    }
}

impl Serialize for DelayText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Constant(time) => time.serialize(serializer),
            Self::Drawn(table) => table.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for DelayText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Expected;
        impl<'de> Visitor<'de> for Expected {
            type Value = DelayText;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a time such as \"5ms\", or a table that names a distribution")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                let time = parse_duration(text).map_err(E::custom)?;
                Ok(DelayText::Constant(DurationText(time)))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                DelayTable::deserialize(de::value::MapAccessDeserializer::new(map))
                    .map(DelayText::Drawn)
            }
        }
        deserializer.deserialize_any(Expected)
    }
}

impl JsonSchema for DelayText {
    fn schema_name() -> Cow<'static, str> {
        "Delay".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let time = generator.subschema_for::<DurationText>();
        let drawn = generator.subschema_for::<DelayTable>();
        json_schema!({ "anyOf": [time, drawn], "examples": ["5ms"] })
    }
}

fn default_error_status() -> u16 {
    503
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_demand_is_written_as_text() {
        let demand = Demand {
            delay: "exponential:5ms".parse().ok(),
            errors: 0.1,
            error_status: 502,
            workers: Some(16),
            queue: Some(0),
            ..Demand::default()
        };
        assert_eq!(
            demand.to_string(),
            "delay exponential:5ms, errors (502) 0.1 of all, 16 workers, a queue of 0"
        );
    }

    #[test]
    fn a_delay_is_read_as_it_is_written() {
        for text in [
            "5ms",
            "0s",
            "uniform:2ms:10ms",
            "exponential:5ms",
            "lognormal:5ms:50ms",
        ] {
            let delay: Delay = text.parse().unwrap();
            assert_eq!(delay.to_string(), text);
        }
        for wrong in [
            "",
            "5",
            "ms",
            "5ms:6ms",
            "normal:5ms:6ms",
            "uniform:2ms",
            "uniform:10ms:2ms",
            "exponential:0s",
            "lognormal:5ms:x",
            "lognormal:50ms:5ms",
            "25h",
        ] {
            assert!(wrong.parse::<Delay>().is_err(), "{wrong}");
        }
    }
}
