//! Limits that a server's own configuration sets: how many connections it holds at once, and how
//! often it may be asked.
//!
//! They are read from the text that it ran with, statement by statement. Nothing else of it is
//! understood: not what includes what, and of nginx alone which block a statement is in.

mod nginx;

use crate::trial::ServerFacts;

pub use nginx::RequestLimit;

/// Connections that wait for each worker of Apache's `event`, where its files do not say.
const APACHE_FACTOR: f64 = 2.0;

/// A statement of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Its words.
    pub text: String,
    /// Name of its file and line, such as `nginx.conf:12`; `None` of a default that no file says.
    pub place: Option<String>,
}

/// The limits of one server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnLimits {
    /// How many connections it holds at once, or each of its workers, and what says so.
    pub connections: Option<(u64, Statement)>,
    /// Whether that is for each worker.
    pub is_for_each_worker: bool,
    /// What limits how often, or by how many, it may be asked.
    pub requests: Vec<RequestLimit>,
}

impl Statement {
    fn word(&self, at: usize) -> Option<&str> {
        self.text.split(' ').nth(at)
    }
}

impl std::fmt::Display for Statement {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.place {
            Some(place) => write!(out, "`{}` ({place})", self.text),
            None => write!(out, "`{}`, the default,", self.text),
        }
    }
}

impl OwnLimits {
    /// Those of a server whose statements are known.
    pub fn of(facts: &ServerFacts) -> Self {
        match facts.server.as_str() {
            "nginx" => nginx::limits(facts),
            "haproxy" => haproxy(&statements(facts)),
            "apache" => apache(&statements(facts)),
            "lighttpd" => lighttpd(&statements(facts)),
            _ => Self::default(),
        }
    }

    /// The first of what limits how often it may be asked that may have answered a request for
    /// `path` with this status.
    pub fn refusing(&self, status: u16, path: &str) -> Option<&Statement> {
        let mut limits = self.requests.iter();
        let limit = limits.find(|limit| limit.may_refuse(status, path));
        limit.map(|limit| &limit.said)
    }
}

/// The lines of all files as statements.
fn statements(facts: &ServerFacts) -> Vec<Statement> {
    let mut statements = Vec::new();
    for file in &facts.configs {
        let name = file.path.rsplit('/').next().unwrap_or(&file.path);
        for (line, text) in (1..).zip(file.text.lines()) {
            let text = text.split('#').next().unwrap_or_default();
            let words: Vec<&str> = text.split_whitespace().collect();
            if !words.is_empty() {
                statements.push(Statement {
                    text: words.join(" "),
                    place: Some(format!("{name}:{line}")),
                });
            }
        }
    }
    statements
}

/// The lowest `maxconn` of any section, listener or server.
fn haproxy(statements: &[Statement]) -> OwnLimits {
    let limit = |one: &Statement| {
        let mut words = one.text.split(' ').skip_while(|word| *word != "maxconn");
        let number: u64 = words.nth(1)?.parse().ok()?;
        // 0 is no limit.
        (number > 0).then(|| (number, one.clone()))
    };
    let limits = statements.iter().filter_map(limit);
    OwnLimits {
        connections: limits.min_by_key(|(number, _)| *number),
        ..OwnLimits::default()
    }
}

/// What `MaxRequestWorkers` comes to: with `event`, each worker has so many more connections that
/// wait. Other modules hold fewer, so what is more than that is too many for all.
fn apache(statements: &[Statement]) -> OwnLimits {
    let number = |names: [&str; 2]| {
        let said = |one: &&Statement| {
            let name = one.word(0).unwrap_or_default();
            names.iter().any(|it| it.eq_ignore_ascii_case(name))
        };
        // Of several the last one counts.
        let one = statements.iter().rev().find(said)?;
        Some((one.word(1)?.parse::<f64>().ok()?, one.clone()))
    };
    let factor = number(["AsyncRequestWorkerFactor", ""]);
    let each = factor.map_or(APACHE_FACTOR, |(factor, _)| factor) + 1.0;
    let workers = number(["MaxRequestWorkers", "MaxClients"]);
    let workers = workers.filter(|(number, _)| *number >= 1.0 && each >= 1.0);
    OwnLimits {
        // What is too large for the type is no limit.
        connections: workers.map(|(number, said)| ((number * each).ceil() as u64, said)),
        ..OwnLimits::default()
    }
}

