//! Users' own configurations as they are met, in whole campaigns: measured, and every line that
//! was changed for it is reported while it runs, in the record and in the report.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::files::{measured, trials};
use crate::support::scene::Scene;
use crate::support::servers::are_installed;

const PAGE: &str = r#"
name = "page"
path = "/index.html"
protocol = "h2"
[expect]
file = "index.html"
[[file]]
path = "index.html"
text = "<!doctype html><title>Ours</title>"
"#;

const API: &str = r#"
name = "api"
path = "/api/"
protocol = "h1-tls"
proxied = true
[expect]
text = "Mustard, onions, and no ketchup"
"#;

/// Copies a fixture to where a user would have it; `@BASE@` in it is that folder.
fn copy(scene: &Scene, from: &Path, to: &str, base: &str) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = format!("{to}/{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            copy(scene, &entry.path(), &to, base);
        } else {
            let text = std::fs::read_to_string(entry.path()).unwrap();
            scene.write(&to, &text.replace("@BASE@", base));
        }
    }
}

/// Changed lines by file and number, with the line before.
fn places(changes: &Value) -> BTreeMap<(String, u64), String> {
    let place = |change: &Value| {
        let text = |key: &str| change[key].as_str().unwrap().to_owned();
        assert_ne!(text("why"), "", "{change}");
        (
            (text("file"), change["line"].as_u64().unwrap()),
            text("before"),
        )
    };
    changes.as_array().unwrap().iter().map(place).collect()
}

/// Measures the fixture of `server` and looks for its changes wherever they must be.
fn check(server: &str, main: &str, workloads: &[&str]) {
    let scene = Scene::new();
    if !are_installed(&scene, &[server]) {
        return;
    }
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/own");
    let base = scene.path("etc").display().to_string();
    copy(&scene, &fixture.join(server), "etc", &base);
    scene.write("library/workloads/page.toml", PAGE);
    scene.write("library/workloads/api.toml", API);
    let mut replace = "";
    if workloads.contains(&"page") {
        replace = "replace = [{ from = \"/var/www/site\", to = \"{{ root }}\" }]";
    }
    let plan = format!(
        "name = \"own\"\nrounds = 1\nrest = \"0s\"\nworkloads = {workloads:?}\n\
         references = {{ yardstick = false, origin = false }}\n\
         [[contender]]\nname = \"ours\"\nserver = \"{server}\"\nconfig = \"etc/{main}\"\n\
         host = \"www.example.com\"\n{replace}\n\
         [[load]]\nclients = 3\nwarmup = \"100ms\"\nduration = \"300ms\"\ntimeout = \"5s\"\n"
    );
    scene.write("own.toml", &plan);
    let run = ["run", "./own.toml", "--library", "library", "--out", "own"];
    let reported = scene.run(&run).expect_measured();

    let record = scene.path("own");
    assert_eq!(measured(&record).len(), workloads.len());
    let mut changed = BTreeMap::new();
    for trial in trials(&record) {
        let requests = &trial["result"]["requests"];
        assert_eq!(requests["ok"], requests["completed"], "{trial:#}");
        changed.extend(places(&trial["server"]["config_changes"]));
    }
    let files: Vec<&String> = changed.keys().map(|(file, _)| file).collect();
    assert!(
        files.iter().all(|file| file.starts_with(&base)),
        "{files:?}"
    );
    let of_several_files = files.first() != files.last();
    assert!(of_several_files || server == "haproxy", "it includes none");
    let shown = scene.run(&["report", "own", "--diffs"]).stdout;
    for ((file, line), before) in &changed {
        let before: Vec<&str> = before.trim().lines().map(str::trim).collect();
        let words = format!("ours: changed {file}:{line}: {} -> ", before.join(" | "));
        let times = reported.stderr.matches(&words).count();
        assert_eq!(times, 1, "`{words}` once in {}", reported.stderr);
        assert!(shown.contains(&format!("    {file}:{line} (")), "{shown}");
    }
    let report = scene.json(&["report", "own", "--format", "json"]);
    let [of_ours] = &report["config_changes"].as_array().unwrap()[..] else {
        panic!("of one contender: {report:#}");
    };
    assert_eq!(of_ours["contender"], "ours");
    assert_eq!(places(&of_ours["changes"]), changed);
}

#[test]
fn configurations_of_users_are_measured_and_each_change_reported() {
    check("nginx", "nginx.conf", &["page", "api"]);
    check("caddy", "Caddyfile", &["page", "api"]);
    check("apache", "apache2.conf", &["page", "api"]);
    check("haproxy", "haproxy.cfg", &["api"]);
    check("lighttpd", "lighttpd.conf", &["page", "api"]);
}

