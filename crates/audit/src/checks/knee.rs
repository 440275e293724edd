//! CPU time per request at several rates that a server kept up with (R33): work costs the same
//! however much of it there is, until something else is in the figure.

use bakeoff_stats::{Cell, Metric, median};

use crate::check::Check;
use crate::code::{Code, Level};
use crate::limits::{CPU_LEVEL_SHARE, STARTED_SHARE};

/// What the rate of `cell` says of CPU time per request beside the other rates of its contender
/// and workload; `None` where there are not two that were kept.
pub(crate) fn check(cell: &Cell<'_>, cells: &[Cell<'_>]) -> Option<Check> {
    let same = |other: &&Cell<'_>| {
        other.key.contender == cell.key.contender && other.key.workload == cell.key.workload
    };
    let here = cost(cell)?;
    let costs: Vec<f64> = cells.iter().filter(same).filter_map(cost).collect();
    if costs.len() < 2 {
        return None;
    }
    let usual = median(&costs)?;
    let away = here / usual - 1.0;
    let text = format!(
        "{:.1} µs of CPU time for each request, {:+.0} % of what it is over {} rates",
        here / 1e3,
        away * 100.0,
        costs.len()
    );
    let check = Check::passed(Code::CpuLevel, text);
    let check = check.worse_if(away.abs() > CPU_LEVEL_SHARE, Level::Note, "");
    Some(check.figures(away.abs(), CPU_LEVEL_SHARE))
}

/// CPU time per request of an open loop that was kept.
fn cost(cell: &Cell<'_>) -> Option<f64> {
    let kept = |trial: &bakeoff_record::TrialRecord| {
        let Some(result) = &trial.result else {
            return false;
        };
        let requests = &result.requests;
        let asked = requests.due.or(requests.planned);
        result.load.model.is_open()
            && asked.is_some_and(|due| requests.ok as f64 >= STARTED_SHARE * due as f64)
    };
    let mut measured = cell.measured();
    measured
        .all(kept)
        .then(|| cell.estimate(Metric::CpuNsPerRequest).ok())?
        .map(|one| one.point)
}
