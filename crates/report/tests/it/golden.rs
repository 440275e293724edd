//! Every format, drawn from one made-up campaign and compared with a file.
//!
//! When a change is wanted: `BLESS=1 cargo test -p bakeoff-report`, then read the difference.

#![expect(
    clippy::disallowed_methods,
    reason = "a test reads its files; the library does not"
)]

use bakeoff_plan::Protocol;
use bakeoff_record::Outcome;
use bakeoff_report::{
    MarkdownOptions, Report, TextOptions, csv, html, json, load_json, load_text, markdown, packed,
    text, view,
};
use serde_json::{Value, json};

use crate::goldens::check;

const FULL: MarkdownOptions = MarkdownOptions { full: true };

fn report() -> Report {
    view(&bakeoff_testing::record())
}

fn options(width: usize) -> TextOptions<'static> {
    TextOptions {
        width,
        colour: false,
        full: true,
        diffs: false,
        record: Some("bakeoff-results/synthetic"),
        needed_again: None,
    }
}

fn text_of(width: usize, colour: bool) -> String {
    let options = options(width);
    text(&report(), TextOptions { colour, ..options })
}

/// The answer alone.
fn answer_of(report: &Report, width: usize) -> String {
    let options = options(width);
    text(
        report,
        TextOptions {
            full: false,
            ..options
        },
    )
}

#[test]
fn text_for_a_wide_terminal() {
    check("wide.txt", &text_of(160, false));
}

#[test]
fn text_for_a_narrow_terminal_cuts_the_table_in_two() {
    let narrow = text_of(80, false);
    check("narrow.txt", &narrow);
    let lines = narrow.lines().filter(|line| !line.starts_with("    "));
    let widest = lines.map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "a line is {widest:?} wide");
}

#[test]
fn cells_over_http_2_have_h2loads_figures() {
    let report = view(&bakeoff_testing::record_over(Protocol::H2));
    let narrow = text(&report, options(80));
    let figures = |line: &&str| line.chars().count() <= 80;
    assert_eq!(narrow.lines().filter(|line| !figures(line)).count(), 0);
    // One group is enough: from its title to the next one's.
    let at = |title: &str| narrow.find(title).expect("the group is shown");
    let group = &narrow[at("synthetic, 10 clients")..at("synthetic, 200 clients")];
    check("h2load.txt", group);
    assert!(markdown(&report, FULL).contains("TLS handshake"));
    let others = report
        .cells
        .iter()
        .filter(|cell| cell.workload != "synthetic");
    assert!(others.into_iter().all(|cell| cell.h2load.is_none()));
}

#[test]
fn cells_over_http_3_have_them_too_without_a_connect_of_their_own() {
    let wide = text(
        &view(&bakeoff_testing::record_over(Protocol::H3)),
        options(120),
    );
    let at = |title: &str| wide.find(title).expect("the contender is shown");
    let caddy = &wide[at("  caddy-default: h3")..at("  yardstick: h3")];
    check("h2load-h3.txt", caddy);
}

#[test]
fn cells_at_a_constant_rate_have_vegetas_figures_and_differences() {
    let report = view(&bakeoff_testing::record_at_constant_rate());
    let narrow = text(&report, options(80));
    let reported = between(&narrow, "synthetic, 500", "\nproxy, 500");
    check("vegeta.txt", reported);
    // The main table above may be wider, by what its verdicts say.
    let figures = reported
        .lines()
        .skip_while(|line| !line.contains("As Vegeta prints it"));
    let figures = figures.take_while(|line| !line.is_empty());
    assert!(figures.into_iter().all(|line| line.chars().count() <= 80));
    let markdown = markdown(&report, FULL);
    check(
        "vegeta.md",
        between(
            &markdown,
            "## proxy, 500 requests/s, constant, 200",
            "## Equal",
        ),
    );
    let document: Value = serde_json::from_str(&json(&report)).expect("the report is JSON");
    let of = |list: &str, wanted: &[(&str, &str)]| -> Vec<Value> {
        let items = document[list].as_array().expect("a list").iter();
        let wanted = |it: &&Value| wanted.iter().all(|(key, value)| it[*key] == *value);
        items.filter(wanted).cloned().collect()
    };
    let load = ("load", "r500-c10-n2500");
    let cells = of("cells", &[load, ("workload", "synthetic")]);
    let vegeta: Vec<&Value> = cells.iter().map(|cell| &cell["vegeta"]).collect();
    let differences = of("differences", &[load, ("workload", "synthetic")]);
    let shown = json!({ "vegeta": vegeta[0], "differences": &differences[..2] });
    check(
        "vegeta.json",
        &serde_json::to_string_pretty(&shown).expect("a value is JSON"),
    );
    assert!(
        self::report()
            .cells
            .iter()
            .all(|cell| cell.vegeta.is_none())
    );
}

