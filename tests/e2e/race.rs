//! `bakeoff race`: running URLs, commands, configuration files and servers, each in one line.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::support::files::trials;
use crate::support::scene::{Finished, Scene};
use crate::support::servers::{are_installed, on_path};
use crate::support::{SHORT, pass_over, scripted, wait_until};

/// A small server: `app.py KIND`, on the port in `PORT`.
const APP: &str = r#"
import os, socket, sys, threading, time

kind = sys.argv[1] if len(sys.argv) > 1 else "hello"
seen = {"count": 0}

def answer(path):
    head, body = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n", kind.encode()
    if kind == "clock":
        body = b"it is %.6f now" % time.time()
    if kind == "moved":
        return b"HTTP/1.1 308 Moved\r\nLocation: https://localhost/\r\nContent-Length: 0\r\n\r\n"
    if kind == "slow":
        time.sleep(0.004)
        body = b"hello"
    if kind == "late":
        seen["count"] += 1
        if seen["count"] < 4:
            return b"HTTP/1.1 503 Not Yet\r\nContent-Length: 0\r\n\r\n"
    if kind == "limited":
        seen["count"] += 1
        if seen["count"] > 1:
            return b"HTTP/1.1 503 Not Again\r\nContent-Length: 0\r\n\r\n"
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body

def serve(connection):
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            data = connection.recv(65536)
            if not data:
                return
            connection.sendall(answer(data.split(b" ")[1]))

listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", int(os.environ["PORT"])))
listener.listen(64)
while True:
    connection, _ = listener.accept()
    threading.Thread(target=serve, args=(connection,), daemon=True).start()
"#;

/// A scene with the small server in it; `None` without Python.
fn scene() -> Option<Scene> {
    let Some(_) = on_path("python3") else {
        pass_over("no python3 was found");
        return None;
    };
    let scene = Scene::new();
    scene.write("app.py", APP);
    Some(scene)
}

/// A small server that ran before bakeoff does. Dropping it ends it.
struct App {
    child: Child,
    address: SocketAddr,
}

