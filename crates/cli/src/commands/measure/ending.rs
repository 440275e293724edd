//! How a campaign ends: its exit code, and in the last line why it is no valid measurement.

use bakeoff_report::Report;

use crate::commands::report::{self, Drawn};
use crate::commands::unanswered::unanswered;
use crate::flags::Format;
use crate::{exit, output};

/// The exit code of a campaign that was carried out to its end; where it is 4, the last line says
/// why.
pub(super) fn print(report: &Drawn, strict: bool, format: Format) -> u8 {
    let why = match report {
        Drawn::Rounds(report) => not_valid(report, strict, format),
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
