//! What CI asks for: one exit code for two versions, conditions, and whether a record still holds.

use std::time::Duration;

use bakeoff_plan::{Arrival, Load, Overload, Search, goals};
use serde_json::Value;

use crate::published_site::{made_up, store};
use crate::support::files::trials;
use crate::support::scene::Scene;
use crate::support::servers::on_path;
use crate::support::{alone, pass_over, scripted};
use crate::verify::contradicting;

/// A small server on the port in `PORT`, which takes the seconds in its argument for each answer.
const APP: &str = r#"
import os, socket, sys, threading, time

def serve(connection):
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while connection.recv(65536):
            time.sleep(float(sys.argv[1]))
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")

listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", int(os.environ["PORT"])))
listener.listen(64)
while True:
    connection, _ = listener.accept()
    threading.Thread(target=serve, args=(connection,), daemon=True).start()
"#;

/// Two commands, the second of which takes three times as long, raced as briefly as it goes.
const RACE: [&str; 17] = [
    "race",
    "--start",
    "python3 app.py 0.002",
    "--start",
    "python3 app.py 0.006",
    "--out",
    "record",
    "--rounds",
    "3",
    "--duration",
    "300ms",
    "--warmup",
    "50ms",
    "--clients",
    "2",
    "--gate",
    "rate=5%",
];
/// Names that the two get.
const SIDES: [&str; 2] = ["python3-app.py", "python3-app.py-2"];

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("it is JSON")
}

#[test]
fn a_race_with_a_gate_and_its_record_say_the_same() {
    let _alone = alone();
    if on_path("python3").is_none() {
        return pass_over("no python3 was found");
    }
    let scene = Scene::new();
    scene.write("app.py", APP);
    let raced = scene.run(&RACE);
    // Three times as long is breached, unless the machine was too busy for a valid number.
    assert!(
        [Some(3), Some(4)].contains(&raced.status.code()),
        "{raced:#?}"
    );
    let names: Vec<String> = trials(&scene.path("record"))
        .iter()
        .filter(|trial| trial["kind"] == "contender")
        .filter_map(|trial| trial["contender"].as_str().map(str::to_owned))
        .collect();
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names, SIDES);
    let compare = |more: &[&str]| {
        let sides = ["compare", "record", SIDES[0], SIDES[1], "--gate", "rate=5%"];
        scene.run(&[&sides, more].concat())
    };
    let compared = compare(&["--format", "json"]);
    assert_eq!(compared.status.code(), raced.status.code(), "{compared:#?}");
    let document = json(&compared.stdout);
    assert_eq!(document["schema"], "bakeoff.compare/1");
    let rows = document["rows"].as_array().expect("rows");
    let rate = rows
        .iter()
        .find(|row| row["metric"] == "rate_per_s")
        .expect("a rate");
    let ruling = if raced.status.code() == Some(3) {
        "breached"
    } else {
        "cannot-tell"
    };
    assert_eq!(rate["ruling"], ruling);
    assert_eq!(
        rate["worse"].is_null(),
        rate["reason"].as_str().is_some_and(|why| {
            why.contains("believed") || why.contains("withheld") || why.contains("bound")
        })
    );
    assert!(
        compare(&["--format", "junit"])
            .stdout
            .contains("<testcase ")
    );
    assert!(compare(&[]).stdout.contains("gate 5 %"));
    // The other way round nothing is worse.
    let back = ["compare", "record", SIDES[1], SIDES[0], "--gate", "rate=5%"];
    assert_ne!(scene.run(&back).status.code(), Some(3));
    verify(&scene);
}

