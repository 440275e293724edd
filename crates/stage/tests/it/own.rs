//! Users' own configurations, as they are met, with the real programs.

#![allow(
    clippy::print_stdout,
    reason = "the output says which program was tested"
)]

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use crate::support::{
    ORIGIN_BODY, PATIENCE, Theatre, contender, fetch, is_installed, origin, served, workload,
};
use bakeoff_plan::{ConfigSource, Contender, Protocol, Replacement, Workload};
use bakeoff_record::{ConfigChange, When};
use bakeoff_stage::{Cause, Running, Surroundings};

const PAGE: &str = "<!doctype html><title>Ours</title>";

/// Copies `tests/own/NAME` to where a user would have it, and gives back the main file.
fn own_files(theatre: &Theatre, name: &str, main: &str) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/own")
        .join(name);
    let to = theatre.folder.path().join("etc").join(name);
    copy(&from, &to, &to.display().to_string());
    to.join(main)
}

fn copy(from: &Path, to: &Path, base: &str) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, copied) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &copied, base);
        } else {
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::write(copied, text.replace("@BASE@", base)).unwrap();
        }
    }
}

/// The user's own configuration of `server`, asked by its own name.
fn own(server: &str, main: &Path) -> Contender {
    let mut contender = contender(server, ConfigSource::File(main.to_owned()));
    contender.host = Some("www.example.com".to_owned());
    contender.replacements = vec![Replacement {
        from: "/var/www/site".to_owned(),
        to: "{{ root }}".to_owned(),
    }];
    contender
}

/// What a site like that is asked for: a page, a fixed answer, and the upstream's.
fn asked(healthy: &str) -> [Workload; 3] {
    let mut page = workload("page", "/index.html", PAGE);
    page.files = vec![served("index.html", PAGE)];
    page.protocol = Protocol::H2;
    let mut health = workload("health", "/health", healthy);
    health.protocol = Protocol::H1Tls;
    let mut api = workload("api", "/api/", ORIGIN_BODY);
    api.protocol = Protocol::H1Tls;
    api.proxied = true;
    [page, health, api]
}

fn start(theatre: &Theatre, contender: &Contender, workload: &Workload) -> Running {
    let surroundings = Surroundings {
        origin: workload.proxied.then(origin),
        boxed: None,
        ..theatre.surroundings()
    };
    let prepared = theatre.stage.prepare(contender, workload, &surroundings);
    let prepared = prepared.unwrap();
    prepared.check_config().unwrap();
    prepared.start(PATIENCE).unwrap()
}

/// Starts it for every workload; returns the changes of the last one.
fn run_all(
    theatre: &Theatre,
    contender: &Contender,
    asked: impl IntoIterator<Item = Workload>,
) -> Vec<ConfigChange> {
    let mut changes = Vec::new();
    for workload in asked {
        let running = start(theatre, contender, &workload);
        let fetched = fetch(&running, &workload, When::Before).unwrap();
        assert!(fetched.check.right, "{:?}", fetched.check);
        assert!(
            running.address().ip().is_loopback(),
            "{}",
            running.address()
        );
        changes = running.facts().config_changes;
        running.stop().unwrap();
    }
    changes
}

#[track_caller]
fn assert_changed(changes: &[ConfigChange], file: &str, before: &str, after: &str) {
    let found = |it: &&ConfigChange| {
        it.file.ends_with(file) && it.before.trim() == before && it.after.contains(after)
    };
    let one = changes.iter().find(found);
    let one = one.unwrap_or_else(|| panic!("no `{before}` with `{after}` in {changes:#?}"));
    let text = std::fs::read_to_string(&one.file).unwrap();
    let line = text.lines().nth(one.line - 1);
    assert_eq!(line, one.before.lines().next(), "reported by its line");
    assert!(!one.why.is_empty());
}

