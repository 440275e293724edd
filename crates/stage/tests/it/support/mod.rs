//! What the tests with real processes share: a stage in a folder of its own, and servers that are
//! scripts, each a folder as a user would add it.

#![allow(
    clippy::print_stdout,
    reason = "the output says which program was tested"
)]
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bakeoff_plan::{
    CertificateKey, ConfigSource, Connections, Contender, Content, Encoding, Expected, Protocol,
    Request, ServedFile, ServerChoice, Workload,
};
use bakeoff_record::When;
use bakeoff_stage::{
    Fetched, Listening, Prepared, Running, Servers, Stage, StageError, StageOptions, Surroundings,
    find_program, keeper,
};

/// Longer than any machine needs; a test that waits this long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A server of a few lines that answers every request with `hello`.
pub(crate) const SERVE: &str = r#"
import os, signal, socket, sys, time

def serve(port, body=b"hello", name="script", at="127.0.0.1"):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((at, port))
    listener.listen(64)
    while True:
        connection, _ = listener.accept()
        connection.recv(65536)
        head = "HTTP/1.1 200 OK\r\nServer: %s\r\nContent-Length: %d\r\n\r\n" % (name, len(body))
        connection.sendall(head.encode() + body)
        connection.close()
"#;

/// 31 bytes, as the upstream of the experiment answered.
pub(crate) const ORIGIN_BODY: &str = "thirty-one bytes from upstream\n";

pub(crate) struct Theatre {
    pub(crate) stage: Stage,
    pub(crate) folder: tempfile::TempDir,
}

impl Theatre {
    pub(crate) fn new() -> Self {
        Self::listening(Listening::default())
    }

    /// A stage whose servers listen there.
    pub(crate) fn listening(listening: Listening) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // As the run folder of a campaign: some servers' workers give up root.
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.path(), open).unwrap();
        let servers = Servers::new(Some(folder.path().join("servers")));
        let keeper = vec![keeper_program().display().to_string()];
        let run_folder = folder.path().join("run");
        let stage = Stage::new(StageOptions {
            run_folder,
            keeper,
            servers,
            listening,
        })
        .unwrap();
        Self { stage, folder }
    }

    /// Adds a server named `script` whose configuration is a Python program.
    pub(crate) fn script(&self, body: &str) -> Contender {
        let server = self.folder.path().join("servers/script");
        std::fs::create_dir_all(&server).unwrap();
        std::fs::write(server.join("server.toml"), SCRIPT_SERVER).unwrap();
        std::fs::write(server.join("main.py"), format!("{SERVE}\n{body}\n")).unwrap();
        contender("script", ConfigSource::Variant("default".to_owned()))
    }

    /// A contender whose configuration is the user's own file.
    pub(crate) fn own_file(&self, body: &str) -> Contender {
        self.script("");
        let path = self.folder.path().join("own.py");
        std::fs::write(&path, format!("{SERVE}\n{body}\n")).unwrap();
        contender("script", ConfigSource::File(path))
    }

    pub(crate) fn surroundings(&self) -> Surroundings {
        let log_folder = self.folder.path().join("logs/trial");
        Surroundings {
            origin: None,
            boxed: None,
            cpus: Vec::new(),
            log_folder,
            action: None,
        }
    }

    pub(crate) fn prepare(&self, contender: &Contender) -> Result<Prepared, StageError> {
        self.stage
            .prepare(contender, &hello(), &self.surroundings())
    }

    pub(crate) fn start(
        &self,
        contender: &Contender,
        within: Duration,
    ) -> Result<Running, StageError> {
        self.prepare(contender)?.start(within)
    }
}

const SCRIPT_SERVER: &str = r#"
title = "Script"
programs = ["python3"]
identity = "^script$"
config = "main.py"
install = ["apt-get install python3"]
[version]
command = ["{{ binary }}", "--version"]
pattern = 'Python ([0-9.]+)'
[check]
command = ["{{ binary }}", "-m", "py_compile", "{{ config }}"]
[start]
command = ["{{ binary }}", "-u", "{{ config }}"]
[stop]
signal = "TERM"
grace_ms = 1000
[variables]
extra = ""
[templates.default]
hello = "main.py"
[[unsupported]]
variant = "lazy"
reason = "a script is never lazy"
"#;