/// What stands from `start` up to `end`.
#[track_caller]
fn between<'text>(text: &'text str, start: &str, end: &str) -> &'text str {
    let (_, rest) = text.split_at(text.find(start).expect("it begins somewhere"));
    rest.split_once(end).expect("it ends somewhere").0
}

#[test]
fn the_answer_at_80_and_at_40_columns() {
    let report = view(&bakeoff_testing::campaign(7));
    for (width, name) in [(80, "answer-80.txt"), (40, "answer-40.txt")] {
        let answer = answer_of(&report, width);
        check(name, &answer);
        let widest = answer.lines().map(|line| line.chars().count()).max();
        let commands = |line: &&str| !line.starts_with("next: ") && !line.starts_with("report: ");
        let folded = answer.lines().filter(commands);
        let widest_folded = folded.map(|line| line.chars().count()).max();
        assert!(widest_folded <= Some(width), "a line is {widest:?} wide");
    }
}

#[test]
fn the_document_of_reports_shows_an_answer_as_it_is_printed() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/report.md");
    let document = std::fs::read_to_string(path).unwrap();
    let (_, rest) = document.split_once("## The answer\n```\n").unwrap();
    let (shown, _) = rest.split_once("\n```\n").unwrap();
    let answer = answer_of(&view(&bakeoff_testing::campaign(7)), 80);
    assert_eq!(
        shown,
        // Who prints it adds where its page is.
        answer.trim_matches('\n').to_owned() + "\nreport: bakeoff-results/synthetic/report.html",
        "copy answer-80.txt into docs/report.md"
    );
}

/// It holds for many cells and contenders as for few, and in any width.
#[test]
fn an_answer_has_at_most_30_lines_and_keeps_to_the_width() {
    let mut many = bakeoff_testing::campaign(7);
    let names = ["a", "b", "c", "d", "e"].map(|name| format!("caddy-2.10.0-variant-{name}"));
    let like: Vec<_> = many
        .trials
        .iter()
        .filter(|it| it.contender == "caddy-default")
        .collect();
    let mut more = Vec::new();
    for name in &names {
        for trial in &like {
            let mut trial = (*trial).clone();
            trial.id = trial.id.replace("caddy-default", name);
            trial.contender.clone_from(name);
            more.push(trial);
        }
        let mut contender = many.plan.contenders[2].clone();
        contender.name.clone_from(name);
        many.plan.contenders.push(contender);
    }
    many.trials.extend(more);
    for report in [report(), view(&bakeoff_testing::large()), view(&many)] {
        for width in [40, 60, 80, 200] {
            let answer = answer_of(&report, width);
            if width >= 80 {
                assert!(answer.lines().count() <= 30, "{answer}");
            }
            for line in answer.lines() {
                let is_command = line.starts_with("next: ") || line.starts_with("report: ");
                assert!(
                    is_command || line.chars().count() <= width,
                    "{width}: {line}"
                );
            }
        }
    }
    let answer = answer_of(&view(&many), 60);
    assert!(answer.contains("more contenders"), "{answer}");
}

/// The one that leads was left out where the plan had it last.
#[test]
fn where_contenders_are_left_out_the_one_that_leads_is_not() {
    let mut many = bakeoff_testing::campaign(7);
    let mut trials = std::mem::take(&mut many.trials);
    let mut contenders = std::mem::take(&mut many.plan.contenders);
    let names = (1..=12).map(|number| (format!("c{number:02}"), "caddy-default"));
    let names = names.chain([("fastest".to_owned(), "nginx-optimized")]);
    for (name, like) in names {
        let of_it = trials.iter().filter(|it| it.contender == like);
        for trial in of_it {
            let mut trial = trial.clone();
            trial.id = trial.id.replace(like, &name);
            trial.contender.clone_from(&name);
            many.trials.push(trial);
        }
        let alike = contenders.iter().find(|it| it.name == like);
        let mut contender = alike.expect("the campaign has it").clone();
        contender.name = name;
        many.plan.contenders.push(contender);
    }
    // The first one stays, and the references.
    trials.retain(|it| !["caddy-default", "nginx-optimized"].contains(&it.contender.as_str()));
    many.plan.contenders.insert(0, contenders.remove(0));
    many.trials.extend(trials);
    let answer = answer_of(&view(&many), 80);
    assert!(answer.contains("more contenders"), "{answer}");
    let mut lines = answer.lines();
    let head = lines.find(|line| line.contains("c01") && line.contains("c02"));
    let head = head.expect("the first of them are shown");
    assert!(
        head.ends_with("fastest") && !head.contains("c12"),
        "{answer}"
    );
}

