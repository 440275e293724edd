//! Messages between home and an agent. Loads, machines and results are types of other crates, and
//! JSON here.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What home says to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Order {
    /// The first one: takes the host for whoever asks.
    Hello {
        /// The host's name in the hosts file.
        host: String,
        /// Who takes it, for the message to the second one.
        owner: String,
    },
    /// Shows that home is there, and asks for the clock.
    Ping {
        /// When it was sent, by home's clock.
        sent_ns: u64,
    },
    /// Asks what machine this is.
    Machine,
    /// Asks what a process may use there.
    Limits,
    /// Asks how the host is, which it watches for half a second.
    Look,
    /// Makes a load ready. `files` raw frames follow.
    Load {
        /// What to load.
        order: Value,
        /// Number of raw frames that follow.
        files: u32,
    },
    /// Begins the load that is ready.
    Begin {
        /// When, by the agent's monotonic clock.
        at_ns: u64,
    },
    /// Ends the load early; its result comes as usual.
    Halt,
    /// Something for the stage of the host. `files` raw frames follow.
    Stage {
        /// What.
        order: Value,
        /// Number of raw frames that follow.
        files: u32,
    },
    /// Starts a built-in server.
    Serve {
        /// Address and port to listen on; port 0 takes a free one.
        listen: String,
        /// Length of the body of each answer.
        body_bytes: u32,
    },
    /// Ends the built-in server.
    Close,
    /// Ends the agent and all below it.
    End,
}

/// What an agent says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Report {
    /// The host is taken.
    Hello {
        /// Processors that the agent can have at once, a quota of CPU time considered.
        cpus: u32,
        /// Address that the session came from and to, where there is one: to reach this host by.
        address: Option<String>,
        /// All addresses of the host, which a record must not hold.
        addresses: Vec<String>,
        /// What the kernel there calls itself since it started, where it says so: hosts that say
        /// the same are of one kernel.
        kernel: Option<String>,
        /// Why the host could not be locked against a second campaign; `None` if it is.
        unlocked: Option<String>,
    },
    /// The answer to a ping.
    Pong {
        /// As in the ping.
        sent_ns: u64,
        /// The agent's monotonic clock.
        clock_ns: u64,
    },
    /// Something long is coming from home. Said now and then, so that home hears something.
    Taking,
    /// What machine this is.
    Machine {
        /// As `record` writes it.
        machine: Value,
    },
    /// What a process may use there.
    Limits {
        /// By name.
        limits: Value,
    },
    /// How the host is.
    Look {
        /// What was seen.
        look: Value,
    },
    /// The load is ready to begin.
    Ready {
        /// Threads that it has.
        threads: u32,
    },
    /// The load has begun.
    Began {
        /// When its last thread did, by the agent's monotonic clock.
        at_ns: u64,
    },
    /// How the load goes.
    Live {
        /// Requests that ended as `ok`.
        ok: u64,
        /// Requests that ended otherwise.
        errors: u64,
    },
    /// The load has ended.
    Result {
        /// As `record` writes it, histograms included.
        result: Value,
        /// Number of raw frames that follow: what was sampled of the host meanwhile, as `record`
        /// writes it, one text in parts. None where nothing was sampled.
        files: u32,
    },
    /// What came of an order to the stage, or what happened there. `files` raw frames follow.
    Staged {
        /// What.
        report: Value,
        /// Number of raw frames that follow.
        files: u32,
    },
    /// The built-in server accepts connections.
    Serving {
        /// Where.
        address: String,
    },
    /// The built-in server has ended.
    Closed {
        /// Requests that it answered.
        requests: u64,
        /// Nanoseconds for which its busiest thread ran; `None` where that is not counted.
        ran_ns: Option<u64>,
        /// Nanoseconds for which that thread wanted a processor and had none.
        waited_ns: u64,
    },
    /// Something could not be done.
    Refused {
        /// Why, and what to do.
        why: String,
        /// Whether the user can fix it in what was asked for.
        usage: bool,
    },
}

impl Report {
    /// Number of raw frames that follow it.
    pub fn files(&self) -> u32 {
        match self {
            Self::Staged { files, .. } | Self::Result { files, .. } => *files,
            _ => 0,
        }
    }
}
