//! An order read again is the load that it was made of.

use bakeoff_load::Request;
use bakeoff_plan::{Connect, LoadModel};

use super::*;

fn spec(speaking: Speaking, folder: &Path) -> LoadSpec {
    let pem = folder.join("a.pem");
    std::fs::write(&pem, "PEM").unwrap();
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
        target: Target::resolve("https://a.test/a?b", ConnectTo::Host("127.0.0.1:9")).unwrap(),
        speaking,
        exchanges: vec![exchange("one"), exchange("two")],
        load: Load {
            model: LoadModel::Closed { clients: 9 },
            connect: Connect::First,
            streams: 2,
            requests: None,
            warmup_s: 0.5,
            duration_s: 1.5,
            timeout_s: 2.5,
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
            part: Some(Part { first: 4, of: 8 }),
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

#[test]
fn a_load_is_unpacked_as_it_was_packed_and_each_file_sent_once() {
    let folder = tempfile::tempdir().unwrap();
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
        let spec = spec(speaking, folder.path());
        let packed = LoadOrder::pack(&spec, Some("127.0.0.1:9"), None).unwrap();
        assert_eq!(
            packed.files.len(),
            3,
            "the request, its fields and the body"
        );
        let text = serde_json::to_vec(&packed.order).unwrap();
        let order: LoadOrder = serde_json::from_slice(&text).unwrap();
        assert_eq!(order, packed.order);
        let unpacked = order.unpack(&packed.files).unwrap();
        assert_eq!(format!("{:?}", unpacked.spec), format!("{spec:?}"));
    }
}

#[test]
fn certificates_are_files_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let pem = folder.path().join("a.pem");
    let tls = TlsSettings {
        trust: Trust::File(pem.clone()),
        client_certificate: Some((pem.clone(), pem)),
        ..TlsSettings::default()
    };
    let spec = spec(Speaking::Auto { tls }, folder.path());
    let packed = LoadOrder::pack(&spec, Some("127.0.0.1:9"), None).unwrap();
    std::fs::remove_dir_all(folder.path()).unwrap();
    let unpacked = packed.order.unpack(&packed.files).unwrap();
    let Some(Trust::File(path)) = unpacked.spec.speaking.tls().map(|tls| &tls.trust) else {
        panic!("a file");
    };
    assert_eq!(std::fs::read(path).unwrap(), b"PEM");
    assert_eq!(unpacked.kept.len(), 3);
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let spec = spec(Speaking::H2c, folder.path());
    let packed = LoadOrder::pack(&spec, Some("127.0.0.1:9"), None).unwrap();
    let error = packed
        .order
        .clone()
        .unpack(&packed.files[..1])
        .err()
        .unwrap();
    assert!(error.to_string().contains("is missing"), "{error}");
    let mut order = packed.order.clone();
    order.pacing.variants = 3;
    let error = order.unpack(&packed.files).err().unwrap();
    assert!(error.to_string().contains("3 variants"), "{error}");
    let mut order = packed.order;
    order.exchanges.clear();
    assert!(order.unpack(&packed.files).is_err());
}
