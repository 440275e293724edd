//! Whether requests waited for a client because of the load engine.
//!
//! An engine on time lets a request wait only while all clients wait for answers. Requests come at
//! random, so they find that as often as it is so: as often as looks do, which come at equal steps
//! (PASTA: Wolff, 1982). An engine that falls behind sends what is due to all its clients at once,
//! and the rest finds none free. The server has answered these long before the next request is
//! sent, and looks find few of them in flight. The engine's slip does not show it: that is known of
//! requests that found a client free.

use bakeoff_record::LoadResult;

use crate::taken::places;

/// Share of the clients in flight from which a look may have found all of them: a thread of the
/// engine has clients of its own, which are taken sooner or later than those of others.
const TAKEN: f64 = 0.5;
/// Looks in which requests should have waited, for the looks to be believed.
const LOOKS_MIN: f64 = 10.0;
/// Share of them that must have found clients taken, for the server to be what was waited for.
const FOUND_MIN: f64 = 0.5;

/// Whether far more requests waited for a client than looks found clients taken. False where that
/// is not known.
pub(crate) fn is_behind(result: &LoadResult) -> bool {
    waits_unseen(result).unwrap_or(false)
}

fn waits_unseen(result: &LoadResult) -> Option<bool> {
    let places = places(&result.load)?;
    // A client that rests after a failure, or whose server allows fewer streams, is not free, and
    // nothing of it is in flight.
    if result.observed.set_up.resting_s > 0.0 || result.blocked.count() > 0 {
        return None;
    }
    let sent = result.send_lag.count();
    let waited = sent.checked_sub(result.schedule.as_ref()?.slip.count())?;
    let looks = &result.observed.in_flight.counts;
    if sent == 0 {
        return None;
    }
    let expected = waited as f64 / sent as f64 * looks.len() as f64;
    let taken = TAKEN * places as f64;
    let found = looks.iter().filter(|look| **look as f64 >= taken).count();
    Some(expected >= LOOKS_MIN && (found as f64) < FOUND_MIN * expected)
}

#[cfg(test)]
mod tests {
    use bakeoff_plan::LoadModel;
    use bakeoff_record::ScheduleKept;

    use super::*;
    use crate::seen::tests::open_load;

    /// 1,000 requests over 100 clients in 100 looks. `waited` of them found no client free, and
    /// `taken` looks found so many in flight.
    fn result(waited: u64, taken: usize, in_flight: u64) -> LoadResult {
        let mut result = LoadResult::empty(open_load(1000.0, 100), 1.0);
        let mut kept = ScheduleKept::default();
        result.send_lag.record_n(1_000_000, 1_000);
        kept.slip.record_n(0, 1_000 - waited);
        kept.wait.record_n(1_000_000, waited);
        result.schedule = Some(kept);
        let looks = &mut result.observed.in_flight.counts;
        *looks = vec![2; 100 - taken];
        looks.extend(vec![in_flight; taken]);
        result
    }

    #[test]
    fn waits_that_looks_do_not_find_are_the_engines() {
        assert!(is_behind(&result(200, 0, 0)));
        assert!(is_behind(&result(200, 9, 100)));
        assert!(
            is_behind(&result(200, 100, 49)),
            "half of the clients are free"
        );
    }

    #[test]
    fn waits_that_looks_find_are_the_servers() {
        assert!(!is_behind(&result(200, 10, 100)));
        assert!(!is_behind(&result(200, 20, 100)));
        assert!(!is_behind(&result(200, 20, 50)), "the clients of a thread");
        assert!(!is_behind(&result(1_000, 100, 100)));
    }

    #[test]
    fn what_too_few_looks_could_find_is_not_held_against_the_engine() {
        assert!(is_behind(&result(100, 0, 0)));
        assert!(!is_behind(&result(99, 0, 0)));
        assert!(!is_behind(&result(0, 0, 0)));
    }

    #[test]
    fn a_client_that_may_not_send_is_not_free() {
        let mut resting = result(200, 0, 0);
        resting.observed.set_up.resting_s = 0.01;
        assert!(!is_behind(&resting));
        let mut blocked = result(200, 0, 0);
        blocked.blocked.record_n(1_000, 1);
        assert!(!is_behind(&blocked));
    }

    #[test]
    fn without_a_schedule_nothing_is_known() {
        let mut old = result(200, 0, 0);
        old.schedule = None;
        assert!(!is_behind(&old));
        let mut closed = result(200, 0, 0);
        closed.load.model = LoadModel::Closed { clients: 100 };
        assert!(!is_behind(&closed));
        let mut empty = result(0, 0, 0);
        empty.send_lag = bakeoff_record::Histogram::new();
        assert!(!is_behind(&empty));
    }
}
