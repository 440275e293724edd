//! Histories in every format, from made-up records.
//!
//! When a change is wanted: `BLESS=1 cargo test -p bakeoff-report --test it history`.

use std::collections::BTreeMap;

use bakeoff_plan::{Pinning, Random};
use bakeoff_record::Machine;
use bakeoff_report::{
    History, HistoryCell, HistoryMetric, HistoryNumber, HistoryRecord, HistorySource, Redacted,
    TextOptions, history_csv, history_html, history_json, history_text, history_view,
    set_copies_aside,
};

use crate::goldens::check;

fn machine(kernel: &str) -> Machine {
    let mut machine = Machine {
        bakeoff: "0.1.0".to_owned(),
        host: "lab".to_owned(),
        ..Machine::default()
    };
    machine.cpus = 8;
    machine.cpu_model = Some("Example 8".to_owned());
    machine.kernel = kernel.to_owned();
    machine
}

/// A rate with an interval of 2 % around it.
fn number(value: f64, suspect: bool) -> HistoryNumber {
    HistoryNumber::Known {
        value,
        low: value * 0.98,
        high: value * 1.02,
        n: 7,
        suspect,
    }
}

fn cell(contender: &str, version: &str, rate: HistoryNumber) -> HistoryCell {
    HistoryCell {
        contender: contender.to_owned(),
        version: Some(version.to_owned()),
        workload: "html-small".to_owned(),
        load: "c50".to_owned(),
        protocol: "h1".to_owned(),
        asks: "1a2b".to_owned(),
        rate_was_found: false,
        numbers: BTreeMap::from([
            (HistoryMetric::Rate, rate),
            (HistoryMetric::Cpu, number(21_000.0, false)),
        ]),
    }
}

fn record(day: usize, kernel: &str, cells: Vec<HistoryCell>) -> HistorySource {
    let (month, day) = (9 + day / 30, 1 + day % 30);
    HistorySource {
        name: format!("nightly-2026-{month:02}-{day:02}"),
        record: Ok(HistoryRecord {
            plan: "nightly".to_owned(),
            started_at: format!("2026-{month:02}-{day:02}T03:00:00Z"),
            machine: machine(kernel),
            pinning: Pinning::default(),
            cells,
        }),
    }
}

/// Twenty-four nights on one machine and three on another. With the twelfth night nginx is another
/// version and 10 % slower; Caddy stays, and is suspect once and invalid once.
fn nights() -> Vec<HistorySource> {
    let mut random = Random::new(5);
    let mut noise = || 1.0 + 0.02 * ((0..12).map(|_| random.unit()).sum::<f64>() - 6.0);
    let mut nights: Vec<HistorySource> = (0..27)
        .map(|night| {
            let (version, level) = match night {
                0..12 => ("1.26.1", 40_000.0),
                _ => ("1.27.0", 36_000.0),
            };
            let kernel = if night < 24 { "6.1.0" } else { "6.12.0" };
            let caddy = match night {
                7 => HistoryNumber::Missing("rate is invalid".to_owned()),
                other => number(30_000.0 * noise(), other == 4),
            };
            let cells = vec![
                cell("nginx-default", version, number(level * noise(), false)),
                cell("caddy-default", "2.11.7", caddy),
            ];
            record(night * 2, kernel, cells)
        })
        .collect();
    nights.push(record(60, "6.12.0", Vec::new()));
    nights.push(HistorySource {
        name: "broken".to_owned(),
        record: Err("broken/plan.json line 1 is damaged: it is empty".to_owned()),
    });
    // Names of folders come in any order.
    nights.reverse();
    nights
}

fn options(width: usize) -> TextOptions<'static> {
    TextOptions {
        width,
        colour: false,
        full: false,
        diffs: false,
        record: None,
        needed_again: None,
    }
}

#[test]
fn histories_in_every_format() {
    let history = history_view(&nights(), &[]);
    check("history.txt", &history_text(&history, options(120)));
    check("history.json", &history_json(&history));
    check("history.csv", &history_csv(&history));
    check("history.html", &history_html(&history));
}

