//! A trial in the load engine's words: where it sends what, how it travels, what comes back.

use std::time::Duration;

use bakeoff_load::{
    BodyCheck, Exchange, ExpectedStatus, LoadSpec, Opening, Protocol, Request, Target, TlsSettings,
    TlsVersions, Trust, Waiting,
};
use bakeoff_plan::{Encoding, RateShape, Trial, Workload};
use bakeoff_stage::Running;

use crate::roles::Roles;

/// One body in so many is compared byte by byte.
const CHECK_ONE_IN: u32 = 64;
/// The first name of the certificates that the stage makes.
const SERVER_NAME: &str = "localhost";

/// What the engine is to do in `trial`. `answer` is the body that was fetched before: where the
/// server encodes, it is what the right body looks like on the wire.
pub(crate) fn spec_of(
    trial: &Trial,
    answer: &[u8],
    seed: u64,
    roles: &Roles,
    server: &Running,
) -> Result<LoadSpec, String> {
    let workload = &trial.workload;
    let target = target(workload, server);
    let request = Request {
        method: &workload.method,
        target: &workload.path,
        host: &target.host,
        headers: &workload.headers,
        body: b"",
        keep_alive: true,
    };
    let bytes = request.encode().map_err(|error| error.to_string())?;
    let protocol = match workload.protocol {
        bakeoff_plan::Protocol::H1 | bakeoff_plan::Protocol::H1Tls => Protocol::H1,
        bakeoff_plan::Protocol::H2 => Protocol::H2,
        bakeoff_plan::Protocol::H2c => Protocol::H2c,
        bakeoff_plan::Protocol::H3 => Protocol::H3,
    };
    let body = match workload.expect_encoding {
        Encoding::Identity => workload.expected_body(),
        Encoding::Gzip => answer.to_vec(),
    };
    let exchange = Exchange {
        name: workload.path.clone(),
        request: bytes.into(),
        h2: Exchange::over_h2(protocol, &request, workload.protocol.is_secure())
            .map_err(|error| error.to_string())?,
        to_head_request: workload.method == "HEAD",
        status: ExpectedStatus::Exactly(workload.expect_status),
        body: Some(body.into()),
        weight: 1,
    };
    Ok(LoadSpec {
        target,
        protocol,
        tls: tls(workload, server),
        exchanges: vec![exchange],
        load: trial.load.clone(),
        shape: RateShape::Level,
        count: trial.load.requests,
        requests_per_connection: None,
        threads: roles.engine_threads,
        pin: roles.pinned.engine.clone(),
        seed,
        check: BodyCheck::OneIn(CHECK_ONE_IN),
        sources: Vec::new(),
        proxy_protocol: None,
        deadline: None,
        waiting: Waiting::Nap,
        gather: true,
        opening: Opening::default(),
        interval: LoadSpec::interval_for(Duration::from_secs_f64(trial.load.duration_s)),
    })
}

fn target(workload: &Workload, server: &Running) -> Target {
    let mut target = Target::at(server.address(), &workload.path);
    if workload.protocol.is_secure() {
        target.url = format!("https://{}{}", server.address(), workload.path);
        target.secure = true;
    }
    if let Some(host) = server.host() {
        target.host = host.to_owned();
    }
    target
}

/// TLS as the preflight spoke it: one application protocol, and no more trust than needed.
fn tls(workload: &Workload, server: &Running) -> Option<TlsSettings> {
    workload.protocol.is_secure().then(|| TlsSettings {
        server_name: Some(server.host().unwrap_or(SERVER_NAME).to_owned()),
        trust: server
            .authority()
            .map_or(Trust::Anything, |file| Trust::File(file.to_owned())),
        versions: TlsVersions::Both,
        ciphers: Vec::new(),
        groups: Vec::new(),
        resumption: false,
        early_data: false,
        client_certificate: None,
    })
}
