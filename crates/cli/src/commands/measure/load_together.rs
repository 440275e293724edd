//! `bakeoff load URL --hosts FILE`: one load, divided over several hosts.

use bakeoff_hosts::{Cause, HostError, Session};
use bakeoff_record::{LoadResult, LostHost, Warning};
use bakeoff_report::{LoadHosts, Redaction, conditions_of_load, digits};
use serde_json::{Value, json};

use super::agent::Load;
use super::generators::{self, Engine, HostPart, LostPart, Progress, Together};
use super::{hosts, load};
use crate::flags::LoadCommand;
use crate::interrupt::Interrupt;
use crate::{exit, output};

/// An address that nothing connects to: each host resolves the URL's own.
const NOT_RESOLVED: &str = "127.0.0.1:9";

pub(crate) fn carry_out(mut flags: LoadCommand) -> anyhow::Result<u8> {
    if !flags.load.way.source.is_empty() {
        return Err(exit::usage(
            "--source is an address of this machine, and the load comes from others: leave it out",
        ));
    }
    if flags.load.print.metrics.is_some() {
        return Err(exit::usage(
            "--metrics is of a load from this machine: leave out --metrics or the other hosts",
        ));
    }
    let connect_to = flags.load.way.connect_to.take();
    let unix_socket = flags.load.way.unix_socket.take();
    flags.load.way.connect_to = Some(NOT_RESOLVED.to_owned());
    // Processors are those of each host.
    let (pin, threads) = (flags.load.pace.pin.take(), flags.load.pace.threads.take());
    let mut spec = load::spec(&flags.load)?;
    load::refuse_conditions(&flags.load, &spec)?;
    load::refuse_files(&flags.load.print)?;
    spec.threads.pin = pin.unwrap_or_default();
    let pin = spec.threads.pin.clone();
    let to = load::requests::connect_to(connect_to.as_deref(), unix_socket.as_deref());
    let load = Load::new(spec, Some(to)).map_err(exit::usage)?;
    let interrupt = Interrupt::listen()?;
    let mut sessions = sessions(&flags)?;
    let pinned = (!pin.is_empty()).then_some(pin.len() as u32);
    let half = |session: &Session| hosts::half(session.hello().cpus);
    let count = |session: &Session| threads.or(pinned).unwrap_or_else(|| half(session));
    // The same processors on each host.
    let engine = |session: &Session| Engine {
        threads: count(session),
        pin: pin.clone(),
    };
    let engines: Vec<Engine> = sessions.iter().map(engine).collect();
    let clients = load.spec.load.clients();
    let divided = generators::divided(clients, &engines).ok_or_else(|| {
        let hosts = sessions.len();
        exit::usage(format!(
            "{clients} clients cannot be divided over {hosts} hosts: give at least as many clients \
             as hosts"
        ))
    })?;
    let mut each: Vec<&mut Session> = sessions.iter_mut().collect();
    let progress = Progress {
        stop: interrupt.flag(),
        ..Progress::default()
    };
    let together = generators::carry_out(&mut each, &load, &divided, &progress);
    let mut together = together.map_err(not_begun)?;
    let merged = merged(&mut together, &flags)?;
    let printed = if flags.load.print.json {
        serde_json::to_string_pretty(&document(merged.as_ref(), &together, &sessions))?
    } else {
        text(merged.as_ref(), &together)
    };
    load::print(&flags.load.print, &printed)?;
    if let Some(merged) = &merged {
        load::write_seconds(&flags.load.print, merged)?;
    }
    for why in why_not_whole(&together) {
        output::note(&format!("not a valid measurement: {why}"));
    }
    let code = exit_code(&flags, merged.as_ref(), &together, &interrupt);
    let Some(merged) = merged.filter(|_| code != exit::INTERRUPTED) else {
        return Ok(code);
    };
    let conditions = conditions_of_load(&merged, &flags.load.checks.conditions.fail_if);
    conditions.lines.iter().for_each(|line| output::note(line));
    let code = super::gated::worse_of(conditions.ruling, code);
    load::say_what_is_missing(&flags.load.amount, &merged);
    load::say_why_not_valid(&merged, code);
    Ok(code)
}

/// The error of a load that could not be begun on all hosts.
fn not_begun(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<HostError>().map(|error| &error.cause) {
        Some(Cause::Refused { usage: true, .. }) => exit::usage(error),
        Some(_) => exit::not_valid(error),
        None => error,
    }
}

/// A session with each generator; one that cannot be had ends the command.
fn sessions(flags: &LoadCommand) -> anyhow::Result<Vec<Session>> {
    let names = &flags.hosts.generators;
    let wanted: Vec<Result<hosts::Wanted, HostError>> = match &flags.hosts.hosts {
        Some(file) => hosts::generators(&hosts::read(file)?, names)?,
        None => hosts::aliases(names)?.into_iter().map(Ok).collect(),
    };
    let wanted = wanted.into_iter().collect::<Result<Vec<_>, _>>();
    let wanted = wanted.map_err(exit::not_valid)?;
    let opened = hosts::opened(&wanted, &hosts::own()?, &hosts::owner())?;
    Ok(opened.into_iter().map(|(session, _)| session).collect())
}

