//! Names of columns as people write them. What cells hold is tested with whole tables.

use super::*;

#[test]
fn thousands_and_other_languages_are_known() {
    let (ms, rate) = (Unit::Time(1e6), Unit::PerS(1.0));
    for (name, quantity, unit) in [
        ("krps", Quantity::Rate, Some(Unit::PerS(1e3))),
        ("kreq/s", Quantity::Rate, Some(Unit::PerS(1e3))),
        ("RPS (k)", Quantity::Rate, Some(Unit::PerS(1e3))),
        (
            "Requests/s, thousands",
            Quantity::Rate,
            Some(Unit::PerS(1e3)),
        ),
        ("Mreq/sec", Quantity::Rate, Some(Unit::PerS(1e6))),
        ("Anfragen/s", Quantity::Rate, Some(rate)),
        (
            "Durchsatz (Anfragen pro Sekunde)",
            Quantity::Rate,
            Some(rate),
        ),
        ("Höchstwert (ms)", Quantity::Max, Some(ms)),
        ("gro\u{308}ßte Antwortzeit [ms]", Quantity::Max, Some(ms)),
        ("Ø Latenz (ms)", Quantity::Mean, Some(ms)),
        ("requêtes/s", Quantity::Rate, Some(rate)),
        ("temps de réponse moyen (ms)", Quantity::Mean, Some(ms)),
        ("latencia máxima (ms)", Quantity::Max, Some(ms)),
    ] {
        assert_eq!(meaning(name), Meaning::Known(quantity, unit), "{name}");
    }
}

#[test]
fn many_spellings_of_a_column_mean_the_same() {
    let (ms, us, seconds) = (Unit::Time(1e6), Unit::Time(1e3), Unit::Time(1e9));
    let (rate, percent) = (Unit::PerS(1.0), Unit::Share(0.01));
    for (name, quantity, unit) in [
        ("p90_ms", Quantity::Quantile(0.9), Some(ms)),
        ("p99 (ms)", Quantity::Quantile(0.99), Some(ms)),
        ("latencyP99Ms", Quantity::Quantile(0.99), Some(ms)),
        (
            "http_req_duration p(95) [ms]",
            Quantity::Quantile(0.95),
            Some(ms),
        ),
        ("99%", Quantity::Quantile(0.99), None),
        ("99th percentile, us", Quantity::Quantile(0.99), Some(us)),
        ("p99.9_us", Quantity::Quantile(0.999), Some(us)),
        ("p99_9_us", Quantity::Quantile(0.999), Some(us)),
        ("median_ms", Quantity::Quantile(0.5), Some(ms)),
        ("average_ms", Quantity::Mean, Some(ms)),
        ("Latency avg [s]", Quantity::Mean, Some(seconds)),
        ("max", Quantity::Max, None),
        ("latency_min", Quantity::Min, None),
        ("response_time_min", Quantity::Min, None),
        ("http_req_duration_min", Quantity::Min, None),
        ("latencyMin", Quantity::Min, None),
        ("latency_min_ms", Quantity::Min, Some(ms)),
        ("duration_min", Quantity::Duration, Some(Unit::Time(60e9))),
        (
            "p99_minutes",
            Quantity::Quantile(0.99),
            Some(Unit::Time(60e9)),
        ),
        ("mean (mins)", Quantity::Mean, Some(Unit::Time(60e9))),
        ("p1_ms", Quantity::Quantile(0.01), Some(ms)),
        ("Requests/sec", Quantity::Rate, Some(rate)),
        ("req/s", Quantity::Rate, Some(rate)),
        ("rps", Quantity::Rate, Some(rate)),
        ("requests_per_s", Quantity::Rate, Some(rate)),
        ("ok_per_s", Quantity::OkRate, Some(rate)),
        ("Failures/s", Quantity::FailedRate, Some(rate)),
        ("target_rps", Quantity::PlannedRate, Some(rate)),
        ("P99 MS", Quantity::Quantile(0.99), Some(ms)),
        ("Body Bytes", Quantity::Body, Some(Unit::Bytes(1.0))),
        ("errors_percent", Quantity::Failed, Some(percent)),
        ("errors %", Quantity::Failed, Some(percent)),
        ("Errors%", Quantity::Failed, Some(percent)),
        ("errors", Quantity::Failed, None),
        ("error_count", Quantity::Failed, Some(Unit::Count)),
        ("Failure Count", Quantity::Failed, Some(Unit::Count)),
        ("Request Count", Quantity::Requests, Some(Unit::Count)),
        ("requests", Quantity::Requests, None),
        ("total requests", Quantity::Requests, None),
        ("VUs", Quantity::Clients, None),
        ("connections", Quantity::Clients, None),
        ("duration_s", Quantity::Duration, Some(seconds)),
        ("duration", Quantity::Duration, None),
        ("bytes", Quantity::Bytes, Some(Unit::Bytes(1.0))),
        ("bytes_in", Quantity::Bytes, Some(Unit::Bytes(1.0))),
        ("read (MB)", Quantity::Bytes, Some(Unit::Bytes(1e6))),
        ("body_bytes", Quantity::Body, Some(Unit::Bytes(1.0))),
        ("cpu_percent", Quantity::Cpu, Some(percent)),
        ("run", Quantity::Run, None),
    ] {
        assert_eq!(meaning(name), Meaning::Known(quantity, unit), "{name}");
    }
}

