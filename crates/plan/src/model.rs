//! The nouns of a plan as ready values: nothing optional that a trial needs, no state that
//! contradicts another. `file` reads them from TOML; this module knows nothing of TOML.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::Actions;
use crate::client::Client;
use crate::contender::Contender;
use crate::course::{Budget, CompareMode, References, Until};
use crate::demand::Demand;
use crate::overload::Overload;
use crate::request::{Connections, Requests};
use crate::search::Search;
use crate::stored;
use crate::variants::Values;

/// What to run: contenders times workloads times loads, several rounds of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Name shown in titles and used for the default result folder.
    pub name: String,
    /// One or two sentences for the reader of a report.
    pub description: String,
    /// How often each trial is repeated with a fresh server. At least 1; 1 with a budget, which
    /// decides how many more there are.
    pub rounds: u32,
    /// The time after which it ends, where that is not by a number of rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// When to stop after that; `None` stops there, or a few rounds later where too few of them can
    /// be believed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// What a difference in the work of two contenders does to their comparison.
    pub compare: CompareMode,
    /// Seed of the order of trials and of every open-loop schedule.
    pub seed: u64,
    /// Pause between the end of one trial and the start of the next.
    #[serde(rename = "rest_s", with = "stored::seconds")]
    pub rest: Duration,
    /// Processors given to each role.
    pub pinning: Pinning,
    /// The built-in servers measured beside the contenders.
    pub references: References,
    /// What is compared, in the order of the file.
    pub contenders: Vec<Contender>,
    /// What is asked, in the order of the file.
    pub workloads: Vec<Workload>,
    /// How hard it is asked, in the order of the file.
    pub loads: Vec<Load>,
}

/// Processors for each role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pinning {
    /// The server under test.
    pub server: Cpus,
    /// The load engine.
    pub engine: Cpus,
    /// The upstream behind a proxy.
    pub origin: Cpus,
}

/// A choice of processors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cpus {
    /// The conductor divides the machine: half for the engine, half for server and origin.
    #[default]
    Auto,
    /// No pinning: the kernel's scheduler decides.
    Any,
    /// These processors, by the kernel's number.
    List(Vec<usize>),
}

/// What is asked of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Unique in the plan.
    pub name: String,
    /// One sentence for the reader of a report.
    pub description: String,
    /// What a configuration template is chosen by: the name without a protocol.
    pub template: String,
    /// How requests travel.
    pub protocol: Protocol,
    /// Requests and their right answers.
    pub requests: Requests,
    /// How long a connection is used.
    pub connections: Connections,
    /// How clients set it up.
    #[serde(default, skip_serializing_if = "Client::is_plain")]
    pub client: Client,
    /// What placeholders in them stand for; `None` where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Values>,
    /// Files that the server serves.
    pub files: Vec<ServedFile>,
    /// Whether the answer comes from an upstream behind the server.
    pub proxied: bool,
    /// What is wanted of that upstream besides the answer; only where `proxied`.
    pub origin: Option<Demand>,
    /// What a reader of a report should know of it.
    pub notes: Vec<String>,
}

crate::named! {
    /// How requests travel to a server.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Protocol {
        /// HTTP/1.1 in the clear.
        #[default]
        H1 = "h1",
        /// HTTP/1.1 over TLS.
        H1Tls = "h1-tls",
        /// HTTP/2 over TLS, agreed on by ALPN.
        H2 = "h2",
        /// HTTP/2 in the clear, by prior knowledge.
        H2c = "h2c",
        /// HTTP/3 over QUIC, by prior knowledge.
        H3 = "h3",
    }
}

impl Protocol {
    /// Whether it travels inside TLS; QUIC has it within.
    pub fn is_secure(self) -> bool {
        matches!(self, Self::H1Tls | Self::H2 | Self::H3)
    }

    /// Whether it is HTTP/2.
    pub fn is_h2(self) -> bool {
        matches!(self, Self::H2 | Self::H2c)
    }

    /// Whether it is HTTP/3.
    pub fn is_h3(self) -> bool {
        self == Self::H3
    }

    /// Whether a connection carries several requests at once.
    pub fn has_streams(self) -> bool {
        self.is_h2() || self.is_h3()
    }
}

/// How a body is encoded on its way (`Content-Encoding`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// Not at all.
    #[default]
    Identity,
    /// Compressed by gzip (RFC 1952).
    Gzip,
}

/// A file that a server serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServedFile {
    /// Path below the document root, without a leading slash.
    pub path: String,
    /// What is in it.
    pub content: Content,
}

/// Bytes of a body or file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// These bytes.
    Text(String),
    /// Made by [`crate::content::generate`], the same on every machine.
    Generated {
        /// What it looks like.
        kind: ContentKind,
        /// Length in bytes.
        bytes: usize,
    },
}

