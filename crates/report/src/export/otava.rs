//! A line for the CSV files that Otava looks for changes in: one for each record.

use super::points;
use crate::csv::quoted;
use crate::safe::plain;
use crate::view::Report;

/// Names and one line of values: the campaign's start and every valid number. To follow a server,
/// append the second lines of its records to one file.
pub fn otava(report: &Report) -> String {
    let points = points(report);
    let names = points.iter().map(|point| {
        let name = format!("{}/{}", point.name(), point.measure.name());
        quoted(&plain(&name))
    });
    let values = points.iter().map(|point| point.estimate.point.to_string());
    let names: Vec<String> = std::iter::once("time".to_owned()).chain(names).collect();
    let time = quoted(&plain(&report.campaign.machine.started_at));
    let values: Vec<String> = std::iter::once(time).chain(values).collect();
    format!("{}\n{}\n", names.join(","), values.join(","))
}
