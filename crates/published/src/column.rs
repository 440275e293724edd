//! What a column of a table can hold.

use std::fmt;
use std::str::FromStr;

use crate::unit::{KNOWN, Unit};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quantity {
    /// Clients.
    Clients,
    /// Requests that each client may have in flight.
    Streams,
    /// Length of the measurement.
    Duration,
    /// Requests that ended.
    Requests,
    /// Requests that came out right.
    Ok,
    /// Requests that failed: how many, or which share.
    Failed,
    /// Requests a second that ended.
    Rate,
    /// Right answers a second.
    OkRate,
    /// Failures a second.
    FailedRate,
    /// Requests a second that were asked for.
    PlannedRate,
    /// Shortest latency.
    Min,
    /// Mean latency.
    Mean,
    /// Longest latency.
    Max,
    /// Latency that this share of the requests did not exceed.
    Quantile(f64),
    /// Bytes of a right answer's body.
    Body,
    /// Bytes that were read.
    Bytes,
    /// Bytes a second that were read.
    BytesRate,
    /// CPU use of the server.
    Cpu,
    /// CPU use of the generator.
    ClientCpu,
    /// Repetitions that a row sums up.
    Runs,
    /// Which repetition a row is.
    Run,
    /// A part of a row's name.
    Name,
    /// Nothing that counts.
    Ignore,
}

/// What each quantity is called in `--column`, with the unit that its numbers have without one.
const NAMES: [(&str, Quantity); 22] = [
    ("clients", Quantity::Clients),
    ("streams", Quantity::Streams),
    ("duration", Quantity::Duration),
    ("requests", Quantity::Requests),
    ("ok", Quantity::Ok),
    ("failed", Quantity::Failed),
    ("rate", Quantity::Rate),
    ("ok-rate", Quantity::OkRate),
    ("failed-rate", Quantity::FailedRate),
    ("planned-rate", Quantity::PlannedRate),
    ("min", Quantity::Min),
    ("mean", Quantity::Mean),
    ("max", Quantity::Max),
    ("median", Quantity::Quantile(0.5)),
    ("body", Quantity::Body),
    ("bytes", Quantity::Bytes),
    ("bytes-rate", Quantity::BytesRate),
    ("cpu", Quantity::Cpu),
    ("client-cpu", Quantity::ClientCpu),
    ("runs", Quantity::Runs),
    ("run", Quantity::Run),
    ("name", Quantity::Name),
];

impl Quantity {
    /// Reads a name such as `clients`, `p99.9` or `ignore`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text == "ignore" {
            return Some(Self::Ignore);
        }
        let known = NAMES.iter().find(|(name, _)| *name == text);
        known.map(|(_, quantity)| *quantity).or_else(|| {
            let rank = text.strip_prefix('p')?;
            percentile(rank).map(Self::Quantile)
        })
    }

    /// Units that its numbers may have, by an example of each kind; none for plain numbers.
    pub(crate) fn units(self) -> &'static [Unit] {
        match self {
            Self::Duration | Self::Min | Self::Mean | Self::Max | Self::Quantile(_) => {
                &[Unit::Time(1.0)]
            }
            Self::Ok | Self::Failed => &[Unit::Count, Unit::Share(1.0)],
            Self::Rate | Self::OkRate | Self::FailedRate | Self::PlannedRate => &[Unit::PerS(1.0)],
            Self::Body | Self::Bytes => &[Unit::Bytes(1.0)],
            Self::BytesRate => &[Unit::BytesPerS(1.0)],
            Self::Cpu | Self::ClientCpu => &[Unit::Share(1.0), Unit::Count],
            Self::Clients | Self::Streams | Self::Requests | Self::Runs => &[Unit::Count],
            Self::Run | Self::Name | Self::Ignore => &[],
        }
    }

    /// Whether it is something to judge: requests, a rate or a latency.
    pub(crate) fn is_result(self) -> bool {
        matches!(
            self,
            Self::Requests
                | Self::Ok
                | Self::Rate
                | Self::OkRate
                | Self::Min
                | Self::Mean
                | Self::Max
                | Self::Quantile(_)
        )
    }

    /// Whether only one column can hold it.
    pub(crate) fn is_single(self) -> bool {
        !matches!(self, Self::Name | Self::Ignore)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = NAMES.iter().find(|(_, quantity)| quantity == self);
        match (known, self) {
            (Some((name, _)), _) => out.write_str(name),
            (None, Self::Quantile(share)) => write!(out, "p{}", rounded(share * 100.0)),
            (None, _) => out.write_str("ignore"),
        }
    }
}

