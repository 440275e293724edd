//! Contenders as plans write them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DurationText;
use crate::contender::{CertificateKey, Replacement, StopSignal, Stopping};
use crate::readiness::Readiness;
use crate::request::Changing;

/// What is compared: a server, a version or build of it, and one configuration; or a command of
/// your own; or a URL that is answered already.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ContenderTable {
    /// Unique in the plan.
    #[schemars(extend("examples" = ["nginx-default"]))]
    pub(crate) name: String,
    /// Folder in `servers/` that says how this program is run; or write `command`,
    /// `url`, `image` or `compose`.
    #[schemars(extend("examples" = ["nginx"]))]
    pub(crate) server: Option<String>,
    /// Version that must be found, by dotted part: `1.22` accepts `1.22.1`.
    #[schemars(extend("examples" = ["1.22"]))]
    pub(crate) version: Option<String>,
    /// Makes one contender for each of these versions, named `NAME-VERSION`.
    #[schemars(length(min = 1), extend("examples" = [["2.8.4", "2.11.7"]]))]
    pub(crate) versions: Option<Vec<String>>,
    /// Program to run instead of the one on the search path.
    #[schemars(extend("examples" = ["/opt/nginx/sbin/nginx"]))]
    pub(crate) binary: Option<String>,
    /// A variant of the server's templates, or a file of your own: what has a slash or a dot
    /// in it is a file, relative to the plan's folder. Without it, `default`. For `image` it is a
    /// file that is mounted read only where the server's folder says, or in `FILE:/PATH` at
    /// `/PATH`.
    #[schemars(extend("examples" = ["default"]))]
    pub(crate) config: Option<String>,
    /// Values for the template's variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) overlay: BTreeMap<String, String>,
    /// Key of the certificate that it shows over TLS.
    #[serde(default)]
    #[schemars(extend("examples" = ["ecdsa-p256"]))]
    pub(crate) certificate: CertificateKey,
    /// Name that it is asked by, in `Host` and over TLS in SNI; without it, its address.
    #[schemars(extend("examples" = ["www.example.com"]))]
    pub(crate) host: Option<String>,
    /// Texts to change in a configuration file of your own and in what it takes in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) replace: Vec<Replacement>,
    /// URL that is answered already; nothing is started or stopped. Requests go below its path.
    #[schemars(extend("examples" = ["http://127.0.0.1:9001/"]))]
    pub(crate) url: Option<String>,
    /// Command line that starts a server, in the foreground: `{port}` is the port that it is to
    /// use, also in `PORT` of its environment. `{root}` is a folder with the workload's files,
    /// and `{origin}` the address of the upstream.
    #[schemars(extend("examples" = ["node app.js"]))]
    pub(crate) command: Option<String>,
    /// Image of a container, as podman or docker names it. It is measured from inside its own
    /// network, so that no port has to be published.
    #[schemars(extend("examples" = ["nginx:1.28"]))]
    pub(crate) image: Option<String>,
    /// Arguments of `image` in place of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["nginx", "-g", "daemon off;"]]))]
    pub(crate) args: Vec<String>,
    /// Compose file, relative to the plan's folder. All of its services are started, and `service`
    /// is measured; no port has to be published.
    #[schemars(extend("examples" = ["compose.yaml"]))]
    pub(crate) compose: Option<String>,
    /// Service of `compose` that is measured.
    #[schemars(extend("examples" = ["proxy"]))]
    pub(crate) service: Option<String>,
    /// Port in the container that is asked; without it, that of the protocol, 80 or 443, or
    /// another one that the server listens on.
    #[schemars(range(min = 1), extend("examples" = [8080]))]
    pub(crate) port: Option<u16>,
    /// Commands that run to their end before each trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["systemctl restart app"]]))]
    pub(crate) fresh: Vec<String>,
    /// Variables of the environment of `command` or `image`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) env: BTreeMap<String, String>,
    /// Working folder of `command` and `fresh`, relative to the plan's folder; without it, that
    /// one.
    #[schemars(extend("examples" = ["app"]))]
    pub(crate) folder: Option<String>,
    /// When `command`, `image` or `service` counts as started; without it, when it answers the
    /// workload.
    pub(crate) ready: Option<Readiness>,
    /// How `command` is asked to end; without it, by TERM, and by force after 2s.
    pub(crate) stop: Option<StopTable>,
    /// User of this machine that the server runs as where bakeoff runs as root, in place of the
    /// user behind sudo or `nobody`.
    #[schemars(extend("examples" = ["root"]))]
    pub(crate) user: Option<String>,
    /// What it may use at the most, its processes together; the kernel holds it to that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) limits: Option<LimitsTable>,
    /// A command for a shell that carries out a change, in place of what the server's folder says.
    /// It has the server's process in `BAKEOFF_PID`, its port in `PORT`, and the configuration file
    /// that it reads in `BAKEOFF_CONFIG`.
    #[schemars(extend("examples" = ["nginx -s reload"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) change: Option<String>,
    /// Right answers of this contender alone, where contenders answer differently.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) answer: Vec<OwnAnswerTable>,
}

/// What a contender may use at the most.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsTable {
    /// Processors' worth of time: 0.5 is half of the time of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.01, max = 1024), extend("examples" = [0.5]))]
    pub(crate) cpus: Option<f64>,
    /// Memory, such as `64M`; it gets no swap space beyond.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["64M"]))]
    pub(crate) memory: Option<String>,
}

/// How a command is asked to end.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StopTable {
    /// Signal; without it, TERM.
    #[serde(default)]
    #[schemars(extend("examples" = ["INT"]))]
    pub(crate) signal: StopSignal,
    /// Time until force follows; without it, 2s.
    #[serde(default = "default_grace")]
    pub(crate) grace: DurationText,
}

/// A right answer of one contender alone.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnAnswerTable {
    /// Name of the workload.
    #[schemars(extend("examples" = ["page"]))]
    pub(crate) workload: String,
    /// Position of the request among those of the workload, from 0.
    #[serde(default)]
    #[schemars(range(min = 0, max = 9_999), extend("examples" = [0]))]
    pub(crate) request: u32,
    /// Status.
    #[schemars(range(min = 100, max = 599), extend("examples" = [200]))]
    pub(crate) status: u16,
    /// Length of the body as sent.
    #[schemars(extend("minimum" = 0, "maximum" = 9_007_199_254_740_991_i64, "examples" = [4608]))]
    pub(crate) bytes: Option<u64>,
    /// SHA-256 of the body as sent, in hex.
    #[schemars(extend("examples" =
        ["315f5bdb76d078c43b8ac0064e4a0164612b1fce77c869345bfc94c75894edd3"]))]
    pub(crate) sha256: Option<String>,
    /// What stays of a body that changes from answer to answer.
    pub(crate) changing: Option<Changing>,
}

fn default_grace() -> DurationText {
    DurationText(Stopping::default().grace)
}
