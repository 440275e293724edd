//! `bakeoff load URL`: the load engine alone.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bakeoff_load::{
    BodyCheck, ConnectionUse, Control, LoadError, LoadSpec, Order, Pacing, Speaking, Target,
    Threads, TlsSettings, TlsVersions, Trust, Waiting, h2,
};
use bakeoff_plan::{Connect, Load, LoadModel, RateShape, format_duration};
use bakeoff_record::LoadResult;
use bakeoff_report::{Redaction, conditions_of_load, count};

use crate::flags::{
    AmountFlags, ConnectFlag, LoadFlags, PaceFlags, PrintFlags, ProtocolFlag, ProxyVersionFlag,
    Switch, TlsFlags, TlsVersionFlag,
};
use crate::interrupt::Interrupt;
use crate::metrics::{Endpoint, LoadMetrics};
use crate::{exit, output};

pub(super) mod address;
mod follow;
mod live;
mod log;
mod refuse;
pub(super) mod requests;
mod variants;
mod view;

use live::Live;
use requests::Asked;

pub(super) use refuse::conditions_without_an_answer as refuse_conditions;
pub(super) use refuse::files_that_cannot_be_written as refuse_files;

/// Longest run of a load that ends by count.
const COUNT_DURATION_MAX: Duration = Duration::from_secs(600);
/// One body in so many is compared byte by byte.
const CHECK_ONE_IN: u32 = 64;

pub(crate) fn carry_out(mut flags: LoadFlags) -> anyhow::Result<u8> {
    let mut spec = spec(&flags)?;
    if flags.request.follow {
        flags.amount.urls = follow::urls(&spec, &flags)?;
        spec = self::spec(&flags)?;
    }
    let flags = &flags;
    refuse::files_that_cannot_be_written(&flags.print)?;
    refuse::conditions_without_an_answer(flags, &spec)?;
    if let Some(note) = refuse::crowded_threads(flags) {
        output::note(&note);
    }
    let endpoint = flags.print.metrics.map(Endpoint::open).transpose()?;
    let control = Arc::new(match &flags.print.log {
        Some(_) => Control::logging(log::LINES_MAX),
        None => Control::default(),
    });
    let interrupt = Interrupt::listen()?;
    let stopped = control.clone();
    interrupt.then(move || stopped.stop());
    let serving = endpoint.map(|endpoint| {
        output::note(&endpoint.notice());
        LoadMetrics::serve(endpoint, &control)
    });
    let serving = serving.transpose()?;
    let live = Live::start(flags, &spec, &control);
    let result = bakeoff_load::run(&spec, &control);
    live.finish();
    drop(serving);
    let mut result = result.map_err(not_loaded)?;
    if !flags.print.show_secrets {
        Redaction::default().hide_in_load(&mut result);
    }
    let text = if flags.print.json {
        serde_json::to_string_pretty(&bakeoff_report::load_json(&result))?
    } else {
        bakeoff_report::load_text(&result, output::terminal_width())
    };
    print(&flags.print, &text)?;
    write_seconds(&flags.print, &result)?;
    if let Some(file) = &flags.print.log {
        output::document_to(Some(file), &log::csv(control.logged(), &result))?;
    }
    let mut code = exit_code(flags, &result, interrupt.came());
    if code != exit::INTERRUPTED {
        let conditions = conditions_of_load(&result, &flags.checks.conditions.fail_if);
        conditions.lines.iter().for_each(|line| output::note(line));
        code = super::gated::worse_of(conditions.ruling, code);
    }
    say_what_is_missing(&flags.amount, &result);
    say_why_not_valid(&result, code);
    Ok(code)
}

fn not_loaded(error: LoadError) -> anyhow::Error {
    match error {
        LoadError::Shortage(shortage) => exit::usage(shortage),
        LoadError::Tls(setup) => exit::usage(setup),
        other => anyhow::Error::new(other),
    }
}

