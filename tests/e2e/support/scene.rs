//! A folder in which bakeoff runs, and a watch over what it starts.
//!
//! Temporary files, home and results of a scene lie below one folder, whose name is also in the
//! environment of everything started in it. At its end nothing of that may be left running.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use super::files::measured;
use super::processes::{self, Process};
use super::turns::Turn;
use super::{PATIENCE, wait_until};

/// The longest that anything may live on after bakeoff.
const GONE_WITHIN: Duration = Duration::from_secs(30);
/// Between two looks at a running bakeoff.
const LOOK_AGAIN: Duration = Duration::from_millis(15);

pub(crate) struct Scene {
    folder: tempfile::TempDir,
    /// Everything that was seen below a bakeoff.
    seen: RefCell<BTreeSet<Process>>,
    started: RefCell<u32>,
    /// From its first process on.
    turn: RefCell<Option<Turn>>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Servers run as another user where this is root, and leave marks here.
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
        for name in ["home", "tmp"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self {
            folder,
            seen: RefCell::default(),
            started: RefCell::default(),
            turn: RefCell::default(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file below the scene and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// bakeoff with the scene as its folder and home, not yet started.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bakeoff"));
        command.args(arguments);
        self.settle(command)
    }

    /// The same under a umask of the shell's.
    pub(crate) fn command_with_umask(&self, umask: &str, arguments: &[&str]) -> Command {
        let script = format!("umask {umask}; exec \"$@\"");
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_bakeoff")]);
        command.args(arguments);
        self.settle(command)
    }

    /// The same without root's power over what its own permissions forbid.
    pub(crate) fn command_without_powers(&self, arguments: &[&str]) -> Command {
        if !rustix::process::geteuid().is_root() {
            return self.command(arguments);
        }
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set", "-all", env!("CARGO_BIN_EXE_bakeoff")]);
        command.args(arguments);
        self.settle(command)
    }

    /// The same as the foreground of the terminal that its standard input is.
    pub(crate) fn command_with_terminal(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait", env!("CARGO_BIN_EXE_bakeoff")]);
        command.args(arguments);
        self.settle(command)
    }

    /// Gives a command this scene as its folder and home.
    pub(crate) fn settle(&self, mut command: Command) -> Command {
        command
            .current_dir(self.folder.path())
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            // Scenes run beside each other; within one there is one campaign at a time.
            .env("BAKEOFF_CAMPAIGNS", self.folder.path())
            .env_remove("BAKEOFF_LIBRARY")
            .env_remove("XDG_CACHE_HOME")
            .stdin(Stdio::null())
            .process_group(0);
        command
    }

    /// Runs bakeoff to its end.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> Finished {
        self.start(arguments).finish()
    }

    /// Runs bakeoff to its end, which must be a good one, and reads the JSON that it prints.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        self.run(arguments).expect_loaded().json()
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Running<'_> {
        self.start_command(self.command(arguments))
    }

    /// Waits until it is this test's turn, if it is not. Before the first process of a test, also
    /// one that is not bakeoff: what ends by itself must not begin before the test may go on.
    pub(crate) fn wait_for_turn(&self) {
        if let Some(turn) = Turn::take() {
            self.turn.replace(Some(turn));
        }
    }

    pub(crate) fn start_command(&self, mut command: Command) -> Running<'_> {
        self.wait_for_turn();
        let number = self.started.replace_with(|number| *number + 1);
        let record = self.record_of(&command);
        let folder = command.get_current_dir().unwrap_or(self.folder.path());
        let folder = folder.to_owned();
        let output = self.path(&format!("stdout-{number}"));
        let errors = self.path(&format!("stderr-{number}"));
        command
            .stdout(File::create(&output).unwrap())
            .stderr(File::create(&errors).unwrap());
        Running {
            scene: self,
            child: command.spawn().unwrap(),
            folder,
            record,
            output,
            errors,
        }
    }

    /// The record folder that a command names, if it names one.
    fn record_of(&self, command: &Command) -> Option<PathBuf> {
        let mut arguments = command.get_args();
        arguments.find(|one| *one == "--out" || *one == "--resume")?;
        Some(self.folder.path().join(arguments.next()?))
    }

    fn note_below(&self, root: u32) -> Vec<Process> {
        let below = processes::below(root);
        self.seen.borrow_mut().extend(below.iter().cloned());
        below
    }

    /// What is left of everything that was started here.
    fn left(&self) -> BTreeSet<Process> {
        let marker = self.folder.path().display().to_string();
        let mut left = processes::bearing(&marker);
        let seen = self.seen.borrow();
        left.extend(seen.iter().filter(|it| processes::is_alive(it)).cloned());
        left
    }

    /// Waits until nothing called `name` is left.
    #[track_caller]
    pub(crate) fn wait_for_end_of(&self, name: &str) {
        wait_until(&format!("no {name} is left"), || {
            self.left().iter().all(|it| it.name != name)
        });
    }

    /// Waits until nothing is left, at most as long as anything may live on.
    #[track_caller]
    pub(crate) fn assert_empty(&self) {
        let end = Instant::now() + GONE_WITHIN;
        let mut left = self.left();
        while !left.is_empty() && Instant::now() < end {
            std::thread::sleep(LOOK_AGAIN);
            left = self.left();
        }
        assert!(left.is_empty(), "still running: {left:?}");
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.assert_empty();
        }
        for process in self.left() {
            processes::signal(process.pid, Signal::KILL);
        }
    }
}

