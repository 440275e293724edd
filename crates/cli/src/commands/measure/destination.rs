//! Where the record of a campaign goes, and what is shown of it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use bakeoff_plan::Plan;

use super::gated::Gated;
use crate::flags::{FarFlags, Format, OtherCampaigns};
use crate::paths;

/// Where the record of a campaign goes, and what is shown of it.
pub(super) struct Destination {
    /// Folder of the record; `None` for one that is named after plan and time.
    pub(super) record: Option<PathBuf>,
    /// A new file for the plan as it is now, with nothing decided about right answers.
    pub(super) save_plan: Option<PathBuf>,
    /// Contenders that must answer before the first round.
    pub(super) answering_least: usize,
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
    /// What these say, of a campaign on this machine.
    pub(super) fn shown(others: OtherCampaigns, format: Format, full: bool, strict: bool) -> Self {
        Self {
            record: None,
            save_plan: None,
            answering_least: 0,
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

    /// The folder of the record, whose path servers get in their configurations.
    pub(super) fn path(&self, plan: &Plan) -> anyhow::Result<PathBuf> {
        let path = self.record.clone().unwrap_or_else(|| default_folder(plan));
        paths::must_be_text("the record folder", &path)?;
        paths::must_be_free_or_a_folder("the record folder", &path)?;
        Ok(path)
    }
}

/// `bakeoff-results/PLAN-TIME`, in UTC.
pub(super) fn default_folder(plan: &Plan) -> PathBuf {
    let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    Path::new("bakeoff-results").join(format!("{}-{time}", plan.name))
}