/// Prints a result, or writes it where the flags say.
pub(super) fn print(flags: &PrintFlags, text: &str) -> anyhow::Result<()> {
    if flags.json {
        output::document_to(flags.output.as_deref(), &bakeoff_report::json_safe(text))
    } else {
        output::document_to(flags.output.as_deref(), &bakeoff_report::plain_lines(text))
    }
}

/// Writes a line for each second, where the flags say.
pub(super) fn write_seconds(flags: &PrintFlags, result: &LoadResult) -> anyhow::Result<()> {
    match &flags.csv {
        Some(file) => output::document_to(Some(file), &bakeoff_report::load_csv(result)),
        None => Ok(()),
    }
}

/// Says that a load by count came to the longest time that it may take before its count.
pub(super) fn say_what_is_missing(amount: &AmountFlags, result: &LoadResult) {
    if let Some(text) = missing_requests(amount, result) {
        output::note(&text);
    }
}

/// What is said of a count that was not reached. Who names a time expects that it may end first.
fn missing_requests(amount: &AmountFlags, result: &LoadResult) -> Option<String> {
    let wanted = amount.requests.filter(|_| amount.duration.is_none())?;
    let requests = &result.requests;
    let came = requests.due.unwrap_or(requests.completed);
    let is_missing = result.observed.interrupted.is_none() && came < wanted;
    is_missing.then(|| {
        let most = format_duration(COUNT_DURATION_MAX);
        let (came, wanted) = (count(came), count(wanted));
        format!(
            "the load ended after {most} with {came} of {wanted} requests: give it more time with \
             --duration"
        )
    })
}

/// Says why a load in which no answer was right ends with 4.
pub(super) fn say_why_not_valid(result: &LoadResult, code: u8) {
    if code != exit::NOT_VALID {
        return;
    }
    if result.requests.ok == 0 {
        let outcomes = result.outcomes.iter();
        let outcomes = outcomes.map(|(outcome, count)| (outcome.name(), count));
        let why = crate::commands::unanswered::no_answer(result.requests.completed, outcomes);
        output::note(&format!("not a valid measurement: {why}"));
    } else if result.has_no_right_body() {
        let wrong = result.observed.bodies_wrong;
        output::note(&format!(
            "not a valid measurement: {wrong} of {wrong} compared bodies are wrong"
        ));
    }
}

/// Whether no answer was right, as far as answers were looked at.
pub(super) fn is_all_wrong(result: &LoadResult) -> bool {
    result.requests.ok == 0 || result.has_no_right_body()
}

/// 4 where nothing came out right, and with `--strict` where something weakens the numbers.
fn exit_code(flags: &LoadFlags, result: &LoadResult, interrupted: bool) -> u8 {
    if interrupted {
        return exit::INTERRUPTED;
    }
    let weakened = !bakeoff_report::judge_load(result).is_empty() || result.outcomes.errors() > 0;
    if is_all_wrong(result) || (flags.checks.strict && weakened) {
        exit::NOT_VALID
    } else {
        exit::DONE
    }
}

/// Turns flags into a specification for the engine.
pub(super) fn spec(flags: &LoadFlags) -> anyhow::Result<LoadSpec> {
    let asked = Asked::of(flags)?;
    let first = asked.requests.first().context("a URL is required")?;
    let target = first.target.clone();
    let speaking = speaking(flags, &target)?;
    refuse::tls_in_the_clear(flags, &target)?;
    refuse::absent_processors(flags)?;
    super::refuse_repeated(&flags.request.head.headers)?;
    refuse::source_of_a_unix_socket(flags)?;
    let (exchanges, variants) = variants::of(&asked, flags, &speaking)?;
    let amount = &flags.amount;
    let duration = match (amount.duration, amount.requests) {
        (Some(duration), _) => duration,
        (None, Some(_)) => COUNT_DURATION_MAX,
        (None, None) => Duration::from_secs(10),
    };
    refuse::endless_times(flags)?;
    refuse::change_without_end(flags)?;
    refuse::no_time("--duration", duration)?;
    refuse::no_time("--timeout", amount.timeout)?;
    let model = model(flags);
    let connect = connect(flags, &model)?;
    let max_udp_payload = max_udp_payload(flags, &speaking)?;
    Ok(LoadSpec {
        speaking,
        target,
        exchanges,
        load: Load {
            connect,
            streams: flags.way.streams,
            warmup_s: amount.warmup.as_secs_f64(),
            timeout_s: amount.timeout.as_secs_f64(),
            ..Load::new(model, duration.as_secs_f64())
        },
        shape: shape(flags),
        count: amount.requests,
        connections: connection_use(flags, max_udp_payload),
        threads: threads(flags),
        seed: flags.pace.seed,
        check: if flags.checks.check_every_body {
            BodyCheck::All
        } else {
            BodyCheck::OneIn(CHECK_ONE_IN)
        },
        pacing: Pacing {
            variants,
            ..pacing(&flags.pace, asked.order)
        },
        interval: LoadSpec::interval_for(duration),
    })
}

