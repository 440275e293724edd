//! `bakeoff race`: a plan made of a command line, carried out like any other.
//!
//! What each argument means is found out in `operand`; here they become a plan, whose trials take
//! about two minutes together.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use bakeoff_plan::{
    Arrival, Budget, Contender, Content, Expected, Limits, Overrides, Pinning, Plan, Protocol,
    Request, RequestBody, RoundsAsked, ServedFile, ServerChoice, TRIAL_OVERHEAD, Url, Workload,
    own_header, parse,
};
use bakeoff_report::Gates;

use super::destination::{Destination, default_folder};
use super::gated::Gated;
use super::run::campaign;
use super::sent::Sent;
use crate::flags::{ArrivalFlag, OperandFlags, PinningFlags, RaceFlags, RaceLoadFlags};
use crate::library::Folder;
use crate::{exit, output};

mod contained;
pub(super) mod name;
mod operand;

use operand::Operands;

/// What a race is before its contenders are known.
const SKELETON: &str = r#"
name = "race"
rest = "100ms"
workloads = ["html-small"]
[references]
duration = "1s"
[[contender]]
name = "none"
server = "nginx"
[[load]]
clients = 50
warmup = "300ms"
duration = "2s"
"#;
/// All trials together take about so long.
const ALL: Duration = Duration::from_secs(110);
/// A window that is shorter says little, and a longer one little more.
const WINDOW: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];
/// The time of a race that nothing else ends.
const BUDGET: Duration = Duration::from_secs(60);
/// The same of one with gates, which ends once they are decided.
const BUDGET_GATED: Duration = Duration::from_secs(600);
/// Rounds that its time has room for.
const ROUNDS_IN_TIME: u32 = 6;
/// Rounds that decide what differs much, of two contenders and one load.
const ROUNDS_DECIDING: u32 = 3;
/// Rounds of a race with a stopping rule, which adds to them.
const ROUNDS: u32 = 7;
/// Longest request body: it is written into the plan.
const BODY_BYTES_MAX: usize = 1 << 20;

pub(crate) fn carry_out(flags: &RaceFlags) -> anyhow::Result<u8> {
    let library = Folder::new(flags.record.library.clone())?;
    let operands = operand::read(&flags.operands, &library)?;
    let limits = flags.operands.limits.as_ref();
    if operands.contenders.len() * limits.map_or(1, |limits| limits.0.len()) < 2 {
        return Err(exit::usage(
            "a race needs at least two contenders: URLs, servers, configuration or compose files, \
             --image IMAGE or --start 'COMMAND'; for one URL, use `bakeoff load`",
        ));
    }
    let plan = plan(flags, operands, &library)?;
    let record = &flags.record;
    let out = record.out.clone().unwrap_or_else(|| default_folder(&plan));
    let saved = record
        .save_plan
        .clone()
        .unwrap_or_else(|| out.join("plan.toml"));
    let destination = Destination {
        record: Some(out),
        save_plan: record.save_plan.clone(),
        answering_least: 2,
        confirm: record.confirm,
        far: record.far.clone(),
        repeat: Some(as_a_file(&saved)),
        gated: Gated::of(&record.gated, None, None)?,
        ..Destination::shown(record.others, record.format, record.full, record.strict)
    };
    campaign(plan, None, &library, &destination)
}

/// A path as `run` takes it for a file and no name of a plan.
pub(super) fn as_a_file(path: &Path) -> PathBuf {
    let text = path.to_string_lossy();
    if text.contains('/') || text.ends_with(".toml") {
        path.to_owned()
    } else {
        Path::new(".").join(path)
    }
}

/// The plan of the race, as its file would be read again.
fn plan(flags: &RaceFlags, operands: Operands, library: &Folder) -> anyhow::Result<Plan> {
    let load = &flags.load;
    let gates = flags.record.gated.gate.as_ref();
    let mut plan = contest(&flags.operands, operands, overrides(load, gates), library)?;
    plan.pinning = pinning(&load.pinning);
    if load.duration.is_none() && load.requests.is_none() {
        let window = window(&plan, load.budget.unwrap_or(BUDGET));
        for load in &mut plan.loads {
            load.duration_s = window.as_secs_f64();
        }
    }
    if let Some(usual) = plan.budget.filter(|_| load.budget.is_none()) {
        plan.budget = Some(Budget::new(usual.now.max(time(&plan))));
    }
    plan.note_contenders();
    checked(&plan, "race", library)
}