/// What generated content looks like; matters where a server compresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ContentKind {
    /// Markup with words.
    Html,
    /// Source text of a script.
    Script,
    /// Bytes that do not compress.
    Random,
}

/// How hard a server is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Closed or open loop.
    pub model: LoadModel,
    /// Requests in flight on each connection, at the most. More than 1 only over HTTP/2 and 3.
    pub streams: u32,
    /// Ends when so many requests have ended, or after the duration; `None` by time alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Time before measuring, under the same load, seconds. 0 where `requests` ends the load.
    pub warmup_s: f64,
    /// Measured time, seconds; at the most, where `requests` ends the load.
    pub duration_s: f64,
    /// A request older than this ends as `timeout`, seconds.
    pub timeout_s: f64,
    /// Whether the connections are opened before the load begins; always so in an open loop.
    pub connect: Connect,
    /// What is done to the server in the window of an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions: Option<Actions>,
}

crate::named! {
    /// When the connections of a load are opened.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Connect {
        /// All of them before the load begins.
        First = "first",
        /// With the first requests, so that setting them up is part of the load.
        AsNeeded = "as-needed",
    }
}

impl Connect {
    /// What a load does that does not say: a closed loop by count connects as needed, because
    /// connecting is part of what is measured there; every other load connects first.
    pub fn usual(model: &LoadModel, by_count: bool) -> Self {
        match model {
            LoadModel::Closed { .. } if by_count => Self::AsNeeded,
            // More clients come as answers take longer.
            LoadModel::Overload(_) => Self::AsNeeded,
            _ => Self::First,
        }
    }
}

/// Who decides when the next request is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LoadModel {
    /// Each client sends the next request when its last one has ended.
    Closed {
        /// Connections, each with the load's streams in flight.
        clients: u32,
    },
    /// A schedule fixed beforehand, whatever comes back.
    Open {
        /// Requests per second over all connections.
        rate_per_s: f64,
        /// Gaps between requests.
        arrival: Arrival,
        /// Connections that requests are spread over.
        clients: u32,
    },
    /// An open loop whose rate is found in the campaign, so that every contender can carry it. A
    /// trial that runs has the rate that was found: [`Trial::at_rate`].
    OpenShare {
        /// Share of the slowest contender's rate in the closed loops of the first round.
        capacity_share: f64,
        /// Gaps between requests.
        arrival: Arrival,
        /// Connections that requests are spread over.
        clients: u32,
    },
    /// An open loop whose rate is sought: the highest that meets the goals of a search. A trial
    /// that runs has a rate of its own.
    Sought(Box<Search>),
    /// An open loop beyond the capacity and back. A trial that runs has rates of its own.
    Overload(Box<Overload>),
}

impl LoadModel {
    /// Whether a schedule decides when the next request is sent, and not the last answer.
    pub fn is_open(&self) -> bool {
        !matches!(self, Self::Closed { .. })
    }

    /// The rate of an open loop; `None` of a closed one, and where it is not known yet.
    pub fn rate_per_s(&self) -> Option<f64> {
        match self {
            Self::Open { rate_per_s, .. } => Some(*rate_per_s),
            _ => None,
        }
    }

    /// The gaps of an open loop; `None` of a closed one.
    pub fn arrival(&self) -> Option<Arrival> {
        match self {
            Self::Closed { .. } => None,
            Self::Open { arrival, .. } | Self::OpenShare { arrival, .. } => Some(*arrival),
            Self::Sought(search) => Some(search.arrival),
            Self::Overload(overload) => Some(overload.arrival),
        }
    }

    /// Its connections, and its gaps where it is an open loop.
    pub(crate) fn choices(&mut self) -> (&mut u32, Option<&mut Arrival>) {
        match self {
            Self::Closed { clients } => (clients, None),
            Self::Open {
                arrival, clients, ..
            }
            | Self::OpenShare {
                arrival, clients, ..
            } => (clients, Some(arrival)),
            Self::Sought(search) => (&mut search.clients, Some(&mut search.arrival)),
            Self::Overload(overload) => (&mut overload.clients, Some(&mut overload.arrival)),
        }
    }

    /// Whether its rate is not known before the campaign.
    pub fn is_share(&self) -> bool {
        matches!(self, Self::OpenShare { .. })
    }
}

/// Gaps between the requests of an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// All gaps equal.
    Constant,
    /// Exponential gaps, as of many independent users.
    Poisson,
}

/// How the rate of an open loop changes over the load, warm-up included.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RateShape {
    /// Not at all.
    #[default]
    #[serde(deserialize_with = "stored::nothing_more")]
    Level,
    /// Linearly from the load's rate to another.
    Ramp {
        /// Rate at the end, requests per second.
        to_per_s: f64,
    },
    /// In steps of equal length: first the load's rate, then these.
    Steps {
        /// Rates after the first, requests per second.
        then_per_s: Vec<f64>,
    },
}

