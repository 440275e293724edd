//! Laws that counts and times must obey whatever the server does (family F).

use bakeoff_plan::LoadModel;
use bakeoff_record::{Balance, Histogram, LoadResult, ServerCounters};
use bakeoff_stats::Number;

use crate::check::{Check, Level, tier};
use crate::code::Code;
use crate::figures::count;
use crate::limits::{
    COUNTED_SHARE, LITTLE_SHARE, ORIGIN_READ_S, ORIGIN_SHARE, SET_UP_SHARE, STARVED_SHARE_INVALID,
    STARVED_SHARE_SUSPECT,
};
use crate::subject::{COUNTED_ASIDE, Subject};

/// Fewest looks at what is in flight that an average is taken of.
const LOOKS_MIN: usize = 100;
/// The same where it hardly changes, because each client always has a request.
const LOOKS_OF_CLIENTS_MIN: usize = 20;
/// Why counts of a server or an upstream are held against nothing.
const ASKED_ASIDE: &str = "bakeoff also asked which configuration answers";

pub(super) fn check(subject: &Subject<'_>, checks: &mut Vec<Check>) {
    checks.push(counts(subject));
    let load = &subject.result.load;
    match (&load.model, load.requests) {
        // By count clients run out of requests one by one: the law speaks of a steady state.
        (LoadModel::Closed { .. }, Some(_)) => checks.push(set_up(subject)),
        (LoadModel::Closed { clients }, None) => {
            let starved = starved(subject);
            checks.push(little(
                subject,
                f64::from(*clients) * f64::from(load.streams),
                &starved,
            ));
            checks.push(starved);
        }
        _ => checks.extend(little_open(subject)),
    }
    if subject.may_be_proxied() && subject.is_contender() {
        checks.push(origin_asked(subject));
    }
    checks.extend(server_counted(subject));
}

/// Counts that the engine keeps apart must agree: a request that got lost, or was counted twice,
/// shows as a sum that does not hold.
fn counts(subject: &Subject<'_>) -> Check {
    let broken = broken_sums(subject.result);
    if broken.is_empty() {
        let text = "carried in + begun = ended + in flight, started = completed + in flight, \
                    completed = sum of outcomes, one latency for each ok response";
        return Check::passed(Code::CountsAddUp, text);
    }
    let text = format!("counts contradict each other: {}", broken.join("; "));
    Check::new(Code::CountsAddUp, Level::Invalid, text)
}

/// Each sum that does not hold, with its figures.
fn broken_sums(result: &LoadResult) -> Vec<String> {
    let requests = &result.requests;
    let mut broken = Vec::new();
    let mut hold = |(left_words, left): (&str, u64), (right_words, right): (&str, u64)| {
        if left != right {
            let (left, right) = (count(left), count(right));
            broken.push(format!("{left} {left_words}, but {right} {right_words}"));
        }
    };
    let outcomes = result.outcomes.completed();
    hold(("completed", requests.completed), ("outcomes", outcomes));
    hold(
        ("started", requests.started),
        (
            "completed or in flight at the end",
            requests.completed + requests.in_flight_at_end,
        ),
    );
    hold(("ok", requests.ok), ("latencies", result.latency.count()));
    if !result.load.model.is_open() {
        hold(
            ("started", requests.started),
            ("carried in or begun", requests.carried_in + requests.begun),
        );
    }
    if !result.balance.holds() {
        broken.push(imbalance(result.balance));
    }
    broken
}

fn imbalance(balance: Balance) -> String {
    let entered = balance.carried_in + balance.begun;
    let left = balance.ended + balance.in_flight;
    let gap = match entered.checked_sub(left) {
        Some(lost) => format!("{} lost", count(lost)),
        None => format!("{} too many", count(left - entered)),
    };
    format!(
        "{} carried in + {} begun is not {} ended + {} in flight: {gap}",
        count(balance.carried_in),
        count(balance.begun),
        count(balance.ended),
        count(balance.in_flight)
    )
}