#[test]
fn a_configuration_of_nginx_runs_with_what_a_trial_needs_changed() {
    let theatre = Theatre::new();
    if !is_installed(&theatre, "nginx") {
        return;
    }
    let main = own_files(&theatre, "nginx", "nginx.conf");
    let changes = run_all(&theatre, &own("nginx", &main), asked("healthy\n"));
    let www = "sites-enabled/www.conf";
    assert_changed(
        &changes,
        www,
        "listen 80 default_server;",
        "listen 127.0.0.1:",
    );
    assert_changed(&changes, www, "listen [::]:443 ssl http2;", "listen [::1]:");
    assert_changed(&changes, www, "root /var/www/site;", "/root;");
    let certificate = "ssl_certificate /etc/letsencrypt/live/www.example.com/fullchain.pem;";
    assert_changed(&changes, www, certificate, "certificate");
    assert_changed(
        &changes,
        "nginx.conf",
        "server 10.0.0.5:3000 weight=5;",
        "127.0.0.1:",
    );
    assert_changed(
        &changes,
        "nginx.conf",
        "pid /run/nginx.pid;",
        "/run/nginx.pid",
    );
    let log = "access_log /var/log/nginx/access.log main;";
    assert_changed(&changes, "nginx.conf", log, "/access.log\" main;");
    let admin = "proxy_pass http://localhost:9000/;";
    assert_changed(
        &changes,
        "admin.conf",
        admin,
        "proxy_pass http://127.0.0.1:",
    );
    assert_changed(&changes, "nginx.conf", "user shop shop;", "user root;");
    let cache = "proxy_cache_path /var/cache/nginx/app levels=1:2 keys_zone=app:1m;";
    assert_changed(&changes, "nginx.conf", cache, "/run/app\" levels=1:2");
    let pages = "proxy_cache_path /var/cache/nginx/pages";
    assert_changed(&changes, "nginx.conf", pages, "/run/pages\"");
    let tiny = |change: &&ConfigChange| change.file.ends_with("tiny.conf");
    let [tiny] = &changes.iter().filter(tiny).collect::<Vec<_>>()[..] else {
        panic!("one line, and no comment, in {changes:#?}");
    };
    for statement in [
        "listen 127.0.0.1:",
        "; listen [::1]:",
        "/run/syslog\" main;",
        "/old/; }",
    ] {
        assert!(tiny.after.contains(statement), "{statement} in {tiny:#?}");
    }
    assert!(!tiny.after.contains("10.0.0") && !tiny.after.contains("unix:"));
    let untouched = ["gzip", "worker_processes", "keepalive", "add_header"];
    for change in &changes {
        let is_taken_in = change.before.contains("mime.types");
        assert!(!is_taken_in, "nothing in it was changed: {change:#?}");
        let word = change.before.split_whitespace().next().unwrap();
        assert!(!untouched.contains(&word), "{change:#?}");
    }
}

#[test]
fn a_configuration_of_caddy_runs_with_what_a_trial_needs_changed() {
    let theatre = Theatre::new();
    if !is_installed(&theatre, "caddy") {
        return;
    }
    let main = own_files(&theatre, "caddy", "Caddyfile");
    let changes = run_all(&theatre, &own("caddy", &main), asked("healthy"));
    let www = "sites/www.caddy";
    let upstreams = "reverse_proxy 10.0.0.5:3000 10.0.0.6:3000 {";
    assert_changed(&changes, www, upstreams, "reverse_proxy 127.0.0.1:");
    assert_changed(&changes, www, "tls ops@example.com", "tls internal");
    assert_changed(&changes, www, "root * /var/www/site", "/root");
    assert_changed(&changes, "Caddyfile", "{ # Global options", "local_certs");
    let log = "output file /var/log/caddy/access.log";
    assert_changed(&changes, "Caddyfile", log, "/access.log");
    assert_changed(&changes, "Caddyfile", "admin :2019", "admin 127.0.0.1:0");
    let storage = "storage file_system /var/lib/caddy";
    assert_changed(&changes, "Caddyfile", storage, "/run/storage");
    assert_changed(
        &changes,
        "Caddyfile",
        "on_demand_tls {",
        "servers 127.0.0.1:9 {",
    );
    let untouched = ["on_demand", "proxy_protocol {", "tls"];
    let touched = changes
        .iter()
        .find(|it| untouched.contains(&it.before.trim()));
    assert!(touched.is_none(), "{touched:#?}");
    let old = "reverse_proxy https://old.example.com {";
    assert_changed(&changes, www, old, "reverse_proxy 127.0.0.1:");
    assert_changed(&changes, www, "tls_server_name old.example.com", "");
    let new = "reverse_proxy app1 10.0.0.7 # the new ones";
    assert_changed(&changes, www, new, "reverse_proxy 127.0.0.1:");
    assert_changed(&changes, www, "dynamic a {", "to 127.0.0.1:");
    let second = changes.iter().find(|it| it.before.contains(":81, "));
    assert!(
        second.is_some_and(|it| !it.after.contains(":81")),
        "{changes:#?}"
    );
}