impl App {
    fn start(kind: &str) -> Self {
        let address = scripted::nobody();
        let mut command = Command::new("python3");
        command
            .args(["-c", APP, kind])
            .env("PORT", address.port().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let child = command.spawn().unwrap();
        wait_until("the app listens", || TcpStream::connect(address).is_ok());
        Self { child, address }
    }

    fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    fn name(&self) -> String {
        format!("127.0.0.1-{}", self.address.port())
    }
}

impl Drop for App {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn race(scene: &Scene, arguments: &[&str]) -> Finished {
    scene.run(&[&["race", "--out", "record"], arguments, &SHORT].concat())
}

/// The trials of a contender in the scene's record.
fn trials_of(record: &Path, contender: &str) -> Vec<Value> {
    let mut trials = trials(record);
    trials.retain(|trial| trial["contender"] == contender);
    trials
}

/// Asserts that every trial of the contender was measured, without a wrong answer.
#[track_caller]
fn assert_right(record: &Path, contender: &str, rounds: usize) {
    let trials = trials_of(record, contender);
    let is_right = |trial: &&Value| {
        let outcomes = &trial["result"]["outcomes"];
        trial["end"]["kind"] == "measured"
            && outcomes["ok"].as_u64() > Some(0)
            && outcomes["wrong_body"].as_u64().unwrap_or(0) == 0
            && outcomes["status"].as_u64().unwrap_or(0) == 0
    };
    let right = trials.iter().filter(is_right).count();
    assert!(right >= rounds, "{contender}: {right} of {trials:#?}");
}

/// Running servers whose answers differ, two of them the same but for the query, from an empty
/// folder.
#[test]
fn running_urls_are_compared_and_a_secret_in_one_stays_in_the_record() {
    const SECRET: &str = "PLANTED-e2e-url";
    let Some(scene) = scene() else { return };
    let (one, other) = (App::start("hello"), App::start("howdy, you"));
    let [first, second] = ["?token=", "?x=1&token="].map(|it| format!("{}{it}{SECRET}", one.url()));
    let third = other.url();
    std::fs::create_dir(scene.path("empty")).unwrap();
    let mut command = scene.command(&[&["race", &first, &second, &third][..], &SHORT].concat());
    command.current_dir(scene.path("empty"));
    let raced = scene.start_command(command).finish().expect_measured();
    let raced = raced
        .says("is not a fresh server in each round")
        .says("differ")
        .says("at byte 1");
    let reported = raced.stderr.find("differ").unwrap();
    assert!(
        reported < raced.stderr.find("trials, about").unwrap(),
        "{}",
        raced.stderr
    );
    for text in [&raced.stdout, &raced.stderr] {
        assert!(!text.contains(SECRET), "{raced:#?}");
    }
    // Those that differ in the query alone differ in a number.
    let names = [one.name(), format!("{}-2", one.name()), other.name()];
    for name in &names {
        assert!(raced.stdout.contains(name), "{raced:#?}");
    }

    let written = std::fs::read_dir(scene.path("empty")).unwrap().flatten();
    let written: Vec<String> = written
        .map(|it| it.file_name().into_string().unwrap())
        .collect();
    assert_eq!(written, ["bakeoff-results"], "nothing but the record");
    let records = std::fs::read_dir(scene.path("empty/bakeoff-results")).unwrap();
    let record = records.flatten().next().unwrap().path();
    // Each is compared with itself.
    for name in &names {
        assert_right(&record, name, 2);
        let trial = &trials_of(&record, name)[0];
        assert_eq!(trial["server"]["stopped"], Value::Null);
        let trees = trial["usage"]["trees"].as_array().unwrap();
        assert!(
            trees.iter().any(|tree| tree["role"] == "server"),
            "its processes are watched"
        );
    }
    assert!(TcpStream::connect(one.address).is_ok() && TcpStream::connect(other.address).is_ok());

    let record = record.to_str().unwrap();
    for format in ["text", "md", "csv", "json", "html"] {
        let shown = scene.run(&["report", record, "--format", format]).stdout;
        assert!(!shown.contains(SECRET), "{format}: {shown}");
        if format == "json" {
            let report: Value = serde_json::from_str(&shown).unwrap();
            assert!(report["campaign"].to_string().contains("differ"));
        }
    }
    scene.run(&["report", record, "--share", "copy"]).expect(0);
    for name in [
        "plan.json",
        "plan.toml",
        "machine.json",
        "trials.jsonl",
        "report.html",
    ] {
        let text = std::fs::read_to_string(scene.path("copy").join(name)).unwrap();
        assert!(!text.contains(SECRET), "{name}");
    }
    scene.run(&["verify", "copy"]).expect(0);
    let shown = scene.run(&["report", "copy"]).stdout;
    assert!(shown.contains(&names[0]), "{shown}");
}

/// Commands on any processor, and once more from the plan that was saved.
#[test]
fn commands_are_started_with_their_port_and_stopped() {
    let Some(scene) = scene() else { return };
    let says = "print(open('/proc/self/status').read(), flush=True)";
    scene.write("says.py", &format!("{says}\n{APP}"));
    let commands = [
        "--start",
        "python3 says.py",
        "--start",
        "cd . && python3 says.py hello",
        "--server-cpus",
        "any",
    ];
    let save = ["--save-plan", "mine.toml", "/some/path"];
    let raced = race(&scene, &[&commands[..], &save].concat()).expect_measured();
    raced.says("repeat it: bakeoff run mine.toml");
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    let mut own = own.lines();
    let all = own.find(|line| line.starts_with("Cpus_allowed_list:"));
    let all = all.expect("the kernel says it");
    let record = scene.path("record");
    assert_right(&record, "python3-says.py", 2);
    let plan = std::fs::read_to_string(record.join("plan.toml")).unwrap();
    assert!(
        plan.contains("text = \"hello\""),
        "what both answer is right: {plan}"
    );
    let measured = trials(&record);
    let contenders = measured.iter().filter(|it| it["kind"] == "contender");
    let contenders: Vec<&Value> = contenders.collect();
    assert_eq!(contenders.len(), 4, "two of two rounds");
    for trial in contenders {
        assert_eq!(trial["pinned"]["server"], serde_json::json!([]));
        let id = trial["id"].as_str().unwrap();
        let log = record.join("logs").join(id).join("server.log");
        let log = std::fs::read_to_string(log).unwrap();
        assert!(log.lines().any(|line| line == all), "{all}: {log}");
    }
    for trial in trials_of(&record, "python3-says.py") {
        assert_eq!(trial["server"]["stopped"]["graceful"], true);
    }
    scene.assert_empty();
    scene.run(&["plan", "mine.toml"]).expect(0);
    let again = ["run", "mine.toml", "--out", "again", "--rounds", "1"];
    scene.run(&again).expect_measured();
    assert_right(&scene.path("again"), "python3-says.py", 1);
    race(&scene, &[&commands[..], &save].concat())
        .expect(2)
        .says("mine.toml exists already; give --save-plan the name of a file that does not");
}

/// A list of the folder that the record is in, and a time.
#[test]
fn answers_that_change_are_named_and_not_called_wrong() {
    let Some(scene) = scene() else { return };
    let commands = [
        "race",
        "--start",
        "python3 -m http.server {port}",
        "--start",
        "python3 app.py clock",
        "--out",
        "results/record",
    ];
    let raced = scene.run(&[&commands[..], &SHORT].concat());
    raced
        .expect_measured()
        .says("the answer of python3-app.py to `GET /` changes");
    let record = scene.path("results/record");
    for name in ["python3-http.server", "python3-app.py"] {
        assert_right(&record, name, 2);
    }
}

#[test]
fn nothing_of_a_command_survives_kill_9() {
    let Some(scene) = scene() else { return };
    let commands = [
        "--start",
        "python3 app.py",
        "--start",
        "python3 -m http.server {port}",
    ];
    let long = ["--out", "record", "--duration", "30s", "--warmup", "0s"];
    let mut running = scene.start(&[&["race"], &commands[..], &long].concat());
    running.wait_until("a trial has begun", |it| {
        let is_python = |name: &str| name.starts_with("python");
        let runs = it.below().iter().any(|process| is_python(&process.name));
        runs && scene.path("record/plan.toml").exists()
    });
    running.signal(Signal::KILL);
    running.finish().expect_signal(Signal::KILL);
    scene.assert_empty();
}

#[test]
fn servers_and_configuration_files_are_compared_in_one_line() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx", "caddy"]) {
        return;
    }
    race(&scene, &["nginx:optimized", "caddy"]).expect_measured();
    assert_right(&scene.path("record"), "nginx-optimized", 2);
    assert_right(&scene.path("record"), "caddy", 2);

