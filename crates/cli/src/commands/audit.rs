//! `bakeoff audit`: what in other people's results can be believed.

use std::io::{IsTerminal, Read as _};
use std::path::Path;

use anyhow::Context;
use bakeoff_record::read_regular_text;
use bakeoff_report::{Rig, audit, published_json, published_markdown, published_text};

use crate::flags::{AuditFlags, AuditFormat, RigFlags};
use crate::{exit, output};

/// Longest file that is read, bytes: a table of a hundred thousand rows is shorter.
const FILE_BYTES_MAX: u64 = 32 << 20;
/// Columns where standard output is no terminal.
const WIDTH: usize = 100;

pub(crate) fn carry_out(flags: &AuditFlags) -> anyhow::Result<u8> {
    let name = flags.file.display();
    let text = text_of(&flags.file)
        .map_err(|error| exit::usage(format!("failed to read {name}: {error}")))?;
    let published = bakeoff_published::read(&text, flags.from, &flags.column)
        .map_err(|error| exit::usage(format!("{name}:{error}")))?;
    let audited = audit(&published, &rig(&flags.rig));
    let drawn = match flags.format {
        AuditFormat::Text => {
            let is_terminal = std::io::stdout().is_terminal() && flags.output.is_none();
            let width = output::terminal_width().filter(|_| is_terminal);
            published_text(&audited, width.unwrap_or(WIDTH), is_terminal)
        }
        AuditFormat::Md => published_markdown(&audited),
        AuditFormat::Json => published_json(&audited),
    };
    match &flags.output {
        Some(path) => std::fs::write(path, drawn)
            .with_context(|| format!("failed to write {}", path.display()))?,
        None => output::document(&drawn)?,
    }
    let table_is_fine = audited.table.is_empty() || !flags.strict;
    match audited.believable() == audited.rows.len() && table_is_fine {
        true => Ok(exit::DONE),
        false => Ok(exit::NOT_VALID),
    }
}

fn text_of(path: &Path) -> std::io::Result<String> {
    if path != Path::new("-") {
        return read_regular_text(path, FILE_BYTES_MAX);
    }
    let mut text = String::new();
    let input = std::io::stdin().lock();
    input.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        let problem = format!("it is longer than {FILE_BYTES_MAX} bytes");
        return Err(std::io::Error::other(problem));
    }
    Ok(text)
}

fn rig(flags: &RigFlags) -> Rig {
    let seconds = |duration: std::time::Duration| duration.as_secs_f64();
    Rig {
        // A flag of 0s says nothing.
        duration_s: flags.duration.map(seconds).filter(|s| *s > 0.0),
        bodies: flags.body.clone(),
        link_bits_per_s: flags.link,
        clients: flags.clients,
        streams: flags.streams,
        think_s: flags.think.map(seconds),
        planned_per_s: flags.rate,
        ceiling_per_s: flags.ceiling,
        cores: flags.cores,
        client_cores: flags.client_cores,
    }
}
