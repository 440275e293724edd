//! Inequalities planted into configurations of real servers: each is named, with what to change,
//! before the load of the trial that reveals it, or ends its trial before any load.

use serde_json::Value;

use crate::support::files::{measured, trials};
use crate::support::scene::Scene;
use crate::support::servers::are_installed;

/// An nginx that does what all others are held against: `WORKERS`, `HTTP` and `PLACE` stand for
/// what is planted.
const NGINX: &str = r#"
daemon off; pid "{{ run }}/nginx.pid"; error_log stderr;
{% if is_root %}
user root;
{% endif %}
worker_processes WORKERS;
events { worker_connections 256; }
http {
    client_body_temp_path "{{ run }}/1"; proxy_temp_path "{{ run }}/2";
    fastcgi_temp_path "{{ run }}/3"; uwsgi_temp_path "{{ run }}/4"; scgi_temp_path "{{ run }}/5";
    server {
        HTTP
        location / {
            PLACE
        }
    }
}
"#;

/// What is needed to speak TLS and forward as Caddy does.
const LISTEN_TLS: &str = r#"
        listen 127.0.0.1:{{ port }} ssl;
        ssl_certificate "{{ certificate }}"; ssl_certificate_key "{{ key }}";
        ssl_protocols TLSv1.3;
"#;
const AES_128: &str = "ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;";
const AES_256: &str = "ssl_conf_command Ciphersuites TLS_AES_256_GCM_SHA384;";
const NO_LOG: &str = "access_log off;";
const KEPT: &str =
    "proxy_http_version 1.1; proxy_set_header Connection \"\"; proxy_pass http://up;";

struct Planted {
    name: &'static str,
    config: String,
    /// Checks that must speak against a comparison with the plain one.
    codes: &'static [&'static str],
    /// What must be reported besides.
    words: &'static [&'static str],
}

fn nginx(workers: &str, http: &str, place: &str) -> String {
    let text = NGINX.replace("WORKERS", workers);
    text.replace("HTTP", http).replace("PLACE", place)
}

/// A proxy over TLS; what is planted is one of these four.
fn proxy(workers: &str, cipher: &str, log: &str, place: &str) -> String {
    let upstream = "upstream up { server {{ origin }}; keepalive 8; }\n    server {";
    let http = [LISTEN_TLS, cipher, log].concat();
    let text = nginx(workers, &http, place);
    text.replacen("server {", upstream, 1)
}

fn planted() -> Vec<Planted> {
    let one = |name, config: String, codes, words| Planted {
        name,
        config,
        codes,
        words,
    };
    let cache = "proxy_cache_path \"{{ run }}/cache\" keys_zone=zone:1m;\n    upstream";
    let cached = format!("{KEPT} proxy_cache zone; proxy_cache_valid 200 10m;");
    let cached = proxy("auto", AES_128, NO_LOG, &cached).replacen("upstream", cache, 1);
    vec![
        one("plain", proxy("auto", AES_128, NO_LOG, KEPT), &[], &[]),
        one(
            "aes-256",
            proxy("auto", AES_256, NO_LOG, KEPT),
            &["equal-cipher"],
            &["TLS13_AES_256_GCM_SHA384 in aes-256", "ssl_ciphers"],
        ),
        one(
            "cached",
            cached,
            &["equal-cache"],
            &["asked for 0 of 10 requests in cached", "proxy_cache off;"],
        ),
        one(
            "old",
            proxy(
                "auto",
                AES_128,
                NO_LOG,
                "proxy_http_version 1.0; proxy_pass http://up;",
            ),
            &["equal-upstream-version", "equal-upstream-connections"],
            &["HTTP/1.0 in old", "proxy_http_version 1.1;"],
        ),
        one(
            "logged",
            proxy(
                "auto",
                AES_128,
                "access_log \"{{ run }}/access.log\";",
                KEPT,
            ),
            &["equal-access-log"],
            &["bytes a request in access.log", "access_log off;"],
        ),
        one(
            "gathered",
            proxy(
                "auto",
                AES_128,
                "access_log \"{{ run }}/all.log\" combined buffer=4k;",
                KEPT,
            ),
            &["equal-access-log"],
            &[],
        ),
        one(
            "one-worker",
            proxy("1", AES_128, NO_LOG, KEPT),
            &["equal-workers"],
            &["1 in one-worker", "worker_processes auto;"],
        ),
    ]
}

const AROUND: &str = "name = \"equal\"\nrounds = 1\nrest = \"0s\"\nworkloads = [\"WORKLOAD\"]\n\
                      PROTOCOLS\n[references]\nyardstick = false\norigin = false\n\
                      [[load]]\nclients = 2\nrequests = 400\nduration = \"20s\"\n\
                      timeout = \"5s\"\n";

fn plan(scene: &Scene, name: &str, workload: &str, protocols: &str, more: &str) -> String {
    let text = AROUND.replace("WORKLOAD", workload);
    let text = text.replace("PROTOCOLS", protocols) + more;
    let file = scene.write(&format!("{name}.toml"), &text);
    file.to_str().unwrap().to_owned()
}

/// A contender by its own file.
fn contender(scene: &Scene, name: &str, config: &str) -> String {
    scene.write(&format!("{name}.conf"), config);
    format!("[[contender]]\nname = \"{name}\"\nserver = \"nginx\"\nconfig = \"./{name}.conf\"\n")
}

