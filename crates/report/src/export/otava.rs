//! A line for the CSV files that Otava looks for changes in: one for each record.

use bakeoff_stats::Metric;

use super::{fitting, name_of, point};
use crate::csv::quoted;
use crate::safe::plain;
use crate::view::{Cell, Report};

/// Names and one line of values: the campaign's start and every number, `nan` where it is not
/// valid. So all records of a plan have the same columns, and to follow a server, the second lines
/// of its records are appended to one file.
pub fn otava(report: &Report) -> String {
    let columns = fitting(report);
    let names = columns.iter().map(|(cell, measure)| {
        let name = format!("{}/{}", name_of(cell), measure.name());
        quoted(&plain(&name))
    });
    // Otava reads values with Python's `float`, which takes no empty field.
    let values = columns.iter().map(|(cell, measure)| {
        point(cell, *measure).map_or_else(|| "nan".to_owned(), |it| it.estimate.point.to_string())
    });
    let names: Vec<String> = std::iter::once("time".to_owned()).chain(names).collect();
    let time = quoted(&plain(&report.campaign.machine.started_at));
    let values: Vec<String> = std::iter::once(time).chain(values).collect();
    format!("{}\n{}\n", names.join(","), values.join(","))
}

/// How many of its values are `nan`, and how many values there are. Otava finds no change in a
/// column with one: it fills in what is missing, and takes `nan` for a number.
pub fn otava_holes(report: &Report) -> (usize, usize) {
    let columns = fitting(report);
    let is_hole = |(cell, measure): &&(&Cell, Metric)| point(cell, *measure).is_none();
    (columns.iter().filter(is_hole).count(), columns.len())
}
