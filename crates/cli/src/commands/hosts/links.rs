//! What the links between generators and the server's host can carry: the yardstick there, bodies
//! of 1 MiB, each generator alone and all together.

use bakeoff_hosts::{HostError, Order, Report, Session};
use bakeoff_load::{
    BodyCheck, ConnectionUse, Exchange, ExpectedStatus, LoadSpec, Pacing, Request, Speaking,
    Target, Threads,
};
use bakeoff_plan::{Connect, Load, LoadModel, RateShape};
use bakeoff_record::{LinkFacts, When};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::commands::agent::LoadOrder;
use crate::commands::generators::{self, Together};
use crate::output;

/// Length of each body.
const BODY_BYTES: u32 = 1 << 20;
/// Connections of each generator.
const CLIENTS: u32 = 4;
/// How long each measurement takes, and its warm-up.
const DURATION_S: f64 = 2.0;
const WARMUP_S: f64 = 0.2;
/// What starting and ending the server may take.
const SERVER_WITHIN: Duration = Duration::from_secs(10);

/// What was measured from some generators at once.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) from: Vec<String>,
    /// What the bodies, heads and framing took that came to them.
    pub(crate) bits_per_s: Option<f64>,
    /// The fastest connection, which is a round trip.
    pub(crate) rtt_ns: Option<u64>,
    /// Between the first and the last that began, with the errors of their clocks; of several.
    pub(crate) start_spread_ns: Option<u64>,
    /// Why there is no figure.
    pub(crate) why_not: Option<String>,
}

/// Starts the server that links lead to, and returns where.
pub(crate) fn serve(server: &mut Session, address: IpAddr) -> Result<SocketAddr, HostError> {
    let listen = SocketAddr::new(address, 0).to_string();
    server.send(&Order::Serve {
        listen,
        body_bytes: BODY_BYTES,
    })?;
    let is_serving = |report: &Report| matches!(report, Report::Serving { .. });
    let report = server.expect("start a server", SERVER_WITHIN, is_serving)?;
    let Report::Serving { address: found } = report else {
        return Ok(SocketAddr::new(address, 0));
    };
    Ok(found.parse().unwrap_or(SocketAddr::new(address, 0)))
}

/// Ends it.
pub(crate) fn close(server: &mut Session) -> Result<(), HostError> {
    server.send(&Order::Close)?;
    let is_closed = |report: &Report| matches!(report, Report::Closed { .. });
    server.expect("end its server", SERVER_WITHIN, is_closed)?;
    Ok(())
}

/// Measures the link from these generators to `server`, all at once.
pub(crate) fn measure(generators: &mut [&mut Session], server: SocketAddr) -> Link {
    let from = generators.iter().map(|each| each.host().to_owned());
    let mut link = Link {
        from: from.collect(),
        bits_per_s: None,
        rtt_ns: None,
        start_spread_ns: None,
        why_not: None,
    };
    let together = match carry_out(generators, server) {
        Ok(together) => together,
        Err(error) => {
            link.why_not = Some(format!("{error:#}"));
            return link;
        }
    };
    if let Some(lost) = together.lost.first() {
        link.why_not = Some(lost.to_string());
        return link;
    }
    let mut bits_per_s = 0.0;
    for part in &together.parts {
        let result = &part.result;
        if result.requests.ok == 0 {
            let why = result.error_samples.values().next().cloned();
            let why = why.unwrap_or_else(|| "no answer came in time".to_owned());
            link.why_not = Some(format!("host {}: {why}", part.host));
            return link;
        }
        bits_per_s += result.bytes.read as f64 * 8.0 / result.measured_s;
        link.rtt_ns = link.rtt_ns.into_iter().chain(result.connect.min()).min();
    }
    link.bits_per_s = Some(bits_per_s);
    link.start_spread_ns = together.start_spread_ns();
    link
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
    output::note(&format!("link {server} -> {to}: {mbit:.0} Mbit/s"));
    Some(LinkFacts {
        from: vec![server.to_owned()],
        to: link.from,
        bits_per_s,
        rtt_ns: link.rtt_ns,
        when,
    })
}

/// Says why no link was measured.
pub(crate) fn unmeasured(error: &str) -> Vec<LinkFacts> {
    output::note(&format!("links were not measured: {error}"));
    Vec::new()
}

fn carry_out(generators: &mut [&mut Session], server: SocketAddr) -> anyhow::Result<Together> {
    let engines = vec![1; generators.len()];
    let clients = CLIENTS * generators.len() as u32;
    let spec = spec(server, clients)?;
    let packed = LoadOrder::pack(&spec, None, None)?;
    let threads = Threads::divide(clients, &engines);
    let threads = threads.ok_or_else(|| anyhow::anyhow!("there is no generator"))?;
    generators::carry_out(generators, &packed, &threads, &spec.load, &|| false)
}

fn spec(server: SocketAddr, clients: u32) -> anyhow::Result<LoadSpec> {
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
        load: Load {
            model: LoadModel::Closed { clients },
            connect: Connect::First,
            streams: 1,
            requests: None,
            warmup_s: WARMUP_S,
            duration_s: DURATION_S,
            timeout_s: 10.0,
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
