//! The requirements R1 to R41: what a benchmark has to do to be believed, and how far bakeoff does.

use std::fmt::Write as _;

/// Number, requirement, and how far it holds today.
pub(crate) const ALL: [(&str, &str, &str); 41] = [
    (
        "R1",
        "capacity and latency are two experiments; latency is measured below saturation, at a \
         given rate",
        "yes: the rate is given, or found with \
         [`capacity_share`](plan-files.md#rates-that-are-found) or [`bakeoff find`](find.md)",
    ),
    (
        "R2",
        "an open loop's schedule is fixed beforehand from a recorded seed, the same for every \
         contender",
        "yes",
    ),
    (
        "R3",
        "each request has its intended, sent, first-byte and done time; nothing is corrected \
         afterwards",
        "yes",
    ),
    (
        "R4",
        "a server frozen for S seconds of T shows quantile q of S - (1 - q) T",
        "yes, by a test",
    ),
    (
        "R5",
        "requests that never ended count as lower bounds in quantiles",
        "yes, with bounds on both sides",
    ),
    (
        "R6",
        "each outcome has its own latencies; latencies are not compared if error shares \
         differ by more than 0.1 point",
        "yes",
    ),
    (
        "R7",
        "at least 99 % of the scheduled requests are started",
        "yes, over the window and in each second",
    ),
    (
        "R8",
        "gaps between the requests really sent follow the distribution asked for",
        "no: 1,000 gaps are recorded, not judged",
    ),
    (
        "R9",
        "the engine sends on time, measured against the reported p99",
        "yes; in closed loops it reads on time",
    ),
    (
        "R10",
        "a null server sets the ceiling; near it a score is a lower bound",
        "yes, in every round",
    ),
    (
        "R11",
        "a client that runs out of files or ports makes the trial invalid",
        "yes",
    ),
    (
        "R12",
        "files and ports are budgeted beforehand, and a load that does not fit is not \
         attempted",
        "yes; not yet for new connections per second",
    ),
    (
        "R13",
        "the engine's own CPU use is measured and judged",
        "yes: work, and time without a processor, are separate; pauses are recorded, not \
         judged",
    ),
    (
        "R14",
        "roles that share a machine are pinned to different processors, and the result is \
         labelled",
        "yes",
    ),
    (
        "R15",
        "status, length and body are compared before, during and after",
        "yes, bytes in samples",
    ),
    (
        "R16",
        "differences between contenders (workers, keep-alive, compression, ...) are listed",
        "yes, those of [equal work](#equal-work); buffering is not seen",
    ),
    (
        "R17",
        "fewer than 0.001 % of the requests fail",
        "yes, of those that were seen; fewer than 300,000 requests [do not show \
         it](statistics.md#failures-that-were-not-seen)",
    ),
    (
        "R18",
        "the unit of repetition is a fresh server; six rounds or more, fixed beforehand",
        "a fresh server, yes; the number of rounds by [looks](statistics.md#looks) that pay for \
         themselves, or fixed beforehand",
    ),
    (
        "R19",
        "the order is random and balanced, never all of A and then all of B",
        "random, yes: [drawn for each block](statistics.md#order); balance is left to chance",
    ),
    (
        "R20",
        "ratios within a round, a test corrected over the whole campaign, an interval without \
         1, and a noise floor",
        "yes: [Holm over all pairs and looks](statistics.md#looks), the interval of the same \
         mean, and a floor of 1 %",
    ),
    (
        "R21",
        "the noise floor is measured: one server under two names",
        "measured, yes, as [`NAME~`](statistics.md#two-runs-of-one-server); it says how far to \
         trust a number, and is no floor",
    ),
    (
        "R22",
        "a quantile is given only if enough responses lie beyond it",
        "yes, ten",
    ),
    ("R23", "percentiles are never averaged", "yes"),
    (
        "R24",
        "the window shows a steady state",
        "yes, by change points, and by all rounds together; the warm-up is recorded, not \
         judged",
    ),
    (
        "R25",
        "variation between rounds is flagged, outliers are kept",
        "part: the rate's; disturbed rounds are set aside and kept",
    ),
    (
        "R26",
        "a rule fixed beforehand ends the rounds, never a significant result",
        "yes, by number or by width",
    ),
    (
        "R27",
        "capacity is a search for a declared goal, with both bounds",
        "yes: [find.md](find.md)",
    ),
    (
        "R28",
        "irregular searches are named",
        "yes: [find.md](find.md#what-is-reported)",
    ),
    (
        "R29",
        "a capacity found is confirmed by a longer trial",
        "yes: three trials, each of which has to meet the goal",
    ),
    (
        "R30",
        "two goals at once show the noise of a search",
        "yes: `--slo` and `--errors` take several",
    ),
    (
        "R31",
        "Little's law holds",
        "yes, with its sign and set-up time; starving clients have a check of their own",
    ),
    (
        "R32",
        "counts of client, server and upstream agree",
        "yes; the server's own count if it has one",
    ),
    (
        "R33",
        "CPU per request stays level below the knee",
        "yes, as a note",
    ),
    (
        "R34",
        "the bottleneck is named with the counters that show it; `unknown` is an answer",
        "part: some of its cases",
    ),
    (
        "R35",
        "a bottleneck is confirmed by changing it",
        "yes, on demand: [confirm.md](confirm.md)",
    ),
    (
        "R36",
        "steal, throttling and the like make a trial suspect",
        "yes: other load, steal, quotas, drift of the yardstick, frequency; not temperature",
    ),
    (
        "R37",
        "queues are examined listener by listener",
        "yes: overflows beyond a trial's own connections belong to another program; queues \
         near their limit affect the latencies",
    ),
    (
        "R38",
        "behaviour beyond capacity is a measurement of its own",
        "yes: [overload.md](overload.md). Other trials show that a server died or was \
         [restarted](#server-restarted), and how long it is busy after the load",
    ),
    (
        "R39",
        "ranks count right answers within a goal, not responses",
        "part: only `ok` counts",
    ),
    (
        "R40",
        "everything is stored raw, also what was rejected, and verdicts follow from it alone",
        "yes",
    ),
    (
        "R41",
        "faults are injected, and the judge's errors are published",
        "part: `bakeoff selftest` does it; the run of [selftest.md](selftest.md) named 44 of \
         44 faults in 4 of 5 runs or more, flagged 1 of 220 twins, and had no winner in 40 \
         pairs of equals. Older runs named 43 of 44 (`single-core` in 3 of 5), and 39 and 38 \
         of 40",
    ),
];

const HEAD: &str = "
## Requirements
What a benchmark has to do to be believed. *Yes*: it holds today. *Part*: the text says how far.
*No*: not yet.

| rule | requirement | holds |
| --- | --- | --- |
";

pub(crate) fn write(page: &mut String) {
    page.push_str(HEAD);
    for (rule, requirement, holds) in ALL {
        let _ = writeln!(page, "| {rule} | {requirement} | {holds} |");
    }
}
