//! A made-up campaign, the same on every machine: 3 contenders x 2 workloads x 2 loads x 3 rounds
//! and the references. One cell fails under load, one is skipped, and one trial failed to start. A
//! `Server` header tries to be a script. One proxy of three uses HTTP/1.0 towards its upstream.
//!
//! It obeys the laws that the audit checks (Little's law, counts, the origin's count), so what is
//! suspect in it is suspect on purpose.

mod campaigns;
mod changing;
pub mod searching;
mod traffic;
mod usage;
mod work;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use bakeoff_plan::{
    Arrival, CertificateKey, ConfigSource, Connections, Contender, Content, ContentKind, Encoding,
    Expected, Load, LoadModel, Pinning, Plan, Protocol, References, Request, ServedFile,
    ServerChoice, Workload,
};
use bakeoff_record::{
    AnswerCheck, ConfigFile, ContenderKind, HeaderBytes, Histogram, MACHINE_SCHEMA, Machine,
    MachineSettings, Negotiated, OriginCounts, Pinned, Record, ServerFacts, Step, StepTime,
    StopFacts, TrialEnd, TrialRecord, Warning, When,
};

pub use campaigns::{answer_late, campaign, fail, large, measure_links, slow_down, waver};
pub use changing::changed;
pub use traffic::Shape;

/// The `Server` header that must stay text wherever it is shown.
pub const HOSTILE: &str = "<script>alert(1)</script>";
/// Requests per second of the campaign at a constant rate.
const CONSTANT_RATE: f64 = 500.0;
/// The folder that a trial filled into configurations.
pub const RUN: &str = "/t/trial-1/run";
/// Measured seconds of a trial.
pub const MEASURED_S: f64 = 5.0;

/// The campaign with its rounds as planned: three.
pub fn record() -> Record {
    record_of_rounds(3)
}

/// What of a campaign is of workload `synthetic` and its first load.
pub fn at_one_load(mut record: Record) -> Record {
    record
        .trials
        .retain(|it| it.workload == "synthetic" && it.load.label() == "c10");
    record.plan.workloads.truncate(1);
    record.plan.loads.truncate(1);
    record
}

/// The campaign with `rounds` rounds.
pub fn record_of_rounds(rounds: u32) -> Record {
    record_of(plan(rounds), false)
}

/// With the first contender once more as a control, where there is one.
fn record_of(plan: Plan, has_control: bool) -> Record {
    let mut trials = Vec::new();
    for round in 1..=plan.rounds {
        for workload in &plan.workloads {
            for load in &plan.loads {
                for contender in &plan.contenders {
                    trials.push(trial(round, contender, workload, load));
                }
                let first = plan.contenders.first().filter(|_| has_control);
                trials.extend(first.map(|first| TrialRecord {
                    kind: ContenderKind::Control,
                    ..trial(round, &campaigns::again(first), workload, load)
                }));
                trials.extend(references(round, workload, load));
            }
        }
    }
    for (index, trial) in trials.iter_mut().enumerate() {
        trial.index = index;
    }
    Record {
        plan,
        machine: machine(),
        trials,
        confirming: Vec::new(),
        is_copy: false,
    }
}

/// The made-up campaign as if `synthetic` had been asked over HTTP/2 or 3, compressed headers and
/// all.
pub fn record_over(protocol: Protocol) -> Record {
    let mut record = record();
    for workload in &mut record.plan.workloads {
        if workload.name == "synthetic" {
            workload.protocol = protocol;
        }
    }
    for (number, trial) in (1..).zip(&mut record.trials) {
        let Some(result) = &mut trial.result else {
            continue;
        };
        let name = protocol.name().to_owned();
        let reported = |name: &str| (!protocol.is_h3()).then(|| name.to_owned());
        result.negotiated = Negotiated {
            protocol: name.clone(),
            tls_version: Some("TLSv1.3".into()),
            cipher: reported("TLS13_AES_128_GCM_SHA256"),
            group: reported("X25519"),
            alpn: Some(name),
            settings: None,
        };
        if protocol.is_h3() {
            result.connect = Histogram::new();
        }
        result.handshake.record_n(2_000_000 + number * 1_000, 10);
        result.header_bytes = (trial.contender != "caddy-default").then_some(HeaderBytes {
            wire: 9_000 * number,
            decoded: 60_000 * number,
        });
    }
    record
}

