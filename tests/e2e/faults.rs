//! Plans that name what is not there, and servers that fail: each is reported with its cause and
//! the right exit code, and the rest of the campaign goes on.

use std::net::TcpListener;

use serde_json::Value;

use crate::support::RUN_OWN;
use crate::support::files::{measured, plan, trials};
use crate::support::scene::Scene;
use crate::support::scripted::nobody;
use crate::support::servers::{are_installed, script_server};

const SHORT: &str = "duration = \"200ms\"";

const MOST_CLIENTS: &str = "expected a whole number from 1 to 10000";

#[test]
fn unknown_names_are_reported_with_the_nearest_one() {
    let scene = Scene::new();
    for (arguments, words) in [
        (vec!["run", "smok"], "did you mean smoke?"),
        (vec!["run", "./absent.toml"], "absent.toml"),
        (
            vec!["run", "smoke", "--contender", "nginx-defualt"],
            "did you mean `nginx-default`?",
        ),
        (
            vec!["run", "smoke", "--workload", "syntetic"],
            "did you mean `synthetic`?",
        ),
        (vec!["run", "smoke", "--clients", "0"], "clients"),
        (vec!["run", "smoke", "--clients", "10001"], MOST_CLIENTS),
        (vec!["race", "nginx", "caddy", "-c", "20k"], MOST_CLIENTS),
        (vec!["find", "nginx", "-c", "20k"], MOST_CLIENTS),
        (vec!["overload", "nginx", "-c", "20k"], MOST_CLIENTS),
        (vec!["run", "smoke", "--rounds", "0"], "rounds"),
        (vec!["run", "smoke", "--duraton", "1s"], "--duration"),
        (vec!["plan", "smok"], "did you mean smoke?"),
        (vec!["run", "--resume", "x", "--clients", "2"], "--resume"),
        (vec!["run", "smoke", "--resume", "x"], "[PLAN]"),
    ] {
        scene.run(&arguments).expect(2).says(words);
    }
    assert!(!scene.path("bakeoff-results").exists());
}

#[test]
fn an_unknown_key_is_reported_with_line_column_and_the_nearest_key() {
    let scene = Scene::new();
    let good = plan(&[("a", "nginx", "default")], "synthetic", SHORT);
    scene.write("own.toml", &good.replace("warmup", "wramup"));
    let reported = scene.run(&["run", "./own.toml"]).expect(2);
    let line = good.lines().position(|it| it.starts_with("warmup"));
    let place = format!("own.toml:{}:1", line.unwrap() + 1);
    reported.says("wramup").says("warmup").says(&place);

    scene.write("own.toml", &good.replace("\"nginx\"", "\"ngnix\""));
    let reported = scene.run(&["run", "./own.toml"]).expect(2);
    reported.says("ngnix").says("`nginx`");
}

/// A format that has no place for the result is refused before anything is measured.
#[test]
fn searches_and_overloads_have_formats_of_their_own() {
    let scene = Scene::new();
    let known = "[possible values: text, html, md, csv, json]";
    for command in ["find", "overload"] {
        let asked = [command, "nginx", "--format", "junit"];
        scene.run(&asked).expect(2).says(known);
        let help = scene.run(&[command, "--help"]).expect(0).stdout;
        assert!(!help.contains("bakeoff.report/1"), "{help}");
    }
    let closed = plan(&[("a", "nginx", "default")], "synthetic", "");
    let (before, _) = closed.split_once("[[load]]").unwrap();
    for table in ["search", "overload"] {
        scene.write("own.toml", &format!("{before}[[{table}]]\n"));
        let run = ["run", "./own.toml", "--format", "junit", "--out", "record"];
        scene
            .run(&run)
            .expect(2)
            .says("--format is text, html, md, csv or json");
        assert!(!scene.path("record").exists());
    }
}

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
    let text = plan(&[("x", "unheard-of", "default")], "synthetic", SHORT);
    scene.write("own.toml", &text);
    let mut run = scene.command(&["run", "./own.toml", "--library", "library"]);
    run.env("PATH", scene.path("empty"));
    run.env("BAKEOFF_PROGRAMS", scene.path("empty"));
    let reported = scene.start_command(run).finish().expect(2);
    let reported = reported.says("Unheard Of is not installed");
    reported
        .says("apt-get install unheard-of")
        .says("no contender of the plan can be measured here");
    assert!(!scene.path("bakeoff-results").exists(), "nothing to record");

    let listed = scene.run(&["list", "--library", "library"]).expect(0);
    assert!(listed.stdout.contains("apt-get install unheard-of"));
}

#[test]
fn what_is_not_installed_is_skipped_and_the_rest_is_measured() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    unheard_of(&scene);
    let contenders = [("x", "unheard-of", "default"), ("n", "nginx", "default")];
    scene.write("own.toml", &plan(&contenders, "synthetic", SHORT));
    let run = RUN_OWN;
    let reported = scene.run(&run).expect_measured().says("Unheard Of");
    assert!(reported.stdout.contains("skipped"), "{reported:#?}");
    let record = scene.path("record");
    assert_eq!(measured(&record), ["r1-n-synthetic-c3"]);
    let skipped = end_of(&trials(&record), "r1-x-synthetic-c3");
    assert_eq!(skipped["kind"], "skipped");
    assert_eq!(skipped["fix"], "apt-get install unheard-of");
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

fn end_of(trials: &[Value], id: &str) -> Value {
    let trial = trials.iter().find(|trial| trial["id"] == id);
    trial.unwrap_or_else(|| panic!("no {id}"))["end"].clone()
}

