//! How precise the comparisons of a campaign are, for a rule that adds rounds until they are, and
//! whether it lacks rounds.

use bakeoff_audit::{judge, widest_interval};
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
