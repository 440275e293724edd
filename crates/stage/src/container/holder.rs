//! What holds containers: a shell that has the engine start them, waits until bakeoff lets go of
//! its pipe or has died, and has them removed.
//!
//! A container is a child of its engine, so no keeper can hold it. The shell is in a process group
//! of its own, and what it starts is known by a label. What the death of the shell leaves the next
//! bakeoff removes, which finds the label in the run folder ([`remove_left_in`]).
//!
//! An engine that is killed while it starts a container leaves a helper behind that nobody knows,
//! so nothing here kills one: it is waited for.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use bakeoff_record::read_regular_text;
use rustix::process::{Pid, Signal};

use crate::bounded::{self, Question};
use crate::host::{self, KEEPERS};
use crate::tree::{self, Process};

/// Removes what has a label: containers, then what compose has made for them.
const REMOVE: &str = r#"
gone() {
    ids=$("$engine" ps --all --quiet --filter "label=$label") || return 1
    if [ -n "$ids" ]; then
        "$engine" kill $ids 2>/dev/null
        "$engine" rm --force --volumes $ids || return 1
    fi
    case $label in
    com.docker.compose.*)
        for kind in network volume; do
            names=$("$engine" "$kind" ls --quiet --filter "label=$label") || return 1
            [ -z "$names" ] || "$engine" "$kind" rm $names || return 1
        done
    esac
}
gone || { sleep 0.2; gone; }
"#;
/// The beginning of both scripts.
const NAMES: &str = "engine=$1; label=$2; shift 2\n";
/// Starts, waits, removes. The wait ends with the pipe, which only bakeoff holds.
const HOLD: &str = r#"
"$@" </dev/null >&2
echo "started $?"
exec >&2
read -r _
"#;
/// In the environment of the shell and of all that it starts outside of containers: the run folder.
const MARK: &str = "BAKEOFF_HELD";
/// What an engine leaves running beside a container, as long as that is there.
const HELPERS: [&str; 6] = [
    "conmon",
    "aardvark-dns",
    "netavark",
    "slirp4netns",
    "pasta",
    "fuse-overlayfs",
];
/// The helper that is of one container alone.
const OF_ONE: &str = "conmon";
/// What that takes to end after its container. Far more than it takes.
const HELPER_LIMIT: Duration = Duration::from_secs(1);
/// The labels that containers of a run folder have, each with its engine.
const LABELS: &str = "containers";
/// A list of them is longer than this only if somebody else wrote it.
const LABELS_BYTES_MAX: u64 = 1 << 20;
/// What an engine needs to remove containers by force. Far more than it takes.
const REMOVE_LIMIT: Duration = Duration::from_secs(30);
/// What a shell is given once somebody has asked to end; it goes on by itself.
const HURRIED: Duration = Duration::from_millis(700);
/// The longest wait without a look whether somebody has asked to end.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Containers that go with it.
#[derive(Debug)]
pub(crate) struct Holder {
    shell: Child,
    /// Dropping it is the order to remove.
    pipe: Option<ChildStdin>,
}

