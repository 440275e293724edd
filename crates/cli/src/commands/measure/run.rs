//! `bakeoff run`: carries out a plan, records its trials and prints the report.
//!
//! Other commands that run a campaign, such as `race`, make a plan of their flags and call
//! [`campaign`] as well. The order of trials and what happens in each are in `conduct`; the report
//! is drawn by `report`.

use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

use bakeoff_conduct::{CampaignEnd, Event, Options, Roles, Rules, Site, carry_out as conduct};
use bakeoff_plan::{Contender, Overrides, Plan, RoundsAsked, ServerChoice, format_duration};
use bakeoff_record::{
    FolderError, Machine, Record, RecordFolder, TrialRecord, Warning, When, replace_private,
    shell_path,
};
use bakeoff_report::{Redaction, Settled, UnequalWork};

use super::destination::Destination;
use super::findings::refuse_what_cannot_run;
use super::gated::Gated;
use super::places::Places;
use super::resumed::{self, Resumed, resume};
use super::run_hosts::Far;
use super::saved_plan::{self, SavedPlan};
use super::{confirm, ending, first, invented, plan_notes};
use crate::campaigns::{Place, WhileOthersRun};
use crate::commands::folder_error;
use crate::commands::report::{self, Drawn, PAGE_FILE};
use crate::display::{Display, LineFor};
use crate::flags::{Format, RunFlags};
use crate::interrupt::Interrupt;
use crate::library::Folder;
use crate::metrics::{CampaignMetrics, Endpoint};
use crate::record_place::RecordPlace;
use crate::run_folder::RunFolder;
use crate::standings::Standings;
use crate::{exit, output};

/// What it may take to write it after an interruption, seconds.
const PAGE_WITHIN_S: u64 = 3;

pub(crate) fn carry_out(flags: &RunFlags) -> anyhow::Result<u8> {
    let library = Folder::of(&flags.plan.library)?.far(flags.far.hosts.is_some());
    let resumed = flags.resume.as_deref().map(resume).transpose()?;
    let plan = match &resumed {
        Some((_, record)) => longer(&record.plan, flags)?,
        None => library
            .plan(&flags.plan)?
            .with(&stopping_rule(flags))
            .map_err(exit::usage)?,
    };
    if flags.stopping.confirm && !plan.question().has_rounds() {
        return Err(exit::usage(
            "--confirm is for plans with rounds; a search confirms its bounds by longer trials, as \
             the key `confirm` of its plan says",
        ));
    }
    let goes_on = resumed.as_ref().map(|(_, record)| record);
    let shown = Destination::shown(flags.others, flags.format, flags.full, flags.strict);
    let destination = Destination {
        record: flags.resume.clone().or(flags.out.clone()),
        confirm: flags.stopping.confirm,
        show_secrets: flags.show_secrets,
        far: flags.far.clone(),
        metrics: flags.metrics,
        gated: Gated::of(&flags.held.gated, flags.held.baseline.as_deref(), goes_on)?,
        ..shown
    };
    campaign(plan, resumed, &library, &destination)
}

/// Carries a plan out, records and reports it.
pub(super) fn campaign(
    plan: Plan,
    resumed: Option<Resumed>,
    library: &Folder,
    destination: &Destination,
) -> anyhow::Result<u8> {
    let endpoint = destination.metrics.map(Endpoint::open).transpose()?;
    let path = destination.path(&plan)?;
    // Before anything is waited for.
    refuse_at_once(destination, &plan, resumed.as_ref(), &path)?;
    let interrupt = Interrupt::listen_with_limit()?;
    let Some(place) = Place::take(WhileOthersRun::from(destination.others), &interrupt)? else {
        output::note("interrupted; nothing was measured");
        return Ok(exit::INTERRUPTED);
    };
    let scratch = RunFolder::make()?;
    let earlier = resumed.as_ref().map(|(_, record)| record.trials.as_slice());
    let earlier = earlier.unwrap_or_default();
    let places = Places::of(
        &destination.far,
        &plan,
        earlier,
        library,
        &scratch,
        &interrupt,
    )?;
    let place_is_new = resumed.is_none();
    let _record_place = place_is_new.then(|| RecordPlace::make(&path)).transpose()?;
    let findings = places.findings(&plan, earlier)?;
    if interrupt.came() {
        output::note("interrupted before the first trial");
        return Ok(exit::INTERRUPTED);
    }
    let redaction = redaction(&plan, earlier, destination.show_secrets);
    refuse_what_cannot_run(&plan, &findings, &redaction)?;
    let saved = SavedPlan::write(&plan.to_toml(), destination.save_plan.as_deref())?;
    let plan = if earlier.is_empty() {
        let least = destination.answering_least;
        first::look(plan, &findings, least, &*places.site, &redaction)?
    } else {
        plan
    };
    let machine = places.machine();
    destination.gated.refuse_unlike(&machine, &plan)?;
    plan_notes::print(&plan, &redaction);
    let (mut folder, earlier) = folder(resumed, &path, &plan, &machine)?;
    saved.keep();
    if let Some(addresses) = places.far.as_ref().and_then(Far::addresses) {
        folder.hide(addresses.clone());
    }
    let needed_again = resumed::needed_again(destination, library);
    let resume = resumed::command(&plan, &path, &needed_again);
    interrupt.say_last(&format!("interrupted; {}", what_is_kept(&earlier, &resume)));
    let begun = Begun {
        resume: &resume,
        plan: &plan,
        path: &path,
        destination,
        interrupt: &interrupt,
        redaction,
    };
    let warnings = place.others.iter().map(disturbed_by).collect();
    let end = begun.carry_out(folder, earlier, places, warnings, endpoint)?;
    finish(destination, &path, &end, &resume, &needed_again)
}