/// The made-up campaign at 500 requests a second and equal gaps instead: by count, then by time.
pub fn record_at_constant_rate() -> Record {
    let mut plan = plan(3);
    for load in &mut plan.loads {
        load.model = LoadModel::Open {
            rate_per_s: CONSTANT_RATE,
            arrival: Arrival::Constant,
            clients: load.clients(),
        };
    }
    plan.loads[0].requests = Some((CONSTANT_RATE * MEASURED_S) as u64);
    let mut record = record_of(plan, false);
    for trial in &mut record.trials {
        if let Some(result) = &mut trial.result {
            traffic::keep_time(result, &trial.load);
        }
    }
    record
}

/// One trial in an open loop: all requests answered, sent on time.
pub fn open_loop_trial() -> TrialRecord {
    let plan = plan(1);
    let mut load = load(50);
    load.model = LoadModel::Open {
        rate_per_s: 500.0,
        arrival: Arrival::Poisson,
        clients: 50,
    };
    let mut trial = trial(1, &plan.contenders[1], &plan.workloads[0], &load);
    let result = trial
        .result
        .as_mut()
        .expect("an ordinary trial is measured");
    traffic::drain(result);
    trial
}

fn plan(rounds: u32) -> Plan {
    Plan {
        name: "synthetic".into(),
        description: "A made-up campaign for tests of the report.".into(),
        rounds,
        budget: None,
        until: None,
        compare: bakeoff_plan::CompareMode::AsConfigured,
        seed: 7,
        rest: Duration::from_millis(500),
        pinning: Pinning::default(),
        references: References {
            yardstick: true,
            origin: true,
            control: None,
            duration: None,
        },
        contenders: vec![
            contender("nginx-default", "nginx", "default"),
            contender("nginx-optimized", "nginx", "optimized"),
            contender("caddy-default", "caddy", "default"),
        ],
        workloads: vec![
            workload(
                "synthetic",
                "The server itself answers Hello, world!",
                false,
            ),
            workload(
                "proxy",
                "The server asks an upstream, which answers 31 bytes.",
                true,
            ),
        ],
        loads: vec![load(10), load(200)],
    }
}

fn contender(name: &str, server: &str, variant: &str) -> Contender {
    Contender {
        name: name.into(),
        server: ServerChoice::Program {
            server: server.into(),
            version: None,
            binary: Some(PathBuf::from(format!("/usr/sbin/{server}"))),
            config: ConfigSource::Variant(variant.into()),
        },
        overlays: Vec::new(),
        certificate: CertificateKey::default(),
        host: None,
        replacements: Vec::new(),
        user: None,
        limits: None,
        action_command: None,
        answers: Vec::new(),
    }
}

fn workload(name: &str, description: &str, proxied: bool) -> Workload {
    Workload {
        name: name.into(),
        description: description.into(),
        template: name.into(),
        protocol: Protocol::H1,
        requests: Request {
            method: "GET".to_owned(),
            path: "/".into(),
            headers: vec![("X-Hotdogs".into(), "aplenty".into())],
            placeholders: false,
            secret_headers: Vec::new(),
            weight: 1,
            body: None,
            expect: Expected {
                status: 200,
                body: Some(Content::Text("Hello, world!".into())),
                encoding: Encoding::Identity,
                known_by: bakeoff_plan::KnownBy::Plan,
            },
        }
        .into(),
        connections: Connections::default(),
        client: bakeoff_plan::Client::default(),
        values: None,
        files: vec![ServedFile {
            path: "index.html".into(),
            content: Content::Generated {
                kind: ContentKind::Html,
                bytes: 4500,
            },
        }],
        proxied,
        origin: None,
        notes: Vec::new(),
    }
}

fn load(clients: u32) -> Load {
    Load {
        warmup_s: 1.0,
        ..Load::new(LoadModel::Closed { clients }, MEASURED_S)
    }
}

fn machine() -> Machine {
    Machine {
        schema: MACHINE_SCHEMA.into(),
        bakeoff: "0.1.0".into(),
        host: "bench".into(),
        os: Some("Debian GNU/Linux 12 (bookworm)".into()),
        kernel: "6.1.0-18-amd64".into(),
        cgroups: "v2-beside-v1".into(),
        cpu_model: Some("A Processor @ 2.50GHz".into()),
        cpus: 2,
        hypervisor: Some("KVM".into()),
        governor: None,
        memory_bytes: Some(8_326_254_592),
        open_files: Some((20_000, 20_000)),
        ephemeral_ports: Some((32_768, 60_999)),
        somaxconn: Some(4096),
        tcp_tw_reuse: Some(2),
        settings: MachineSettings::default(),
        load_average: Some(0.12),
        command: ["bakeoff", "run", "synthetic"].map(String::from).to_vec(),
        started_at: "2026-11-21T04:00:00Z".into(),
    }
}

