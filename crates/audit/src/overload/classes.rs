//! Classes of a step, with the figures that each depends on.

use super::before::{Before, median_p50_ns};
use super::goodput::{CARRIED, collapse};
use super::pace::{Pace, pace};
use super::series::{Kind, SHARE, Series, Step};
use super::unsaid::Unsaid;
use super::{OverloadClass, OverloadFound, ends};
use crate::figures::{milliseconds, percent, seconds};
use crate::limits::send_lag_allowed_ns;

/// Time without any answer from which a server stalls, seconds (R38).
const STALL_S: f64 = 2.0;
/// The classes of the steps that show what the server does with too much, in their order.
pub(super) fn of_steps(series: &Series, before: &Before) -> Vec<OverloadFound> {
    let steps = before.steps_beyond(series);
    steps
        .filter(|(_, step)| step.is_measured())
        .flat_map(|step| of_step(series, step, before))
        .collect()
}

fn of_step(series: &Series, (index, step): (usize, &Step), before: &Before) -> Vec<OverloadFound> {
    // Below the capacity only the number of requests at a time differs from the closed loop's.
    let of = match series.closed_loop.filter(|_| index == 0) {
        Some(shown) => format!(" that {} requests at a time showed", shown.at_a_time),
        None => String::new(),
    };
    let at = format!("at {} of the capacity{of}", percent(step.share));
    let mut found = Vec::new();
    let mut add = |class, evidence: String| {
        found.push(OverloadFound {
            class,
            step: index,
            evidence: format!("{evidence} {at}"),
        });
    };
    let lost = ends::lost_at_its_end(series, step);
    let share_of = |kind| {
        let failed = step.failed.of(kind).saturating_sub(lost.of(kind));
        failed as f64 / step.due.max(1) as f64
    };
    let share = |kind| percent(share_of(kind));
    let has = |kind| share_of(kind) >= SHARE;
    if has(Kind::Refused) {
        add(
            OverloadClass::Refuse,
            format!(
                "{} of the requests were refused a connection",
                share(Kind::Refused)
            ),
        );
    }
    if has(Kind::Reset) {
        add(
            OverloadClass::Reset,
            format!(
                "{} had their connection closed before an answer",
                share(Kind::Reset)
            ),
        );
    }
    let pace = pace(step, before);
    if let Pace::Quick(took_ns) = pace
        && has(Kind::Busy)
    {
        let took = milliseconds(took_ns);
        let busy = share(Kind::Busy);
        add(
            OverloadClass::Shed,
            format!("{busy} were answered 429 or 5xx, half of them within {took}"),
        );
    }
    // What rests on latency and goodput may be the load engine's.
    if step.is_engine_busy() {
        return found;
    }
    if has(Kind::Dropped) {
        add(OverloadClass::Drop, dropped(series, &share(Kind::Dropped)));
    }
    if let Some(evidence) = queue(series, step, before, pace) {
        add(OverloadClass::Queue, evidence);
    }
    if let Some(evidence) = collapse(series, step) {
        add(OverloadClass::Collapse, evidence);
    }
    found
}

fn dropped(series: &Series, share: &str) -> String {
    let overflows = series.listen_overflows.filter(|count| *count > 0);
    let overflows = overflows.map_or(String::new(), |count| {
        format!(" (accept queues of this machine overflowed {count} times)")
    });
    let patience = seconds(series.patience_s);
    format!("{share} had no connection in {patience}{overflows}")
}

/// Answers take longer, or come too late, while others still come.
fn queue(series: &Series, step: &Step, before: &Before, pace: Pace) -> Option<String> {
    // A client that was sent away rests, and may be why none is left to send.
    let sent_away = step.share_of(Kind::Refused) + step.share_of(Kind::Reset) >= SHARE;
    let unsent = if sent_away {
        0.0
    } else {
        step.share_of(Kind::Unsent)
    };
    let late = step.share_of(Kind::Timeout) + unsent;
    // An error that comes as late as an answer has waited like one.
    let late_errors = match pace {
        Pace::Late => step.share_of(Kind::Busy),
        Pace::Quick(_) | Pace::Unknown => 0.0,
    };
    let answers = step.ok_per_s.unwrap_or(0.0) > 0.0 || late_errors >= SHARE;
    if !answers {
        return None;
    }
    let parts = series.parts_of(step);
    let p50_ns = median_p50_ns(&parts[parts.len() / 2..]);
    let is_slow = p50_ns.is_some_and(|p50| p50 >= before.slow_ns());
    if !is_slow && late + late_errors < SHARE {
        return None;
    }
    let took = p50_ns.map_or("nothing was answered in time".to_owned(), |p50| {
        format!(
            "half of the answers took {} or more, after {}",
            milliseconds(p50),
            before.text()
        )
    });
    let gave_up = if late >= SHARE {
        format!(
            ", and {} of the clients gave up after {}",
            percent(late),
            seconds(series.patience_s)
        )
    } else {
        String::new()
    };
    Some(format!("{took}{gave_up}"))
}

