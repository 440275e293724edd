//! Servers that fail, each in its own way: the cause is recorded, and the rest of the campaign goes
//! on. What plans name wrongly is in `tests/campaigns/faults.rs`.

use std::net::TcpListener;

use serde_json::Value;

use crate::support::RUN_OWN;
use crate::support::files::{measured, plan, trials};
use crate::support::scene::Scene;
use crate::support::scripted::nobody;
use crate::support::servers::{are_installed, script_server};

const SHORT: &str = "duration = \"200ms\"";

/// A library with a server that nobody has.
fn unheard_of(scene: &Scene) {
    let text = r#"
title = "Unheard Of"
programs = ["bakeoff-test-unheard-of"]
config = "main.conf"
install = ["apt-get install unheard-of"]
[version]
command = ["{{ binary }}", "--version"]
pattern = '([0-9.]+)'
[start]
command = ["{{ binary }}"]
[stop]
signal = "TERM"
grace_ms = 1000
[templates.default]
synthetic = "main.conf"
"#;
    scene.write("library/servers/unheard-of/server.toml", text);
    scene.write("library/servers/unheard-of/main.conf", "");
}

#[test]
fn a_server_that_is_not_installed_is_reported_with_the_way_to_get_it() {
    let scene = Scene::new();
    unheard_of(&scene);
    let of = |variant| plan(&[("x", "unheard-of", variant)], "synthetic", SHORT);
    scene.write("own.toml", &of("optimised"));
    let run = ["run", "./own.toml", "--library", "library"];
    scene.run(&run).expect(2).says("no variant `optimised`");
    scene.write("own.toml", &of("default"));
    let mut command = scene.command(&run);
    command.env("PATH", scene.path("empty"));
    command.env("BAKEOFF_PROGRAMS", scene.path("empty"));
    let reported = scene.start_command(command).finish().expect(2);
    let reported = reported.says("Unheard Of is not installed");
    reported
        .says("apt-get install unheard-of")
        .says("no contender of the plan can be measured here");
    assert!(!scene.path("bakeoff-results").exists(), "nothing to record");

    let listed = scene.run(&["list", "--library", "library"]).expect(0);
    assert!(listed.stdout.contains("apt-get install unheard-of"));
}

#[test]
fn a_configuration_that_the_server_rejects_is_reported_with_its_message() {
    let scene = Scene::new();
    for (server, file, text, words) in [
        (
            "nginx",
            "own.conf",
            "events {}\nhttp {\n  sendfiel on;\n  server { listen 8080; }\n}\n",
            "unknown directive \"sendfiel\"",
        ),
        (
            "caddy",
            "own.Caddyfile",
            ":8080 {\n\tresopnd \"x\"\n}\n",
            "unrecognized directive: resopnd",
        ),
    ] {
        if !are_installed(&scene, &[server]) {
            continue;
        }
        scene.write(file, text);
        let contenders = [("mine", server, &*format!("./{file}"))];
        scene.write("own.toml", &plan(&contenders, "synthetic", SHORT));
        let reported = scene.run(&["run", "./own.toml", "--out", "record"]);
        reported.expect(2).says(words).says("mine").says(file);
        assert!(!scene.path("record").exists(), "nothing was begun");
    }
}

#[test]
fn a_port_that_is_taken_is_replaced_and_reported() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let holder = TcpListener::bind(nobody()).unwrap();
    let port = holder.local_addr().unwrap().port();
    let text = format!(
        "events {{}}\nhttp {{ access_log off; server {{\n\
         listen 127.0.0.1:{port}; return 200 \"Hello, world!\"; }} }}\n"
    );
    scene.write("own.conf", &text);
    scene.write(
        "own.toml",
        &plan(&[("mine", "nginx", "own.conf")], "synthetic", SHORT),
    );
    let ran = scene.run(&["run", "./own.toml", "--out", "record"]);
    ran.expect_measured()
        .says(&format!("listen 127.0.0.1:{port};"))
        .says("on a port that is free");
    assert_eq!(measured(&scene.path("record")).len(), 1);
    drop(holder);
    let again = scene.run(&["run", "./own.toml", "--out", "again"]);
    let again = again.expect_measured();
    let kept = !again.stderr.contains("listen 127.0.0.1:");
    assert!(kept, "a free port is kept: {}", again.stderr);
}