/// Little's law in a closed loop without think time: `N = X * R + S`, over all requests that ended
/// and the time that connections took instead of carrying one. The next request begins at the end
/// of the one before, so the law holds by itself while clients do nothing else: it finds time that
/// went elsewhere, and requests whose time is in no latency of the window.
fn little(subject: &Subject<'_>, clients: f64, starved: &Check) -> Check {
    let result = subject.result;
    let total_s = seconds(&result.latency) + seconds(&result.error_latency());
    if total_s <= 0.0 || result.measured_s <= 0.0 {
        let text = "no request ended, so there is no time to add up";
        return Check::not_run(Code::Little, text);
    }
    let set_up = &result.observed.set_up;
    let set_up_s = set_up.connecting_s + set_up.handshaking_s + set_up.resting_s;
    let in_flight = total_s / result.measured_s;
    let setting_up = set_up_s / result.measured_s;
    let gap = (in_flight + setting_up - clients) / clients;
    let tail_s = result.latency.quantile(0.99).unwrap_or(0) as f64 / 1e9;
    let limit = LITTLE_SHARE.max(2.0 * tail_s / result.measured_s);
    let who = match result.load.streams {
        1 => "clients",
        _ => "streams",
    };
    let beside = if setting_up >= 0.05 {
        format!(" and {setting_up:.1} connections being set up")
    } else {
        String::new()
    };
    let text = format!(
        "rate x latency = {in_flight:.1} requests in flight{beside} for {clients:.0} {who} \
         ({:+.1} %)",
        gap * 100.0
    );
    let check = if gap.abs() <= limit {
        Check::passed(Code::Little, text)
    } else if gap < 0.0
        && mean_in_flight(result, LOOKS_OF_CLIENTS_MIN)
            .is_some_and(|seen| seen + setting_up >= clients * (1.0 - limit))
    {
        // Only what ended has a latency; all the others were seen in flight.
        let text = format!("{text}: the others waited for answers that did not come in the window");
        Check::note(Code::Little, text)
    } else if gap < 0.0 {
        let text = format!("{text}: the rest of their time went into no request");
        Check::new(Code::ClientTime, Level::Suspect, text)
    } else if starved.level > Level::Note {
        Check::note(
            Code::Little,
            format!("{text}: some waited since before the window"),
        )
    } else {
        let text = format!("{text}: some of it was waited before the window opened");
        let numbers = [
            (Number::Rate, Level::Passed),
            (Number::Latency, Level::Suspect),
        ];
        Check::graded(Code::Little, numbers, text)
    };
    check.figures(gap, limit)
}

/// Requests in flight on average, by the looks at them over the window, if there are enough.
fn mean_in_flight(result: &LoadResult, looks_min: usize) -> Option<f64> {
    let looks = &result.observed.in_flight.counts;
    (looks.len() >= looks_min).then(|| looks.iter().sum::<u64>() as f64 / looks.len() as f64)
}

/// Clients that had no answer in the window, or waited for one for much of it, while others had
/// many: percentiles are of those others.
fn starved(subject: &Subject<'_>) -> Check {
    let clients = &subject.result.observed.clients;
    if clients.count == 0 {
        let text = "how answers were spread over clients is not known";
        return Check::not_run(Code::Starved, text);
    }
    let hungry = (clients.none.max(clients.waiting_long)).min(clients.count);
    let share = hungry as f64 / clients.count as f64;
    let invalid = (Level::Invalid, STARVED_SHARE_INVALID);
    let (level, limit) = tier(share, invalid, (Level::Suspect, STARVED_SHARE_SUSPECT));
    let spread = format!(
        "answers for each client: {} to {}, median {}",
        count(clients.min),
        count(clients.max),
        count(clients.median)
    );
    let text = match level {
        Level::Passed => spread,
        _ => format!(
            "{} of {} clients ({:.0} %) had no answer for a quarter of the window or more; \
             percentiles are of the others ({spread})",
            count(hungry),
            count(clients.count),
            share * 100.0
        ),
    };
    Check::new(Code::Starved, level, text).figures(share, limit)
}

