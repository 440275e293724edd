//! The only place that prints. Results go to standard output, everything else to standard error.
//!
//! Whatever text comes here from plans, servers, file names or records leaves without characters
//! that a terminal acts on.

use std::io::{self, IsTerminal as _, Write};
use std::path::Path;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use bakeoff_report::plain_lines;

const ERROR: Style = AnsiColor::Red.on_default().bold();

/// Prints a result. A reader that has gone away, as in `bakeoff list | head -1`, is no error.
pub(crate) fn result(text: &str) -> io::Result<()> {
    document(&plain_lines(text))
}

/// Prints a result that is fit to be printed as it is: drawn by `bakeoff-report`, which escapes
/// what is not its own, with colours or as a page; or no text from outside at all.
pub(crate) fn document(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| {
        if text.ends_with('\n') {
            Ok(())
        } else {
            out.write_all(b"\n")
        }
    });
    match written.and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|error| {
            let why = format!("failed to write the result to standard output: {error}");
            io::Error::new(error.kind(), why)
        }),
    }
}

/// Writes a document to the file that `--output` names; without one it is printed.
pub(crate) fn document_to(file: Option<&Path>, text: &str) -> anyhow::Result<()> {
    let Some(file) = file else {
        return Ok(document(text)?);
    };
    std::fs::write(file, text).map_err(|error| {
        let fix = "choose another file with --output";
        crate::paths::not_made("write", file, &error, fix)
    })
}

/// Prints a message for a person, apart from the result.
pub(crate) fn note(text: &str) {
    print_note("", text);
}

/// Prints `own` as it is, and `text` without what a terminal acts on.
fn print_note(own: &str, text: &str) {
    // There is nowhere to report that this failed.
    let _ = writeln!(anstream::stderr().lock(), "{own}{}", plain_lines(text));
}

/// Prints what clap says: why the command line is refused, or the help or version asked for.
pub(crate) fn from_clap(error: &clap::Error) -> ExitCode {
    let mut arguments = std::env::args_os();
    let all_plain = arguments.all(|argument| {
        let text = argument.to_string_lossy();
        plain_lines(&text) == text
    });
    if all_plain {
        // Where an error cannot be printed, there is nowhere to report that.
        if let Err(cause) = error.print()
            && !error.use_stderr()
            && cause.kind() != std::io::ErrorKind::BrokenPipe
        {
            note(&format!(
                "error: failed to write to standard output: {cause}"
            ));
            return ExitCode::from(crate::exit::FAILED);
        }
    } else {
        // It repeats arguments, and would do so with what a terminal acts on.
        note(error.to_string().trim_end());
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(crate::exit::USAGE))
}

/// Prints why the command failed, with the causes.
pub(crate) fn error(error: &anyhow::Error) {
    let mut text = error.to_string();
    let mut above = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        // Some errors already say what their source says.
        if !above.contains(&cause) {
            text.push_str(&format!(": {cause}"));
        }
        above = cause;
    }
    print_note(&format!("{ERROR}error:{ERROR:#} "), &text);
}

/// Whether standard error is a terminal that lines can be drawn over.
pub(crate) fn is_drawable() -> bool {
    let name = std::env::var_os("TERM").unwrap_or_default();
    io::stderr().is_terminal() && !name.is_empty() && name != "dumb"
}

/// Whether what is drawn on standard error may have colours.
pub(crate) fn has_colour() -> bool {
    anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
}

/// Columns and rows of the terminal that standard error is; `None` where it is none, or where
/// this process is not in its foreground.
pub(crate) fn drawing_size() -> Option<(usize, usize)> {
    let stderr = io::stderr();
    let foreground = rustix::termios::tcgetpgrp(&stderr).ok()?;
    let size = rustix::termios::tcgetwinsize(&stderr).ok()?;
    let is_ours = foreground == rustix::process::getpgrp();
    // A terminal that does not know its size says 0.
    let (columns, rows) = (usize::from(size.ws_col), usize::from(size.ws_row));
    let known = columns > 0 && rows > 0;
    is_ours.then_some(if known { (columns, rows) } else { (80, 24) })
}

/// Writes to standard error as it is: what `load` draws over its own lines, whose texts are made
/// fit for it there.
pub(crate) fn draw(text: &str) {
    // There is nowhere to report that this failed.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Columns of the terminal, if standard output is one that knows them.
pub(crate) fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}
