//! Workloads as they are written, in files of their own and in plans.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::header::HeaderText;
use crate::client::{ProxyVersion, Resumption};
use crate::content::{ContentKind, Encoding};
use crate::demand::Demand;
use crate::protocol::Protocol;

/// What is asked of a server, and what a right answer is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "bakeoff workload")]
pub(crate) struct WorkloadFile {
    /// Unique in the plan; in `workloads/`, the name of the file.
    #[schemars(extend("examples" = ["html-small"]))]
    pub(crate) name: String,
    /// One sentence for the reader of a report.
    #[serde(default)]
    #[schemars(extend("examples" = ["A small page from disk."]))]
    pub(crate) description: String,
    /// What a server's configuration template is chosen by; without it, the name.
    #[schemars(extend("examples" = ["html-small"]))]
    pub(crate) template: Option<String>,
    /// How requests travel; without it, as the plan's `protocols` say, or else h1.
    #[schemars(extend("examples" = ["h2"]))]
    pub(crate) protocol: Option<Protocol>,
    /// Makes one workload for each: `NAME` over h1, `NAME-PROTOCOL` over another.
    #[schemars(length(min = 1), extend("examples" = [["h1-tls", "h2"]]))]
    pub(crate) protocols: Option<Vec<Protocol>>,
    /// Request method; without it, GET.
    #[schemars(extend("examples" = ["GET"]))]
    pub(crate) method: Option<String>,
    /// Request target; without it, `/`.
    #[schemars(extend("examples" = ["/index.html"]))]
    pub(crate) path: Option<String>,
    /// Request headers besides `Host`, each as `Name: value`, or as a table that says whether the
    /// value is secret.
    #[schemars(extend("examples" = [["Accept: text/html"]]))]
    pub(crate) headers: Option<Vec<HeaderText>>,
    /// Whether connections are kept for many requests, or made anew for each.
    #[schemars(extend("examples" = ["keep-alive"]))]
    pub(crate) connections: Option<ConnectionsName>,
    /// Close a connection after so many requests.
    #[schemars(range(min = 1, max = 1_000_000_000), extend("examples" = [100]))]
    pub(crate) requests_per_connection: Option<u32>,
    /// How clients set their connections up: certificate, resumption, 0-RTT, PROXY header.
    pub(crate) client: Option<ClientTable>,
    /// Whether the answer comes from the built-in upstream behind the server.
    #[serde(default)]
    #[schemars(extend("examples" = [true]))]
    pub(crate) proxied: bool,
    /// What is wanted of that upstream: delays, errors, a limit of workers.
    pub(crate) origin: Option<Demand>,
    /// What a right answer is; in each `[[request]]`, where there are several. Without it, what
    /// the contenders answer first.
    pub(crate) expect: Option<ExpectTable>,
    /// Requests by weight, instead of the one that `method`, `path`, `headers` and `expect` are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) request: Vec<RequestTable>,
    /// Requests by weight, as often as they came in a log.
    pub(crate) replay: Option<ReplayTable>,
    /// Values for placeholders such as `{csv users.csv name}`, in place of the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) values: Vec<ValuesTable>,
    /// What a reader of a report should know of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["sizes are those of compressed answers"]]))]
    pub(crate) notes: Vec<String>,
    /// Files that the server serves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) file: Vec<ServedFileTable>,
}

/// One of the requests that a workload asks.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RequestTable {
    /// Request method.
    #[serde(default = "default_method")]
    #[schemars(extend("examples" = ["GET"]))]
    pub(crate) method: String,
    /// Request target.
    #[serde(default = "default_path")]
    #[schemars(extend("examples" = ["/index.html"]))]
    pub(crate) path: String,
    /// Whether `{n}`, `{random 1-1000}`, `{uuid}` and `{csv users.csv name}` in path, headers and
    /// body stand for values that differ from request to request.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    #[schemars(extend("examples" = [true]))]
    pub(crate) placeholders: bool,
    /// Request headers besides `Host`, each as `Name: value`, or as a table that says whether the
    /// value is secret.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["Accept: text/html"]]))]
    pub(crate) headers: Vec<HeaderText>,
    /// How often it is sent, relative to the others.
    #[serde(default = "default_weight")]
    #[schemars(range(min = 1, max = 1_000_000_000), extend("examples" = [10]))]
    pub(crate) weight: u32,
    /// What is sent with it.
    pub(crate) body: Option<BodyTable>,
    /// What a right answer is; without it, what the contenders answer first.
    pub(crate) expect: Option<ExpectTable>,
}

/// How clients set their connections up.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClientTable {
    /// PEM file with a certificate that clients show, and with its key where `key` names no other;
    /// relative to the folder of the file that this stands in.
    #[schemars(extend("examples" = ["client.pem"]))]
    pub(crate) certificate: Option<String>,
    /// PEM file with the key of `certificate`.
    #[schemars(extend("examples" = ["client.key"]))]
    pub(crate) key: Option<String>,
    /// Whether a new connection resumes an earlier one's session.
    #[serde(default)]
    #[schemars(extend("examples" = ["tickets"]))]
    pub(crate) resumption: Resumption,
    /// Whether requests are sent before a resumed handshake ends (0-RTT); only over HTTP/3. A
    /// server may see such a request twice.
    #[serde(default)]
    #[schemars(extend("examples" = [true]))]
    pub(crate) early_data: bool,
    /// Version of the PROXY protocol's header that begins a connection; without it, none is sent.
    #[schemars(extend("examples" = ["v1"]))]
    pub(crate) proxy_protocol: Option<ProxyVersion>,
}