/// The contenders of a command line and what they are asked, under one load.
pub(super) fn contenders(
    flags: &OperandFlags,
    load: Overrides,
    library: &Folder,
) -> anyhow::Result<Plan> {
    contest(flags, operand::read(flags, library)?, load, library)
}

/// What flags said, checked as what a file says.
pub(super) fn checked(plan: &Plan, name: &str, library: &Folder) -> anyhow::Result<Plan> {
    let here = std::env::current_dir().context("failed to find the current folder")?;
    parse(&plan.to_toml(), name, &here, library).map_err(exit::usage)
}

/// Who has which processors.
pub(super) fn pinning(flags: &PinningFlags) -> Pinning {
    Pinning {
        server: flags.server_cpus.clone().unwrap_or_default(),
        engine: flags.engine_cpus.clone().unwrap_or_default(),
        ..Pinning::default()
    }
}

fn contest(
    flags: &OperandFlags,
    operands: Operands,
    load: Overrides,
    library: &Folder,
) -> anyhow::Result<Plan> {
    if flags.pull {
        for image in &flags.image {
            bakeoff_stage::pull(image).map_err(super::stage_error)?;
        }
    }
    let here = std::env::current_dir().context("failed to find the current folder")?;
    let name = flags.workload.as_deref().unwrap_or("html-small");
    let skeleton = SKELETON.replace("html-small", &escaped(name));
    let mut plan = parse(&skeleton, "--workload", &here, library).map_err(exit::usage)?;
    let names: Vec<&str> = operands
        .contenders
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    plan.description = format!("A race of {}.", names.join(", "));
    if flags.workload.is_none() {
        for workload in &mut plan.workloads {
            request(workload, flags, &operands)?;
        }
    }
    operands
        .reasons
        .iter()
        .for_each(|reason| output::note(reason));
    let protocol = protocol(flags, &operands.contenders)?.or(operands.protocol);
    plan.contenders = limited(operands.contenders, flags)?;
    let overrides = Overrides {
        protocols: protocol.into_iter().collect(),
        ..load
    };
    plan.with(&overrides).map_err(exit::usage)
}

/// The contenders with the limits of `--limits`: each with each, where there are several.
fn limited(contenders: Vec<Contender>, flags: &OperandFlags) -> anyhow::Result<Vec<Contender>> {
    let Some(limits) = &flags.limits else {
        return Ok(contenders);
    };
    let is_started = |one: &&Contender| !matches!(one.server, ServerChoice::Url(_));
    if let Some(one) = contenders.iter().find(|one| !is_started(one)) {
        return Err(exit::usage(format!(
            "--limits holds what bakeoff starts, and {} runs already",
            one.name
        )));
    }
    let of_one = |one: &Contender| {
        let with = |limits: &Limits| {
            let mut one = one.clone();
            one.limits = Some(*limits);
            one
        };
        limits.0.iter().map(with).collect::<Vec<_>>()
    };
    let mut all: Vec<Contender> = contenders.iter().flat_map(of_one).collect();
    if limits.0.len() > 1 {
        for one in &mut all {
            let suffix = one.limits.unwrap_or_default().suffix();
            one.name = format!("{}-{suffix}", one.name);
        }
    }
    Ok(all)
}

/// A text as it stands between the quotes of TOML.
fn escaped(text: &str) -> String {
    text.escape_default().to_string()
}

