//! `bakeoff list`: the servers, workloads and plans that bakeoff knows.
//!
//! It runs the version commands of built-in servers, and those of the user's library only if that
//! is asked for: a library from somebody else can be looked at first.

use std::collections::BTreeMap;

use bakeoff_plan::Library;
use bakeoff_stage::{Asks, Found, Listed};
use serde_json::{Value, json};

use crate::flags::ListFlags;
use crate::library::Folder;
use crate::{exit, output};

/// Why the version of a program is missing.
const NOT_ASKED: &str = "not asked";

pub(crate) fn carry_out(flags: &ListFlags) -> anyhow::Result<u8> {
    let library = Folder::new(flags.library.clone())?;
    let asks = if flags.versions {
        Asks::All
    } else {
        Asks::BuiltIn
    };
    let servers = library.servers().asking(asks).list();
    let workloads = described(library.workload_names(), |name| {
        library.said_of_workload(name)
    });
    let plans = described(library.plan_names(), |name| library.said_of_plan(name));
    if flags.json {
        let servers: Vec<Value> = servers.iter().map(as_json).collect();
        let document = json!({"schema": "bakeoff.list/1", "servers": servers,
            "workloads": names(&workloads), "plans": names(&plans),
            "descriptions": {"workloads": by_name(&workloads), "plans": by_name(&plans)}});
        let text = serde_json::to_string_pretty(&document)?;
        output::document(&bakeoff_report::json_safe(&text))?;
        return Ok(exit::DONE);
    }
    let mut text = String::from("servers\n");
    for server in &servers {
        let mut lines: Vec<String> = server.found.iter().map(line).collect();
        if let Some(error) = &server.missing {
            lines.push(format!("{:10} {error}", "-"));
        }
        // A variant is named after its server: `nginx:optimized`.
        if !server.variants.is_empty() {
            lines.push(format!("variants: {}", server.variants.join(", ")));
        }
        let mut name = server.name.as_str();
        for line in lines {
            text.push_str(&format!("  {name:12} {line}\n"));
            name = "";
        }
    }
    for (title, all) in [("workloads", workloads), ("plans", plans)] {
        text.push_str(&format!("{title}\n"));
        all.iter().for_each(|one| text.push_str(&one.line()));
    }
    output::result(&text)?;
    let mut found = servers.iter().flat_map(|server| &server.found);
    if found.any(|found| found.version.is_none()) {
        output::note(
            "not asked: the version commands of your library were not run; --versions runs them",
        );
    }
    Ok(exit::DONE)
}

/// A workload or a plan, with what it says of itself.
struct Described {
    name: String,
    description: Option<String>,
}

fn described(names: Vec<String>, said: impl Fn(&str) -> Option<String>) -> Vec<Described> {
    let described = |name: String| Described {
        description: said(&name),
        name,
    };
    names.into_iter().map(described).collect()
}

impl Described {
    fn line(&self) -> String {
        let said = self.description.as_deref().unwrap_or_default();
        let line = format!("  {:16} {said}", self.name);
        format!("{}\n", line.trim_end())
    }
}

fn names(all: &[Described]) -> Vec<&str> {
    all.iter().map(|one| one.name.as_str()).collect()
}

fn by_name(all: &[Described]) -> BTreeMap<&str, Option<&str>> {
    let each = all.iter();
    each.map(|one| (one.name.as_str(), one.description.as_deref()))
        .collect()
}

fn as_json(server: &Listed) -> Value {
    let first = server.found.first();
    let programs: Vec<Value> = server.found.iter().map(program_as_json).collect();
    json!({"name": server.name, "title": server.title,
        "variants": server.variants,
        "version": first.and_then(|found| found.version.as_ref()),
        "binary": first.map(|found| found.path.display().to_string()),
        "missing": server.missing.as_ref().map(ToString::to_string),
        "programs": programs, "sources": server.sources})
}

fn program_as_json(found: &Found) -> Value {
    let why = found.version.is_none().then_some(NOT_ASKED);
    let path = found.path.display().to_string();
    json!({"version": found.version, "why_no_version": why, "binary": path,
        "damage": found.damage, "unverified": found.is_unverified})
}

fn line(found: &Found) -> String {
    let version = found.version.as_deref().unwrap_or(NOT_ASKED);
    let mut line = format!("{version:10} {}", found.path.display());
    if found.is_unverified {
        line.push_str("  (unverified)");
    }
    if let Some(damage) = &found.damage {
        line.push_str(&format!("  (damaged: {damage})"));
    }
    line
}
