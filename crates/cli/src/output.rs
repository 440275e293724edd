//! The only place that prints. Results go to standard output, everything else to standard error.
//!
//! Whatever text comes here from plans, servers, file names or records leaves without characters
//! that a terminal acts on.

use std::io::{self, Write};
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
        other => other,
    }
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
        // There is nowhere to report that this failed.
        let _ = error.print();
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

/// Columns of the terminal, if standard output is one.
pub(crate) fn terminal_width() -> Option<usize> {
    let size = console::Term::stdout().size_checked()?;
    Some(usize::from(size.1))
}