/// A record of one trial of the script `variant` and one of a good server after it.
#[track_caller]
fn beside_a_good_one(script: &str) -> Option<(Value, String)> {
    let scene = Scene::new();
    let scripts = [("good", "serve()"), ("bad", script)];
    if !script_server(&scene, 1000, &scripts) {
        return None;
    }
    let contenders = [("bad", "script", "bad"), ("good", "script", "good")];
    let text = plan(&contenders, "synthetic", "duration = \"2s\"");
    scene.write("own.toml", &text);
    let run = RUN_OWN;
    let reported = scene
        .run(&run)
        .expect_measured()
        .says("round 1/1 synthetic c3: requests/s good ")
        .says("; bad: failed at ");
    assert!(reported.stdout.contains("failed"), "{reported:#?}");
    let record = scene.path("record");
    assert_eq!(measured(&record), ["r1-good-synthetic-c3"]);
    let end = end_of(&trials(&record), "r1-bad-synthetic-c3");
    assert_eq!(end["kind"], "failed", "{end:#}");
    let report = scene.json(&["report", "record", "--format", "json"]);
    assert_eq!(report["campaign"]["trials"]["failed"], 1);
    Some((end, reported.stdout))
}

#[track_caller]
fn assert_failed(end: &Value, step: &str, cause: &str, words: Option<&str>) {
    assert_eq!(end["step"], step, "{end:#}");
    assert!(end["cause"].as_str().unwrap().contains(cause), "{end:#}");
    if let Some(words) = words {
        let reported = end["message"].as_str();
        assert!(
            reported.is_some_and(|reported| reported.contains(words)),
            "{end:#}"
        );
    }
}

#[test]
fn a_server_that_never_answers_fails_at_its_start() {
    let silent = "def never(connection, body):\n    time.sleep(60)\nserve(answer=never)";
    if let Some((end, _)) = beside_a_good_one(silent) {
        assert_failed(&end, "start", "no answer from 127.0.0.1:", None);
    }
}

#[test]
fn a_server_that_answers_the_wrong_body_fails_at_its_start() {
    if let Some((end, _)) = beside_a_good_one("serve(body=b'Goodbye, world!')") {
        assert_failed(&end, "start", "Goodbye, world!", None);
        assert_failed(&end, "start", "Hello, world!", None);
    }
}

#[test]
fn a_server_that_ends_at_its_start_is_reported_with_its_last_output() {
    let script = "print('out of mustard', flush=True)\nsys.exit(7)";
    if let Some((end, shown)) = beside_a_good_one(script) {
        assert_failed(&end, "start", "exit code 7", Some("out of mustard"));
        assert!(shown.contains("out of mustard"), "{shown}");
    }
}

#[test]
fn a_server_that_dies_in_mid_trial_is_reported_with_its_last_output() {
    // Alive for the checks before; dead in the two seconds of measuring.
    let script = "
def die():
    time.sleep(1.2)
    print('slipped on ketchup', flush=True)
    os._exit(9)

def once_asked(connection, body):
    threading.Thread(target=die, daemon=True).start()
    answer(connection, body)

serve(answer=once_asked)";
    if let Some((end, _)) = beside_a_good_one(script) {
        assert_failed(&end, "measure", "exit code 9", Some("slipped on ketchup"));
    }
}

#[test]
fn a_server_that_turns_wrong_under_load_is_not_valid() {
    let scene = Scene::new();
    let script = "
asked = [0]
def turn(connection, body):
    with connection:
        while connection.recv(65536):
            asked[0] += 1
            good = asked[0] <= 3
            head = 'HTTP/1.1 200 OK\\r\\nServer: script\\r\\nContent-Length: 13\\r\\n\\r\\n'
            connection.sendall(head.encode() + (body if good else b'Sorry, no bun'))
serve(answer=turn)";
    if !script_server(&scene, 1000, &[("turning", script)]) {
        return;
    }
    let contenders = [("turning", "script", "turning")];
    let text = plan(&contenders, "synthetic", "duration = \"1s\"");
    scene.write("own.toml", &text);
    let run = [
        "run",
        "./own.toml",
        "--library",
        "library",
        "--format",
        "json",
    ];
    let report = scene.run(&run).expect(4).json();
    let cell = &report["cells"][0];
    assert_eq!(cell["verdict"]["verdict"], "invalid", "{cell:#}");
}

#[test]
fn a_server_that_is_silent_after_the_load_keeps_what_was_measured() {
    let scene = Scene::new();
    // Answers all connections until the load's three are open at once, and then only these.
    let script = "
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
    if !script_server(&scene, 1000, &[("tired", script)]) {
        return;
    }
    let text = plan(
        &[("tired", "script", "tired")],
        "synthetic",
        "duration = \"2s\"",
    );
    scene.write("own.toml", &text.replace("\"5s\"", "\"200ms\""));
    scene.run(&RUN_OWN).expect_measured();
    let reported = scene.run(&["report", "record", "--full"]).expect(0);
    let words = "tired, synthetic, c3: slow to recover";
    assert!(reported.stdout.contains(words), "{reported:#?}");
    let record = scene.path("record");
    assert_eq!(measured(&record), ["r1-tired-synthetic-c3"]);
    let trial = &trials(&record)[0];
    assert_eq!(trial["warnings"][0]["code"], "no-answer-after", "{trial:#}");
    assert_eq!(trial["answers"].as_array().unwrap().len(), 1);
    assert!(trial["result"]["requests"]["ok"].as_u64() > Some(0));
}

#[test]
fn a_campaign_with_nothing_measured_ends_with_4() {
    let scene = Scene::new();
    if !script_server(&scene, 1000, &[("broken", "sys.exit(1)")]) {
        return;
    }
    let contenders = [("broken", "script", "broken")];
    scene.write("own.toml", &plan(&contenders, "synthetic", SHORT));
    let run = ["run", "./own.toml", "--library", "library"];
    scene.run(&run).expect(4).says("exit code 1");
}
