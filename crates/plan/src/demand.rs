//! What a proxied workload demands of the origin: its `[origin]` table, in plan files and stored.
//!
//! How the origin fulfils it is not known here; see [`Demand`] for the meaning of each part.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::duration::{self, format_duration, parse_duration};
use crate::file::DurationText;
use crate::rules::{self, Fault};

/// What is wanted of the origin behind the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "OriginTable")]
pub struct Demand {
    /// Time before each answer: always the same, or drawn from a distribution.
    pub delay: Option<Delay>,
    /// Share of the requests answered with `error_status`.
    #[serde(default)]
    #[schemars(extend("minimum" = 0, "maximum" = 1, "examples" = [0.01]))]
    pub errors: f64,
    /// Status of these errors.
    #[serde(default = "default_error_status")]
    #[schemars(range(min = 400, max = 599), extend("examples" = [503]))]
    pub error_status: u16,
    /// Share of the requests whose connection is reset instead of an answer.
    #[serde(default)]
    #[schemars(extend("minimum" = 0, "maximum" = 1, "examples" = [0.01]))]
    pub resets: f64,
    /// Share of the requests whose connection is closed half way through the body.
    #[serde(default)]
    #[schemars(extend("minimum" = 0, "maximum" = 1, "examples" = [0.01]))]
    pub closes: f64,
    /// The body in pieces, with a time between them.
    pub slow_body: Option<SlowBody>,
    /// Requests in service at once; the others wait in order.
    #[schemars(range(min = 1, max = 1_000_000), extend("examples" = [16]))]
    pub workers: Option<u32>,
    /// Requests that may wait for a worker; one more is answered with 503.
    #[schemars(range(min = 0, max = 1_000_000_000), extend("examples" = [128]))]
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
    pub(crate) fn fault(&self) -> Result<(), (&'static str, Fault)> {
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(into = "DelayText")]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SlowBodyTable")]
pub struct SlowBody {
    /// Bytes of a piece.
    #[schemars(range(min = 1, max = 67_108_864), extend("examples" = [1024]))]
    pub bytes: u32,
    /// Time from a piece to the next.
    #[serde(with = "duration::text")]
    #[schemars(with = "DurationText")]
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

/// A delay as it is written: a time, or a table that names a distribution.
#[derive(Serialize)]
#[serde(untagged)]
enum DelayText {
    Constant(DurationText),
    Drawn(DelayTable),
}

/// A distribution of times: exactly one.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DelayTable {
    /// Each time between the two as likely as any other.
    #[serde(skip_serializing_if = "Option::is_none")]
    uniform: Option<UniformTable>,
    /// Many short ones, few long ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    exponential: Option<ExponentialTable>,
    /// A long tail, as response times often have.
    #[serde(skip_serializing_if = "Option::is_none")]
    lognormal: Option<LognormalTable>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UniformTable {
    /// Shortest.
    from: DurationText,
    /// Longest.
    to: DurationText,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExponentialTable {
    /// Mean.
    mean: DurationText,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LognormalTable {
    /// Half are below it.
    median: DurationText,
    /// 99 of 100 are below it.
    p99: DurationText,
}

impl<'de> Deserialize<'de> for Delay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Expected;
        impl<'de> Visitor<'de> for Expected {
            type Value = Delay;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a time such as \"5ms\", or a table that names a distribution")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Delay, E> {
                parse_duration(text).map(Delay::Constant).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Delay, A::Error> {
                let table = DelayTable::deserialize(MapAccessDeserializer::new(map))?;
                table.try_into().map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_any(Expected)
    }
}

impl JsonSchema for Delay {
    fn schema_name() -> Cow<'static, str> {
        "Delay".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let time = generator.subschema_for::<DurationText>();
        let drawn = generator.subschema_for::<DelayTable>();
        json_schema!({ "anyOf": [time, drawn], "examples": ["5ms"] })
    }
}

impl TryFrom<DelayTable> for Delay {
    type Error = Fault;

    fn try_from(table: DelayTable) -> Result<Self, Fault> {
        Ok(match (table.uniform, table.exponential, table.lognormal) {
            (Some(uniform), None, None) => Self::Uniform {
                from: uniform.from.0,
                to: uniform.to.0,
            },
            (None, Some(exponential), None) => Self::Exponential {
                mean: exponential.mean.0,
            },
            (None, None, Some(lognormal)) => Self::Lognormal {
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
        })
    }
}

impl From<Delay> for DelayText {
    fn from(delay: Delay) -> Self {
        let mut table = DelayTable::default();
        match delay {
            Delay::Constant(time) => return Self::Constant(DurationText(time)),
            Delay::Uniform { from, to } => {
                let [from, to] = [from, to].map(DurationText);
                table.uniform = Some(UniformTable { from, to });
            }
            Delay::Exponential { mean } => {
                let mean = DurationText(mean);
                table.exponential = Some(ExponentialTable { mean });
            }
            Delay::Lognormal { median, p99 } => {
                let [median, p99] = [median, p99].map(DurationText);
                table.lognormal = Some(LognormalTable { median, p99 });
            }
        }
        Self::Drawn(table)
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