fn shape(flags: &LoadFlags) -> RateShape {
    let rate = flags.amount.rate.as_ref();
    rate.map_or(RateShape::Level, |rate| rate.shape.clone())
}

fn pacing(flags: &PaceFlags, order: Order) -> Pacing {
    Pacing {
        variants: 1,
        order,
        deadline: flags.deadline,
        waiting: match flags.slack {
            _ if flags.spin => Waiting::Spin,
            Some(slack) => Waiting::Slack(slack),
            None => Waiting::Nap,
        },
        gather: flags.gather == Switch::On,
    }
}

/// What is spoken, if it can be spoken to this target.
fn speaking(flags: &LoadFlags, target: &Target) -> anyhow::Result<Speaking> {
    let tls = tls(&flags.tls);
    let of_h1 = h2::Request::connection_header(&flags.request.head.headers);
    let speaking = match (flags.way.protocol, target.secure) {
        (ProtocolFlag::Auto, true) if of_h1.is_some() && flags.way.streams == 1 => {
            Speaking::H1 { tls: Some(tls) }
        }
        (ProtocolFlag::Auto, true) => Speaking::Auto { tls },
        (ProtocolFlag::Auto | ProtocolFlag::H1, false) => Speaking::H1 { tls: None },
        (ProtocolFlag::H1, true) => Speaking::H1 { tls: Some(tls) },
        (ProtocolFlag::H2, true) => Speaking::H2 { tls },
        (ProtocolFlag::H2c, false) => Speaking::H2c,
        (ProtocolFlag::H3, true) => Speaking::H3 { tls },
        (ProtocolFlag::H3, false) => {
            return Err(exit::usage("--protocol h3 needs an https URL"));
        }
        (ProtocolFlag::H2, false) => {
            return Err(exit::usage(
                "--protocol h2 is HTTP/2 over TLS and needs an https URL; for http, use h2c",
            ));
        }
        (ProtocolFlag::H2c, true) => {
            return Err(exit::usage(
                "--protocol h2c is HTTP/2 without TLS and needs an http URL; for https, use h2",
            ));
        }
    };
    if let Some(name) = of_h1.filter(|_| !speaking.is_h1()) {
        return Err(exit::usage(format!(
            "header {name:?} belongs to connections of HTTP/1.1 and may not be sent over HTTP/2 or \
             3: leave it out, or add --protocol h1"
        )));
    }
    if speaking.is_h1() && flags.way.streams > 1 {
        return Err(exit::usage(
            "--streams above 1 needs HTTP/2 or 3: an https URL, or --protocol h2c",
        ));
    }
    if speaking.is_h3() && (flags.way.unix_socket.is_some() || flags.way.proxy_protocol.is_some()) {
        return Err(exit::usage(
            "--unix-socket and --proxy-protocol don't work with HTTP/3, which uses QUIC",
        ));
    }
    let is_early = flags.tls.early_data == Switch::On;
    if is_early && (!speaking.is_h3() || flags.tls.resumption == Switch::Off) {
        return Err(exit::usage(
            "--early-data on needs resumed handshakes of HTTP/3: add --protocol h3 --resumption on",
        ));
    }
    if flags.request.chunked && !matches!(speaking, Speaking::H1 { .. } | Speaking::Auto { .. }) {
        return Err(exit::usage(
            "--chunked only works with HTTP/1.1; HTTP/2 and 3 have frames instead",
        ));
    }
    Ok(speaking)
}

