//! Campaigns over TLS, by count, and with compressed answers, on real servers.

use serde_json::Value;

use crate::support::RUN_OWN;
use crate::support::files::{measured, trials};
use crate::support::scene::Scene;
use crate::support::servers::{are_installed, script_server};

const PLAN: &str = r#"
name = "protocols"
rounds = 1
rest = "0s"

[[contender]]
name = "nginx"
server = "nginx"

[[contender]]
name = "caddy"
server = "caddy"
certificate = "rsa-2048"

[[load]]
clients = 3
timeout = "5s"
"#;

/// The plan with keys before its first table, and with more for its load.
fn plan(keys: &str, load: &str) -> String {
    format!("{keys}\n{PLAN}{load}\n")
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

#[test]
fn h1_over_tls_is_measured_and_says_what_was_negotiated() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx", "caddy"]) {
        return;
    }
    let keys = "workloads = [\"synthetic\", \"html-large\", \"proxy\"]\nprotocols = [\"h1-tls\"]";
    let text = plan(keys, "requests = 30\nduration = \"20s\"");
    let file = scene.write("tls.toml", &text);
    let run = ["run", file.to_str().unwrap(), "--out", "tls"];
    scene.run(&run).expect_measured();
    let record = scene.path("tls");
    // Two contenders and the yardstick everywhere, and the origin beside the proxied workload.
    assert_eq!(measured(&record).len(), 10);
    for trial in trials(&record) {
        let result = &trial["result"];
        assert_eq!(
            number(&result["requests"]["ok"]),
            number(&result["requests"]["completed"])
        );
        assert!(number(&result["requests"]["ok"]) > 0, "{trial:#}");
        assert!(number(&result["bodies_checked"]) > 0, "{trial:#}");
        let connections = &result["connections"];
        assert_eq!(connections["handshakes_full"], connections["opened"]);
        assert_eq!(result["negotiated"]["alpn"], "http/1.1", "{trial:#}");
        assert!(result["url"].as_str().unwrap().starts_with("https://"));
        for answer in trial["answers"].as_array().unwrap() {
            let (checked, loaded) = (&answer["negotiated"], &result["negotiated"]);
            assert_eq!(checked["protocol"], "h1");
            assert_eq!(checked["alpn"], loaded["alpn"]);
            for key in ["tls_version", "cipher", "group"] {
                assert!(checked[key].is_string(), "{key} of {checked}");
                assert_eq!(checked[key], loaded[key]);
            }
        }
    }
}

#[test]
fn h3_is_measured_and_judged_by_its_own_ledger() {
    let scene = Scene::new();
    if !are_installed(&scene, &["caddy"]) {
        return;
    }
    let keys = "workloads = [\"synthetic\", \"html-large\", \"proxy\"]\nprotocols = [\"h3\"]";
    let text = plan(keys, "streams = 4\nwarmup = \"100ms\"\nduration = \"1s\"");
    let file = scene.write("h3.toml", &text);
    let run = ["run", file.to_str().unwrap(), "--contender", "caddy"];
    let reported = scene.run(&[&run[..], &["--out", "h3", "--full"]].concat());
    let reported = reported.expect_measured();
    assert!(
        reported.stdout.contains("h3 by ALPN h3, TLSv1.3"),
        "{reported:#?}"
    );
    let record = scene.path("h3");
    assert_eq!(measured(&record).len(), 7);
    for trial in trials(&record) {
        let result = &trial["result"];
        assert!(number(&result["requests"]["ok"]) > 0, "{trial:#}");
        let requests = &result["requests"];
        assert_eq!(requests["ok"], requests["completed"], "{trial:#}");
        assert!(number(&result["bodies_checked"]) > 0, "{trial:#}");
        assert_eq!(result["negotiated"]["protocol"], "h3");
        let quic = &result["quic"];
        assert!(number(&quic["datagrams_received"]) > 0, "{quic:#}");
        let answers = trial["answers"].as_array().unwrap();
        assert_eq!(answers.len(), 2, "{trial:#}");
        for answer in answers {
            assert_eq!(answer["right"], true);
            for key in ["protocol", "alpn", "tls_version"] {
                assert_eq!(answer["negotiated"][key], result["negotiated"][key]);
            }
        }
    }
    let report = scene.json(&["report", "h3", "--format", "json"]);
    for cell in report["cells"].as_array().unwrap() {
        assert!(ran(cell, "udp-drops"), "{cell:#}");
        let is_reference = cell["kind"] != "contender";
        assert!(is_reference || has_ceiling(cell), "{cell:#}");
    }
}

/// Whether a cell's check found what it needs.
fn ran(cell: &Value, code: &str) -> bool {
    check_of(cell, code).is_some_and(|check| check["level"] != "not-run")
}

/// Whether a yardstick was beside the server, whichever of the two was faster: on a busy machine it
/// may be either.
fn has_ceiling(cell: &Value) -> bool {
    let code = "generator-ceiling";
    let text = check_of(cell, code).and_then(|check| check["text"].as_str());
    ran(cell, code) || text.is_some_and(|it| it.starts_with("the server was faster than the"))
}

