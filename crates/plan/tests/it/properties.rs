//! What holds of every plan: it is written and read back the same, and no text panics.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bakeoff_plan::{
    Budget, Builtin, CertificateKey, Changing, CompareMode, ConfigSource, Connections, Contender,
    Content, ContentKind, Cpus, Delay, Demand, Encoding, Expected, KnownBy, Library, Limits,
    OwnAnswer, OwnCommand, Pinning, Plan, Protocol, Readiness, References, Replacement, Request,
    RequestBody, Requests, Resumption, RunningUrl, SentBody, ServedFile, ServerChoice, SlowBody,
    StopSignal, Stopping, Until, Url, Workload, builtin_plan, parse, trials,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

mod client;
mod loads;

use client::client;
use loads::loads;

struct Nothing;

impl Library for Nothing {
    fn workload(&self, _: &str) -> Option<String> {
        None
    }

    fn workload_names(&self) -> Vec<String> {
        Vec::new()
    }
}

fn duration(least_ns: u64) -> impl Strategy<Value = Duration> {
    prop_oneof![
        (1..=86_400_u64).prop_map(Duration::from_secs),
        (least_ns..=86_400_000_000_000).prop_map(Duration::from_nanos),
    ]
}

fn seconds(least_ns: u64) -> impl Strategy<Value = f64> {
    duration(least_ns).prop_map(|duration| duration.as_secs_f64())
}

fn cpus() -> impl Strategy<Value = Cpus> {
    let list = vec(0..64_usize, 1..4).prop_map(Cpus::List);
    prop_oneof![Just(Cpus::Auto), Just(Cpus::Any), list]
}

fn content() -> impl Strategy<Value = Content> {
    let kind = prop_oneof![
        Just(ContentKind::Html),
        Just(ContentKind::Script),
        Just(ContentKind::Random)
    ];
    let generated =
        (kind, 0..67_108_864_usize).prop_map(|(kind, bytes)| Content::Generated { kind, bytes });
    prop_oneof![any::<String>().prop_map(Content::Text), generated]
}

fn contender(index: usize) -> impl Strategy<Value = Contender> {
    let config = prop_oneof![
        "[a-z]{1,8}".prop_map(ConfigSource::Variant),
        "/[a-zä \"']{1,8}/[a-z.]{1,5}x".prop_map(|path| ConfigSource::File(PathBuf::from(path))),
    ];
    let binary = option::of("(/[a-z ]{1,5}/)?[a-z]{1,8}".prop_map(PathBuf::from));
    let version = option::of("[0-9]{1,2}(\\.[0-9]{1,3}){0,2}");
    let overlays = btree_map("[a-z][a-z_0-9]{0,8}", any::<String>(), 0..4);
    (
        "[A-Za-z0-9._-]{0,9}",
        "[a-z]{1,9}x",
        version,
        binary,
        config,
        overlays,
        any::<bool>(),
        option::of("[a-z]{1,8}(\\.[a-z]{1,5})?"),
        vec(("[!-~]{1,9}", any::<String>()), 0..3),
        option::of("[a-z]{1,8}"),
    )
        .prop_map(
            move |(name, server, version, binary, config, overlays, rsa, host, texts, user)| {
                Contender {
                    user,
                    host,
                    replacements: match config {
                        ConfigSource::Variant(_) => Vec::new(),
                        ConfigSource::File(_) => replacements(texts),
                    },
                    name: format!("c{index}{name}"),
                    limits: rsa.then(|| Limits::several("memory=64M").unwrap()[0]),
                    action_command: rsa.then(|| "kill -HUP \"$BAKEOFF_PID\"".to_owned()),
                    answers: Vec::new(),
                    server: ServerChoice::Program {
                        server,
                        version,
                        binary,
                        config,
                    },
                    overlays: overlays.into_iter().collect(),
                    certificate: if rsa {
                        CertificateKey::Rsa2048
                    } else {
                        CertificateKey::EcdsaP256
                    },
                }
            },
        )
}

