//! Comparisons in every format, from the made-up campaign, and exports as their readers take them.
//!
//! When a change is wanted: `BLESS=1 cargo test -p bakeoff-report --test it compare`.

use std::collections::BTreeSet;

use bakeoff_audit::Condition;
use bakeoff_plan::{Arrival, Load, LoadModel};
use bakeoff_record::{ContenderKind, Record, TrialEnd, TrialRecord};
use bakeoff_report::{
    Compare, CompareError, Gates, Redacted, Report, Ruling, TextOptions, bencher, compare_across,
    compare_json, compare_junit, compare_markdown, compare_text, compare_within, conditions_of,
    differences, github_bigger, github_smaller, gobench, hgrm, html, is_drawn_around, junit,
    openmetrics, otava, otava_holes, stored_document, summary, view, view_of,
};
use serde_json::Value;

use crate::goldens::check;

fn hidden(record: Record) -> Redacted {
    Redacted::hidden(record)
}

fn gates(text: &str) -> Gates {
    Gates::parse(text).expect("it is a gate")
}

fn compared(gate: &str) -> Compare {
    let record = hidden(bakeoff_testing::campaign(7));
    let sides = ("nginx-default", ["caddy-default"]);
    compare_within(&record, sides.0, &sides.1, &gates(gate)).expect("both are there")
}

fn options() -> TextOptions<'static> {
    TextOptions {
        width: 100,
        colour: false,
        full: false,
        diffs: false,
        record: None,
        needed_again: None,
    }
}

#[test]
fn a_comparison_in_every_format() {
    let compare = compared("rate=5%,cpu=300%,memory=10%");
    assert_eq!(compare.ruling, Ruling::Breached);
    check("compare.txt", &compare_text(&compare, options()));
    check("compare.md", &compare_markdown(&compare));
    check("compare.xml", &compare_junit(&compare));
    let value: Value = serde_json::from_str(&compare_json(&compare)).expect("it is JSON");
    assert_eq!(value["schema"], "bakeoff.compare/1");
    let pretty = serde_json::to_string_pretty(&value).expect("a value is JSON");
    check("compare.json", &pretty);
}

/// Rates that the hypervisor held down show nothing, and further rounds may: they are awaited.
#[test]
fn rounds_that_were_disturbed_ask_for_others() {
    let mut record = bakeoff_testing::campaign(10);
    let early = record.trials.iter_mut().filter(|it| it.round <= 3);
    for tick in early.flat_map(|trial| &mut trial.usage.host) {
        tick.cpus[0].steal += 0.3;
    }
    let sides = ("nginx-default", ["caddy-default"]);
    let compare = compare_within(&hidden(record), sides.0, &sides.1, &gates("rate=5%"));
    let rows = compare.expect("both are there").rows;
    let gated = rows.iter().find(|row| row.gate.is_some()).expect("a row");
    assert_eq!(gated.ruling, Ruling::CannotTell);
    assert_eq!(gated.rounds_needed, Some(11));
}

/// Counts in JUnit are those of its elements, and every row is one of them.
#[test]
fn every_gate_is_one_test_case() {
    let compare = compared("rate=5%,cpu=300%");
    let file = compare_junit(&compare);
    let count = |what: &str| file.matches(what).count();
    let rows = |ruling: Ruling| {
        let rows = compare.rows.iter();
        rows.filter(|row| row.ruling == ruling).count()
    };
    assert_eq!(count("<testcase "), compare.rows.len());
    assert_eq!(count("<failure "), rows(Ruling::Breached));
    assert_eq!(count("<error "), rows(Ruling::CannotTell));
    assert_eq!(count("<skipped "), rows(Ruling::Shown));
    let head = format!(
        "tests=\"{}\" failures=\"{}\"",
        count("<testcase "),
        count("<failure ")
    );
    assert_eq!(count(&head), 2, "{file}");
}

