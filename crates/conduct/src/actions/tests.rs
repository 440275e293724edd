//! Notes of invented windows, and what clients noticed of the actions in them.

use super::*;

const MS: u64 = 1_000_000;

/// Two reloads, 2 s apart: at 1 s and at 3 s.
fn actions() -> Actions {
    Actions {
        action: Action::Reload,
        times: 2,
        every: Duration::from_secs(2),
        kept: 0.8,
    }
}

fn carried(at_ms: i64) -> Carried {
    Carried {
        at_ns: at_ms * 1_000_000,
        took: Duration::from_millis(2),
        failed: None,
        taken_up: None,
        said: None,
    }
}

/// A request due, sent and ended then, milliseconds from the window's start.
fn request(due: u64, sent: Option<u64>, done: u64, is_first: bool, outcome: Outcome) -> Logged {
    Logged {
        exchange: 0,
        done_ns: done * MS,
        latency_ns: (done - due) * MS,
        service_ns: sent.map(|sent| (done - sent) * MS),
        first_byte_ns: None,
        is_first,
        outcome,
        status: None,
        body_bytes: 0,
    }
}

fn ok(due: u64, done: u64) -> Logged {
    request(due, Some(due), done, false, Outcome::Ok)
}

/// What is noticed of the actions where the first began at 1,000 ms and the second at 3,000.
fn check(requests: Vec<Logged>, closed_ms: &[u64]) -> [ActionDone; 2] {
    let noted = Noted {
        requests,
        closed_ns: closed_ms.iter().map(|at| at * MS).collect(),
    };
    let done = reduce(&actions(), &[carried(1_000), carried(3_000)], &noted);
    done.try_into().expect("two actions")
}

#[test]
fn what_a_server_says_of_a_failure_is_kept() {
    let said = |before, now| of_failure(before, now);
    let old = "a [error] 1\nb";
    assert_eq!(said("", old).as_deref(), Some("a [error] 1"));
    assert_eq!(said(old, old), None);
    assert_eq!(
        said(old, "a [error] 1\nb\nc: bind() FAILED\nd"),
        Some("c: bind() FAILED".into())
    );
    assert_eq!(
        said("", &"fail".repeat(1_000)).map(|it| it.len()),
        Some(LINE_MAX)
    );
}

#[test]
fn a_lost_request_is_counted_where_it_was() {
    let lost = |due, sent, done, is_first| request(due, sent, done, is_first, Outcome::Reset);
    let requests = vec![
        lost(900, Some(900), 950, false),
        lost(950, Some(950), 1_010, false),
        lost(955, Some(955), 1_010, false),
        // Due before the action, and sent after it.
        lost(990, Some(1_001), 1_011, false),
        lost(1_020, Some(1_020), 1_021, true),
        lost(1_030, None, 1_040, false),
        request(1_050, Some(1_050), 1_900, false, Outcome::Timeout),
        lost(2_000, Some(2_000), 2_001, false),
    ];
    let [one, other] = check(requests, &[]);
    let found: Vec<_> = one
        .lost
        .iter()
        .map(|it| (it.at, it.outcome, it.requests))
        .collect();
    let expected = [
        (LostAt::Before, Outcome::Reset, 1),
        (LostAt::InFlight, Outcome::Reset, 2),
        (LostAt::Kept, Outcome::Timeout, 1),
        (LostAt::Kept, Outcome::Reset, 1),
        (LostAt::New, Outcome::Reset, 2),
    ];
    let mut expected = expected.to_vec();
    expected.sort_by_key(|it| (it.0, it.1));
    assert_eq!(found, expected);
    assert_eq!((one.due, other.due), (7, 1));
    assert_eq!(other.lost[0].at, LostAt::Before);
    assert_eq!((one.gap, other.gap), (None, None), "there was no answer");
}

#[test]
fn closed_connections_belong_to_the_half_in_which_they_were_closed() {
    let [one, other] = check(
        Vec::new(),
        &[0, 999, 1_000, 1_001, 1_999, 2_000, 3_500, 4_000],
    );
    assert_eq!((one.closed_before, one.closed), (2, 3));
    assert_eq!((other.closed_before, other.closed), (1, 1));
}

#[test]
fn a_gap_ends_or_begins_after_the_action_and_stays_in_the_stretch() {
    // Longer before the action than after it; answered every 10 ms but for 995 to 1,115.
    let answers = (0..400).map(|at| at * 10 + 5);
    let answers = answers.filter(|at| !(300..700).contains(at) && !(996..1_115).contains(at));
    let [one, other] = check(answers.map(|at| ok(at - 4, at)).collect(), &[]);
    let gap = one.gap.unwrap();
    assert!((gap.from_s + 0.005).abs() < 1e-9, "{gap:?}");
    assert!((gap.length_s - 0.12).abs() < 1e-9, "{gap:?}");
    let gap = other.gap.unwrap();
    assert!((gap.length_s - 0.01).abs() < 1e-9, "{gap:?}");
}

#[test]
fn a_server_that_answers_no_more_has_a_gap_to_the_end_of_the_stretch() {
    let [one, other] = check(vec![ok(10, 20), ok(980, 990)], &[]);
    let gap = one.gap.unwrap();
    assert!(
        (gap.from_s + 0.01).abs() < 1e-9 && (gap.length_s - 1.01).abs() < 1e-9,
        "{gap:?}"
    );
    let gap = other.gap.unwrap();
    assert!(
        (gap.length_s - 3.01).abs() < 1e-9,
        "it began before: {gap:?}"
    );
}

#[test]
fn latencies_are_of_a_second_on_either_side() {
    let before = (1..=100).map(|nth| ok(500, 500 + nth));
    let after = [ok(1_000, 1_007), ok(1_999, 2_400), ok(2_000, 2_900)];
    let [one, other] = check(before.chain(after).collect(), &[]);
    assert_eq!(
        (one.before.ok, one.before.p99_ms, one.before.max_ms),
        (100, Some(99.0), Some(100.0))
    );
    assert_eq!((one.after.ok, one.after.max_ms), (2, Some(401.0)));
    assert_eq!((other.before.ok, other.before.max_ms), (1, Some(900.0)));
    assert_eq!(other.after, Latencies::default());
}

#[test]
fn parts_hold_each_request_of_the_stretch_once_by_its_end() {
    let requests = vec![
        ok(980, 989),
        ok(985, 991),
        ok(986, 999),
        ok(995, 1_000),
        request(1_990, Some(1_990), 2_100, false, Outcome::Reset),
        ok(2_001, 2_002),
    ];
    let [one, other] = check(requests, &[]);
    let found: Vec<_> = one
        .parts
        .iter()
        .map(|it| (it.at_ms, it.ended.completed()))
        .collect();
    assert_eq!(found, [(-20, 1), (-10, 2), (0, 1), (1_100, 1)]);
    assert_eq!(other.parts[0].at_ms, -1_000);
}

#[test]
fn only_the_stretches_of_actions_that_began_are_described() {
    let noted = Noted::default();
    assert!(reduce(&actions(), &[], &noted).is_empty());
    let failed = Carried {
        failed: Some("failed to reload".to_owned()),
        ..carried(1_001)
    };
    let done = reduce(&actions(), &[failed], &noted);
    assert_eq!(done.len(), 1);
    assert_eq!((done[0].at_s, done[0].took_s), (1.001, 0.002));
    assert_eq!(done[0].failed.as_deref(), Some("failed to reload"));
}