    // The root folder is a folder here too.
    let root = scene.run(
        &[
            &["race", "nginx", "caddy", "/", "--out", "root"],
            &SHORT[..],
        ]
        .concat(),
    );
    root.expect_measured();

    let nginx = "events {}\nhttp { server { listen 80; location / { return 200 \"hi\"; } } }\n";
    scene.write("a/nginx.conf", nginx);
    scene.write("b/site", ":80 {\n\trespond \"hi\"\n}\n");
    let files = ["race", "./a/nginx.conf", "./b/site", "--out", "files"];
    scene.run(&[&files[..], &SHORT].concat()).expect_measured();
    assert_right(&scene.path("files"), "nginx.conf", 2);
    assert_right(&scene.path("files"), "site", 2);

    let tls = "events {}\nhttp { server { listen 443 ssl; } }\n";
    scene.write("tls/nginx.conf", tls);
    let refused = race(&scene, &["./tls/nginx.conf", "--start", "./app"]).expect(2);
    refused.says("answers only over h1-tls, and the others are asked over h1");
}

#[test]
fn where_nothing_is_to_be_compared_the_reason_is_said() {
    let Some(scene) = scene() else { return };
    let app = App::start("hello");
    let nobody = format!("http://{}/", scripted::nobody());
    let save = ["--save-plan", "mine.toml"];
    let raced = race(&scene, &[&app.url(), &nobody, save[0], save[1]]).expect(4);
    let raced = raced.says("Connection refused").says("--start 'COMMAND'");
    let last = raced.stderr.lines().last().unwrap();
    assert!(last.contains("nothing to compare: only"), "{last}");
    for name in ["record", "mine.toml"] {
        assert!(!scene.path(name).exists(), "{name}");
    }
    race(
        &scene,
        &["--start", "no-such-app", "--start", "python3 app.py"],
    )
    .expect(2)
    .says("no-such-app")
    .says("neither on the search path");
    let start = ["--start", "python3 app.py limited"].repeat(2);
    let limited = race(&scene, &start).expect(4);
    limited.says("status 200, and the next time with 503; if it limits how often it is asked");
}

