//! A folder in which bakeoff runs on an invented machine.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use bakeoff_record::{Record, RecordFolder};
use serde_json::Value;

/// The file of the machine.
const MACHINE: &str = "machine.toml";

pub(crate) struct Scene(tempfile::TempDir);

impl Scene {
    /// A machine on which everything is as usual.
    pub(crate) fn new() -> Self {
        Self::of("")
    }

    /// A machine as this file describes it.
    pub(crate) fn of(machine: &str) -> Self {
        let scene = Self(tempfile::tempdir().unwrap());
        for name in ["home", "tmp"] {
            std::fs::create_dir(scene.path(name)).unwrap();
        }
        scene.write(MACHINE, machine);
        scene
    }

    /// A machine as usual with the record `record` of a race of nginx and caddy, which is half as
    /// fast.
    pub(crate) fn raced(more: &[&str]) -> Self {
        let scene = Self::of("contender.caddy.rate = 5_000");
        let race = ["race", "nginx", "caddy", "--out", "record"];
        scene.run(&[&race, more].concat()).expect(0);
        scene
    }

    /// Makes the machine another one.
    pub(crate) fn becomes(&self, machine: &str) {
        self.write(MACHINE, machine);
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file below the scene and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs bakeoff to its end.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> Finished {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bakeoff"));
        command.args(arguments);
        self.run_command(command)
    }

    /// Runs a command with this scene as its folder and home.
    #[track_caller]
    pub(crate) fn run_command(&self, mut command: Command) -> Finished {
        command
            .current_dir(self.0.path())
            .env("BAKEOFF_INVENTED", self.path(MACHINE))
            .env("BAKEOFF_CAMPAIGNS", self.0.path())
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env_remove("BAKEOFF_LIBRARY")
            .env_remove("XDG_CACHE_HOME")
            .stdin(Stdio::null());
        Finished::of(command.output().unwrap())
    }

    /// Runs bakeoff to its end, which must be a good one, and reads the JSON that it prints.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        self.run(arguments).expect(0).json()
    }

    /// Writes a record once more, with changes, to a new folder.
    pub(crate) fn change(&self, from: &str, to: &str, change: impl FnOnce(&mut Record)) {
        let mut record = Record::read(&self.path(from)).unwrap();
        change(&mut record);
        let to = self.path(to);
        let mut folder = RecordFolder::create(&to, &record.plan, &record.machine).unwrap();
        for trial in &record.trials {
            folder.append(trial).unwrap();
        }
    }

    /// Trials of a record as its file holds them.
    pub(crate) fn trials(&self, record: &str) -> Vec<Value> {
        let text = self.read(&format!("{record}/trials.jsonl"));
        let lines = text.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Ids of the trials that were measured, sorted; each must be there once.
    #[track_caller]
    pub(crate) fn measured(&self, record: &str) -> Vec<String> {
        let mut trials = self.trials(record);
        trials.retain(|it| it["end"]["kind"] == "measured");
        let ids = trials.iter().map(|it| it["id"].as_str().unwrap());
        let mut ids: Vec<String> = ids.map(str::to_owned).collect();
        ids.sort();
        assert!(ids.is_sorted_by(|a, b| a < b), "measured twice: {ids:?}");
        ids
    }
}

/// A bakeoff that has ended.
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Documents are long, and what went wrong is said last.
impl std::fmt::Debug for Finished {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let end = |text: &str| {
            let from = text.char_indices().rev().nth(2_000);
            text[from.map_or(0, |(at, _)| at)..].to_owned()
        };
        let Self {
            code,
            stdout,
            stderr,
        } = self;
        write!(out, "exit {code:?}\n{}\n{}", end(stdout), end(stderr))
    }
}

impl Finished {
    #[track_caller]
    fn of(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let finished = Self {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        };
        assert!(!finished.stderr.contains("panicked"), "{finished:#?}");
        finished
    }

    /// Asserts the exit code.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Asserts that it says something on standard error.
    #[track_caller]
    pub(crate) fn says(self, words: &str) -> Self {
        assert!(self.stderr.contains(words), "no `{words}` in {self:#?}");
        self
    }

    /// Asserts that it says something on standard output.
    #[track_caller]
    pub(crate) fn prints(self, words: &str) -> Self {
        assert!(self.stdout.contains(words), "no `{words}` in {self:#?}");
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}
