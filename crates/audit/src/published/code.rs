//! What can be wrong with a published row, by name.

/// The kinds of findings: the name of each, its requirement, and what it means for a row.
macro_rules! codes {
    ($($code:ident = $name:literal, $rule:ident, $meaning:literal;)+) => {
        bakeoff_plan::named! {
            /// A kind of finding.
            #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub enum Code {
                $(#[doc = $meaning] $code = $name,)+
            }
        }

        impl Code {
            /// Requirement in `docs/checks.md`, such as `R31`.
            pub fn rule(self) -> &'static str {
                match self {
                    $(Self::$code => stringify!($rule),)+
                }
            }

            /// What it means for a row, in a line.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$code => $meaning,)+
                }
            }
        }
    };
}

codes! {
    FailedShare = "failed-share", R17, "requests failed; the rate counts them";
    LatencyOfFailures = "latency-of-failures", R6, "times of failed requests are in the latencies";
    Little = "little", R31,
        "the requests in flight do not match the clients, as of a late generator";
    ScheduleKept = "schedule-kept", R7, "the generator did not keep its rate";
    GeneratorCeiling = "generator-ceiling", R10,
        "the generator can hardly do more: the rate is a lower bound";
    EngineBusy = "engine-busy", R13, "the generator's processors were busy";
    DurationShort = "duration-short", R24, "too short to be steady";
    LongerThanRun = "longer-than-run", R5, "a request took longer than the measurement";
    SetUpCounted = "set-up-counted", R24, "connecting is a part of the time";
    NetworkBound = "network-bound", R34,
        "the link was full: the network was measured, not the server";
    RateDiffers = "rate-differs", R32, "rate, requests and duration contradict each other";
    CountsDiffer = "counts-differ", R32,
        "how many requests ended, failed and came out right contradicts itself";
    ImpossibleBytes = "impossible-bytes", R32, "the bytes do not fit the answers or the link";
    ImpossibleCpu = "impossible-cpu", R33, "more CPU time than processors";
    QuantileUnsupported = "quantile-unsupported", R22, "too few requests lie beyond a quantile";
    QuantileOrder = "quantile-order", R22, "latencies contradict each other";
    OneRun = "one-run", R18, "nothing was repeated often enough";
    RepeatDiffers = "repeat-differs", R25, "repetitions are far apart";
}
