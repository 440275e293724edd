//! A trial as a specification for the load engine: where it sends what, how it travels, and what
//! comes back.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bakeoff_load::{
    BodyCheck, ConnectionUse, Exchange, ExpectedStatus, LoadSpec, Order, Pacing, Request, Speaking,
    Target, Threads, TlsSettings, TlsVersions, Trust, Waiting,
};
use bakeoff_plan::{
    Client, Connections, Cut, RateShape, Resumption, Trial, Workload, with_user_agent,
};

use crate::site::Reached;

/// One body in this many is compared byte by byte.
const CHECK_ONE_IN: u32 = 64;
/// The first name of the certificates that the stage makes.
const SERVER_NAME: &str = "localhost";

/// Bodies as they were sent where the server encodes or the plan knows no more, by the position of
/// their request: what a right body looks like on the wire.
pub type Encoded = BTreeMap<usize, Vec<u8>>;

/// A load to carry out.
#[derive(Debug, Clone, Copy)]
pub struct LoadOrder<'a> {
    /// The trial, whose workload and load it is.
    pub trial: &'a Trial,
    /// Bodies that were fetched before of what the server encodes, by the position of the request.
    pub encoded: &'a Encoded,
    /// Seed of the schedule and of the choice among requests.
    pub seed: u64,
    /// The server.
    pub reached: &'a Reached,
}

impl LoadOrder<'_> {
    /// What an engine with these threads is to do.
    ///
    /// # Errors
    /// When a request cannot be sent over the protocol.
    pub fn spec(&self, threads: Threads) -> Result<LoadSpec, String> {
        let LoadOrder {
            trial,
            encoded,
            seed,
            reached: server,
        } = *self;
        let workload = &trial.workload;
        let target = target(workload, server);
        let seconds = Duration::from_secs_f64;
        let level = LoadSpec::interval_for(seconds(trial.load.duration_s));
        let (shape, interval, deadline) = match &trial.ramp {
            None => (RateShape::Level, level, None),
            Some(ramp) => {
                let then_per_s = ramp.then_per_s.clone();
                // Who has waited for a connection as long as for an answer has given up, too.
                let patience = seconds(trial.load.timeout_s);
                (RateShape::Steps { then_per_s }, ramp.part, Some(patience))
            }
        };
        let cuts = workload.cuts();
        let variants = workload.values().count(&cuts, trial.load.requests);
        Ok(LoadSpec {
            speaking: speaking(workload, server),
            exchanges: exchanges(workload, (&cuts, variants), &target.host, encoded)?,
            target,
            load: trial.load.clone(),
            shape,
            count: trial.load.requests,
            connections: ConnectionUse {
                requests_per_connection: match workload.connections {
                    Connections::KeepAlive => None,
                    Connections::New => Some(1),
                    Connections::Requests(requests) => Some(requests),
                },
                proxy_protocol: workload.client.proxy_protocol,
                ..ConnectionUse::default()
            },
            threads,
            seed,
            check: BodyCheck::OneIn(CHECK_ONE_IN),
            pacing: Pacing {
                order: Order::ByWeight,
                variants,
                deadline,
                waiting: Waiting::Nap,
                gather: true,
            },
            interval,
        })
    }
}

fn speaking(workload: &Workload, server: &Reached) -> Speaking {
    let tls = tls(server, &workload.client);
    match workload.protocol {
        bakeoff_plan::Protocol::H1 => Speaking::H1 { tls: None },
        bakeoff_plan::Protocol::H1Tls => Speaking::H1 { tls: Some(tls) },
        bakeoff_plan::Protocol::H2 => Speaking::H2 { tls },
        bakeoff_plan::Protocol::H2c => Speaking::H2c,
        bakeoff_plan::Protocol::H3 => Speaking::H3 { tls },
    }
}

/// The workload's requests as they travel to `host`, each with so many variants.
fn exchanges(
    workload: &Workload,
    (cuts, variants): (&[Cut], u32),
    host: &str,
    encoded: &Encoded,
) -> Result<Vec<Exchange>, String> {
    let values = workload.values();
    let mut exchanges = Vec::new();
    for ((index, asked), cut) in workload.requests.iter().enumerate().zip(cuts) {
        // What the right body looks like where the server encodes.
        let wire_body = encoded.get(&index).cloned();
        // An answer to HEAD has the other's headers, and no body.
        let right_body = wire_body.or_else(|| asked.expect.body_bytes());
        let right_body = right_body.filter(|_| asked.method != "HEAD").map(Arc::from);
        // Results are of all variants together.
        let mut name = asked.name();
        for number in 1..=u64::from(variants) {
            let filled = match cut.varies() {
                true => Cow::Owned(asked.filled(values.variant(cut, index, number))),
                false => Cow::Borrowed(asked),
            };
            let made = exchange(workload, &filled, host);
            let made = made.map_err(|cause| format!("`{}`: {cause}", asked.name()))?;
            exchanges.push(Exchange {
                name: std::mem::take(&mut name),
                body: right_body.clone(),
                ..made
            });
        }
    }
    Ok(exchanges)
}