/// Little's law in an open loop: the time of all requests from sending to their end against what
/// was seen in flight every 10 ms. Only the time since they were due is known of requests that
/// failed, so that nothing is said where there are more than a few.
fn little_open(subject: &Subject<'_>) -> Option<Check> {
    let result = subject.result;
    let looks = &result.observed.in_flight.counts;
    let n = looks.len() as f64;
    let seen = mean_in_flight(result, LOOKS_MIN)?;
    if result.requests.due.is_none() || result.measured_s <= 0.0 {
        return None;
    }
    if result.requests.error_share().unwrap_or(1.0) > LITTLE_SHARE / 2.0 {
        return None;
    }
    let total_s = seconds(&result.service);
    let expected = total_s / result.measured_s;
    let apart = looks.iter().map(|look| (*look as f64 - seen).powi(2));
    let spread = (apart.sum::<f64>() / n).sqrt();
    let tail_s = result.latency.quantile(0.99).unwrap_or(0) as f64 / 1e9;
    // Looks that follow each other see the same requests where those take longer than a step.
    let apart_s = (tail_s / result.observed.in_flight.step_s.max(1e-3)).max(1.0);
    let chance = 4.0 * spread * (apart_s / n).sqrt();
    // A thread looks when it wakes up, often for a request that is just sent or answered.
    let of_looking = f64::from(result.threads.max(1));
    let share = LITTLE_SHARE.max(2.0 * tail_s / result.measured_s);
    let limit = (share * expected + chance).max(of_looking);
    let gap = expected - seen;
    let text = format!(
        "rate x latency = {expected:.2} requests in flight, and {seen:.2} were seen on average"
    );
    let check = if gap.abs() <= limit {
        Check::passed(Code::Little, text)
    } else {
        let numbers = [
            (Number::Rate, Level::Passed),
            (Number::Latency, Level::Suspect),
        ];
        Check::graded(
            Code::Little,
            numbers,
            format!("{text}: they contradict each other"),
        )
    };
    Some(check.figures(gap, limit))
}

/// A load by count has no warm-up: its window holds the set-up of its connections, and so does
/// its rate. The comparison of 2020 made 1,000 requests over 150 new connections.
fn set_up(subject: &Subject<'_>) -> Check {
    let result = subject.result;
    let half = |histogram: &Histogram| histogram.quantile(0.5).unwrap_or(0) as f64 / 1e9;
    let set_up_s = half(&result.connect) + half(&result.handshake);
    if result.measured_s <= 0.0 || result.connect.count() + result.handshake.count() == 0 {
        let text = "how long connections took to be set up is not known";
        return Check::not_run(Code::SetUpCounted, text);
    }
    let share = set_up_s / result.measured_s;
    let text = format!(
        "the median of {} connections took {:.1} ms to be set up, {:.1} % of the time in which \
         all requests were made",
        count(result.connections.opened),
        set_up_s * 1e3,
        share * 100.0
    );
    let more = ": the rate is of setting up as much as of serving";
    Check::passed(Code::SetUpCounted, text)
        .worse_if(share > SET_UP_SHARE, Level::Suspect, more)
        .figures(share, SET_UP_SHARE)
}

fn seconds(histogram: &Histogram) -> f64 {
    histogram.mean().unwrap_or(0.0) * histogram.count() as f64 / 1e9
}

/// Whether bakeoff asked in the window which configuration answers.
fn is_asked_aside(subject: &Subject<'_>) -> bool {
    let mut actions = subject.trial.actions.iter();
    actions.any(|one| one.taken_up.is_some())
}

