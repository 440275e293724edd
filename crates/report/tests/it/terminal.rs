//! What a terminal shows where there is little room, and that a full report leaves nothing out.

use bakeoff_record::{ContenderKind, Record};
use bakeoff_report::view::{Report, view};
use bakeoff_report::{TextOptions, text};
use bakeoff_stats::Metric;

fn shown(report: &Report, width: usize, full: bool) -> String {
    let options = TextOptions {
        width,
        colour: false,
        full,
        diffs: false,
        record: Some("bakeoff-results/synthetic"),
        needed_again: None,
    };
    text(report, options)
}

/// The words of a text, wherever its lines end.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The record with other names for two of its contenders.
fn renamed(mut record: Record, names: [(&str, &str); 2]) -> Record {
    for (old, new) in names {
        for contender in &mut record.plan.contenders {
            if contender.name == old {
                new.clone_into(&mut contender.name);
            }
        }
        for trial in &mut record.trials {
            if trial.contender == old {
                trial.id = trial.id.replace(old, new);
                new.clone_into(&mut trial.contender);
            }
        }
    }
    record
}

/// "13 more findings: --full" stood at the end of a full report, which had them nowhere, nor the
/// ratios that "--full has them" was about.
#[test]
fn a_full_report_leaves_nothing_to_another_one() {
    let mut late = bakeoff_testing::campaign(7);
    bakeoff_testing::answer_late(&mut late, "nginx-default");
    for record in [bakeoff_testing::record(), late, bakeoff_testing::large()] {
        let report = view(&record);
        for width in [40, 80, 160] {
            let full = shown(&report, width, true);
            assert!(!full.contains("--full"), "{width}: {full}");
            let read = words(&full);
            let findings = report.answer.findings.iter().map(|one| &one.text);
            let reasons = report.answer.trust.reasons.iter().map(|one| &one.text);
            for sentence in findings.chain(reasons).chain(&report.answer.late) {
                let sentence = words(sentence.trim_end_matches('.'));
                assert!(read.contains(&sentence), "{width}: {sentence} in {full}");
            }
        }
    }
}

/// The tables of all metrics stand in the answer of a full report, with every contender.
#[test]
fn a_full_report_has_each_table_of_ratios_with_its_intervals() {
    let report = view(&bakeoff_testing::campaign(7));
    assert_eq!(report.answer.tables.len(), 4);
    for width in [60, 80, 160] {
        let full = shown(&report, width, true);
        let (_, answer) = full
            .split_once(&report.answer.findings[0].text[..20])
            .unwrap();
        for table in &report.answer.tables {
            let head = format!("\n{}", table.title);
            let of = answer.split_once(&head).map(|(_, of)| of);
            let of = of.unwrap_or_else(|| panic!("{width}: {} in {answer}", table.title));
            let rows: Vec<&str> = of.lines().skip(1).take_while(|it| !it.is_empty()).collect();
            assert!(rows.len() >= table.rows.len(), "{width}: {rows:?}");
        }
        let ranges = answer
            .lines()
            .filter(|line| line.contains(" (0.") || line.contains(" (1."));
        assert!(ranges.count() >= 10, "{width}: {answer}");
    }
}

/// A contender alone has nothing to be divided by, so its own numbers are the answer. They made
/// room for what its verdict is about, so that no number was left.
#[test]
fn a_contender_alone_has_its_rate_in_any_width() {
    let mut record = bakeoff_testing::campaign(7);
    let name = "nginx-default";
    record.plan.contenders.retain(|it| it.name == name);
    record
        .trials
        .retain(|it| it.contender == name || it.kind != ContenderKind::Contender);
    let long = [(name, "nginx-mainline-default"), ("", "")];
    for record in [record.clone(), renamed(record, long)] {
        let report = view(&record);
        assert!(report.answer.tables.is_empty());
        let cells: Vec<_> = report.cells.iter().filter(|it| it.is_contender()).collect();
        assert!(cells.len() >= 4);
        for width in [40, 60, 80, 120] {
            let answer = shown(&report, width, false);
            for cell in &cells {
                let rate = cell.estimate(Metric::RatePerS).expect("it was measured");
                let rate = bakeoff_report::whole(rate.point);
                let verdict = cell.verdict.verdict.name();
                let is_row = |line: &&str| line.contains(&rate) && line.contains(verdict);
                assert!(
                    answer.lines().any(|line| is_row(&line)),
                    "{width}: {rate} in {answer}"
                );
            }
            let is_whole = answer.contains("memory");
            assert_ne!(
                is_whole,
                answer.contains(" more column"),
                "{width}: {answer}"
            );
            let mut lines = answer.lines();
            let fits = |line: &str| line.chars().count() <= width || line.starts_with("report: ");
            assert!(
                lines.all(|it| fits(it) || it.starts_with("next: ")),
                "{width}: {answer}"
            );
        }
    }
}

/// "nginx-1.2…ptimized" stood above two columns.
#[test]
fn contenders_that_differ_in_the_middle_of_their_names_have_different_heads() {
    let names = [
        ("nginx-optimized", "nginx-1.24.0-optimized"),
        ("caddy-default", "nginx-1.26.3-optimized"),
    ];
    let report = view(&renamed(bakeoff_testing::campaign(7), names));
    for width in [40, 60, 80] {
        let answer = shown(&report, width, false);
        let is_head = |line: &&str| line.contains("24.0") && line.contains("26.3");
        let tables = answer
            .lines()
            .skip_while(|line| !line.starts_with("requests/s"));
        assert!(
            tables.take(2).any(|line| is_head(&line)),
            "{width}: {answer}"
        );
    }
}

/// Ratios that are not ranked read as if they were, and a range could end in the middle of a
/// number: "0.39x to 3.3…".
#[test]
fn a_table_in_a_line_has_whole_numbers_and_says_what_is_not_ranked() {
    let mut report = view(&bakeoff_testing::campaign(7));
    for width in 24..=80 {
        let answer = shown(&report, width, false);
        for line in answer.lines().filter(|line| line.contains(" ratios")) {
            assert!(
                !line.contains('…') || !line.contains("x to"),
                "{width}: {line}"
            );
        }
    }
    let cells = report.answer.tables[1].rows.iter_mut();
    cells.for_each(|row| row.cells.iter_mut().for_each(|cell| cell.mark = ""));
    let answer = shown(&report, 80, false);
    assert!(
        answer.contains("p99, ms: 4 ratios, 0.23x to 3.31x (no mark); --full"),
        "{answer}"
    );
    assert!(answer.contains("no mark: not ranked"), "{answer}");
}

/// A long reason ended in the middle of a sentence, as if it had no more to say.
#[test]
fn a_reason_that_is_cut_says_so() {
    let mut report = view(&bakeoff_testing::campaign(7));
    report.answer.trust.reasons.truncate(1);
    report.answer.trust.reasons[0].text = "one reason of many words ".repeat(20);
    let answer = shown(&report, 80, false);
    let (_, trust) = answer.split_once("How far to trust it").unwrap();
    assert!(trust.contains(" …\nnext: "), "{trust}");
    assert!(
        trust.starts_with(" (1 more: --full)\n  ! requests/s: direction yes, size no; "),
        "{trust}"
    );
    let full = words(&shown(&report, 80, true));
    assert!(
        full.contains(report.answer.trust.reasons[0].text.trim()),
        "{full}"
    );
}