#[test]
fn hostile_names_stay_text_in_every_format() {
    let mut record = bakeoff_testing::campaign(7);
    let hostile = "a\u{1b}[31m\"><x|`&'\u{202e}";
    let rename = |name: &mut String| {
        if name == "caddy-default" {
            *name = hostile.to_owned();
        }
    };
    record
        .plan
        .contenders
        .iter_mut()
        .for_each(|one| rename(&mut one.name));
    record
        .trials
        .iter_mut()
        .for_each(|trial| rename(&mut trial.contender));
    let report = view(&record);
    let redacted = hidden(record);
    let name = bakeoff_report::contenders_of(&redacted)
        .pop()
        .expect("contenders");
    let compare = compare_within(&redacted, "nginx-default", &[&name], &gates("rate=5%"));
    let compare = compare.expect("both are there");
    let texts = [
        compare_text(&compare, options()),
        compare_markdown(&compare),
        compare_json(&compare),
        compare_junit(&compare),
        junit(&report),
        openmetrics(&report),
        gobench(&report),
        otava(&report),
        bencher(&report),
        github_bigger(&report),
        summary(&report, false),
    ];
    for text in texts {
        assert!(
            !text.contains('\u{1b}') && !text.contains('\u{202e}'),
            "{text}"
        );
    }
    for file in [compare_junit(&compare), junit(&report)] {
        assert!(!file.contains("\"><x"), "{file}");
    }
    assert!(!summary(&report, false).contains("<x"));
}

#[test]
fn records_that_differ_are_refused_with_the_list_and_forced_with_a_label() {
    let (first, mut second) = (bakeoff_testing::campaign(7), bakeoff_testing::campaign(7));
    let gate = gates("rate=5%");
    let same = compare_across(
        &hidden(first.clone()),
        &hidden(second.clone()),
        &gate,
        false,
    );
    let same = same.expect("nothing differs");
    assert!(!same.paired && !same.forced);
    assert_eq!(same.first.contenders.len(), 3);
    second.machine.kernel = "6.2.0".into();
    let (first, second) = (hidden(first), hidden(second));
    let refused = compare_across(&first, &second, &gate, false).unwrap_err();
    assert!(matches!(refused, CompareError::Unlike(_)));
    let text = refused.to_string();
    assert!(
        text.contains("kernel: kernel: \"6.1.0-18-amd64\" and \"6.2.0\""),
        "{text}"
    );
    let forced = compare_across(&first, &second, &gate, true).expect("it is forced");
    assert!(forced.forced && forced.differences.len() == 1);
    let text = compare_text(&forced, options());
    assert!(text.contains("! compared with --force although"), "{text}");
    assert!(text.contains("two campaigns, begun 2026-11-21"), "{text}");
}

#[test]
fn a_contender_of_the_baseline_that_is_missing_passes_no_gate() {
    let first = bakeoff_testing::campaign(7);
    let mut second = first.clone();
    second
        .trials
        .retain(|trial| trial.contender != "caddy-default");
    let (first, second) = (hidden(first), hidden(second));
    let all = compare_across(&first, &first, &gates("rate=90%"), false).expect("they are alike");
    assert!(all.not_compared.is_empty());
    let lacking = compare_across(&first, &second, &gates("rate=90%"), false);
    let lacking = lacking.expect("they are alike");
    assert_eq!(lacking.ruling, all.ruling.max(Ruling::CannotTell));
    let more = compare_across(&second, &first, &gates("rate=90%"), false).expect("alike");
    assert_eq!(more.ruling, all.ruling);
    for (compare, only_in) in [(lacking, "first"), (more, "second")] {
        let text = format!("caddy-default is in the {only_in} record alone");
        assert!(compare_text(&compare, options()).contains(&text));
        assert!(compare_junit(&compare).contains(&text));
        let value: Value = serde_json::from_str(&compare_json(&compare)).expect("it is JSON");
        assert_eq!(value["not_compared"][0]["only_in"], only_in);
    }
}

/// Both of its records were refused, because no yardstick is measured at such a load.
#[test]
fn loads_at_a_share_of_the_capacity_are_not_compared_across_records() {
    let mut record = bakeoff_testing::campaign(7);
    let open = record.plan.loads.pop().expect("an open loop");
    let share = Load {
        model: LoadModel::OpenShare {
            capacity_share: 0.5,
            arrival: Arrival::Poisson,
            clients: 50,
        },
        ..open.clone()
    };
    record.trials.retain(|trial| {
        let is_reference = matches!(trial.kind, ContenderKind::Yardstick | ContenderKind::Origin);
        trial.load != open || !is_reference
    });
    for trial in record.trials.iter_mut().filter(|it| it.load == open) {
        trial.load_name = Some(share.label());
    }
    let label = share.label();
    record.plan.loads.push(share);
    let mut alone = record.clone();
    alone.trials.retain(|it| it.load_name.is_some());
    let (first, second) = (hidden(record.clone()), hidden(record));
    let compare = compare_across(&first, &second, &gates("rate=90%,cpu=90%"), false);
    let compare = compare.expect("they are alike");
    assert!(compare.rows.iter().all(|row| row.load != label));
    assert!(compare.rows.iter().any(|row| row.load == "c200"));
    assert!(
        compare.not_compared.is_empty(),
        "{:?}",
        compare.not_compared
    );
    for force in [false, true] {
        let refused = compare_across(&first, &second, &gates("p99=90%"), force).unwrap_err();
        assert!(matches!(refused, CompareError::Gate(_)), "{refused}");
        let text = refused.to_string();
        assert!(text.contains("the gate p99 fits no load here"), "{text}");
    }
    // The contenders were named as if they had nothing in common.
    let alone = hidden(alone);
    let refused = compare_across(&alone, &second, &gates("p99=90%"), false).unwrap_err();
    let text = refused.to_string();
    let places = format!("in common (synthetic, {label}; proxy, {label}), ");
    assert!(text.contains(&places), "{text}");
    assert!(
        text.contains("found a rate of its own") && text.contains("measure"),
        "{text}"
    );
}

