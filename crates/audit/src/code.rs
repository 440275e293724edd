//! The checks by name, with the requirement that each comes from and the numbers that it guards.

use serde::{Serialize, Serializer};

use bakeoff_stats::Number;

/// Which check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// Share of requests that did not come out right.
    FailedShare,
    /// Bodies with the right status that are not the right ones.
    WrongBody,
    /// Whether bodies were compared at all.
    BodiesCompared,
    /// Bytes of bodies against the number of right answers.
    BodyBytes,
    /// The answer before the load.
    AnswerBefore,
    /// The answer after the load.
    AnswerAfter,
    /// The server's processes lived through the window.
    ServerAlive,
    /// The server's processes were the same ones all the time.
    ServerRestarted,
    /// The same program in every round.
    ProgramChanged,
    /// How soon the server answered after the load.
    Recovered,
    /// Requests that this side could not send.
    LocalErrors,
    /// Time that the engine's threads worked.
    EngineBusy,
    /// Time that the engine's threads wanted to work and had no processor.
    EngineKept,
    /// How long answers lay in the kernel before the engine read them.
    EngineLag,
    /// The yardstick's rate in the same round.
    GeneratorCeiling,
    /// Requests begun of those due.
    ScheduleKept,
    /// Requests due that had no end.
    Unended,
    /// How late the engine began requests that did not wait for the server.
    SendLag,
    /// More requests in flight at the end than at the start.
    QueueGrows,
    /// Clients that had no answer, or waited much longer than others.
    Starved,
    /// Time of clients that went neither into requests nor into connections.
    ClientTime,
    /// Rate times latency is what is in flight.
    Little,
    /// Counts kept apart agree.
    CountsAddUp,
    /// Connections set up inside a load by count.
    SetUpCounted,
    /// Requests that reached the upstream.
    OriginAsked,
    /// The server's own count of requests.
    ServerCounted,
    /// The window is one level, not several.
    NotSteady,
    /// Processor time taken by the hypervisor.
    Steal,
    /// Processor time taken by programs that are no part of the trial.
    OtherLoad,
    /// Processor time withheld by a quota or by heat.
    Throttled,
    /// The yardstick of this block against that of other rounds.
    Drift,
    /// Processor frequency beside that of other trials.
    Frequency,
    /// Time in which work waited for a processor, memory or disks.
    Pressure,
    /// Pages of the server that had to come from a disk.
    MajorFaults,
    /// Packets that the kernel dropped before any socket.
    SoftnetDrops,
    /// How full the table of tracked connections was.
    Conntrack,
    /// Files that the server had open, of those that it may.
    FdLimit,
    /// Limits of the server's own configuration against what the load needs.
    ServerLimit,
    /// Connections that found an accept queue of this trial full.
    ListenOverflows,
    /// How full the accept queues of this trial were.
    AcceptQueue,
    /// Overflows that are no part of this trial.
    ForeignOverflow,
    /// Datagrams that sockets had no room for.
    UdpDrops,
    /// The upstream's own rate in the same round.
    BackendBound,
    /// More roles than processors, or roles beside each other.
    CoLocated,
    /// What the trial sent over a link, of what the link carries.
    LinkRoom,
    /// Whether links were measured, and stayed the same.
    LinkMeasured,
    /// How much of the latency is the way between hosts.
    Way,
    /// How well other hosts' clocks are known.
    ClockError,
    /// How far apart generators began.
    StartSpread,
    /// Whether generators with equal shares saw the same.
    GeneratorsAgree,
    /// Packets that a host of the trial dropped.
    HostDrops,
    /// Hosts that were lost in the trial.
    HostLost,
    /// What the tool says against itself.
    Warning,
    /// How a trial ended that was not measured.
    TrialEnded,
    /// Rounds measured of those planned.
    RoundsComplete,
    /// Rounds whose number can be believed, of those planned.
    RoundsAccepted,
    /// How far rounds are apart.
    RoundsAgree,
    /// Whether the rounds fall into two groups.
    TwoModes,
    /// CPU time per request at several rates.
    CpuLevel,
    /// A fact of equal work, by its code.
    Equal(&'static str),
}

