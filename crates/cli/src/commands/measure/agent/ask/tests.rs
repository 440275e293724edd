//! What arrives is what was sent.

use std::path::Path;
use std::sync::Arc;

use bakeoff_load::{
    BodyCheck, ConnectionUse, Exchange, ExpectedStatus, Order, Pacing, Request, Speaking, Threads,
    TlsSettings, TlsVersions, Trust, Waiting,
};
use bakeoff_plan::{Builtin, LoadModel, ProxyVersion, RateShape};

use super::*;

fn there() -> ConnectTo {
    ConnectTo::Host("127.0.0.1:9".to_owned())
}

fn spec(speaking: Speaking) -> LoadSpec {
    let headers = [("X-Hotdogs".to_owned(), "aplenty".to_owned())];
    let request = Request {
        method: "POST",
        target: "/a?b",
        host: "a.test",
        headers: &headers,
        body: b"body",
        keep_alive: true,
    };
    let exchange = |name: &str| Exchange {
        name: name.to_owned(),
        request: request.encode().unwrap().into(),
        h2: Some(Exchange::over_h2(&request, true).unwrap()),
        to_head_request: false,
        status: ExpectedStatus::Exactly(201),
        body: Some(b"body"[..].into()),
        weight: 3,
    };
    LoadSpec {
        target: Target::resolve("https://a.test/a?b", &there()).unwrap(),
        speaking,
        exchanges: vec![exchange("one"), exchange("two")],
        load: bakeoff_plan::Load {
            streams: 2,
            warmup_s: 0.5,
            timeout_s: 2.5,
            ..bakeoff_plan::Load::new(LoadModel::Closed { clients: 9 }, 1.5)
        },
        shape: RateShape::Ramp { to_per_s: 0.1 },
        count: Some(7),
        connections: ConnectionUse {
            requests_per_connection: Some(4),
            proxy_protocol: Some(ProxyVersion::V2),
            ..ConnectionUse::default()
        },
        threads: Threads {
            count: 2,
            pin: vec![1],
            part: Some(bakeoff_load::Part { first: 4, of: 8 }),
        },
        seed: u64::MAX,
        check: BodyCheck::OneIn(64),
        pacing: Pacing {
            order: Order::InTurn,
            variants: 2,
            deadline: Some(Duration::from_nanos(1)),
            waiting: Waiting::Slack(Duration::from_micros(7)),
            gather: true,
        },
        interval: Duration::from_millis(100),
    }
}

/// As it goes through a session.
fn sent(load: &Load) -> (Load, usize) {
    let bytes = serde_json::to_vec(load).unwrap();
    (serde_json::from_slice(&bytes).unwrap(), bytes.len())
}

#[test]
fn a_load_arrives_as_it_was_sent_and_a_body_is_sent_once() {
    let plain = TlsSettings {
        server_name: Some("b.test".to_owned()),
        versions: TlsVersions::Only13,
        resumption: true,
        trust: Trust::Anything,
        ..TlsSettings::default()
    };
    for speaking in [
        Speaking::H1 { tls: None },
        Speaking::H2c,
        Speaking::H2 { tls: plain.clone() },
        Speaking::H3 { tls: plain },
    ] {
        let mut load = Load::new(spec(speaking), Some(there())).unwrap();
        let arrived = sent(&load).0.here().unwrap();
        assert_eq!(format!("{arrived:?}"), format!("{:?}", load.spec));
        let long: Arc<[u8]> = vec![b'x'; 1 << 20].into();
        for exchange in &mut load.spec.exchanges {
            exchange.body = Some(long.clone());
        }
        let (arrived, bytes) = sent(&load);
        assert!(bytes < 2 * long.len(), "{bytes} bytes");
        let bodies = arrived.spec.exchanges.iter();
        assert!(
            bodies
                .map(|it| &it.body)
                .all(|it| *it == Some(long.clone()))
        );
    }
}

#[test]
fn certificates_go_with_the_load_and_keep_their_paths() {
    let folder = tempfile::tempdir().unwrap();
    let pem = folder.path().join("a.pem");
    std::fs::write(&pem, "PEM").unwrap();
    let tls = TlsSettings {
        trust: Trust::File((&pem).into()),
        client_certificate: Some(((&pem).into(), (&pem).into())),
        ..TlsSettings::default()
    };
    let load = Load::new(spec(Speaking::Auto { tls }), None).unwrap();
    drop(folder);
    let mut arrived = sent(&load).0.here().unwrap();
    let pems: Vec<_> = arrived.speaking.tls_mut().unwrap().pems_mut().collect();
    assert_eq!(pems.len(), 3);
    for found in pems {
        assert_eq!(found.path, pem);
        assert_eq!(found.bytes, Some(FileBytes(b"PEM".to_vec())));
    }
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let load = Load::new(spec(Speaking::H2c), Some(there())).unwrap();
    let refused = |change: fn(&mut LoadSpec)| {
        let mut load = load.clone();
        load.connect_to = None;
        change(&mut load.spec);
        load.here().err().unwrap().to_string()
    };
    assert!(refused(|spec| spec.pacing.variants = 3).contains("3 variants"));
    assert!(refused(|spec| spec.exchanges.clear()).contains("no request"));
    assert!(refused(|spec| spec.target.endpoints.clear()).contains("no address"));
    let mut text = serde_json::to_value(&load).unwrap();
    text["spec"]["exchanges"]["bodies"] = serde_json::json!([]);
    let error = serde_json::from_value::<Load>(text).unwrap_err();
    assert!(error.to_string().contains("is missing"), "{error}");
}

/// What goes over is what was meant: plans and all that is in them.
#[test]
fn plans_come_out_as_they_went_in() {
    for name in ["smoke", "matrix"] {
        let text = bakeoff_plan::builtin_plan(name).unwrap();
        let plan = bakeoff_plan::parse(text, name, Path::new("/"), &Builtin).unwrap();
        let ask = Ask::Preflight {
            plan: Box::new(plan.clone()),
        };
        let bytes = serde_json::to_vec(&ask).unwrap();
        let Ask::Preflight { plan: again } = serde_json::from_slice(&bytes).unwrap() else {
            panic!("something else");
        };
        assert_eq!(*again, plan);
    }
}
