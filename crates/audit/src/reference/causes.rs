//! The bottlenecks that a report can name (R34).

use std::fmt::Write as _;

use bakeoff_record::{FOREIGN_DISTURBED_CPUS, THROTTLED_SHARE};
use serde::{Serialize, Serializer};

use super::{Limit, Text};
use crate::limits::{
    BACKEND_SHARE, CEILING_SHARE, ENGINE_BUSY_INVALID, IDLE_BESIDE_SHARE, LINK_ROOM_SHARE,
    SERVER_SATURATED, SOFTIRQ_SHARE, STARTED_SHARE, STEAL_SUSPECT, THREAD_FULL_SHARE,
};
use bakeoff_plan::named;

named! {
    /// What can have held a rate down.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Limiter {
        /// This side had no file, port or memory.
        ClientLimits = "client-limits",
        /// The rate was given, and kept.
        Nothing = "none",
        /// Other programs.
        OtherLoad = "other-load",
        /// A quota of CPU time.
        Throttled = "throttled",
        /// A limit of the server's own.
        CpuLimit = "cpu-limit",
        /// Both the server and the engine had no time to spare.
        CoSaturated = "co-saturated",
        /// The load engine.
        ClientCpu = "client-cpu",
        /// A link between hosts, or the network stack.
        Network = "network",
        /// What the engine can do at all.
        GeneratorCeiling = "generator-ceiling",
        /// The hypervisor.
        Steal = "steal",
        /// A queue of connections.
        AcceptQueue = "accept-queue",
        /// The upstream.
        BackendBound = "backend-bound",
        /// The server's processors.
        CpuBound = "cpu-bound",
        /// Those of the server and the upstream.
        CpuSharedWithOrigin = "cpu-shared-with-origin",
        /// One thread of the server.
        SingleCore = "single-core",
        /// The figures speak for nothing.
        Unknown = "unknown",
    }
}

impl Serialize for Limiter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Each cause in the order in which the first one is taken, and when it is one.
pub(crate) const CAUSES: [(Limiter, Text); 17] = [
    (
        Limiter::ClientLimits,
        Text("a request could not be sent: no file, port or memory", &[]),
    ),
    (
        Limiter::Nothing,
        Text(
            "an open loop in which at least {} of the due requests came out right",
            &[Limit::Percent(STARTED_SHARE)],
        ),
    ),
    (
        Limiter::OtherLoad,
        Text(
            "other programs had more than {} processors",
            &[Limit::Plain(FOREIGN_DISTURBED_CPUS)],
        ),
    ),
    (
        Limiter::Throttled,
        Text(
            "a quota held programs back for more than {} of the window",
            &[Limit::Percent(THROTTLED_SHARE)],
        ),
    ),
    (
        Limiter::CpuLimit,
        Text(
            "a limit of its own held the server back for more than {} of the window",
            &[Limit::Percent(THROTTLED_SHARE)],
        ),
    ),
    (
        Limiter::CoSaturated,
        Text(
            "the engine's busiest thread worked more than {} of the time, and the server used \
             more than {} of its processors",
            &[
                Limit::Percent(ENGINE_BUSY_INVALID),
                Limit::Percent(SERVER_SATURATED),
            ],
        ),
    ),
    (
        Limiter::ClientCpu,
        Text(
            "the engine's busiest thread worked more than {} of the time",
            &[Limit::Percent(ENGINE_BUSY_INVALID)],
        ),
    ),
    (
        Limiter::Network,
        Text(
            "a link between hosts carried {} or more of what it can",
            &[Limit::Percent(LINK_ROOM_SHARE)],
        ),
    ),
    (
        Limiter::GeneratorCeiling,
        Text(
            "a closed loop from {} of the yardstick's rate on, while the server's processors are \
             not full",
            &[Limit::Percent(CEILING_SHARE)],
        ),
    ),
    (
        Limiter::Steal,
        Text(
            "the hypervisor took more than {} of a processor",
            &[Limit::Percent(STEAL_SUSPECT)],
        ),
    ),
    (
        Limiter::AcceptQueue,
        Text("an accept queue of this trial overflowed", &[]),
    ),
    (
        Limiter::BackendBound,
        Text(
            "a proxy above {} of the upstream's own rate",
            &[Limit::Percent(BACKEND_SHARE)],
        ),
    ),
    (
        Limiter::Network,
        Text(
            "a processor spent more than {} of its time in soft interrupts",
            &[Limit::Percent(SOFTIRQ_SHARE)],
        ),
    ),
    (
        Limiter::CpuBound,
        Text(
            "the server used more than {} of what others left of its processors",
            &[Limit::Percent(SERVER_SATURATED)],
        ),
    ),
    (
        Limiter::CpuSharedWithOrigin,
        Text(
            "the server and the upstream on the same processors did so together",
            &[],
        ),
    ),
    (
        Limiter::SingleCore,
        Text(
            "a thread worked or wanted to for more than {} of the time, while more than {} of the \
             server's processors were idle. A thread that waits for a processor, or whose \
             processor the hypervisor has taken, is not idle",
            &[
                Limit::Percent(THREAD_FULL_SHARE),
                Limit::Percent(IDLE_BESIDE_SHARE),
            ],
        ),
    ),
    (Limiter::Unknown, Text("none of these", &[])),
];

const HEAD: &str = "
## Bottlenecks
The bottleneck of a cell is the first cause below that the figures of one round show: of the rounds
that count, the one whose rate is nearest to the median (R34). Further causes are listed after it.
Counters alone prove none of them: [`--confirm`](confirm.md) changes the suspected resource and
measures again (R35).

| bottleneck | when |
| --- | --- |
";

pub(crate) fn write(page: &mut String) {
    page.push_str(HEAD);
    for (limiter, when) in CAUSES {
        let _ = writeln!(page, "| `{}` | {} |", limiter.name(), when.shown());
    }
}
