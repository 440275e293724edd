//! The bottlenecks that a report can name (R34).

use std::fmt::Write as _;

use bakeoff_record::{FOREIGN_DISTURBED_CPUS, THROTTLED_SHARE};

use super::{Limit, Text};
use crate::limits::{
    BACKEND_SHARE, CEILING_SHARE, ENGINE_BUSY_INVALID, IDLE_BESIDE_SHARE, LINK_ROOM_SHARE,
    SERVER_SATURATED, SOFTIRQ_SHARE, STARTED_SHARE, STEAL_SUSPECT, THREAD_FULL_SHARE,
};

/// Each cause in the order in which the first one is taken, and when it is one.
pub(crate) const CAUSES: [(&str, Text); 17] = [
    (
        "client-limits",
        Text("a request could not be sent: no file, port or memory", &[]),
    ),
    (
        "none",
        Text(
            "an open loop in which at least {} of the due requests came out right",
            &[Limit::Percent(STARTED_SHARE)],
        ),
    ),
    (
        "other-load",
        Text(
            "other programs had more than {} processors",
            &[Limit::Plain(FOREIGN_DISTURBED_CPUS)],
        ),
    ),
    (
        "throttled",
        Text(
            "a quota held programs back for more than {} of the window",
            &[Limit::Percent(THROTTLED_SHARE)],
        ),
    ),
    (
        "cpu-limit",
        Text(
            "a limit of its own held the server back for more than {} of the window",
            &[Limit::Percent(THROTTLED_SHARE)],
        ),
    ),
    (
        "co-saturated",
        Text(
            "the engine's busiest thread worked more than {} of the time, and the server used \
             more than {} of its processors",
            &[
                Limit::Percent(ENGINE_BUSY_INVALID),
                Limit::Percent(SERVER_SATURATED),
            ],
        ),
    ),
    (
        "client-cpu",
        Text(
            "the engine's busiest thread worked more than {} of the time",
            &[Limit::Percent(ENGINE_BUSY_INVALID)],
        ),
    ),
    (
        "network",
        Text(
            "a link between hosts carried {} or more of what it can",
            &[Limit::Percent(LINK_ROOM_SHARE)],
        ),
    ),
    (
        "generator-ceiling",
        Text(
            "a closed loop from {} of the yardstick's rate on, while the server's processors are \
             not full",
            &[Limit::Percent(CEILING_SHARE)],
        ),
    ),
    (
        "steal",
        Text(
            "the hypervisor took more than {} of a processor",
            &[Limit::Percent(STEAL_SUSPECT)],
        ),
    ),
    (
        "accept-queue",
        Text("an accept queue of this trial overflowed", &[]),
    ),
    (
        "backend-bound",
        Text(
            "a proxy above {} of the upstream's own rate",
            &[Limit::Percent(BACKEND_SHARE)],
        ),
    ),
    (
        "network",
        Text(
            "a processor spent more than {} of its time in soft interrupts",
            &[Limit::Percent(SOFTIRQ_SHARE)],
        ),
    ),
    (
        "cpu-bound",
        Text(
            "the server used more than {} of what others left of its processors",
            &[Limit::Percent(SERVER_SATURATED)],
        ),
    ),
    (
        "cpu-shared-with-origin",
        Text(
            "the server and the upstream on the same processors did so together",
            &[],
        ),
    ),
    (
        "single-core",
        Text(
            "a thread worked or wanted to for more than {} of the time, while more than {} of the \
             server's processors were idle. A thread that waits for a processor, or whose \
             processor the hypervisor has taken, is not idle",
            &[
                Limit::Percent(THREAD_FULL_SHARE),
                Limit::Percent(IDLE_BESIDE_SHARE),
            ],
        ),
    ),
    ("unknown", Text("none of these", &[])),
];

const HEAD: &str = "
## Bottlenecks
The bottleneck of a cell is the first cause below that the figures of one round show: of the rounds
that count, the one whose rate is nearest to the median (R34). Further causes are listed after it.
Counters alone prove none of them: [`--confirm`](confirm.md) changes the suspected resource and
measures again (R35).

| bottleneck | when |
| --- | --- |
";

pub(super) fn write(page: &mut String) {
    page.push_str(HEAD);
    for (name, when) in CAUSES {
        let _ = writeln!(page, "| `{name}` | {} |", when.shown());
    }
}
