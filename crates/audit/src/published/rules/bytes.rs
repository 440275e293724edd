//! Rules on bytes: of the link, and of the answers.

use super::{Outcome, found};
use crate::limits::{BODY_SENT_SHARE, LINK_ROOM_SHARE};
use crate::published::code::Code;
use crate::published::derived::Subject;
use crate::published::sentence::{bits, percent, rate};
use crate::words::count;

const LINK: &str = "what the link carries (--link)";
const BODY: &str = "the size of the right answers (--body)";

/// R34: a full link sets the rate, whoever serves.
pub(super) fn network_bound(subject: &Subject<'_>) -> Outcome {
    let Some(link) = subject.rig.link_bits_per_s else {
        return Outcome::Missing(LINK);
    };
    let Some(share) = subject.link_share() else {
        return Outcome::Missing(BODY);
    };
    if share < LINK_ROOM_SHARE {
        return Outcome::Passed;
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
pub(super) fn impossible_bytes(subject: &Subject<'_>) -> Outcome {
    let link = subject.link_share().zip(subject.rig.link_bits_per_s);
    if let Some((share, link)) = link.filter(|(share, _)| *share > 1.0) {
        let of = match subject.moved().is_some_and(|moved| moved.is_read) {
            true => "read",
            false => "of answers",
        };
        let text = format!(
            "{} {of} through a link of {}: size, rate or duration is wrong",
            bits(share * link),
            bits(link)
        );
        return found(Code::ImpossibleBytes, share, 1.0, text);
    }
    let transfer = &subject.row.transfer;
    let by_rate = || Some(transfer.read_bytes_per_s? * subject.duration_s?);
    // Without a count of bytes there is nothing to hold against the answers, but the link.
    let Some(read) = transfer.read_bytes.or_else(by_rate) else {
        return match link {
            Some(_) => Outcome::Passed,
            None => Outcome::Missing("bytes that were read, or what the link carries (--link)"),
        };
    };
    let Some(body) = subject.body_bytes() else {
        return Outcome::Missing(BODY);
    };
    let (Some(right), Some(seconds)) = (subject.answered_per_s(), subject.duration_s) else {
        return Outcome::Missing("a rate, or requests and --duration");
    };
    let needed = right * seconds * body;
    if needed == 0.0 || read / needed >= BODY_SENT_SHARE {
        return Outcome::Passed;
    }
    let text = format!(
        "{} bytes were read, and the right answers hold {}: they were compressed, cut short, or \
         other answers",
        count(read.round() as u64),
        count(needed.round() as u64)
    );
    found(Code::ImpossibleBytes, read / needed, BODY_SENT_SHARE, text)
}