/// The longest time without any answer, where requests waited; before the server ended.
pub(super) fn stall(series: &Series) -> Option<OverloadFound> {
    let from = series.steps.get(1)?.start_s;
    let (mut longest, mut now) = ((0.0, 0.0), (0.0, 0.0));
    let gone = ends::gone_from(series).unwrap_or(series.parts.len());
    let parts = series.parts[..gone].iter();
    for part in parts.filter(|part| part.start_s >= from - 1e-6) {
        let answered = part.ok + part.failed.of(Kind::Busy) + part.failed.of(Kind::Wrong);
        let sent_away = part.failed.of(Kind::Refused) + part.failed.of(Kind::Reset);
        let waits = part.due > 0 && sent_away * 2 < part.due;
        // In a short part at a low rate often nothing is due: that is no answer either.
        let is_idle = part.due == 0 && sent_away == 0;
        now = match (answered == 0 && (waits || is_idle), now) {
            (false, _) => (0.0, 0.0),
            (true, (_, 0.0)) if is_idle => (0.0, 0.0),
            (true, (_, 0.0)) => (part.start_s, part.length_s),
            (true, (start, length)) => (start, length + part.length_s),
        };
        // A stretch ends where requests were due last.
        if waits && now.1 > longest.1 {
            longest = now;
        }
    }
    let (start_s, length_s) = longest;
    let step = series
        .steps
        .iter()
        .rposition(|step| step.start_s <= start_s + 1e-6)?;
    (length_s >= STALL_S - 1e-6 && !series.steps[step].is_engine_busy()).then(|| OverloadFound {
        class: OverloadClass::Stall,
        step,
        evidence: format!("no answer came in time for {length_s:.1} s from {start_s:.1} s on"),
    })
}

/// What cannot be said of a trial, and why.
pub(super) fn unsaid(series: &Series, before: Option<&Before>) -> Vec<Unsaid> {
    let share = || series.steps.first().map_or(0.0, |step| step.share);
    let no_class = before.is_none().then(|| Unsaid::NoClass(share()));
    let busy = series.steps.iter().filter(|step| step.is_engine_busy());
    let busy = busy.map(|step| (step.share, step.engine_busy.unwrap_or(0.0)));
    let busy = Some(busy.collect()).filter(|busy: &Vec<_>| !busy.is_empty());
    let slip = series.slip_p99_ns.map(|slip| slip as f64);
    let late = slip.filter(|slip| *slip > send_lag_allowed_ns(series.p99_ns));
    let local = series.steps.iter().map(|step| step.failed.of(Kind::Local));
    let local = Some(local.sum()).filter(|local| *local > 0);
    let all = [
        no_class,
        busy.map(Unsaid::EngineBusy),
        late.map(Unsaid::Late),
        local.map(Unsaid::Local),
    ];
    all.into_iter().flatten().collect()
}

/// Why there is no class, where many answers were wrong: a status or a body that no class is of.
pub(super) fn wrong_answers(series: &Series) -> Option<Unsaid> {
    let share = |step: &Step| step.failed.of(Kind::Wrong) as f64 / step.due.max(1) as f64;
    let measured = series.steps.iter().filter(|step| step.is_measured());
    let worst = measured.max_by(|one, other| share(one).total_cmp(&share(other)))?;
    (share(worst) >= SHARE).then(|| Unsaid::Wrong(worst.share, share(worst)))
}

/// Why there is no class at all, where the server was never asked for too much.
pub(super) fn never_beyond(series: &Series) -> Option<Unsaid> {
    let most = series.steps.iter().filter(|step| step.is_measured());
    let most = most.max_by(|one, other| one.rate_per_s.total_cmp(&other.rate_per_s))?;
    let ok_per_s = most
        .ok_per_s
        .filter(|ok| *ok >= CARRIED * most.rate_per_s)?;
    Some(Unsaid::Carried(ok_per_s, most.share))
}