/// Refuses what is wrong whatever the machine is like: the record at `path`, which is there
/// already or goes on, and what flags ask of the plan.
fn refuse_at_once(
    destination: &Destination,
    plan: &Plan,
    resumed: Option<&Resumed>,
    path: &Path,
) -> anyhow::Result<()> {
    saved_plan::refuse_taken(destination.save_plan.as_deref())?;
    match resumed {
        // First, as processors of another host may not be there here.
        Some((_, record)) => {
            invented::refuse_to_mix(record)?;
            resumed::refuse_elsewhere(path, record, destination)?;
        }
        None if RecordFolder::is_at(path).map_err(folder_error)? => {
            return Err(folder_error(FolderError::Exists(path.to_owned())));
        }
        None => {}
    }
    if destination.far.hosts.is_none() && !invented::is_asked_for() {
        Roles::divide(&plan.pinning).map_err(exit::usage)?;
    }
    let is_contained = |it: &Contender| matches!(it.server, ServerChoice::Container(_));
    if destination.far.hosts.is_some() && plan.contenders.iter().any(is_contained) {
        return Err(exit::usage(
            "containers are measured from inside their network, so their load cannot come from \
             another host: leave --hosts out, or publish a port and name its URL",
        ));
    }
    report::refuse_without_rounds(destination.format, plan.question())?;
    report::refuse_files(destination.format)?;
    destination.gated.refuse_what_fits_nothing(plan)
}

/// The record that goes on, with the plan as it is now, and its trials; or a new one.
fn folder(
    resumed: Option<Resumed>,
    path: &Path,
    plan: &Plan,
    machine: &Machine,
) -> anyhow::Result<(RecordFolder, Vec<TrialRecord>)> {
    let Some((folder, record)) = resumed else {
        let folder = RecordFolder::create(path, plan, machine).map_err(folder_error)?;
        return Ok((folder, Vec::new()));
    };
    if record.plan != *plan {
        folder.replace_plan(plan).map_err(folder_error)?;
    }
    Ok((folder, record.trials))
}

/// Reports on what was measured. The answer is printed where its page cannot be written, too.
fn finish(
    destination: &Destination,
    path: &Path,
    end: &CampaignEnd,
    resume: &str,
    needed_again: &str,
) -> anyhow::Result<u8> {
    let record = Record::read(path)?;
    let kept = what_is_kept(&record.trials, resume);
    let redacted = report::redacted(record, destination.show_secrets);
    let report = Drawn::of(&redacted, path);
    let page = write_page(&report, path);
    let has_page = page.is_ok();
    let shown = report::Shown {
        format: destination.format,
        full: destination.full,
        diffs: false,
        record: path.display().to_string(),
        page: has_page.then(|| path.join(PAGE_FILE)),
        needed_again: Some(needed_again.to_owned()),
        is_printed: true,
    };
    let printed = report
        .shown(&shown)
        .and_then(|text| Ok(output::document(&text)?));
    if printed.is_ok() {
        // The campaign has an exit code of its own.
        report::gaps(&report, destination.format);
    }
    if *end != CampaignEnd::Interrupted {
        // A terminal that was closed may be what interrupted it.
        printed?;
    }
    let is_in_text = destination.format == Format::Text && matches!(report, Drawn::Rounds(_));
    if !is_in_text && has_page {
        output::note(&format!("\nreport: {}", path.join(PAGE_FILE).display()));
    }
    if let Some(held) = bakeoff_report::holdings(&redacted) {
        let record = shell_path(path);
        output::note(&format!(
            "{held}; `bakeoff report {record} --share DIR` writes a copy without them"
        ));
    }
    match end {
        CampaignEnd::Complete => {}
        CampaignEnd::Interrupted => {
            output::note(&format!("interrupted; {kept}"));
            return Ok(exit::INTERRUPTED);
        }
        CampaignEnd::HostLost(why) => {
            output::note(&format!("not a valid measurement: {why}; {kept}"));
            return Ok(exit::NOT_VALID);
        }
    }
    if let Some(plan) = &destination.repeat {
        let plan = shell_path(plan);
        output::note(&format!("repeat it: bakeoff run {plan}{needed_again}"));
    }
    if let Drawn::Own(report) = &report
        && let Some(flags) = report.flags_to_go_on()
    {
        let record = shell_path(path);
        output::note(&format!(
            "next: bakeoff find --resume {record}{flags}{needed_again}"
        ));
    }
    page?;
    let otherwise = ending::print(&report, destination.strict, destination.format);
    match &report {
        Drawn::Rounds(_) => destination.gated.conclude(path, otherwise),
        Drawn::Own(_) => Ok(otherwise),
    }
}

