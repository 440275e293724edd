//! Every limit of a check, with its requirement, for whoever judges: `audit`, `search`, and who
//! repeats a disturbed trial. `docs/checks.md` is made from them.

/// R17: share of requests that may fail while the point still meets its goal.
pub const FAILED_SHARE: f64 = 0.000_01;
/// R17: most failures that may be expected of requests of which none failed: if more were expected,
/// one of the requests would have failed in 95 % of the cases.
pub const UNSEEN_FAILURES: f64 = 3.0;
/// R13: busy share of an engine thread from which its delays may be in the numbers.
pub const ENGINE_BUSY_SUSPECT: f64 = 0.5;
/// R13: busy share of an engine thread from which the engine sets the pace.
pub const ENGINE_BUSY_INVALID: f64 = 0.9;
/// R33, R34: share of its processors from which a server's tree counts as saturated.
pub const SERVER_SATURATED: f64 = 0.9;
/// R10: share of the yardstick's rate above which a score only says "at least".
pub const CEILING_SHARE: f64 = 0.8;
/// R34: share of the origin's direct rate above which the origin is measured, not the proxy.
pub const BACKEND_SHARE: f64 = 0.8;
/// R7: share of the scheduled requests that must have been started.
pub const STARTED_SHARE: f64 = 0.99;
/// R7: share of the requests due in one second that must have been started.
pub const STARTED_SHARE_PER_SECOND: f64 = 0.95;
/// R5: share of the requests due that must have ended for quantiles to speak of all.
pub const ENDED_SHARE_SUSPECT: f64 = 0.99;
/// R5: share of the requests due below which too little ended for latencies to be believed.
pub const ENDED_SHARE_INVALID: f64 = 0.95;
/// R9: p99 of the send lag as a share of the latency's p99.
pub const SEND_LAG_SHARE: f64 = 0.05;
/// R9: p99 of the send lag that is allowed beyond that share, ns: a virtual machine wakes nobody
/// sooner now and then.
pub const SEND_LAG_NS: f64 = 1e6;
/// R9: the same as a share of the latency's p99, which holds the lag: about three quarters of it
/// are the server's, however short it is.
pub const SEND_LAG_SHARE_MOST: f64 = 0.25;