#[test]
fn a_new_version_is_named_with_its_change_and_nothing_else() {
    let history = history_view(&nights(), &HistoryMetric::ALL);
    let changes = history.changes();
    assert_eq!(changes.len(), 1, "{changes:?}");
    let (one, change) = changes[0];
    assert_eq!(one.contender, "nginx-default");
    assert_eq!((change.at, change.is_better), (12, false));
    assert!(
        (change.size + 0.1).abs() < 0.03 && change.high < 0.0,
        "{change:?}"
    );
    let versions = [&change.before.version, &change.after.version];
    assert_eq!(versions, [&Some("1.26.1".into()), &Some("1.27.0".into())]);
    // The same level twice: two numbers on two machines, for two contenders.
    assert_eq!(history.series.len(), 2 * 2 * 2);
}

/// It had itself as its smallest and largest round.
#[test]
fn one_round_has_no_interval() {
    let one = HistoryNumber::Known {
        value: 40_000.0,
        low: 40_000.0,
        high: 40_000.0,
        n: 1,
        suspect: true,
    };
    let night = record(0, "6.1.0", vec![cell("nginx-default", "1.26.1", one)]);
    let history = history_view(&[night], &[]);
    let text = history_text(&history, options(120));
    assert!(
        text.contains("40,000") && !text.contains("40,000-"),
        "{text}"
    );
    let csv = history_csv(&history);
    assert!(csv.contains(",40000,,,1,"), "{csv}");
    let page = history_html(&history);
    assert!(page.contains(": 40,000 (1 round), version"), "{page}");
}

/// What two records do not have in common keeps their numbers apart.
#[test]
fn what_is_not_alike_is_never_joined() {
    let history = history_view(&nights(), &[]);
    assert_eq!(history.machines.len(), 2);
    assert!(
        history.machines[1].differs[0].contains("6.1.0"),
        "{:?}",
        history.machines
    );
    let of_machine = |number: usize| {
        let mut series = history.series.iter();
        series.find(|one| one.machine == number).expect("one")
    };
    assert_eq!(of_machine(1).points.len(), 24);
    let few = of_machine(2).why_not_looked_at.as_deref();
    assert_eq!(few, Some("too few records for a change (3 of at least 8)"));
    let left_out: Vec<&str> = history
        .left_out
        .iter()
        .map(|one| one.record.as_str())
        .collect();
    assert_eq!(left_out, ["broken", "nightly-2026-11-01"]);

    let mut nights = nights();
    for night in &mut nights {
        if let Ok(record) = &mut night.record
            && record.started_at.starts_with("2026-10")
        {
            record
                .cells
                .iter_mut()
                .for_each(|it| it.asks = "3c4d".to_owned());
        }
    }
    let apart = history_view(&nights, &[]);
    let editions: Vec<usize> = apart.series.iter().map(|one| one.edition).collect();
    assert_eq!(editions.iter().max(), Some(&2), "{editions:?}");
    assert!(apart.changes().is_empty(), "{:?}", apart.changes());
}

/// A rate that each campaign finds for itself is another one in each.
#[test]
fn loads_whose_rate_is_found_have_points_and_no_changes() {
    let mut nights = nights();
    for night in &mut nights {
        if let Ok(record) = &mut night.record {
            record
                .cells
                .iter_mut()
                .for_each(|it| it.rate_was_found = true);
        }
    }
    let history = history_view(&nights, &[]);
    assert!(history.has_points() && history.changes().is_empty());
    // There are records enough, and more of them would change nothing.
    let text = history_text(&history, options(160));
    assert!(
        text.contains("No history can be looked at: 27 records"),
        "{text}"
    );
    assert!(!text.to_lowercase().contains("too few"), "{text}");
}

/// Each number of records was a reason of its own, which the first one hid.
#[test]
fn reasons_for_not_looking_are_named_by_kind() {
    let mut nights = nights();
    for (index, night) in nights.iter_mut().enumerate() {
        if let Ok(record) = &mut night.record {
            record
                .cells
                .retain(|cell| index % 5 == 0 || cell.contender != "caddy-default");
            let mut found = cell("envoy-default", "1.31.0", number(9_000.0, false));
            found.rate_was_found = true;
            record.cells.push(found);
        }
    }
    let text = history_text(&history_view(&nights, &[HistoryMetric::Rate]), options(160));
    let few = text
        .lines()
        .find(|line| line.contains("too few records for a change"));
    let few = few.unwrap_or_else(|| panic!("{text}"));
    assert!(
        few.contains(" to ") && few.contains(" of at least 8)"),
        "{few}"
    );
    assert!(
        text.contains("not looked at: each record asked at a rate of its own"),
        "{text}"
    );
    assert!(!text.contains("other reason"), "{text}");
}

