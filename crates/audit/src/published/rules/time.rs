//! Rules on lengths of time: of the measurement, of requests, of their quantiles.

use bakeoff_published::{Figure, Quantile};

use super::{Outcome, Ruled, found};
use crate::limits::{BEYOND_QUANTILE, DURATION_S_MIN, LITTLE_SHARE, SET_UP_SHARE};
use crate::published::Finding;
use crate::published::code::Code;
use crate::published::derived::Subject;
use crate::published::sentence::{amount, percent, quantile, time};

const DURATION: &str = "the length of the measurement (--duration)";
/// What binary fractions may make of an equality.
const HAIR: f64 = 1e-9;
/// Quantiles from this one on are longer than the mean, unless all requests are alike.
const TAIL: f64 = 0.99;
/// Figures of fewer steps are too coarse to be compared.
const STEPS_LEAST: f64 = 10.0;

/// Share of the requests beyond a quantile by which tools that estimate it are off.
const RANK_SHARE: f64 = 0.02;

/// R24: a course of a second a part takes ten parts to be seen.
pub(super) fn duration_short(subject: &Subject<'_>) -> Ruled {
    let seconds = subject.length.seconds.ok_or(DURATION)?;
    // A tool that is asked for 10 s stops a little before or after.
    if seconds.round() >= DURATION_S_MIN {
        return Ok(Outcome::Passed);
    }
    let text = format!(
        "measured for {}: too short to know whether the rate was steady",
        time(seconds)
    );
    found(Code::DurationShort, seconds, DURATION_S_MIN, text)
}

/// R5: a request that is longer than the run ended after it, and the rate is over another time.
pub(super) fn longer_than_run(subject: &Subject<'_>) -> Ruled {
    let (name, max) = subject
        .longest()
        .ok_or("the longest latency, or a quantile")?;
    let seconds = subject.length.seconds.ok_or(DURATION)?;
    let longest = max.value / 1e9;
    if max.low() / 1e9 <= seconds {
        return Ok(Outcome::Passed);
    }
    let all = subject.back_to_back_s();
    let all = all.filter(|needed| *needed > seconds * (1.0 + LITTLE_SHARE));
    let all = all.map_or(String::new(), |needed| {
        format!("; together the requests take the clients {}", time(needed))
    });
    let took = match subject.row.latency.max {
        Some(_) => "took",
        None => "is",
    };
    let text = format!(
        "{name} {took} {} in a run of {}: the rate is over another time{all}",
        time(longest),
        time(seconds)
    );
    found(Code::LongerThanRun, longest, seconds, text)
}

/// R24: handshakes are no answers.
pub(super) fn set_up_counted(subject: &Subject<'_>) -> Ruled {
    let connect_ns = subject
        .row
        .load
        .connect_ns
        .ok_or("how long clients took to connect, which only h2load prints")?;
    let seconds = subject.length.seconds.ok_or(DURATION)?;
    let share = connect_ns / 1e9 / seconds;
    if share <= SET_UP_SHARE {
        return Ok(Outcome::Passed);
    }
    let text = format!(
        "clients took {} on average to connect, {} of the measured {}",
        time(connect_ns / 1e9),
        percent(share),
        time(seconds)
    );
    found(Code::SetUpCounted, share, SET_UP_SHARE, text)
}

/// R22: a tail of a handful says nothing about the next run.
pub(super) fn quantile_unsupported(subject: &Subject<'_>) -> Ruled {
    let above = |share: &f64| *share > 0.5;
    let shares = subject.row.latency.quantiles.iter().map(|one| one.share);
    let highest = shares.filter(above).reduce(f64::max);
    let highest = highest.ok_or("a quantile above the median")?;
    let timed = subject.timed();
    let timed = timed.ok_or("requests, or a rate and --duration")?;
    let beyond = |share: f64| timed * (1.0 - share);
    // What is exactly ten in decimals may be a hair less in binary.
    let is_thin = |share: f64| beyond(share) < BEYOND_QUANTILE - 1e-6;
    if !is_thin(highest) {
        return Ok(Outcome::Passed);
    }
    let all = subject.row.latency.quantiles.iter().map(|one| one.share);
    let thin: Vec<String> = all
        .filter(|share| above(share) && is_thin(*share))
        .map(quantile)
        .collect();
    let text = format!(
        "{} of {} requests: {} lie beyond {}",
        thin.join(" and "),
        amount(timed),
        amount(beyond(highest)),
        quantile(highest)
    );
    let finding = Finding {
        code: Code::QuantileUnsupported,
        value: beyond(highest),
        limit: BEYOND_QUANTILE,
        text,
    };
    // What a tool prints of every run, nobody chose to rely on.
    if subject.row.latency.is_set_of_tool {
        Ok(Outcome::Noted(finding))
    } else {
        Ok(Outcome::Found(finding))
    }
}

