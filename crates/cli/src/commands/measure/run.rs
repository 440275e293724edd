//! `bakeoff run`: carries out a plan, records its trials and prints the report.
//!
//! Other commands that run a campaign, such as `race`, make a plan of their flags and call
//! [`campaign`] as well. The order of trials and what happens in each are in `conduct`; the report
//! is drawn by `report`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bakeoff_conduct::{
    CampaignEnd, Event, Options, Roles, Rules, Site, SiteError, carry_out as conduct,
};
use bakeoff_plan::{Contender, Overrides, Plan, RoundsAsked, ServerChoice, format_duration};
use bakeoff_record::{
    FolderError, Machine, Record, RecordFolder, TrialRecord, Warning, When, replace_private,
    shell_path,
};
use bakeoff_report::{Redaction, UnequalWork};

use super::findings::refuse_what_cannot_run;
use super::gated::Gated;
use super::places::Places;
use super::run_hosts::Far;
use super::saved_plan::SavedPlan;
use super::{confirm, ending, find, first, invented, overload, plan_notes, resumed, saved_plan};
use crate::campaigns::{Place, WhileOthersRun};
use crate::commands::report::{self, Drawn, PAGE_FILE};
use crate::commands::{folder_error, share};
use crate::display::{Display, LineFor};
use crate::flags::{FarFlags, Format, OtherCampaigns, RunFlags};
use crate::interrupt::Interrupt;
use crate::library::Folder;
use crate::metrics::{CampaignMetrics, Endpoint};
use crate::record_place::RecordPlace;
use crate::run_folder::RunFolder;
use crate::standings::Standings;
use crate::{exit, output, paths};

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
    if flags.stopping.confirm && (plan.is_search() || plan.is_overload()) {
        return Err(exit::usage(
            "--confirm is for plans with rounds; a search confirms its bounds by longer trials, as \
             the key `confirm` of its plan says",
        ));
    }
    let asked = Asked {
        plan,
        resumed,
        answering_least: 0,
        save_plan: None,
    };
    let goes_on = asked.resumed.as_ref().map(|(_, record)| record);
    let gated = Gated::of(&flags.held.gated, flags.held.baseline.as_deref(), goes_on)?;
    campaign(asked, &library, &Destination::of(flags, gated))
}

/// A record that goes on: this process's alone, and only then read, so that no other one adds
/// trials after that.
pub(super) fn resume(path: &Path) -> anyhow::Result<(RecordFolder, Record)> {
    share::refuse_to_resume(path)?;
    let folder = RecordFolder::open(path).map_err(folder_error)?;
    let record = Record::read(path).map_err(folder_error)?;
    Ok((folder, record))
}

/// What is to be carried out.
pub(super) struct Asked {
    pub(super) plan: Plan,
    /// The record that goes on.
    pub(super) resumed: Option<(RecordFolder, Record)>,
    /// Contenders that must answer before the first round.
    pub(super) answering_least: usize,
    /// A new file for the plan as it is now, with nothing decided about right answers.
    pub(super) save_plan: Option<PathBuf>,
}

/// Where the record goes, and what is shown of it.
pub(super) struct Destination {
    pub(super) resume: Option<PathBuf>,
    pub(super) out: Option<PathBuf>,
    /// What to do while another campaign runs.
    pub(super) others: OtherCampaigns,
    pub(super) format: Format,
    pub(super) full: bool,
    pub(super) strict: bool,
    /// Whether suspected bottlenecks are put to the test after the rounds.
    pub(super) confirm: bool,
    pub(super) show_secrets: bool,
    /// The hosts that take part; without a file of them everything runs here.
    pub(super) far: FarFlags,
    /// Where progress is served as metrics.
    pub(super) metrics: Option<SocketAddr>,
    /// The plan file that repeats it, for a campaign that was made of flags.
    pub(super) repeat: Option<PathBuf>,
    pub(super) gated: Gated,
}

impl Destination {
    /// What these say, of a campaign on this machine that begins anew.
    pub(super) fn shown(others: OtherCampaigns, format: Format, full: bool, strict: bool) -> Self {
        Self {
            resume: None,
            out: None,
            others,
            format,
            full,
            strict,
            confirm: false,
            show_secrets: false,
            far: FarFlags {
                hosts: None,
                addresses: false,
            },
            metrics: None,
            repeat: None,
            gated: Gated::default(),
        }
    }

    fn of(flags: &RunFlags, gated: Gated) -> Self {
        Self {
            resume: flags.resume.clone(),
            out: flags.out.clone(),
            others: flags.others,
            format: flags.format,
            full: flags.full,
            strict: flags.strict,
            confirm: flags.stopping.confirm,
            show_secrets: flags.show_secrets,
            far: flags.far.clone(),
            metrics: flags.metrics,
            repeat: None,
            gated,
        }
    }
}

