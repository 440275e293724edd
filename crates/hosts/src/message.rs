//! What home and an agent say to each other to keep a session. What an agent is asked and what it
//! answers are types of whoever uses this crate; they pass through as they are.

use serde::{Deserialize, Serialize};

use crate::frame::Frame;

/// What home says to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
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
    /// Ends the agent and all below it.
    End,
}

/// What an agent says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Report {
    /// The host is taken.
    Hello(Hello),
    /// The answer to a ping.
    Pong {
        /// As in the ping.
        sent_ns: u64,
        /// The agent's monotonic clock.
        clock_ns: u64,
    },
    /// Something long is coming from home. Said now and then, so that home hears something.
    Taking,
    /// Something could not be done.
    Refused {
        /// Why, and what to do.
        why: String,
        /// Whether the user can fix it in what was asked for.
        usage: bool,
    },
    /// An answer, as JSON. It has a frame of its own kind.
    #[serde(skip)]
    Answer(Vec<u8>),
}

/// What an agent says of its host when that is taken.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// Processors that the agent can have at once, a quota of CPU time considered.
    pub cpus: u32,
    /// Address that the session came from and to, where there is one: to reach this host by.
    pub address: Option<String>,
    /// All addresses of the host, which a record must not hold.
    pub addresses: Vec<String>,
    /// What the kernel there calls itself since it started, where it says so: hosts that say
    /// the same are of one kernel.
    pub kernel: Option<String>,
    /// Why the host could not be locked against a second campaign; `None` if it is.
    pub unlocked: Option<String>,
}

/// What an answer is to whoever waits for one.
pub enum Fits<T> {
    /// What is waited for.
    This(T),
    /// Something that may come before it.
    Before,
    /// None that belongs here.
    Not,
}

impl Order {
    pub(crate) fn frame(&self) -> serde_json::Result<Frame> {
        serde_json::to_vec(self).map(Frame::Json)
    }
}

impl Report {
    /// What came in a frame.
    ///
    /// # Errors
    /// It is no message of this version.
    pub fn of(frame: Frame) -> Result<Self, String> {
        match frame {
            Frame::Json(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| format!("a message that is none of this version: {error}")),
            Frame::Raw(bytes) => Ok(Self::Answer(bytes)),
        }
    }
}
