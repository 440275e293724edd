//! Laws that counts and times must obey whatever the server does.

use super::{Described, Limit, check, invalid, not_run, note, suspect};
use crate::code::{ADDED, COUNTED, Code, LATENCY, PACED, TIMED};
use crate::limits::{
    COUNTED_SHARE, LITTLE_SHARE, ORIGIN_READ_S, ORIGIN_SHARE, SET_UP_SHARE, STARVED_SHARE_INVALID,
    STARVED_SHARE_SUSPECT,
};
use crate::subject::COUNTED_ASIDE;

pub(super) const CHECKS: [Described; 7] = [
    check(
        Code::CountsAddUp,
        "the [sums of a window](statistics.md#sums-of-a-window), and one latency for each `ok` \
         response",
        &[invalid(
            ADDED,
            "one does not hold; the text has its figures",
            &[],
        )],
        "A request was lost or counted twice. This is a fault of bakeoff: please report it with \
         the record.",
    ),
    check(
        Code::SetUpCounted,
        "median time to connect and shake hands, over the measured time; closed loop by count",
        &[
            not_run(PACED, "not known"),
            suspect(PACED, "above {}", &[Limit::Percent(SET_UP_SHARE)]),
        ],
        "The rate is that of connecting as much as of serving. Ask for more requests, or measure \
         by time.",
    ),
    check(
        Code::Starved,
        "clients without an answer in the window, or that waited for one longer than a quarter of \
         the window and ten times the median latency, over all clients",
        &[
            not_run(LATENCY, "answers for each client are not known"),
            suspect(
                LATENCY,
                "above {}",
                &[Limit::Percent(STARVED_SHARE_SUSPECT)],
            ),
            invalid(
                LATENCY,
                "above {}",
                &[Limit::Percent(STARVED_SHARE_INVALID)],
            ),
        ],
        "Percentiles describe the clients that were served. Use fewer clients, or look at how the \
         server shares its work.",
    ),
    check(
        Code::Little,
        "Little's law. Closed loop by time: rate x latency plus the set-up time of connections, \
         with clients x streams. Open loop: rate x time since sending, with what was seen in \
         flight once in each 10 ms",
        &[
            not_run(PACED, "no request ended"),
            note(
                "requests were still waiting at the end of the window, or had waited since before \
                 it",
                &[],
            ),
            suspect(
                LATENCY,
                "more by {}, or by twice the p99 over the window if that is longer",
                &[Limit::Percent(LITTLE_SHARE)],
            ),
        ],
        "Latencies contain time from before the window, or contradict the rate. Measure for \
         longer.",
    ),
    check(
        Code::ClientTime,
        "the same in a closed loop, where the sum is less than clients x streams",
        &[suspect(
            PACED,
            "less by {}, or by twice the p99 over the window if that is longer",
            &[Limit::Percent(LITTLE_SHARE)],
        )],
        "Clients spent time that belongs to no request. The engine was late.",
    ),
    check(
        Code::OriginAsked,
        "requests that the upstream received, over those of the proxy",
        &[
            not_run(TIMED, "the upstream's requests were not counted"),
            suspect(
                TIMED,
                "off by more than {}, one for each client and stream, and what comes in {} s: the \
                 edges of the window, and the time that reading the count takes",
                &[Limit::Percent(ORIGIN_SHARE), Limit::Plain(ORIGIN_READ_S)],
            ),
        ],
        "Fewer: a cache answers in place of the upstream. More: the proxy retries, or checks the \
         upstream's health.",
    ),
    check(
        Code::ServerCounted,
        "requests by the server's own count, with ours; connections that it accepted in the \
         window, with all that the engine made; where its [configuration](record.md#usage) opens \
         its counters",
        &[
            not_run(COUNTED, "its count started again, or is not known"),
            suspect(
                COUNTED,
                "requests off by more than {} and one for each client and stream; upwards also by \
                 more than {}, for looks at the counters, and by the share by which the time \
                 between the two readings exceeds the window. Connections: more than {} and {} \
                 above the engine's",
                &[
                    Limit::Percent(COUNTED_SHARE),
                    Limit::Plain(COUNTED_ASIDE),
                    Limit::Percent(COUNTED_SHARE),
                    Limit::Plain(COUNTED_ASIDE),
                ],
            ),
        ],
        "Another program used the server, or requests were lost between both counts.",
    ),
];