/// A command or a URL.
fn own(index: usize) -> impl Strategy<Value = Contender> {
    let environment = btree_map("[A-Z]{1,9}", "[!-~ ]{0,9}", 0..3);
    let fresh = || vec("[a-z]{1,8}( [!-~]{1,9})?", 0..3);
    let ready = (option::of("/[!-\"$-~]{0,9}"), option::of(200..600_u16));
    let signal = prop_oneof![Just(StopSignal::Term), Just(StopSignal::Quit)];
    let command = (
        "[a-z]{1,8}( [ -~]{0,30})?",
        environment,
        "/[a-zä \"']{0,8}",
        fresh(),
        ready,
        (signal, duration(0)),
    )
        .prop_map(
            |(command, environment, folder, fresh, (path, status), stop)| {
                ServerChoice::Command(OwnCommand {
                    command,
                    environment: environment.into_iter().collect(),
                    folder: PathBuf::from(folder),
                    fresh,
                    ready: Readiness { path, status },
                    stop: Stopping {
                        signal: stop.0,
                        grace: stop.1,
                    },
                })
            },
        );
    let url = (
        "[a-z]{1,9}",
        1..=u16::MAX,
        "/[a-z]{0,4}",
        any::<bool>(),
        fresh(),
    )
        .prop_map(|(host, port, path, is_secure, fresh)| {
            let url = Url {
                is_secure,
                host,
                port,
                path,
            };
            let folder = PathBuf::from("/there");
            ServerChoice::Url(RunningUrl { url, fresh, folder })
        });
    let bytes = option::of(0..9_007_199_254_740_991_u64);
    let digest = || option::of("[0-9a-f]{64}");
    let changing = (option::of(any::<[u32; 2]>()), digest()).prop_map(|(bytes, rest_sha256)| {
        let bytes = bytes.map(|bytes| bytes.map(u64::from));
        Changing { bytes, rest_sha256 }
    });
    let body =
        (bytes, digest(), option::of(changing)).prop_map(|(bytes, sha256, changing)| SentBody {
            bytes,
            sha256,
            changing,
        });
    let answer = option::of((100..600_u16, body));
    (prop_oneof![command, url], answer).prop_map(move |(server, answer)| {
        let mut contender = Contender::plain(format!("own{index}"), server);
        contender
            .answers
            .extend(answer.map(|(status, body)| OwnAnswer {
                // Filled in where the workloads are known.
                workload: String::new(),
                request: 0,
                status,
                body,
            }));
        contender
    })
}

fn replacements(texts: Vec<(String, String)>) -> Vec<Replacement> {
    let texts = texts.into_iter();
    texts.map(|(from, to)| Replacement { from, to }).collect()
}

fn request() -> impl Strategy<Value = Request> {
    let header = ("[A-Za-z-]{1,12}x", "([!-~ä]([ -~ä]{0,9}[!-~ä])?)?");
    let body =
        (content(), any::<bool>()).prop_map(|(content, chunked)| RequestBody { content, chunked });
    (
        ("[A-Z]{1,9}", "/[!-\"$-~]{0,20}"),
        (vec(header, 0..4), any::<bool>()),
        1..=1_000_000_000_u32,
        option::of(body),
        (
            200..600_u16,
            option::of(content()),
            any::<bool>(),
            known_by(),
        ),
    )
        .prop_map(|((method, path), headers, weight, body, expect)| {
            let (mut headers, is_secret) = headers;
            let first = headers.first().map(|(name, _)| name.clone());
            let secret_headers = first.into_iter().filter(|_| is_secret).collect();
            let (status, expected, gzip, known_by) = expect;
            let gzip = gzip && expected.is_some();
            let is_said = expected.is_some();
            if gzip {
                headers.push(("Accept-Encoding".to_owned(), "br, gzip".to_owned()));
            }
            Request {
                method,
                path,
                headers,
                placeholders: false,
                secret_headers,
                weight,
                body,
                expect: Expected {
                    status,
                    body: expected,
                    encoding: if gzip {
                        Encoding::Gzip
                    } else {
                        Encoding::Identity
                    },
                    known_by: if is_said { KnownBy::Plan } else { known_by },
                },
            }
        })
}