/// Latencies rise with their share; if they do not, columns or units are mixed up.
pub(super) fn quantile_order(subject: &Subject<'_>) -> Ruled {
    let latency = &subject.row.latency;
    let mut rising: Vec<(String, Figure)> = Vec::new();
    rising.extend(latency.min.map(|min| ("the shortest".to_owned(), min)));
    let quantiles = latency.quantiles.iter();
    rising.extend(quantiles.map(|one| (quantile(one.share), one.value)));
    rising.extend(latency.max.map(|max| ("the longest".to_owned(), max)));
    let is_alone = rising.len() + usize::from(latency.mean.is_some()) < 2;
    if is_alone {
        return Err("more than one latency");
    }
    let falls = |pair: &&[(String, Figure)]| pair[0].1.low() > pair[1].1.high();
    if let Some([(low, less), (high, more)]) = rising.windows(2).find(falls) {
        let text = format!(
            "{low}, {}, is longer than {high}, {}",
            time(less.value / 1e9),
            time(more.value / 1e9)
        );
        return found(
            Code::QuantileOrder,
            less.value / 1e9,
            more.value / 1e9,
            text,
        );
    }
    against_mean(subject)
}

/// The mean lies between the shortest and the longest, and is no less than what the requests beyond
/// a quantile alone make of it: a hundredth of p99.
fn against_mean(subject: &Subject<'_>) -> Ruled {
    let latency = &subject.row.latency;
    let contradicts = |mean: Figure, how: &str, of: &str, other: f64, limit: f64| {
        let mean_s = mean.value / 1e9;
        let text = format!("the mean, {}, is {how} {of}, {}", time(mean_s), time(other));
        found(Code::QuantileOrder, mean_s, limit, text)
    };
    if let (Some(mean), Some(max)) = (latency.mean, latency.max)
        && mean.low() > max.high()
    {
        let max = max.value / 1e9;
        return contradicts(mean, "longer than", "the longest", max, max);
    }
    let Some(mean) = subject.plain_mean() else {
        return Ok(Outcome::Passed);
    };
    if let Some(min) = latency.min.filter(|min| mean.high() < min.low()) {
        let min = min.value / 1e9;
        return contradicts(mean, "shorter than", "the shortest", min, min);
    }
    let is_too_long =
        |one: &&Quantile| mean.high() < (1.0 - one.share) * one.value.low() * (1.0 - HAIR);
    if let Some(one) = latency.quantiles.iter().rfind(is_too_long) {
        let (name, value) = (quantile(one.share), one.value.value / 1e9);
        let least = (1.0 - one.share) * value;
        return contradicts(mean, "too short for", &name, value, least);
    }
    if let Some(copy) = latency
        .quantiles
        .iter()
        .find(|one| is_copy(mean, one, subject))
    {
        let (name, value) = (quantile(copy.share), mean.value / 1e9);
        let text = format!(
            "the mean and {name} are both {}: one is a copy of the other, or next to all requests \
             took as long",
            time(value)
        );
        return found(Code::QuantileOrder, value, value, text);
    }
    if let Some(most) = mean_most(subject).filter(|most| mean.low() > *most) {
        let (mean_s, most_s) = (mean.value / 1e9, most / 1e9);
        let text = format!(
            "the mean, {}, is longer than the quantiles and the longest allow, {}",
            time(mean_s),
            time(most_s)
        );
        return found(Code::QuantileOrder, mean_s, most_s, text);
    }
    Ok(Outcome::Passed)
}

/// Whether a high quantile is the mean to the last of two digits or more. That is so where all
/// requests took as long, and then a lower quantile or the longest are the same too.
fn is_copy(mean: Figure, one: &Quantile, subject: &Subject<'_>) -> bool {
    let latency = &subject.row.latency;
    let is_mean = |other: Figure| (other.value - mean.value).abs() <= HAIR * mean.value;
    let lower = latency
        .quantiles
        .iter()
        .find(|other| other.share < one.share);
    let others = [lower.map(|other| other.value), latency.min, latency.max];
    let is_exact = mean.step * STEPS_LEAST <= mean.value && mean.value > 0.0;
    one.share >= TAIL
        && is_exact
        && is_mean(one.value)
        && !others.into_iter().flatten().any(is_mean)
}

/// The longest mean that the quantiles allow, ns: that of requests which all took as long as the
/// next quantile above them, or the longest.
fn mean_most(subject: &Subject<'_>) -> Option<f64> {
    let latency = &subject.row.latency;
    let max = latency.max?.high();
    let highest = latency.quantiles.last().map_or(0.0, |one| one.share);
    // Nobody publishes a quantile without a request beyond it.
    let requests = subject.timed().filter(|timed| *timed >= 1.0);
    let one_request = requests.map_or(1.0 - highest, |requests| 1.0 / requests);
    let above = latency.quantiles.iter().skip(1).map(|one| one.value.high());
    let above = above.chain([max]);
    let mut most = latency
        .quantiles
        .first()
        .map_or(max, |one| one.value.high());
    for (one, next) in latency.quantiles.iter().zip(above) {
        // Tools take one request or the next for a quantile, and some estimate it.
        let beyond = (1.0 - one.share) * (1.0 + RANK_SHARE) + one_request;
        most += beyond.min(1.0) * (next - one.value.high()).max(0.0);
    }
    Some(most * (1.0 + LITTLE_SHARE))
}