pub(crate) fn contender(server: &str, config: ConfigSource) -> Contender {
    let server = ServerChoice::Program {
        server: server.to_owned(),
        version: None,
        binary: None,
        config,
    };
    Contender {
        name: "contender".to_owned(),
        server,
        overlays: Vec::new(),
        certificate: CertificateKey::default(),
        host: None,
        replacements: Vec::new(),
        user: None,
        limits: None,
        action_command: None,
        answers: Vec::new(),
    }
}

pub(crate) fn workload(name: &str, path: &str, body: &str) -> Workload {
    Workload {
        name: name.to_owned(),
        description: String::new(),
        template: name.to_owned(),
        protocol: Protocol::H1,
        requests: Request {
            method: "GET".to_owned(),
            path: path.to_owned(),
            headers: vec![("X-Hotdogs".to_owned(), "aplenty".to_owned())],
            placeholders: false,
            secret_headers: Vec::new(),
            weight: 1,
            body: None,
            expect: Expected {
                status: 200,
                body: Some(Content::Text(body.to_owned())),
                encoding: Encoding::Identity,
                known_by: bakeoff_plan::KnownBy::Plan,
            },
        }
        .into(),
        connections: Connections::default(),
        client: bakeoff_plan::Client::default(),
        values: None,
        files: Vec::new(),
        proxied: false,
        origin: None,
        notes: Vec::new(),
    }
}

pub(crate) fn hello() -> Workload {
    workload("hello", "/", "hello")
}

/// Asks as `workload` does first.
pub(crate) fn fetch(
    running: &Running,
    workload: &Workload,
    when: When,
) -> Result<Fetched, StageError> {
    let first = workload.requests.first();
    running.fetch(first, workload.protocol, when, PATIENCE)
}

pub(crate) fn served(path: &str, body: &str) -> ServedFile {
    ServedFile {
        path: path.to_owned(),
        content: Content::Text(body.to_owned()),
    }
}

/// The example that is nothing but the keeper. `cargo test` builds it beside the tests.
pub(crate) fn keeper_program() -> PathBuf {
    // Naming the function here makes a renamed keeper a compile error and not a missing file.
    let _: fn() -> i32 = keeper::main;
    let tests = std::env::current_exe().unwrap();
    let path = tests
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("examples/keeper");
    assert!(
        path.exists(),
        "build it first: cargo build -p bakeoff-stage --examples"
    );
    path
}

/// Whether a process is there and not merely waiting to be collected.
pub(crate) fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn kill(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Whether the program of a server is there, with all that tests need of it. Where `CI=true` it
/// must be.
pub(crate) fn is_installed(theatre: &Theatre, name: &str) -> bool {
    let server = theatre.stage.servers().find(name).unwrap();
    let missing = match find_program(&server, None, None) {
        Ok(program) => {
            println!("{name} {} at {}", program.version, program.path.display());
            lacking(name)
        }
        Err(error) => Some(error.to_string()),
    };
    let Some(missing) = missing else {
        return true;
    };
    let is_ci = std::env::var("CI").as_deref() == Ok("true");
    assert!(!is_ci, "{missing}");
    println!("PASSED OVER: {missing}");
    false
}

/// What `tests/programs.sh` misses in a server, such as a module.
fn lacking(name: &str) -> Option<String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs.sh");
    let mut check = std::process::Command::new(script);
    let checked = check.args(["--check", name]).output().unwrap();
    let missing = String::from_utf8_lossy(&checked.stderr).into_owned();
    (!checked.status.success()).then_some(missing)
}

/// Answers on a thread until the test ends.
pub(crate) fn origin() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let length = ORIGIN_BODY.len();
            let head = "HTTP/1.1 200 OK\r\nServer: upstream\r\nConnection: close";
            let _ = write!(
                stream,
                "{head}\r\nContent-Length: {length}\r\n\r\n{ORIGIN_BODY}"
            );
        }
    });
    address
}
