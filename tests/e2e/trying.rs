//! `bakeoff try`: what files of real servers contain, what they answer, and the plan that fits.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::support::scene::{Finished, Scene};
use crate::support::scripted;
use crate::support::servers::are_installed;

/// A site over TLS with a root and an upstream that are not here.
const SITE: &str = "{$DOMAIN} {\n\troot * /srv/nowhere\n\tfile_server\n\
    \thandle /api/* {\n\t\treverse_proxy app:9000\n\t}\n}\n";

/// A page of counters, a redirect, and the site.
const FRONTENDS: &str = "global\n  log /dev/log local0\n  chroot /var/empty/none\n\
    defaults\n  mode http\n  timeout connect 1s\n  timeout client 9s\n  timeout server 9s\n\
    frontend stats\n  bind :8404\n  stats enable\n  stats uri /\n\
    frontend web\n  bind :80\n  bind :443 ssl crt /etc/none.pem alpn h2,http/1.1\n\
    \x20 redirect scheme https code 301 if !{ ssl_fc }\n\
    \x20 acl app hdr(host) -i app.test\n  use_backend app if app\n\
    backend app\n  server a app:8080 check\n";

/// What is in the scene's folder, but for what the scene itself keeps there.
fn entries(scene: &Scene) -> BTreeSet<PathBuf> {
    let folder = scene.path("").read_dir().unwrap();
    let names = folder.map(|entry| PathBuf::from(entry.unwrap().file_name()));
    let is_own = |name: &PathBuf| name.to_string_lossy().starts_with("std");
    names.filter(|name| !is_own(name)).collect()
}

#[track_caller]
fn expect(finished: Finished, code: i32) -> Value {
    finished.expect(code).json()
}

#[test]
fn a_caddyfile_is_asked_as_it_says_and_its_plan_runs() {
    let scene = Scene::new();
    if !are_installed(&scene, &["caddy"]) {
        return;
    }
    scene.write("Caddyfile", SITE);
    let before = entries(&scene);
    let finished = scene.run(&["try", "Caddyfile", "--format", "json"]);
    let tried = expect(finished, 0);
    assert_eq!(entries(&scene), before);
    assert_eq!(tried["schema"], "bakeoff.try/1");
    let file = &tried["files"][0];
    assert_eq!(file["server"], "caddy");
    assert_eq!(file["asked"]["protocol"], "h2");
    assert_eq!(file["asked"]["host"], "example.com");
    assert_eq!(file["answer"]["status"], 200);
    assert_eq!(file["answer"]["body_bytes"], 4608);
    assert_eq!(file["found"]["listeners"][0]["port"], 443);
    assert_eq!(file["found"]["placeholders"][0]["text"], "{$DOMAIN}");
    let changes = file["changes"].as_array().unwrap();
    let lines: BTreeSet<u64> = changes
        .iter()
        .map(|it| it["line"].as_u64().unwrap())
        .collect();
    assert_eq!(lines, BTreeSet::from([1, 2, 5]), "{changes:?}");
    let text = scene.run(&["try", "Caddyfile", "--save-plan", "plan.toml"]);
    let text = text.expect(0).stdout;
    assert!(text.contains("answers 200 over h2"), "{text}");
    let plan = std::fs::read_to_string(scene.path("plan.toml")).unwrap();
    assert_eq!(tried["plan"], plan);
    scene.run(&["plan", "./plan.toml"]).expect(0);
    // A file whose name might be that of a plan.
    let other = scene.run(&["try", "Caddyfile", "--save-plan", "my plan"]);
    let other = other.expect(0).stdout;
    let named = "written to my plan: bakeoff run './my plan'\n";
    assert!(other.contains(named), "{other}");
    scene.run(&["plan", "./my plan"]).expect(0);
    let again = scene.run(&["try", "Caddyfile", "--save-plan", "plan.toml"]);
    // Before anything is tried.
    let again = again.expect(2).says("plan.toml exists already");
    assert_eq!(again.stdout, "");
}

