//! What may limit the contenders of a record, for the experiments of `--confirm`.

use bakeoff_audit::{Suspected, judge};
use bakeoff_record::Record;

/// Suspected bottlenecks for which it is known what to change.
pub fn suspected(record: &Record) -> Vec<Suspected> {
    bakeoff_audit::suspected(&judge(record))
}