impl Load {
    /// A load of one stream on each connection, without warm-up: connections come first, and a
    /// request is given up after ten seconds.
    pub fn new(model: LoadModel, duration_s: f64) -> Self {
        Self {
            model,
            streams: 1,
            requests: None,
            warmup_s: 0.0,
            duration_s,
            timeout_s: 10.0,
            connect: Connect::First,
            actions: None,
        }
    }

    /// The same, with something done to the server in its window.
    pub fn with_actions(self, actions: Actions) -> Self {
        Self {
            actions: Some(actions),
            ..self
        }
    }

    /// Connections that this load holds open.
    pub fn clients(&self) -> u32 {
        match &self.model {
            LoadModel::Closed { clients }
            | LoadModel::Open { clients, .. }
            | LoadModel::OpenShare { clients, .. } => *clients,
            LoadModel::Sought(search) => search.clients,
            LoadModel::Overload(overload) => overload.clients,
        }
    }

    /// A short label that is unique among the loads of a plan: `c200`, `r500-c50`,
    /// `share0.5p-c50`, and with streams and a count `c150x50-n1000`. A load that does not connect
    /// in its usual way says so: `c200-as-needed`.
    pub fn label(&self) -> String {
        let poisson = |arrival: &Arrival| match arrival {
            Arrival::Poisson => "p",
            Arrival::Constant => "",
        };
        let rate = match &self.model {
            LoadModel::Closed { .. } => String::new(),
            LoadModel::Open {
                rate_per_s,
                arrival,
                ..
            } => format!("r{rate_per_s}{}-", poisson(arrival)),
            LoadModel::OpenShare {
                capacity_share,
                arrival,
                ..
            } => format!("share{capacity_share}{}-", poisson(arrival)),
            LoadModel::Sought(search) => format!("{}-", search.label()),
            LoadModel::Overload(overload) => format!("{}-", overload.label()),
        };
        let streams = match self.streams {
            1 => String::new(),
            streams => format!("x{streams}"),
        };
        let requests = self.requests.map(|requests| format!("-n{requests}"));
        let requests = requests.unwrap_or_default();
        let connect = if self.connect == self.usual_connect() {
            String::new()
        } else {
            format!("-{}", self.connect.name())
        };
        let actions = self.actions.as_ref();
        let actions = actions.map_or(String::new(), |it| format!("{}-", it.label()));
        format!(
            "{actions}{rate}c{}{streams}{requests}{connect}",
            self.clients()
        )
    }

    /// What this load does about connections when nothing is said.
    pub fn usual_connect(&self) -> Connect {
        Connect::usual(&self.model, self.requests.is_some())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::*;

    #[test]
    fn a_field_that_is_not_known_is_refused_in_every_part_of_a_stored_plan() {
        fn problem<T: serde::de::DeserializeOwned>(text: &str) -> String {
            let read = serde_json::from_str::<T>(text).map(|_| ());
            read.expect_err(text).to_string()
        }
        let closed = r#"{"kind": "closed", "clients": 3}"#;
        let times = r#""streams": 1, "warmup_s": 0.0, "duration_s": 1.0, "timeout_s": 2.0,
            "connect": "first""#;
        let load = |model: &str, more: &str| format!(r#"{{"model": {model}, {times}{more}}}"#);
        assert!(serde_json::from_str::<Load>(&load(closed, "")).is_ok());
        let misspelt = [
            load(closed, r#", "shape": 2"#),
            load(r#"{"kind": "closed", "clients": 3, "rate": 5}"#, ""),
        ];
        for text in misspelt {
            assert!(problem::<Load>(&text).contains("unknown field"), "{text}");
        }
        let ramp = r#"{"kind": "ramp", "to_per_s": 2.0, "by_s": 1.0}"#;
        assert!(problem::<RateShape>(ramp).contains("unknown field `by_s`"));
        let level = r#"{"kind": "level", "to_per_s": 2.0}"#;
        assert!(problem::<RateShape>(level).contains("unknown field `to_per_s`"));
        use crate::contender::ServerChoice;
        let program = r#"{"kind": "program", "server": "nginx", "version": null, "binary": null,
            "config": {"variant": "default"}, "verison": "1"}"#;
        assert!(problem::<ServerChoice>(program).contains("unknown field `verison`"));
        let origin = r#"{"kind": "origin", "server": "nginx"}"#;
        assert!(problem::<ServerChoice>(origin).contains("unknown field `server`"));
        for kind in ["origin", "yardstick"] {
            let text = format!(r#"{{"kind": "{kind}"}}"#);
            assert!(
                serde_json::from_str::<ServerChoice>(&text).is_ok(),
                "{kind}"
            );
        }
    }
}