#[test]
fn a_folder_beside_the_file_is_served_by_each_server() {
    let scene = Scene::new();
    if !are_installed(&scene, &["caddy", "nginx"]) {
        return;
    }
    scene.write("site/www/index.html", "<h1>ours</h1>\n");
    scene.write("site/Caddyfile", ":8099\nroot * www\nfile_server\n");
    let nginx = "events {}\nhttp { server { listen 8099; root www; } }\n";
    scene.write("site/nginx.conf", nginx);
    let www = scene.path("site/www");
    let whole = format!("root   {};", www.display());
    scene.write("site/whole.conf", &nginx.replace("root www;", &whole));
    let files = [
        "try",
        "site/Caddyfile",
        "site/nginx.conf",
        "site/whole.conf",
    ];
    let finished = scene.run(&[&files[..], &["--format", "json"]].concat());
    let tried = expect(finished, 0);
    for file in tried["files"].as_array().unwrap() {
        assert_eq!(file["answer"]["status"], 200, "{file}");
        assert_eq!(file["answer"]["body_bytes"], 14, "{file}");
    }
}

#[test]
fn the_site_of_haproxy_is_asked_and_is_in_one_plan_with_another_server() {
    let scene = Scene::new();
    if !are_installed(&scene, &["haproxy"]) {
        return;
    }
    scene.write("haproxy.cfg", FRONTENDS);
    let finished = scene.run(&["try", "haproxy.cfg", "--format", "json"]);
    let tried = expect(finished, 0);
    let file = &tried["files"][0];
    assert_eq!(file["asked"]["protocol"], "h2");
    assert_eq!(file["asked"]["host"], "app.test");
    assert_eq!(file["asked"]["port"], 443);
    assert_eq!(file["answer"]["status"], 200);
    let kinds = file["found"]["listeners"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["kind"]);
    assert_eq!(kinds.collect::<Vec<_>>(), ["aside", "redirect", "http"]);
    if !are_installed(&scene, &["caddy"]) {
        return;
    }
    scene.write("Caddyfile", SITE);
    let finished = scene.run(&["try", "Caddyfile", "haproxy.cfg", "--format", "json"]);
    let plan = expect(finished, 0)["plan"].as_str().unwrap().to_owned();
    for part in [
        "Caddyfile\"",
        "haproxy.cfg\"",
        "app.test",
        "protocol = \"h2\"",
        "proxied",
    ] {
        assert!(plan.contains(part), "no {part} in {plan}");
    }
}

#[test]
fn a_caddyfile_without_a_site_is_refused_and_one_with_a_mark_is_read() {
    let scene = Scene::new();
    if !are_installed(&scene, &["caddy"]) {
        return;
    }
    scene.write("a/Caddyfile", "import sites/*\n");
    scene.write("b/Caddyfile", "\u{feff}:8099 {\n\trespond hello\n}\n");
    let finished = scene.run(&["try", "a/Caddyfile", "b/Caddyfile", "--format", "json"]);
    let tried = expect(finished, 2);
    let files = tried["files"].as_array().unwrap();
    let ends: Vec<_> = files.iter().map(|it| &it["end"]).collect();
    assert_eq!(ends, ["refused", "answered"], "{tried:#}");
}