/// Values for placeholders. Rows are taken one after the other, and then again.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ValuesTable {
    /// What placeholders call it.
    #[schemars(extend("examples" = ["users.csv"]))]
    pub(crate) file: String,
    /// Names of its columns.
    #[schemars(length(min = 1), extend("examples" = [["name"]]))]
    pub(crate) columns: Vec<String>,
    /// Rows with a cell for each column.
    #[schemars(length(min = 1), extend("examples" = [[["Ann"], ["Bob"]]]))]
    pub(crate) rows: Vec<Vec<String>>,
}

/// What is sent with a request. Exactly one of `text`, `generated` and `file` says what it is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BodyTable {
    /// This text.
    #[schemars(extend("examples" = ["name=value"]))]
    pub(crate) text: Option<String>,
    /// Generated content.
    pub(crate) generated: Option<GeneratedTable>,
    /// A file of UTF-8 text, relative to the folder of the file that this stands in.
    #[schemars(extend("examples" = ["form.json"]))]
    pub(crate) file: Option<String>,
    /// Send it in chunks instead of with a `Content-Length`; only over HTTP/1.1.
    #[serde(default)]
    #[schemars(extend("examples" = [true]))]
    pub(crate) chunked: bool,
}

/// What a right answer is. Exactly one of `text`, `generated`, `file` and `body` says its body, or
/// `bytes` and `sha256` say what it is like.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectTable {
    /// Status.
    #[serde(default = "default_status")]
    #[schemars(range(min = 200, max = 599), extend("examples" = [200]))]
    pub(crate) status: u16,
    /// How the body is encoded; what is said of it here is the decoded one.
    #[serde(default)]
    #[schemars(extend("examples" = ["gzip"]))]
    pub(crate) encoding: Encoding,
    /// This body.
    #[schemars(extend("examples" = ["Hello, world!"]))]
    pub(crate) text: Option<String>,
    /// A generated body.
    pub(crate) generated: Option<GeneratedTable>,
    /// The content of this `[[file]]`, or of a file of UTF-8 text of your own, relative to the
    /// folder of the file that this stands in.
    #[schemars(extend("examples" = ["index.html"]))]
    pub(crate) file: Option<String>,
    /// Any body will do, and only the status is asked; or what the contenders answer first is
    /// right, whatever its status.
    #[schemars(extend("examples" = ["any"]))]
    pub(crate) body: Option<AnyBody>,
    /// Length of the body as sent.
    #[schemars(extend("minimum" = 0, "maximum" = 9_007_199_254_740_991_i64, "examples" = [4608]))]
    pub(crate) bytes: Option<u64>,
    /// SHA-256 of the body as sent, in hex.
    #[schemars(extend("examples" =
        ["315f5bdb76d078c43b8ac0064e4a0164612b1fce77c869345bfc94c75894edd3"]))]
    pub(crate) sha256: Option<String>,
}

/// Stands for bodies that a plan does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AnyBody {
    /// Any.
    Any,
    /// What the contenders answer first.
    First,
}

/// A log whose requests are asked as often as they came.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReplayTable {
    /// The log, relative to the folder of the file that this stands in; not compressed.
    #[schemars(extend("examples" = ["access.log"]))]
    pub(crate) file: String,
    /// What its lines look like.
    #[schemars(extend("examples" = ["combined"]))]
    pub(crate) format: LogFormat,
    /// Keep so many different requests, the most frequent.
    #[serde(default = "default_requests")]
    #[schemars(range(min = 1, max = 10_000), extend("examples" = [1000]))]
    pub(crate) requests: u32,
    /// The host whose requests are replayed, where the format has it; else the first of an HTTP
    /// Archive, and the one that was asked most in Caddy's log.
    #[schemars(extend("examples" = ["www.example.com"]))]
    pub(crate) host: Option<String>,
    /// Where the right answers come from.
    #[serde(default)]
    #[schemars(extend("examples" = ["files"]))]
    pub(crate) answers: AnswersName,
}

/// What a log looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// Apache's and nginx's lines, combined or common.
    Combined,
    /// Caddy's lines of JSON.
    Caddy,
    /// An HTTP Archive, as browsers write it.
    Har,
}

/// Where the right answers to a log's requests come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AnswersName {
    /// From files that are made for the server, as large as the logged answers.
    #[default]
    Files,
    /// From the server's own content: only the status is expected.
    Status,
}

/// How long a connection is used, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ConnectionsName {
    /// As long as the server lets it.
    KeepAlive,
    /// For one request.
    New,
}

/// A file that the server serves. Exactly one of `text` and `generated` says what is in it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServedFileTable {
    /// Path below the document root, without a leading slash.
    #[schemars(extend("examples" = ["index.html"]))]
    pub(crate) path: String,
    /// This content.
    #[schemars(extend("examples" = ["Hello, world!"]))]
    pub(crate) text: Option<String>,
    /// Generated content.
    pub(crate) generated: Option<GeneratedTable>,
}

/// Content that bakeoff makes, the same on every machine.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GeneratedTable {
    /// What it looks like; matters where a server compresses.
    #[schemars(extend("examples" = ["html"]))]
    pub(crate) kind: ContentKind,
    /// Length in bytes.
    #[schemars(range(min = 0, max = 67_108_864), extend("examples" = [4608]))]
    pub(crate) bytes: u32,
}

pub(crate) fn default_method() -> String {
    "GET".to_owned()
}

pub(crate) fn default_path() -> String {
    "/".to_owned()
}

fn yes() -> bool {
    true
}

fn default_requests() -> u32 {
    1000
}

fn default_weight() -> u32 {
    1
}

fn default_status() -> u16 {
    200
}