/// A plain proxy asks its upstream once for each request. What was in flight at either edge of the
/// window may be counted on one side only, and so may what came while the upstream's counts were
/// being read: on a full processor it reports them late.
fn origin_asked(subject: &Subject<'_>) -> Check {
    if is_asked_aside(subject) {
        return Check::not_run(Code::OriginAsked, ASKED_ASIDE);
    }
    let Some(origin) = &subject.trial.origin else {
        let text = match subject.proxied {
            None => "the plan does not know the workload, so neither whether an upstream answers",
            Some(_) => "the upstream's requests were not counted",
        };
        return Check::not_run(Code::OriginAsked, text);
    };
    let ok = subject.result.requests.ok as f64;
    let completed = subject.result.requests.completed as f64;
    let asked = origin.requests as f64;
    let load = &subject.result.load;
    let in_flight = f64::from(load.clients()) * f64::from(load.streams);
    let measured_s = subject.result.measured_s;
    // A window without a length has no rate.
    let read_late = if measured_s > 0.0 {
        ORIGIN_READ_S / measured_s * completed
    } else {
        0.0
    };
    let edge = in_flight + read_late;
    let asked_n = count(origin.requests);
    let completed_n = count(subject.result.requests.completed);
    let share = if completed > 0.0 {
        asked / completed
    } else {
        0.0
    };
    let (level, text) = if asked < ok * (1.0 - ORIGIN_SHARE) - edge {
        let text = format!(
            "the upstream was asked for {asked_n} of {completed_n} requests: a cache answers"
        );
        (Level::Suspect, text)
    } else if asked > completed * (1.0 + ORIGIN_SHARE) + edge {
        let text = format!(
            "the upstream was asked {asked_n} times for {completed_n} requests: the proxy retries \
             or checks its health"
        );
        (Level::Suspect, text)
    } else {
        (
            Level::Passed,
            format!("the upstream was asked {asked_n} times for {completed_n} requests"),
        )
    };
    Check::new(Code::OriginAsked, level, text).figures(share, 1.0 - ORIGIN_SHARE)
}

/// About how many requests ended between the readings of the server's counters and not in the
/// window. A server need not be as fast in the warm-up as in the window, so that what ended there
/// is counted where the record holds it.
fn ended_aside(result: &LoadResult, counters: &ServerCounters) -> f64 {
    let (from_s, to_s) = (counters.before.at_s, counters.after.at_s);
    let per_s = result.requests.completed as f64 / result.measured_s;
    let before_s = (-from_s).max(0.0);
    let known = result.warmup.iter().map(|part| {
        let since_s = (part.start_s + part.length_s - from_s).clamp(0.0, part.length_s);
        (part.ok + part.errors) as f64 * since_s / part.length_s.max(1e-9)
    });
    let warmup = known.sum::<f64>();
    let after_s = (to_s - result.measured_s).max(0.0);
    warmup.max(before_s * per_s) + after_s * per_s
}

/// The server's own counts of requests and connections against ours. They are read in the warm-up
/// and after the window closes, so that they may hold more than the window and never less. Most
/// connections are older than the window, so those accepted in it can only be too many: then
/// somebody else connected as well.
fn server_counted(subject: &Subject<'_>) -> Option<Check> {
    let counters = subject.trial.usage.server_counters.as_ref()?;
    if is_asked_aside(subject) {
        return Some(Check::not_run(Code::ServerCounted, ASKED_ASIDE));
    }
    let Some(theirs) = counters.requests() else {
        let text = "the server's own count of requests began anew or is not known";
        return Some(Check::not_run(Code::ServerCounted, text));
    };
    let result = subject.result;
    let load = &result.load;
    let edge = f64::from(load.clients()) * f64::from(load.streams);
    let ours = result.requests.completed as f64;
    let aside = ended_aside(result, counters);
    // Requests that no server answered, such as refused ones, it cannot have counted.
    let seen = result.requests.ok as f64;
    let share = theirs as f64 / ours.max(1.0);
    let text = format!(
        "the server counted {} requests by itself, the engine {}",
        count(theirs),
        count(result.requests.completed)
    );
    let few = (theirs as f64) < seen * (1.0 - COUNTED_SHARE) - edge;
    let many = theirs as f64 > (ours + aside) * (1.0 + COUNTED_SHARE) + edge + COUNTED_ASIDE;
    let attempts = result.connections.opened + result.connections.failed;
    let most = attempts as f64 * (1.0 + COUNTED_SHARE) + COUNTED_ASIDE;
    // A connection of QUIC is more than one to some servers.
    let accepts = counters.accepts().filter(|_| result.quic.is_none());
    let strangers = accepts.filter(|accepts| *accepts as f64 > most);
    let more = match strangers {
        Some(accepts) => format!(
            "; it accepted {} connections, of which the engine made {} at the most: somebody else \
             connected to it",
            count(accepts),
            count(attempts)
        ),
        None => ": they contradict each other".to_owned(),
    };
    let is_wrong = few || many || strangers.is_some();
    let check = Check::passed(Code::ServerCounted, text);
    let check = check.worse_if(is_wrong, Level::Suspect, &more);
    Some(check.figures(share, 1.0 + COUNTED_SHARE))
}