/// A bakeoff that runs in a scene. Dropping it ends it by force.
pub(crate) struct Running<'s> {
    scene: &'s Scene,
    child: Child,
    output: PathBuf,
    errors: PathBuf,
    /// Where it runs.
    folder: PathBuf,
    record: Option<PathBuf>,
}

impl Running<'_> {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn stdout(&self) -> String {
        text(&self.output)
    }

    pub(crate) fn stderr(&self) -> String {
        text(&self.errors)
    }

    /// Programs that run below it now, by short name.
    pub(crate) fn below(&self) -> Vec<Process> {
        self.scene.note_below(self.pid())
    }

    /// Waits until `holds` of it, which must run as long.
    #[track_caller]
    pub(crate) fn wait_until(&mut self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !holds(self) {
            self.below();
            let ended = self.child.try_wait().unwrap();
            let words = || format!("{}{}", self.stdout(), self.stderr());
            assert!(ended.is_none(), "ended before {what}: {}", words());
            assert!(Instant::now() < end, "not in time {what}: {}", words());
            std::thread::sleep(LOOK_AGAIN);
        }
        self.below();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        processes::signal(self.pid(), signal);
    }

    /// A signal as Ctrl-C at a terminal sends it: to the whole process group.
    pub(crate) fn signal_group(&self, signal: Signal) {
        processes::signal_group(self.pid(), signal);
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn finish(self) -> Finished {
        match self.finish_within(PATIENCE * 10) {
            Ok(finished) => finished,
            Err(words) => panic!("no end of it: {words}"),
        }
    }

    /// Waits so long for its end, then ends it by force and returns what it said.
    pub(crate) fn finish_within(mut self, most: Duration) -> Result<Finished, String> {
        let end = Instant::now() + most;
        loop {
            self.below();
            if let Some(status) = self.child.try_wait().unwrap() {
                let stderr = self.stderr();
                let named = stderr.lines().find_map(|it| it.strip_prefix("record: "));
                let record = self.record.clone();
                let record = record.or_else(|| Some(self.folder.join(named?)));
                return Ok(Finished {
                    status,
                    stdout: self.stdout(),
                    stderr,
                    record,
                });
            }
            if Instant::now() >= end {
                return Err(self.stderr());
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// A bakeoff that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    record: Option<PathBuf>,
}

impl Finished {
    /// Asserts the exit code, and that nothing panicked.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "{self:#?}");
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        self
    }

    /// Asserts that it measured to the end. Whether the trials are valid is the machine's to say:
    /// on one that is busy an engine thread of a short trial may have set the pace. Then it ends
    /// with exit code 4, as it does where nothing was measured; so the record must hold a trial
    /// whose window was.
    #[track_caller]
    pub(crate) fn expect_measured(self) -> Self {
        let is_withheld = self.status.code() == Some(4);
        if is_withheld {
            let record = self.record.as_deref();
            let record = record.unwrap_or_else(|| panic!("no record is named: {self:#?}"));
            let measured = measured(record);
            assert!(!measured.is_empty(), "nothing was measured: {self:#?}");
        }
        self.expect(if is_withheld { 4 } else { 0 })
    }

    /// Asserts that it ended well, which for a load without a right answer is exit code 4.
    #[track_caller]
    pub(crate) fn expect_loaded(self) -> Self {
        let reported: Option<Value> = serde_json::from_str(&self.stdout).ok();
        let in_vain = reported.is_some_and(|load| load["requests"]["ok"] == 0);
        self.expect(if in_vain { 4 } else { 0 })
    }

    /// Asserts that it died of a signal.
    #[track_caller]
    pub(crate) fn expect_signal(self, signal: Signal) -> Self {
        assert_eq!(self.status.signal(), Some(signal.as_raw()), "{self:#?}");
        self
    }

    /// Asserts that it says something on standard error.
    #[track_caller]
    pub(crate) fn says(self, words: &str) -> Self {
        assert!(self.stderr.contains(words), "no `{words}` in {self:#?}");
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

fn text(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
}