/// Codes of the checks against a comparison of these two.
fn between(table: &Value, first: &str, second: &str) -> Vec<String> {
    let inequalities = table["inequalities"].as_array().unwrap();
    let of_pair = inequalities.iter().filter(|one| {
        let pairs = one["pairs"].as_array().unwrap();
        pairs
            .iter()
            .any(|pair| pair[0] == first && pair[1] == second)
    });
    let code = |one: &Value| one["check"]["code"].as_str().unwrap().to_owned();
    of_pair.map(code).collect()
}

#[test]
fn each_planted_inequality_is_named_before_the_load_that_it_would_spoil() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx", "caddy"]) {
        return;
    }
    let planted = planted();
    let contenders: String = planted
        .iter()
        .map(|it| contender(&scene, it.name, &it.config))
        .collect();
    let caddy = "[[contender]]\nname = \"caddy-logs\"\nserver = \"caddy\"\n\
                 overlay = { site = \"log\" }\n";
    let more = contenders + caddy;
    let file = plan(&scene, "equal", "proxy", "protocols = [\"h1-tls\"]", &more);
    let run = scene.run(&["run", &file, "--out", "record", "--full"]);
    let run = run.expect_measured();
    let record = scene.path("record");
    assert_eq!(measured(&record).len(), planted.len() + 1);

    // Unequal work may leave nothing to compare.
    let report = scene.run(&["report", "record", "--format", "json"]);
    let report = report.json();
    let table = &report["equivalence"][0];
    assert_eq!(table["workload"], "proxy-h1-tls");
    let reported = |words: &str| run.stderr.find(words);
    // The summary is wrapped to the width of a terminal.
    let summary = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let ended = reported("round 1/1 ").unwrap();
    for Planted {
        name, codes, words, ..
    } in &planted
    {
        let found = between(table, "plain", name);
        // With more than two processors one worker cannot use those that it is given, either.
        let found: Vec<&String> = found
            .iter()
            .filter(|it| *it != "equal-processors")
            .collect();
        assert_eq!(found, *codes, "{name}");
        for words in *words {
            assert!(summary.contains(words), "no `{words}` in {summary}");
        }
        // Lines that are gathered show under the load alone.
        let first = words.first().filter(|_| *name != "gathered");
        if let Some(words) = first {
            let at = reported(words).unwrap_or_else(|| panic!("no `{words}` in {}", run.stderr));
            assert!(
                at < ended,
                "{name} was reported after the load: {}",
                run.stderr
            );
        }
    }
    assert_eq!(between(table, "plain", "caddy-logs"), ["equal-access-log"]);
    for trial in trials(&record) {
        let steps = trial["steps"].as_array().unwrap();
        let step = |name: &str| steps.iter().position(|it| it["step"] == name).unwrap();
        assert!(step("observe") < step("measure"), "{trial:#}");
        assert_eq!(trial["work"]["certificate"]["key"], "ECDSA");
    }
    configurations_differ_in_what_was_planted(&report);
}

fn configurations_differ_in_what_was_planted(report: &Value) {
    let diffs = report["diffs"].as_array().unwrap();
    let mut diffs = diffs.iter().filter(|it| it["first"] == "plain");
    let diff = diffs.find(|it| it["second"] == "one-worker").unwrap();
    assert_eq!(diff["changed"], 2, "{diff:#}");
    let text = diff["text"].as_str().unwrap();
    assert!(text.contains("\n-worker_processes auto;\n+worker_processes 1;\n"));
}

#[test]
fn an_answer_that_is_not_the_expected_one_ends_its_trial_before_the_load() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let plain = "access_log off; listen 127.0.0.1:{{ port }}; root \"{{ root }}\"; \
                 default_type text/plain;";
    let page = format!("{plain} location = /sorry {{ return 200 \"We are sorry\"; }}");
    let cases = [
        (
            "redirect",
            "synthetic",
            plain,
            "return 302 /elsewhere;",
            "status 302",
            "/elsewhere",
        ),
        (
            "error-page",
            "synthetic",
            page.as_str(),
            "error_page 404 =200 /sorry; return 404;",
            "status 200 and 12 bytes",
            "We are sorry",
        ),
        (
            "same-length",
            "synthetic",
            plain,
            "return 200 \"Hello, World!\";",
            "status 200 and 13 bytes \"Hello, World!\"",
            "expected status 200 and 13 bytes \"Hello, world!\"",
        ),
        (
            "plain-text",
            "gzip",
            plain,
            "gzip off;",
            "status 200 and 12288 bytes",
            "by gzip",
        ),
    ];
    // Each waits as long as a server may need to become right, so they wait together.
    let runs = cases.map(|(name, workload, http, place, ..)| {
        let config = nginx("1", http, place);
        let contenders = contender(&scene, name, &config);
        let file = plan(&scene, name, workload, "", &contenders);
        scene.start(&["run", &file, "--out", name, "--beside"])
    });
    for (run, (name, _, _, _, came, also)) in runs.into_iter().zip(cases) {
        run.finish().expect(4);
        let trials = trials(&scene.path(name));
        let end = &trials[0]["end"];
        assert_eq!(
            (&end["kind"], &end["step"]),
            (&"failed".into(), &"start".into())
        );
        let cause = end["cause"].as_str().unwrap();
        assert!(cause.contains(came) && cause.contains(also), "{cause}");
        assert!(trials[0]["result"].is_null());
        let steps = trials[0]["steps"].as_array().unwrap();
        assert!(steps.iter().all(|it| it["step"] != "warm-up"), "{steps:?}");
    }
}