/// Another campaign that runs is noted for the person here, and in every trial.
fn disturbed_by(other: &String) -> Warning {
    output::note(&format!("beside another campaign: {other}"));
    Warning {
        code: "other-campaign".to_owned(),
        text: format!("another campaign was running on this machine: {other}"),
        hint: "measure again while no other campaign runs".to_owned(),
    }
}

/// A campaign whose first trial is about to begin.
struct Begun<'a> {
    /// The command that goes on with it.
    resume: &'a str,
    plan: &'a Plan,
    path: &'a Path,
    destination: &'a Destination,
    interrupt: &'a Interrupt,
    redaction: Redaction,
}

impl Begun<'_> {
    /// Carries out what is planned and what comes behind it.
    fn carry_out(
        self,
        mut folder: RecordFolder,
        earlier: Vec<TrialRecord>,
        mut places: Places,
        warnings: Vec<Warning>,
        endpoint: Option<Endpoint>,
    ) -> anyhow::Result<CampaignEnd> {
        let interrupt = self.interrupt;
        let options = Options {
            stop: interrupt.flag(),
            earlier,
            roles: places.roles.clone(),
            generators: places.generators(interrupt),
            warnings,
        };
        let mut end = self.measure(&mut folder, &*places.site, options, endpoint)?;
        if self.destination.confirm && end == CampaignEnd::Complete {
            end = confirm::carry_out(self.path, &mut places, interrupt, self.redaction)?;
        }
        if let Some(far) = places.far.filter(|_| end == CampaignEnd::Complete) {
            let links = far.links(When::After, &|| interrupt.came());
            folder.keep_links(links).map_err(folder_error)?;
        }
        // For the page, which should be whole.
        interrupt.take_time(PAGE_WITHIN_S);
        // A request to stop may have come when the last trial was measured and its server was about
        // to stop.
        Ok(if interrupt.came() {
            CampaignEnd::Interrupted
        } else {
            end
        })
    }

    /// Carries out the plan and shows how it goes.
    fn measure(
        &self,
        folder: &mut RecordFolder,
        site: &dyn Site,
        options: Options,
        endpoint: Option<Endpoint>,
    ) -> anyhow::Result<CampaignEnd> {
        let (plan, path) = (self.plan, self.path);
        let mut unequal = UnequalWork::new(plan.clone(), &options.earlier);
        let standings = Standings::new(plan, &options.earlier);
        let mut display = Display::new(standings, LineFor::of(plan), self.redaction.clone());
        display.note(&format!("record: {}", path.display()));
        if let Some(endpoint) = &endpoint {
            display.note(&endpoint.notice());
        }
        let mut metrics = endpoint.map(CampaignMetrics::serve).transpose()?;
        // What was measured is on the disk, so that a campaign keeps little of it in memory.
        let read = || Record::read(path).ok();
        let mut course = self.destination.gated.course();
        let settled = RefCell::new(Vec::new());
        let rules = Rules {
            widest: Box::new(|_| self.destination.gated.widest(&read()?)),
            next: Box::new(|recorded| {
                let next = course.next_trial(plan, recorded, read);
                settled.borrow_mut().extend(course.settled());
                next
            }),
        };
        let end = conduct(plan, folder, site, options, rules, &mut |event| {
            for together in settled.take().chunk_by(|one, next| one.round == next.round) {
                display.note(&needed_no_more(together));
            }
            display.show(&event);
            if let Some(metrics) = &mut metrics {
                metrics.hear(&event);
            }
            if let Event::Ended(trial) = &event
                && trial.result.is_some()
            {
                let kept = what_is_kept(std::slice::from_ref(*trial), self.resume);
                self.interrupt.say_last(&format!("interrupted; {kept}"));
            }
            if let Event::Observed(trial) = &event {
                let lines = unequal.observed(trial);
                lines.iter().for_each(|line| display.note(line));
            }
        });
        display.finish();
        Ok(end?)
    }
}

