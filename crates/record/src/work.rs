//! What a server was seen to do for an answer, so that contenders can be compared.
//!
//! These are facts, found before the window; `audit` decides whether they make a comparison unfair.
//! A fact that could not be found out is `None`, and `unknown` says why.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a server was seen to do for an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// Equal requests that were made one after the other to find out.
    pub requests: u32,
    /// Connections that they took: one where the server keeps it open.
    pub connections: Option<u32>,
    /// Key of the certificate; inside TLS only.
    pub certificate: Option<CertificateFacts>,
    /// What the upstream saw of these requests; proxied workloads only.
    pub upstream: Option<UpstreamWork>,
    /// Files that the server had open for writing and that grew by these requests.
    pub grown: Option<Vec<GrownFile>>,
    /// Files that grew while the load was on; where log lines are gathered, only this shows them.
    pub grown_under_load: Option<Vec<GrownFile>>,
    /// Its processes.
    pub crew: Option<Crew>,
    /// Why a fact is not known, by the name of its field.
    pub unknown: BTreeMap<String, String>,
}

/// The public key of a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertificateFacts {
    /// `RSA`, `ECDSA`, `Ed25519`, or the algorithm's number.
    pub key: String,
    /// Length of the key; `None` where the algorithm is not known here.
    pub bits: Option<u32>,
}

/// What the upstream saw of the requests that were made to find out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpstreamWork {
    /// Requests that reached it.
    pub requests: u64,
    /// Connections that were opened for them.
    pub connections: u64,
    /// Requests that came as HTTP/1.0.
    pub http_1_0: u64,
    /// Requests that ended their connection.
    pub close: u64,
}

/// A file that grew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrownFile {
    /// Path as the server's processes have it open.
    pub path: String,
    /// How much it has grown, bytes.
    pub bytes: u64,
}

/// The processes of a server before the load.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Crew {
    /// Processes.
    pub processes: u32,
    /// Threads of all of them.
    pub threads: u32,
    /// Processes that hold the listening socket, without those that are parents of others that
    /// hold it.
    pub listening: u32,
    /// Event loops (epoll instances) that watch the listening socket; 0 where it is waited for in
    /// another way.
    pub loops: u32,
    /// Threads of the processes that hold the listening socket, parents of others left out.
    pub listening_threads: u32,
    /// Processors that they may use.
    pub processors: u32,
    /// Smallest soft limit of open files among them; `None` where it could not be read, or there
    /// is none.
    pub open_files: Option<u64>,
    /// Users that its processes run as, by name.
    pub users: Vec<String>,
}
