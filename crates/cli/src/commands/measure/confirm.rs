//! `--confirm`: what limits a contender, put to the test after the rounds of a campaign.

use std::path::Path;

use bakeoff_conduct::{CampaignEnd, Event, Experiments, Means, confirm as conduct};
use bakeoff_plan::{Plan, Suspicion};
use bakeoff_record::{CONFIRM_FOLDER, Machine, Record, RecordFolder, TrialRecord};
use bakeoff_report::Redaction;

use super::places::Places;
use crate::commands::folder_error;
use crate::display::{Display, LineFor, spoken};
use crate::interrupt::Interrupt;
use crate::standings::Standings;
use crate::{exit, output};

/// Experiments of a campaign, at the most: each takes eighteen trials.
const EXPERIMENTS_MAX: usize = 12;

/// Puts each suspected bottleneck of the record at `path`, whose rounds are complete, to the test,
/// in a record within it.
pub(super) fn carry_out(
    path: &Path,
    places: &mut Places,
    interrupt: &Interrupt,
    redaction: Redaction,
) -> anyhow::Result<CampaignEnd> {
    let record = Record::read(path).map_err(folder_error)?;
    let plan = record.plan.clone();
    let suspicions = suspicions(&record);
    if suspicions.is_empty() {
        output::note("nothing to confirm: no bottleneck is suspected that can be put to the test");
        return Ok(CampaignEnd::Complete);
    }
    let experiments = Experiments::new(&plan, &suspicions, places.roles.allowed.clone());
    let expected = experiments.expected();
    output::note(&format!(
        "confirming {} of what limits contenders: {} more trials, about {}",
        suspicions.len(),
        expected.trials,
        spoken(expected.expected)
    ));
    let (mut folder, earlier) = folder(&path.join(CONFIRM_FOLDER), &plan, &record.machine)?;
    // A program that has changed since is found when it is held to the one of the rounds.
    let fixed = places.site.fix_programs(&plan, &record.trials);
    fixed.map_err(exit::usage)?;
    let standings = Standings::new(&plan, &[]);
    // Its trials are in no blocks.
    let mut display = Display::new(standings, LineFor::Trial, redaction);
    let mut on_event = |event: Event<'_>| display.show(&event);
    let mut means = Means {
        generators: places.generators(interrupt),
        site: &mut *places.site,
        stop: interrupt.flag(),
    };
    let end = conduct(
        &experiments,
        &mut folder,
        &mut means,
        &earlier,
        &mut on_event,
    );
    display.finish();
    Ok(end?)
}

/// What is suspected, as far as there is time for it.
fn suspicions(record: &Record) -> Vec<Suspicion> {
    let all = bakeoff_report::suspected(record);
    if all.len() > EXPERIMENTS_MAX {
        output::note(&format!(
            "{} bottlenecks are suspected; the first {EXPERIMENTS_MAX} of them are put to the test",
            all.len()
        ));
    }
    all.into_iter().take(EXPERIMENTS_MAX).collect()
}

/// The record of the experiments, new or as far as it came.
fn folder(
    path: &Path,
    plan: &Plan,
    machine: &Machine,
) -> anyhow::Result<(RecordFolder, Vec<TrialRecord>)> {
    if RecordFolder::is_at(path).map_err(folder_error)? {
        let folder = RecordFolder::open(path).map_err(folder_error)?;
        let trials = Record::read(path).map_err(folder_error)?.trials;
        return Ok((folder, trials));
    }
    let folder = RecordFolder::create(path, plan, machine).map_err(folder_error)?;
    Ok((folder, Vec::new()))
}
