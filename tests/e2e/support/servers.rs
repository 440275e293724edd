//! Real programs: those that plans name, and an nginx of the tests' own.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::processes::{self, Process};
use super::scene::Scene;
use super::{pass_over, scripted, wait_until};

/// Whether bakeoff finds all of these programs, with all that tests need of them; says what is
/// missing, and fails where `CI=true`.
pub(crate) fn are_installed(scene: &Scene, names: &[&str]) -> bool {
    static LISTED: OnceLock<Value> = OnceLock::new();
    let listed = LISTED.get_or_init(|| scene.json(&["list", "--json"]));
    for name in names {
        let servers = listed["servers"].as_array().unwrap();
        let server = servers.iter().find(|server| server["name"] == *name);
        let not_found = server.unwrap()["missing"].as_str().map(str::to_owned);
        if let Some(missing) = not_found.or_else(|| lacking(name)) {
            pass_over(&missing);
            return false;
        }
    }
    true
}

/// What `tests/programs.sh` misses in a server, such as a module.
fn lacking(name: &str) -> Option<String> {
    static KNOWN: Mutex<BTreeMap<String, Option<String>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let ask = || {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs.sh");
        let checked = Command::new(script)
            .args(["--check", name])
            .output()
            .unwrap();
        let missing = String::from_utf8_lossy(&checked.stderr).into_owned();
        (!checked.status.success()).then_some(missing)
    };
    known.entry(name.to_owned()).or_insert_with(ask).clone()
}

/// Where a program is on the search path.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    folders
        .map(|folder| folder.join(name))
        .find(|it| it.is_file())
}

/// An nginx that counts its requests, with as much keep-alive as anybody wants.
pub(crate) struct Nginx {
    /// Ends nginx when its standard input does: with this value, or with the test program.
    shell: Child,
    pub(crate) address: SocketAddr,
}

const AROUND: &str = "
daemon off; pid nginx.pid; worker_processes 1; error_log stderr warn;
worker_rlimit_nofile 8192;
events { worker_connections 4096; }
http { keepalive_requests 1000000000; keepalive_timeout 60s; HTTP }
";

const COUNTING: &str = "
access_log off;
server {
    listen ADDRESS backlog=4096;
    location /status { stub_status; }
    location / { return 200 'Hello, world!'; }
}
";

impl Nginx {
    /// Starts it in the scene; `None` when there is no nginx here.
    pub(crate) fn start(scene: &Scene) -> Option<Self> {
        Self::start_with(scene, scripted::nobody(), COUNTING)
    }

    /// Starts it with this text in `http { }`, in which `ADDRESS` stands for `address`.
    pub(crate) fn start_with(scene: &Scene, address: SocketAddr, http: &str) -> Option<Self> {
        let Some(program) = on_path("nginx") else {
            pass_over("no nginx was found");
            return None;
        };
        let text = AROUND.replace("HTTP", http);
        let text = text.replace("ADDRESS", &address.to_string());
        let config = scene.write("nginx/nginx.conf", &text);
        scene.wait_for_turn();
        let script = "\"$@\" & child=$!; cat >/dev/null; kill -TERM $child; wait $child";
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", script, "sh"])
            .arg(program)
            .args(["-e", "stderr", "-p"])
            .arg(config.parent().unwrap())
            .args(["-c", "nginx.conf"])
            .stdin(Stdio::piped());
        let shell = command.spawn().unwrap();
        let started = Self { shell, address };
        wait_until("nginx listens", || TcpStream::connect(address).is_ok());
        Some(started)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Master and workers.
    pub(crate) fn processes(&self) -> Vec<Process> {
        let mut below = processes::below(self.shell.id());
        below.retain(|process| process.name == "nginx");
        below
    }

    /// Requests that it has answered; this one is among them.
    pub(crate) fn requests(&self) -> u64 {
        let status = get(self.address, "/status");
        // After `server accepts handled requests` come the three counts.
        let counts = status.lines().find(|line| {
            let mut words = line.split_whitespace().peekable();
            words.peek().is_some() && words.all(|word| word.parse::<u64>().is_ok())
        });
        let last = counts.and_then(|line| line.split_whitespace().nth(2));
        last.unwrap_or_else(|| panic!("{status}")).parse().unwrap()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        for process in self.processes() {
            processes::signal(process.pid, Signal::CONT);
        }
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

/// One answer as text, asked without bakeoff.
pub(crate) fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// A folder in `servers/` for programs of Python, each a configuration of it.
pub(crate) fn script_server(scene: &Scene, grace_ms: u32, scripts: &[(&str, &str)]) -> bool {
    if on_path("python3").is_none() {
        pass_over("no python3 was found");
        return false;
    }
    let mut text = SCRIPT_SERVER.replace("GRACE", &grace_ms.to_string());
    for (variant, script) in scripts {
        let file = format!("{variant}.py");
        text.push_str(&format!("[templates.{variant}]\nsynthetic = \"{file}\"\n"));
        let path = Path::new("library/servers/script").join(file);
        scene.write(path.to_str().unwrap(), &format!("{SERVE}{script}\n"));
    }
    scene.write("library/servers/script/server.toml", &text);
    true
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
[start]
command = ["{{ binary }}", "-u", "{{ config }}"]
[stop]
signal = "TERM"
grace_ms = GRACE
"#;

/// Answers rightly unless set otherwise; what a script adds comes below.
const SERVE: &str = r#"
import os, signal, socket, sys, threading, time

def answer(connection, body):
    with connection:
        while connection.recv(65536):
            head = "HTTP/1.1 200 OK\r\nServer: script\r\nContent-Length: %d\r\n\r\n" % len(body)
            connection.sendall(head.encode() + body)

def serve(body=b"Hello, world!", answer=answer):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", {{ port }}))
    listener.listen(64)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection, body), daemon=True).start()

"#;
