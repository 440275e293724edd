//! What the links between generators and the server's host can carry: the yardstick there, bodies
//! of 1 MiB, each generator alone and all together.

use bakeoff_hosts::{Fits, HostError, Session};
use bakeoff_load::{
    BodyCheck, ConnectionUse, Exchange, ExpectedStatus, LoadSpec, Pacing, Request, Speaking,
    Target, Threads,
};
use bakeoff_plan::{LoadModel, RateShape};
use bakeoff_record::{LinkFacts, LoadResult, ThreadUsage, When};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::commands::measure::agent::{Answer, Ask, Load};
use crate::commands::measure::generators::{self, Progress, Together};
use crate::output;

/// Length of each body.
const BODY_BYTES: u32 = 1 << 20;
/// Connections of each generator.
const CLIENTS: u32 = 4;
/// How long a measurement takes; and where a round trip takes longer than `NEAR`, over which
/// connections take longer to reach their pace.
const NEAR_DURATION_S: f64 = 0.5;
const FAR_DURATION_S: f64 = 2.0;
const NEAR: Duration = Duration::from_millis(5);
const WARMUP_S: f64 = 0.2;
/// Share of the time from which on a thread has none left for more.
const FULL_SHARE: f64 = 0.8;
/// Share of what is asked for at once from which on it, and not the link, may set the pace: it was
/// that long on the way.
const WINDOW_SHARE: f64 = 0.5;
/// What starting and ending the server may take.
const SERVER_WITHIN: Duration = Duration::from_secs(10);

/// What was measured from some generators at once.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) from: Vec<String>,
    /// What the bodies, heads and framing took that came to them.
    pub(crate) bits_per_s: Option<f64>,
    /// Whether a thread at one of its ends had no time left: then it may carry more.
    pub(crate) at_least: bool,
    /// The fastest connection, which is a round trip.
    pub(crate) rtt_ns: Option<u64>,
    /// Between the first and the last that began, with the errors of their clocks; of several.
    pub(crate) start_spread_ns: Option<u64>,
    /// Why there is no figure.
    pub(crate) why_not: Option<String>,
}

impl Link {
    /// Whether it was to be measured from this host, and was not.
    pub(crate) fn failed_from(&self, host: &str) -> bool {
        self.bits_per_s.is_none() && self.from.iter().any(|from| from == host)
    }
}

/// Measures the links from the host of `server`, which listens on `address`, to each of the
/// generators alone, then to all of them together.
///
/// # Errors
/// The server's end cannot serve.
pub(crate) fn measure_all(
    server: &mut Session,
    address: IpAddr,
    generators: &mut [&mut Session],
    should_stop: &dyn Fn() -> bool,
) -> Result<Vec<Link>, HostError> {
    let mut found = Vec::new();
    let alone = (0..generators.len()).map(|index| index..index + 1);
    let all = (generators.len() > 1).then_some(0..generators.len());
    for part in alone.chain(all) {
        if !should_stop() {
            found.push(measure(server, address, &mut generators[part])?);
        }
    }
    Ok(found)
}

/// Measures the link to these generators, all at once.
fn measure(
    server: &mut Session,
    address: IpAddr,
    generators: &mut [&mut Session],
) -> Result<Link, HostError> {
    let link = measure_for(NEAR_DURATION_S, server, address, generators)?;
    let is_far = |rtt_ns: u64| u128::from(rtt_ns) > NEAR.as_nanos();
    if link.bits_per_s.is_some() && link.rtt_ns.is_some_and(is_far) {
        return measure_for(FAR_DURATION_S, server, address, generators);
    }
    Ok(link)
}

fn measure_for(
    duration_s: f64,
    server: &mut Session,
    address: IpAddr,
    generators: &mut [&mut Session],
) -> Result<Link, HostError> {
    let listening = serve(server, address)?;
    let mut link = loaded(generators, listening, duration_s);
    let share = close(server, WARMUP_S + duration_s)?;
    // One thread serves them all.
    link.at_least |= share.is_some_and(|share| share >= FULL_SHARE);
    Ok(link)
}