/// Caddy stores as soon as it checks a file.
#[test]
fn caddy_stores_nothing_among_the_users_files() {
    let theatre = Theatre::new();
    if !is_installed(&theatre, "caddy") {
        return;
    }
    let folder = theatre.folder.path().join("etc");
    std::fs::create_dir(&folder).unwrap();
    let (main, store) = (folder.join("Caddyfile"), folder.join("store"));
    let root = store.display();
    let files = [
        (
            "options",
            format!("storage file_system {{\n\troot {root}\n}}\n"),
        ),
        ("parts", format!("{{args[0]}} file_system {root}\n")),
        ("block", format!("root {root}\n")),
    ];
    for (name, text) in files {
        std::fs::write(folder.join(format!("{name}.caddy")), text).unwrap();
    }
    let asked = workload("hello", "/", "hello");
    let checked = |options: &str| {
        let site = "https://www.example.com:8443 {\n\trespond hello\n}\n";
        std::fs::write(&main, format!("{{\n{options}\n}}\n{site}")).unwrap();
        let contender = own("caddy", &main);
        let contender = Contender {
            replacements: Vec::new(),
            ..contender
        };
        let prepared = theatre
            .stage
            .prepare(&contender, &asked, &theatre.surroundings());
        let checked = prepared.and_then(|prepared| prepared.check_config());
        assert!(!store.exists(), "{options}");
        checked
    };
    checked("import options.caddy").unwrap();
    checked(&format!("storage file_system {root}")).unwrap();
    let refused = checked("import parts.caddy storage")
        .unwrap_err()
        .to_string();
    assert!(refused.contains("write `storage file_system`"), "{refused}");
    let refused = checked("storage file_system {\n\timport block.caddy\n}").unwrap_err();
    let refused = refused.to_string();
    assert!(refused.contains("write here what it takes in"), "{refused}");
}

#[test]
fn a_configuration_of_haproxy_runs_with_what_a_trial_needs_changed() {
    let theatre = Theatre::new();
    if !is_installed(&theatre, "haproxy") {
        return;
    }
    let main = own_files(&theatre, "haproxy", "haproxy.cfg");
    let mut contender = own("haproxy", &main);
    contender.replacements.clear();
    let [_, health, api] = asked("healthy");
    let changes = run_all(&theatre, &contender, [health, api]);
    for (before, after) in [
        ("log /dev/log local0", "log stderr format raw local0"),
        (
            "log 10.0.0.9:514 len 4096 format rfc5424 local1 notice",
            "log stderr len 4096 format raw local1 notice",
        ),
        ("chroot /var/lib/haproxy-of-ours", ""),
        (
            "stats socket /run/haproxy/admin.sock mode 660 level admin expose-fd listeners",
            "/run/admin.sock\" mode 660",
        ),
        ("pidfile /run/haproxy.pid", "/run/haproxy.pid"),
        ("user shop", ""),
        ("errorfile 503 /etc/haproxy/errors-of-ours/503.http", ""),
        ("peer lb1 10.0.0.2:1024", ""),
        ("bind *:80", "bind 127.0.0.1:"),
        ("bind [::]:80 v6only", "bind [::1]:"),
        ("bind unix@/run/haproxy/stats.sock", "/run/stats.sock"),
        ("server app1 10.0.0.5:3000 maxconn 500", "app1 127.0.0.1:"),
        (
            "server old old.example.com:443 ssl verify none sni str(old.example.com)",
            "server old 127.0.0.1:",
        ),
    ] {
        assert_changed(&changes, "haproxy.cfg", before, after);
    }
    let after = |before: &str| {
        let found = |it: &&ConfigChange| it.before.trim_start().starts_with(before);
        changes.iter().find(found).unwrap().after.clone()
    };
    let listeners = after("bind :443,10.0.0.2:444");
    assert_eq!(listeners.matches("127.0.0.1:").count(), 2, "{listeners}");
    assert!(listeners.ends_with(" alpn h2,http/1.1"), "{listeners}");
    assert!(listeners.contains("/tls/"), "{listeners}");
    assert!(after("bind :::443").contains("[::1]:"));
    assert!(!after("server old").contains("ssl"));
    assert!(!changes.iter().any(|it| it.before.contains("user admin")));
}

