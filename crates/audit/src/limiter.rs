//! The bottlenecks that a report can name (R34).

use bakeoff_plan::named;
use serde::{Serialize, Serializer};

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