#[test]
fn what_is_not_answered_rightly_or_cannot_be_measured_is_said_with_what_to_do() {
    let scene = Scene::new();
    if !are_installed(&scene, &["caddy"]) {
        return;
    }
    scene.write("a/Caddyfile", ":8099 {\n\trespond 404\n}\n");
    scene.write(
        "b/Caddyfile",
        ":8099 {\n\tredir / /app\n\trespond /app hello\n}\n",
    );
    let finished = scene.run(&["try", "a/Caddyfile", "b/Caddyfile", "--format", "json"]);
    let tried = expect(finished, 4);
    let ends = tried["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["end"]);
    assert_eq!(
        ends.collect::<Vec<_>>(),
        ["wrong-answer", "answered"],
        "{tried:#}"
    );
    assert!(
        tried["files"][0]["hint"]
            .as_str()
            .unwrap()
            .contains("--path")
    );
    assert_eq!(tried["files"][1]["asked"]["path"], "/app");
    let plan = tried["plan"].as_str().unwrap();
    assert!(
        plan.contains("b-Caddyfile") && !plan.contains("a-Caddyfile"),
        "{plan}"
    );
    assert!(plan.contains("path = \"/app\""), "{plan}");

    if !are_installed(&scene, &["haproxy"]) {
        return;
    }
    scene.write(
        "Caddyfile",
        ":8099 {\n\trespond hello\n\trate_limit {\n\t}\n}\n",
    );
    scene.write(
        "haproxy.cfg",
        "listen galera\n  bind :3306\n  mode tcp\n  server a b:3306\n",
    );
    scene.write("notes.txt", "nothing\n");
    for (file, parts) in [
        ("Caddyfile", ["Caddyfile:3", "rate_limit", "xcaddy"]),
        ("haproxy.cfg", ["haproxy.cfg:3", "mode tcp", "HTTP"]),
        ("notes.txt", ["notes.txt", "does not look like", "--server"]),
        (
            "missing.conf",
            ["missing.conf", "failed to read", "No such file"],
        ),
    ] {
        let finished = scene.run(&["try", file, "--format", "json"]);
        let tried = expect(finished, 2);
        assert_eq!(tried["files"][0]["end"], "refused");
        assert_eq!(tried["plan"], Value::Null);
        let problem = tried["files"][0]["problem"].as_str().unwrap();
        for part in parts {
            assert!(problem.contains(part), "no {part} in {problem}");
        }
        let text = scene.run(&["try", file]);
        let text = text.expect(2).stdout;
        assert!(text.contains(parts[0]), "{text}");
    }
}

/// Files of servers without rules, each with its upstream at `PORT`.
const WITHOUT_RULES: [(&str, &str); 2] = [
    (
        "h2o.conf",
        "hosts:\n  a:\n    proxy.reverse.url: http://127.0.0.1:PORT/\n",
    ),
    (
        "default.vcl",
        "vcl 4.1;\nbackend app { .host = \"127.0.0.1\"; .port = \"PORT\"; }\n",
    ),
];

/// The same of servers with rules.
const ENVOY: &str = "static_resources:
  listeners:
  - address: { socket_address: { address: 0.0.0.0, port_value: 80 } }
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          '@type': type.googleapis.com/envoy.extensions.filters.network.http_connection_manager\
.v3.HttpConnectionManager
          stat_prefix: site
          route_config:
            virtual_hosts:
            - name: site
              domains: ['*']
              routes: [ { match: { prefix: /api }, route: { cluster: app } } ]
          http_filters:
          - name: envoy.filters.http.router
            typed_config:
              '@type': type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
  clusters:
  - name: app
    load_assignment:
      cluster_name: app
      endpoints:
      - lb_endpoints:
        - endpoint:
            address:
              socket_address:
                address: 127.0.0.1
                port_value: PORT
";
const TRAEFIK: [(&str, &str); 2] = [
    (
        "traefik.yml",
        "entryPoints:\n  web:\n    address: :80\nproviders:\n  file:\n    filename: \
         /etc/traefik/routes.toml\n",
    ),
    (
        "routes.toml",
        "[http.routers.app]\nrule = \"PathPrefix(`/api`)\"\nservice = \"app\"\n\
         [[http.services.app.loadBalancer.servers]]\nurl = \"http://127.0.0.1:PORT\"\n",
    ),
];

#[test]
fn files_of_envoy_and_traefik_are_asked_and_their_upstream_is_not() {
    let scene = Scene::new();
    if !are_installed(&scene, &["envoy", "traefik"]) {
        return;
    }
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let upstream = scripted::server(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
    });
    for (file, text) in TRAEFIK.into_iter().chain([("envoy.yaml", ENVOY)]) {
        scene.write(file, &text.replace("PORT", &upstream.port().to_string()));
    }
    let finished = scene.run(&["try", "envoy.yaml", "traefik.yml", "--format", "json"]);
    let tried = expect(finished, 0);
    for file in tried["files"].as_array().unwrap() {
        assert_eq!(file["asked"]["path"], "/api", "{file}");
        assert_eq!(file["answer"]["status"], 200, "{file}");
    }
    assert!(tried["plan"].as_str().unwrap().contains("proxied = true"));
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}

#[test]
fn a_file_that_needs_a_box_is_refused_without_and_its_upstream_is_never_asked() {
    let scene = Scene::new();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let upstream = scripted::server(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
    });
    for (file, text) in WITHOUT_RULES {
        scene.write(file, &text.replace("PORT", &upstream.port().to_string()));
        for command in [vec!["try", file], vec!["race", file, "nginx"]] {
            let mut command = scene.command(&command);
            command.env("BAKEOFF_WITHOUT", "box");
            let finished = scene.start_command(command).finish().expect(2);
            let said = format!("{}{}", finished.stdout, finished.stderr);
            let place = format!("{file}:");
            for words in [
                &place,
                "run in a box of namespaces",
                "sudo",
                "`{{ origin }}`",
            ] {
                assert!(said.contains(words), "no `{words}` in {said}");
            }
        }
    }
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}
