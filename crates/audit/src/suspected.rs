//! Which bottlenecks can be put to the test.

use bakeoff_plan::{Suspicion, distinct};
use bakeoff_record::Record;

use crate::confirmation::change_for;
use crate::judged::judged_cells;

/// Every suspected bottleneck of the contenders of a record that can be put to the test: those of
/// closed loops. Where the rate was given, it cannot follow, and one that was kept has no
/// bottleneck, whatever was busy.
pub fn suspected(record: &Record) -> Vec<Suspicion> {
    let mut all: Vec<Suspicion> = Vec::new();
    for cell in &judged_cells(record) {
        let mut trials = cell.cell.trials.iter();
        let can_follow = cell.is_contender() && trials.all(|trial| !trial.load.model.is_open());
        let Some(bottleneck) = cell.bottleneck.as_ref().filter(|_| can_follow) else {
            continue;
        };
        let key = &cell.cell.key;
        let crews = cell
            .cell
            .trials
            .iter()
            .filter_map(|trial| trial.work.as_ref());
        let crew = crews.filter_map(|work| work.crew.as_ref()).next();
        let also = bottleneck.also.iter().map(|cause| cause.name);
        let causes = std::iter::once(bottleneck.name).chain(also);
        for change in causes.filter_map(change_for) {
            all.push(Suspicion {
                contender: key.contender.clone(),
                workload: key.workload.clone(),
                load: key.load.clone(),
                change,
                workers: crew.map(|crew| crew.listening.max(1)),
            });
        }
    }
    distinct(all)
}
