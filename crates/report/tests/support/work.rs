//! What the contenders of the made-up campaign do for an answer: equal work, but behind a proxy.

use std::collections::BTreeMap;

use bakeoff_record::{Crew, UpstreamWork, Work};

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
