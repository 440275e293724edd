//! `bakeoff audit`: what in other people's results can be believed.

use std::io::{IsTerminal, Read as _};
use std::path::Path;

use bakeoff_record::{kind_of_bytes, read_regular};
use bakeoff_report::{Rig, audit, published_json, published_markdown, published_text};

use crate::flags::{AuditFlags, AuditFormat, RigFlags};
use crate::{exit, output};

/// Longest file that is read, bytes: a table of a hundred thousand rows is shorter.
const FILE_BYTES_MAX: u64 = 32 << 20;
/// Columns where standard output is no terminal.
const WIDTH: usize = 100;

pub(crate) fn carry_out(flags: &AuditFlags) -> anyhow::Result<u8> {
    let name = flags.file.display();
    let is_url = flags.file.to_str().is_some_and(|it| it.contains("://"));
    if is_url && !flags.file.exists() {
        return Err(exit::usage(
            "audit reads files, and this is a URL: save what it answers, or pass it on, as in \
             `curl -s URL | bakeoff audit -`",
        ));
    }
    let text = text_of(&flags.file)
        .map_err(|error| exit::usage(format!("failed to read {name}: {error}")))?;
    let published = bakeoff_published::read(&text, flags.from, &flags.column)
        .map_err(|error| exit::usage(format!("{name}:{error}")))?;
    let rig = rig(&flags.rig);
    rig.check_bodies(&published).map_err(exit::usage)?;
    let audited = audit(&published, &rig);
    let drawn = match flags.format {
        AuditFormat::Text => {
            let is_terminal = std::io::stdout().is_terminal() && flags.output.is_none();
            let width = output::terminal_width().filter(|_| is_terminal);
            published_text(&audited, width.unwrap_or(WIDTH), is_terminal)
        }
        AuditFormat::Md => published_markdown(&audited),
        AuditFormat::Json => published_json(&audited),
    };
    output::document_to(flags.output.as_deref(), &drawn)?;
    let table_is_fine = audited.table.is_empty() || !flags.strict;
    if audited.believable() == audited.rows.len() && table_is_fine {
        Ok(exit::DONE)
    } else {
        Ok(exit::NOT_VALID)
    }
}

fn text_of(path: &Path) -> std::io::Result<String> {
    let bytes = if path == Path::new("-") {
        standard_input()?
    } else {
        read_regular(path, FILE_BYTES_MAX)?
    };
    decoded(bytes).map_err(std::io::Error::other)
}

fn standard_input() -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let input = std::io::stdin().lock();
    input.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let problem = format!("it is longer than {FILE_BYTES_MAX} bytes");
        return Err(std::io::Error::other(problem));
    }
    Ok(bytes)
}

/// The text of a file, or how to make it readable: what Excel and PowerShell write is often in
/// another encoding.
fn decoded(bytes: Vec<u8>) -> Result<String, String> {
    let expected = |found: &str, encoding: &str| {
        format!(
            "{found}; expected UTF-8, as from `iconv -f {encoding} -t UTF-8 FILE | bakeoff audit -`"
        )
    };
    if let Some(kind) = kind_of_bytes(&bytes) {
        return Err(format!(
            "it is {kind}; expected text: a table in CSV or Markdown, or what a tool prints"
        ));
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(expected("it is text in UTF-16", "UTF-16"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
            + 1;
        let found = format!("line {line} is not text in UTF-8; it may be in Latin-1");
        expected(&found, "LATIN1")
    })?;
    if text.contains('\0') {
        Err(expected(
            "it holds bytes of 0, as text in UTF-16 does",
            "UTF-16LE",
        ))
    } else {
        Ok(text)
    }
}

fn rig(flags: &RigFlags) -> Rig {
    let seconds = |duration: std::time::Duration| duration.as_secs_f64();
    Rig {
        duration_s: flags.duration.map(seconds),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_utf_8_says_its_encoding_and_what_to_do() {
        let wide =
            |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
        for (bytes, part) in [
            (
                wide("\u{feff}a,b\n"),
                "UTF-16; expected UTF-8, as from `iconv -f UTF-16",
            ),
            (wide("a,b\n"), "iconv -f UTF-16LE"),
            (b"%PDF-1.4\n".to_vec(), "it is a PDF; expected text"),
            (
                b"PK\x03\x04\0".to_vec(),
                "it is a zip archive, as the files of Excel",
            ),
            (b"a,b\n1,\xfc".to_vec(), "line 2 is not text in UTF-8"),
        ] {
            let problem = decoded(bytes).unwrap_err();
            assert!(problem.contains(part), "{problem}");
        }
        assert_eq!(decoded(b"a,b".to_vec()), Ok("a,b".to_owned()));
    }
}
