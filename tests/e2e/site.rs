//! Files of nginx as people publish them: parts of a configuration, made for other machines.

use std::path::Path;

use crate::support::files::trials;
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

/// A plan that asks `path` of the configuration `file`.
fn write_plan(scene: &Scene, file: &str, protocol: &str, path: &str) {
    let plan = format!(
        "name = \"site\"\nrounds = 1\nrest = \"0s\"\nworkloads = [\"first\"]\n\
         protocols = [\"{protocol}\"]\n\
         references = {{ yardstick = false, origin = false }}\n\
         [[contender]]\nname = \"site\"\nserver = \"nginx\"\nconfig = \"{file}\"\n\
         [[load]]\nclients = 2\nwarmup = \"100ms\"\nduration = \"300ms\"\ntimeout = \"5s\"\n\
         [[workload]]\nname = \"first\"\npath = \"{path}\"\nproxied = true\n"
    );
    scene.write("site.toml", &plan);
}

/// Measures `text` and returns the lines that were changed for it, as they are now.
#[track_caller]
fn measured(text: &str, protocol: &str, path: &str, expected_bytes: u64) -> Option<Vec<String>> {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return None;
    }
    scene.write("site.conf", text);
    write_plan(&scene, "site.conf", protocol, path);
    let run = ["run", "./site.toml", "--out", "record"];
    scene.run(&run).expect_measured();
    let trials = trials(&scene.path("record"));
    let trial = &trials[0];
    let requests = &trial["result"]["requests"];
    assert_eq!(requests["ok"], requests["completed"], "{trial:#}");
    let check = &trial["answers"][0];
    assert_eq!(check["status"], 200, "{trial:#}");
    assert_eq!(check["body_bytes"], expected_bytes, "{trial:#}");
    assert_eq!(
        std::fs::read_to_string(scene.path("site.conf")).unwrap(),
        text
    );
    let changes = trial["server"]["config_changes"].as_array().unwrap();
    let after = |change: &serde_json::Value| change["after"].as_str().unwrap().trim().to_owned();
    Some(changes.iter().map(after).collect())
}

/// What is said of a file that is refused, and soon.
#[track_caller]
fn refused(text: &str, path: &str, parts: &[&str]) {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    scene.write("site.conf", text);
    write_plan(&scene, "site.conf", "h1", path);
    let reported = scene.run(&["run", "./site.toml", "--out", "record"]);
    let all = format!("{}{}", reported.stdout, reported.stderr);
    for part in parts {
        assert!(all.contains(part), "no {part} in {all}");
    }
}

#[test]
fn a_site_of_php_is_answered_by_fastcgi() {
    // What the built-in upstream says where the plan leaves the answer open.
    let Some(changes) = measured(PHP, "h1", "/", 20) else {
        return;
    };
    assert!(
        changes[0].starts_with("worker_processes auto;"),
        "{changes:?}"
    );
    assert!(
        changes
            .iter()
            .any(|it| it.starts_with("fastcgi_pass 127.0.0.1:")),
        "{changes:?}"
    );
}

#[test]
fn an_application_behind_tls_is_asked_by_its_name() {
    measured(APP, "h1-tls", "/", 20);
    measured(APP, "h1-tls", "/live/a", 20);
}

#[test]
fn pages_are_served_from_an_overlay_and_other_protocols_are_refused_where_they_are_asked() {
    measured(PAGES, "h1", "/", 18);
    let python = [
        "site.conf:6: the request goes to a uwsgi application",
        "ask a path",
    ];
    refused(PAGES, "/py", &python);
    refused(
        PAGES,
        "/rpc/a",
        &["site.conf:7: the request goes to a gRPC service"],
    );
}

#[test]
fn what_cannot_run_is_refused_with_its_line() {
    let part = "\nlocation / {\n    proxy_pass http://a;\n}\n";
    refused(
        part,
        "/",
        &["line 2: `location` belongs in a `server` block"],
    );
    refused("gzip on;\n", "/", &["line 1: `gzip`", "no `server` block"]);
    let module = "server {\n    listen 8089;\n    brotli on;\n}\n";
    refused(
        module,
        "/",
        &["site.conf:3: `brotli` needs the module ngx_brotli"],
    );
    let missing = "server {\n    listen 8089;\n    include ours/none.conf;\n}\n";
    refused(
        missing,
        "/",
        &["site.conf:3: ", "neither beside the configuration"],
    );
    let zone = "server {\n    listen 8089;\n    limit_req zone=calm;\n}\n";
    refused(
        zone,
        "/",
        &["the zone `calm` is defined in a file that is not here"],
    );
}

#[test]
fn files_of_a_distribution_are_looked_for_beside_the_site() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let site = "server {\n    listen 8089;\n    include /etc/nginx/ours/answer.conf;\n    \
                include shared/more.conf;\n}\n";
    scene.write("etc/sites-available/site", site);
    scene.write(
        "etc/ours/answer.conf",
        "location / { return 200 \"from beside\"; }\n",
    );
    scene.write("etc/shared/more.conf", "add_header X-More yes;\n");
    write_plan(&scene, "etc/sites-available/site", "h1", "/");
    scene
        .run(&["run", "./site.toml", "--out", "record"])
        .expect_measured();
    let trials = trials(&scene.path("record"));
    let changes = trials[0]["server"]["config_changes"].to_string();
    assert!(changes.contains("taken from beside the file"), "{changes}");
    assert_eq!(trials[0]["answers"][0]["body_bytes"], 11);
    assert!(!Path::new(&scene.path("etc/bakeoff-main.conf")).exists());
}

#[test]
fn a_main_file_without_sites_gets_one_that_serves_files() {
    let Some(changes) = measured(WITHOUT_SITES, "h1", "/", 18) else {
        return;
    };
    let site = changes
        .iter()
        .find(|it| it.contains("server { listen 127.0.0.1:"));
    assert!(site.is_some_and(|it| it.contains("overlay")), "{changes:?}");
}

#[test]
fn a_site_that_says_nothing_of_its_port_listens_on_this_machine_only() {
    let site = "server {\n    root /srv/nowhere;\n}\n";
    let Some(changes) = measured(site, "h1", "/", 18) else {
        return;
    };
    assert!(
        changes
            .iter()
            .any(|it| it.starts_with("server { listen 127.0.0.1:")),
        "{changes:?}"
    );
}