/// Makes the workload that of one request whose right answer is what contenders answer first,
/// unless they are all known to serve the workload as it is.
fn request(
    workload: &mut Workload,
    flags: &OperandFlags,
    operands: &Operands,
) -> anyhow::Result<()> {
    let asked = &flags.request;
    let sent = Sent::of(&asked.head, &asked.body)?;
    let has_body = sent.body.is_some();
    let is_plain = sent.method(has_body) == "GET" && sent.headers.is_empty() && !has_body;
    if operands.are_of_the_library && operands.path.is_none() && is_plain {
        return Ok(());
    }
    let is_host = |name: &str| name.eq_ignore_ascii_case("host");
    let headers = sent.headers.iter().filter(|(name, _)| !is_host(name));
    let headers: Vec<(String, String)> = headers.cloned().collect();
    if let Some(name) = own_header(&headers) {
        return Err(exit::usage(format!(
            "header {name:?} is written by the load engine itself: leave it out"
        )));
    }
    let body = sent.body.as_deref().map(text_of).transpose()?;
    workload.name = "race".to_owned();
    workload.description = "One request; right is what the contenders answer first.".to_owned();
    workload.proxied = operands.has_upstream;
    if operands.has_php {
        workload.files.push(ServedFile {
            path: "index.php".to_owned(),
            content: Content::Text("<?php\n".to_owned()),
        });
    }
    let request = Request {
        method: sent.method(has_body).to_owned(),
        path: operands.path.clone().unwrap_or_else(|| "/".to_owned()),
        headers,
        placeholders: true,
        secret_headers: Vec::new(),
        weight: 1,
        body: body.map(|text| RequestBody {
            content: Content::Text(text),
            chunked: false,
        }),
        expect: Expected::first_answer(),
    };
    workload.requests = request.into();
    Ok(())
}

/// A body as a plan can have it.
fn text_of(body: &[u8]) -> anyhow::Result<String> {
    let text = str::from_utf8(body)
        .ok()
        .filter(|it| it.len() <= BODY_BYTES_MAX);
    let why = format!(
        "a race writes its body into a plan: expected UTF-8, at most {BODY_BYTES_MAX} bytes"
    );
    text.map(str::to_owned).ok_or_else(|| exit::usage(why))
}

/// The protocol of all, which the scheme of URLs chooses where no flag does.
fn protocol(flags: &OperandFlags, contenders: &[Contender]) -> anyhow::Result<Option<Protocol>> {
    let urls: Vec<&Url> = contenders.iter().filter_map(url).collect();
    let Some(first) = urls.first() else {
        return Ok(flags.request.protocol);
    };
    if let Some(other) = urls.iter().find(|url| url.is_secure != first.is_secure) {
        return Err(exit::usage(format!(
            "{first} and {other} differ in their scheme, and a race asks all over one protocol; \
             give both the same scheme"
        )));
    }
    let asked = flags.request.protocol;
    match asked {
        Some(protocol) if protocol.is_secure() != first.is_secure => Err(exit::usage(format!(
            "--protocol {} does not suit {first}; for http it is h1 or h2c, and for https h1-tls, \
             h2 or h3",
            protocol.name()
        ))),
        None if first.is_secure => Ok(Some(Protocol::H1Tls)),
        asked => Ok(asked),
    }
}

fn url(contender: &Contender) -> Option<&Url> {
    match &contender.server {
        ServerChoice::Url(running) => Some(&running.url),
        _ => None,
    }
}

/// What ends the race: time, unless it is said how many rounds it has. A gate that cannot be
/// decided is of no use to a build, so a race with gates has more of it.
fn rounds(load: &RaceLoadFlags, gates: Option<&Gates>) -> RoundsAsked {
    let by_rounds = load.rounds.is_some() || load.until.is_some();
    let usual = if gates.is_some() {
        BUDGET_GATED
    } else {
        BUDGET
    };
    RoundsAsked {
        number: by_rounds.then(|| load.rounds.unwrap_or(ROUNDS)),
        until: load.until,
        at_most: None,
        budget: (!by_rounds).then(|| load.budget.unwrap_or(usual)),
    }
}

fn overrides(load: &RaceLoadFlags, gates: Option<&Gates>) -> Overrides {
    Overrides {
        clients: Some(vec![load.clients]),
        streams: load.streams,
        requests: load.requests,
        rate: load.rate,
        arrival: load
            .arrival
            .map(ArrivalFlag::ready)
            .or(load.rate.map(|_| Arrival::Poisson)),
        duration: load.duration,
        warmup: load.warmup,
        rounds: rounds(load, gates),
        seed: load.seed,
        ..Overrides::default()
    }
}

/// The time that a race needs at the least whose trials are so long: rounds that decide what
/// differs.
fn time(plan: &Plan) -> Duration {
    let trials = bakeoff_plan::trials(plan);
    let round: Duration = trials
        .iter()
        .map(|trial| bakeoff_plan::expected(plan, trial))
        .sum();
    let least = (round * ROUNDS_DECIDING).as_secs_f64();
    Duration::from_secs(least.ceil() as u64)
}