/// What needs right answers from a living server.
pub(crate) const SOUND: &[Number] = &[Number::Rate, Number::Latency, Number::Cpu, Number::Memory];
/// All numbers.
pub(crate) const ALL: &[Number] = &Number::ALL;
/// What the machine does to a trial.
pub(crate) const TIMED: &[Number] = &[Number::Rate, Number::Latency, Number::Cpu];
/// What the load does to a trial.
pub(crate) const PACED: &[Number] = &[Number::Rate, Number::Latency];
pub(crate) const RATE: &[Number] = &[Number::Rate];
pub(crate) const LATENCY: &[Number] = &[Number::Latency];
pub(crate) const CPU: &[Number] = &[Number::Cpu];
pub(crate) const COUNTED: &[Number] = &[Number::Rate, Number::Counts];
pub(crate) const ADDED: &[Number] = &[Number::Rate, Number::Latency, Number::Cpu, Number::Counts];

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

    fn entry(self) -> (&'static str, &'static str, &'static [Number]) {
        match self {
            Self::FailedShare => ("failed-share", "R17", TIMED),
            Self::WrongBody => ("wrong-body", "R15", SOUND),
            Self::BodiesCompared => ("bodies-compared", "R15", SOUND),
            Self::BodyBytes => ("body-bytes", "R32", TIMED),
            Self::AnswerBefore => ("answer-before", "R15", SOUND),
            Self::AnswerAfter => ("answer-after", "R15", SOUND),
            Self::ServerAlive => ("server-alive", "R38", SOUND),
            Self::ServerRestarted => ("server-restarted", "R38", SOUND),
            Self::ProgramChanged => ("program-changed", "R40", ALL),
            Self::Recovered => ("recovered", "R38", LATENCY),
            Self::LocalErrors => ("local-errors", "R11", SOUND),
            Self::EngineBusy => ("engine-busy", "R13", PACED),
            Self::EngineKept => ("engine-kept", "R13", PACED),
            Self::EngineLag => ("engine-lag", "R9", LATENCY),
            Self::GeneratorCeiling => ("generator-ceiling", "R10", PACED),
            Self::ScheduleKept => ("schedule-kept", "R7", PACED),
            Self::Unended => ("unended", "R5", LATENCY),
            Self::SendLag => ("send-lag", "R9", LATENCY),
            Self::QueueGrows => ("queue-grows", "R31", LATENCY),
            Self::Starved => ("starved", "R31", LATENCY),
            Self::ClientTime => ("client-time", "R31", PACED),
            Self::Little => ("little", "R31", PACED),
            Self::CountsAddUp => ("counts-add-up", "R32", ADDED),
            Self::SetUpCounted => ("set-up-counted", "R24", PACED),
            Self::OriginAsked => ("origin-asked", "R32", TIMED),
            Self::ServerCounted => ("server-counted", "R32", COUNTED),
            Self::NotSteady => ("not-steady", "R24", SOUND),
            Self::Steal => ("steal", "R36", TIMED),
            Self::OtherLoad => ("other-load", "R36", TIMED),
            Self::Throttled => ("throttled", "R36", TIMED),
            Self::Drift => ("drift", "R36", TIMED),
            Self::Frequency => ("frequency", "R36", TIMED),
            Self::Pressure => ("pressure", "R34", LATENCY),
            Self::MajorFaults => ("major-faults", "R34", LATENCY),
            Self::SoftnetDrops => ("softnet-drops", "R34", PACED),
            Self::Conntrack => ("conntrack", "R34", PACED),
            Self::FdLimit => ("fd-limit", "R34", PACED),
            Self::ServerLimit => ("server-limit", "R34", PACED),
            Self::ListenOverflows => ("listen-overflows", "R37", LATENCY),
            Self::AcceptQueue => ("accept-queue", "R37", LATENCY),
            Self::ForeignOverflow => ("foreign-overflow", "R37", LATENCY),
            Self::UdpDrops => ("udp-drops", "R37", PACED),
            Self::BackendBound => ("backend-bound", "R34", PACED),
            Self::CoLocated => ("co-located", "R14", ALL),
            Self::LinkRoom => ("link-room", "R34", PACED),
            Self::LinkMeasured => ("link-measured", "R34", PACED),
            Self::Way => ("way", "R34", LATENCY),
            Self::ClockError => ("clock-error", "R36", TIMED),
            Self::StartSpread => ("start-spread", "R24", PACED),
            Self::GeneratorsAgree => ("generators-agree", "R13", PACED),
            Self::HostDrops => ("host-drops", "R34", PACED),
            Self::HostLost => ("host-lost", "R38", ALL),
            Self::Warning => ("warning", "R40", ALL),
            Self::TrialEnded => ("trial-ended", "R40", ALL),
            Self::RoundsComplete => ("rounds-complete", "R18", SOUND),
            Self::RoundsAccepted => ("rounds-accepted", "R18", SOUND),
            Self::RoundsAgree => ("rounds-agree", "R25", TIMED),
            Self::TwoModes => ("two-modes", "R25", ALL),
            Self::CpuLevel => ("cpu-level", "R33", CPU),
            Self::Equal(name) => (name, "R16", ALL),
        }
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
