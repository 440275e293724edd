//! How a campaign ends: its exit code, and in the last line why it is no valid measurement.

use std::collections::BTreeMap;
use std::path::Path;

use bakeoff_record::shell_path;
use bakeoff_report::{FindReport, FoundRow, OwnReport as _, Report};

use crate::commands::report::{self, Drawn};
use crate::commands::unanswered::unanswered;
use crate::flags::Format;
use crate::{exit, output};

/// The exit code of a campaign that was carried out to its end; where it is 4, the last line says
/// why.
pub(super) fn print(report: &Drawn, strict: bool, format: Format) -> u8 {
    let why = match report {
        Drawn::Rounds(report) => not_valid(report, strict, format),
        Drawn::Search(report) => report.why_not_valid(strict),
        Drawn::Own(report) => report.why_not_valid(strict),
    };
    match why {
        None => exit::DONE,
        Some(why) => {
            output::note(&format!("not a valid measurement: {why}"));
            exit::NOT_VALID
        }
    }
}

/// Why rounds are no valid measurement.
fn not_valid(found: &Report, strict: bool, format: Format) -> Option<String> {
    unanswered(found)
        .or_else(|| report::no_answer(found))
        .or_else(|| match (report::exit_code(found, strict), strict) {
            (exit::NOT_VALID, true) => Some("not every cell is valid, as --strict asks".to_owned()),
            (exit::NOT_VALID, false) => {
                let why = "no rate, latency or CPU time of any contender can be relied on";
                Some(why.to_owned())
            }
            _ => report::failures(found, format),
        })
}

/// What goes on with a search at `path`: with twice the time where time ended before its bounds
/// were near enough and confirmed, and with the same where a contender ceased to run.
/// `needed_again` is the flags that it takes besides. `None` where nothing is left.
pub(super) fn longer(report: &FindReport, path: &Path, needed_again: &str) -> Option<String> {
    let resume = format!("bakeoff find --resume {}", shell_path(path));
    let mut rows = report.contenders.iter();
    let Some(spent) = rows.find(|row| row.takes_more_time()) else {
        let is_open = report.contenders.iter().any(FoundRow::is_unfinished);
        return is_open.then(|| format!("{resume}{needed_again}"));
    };
    let search = &spent.goal.search;
    // Its goals share the time of a contender at a workload.
    let cells = report.contenders.iter();
    let cells = cells.filter(|row| row.goal.search == *search);
    let cells = cells.map(|row| ((&row.contender, &row.workload), row.behind.budget_s));
    let cells: BTreeMap<_, _> = cells.collect();
    let minutes = (cells.values().sum::<f64>() * 2.0 / 60.0).ceil().max(1.0);
    Some(format!("{resume} --budget {minutes}m{needed_again}"))
}