fn keeps_to_the_width(report: &Report) {
    for width in [24, 40, 60, 80, 200] {
        let answer = answer_of(report, width);
        if width >= 80 {
            assert!(answer.lines().count() <= 30, "{answer}");
        }
        for line in answer.lines() {
            let is_command = line.starts_with("next: ") || line.starts_with("report: ");
            let fits = line.chars().count() <= width;
            // A word is never cut, nor is a path inside a sentence.
            assert!(
                is_command || fits || !line.trim().contains(' '),
                "{width}: {line}"
            );
        }
    }
}

/// A page of a thousand trials is opened at once: half a megabyte is the page itself.
#[test]
fn a_record_of_a_thousand_trials_stays_small() {
    let record = bakeoff_testing::large();
    assert!(record.trials.len() >= 1_000);
    let report = view(&record);
    let bytes = packed(&report).len();
    assert!(bytes < 2_300_000, "{bytes} bytes");
    let answer = answer_of(&report, 80);
    assert!(answer.contains(" more rows: "), "{answer}");
    keeps_to_the_width(&report);
}

/// The page draws curves of the round of the median rate, and has rates with five digits: rounds
/// that are equal there stand in their order.
#[test]
fn of_rounds_that_look_equal_the_one_that_the_page_draws_keeps_its_detail() {
    let mut record = bakeoff_testing::large();
    let is_cell = |contender: &str, workload: &str, load: &str| {
        [contender, workload, load] == ["nginx-default", "synthetic", "c25"]
    };
    let mut all = record.trials.iter();
    let first = all.find(|it| is_cell(&it.contender, &it.workload, &it.load.label()));
    let result = first.and_then(|it| it.result.clone());
    for trial in &mut record.trials {
        if is_cell(&trial.contender, &trial.workload, &trial.load.label()) {
            trial.result = result.clone().map(|mut result| {
                // Each round is slower than the one before it, by less than five digits show.
                result.measured_s *= 1.0 + 1e-8 * f64::from(trial.round);
                result
            });
        }
    }
    let report = view(&record);
    let trials = report.trials.iter();
    let points: Vec<usize> = trials
        .filter(|it| is_cell(&it.contender, &it.workload, &it.load))
        .map(|it| it.curve.one_in.len())
        .collect();
    let most = points.iter().max();
    let detailed: Vec<usize> = (0..points.len())
        .filter(|at| points.get(*at) == most)
        .collect();
    assert_eq!(detailed, [3], "the lower middle one of {points:?}");
}

#[test]
fn colour_changes_no_word() {
    let mut plain = String::new();
    let mut in_escape = false;
    for character in text_of(160, true).chars() {
        match character {
            '\u{1b}' => in_escape = true,
            'm' if in_escape => in_escape = false,
            _ if in_escape => {}
            usual => plain.push(usual),
        }
    }
    let trimmed: Vec<&str> = plain.lines().map(str::trim_end).collect();
    let expected = text_of(160, false);
    assert_eq!(trimmed, expected.lines().collect::<Vec<_>>());
}

#[test]
fn markdown_for_an_issue() {
    check("report.md", &markdown(&report(), FULL));
    let report = view(&bakeoff_testing::campaign(7));
    let short = markdown(&report, MarkdownOptions { full: false });
    check("report-short.md", &short);
    // GitHub takes up to 65,536 characters.
    assert!(short.len() < 16_000, "{} characters", short.len());
}

#[test]
fn csv_for_a_spreadsheet() {
    check("report.csv", &csv(&report()));
}

/// The document without most of its bulk: one workload and load, one trial, short series.
#[test]
fn json_for_scripts() {
    let mut value: Value = serde_json::from_str(&json(&report())).expect("the report is JSON");
    assert_eq!(value["schema"], "bakeoff.report/1");
    for (list, kept) in [("cells", 1), ("comparisons", 2), ("trials", 1)] {
        let items = value[list].as_array_mut().expect("a list");
        assert!(items.len() > kept, "{list}");
        items.truncate(kept);
    }
    shorten(&mut value["trials"]);
    let pretty = serde_json::to_string_pretty(&value).expect("a value is JSON");
    check("report.json", &pretty);
}