#[test]
fn copies_of_a_campaign_count_once() {
    let mut sources = nights();
    let alone = history_view(&sources, &[]);
    let mut copy = sources[3].clone();
    copy.name = "backup".to_owned();
    sources.push(copy);
    set_copies_aside(&mut sources);
    let history = history_view(&sources, &[]);
    assert_eq!(history.left_out.len(), alone.left_out.len() + 1);
    let left_out = history.left_out.iter().find(|one| one.record == "backup");
    let reason = &left_out.expect("it is left out").why;
    assert!(
        reason.contains("the same campaign as nightly-2026-"),
        "{reason}"
    );
    assert_eq!(history.series, alone.series);
}

/// A record that has the one number and lacks the other was left out of the other silently.
#[test]
fn a_number_that_a_record_lacks_is_named_beside_others() {
    let history = history_view(&nights(), &[HistoryMetric::Rate, HistoryMetric::Cpu]);
    let before = history.left_out.len();
    let mut nights = nights();
    let lacking = &mut nights[10];
    let name = lacking.name.clone();
    for cell in &mut lacking.record.as_mut().expect("it is whole").cells {
        let why = HistoryNumber::Missing("cpu is invalid".to_owned());
        cell.numbers.insert(HistoryMetric::Cpu, why);
    }
    let history = history_view(&nights, &[HistoryMetric::Rate, HistoryMetric::Cpu]);
    assert_eq!(history.left_out.len(), before + 1);
    let mut found = history.left_out.iter();
    let found = found.find(|one| one.metric == Some(HistoryMetric::Cpu));
    assert_eq!(found.map(|one| &one.record), Some(&name));
    let line = format!("cpu of {name}: no number can be used: cpu is invalid");
    assert!(history_text(&history, options(160)).contains(&line));
    assert!(history_html(&history).contains(&line));
    let json: serde_json::Value = serde_json::from_str(&history_json(&history)).expect("JSON");
    let mut left_out = json["left_out"].as_array().expect("a list").iter();
    assert!(left_out.any(|one| one["record"] == *name && one["metric"] == "cpu"));
    // Its rates are part of the history.
    let alone = history_view(&nights, &[HistoryMetric::Rate]);
    assert_eq!(history.records, alone.records);
}

#[test]
fn without_a_number_there_is_no_history() {
    let gone = |source: HistorySource| HistorySource {
        record: Err("it is damaged".to_owned()),
        ..source
    };
    let history = history_view(&nights().into_iter().map(gone).collect::<Vec<_>>(), &[]);
    assert!(!history.has_points());
    assert_eq!(history.left_out.len(), 29);
    let text = history_text(&history, options(80));
    assert!(text.contains("Too few records for a history yet"), "{text}");
    assert!(history_html(&history).ends_with("</html>\n"));
}

/// The made-up campaign as a history takes it: numbers of contenders, and reasons.
#[test]
fn a_record_gives_what_its_report_shows() {
    let redacted = Redacted::hidden(bakeoff_testing::campaign(7));
    let record = HistoryRecord::of(&redacted).expect("it has rounds");
    assert!(record.machine.command.is_empty());
    let report = bakeoff_report::view_of(&redacted);
    let contenders = report.cells.iter().filter(|cell| cell.is_contender());
    let (mut known, mut missing) = (0, 0);
    for (cell, taken) in contenders.zip(&record.cells) {
        assert_eq!(
            (&cell.contender, &cell.load),
            (&taken.contender, &taken.load)
        );
        let is_open = cell.load.starts_with('r');
        assert_eq!(taken.numbers.contains_key(&HistoryMetric::P99), is_open);
        assert_eq!(taken.numbers.contains_key(&HistoryMetric::Rate), !is_open);
        match taken.numbers.values().next().expect("a number") {
            HistoryNumber::Known { .. } => known += 1,
            HistoryNumber::Missing(_) => missing += 1,
        }
    }
    assert!(known > 0 && missing > 0, "{known} {missing}");
    let text = serde_json::to_string(&record).expect("it is kept as JSON");
    let back: HistoryRecord = serde_json::from_str(&text).expect("and read again");
    assert_eq!(back, record);
}