/// What verify says of the record as it is, and after changes to it.
fn verify(scene: &Scene) {
    let said = scene.run(&["verify", "record"]).expect(0);
    assert!(said.stdout.contains("all of it holds"), "{}", said.stdout);
    let file = scene.path("record/trials.jsonl");
    let bytes = std::fs::read(&file).unwrap();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let mut before = 0;
    for (index, line) in lines.iter().enumerate() {
        let mut flipped = bytes.clone();
        flipped[before + line.len() * (index + 1) / (lines.len() + 1)] ^= 1 << (index % 8);
        before += line.len();
        std::fs::write(&file, flipped).unwrap();
        let said = scene.run(&["verify", "record"]).expect(1);
        let trial = json(std::str::from_utf8(line).unwrap());
        let named = format!(
            "trial {}: line {}",
            trial["id"].as_str().unwrap(),
            index + 1
        );
        assert!(said.stdout.contains(&named), "{named}: {}", said.stdout);
    }
    std::fs::write(&file, &bytes).unwrap();
    let machine = scene.path("record/machine.json");
    let whole = std::fs::read(&machine).unwrap();
    std::fs::write(&machine, "nonsense").unwrap();
    let said = scene.run(&["verify", "record"]).expect(1);
    assert!(said.stdout.contains("machine.sum"), "{}", said.stdout);
    std::fs::write(&machine, whole).unwrap();
    // Each trial of this version has a checksum.
    std::fs::remove_file(scene.path("record/trials.sum")).unwrap();
    let said = scene.run(&["verify", "record"]).expect(1);
    assert!(
        said.stdout.contains("no checksum in trials.sum"),
        "{}",
        said.stdout
    );
    std::fs::write(&file, "nonsense\n").unwrap();
    let said = scene.run(&["verify", "record"]).expect(1);
    assert!(said.stdout.contains("line 1 is damaged"), "{}", said.stdout);
    // The highest bit of a letter: it is no text any more.
    std::fs::write(&file, &bytes).unwrap();
    let page = scene.path("record/report.html");
    let mut flipped = std::fs::read(&page).unwrap();
    flipped[20] ^= 1 << 7;
    std::fs::write(&page, flipped).unwrap();
    let said = scene.run(&["verify", "record"]).expect(1);
    let expected = "report.html: it is not text in UTF-8";
    assert!(said.stdout.contains(expected), "{}", said.stdout);
}