/// Starts the server that a link leads to, and returns where.
fn serve(server: &mut Session, address: IpAddr) -> Result<SocketAddr, HostError> {
    let serve = Ask::Serve {
        listen: SocketAddr::new(address, 0),
        body_bytes: BODY_BYTES,
    };
    server.asked(
        &serve,
        "start a server",
        SERVER_WITHIN,
        |answer| match answer {
            Answer::Serving { address } => Fits::This(address),
            _ => Fits::Not,
        },
    )
}

/// Ends it; the share of the load for which its thread ran, of the time in which it could.
fn close(server: &mut Session, load_s: f64) -> Result<Option<f64>, HostError> {
    server.asked(
        &Ask::Close,
        "end its server",
        SERVER_WITHIN,
        |answer| match answer {
            Answer::Closed { ran, waited } => Fits::This(
                ran.map(|ran| ran_share(ran.as_secs_f64(), waited.as_secs_f64(), load_s)),
            ),
            _ => Fits::Not,
        },
    )
}

/// Share of a load for which a thread ran, of the time in which it was not kept from running.
fn ran_share(ran_s: f64, waited_s: f64, load_s: f64) -> f64 {
    ran_s / (load_s - waited_s).max(ran_s).max(f64::MIN_POSITIVE)
}

fn loaded(generators: &mut [&mut Session], server: SocketAddr, duration_s: f64) -> Link {
    let from = generators.iter().map(|each| each.host().to_owned());
    let mut link = Link {
        from: from.collect(),
        bits_per_s: None,
        at_least: false,
        rtt_ns: None,
        start_spread_ns: None,
        why_not: None,
    };
    let together = match carry_out(generators, server, duration_s) {
        Ok(together) => together,
        Err(error) => {
            link.why_not = Some(format!("{error:#}"));
            return link;
        }
    };
    if let Some(lost) = together.lost.first() {
        link.why_not = Some(lost.error.to_string());
        return link;
    }
    let mut bits_per_s = 0.0;
    for part in &together.parts {
        let result = &part.result;
        match carried(result) {
            Ok(bits) => bits_per_s += bits,
            Err(why) => {
                link.why_not = Some(format!("host {}: {why}", part.host));
                return link;
            }
        }
        link.rtt_ns = link.rtt_ns.into_iter().chain(result.connect.min()).min();
        let full =
            |it: &ThreadUsage| ran_share(it.cpu_s, it.kept_s, result.measured_s) >= FULL_SHARE;
        link.at_least |= result.engine.threads.iter().any(full);
    }
    // Each connection asks for one body at a time, so a long way is full before the link is.
    let in_flight = f64::from(CLIENTS * BODY_BYTES) * 8.0 * link.from.len() as f64;
    let round_trip_s = link.rtt_ns.unwrap_or(0) as f64 / 1e9;
    link.at_least |= bits_per_s * round_trip_s >= WINDOW_SHARE * in_flight;
    link.bits_per_s = Some(bits_per_s);
    link.start_spread_ns = together.start_spread_ns();
    link
}

/// What came to a generator, bits per second; or why that says nothing.
fn carried(result: &LoadResult) -> Result<f64, String> {
    // A slow link carries no whole body in the window; what came of one counts.
    if result.requests.ok == 0 {
        let why = result.error_samples.values().next().cloned();
        let nothing = (result.bytes.read == 0).then(|| "no answer came in time".to_owned());
        why.or(nothing).map_or(Ok(()), Err)?;
    }
    Ok(result.bytes.read as f64 * 8.0 / result.measured_s)
}

/// Says what a link from the server's host carries; what the record keeps of it.
pub(crate) fn noted(server: &str, link: Link, when: When) -> Option<LinkFacts> {
    let to = link.from.join("+");
    let Some(bits_per_s) = link.bits_per_s else {
        let why = link.why_not.unwrap_or_default();
        output::note(&format!("link {server} -> {to} was not measured: {why}"));
        return None;
    };
    let mbit = bits_per_s / 1e6;
    let bound = if link.at_least { "at least " } else { "" };
    output::note(&format!("link {server} -> {to}: {bound}{mbit:.0} Mbit/s"));
    Some(LinkFacts {
        from: vec![server.to_owned()],
        to: link.from,
        bits_per_s,
        at_least: link.at_least,
        rtt_ns: link.rtt_ns,
        when,
    })
}

