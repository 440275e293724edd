//! Units, as they stand in headers, in cells and in flags.

/// What a column's numbers are counted in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Unit {
    /// So many nanoseconds each.
    Time(f64),
    /// So many bytes each.
    Bytes(f64),
    /// So many bytes a second each.
    BytesPerS(f64),
    /// So many a second each.
    PerS(f64),
    /// So much of the whole each: 0.01 for per cent, 1 for shares.
    Share(f64),
    /// Pieces.
    Count,
}

const KIB: f64 = 1024.0;

/// What each unit is called; compared as written, so that `Mb` is not `MB`.
const NAMES: [(&[&str], Unit); 31] = [
    (&["ns", "nanoseconds"], Unit::Time(1.0)),
    (&["us", "µs", "μs", "usec", "microseconds"], Unit::Time(1e3)),
    (&["ms", "msec", "millis", "milliseconds"], Unit::Time(1e6)),
    (&["s", "sec", "secs", "second", "seconds"], Unit::Time(1e9)),
    (&["m", "min", "mins", "minutes"], Unit::Time(60e9)),
    (&["h", "hours"], Unit::Time(3600e9)),
    (&["B", "b", "byte", "bytes"], Unit::Bytes(1.0)),
    (&["kB", "KB", "kb"], Unit::Bytes(1e3)),
    (&["MB", "mb"], Unit::Bytes(1e6)),
    (&["GB", "gb"], Unit::Bytes(1e9)),
    (&["TB", "tb"], Unit::Bytes(1e12)),
    (&["KiB", "kib"], Unit::Bytes(1024.0)),
    (&["MiB", "mib"], Unit::Bytes(1_048_576.0)),
    (&["GiB", "gib"], Unit::Bytes(1_073_741_824.0)),
    (&["TiB", "tib"], Unit::Bytes(1_099_511_627_776.0)),
    (&["B/s", "bytes/s"], Unit::BytesPerS(1.0)),
    (&["kB/s", "KB/s", "kBps", "KBps"], Unit::BytesPerS(1e3)),
    (&["MB/s", "MBps"], Unit::BytesPerS(1e6)),
    (&["GB/s", "GBps"], Unit::BytesPerS(1e9)),
    (&["KiB/s", "kib/s"], Unit::BytesPerS(1024.0)),
    (&["MiB/s", "mib/s"], Unit::BytesPerS(1_048_576.0)),
    (&["GiB/s", "gib/s"], Unit::BytesPerS(1_073_741_824.0)),
    (&["bit/s", "bps"], Unit::BytesPerS(0.125)),
    (&["kbit/s", "kbps", "Kbps", "kbit"], Unit::BytesPerS(125.0)),
    (
        &["Mbit/s", "Mb/s", "Mbps", "mbps", "mbit", "Mbit"],
        Unit::BytesPerS(125e3),
    ),
    (
        &["Gbit/s", "Gb/s", "Gbps", "gbps", "gbit", "Gbit"],
        Unit::BytesPerS(125e6),
    ),
    (
        &[
            "/s",
            "per_s",
            "rps",
            "qps",
            "req/s",
            "reqs/s",
            "req/sec",
            "requests/s",
            "requests/sec",
        ],
        Unit::PerS(1.0),
    ),
    (&["/min", "per_min", "rpm"], Unit::PerS(1.0 / 60.0)),
    (&["%", "percent", "pct"], Unit::Share(0.01)),
    (&["share", "ratio", "fraction"], Unit::Share(1.0)),
    (&["count", "requests", "n"], Unit::Count),
];

/// Rates of bits to some and of bytes to others, in lower case; [`Unit::parse`] knows none of them.
const IN_DOUBT: [&str; 4] = ["b/s", "kb/s", "mb/s", "gb/s"];

/// The units to write, for messages.
pub(crate) const KNOWN: &str =
    "ns, us, ms, s, min, B, kB, KiB, MB, MiB, MB/s, Mbit/s, /s, percent, share or count";