/// It was green with a gate for what nobody had measured.
#[test]
fn a_workload_of_the_baseline_that_is_missing_passes_no_gate() {
    let first = bakeoff_testing::campaign(7);
    let mut second = first.clone();
    let gone = second.plan.workloads.pop().expect("it has workloads").name;
    assert!(!second.plan.workloads.is_empty());
    second.trials.retain(|trial| trial.workload != gone);
    let (first, second) = (hidden(first), hidden(second));
    let gates = gates("rate=90%");
    let all = compare_across(&first, &first, &gates, false).expect("they are alike");
    assert!(all.not_compared.is_empty());
    let lacking = compare_across(&first, &second, &gates, true).expect("forced");
    assert_eq!(lacking.ruling, all.ruling.max(Ruling::CannotTell));
    let one = &lacking.not_compared[0];
    assert_eq!(one.at.as_ref().map(|at| &at.workload), Some(&gone));
    assert!(compare_junit(&lacking).contains(&format!("<testcase classname=\"{gone}.")));
    let text = compare_text(&lacking, options());
    assert!(text.contains(&format!(" at {gone}, ")), "{text}");
    let more = compare_across(&second, &first, &gates, true).expect("forced");
    assert!(more.not_compared.iter().all(|one| one.only_in == "second"));
}

/// The exit code was 4, and the file had no error.
#[test]
fn a_contender_of_the_baseline_that_is_missing_is_an_error_in_junit() {
    let mut first = bakeoff_testing::campaign(7);
    let mut second = first.clone();
    let is_other = |trial: &bakeoff_record::TrialRecord| trial.contender != "caddy-default";
    second.trials.retain(is_other);
    first
        .trials
        .retain(|trial| trial.contender != "nginx-optimized");
    second.machine.kernel = "6.2.0".into();
    let (first, second) = (hidden(first), hidden(second));
    let compared = |gates: &Gates| {
        let compare = compare_across(&first, &second, gates, true).expect("forced");
        (compare.ruling, compare.rows.len(), compare_junit(&compare))
    };
    let (ruling, rows, file) = compared(&gates("rate=90%"));
    assert_eq!(ruling, Ruling::CannotTell);
    let case = "<testcase classname=\"contenders\" name=\"caddy-default\" time=\"0\">\n      \
                <error type=\"cannot-tell\" \
                message=\"caddy-default is in the first record alone\"/>";
    assert!(file.contains(case), "{file}");
    let errors = file.matches("<error ").count();
    let head = format!("tests=\"{}\" failures=\"0\" errors=\"{errors}\"", rows + 1);
    assert_eq!(file.matches(&head).count(), 2, "{file}");
    // What fails nothing stands in one element, a line each.
    assert_eq!(file.matches("<system-err>").count(), 1, "{file}");
    assert!(
        file.contains("\nnginx-optimized is in the second record alone</system-err>"),
        "{file}"
    );
    assert!(
        file.contains("<system-err>the records differ in kernel: "),
        "{file}"
    );
    // Without a gate nothing can fail.
    let (_, rows, file) = compared(&Gates::default());
    assert!(file.contains(&format!("tests=\"{rows}\" failures=\"0\" errors=\"0\"")));
    assert_eq!(file.matches("<system-err>").count(), 1, "{file}");
}