fn tls(flags: &TlsFlags) -> TlsSettings {
    TlsSettings {
        server_name: flags.server_name.clone(),
        trust: match &flags.cacert {
            _ if flags.insecure => Trust::Anything,
            Some(path) => Trust::File(path.into()),
            None => Trust::System,
        },
        versions: match flags.tls_version {
            None => TlsVersions::Both,
            Some(TlsVersionFlag::V12) => TlsVersions::Only12,
            Some(TlsVersionFlag::V13) => TlsVersions::Only13,
        },
        ciphers: flags.ciphers.clone(),
        groups: flags.groups.clone(),
        resumption: flags.resumption == Switch::On,
        early_data: flags.early_data == Switch::On,
        client_certificate: flags.cert.clone().map(|chain| {
            let key = flags.key.clone().unwrap_or_else(|| chain.clone());
            (chain.into(), key.into())
        }),
    }
}

fn model(flags: &LoadFlags) -> LoadModel {
    let clients = flags.amount.clients;
    let arrival = flags.pace.arrival.ready();
    match &flags.amount.rate {
        None => LoadModel::Closed { clients },
        Some(rate) => LoadModel::Open {
            rate_per_s: rate.from_per_s,
            arrival,
            clients,
        },
    }
}

fn connection_use(flags: &LoadFlags, max_udp_payload: Option<u16>) -> ConnectionUse {
    let usual = ConnectionUse::default();
    let (way, flags) = (&flags.way, &flags.connection);
    let rate_gap = flags.connect_rate.map(|rate| Duration::from_secs(1) / rate);
    let only_one = flags.no_keepalive.then_some(1);
    ConnectionUse {
        ramp_gap: rate_gap.or(flags.ramp_gap).unwrap_or(usual.ramp_gap),
        retry_pause: flags.retry_pause.unwrap_or(usual.retry_pause),
        requests_per_connection: only_one.or(flags.requests_per_connection),
        sources: way.source.clone(),
        proxy_protocol: way.proxy_protocol.map(|version| match version {
            ProxyVersionFlag::V1 => bakeoff_plan::ProxyVersion::V1,
            ProxyVersionFlag::V2 => bakeoff_plan::ProxyVersion::V2,
        }),
        max_udp_payload,
    }
}

/// When connections are opened; an open loop cannot wait for one that is not there yet.
fn connect(flags: &LoadFlags, model: &LoadModel) -> anyhow::Result<Connect> {
    let when = flags.connection.connect;
    if flags.amount.rate.is_some() && when == Some(ConnectFlag::AsNeeded) {
        return Err(exit::usage(
            "--connect as-needed only works in a closed loop; with --rate, requests are sent on \
             schedule, so connections are opened first: leave one of the two out",
        ));
    }
    let usual = Connect::usual(model, flags.amount.requests.is_some());
    Ok(when.map_or(usual, ConnectFlag::ready))
}

/// Largest UDP payload that the server may send, where it sends any.
fn max_udp_payload(flags: &LoadFlags, speaking: &Speaking) -> anyhow::Result<Option<u16>> {
    if flags.way.max_udp_payload.is_some() && !speaking.is_h3() {
        return Err(exit::usage(
            "--max-udp-payload only works with HTTP/3: add --protocol h3",
        ));
    }
    Ok(flags.way.max_udp_payload)
}

