//! What actions cost, in every format, from a made-up record.
//!
//! When a change is wanted: `BLESS=1 cargo test --workspace --test it change`, then read the
//! difference.

use bakeoff_plan::Action;
use bakeoff_record::{ActionDone, Lost, LostAt, Outcome, Record};
use bakeoff_report::{ChangeReport, OwnReport, Redacted, TextOptions, change_view};
use bakeoff_testing::{HOSTILE, changed};

use crate::goldens::check;

const OPTIONS: TextOptions<'_> = TextOptions {
    width: 120,
    colour: false,
    full: true,
    diffs: false,
    record: None,
    needed_again: None,
};

fn view(record: Record) -> ChangeReport {
    change_view(&Redacted::hidden(record)).expect("it is of a change")
}

fn actions(record: &mut Record, action: Action) -> impl Iterator<Item = &mut ActionDone> {
    let trials = record.trials.iter_mut();
    let all = trials.flat_map(|trial| &mut trial.actions);
    all.filter(move |done| done.action == action)
}

#[test]
fn every_format_is_as_it_was() {
    let report = view(changed());
    check("change.txt", &report.text(OPTIONS));
    check("change.md", &report.markdown(false));
    check("change.csv", &report.csv());
    check("change.html", &report.html());
    check("change.json", &report.json());
    assert_eq!(report.why_not_valid(false), None);
    assert!(report.why_not_valid(true).is_some());
}

#[test]
fn a_record_without_actions_has_none() {
    assert!(change_view(&Redacted::hidden(bakeoff_testing::record())).is_none());
}

#[test]
fn what_is_lost_without_an_action_is_said_first() {
    let mut record = changed();
    for done in actions(&mut record, Action::None) {
        done.lost.push(Lost {
            at: LostAt::Kept,
            outcome: Outcome::Reset,
            requests: 1,
        });
    }
    let report = view(record);
    let said =
        "Without it 10 of 10,000 requests get lost too, so what it lost cannot be distinguished.";
    assert!(report.answer[0].ends_with(said), "{:?}", report.answer);
    assert!(report.why_not_valid(false).is_some());
}

#[test]
fn nothing_that_a_server_or_a_command_wrote_becomes_markup() {
    let mut record = changed();
    for done in actions(&mut record, Action::Reload) {
        done.failed = Some(format!("{HOSTILE}\u{1b}[31m"));
    }
    let report = view(record);
    assert!(!report.html().contains(HOSTILE));
    assert!(!report.text(OPTIONS).contains('\u{1b}'));
    let why = report
        .why_not_valid(false)
        .expect("no reload was carried out");
    assert!(why.contains("no reload could be carried out"), "{why}");
}
