//! A terminal for bakeoff: a pseudo-terminal at whose other end the test reads and types, and the
//! screen that somebody would see.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

use super::PATIENCE;
use super::scene::Scene;

/// A bakeoff that runs on a terminal of its own, in the foreground. Dropping it ends it by force.
pub(crate) struct OnTerminal {
    keyboard: File,
    /// Kept open, so that what bakeoff wrote last can be read.
    terminal: OwnedFd,
    child: Child,
    written: Arc<Mutex<Vec<u8>>>,
    modes: String,
}

impl OnTerminal {
    /// Starts bakeoff on a terminal of so many columns and rows.
    pub(crate) fn start(
        scene: &Scene,
        (columns, rows): (u16, u16),
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let keyboard = openpt(flags).unwrap();
        grantpt(&keyboard).unwrap();
        unlockpt(&keyboard).unwrap();
        let terminal = ioctl_tiocgptpeer(&keyboard, flags).unwrap();
        tcsetwinsize(&terminal, size(columns, rows)).unwrap();
        let modes = modes(&tcgetattr(&terminal).unwrap());
        let end = || terminal.try_clone().unwrap();
        let mut command = scene.command_with_terminal(arguments);
        command
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .envs(environment.iter().copied())
            .stdin(end())
            .stdout(end())
            .stderr(end());
        let child = command.spawn().unwrap();
        // It holds copies of the terminal.
        drop(command);
        let written = Arc::new(Mutex::new(Vec::new()));
        let (mut screen, all) = (File::from(keyboard.try_clone().unwrap()), written.clone());
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(length) = screen.read(&mut part)
                && length > 0
            {
                all.lock().unwrap().extend_from_slice(&part[..length]);
            }
        });
        Self {
            keyboard: keyboard.into(),
            terminal,
            child,
            written,
            modes,
        }
    }

    /// Everything that was written so far.
    pub(crate) fn written(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().unwrap()).into_owned()
    }

    /// Types as at a keyboard.
    pub(crate) fn type_in(&mut self, keys: &[u8]) {
        self.keyboard.write_all(keys).unwrap();
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        tcsetwinsize(&self.terminal, size(columns, rows)).unwrap();
    }

    /// Waits until `holds` of what was written.
    #[track_caller]
    pub(crate) fn wait_until(&self, what: &str, mut holds: impl FnMut(&str) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !holds(&self.written()) {
            let so_far = self.written();
            assert!(Instant::now() < end, "not in time {what}: {so_far:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for its end; the terminal must be in the modes in which it was.
    #[track_caller]
    pub(crate) fn finish(mut self) -> (ExitStatus, String) {
        let end = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < end, "no end of it: {:?}", self.written());
            std::thread::sleep(Duration::from_millis(10));
        };
        assert_eq!(modes(&tcgetattr(&self.terminal).unwrap()), self.modes);
        // A mark behind all that bakeoff wrote.
        const END: &str = "THE END";
        File::from(self.terminal.try_clone().unwrap())
            .write_all(END.as_bytes())
            .unwrap();
        self.wait_until("all is read", |written| written.ends_with(END));
        let written = self.written();
        (status, written[..written.len() - END.len()].to_owned())
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize {
        ws_col: columns,
        ws_row: rows,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

fn modes(termios: &Termios) -> String {
    format!(
        "{:?} {:?} {:?} {:?}",
        termios.input_modes, termios.output_modes, termios.control_modes, termios.local_modes
    )
}

/// What stands on a screen of this size after all of `written`. It understands what a view may
/// write; any other sequence fails the test.
#[track_caller]
pub(crate) fn screen(written: &str, (columns, rows): (usize, usize)) -> Vec<String> {
    let mut lines = vec![vec![' '; columns]; rows];
    let (mut row, mut column) = (0, 0);
    let mut rest = written.chars();
    while let Some(character) = rest.next() {
        match character {
            '\r' => column = 0,
            '\n' if row + 1 < rows => row += 1,
            '\n' => {
                lines.remove(0);
                lines.push(vec![' '; columns]);
            }
            '\x1b' => {
                assert_eq!(rest.next(), Some('['), "another sequence in {written:?}");
                let number: String = rest
                    .clone()
                    .take_while(|c| "0123456789;".contains(*c))
                    .collect();
                let mut after = rest.clone().skip(number.len());
                match after.next() {
                    Some('A') => row = row.saturating_sub(number.parse().unwrap_or(1)),
                    Some('K') => lines[row][column..].fill(' '),
                    Some('J') => {
                        lines[row][column..].fill(' ');
                        lines[row + 1..].iter_mut().for_each(|line| line.fill(' '));
                    }
                    Some('m') => {}
                    other => panic!("a sequence that ends in {other:?} in {written:?}"),
                }
                for _ in 0..=number.len() {
                    rest.next();
                }
            }
            other => {
                // The result may be wider than a view may be.
                if column == columns {
                    (row, column) = (row + 1, 0);
                    if row == rows {
                        lines.remove(0);
                        lines.push(vec![' '; columns]);
                        row -= 1;
                    }
                }
                lines[row][column] = other;
                column += 1;
            }
        }
    }
    let line = |line: Vec<char>| line.into_iter().collect::<String>().trim_end().to_owned();
    lines.into_iter().map(line).collect()
}
