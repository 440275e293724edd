//! What the machine and its kernel did to the trial, and whether the window is one level.

use bakeoff_record::{
    FOREIGN_DISTURBED_CPUS, FOREIGN_SUSPECT_CPUS, STEAL_DISTURBED_SHARE, THROTTLED_SHARE,
};

use super::{Described, Limit, Text, check, disturbed, invalid, not_run, note, suspect};
use crate::code::{CPU, Code, LATENCY, PACED, SOUND, TIMED};
use crate::limits::{
    ACCEPT_QUEUE_SHARE, BACKEND_SHARE, CONNTRACK_SHARE, DRIFT_LOG_MIN, DRIFT_SPREADS,
    FREQUENCY_NOTE_SHARE, FREQUENCY_SUSPECT_SHARE, PRESSURE_SHARE, SERVER_FILES_SHARE,
    STEADY_ROUNDS_SHARE, STEADY_SHARE, STEADY_TAIL_SHARE, STEAL_SUSPECT, UDP_DROPS_SHARE,
};

pub(super) const CHECKS: [Described; 18] = [
    Described {
        details: &[
            Text(
                "Levels are found by [change points](statistics.md#change-points) of the rate, \
                 p99, the server's CPU use and that of other programs, in tenths of seconds, or \
                 in seconds from 10 s on. A closed loop by count is not checked, because its \
                 clients run out of requests one by one.",
                &[],
            ),
            Text(
                "One window of a few seconds cannot show a step of a few per cent in its noise. \
                 All rounds of a closed loop \
                 [together](statistics.md#levels-of-all-rounds-together) can. The 2 % of R24 are \
                 less than what a shared machine does to any window, so {} are used.",
                &[Limit::Percent(STEADY_SHARE)],
            ),
        ],
        ..check(
            Code::NotSteady,
            "distance between the window's mean and the level that it ended at",
            &[
                not_run(SOUND, "the window has too few parts"),
                invalid(
                    PACED,
                    "the rate is off by {}",
                    &[Limit::Percent(STEADY_SHARE)],
                ),
                suspect(
                    CPU,
                    "the rate is off by {}",
                    &[Limit::Percent(STEADY_SHARE)],
                ),
                suspect(
                    LATENCY,
                    "p99 is off by {}",
                    &[Limit::Percent(STEADY_TAIL_SHARE)],
                ),
                suspect(
                    CPU,
                    "CPU use is off by {}",
                    &[Limit::Percent(STEADY_TAIL_SHARE)],
                ),
                suspect(
                    LATENCY,
                    "other programs have more than {} processors in a part of a window whose mean \
                     passes `other-load`",
                    &[Limit::Plain(FOREIGN_DISTURBED_CPUS)],
                ),
                suspect(
                    PACED,
                    "over all rounds, the rate is off by more than {}",
                    &[Limit::Percent(STEADY_SHARE)],
                ),
                note(
                    "over all rounds, the rate is off by more than {}; or memory, where the rate \
                     is off",
                    &[Limit::Percent(STEADY_ROUNDS_SHARE)],
                ),
            ],
            "The mean describes neither level. Use a longer warm-up, or a longer window.",
        )
    },
    check(
        Code::OtherLoad,
        "busy processors less those that server, upstream and engine used: of the machine, and of \
         the server's processors alone; the worst host",
        &[
            not_run(TIMED, "not known, or a generator was not sampled"),
            suspect(TIMED, "above {}", &[Limit::Plain(FOREIGN_SUSPECT_CPUS)]),
            disturbed(TIMED, "above {}", &[Limit::Plain(FOREIGN_DISTURBED_CPUS)]),
        ],
        "Stop other programs. `bakeoff doctor` shows how much they use.",
    ),
    check(
        Code::Steal,
        "share of a processor that the hypervisor took; the worst processor of the worst host",
        &[
            not_run(
                TIMED,
                "not read over the whole window, or a generator was not sampled",
            ),
            suspect(TIMED, "above {}", &[Limit::Percent(STEAL_SUSPECT)]),
            disturbed(TIMED, "above {}", &[Limit::Percent(STEAL_DISTURBED_SHARE)]),
        ],
        "Other virtual machines share this host. Run more rounds, or use a dedicated machine.",
    ),
    check(
        Code::Throttled,
        "share of the window in which a quota of CPU time held programs back; the worst host",
        &[
            note("above 0", &[]),
            disturbed(TIMED, "above {}", &[Limit::Percent(THROTTLED_SHARE)]),
        ],
        "Raise the quota of the container or the control group.",
    ),
    check(
        Code::Drift,
        "logarithm of the yardstick's rate in this block over its median; from three rounds on",
        &[disturbed(
            TIMED,
            "above {} and {} standard deviations",
            &[Limit::Plain(DRIFT_LOG_MIN), Limit::Plain(DRIFT_SPREADS)],
        )],
        "The machine was slower or faster in this round, as measured by a server that does the \
         same work each time. The block is repeated.",
    ),
    check(
        Code::Frequency,
        "mean frequency of the processors over the campaign's median",
        &[
            note(
                "off by more than {}",
                &[Limit::Percent(FREQUENCY_NOTE_SHARE)],
            ),
            suspect(
                TIMED,
                "off by more than {}",
                &[Limit::Percent(FREQUENCY_SUSPECT_SHARE)],
            ),
        ],
        "Set the frequency governor to `performance`, and turn boosting off.",
    ),
    check(
        Code::Pressure,
        "share of the window in which something waited for memory or a disk",
        &[note("above {}", &[Limit::Percent(PRESSURE_SHARE)])],
        "Memory is short, or a disk is slow.",
    ),
    check(
        Code::MajorFaults,
        "pages that the server waited for, from a disk",
        &[note("one or more", &[])],
        "Its files were not in memory. A longer warm-up brings them there.",
    ),
    check(
        Code::SoftnetDrops,
        "packets that the kernel dropped because a processor's queue was full",
        &[
            note("the rate, from one on", &[]),
            suspect(LATENCY, "one or more", &[]),
        ],
        "TCP sends them again, after a while. Raise `net.core.netdev_max_backlog`.",
    ),
    check(
        Code::Conntrack,
        "tracked connections over the most that are allowed",
        &[suspect(
            PACED,
            "above {}",
            &[Limit::Percent(CONNTRACK_SHARE)],
        )],
        "The firewall may refuse new connections. Raise `net.netfilter.nf_conntrack_max`.",
    ),
    check(
        Code::FdLimit,
        "files that the server's processes had open, over the limit of those that listen",
        &[
            note("above {}", &[Limit::Percent(SERVER_FILES_SHARE)]),
            suspect(
                PACED,
                "above {}, if clients had no answer, requests failed, or connections waited to be \
                 accepted at every reading",
                &[Limit::Percent(SERVER_FILES_SHARE)],
            ),
        ],
        "Raise the server's limit of open files.",
    ),
    check(
        Code::ServerLimit,
        "connections that nginx or HAProxy holds by its own configuration, against those that the \
         load needs; answers with a status by which nginx refuses what a limit forbids; and limits \
         of CPU time and memory that a plan or a compose file gives a server",
        &[note(
            "fewer connections than clients, twice as many through nginx as a proxy; such an \
             answer; held back for more than {} of the window; or a process that the kernel ended",
            &[Limit::Percent(THROTTLED_SHARE)],
        )],
        "Raise the limit in the line that is named, or load it with fewer clients.",
    ),
    check(
        Code::ListenOverflows,
        "overflows of accept queues, as far as connections of this trial can have had them",
        &[
            not_run(LATENCY, "the kernel's counters were not read"),
            suspect(LATENCY, "one or more", &[]),
        ],
        "Connections waited a second or more until their SYN was sent again. Raise the server's \
         backlog and `net.core.somaxconn`.",
    ),
    check(
        Code::AcceptQueue,
        "connections that waited in the fullest accept queue of server or upstream, over the \
         limit of that queue; ten readings a second",
        &[suspect(
            LATENCY,
            "from {}",
            &[Limit::Percent(ACCEPT_QUEUE_SHARE)],
        )],
        "While a queue is full, new connections are dropped and tried again. Raise the server's \
         backlog.",
    ),
    check(
        Code::ForeignOverflow,
        "overflows of accept queues beyond what connections of this trial can have had",
        &[note("one or more", &[])],
        "Another server on this machine dropped connections.",
    ),
    check(
        Code::UdpDrops,
        "datagrams that UDP sockets of a host had no room for, over those that the engine sent \
         and received there; HTTP/3; the worst host",
        &[
            not_run(PACED, "the kernel's counters were not read"),
            suspect(PACED, "above {}", &[Limit::Percent(UDP_DROPS_SHARE)]),
        ],
        "The server or the engine did not read them in time, so QUIC slowed down. Raise \
         `net.core.rmem_max`.",
    ),
    check(
        Code::BackendBound,
        "the proxy's rate over the upstream's own in the same round; closed loop",
        &[
            not_run(PACED, "the upstream was not measured directly"),
            suspect(
                PACED,
                "above {}; the rate is a lower bound",
                &[Limit::Percent(BACKEND_SHARE)],
            ),
        ],
        "The upstream was measured, not the proxy. Give the upstream more processors.",
    ),
    check(
        Code::CoLocated,
        "processors, with roles; with several hosts, roles on one host or one kernel",
        &[note("a role has no host of its own", &[])],
        "Absolute figures are those of this machine. With fewer processors than roles, only \
         ratios within a round mean anything.",
    ),
];
