//! One load from several hosts.

use serde_json::Value;

use super::lab::{Lab, Nature};
use crate::support::files::assert_accounted;
use crate::support::scene::Scene;
use crate::support::servers::on_path;
use crate::support::{pass_over, wait_until};

fn sum(load: &Value, of: impl Fn(&Value) -> u64) -> u64 {
    let generators = load["generators"].as_array().unwrap();
    generators.iter().map(|each| of(&each["load"])).sum()
}

/// The whole is the sum of its parts, which are those of `generators`, of which g3 has a clock that
/// is off by a day.
#[track_caller]
fn assert_merged(merged: &Value, generators: &[&str]) {
    let ok = merged["requests"]["ok"].as_u64().unwrap();
    assert_eq!(
        sum(merged, |part| part["requests"]["ok"].as_u64().unwrap()),
        ok
    );
    assert_eq!(
        sum(merged, |part| part["latency_ns"]["count"].as_u64().unwrap()),
        ok
    );
    let parts = merged["generators"].as_array().unwrap();
    let longest = parts
        .iter()
        .map(|part| part["load"]["latency_ns"]["max"].as_u64())
        .max();
    assert_eq!(merged["latency_ns"]["max"].as_u64(), longest.flatten());
    let names: Vec<&str> = parts
        .iter()
        .map(|it| it["host"].as_str().unwrap())
        .collect();
    assert_eq!(names, generators);
    for part in parts {
        let day = part["host"] == "g3";
        let offset = part["clock"]["before"]["offset_ns"].as_i64().unwrap();
        assert_eq!(offset > 80_000_000_000_000, day, "{part:#}");
        // On home's clock, so it is a day off for nobody.
        assert!(part["began_after_first_ns"].as_u64().unwrap() < 60_000_000_000);
    }
}

/// A load on hosts that another one uses is refused, and both leave no lock.
#[track_caller]
fn assert_second_is_refused(lab: &Lab<'_>, url: &str) {
    let load = ["load", url, "--hosts", "lab.toml", "-d", "60s"];
    let mut first = lab.start_home(&load);
    first.wait_until("the agent runs", |_| !lab.agents("g1").is_empty());
    first.wait_until("it has taken the host", |_| {
        lab.files("g1")
            .iter()
            .any(|file| file.extension().is_some_and(|it| it == "lock"))
    });
    let second = lab.start_home(&load).finish().expect(4);
    let owner = format!("process {}", first.pid());
    second
        .says("host g1: another campaign uses it")
        .says(&owner);
    first.signal(rustix::process::Signal::INT);
    let first = first.finish().expect(130);
    assert!(
        first.stdout.contains("ok/s"),
        "what was measured is shown: {first:#?}"
    );
    wait_until("nothing is left on any host", || lab.is_empty());
    assert_eq!(lab.files("g1").len(), 0, "no lock is left");
}

#[test]
fn one_load_is_divided_over_four_hosts_and_merged_exactly() {
    let scene = Scene::new();
    let plain = Nature::default();
    let ahead = Nature {
        ahead_s: 86_400,
        ..plain
    };
    let hosts = [
        ("sut", plain),
        ("g1", plain),
        ("g2", plain),
        ("g3", ahead),
        ("g4", plain),
    ];
    let Some(lab) = Lab::new(&scene, &hosts) else {
        return;
    };
    let generators = ["g1", "g2", "g3", "g4"];
    scene.write("lab.toml", &lab.file(&generators, false));
    let url = lab.serve("sut");
    let open = ["-r", "801", "-c", "8", "-t", "1", "-d", "1s", "--json"];
    let load = [&["load", &url, "--hosts", "lab.toml"], &open[..]].concat();
    let merged = lab.start_home(&load).finish().expect(0).json();
    assert_accounted(&merged);
    // 801 requests in the window, whoever sends them: the schedule has no gap and no overlap.
    assert_eq!(merged["requests"]["due"], 801, "{merged:#}");
    assert_eq!(
        sum(&merged, |part| part["requests"]["due"].as_u64().unwrap()),
        801
    );
    assert_merged(&merged, &generators);
    eprintln!(
        "start spread {} ns, clock error {} ns",
        merged["start_spread_ns"], merged["clock_error_ns"]
    );
    assert_eq!(merged["lost"], serde_json::json!([]));
    let one = lab.start_home(&[&["load", &url], &open[..]].concat());
    let one = one.finish().expect(0).json();
    assert_eq!(one["requests"]["due"], merged["requests"]["due"]);
    let counted = [
        "load", &url, "--hosts", "lab.toml", "-n", "1001", "-c", "8", "--json",
    ];
    let counted = lab.start_home(&counted).finish().expect(0).json();
    assert_eq!(counted["requests"]["completed"], 1001, "{counted:#}");
    let chosen = [
        "load",
        &url,
        "--hosts",
        "lab.toml",
        "--generators",
        "g2,g4",
        "-d",
        "1s",
    ];
    let chosen = lab.start_home(&chosen).finish().expect(0);
    assert!(
        chosen.stdout.contains("g4 ") && !chosen.stdout.contains("g1 "),
        "{chosen:#?}"
    );
    assert_second_is_refused(&lab, &url);
}

