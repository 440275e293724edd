//! What processes and the host used while a trial ran, on the trial's own time axis.
//!
//! Every `at_s` is seconds from the start of the measured window, negative before it. Counters
//! are cumulative since the first tick, so that a lost tick loses no work.

use serde::{Deserialize, Serialize};

/// Everything that the probe saw in one trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Process trees, by role.
    pub trees: Vec<TreeUsage>,
    /// The host.
    pub host: Vec<HostTick>,
    /// Kernel network counters of this network namespace.
    pub tcp: Vec<TcpTick>,
    /// What the probe itself cost.
    pub probe: ProbeCost,
}

/// Who a process tree is to the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The server under test, or the reference in its place.
    Server,
    /// The upstream behind a proxy.
    Origin,
    /// bakeoff's own process: load engine, probe and display.
    Engine,
}

/// One process tree over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeUsage {
    /// Who it is.
    pub role: Role,
    /// Where CPU time was read: `cgroup`, or `process-clock` for the CPU clock of each process.
    pub cpu_source: String,
    /// Readings in order.
    pub ticks: Vec<TreeTick>,
}

/// One reading of a process tree.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeTick {
    /// When, seconds on the trial's axis.
    pub at_s: f64,
    /// User time since the first tick, seconds.
    pub cpu_user_s: f64,
    /// System time since the first tick, seconds.
    pub cpu_system_s: f64,
    /// Resident memory, shared pages counted once for each process, bytes.
    pub rss_bytes: u64,
    /// Proportional memory, shared pages divided, bytes; read less often, else `None`.
    pub pss_bytes: Option<u64>,
    /// Processes.
    pub processes: u32,
    /// Threads.
    pub threads: u32,
    /// Open files.
    pub open_files: Option<u32>,
    /// Voluntary context switches since the first tick.
    pub switches_voluntary: u64,
    /// Involuntary context switches since the first tick.
    pub switches_involuntary: u64,
}

/// One reading of the host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostTick {
    /// When, seconds on the trial's axis.
    pub at_s: f64,
    /// Shares of the time since the tick before, for each processor.
    pub cpus: Vec<CpuShares>,
}

/// How one processor spent the time between two ticks; shares from 0 to 1.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuShares {
    /// The kernel's number of the processor.
    pub cpu: u32,
    /// Programs, niced ones too.
    pub user: f64,
    /// Kernel on behalf of programs.
    pub system: f64,
    /// Interrupts.
    pub irq: f64,
    /// Deferred interrupts: most of the network stack.
    pub softirq: f64,
    /// Taken by the hypervisor.
    pub steal: f64,
    /// Waiting for disks.
    pub iowait: f64,
    /// Nothing to do.
    pub idle: f64,
}

/// Kernel network counters since the first tick.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpTick {
    /// When, seconds on the trial's axis.
    pub at_s: f64,
    /// Connections dropped because an accept queue was full.
    pub listen_overflows: u64,
    /// Connections dropped at a listener for any reason.
    pub listen_drops: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// SYN segments sent again.
    pub syn_retransmits: u64,
    /// Resets sent.
    pub resets_sent: u64,
    /// Established connections that ended by reset.
    pub established_resets: u64,
    /// Connection attempts answered by reset.
    pub attempt_fails: u64,
    /// Sockets in TIME_WAIT now.
    pub time_wait: u64,
    /// Established sockets now.
    pub established: u64,
    /// Datagrams that UDP sockets had no room for.
    #[serde(default)]
    pub udp_drops: u64,
}

/// What the probe itself cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeCost {
    /// Readings taken.
    pub ticks: u64,
    /// Readings that came more than half a period late.
    pub late: u64,
    /// CPU time of the probe's thread, seconds.
    pub cpu_s: f64,
    /// Longest single reading, seconds.
    pub tick_s_max: f64,
}
