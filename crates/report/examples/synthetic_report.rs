//! Writes the report of a made-up campaign, for tests of the page and for looking at it:
//! `cargo run -p bakeoff-report --example synthetic_report -- report.html FORMAT`, which
//! is html, text, answer, md, full-md, csv or json; with
//! `ROUNDS`, `PROTOCOL`, `LOAD=constant`, `HOSTS=several`, `SIZE=large` (a thousand trials),
//! `STOPPED=halfway`, `LATE=CONTENDER` or `FAILED=CONTENDER` in the environment for another
//! campaign, and `COLUMNS` for the width of the answer.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a program, unlike the pure library"
)]

use bakeoff_plan::Protocol;
use bakeoff_report::{MarkdownOptions, TextOptions, csv, html, json, markdown, text, view};

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| "report.html".into());
    let rounds = std::env::var("ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(7);
    let protocol = std::env::var("PROTOCOL").unwrap_or_default();
    let named = Protocol::ALL.into_iter().find(|it| it.name() == protocol);
    let size = std::env::var("SIZE").unwrap_or_default();
    let constant = std::env::var("LOAD").is_ok_and(|load| load == "constant");
    let mut record = match named {
        _ if constant => bakeoff_testing::record_at_constant_rate(),
        Some(protocol) => bakeoff_testing::record_over(protocol),
        None if size == "large" => bakeoff_testing::large(),
        None if rounds > 3 => bakeoff_testing::campaign(rounds),
        None => bakeoff_testing::record_of_rounds(rounds),
    };
    if std::env::var("HOSTS").is_ok_and(|hosts| hosts == "several") {
        bakeoff_testing::measure_links(&mut record);
    }
    if std::env::var("STOPPED").is_ok_and(|stopped| stopped == "halfway") {
        record.trials.truncate(record.trials.len() / 2);
    }
    if let Ok(name) = std::env::var("LATE") {
        bakeoff_testing::answer_late(&mut record, &name);
    }
    record.machine.settings = bakeoff_testing::settings();
    if let Ok(name) = std::env::var("FAILED") {
        bakeoff_testing::fail(&mut record, &name);
    }
    let start = std::time::Instant::now();
    let mut report = view(&record);
    report.answer.record = Some("quick-20261121T040000Z".to_owned());
    let options = TextOptions {
        width: 160,
        colour: false,
        full: true,
        diffs: false,
        record: Some("bakeoff-results/synthetic"),
        needed_again: None,
    };
    let width = std::env::var("COLUMNS").ok();
    let width = width.and_then(|width| width.parse().ok()).unwrap_or(80);
    let drawn = match arguments.next().as_deref() {
        Some("md") => markdown(&report, MarkdownOptions { full: false }),
        Some("full-md") => markdown(&report, MarkdownOptions { full: true }),
        Some("csv") => csv(&report),
        Some("json") => json(&report),
        Some("text") => text(&report, options),
        Some("answer") => text(
            &report,
            TextOptions {
                width,
                full: false,
                ..options
            },
        ),
        _ => html(&report),
    };
    let (bytes, took) = (drawn.len(), start.elapsed());
    eprintln!("{} trials, {bytes} bytes in {took:?}", record.trials.len());
    std::fs::write(path, drawn)
}