fn check_of<'c>(cell: &'c Value, code: &str) -> Option<&'c Value> {
    let mut checks = cell["verdict"]["checks"].as_array().unwrap().iter();
    checks.find(|check| check["code"] == code)
}

#[test]
fn references_give_a_ceiling_over_h2_and_h2c() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let keys = "workloads = [\"html-small\"]\nprotocols = [\"h2\", \"h2c\"]";
    let text = plan(
        keys,
        "streams = 4\nwarmup = \"100ms\"\nduration = \"300ms\"",
    );
    let file = scene.write("h2.toml", &text);
    let run = ["run", file.to_str().unwrap(), "--contender", "nginx"];
    let reported = scene.run(&[&run[..], &["--out", "h2"]].concat());
    assert!(!reported.expect_measured().stderr.contains("no references"));
    assert_eq!(measured(&scene.path("h2")).len(), 4);
    for trial in trials(&scene.path("h2")) {
        let (requests, negotiated) = (&trial["result"]["requests"], &trial["result"]["negotiated"]);
        assert_eq!(requests["ok"], requests["completed"], "{trial:#}");
        assert!(number(&requests["ok"]) > 0, "{trial:#}");
        assert!(
            negotiated["protocol"].as_str().unwrap().starts_with("h2"),
            "{trial:#}"
        );
    }
    let report = scene.json(&["report", "h2", "--format", "json"]);
    for cell in report["cells"].as_array().unwrap() {
        let is_reference = cell["kind"] != "contender";
        assert!(is_reference || has_ceiling(cell), "{cell:#}");
    }
}

#[test]
fn a_program_without_http_3_is_distinguished_from_the_others() {
    let scene = Scene::new();
    let caddy_or_later = "[[requires]]\nprotocol = \"h3\"\n\
                          command = [\"{{ binary }}\", \"-c\", \"print('no QUIC here')\"]\n\
                          pattern = \"with QUIC\"\nreason = \"it takes a build with QUIC\"\n";
    if !script_server(&scene, 1000, &[("plain", "serve()")]) {
        return;
    }
    let toml = "library/servers/script/server.toml";
    let text = std::fs::read_to_string(scene.path(toml)).unwrap();
    let spoken = "config = \"main.py\"\nprotocols = [\"h1\", \"h3\"]";
    let text = text.replace("config = \"main.py\"", spoken) + caddy_or_later;
    scene.write(toml, &text);
    let keys = "name = \"own\"\nrounds = 1\nworkloads = [\"synthetic\"]\n\
                protocols = [\"h1\", \"h3\"]\n[[contender]]\nname = \"it\"\n\
                server = \"script\"\nconfig = \"plain\"\n\
                [[load]]\nclients = 2\nduration = \"300ms\"\n";
    scene.write("own.toml", keys);
    scene
        .run(&RUN_OWN)
        .says("it takes a build with QUIC; this is 3.");
    let record = scene.path("record");
    let all = trials(&record);
    let of_it = |trial: &&Value| trial["contender"] == "it";
    let mut of_it = all.iter().filter(of_it);
    let of_h3 = of_it.find(|trial| trial["workload"] == "synthetic-h3");
    assert_eq!(of_h3.unwrap()["end"]["kind"], "unsupported");
    let asked_over_h1 = measured(&record);
    assert!(asked_over_h1.contains(&"r1-it-synthetic-c2".to_owned()));
}

#[test]
fn a_load_by_count_is_that_of_compressed_pages_and_of_an_upstream() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx", "caddy"]) {
        return;
    }
    let keys = "workloads = [\"gzip\", \"proxy\"]\nprotocols = [\"h1\", \"h1-tls\"]\n\
                references = { yardstick = false, origin = false }";
    let file = scene.write(
        "count.toml",
        &plan(keys, "requests = 40\nduration = \"20s\""),
    );
    let run = ["run", file.to_str().unwrap(), "--out", "count"];
    scene.run(&run).expect_measured();
    let record = scene.path("count");
    assert_eq!(measured(&record).len(), 8);
    for trial in trials(&record) {
        let result = &trial["result"];
        assert_eq!(number(&result["requests"]["ok"]), 40, "{trial:#}");
        assert_eq!(number(&result["requests"]["completed"]), 40, "{trial:#}");
        assert_eq!(trial["load"]["requests"], 40);
        let steps = trial["steps"].as_array().unwrap();
        assert!(steps.iter().any(|step| step["step"] == "measure"));
        if trial["workload"].as_str().unwrap().starts_with("proxy") {
            assert_eq!(number(&trial["origin"]["requests"]), 40, "{trial:#}");
            continue;
        }
        // Decoded before the load, and compared as sent in it.
        let answer = &trial["answers"][0];
        assert_eq!(number(&answer["decoded_bytes"]), 12_288);
        let sent = number(&answer["body_bytes"]);
        assert!(sent < 6_500, "{sent} bytes are hardly compressed");
        assert_eq!(number(&result["bytes"]["body"]), 40 * sent);
    }
}
