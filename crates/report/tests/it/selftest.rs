//! The formats of a self-test, and the limits that it is held against.

use std::collections::BTreeSet;

use bakeoff_report::{
    Doubts, FaultRow, Pairs, SelfTest, SelfTestRig, Tally, selftest_json, selftest_markdown,
    selftest_text,
};

use crate::goldens::check;

fn tally(runs: u32, named: u32, seen: &[&str]) -> Tally {
    let seen: BTreeSet<String> = seen.iter().map(|&code| code.to_owned()).collect();
    let mut tally = Tally::default();
    for run in 0..runs {
        tally.add(run < named, &seen);
    }
    tally
}

/// Runs that nothing disturbed, each with what weakened it.
fn doubts(runs: &[&[&str]]) -> Doubts {
    let mut doubts = Doubts::default();
    for codes in runs {
        let codes: BTreeSet<String> = codes.iter().map(|&code| code.to_owned()).collect();
        doubts.add(&codes);
    }
    doubts
}

/// A run that other programs disturbed each time.
fn disturbed(tally: Tally) -> Tally {
    Tally {
        again: 2,
        disturbed: 1,
        ..tally
    }
}

fn row(name: &str, with: Tally, without: Tally) -> FaultRow {
    FaultRow {
        name: name.to_owned(),
        rule: "R15".to_owned(),
        planted: format!("what {name} is"),
        named_by: vec![name.to_owned()],
        with,
        without,
        doubts: Doubts::default(),
        left_out: None,
        failed: None,
    }
}

/// One fault that is found, one that is missed, one that is left out; 1 of 10 twins is flagged.
fn mixed() -> SelfTest {
    let mut wrong_body = row(
        "wrong-body",
        tally(5, 4, &["wrong-body", "steal"]),
        tally(5, 1, &["steal"]),
    );
    wrong_body.doubts = doubts(&[&["engine-lag"], &[]]);
    let mut hang = row(
        "hang",
        disturbed(tally(5, 3, &["recovered"])),
        tally(5, 0, &[]),
    );
    hang.doubts = doubts(&[&["engine-lag", "not-steady"], &[], &[]]);
    let left_out = FaultRow {
        left_out: Some("there is no | network\u{1b}[2J here".to_owned()),
        ..row("ports", Tally::default(), Tally::default())
    };
    SelfTest {
        rig: SelfTestRig {
            bakeoff: "0.1.0".to_owned(),
            started_at: "2026-11-22T12:00:00Z".to_owned(),
            took_s: 61.4,
            cpus: 2,
            cpu_model: Some("a model".to_owned()),
            kernel: "6.1".to_owned(),
            load_average: Some(0.05),
        },
        quick: false,
        ended_early: None,
        faults: vec![wrong_body, hang, left_out],
        pairs: Pairs {
            compared: 40,
            winners: 2,
        },
    }
}

#[test]
fn a_fault_is_found_in_four_of_five_and_a_missed_one_breaks_the_limits() {
    let mut test = mixed();
    let missed: Vec<&str> = test.missed().iter().map(|row| row.name.as_str()).collect();
    assert_eq!(missed, ["hang"]);
    assert!(!test.holds());
    test.faults[1].with.named = 4;
    // 1 of 10 twins is more than 5 %.
    assert!(test.missed().is_empty() && !test.holds());
    test.faults[0].without.named = 0;
    assert!(test.holds());
    test.pairs.winners = 3;
    assert!(!test.holds());
}

#[test]
fn a_quick_one_asks_only_that_faults_are_found() {
    let mut test = mixed();
    test.quick = true;
    assert!(!test.holds());
    test.faults[1].with.named = 5;
    assert!(test.holds());
    // Without a single run nothing was shown.
    assert!(!SelfTest::default().holds());
}

#[test]
fn what_was_left_out_is_named_and_what_failed_breaks_the_limits() {
    let mut test = mixed();
    test.quick = true;
    test.faults[1].with.named = 5;
    let text = selftest_text(&test, 100, false);
    for line in [
        "1 was left out: ports.\n",
        "Every certain fault that was planted was found; a quick run asks no more.\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    test.faults[0].left_out = Some("no processors".to_owned());
    let text = selftest_text(&test, 100, false);
    assert!(
        text.contains("2 were left out: wrong-body, ports.\n"),
        "{text}"
    );
    assert!(test.holds());
    test.faults[2].failed = Some("a campaign panicked".to_owned());
    assert!(!test.holds());
    let text = selftest_text(&test, 100, false);
    for line in [
        "Set-ups that could not be carried out: ports.\n",
        "FAILED: a campaign panicked\n",
        "The limits do not hold.\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
}

/// A twin is flagged for its own fault alone; what other checks say of it is said beside that.
#[test]
fn what_any_check_doubted_of_undisturbed_twins_is_said_in_every_format() {
    let mut test = mixed();
    let said = "Of 5 undisturbed twins, 2 had any number weakened, by engine-lag 2, not-steady 1.";
    assert!(selftest_text(&test, 100, false).contains(said));
    assert!(selftest_markdown(&test).contains(said));
    let document: serde_json::Value = serde_json::from_str(&selftest_json(&test)).unwrap();
    let of_all = &document["twins"]["doubts"];
    assert_eq!(of_all["undisturbed"], 5);
    assert_eq!(of_all["weakened"], 2);
    assert_eq!(of_all["by"]["engine-lag"], 2);
    test.faults[0].doubts = doubts(&[&[], &[]]);
    test.faults[1].doubts = Doubts::default();
    let said = "Of 2 undisturbed twins, none had any number weakened.";
    assert!(selftest_text(&test, 100, false).contains(said));
    test.faults[0].doubts = Doubts::default();
    assert!(!selftest_text(&test, 100, false).contains("undisturbed"));
}

#[test]
fn every_format_says_what_was_missed() {
    let test = mixed();
    check("selftest.txt", &selftest_text(&test, 80, false));
    check("selftest.md.txt", &selftest_markdown(&test));
    check("selftest.json", &selftest_json(&test));
}