/// The p99 of the send lag that is allowed beside this p99 of the latency; nanoseconds.
pub fn send_lag_allowed_ns(latency_ns: Option<u64>) -> f64 {
    let Some(latency) = latency_ns.map(|latency| latency as f64) else {
        return SEND_LAG_NS;
    };
    SEND_LAG_NS
        .min(SEND_LAG_SHARE_MOST * latency)
        .max(SEND_LAG_SHARE * latency)
}
/// R31: least deviation from Little's law that is held against a trial.
pub const LITTLE_SHARE: f64 = 0.02;
/// R24: share of a load by count that setting up a connection may take.
pub const SET_UP_SHARE: f64 = 0.05;
/// R32: share by which the origin's count may differ from the proxy's, besides what was in flight.
pub const ORIGIN_SHARE: f64 = 0.01;
/// R32: how far from an edge of the window the origin's counts may have been read, seconds.
pub const ORIGIN_READ_S: f64 = 0.05;
/// R36: foreign load on processors above which a number is in doubt.
pub const FOREIGN_SUSPECT_CPUS: f64 = 0.15;
/// R36: foreign load on processors above which a trial is disturbed.
pub const FOREIGN_DISTURBED_CPUS: f64 = 0.30;
/// R36: share of a processor's time taken by the hypervisor above which a number is in doubt.
pub const STEAL_SUSPECT: f64 = 0.05;
/// R36: share of a processor's time taken by the hypervisor above which a trial is disturbed.
pub const STEAL_DISTURBED_SHARE: f64 = 0.10;
/// R36: share of the window in which a quota of CPU time held programs back, above which a trial is
/// disturbed.
pub const THROTTLED_SHARE: f64 = 0.01;
/// R36: share of the window in which a thread of the engine wanted a processor and had none, above
/// which a trial is disturbed.
pub const KEPT_DISTURBED_SHARE: f64 = 0.20;
/// R36: least distance of logarithms at which the yardstick has drifted.
pub const DRIFT_LOG_MIN: f64 = 0.15;
/// R36: the same in standard deviations of the yardstick, by the median of absolute deviations.
pub const DRIFT_SPREADS: f64 = 3.0;
/// R38: time from the load's end to the next answer from which a server was slow to recover, s.
pub const RECOVERY_S: f64 = 1.0;
/// R38: share of a server's CPU time so far from which a process of it did its work.
pub const WORKER_SHARE: f64 = 0.1;
/// R38: CPU time from which that share says something, seconds.
pub const WORKER_CPU_S: f64 = 0.02;
/// R38: how long a process must have been seen, seconds, unless it was there before the load: a
/// process that is started for one request ends with it.
pub const WORKER_LIVED_S: f64 = 1.0;
/// R38: share of the requests that a process had in flight that are lost when it does not end in
/// order. One that ends in order loses those at most that were sent as it closed a connection.
pub const WORKER_LOST_SHARE: f64 = 0.5;
/// R38: how long after the end of a process, seconds, a closed or refused connection is due to it.
pub const WORKER_LOST_WITHIN_S: f64 = 1.0;
/// R37: UDP datagrams that sockets had no room for, as a share of those that the load took.
pub const UDP_DROPS_SHARE: f64 = 0.001;
/// R37: share of an accept queue's limit from which it counts as full: readings are 100 ms apart.
pub const ACCEPT_QUEUE_SHARE: f64 = 0.9;
/// R25: coefficient of variation of the rate over rounds.
pub const RATE_VARIATION: f64 = 0.10;
/// R25: ratio of the medians of two groups of rounds from which they are two; `stats::modes` finds
/// them.
pub const MODES_APART: f64 = 1.1;
/// R34: share of a processor in deferred interrupts that says the network stack is full.
pub const SOFTIRQ_SHARE: f64 = 0.9;
/// R16: share by which bodies as sent may differ in length before one side did other work.
pub const BODY_BYTES_SHARE: f64 = 0.10;
/// R16: bytes that a server's files grow by with each request from which it logs requests: the
/// shortest line worth the name, with an address or a time in it.
pub const LOG_BYTES_PER_REQUEST: u64 = 16;
/// R16: share of failed requests above which a log that grows under load may be one of errors.
pub const LOGGED_ERRORS_SHARE: f64 = 0.01;
/// R10, R13: share of its processors from which a server set the pace itself, whatever the engine
/// did.
pub const SERVER_PACED: f64 = 0.95;
/// R13: share of the window in which an engine's thread wanted a processor and had none, from
/// which its delays may be in the latencies.
pub const ENGINE_KEPT_SUSPECT: f64 = 0.05;
/// R31: share of the clients that may starve.
pub const STARVED_SHARE_SUSPECT: f64 = 0.01;
/// R31: share of starved clients from which latencies are of the others only.
pub const STARVED_SHARE_INVALID: f64 = 0.05;
/// R31: growth of what is in flight, as a share of the requests due.
pub const QUEUE_GROWTH_SHARE: f64 = 0.01;
/// R9: an engine's delay in reading answers, as a share of their latency.
pub const ENGINE_LAG_SHARE: f64 = 0.05;
/// R18: rounds from which a test can decide, and the share of the planned ones that is needed.
pub const ROUNDS_MIN: usize = 6;
/// R18: undisturbed rounds of both sides from which they breach a gate by themselves, where too few
/// of all are left to pass it.
pub const UNDISTURBED_MIN: usize = 10;
/// R18: largest share of a number's rounds that may be doubted by themselves, where the others are
/// to show what is plain or breach a gate.
pub const DOUBTED_SHARE: f64 = 0.25;
/// R18: largest share of a round that the machine may have taken, by all its readings, where the
/// round is to show what is plain although none can be believed.
pub const TAKEN_MOST: f64 = 0.5;
/// R18: share of the planned rounds that must be believable.
pub const ROUNDS_SHARE: f64 = 0.8;
/// R32: share of the bytes of bodies that must have come for the right answers.
pub const BODY_SENT_SHARE: f64 = 0.95;
/// R13: shortest window in which the share of an engine's thread says something, seconds.
pub const ENGINE_WINDOW_S_MIN: f64 = 0.1;
/// R24: distance between the mean of a window and the level that it ended at, as a share, from
/// which the mean is of neither. The method's 2 % is below what rounds are apart on a machine that
/// everything shares.
pub const STEADY_SHARE: f64 = 0.05;
/// R24: distance of the mean of a window from its last third, as a share, that is reported where it
/// lies beyond that in all rounds together. One window does not show so little.
pub const STEADY_ROUNDS_SHARE: f64 = 0.02;
/// R24: the same as [`STEADY_SHARE`] of p99 and of CPU use, which are noisier by their nature.
pub const STEADY_TAIL_SHARE: f64 = 0.25;
/// R36: distance of the processors' frequency from the campaign's median that is reported.
pub const FREQUENCY_NOTE_SHARE: f64 = 0.02;
/// R36: the same, from which a number is not ranked.
pub const FREQUENCY_SUSPECT_SHARE: f64 = 0.10;
/// R34: share of the window in which something waited for memory or a disk that is reported.
pub const PRESSURE_SHARE: f64 = 0.01;
/// R34: share of the table of tracked connections from which new ones may be refused.
pub const CONNTRACK_SHARE: f64 = 0.85;
/// R34: share of the files that a server may open from which the next connection may find none.
pub const SERVER_FILES_SHARE: f64 = 0.95;
/// R32: share by which a server's own count of requests may differ from ours, besides what was in
/// flight at either end.
pub const COUNTED_SHARE: f64 = 0.01;
/// R33: share by which CPU time per request may differ between rates below the knee.
pub const CPU_LEVEL_SHARE: f64 = 0.10;
/// R16: connections to the upstream for each request of the load, from which they are not kept.
pub const UPSTREAM_NEW_SHARE: f64 = 0.10;
/// R16: requests to the upstream from which that share says something.
pub const UPSTREAM_REQUESTS_MIN: u64 = 100;
/// R34: share of the time that a server's thread works or wants to from which it is full.
pub const THREAD_FULL_SHARE: f64 = 0.95;
/// R34: share of what a link carried when it was measured from which the network sets the pace.
pub const LINK_ROOM_SHARE: f64 = 0.8;
/// R34: share by which a link may differ between its two measurements.
pub const LINK_CHANGE_SHARE: f64 = 0.10;
/// R34: round trip as a share of the median latency from which latencies are the network's.
pub const WAY_SHARE: f64 = 0.5;
/// R36: how far a time of another host may be off, ns.
pub const CLOCK_ERROR_NS: f64 = 1e6;
/// R36: the same as a share of the window, from which its axis says nothing.
pub const CLOCK_ERROR_SHARE: f64 = 0.01;
/// R36: share of the window by which a host's clock may go away from that of home in a trial. Time
/// services correct a clock by at most 0.05 % as it runs; what sets or pulls it is far above.
pub const CLOCK_DRIFT_SHARE: f64 = 0.005;
/// R34: packets a second that a host may drop or leave for later. A kernel also counts frames of
/// switches that no program asked for, one in two seconds and more.
pub const FOREIGN_DROPS_PER_S: f64 = 1.0;
/// R24: how far apart generators may begin, seconds. Beyond the warm-up the window has another
/// load.
pub const START_SPREAD_S: f64 = 0.01;
/// R13: share by which generators with equal shares of a load may differ.
pub const GENERATORS_SHARE: f64 = 0.10;
/// R13: standard errors by which two generators may differ in any case: a few requests are apart by
/// chance.
pub const GENERATORS_ERRORS: f64 = 3.0;
/// R34: share of its processors below which it is said that a server had time to spare.
pub const IDLE_SERVER: f64 = 0.5;
/// R34: idle share of a server's processors from which one full thread is the cause.
pub const IDLE_BESIDE_SHARE: f64 = 0.30;

/// R21: two runs of one server that differ by more than 10 % are named: the campaign would not see
/// what most readers would call a difference.
pub const NOISE_MOST: f64 = 0.10;

/// Most that the yardsticks of two campaigns may differ: before and after a campaign the machine
/// gives the same within 5 % (R10).
pub const YARDSTICKS_APART: f64 = 0.05;
/// R24: shortest measurement whose course can be seen in parts of a second, seconds.
pub const DURATION_S_MIN: f64 = 10.0;
/// R22: requests that must lie beyond a quantile above the median.
pub const BEYOND_QUANTILE: f64 = 10.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lag_is_never_more_than_a_quarter_of_the_latency() {
        let check = |latency_ns: u64, expected: f64| {
            let allowed = send_lag_allowed_ns(Some(latency_ns));
            assert!((allowed - expected).abs() < 1.0, "{latency_ns}: {allowed}");
        };
        check(0, 0.0);
        check(950_000, 237_500.0);
        check(4_000_000, 1e6);
        check(20_000_000, 1e6);
        check(100_000_000, 5e6);
        assert_eq!(send_lag_allowed_ns(None), SEND_LAG_NS);
    }
}
