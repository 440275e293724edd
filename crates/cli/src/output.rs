//! The only place that prints. Results go to standard output, everything else to standard error.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

const ERROR: Style = AnsiColor::Red.on_default().bold();

/// Prints a result. A reader that has gone away, as in `bakeoff list | head -1`, is no error.
pub(crate) fn result(text: &str) -> io::Result<()> {
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
    // There is nowhere to report that this failed.
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Prints why the command failed, with the causes.
pub(crate) fn error(error: &anyhow::Error) {
    let mut text = format!("{ERROR}error:{ERROR:#} {error}");
    let mut above = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        // Some errors already say what their source says.
        if !above.contains(&cause) {
            text.push_str(&format!(": {cause}"));
        }
        above = cause;
    }
    note(&text);
}

/// Columns of the terminal, if standard output is one.
pub(crate) fn terminal_width() -> Option<usize> {
    let size = console::Term::stdout().size_checked()?;
    Some(usize::from(size.1))
}