/// Settings of the machine, for pages that are to show some.
pub fn settings() -> MachineSettings {
    let sysctls = [
        ("net.core.somaxconn", "4096"),
        ("net.ipv4.tcp_rmem", "4096\t131072\t6291456"),
    ];
    MachineSettings {
        microcode: Some("0x2b000590".into()),
        swap_bytes: Some(2_147_483_648),
        sysctls: sysctls
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
    }
}

/// What a contender's traffic looks like in one cell.
fn shape(contender: &str, workload: &str, clients: u32) -> Shape {
    let (rate, spread, cores, memory) = match (contender.trim_end_matches('~'), workload) {
        ("yardstick", _) => (92_000.0, 0.35, 0.94, 9e6),
        ("origin", _) => (85_000.0, 0.35, 0.94, 11e6),
        ("nginx-default", "synthetic") => (46_000.0, 0.45, 0.97, 6.1e6),
        ("nginx-default", _) => (9_800.0, 0.55, 0.62, 6.4e6),
        ("nginx-optimized", "synthetic") => (45_200.0, 0.42, 0.96, 9.8e6),
        ("nginx-optimized", _) => (38_400.0, 0.5, 0.95, 12.3e6),
        (_, "synthetic") => (21_300.0, 0.7, 0.98, 41e6),
        _ => (11_900.0, 0.8, 0.91, 47e6),
    };
    let memory_growth = if contender.starts_with("caddy") {
        0.6
    } else {
        0.05
    };
    Shape {
        rate,
        spread,
        cores,
        memory,
        memory_growth,
        in_flight: f64::from(clients),
        clients,
        refused_share: 0.0,
        reset_share: 0.0,
        engine_busy: if contender == "yardstick" { 0.97 } else { 0.44 },
    }
}

fn trial(round: u32, contender: &Contender, workload: &Workload, load: &Load) -> TrialRecord {
    let clients = load.clients();
    let mut shape = shape(&contender.name, &workload.name, clients);
    let seed = seed_of(&[&contender.name, &workload.name, &load.label()], round);
    shape.rate *= 1.0 + ((seed % 41) as f64 - 20.0) / 1000.0;
    let same = contender.name.trim_end_matches('~');
    let case = (same, workload.name.as_str(), clients);
    if case == ("nginx-default", "synthetic", 200) {
        (shape.refused_share, shape.reset_share) = (0.31, 0.04);
    }
    if let LoadModel::Open { rate_per_s, .. } = load.model {
        shape.slow_down(rate_per_s);
    }
    let mut trial = measured(round, &contender.name, workload, load, &shape, seed);
    let name = contender.name.as_str();
    trial.server = Some(facts(name));
    trial.work = Some(work::work(name, workload.proxied));
    if case == ("caddy-default", "proxy", 200) {
        unmeasured(&mut trial);
        trial.server = None;
        trial.end = TrialEnd::Skipped {
            reason: "200 clients and their upstream connections need 20,412 open files, and \
                     20,000 are allowed"
                .into(),
            fix: "raise the limit: ulimit -n 65536".into(),
        };
    }
    if case == ("nginx-optimized", "proxy", 10) && round == 2 {
        unmeasured(&mut trial);
        trial.end = TrialEnd::Failed {
            step: Step::Start,
            cause: "127.0.0.1:8080 did not answer as nginx-optimized within 10 s".into(),
            message: Some("bind() to 127.0.0.1:8080 failed (98: Address already in use)".into()),
        };
    }
    trial
}

fn references(round: u32, workload: &Workload, load: &Load) -> Vec<TrialRecord> {
    let mut kinds = vec![("yardstick", ContenderKind::Yardstick)];
    if workload.proxied {
        kinds.insert(0, ("origin", ContenderKind::Origin));
    }
    let one = |(name, kind): (&str, ContenderKind)| {
        let mut shape = shape(name, &workload.name, load.clients());
        if let LoadModel::Open { rate_per_s, .. } = load.model {
            shape.slow_down(rate_per_s);
        }
        let seed = seed_of(&[name, &workload.name, &load.label()], round);
        let mut trial = measured(round, name, workload, load, &shape, seed);
        trial.kind = kind;
        trial.origin = None;
        trial.server = Some(ServerFacts {
            configs: Vec::new(),
            ..facts(name)
        });
        trial
    };
    kinds.into_iter().map(one).collect()
}

