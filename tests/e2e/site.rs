//! Files of nginx as people publish them: parts of a configuration, made for other machines.

use serde_json::Value;

use crate::support::files::{measured, trials};
use crate::support::scene::Scene;
use crate::support::servers::are_installed;

/// A site of PHP, as a framework's manual has it.
const PHP: &str = r#"
server {
    listen 80;
    listen [::]:80;
    server_name example.com;
    root /var/www/no-such-app/public;
    index index.php;
    access_log "/var/log/nginx/app.log" main;
    location / { try_files $uri $uri/ /index.php?$query_string; }
    location ~ \.php$ {
        include snippets/fastcgi-php.conf;
        fastcgi_pass unix:/run/php/php8.1-fpm.sock;
        include fastcgi_params;
    }
}
"#;

/// An application behind TLS, with a redirect to it, and files of certbot.
const APP: &str = r#"
upstream app { server 127.0.0.1:3000 fail_timeout=0; server backup.internal:3000 backup; }
server { listen 80 default_server; return 444; }
server {
    listen 80;
    server_name app.example.com;
    return 301 https://$host$request_uri;
}
server {
    listen 443 ssl default_server;
    server_name app.example.com;
    ssl_certificate /etc/letsencrypt/live/app.example.com/fullchain.pem;
    ssl_certificate_key /etc/letsencrypt/live/app.example.com/privkey.pem;
    include /etc/letsencrypt/options-ssl-nginx.conf;
    ssl_dhparam /etc/letsencrypt/ssl-dhparams.pem;
    root /srv/app/public;
    location / { try_files $uri @app; }
    location @app {
        proxy_pass http://app;
        proxy_pass_header Server;
        proxy_http_version 1.1;
        proxy_set_header Upgrade $http_upgrade;
        proxy_set_header Connection $connection_upgrade;
    }
    location /live { set $name other; proxy_pass http://$name:4000; }
    location /ws { proxy_pass https://websockets; }
}
"#;

/// A page application and its files.
const PAGES: &str = r#"
server {
    listen 8089;
    root /srv/dist;
    location / { try_files $uri $uri/ /index.html; }
    location /py { include uwsgi_params; uwsgi_pass django:8001; }
    location /rpc { grpc_pass grpc://rpc.internal:50051; }
}
"#;

/// A main file whose sites are on another machine.
const WITHOUT_SITES: &str = "worker_processes 2;\nevents { worker_connections 512; }\nhttp {\n\
    \x20   sendfile on;\n    include /nowhere/conf.d/*.conf;\n}\n";

/// One that says nothing of its port.
const PORTLESS: &str = "server {\n    root /srv/nowhere;\n}\n";

/// A site with files beside it, as a distribution lays them out.
const BESIDE: &str = "server {\n    listen 8089;\n    include /etc/nginx/ours/answer.conf;\n    \
                      include shared/more.conf;\n}\n";

/// Writes these files, and a plan that asks each of them for these paths.
fn write_plan(scene: &Scene, files: &[(&str, &str)], protocol: &str, paths: &[&str]) {
    let names: Vec<String> = (0..paths.len()).map(|at| format!("w{at}")).collect();
    let mut plan = format!(
        "name = \"site\"\nrounds = 1\nrest = \"0s\"\nworkloads = {names:?}\n\
         protocols = [\"{protocol}\"]\n\
         references = {{ yardstick = false, origin = false }}\n\
         [[load]]\nclients = 2\nwarmup = \"100ms\"\nduration = \"300ms\"\ntimeout = \"5s\"\n"
    );
    for (file, text) in files {
        scene.write(file, text);
        let name = file.rsplit('/').next().unwrap();
        let name = name.trim_end_matches(".conf");
        plan +=
            &format!("[[contender]]\nname = \"{name}\"\nserver = \"nginx\"\nconfig = \"{file}\"\n");
    }
    for (name, path) in names.iter().zip(paths) {
        plan += &format!("[[workload]]\nname = \"{name}\"\npath = \"{path}\"\nproxied = true\n");
    }
    scene.write("site.toml", &plan);
}

const RUN: [&str; 4] = ["run", "./site.toml", "--out", "record"];

/// A trial was answered with so many bytes; returns the lines that were changed for it, as they
/// are now.
#[track_caller]
fn assert_answered(trial: &Value, expected_bytes: u64) -> Vec<String> {
    let requests = &trial["result"]["requests"];
    assert_eq!(requests["ok"], requests["completed"], "{trial:#}");
    let check = &trial["answers"][0];
    assert_eq!(check["status"], 200, "{trial:#}");
    assert_eq!(check["body_bytes"], expected_bytes, "{trial:#}");
    let changes = trial["server"]["config_changes"].as_array().unwrap();
    let after = |change: &Value| change["after"].as_str().unwrap().trim().to_owned();
    changes.iter().map(after).collect()
}

#[test]
fn sites_are_answered_without_what_their_machines_have() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let answer = "location / { return 200 \"from beside\"; }\n";
    scene.write("etc/ours/answer.conf", answer);
    scene.write("etc/shared/more.conf", "add_header X-More yes;\n");
    // What the built-in upstream says, a file from the overlay, and what a file beside says.
    let files = [
        ("php.conf", PHP, 20, "fastcgi_pass 127.0.0.1:"),
        ("pages.conf", PAGES, 18, "worker_processes auto;"),
        ("main.conf", WITHOUT_SITES, 18, "server { listen 127.0.0.1:"),
        ("portless.conf", PORTLESS, 18, "server { listen 127.0.0.1:"),
        (
            "etc/sites-available/beside",
            BESIDE,
            11,
            "ours/answer.conf;",
        ),
    ];
    write_plan(
        &scene,
        &files.map(|(file, text, ..)| (file, text)),
        "h1",
        &["/"],
    );
    scene.run(&RUN).expect_measured();
    let record = scene.path("record");
    assert_eq!(measured(&record).len(), files.len());
    let trials = trials(&record);
    for (file, text, bytes, changed) in files {
        let of_it = |trial: &&Value| file.contains(trial["contender"].as_str().unwrap());
        let trial = trials.iter().find(of_it).unwrap();
        let changes = assert_answered(trial, bytes);
        assert!(changes.iter().any(|it| it.contains(changed)), "{changes:?}");
        let kept = std::fs::read_to_string(scene.path(file)).unwrap();
        assert_eq!(kept, text, "the file stays as it is");
        match trial["contender"].as_str().unwrap() {
            "main" => assert!(changes[0].contains("overlay"), "{changes:?}"),
            "beside" => {
                let why = trial["server"]["config_changes"].to_string();
                assert!(why.contains("taken from beside the file"), "{why}");
            }
            _ => assert!(
                changes[0].starts_with("worker_processes auto;"),
                "{changes:?}"
            ),
        }
    }
    assert!(!scene.path("etc/bakeoff-main.conf").exists());
}

#[test]
fn an_application_behind_tls_is_asked_by_its_name() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    write_plan(&scene, &[("app.conf", APP)], "h1-tls", &["/", "/live/a"]);
    scene.run(&RUN).expect_measured();
    let record = scene.path("record");
    assert_eq!(measured(&record).len(), 2);
    for trial in trials(&record) {
        assert_answered(&trial, 20);
    }
}

#[test]
fn what_cannot_run_is_refused_with_its_line() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let files = [
        ("part.conf", "\nlocation / {\n    proxy_pass http://a;\n}\n"),
        ("gzip.conf", "gzip on;\n"),
        (
            "module.conf",
            "server {\n    listen 8089;\n    brotli on;\n}\n",
        ),
        (
            "missing.conf",
            "server {\n    listen 8089;\n    include ours/none.conf;\n}\n",
        ),
        (
            "zone.conf",
            "server {\n    listen 8089;\n    limit_req zone=calm;\n}\n",
        ),
    ];
    write_plan(&scene, &files, "h1", &["/"]);
    let refused = scene.run(&RUN).expect(2);
    refused
        .says("line 2: `location` belongs in a `server` block")
        .says("line 1: `gzip` is a part of a configuration, and the file has no `server` block")
        .says("module.conf:3: `brotli` needs ngx_brotli")
        .says("missing.conf:3: the file is neither beside the configuration nor")
        .says("the zone `calm` is defined in a file that is not here");

    // Where it is asked for what the upstream does not speak.
    write_plan(&scene, &[("pages.conf", PAGES)], "h1", &["/py", "/rpc/a"]);
    let refused = scene.run(&RUN).expect(2);
    refused
        .says("pages.conf:6: the request goes to a uwsgi application")
        .says("ask a path")
        .says("pages.conf:7: the request goes to a gRPC service");
}
