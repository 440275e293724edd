//! `bakeoff run`: a plan carried out, recorded and reported.

use std::path::{Path, PathBuf};

use anyhow::Context;
use bakeoff_conduct::{
    CampaignEnd, Event, Finding, Options, Roles, carry_out as conduct, preflight,
};
use bakeoff_plan::Plan;
use bakeoff_record::{MACHINE_SCHEMA, Machine, Record, RecordFolder, TrialEnd};
use bakeoff_report::{Report, Warnings};

use super::{folder_error, plan_notes, report};
use crate::display::{Display, step_name};
use crate::flags::{Format, RunFlags};
use crate::interrupt::Interrupt;
use crate::library::Folder;
use crate::run_folder::RunFolder;
use crate::{exit, output};

/// The page in the record folder.
const PAGE_FILE: &str = "report.html";

pub(crate) fn carry_out(flags: &RunFlags) -> anyhow::Result<u8> {
    let library = Folder::new(flags.plan.library.clone())?;
    let earlier = flags
        .resume
        .as_deref()
        .map(Record::read)
        .transpose()
        .map_err(folder_error)?;
    let plan = match &earlier {
        Some(record) => record.plan.clone(),
        None => library.plan(&flags.plan)?,
    };
    plan_notes::tell(&plan);
    Roles::divide(&plan.pinning).map_err(exit::usage)?;
    let interrupt = Interrupt::listen()?;
    let scratch = RunFolder::make()?;
    let (bakeoff, stage) = scratch.stage(library.servers())?;
    refuse_what_cannot_run(
        &plan,
        &preflight(&plan, &stage, &scratch.path().join("check")),
    )?;

    let path = flags
        .resume
        .clone()
        .or(flags.out.clone())
        .unwrap_or_else(|| default_folder(&plan));
    let mut folder = match &flags.resume {
        Some(path) => RecordFolder::open(path).map_err(folder_error)?,
        None => RecordFolder::create(&path, &plan, &machine()).map_err(folder_error)?,
    };
    let options = Options {
        bakeoff,
        stop: interrupt.flag(),
        earlier: earlier.map(|record| record.trials).unwrap_or_default(),
    };
    let mut warnings = Warnings::new(plan.clone(), &options.earlier);
    let mut display = Display::new();
    display.note(&format!("record: {}", path.display()));
    let end = conduct(&plan, &mut folder, &stage, &options, &mut |event| {
        if let Event::Observed(trial) = &event {
            warnings
                .observed(trial)
                .iter()
                .for_each(|line| display.note(line));
        }
        display.show(&event)
    });
    display.finish();
    let end = end?;
    let report = write_report(&path)?;
    print(&report, flags, &path)?;
    if flags.format != Format::Text {
        // The text ends with it.
        output::note(&format!("\nreport: {}", path.join(PAGE_FILE).display()));
    }
    if end == CampaignEnd::Interrupted {
        let resume = format!("bakeoff run --resume {}", path.display());
        output::note(&format!(
            "interrupted; what was measured is kept, `{resume}` goes on"
        ));
        return Ok(exit::INTERRUPTED);
    }
    Ok(report::exit_code(&report, flags.strict))
}

/// Draws the record and writes its page.
fn write_report(path: &Path) -> anyhow::Result<Report> {
    let report = bakeoff_report::view(&Record::read(path)?);
    let page = path.join(PAGE_FILE);
    std::fs::write(&page, bakeoff_report::html(&report))
        .with_context(|| format!("failed to write {}", page.display()))?;
    Ok(report)
}

fn print(report: &Report, flags: &RunFlags, record: &Path) -> anyhow::Result<()> {
    let shown = report::Shown {
        format: flags.format,
        full: flags.full,
        diffs: false,
        record: record.display().to_string(),
    };
    Ok(output::result(&report::draw(report, &shown))?)
}

/// A rejected configuration ends the campaign before it begins; what is not installed or not
/// possible is told and becomes a skipped trial.
fn refuse_what_cannot_run(plan: &Plan, findings: &[Finding]) -> anyhow::Result<()> {
    let mut rejected = String::new();
    for (first, workloads) in by_reason(findings) {
        let who = match &workloads[..] {
            [workload] => format!("{}, workload {workload}", first.contender),
            several => format!("{}, workloads {}", first.contender, several.join(", ")),
        };
        match &first.end {
            TrialEnd::Failed {
                step,
                cause,
                message,
            } => {
                let step = step_name(*step);
                let words = message
                    .as_deref()
                    .unwrap_or("")
                    .trim_end()
                    .replace('\n', "\n    ");
                rejected.push_str(&format!(
                    "\n  {who}: failed at {step}: {cause}\n    {words}"
                ));
            }
            TrialEnd::Skipped { reason, fix } => {
                output::note(&format!("skipped: {who}: {reason}; {fix}"));
            }
            TrialEnd::Unsupported { reason } => {
                output::note(&format!("unsupported: {who}: {reason}"));
            }
            TrialEnd::Measured | TrialEnd::Interrupted => {}
        }
    }
    if !rejected.is_empty() {
        return Err(exit::usage(format!(
            "some contenders cannot be started:{rejected}"
        )));
    }
    let pairs = plan.contenders.len() * plan.workloads.len();
    if !findings.is_empty() && findings.len() == pairs {
        return Err(exit::usage(
            "no contender of the plan can be measured here; see above",
        ));
    }
    Ok(())
}

/// Findings of a contender that end in the same way: the first, and the workloads of all.
fn by_reason(findings: &[Finding]) -> Vec<(&Finding, Vec<&str>)> {
    let mut grouped: Vec<(&Finding, Vec<&str>)> = Vec::new();
    for finding in findings {
        let key = (&finding.contender, &finding.end);
        match grouped
            .iter_mut()
            .find(|(first, _)| (&first.contender, &first.end) == key)
        {
            Some((_, workloads)) => workloads.push(&finding.workload),
            None => grouped.push((finding, vec![&finding.workload])),
        }
    }
    grouped
}

fn machine() -> Machine {
    Machine {
        schema: MACHINE_SCHEMA.to_owned(),
        bakeoff: env!("CARGO_PKG_VERSION").to_owned(),
        command: std::env::args().collect(),
        started_at: jiff::Timestamp::now().to_string(),
        ..bakeoff_probe::machine()
    }
}

/// `bakeoff-results/PLAN-TIME`, in UTC.
fn default_folder(plan: &Plan) -> PathBuf {
    let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    Path::new("bakeoff-results").join(format!("{}-{time}", plan.name))
}
