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
    /// Accept queues of the ports that the server and the upstream listen on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listeners: Vec<ListenerTick>,
    /// What the server itself counted; `None` where it reports nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_counters: Option<ServerCounters>,
    /// Whether the kernel charges interrupts to nobody instead of to the program that they came
    /// upon; `None` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts_apart: Option<bool>,
    /// What the probe itself cost.
    pub probe: ProbeCost,
}

impl Usage {
    /// Processes of the server that the kernel ended for a limit of their memory.
    pub fn memory_kills(&self) -> u64 {
        let mut trees = self.trees.iter();
        let server = trees.find(|tree| tree.role == Role::Server);
        let ticks = server.into_iter().flat_map(|tree| &tree.ticks);
        ticks
            .filter_map(|tick| tick.memory_kills)
            .max()
            .unwrap_or(0)
    }
}

/// Who a process tree is to the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The server under test, or the reference in its place.
    Server,
    /// The upstream behind a proxy.
    Origin,
    /// bakeoff's own process: load engine, probe and display.
    Engine,
    /// bakeoff's own process where the load comes from others: probe and display.
    Bakeoff,
}

impl Role {
    /// Whether it is bakeoff's own process.
    pub fn is_own(self) -> bool {
        matches!(self, Self::Engine | Self::Bakeoff)
    }
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
    /// Processes of it that ended while it was watched, in that order, without those that had used
    /// next to nothing; `None` where nobody looked. Of very many those that had used most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Vec<EndedProcess>>,
}

impl TreeUsage {
    /// Readings inside a measured window of this length, its edges included.
    pub fn in_window(&self, window_s: f64) -> impl DoubleEndedIterator<Item = &TreeTick> {
        let is_inside = move |tick: &&TreeTick| (0.0..=window_s).contains(&tick.at_s);
        self.ticks.iter().filter(is_inside)
    }

    /// Mean share of a processor, 0 to 1, of the thread that used most, over the looks at threads
    /// inside a measured window of this length; `None` without such a look.
    pub fn busiest_thread(&self, window_s: f64) -> Option<f64> {
        let ticks = self.in_window(window_s);
        mean(ticks.filter_map(|tick| tick.busiest_thread))
    }

    /// Mean share of the time in which that thread wanted a processor and had none; `None` where
    /// nobody counted it.
    pub fn busiest_thread_waited(&self, window_s: f64) -> Option<f64> {
        let ticks = self.in_window(window_s);
        mean(ticks.filter_map(|tick| tick.busiest_thread_waited))
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// A process that ended while it was watched. It was gone at the reading that follows the last one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndedProcess {
    /// The first reading with it, seconds on the trial's axis.
    pub from_s: f64,
    /// The last reading with it, seconds on the trial's axis.
    pub last_s: f64,
    /// User and system time of its own since the first tick, as far as it was seen, seconds.
    pub cpu_s: f64,
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
    /// Page faults since the first tick that had to wait for a disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub major_faults: Option<u64>,
    /// Share of a processor, 0 to 1, of the thread that used most since the last look at threads;
    /// `None` at ticks without such a look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest_thread: Option<f64>,
    /// Share of the time, 0 to 1, in which that thread wanted a processor and had none; `None`
    /// where the kernel does not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest_thread_waited: Option<f64>,
    /// Time since the first tick in which a limit of its own held it back, microseconds; `None`
    /// where nothing limits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_us: Option<u64>,
    /// Processes that were killed since the first tick for a limit of their memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_kills: Option<u64>,
}

/// One reading of the host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostTick {
    /// When, seconds on the trial's axis.
    pub at_s: f64,
    /// Shares of the time since the tick before, for each processor.
    pub cpus: Vec<CpuShares>,
    /// Load average over one minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_average_1m: Option<f64>,
    /// Memory that programs could still get, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_available_bytes: Option<u64>,
    /// Context switches of all processors since the first tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_switches: Option<u64>,
    /// Time in which at least one task waited for a resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure: Option<Pressure>,
    /// Mean frequency of the processors, MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_mhz: Option<f64>,
    /// What the kernel's network receive path had no time or room for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub softnet: Option<Softnet>,
    /// What crossed the network interfaces; only where clients are on other hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub net: Option<NetCounts>,
    /// Connections that the firewall tracks now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conntrack: Option<u64>,
    /// Time since the first tick in which a quota of CPU time held the server or bakeoff back,
    /// microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_us: Option<u64>,
}

/// Pressure stall information of the kernel: time since the first tick in which at least one task
/// waited for the resource, microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pressure {
    /// Time that tasks waited for a processor; `None` where the kernel does not report.
    pub cpu_us: Option<u64>,
    /// Time that tasks waited for memory; `None` where the kernel does not report.
    pub memory_us: Option<u64>,
    /// Time that tasks waited for a disk; `None` where the kernel does not report.
    pub io_us: Option<u64>,
}

