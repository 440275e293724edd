//! Servers that answered late after their load, or not at all. It takes nothing away from the
//! numbers, and says of a server what none of them does.

use bakeoff_audit::{Code, Level};

use super::cell::Cell;

/// Time from which on a server's first answer after its load is late enough to be named, seconds.
pub const LATE_S: f64 = 5.0;

/// A sentence for each contender's cell in which that was so.
pub(super) fn late(cells: &[Cell]) -> Vec<String> {
    let cells = cells.iter().filter(|cell| cell.is_contender());
    let late = cells.flat_map(|cell| {
        let checks = cell.verdict.checks.iter();
        let late = checks.filter(|check| {
            let is_late = check.value.is_some_and(|seconds| seconds >= LATE_S);
            check.code == Code::Recovered && check.level > Level::Passed && is_late
        });
        late.map(move |check| (cell, check))
    });
    let sentence = |(cell, check): (&Cell, &bakeoff_audit::Check)| {
        let (name, workload, load) = (&cell.contender, &cell.workload, &cell.load);
        format!("{name} at {workload}, {load}: {}.", check.text)
    };
    late.map(sentence).collect()
}
