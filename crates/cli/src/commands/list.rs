//! `bakeoff list`: servers, workloads and plans that can be named.

use bakeoff_plan::Library;
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
            .map(|server| match &server.program {
                Ok(program) => json!({"name": server.name, "title": server.title,
                    "version": program.version, "binary": program.path, "missing": null}),
                Err(error) => json!({"name": server.name, "title": server.title,
                    "version": null, "binary": null, "missing": error.to_string()}),
            })
            .collect();
        let document = json!({"schema": "bakeoff.list/1", "servers": servers,
            "workloads": workloads, "plans": plans});
        output::result(&serde_json::to_string_pretty(&document)?)?;
        return Ok(exit::DONE);
    }
    let mut text = String::from("servers\n");
    for server in &servers {
        let found = match &server.program {
            Ok(program) => format!("{}  {}", program.version, program.path.display()),
            Err(error) => format!("failed to {error}"),
        };
        text.push_str(&format!("  {:12} {found}\n", server.name));
    }
    text.push_str(&format!("workloads\n  {}\n", workloads.join("\n  ")));
    text.push_str(&format!("plans\n  {}\n", plans.join("\n  ")));
    output::result(&text)?;
    Ok(exit::DONE)
}