impl Holder {
    /// Has `command` start containers that get `label`, and waits until it has ended, at most
    /// `within`. What it prints goes to `output`.
    ///
    /// # Errors
    /// What failed. Of kind `Interrupted` when somebody asked to end, `Other` when the command
    /// ended badly; what it has started is removed.
    pub(crate) fn start(
        engine: &Path,
        label: &str,
        command: &[String],
        run_folder: &Path,
        output: File,
        within: Duration,
    ) -> io::Result<Self> {
        // Where it is one that the next bakeoff looks into.
        if run_folder.join(KEEPERS).is_file() {
            note(
                run_folder,
                LABELS,
                &format!("{}\t{label}\n", engine.display()),
            )?;
        }
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &[NAMES, HOLD, REMOVE].concat(), "holder"]);
        shell.env(MARK, run_folder);
        shell.arg(engine).arg(label).args(command).current_dir("/");
        // Out of reach of the terminal's signals.
        shell.process_group(0);
        shell
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(output);
        let mut shell = shell.spawn()?;
        let said = shell.stdout.take();
        let mut holder = Self {
            pipe: shell.stdin.take(),
            shell,
        };
        let said = said.ok_or_else(|| io::Error::other("it has no output"))?;
        holder.wait_for(said, within)?;
        Ok(holder)
    }

    /// Waits for the word that the command has ended well.
    fn wait_for(
        &mut self,
        mut said: impl io::Read + Send + 'static,
        within: Duration,
    ) -> io::Result<()> {
        let (sender, came) = mpsc::channel();
        std::thread::Builder::new().spawn(move || {
            let mut text = Vec::new();
            let mut byte = [0];
            while !text.ends_with(b"\n") && said.read(&mut byte).is_ok_and(|length| length > 0) {
                text.push(byte[0]);
            }
            let _ = sender.send(text);
        })?;
        let end = Instant::now() + within;
        loop {
            match came.recv_timeout(LOOK_AGAIN) {
                Ok(text) if text == b"started 0\n" => return Ok(()),
                Ok(_) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("it failed"));
                }
                Err(RecvTimeoutError::Timeout) if host::is_interrupted() => {
                    return Err(host::interrupted());
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() >= end => {
                    return Err(io::Error::other(format!(
                        "it did not end within {within:?}"
                    )));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Removes the containers, and waits until they are gone. Where somebody asked to end the wait
    /// is short, and the shell goes on.
    pub(crate) fn remove(&mut self) {
        if self.pipe.take().is_none() {
            return;
        }
        let mut end = Instant::now() + REMOVE_LIMIT;
        loop {
            if host::is_interrupted() {
                end = end.min(Instant::now() + HURRIED);
            }
            match self.shell.try_wait() {
                Ok(None) if Instant::now() < end => std::thread::sleep(LOOK_AGAIN),
                Ok(None) => return host::leave_run_folder(),
                // It could not, and the next bakeoff tries again.
                Ok(Some(status)) if !status.success() => return host::leave_run_folder(),
                Ok(Some(_)) | Err(_) => return,
            }
        }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Removes the containers whose labels are in the run folder of a bakeoff that is gone. Returns
/// whether none can be left.
pub(crate) fn remove_left_in(folder: &Path) -> bool {
    let run_folder = &folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let Ok(text) = read_regular_text(&run_folder.join(LABELS), LABELS_BYTES_MAX) else {
        return true;
    };
    let is_helper = |one: &Process| {
        let name = tree::name_of(one.pid);
        HELPERS.iter().any(|helper| name.starts_with(helper))
    };
    wait_while(REMOVE_LIMIT, || {
        held_in(run_folder).iter().any(|one| !is_helper(one))
    });
    let mut all_gone = true;
    for (engine, label) in text.lines().filter_map(|line| line.split_once('\t')) {
        if Path::new(engine).exists() {
            let script = [NAMES, REMOVE].concat();
            let command = ["/bin/sh", "-c", &script, "holder", engine, label];
            let question = Question::plain(Path::new("/"), REMOVE_LIMIT);
            let output = bounded::run(&command.map(str::to_owned), &question);
            all_gone &= output.is_ok_and(|output| output.status.success());
        }
    }
    let is_of_one = |one: &Process| tree::name_of(one.pid) == OF_ONE;
    let helpers = || held_in(run_folder).into_iter().filter(is_of_one);
    wait_while(HELPER_LIMIT, || helpers().next().is_some());
    for helper in helpers().filter_map(|one| Pid::from_raw(one.pid)) {
        let _ = rustix::process::kill_process(helper, Signal::KILL);
    }
    all_gone
}

/// What runs still of what a run folder's shells have started.
fn held_in(run_folder: &Path) -> Vec<Process> {
    let mark = [MARK.as_bytes(), b"=", run_folder.as_os_str().as_bytes()].concat();
    let is_held = |one: &Process| {
        let environment = std::fs::read(format!("/proc/{}/environ", one.pid)).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|it| it == mark)
    };
    let mut all = tree::processes();
    all.retain(is_held);
    all
}

fn wait_while(limit: Duration, holds: impl Fn() -> bool) {
    let end = Instant::now() + limit;
    while Instant::now() < end && holds() {
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Adds a line to a file of a run folder, in one write.
fn note(folder: &Path, name: &str, line: &str) -> io::Result<()> {
    let file = File::options()
        .create(true)
        .append(true)
        .open(folder.join(name));
    file?.write_all(line.as_bytes())
}
