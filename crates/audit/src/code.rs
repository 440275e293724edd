//! The checks by name, with the requirement that each comes from and the numbers that it guards.

use serde::{Serialize, Serializer};

use bakeoff_stats::Number;

use bakeoff_plan::named;

/// The checks: what each is about, its name, its requirement and the numbers that it guards.
macro_rules! codes {
    ($($(#[$about:meta])* $code:ident = $name:literal, $rule:ident, $guards:ident;)+) => {
        /// Which check.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[$about])* $code,)+
            /// A fact of equal work, by its code.
            Equal(&'static str),
        }

        impl Code {
            /// Every check but the facts of equal work.
            #[cfg(test)]
            pub(crate) const LISTED: &[Self] = &[$(Self::$code,)+];

            fn entry(self) -> (&'static str, &'static str, &'static [Number]) {
                match self {
                    $(Self::$code => ($name, stringify!($rule), $guards),)+
                    Self::Equal(name) => (name, "R16", ALL),
                }
            }
        }
    };
}

codes! {
    /// Share of requests that did not come out right.
    FailedShare = "failed-share", R17, TIMED;
    /// Bodies with the right status that are not the right ones.
    WrongBody = "wrong-body", R15, SOUND;
    /// Whether bodies were compared at all.
    BodiesCompared = "bodies-compared", R15, SOUND;
    /// Bytes of bodies against the number of right answers.
    BodyBytes = "body-bytes", R32, TIMED;
    /// The answer before the load.
    AnswerBefore = "answer-before", R15, SOUND;
    /// The answer after the load.
    AnswerAfter = "answer-after", R15, SOUND;
    /// The server's processes lived through the window.
    ServerAlive = "server-alive", R38, SOUND;
    /// The server's processes were the same ones all the time.
    ServerRestarted = "server-restarted", R38, SOUND;
    /// The same program in every round.
    ProgramChanged = "program-changed", R40, ALL;
    /// How soon the server answered after the load.
    Recovered = "recovered", R38, LATENCY;
    /// Requests that this side could not send.
    LocalErrors = "local-errors", R11, SOUND;
    /// Time that the engine's threads worked.
    EngineBusy = "engine-busy", R13, PACED;
    /// Time that the engine's threads wanted to work and had no processor.
    EngineKept = "engine-kept", R13, PACED;
    /// How long answers lay in the kernel before the engine read them.
    EngineLag = "engine-lag", R9, LATENCY;
    /// The yardstick's rate in the same round.
    GeneratorCeiling = "generator-ceiling", R10, PACED;
    /// Requests begun of those due.
    ScheduleKept = "schedule-kept", R7, PACED;
    /// Requests due that had no end.
    Unended = "unended", R5, LATENCY;
    /// How late the engine began requests that did not wait for the server.
    SendLag = "send-lag", R9, LATENCY;
    /// More requests in flight at the end than at the start.
    QueueGrows = "queue-grows", R31, LATENCY;
    /// Clients that had no answer, or waited much longer than others.
    Starved = "starved", R31, LATENCY;
    /// Time of clients that went neither into requests nor into connections.
    ClientTime = "client-time", R31, PACED;
    /// Rate times latency is what is in flight.
    Little = "little", R31, PACED;
    /// Counts kept apart agree.
    CountsAddUp = "counts-add-up", R32, ADDED;
    /// Connections set up inside a load by count.
    SetUpCounted = "set-up-counted", R24, PACED;
    /// Requests that reached the upstream.
    OriginAsked = "origin-asked", R32, TIMED;
    /// The server's own count of requests.
    ServerCounted = "server-counted", R32, COUNTED;
    /// The window is one level, not several.
    NotSteady = "not-steady", R24, SOUND;
    /// Processor time taken by the hypervisor.
    Steal = "steal", R36, TIMED;
    /// Processor time taken by programs that are no part of the trial.
    OtherLoad = "other-load", R36, TIMED;
    /// Processor time withheld by a quota or by heat.
    Throttled = "throttled", R36, TIMED;
    /// The yardstick of this block against that of other rounds.
    Drift = "drift", R36, TIMED;
    /// Processor frequency beside that of other trials.
    Frequency = "frequency", R36, TIMED;
    /// Time in which work waited for a processor, memory or disks.
    Pressure = "pressure", R34, LATENCY;
    /// Pages of the server that had to come from a disk.
    MajorFaults = "major-faults", R34, LATENCY;
    /// Packets that the kernel dropped before any socket.
    SoftnetDrops = "softnet-drops", R34, PACED;
    /// How full the table of tracked connections was.
    Conntrack = "conntrack", R34, PACED;
    /// Files that the server had open, of those that it may.
    FdLimit = "fd-limit", R34, PACED;
    /// Limits of the server's own configuration against what the load needs.
    ServerLimit = "server-limit", R34, PACED;
    /// Connections that found an accept queue of this trial full.
    ListenOverflows = "listen-overflows", R37, LATENCY;
    /// How full the accept queues of this trial were.
    AcceptQueue = "accept-queue", R37, LATENCY;
    /// Overflows that are no part of this trial.
    ForeignOverflow = "foreign-overflow", R37, LATENCY;
    /// Datagrams that sockets had no room for.
    UdpDrops = "udp-drops", R37, PACED;
    /// The upstream's own rate in the same round.
    BackendBound = "backend-bound", R34, PACED;
    /// More roles than processors, or roles beside each other.
    CoLocated = "co-located", R14, ALL;
    /// What the trial sent over a link, of what the link carries.
    LinkRoom = "link-room", R34, PACED;
    /// Whether links were measured, and stayed the same.
    LinkMeasured = "link-measured", R34, PACED;
    /// How much of the latency is the way between hosts.
    Way = "way", R34, LATENCY;
    /// How well other hosts' clocks are known.
    ClockError = "clock-error", R36, TIMED;
    /// How far apart generators began.
    StartSpread = "start-spread", R24, PACED;
    /// Whether generators with equal shares saw the same.
    GeneratorsAgree = "generators-agree", R13, PACED;
    /// Packets that a host of the trial dropped.
    HostDrops = "host-drops", R34, PACED;
    /// Hosts that were lost in the trial.
    HostLost = "host-lost", R38, ALL;
    /// What the tool says against itself.
    Warning = "warning", R40, ALL;
    /// How a trial ended that was not measured.
    TrialEnded = "trial-ended", R40, ALL;
    /// Rounds measured of those planned.
    RoundsComplete = "rounds-complete", R18, SOUND;
    /// Rounds whose number can be believed, of those planned.
    RoundsAccepted = "rounds-accepted", R18, SOUND;
    /// How far rounds are apart.
    RoundsAgree = "rounds-agree", R25, TIMED;
    /// Whether the rounds fall into two groups.
    TwoModes = "two-modes", R25, ALL;
    /// CPU time per request at several rates.
    CpuLevel = "cpu-level", R33, CPU;
}

/// What needs right answers from a living server.
pub(crate) const SOUND: &[Number] = &[Number::Rate, Number::Latency, Number::Cpu, Number::Memory];
/// All numbers.
pub(crate) const ALL: &[Number] = &Number::ALL;
/// What the machine does to a trial.
pub(crate) const TIMED: &[Number] = &[Number::Rate, Number::Latency, Number::Cpu];
/// What the load does to a trial.
pub(crate) const PACED: &[Number] = &[Number::Rate, Number::Latency];
pub(crate) const LATENCY: &[Number] = &[Number::Latency];
pub(crate) const CPU: &[Number] = &[Number::Cpu];
pub(crate) const COUNTED: &[Number] = &[Number::Rate, Number::Counts];
pub(crate) const ADDED: &[Number] = &[Number::Rate, Number::Latency, Number::Cpu, Number::Counts];

named! {
    /// The result of a check, from best to worst.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Level {
        /// Within its limit.
        Passed = "passed",
        /// A fact that the reader must know; the numbers stand.
        Note = "note",
        /// The record does not hold what the check needs; counts as suspect.
        NotRun = "not-run",
        /// The numbers are shown and not ranked.
        Suspect = "suspect",
        /// Something that is no part of the trial was in it: the block is worth repeating.
        Disturbed = "disturbed",
        /// The numbers are withheld.
        Invalid = "invalid",
    }
}

impl Code {
    /// The name used in every output format, such as `failed-share`.
    pub fn name(self) -> &'static str {
        self.entry().0
    }

    /// Requirement in `docs/checks.md`, such as `R17`.
    pub fn rule(self) -> &'static str {
        self.entry().1
    }

    /// The numbers that are in doubt where the check could not run.
    pub fn guards(self) -> &'static [Number] {
        self.entry().2
    }

    /// Whether it asks for right answers from a living server: one round that fails is enough,
    /// whatever the others say.
    pub fn is_correctness(self) -> bool {
        matches!(
            self,
            Self::WrongBody
                | Self::AnswerBefore
                | Self::AnswerAfter
                | Self::ServerAlive
                | Self::ServerRestarted
                | Self::ProgramChanged
                | Self::LocalErrors
                | Self::CountsAddUp
        )
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl schemars::JsonSchema for Code {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Code".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Stable name of a check, such as `failed-share`.",
            "type": "string"
        })
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name())
    }
}