/// The columns of a plan are the same whatever of it is valid.
#[test]
fn otava_has_a_column_for_each_number() {
    let whole = bakeoff_testing::campaign(7);
    let mut disturbed = whole.clone();
    for trial in &mut disturbed.trials {
        if let Some(result) = trial
            .result
            .as_mut()
            .filter(|_| trial.contender == "nginx-default")
        {
            result.requests.ok = 0;
        }
    }
    let reports = [&whole, &disturbed].map(view);
    let [one, other] = [&reports[0], &reports[1]].map(otava);
    let names = |text: &str| text.lines().next().map(str::to_owned);
    assert_eq!(names(&one), names(&other));
    for text in [&one, &other] {
        let fields = |line: usize| text.lines().nth(line).unwrap_or("").split(',').count();
        assert_eq!(fields(0), fields(1), "{text}");
    }
    assert_ne!(one, other);
    assert!(other.contains(",nan"), "{other}");
    for (report, text) in reports.iter().zip([&one, &other]) {
        let values = text.lines().nth(1).unwrap_or("").split(',').skip(1);
        let holes = values.clone().filter(|value| *value == "nan").count();
        assert_eq!(otava_holes(report), (holes, values.count()));
    }
}

fn report() -> Report {
    view(&bakeoff_testing::campaign(7))
}

#[test]
fn exports_are_as_their_readers_take_them() {
    let report = report();
    check("export.bencher.json", &bencher(&report));
    check("export.bigger.json", &github_bigger(&report));
    check("export.smaller.json", &github_smaller(&report));
    check("export.openmetrics.txt", &openmetrics(&report));
    check("export.bench.txt", &gobench(&report));
    check("export.otava.csv", &otava(&report));
    check("export.junit.xml", &junit(&report));
    check("export.summary.md", &summary(&report, false));
}

/// A file for each cell: an open loop, a closed one, and one that is not valid.
#[test]
fn latencies_are_as_plotters_of_hdrhistogram_take_them() {
    let record = hidden(bakeoff_testing::campaign(7));
    let report = view_of(&record);
    let files = hgrm(&report, &record);
    let contenders = report.cells.iter().filter(|cell| cell.is_contender());
    assert_eq!(files.len(), contenders.clone().count());
    let (mut open, mut without) = (None, None);
    for (cell, file) in contenders.zip(&files) {
        let is_valid = cell.verdicts.latency == bakeoff_report::Verdict::Valid;
        assert_eq!(file.has_values, is_valid, "{}", file.text);
        let lines = file.text.lines().filter(|line| !line.starts_with('#'));
        assert_eq!(lines.count() > 0, is_valid, "{}", file.text);
        if !is_valid {
            without = without.or(Some(file));
        } else if cell.load.starts_with('r') {
            open = open.or(Some(file));
        } else {
            assert!(file.text.contains("# A closed loop"), "{}", file.text);
        }
    }
    check("export.hgrm", &open.expect("an open loop").text);
    check(
        "export.without.hgrm",
        &without.expect("one is not valid").text,
    );
}

/// The file said p99 where rounds had none and the p50 decided.
#[test]
fn a_file_of_latencies_names_the_percentile_that_chose_its_round() {
    let mut record = bakeoff_testing::campaign(7);
    bakeoff_testing::slow_down(&mut record, "caddy-default");
    let record = hidden(record);
    let files = hgrm(&view_of(&record), &record);
    let whose = |name: &str, percentile: &str| {
        let file = files.iter().find(|file| file.name == name).expect("a file");
        let words = format!(", one of 7 measured, whose {percentile} is the median one;");
        assert!(file.text.contains(&words), "{}", file.text);
    };
    whose("synthetic-c10-nginx-default.hgrm", "p99");
    whose("synthetic-c10-caddy-default.hgrm", "p50");
}

/// What is not valid is in no export as a number.
#[test]
fn what_is_not_valid_is_not_exported() {
    let report = report();
    let document: Value = serde_json::from_str(&bencher(&report)).expect("it is JSON");
    let mut invalid = 0;
    for cell in report.cells.iter().filter(|cell| cell.is_contender()) {
        let name = format!("{}/{}/{}", cell.workload, cell.load, cell.contender);
        let rate = &document[&name]["rate-per-s"];
        let valid = cell.verdicts.rate == bakeoff_report::Verdict::Valid;
        assert!(valid || rate.is_null(), "{name}: {rate}");
        invalid += usize::from(!valid);
        let latency = &document[&name]["latency-p99-ns"];
        assert!(
            !name.contains("/c10/") || latency.is_null(),
            "{name}: {latency}"
        );
    }
    assert!(invalid > 0, "the campaign has cells that are not valid");
    assert!(!bencher(&report).contains("yardstick"));
}

