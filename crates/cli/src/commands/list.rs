//! `bakeoff list`: the servers, workloads and plans that bakeoff knows.

use bakeoff_plan::Library;
use bakeoff_stage::Found;
use serde_json::json;

use crate::flags::ListFlags;
use crate::library::Folder;
use crate::{exit, output};

pub(crate) fn carry_out(flags: &ListFlags) -> anyhow::Result<u8> {
    let library = Folder::new(flags.library.clone())?;
    let servers = library.servers().list();
    let (workloads, plans) = (library.workload_names(), library.plan_names());
    if flags.json {
        let servers: Vec<_> = servers
            .iter()
            .map(|server| {
                let program = server.program.as_ref();
                json!({"name": server.name, "title": server.title,
                    "version": program.ok().map(|program| &program.version),
                    "binary": program.ok().map(|program| &program.path),
                    "missing": program.err().map(ToString::to_string),
                    "programs": server.found.iter().map(|found| json!({
                        "version": found.program.version, "binary": found.program.path,
                        "damage": found.damage})).collect::<Vec<_>>(),
                    "sources": server.sources})
            })
            .collect();
        let document = json!({"schema": "bakeoff.list/1", "servers": servers,
            "workloads": workloads, "plans": plans});
        output::result(&serde_json::to_string_pretty(&document)?)?;
        return Ok(exit::DONE);
    }
    let mut text = String::from("servers\n");
    for server in &servers {
        let mut lines: Vec<String> = server.found.iter().map(line).collect();
        if let (true, Err(error)) = (lines.is_empty(), &server.program) {
            lines.push(format!("{:10} {error}", "-"));
        }
        let mut name = server.name.as_str();
        for line in lines {
            text.push_str(&format!("  {name:12} {line}\n"));
            name = "";
        }
    }
    text.push_str(&format!("workloads\n  {}\n", workloads.join("\n  ")));
    text.push_str(&format!("plans\n  {}\n", plans.join("\n  ")));
    output::result(&text)?;
    Ok(exit::DONE)
}

fn line(found: &Found) -> String {
    let Found { program, damage } = found;
    let damage = damage.as_ref();
    let damage = damage.map(|damage| format!("  (damaged: {damage})"));
    format!(
        "{:10} {}{}",
        program.version,
        program.path.display(),
        damage.unwrap_or_default()
    )
}