fn known_by() -> impl Strategy<Value = KnownBy> {
    let sent =
        (0..1_000_000_u64, option::of("[0-9a-f]{64}")).prop_map(|(bytes, sha256)| SentBody {
            bytes: Some(bytes),
            sha256,
            changing: None,
        });
    prop_oneof![
        Just(KnownBy::Plan),
        Just(KnownBy::FirstAnswer),
        sent.prop_map(KnownBy::Sent)
    ]
}

fn connections() -> impl Strategy<Value = Connections> {
    prop_oneof![
        Just(Connections::KeepAlive),
        Just(Connections::New),
        (1..1000_u32).prop_map(Connections::Requests),
    ]
}

fn workload(index: usize) -> impl Strategy<Value = Workload> {
    let files = vec(("[a-z]{1,8}\\.html", content()), 0..3);
    (
        ("[a-z0-9._-]{0,9}", any::<String>()),
        vec(request(), 1..4),
        (connections(), client()),
        files,
        option::of(option::of(demand())),
        0..Protocol::ALL.len(),
    )
        .prop_map(
            move |(
                (name, description),
                mut requests,
                (connections, mut client),
                files,
                proxied,
                protocol,
            )| {
                let numbered = files.into_iter().enumerate();
                let file = |(at, (path, content))| ServedFile {
                    path: format!("{at}/{path}"),
                    content,
                };
                let protocol = Protocol::ALL[protocol];
                for body in requests.iter_mut().filter_map(|each| each.body.as_mut()) {
                    body.chunked &= matches!(protocol, Protocol::H1 | Protocol::H1Tls);
                }
                if !protocol.is_secure() {
                    (client.certificate, client.resumption) = (None, Resumption::None);
                }
                client.early_data = client.resumption == Resumption::Tickets && protocol.is_h3();
                client.proxy_protocol = client.proxy_protocol.filter(|_| !protocol.is_h3());
                let requests = Requests::new(requests).unwrap();
                // The origin has one answer, so what it cannot give is not proxied.
                let proxied = proxied.filter(|_| requests.one_answer().is_some());
                Workload {
                    // The letter after the dash keeps one trial's name from being another's.
                    name: format!("w{index}{name}"),
                    description,
                    template: format!("w{name}"),
                    protocol,
                    proxied: proxied.is_some(),
                    origin: proxied.flatten(),
                    notes: Vec::from([String::from("a note")]),
                    requests,
                    connections,
                    client,
                    values: None,
                    files: numbered.map(file).collect(),
                }
            },
        )
}

fn demand() -> impl Strategy<Value = Demand> {
    let (least, most) = (duration(1), duration(1));
    let delay = (0..4_usize, least, most).prop_map(|(kind, one, other)| match kind {
        0 => Delay::Constant(one),
        1 => Delay::Uniform {
            from: one.min(other),
            to: one.max(other),
        },
        2 => Delay::Exponential { mean: one },
        _ => Delay::Lognormal {
            median: one.min(other),
            p99: one.max(other),
        },
    });
    let share = || 0.0..0.33_f64;
    let slow_body = (1..67_108_864_u32, duration(1));
    let slow_body = slow_body.prop_map(|(bytes, every)| SlowBody { bytes, every });
    let workers = option::of((1..1_000_000_u32, option::of(0..1_000_000_000_u32)));
    (
        option::of(delay),
        (share(), 400..600_u16, share(), share()),
        option::of(slow_body),
        workers,
    )
        .prop_map(
            |(delay, (errors, error_status, resets, closes), slow_body, workers)| {
                let workers = workers.filter(|_| delay.is_some() || slow_body.is_some());
                Demand {
                    delay,
                    errors,
                    error_status,
                    resets,
                    closes,
                    slow_body,
                    workers: workers.map(|(workers, _)| workers),
                    queue: workers.and_then(|(_, queue)| queue),
                }
            },
        )
}

/// All contenders; the answers of the last are to this workload.
fn all((mut all, own): (Vec<Contender>, Option<Contender>), workload: &str) -> Vec<Contender> {
    all.extend(own);
    for answer in all.iter_mut().flat_map(|it| &mut it.answers) {
        workload.clone_into(&mut answer.workload);
    }
    all
}