/// The page holds what its record gives, and a changed figure in either shows.
#[test]
fn a_page_is_held_against_its_record() {
    let mut record = bakeoff_testing::campaign(7);
    let page = html(&view(&record));
    let Ok(Some(stored)) = stored_document(&page) else {
        // The page with charts was not built.
        return;
    };
    assert_eq!(differences(&view(&record), &stored), Ok(vec![]));
    let trial = &mut record.trials[3];
    let result = trial.result.as_mut().expect("it was measured");
    result.requests.ok -= 100;
    let name = format!("trials[{}].", trial.id);
    let found = differences(&view(&record), &stored).expect("it is a report");
    assert!(
        found.iter().any(|one| one.place.starts_with(&name)),
        "{found:?}"
    );
    assert!(
        found.iter().any(|one| one.place.starts_with("cells[")),
        "{found:?}"
    );
    assert!(differences(&view(&record), &serde_json::json!({"keys": []})).is_err());
}

/// What a browser shows beside the document is part of the page.
#[test]
fn a_page_with_other_text_is_not_as_drawn() {
    let report = view(&bakeoff_testing::campaign(3));
    let page = html(&report);
    if !matches!(stored_document(&page), Ok(Some(_))) {
        // The page with charts was not built.
        return;
    }
    assert!(is_drawn_around(&report, &page));
    let other = page.replacen("<body>", "<body><h1>caddy is ten times as fast</h1>", 1);
    assert_ne!(other, page);
    assert!(!is_drawn_around(&report, &other));
    assert!(!is_drawn_around(&report, &(page + " ")));
}

/// `>=` stood in the report and not in the comparison.
#[test]
fn a_bound_is_shown_as_one() {
    let record = hidden(bakeoff_testing::campaign(7));
    let sides = ("nginx-default", ["nginx-optimized", "caddy-default"]);
    let compare = compare_within(&record, sides.0, &sides.1, &gates("rate=5%,cpu=1%"));
    let compare = compare.expect("all are there");
    let mut rates = compare
        .rows
        .iter()
        .filter(|row| row.metric.short_name() == "rate");
    let bound = |value: Option<bakeoff_report::CompareValue>| value.and_then(|one| one.bound);
    let optimized =
        rates.find(|row| row.second == "nginx-optimized" && row.workload == "synthetic");
    let optimized = optimized.expect("it is compared");
    assert_eq!(bound(optimized.second_value), Some(">="));
    assert_eq!(bound(optimized.first_value), None);
    let text = compare_text(&compare, options());
    assert!(text.contains(">= "), "{text}");
    // Each line names its contender where there are several.
    assert!(text.contains("cpu of caddy-default, synthetic"), "{text}");
    assert!(
        text.contains("rate of nginx-optimized, synthetic"),
        "{text}"
    );
    let alone = compare_text(&compared("rate=5%"), options());
    assert!(alone.contains("rate of synthetic"), "{alone}");
}

/// One workload that neither can do ended every gate with 4, however many rounds there were.
#[test]
fn what_neither_can_do_is_no_reason_to_doubt() {
    let sides = ["nginx-default", "caddy-default"];
    let record = |workloads: &[&str], contenders: &[&str]| {
        let mut record = bakeoff_testing::campaign(7);
        record
            .trials
            .retain(|trial| contenders.contains(&trial.contender.as_str()));
        let cannot = |trial: &&mut TrialRecord| {
            workloads.contains(&trial.workload.as_str())
                && sides.contains(&trial.contender.as_str())
        };
        for trial in record.trials.iter_mut().filter(cannot) {
            trial.result = None;
            trial.end = TrialEnd::Unsupported {
                reason: "it has no HTTP/3".to_owned(),
            };
        }
        record
    };
    let of = |record: Record| {
        let compare = compare_within(&hidden(record), sides[0], &sides[1..], &gates("rate=5%"));
        let rows = compare.expect("both are there").rows;
        rows.iter()
            .map(|row| row.workload.clone())
            .collect::<BTreeSet<String>>()
    };
    let all = of(record(&[], &sides));
    let one = all.first().expect("a workload").as_str();
    assert!(all.len() > 1, "{all:?}");
    let without = of(record(&[one], &sides));
    assert!(
        !without.contains(one) && without.len() == all.len() - 1,
        "{without:?}"
    );

    let at_one = |contenders: &[&str]| {
        let failing = view(&record(&[one], contenders)).answer.failing;
        failing
            .iter()
            .any(|line| line.contains(&format!(" at {one},")))
    };
    assert!(!at_one(&sides));
    assert!(at_one(&[sides[0], sides[1], "nginx-optimized"]), "it can");
    let alone = record(&[one], &sides[1..]);
    let condition = Condition::parse("errors > 99%").expect("it is a condition");
    let held = conditions_of(&hidden(alone), &[condition]);
    assert!(
        held.lines.iter().all(|line| !line.contains(one)),
        "{held:?}"
    );
}
