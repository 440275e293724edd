//! Rules on bytes: of the link, and of the answers.

use super::{Outcome, Ruled, found, no_rate_of_any};
use crate::figures::count;
use crate::limits::{BODY_SENT_SHARE, LINK_ROOM_SHARE};
use crate::published::code::Code;
use crate::published::derived::Subject;
use crate::published::length::runs;
use crate::published::sentence::{bits, percent, rate};

const LINK: &str = "what the link carries (--link)";
const BODY: &str = "the size of the right answers (--body)";

/// R34: a full link sets the rate, whoever serves.
pub(super) fn network_bound(subject: &Subject<'_>) -> Ruled {
    let link = subject.rig.link_bits_per_s.ok_or(LINK)?;
    let Some(share) = subject.link_share() else {
        return Err(match subject.body_bytes() {
            Some(_) => no_rate_of_any(subject),
            None => BODY,
        });
    };
    if share < LINK_ROOM_SHARE {
        return Ok(Outcome::Passed);
    }
    let is_read = subject.moved().is_some_and(|moved| moved.is_read);
    let from = match (subject.answered_per_s(), subject.body_bytes()) {
        (Some(right), Some(body)) if !is_read => format!(
            "{} right answers x {} bytes =",
            rate(right),
            count(body.round() as u64)
        ),
        _ => "the tool read".to_owned(),
    };
    let text = format!(
        "{from} {}, {} of the link's {}",
        bits(share * link),
        percent(share),
        bits(link)
    );
    found(Code::NetworkBound, share, LINK_ROOM_SHARE, text)
}

/// R32: bytes are the sum of the answers, and fit through the link.
pub(super) fn impossible_bytes(subject: &Subject<'_>) -> Ruled {
    let link = subject.link_share().zip(subject.rig.link_bits_per_s);
    if let Some((share, link)) = link.filter(|(share, _)| *share > 1.0) {
        let of = if subject.moved().is_some_and(|moved| moved.is_read) {
            "read"
        } else {
            "of answers"
        };
        let text = format!(
            "{} {of} through a link of {}: size, rate or duration is wrong",
            bits(share * link),
            bits(link)
        );
        return found(Code::ImpossibleBytes, share, 1.0, text);
    }
    let transfer = &subject.row.transfer;
    // Without bytes that were read, there is nothing to hold against the answers but the link.
    if transfer.read_bytes.or(transfer.read_bytes_per_s).is_none() {
        return match link {
            Some(_) => Ok(Outcome::Passed),
            None => Err("bytes that were read, or what the link carries (--link)"),
        };
    }
    let body = subject.body_bytes().ok_or(BODY)?;
    let (read, right, per_s) = read_and_right(subject).ok_or_else(|| no_rate_of_any(subject))?;
    let needed = right * body;
    if needed == 0.0 || read / needed >= BODY_SENT_SHARE {
        return Ok(Outcome::Passed);
    }
    let text = format!(
        "{} bytes{per_s} were read, and the right answers hold {}: they were compressed, cut \
         short, or other answers",
        count(read.round() as u64),
        count(needed.round() as u64)
    );
    found(Code::ImpossibleBytes, read / needed, BODY_SENT_SHARE, text)
}

/// Bytes that were read, at most, and right answers, both in all or both a second.
fn read_and_right(subject: &Subject<'_>) -> Option<(f64, f64, &'static str)> {
    let transfer = &subject.row.transfer;
    let in_all = || {
        let read = transfer.read_bytes_most.or(transfer.read_bytes)?;
        let right = subject.ended.requests? * (1.0 - subject.failed_share().unwrap_or(0.0));
        // Where runs are summed up, the bytes may be those of one.
        Some((read, right / runs(subject.row), ""))
    };
    let per_s = || {
        let read = transfer.read_bytes_per_s_most;
        let read = read.or(transfer.read_bytes_per_s)?;
        Some((read, subject.answered_per_s()?, " a second"))
    };
    in_all().or_else(per_s)
}
