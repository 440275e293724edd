//! Rules on how many requests there were, and how they came out.

use bakeoff_stats::ERROR_SHARE_APART;

use super::{Outcome, Ruled, found, no_rate};
use crate::limits::{
    CEILING_SHARE, DURATION_S_MIN, ENGINE_BUSY_SUSPECT, FAILED_SHARE, LITTLE_SHARE, STARTED_SHARE,
};
use crate::published::Finding;
use crate::published::code::Code;
use crate::published::derived::Subject;
use crate::published::sentence::{amount, percent, rate, time};

const FAILED: &str = "how many requests failed";
const FAILED_OF_K6: &str = "how many requests failed (`http_req_failed`, which k6 has since 0.31)";
const RATE: &str = "the rate that was asked for (--rate)";
const RATE_OR_NONE: &str = "the rate that was asked for (--rate), or for a closed loop --rate 0 \
                            and --clients";
const STREAMS: &str = "how many requests each client may have in flight, as with h2load -m, oha -p \
                       or k6's http.batch (--streams)";
const LONG: &str = "a measurement that is long beside its slowest requests";
const TIMED: &str = "latencies of requests without an answer in time";

/// R17: a measurement in which requests fail is not one of what they would have cost.
pub(super) fn failed_share(subject: &Subject<'_>) -> Ruled {
    if subject.is_empty() {
        let text = "no request came to an answer".to_owned();
        return found(Code::FailedShare, 1.0, FAILED_SHARE, text);
    }
    let share = subject.failed_share().ok_or_else(|| no_failures(subject))?;
    if share <= FAILED_SHARE {
        return Ok(Outcome::Passed);
    }
    let rates = match (subject.ended_per_s(), subject.ok_per_s()) {
        (Some(all), Some(right)) => {
            format!(": {} ended, {} came out right", rate(all), rate(right))
        }
        _ => String::new(),
    };
    let text = format!("{} of the requests failed{rates}", percent(share));
    found(Code::FailedShare, share, FAILED_SHARE, text)
}