#[test]
fn haproxy_answers_from_files_beside_its_configuration() {
    let theatre = Theatre::new();
    if !is_installed(&theatre, "haproxy") {
        return;
    }
    let folder = theatre.folder.path().join("etc");
    std::fs::create_dir_all(folder.join("conf")).unwrap();
    std::fs::create_dir_all(folder.join("my pages")).unwrap();
    std::fs::write(folder.join("my pages/hello.html"), "hello").unwrap();
    std::fs::write(folder.join("conf/hello.html"), "hello").unwrap();
    let main = folder.join("conf/haproxy.cfg");
    for (begin, file) in [
        ("", "hello.html"),
        ("global\n default-path config\n", "hello.html"),
        ("global\n default-path parent\n", "\"my pages/hello.html\""),
        (
            "global\n default-path origin \"../my pages\"\n",
            "hello.html",
        ),
    ] {
        let text = format!(
            "{begin}defaults\n mode http\n timeout client 9s\nfrontend in\n bind :8080\n \
             http-request return status 200 content-type \"text/html\" file {file}\n"
        );
        std::fs::write(&main, text).unwrap();
        let contender = Contender {
            replacements: Vec::new(),
            ..own("haproxy", &main)
        };
        run_all(&theatre, &contender, [workload("hello", "/", "hello")]);
    }
}

#[test]
fn a_configuration_of_apache_runs_with_what_a_trial_needs_changed() {
    let theatre = Theatre::new();
    if !is_installed(&theatre, "apache") {
        return;
    }
    let main = own_files(&theatre, "apache", "apache2.conf");
    let [page, _, api] = asked("healthy");
    let changes = run_all(&theatre, &own("apache", &main), [page, api]);
    let main = "apache2.conf";
    assert_changed(&changes, main, "User shop", "ServerRoot \"");
    assert_changed(&changes, main, "User shop", "User \"#65534\"");
    assert_changed(
        &changes,
        main,
        "ErrorLog ${APACHE_LOG_DIR}/error.log",
        "/run/error.log",
    );
    assert_changed(&changes, "ports.conf", "Listen 80", "Listen 127.0.0.1:");
    assert_changed(&changes, "ports.conf", "Listen [::]:80", "Listen [::1]:");
    assert_changed(&changes, "ports.conf", "Listen 443", "Listen 127.0.0.1:");
    assert_changed(
        &changes,
        "ssl.conf",
        "SSLUseStapling On",
        "SSLUseStapling off",
    );
    let www = "sites-enabled/www.conf";
    let certificate = "SSLCertificateFile \"/etc/letsencrypt/live/www.example.com/fullchain.pem\"";
    for (before, after) in [
        ("<VirtualHost 10.0.0.2:443>", "<VirtualHost *:"),
        (certificate, "/tls/certificate.pem"),
        ("SSLVerifyClient require", "SSLVerifyClient none"),
        ("DocumentRoot /var/www/site", "/root"),
        (
            "CustomLog ${APACHE_LOG_DIR}/www.log common",
            "/run/www.log\" common",
        ),
        ("BalancerMember http://10.0.0.5:3000", "http://127.0.0.1:"),
        (
            "ProxyPass /old/ https://old.example.com/ retry=0",
            "/ retry=0",
        ),
        (
            "RewriteRule ^/legacy/(.*)$ http://10.0.0.7:8080/$1 [P,L]",
            "/$1 [P,L]",
        ),
    ] {
        assert_changed(&changes, www, before, after);
    }
    let untouched = [
        "redirect",
        "ServerName",
        "Protocols",
        "[R=301",
        "balancer://",
        "nowhere",
    ];
    for change in &changes {
        let word = untouched.iter().find(|word| change.before.contains(**word));
        assert_eq!(word, None, "{change:#?}");
    }
}

