//! Looks before the first trial: is each program there, does it accept its configuration?
//!
//! Nothing is started and nothing is recorded; a campaign of an hour should not find a typing
//! error in its last configuration at the end.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use bakeoff_plan::{Plan, ServerChoice};
use bakeoff_record::TrialEnd;
use bakeoff_stage::{Stage, Surroundings, check_command, check_container};
use serde::{Deserialize, Serialize};

/// A contender that cannot do a workload, or a configuration that its server rejects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Contender's name.
    pub contender: String,
    /// Workload's name.
    pub workload: String,
    /// How its trials would end.
    pub end: TrialEnd,
}

/// How closely a preflight looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Whether servers, variants, programs and files are there.
    Files,
    /// Whether each server accepts its configuration, too.
    Whole,
}

/// Prepares every contender for every workload and looks whether it can be measured.
pub fn preflight(plan: &Plan, stage: &Stage, folder: &Path, depth: Depth) -> Vec<Finding> {
    // Any address will do: checking a configuration connects to nothing.
    let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
    let mut findings = Vec::new();
    for contender in &plan.contenders {
        // What runs already is asked, and not looked at.
        if matches!(contender.server, ServerChoice::Url(_)) || contender.server.is_built_in() {
            continue;
        }
        for workload in &plan.workloads {
            let surroundings = Surroundings {
                origin: workload.proxied.then_some(nowhere),
                cpus: Vec::new(),
                boxed: None,
                log_folder: folder.join(format!("{}-{}", contender.name, workload.name)),
                action: None,
            };
            let checked = match &contender.server {
                ServerChoice::Command(own) => check_command(own),
                ServerChoice::Container(own) => check_container(own, workload),
                _ => {
                    let prepared = stage.prepare(contender, workload, &surroundings);
                    prepared.and_then(|prepared| match depth {
                        Depth::Files => Ok(()),
                        Depth::Whole => prepared.check_config(),
                    })
                }
            };
            if let Err(error) = checked {
                findings.push(Finding {
                    contender: contender.name.clone(),
                    workload: workload.name.clone(),
                    end: error.trial_end(),
                });
            }
        }
    }
    findings
}