/// 99.9 / 100 is 0.999 to anybody but a binary fraction.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}

/// The share of `99.9`; of `999` too, as many write it.
pub(crate) fn percentile(rank: &str) -> Option<f64> {
    if !rank
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.')
    {
        return None;
    }
    let all_nines = rank.len() > 2 && rank.bytes().all(|byte| byte == b'9');
    let share = if all_nines {
        format!("0.{rank}").parse().ok()?
    } else {
        rounded(rank.parse::<f64>().ok()? / 100.0)
    };
    (share > 0.0 && share < 1.0).then_some(share)
}

/// What the user says of a column: `QUANTITY=NAME` or `QUANTITY=NAME:UNIT`.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnRule {
    /// What it holds.
    pub quantity: Quantity,
    /// The column as its header names it; of several with one name the second is `NAME#2`.
    pub column: String,
    /// What its numbers are counted in.
    pub unit: Option<Unit>,
}

impl FromStr for ColumnRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            format!(
                "`{text}` says nothing of a column: write QUANTITY=COLUMN:UNIT, such as \
                 p99=tail:ms; quantities: {}, p90 and the like, ignore; units: {KNOWN}",
                names.join(", ")
            )
        };
        let (quantity, column) = text.split_once('=').ok_or_else(wrong)?;
        let quantity = Quantity::parse(quantity.trim()).ok_or_else(wrong)?;
        // A column's name may hold a colon itself.
        let (column, unit) = match column.rsplit_once(':') {
            Some((name, unit)) => match Unit::parse(unit.trim()) {
                Some(unit) => (name, Some(unit)),
                None => (column, None),
            },
            None => (column, None),
        };
        // A column without a name holds no figure, but it can be left out.
        if column.trim().is_empty() && !quantity.units().is_empty() {
            return Err(wrong());
        }
        let fits = |unit: Unit| quantity.units().iter().any(|one| one.is_like(unit));
        if unit.is_some_and(|unit| !fits(unit)) {
            return Err(format!("`{text}`: this is no unit of {quantity}"));
        }
        Ok(Self {
            quantity,
            column: column.trim().to_owned(),
            unit,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_name_a_quantity_a_column_and_a_unit() {
        let rule = |text: &str| text.parse::<ColumnRule>();
        let p99 = rule("p99.9=tail: a:ms").unwrap();
        assert_eq!(p99.quantity, Quantity::Quantile(0.999));
        assert_eq!(
            (p99.column.as_str(), p99.unit),
            ("tail: a", Some(Unit::Time(1e6)))
        );
        assert_eq!(
            rule("failed=errors:percent").unwrap().unit,
            Some(Unit::Share(0.01))
        );
        assert_eq!(rule("ignore=x").unwrap().unit, None);
        assert_eq!(rule("ignore=").unwrap().column, "");
        for wrong in [
            "",
            "p99",
            "p99=",
            "what=x:ms",
            "mean=x:percent",
            "p0=x",
            "p100=x:ms",
        ] {
            assert!(rule(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn quantities_are_written_as_they_are_read() {
        for name in ["clients", "p99.9", "p95", "median", "ignore", "ok-rate"] {
            assert_eq!(Quantity::parse(name).unwrap().to_string(), name);
        }
        assert_eq!(Quantity::parse("p999"), Quantity::parse("p99.9"));
    }
}