/// Carries a plan out, records and reports it.
pub(super) fn campaign(
    asked: Asked,
    library: &Folder,
    destination: &Destination,
) -> anyhow::Result<u8> {
    let endpoint = destination.metrics.map(Endpoint::open).transpose()?;
    let path = record_path(destination, &asked.plan)?;
    // Before anything is waited for.
    refuse_at_once(destination, &asked, &path)?;
    let Asked {
        plan,
        resumed,
        answering_least,
        save_plan,
    } = asked;
    let interrupt = Interrupt::listen_with_limit()?;
    let Some(place) = Place::take(WhileOthersRun::from(destination.others), &interrupt)? else {
        output::note("interrupted; nothing was measured");
        return Ok(exit::INTERRUPTED);
    };
    let scratch = RunFolder::make()?;
    let earlier = resumed.as_ref().map(|(_, record)| record.trials.as_slice());
    let earlier = earlier.unwrap_or_default();
    let of_this_run = (&scratch, &interrupt);
    let mut places = Places::of(destination, (&plan, earlier), library, of_this_run)?;
    let place_is_new = resumed.is_none();
    let _record_place = place_is_new.then(|| RecordPlace::make(&path)).transpose()?;
    let findings = places.findings(&plan, earlier)?;
    if interrupt.came() {
        output::note("interrupted before the first trial");
        return Ok(exit::INTERRUPTED);
    }
    let redaction = redaction(&plan, earlier, destination.show_secrets);
    refuse_what_cannot_run(&plan, &findings, &redaction)?;
    let saved = SavedPlan::write(&plan.to_toml(), save_plan.as_deref())?;
    let plan = if earlier.is_empty() {
        first::look(plan, &findings, answering_least, &*places.site, &redaction)?
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
    let options = Options {
        stop: interrupt.flag(),
        earlier,
        roles: places.roles.clone(),
        generators: places.generators(&interrupt),
        warnings: place.others.iter().map(disturbed_by).collect(),
    };
    let resume = resumed::command(&plan, &path, destination, library);
    let kept = format!("what was measured is kept, `{resume}` goes on");
    interrupt.say_last(&format!("interrupted; {kept}"));
    let shown = (&destination.gated, (redaction.clone(), endpoint));
    let end = measure(&plan, &mut folder, &*places.site, options, shown)?;
    let asked = (destination, &interrupt, redaction);
    let end = confirm::after(end, &path, &mut places, asked)?;
    if let Some(far) = places.far.filter(|_| end == CampaignEnd::Complete) {
        let links = far.links(When::After, &|| interrupt.came());
        folder.keep_links(links).map_err(folder_error)?;
    }
    // For the page, which should be whole.
    interrupt.take_time(PAGE_WITHIN_S);
    let needed_again = resumed::needed_again(destination, library);
    let ended = Ended::of(end, interrupt.came(), (&kept, needed_again));
    finish(destination, &path, &ended)
}

/// Refuses what is wrong whatever the machine is like: the record at `path`, which is there
/// already or goes on, and what flags ask of the plan.
fn refuse_at_once(destination: &Destination, asked: &Asked, path: &Path) -> anyhow::Result<()> {
    let Asked { plan, resumed, .. } = asked;
    saved_plan::refuse_taken(asked.save_plan.as_deref())?;
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
    if plan.is_search() || plan.is_overload() {
        report::refuse_for_search(destination.format)?;
    }
    report::refuse_files(destination.format)?;
    destination.gated.refuse_what_fits_nothing(plan)
}

/// The exit of a site that did not do what it was asked before the first trial.
pub(super) fn not_asked(error: SiteError) -> anyhow::Error {
    match error {
        SiteError::Refused(why) => exit::usage(why),
        SiteError::Lost(why) => exit::not_valid(why),
    }
}

/// How a campaign came to its end.
struct Ended<'a> {
    end: CampaignEnd,
    /// What is there, and what goes on with it.
    kept: &'a str,
    /// Flags that going on with the record takes.
    needed_again: String,
}

