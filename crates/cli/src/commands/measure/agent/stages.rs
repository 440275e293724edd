//! The stage of an agent: starts, queries and stops the servers of this host on request.
//!
//! It works on its own thread, so the agent answers pings while a server starts. Before the agent
//! ends, for any reason, its stage ends the servers and their keepers, and removes their folder.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bakeoff_conduct::{Here, Programs, Roles, Site as _, Staged, StartFailed, StartOrder};
use bakeoff_hosts::{Cause, Outbox, Report, monotonic_ns};
use bakeoff_load::Pem;
use bakeoff_record::{FileBytes, Machine, private_folder, read_regular};
use bakeoff_stage::{Listening, Servers, StageError, host, leftovers};

use super::ask::{Answer, Ask, SetUp, StageFacts};
use super::own_folders::{OwnFolders, is_plain};
use super::refused;
use super::samples;
use crate::paths::must_be_text;
use crate::run_folder::RunFolder;

/// Orders that wait.
const WAITING_MAX: usize = 8;
/// Between two looks at whether a server has died.
const LOOK_PERIOD: Duration = Duration::from_millis(50);
/// What ending by force may take.
const END_WITHIN: Duration = Duration::from_secs(2);
/// Logs of a trial, how much of the end of one is sent, and bytes of all together.
const LOGS_MAX: usize = 256;
const LOG_BYTES_MAX: u64 = 4 << 20;
const LOGS_BYTES_MAX: u64 = 64 << 20;
/// Folders in folders of logs, and of files of servers.
const DEPTH_MAX: usize = 8;
/// What to do where the temporary folder takes nothing.
const ROOM: &str = "make room in the temporary folder of that host, or set TMPDIR to another one \
                    in the environment of your login there";

/// Ends the stage, from whatever thread.
#[derive(Clone, Default)]
pub(super) struct Ending {
    stop: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
    folder: Arc<Mutex<Option<PathBuf>>>,
}