/// The parts as one result; `None` where one is missing from it.
fn merged(together: &mut Together, flags: &LoadCommand) -> anyhow::Result<Option<LoadResult>> {
    if !flags.load.print.show_secrets {
        for part in &mut together.parts {
            Redaction::default().hide_in_load(&mut part.result);
        }
    }
    if !why_not_whole(together).is_empty() {
        return Ok(None);
    }
    let parts: Vec<LoadResult> = together
        .parts
        .iter()
        .map(|part| part.result.clone())
        .collect();
    Ok(Some(LoadResult::merge(&parts)?))
}

/// Why there is no result of the whole load: a generator was lost, or never reached the server.
fn why_not_whole(together: &Together) -> Vec<String> {
    if together.lost.is_empty() {
        judged(together, |hosts| hosts.not_whole())
            .into_iter()
            .collect()
    } else {
        let lost = together.lost.iter();
        lost.map(|it| it.error.to_string()).collect()
    }
}

/// What weakens a load from several hosts, beside what weakens any load.
fn warnings(together: &Together) -> Vec<Warning> {
    judged(together, |hosts| hosts.judge())
}

/// What is judged of the hosts of a load.
fn judged<T>(together: &Together, judge: impl FnOnce(&LoadHosts<'_>) -> T) -> T {
    let lost = together.lost.iter().map(|lost| LostHost {
        host: lost.error.host.clone(),
        at_s: Some(lost.after_s),
        message: lost.error.cause.to_string(),
    });
    let lost: Vec<LostHost> = lost.collect();
    let parts = together.parts.iter();
    let parts: Vec<_> = parts.map(|part| (&*part.host, &part.result)).collect();
    let hosts = LoadHosts {
        start_spread_ns: together.start_spread_ns(),
        clock_error_ns: together.clock_error_ns(),
        lost: &lost,
        parts: &parts,
    };
    judge(&hosts)
}

fn text(merged: Option<&LoadResult>, together: &Together) -> String {
    let mut text = match merged {
        Some(merged) => bakeoff_report::load_text(merged, output::terminal_width()),
        None if together.lost.is_empty() => {
            "no result of the whole load: a generator had no answer\n".to_owned()
        }
        None => "no result of the whole load: a generator was lost\n".to_owned(),
    };
    text.push('\n');
    for part in &together.parts {
        text.push_str(&part_line(part));
    }
    if let Some(spread) = together.start_spread_ns() {
        text.push_str(&format!(
            "began within {:.3} ms of each other, of which {:.3} ms are the clocks' error\n",
            spread as f64 / 1e6,
            together.clock_error_ns() as f64 / 1e6
        ));
    }
    for warning in warnings(together) {
        let Warning {
            code, text: said, ..
        } = warning;
        text.push_str(&format!("warning      {code}: {said}\n"));
    }
    text
}

fn part_line(part: &HostPart) -> String {
    let result = &part.result;
    let rate = result.requests.ok as f64 / result.measured_s;
    let ms = |q: f64| match result.latency.supported_quantile(q) {
        Some(ns) => format!("{:.3} ms", ns as f64 / 1e6),
        None => "-".to_owned(),
    };
    format!(
        "{:12} {} ok/s, p50 {}, p99 {}, {} ok of {} completed, {} threads\n",
        part.host,
        digits(rate),
        ms(0.5),
        ms(0.99),
        result.requests.ok,
        result.requests.completed,
        part.threads
    )
}

fn document(merged: Option<&LoadResult>, together: &Together, sessions: &[Session]) -> Value {
    let mut document = match merged {
        Some(merged) => bakeoff_report::load_json(merged),
        // Without the keys of a result: what is not there cannot be taken for the whole.
        None => json!({ "schema": bakeoff_report::LOAD_SCHEMA, "warnings": [] }),
    };
    let first = together.parts.iter().filter_map(|part| part.began_ns).min();
    let part = |part: &HostPart| {
        let after = part.began_ns.zip(first).map(|(began, first)| began - first);
        let drift = part.after.map(|clock| clock.drift_since(&part.before));
        json!({
            "host": part.host,
            "threads": part.threads,
            "began_after_first_ns": after,
            "clock": { "before": part.before, "after": part.after, "drift_ns": drift },
            "load": bakeoff_report::load_json(&part.result),
        })
    };
    let lost = together.lost.iter().map(|LostPart { error, after_s }| {
        json!({
            "host": error.host,
            "after_s": after_s,
            "code": error.cause.code(),
            "text": error.cause.to_string(),
        })
    });
    document["generators"] = together.parts.iter().map(part).collect();
    document["hosts"] = sessions
        .iter()
        .map(|session| json!(session.host()))
        .collect();
    document["lost"] = lost.collect();
    document["start_spread_ns"] = json!(together.start_spread_ns());
    document["clock_error_ns"] = json!(together.clock_error_ns());
    if let Some(list) = document["warnings"].as_array_mut() {
        list.extend(warnings(together).into_iter().map(|it| json!(it)));
    }
    document
}

/// 4 where there is no result of the whole load or nothing came out right, and with `--strict`
/// where something weakens the numbers.
fn exit_code(
    flags: &LoadCommand,
    merged: Option<&LoadResult>,
    together: &Together,
    interrupt: &Interrupt,
) -> u8 {
    if interrupt.came() {
        return exit::INTERRUPTED;
    }
    let Some(merged) = merged else {
        return exit::NOT_VALID;
    };
    let is_weak = !bakeoff_report::judge_load(merged).is_empty()
        || merged.outcomes.errors() > 0
        || !warnings(together).is_empty();
    if load::is_all_wrong(merged) || (flags.load.checks.strict && is_weak) {
        exit::NOT_VALID
    } else {
        exit::DONE
    }
}