#[test]
fn a_slash_may_have_blanks() {
    let (ms, rate) = (Unit::Time(1e6), Unit::PerS(1.0));
    for (name, quantity, unit) in [
        ("Requests / sec", Quantity::Rate, Some(rate)),
        ("Requests /s", Quantity::Rate, Some(rate)),
        ("Throughput [req / s]", Quantity::Rate, Some(rate)),
        ("p99 / ms", Quantity::Quantile(0.99), Some(ms)),
        ("Latency / avg / ms", Quantity::Mean, Some(ms)),
        ("MB / s", Quantity::BytesRate, Some(Unit::BytesPerS(1e6))),
    ] {
        assert_eq!(meaning(name), Meaning::Known(quantity, unit), "{name}");
    }
}

#[test]
fn bytes_and_bits_a_second_are_rates_of_bytes() {
    for (name, quantity, unit) in [
        ("MB/s", Quantity::BytesRate, Some(Unit::BytesPerS(1e6))),
        ("MBps", Quantity::BytesRate, Some(Unit::BytesPerS(1e6))),
        (
            "throughput_GBps",
            Quantity::BytesRate,
            Some(Unit::BytesPerS(1e9)),
        ),
        ("KBps", Quantity::BytesRate, Some(Unit::BytesPerS(1e3))),
        ("Mbps", Quantity::BytesRate, Some(Unit::BytesPerS(125e3))),
        ("Gb/s", Quantity::BytesRate, Some(Unit::BytesPerS(125e6))),
        (
            "transfer Mb/sec",
            Quantity::BytesRate,
            Some(Unit::BytesPerS(125e3)),
        ),
    ] {
        assert_eq!(meaning(name), Meaning::Known(quantity, unit), "{name}");
    }
}

#[test]
fn what_is_not_known_as_a_whole_is_unknown() {
    for name in [
        "server",
        "config",
        "cpu_max",
        "variant",
        "",
        "memory_mb",
        "p99_rank",
        "date",
        "requests_ms",
        "threads",
        "gc p99 ms",
        "max_rss_kb",
        "Transfer/sec",
    ] {
        assert_eq!(meaning(name), Meaning::Unknown, "{name}");
    }
    for name in ["throughput", "rate", "latency_ms", "latency", "read"] {
        assert!(matches!(meaning(name), Meaning::Ambiguous(_)), "{name}");
    }
}

#[test]
fn minutes_and_shares_that_may_be_something_else_are_doubtful() {
    for (name, quantity) in [
        ("p99_min", Quantity::Quantile(0.99)),
        ("mean_min", Quantity::Mean),
        ("latencyP99Min", Quantity::Quantile(0.99)),
        ("response_time_max_min", Quantity::Max),
        ("p0.99", Quantity::Quantile(0.99)),
        ("p0.5_ms", Quantity::Quantile(0.5)),
        ("http_req_duration p(0.999) [ms]", Quantity::Quantile(0.999)),
    ] {
        let found = meaning(name);
        assert!(
            matches!(found, Meaning::Doubtful(which, _) if which == quantity),
            "{name}: {found:?}"
        );
    }
}

/// A factor of eight, which no reader would see.
#[test]
fn bits_are_not_taken_for_bytes() {
    for (name, quantity) in [
        ("MBPS", "bytes-rate"),
        ("throughput Kb/s", "bytes-rate"),
        ("received_Mb", "bytes"),
        ("transfer (Gb)", "bytes"),
        ("body Kb", "body"),
        ("mb/s", "bytes-rate"),
        ("throughput_kb/sec", "bytes-rate"),
        ("mb_per_s", "bytes-rate"),
    ] {
        let found = meaning(name);
        let Meaning::Ambiguous(which) = found else {
            panic!("{name}: {found:?}");
        };
        assert!(which.split(' ').next() == Some(quantity), "{name}: {which}");
    }
    // What is no known quantity stays a name.
    assert_eq!(meaning("memory_Mb"), Meaning::Unknown);
}
