//! How hard a server is asked, and who decides when the next request is sent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::Actions;
use crate::overload::Overload;
use crate::schedule::Arrival;
use crate::search::Search;

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
    pub(crate) fn usual_connect(&self) -> Connect {
        Connect::usual(&self.model, self.requests.is_some())
    }
}
