//! A container that runs: its processes, its output and its end.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::holder::Holder;
use crate::cgroup;
use crate::engine::{self, Engine, Inspected};
use crate::host;
use crate::keeper::signal_named;
use crate::kept::Gone;
use crate::tree;

/// Between two looks whether it has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A container that is measured, with those beside it.
#[derive(Debug)]
pub(crate) struct Container {
    pub(super) engine: Engine,
    pub(super) id: String,
    /// Its first process, and when that started, as [`tree::started`] has it.
    pub(super) main: Pid,
    pub(super) started: u64,
    pub(super) group: Option<PathBuf>,
    /// What the engine writes of its output.
    pub(super) engine_log: Option<PathBuf>,
    /// Where its output is copied to.
    pub(super) log: PathBuf,
    pub(super) status: Option<String>,
    /// First processes of the containers beside it.
    pub(super) beside: Vec<Pid>,
    pub(super) holder: Holder,
}

impl Container {
    /// Every process of it now.
    pub(crate) fn pids(&self) -> Vec<Pid> {
        match &self.group {
            Some(group) => tree::members(group),
            None if tree::is_running(self.main, self.started) => {
                let below = tree::descendants(self.main);
                std::iter::once(self.main).chain(below).collect()
            }
            None => Vec::new(),
        }
    }

    pub(crate) fn main(&self) -> Pid {
        self.main
    }

    pub(crate) fn group(&self) -> Option<&Path> {
        self.group.as_deref()
    }

    pub(crate) fn engine_log(&self) -> Option<&Path> {
        self.engine_log.as_deref()
    }

    pub(crate) fn status(&self) -> Option<&str> {
        self.status.as_deref()
    }

    /// First processes of the containers beside it, with their groups.
    pub(crate) fn beside(&self) -> impl Iterator<Item = (Pid, Option<PathBuf>)> {
        self.beside.iter().map(|&pid| (pid, cgroup::of_tree(pid)))
    }

    /// How it ended by itself, if it has.
    pub(crate) fn died(&mut self) -> Option<String> {
        if tree::is_running(self.main, self.started) {
            return None;
        }
        self.copy_log();
        self.learn_status();
        Some(
            self.status
                .clone()
                .unwrap_or_else(|| "it is gone".to_owned()),
        )
    }

    fn learn_status(&mut self) {
        let text = self.engine.ask(["container", "inspect", &self.id]);
        let seen = text.ok().and_then(|text| engine::containers(&text));
        self.status = seen.and_then(|seen| Some(ended(seen.first()?)));
    }

    /// Copies what it has printed so far to its log.
    pub(crate) fn copy_log(&self) {
        copy_log(&self.engine, &self.id, &self.log);
    }

    /// Asks it to end. [`Container::end`] is still needed then.
    pub(crate) fn stop(&mut self, signal: &str, grace: Duration) -> Gone {
        if tree::is_running(self.main, self.started) {
            let signal = signal_named(signal).unwrap_or(Signal::TERM);
            let _ = rustix::process::kill_process(self.main, signal);
        }
        let end = Instant::now() + grace;
        let mut left = !self.pids().is_empty();
        while left && Instant::now() < end && !host::is_interrupted() {
            std::thread::sleep(LOOK_AGAIN);
            left = !self.pids().is_empty();
        }
        if left {
            Gone::ByForce
        } else {
            Gone::Gracefully
        }
    }

    /// Removes it by force, with all that was started beside it.
    pub(crate) fn end(&mut self) {
        if !host::is_interrupted() {
            self.copy_log();
            if !tree::is_running(self.main, self.started) {
                self.learn_status();
            }
        }
        self.holder.remove();
    }
}

/// How a container ended, for people.
pub(super) fn ended(seen: &Inspected) -> String {
    if seen.out_of_memory {
        "killed: its container was out of memory".to_owned()
    } else {
        format!("exit code {}", seen.exit_code)
    }
}

/// Copies what a container has printed; a log that is there says more than none.
pub(super) fn copy_log(engine: &Engine, id: &str, log: &Path) {
    if let Ok(text) = engine.ask(["logs", id]) {
        let _ = std::fs::write(log, text);
    }
}
