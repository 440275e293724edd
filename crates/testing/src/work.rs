//! What the contenders of the made-up campaign do for an answer: equal work, but behind a proxy.

use std::collections::BTreeMap;

use super::{HOSTILE, RUN};
use bakeoff_record::{ConfigChange, Crew, UpstreamWork, Work};

pub(crate) fn work(contender: &str, proxied: bool) -> Work {
    let old = contender == "nginx-default";
    Work {
        requests: 10,
        connections: Some(1),
        upstream: proxied.then_some(UpstreamWork {
            requests: 10,
            connections: if old { 10 } else { 1 },
            http_1_0: if old { 10 } else { 0 },
            close: if old { 10 } else { 0 },
        }),
        grown: Some(Vec::new()),
        grown_under_load: Some(Vec::new()),
        crew: Some(Crew {
            processes: 2,
            threads: 2,
            listening: 1,
            loops: 1,
            listening_threads: 1,
            processors: 1,
            open_files: Some(20_000),
            users: vec!["nobody".to_owned()],
        }),
        ..Work::default()
    }
}

pub(crate) fn remedies(server: &str) -> BTreeMap<String, String> {
    let lines = match server {
        "nginx" => [
            ("upstream-version", "proxy_http_version 1.1;"),
            ("upstream-connections", "keepalive 64;"),
            ("access-log", "access_log off;"),
            ("workers", "worker_processes auto;"),
        ],
        _ => return BTreeMap::new(),
    };
    lines
        .map(|(fact, line)| (fact.to_owned(), line.to_owned()))
        .into()
}

/// What a trial changed in a configuration of Caddy's user, whose header tries to be a script.
pub(crate) fn config_changes(server: &str) -> Vec<ConfigChange> {
    let change = |line, before: &str, after: &str, why: &str| ConfigChange {
        file: "/etc/caddy/Caddyfile".into(),
        line,
        before: before.into(),
        after: after.into(),
        why: why.into(),
    };
    match server {
        "caddy" => vec![
            change(1, "{", "{\n\tadmin off", "only this machine may ask"),
            change(3, ":80 {", ":8080 {", "not at a port of the system's"),
            change(
                4,
                &format!("\theader Server \"{HOSTILE}\""),
                &format!("\theader Server \"{HOSTILE}\" # {RUN}"),
                "the plan says so",
            ),
            change(8, ":81 {", ":8081 {", "not at a port of the system's"),
            change(
                9,
                "\ttls_server_name x",
                "",
                "the origin speaks in the clear",
            ),
        ],
        _ => Vec::new(),
    }
}
