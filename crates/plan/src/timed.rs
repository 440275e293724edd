//! The order of a campaign that time ends.
//!
//! Closed loops come first, two rounds of them: what differs much is decided by then. A block is
//! begun where the time that is left allows for it, and in the first round in any case. Who is
//! decided is measured no more.

use std::time::Duration;

use crate::course::Budget;
use crate::load::Load;
use crate::model::{Plan, Workload};
use crate::order::{block, cells, expected};
use crate::trial::{Group, Trial};

/// The next trial of a campaign that time ends; `None` where its time is over, or nobody is left.
/// Groups before `from` are over. `took` is the time of its trials so far. Of a trial `has_ended`
/// says whether it is over, and `stays` whether its contender is still measured there in its round.
pub fn next_timed(
    plan: &Plan,
    from: Option<Group>,
    took: Duration,
    has_ended: &dyn Fn(&Trial) -> bool,
    stays: &dyn Fn(&Trial) -> bool,
) -> Option<Trial> {
    let left = plan.budget?.now.saturating_sub(took);
    let mut too_long = None;
    let cells = cells(plan);
    for place in 0..2 * Budget::ROUNDS_MAX {
        let group = Group { place };
        if Some(group) < from {
            continue;
        }
        let (round, is_open) = group.is();
        // What comes after a block that is too long is as long, but for that of its own round.
        if too_long.is_some_and(|before| before < round) {
            return None;
        }
        let of_group = cells
            .iter()
            .filter(|(_, load)| is_open_loop(load) == is_open);
        for (workload, load) in of_group {
            let trials = staying(plan, (round, workload, load), stays);
            let Some(next) = trials.iter().find(|trial| !has_ended(trial)) else {
                continue;
            };
            // A campaign of one round says more than none.
            let is_begun = round == 1 || trials.iter().any(has_ended);
            let needs: Duration = trials.iter().map(|trial| expected(plan, trial)).sum();
            if is_begun || needs <= left {
                return Some(next.clone());
            }
            too_long.get_or_insert(round);
        }
    }
    None
}

fn is_open_loop(load: &Load) -> bool {
    load.model.is_open()
}

/// The trials of a block whose contenders are still measured there. References are measured for
/// them, and so is the control for the contender that it repeats.
fn staying(
    plan: &Plan,
    (round, workload, load): (u32, &Workload, &Load),
    stays: &dyn Fn(&Trial) -> bool,
) -> Vec<Trial> {
    let is_contender = |trial: &Trial| !trial.is_control && !trial.contender.server.is_built_in();
    let mut trials = block(plan, round, workload, load, 0);
    let left: Vec<String> = trials
        .iter()
        .filter(|trial| is_contender(trial) && stays(trial))
        .map(|trial| trial.contender.name.clone())
        .collect();
    trials.retain(|trial| {
        if is_contender(trial) {
            left.contains(&trial.contender.name)
        } else if trial.is_control {
            plan.contenders
                .first()
                .is_some_and(|first| left.contains(&first.name))
        } else {
            !left.is_empty()
        }
    });
    trials
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::tests::builtin;

    /// The trials of a campaign whose trials each take what is expected.
    fn carried_out(plan: &Plan, stays: &dyn Fn(&Trial) -> bool) -> Vec<Trial> {
        let (mut ended, mut took): (Vec<Trial>, _) = (Vec::new(), Duration::ZERO);
        loop {
            let has_ended = |trial: &Trial| ended.iter().any(|one| one.id == trial.id);
            let Some(next) = next_timed(plan, None, took, &has_ended, stays) else {
                return ended;
            };
            took += expected(plan, &next);
            ended.push(next);
        }
    }

    #[test]
    fn groups_are_in_the_order_of_their_places() {
        let plan = builtin("quick");
        let [closed, open] = [0, 1].map(|at| &plan.loads[at].model);
        let order = [
            (1, closed, false),
            (2, closed, false),
            (1, open, true),
            (2, open, true),
            (3, closed, false),
            (3, open, true),
            (4, closed, false),
        ];
        for (place, (round, model, is_open)) in order.into_iter().enumerate() {
            let group = Group::of(round, model);
            assert_eq!(group.place as usize, place);
            assert_eq!(group.is(), (round, is_open));
        }
    }

    #[test]
    fn closed_loops_come_first_and_the_time_is_kept() {
        let plan = builtin("quick");
        let trials = carried_out(&plan, &|_| true);
        let all: Duration = trials.iter().map(|trial| expected(&plan, trial)).sum();
        assert!(all <= plan.budget.expect("it has one").now, "{all:?}");
        let groups: Vec<Group> = trials
            .iter()
            .map(|trial| Group::of(trial.round, &trial.load.model))
            .collect();
        assert!(groups.is_sorted(), "{groups:?}");
        assert!(trials.iter().all(|trial| trial.attempt == 1));
    }

    #[test]
    fn who_is_decided_leaves_and_takes_what_is_measured_for_it_along() {
        let plan = builtin("quick");
        let first = plan.contenders[0].name.clone();
        let stays = |trial: &Trial| trial.round < 2 || trial.contender.name != first;
        let trials = carried_out(&plan, &stays);
        let of_second = trials.iter().filter(|trial| trial.round == 2);
        assert!(of_second.clone().count() > 0);
        for trial in of_second {
            assert!(
                trial.contender.name != first && !trial.is_control,
                "{}",
                trial.id
            );
        }
        let nobody = carried_out(&plan, &|trial| trial.round < 2);
        assert!(nobody.iter().all(|trial| trial.round == 1));
    }

    #[test]
    fn a_block_that_was_begun_is_finished_whatever_time_is_left() {
        let plan = builtin("quick");
        let all = carried_out(&plan, &|_| true);
        let late = Duration::from_secs(10_000);
        let first = all
            .iter()
            .position(|trial| trial.round == 2)
            .expect("two rounds");
        for (ended, is_over) in [(1, false), (first, false), (first + 1, false)] {
            let has_ended = |trial: &Trial| all[..ended].iter().any(|one| one.id == trial.id);
            let next = next_timed(&plan, None, late, &has_ended, &|_| true);
            assert_eq!(next.is_none(), is_over, "{ended}");
        }
        // After the first round nothing more is begun.
        let has_ended = |trial: &Trial| trial.round == 1;
        assert_eq!(next_timed(&plan, None, late, &has_ended, &|_| true), None);
    }
}
