//! How precise the comparisons of a campaign are, for a rule that adds rounds until they are.

use bakeoff_audit::{judge, widest_interval};
use bakeoff_record::Record;

/// How far the widest interval of any tested comparison reaches to either side, as a share (0.03
/// is 3 %); `None` where nothing is tested. What is shown without a test has no say.
pub fn widest(record: &Record) -> Option<f64> {
    widest_interval(&judge(record).comparisons)
}
