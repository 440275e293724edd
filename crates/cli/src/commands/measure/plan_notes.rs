//! What a plan does without saying so: printed before it runs and when it is listed.

use bakeoff_plan::{Plan, distinct, why_no_references};
use bakeoff_report::Redaction;

use crate::output;

/// Prints each as a line of its own.
pub(crate) fn print(plan: &Plan, redaction: &Redaction) {
    let notes = of(plan);
    notes
        .iter()
        .for_each(|note| output::note(&redaction.line(note)));
}

fn of(plan: &Plan) -> Vec<String> {
    let references = &plan.references;
    let mut notes = Vec::new();
    for workload in &plan.workloads {
        let wanted = references.yardstick || (references.origin && workload.proxied);
        if let Some(why) = why_no_references(workload).filter(|_| wanted) {
            notes.push(format!("no references beside {}: {why}", workload.name));
        }
        // A workload over several protocols has the same ones over each.
        notes.extend(workload.notes.iter().cloned());
    }
    distinct(notes)
}
