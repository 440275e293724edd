//! What can be wrong with a published row, by name.

/// A kind of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// Requests failed, more than a measurement allows.
    FailedShare,
    /// Latencies hold those of requests that failed.
    LatencyOfFailures,
    /// Too few, or too many, requests were in flight for that many clients.
    Little,
    /// Requests that were due were not sent.
    ScheduleKept,
    /// The rate is near that of the generator against a null server.
    GeneratorCeiling,
    /// The generator's processors were busy.
    EngineBusy,
    /// The measurement is too short.
    DurationShort,
    /// A request took longer than the measurement.
    LongerThanRun,
    /// Connecting is a part of the measurement.
    SetUpCounted,
    /// Right answers filled the link.
    NetworkBound,
    /// The rate is not the requests over the duration.
    RateDiffers,
    /// Figures on how requests came out contradict each other.
    CountsDiffer,
    /// More bytes than the link can carry, or fewer than the answers hold.
    ImpossibleBytes,
    /// More CPU time than there are processors.
    ImpossibleCpu,
    /// A quantile with too few requests beyond it.
    QuantileUnsupported,
    /// Quantiles that contradict each other.
    QuantileOrder,
    /// Nothing was measured twice.
    OneRun,
    /// Repetitions of one measurement differ.
    RepeatDiffers,
}

impl Code {
    /// All of them, in the order in which findings are listed.
    pub const ALL: [Self; 18] = [
        Self::FailedShare,
        Self::LatencyOfFailures,
        Self::Little,
        Self::ScheduleKept,
        Self::GeneratorCeiling,
        Self::EngineBusy,
        Self::DurationShort,
        Self::LongerThanRun,
        Self::SetUpCounted,
        Self::NetworkBound,
        Self::RateDiffers,
        Self::CountsDiffer,
        Self::ImpossibleBytes,
        Self::ImpossibleCpu,
        Self::QuantileUnsupported,
        Self::QuantileOrder,
        Self::OneRun,
        Self::RepeatDiffers,
    ];

    /// The name in every output format.
    pub fn name(self) -> &'static str {
        self.entry().0
    }

    /// Requirement in `docs/checks.md`, such as `R31`.
    pub fn rule(self) -> &'static str {
        self.entry().1
    }

    /// What it means for a row, in a line.
    pub fn meaning(self) -> &'static str {
        self.entry().2
    }

    fn entry(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::FailedShare => (
                "failed-share",
                "R17",
                "requests failed; the rate counts them",
            ),
            Self::LatencyOfFailures => {
                let meaning = "times of failed requests are in the latencies";
                ("latency-of-failures", "R6", meaning)
            }
            Self::Little => {
                let meaning =
                    "the requests in flight do not match the clients, as of a late generator";
                ("little", "R31", meaning)
            }
            Self::ScheduleKept => ("schedule-kept", "R7", "the generator did not keep its rate"),
            Self::GeneratorCeiling => {
                let meaning = "the generator can hardly do more: the rate is a lower bound";
                ("generator-ceiling", "R10", meaning)
            }
            Self::EngineBusy => ("engine-busy", "R13", "the generator's processors were busy"),
            Self::DurationShort => ("duration-short", "R24", "too short to be steady"),
            Self::LongerThanRun => {
                let meaning = "a request took longer than the measurement";
                ("longer-than-run", "R5", meaning)
            }
            Self::SetUpCounted => ("set-up-counted", "R24", "connecting is a part of the time"),
            Self::NetworkBound => {
                let meaning = "the link was full: the network was measured, not the server";
                ("network-bound", "R34", meaning)
            }
            Self::RateDiffers => {
                let meaning = "rate, requests and duration contradict each other";
                ("rate-differs", "R32", meaning)
            }
            Self::CountsDiffer => {
                let meaning =
                    "how many requests ended, failed and came out right contradicts itself";
                ("counts-differ", "R32", meaning)
            }
            Self::ImpossibleBytes => (
                "impossible-bytes",
                "R32",
                "the bytes do not fit the answers or the link",
            ),
            Self::ImpossibleCpu => ("impossible-cpu", "R33", "more CPU time than processors"),
            Self::QuantileUnsupported => {
                let meaning = "too few requests lie beyond a quantile";
                ("quantile-unsupported", "R22", meaning)
            }
            Self::QuantileOrder => ("quantile-order", "R22", "latencies contradict each other"),
            Self::OneRun => ("one-run", "R18", "nothing was repeated often enough"),
            Self::RepeatDiffers => ("repeat-differs", "R25", "repetitions are far apart"),
        }
    }
}