fn measured(
    round: u32,
    contender: &str,
    workload: &Workload,
    load: &Load,
    shape: &Shape,
    seed: u64,
) -> TrialRecord {
    let id = format!("r{round}-{contender}-{}-{}", workload.name, load.label());
    let result = traffic::result(load, shape, seed);
    let origin = workload.proxied.then(|| OriginCounts {
        requests: result.requests.completed,
        connections: 64,
        http_1_0: 0,
        bytes_read: result.requests.completed * 96,
        bytes_written: result.requests.completed * 140,
        ..OriginCounts::default()
    });
    TrialRecord {
        round,
        started_at: format!("2026-11-21T04:0{}:00Z", round % 10),
        steps: steps(),
        warnings: vec![Warning {
            code: "shared-cores".into(),
            text: "server and origin share processor 0".into(),
            hint: "use a machine with at least 3 processors".into(),
        }],
        end: TrialEnd::Measured,
        pinned: Pinned {
            server: vec![0],
            engine: vec![1],
            origin: vec![0],
        },
        usage: usage::usage(shape, result.requests.completed, workload.proxied),
        result: Some(result),
        origin,
        answers: [When::Before, When::After].map(answer).to_vec(),
        ..TrialRecord::begun(&id, contender, &workload.name, load.clone())
    }
}

fn unmeasured(trial: &mut TrialRecord) {
    trial.result = None;
    trial.origin = None;
    trial.usage = bakeoff_record::Usage::default();
    trial.answers.clear();
    trial.work = None;
    trial.steps.truncate(2);
    trial.warnings.clear();
}

fn facts(name: &str) -> ServerFacts {
    let (server, version, header) = match name {
        "caddy-default" => ("caddy", "2.6.2", HOSTILE),
        "yardstick" | "origin" => (name, "0.1.0", "bakeoff"),
        _ => ("nginx", "1.22.1", "nginx/1.22.1"),
    };
    let text = match server {
        "caddy" => "{\n\tadmin off\n}\n:8080 {\n\trespond \"Hello, world!\"\n}\n",
        _ if name == "nginx-optimized" => {
            "events {\n    use epoll;\n}\nhttp {\n    access_log off;\n    sendfile on;\n}\n"
        }
        _ => "events {\n    use epoll;\n}\nhttp {\n    access_log off;\n}\n",
    };
    ServerFacts {
        server: server.into(),
        version: version.into(),
        binary: format!("/usr/sbin/{server}"),
        binary_sha256: "0f".repeat(32),
        package: None,
        command: vec![
            format!("/usr/sbin/{server}"),
            "-c".into(),
            format!("{name}.conf"),
        ],
        configs: vec![ConfigFile {
            path: format!("logs/{name}.conf"),
            text: text.into(),
            filled: BTreeMap::from([("run".to_owned(), RUN.to_owned())]),
        }],
        config_changes: work::config_changes(server),
        remedies: work::remedies(server),
        limits: None,
        address: "127.0.0.1:8080".into(),
        server_header: Some(header.into()),
        stopped: Some(StopFacts {
            graceful: true,
            took_s: 0.021,
            status: Some("exit status 0".into()),
        }),
    }
}

fn answer(when: When) -> AnswerCheck {
    AnswerCheck {
        request: "GET /".into(),
        when,
        status: 200,
        body_bytes: 13,
        body_sha256: "a1".repeat(32),
        decoded_bytes: None,
        decoded_sha256: None,
        negotiated: Negotiated {
            protocol: "h1".into(),
            ..Negotiated::default()
        },
        headers: vec![("Content-Length".into(), "13".into())],
        right: true,
    }
}

fn steps() -> Vec<StepTime> {
    let all = [
        (Step::Prepare, 0.004),
        (Step::CheckConfig, 0.018),
        (Step::Start, 0.061),
        (Step::WarmUp, 1.0),
        (Step::Measure, MEASURED_S),
        (Step::CheckAgain, 0.002),
        (Step::Stop, 0.021),
    ];
    all.map(|(step, took_s)| StepTime { step, took_s }).to_vec()
}

/// A number that depends on names and round alone (FNV-1a).
fn seed_of(names: &[&str], round: u32) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in names
        .iter()
        .flat_map(|name| name.bytes())
        .chain(round.to_le_bytes())
    {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash >> 8
}
