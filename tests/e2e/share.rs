//! What a run of a real server gives away: its secrets stay in its record.

use std::path::Path;

use rustix::process::Signal;

use crate::support::files::measured;
use crate::support::scene::Scene;
use crate::support::servers::are_installed;

/// What every planted secret holds.
const PLANTED: &str = "PLANTED";

const NGINX: &str = r#"
events {}
http {
    access_log off;
    include secrets.conf;
    server {
        listen 8080;
        root /var/www/site;
        set $api_token "PLANTED-e2e-token";
        if ($http_x_api_key = "PLANTED-e2e-api-key") { return 204; }
    }
}
"#;

const INCLUDED: &str = "proxy_set_header Authorization \"Basic PLANTED-e2e-included\";\n\
                        # password: PLANTED-e2e-comment\n";

const PLAN: &str = r#"
name = "own"
rounds = 1
rest = "0s"
references = { yardstick = false, origin = false }
[[contender]]
name = "ours"
server = "nginx"
config = "etc/nginx.conf"
replace = [{ from = "/var/www/site", to = "{{ root }}" }]
[[load]]
clients = 3
warmup = "100ms"
duration = "300ms"
timeout = "5s"
[[workload]]
name = "day"
headers = [
    "Authorization: Bearer PLANTED-e2e-header",
    { name = "X-Internal", value = "PLANTED-e2e-marked", secret = true },
]
[workload.replay]
file = "access.log"
format = "combined"
"#;

/// Writes a campaign of nginx with secrets where people have them.
fn with_secrets(scene: &Scene) {
    scene.write("etc/nginx.conf", NGINX);
    scene.write("etc/secrets.conf", INCLUDED);
    let line = "::1 - - [21/Nov/2026:10:00:00 +0000] \"GET /?page=2&token=PLANTED-e2e-query \
                HTTP/1.1\" 200 700 \"-\" \"x\"\n";
    scene.write("access.log", line);
    scene.write("own.toml", PLAN);
}

/// The text of every file below a folder.
fn texts(folder: &Path) -> String {
    let mut all = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        all += &path.display().to_string();
        if path.is_dir() {
            all += &texts(&path);
        } else {
            all += &String::from_utf8_lossy(&std::fs::read(&path).unwrap());
        }
    }
    all
}

#[test]
fn secrets_of_a_run_are_in_its_record_alone() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    with_secrets(&scene);
    let ran = scene.run(&["run", "./own.toml", "--out", "own", "--full"]);
    let ran = ran.expect_measured();
    assert_eq!(measured(&scene.path("own")).len(), 1, "{ran:#?}");
    for printed in [&ran.stdout, &ran.stderr] {
        assert!(!printed.contains(PLANTED), "{printed}");
    }
    let held: Vec<&str> = ran
        .stderr
        .lines()
        .filter(|it| it.contains("the record holds"))
        .collect();
    let [held] = held[..] else {
        panic!("one line says what the record holds: {}", ran.stderr);
    };
    assert!(
        held.contains("2 configuration files (") && held.contains("X-Internal"),
        "{held}"
    );

    let record = std::fs::read_to_string(scene.path("own/trials.jsonl")).unwrap();
    let plan = std::fs::read_to_string(scene.path("own/plan.json")).unwrap();
    for kept in ["token", "api-key", "included", "comment"] {
        assert!(record.contains(&format!("PLANTED-e2e-{kept}")), "{kept}");
    }
    for kept in ["header", "marked", "query"] {
        assert!(plan.contains(&format!("PLANTED-e2e-{kept}")), "{kept}");
    }
    let page = std::fs::read_to_string(scene.path("own/report.html")).unwrap();
    assert!(!page.contains(PLANTED));
    for format in ["text", "md", "csv", "json", "html"] {
        let report = ["report", "own", "--diffs", "--format", format];
        let hidden = scene.run(&report).expect(0).stdout;
        assert!(!hidden.contains(PLANTED), "{format}: {hidden}");
    }
    let shown = ["report", "own", "--format", "json", "--show-secrets"];
    let shown = scene.run(&shown).expect(0).stdout;
    for kept in [
        "token", "api-key", "included", "comment", "header", "marked", "query",
    ] {
        assert!(shown.contains(&format!("PLANTED-e2e-{kept}")), "{kept}");
    }

    scene.run(&["report", "own", "--share", "copy"]).expect(0);
    let copy = texts(&scene.path("copy"));
    for left_out in [PLANTED, "listen 8080", "http_x_api_key", "api_token"] {
        assert!(!copy.contains(left_out), "{left_out} is in the copy");
    }
    let csv = |record| {
        scene
            .run(&["report", record, "--format", "csv"])
            .expect(0)
            .stdout
    };
    assert_eq!(csv("copy"), csv("own"));
    let again = scene.run(&["report", "own", "--share", "copy"]).expect(2);
    again.says("is not empty");
    scene
        .run(&["run", "--resume", "copy"])
        .expect(2)
        .says("shared copy");
}

#[test]
fn debug_shows_a_configuration_without_its_secrets() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    with_secrets(&scene);
    for (flag, is_hidden) in [(None, true), (Some("--show-secrets"), false)] {
        let mut arguments = vec!["debug", "ours", "day", "--plan", "./own.toml"];
        arguments.extend(flag);
        let mut up = scene.start(&arguments);
        up.wait_until("it runs", |it| it.stderr().contains("running; press"));
        up.signal(Signal::INT);
        let reported = up.finish();
        assert!(
            reported.stdout.contains("listen 127.0.0.1:"),
            "{reported:#?}"
        );
        assert_eq!(
            reported.stdout.contains(PLANTED),
            !is_hidden,
            "{reported:#?}"
        );
    }
}