/// All that the system knows of the files below a folder, but for the time of the last look.
fn known(folder: &Path) -> BTreeMap<PathBuf, (u32, u64, i64, i64, Vec<u8>)> {
    let mut known = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        let metadata = path.symlink_metadata().unwrap();
        let mut bytes = Vec::new();
        if metadata.is_dir() {
            let entries = std::fs::read_dir(&path).unwrap();
            waiting.extend(entries.map(|entry| entry.unwrap().path()));
        } else {
            bytes = std::fs::read(&path).unwrap();
        }
        let times = (metadata.mtime_nsec(), metadata.ctime_nsec());
        let one = (metadata.mode(), metadata.ino(), times.0, times.1, bytes);
        known.insert(path, one);
    }
    known
}

/// As Debian lays it out, and with folders beside that of nginx.
#[test]
fn includes_of_other_folders_and_links_run_and_the_files_stay_as_they_are() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let main = "worker_processes 1;\nevents { worker_connections 64; }\nhttp {\n\
                \x20   include ../common/*.conf;\n    include sites-enabled/*;\n}\n";
    scene.write("etc/nginx/nginx.conf", main);
    let private = scene.write("etc/common/log.conf", "access_log /var/log/ours.log;\n");
    std::fs::set_permissions(&private, PermissionsExt::from_mode(0o600)).unwrap();
    let site = "server {\n    listen 80;\n    include ../snippets/head.conf;\n\
                \x20   location / { return 200 'Hello, world!'; }\n}\n";
    scene.write("etc/nginx/sites-available/www.conf", site);
    scene.write("etc/snippets/head.conf", "add_header X-Ours yes;\n");
    std::fs::create_dir(scene.path("etc/nginx/sites-enabled")).unwrap();
    let link = scene.path("etc/nginx/sites-enabled/www.conf");
    symlink("../sites-available/www.conf", link).unwrap();
    let plan = "name = \"own\"\nrounds = 1\nrest = \"0s\"\nworkloads = [\"synthetic\"]\n\
                references = { yardstick = false, origin = false }\n\
                [[contender]]\nname = \"ours\"\nserver = \"nginx\"\n\
                config = \"etc/snippets/../nginx/nginx.conf\"\n\
                [[load]]\nclients = 3\nrequests = 100\ntimeout = \"5s\"\n";
    scene.write("plans/own.toml", &plan.replace("etc/", "../etc/"));
    let before = known(&scene.path("etc"));
    let names = || -> BTreeSet<OsString> {
        let entries = std::fs::read_dir(scene.path("")).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect()
    };
    let mut expected = names();
    let run = ["run", "./plans/own.toml", "--out", "own"];
    scene.run(&run).expect_measured();
    assert_eq!(known(&scene.path("etc")), before);
    let of_run = ["own", "stdout-2", "stderr-2"].map(OsString::from);
    expected.extend(of_run);
    let found = names();
    let stray: Vec<_> = found.difference(&expected).collect();
    assert!(
        stray
            .iter()
            .all(|name| name.to_string_lossy().starts_with("std")),
        "{stray:?}"
    );
    assert_eq!(std::fs::read_dir(scene.path("tmp")).unwrap().count(), 0);

    let record = scene.path("own");
    let trials = trials(&record);
    let requests = &trials[0]["result"]["requests"];
    assert_eq!(requests["ok"], 100, "{:#}", trials[0]);
    let changes = places(&trials[0]["server"]["config_changes"]);
    let files: BTreeSet<String> = changes.into_keys().map(|(file, _)| file).collect();
    let changed = [
        "common/log.conf",
        "nginx/nginx.conf",
        "nginx/sites-available/www.conf",
    ];
    let changed = changed.map(|file| scene.path("etc").join(file).display().to_string());
    assert_eq!(files, BTreeSet::from(changed));
    let copies = known(&record.join("logs"));
    let copy = copies
        .iter()
        .find(|(path, _)| path.ends_with("etc/common/log.conf"));
    let (path, (mode, ..)) = copy.unwrap();
    assert_eq!(mode & 0o7777, 0o600, "{}", path.display());
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains("/run/ours.log\";"), "{text}");
}