impl Unit {
    /// Reads a unit such as `ms`, `percent` or `Gbit/s`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (_, unit) = NAMES.iter().find(|(names, _)| names.contains(&text))?;
        Some(*unit)
    }

    /// Reads a unit in any case: `MS` too. What is in doubt it takes for bytes, so
    /// [`Unit::is_in_doubt`] has to be asked as well.
    pub(crate) fn parse_folded(text: &str) -> Option<Self> {
        let folded = text.to_lowercase();
        let in_doubt = || {
            IN_DOUBT
                .contains(&folded.as_str())
                .then_some(Self::BytesPerS(1.0))
        };
        let known = Self::parse(text).or_else(|| Self::parse(&folded));
        known.or_else(in_doubt)
    }

    /// Whether this is a unit of bytes in a case that is not known: `Kb` may be bits or bytes, and
    /// so may `kb/s`.
    pub(crate) fn is_in_doubt(text: &str) -> bool {
        let folded = text.to_lowercase();
        let is_of_bytes = matches!(
            Self::parse_folded(&folded),
            Some(Self::Bytes(_) | Self::BytesPerS(_))
        );
        let is_spelled_out = folded.contains("bit") || folded.contains("byte");
        Self::parse(text).is_none() && is_of_bytes && !is_spelled_out
    }

    /// Nanoseconds in one, of a unit of time.
    pub(crate) fn in_ns(self) -> Option<f64> {
        match self {
            Self::Time(ns) => Some(ns),
            _ => None,
        }
    }

    /// What one stands for, in nanoseconds, bytes, bytes a second, a second or shares.
    pub(crate) fn factor(self) -> f64 {
        match self {
            Self::Time(one)
            | Self::Bytes(one)
            | Self::BytesPerS(one)
            | Self::PerS(one)
            | Self::Share(one) => one,
            Self::Count => 1.0,
        }
    }

    /// What one of kB, MB, GB or TB stands for if it is of 1,024s, as wrk and others mean it;
    /// `None` for what can only mean one thing.
    pub(crate) fn binary(self) -> Option<f64> {
        let (Self::Bytes(one) | Self::BytesPerS(one)) = self else {
            return None;
        };
        let decimal = [1e3, 1e6, 1e9, 1e12].into_iter();
        let binary = [KIB, KIB * KIB, KIB * KIB * KIB, KIB * KIB * KIB * KIB];
        let mut both = decimal.zip(binary);
        both.find(|(decimal, _)| *decimal == one)
            .map(|(_, binary)| binary)
    }

    /// Whether both count the same kind of thing.
    pub(crate) fn is_like(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{parse_bits_per_s, parse_bytes};

    #[test]
    fn bits_and_bytes_are_told_apart_by_their_case() {
        for (text, bits) in [
            ("1Mb/s", 1e6),
            ("10Gb/s", 10e9),
            ("1MBps", 8e6),
            ("1GBps", 8e9),
            ("1KBps", 8e3),
            ("1Mbps", 1e6),
        ] {
            assert_eq!(parse_bits_per_s(text), Some(bits), "{text}");
        }
        for text in ["1Kb/s", "1mb/s"] {
            assert_eq!(parse_bits_per_s(text), None, "{text}");
        }
        assert_eq!(parse_bytes("2TB"), Some(2e12));
        assert_eq!(parse_bytes("1TiB"), Some(1_099_511_627_776.0));
        for (unit, is_in_doubt) in [
            ("Mb", true),
            ("MBPS", true),
            ("mb", false),
            ("mb/s", true),
            ("b/s", true),
            ("MB/s", false),
            ("mbps", false),
            ("MB", false),
            ("Mbit/S", false),
            ("BYTES", false),
            ("MS", false),
        ] {
            assert_eq!(Unit::is_in_doubt(unit), is_in_doubt, "{unit}");
        }
    }
}