/// `server.max-connections`, unless several processes have so many each.
fn lighttpd(statements: &[Statement]) -> OwnLimits {
    let number = |name: &str| {
        statements.iter().rev().find_map(|one| {
            let (said, value) = one.text.split_once('=')?;
            let value = value.trim().trim_matches('"').parse::<u64>().ok()?;
            (said.trim() == name).then(|| (value, one.clone()))
        })
    };
    let is_one = number("server.max-worker").is_none_or(|(workers, _)| workers <= 1);
    OwnLimits {
        connections: number("server.max-connections").filter(|_| is_one),
        ..OwnLimits::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::ConfigFile;

    fn limits(server: &str, text: &str) -> OwnLimits {
        let address = "127.0.0.1:80".parse().unwrap();
        let mut facts = ServerFacts::without_folder(server, address);
        facts.configs.push(ConfigFile {
            path: "logs/r1/etc/own.conf".to_owned(),
            text: text.to_owned(),
            filled: Default::default(),
        });
        OwnLimits::of(&facts)
    }

    #[test]
    fn limits_are_known_with_their_lines() {
        let text = "events { worker_connections  64; } # worker_connections 9;\n\
                    http {\n limit_req zone=one burst=5;\n limit_req_status 429;\n}\n";
        let found = limits("nginx", text);
        let (number, said) = found.connections.clone().unwrap();
        assert_eq!(number, 64);
        assert_eq!(said.to_string(), "`worker_connections 64` (own.conf:1)");
        let refusing = found.refusing(429, "/").unwrap().to_string();
        assert_eq!(refusing, "`limit_req zone=one burst=5` (own.conf:3)");
        assert_eq!(found.refusing(503, "/"), None);
        let (number, said) = limits("nginx", "events {}").connections.unwrap();
        assert_eq!(number, 512);
        assert_eq!(said.to_string(), "`worker_connections 512`, the default,");
        let conn = limits("nginx", "limit_conn perip 10;");
        assert!(conn.refusing(503, "/").is_some());
        let text = "global\n maxconn 4000\nbackend b\n server s 127.0.0.1:1 maxconn 50 check\n";
        let (number, said) = limits("haproxy", text).connections.unwrap();
        assert_eq!(number, 50);
        assert!(said.to_string().ends_with("(own.conf:4)"), "{said}");
        let text = "MaxRequestWorkers 50\n<IfModule mpm_event_module>\n maxrequestworkers 20\n";
        let (number, said) = limits("apache", text).connections.unwrap();
        assert_eq!(number, 60);
        assert_eq!(said.to_string(), "`maxrequestworkers 20` (own.conf:3)");
        let text = "MaxClients 8\nAsyncRequestWorkerFactor 0\n";
        assert_eq!(limits("apache", text).connections.map(|it| it.0), Some(8));
        let text = "server.max-connections=100\nserver.max-worker = 1\n";
        let (number, said) = limits("lighttpd", text).connections.unwrap();
        assert_eq!((number, said.place.as_deref()), (100, Some("own.conf:1")));
        let text = "server.max-connections = 100\nserver.max-worker = 2\n";
        assert_eq!(limits("lighttpd", text), OwnLimits::default());
        assert_eq!(limits("caddy", "maxconn 3"), OwnLimits::default());
        assert_eq!(
            limits("nginx", " ;{}\n#"),
            OwnLimits {
                is_for_each_worker: true,
                ..OwnLimits::default()
            }
        );
    }

    #[test]
    fn a_limit_refuses_only_what_it_is_for() {
        let refuses = |text: &str, path: &str| {
            let said = limits("nginx", text).refusing(503, path).cloned();
            said.and_then(|said| said.place)
        };
        let beside = "server {\n listen 80;\n location / { return 503; }\n \
                      location /api/\n {\n limit_req zone=a;\n }\n}";
        assert_eq!(refuses(beside, "/"), None);
        assert_eq!(refuses(beside, "/api/x?y=1").as_deref(), Some("own.conf:6"));
        let around = "server {\n location / {\n limit_req zone=a;\n location /deep {}\n }\n \
                      location /api { }\n location = /exact { } }";
        assert_eq!(refuses(around, "/x").as_deref(), Some("own.conf:3"));
        assert_eq!(refuses(around, "/api/x"), None);
        assert_eq!(refuses(around, "/exact"), None);
        // A pattern may be for anything, and braces in it and in variables open no block.
        let pattern = "server {\n set $a ${b}c;\n location ~ \"^/a{2}\" { limit_req zone=a; }\n}";
        assert_eq!(refuses(pattern, "/").as_deref(), Some("own.conf:3"));
        let elsewhere = "server { listen 127.0.0.1:81; limit_req zone=a; }\nserver { listen 80; }";
        assert_eq!(refuses(elsewhere, "/"), None);
        assert!(refuses(&elsewhere.replace(":81", ":80"), "/").is_some());
        let deep = "location / {".repeat(200) + "limit_req zone=a;";
        assert_eq!(refuses(&deep, "/"), None);
    }
}