/// A request to which any body is right.
fn exchange(
    workload: &Workload,
    asked: &bakeoff_plan::Request,
    host: &str,
) -> Result<Exchange, String> {
    let sent = asked.body.as_ref();
    let body = sent.map(|body| body.content.bytes()).unwrap_or_default();
    let headers = with_user_agent(&asked.headers);
    let request = Request {
        method: &asked.method,
        target: &asked.path,
        host,
        headers: &headers,
        body: &body,
        keep_alive: workload.connections != Connections::New,
    };
    let bytes = if sent.is_some_and(|body| body.chunked) {
        request.encode_chunked()
    } else {
        request.encode()
    };
    let secure = workload.protocol.is_secure();
    let has_streams = workload.protocol.has_streams();
    let h2 = has_streams.then(|| Exchange::over_h2(&request, secure));
    Ok(Exchange {
        name: String::new(),
        request: bytes.map_err(|error| error.to_string())?.into(),
        h2: h2.transpose().map_err(|error| error.to_string())?,
        to_head_request: asked.method == "HEAD",
        status: ExpectedStatus::Exactly(asked.expect.status),
        body: None,
        weight: asked.weight,
    })
}

fn target(workload: &Workload, server: &Reached) -> Target {
    let path = &workload.requests.first().path;
    let mut target = Target::at(server.address, path);
    if workload.protocol.is_secure() {
        target.url = format!("https://{}{}", server.address, path);
        target.secure = true;
    }
    if let Some(host) = &server.host {
        target.host = host.clone();
    }
    target
}

/// TLS as the preflight spoke it: one application protocol, and no more trust than needed.
fn tls(server: &Reached, client: &Client) -> TlsSettings {
    let certificate = client.certificate.as_ref();
    TlsSettings {
        server_name: Some(server.host.as_deref().unwrap_or(SERVER_NAME).to_owned()),
        trust: server
            .authority
            .as_ref()
            .map_or(Trust::Anything, |pem| Trust::File(pem.clone())),
        versions: TlsVersions::Both,
        ciphers: Vec::new(),
        groups: Vec::new(),
        resumption: client.resumption == Resumption::Tickets,
        early_data: client.early_data,
        client_certificate: certificate.map(|it| ((&it.chain).into(), (&it.key).into())),
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_plan::USER_AGENT;

    use super::*;

    const LIST: &str = r#"
        name = "list"
        connections = "new"
        [[request]]
        path = "/page"
        weight = 8
        expect.text = "hello"
        [[request]]
        method = "POST"
        path = "/form"
        body = { text = "name=value", chunked = true }
        expect = { status = 303, body = "any" }
        [[request]]
        method = "HEAD"
        path = "/packed"
        headers = ["Accept-Encoding: gzip"]
        expect = { text = "packed", encoding = "gzip" }
        [[request]]
        path = "/packed"
        headers = ["Accept-Encoding: gzip"]
        expect = { text = "packed", encoding = "gzip" }
    "#;

    #[test]
    fn variants_of_a_request_follow_each_other_and_expect_the_same() {
        let list = r#"
            name = "shop"
            [[request]]
            path = "/item/{n}"
            expect.text = "hello"
            [[request]]
            path = "/page"
            expect.text = "page"
        "#;
        let workload = bakeoff_plan::parse_workload(list, "shop").unwrap();
        let cuts = workload.cuts();
        let exchanges = exchanges(&workload, (&cuts, 3), "a:1", &Encoded::new()).unwrap();
        let facts = exchanges.iter().map(|each| {
            let request = String::from_utf8_lossy(&each.request);
            let target = request.split(' ').nth(1).unwrap().to_owned();
            let body = String::from_utf8_lossy(each.body.as_deref().unwrap()).into_owned();
            (each.name.clone(), target, body)
        });
        let of = |name: &str, target: &str, body: &str| {
            (name.to_owned(), target.to_owned(), body.to_owned())
        };
        assert_eq!(
            facts.collect::<Vec<_>>(),
            [
                of("GET /item/{n}", "/item/1", "hello"),
                of("", "/item/2", "hello"),
                of("", "/item/3", "hello"),
                of("GET /page", "/page", "page"),
                of("", "/page", "page"),
                of("", "/page", "page"),
            ]
        );
    }

    #[test]
    fn a_list_becomes_exchanges_with_its_weights_bodies_and_checks() {
        let workload = bakeoff_plan::parse_workload(LIST, "list").unwrap();
        let encoded = Encoded::from([(2, Vec::new()), (3, b"as sent".to_vec())]);
        let cuts = workload.cuts();
        let exchanges = exchanges(&workload, (&cuts, 1), "127.0.0.1:9", &encoded).unwrap();
        let facts = |exchange: &Exchange| {
            let body = exchange.body.as_deref().map(<[u8]>::to_vec);
            (
                exchange.name.clone(),
                exchange.weight,
                exchange.status,
                body,
            )
        };
        let exactly = ExpectedStatus::Exactly;
        let of = |name: &str, weight, status, body: Option<&[u8]>| {
            (
                name.to_owned(),
                weight,
                exactly(status),
                body.map(<[u8]>::to_vec),
            )
        };
        assert_eq!(
            exchanges.iter().map(facts).collect::<Vec<_>>(),
            [
                of("GET /page", 8, 200, Some(b"hello")),
                of("POST /form", 1, 303, None),
                of("HEAD /packed", 1, 200, None),
                of("GET /packed", 1, 200, Some(b"as sent")),
            ]
        );
        let heads: Vec<bool> = exchanges.iter().map(|each| each.to_head_request).collect();
        assert_eq!(heads, [false, false, true, false]);
        assert_eq!(
            String::from_utf8_lossy(&exchanges[1].request),
            format!(
                "POST /form HTTP/1.1\r\nHost: 127.0.0.1:9\r\nUser-Agent: {USER_AGENT}\r\n\
                 Transfer-Encoding: chunked\r\nConnection: close\r\n\r\na\r\nname=value\r\n\
                 0\r\n\r\n"
            )
        );
    }
}