/// Names of folders, hosts and contenders are others' and act on nothing.
#[test]
fn hostile_names_stay_text() {
    let hostile = "</title><script>alert(1)</script>\u{1b}[2J\u{202e}";
    let mut nights = nights();
    for night in &mut nights {
        night.name.push_str(hostile);
        match &mut night.record {
            Ok(record) => {
                record.machine.host = hostile.to_owned();
                record.started_at.insert_str(0, "\u{1b}]0;x\u{7}");
                record.cells.iter_mut().for_each(|it| {
                    it.contender = format!("=cmd{hostile}{}", it.contender);
                    it.version = Some(hostile.to_owned());
                });
            }
            Err(why) => why.push_str(hostile),
        }
    }
    let history: History = history_view(&nights, &HistoryMetric::ALL);
    let formats = [
        ("text", history_text(&history, options(100))),
        ("json", history_json(&history)),
        ("csv", history_csv(&history)),
        ("html", history_html(&history)),
    ];
    for (name, text) in &formats {
        let acts = |one: char| (one.is_control() && one != '\n') || one == '\u{202e}';
        assert!(!text.contains(acts), "{name}");
        if *name == "html" {
            assert!(!text.contains("<script>"), "{text}");
        }
    }
    assert!(
        formats[2].1.contains("'=cmd"),
        "a formula in:\n{}",
        formats[2].1
    );
}

/// The rate of one contender in records of one machine, a night each.
fn nightly(rates: &[f64]) -> History {
    let of_night = |(night, rate): (usize, &f64)| {
        let cells = vec![cell("nginx-default", "1.26.1", number(*rate, false))];
        record(night, "6.1.0", cells)
    };
    let nights: Vec<HistorySource> = rates.iter().enumerate().map(of_night).collect();
    history_view(&nights, &[])
}

/// Heights of the levels in the picture, and of the points.
fn heights(history: &History) -> (Vec<String>, Vec<String>) {
    let html = history_html(history);
    let between = |line: &str, start: &str, end: &str| {
        let (_, rest) = line.split_once(start)?;
        Some(rest.split_once(end)?.0.to_owned())
    };
    let levels = html.lines().filter(|line| line.contains("#2a8fd0"));
    let levels = levels.filter_map(|line| {
        let start = between(line, "d=\"M", " L")?;
        Some(start.split_once(' ')?.1.to_owned())
    });
    let points = html.lines().filter_map(|line| between(line, "cy=\"", "\""));
    (levels.collect(), points.collect())
}

/// Records beyond the latest 200, and those before a change below 1 %, were counted and drawn.
#[test]
fn the_levels_beside_a_change_are_those_that_its_size_is_of() {
    let mut rates = vec![50_000.0; 60];
    rates.resize(250, 60_000.0);
    rates.resize(260, 54_000.0);
    let long = nightly(&rates);
    let mut rates = vec![40_000.0; 10];
    rates.resize(20, 40_320.0);
    rates.resize(30, 44_000.0);
    let small = nightly(&rates);
    for (history, at, n, places) in [
        (&long, 250, [190, 10], vec![0, 199]),
        (&small, 20, [10, 10], vec![0, 10, 20]),
    ] {
        let changes = history.changes();
        let found: Vec<_> = changes.iter().map(|(_, one)| (one.at, one.n)).collect();
        assert_eq!(found, [(at, n)]);
        // The level of equal points is theirs.
        let (levels, points) = heights(history);
        let expected: Vec<String> = places.iter().map(|at| points[*at].clone()).collect();
        assert_eq!(levels, expected);
    }
}

#[test]
fn a_long_history_without_a_change_says_how_much_of_it_was_looked_at() {
    for (records, expected) in [(200, "none"), (201, "none in the latest 200")] {
        let text = history_text(&nightly(&vec![50_000.0; records]), options(200));
        let is_long = text.contains("none in the latest 200");
        assert_eq!(is_long, expected != "none", "{text}");
        assert!(text.contains(expected), "{text}");
    }
}