/// What the kernel's network receive path had no time or room for, since the first tick.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Softnet {
    /// Packets dropped because a processor's queue was full.
    pub dropped: u64,
    /// Times at which work was left over when its time was up.
    pub squeezed: u64,
}

/// What crossed the network interfaces since the first tick: those that nothing else lies below of,
/// without loopback.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetCounts {
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets received and dropped.
    pub received_dropped: u64,
    /// Packets dropped instead of being sent.
    pub sent_dropped: u64,
}

impl NetCounts {
    /// What was counted since `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            received_bytes: self.received_bytes.saturating_sub(before.received_bytes),
            sent_bytes: self.sent_bytes.saturating_sub(before.sent_bytes),
            received_dropped: self
                .received_dropped
                .saturating_sub(before.received_dropped),
            sent_dropped: self.sent_dropped.saturating_sub(before.sent_dropped),
        }
    }
}

/// One reading of the accept queue of a port.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListenerTick {
    /// When, seconds on the trial's axis.
    pub at_s: f64,
    /// Port.
    pub port: u16,
    /// Role that listens on it.
    pub role: Role,
    /// Connections that waited to be accepted, in the fullest queue of the port.
    pub queue: u64,
    /// Number of them that this queue has room for; `None` where the kernel does not report.
    pub limit: Option<u64>,
}

/// What a server counted by itself, from the start of the window to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerCounters {
    /// What reported it.
    pub source: CounterSource,
    /// Where it was asked.
    pub url: String,
    /// What it counted at the start.
    pub before: CounterReading,
    /// What it counted at the end.
    pub after: CounterReading,
}

/// What reports a server's own counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CounterSource {
    /// nginx: `stub_status`.
    StubStatus,
    /// HAProxy: its statistics as CSV.
    HaproxyStats,
    /// Envoy: the statistics of its admin listener.
    EnvoyAdmin,
    /// Caddy: its metrics.
    CaddyMetrics,
}

/// One reading of a server's own counters, since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CounterReading {
    /// When, seconds on the trial's axis.
    pub at_s: f64,
    /// Connections accepted; `None` where it does not count them.
    pub accepts: Option<u64>,
    /// Requests; `None` where it does not count them.
    pub requests: Option<u64>,
}

impl ServerCounters {
    /// Connections accepted in between, without that of the second reading; `None` without a
    /// count, or where it began anew.
    pub fn accepts(&self) -> Option<u64> {
        self.between(self.before.accepts?, self.after.accepts?)
    }

    /// Requests in between, without that of the second reading; `None` without a count, or where
    /// it began anew.
    pub fn requests(&self) -> Option<u64> {
        self.between(self.before.requests?, self.after.requests?)
    }

    fn between(&self, before: u64, after: u64) -> Option<u64> {
        let reading = match self.source {
            CounterSource::StubStatus | CounterSource::HaproxyStats => 1,
            // These count their administration apart.
            CounterSource::EnvoyAdmin | CounterSource::CaddyMetrics => 0,
        };
        Some(after.checked_sub(before)?.saturating_sub(reading))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_the_readings_at_its_edges_and_the_mean_of_its_looks() {
        let tick = |at_s, share: Option<f64>| TreeTick {
            at_s,
            busiest_thread: share,
            busiest_thread_waited: share.map(|share| (1.0 - share) / 2.0),
            ..TreeTick::default()
        };
        let mut tree = TreeUsage {
            role: Role::Server,
            cpu_source: String::new(),
            ticks: vec![
                tick(-0.5, Some(1.0)),
                tick(0.0, Some(0.5)),
                tick(1.0, None),
                tick(2.0, Some(0.75)),
                tick(2.5, Some(1.0)),
            ],
            ended: None,
        };
        let inside: Vec<f64> = tree.in_window(2.0).map(|tick| tick.at_s).collect();
        assert_eq!(inside, [0.0, 1.0, 2.0]);
        assert_eq!(tree.busiest_thread(2.0), Some(0.625));
        assert_eq!(tree.busiest_thread_waited(2.0), Some(0.1875));
        tree.ticks[1].busiest_thread = None;
        assert_eq!(tree.busiest_thread(1.0), None, "nobody looked");
    }

    #[test]
    fn readings_do_not_count_themselves_and_a_new_start_has_no_difference() {
        let counters = |source, before, after| {
            let reading = |requests| CounterReading {
                requests: Some(requests),
                ..CounterReading::default()
            };
            ServerCounters {
                source,
                url: String::new(),
                before: reading(before),
                after: reading(after),
            }
        };
        let nginx = counters(CounterSource::StubStatus, 10, 511);
        assert_eq!((nginx.requests(), nginx.accepts()), (Some(500), None));
        let envoy = counters(CounterSource::EnvoyAdmin, 10, 510);
        assert_eq!(envoy.requests(), Some(500));
        let anew = counters(CounterSource::StubStatus, 10, 3);
        assert_eq!(anew.requests(), None);
    }
}