impl Ending {
    /// Ends what runs, waits a moment for it, and removes the folder. What is left then ends with
    /// this process.
    pub(super) fn end(&self) {
        let folder = || self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        if folder().is_none() {
            return;
        }
        self.stop.store(true, Ordering::Relaxed);
        let end = Instant::now() + END_WITHIN;
        while !self.is_over.load(Ordering::Relaxed) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        if let Some(folder) = folder().take() {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// The stage of an agent.
pub(super) struct Stages {
    outbox: Outbox,
    ending: Ending,
    orders: Option<SyncSender<Ask>>,
}

impl Stages {
    pub(super) fn new(outbox: Outbox, ending: Ending) -> Self {
        Self {
            outbox,
            ending,
            orders: None,
        }
    }

    /// Has an order carried out; its report comes later.
    pub(super) fn carry_out(&mut self, order: Ask) -> Result<(), Report> {
        if self.orders.is_none() {
            host::hear(self.ending.stop.clone());
            let (orders, waiting) = sync_channel(WAITING_MAX);
            let (outbox, ending) = (self.outbox.clone(), self.ending.clone());
            let thread = std::thread::Builder::new().name("stage".to_owned());
            let work = move || Worker::new(outbox, ending).work(&waiting);
            thread.spawn(work).map_err(|error| refused(error, false))?;
            self.orders = Some(orders);
        }
        let Some(orders) = &self.orders else {
            return Ok(());
        };
        orders.try_send(order).map_err(|error| match error {
            TrySendError::Full(_) => refused("the stage has too many orders", false),
            TrySendError::Disconnected(_) => refused("the stage has ended", false),
        })
    }
}

/// Who carries out orders.
struct Worker {
    outbox: Outbox,
    ending: Ending,
    staged: Option<Box<dyn Staged>>,
    /// Whether home knows that the server has died.
    is_reported: bool,
    /// The folder of logs of what runs.
    logs: PathBuf,
    site: Option<Here>,
    /// Where configurations that came from home are.
    own: OwnFolders,
    /// Goes last.
    folder: Option<RunFolder>,
}

impl Worker {
    fn new(outbox: Outbox, ending: Ending) -> Self {
        Self {
            outbox,
            ending,
            staged: None,
            is_reported: false,
            logs: PathBuf::new(),
            site: None,
            own: OwnFolders::default(),
            folder: None,
        }
    }

    fn work(mut self, orders: &Receiver<Ask>) {
        while !self.ending.stop.load(Ordering::Relaxed) {
            match orders.recv_timeout(LOOK_PERIOD) {
                Ok(ask) => {
                    let answer = self.carry_out(ask);
                    self.say(&answer);
                }
                Err(RecvTimeoutError::Timeout) => self.look(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let over = self.ending.is_over.clone();
        // Servers end here.
        drop(self);
        over.store(true, Ordering::Relaxed);
    }

    fn say(&self, answer: &Answer) {
        // Samples name no files.
        let said = if self.own.is_empty() || matches!(answer, Answer::Sampled(_)) {
            self.outbox.answer(answer)
        } else {
            let said = serde_json::to_value(answer).map_err(std::io::Error::from);
            said.and_then(|mut said| {
                self.own.as_at_home(&mut said);
                self.outbox.answer(&said)
            })
        };
        // Whoever no longer listens is noticed by the end of the input.
        if let Err(error) = said
            && matches!(
                error.kind(),
                ErrorKind::FileTooLarge | ErrorKind::InvalidData
            )
        {
            self.say(&Answer::Cannot(error.to_string()));
        }
    }

    /// Says once that a server has died.
    fn look(&mut self) {
        let Some(staged) = self.staged.as_mut().filter(|_| !self.is_reported) else {
            return;
        };
        if let Some(status) = staged.strayed().or_else(|| staged.died()) {
            let log_tail = staged.log_tail();
            self.is_reported = true;
            self.say(&Answer::Died { status, log_tail });
        }
    }

    fn carry_out(&mut self, mut ask: Ask) -> Answer {
        self.own.lead(&mut ask);
        let site = match (ask, &self.site) {
            (Ask::SetUp(set_up), _) => {
                let ready = self.set_up(*set_up);
                return ready.unwrap_or_else(|error| not_set_up(&error));
            }
            (Ask::Drop, _) => {
                self.drop_staged();
                return Answer::Dropped;
            }
            (ask @ (Ask::Contestant(_) | Ask::Sampled { .. } | Ask::Stop), _) => {
                return self.of_contestant(ask);
            }
            (_, None) => return Answer::Refused("no stage is set up".to_owned()),
            (ask, Some(site)) => (ask, site),
        };
        let refused = |error: &dyn std::fmt::Display| Answer::Refused(error.to_string());
        match site {
            (Ask::Programs { plan, before }, site) => match site.fix(&plan, before) {
                Ok(()) => Answer::Programs(site.programs().clone()),
                Err(changed) => refused(&changed),
            },
            (Ask::Preflight { plan }, site) => match site.preflight(&plan) {
                Ok(findings) => Answer::Findings(findings),
                Err(error) => refused(&error),
            },
            (Ask::First { plan, known }, site) => match site.first_answers(&plan, &known) {
                Ok(first) => Answer::First(Box::new(first)),
                Err(error) => refused(&error),
            },
            (
                Ask::Start {
                    contender,
                    workload,
                    logs,
                    part,
                    action,
                },
                _,
            ) => {
                let order = StartOrder {
                    contender: &contender,
                    workload: &workload,
                    logs: Path::new(&logs),
                    part,
                    action,
                };
                self.start(order)
            }
            _ => not_of_stage(),
        }
    }

    fn set_up(&mut self, set_up: SetUp) -> anyhow::Result<Answer> {
        let SetUp {
            address,
            names,
            pinning,
            roles,
            seed,
            library,
            own: own_folders,
        } = set_up;
        let address = address.or_else(super::own_address);
        let address = address.ok_or_else(|| {
            let fix = Cause::NoAddress.fix();
            anyhow::anyhow!("nothing says by which address the others reach it; {fix}")
        })?;
        self.drop_staged();
        self.site = None;
        // Agents may be all that ever runs of bakeoff on this host, so that nobody else would
        // remove what one that was killed has left.
        let temporary = std::env::temp_dir();
        leftovers::remove(&temporary);
        must_be_text("the temporary folder (TMPDIR)", &temporary)?;
        let folder = RunFolder::make_in(&temporary)
            .with_context(|| format!("make a run folder in {}", temporary.display()))?;
        let path = folder.path().to_owned();
        *self
            .ending
            .folder
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(path.clone());
        self.folder = Some(folder);
        let servers = path.join("library");
        write_library(&servers, &library)?;
        self.own = OwnFolders::place(&path.join("own"), own_folders)?;
        let listening = Listening { address, names };
        let servers = Servers::new((!library.is_empty()).then_some(servers));
        let made = self
            .folder
            .as_ref()
            .map(|it| it.stage_at(servers, listening));
        let (bakeoff, stage) = made.ok_or_else(|| {
            anyhow::anyhow!(
                "the agent has no run folder; this is a defect of bakeoff, please report it"
            )
        })??;
        let site = Here {
            stage: Arc::new(stage),
            bakeoff,
            folder: path,
            roles: Roles::divide_for(&pinning, roles)?,
            seed,
            stop: self.ending.stop.clone(),
            programs: Mutex::new(Programs::default()),
        };
        let facts = StageFacts {
            open_files: site.open_files(),
            address,
            machine: Box::new(Machine {
                bakeoff: env!("CARGO_PKG_VERSION").to_owned(),
                ..bakeoff_probe::machine()
            }),
        };
        self.site = Some(site);
        Ok(Answer::SetUp(Box::new(facts)))
    }

    fn drop_staged(&mut self) {
        self.staged = None;
        if !self.logs.as_os_str().is_empty() {
            let _ = std::fs::remove_dir_all(std::mem::take(&mut self.logs));
        }
    }

    /// Starts a contestant, whose folder of logs has this name.
    fn start(&mut self, order: StartOrder<'_>) -> Answer {
        self.drop_staged();
        let Some(site) = &self.site else {
            return Answer::Refused("no stage is set up".to_owned());
        };
        if !is_plain(order.logs, 1) {
            let why = format!("`{}` is no name of a folder", order.logs.display());
            return Answer::Refused(why);
        }
        self.logs = site.folder.join("logs").join(order.logs);
        self.is_reported = false;
        let order = StartOrder {
            logs: &self.logs,
            ..order
        };
        let started = site.start(&order, &mut |step| self.say(&Answer::Step(step)));
        let staged = match started {
            Ok(staged) => staged,
            Err(StartFailed::Trial(end)) => {
                // Of a start that failed nothing but its end is sent.
                self.drop_staged();
                return Answer::Failed(end);
            }
            Err(StartFailed::FullDisk(why)) => return Answer::FullDisk(why),
            // It is this machine, which is there.
            Err(StartFailed::Unreached(lost) | StartFailed::Lost(lost)) => {
                return Answer::Cannot(lost.message);
            }
        };
        let mut started = staged.started();
        let authority = started.reached.authority.take();
        started.reached.authority = authority.and_then(|pem| {
            let bytes = read_regular(&pem.path, LOG_BYTES_MAX).ok()?;
            let bytes = Some(FileBytes(bytes));
            Some(Pem { bytes, ..pem })
        });
        self.staged = Some(staged);
        Answer::Started(Box::new(started))
    }

    fn of_contestant(&mut self, ask: Ask) -> Answer {
        let Some(mut staged) = self.staged.take() else {
            return Answer::Cannot("nothing runs on the stage".to_owned());
        };
        let answer = match ask {
            Ask::Stop => {
                let stopped = staged.stop();
                let logs = logs_in(&self.logs);
                self.drop_staged();
                return Answer::Stopped { stopped, logs };
            }
            Ask::Sampled { start_ns } => {
                let usage = samples::fitting(staged.sampled(start_ns.map(instant)));
                let cannot = || Answer::Cannot("write samples".to_owned());
                usage.map_or_else(cannot, |usage| Answer::Sampled(Box::new(usage)))
            }
            Ask::Contestant(ask) => Answer::Contestant(staged.ask(ask)),
            _ => not_of_stage(),
        };
        self.staged = Some(staged);
        answer
    }
}

fn not_of_stage() -> Answer {
    Answer::Refused("it is nothing for a stage".to_owned())
}

/// Why a stage is not set up. What the file system of this host refuses is nothing that a plan asks
/// for.
fn not_set_up(error: &anyhow::Error) -> Answer {
    let text = format!("{error:#}");
    let is_of_files = |cause: &(dyn std::error::Error + 'static)| {
        let of_stage = cause.downcast_ref::<StageError>();
        let of_stage = of_stage.map(|error| &*error.cause);
        cause.is::<std::io::Error>() || matches!(of_stage, Some(bakeoff_stage::Cause::File { .. }))
    };
    if error.chain().any(is_of_files) {
        let why = text.strip_prefix("failed to ").unwrap_or(&text);
        Answer::Cannot(format!("{why}; {ROOM}"))
    } else {
        Answer::Refused(text)
    }
}

/// A time of this host's monotonic clock.
fn instant(ns: u64) -> Instant {
    let (now, now_ns) = (Instant::now(), monotonic_ns());
    let before = now.checked_sub(Duration::from_nanos(now_ns.saturating_sub(ns)));
    let after = now.checked_add(Duration::from_nanos(ns.saturating_sub(now_ns)));
    if ns <= now_ns { before } else { after }.unwrap_or(now)
}

/// Makes the files of servers that are the user's own.
fn write_library(folder: &Path, files: &[(String, FileBytes)]) -> anyhow::Result<()> {
    for (name, bytes) in files {
        let path = Path::new(name);
        if !is_plain(path, DEPTH_MAX) {
            anyhow::bail!("`{name}` is no name of a server's file");
        }
        let path = folder.join(path);
        let made = private_folder(path.parent().unwrap_or(folder));
        let written = made.and_then(|()| std::fs::write(&path, &bytes.0));
        written.with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}

/// The ends of the logs below a folder, by name.
fn logs_in(folder: &Path) -> Vec<(String, FileBytes)> {
    let mut logs = Vec::new();
    let mut left = LOGS_BYTES_MAX;
    let mut folders = vec![(folder.to_owned(), 1)];
    while let Some((in_folder, depth)) = folders.pop() {
        for entry in std::fs::read_dir(in_folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if depth < DEPTH_MAX {
                    folders.push((path, depth + 1));
                }
                continue;
            }
            let name = path.strip_prefix(folder).ok().and_then(Path::to_str);
            let (Some(name), Ok(bytes)) = (name, end_of(&path, LOG_BYTES_MAX.min(left))) else {
                continue;
            };
            if logs.len() == LOGS_MAX {
                return logs;
            }
            left -= bytes.len() as u64;
            logs.push((name.to_owned(), FileBytes(bytes)));
        }
    }
    logs
}

/// The end of a regular file.
fn end_of(path: &Path, bytes_max: u64) -> std::io::Result<Vec<u8>> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let mut file = File::options()
        .read(true)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or(0))
        .open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    file.seek(SeekFrom::Start(found.len().saturating_sub(bytes_max)))?;
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_not_plain() {
        for (name, expected) in [
            ("server.log", true),
            ("own/nginx.conf", true),
            ("../server.log", false),
            ("/etc/passwd", false),
            ("own/../../x", false),
            ("", false),
        ] {
            assert_eq!(is_plain(Path::new(name), 2), expected, "{name}");
        }
        assert!(!is_plain(Path::new("a/b"), 1));
    }

    #[test]
    fn a_file_that_cannot_be_made_is_named_and_is_no_wrong_plan() {
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join("taken");
        std::fs::write(&taken, "").unwrap();
        let named = |name: &str| [(name.to_owned(), FileBytes(b"name".to_vec()))];
        let name = "web/server.toml";
        let error = write_library(&taken, &named(name)).unwrap_err();
        let Answer::Cannot(why) = not_set_up(&error) else {
            panic!("it is the file system: {error:#}");
        };
        let begins = format!("write {}: ", taken.join(name).display());
        assert!(why.starts_with(&begins) && why.ends_with(ROOM), "{why}");
        let wrong = write_library(folder.path(), &named("../x")).unwrap_err();
        let refused = not_set_up(&wrong);
        assert!(matches!(refused, Answer::Refused(why) if why.starts_with("`../x`")));
    }

    #[test]
    fn of_logs_the_end_is_sent_and_of_links_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let long = vec![b'x'; usize::try_from(LOG_BYTES_MAX).unwrap()];
        std::fs::write(
            folder.path().join("server.log"),
            [&long[..], b"end"].concat(),
        )
        .unwrap();
        std::fs::create_dir(folder.path().join("own")).unwrap();
        std::fs::write(folder.path().join("own/a.conf"), "listen").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link")).unwrap();
        let logs = logs_in(folder.path());
        let [(first, end), (second, whole)] = &logs[..] else {
            panic!("{} logs", logs.len());
        };
        assert_eq!((&**first, &**second), ("server.log", "own/a.conf"));
        assert!(end.0.ends_with(b"xend") && end.0.len() == long.len());
        assert_eq!(whole.0, b"listen");
    }

    #[test]
    fn a_time_of_this_clock_is_the_same_time_again() {
        let (now, ns) = (Instant::now(), monotonic_ns());
        let hour = Duration::from_secs(3600);
        let later = instant(ns + 3_600_000_000_000);
        let apart = later.duration_since(now);
        assert!(apart >= hour && apart < hour + hour, "{apart:?}");
        assert!(instant(ns) <= Instant::now());
    }
}
