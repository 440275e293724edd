//! The options of a server, and how its start can fail.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use bakeoff_plan::Protocol;

/// Where a certificate and its key are, as PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// The certificate, and those between it and its authority behind it.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// Longest content type, bytes: with it a head fits one frame in every protocol.
const CONTENT_TYPE_MAX: usize = 1024;

/// Everything that [`serve`](crate::serve) needs to know.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Where requests are answered; port 0 takes one from the system.
    pub listen: SocketAddr,
    /// Where they are answered too, by loops of their own.
    pub also: Vec<SocketAddr>,
    /// Address that reports counts; port 0 picks a free port.
    pub control: SocketAddr,
    /// Event loops of each address, at least 1. With more than one, each has a listener of its own
    /// and the kernel spreads connections over them by hash.
    pub threads: usize,
    /// Processors, by the kernel's number: loop `i` runs on number `i` modulo their count. Empty
    /// leaves the choice to the scheduler.
    pub pin: Vec<usize>,
    /// The answer to every request.
    pub reply: Reply,
    /// What the `Server` header says.
    pub name: Name,
    /// What requests come over; the server speaks no other.
    pub protocol: Protocol,
    /// The certificate to show, where the protocol is secure; without one it makes its own.
    pub certificate: Option<Certificate>,
}

/// The answer to every request; a HEAD request gets it without the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Status, 200 to 599.
    pub status: u16,
    /// `Content-Type`, one line of visible ASCII.
    pub content_type: String,
    /// Body; must be empty where the status allows none (204, 205, 304).
    pub body: Vec<u8>,
}

/// Which of the two built-in servers answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// The upstream.
    Origin,
    /// The null server.
    Yardstick,
}

impl Name {
    /// Value of the `Server` header.
    pub(crate) fn header(self) -> &'static str {
        match self {
            Self::Origin => "bakeoff-origin",
            Self::Yardstick => "bakeoff-yardstick",
        }
    }
}

/// Why a built-in server could not be started or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum OriginError {
    /// No event loop was asked for.
    #[error("serve with 0 threads: at least 1 is needed")]
    NoThreads,
    /// The reply cannot be an HTTP answer.
    #[error("encode the reply: {0}")]
    Reply(String),
    /// What is wanted of the upstream cannot be.
    #[error("behave as asked: {0}")]
    Demand(String),
    /// The certificate or its key cannot be used.
    #[error("use the certificate: {0}; pass PEM files of both certificate and key, or neither")]
    Certificate(String),
    /// An address could not be listened on.
    #[error("listen on {address} for {purpose}: {source}; choose a free port, or port 0")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// `requests` or `counts`.
        purpose: &'static str,
        /// The system's cause.
        source: io::Error,
    },
    /// A thread could not be bound to its processor.
    #[error(
        "pin a thread to processor {cpu}: {source}; `taskset -p $$` shows which ones are allowed"
    )]
    Pin {
        /// The kernel's number of the processor.
        cpu: usize,
        /// The system's cause.
        source: io::Error,
    },
    /// A system call failed that cannot be worked around.
    #[error("{doing}: {source}")]
    System {
        /// What was being done.
        doing: &'static str,
        /// The system's cause.
        source: io::Error,
    },
}

impl Reply {
    /// Checks that the reply can be sent as it is.
    pub(crate) fn check(&self) -> Result<(), OriginError> {
        if !(200..=599).contains(&self.status) {
            let text = format!("status {} is not between 200 and 599", self.status);
            return Err(OriginError::Reply(text));
        }
        if !self
            .content_type
            .bytes()
            .all(|byte| (0x20..0x7f).contains(&byte))
        {
            let text = format!("content type {:?} is not visible ASCII", self.content_type);
            return Err(OriginError::Reply(text));
        }
        if self.content_type.len() > CONTENT_TYPE_MAX {
            let text = format!("a content type has at most {CONTENT_TYPE_MAX} bytes");
            return Err(OriginError::Reply(text));
        }
        if matches!(self.status, 204 | 205 | 304) && !self.body.is_empty() {
            return Err(OriginError::Reply(format!(
                "status {} allows no body",
                self.status
            )));
        }
        Ok(())
    }

    /// Whether the status ends the message at its head (RFC 9112, 6.3). A 205 has no body either,
    /// but must say so: without a length it lasts as long as its connection.
    pub(crate) fn has_no_length(&self) -> bool {
        matches!(self.status, 204 | 304)
    }
}