/// Says why no link was measured.
pub(crate) fn unmeasured(error: &str) -> Vec<LinkFacts> {
    output::note(&format!("links were not measured: {error}"));
    Vec::new()
}

fn carry_out(
    generators: &mut [&mut Session],
    server: SocketAddr,
    duration_s: f64,
) -> anyhow::Result<Together> {
    let engines = vec![1; generators.len()];
    let clients = CLIENTS * generators.len() as u32;
    let spec = spec(server, clients, duration_s)?;
    let load = Load::new(spec, None)?;
    let threads = Threads::divide(clients, &engines);
    let threads = threads.ok_or_else(|| anyhow::anyhow!("there is no generator"))?;
    generators::carry_out(generators, &load, &threads, &Progress::default())
}

fn spec(server: SocketAddr, clients: u32, duration_s: f64) -> anyhow::Result<LoadSpec> {
    let target = Target::at(server, "/");
    let request = Request {
        method: "GET",
        target: &target.path,
        host: &target.host,
        headers: &[],
        body: &[],
        keep_alive: true,
    };
    let exchange = Exchange {
        name: "/".to_owned(),
        request: request.encode()?.into(),
        h2: None,
        to_head_request: false,
        status: ExpectedStatus::Exactly(200),
        body: None,
        weight: 1,
    };
    Ok(LoadSpec {
        speaking: Speaking::H1 { tls: None },
        exchanges: vec![exchange],
        load: bakeoff_plan::Load {
            warmup_s: WARMUP_S,
            ..bakeoff_plan::Load::new(LoadModel::Closed { clients }, duration_s)
        },
        shape: RateShape::Level,
        count: None,
        connections: ConnectionUse::default(),
        threads: Threads {
            count: 1,
            pin: Vec::new(),
            part: None,
        },
        seed: 1,
        check: BodyCheck::OneIn(64),
        pacing: Pacing::default(),
        interval: Duration::from_millis(100),
        target,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Over 10 Mbit/s none of four bodies is whole in time, and all that came is known.
    #[test]
    fn a_link_that_carries_no_whole_body_was_measured() {
        let load = spec("127.0.0.1:9".parse().unwrap(), CLIENTS, 2.0)
            .unwrap()
            .load;
        let check = |ok: u64, read: u64, error: Option<&str>, expected: Result<f64, &str>| {
            let mut result = LoadResult::empty(load.clone(), 2.0);
            (result.requests.ok, result.bytes.read) = (ok, read);
            let errors = error.map(|text| ("reset".to_owned(), text.to_owned()));
            result.error_samples = errors.into_iter().collect();
            assert_eq!(carried(&result), expected.map_err(str::to_owned));
        };
        check(9, 2_500_000, None, Ok(10e6));
        check(0, 2_500_000, None, Ok(10e6));
        check(9, 2_500_000, Some("it was reset"), Ok(10e6));
        check(0, 0, None, Err("no answer came in time"));
        check(0, 0, Some("it was refused"), Err("it was refused"));
        check(0, 300, Some("status 403"), Err("status 403"));
    }

    /// A thread that another program keeps from its processor is as full as one that runs on.
    #[test]
    fn a_thread_without_sleep_is_full() {
        let near = |share: f64, expected: f64| (share - expected).abs() < 1e-9;
        assert!(near(ran_share(2.2, 0.0, 2.2), 1.0));
        assert!(near(ran_share(1.1, 1.1, 2.2), 1.0));
        assert!(
            near(ran_share(0.1, 2.0, 2.2), 0.5),
            "it slept as long as it ran"
        );
        assert!(ran_share(0.05, 0.0, 2.2) < 0.03);
        assert!(near(ran_share(0.0, 3.0, 2.2), 0.0));
    }
}