/// Scripts of servers: a good one, and those that fail.
const SCRIPTS: [(&str, &str); 6] = [
    ("good", "serve()"),
    ("wrong", "serve(body=b'Goodbye, world!')"),
    ("ending", "print('out of mustard', flush=True)\nsys.exit(7)"),
    ("dying", DYING),
    ("turning", TURNING),
    ("tired", TIRED),
];

/// Alive until the load's three connections are open at once, and half a second more.
const DYING: &str = "
open_now = 0
def die():
    time.sleep(0.5)
    print('slipped on ketchup', flush=True)
    os._exit(9)

def until_loaded(connection, body):
    global open_now
    open_now += 1
    if open_now == 3:
        threading.Thread(target=die, daemon=True).start()
    answer(connection, body)
    open_now -= 1
serve(answer=until_loaded)";

/// Wrong under load.
const TURNING: &str = "
asked = [0]
def turn(connection, body):
    with connection:
        while connection.recv(65536):
            asked[0] += 1
            good = asked[0] <= 3
            head = 'HTTP/1.1 200 OK\\r\\nServer: script\\r\\nContent-Length: 13\\r\\n\\r\\n'
            connection.sendall(head.encode() + (body if good else b'Sorry, no bun'))
serve(answer=turn)";

/// Answers all connections until the load's three are open at once, and then only these.
const TIRED: &str = "
open_now = 0
tired = False
def tire(connection, body):
    global open_now, tired
    if tired:
        time.sleep(60)
    open_now += 1
    tired = open_now == 3
    answer(connection, body)
    open_now -= 1
serve(answer=tire)";

#[test]
fn servers_that_fail_are_reported_and_the_rest_is_measured() {
    let scene = Scene::new();
    if !script_server(&scene, 1000, &SCRIPTS) {
        return;
    }
    unheard_of(&scene);
    let mut contenders = SCRIPTS.map(|(name, _)| (name, "script", name)).to_vec();
    contenders.push(("absent", "unheard-of", "default"));
    let text = plan(&contenders, "synthetic", "duration = \"1500ms\"");
    scene.write("own.toml", &text.replace("\"5s\"", "\"1s\""));
    let reported = scene.run(&RUN_OWN).expect_measured();
    reported
        .says("skipped: absent, workload synthetic: Unheard Of is not installed")
        .says("out of mustard")
        .says("round 1/1 synthetic c3: ok/s good ")
        .says("; dying: failed at measure: ");
    let record = scene.path("record");
    let ids = ["good", "tired", "turning"].map(|name| format!("r1-{name}-synthetic-c3"));
    assert_eq!(measured(&record), ids);
    let trials = trials(&record);
    let of = |name: &str| {
        let trial = trials.iter().find(|trial| trial["contender"] == name);
        trial.unwrap_or_else(|| panic!("no {name}"))
    };
    for (name, step, cause, message) in [
        ("wrong", "start", "Goodbye, world!", ""),
        ("wrong", "start", "Hello, world!", ""),
        ("ending", "start", "exit code 7", "out of mustard"),
        ("dying", "measure", "exit code 9", "slipped on ketchup"),
    ] {
        let end = &of(name)["end"];
        assert_eq!(
            (&end["kind"], &end["step"]),
            (&"failed".into(), &step.into())
        );
        assert!(end["cause"].as_str().unwrap().contains(cause), "{end:#}");
        let said = end["message"].as_str().unwrap_or_default();
        assert!(said.contains(message), "{end:#}");
    }
    let absent = &of("absent")["end"];
    assert_eq!(absent["kind"], "skipped");
    assert_eq!(absent["fix"], "apt-get install unheard-of");

    let report = ["report", "record", "--format", "json"];
    let report: Value = scene.run(&report).expect(4).json();
    assert_eq!(report["campaign"]["trials"]["failed"], 3);
    let mut cells = report["cells"].as_array().unwrap().iter();
    let turned = cells.find(|cell| cell["contender"] == "turning").unwrap();
    assert_eq!(turned["verdict"]["verdict"], "invalid", "{turned:#}");

    // What was measured before it fell silent is kept.
    let tired = of("tired");
    assert_eq!(tired["warnings"][0]["code"], "no-answer-after", "{tired:#}");
    assert_eq!(tired["answers"].as_array().unwrap().len(), 1);
    assert!(tired["result"]["requests"]["ok"].as_u64() > Some(0));
}
