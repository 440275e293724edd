//! What may limit the contenders of a record, for whoever puts that to the test.

use bakeoff_audit::{Suspected, judge};
use bakeoff_record::Record;

/// Suspected bottlenecks for which it is known what to change.
pub fn suspected(record: &Record) -> Vec<Suspected> {
    bakeoff_audit::suspected(&judge(record))
}
