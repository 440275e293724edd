//! Where a server gives what it counted, if its configuration opens such a place.

use std::net::SocketAddr;
use std::time::Instant;

use bakeoff_probe::{Counted, ask};
use bakeoff_record::{CounterReading, CounterSource, ServerCounters, ServerFacts};
use bakeoff_stage::Running;

/// Addresses that are tried.
const ADDRESSES_MAX: usize = 8;

/// A place where counters were read.
#[derive(Debug, Clone)]
struct Asked {
    source: CounterSource,
    address: SocketAddr,
    path: String,
    host: String,
}

/// A server's own counters at both edges of the window.
#[derive(Debug, Default)]
pub(crate) struct OwnCounters {
    asked: Option<Asked>,
    /// Whether the reading at the start was tried: a server that does not answer is not asked
    /// again and again.
    begun: bool,
    before: Option<(Instant, Counted)>,
    after: Option<(Instant, Counted)>,
}

impl OwnCounters {
    /// Looks for a place in the server's configuration and asks there once, before the load.
    pub(crate) fn find(server: &Running) -> Self {
        let places = places(&server.facts());
        let host = server.host().unwrap_or("localhost");
        let mut addresses = if places.is_empty() {
            Vec::new()
        } else {
            server.listening()
        };
        // Counters mostly have a port of their own, and the measured one may speak TLS.
        addresses.sort_by_key(|address| *address == server.address());
        let mut askable = places.iter().flat_map(|(source, path)| {
            let addresses = addresses.iter().take(ADDRESSES_MAX);
            let with_hosts = addresses.flat_map(|address| {
                let hosts = hosts(*source, *address, host).into_iter();
                hosts.map(|host| (*address, host))
            });
            with_hosts.map(|(address, host)| Asked {
                source: *source,
                address,
                path: path.clone(),
                host,
            })
        });
        Self {
            asked: askable.find(|asked| asked.ask().is_some()),
            ..Self::default()
        }
    }

    /// Reads them, the first time that the window is about to open: what is counted from here on
    /// holds the window and no less.
    pub(crate) fn begin(&mut self) {
        if !self.begun {
            self.begun = true;
            self.before = self.read();
        }
    }

    /// Reads them at the end of the window.
    pub(crate) fn end(&mut self) {
        if self.after.is_none() {
            self.after = self.read();
        }
    }

    /// Both readings, on an axis whose 0 is the window's `start`.
    pub(crate) fn into_record(self, start: Instant) -> Option<ServerCounters> {
        let (asked, before, after) = (self.asked?, self.before?, self.after?);
        let reading = |(at, counted): (Instant, Counted)| CounterReading {
            at_s: match at.checked_duration_since(start) {
                Some(after) => after.as_secs_f64(),
                None => -start.duration_since(at).as_secs_f64(),
            },
            accepts: counted.accepts,
            requests: counted.requests,
        };
        Some(ServerCounters {
            source: asked.source,
            url: format!("http://{}{}", asked.address, asked.path),
            before: reading(before),
            after: reading(after),
        })
    }

    fn read(&self) -> Option<(Instant, Counted)> {
        let counted = self.asked.as_ref()?.ask()?;
        Some((Instant::now(), counted))
    }
}

impl Asked {
    fn ask(&self) -> Option<Counted> {
        ask(self.source, self.address, &self.path, &self.host)
    }
}

/// Names to ask by. Caddy's administration answers to its own address alone, as its configuration
/// has it: with port 0, where any free one will do.
fn hosts(source: CounterSource, address: SocketAddr, host: &str) -> Vec<String> {
    match source {
        CounterSource::CaddyMetrics => {
            vec![
                address.to_string(),
                SocketAddr::new(address.ip(), 0).to_string(),
            ]
        }
        _ => vec![host.to_owned()],
    }
}

/// Where a server may give its counters, by its configuration: what gives them, and the path.
fn places(facts: &ServerFacts) -> Vec<(CounterSource, String)> {
    let lines = facts.configs.iter().flat_map(|config| config.text.lines());
    let text: Vec<&str> = lines.map(without_comment).collect();
    match facts.server.as_str() {
        "nginx" => nginx_paths(&text.join("\n"))
            .into_iter()
            .map(|path| (CounterSource::StubStatus, path))
            .collect(),
        "haproxy" => haproxy_path(&text)
            .map(|path| (CounterSource::HaproxyStats, path))
            .into_iter()
            .collect(),
        "envoy"
            if text
                .iter()
                .any(|line| line.trim_start().starts_with("admin:")) =>
        {
            let path = "/stats?filter=downstream_".to_owned();
            vec![(CounterSource::EnvoyAdmin, path)]
        }
        "caddy" if text.iter().any(|line| line.contains("metrics")) => {
            vec![(CounterSource::CaddyMetrics, "/metrics".to_owned())]
        }
        _ => Vec::new(),
    }
}

fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with('#') {
        ""
    } else {
        line
    }
}

/// Paths of the locations that hold `stub_status`.
fn nginx_paths(text: &str) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for (at, word) in text.match_indices("stub_status") {
        let ends = text[at + word.len()..].starts_with([';', ' ']);
        let Some(block) = text[..at].rfind("location").filter(|_| ends) else {
            continue;
        };
        let Some((arguments, _)) = text[block..at].split_once('{') else {
            continue;
        };
        let path = arguments.split_whitespace().last().unwrap_or_default();
        if path.starts_with('/') && !paths.iter().any(|known| known == path) {
            paths.push(path.to_owned());
        }
    }
    paths
}

/// The path of the statistics as a table.
fn haproxy_path(lines: &[&str]) -> Option<String> {
    let statistics = || {
        let words = lines
            .iter()
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        words.filter(|words| words.first() == Some(&"stats"))
    };
    let uri = statistics().find(|words| words.get(1) == Some(&"uri"));
    let path = match uri {
        Some(words) => words.get(2).map(|path| (*path).to_owned()),
        None => statistics()
            .any(|words| words.get(1) == Some(&"enable"))
            .then(|| "/haproxy?stats".to_owned()),
    };
    path.filter(|path| path.starts_with('/'))
        .map(|path| format!("{path};csv"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_in_configurations() {
        let nginx = "server { location = /basic { stub_status; } location ~ ^/x { stub_status; }\n\
                     location /status {\n allow all;\n stub_status on;\n }\n location / { } }";
        assert_eq!(nginx_paths(nginx), ["/basic", "/status"]);
        assert_eq!(nginx_paths("stub_status; location"), [""; 0]);
        assert_eq!(nginx_paths("location /a { stub_status_page; }"), [""; 0]);
        let check = |text: &str, path: Option<&str>| {
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(haproxy_path(&lines).as_deref(), path, "{text}");
        };
        check(
            "listen s\n  stats enable\n  stats uri /st\n",
            Some("/st;csv"),
        );
        check("listen s\n  stats enable\n", Some("/haproxy?stats;csv"));
        check("global\n  stats socket /run/haproxy.sock\n", None);
    }
}