/// A firewall between one generator and the server: half of the load is no result of the whole.
#[test]
fn a_generator_that_never_reaches_the_server_leaves_no_result_of_the_whole() {
    let scene = Scene::new();
    let plain = Nature::default();
    let hosts = [("sut", plain), ("g1", plain), ("g2", plain)];
    let Some(lab) = Lab::new(&scene, &hosts) else {
        return;
    };
    scene.write("lab.toml", &lab.file(&["g1", "g2"], false));
    let url = lab.serve("sut");
    if !lab.drop_between("g2", "sut") {
        return;
    }
    let load = ["load", &url, "--hosts", "lab.toml", "-c", "4", "-d", "1s"];
    let load = [&load[..], &["--json"]].concat();
    let half = lab.start_home(&load).finish().expect(4);
    let why = "g2 had no answer while g1 had some: the load was not the whole one";
    let half = half.says(&format!("not a valid measurement: {why}")).json();
    assert!(half.get("requests").is_none(), "{half:#}");
    let parts = half["generators"].as_array().unwrap();
    let ok: Vec<u64> = parts
        .iter()
        .map(|part| part["load"]["requests"]["ok"].as_u64().unwrap())
        .collect();
    assert!(ok.len() == 2 && ok[0] > 0 && ok[1] == 0, "{ok:?}");
    let warnings = half["warnings"].as_array().unwrap();
    let named = |it: &Value| it["code"] == "generators-agree" && it["text"] == why;
    assert!(warnings.iter().any(named), "{half:#}");
    wait_until("nothing is left on any host", || lab.is_empty());
}

/// A server that notes the path of each request that it answers.
const NOTING: &str = r#"
import http.server, sys
host, port = sys.argv[2].split(":")
log = open(sys.argv[1], "a", buffering=1)
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        log.write(self.path + "\n")
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer((host, int(port)), Handler)
print("listening on", sys.argv[2], flush=True)
server.serve_forever()
"#;

/// What the schedule sends does not depend on how many hosts send it: the same requests of a list
/// of a hundred, each as often, at one seed, and others at another.
#[test]
fn two_generators_send_the_requests_that_one_would_have_sent() {
    let scene = Scene::new();
    let plain = Nature::default();
    let Some(python) = on_path("python3") else {
        return pass_over("python3 is missing");
    };
    let hosts = [("sut", plain), ("g1", plain), ("g2", plain)];
    let Some(lab) = Lab::new(&scene, &hosts) else {
        return;
    };
    scene.write("lab.toml", &lab.file(&["g1", "g2"], false));
    let script = scene.write("noting.py", NOTING).display().to_string();
    let log = scene.path("paths");
    let (python, noted) = (python.display().to_string(), log.display().to_string());
    let url = lab.serve_by("sut", &[&python, &script, &noted]);
    let urls: String = (0..100).map(|n| format!("{url}{n}\n")).collect();
    scene.write("urls", &urls);
    let sent = |more: &[&str]| {
        std::fs::write(&log, "").unwrap();
        let load = [
            "load",
            "--urls",
            "urls",
            "-r",
            "200",
            "--arrival",
            "poisson",
            "-c",
            "8",
        ];
        let load = [&load[..], &["-d", "1s", "--json"], more].concat();
        let result = lab.start_home(&load).finish().expect(0).json();
        let noted = std::fs::read_to_string(&log).unwrap();
        let mut paths: Vec<String> = noted.lines().map(str::to_owned).collect();
        paths.sort();
        assert_eq!(paths.len() as u64, result["requests"]["ok"], "{result:#}");
        (result["requests"]["due"].as_u64().unwrap(), paths)
    };
    let two = ["--hosts", "lab.toml", "-t", "1"];
    let together = sent(&two);
    assert!(together.0 > 100, "{together:?}");
    let g1 = ["--hosts", "lab.toml", "--generators", "g1", "-t", "2"];
    assert_eq!(together, sent(&g1), "one host with as many threads");
    let other = sent(&[&two[..], &["--seed", "2"]].concat());
    assert_ne!(together.1, other.1, "the seed decides");
    wait_until("nothing is left on any host", || lab.is_empty());
}
