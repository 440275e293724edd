//! A [`Plan`] as TOML with nothing left to defaults: what a record folder keeps.
//!
//! Keys that mean "none" by their absence stay absent: `budget`, `until`, a contender's `version`
//! and `binary`, and the references' `control` and `duration`.

use std::path::Path;

use crate::changes::change_table;
use crate::container;
use crate::contender::{ConfigSource, Contender, OwnAnswer, ServerChoice};
use crate::file::{
    ClientsText, ContenderTable, DurationText, LoadTable, OwnAnswerTable, PlanFile,
    ReferencesTable, StopTable,
};
use crate::limits;
use crate::load::{Load, LoadModel};
use crate::model::Plan;
use crate::overloads::overload_table;
use crate::searches::search_table;
use crate::workload::workload_table;

impl Plan {
    /// The plan as TOML that [`parse`](crate::parse) makes the same plan of, without any
    /// library: workloads stand in it, paths are absolute.
    pub fn to_toml(&self) -> String {
        let file = PlanFile {
            name: self.name.clone(),
            description: self.description.clone(),
            rounds: self.has_fixed_rounds().then_some(self.rounds),
            budget: self.budget.map(|budget| DurationText(budget.now)),
            until: self.until.map(|until| until.width),
            max_rounds: self.until.map(|until| until.max_rounds),
            compare: self.compare,
            seed: self.seed,
            rest: DurationText(self.rest),
            workloads: Some(
                self.workloads
                    .iter()
                    .map(|workload| workload.name.clone())
                    .collect(),
            ),
            protocols: None,
            pinning: self.pinning.clone(),
            references: ReferencesTable {
                yardstick: self.references.yardstick,
                origin: self.references.origin,
                control: self.references.control,
                duration: self.references.duration.map(DurationText),
            },
            contender: self.contenders.iter().map(contender_table).collect(),
            load: load_tables(self),
            search: self.loads.iter().filter_map(search_table).collect(),
            overload: self.loads.iter().filter_map(overload_table).collect(),
            change: self.loads.iter().filter_map(change_table).collect(),
            workload: self.workloads.iter().map(workload_table).collect(),
        };
        toml::to_string_pretty(&file).expect("a plan's types are all TOML's")
    }
}

fn contender_table(contender: &Contender) -> ContenderTable {
    let mut table = ContenderTable {
        name: contender.name.clone(),
        overlay: contender.overlays.iter().cloned().collect(),
        certificate: contender.certificate,
        host: contender.host.clone(),
        replace: contender.replacements.clone(),
        user: contender.user.clone(),
        limits: contender.limits.map(limits::to_table),
        change: contender.action_command.clone(),
        answer: contender.answers.iter().map(answer_table).collect(),
        ..ContenderTable::default()
    };
    match &contender.server {
        ServerChoice::Program {
            server,
            version,
            binary,
            config,
        } => {
            table.server = Some(server.clone());
            table.version = version.clone();
            table.binary = binary.as_deref().map(path);
            table.config = Some(match config {
                ConfigSource::Variant(variant) => variant.clone(),
                ConfigSource::File(file) => path(file),
            });
        }
        ServerChoice::Command(own) => {
            table.command = Some(own.command.clone());
            table.fresh = own.fresh.clone();
            table.env = own.environment.iter().cloned().collect();
            table.folder = Some(path(&own.folder));
            table.ready = Some(own.ready.clone());
            table.stop = Some(StopTable {
                signal: own.stop.signal,
                grace: DurationText(own.stop.grace),
            });
        }
        ServerChoice::Url(running) => {
            table.url = Some(running.url.to_string());
            table.fresh = running.fresh.clone();
            table.folder = Some(path(&running.folder));
        }
        ServerChoice::Container(own) => {
            table.ready = Some(own.ready.clone());
            container::into_table(own, &mut table);
        }
        // Only trials hold these, and trials are not written; a reader refuses them by name.
        ServerChoice::Yardstick => table.server = Some("yardstick".to_owned()),
        ServerChoice::Origin => table.server = Some("origin".to_owned()),
    }
    table
}

fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn answer_table(answer: &OwnAnswer) -> OwnAnswerTable {
    OwnAnswerTable {
        workload: answer.workload.clone(),
        request: answer.request,
        status: answer.status,
        bytes: answer.body.bytes,
        sha256: answer.body.sha256.clone(),
        changing: answer.body.changing.clone(),
    }
}

/// None of a change: the loads that it has besides follow from its tables.
fn load_tables(plan: &Plan) -> Vec<LoadTable> {
    if plan.is_change() {
        return Vec::new();
    }
    plan.loads.iter().filter_map(load_table).collect()
}

/// `None` of a load whose rate is sought, which is a search, and of an overload.
fn load_table(load: &Load) -> Option<LoadTable> {
    let (rate, capacity_share, arrival) = match load.model {
        LoadModel::Closed { .. } => (None, None, None),
        LoadModel::Open {
            rate_per_s,
            arrival,
            ..
        } => (Some(rate_per_s), None, Some(arrival)),
        LoadModel::OpenShare {
            capacity_share,
            arrival,
            ..
        } => (None, Some(capacity_share), Some(arrival)),
        LoadModel::Sought(_) | LoadModel::Overload(_) => return None,
    };
    Some(LoadTable {
        clients: Some(ClientsText::One(load.clients())),
        rate,
        capacity_share,
        arrival,
        streams: load.streams,
        requests: load.requests,
        duration: DurationText::of_seconds(load.duration_s),
        warmup: Some(DurationText::of_seconds(load.warmup_s)),
        timeout: DurationText::of_seconds(load.timeout_s),
        connect: Some(load.connect),
    })
}
