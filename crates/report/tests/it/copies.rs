//! Shared copies beside other records: what is left out of two of them may differ.

use std::path::Path;

use bakeoff_plan::{Builtin, Requests, builtin_workloads, parse};
use bakeoff_record::Record;
use bakeoff_report::{
    CompareError, Gates, HistoryMetric, HistoryNumber, HistoryRecord, HistorySource, Redacted,
    baseline_mismatches, compare_across, history_view,
};

/// A record whose first workload sends a header.
fn asking(name: &str, value: &str, started_at: &str) -> Record {
    let mut record = bakeoff_testing::at_one_load(bakeoff_testing::campaign(7));
    record.machine.started_at = started_at.to_owned();
    for workload in &mut record.plan.workloads {
        let mut requests = workload.requests.to_vec();
        requests[0]
            .headers
            .push((name.to_owned(), value.to_owned()));
        workload.requests = Requests::new(requests).expect("there is one");
    }
    record
}

const MONDAY: &str = "2026-11-23T03:00:00Z";
const TUESDAY: &str = "2026-11-24T03:00:00Z";

fn whole(record: &Record) -> Redacted {
    Redacted::hidden(record.clone())
}

/// A shared copy as it is read again.
fn copy(record: &Record) -> Redacted {
    let shared = Redacted::shared(record.clone());
    Redacted::hidden(shared.record().clone())
}

/// What two records differ in, which is why they are not compared.
fn refused(first: &Redacted, second: &Redacted) -> Vec<String> {
    match compare_across(first, second, &Gates::default(), false) {
        Ok(compare) => {
            assert!(!compare.forced);
            Vec::new()
        }
        Err(CompareError::Unlike(found)) => found.into_iter().map(|one| one.text).collect(),
        Err(error) => panic!("{error}"),
    }
}

const UNKNOWN: &str = "synthetic: a shared copy leaves out values of its headers";
const OTHERWISE: &str = "synthetic asks or expects something else";

/// Two copies were compared whose requests may have been different ones.
#[test]
fn copies_that_leave_out_headers_are_not_compared() {
    let check = |first: &Redacted, second: &Redacted, expected: Option<&str>| {
        let found = refused(first, second);
        assert_eq!(found.len(), usize::from(expected.is_some()), "{found:?}");
        let mut all = found.iter().zip(expected);
        assert!(
            all.all(|(one, expected)| one.starts_with(expected)),
            "{found:?}"
        );
    };
    let monday = asking("X-Mode", "cached", MONDAY);
    let tuesday = asking("X-Mode", "cached", TUESDAY);
    let other = asking("X-Mode", "uncached", TUESDAY);
    check(&whole(&monday), &whole(&tuesday), None);
    check(&whole(&monday), &whole(&other), Some(OTHERWISE));
    check(&copy(&monday), &copy(&tuesday), Some(UNKNOWN));
    check(&copy(&monday), &copy(&other), Some(UNKNOWN));
    check(&copy(&monday), &whole(&tuesday), Some(UNKNOWN));
    check(&whole(&monday), &copy(&other), Some(UNKNOWN));
    // A copy keeps the values that say how an answer is sent.
    let kept =
        |encoding: &str, started_at: &str| copy(&asking("Accept-Encoding", encoding, started_at));
    check(&kept("gzip", MONDAY), &kept("gzip", TUESDAY), None);
    check(&kept("gzip", MONDAY), &kept("br", TUESDAY), Some(OTHERWISE));

    let forced = compare_across(&copy(&monday), &copy(&other), &Gates::default(), true);
    let forced = forced.expect("it is forced");
    assert!(forced.forced && forced.differences[0].text.starts_with(UNKNOWN));
}

/// What bakeoff itself sends is no secret, and copies of its plans can be compared.
#[test]
fn copies_keep_the_headers_of_the_workloads_of_bakeoff() {
    for (name, _) in builtin_workloads() {
        let text = format!(
            "name = \"one\"\nworkloads = [\"{name}\"]\n[[contender]]\nname = \"one\"\n\
             server = \"nginx\"\n[[load]]\nclients = 10\nduration = \"1s\"\n"
        );
        let mut record = bakeoff_testing::record_of_rounds(1);
        record.plan = parse(&text, "one", Path::new("/"), &Builtin).expect("it is a plan");
        let shared = copy(&record);
        assert_eq!(shared.record().plan.workloads, record.plan.workloads);
    }
}

#[test]
fn a_copy_that_leaves_out_headers_is_no_baseline() {
    let record = asking("X-Mode", "cached", MONDAY);
    let found = |baseline: &Redacted| {
        let found = baseline_mismatches(baseline, &record.machine, &record.plan);
        found.into_iter().map(|one| one.text).collect::<Vec<_>>()
    };
    assert_eq!(found(&whole(&record)), Vec::<String>::new());
    let of_copy = found(&copy(&record));
    assert!(
        of_copy.len() == 1 && of_copy[0].starts_with(UNKNOWN),
        "{of_copy:?}"
    );
}

/// Two copies were joined to one history, whatever their requests had been.
#[test]
fn a_history_takes_no_number_of_a_copy_that_leaves_out_headers() {
    let source = |name: &str, redacted: &Redacted| HistorySource {
        name: name.to_owned(),
        record: Ok(HistoryRecord::of(redacted).expect("it has rounds")),
    };
    let (cached, other) = (
        asking("X-Mode", "cached", MONDAY),
        asking("X-Mode", "uncached", TUESDAY),
    );
    let history = |sources: &[HistorySource]| history_view(sources, &[HistoryMetric::Cpu]);
    let whole = history(&[
        source("monday", &whole(&cached)),
        source("tuesday", &whole(&other)),
    ]);
    let editions = whole.series.iter().map(|one| one.edition);
    assert_eq!(editions.max(), Some(2), "their requests differ");

    let copies = [
        source("monday", &copy(&cached)),
        source("tuesday", &copy(&other)),
    ];
    let cells = copies.iter().filter_map(|one| one.record.as_ref().ok());
    let mut numbers = cells
        .flat_map(|one| &one.cells)
        .flat_map(|one| one.numbers.values());
    assert!(numbers.all(|one| matches!(one, HistoryNumber::Missing(_))));
    let left_out = history(&copies).left_out;
    let is_named = |name: &str| {
        let mut lines = left_out.iter().filter(|one| one.record == name);
        lines.any(|one| {
            one.why
                .contains("the shared copy leaves out values of headers")
        })
    };
    assert!(is_named("monday") && is_named("tuesday"), "{left_out:?}");
    // What is kept in a copy is followed.
    let kept = asking("Accept-Encoding", "gzip", MONDAY);
    assert!(history(&[source("monday", &copy(&kept))]).has_points());
}
