//! What a terminal shows where there is little room, and that a full report leaves nothing out.

mod support;

use bakeoff_record::Record;
use bakeoff_report::view::{Report, view};
use bakeoff_report::{TextOptions, text};

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

/// "nginx-1.2…ptimized" stood above two columns.
#[test]
fn contenders_that_differ_in_the_middle_of_their_names_have_different_heads() {
    let names = [
        ("nginx-optimized", "nginx-1.24.0-optimized"),
        ("caddy-default", "nginx-1.26.3-optimized"),
    ];
    let report = view(&renamed(support::campaign(7), names));
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
