//! Whether the load engine itself is in the numbers, and whether it kept its schedule.

use bakeoff_record::KEPT_DISTURBED_SHARE;

use super::{Described, Limit, Text, check, disturbed, invalid, not_run, note, suspect};
use crate::code::{Code, LATENCY, PACED, RATE, SOUND};
use crate::limits::{
    CEILING_SHARE, ENDED_SHARE_INVALID, ENDED_SHARE_SUSPECT, ENGINE_BUSY_INVALID,
    ENGINE_BUSY_SUSPECT, ENGINE_KEPT_SUSPECT, ENGINE_LAG_SHARE, QUEUE_GROWTH_SHARE, SEND_LAG_NS,
    SEND_LAG_SHARE, SEND_LAG_SHARE_MOST, SERVER_PACED, STARTED_SHARE, STARTED_SHARE_PER_SECOND,
};

pub(super) const CHECKS: [Described; 9] = [
    check(
        Code::LocalErrors,
        "requests with the outcome `local`",
        &[invalid(SOUND, "one or more", &[])],
        "This side had no file, port or memory left, or no route or permission. `bakeoff doctor` \
         names the limit and how to raise it.",
    ),
    check(
        Code::EngineBusy,
        "share of the window in which the busiest thread of the engine worked",
        &[
            not_run(PACED, "the engine's CPU time is not known"),
            suspect(LATENCY, "above {}", &[Limit::Percent(ENGINE_BUSY_SUSPECT)]),
            invalid(LATENCY, "above {}", &[Limit::Percent(ENGINE_BUSY_INVALID)]),
            suspect(
                RATE,
                "above {}, unless the server is at {} of its processors; the rate is then a lower \
                 bound",
                &[
                    Limit::Percent(ENGINE_BUSY_INVALID),
                    Limit::Percent(SERVER_PACED),
                ],
            ),
            note(
                "above {} with the server at {} of its processors: both were full",
                &[
                    Limit::Percent(ENGINE_BUSY_INVALID),
                    Limit::Percent(SERVER_PACED),
                ],
            ),
        ],
        "Give the engine more processors, or ask for less.",
    ),
    check(
        Code::EngineKept,
        "share of the window in which a thread of the engine wanted a processor and had none",
        &[
            not_run(PACED, "not known"),
            suspect(LATENCY, "above {}", &[Limit::Percent(ENGINE_KEPT_SUSPECT)]),
            disturbed(
                PACED,
                "above {}, unless the server or the upstream was given that processor",
                &[Limit::Percent(KEPT_DISTURBED_SHARE)],
            ),
            note(
                "the rate, above {} on a processor shared with the server or the upstream",
                &[Limit::Percent(ENGINE_KEPT_SUSPECT)],
            ),
        ],
        "Something else ran on the engine's processor. Stop it, or pin the engine to a processor \
         of its own.",
    ),
    check(
        Code::EngineLag,
        "time from an answer's arrival in the kernel to its reading, over the latency: what p50 \
         and p99 are not below with 95 % confidence; closed loop over TCP",
        &[
            not_run(LATENCY, "not known"),
            suspect(LATENCY, "above {}", &[Limit::Percent(ENGINE_LAG_SHARE)]),
        ],
        "The engine read answers late, and its delay is in the latencies. Use fewer clients for \
         each engine thread, or more threads.",
    ),
    Described {
        details: &[Text(
            "The yardstick is measured over every protocol. It is not measured in a plan without \
             it, or at a workload that expects compressed bodies or several answers, or that does \
             not say what a right body is. If it was not measured, or if the server beat it and \
             so proved that it is no ceiling, the rate can still be believed from a server at {} \
             of its processors, and the latencies from an engine that worked at most {} of the \
             time.",
            &[
                Limit::Percent(SERVER_PACED),
                Limit::Percent(ENGINE_BUSY_SUSPECT),
            ],
        )],
        ..check(
            Code::GeneratorCeiling,
            "the rate over the yardstick's in the same round; closed loop",
            &[
                not_run(RATE, "no ceiling is known and the server was not full"),
                not_run(LATENCY, "no ceiling is known and the engine was not idle"),
                suspect(
                    PACED,
                    "above {}; the rate is a lower bound",
                    &[Limit::Percent(CEILING_SHARE)],
                ),
                suspect(
                    LATENCY,
                    "above {}, with the server at {} of its processors; the rate is then its own",
                    &[Limit::Percent(CEILING_SHARE), Limit::Percent(SERVER_PACED)],
                ),
            ],
            "The server is nearly as fast as a server that does nothing. Give the engine more \
             processors, or compare latencies in an open loop below this rate.",
        )
    },
    check(
        Code::ScheduleKept,
        "requests begun over requests due; open loop",
        &[
            not_run(PACED, "the record does not hold how many were due"),
            note(
                "a closed loop by count that its longest time ended before the count was reached",
                &[],
            ),
            suspect(
                PACED,
                "below {} in a second of the window",
                &[Limit::Percent(STARTED_SHARE_PER_SECOND)],
            ),
            invalid(PACED, "below {}", &[Limit::Percent(STARTED_SHARE)]),
        ],
        "The server kept all clients busy. Its capacity is lower than the rate, or the load needs \
         more clients.",
    ),
    check(
        Code::Unended,
        "due requests that ended, over due requests; open loop",
        &[
            suspect(LATENCY, "below {}", &[Limit::Percent(ENDED_SHARE_SUSPECT)]),
            invalid(LATENCY, "below {}", &[Limit::Percent(ENDED_SHARE_INVALID)]),
        ],
        "Requests without an end count as lower bounds in quantiles. Lower the rate, or raise the \
         timeout.",
    ),
    Described {
        details: &[Text(
            "The engine's own delay is in each latency of an open loop. A virtual machine wakes \
             the engine 0.05 to 0.2 ms late now and then, even where nothing else runs, and {} of \
             a latency of 1 ms is less than that. So a p99 of the slip up to {} is allowed, but \
             never more than {} of the latency's p99: about three quarters of the latency are \
             then the server's, and a server of 0.2 ms does not become one of 0.95 ms because the \
             engine was late. For a latency of 4 to 20 ms the limit is {}, and beyond that {}.",
            &[
                Limit::Percent(SEND_LAG_SHARE),
                Limit::Ms(SEND_LAG_NS),
                Limit::Percent(SEND_LAG_SHARE_MOST),
                Limit::Ms(SEND_LAG_NS),
                Limit::Percent(SEND_LAG_SHARE),
            ],
        )],
        ..check(
            Code::SendLag,
            "p99 of the slip, from due to begun, of requests that did not wait for the server; \
             open loop",
            &[
                not_run(LATENCY, "not known, or every request waited for the server"),
                suspect(
                    LATENCY,
                    "above {} of the latency's p99, and above {} or {} of that p99, whichever is \
                     less; the latency is then an upper bound",
                    &[
                        Limit::Percent(SEND_LAG_SHARE),
                        Limit::Ms(SEND_LAG_NS),
                        Limit::Percent(SEND_LAG_SHARE_MOST),
                    ],
                ),
            ],
            "The engine sent late. Give it more processors, or less work on them.",
        )
    },
    check(
        Code::QueueGrows,
        "requests in flight in the last tenth of the window less those in the first, over due \
         requests; if more than half of the requests waited for a client, also due requests less \
         those that ended within the window, over due; open loop",
        &[
            not_run(LATENCY, "what was in flight is not known"),
            suspect(LATENCY, "above {}", &[Limit::Percent(QUEUE_GROWTH_SHARE)]),
        ],
        "The rate is above the server's capacity, so latencies depend on the length of the \
         window. Lower the rate.",
    ),
];