#[test]
fn a_configuration_of_lighttpd_runs_with_what_a_trial_needs_changed() {
    let theatre = Theatre::new();
    if !is_installed(&theatre, "lighttpd") {
        return;
    }
    let main = own_files(&theatre, "lighttpd", "lighttpd.conf");
    let [page, _, api] = asked("healthy");
    let changes = run_all(&theatre, &own("lighttpd", &main), [page, api]);
    let first = "server.modules = ( \"mod_access\", \"mod_accesslog\", \"mod_redirect\", \
                 \"mod_setenv\", \"mod_proxy\" )";
    for (file, before, after) in [
        ("lighttpd.conf", first, "server.bind = \"127.0.0.1\"\n"),
        (
            "lighttpd.conf",
            "server.document-root = \"/var/www/site\"",
            "/root",
        ),
        (
            "lighttpd.conf",
            "server.port          = 80",
            "server.port          = ",
        ),
        (
            "lighttpd.conf",
            "accesslog.filename   = \"|/usr/bin/cronolog /var/log/lighttpd/%Y.log\"",
            "/run/access.log\"",
        ),
        (
            "10-ssl.conf",
            "ssl.pemfile = \"/etc/lighttpd/certs/www.example.com.pem\"",
            "/tls/",
        ),
        (
            "10-ssl.conf",
            "ssl.verifyclient.enforce = \"enable\"",
            "\"disable\"",
        ),
        (
            "10-ssl.conf",
            "$SERVER[\"socket\"] == \":443\" {",
            "== \"127.0.0.1:",
        ),
        (
            "10-ssl.conf",
            "$SERVER[\"socket\"] == \"[::]:443\" { ssl.engine = \"enable\" }",
            "== \"[::1]:",
        ),
        (
            "20-app.conf",
            "proxy.server = ( \"\" => (\n        \
             ( \"host\" => \"10.0.0.5\", \"port\" => 3000 ),\n        \
             ( \"host\" => \"10.0.0.6\", \"port\" => \"3000\" )\n    ) )",
            "( \"host\" => \"127.0.0.1\", \"port\" => ",
        ),
    ] {
        assert_changed(&changes, file, before, after);
    }
    let untouched = [
        "server.tag",
        "setenv.add",
        "TLSv1.2",
        "proxy.balance",
        "none.conf",
    ];
    for change in &changes {
        let word = untouched.iter().find(|word| change.before.contains(**word));
        assert_eq!(word, None, "{change:#?}");
    }
}

#[test]
fn the_users_files_stay_as_they_are_and_a_file_that_needs_nothing_is_read_where_it_lies() {
    let theatre = Theatre::new();
    let script = theatre.own_file("serve(int(os.environ.get('NONE', '18473')))");
    let running = theatre.start(&script, PATIENCE).unwrap();
    let facts = running.facts();
    assert!(facts.config_changes.is_empty());
    let path = theatre.folder.path().join("own.py").display().to_string();
    assert!(facts.command.contains(&path), "{:?}", facts.command);
    running.stop().unwrap();

    if !is_installed(&theatre, "nginx") {
        return;
    }
    let main = own_files(&theatre, "nginx", "nginx.conf");
    let before = std::fs::read_to_string(&main).unwrap();
    let mut unknown = own("nginx", &main);
    unknown.replacements[0].from = "/srv/nowhere".to_owned();
    let [page, ..] = asked("healthy");
    let error = theatre
        .stage
        .prepare(&unknown, &page, &theatre.surroundings())
        .unwrap_err();
    assert!(
        matches!(*error.cause, Cause::NothingToReplace { .. }),
        "{error}"
    );
    start(&theatre, &own("nginx", &main), &page).stop().unwrap();
    assert_eq!(std::fs::read_to_string(&main).unwrap(), before);
}

#[test]
fn a_users_port_that_was_taken_meanwhile_is_left_for_another() {
    // Of no range that systems choose from for themselves.
    let listen = ("127.0.0.1", 18474);
    let theatre = Theatre::new();
    let page = workload("page", "/", "hello");
    for (server, text) in [
        ("caddy", ":18474\nrespond hello\n"),
        (
            "nginx",
            "events {}\nhttp { server { listen 18474; location / { return 200 hello; } } }\n",
        ),
        (
            "haproxy",
            "defaults\n mode http\n timeout client 9s\nfrontend in\n bind :18474\n \
             http-request return status 200 content-type text/plain string hello\n",
        ),
    ] {
        if !is_installed(&theatre, server) {
            continue;
        }
        let main = theatre.folder.path().join(server);
        std::fs::write(&main, text).unwrap();
        let contender = contender(server, ConfigSource::File(main));
        let surroundings = theatre.surroundings();
        let prepared = theatre.stage.prepare(&contender, &page, &surroundings);
        let prepared = prepared.unwrap();
        let taken = TcpListener::bind(listen).unwrap();
        let running = prepared.start(PATIENCE).unwrap();
        assert_ne!(running.address().port(), listen.1, "{server}");
        let fetched = fetch(&running, &page, When::Before).unwrap();
        assert!(fetched.check.right, "{server}: {:?}", fetched.check);
        running.stop().unwrap();
        drop(taken);
    }
}
