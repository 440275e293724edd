//! What can be wrong with a published row, by name.

bakeoff_plan::named! {
    /// A kind of finding.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Code {
        /// Requests failed, more than a measurement allows.
        FailedShare = "failed-share",
        /// Latencies hold those of requests that failed.
        LatencyOfFailures = "latency-of-failures",
        /// Too few, or too many, requests were in flight for that many clients.
        Little = "little",
        /// Requests that were due were not sent.
        ScheduleKept = "schedule-kept",
        /// The rate is near that of the generator against a null server.
        GeneratorCeiling = "generator-ceiling",
        /// The generator's processors were busy.
        EngineBusy = "engine-busy",
        /// The measurement is too short.
        DurationShort = "duration-short",
        /// A request took longer than the measurement.
        LongerThanRun = "longer-than-run",
        /// Connecting is a part of the measurement.
        SetUpCounted = "set-up-counted",
        /// Right answers filled the link.
        NetworkBound = "network-bound",
        /// The rate is not the requests over the duration.
        RateDiffers = "rate-differs",
        /// Figures on how requests came out contradict each other.
        CountsDiffer = "counts-differ",
        /// More bytes than the link can carry, or fewer than the answers hold.
        ImpossibleBytes = "impossible-bytes",
        /// More CPU time than there are processors.
        ImpossibleCpu = "impossible-cpu",
        /// A quantile with too few requests beyond it.
        QuantileUnsupported = "quantile-unsupported",
        /// Quantiles that contradict each other.
        QuantileOrder = "quantile-order",
        /// Nothing was measured twice.
        OneRun = "one-run",
        /// Repetitions of one measurement differ.
        RepeatDiffers = "repeat-differs",
    }
}

impl Code {
    /// Requirement in `docs/checks.md`, such as `R31`.
    pub fn rule(self) -> &'static str {
        self.entry().0
    }

    /// What it means for a row, in a line.
    pub fn meaning(self) -> &'static str {
        self.entry().1
    }

    fn entry(self) -> (&'static str, &'static str) {
        match self {
            Self::FailedShare => ("R17", "requests failed; the rate counts them"),
            Self::LatencyOfFailures => {
                let meaning = "times of failed requests are in the latencies";
                ("R6", meaning)
            }
            Self::Little => {
                let meaning =
                    "the requests in flight do not match the clients, as of a late generator";
                ("R31", meaning)
            }
            Self::ScheduleKept => ("R7", "the generator did not keep its rate"),
            Self::GeneratorCeiling => {
                let meaning = "the generator can hardly do more: the rate is a lower bound";
                ("R10", meaning)
            }
            Self::EngineBusy => ("R13", "the generator's processors were busy"),
            Self::DurationShort => ("R24", "too short to be steady"),
            Self::LongerThanRun => {
                let meaning = "a request took longer than the measurement";
                ("R5", meaning)
            }
            Self::SetUpCounted => ("R24", "connecting is a part of the time"),
            Self::NetworkBound => {
                let meaning = "the link was full: the network was measured, not the server";
                ("R34", meaning)
            }
            Self::RateDiffers => {
                let meaning = "rate, requests and duration contradict each other";
                ("R32", meaning)
            }
            Self::CountsDiffer => {
                let meaning =
                    "how many requests ended, failed and came out right contradicts itself";
                ("R32", meaning)
            }
            Self::ImpossibleBytes => ("R32", "the bytes do not fit the answers or the link"),
            Self::ImpossibleCpu => ("R33", "more CPU time than processors"),
            Self::QuantileUnsupported => {
                let meaning = "too few requests lie beyond a quantile";
                ("R22", meaning)
            }
            Self::QuantileOrder => ("R22", "latencies contradict each other"),
            Self::OneRun => ("R18", "nothing was repeated often enough"),
            Self::RepeatDiffers => ("R25", "repetitions are far apart"),
        }
    }
}
