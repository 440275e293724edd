//! Campaigns over TLS, by count, and with compressed answers, on real servers.

use serde_json::Value;

use crate::support::alone;
use crate::support::files::{measured, trials};
use crate::support::scene::Scene;
use crate::support::servers::are_installed;

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
    let _alone = alone();
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx", "caddy"]) {
        return;
    }
    let keys = "workloads = [\"synthetic\", \"html-large\", \"proxy\"]\nprotocols = [\"h1-tls\"]";
    let text = plan(keys, "warmup = \"100ms\"\nduration = \"300ms\"");
    let file = scene.write("tls.toml", &text);
    let run = ["run", file.to_str().unwrap(), "--out", "tls"];
    scene.run(&run).expect_measured();
    let record = scene.path("tls");
    assert_eq!(measured(&record).len(), 6);
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
fn a_compressed_page_is_decoded_before_and_compared_as_sent() {
    let _alone = alone();
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx", "caddy"]) {
        return;
    }
    let keys = "workloads = [\"gzip\"]\nprotocols = [\"h1\", \"h1-tls\"]";
    let file = scene.write(
        "gzip.toml",
        &plan(keys, "requests = 500\nduration = \"20s\""),
    );
    let run = ["run", file.to_str().unwrap(), "--out", "gzip"];
    scene.run(&run).expect_measured();
    let record = scene.path("gzip");
    assert_eq!(measured(&record).len(), 4);
    for trial in trials(&record) {
        let result = &trial["result"];
        assert_eq!(number(&result["requests"]["ok"]), 500, "{trial:#}");
        let answer = &trial["answers"][0];
        assert_eq!(number(&answer["decoded_bytes"]), 12_288);
        let sent = number(&answer["body_bytes"]);
        assert!(sent < 6_500, "{sent} bytes are hardly compressed");
        assert_eq!(number(&result["bytes"]["body"]), 500 * sent);
        assert_eq!(trial["load"]["requests"], 500);
    }
}

#[test]
fn an_upstream_is_asked_as_often_as_a_load_by_count_says() {
    let _alone = alone();
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx", "caddy"]) {
        return;
    }
    let keys = "workloads = [\"proxy\"]\nprotocols = [\"h1-tls\"]";
    let file = scene.write(
        "count.toml",
        &plan(keys, "requests = 40\nduration = \"20s\""),
    );
    let run = ["run", file.to_str().unwrap(), "--out", "count"];
    scene.run(&run).expect_measured();
    let record = scene.path("count");
    assert_eq!(measured(&record).len(), 2);
    for trial in trials(&record) {
        assert_eq!(number(&trial["result"]["requests"]["completed"]), 40);
        assert_eq!(number(&trial["origin"]["requests"]), 40, "{trial:#}");
        let steps = trial["steps"].as_array().unwrap();
        assert!(steps.iter().any(|step| step["step"] == "measure"));
    }
}