/// A secret in the plan made every baseline one of another plan.
#[test]
fn a_baseline_of_the_same_plan_with_a_secret_is_compared() {
    let _alone = alone();
    let scene = Scene::new();
    let up = scripted::always(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let url = format!("http://{up}/?token=abc1234567");
    let race = [
        "race",
        &url,
        &url,
        "-H",
        "Authorization: Bearer abc1234567",
        "--rounds",
        "1",
        "--duration",
        "1s",
        "--warmup",
        "0.1s",
        "--save-plan",
        "own.toml",
        "--out",
        "monday",
    ];
    let raced = scene.run(&race);
    assert!(
        [Some(0), Some(4)].contains(&raced.status.code()),
        "{raced:#?}"
    );
    let run = [
        "run",
        "./own.toml",
        "--out",
        "tuesday",
        "--baseline",
        "monday",
        "--gate",
        "rate=90%",
    ];
    let said = scene.run(&run);
    assert!(
        !said.stderr.contains("could not be compared"),
        "{}",
        said.stderr
    );
    assert!(
        [Some(0), Some(3), Some(4)].contains(&said.status.code()),
        "{said:#?}"
    );
}

/// All of it was measured, and could only end with 4.
#[test]
fn a_baseline_that_can_decide_nothing_is_refused_before_anything_is_measured() {
    let _alone = alone();
    if on_path("python3").is_none() {
        return pass_over("no python3 was found");
    }
    let scene = Scene::new();
    scene.write("app.py", APP);
    let race = [&RACE[..15], &["--save-plan", "own.toml"]].concat();
    scene.run(&race);
    let plan = std::fs::read_to_string(scene.path("own.toml")).unwrap();
    let share = "[[load]]\ncapacity_share = 0.5\nduration = \"300ms\"\n\n[[workload]]\n";
    let with_share = plan.replacen("[[workload]]\n", share, 1);
    scene.write("share.toml", &with_share);
    let without = plan.replacen("yardstick = true", "yardstick = false", 1);
    assert!(with_share != plan && without != plan, "{plan}");
    scene.write("without.toml", &without);
    let run = |plan: &str, gate: &str| {
        let held = ["--baseline", "record", "--gate", gate];
        scene.run(&[&["run", plan, "--out", "none"], &held[..]].concat())
    };
    let refused = run("./without.toml", "rate=5%").expect(2);
    refused.says("yardstick: one of the two plans says `yardstick = false`");
    let refused = run("./share.toml", "p99=5%").expect(2);
    refused.says("loads at a share of the capacity are not compared");
    assert!(!scene.path("none").exists());
}

#[test]
fn wrong_gates_and_conditions_are_refused_before_anything_is_measured() {
    let scene = Scene::new();
    let refused = |arguments: &[&str], problem: &str| {
        let said = scene
            .run(&[arguments, &["--out", "none"]].concat())
            .expect(2);
        assert!(
            said.stderr.contains(problem),
            "{arguments:?}: {}",
            said.stderr
        );
        assert!(!scene.path("none").exists());
    };
    let race = ["race", "nginx", "caddy"];
    refused(
        &[&race[..], &["--gate", "p99=5%"]].concat(),
        "fits no load here",
    );
    refused(
        &[&race[..], &["--gate", "rate=5"]].concat(),
        "is not a gate",
    );
    refused(
        &[&race[..], &["--fail-if", "p99 > 5"]].concat(),
        "is not a limit for p99",
    );
    refused(
        &[&race[..], &["--rate", "500", "--fail-if", "rate < 400"]].concat(),
        "the condition `rate < 400` fits no load here",
    );
    let run = ["run", "smoke", "--contender", "nginx-default"];
    refused(
        &[&run[..], &["--gate", "rate=5%"]].concat(),
        "the plan has one alone",
    );
    let baseline = ["--gate", "rate=5%", "--baseline", "missing"];
    refused(&[&run[..], &baseline].concat(), "holds no record");
    let load = ["load", "http://127.0.0.1:9/", "--fail-if", "cpu > 1ms"];
    let said = scene.run(&load).expect(2);
    assert!(said.stderr.contains("does not see the server's process"));
    scene.run(&["verify", "missing"]).expect(2);
    scene.run(&["compare", "missing", "a", "b"]).expect(2);
}

/// A plan to which a search or an overload is added.
const NO_ROUNDS: &str = r#"
name = "no-rounds"
workloads = ["synthetic"]

[[contender]]
name = "nginx"
server = "nginx"

[[contender]]
name = "caddy"
server = "caddy"
"#;

/// Neither was held against anything, and the exit code was 0.
#[test]
fn a_search_or_an_overload_takes_no_gates() {
    let scene = Scene::new();
    for kind in ["search", "overload"] {
        scene.write("plan.toml", &format!("{NO_ROUNDS}\n[[{kind}]]\n"));
        for held in [["--gate", "p99=5%"], ["--fail-if", "p99 > 1ns"]] {
            let run = ["run", "./plan.toml", "--out", "none", held[0], held[1]];
            let said = scene.run(&run).expect(2);
            said.says("--gate and --fail-if are for plans with rounds");
            assert!(!scene.path("none").exists(), "{kind} {held:?}");
        }
    }
}

pub(crate) fn overload() -> Load {
    let second = Duration::from_secs(1);
    let overload = Overload {
        steps: vec![0.5, 2.0, 0.5],
        capacity_per_s: Some(1000.0),
        arrival: Arrival::Poisson,
        clients: 100,
        ladder: Vec::new(),
        rung: 10 * second,
    };
    Load::beyond(overload, 10 * second, second)
}

/// Trials at different rates were held against each other.
#[test]
fn the_records_of_a_search_and_an_overload_are_not_compared() {
    let scene = Scene::new();
    let second = Duration::from_secs(1);
    let search = Search {
        goals: goals(&[], &[0.001]),
        arrival: Arrival::Poisson,
        clients: 100,
        sum: 60 * second,
        exceed: 0.5,
        width: 0.02,
        budget: 3600 * second,
        confirm: 30 * second,
        curve: Vec::new(),
    };
    let sought = Load::sought(search, 10 * second, second);
    store(&made_up::record_of_rounds(1), &scene.path("rounds"));
    for (load, name) in [(sought, "a search"), (overload(), "an overload")] {
        let mut record = made_up::record_of_rounds(1);
        record.plan.loads = vec![load];
        record.trials.clear();
        let folder = name.replace(' ', "-");
        store(&record, &scene.path(&folder));
        let expected = format!("{folder} is of {name}, which has no rounds to compare");
        let contenders = ["nginx-default", "nginx-optimized"];
        let within = ["compare", &folder, contenders[0], contenders[1]];
        scene.run(&within).expect(2).says(&expected);
        for across in [["rounds", &folder], [&folder, "rounds"]] {
            let across = ["compare", across[0], across[1], "--force"];
            scene.run(&across).expect(2).says(&expected);
        }
        let gate = ["--gate", "rate=5%", "--baseline", &folder];
        let run = [&["run", "smoke", "--out", "none"][..], &gate].concat();
        scene.run(&run).expect(2).says(&expected);
    }
}

#[test]
fn a_load_fails_where_its_condition_holds() {
    let scene = Scene::new();
    let wrong = scripted::always(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    let right = scripted::always(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let load = |address: std::net::SocketAddr, condition: &str| {
        let url = format!("http://{address}/");
        let load = ["load", &url, "-n", "50", "-c", "2", "--fail-if", condition];
        scene.run(&load)
    };
    load(right, "errors > 0%").expect(0);
    let said = load(wrong, "errors > 10 %").expect(3);
    assert!(
        said.stderr.contains("breached: errors > 10 %: 100%"),
        "{}",
        said.stderr
    );
    // No latency of a right answer was seen.
    let said = load(wrong, "p99 > 1s").expect(4);
    assert!(
        said.stderr
            .contains("cannot tell: p99 > 1s: no answer was ok"),
        "{}",
        said.stderr
    );
    // Fifty answers have no percentile 99.9.
    let said = load(right, "p99.9 < 1ns").expect(4);
    assert!(
        said.stderr.contains("cannot tell: p99.9 < 1ns"),
        "{}",
        said.stderr
    );
}

/// Otava takes a `nan` for a number, and then finds nothing.
#[test]
fn a_line_for_otava_says_what_it_lacks() {
    let scene = Scene::new();
    let mut record = made_up::record_of_rounds(3);
    store(&record, &scene.path("some"));
    let report = |record: &str| scene.run(&["report", record, "--format", "otava"]);
    report("some").expect(0).says(" values are nan, because");
    for trial in &mut record.trials {
        trial.end = bakeoff_record::TrialEnd::Interrupted;
        trial.result = None;
    }
    store(&record, &scene.path("none"));
    report("none").expect(4).says(" values are nan, because");
}

/// github-action-benchmark refuses an empty list, in the next step and without a reason.
#[test]
fn a_file_without_a_number_for_another_tool_ends_with_4() {
    let scene = Scene::new();
    let mut record = made_up::record_of_rounds(3);
    store(&record, &scene.path("some"));
    let report = |record: &str, format: &str| scene.run(&["report", record, "--format", format]);
    for trial in &mut record.trials {
        trial.end = bakeoff_record::TrialEnd::Interrupted;
        trial.result = None;
    }
    store(&record, &scene.path("none"));
    for format in ["bencher", "github-bigger", "gobench"] {
        report("some", format).expect(0);
        report("none", format)
            .expect(4)
            .says("no number of this record");
    }
    report("none", "github-smaller").expect(4);
}

/// Each ended in a panic.
#[test]
fn a_record_that_nobody_can_judge_is_refused_and_left_out() {
    let scene = Scene::new();
    store(&made_up::record_of_rounds(1), &scene.path("record"));
    let file = scene.path("record/trials.jsonl");
    let trials = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, contradicting(&trials)).unwrap();
    let commands = [
        (&["report", "record"][..], 2),
        (&["compare", "record", "a", "b"], 2),
        (&["site", "record"], 2),
        (&["history", "record", "--no-index"], 4),
    ];
    for (command, code) in commands {
        let said = scene.run(command).expect(code);
        let all = said.stdout + &said.stderr;
        assert!(!all.contains("panicked"), "{all}");
        assert!(all.contains("is above max_ns"), "{all}");
    }
    // Beside another it is left out.
    std::fs::create_dir(scene.path("both")).unwrap();
    std::fs::rename(scene.path("record"), scene.path("both/bad")).unwrap();
    store(&made_up::record_of_rounds(1), &scene.path("both/good"));
    let said = scene.run(&["site", "both"]).expect(2);
    assert!(
        said.stderr.contains("left out: both/bad: "),
        "{}",
        said.stderr
    );
    assert!(
        said.stdout.contains("1 record, 1 left out"),
        "{}",
        said.stdout
    );
}

/// A record is no worse than itself, so every gate was passed.
#[test]
fn a_record_is_not_compared_with_itself() {
    let scene = Scene::new();
    store(&made_up::record_of_rounds(3), &scene.path("record"));
    let compare = |second: &str, force: &[&str]| {
        let command = ["compare", "record", second, "--gate", "rate=5%"];
        scene.run(&[&command, force].concat())
    };
    let said = compare("./record", &[]).expect(2);
    assert!(
        said.stderr.contains("is compared with itself"),
        "{}",
        said.stderr
    );
    scene
        .run(&["report", "record", "--share", "copy"])
        .expect(0);
    let said = compare("copy", &[]).expect(2);
    assert!(
        said.stderr.contains("are of the same campaign"),
        "{}",
        said.stderr
    );
    assert_ne!(compare("copy", &["--force"]).status.code(), Some(2));
    for baseline in ["record", "copy"] {
        let gate = ["--gate", "rate=5%", "--baseline", baseline];
        let run = [&["run", "--resume", "record"][..], &gate].concat();
        let expected = format!("--baseline {baseline} is of the campaign that goes on");
        scene.run(&run).expect(2).says(&expected);
    }
    let mut later = made_up::record_of_rounds(3);
    later.machine.started_at = "2026-11-22T04:00:00Z".to_owned();
    store(&later, &scene.path("later"));
    assert_ne!(compare("later", &[]).status.code(), Some(2));
}