/// One thread for each processor named, else for half of those there are.
fn threads(flags: &LoadFlags) -> Threads {
    let flags = &flags.pace;
    let pinned = flags.pin.as_ref().map(|cpus| cpus.len() as u32);
    let half = || std::thread::available_parallelism().map_or(1, |n| (n.get() as u32 / 2).max(1));
    Threads {
        count: flags.threads.or(pinned).unwrap_or_else(half),
        pin: flags.pin.clone().unwrap_or_default(),
        part: None,
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_record::Interrupted;
    use clap::Parser as _;

    use super::*;
    use crate::flags::{Command, Flags, MeasureCommand};

    fn spec_of(more: &[&str]) -> anyhow::Result<LoadSpec> {
        let line = ["bakeoff", "load"];
        let flags = Flags::try_parse_from(line.iter().chain(more)).unwrap();
        let Command::Measure(MeasureCommand::Load(flags)) = flags.command else {
            panic!("a load");
        };
        spec(&flags.load)
    }

    #[test]
    fn a_header_of_http1_chooses_it_where_nothing_else_is_asked_for() {
        let url = "https://127.0.0.1:9/";
        let header = ["-H", "connection: keep-alive"];
        let is_h1 = |more: &[&str]| spec_of(more).map(|spec| spec.speaking.is_h1());
        assert_eq!(is_h1(&[url]).ok(), Some(false));
        assert_eq!(is_h1(&[&[url], &header[..]].concat()).ok(), Some(true));
        for other in [["--protocol", "h2"], ["--protocol", "h3"], ["-m", "8"]] {
            let refused = is_h1(&[&[url], &header[..], &other[..]].concat());
            let message = refused.unwrap_err().to_string();
            assert!(message.contains("add --protocol h1"), "{message}");
        }
    }

    #[test]
    fn who_asks_is_said_and_what_may_be_there_once_is_sent_once() {
        let url = "http://127.0.0.1:9/a b";
        let sent = |more: &[&str]| {
            let spec = spec_of(&[&[url], more].concat())?;
            let request = String::from_utf8_lossy(&spec.exchanges[0].request).into_owned();
            anyhow::Ok(request)
        };
        let head = "GET /a%20b HTTP/1.1\r\nHost: 127.0.0.1:9\r\n";
        let own = format!(
            "{head}User-Agent: bakeoff/{}\r\n\r\n",
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(sent(&[]).unwrap(), own);
        let mine = sent(&["-H", "user-agent: me"]).unwrap();
        assert_eq!(mine, format!("{head}user-agent: me\r\n\r\n"));
        for name in ["Host", "Content-Type", "USER-AGENT", "Authorization"] {
            let header = format!("{name}: x");
            let again = format!("{}: x", name.to_lowercase());
            let refused = sent(&["-H", &header, "-H", &again]).unwrap_err();
            assert!(refused.to_string().contains("is given twice"), "{refused}");
        }
    }

    #[test]
    fn a_count_that_is_not_reached_is_said() {
        let said = |more: &[&str], change: fn(&mut LoadResult)| {
            let line = ["bakeoff", "load", "127.0.0.1:9", "-n", "10k"];
            let flags = Flags::try_parse_from(line.iter().chain(more)).unwrap();
            let Command::Measure(MeasureCommand::Load(flags)) = flags.command else {
                panic!("a load");
            };
            let load = spec(&flags.load).unwrap().load;
            let mut result = LoadResult::empty(load, 600.0);
            result.requests.completed = 4_321;
            change(&mut result);
            missing_requests(&flags.load.amount, &result)
        };
        let expected = "the load ended after 10m with 4,321 of 10,000 requests: give it more time \
                        with --duration";
        assert_eq!(said(&[], |_| {}).as_deref(), Some(expected));
        let due = |result: &mut LoadResult| result.requests.due = Some(10_000);
        assert_eq!(said(&["-r", "1k"], due), None);
        let all = |result: &mut LoadResult| result.requests.completed = 10_000;
        assert_eq!(said(&[], all), None);
        assert_eq!(said(&["-d", "1m"], |_| {}), None);
        let interrupted = |result: &mut LoadResult| {
            result.observed.interrupted = Some(Interrupted {
                planned_s: None,
                cut_off: 0,
            });
        };
        assert_eq!(said(&[], interrupted), None);
    }
}