/// A race for the 403 of a file that the server may not read would say nothing of either.
#[test]
fn a_file_that_is_closed_to_nginx_is_named_before_the_first_round() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let page = scene.write("etc/site/index.html", "<!doctype html><title>Ours</title>");
    std::fs::set_permissions(&page, PermissionsExt::from_mode(0o000)).unwrap();
    let config = "events {}\nhttp {\n  server { listen 8080; root ROOT; }\n}\n";
    let root = scene.path("etc/site").display().to_string();
    scene.write("etc/nginx.conf", &config.replace("ROOT", &root));
    scene.write("library/workloads/page.toml", &PAGE.replace("h2", "h1"));
    let plan = "name = \"own\"\nrounds = 1\nrest = \"0s\"\nworkloads = [\"page\"]\n\
                references = { yardstick = false, origin = false }\n\
                [[contender]]\nname = \"ours\"\nserver = \"nginx\"\n\
                config = \"etc/nginx.conf\"\n\
                [[load]]\nclients = 3\nrequests = 100\ntimeout = \"5s\"\n";
    scene.write("own.toml", plan);
    let run = ["run", "./own.toml", "--library", "library", "--out", "own"];
    let refused = scene.run(&run).expect(2);
    refused.says(&format!("run `chmod o+r {}`", page.display()));
}

/// The reading at the end is itself a connection and a request to each of them.
const OWN_READING: u64 = 1;

/// The server's own counters and the connections that the engine opened, of 500 requests by 3
/// clients over each of the protocols.
fn counters_of(scene: &Scene, contender: &str, protocols: &str) -> Vec<(Value, u64)> {
    let plan = format!(
        "name = \"counted\"\nrounds = 1\nrest = \"0s\"\nworkloads = [\"synthetic\"]\n\
         protocols = [{protocols}]\n\
         references = {{ yardstick = false, origin = false }}\n\
         [[contender]]\nname = \"ours\"\n{contender}\n\
         [[load]]\nclients = 3\nrequests = 500\ntimeout = \"5s\"\n"
    );
    scene.write("counted.toml", &plan);
    scene
        .run(&["run", "./counted.toml", "--out", "counted"])
        .expect_measured();
    let trials = trials(&scene.path("counted"));
    let one = |trial: &Value| {
        let opened = trial["result"]["connections"]["opened"].as_u64().unwrap();
        (trial["usage"]["server_counters"].clone(), opened)
    };
    trials.iter().map(one).collect()
}

/// What was counted between both edges of the window.
fn counted(counters: &Value, what: &str) -> u64 {
    let at = |edge: &str| counters[edge][what].as_u64().unwrap();
    at("after") - at("before")
}

fn check_counters(server: &str, config: &str, source: &str) {
    let scene = Scene::new();
    if !are_installed(&scene, &[server]) {
        return;
    }
    scene.write("its.conf", config);
    let contender = format!("server = \"{server}\"\nconfig = \"its.conf\"");
    let (counters, opened) = counters_of(&scene, &contender, "\"h1\"").remove(0);
    assert_eq!(counters["source"], source, "{counters:#}");
    let requests = counted(&counters, "requests");
    assert_eq!(requests, 500 + OWN_READING, "{counters:#}");
    let accepts = counted(&counters, "accepts");
    assert_eq!(accepts, opened + OWN_READING, "{counters:#}");
}

/// Runs 500 requests by 3 clients on a server; its own count is that of the engine.
#[track_caller]
fn check_bundled_counters() {
    for (server, source, own) in [
        ("nginx", "stub-status", OWN_READING),
        ("haproxy", "haproxy-stats", OWN_READING),
        // It counts its administration apart.
        ("envoy", "envoy-admin", 0),
    ] {
        let scene = Scene::new();
        if !are_installed(&scene, &[server]) {
            continue;
        }
        let counters = counters_of(&scene, &format!("server = \"{server}\""), "\"h1\", \"h2c\"");
        assert_eq!(counters.len(), 2, "over both protocols");
        for (counters, _) in counters {
            assert_eq!(counters["source"], source, "{counters:#}");
            assert_eq!(counted(&counters, "requests"), 500 + own, "{counters:#}");
        }
    }
}

#[test]
fn servers_are_asked_what_they_counted_where_they_answer() {
    check_bundled_counters();
    let config = "worker_processes 1;\nevents { worker_connections 64; }\nhttp {\n\
                  access_log off;\n\
                  server { listen 8080; location / { return 200 'Hello, world!'; } }\n\
                  server { listen 8081; location = /basic { stub_status; } }\n}\n";
    check_counters("nginx", config, "stub-status");
    let config = "defaults\n  mode http\n  timeout client 9s\n  timeout server 9s\n\
                  \x20 timeout connect 1s\nfrontend in\n  bind :8080\n\
                  \x20 http-request return status 200 content-type text/plain \
                  string \"Hello, world!\"\n\
                  frontend counted\n  bind :8404\n  stats enable\n  stats uri /counted\n";
    check_counters("haproxy", config, "haproxy-stats");
}