/// The window with which all trials take about as long as a race should that this time ends.
fn window(plan: &Plan, budget: Duration) -> Duration {
    let [least, most] = WINDOW;
    let warmup = plan.loads.first().map_or(0.0, |load| load.warmup_s);
    let aside = plan.rest + TRIAL_OVERHEAD + Duration::from_secs_f64(warmup);
    let round = match plan.budget {
        Some(_) => budget / ROUNDS_IN_TIME,
        None => ALL / plan.rounds_at_least().max(1),
    };
    // The yardstick's window is its own.
    let yardstick = plan.references.duration.unwrap_or_default() + aside;
    let round = round.saturating_sub(yardstick);
    let control = u32::from(plan.has_control());
    let trials = u32::try_from(plan.contenders.len()).unwrap_or(u32::MAX) + control;
    let window = (round / trials.max(1))
        .saturating_sub(aside)
        .clamp(least, most);
    // In tenths of a second, as a person would write it.
    Duration::from_millis((window.as_millis() as u64) / 100 * 100)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::flags::{Command, Flags, MeasureCommand};

    /// The most rounds of a race as a command line asks for it, and its time, s.
    fn ends_of(flags: &[&str]) -> (u32, Option<u64>) {
        let line = ["bakeoff", "race", "nginx", "caddy"].iter().chain(flags);
        let command = Flags::parse_from(line).command;
        let Command::Measure(MeasureCommand::Race(flags)) = command else {
            unreachable!("it is a race");
        };
        let gates = flags.record.gated.gate.as_ref();
        let plan = parse(SKELETON, "skeleton", Path::new("/"), &bakeoff_plan::Builtin).unwrap();
        let plan = plan.with(&overrides(&flags.load, gates)).unwrap();
        let time = plan.budget.map(|budget| budget.now.as_secs());
        (plan.rounds_at_most(), time)
    }

    #[test]
    fn time_ends_a_race_unless_rounds_are_asked_for() {
        assert_eq!(ends_of(&[]), (200, Some(60)));
        assert_eq!(ends_of(&["--gate", "rate=5%"]), (200, Some(600)));
        assert_eq!(
            ends_of(&["--gate", "rate=5%", "--budget", "2m"]),
            (200, Some(120))
        );
        assert_eq!(ends_of(&["--gate", "rate=5%", "--rounds", "8"]), (12, None));
        assert_eq!(ends_of(&["--gate", "rate=5%", "--until", "2%"]), (40, None));
        assert_eq!(ends_of(&["--until", "2%"]), (40, None));
    }

    #[test]
    fn a_race_takes_a_minute_and_longer_where_its_trials_are() {
        let here = Path::new("/");
        let mut plan = parse(SKELETON, "skeleton", here, &bakeoff_plan::Builtin).unwrap();
        (plan.rounds, plan.budget) = (1, Some(Budget::new(BUDGET)));
        let one = plan.contenders[0].clone();
        for (count, window_s, least_s) in [(2, 1.6, 30), (3, 1.0, 30), (12, 1.0, 84)] {
            plan.contenders = vec![one.clone(); count];
            plan.loads[0].duration_s = window(&plan, BUDGET).as_secs_f64();
            assert_eq!(plan.loads[0].duration_s, window_s, "{count}");
            assert_eq!(time(&plan).as_secs(), least_s, "{count}");
        }
        plan.contenders = vec![one; 2];
        plan.loads[0].duration_s = 30.0;
        assert_eq!(time(&plan).as_secs(), 285);
    }

    #[test]
    fn a_race_of_rounds_takes_about_two_minutes_whoever_runs() {
        let here = Path::new("/");
        let mut plan = parse(SKELETON, "skeleton", here, &bakeoff_plan::Builtin).unwrap();
        plan.rounds = 7;
        let one = plan.contenders[0].clone();
        for (count, least_s, most_s) in [(2, 90, 125), (3, 90, 125), (12, 150, 320)] {
            plan.contenders = vec![one.clone(); count];
            plan.loads[0].duration_s = window(&plan, BUDGET).as_secs_f64();
            let all = bakeoff_plan::expected_duration(&plan, plan.rounds).as_secs();
            assert!((least_s..most_s).contains(&all), "{count}: {all} s");
        }
    }
}