/// A plan of commands, each the small server of a kind.
fn plan_of(kinds: &[&str], expect: &str) -> String {
    let mut text = "name = \"kinds\"\nrounds = 1\nrest = \"0s\"\n[references]\nyardstick = false\n\
                    [[load]]\nclients = 1\nduration = \"100ms\"\nwarmup = \"0s\"\n\
                    [[workload]]\nname = \"page\"\n"
        .to_owned();
    text += &format!("expect = {expect}\n");
    for (index, kind) in kinds.iter().enumerate() {
        text +=
            &format!("[[contender]]\nname = \"c{index}\"\ncommand = \"python3 app.py '{kind}'\"\n");
    }
    text
}

#[test]
fn wrong_answers_are_listed_at_once_and_a_server_that_fails_is_waited_for() {
    let Some(scene) = scene() else { return };
    let kinds = ["hello", "wrong", "other", "moved", "hello!"];
    scene.write("own.toml", &plan_of(&kinds, "{ text = \"hello\" }"));
    let ran = scene
        .run(&["run", "./own.toml", "--out", "record"])
        .expect(4);
    let listed = ran.stderr.find("wrong before the first round").unwrap();
    let began = ran.stderr.find("trials, about").unwrap();
    let before = &ran.stderr[listed..began];
    for name in ["c1", "c2", "c3", "c4"] {
        assert!(
            before.contains(&format!("{name}, workload page: failed at start")),
            "{before}"
        );
    }
    assert!(
        before.contains("308 to https: try `--protocol h2`"),
        "{before}"
    );
    assert!(!before.contains("c0"), "{before}");
    let record = scene.path("record");
    assert_right(&record, "c0", 1);
    let last = ran.stderr.lines().last().unwrap();
    assert!(
        last.contains("not a valid measurement") && last.contains("c1 never ran"),
        "{last}"
    );
    let trials = trials_of(&record, "c1");
    let took = trials[0]["steps"].as_array().unwrap().iter();
    let took: f64 = took.map(|step| step["took_s"].as_f64().unwrap()).sum();
    assert!(
        took < 20.0,
        "the server has 20 s to become right, and took {took} s"
    );

    scene.write("late.toml", &plan_of(&["late"], "{ text = \"late\" }"));
    scene
        .run(&["run", "./late.toml", "--out", "late"])
        .expect_measured();
    assert_right(&scene.path("late"), "c0", 1);
}

#[test]
fn plans_have_urls_and_what_makes_them_fresh() {
    let Some(scene) = scene() else { return };
    let app = App::start("hello");
    let text = plan_of(&["hello"], "{ text = \"hello\" }");
    let url = app.url();
    let own = format!(
        "[[contender]]\nname = \"url\"\nurl = \"{url}\"\nfresh = [\"echo again >> fresh\"]\n\
         [[contender]]\nname = \"env\"\ncommand = \"python3 app.py $KIND\"\n\
         env = {{ KIND = \"hello\" }}\nfolder = \".\"\nready = {{ path = \"/up\", status = 200 }}\n\
         stop = {{ signal = \"INT\", grace = \"1s\" }}\n"
    );
    scene.write("own.toml", &format!("{text}{own}"));
    scene.run(&["plan", "./own.toml"]).expect(0);
    scene
        .run(&["run", "./own.toml", "--out", "record"])
        .expect_measured();
    for name in ["c0", "url", "env"] {
        assert_right(&scene.path("record"), name, 1);
    }
    let ran = std::fs::read_to_string(scene.path("fresh")).unwrap();
    assert!(
        ran.lines().count() >= 2,
        "before the first contact and before the trial"
    );
    scene.write(
        "broken.toml",
        &format!("{text}{own}").replace("echo again", "exit 3; echo"),
    );
    let broken = scene
        .run(&["run", "./broken.toml", "--out", "broken"])
        .expect(4);
    broken.says("run `exit 3; echo >> fresh` before the trial");
}