/// What a campaign that was stopped leaves, and the command that goes on.
fn what_is_kept(trials: &[TrialRecord], resume: &str) -> String {
    let is_measured = |trial: &TrialRecord| trial.result.is_some();
    if trials.iter().any(is_measured) {
        format!("what was measured is kept, `{resume}` goes on")
    } else {
        format!("nothing was measured yet, `{resume}` begins with it")
    }
}

/// What was measured enough, by its last round.
fn needed_no_more(settled: &[Settled]) -> String {
    let round = settled.first().map_or(0, |one| one.round);
    let names = settled
        .iter()
        .map(|one| format!("{} {}", one.workload, one.load));
    let names: Vec<String> = names.collect();
    format!("measured enough after round {round}: {}", names.join(", "))
}

/// The stored plan of a campaign that goes on, with the rounds that flags ask for.
fn longer(plan: &Plan, flags: &RunFlags) -> anyhow::Result<Plan> {
    let rule = stopping_rule(flags);
    if let Some(length) = flags.stopping.budget {
        return longer_by_time(plan, length);
    }
    let by_rounds = flags.plan.rounds.is_some() || flags.stopping.until.is_some();
    if by_rounds && !plan.has_fixed_rounds() {
        return Err(exit::usage(
            "time ends this campaign, and its looks have spent what a number of rounds would have \
             to err; go on with --budget",
        ));
    }
    if let Some(rounds) = flags.plan.rounds.filter(|rounds| *rounds < plan.rounds) {
        return Err(exit::usage(format!(
            "--rounds {rounds} is fewer than the {} of the record; rounds can only be added",
            plan.rounds
        )));
    }
    if flags.plan.rounds.is_none() && rule == Overrides::default() {
        return Ok(plan.clone());
    }
    let overrides = Overrides {
        rounds: RoundsAsked {
            number: flags.plan.rounds,
            ..rule.rounds
        },
        ..rule
    };
    let rounds = flags.plan.rounds.unwrap_or(plan.rounds);
    let plan = plan.clone().extended(rounds).with(&overrides);
    plan.map_err(exit::usage)
}

/// The stored plan of a campaign that time ends, with so much time in all.
fn longer_by_time(plan: &Plan, length: Duration) -> anyhow::Result<Plan> {
    let asked = format_duration(length);
    let Some(budget) = plan.budget else {
        return Err(exit::usage(format!(
            "--budget {asked} is for a campaign that time ends, and a number of rounds ends this \
             one; go on with --rounds"
        )));
    };
    let Some(longer) = budget.longer(length) else {
        return Err(exit::usage(format!(
            "--budget {asked} is not more than the {} of the record; time can only be added",
            format_duration(budget.now)
        )));
    };
    Ok(Plan {
        budget: Some(longer),
        ..plan.clone()
    })
}

fn stopping_rule(flags: &RunFlags) -> Overrides {
    Overrides {
        rounds: RoundsAsked {
            number: None,
            until: flags.stopping.until,
            at_most: flags.stopping.max_rounds,
            budget: flags.stopping.budget,
        },
        ..Overrides::default()
    }
}

/// What is not shown while the campaign runs: what the plan and earlier trials hold.
fn redaction(plan: &Plan, earlier: &[TrialRecord], show_secrets: bool) -> Redaction {
    if show_secrets {
        return Redaction::nothing();
    }
    let mut redaction = Redaction::of_plan(plan);
    earlier
        .iter()
        .for_each(|trial| redaction.learn_trial(trial));
    redaction
}

/// Writes the page of a record.
fn write_page(report: &Drawn, path: &Path) -> anyhow::Result<()> {
    let file = path.join(PAGE_FILE);
    let page = replace_private(&file, report.page().as_bytes());
    page.map_err(|cause| {
        let record = shell_path(path);
        let file = file.display();
        anyhow::anyhow!(
            "failed to write {file}: {cause}; every trial is kept, and `bakeoff report \
             {record}` shows them"
        )
    })
}