fn plan() -> impl Strategy<Value = Plan> {
    let head = (
        "[A-Za-z0-9][A-Za-z0-9._-]{0,9}",
        any::<String>(),
        1..50_u32,
        0..=i64::MAX as u64,
    );
    let pinning = (cpus(), cpus(), cpus()).prop_map(|(server, engine, origin)| Pinning {
        server,
        engine,
        origin,
    });
    let beside = (
        any::<bool>(),
        any::<bool>(),
        option::of(any::<bool>()),
        option::of(duration(1)),
    );
    let references = beside.prop_map(|(yardstick, origin, control, duration)| References {
        yardstick,
        origin,
        control,
        duration,
    });
    let rule = (option::of((0.001..=1.0_f64, 50..=1000_u32)), any::<bool>());
    let contenders = (1..4_usize).prop_flat_map(|n| (0..n).map(contender).collect::<Vec<_>>());
    let contenders = (contenders, option::of(own(9)));
    let workloads = (1..4_usize).prop_flat_map(|n| (0..n).map(workload).collect::<Vec<_>>());
    (
        head,
        duration(0),
        pinning,
        references,
        contenders,
        workloads,
        loads(),
        rule,
    )
        .prop_map(
            |(head, rest, pinning, references, contenders, workloads, mut loads, rule)| {
                let (name, description, rounds, seed) = head;
                let (until, equal_work) = rule;
                let contenders = all(contenders, &workloads[0].name);
                if !workloads.iter().all(|it| it.protocol.has_streams()) {
                    loads.iter_mut().for_each(|load| load.streams = 1);
                }
                let mut plan = Plan {
                    name,
                    description,
                    rounds,
                    budget: (rounds == 1 && until.is_none())
                        .then(|| Budget::new(Duration::from_secs(seed % 1_000 + 1))),
                    until: until.map(|(width, max_rounds)| Until { width, max_rounds }),
                    compare: if equal_work {
                        CompareMode::EqualWork
                    } else {
                        CompareMode::AsConfigured
                    },
                    seed,
                    rest,
                    pinning,
                    references,
                    contenders,
                    workloads,
                    loads,
                };
                plan.note_contenders();
                plan
            },
        )
}

proptest! {
    #[test]
    fn a_plan_written_and_read_is_the_same(plan in plan()) {
        let text = plan.to_toml();
        let again = parse(&text, "plan.toml", Path::new("/elsewhere"), &Nothing);
        prop_assert_eq!(again.map_err(|error| error.to_string()), Ok(plan), "{}", text);
    }

    #[test]
    fn a_plan_stored_and_read_is_the_same(plan in plan()) {
        let text = serde_json::to_string(&plan).unwrap();
        let again: Result<Plan, _> = serde_json::from_str(&text);
        prop_assert_eq!(again.map_err(|error| error.to_string()), Ok(plan), "{}", text);
    }

    #[test]
    fn trials_are_numbered_and_named_apart(plan in plan()) {
        let trials = trials(&plan);
        let names: std::collections::HashSet<&str> =
            trials.iter().map(|trial| trial.id.as_str()).collect();
        prop_assert_eq!(names.len(), trials.len());
        prop_assert!(trials.iter().enumerate().all(|(index, trial)| trial.index == index));
        prop_assert!(names.iter().all(|name| name.len() < 255 && !name.contains('/')));
    }

    #[test]
    fn no_text_panics(text: String) {
        let _ = parse(&text, "plan.toml", Path::new("/"), &Builtin);
    }

    #[test]
    fn no_damaged_plan_panics(
        at in any::<prop::sample::Index>(),
        length in 0..12_usize,
        patch in "[a-z0-9\\[\\]\"=.,{}\n -]{0,12}",
    ) {
        let plan = builtin_plan("quick").unwrap();
        let start = at.index(plan.len());
        let end = (start + length).min(plan.len());
        let text = format!("{}{patch}{}", &plan[..start], &plan[end..]);
        match parse(&text, "plan.toml", Path::new("/"), &Builtin) {
            Ok(plan) => drop(trials(&plan)),
            Err(error) => prop_assert!(error.to_string().contains(".toml:")),
        }
    }
}
