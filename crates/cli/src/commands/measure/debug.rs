//! `bakeoff debug`: starts a contender as a trial would and keeps it running until Ctrl-C.

use std::time::Duration;

use bakeoff_conduct::start_for_debugging;
use bakeoff_plan::nearest;
use bakeoff_report::Redaction;
use bakeoff_stage::Running;

use crate::flags::DebugFlags;
use crate::interrupt::Interrupt;
use crate::library::Folder;
use crate::run_folder::RunFolder;
use crate::{exit, output};

/// What it may take to stop both servers, seconds.
const STOP_WITHIN_S: u64 = 10;

pub(crate) fn carry_out(flags: &DebugFlags) -> anyhow::Result<u8> {
    let library = Folder::of(&flags.library)?;
    let plan = library.plan_named(&flags.plan)?;
    let contenders = plan.contenders.iter().map(|each| each.name.as_str());
    let contender = find(
        contenders.clone(),
        &flags.contender,
        "contender",
        &plan.name,
    )?;
    let workloads = plan.workloads.iter().map(|each| each.name.as_str());
    let workload = find(workloads.clone(), &flags.workload, "workload", &plan.name)?;
    let (contender, workload) = (&plan.contenders[contender], &plan.workloads[workload]);

    let interrupt = Interrupt::listen_with_limit()?;
    let scratch = RunFolder::make()?;
    let (bakeoff, stage) = scratch.stage(library.servers())?;
    let logs = scratch.path().join("logs").join("debug");
    let started = start_for_debugging(&stage, &bakeoff, &logs, contender, workload);
    if interrupt.came() {
        return Ok(exit::INTERRUPTED);
    }
    let mut up = started.map_err(super::stage_error)?;
    let redaction = if flags.show_secrets {
        Redaction::nothing()
    } else {
        Redaction::of_plan(&plan)
    };
    let facts = up.server.facts();
    let scheme = if workload.protocol.is_secure() {
        "https"
    } else {
        "http"
    };
    let mut text = format!(
        "url      {scheme}://{}{}\ncommand  {}\nlog      {}\n",
        facts.address,
        redaction.line(&workload.requests.first().path),
        redaction.command(&facts.command).join(" "),
        up.server.log().display()
    );
    text.push_str(&format!("user     {}\n", up.server.users().join(", ")));
    text.push_str(&by_hand(&up.server));
    for (setting, name) in up.server.settings() {
        let setting = redaction.line(&format!("{setting}: {name}"));
        text.push_str(&format!("setting  {setting}\n"));
    }
    for change in &facts.config_changes {
        let change = redaction.configuration(&change.on_one_line());
        text.push_str(&format!("changed  {change}\n"));
    }
    for config in &facts.configs {
        let config_text = redaction.configuration(&config.text);
        text.push_str(&format!("\n{}\n{config_text}\n", config.path));
    }
    output::result(&text)?;
    output::note("running; press Ctrl-C to stop");
    // From here on that is the usual end.
    interrupt.take_time(STOP_WITHIN_S);
    while !interrupt.came() {
        if let Some(status) = up.server.died() {
            let log = redaction.line(&up.server.log_tail());
            return Err(anyhow::anyhow!("the server died: {status}\n{log}"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    up.server.stop()?;
    if let Some(origin) = up.origin {
        origin.stop()?;
    }
    Ok(exit::DONE)
}

/// How its network is entered and its configuration is taken up, where that can be.
fn by_hand(server: &Running) -> String {
    let pid = server.tree().main_pid;
    let enter = format!("network  its own; nsenter --net --target {pid} curl URL\n");
    let reload = server.reload_signal();
    let reload = reload.map(|signal| format!("reload   kill -{signal} {pid}\n"));
    let enter = server.network().map(|_| enter);
    [enter, reload].into_iter().flatten().collect()
}

/// Position of `wanted` among `names`, or an error that suggests the nearest.
fn find<'n>(
    names: impl Iterator<Item = &'n str> + Clone,
    wanted: &str,
    noun: &str,
    plan: &str,
) -> anyhow::Result<usize> {
    names
        .clone()
        .position(|name| name == wanted)
        .ok_or_else(|| {
            let near = nearest(wanted, names.clone());
            let hint = near
                .map(|name| format!("; did you mean {name}?"))
                .unwrap_or_default();
            let known: Vec<&str> = names.collect();
            let known = known.join(", ");
            exit::usage(format!(
                "plan {plan} has no {noun} {wanted}{hint}; it has {known}"
            ))
        })
}
