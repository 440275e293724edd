//! How precise the comparisons of a campaign are, for a rule that adds rounds until they are, and
//! whether it lacks rounds.

use bakeoff_audit::{GateRow, Gates, compare_contenders, judge, widest_interval};
use bakeoff_record::Record;

/// How far the widest interval of any tested comparison reaches to either side, as a share (0.03
/// is 3 %); `None` where nothing is tested, and where a number lacks undisturbed rounds that more
/// of them may bring: what is not compared has no width, and would not be waited for. That goes by
/// what the machine did, never by the result of a comparison (R26). What is shown without a test
/// has no say.
pub fn widest(record: &Record) -> Option<f64> {
    let judged = judge(record);
    if judged.rounds_enough.is_some() {
        return None;
    }
    widest_interval(&judged.comparisons)
}

/// Whether a campaign without a stopping rule goes on: a number lacks rounds that can be believed,
/// and those that the plan may still add would be enough. Values have no say in it.
pub fn awaits_rounds(record: &Record) -> bool {
    let most = record.plan.rounds_at_most();
    let enough = judge(record).rounds_enough;
    enough.is_some_and(|enough| enough <= most)
}

/// What [`widest`] is, of what gates hold against the first contender and of nothing else. The
/// interval of a gate that allows more counts for less, in proportion to the strictest. It goes by
/// widths alone, never by the result of a gate, so that it favours neither end (R26). What more
/// rounds cannot decide has no say; `None` where a number is missing that more rounds may bring.
pub fn widest_gated(record: &Record, gates: &Gates) -> Option<f64> {
    let judged = judge(record);
    let contenders = record.plan.contenders.iter();
    let names: Vec<&str> = contenders.map(|one| one.name.as_str()).collect();
    let (first, seconds) = names.split_first()?;
    let strictest = gates.strictest()?;
    let mut widest: f64 = 0.0;
    for row in compare_contenders(record, &judged, first, seconds, gates).ok()? {
        let Some(gate) = row.gate else { continue };
        // They are awaited whatever is seen in those that there are.
        if row.rounds_enough.is_some() {
            return None;
        }
        match half_width(&row) {
            Some(half) => widest = widest.max(half * strictest / gate),
            None if row.rounds_needed.is_some() => return None,
            None => {}
        }
    }
    Some(widest)
}

fn half_width(row: &GateRow) -> Option<f64> {
    let worse = row.worse?;
    Some((worse.high? - worse.low?) / 2.0)
}