/// What is missing where nothing says how many requests failed. Only k6 has checks without it.
fn no_failures(subject: &Subject<'_>) -> &'static str {
    match subject.row.counts.checks {
        Some(_) => FAILED_OF_K6,
        None => FAILED,
    }
}

/// R17: a script, or ab by an answer's length, may take answers for wrong that have the right
/// status. It may check anything, also how long they took, so that is a note.
pub(super) fn checks_failed(subject: &Subject<'_>) -> Ruled {
    let Some(checks) = subject.row.counts.checks else {
        return Ok(Outcome::Passed);
    };
    let limit = subject.failed_share().unwrap_or(0.0).max(FAILED_SHARE);
    let share = checks.failed / checks.all;
    // A script without a check made none of them.
    if share.is_nan() || share <= limit {
        return Ok(Outcome::Passed);
    }
    let text = format!(
        "{} of {} checks of answers failed, by a script or by their length: what it took for \
         wrong may count as right here",
        percent(share),
        amount(checks.all)
    );
    Ok(Outcome::Noted(Finding {
        code: Code::FailedShare,
        value: share,
        limit,
        text,
    }))
}

/// Whether no request has a latency, because none was answered in time.
fn is_untimed(subject: &Subject<'_>) -> bool {
    subject.is_empty() || subject.timed() == Some(0.0)
}

/// R6: the time of a refusal says nothing about answers.
pub(super) fn latency_of_failures(subject: &Subject<'_>) -> Ruled {
    let latency = &subject.row.latency;
    let has_latency = latency.mean.is_some()
        || latency.min.is_some()
        || latency.max.is_some()
        || !latency.quantiles.is_empty();
    if is_untimed(subject) {
        return Ok(Outcome::Passed);
    }
    if !has_latency {
        return Err("latencies");
    }
    let share = subject.failed_share().ok_or_else(|| no_failures(subject))?;
    // Some tools leave out requests without an answer.
    let timed = || {
        let failed = subject.row.counts.failed_timed?;
        let timed = subject.timed().filter(|timed| *timed > 0.0)?;
        Some(failed / timed)
    };
    let share = timed().unwrap_or(share);
    if share <= ERROR_SHARE_APART {
        return Ok(Outcome::Passed);
    }
    let among = latency
        .quantiles
        .iter()
        .rfind(|one| one.share <= share)
        .map(|one| {
            let name = crate::published::sentence::quantile(one.share);
            format!(
                "; {name}, {}, may be one of a failure",
                time(one.value.value / 1e9)
            )
        });
    let instant = latency.min.filter(|min| min.value == 0.0);
    let instant = instant.map(|_| "; the shortest, 0 ms, is no answer's".to_owned());
    let text = format!(
        "latencies hold those of failed requests, {} of all{}",
        percent(share),
        among.or(instant).unwrap_or_default()
    );
    found(Code::LatencyOfFailures, share, ERROR_SHARE_APART, text)
}

/// R31: rate times latency is what is in flight, and a client has as many as it has streams.
pub(super) fn little(subject: &Subject<'_>) -> Ruled {
    // On a schedule, as many are in flight as it takes; where none came back, none has a latency.
    if subject.planned_per_s().is_some() || is_untimed(subject) {
        return Ok(Outcome::Passed);
    }
    if subject.is_scheduled() {
        return Err(no_planned(subject));
    }
    let clients = subject.clients();
    let (Some(least), Some(most)) = (clients.in_flight_least(), clients.in_flight_most()) else {
        return Err("the number of clients (--clients)");
    };
    let (Some(in_flight), Some((per_s, mean_s))) = (subject.in_flight(), subject.rate_and_mean())
    else {
        return Err(match subject.rate_per_s() {
            None if subject.row.latency.mean.is_some() => no_rate(subject),
            _ => "a rate, or requests and --duration, and a mean latency",
        });
    };
    let rest = subject.rig.think_s.map_or(0.0, |think| per_s * think);
    let tail = subject.tail_s().unwrap_or(0.0);
    let window = subject.length.seconds.unwrap_or(DURATION_S_MIN);
    let limit = LITTLE_SHARE.max(2.0 * tail / window);
    let short = (least - rest - in_flight.high()) / least;
    // The last answers may have come when nothing was sent any more.
    let over = (in_flight.low() * sending_share(subject) + rest - most) / most;
    // Requests that went on after the end have a finding of their own.
    let is_longer = subject
        .longest()
        .is_some_and(|(_, max)| subject.length.seconds.is_some_and(|s| max.low() / 1e9 > s));
    let law = format!(
        "{} x {} = {} requests in flight",
        rate(per_s),
        time(mean_s),
        amount(in_flight.value)
    );
    if short > limit && subject.row.load.rests && subject.rig.think_s.is_none() {
        return Err("how long a client rests between two requests, as its script says (--think)");
    }
    if short > limit {
        return too_few(subject, &law, short, limit, least);
    }
    if subject.row.latency.corrected {
        // What the tool added hides how many too few there were, and too many say nothing.
        return Err("latencies to which the tool has added none (wrk adds some)");
    }
    if over > limit && subject.clients().are_streams_hidden() {
        return Err(STREAMS);
    }
    if over > limit && !is_longer {
        let text = format!(
            "{law}, more than {} clients can have: rate, latency, clients and duration do not \
             belong together",
            amount(most)
        );
        return found(Code::Little, over, limit, text);
    }
    // Not even clients that all rested would be too few.
    if limit >= 1.0 && over <= limit {
        return Err(LONG);
    }
    Ok(Outcome::Passed)
}

/// What part of the time until the last request had ended was spent sending.
fn sending_share(subject: &Subject<'_>) -> f64 {
    let of = |within_s: f64| Some(subject.length.seconds? / within_s);
    let within_s = subject.row.counts.ended_within_s;
    within_s.and_then(of).unwrap_or(1.0)
}

/// Too few in flight. The generator may have kept the clients from sending. Or the server's answers
/// never came: tools leave out what they broke off, and to some it is no error where the server
/// closes a connection.
fn too_few(subject: &Subject<'_>, law: &str, short: f64, limit: f64, clients: f64) -> Ruled {
    if are_waits_unknown(subject, short - limit, clients) {
        return Err(TIMED);
    }
    let untimed = if subject.row.counts.untimed > 0.0 {
        "; requests without an answer in time have no latency here"
    } else {
        ""
    };
    let text = format!(
        "{law}, of {} clients: for at least {} of their time they waited for no answer that is \
         counted: the generator was late, connected, rested or kept a rate (--rate), or the server \
         broke connections off or had not answered by the end{untimed}",
        amount(clients),
        percent(short)
    );
    found(Code::Little, short, limit, text)
}

/// Whether requests that have no latency may have kept so many more clients waiting: each of them
/// one client, for the whole run. Where they are many, more wait at the end, which no count holds.
fn are_waits_unknown(subject: &Subject<'_>, share: f64, clients: f64) -> bool {
    let untimed = subject.row.counts.untimed;
    let are_many = subject
        .ended
        .requests
        .is_some_and(|ended| untimed > ERROR_SHARE_APART * ended);
    are_many || untimed / clients >= share && untimed > 0.0
}

/// What is missing where nothing says which rate was asked for, or that none was.
fn no_planned(subject: &Subject<'_>) -> &'static str {
    let load = &subject.row.load;
    if load.scheduled && load.clients.is_none() {
        RATE_OR_NONE
    } else {
        RATE
    }
}

/// R7: what was due and not sent is missing from every figure.
pub(super) fn schedule_kept(subject: &Subject<'_>) -> Ruled {
    let unsent = subject.row.load.unsent.filter(|unsent| *unsent > 0.0);
    if let (Some(unsent), Some(ended)) = (unsent, subject.ended.requests) {
        let share = ended / (ended + unsent);
        if share < STARTED_SHARE {
            let text = format!(
                "{} requests that were due were not sent: {} of the schedule was kept",
                amount(unsent),
                percent(share)
            );
            return found(Code::ScheduleKept, share, STARTED_SHARE, text);
        }
    }
    let Some(planned) = subject.planned_per_s() else {
        // A closed loop has no schedule.
        let is_closed = subject.clients().count.is_some() || subject.is_without_rate();
        return if !is_closed || subject.is_scheduled() {
            Err(no_planned(subject))
        } else {
            Ok(Outcome::Passed)
        };
    };
    let sent = subject.rate_per_s().ok_or_else(|| no_rate(subject))?;
    let share = sent / planned;
    if share >= STARTED_SHARE {
        return Ok(Outcome::Passed);
    }
    let text = format!(
        "the generator was asked for {} and sent {}: what it did not send is in no latency",
        rate(planned),
        rate(sent)
    );
    found(Code::ScheduleKept, share, STARTED_SHARE, text)
}

/// R10: near what the generator can do against a null server, its own limit was measured.
pub(super) fn ceiling(subject: &Subject<'_>) -> Ruled {
    let ceiling = subject.rig.ceiling_per_s.filter(|rate| *rate > 0.0);
    let ceiling = ceiling.ok_or("what the generator reaches against a null server (--ceiling)")?;
    // Where only right answers are known, at least these were sent.
    let sent = subject.rate_per_s().or_else(|| subject.ok_per_s());
    let sent = sent.ok_or_else(|| no_rate(subject))?;
    let share = sent / ceiling;
    if share <= CEILING_SHARE {
        return match subject.rate_per_s() {
            Some(_) => Ok(Outcome::Passed),
            None => Err(no_rate(subject)),
        };
    }
    let text = format!(
        "{} is {} of the {} that the generator reaches against a null server: at least that much, \
         and it may be more",
        rate(sent),
        percent(share),
        rate(ceiling)
    );
    found(Code::GeneratorCeiling, share, CEILING_SHARE, text)
}

/// R13: a busy generator's delays are in the latencies.
pub(super) fn engine_busy(subject: &Subject<'_>) -> Ruled {
    let busy = subject.row.load.client_cpus;
    let busy = busy.ok_or("the generator's CPU use (a column)")?;
    let cores = subject.rig.client_cores.filter(|cores| *cores > 0.0);
    let cores = cores.ok_or("the generator's processors (--client-cores)")?;
    let share = busy / cores;
    if share <= ENGINE_BUSY_SUSPECT {
        return Ok(Outcome::Passed);
    }
    let text = format!(
        "the generator used {} of its {} processors: its own delays are in the latencies",
        amount(busy),
        amount(cores)
    );
    found(Code::EngineBusy, share, ENGINE_BUSY_SUSPECT, text)
}

/// R33: nothing uses more processors than there are.
pub(super) fn impossible_cpu(subject: &Subject<'_>) -> Ruled {
    let load = &subject.row.load;
    let used = [
        (load.server_cpus, subject.rig.cores, "the server"),
        (load.client_cpus, subject.rig.client_cores, "the generator"),
    ];
    if used.iter().all(|(used, ..)| used.is_none()) {
        return Err("CPU use of server or generator (a column)");
    }
    for (used, cores, who) in used {
        let Some(used) = used else {
            continue;
        };
        let cores = cores.filter(|cores| *cores > 0.0);
        let cores = cores.ok_or("the processors (--cores, --client-cores)")?;
        // Readings a little apart from the window are no miracle.
        let limit = 1.0 + LITTLE_SHARE;
        if used / cores > limit {
            let text = format!(
                "{who} used {} processors and had {}",
                amount(used),
                amount(cores)
            );
            return found(Code::ImpossibleCpu, used / cores, limit, text);
        }
    }
    Ok(Outcome::Passed)
}