/// Leaves three numbers of each list of numbers.
fn shorten(value: &mut Value) {
    match value {
        Value::Array(items) if items.iter().all(Value::is_number) => items.truncate(3),
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

#[test]
fn html_holds_the_record_and_nothing_that_runs_from_it() {
    let page = html(&report());
    assert!(page.contains("default-src 'none'"));
    assert!(!page.contains(bakeoff_testing::HOSTILE));
    assert!(page.contains("nginx-optimized"));
    let loads = ["src=\"http", "href=\"http", "@import", "url(http"];
    assert!(
        loads.iter().all(|one| !page.contains(one)),
        "the page would load something"
    );
}

#[test]
fn a_load_for_scripts_and_for_eyes() {
    let record = bakeoff_testing::record();
    let failing = record
        .trials
        .iter()
        .find(|trial| trial.id == "r1-nginx-default-synthetic-c200");
    let result = failing
        .and_then(|trial| trial.result.clone())
        .expect("it was measured");
    check("load.txt", &load_text(&result, None));
    let mut value = load_json(&result);
    value["intervals"]
        .as_array_mut()
        .expect("a list")
        .truncate(2);
    check(
        "load.json",
        &serde_json::to_string_pretty(&value).expect("a value is JSON"),
    );
}

/// An open loop whose server froze: some requests waited for a connection, some had no end.
#[test]
fn an_open_loop_with_requests_that_had_no_end() {
    let mut result = bakeoff_testing::open_loop_trial()
        .result
        .expect("it was measured");
    let requests = &mut result.requests;
    let gone = requests.ok / 50;
    (requests.due, requests.unended) = (Some(requests.ok + gone), Some(gone));
    result.at_least.record_n(400_000_000, gone);
    result.latency.record(1 << 43);
    result.outcomes.add(Outcome::ClosedEarly);
    result.observed.closed_early_after.record(2_100_000);
    let schedule = result.schedule.as_mut().expect("an open loop has one");
    schedule.wait.record_n(90_000_000, gone);
    check("load-open.txt", &load_text(&result, None));
    let value = load_json(&result);
    let bounds = &value["latency_ns"]["bounds"];
    assert_eq!(bounds["p50"]["high"].is_u64(), bounds["p50"].is_object());
    assert!(bounds["p99"]["low"].is_u64(), "{bounds}");
    assert_eq!(bounds["p99"]["high"], Value::Null);
    assert!(value["latency_ns"]["p99"].is_u64(), "the number stays");
    assert_eq!(value["latency_ns"]["over_range"], 1);
    assert_eq!(value["service_ns"]["over_range"], Value::Null);
    assert_eq!(value["requests"]["unended"], gone);
    assert_eq!(value["wait_ns"]["count"], gone);
    assert_eq!(value["due_parts"].as_array().map(Vec::len), Some(10));
    assert_eq!(value["observed"]["closed_early_after_ns"]["count"], 1);
    let freely = load_json(
        &bakeoff_testing::open_loop_trial()
            .result
            .expect("it was measured"),
    );
    assert!(
        freely["latency_ns"]["bounds"].is_null(),
        "nothing can move it"
    );
}

/// 4 answers in 10 s were "0 ok/s", and 2.6 a second were as many as 3.4.
#[test]
fn a_slow_rate_keeps_its_digits() {
    let mut result = bakeoff_testing::open_loop_trial()
        .result
        .expect("it was measured");
    result.measured_s = 10.0;
    (result.requests.ok, result.requests.completed) = (4, 34);
    let text = load_text(&result, None);
    assert!(text.starts_with("0.400 ok/s; "), "{text}");
    assert!(
        text.contains("rate         0.400 ok/s, 3.40 completed/s"),
        "{text}"
    );
}

#[test]
fn a_thin_tail_has_no_percentile() {
    let mut result = bakeoff_testing::open_loop_trial()
        .result
        .expect("it was measured");
    result.latency.clear();
    (1..=500).for_each(|ms| result.latency.record(ms * 1_000_000));
    let value = load_json(&result);
    // 25 of 500 lie beyond p95, 5 beyond p99.
    assert!(value["latency_ns"]["p95"].is_u64());
    assert_eq!(value["latency_ns"]["p99"], Value::Null);
    assert_eq!(value["load"]["model"], "open");
    assert_eq!(value["load"]["rate_per_s"], json!(500.0));
    assert_eq!(value["connect_ns"]["count"], 50);
    assert_eq!(value["handshake_ns"], Value::Null);
}
