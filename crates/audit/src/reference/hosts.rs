//! What only a load from other hosts can have wrong.

use super::{Described, Limit, check, invalid, not_run, note, suspect};
use crate::code::{ALL, Code, LATENCY, PACED, TIMED};
use crate::limits::{
    CLOCK_DRIFT_SHARE, CLOCK_ERROR_NS, CLOCK_ERROR_SHARE, FOREIGN_DROPS_PER_S, GENERATORS_ERRORS,
    GENERATORS_SHARE, LINK_CHANGE_SHARE, LINK_ROOM_SHARE, START_SPREAD_S, WAY_SHARE,
};

pub(super) const CHECKS: [Described; 8] = [
    check(
        Code::HostLost,
        "hosts that were lost in the trial",
        &[invalid(ALL, "one or more", &[])],
        "The text has the reason. Look at that host and the connection to it.",
    ),
    check(
        Code::LinkRoom,
        "bytes over a link between hosts in the window, over what it carried when it was \
         measured; the fullest link",
        &[
            note(
                "from {}, if the link may carry more: a processor was full before the link was \
                 when it was measured, or the trial sent more over it than was measured",
                &[Limit::Percent(LINK_ROOM_SHARE)],
            ),
            suspect(PACED, "from {}", &[Limit::Percent(LINK_ROOM_SHARE)]),
        ],
        "The network held the rate down. Use a faster link, or smaller answers.",
    ),
    check(
        Code::LinkMeasured,
        "what a link carried before the first round, with what it carried after the last",
        &[
            not_run(PACED, "a link was not measured"),
            note(
                "apart by more than {}, or measured only once; `link-room` uses the lower figure",
                &[Limit::Percent(LINK_CHANGE_SHARE)],
            ),
        ],
        "It passes if the load came from the server's own host.",
    ),
    check(
        Code::Way,
        "round trip to the server over a generator's median latency",
        &[
            not_run(LATENCY, "the round trip was not measured"),
            suspect(LATENCY, "from {}", &[Limit::Percent(WAY_SHARE)]),
        ],
        "Latencies are mostly those of the network. Put the generator nearer to the server.",
    ),
    check(
        Code::ClockError,
        "how far a time of another host may be off: half the round trip of the fastest exchange; \
         and how far its clock moved in the trial",
        &[
            not_run(TIMED, "a clock was not compared"),
            suspect(
                TIMED,
                "above {}, or moved by more than {} of the window",
                &[Limit::Ms(CLOCK_ERROR_NS), Limit::Percent(CLOCK_DRIFT_SHARE)],
            ),
            invalid(
                TIMED,
                "above {} of the window",
                &[Limit::Percent(CLOCK_ERROR_SHARE)],
            ),
        ],
        "The connection to that host is slow, or something set its clock during the trial.",
    ),
    check(
        Code::StartSpread,
        "time from the first generator to begin to the last, or from the agreed start to the last \
         if that is longer, with the errors of their clocks",
        &[
            not_run(PACED, "not known"),
            suspect(PACED, "above {} s", &[Limit::Plain(START_SPREAD_S)]),
            invalid(PACED, "above the warm-up", &[]),
        ],
        "The hosts did not begin together. Use a longer warm-up, or look at the host that was \
         last.",
    ),
    check(
        Code::GeneratorsAgree,
        "rates for equal shares of the load, and median latencies: the least below the most",
        &[
            suspect(
                PACED,
                "apart by {}, and by {} standard errors of the difference",
                &[
                    Limit::Percent(GENERATORS_SHARE),
                    Limit::Plain(GENERATORS_ERRORS),
                ],
            ),
            invalid(PACED, "one has no answer at all and another has some", &[]),
        ],
        "Look for what slows that host, or what is between it and the server.",
    ),
    check(
        Code::HostDrops,
        "packets that a host of the trial dropped, and times at which its kernel left packets for \
         later",
        &[
            not_run(PACED, "not read"),
            note("one or more", &[]),
            suspect(
                PACED,
                "more than {} a second, which frames from switches can also cause",
                &[Limit::Plain(FOREIGN_DROPS_PER_S)],
            ),
        ],
        "The host did not keep up with its network interface.",
    ),
];