impl<'a> Ended<'a> {
    /// The end of a campaign. A request to stop may have come when the last trial was measured and
    /// its server was about to stop.
    fn of(end: CampaignEnd, is_asked_to: bool, (kept, needed_again): (&'a str, String)) -> Self {
        Self {
            end: if is_asked_to {
                CampaignEnd::Interrupted
            } else {
                end
            },
            kept,
            needed_again,
        }
    }

    /// What is said of a campaign with trials that are missing, and its exit code.
    fn cut_short(&self) -> Option<(String, u8)> {
        let kept = self.kept;
        match &self.end {
            CampaignEnd::Complete => None,
            CampaignEnd::Interrupted => Some((format!("interrupted; {kept}"), exit::INTERRUPTED)),
            CampaignEnd::HostLost(why) => {
                let said = format!("not a valid measurement: {why}; {kept}");
                Some((said, exit::NOT_VALID))
            }
        }
    }
}

/// The record that goes on, with the plan as it is now, and its trials; or a new one.
fn folder(
    resumed: Option<(RecordFolder, Record)>,
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

/// What was measured, and whether there was room for its page.
struct Written {
    report: Drawn,
    /// What the record holds that somebody may not want to give away, in a line.
    holdings: Option<String>,
    page: anyhow::Result<()>,
}

/// Reports on what was measured. The answer is printed where its page cannot be written, too.
fn finish(destination: &Destination, path: &Path, ended: &Ended<'_>) -> anyhow::Result<u8> {
    let Written {
        report,
        holdings,
        page,
    } = write_report(path, destination.show_secrets)?;
    let has_page = page.is_ok();
    let printed = print(&report, destination, (path, has_page), &ended.needed_again);
    if ended.end != CampaignEnd::Interrupted {
        // A terminal that was closed may be what interrupted it.
        printed?;
    }
    let is_in_text = destination.format == Format::Text && matches!(report, Drawn::Rounds(_));
    if !is_in_text && has_page {
        output::note(&format!("\nreport: {}", path.join(PAGE_FILE).display()));
    }
    holdings.iter().for_each(|held| output::note(held));
    if let Some((said, code)) = ended.cut_short() {
        output::note(&said);
        return Ok(code);
    }
    if let Some(plan) = &destination.repeat {
        let again = &ended.needed_again;
        output::note(&format!(
            "repeat it: bakeoff run {}{again}",
            shell_path(plan)
        ));
    }
    if let Drawn::Search(report) = &report
        && let Some(next) = find::longer(report, path, &ended.needed_again)
    {
        output::note(&format!("next: {next}"));
    }
    page?;
    match &report {
        Drawn::Rounds(report) => {
            let otherwise = ending::print(report, destination.strict, destination.format);
            destination.gated.conclude(path, otherwise)
        }
        Drawn::Search(report) => Ok(find::ending(report, destination.strict)),
        Drawn::Overload(report) => Ok(overload::ending(report, destination.strict)),
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

/// The folder of the record, whose path servers get in their configurations.
fn record_path(destination: &Destination, plan: &Plan) -> anyhow::Result<PathBuf> {
    let asked = destination.resume.clone().or(destination.out.clone());
    let path = asked.unwrap_or_else(|| default_folder(plan));
    paths::must_be_text("the record folder", &path)?;
    paths::must_be_free_or_a_folder("the record folder", &path)?;
    Ok(path)
}

/// Carries out the plan and shows how it goes.
fn measure(
    plan: &Plan,
    folder: &mut RecordFolder,
    site: &dyn Site,
    options: Options,
    (gated, (redaction, endpoint)): (&Gated, (Redaction, Option<Endpoint>)),
) -> anyhow::Result<CampaignEnd> {
    let path = folder.path().to_owned();
    let mut unequal = UnequalWork::new(plan.clone(), &options.earlier);
    let standings = Standings::new(plan, &options.earlier);
    let mut display = Display::new(standings, LineFor::of(plan), redaction);
    display.note(&format!("record: {}", path.display()));
    if let Some(endpoint) = &endpoint {
        display.note(&endpoint.notice());
    }
    let mut metrics = endpoint.map(CampaignMetrics::serve).transpose()?;
    // What was measured is on the disk, so that a campaign keeps little of it in memory.
    let read = || Record::read(&path).ok();
    let mut course = gated.course();
    let rules = Rules {
        widest: Box::new(|_| gated.widest(&read()?)),
        next: Box::new(|recorded| course.next_trial(plan, recorded, read)),
    };
    let end = conduct(plan, folder, site, options, rules, &mut |event| {
        display.show(&event);
        if let Some(metrics) = &mut metrics {
            metrics.hear(&event);
        }
        if let Event::Observed(trial) = &event {
            let lines = unequal.observed(trial);
            lines.iter().for_each(|line| display.note(line));
        }
    });
    display.finish();
    Ok(end?)
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

/// Draws the record and writes its page; with a line on what the record holds.
fn write_report(path: &Path, show_secrets: bool) -> anyhow::Result<Written> {
    let redacted = report::redacted(Record::read(path)?, show_secrets);
    let report = Drawn::of(&redacted, path);
    let file = path.join(PAGE_FILE);
    let page = replace_private(&file, report.page().as_bytes());
    let page = page.map_err(|cause| {
        let record = shell_path(path);
        let file = file.display();
        anyhow::anyhow!(
            "failed to write {file}: {cause}; every trial is kept, and `bakeoff report \
             {record}` shows them"
        )
    });
    let holdings = bakeoff_report::holdings(&redacted).map(|held| {
        let record = shell_path(path);
        format!("{held}; `bakeoff report {record} --share DIR` writes a copy without them")
    });
    Ok(Written {
        report,
        holdings,
        page,
    })
}

fn print(
    report: &Drawn,
    destination: &Destination,
    (record, has_page): (&Path, bool),
    needed_again: &str,
) -> anyhow::Result<()> {
    let shown = report::Shown {
        format: destination.format,
        full: destination.full,
        diffs: false,
        record: record.display().to_string(),
        page: has_page.then(|| record.join(PAGE_FILE)),
        needed_again: Some(needed_again.to_owned()),
        is_printed: true,
    };
    output::document(&report.shown(&shown)?)?;
    // The campaign has an exit code of its own.
    report::gaps(report, destination.format);
    Ok(())
}

/// `bakeoff-results/PLAN-TIME`, in UTC.
pub(super) fn default_folder(plan: &Plan) -> PathBuf {
    let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    Path::new("bakeoff-results").join(format!("{}-{time}", plan.name))
}
