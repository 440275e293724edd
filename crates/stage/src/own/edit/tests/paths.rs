//! Paths of files that servers write to: in quotes, with blanks, and in a folder with a blank.

use super::*;

/// A run folder below a `TMPDIR` with a blank in its name.
const BLANK: &str = "/t m p/run";

/// The text after the rules of `server`, with this folder for what it writes.
fn changed_in(run: &str, server: &str, text: &str) -> Result<String, String> {
    changed_with(&[("run", run)], server, text)
}

#[test]
fn nginx_stores_nothing_where_it_was_built_to() {
    let own = "http {\n  proxy_temp_path /var/cache/p;\n}\n";
    for text in ["http {\n}\n", own] {
        let now = changed("nginx", text).unwrap();
        for name in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
            let said: Vec<&str> = now.split(&format!("{name}_temp_path ")).collect();
            assert_eq!(said.len(), 2, "once: {now}");
            assert!(said[1].trim_start_matches('"').starts_with(RUN), "{now}");
        }
    }
}

/// What `line` becomes within `around`, whose `%` it stands for.
#[track_caller]
fn check_path(server: &str, around: &str, line: &str, expected: &str) {
    let text = around.replace('%', line);
    let now = changed_in(BLANK, server, &text).unwrap();
    let found = now.lines().any(|line| line.trim() == expected);
    assert!(found, "{line}: {expected} is not in\n{now}");
}

#[test]
fn nginx_stores_in_the_trials_folder_however_a_path_is_quoted() {
    let http = "http {\n%\n}\n";
    for (line, expected) in [
        (
            "client_body_temp_path \"/var/tmp/a b/body\" 1 2;",
            "client_body_temp_path \"/t m p/run/body\" 1 2;",
        ),
        (
            "proxy_temp_path '/var/tmp/a b/' 1;",
            "proxy_temp_path \"/t m p/run/a b\" 1;",
        ),
        (
            "scgi_temp_path /var/x/;",
            "scgi_temp_path \"/t m p/run/x\";",
        ),
        (
            "proxy_cache_path \"/data/c;d/e\" levels=1:2 keys_zone=k:1m;",
            "proxy_cache_path \"/t m p/run/e\" levels=1:2 keys_zone=k:1m;",
        ),
        (
            "access_log \"/var/log/a b/x.log\" combined;",
            "access_log \"/t m p/run/x.log\" combined;",
        ),
        ("access_log off;", "access_log off;"),
        (
            "error_log '/var/log/e.log';",
            "error_log \"/t m p/run/e.log\";",
        ),
        (
            "error_log syslog:server=[::1];",
            "error_log \"/t m p/run/syslog\";",
        ),
    ] {
        check_path("nginx", http, line, expected);
    }
    let server = "http {\nserver {\n%\n}\n}\n";
    for (line, expected) in [
        ("listen '/x y';", "listen '/x y';"),
        (
            "listen \"unix:/x y/a.sock\" ssl;",
            "listen \"unix:/t m p/run/a.sock\" ssl;",
        ),
        ("listen \"*:8081\";", "listen 127.0.0.1:8081;"),
    ] {
        check_path("nginx", server, line, expected);
    }
}

#[test]
fn what_paths_end_with_is_kept_apart() {
    let text = "http {\nproxy_cache_path /a/cache keys_zone=a:1m;\n\
                proxy_cache_path /b/cache/ keys_zone=b:1m;\n\
                server { listen unix:/run/a/web.sock; }\n\
                server { listen \"unix:/run/b/web.sock\" ssl; }\n\
                server { listen unix:/run/a/web.sock; }\n}\n";
    let now = changed("nginx", text).unwrap();
    for expected in [
        "proxy_cache_path \"/t/trial/run/cache\" keys_zone=a:1m;",
        "proxy_cache_path \"/t/trial/run/2-cache\" keys_zone=b:1m;",
        "listen \"unix:/t/trial/run/2-web.sock\" ssl;",
    ] {
        assert_eq!(now.matches(expected).count(), 1, "{expected}: {now}");
    }
    let same = "listen \"unix:/t/trial/run/web.sock\";";
    assert_eq!(now.matches(same).count(), 2, "{now}");
    check_all(
        "haproxy",
        &[(
            "  bind unix@/run/a/x.sock,/run/b/x.sock,unix@/run/a/x.sock",
            "  bind \"/t/trial/run/x.sock\",\"/t/trial/run/2-x.sock\",\"/t/trial/run/x.sock\"",
        )],
    );
}

/// A site of one page, and how to set the mode of what is in its folder.
fn site() -> (tempfile::TempDir, impl Fn(&str, u32)) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("closed/site");
    std::fs::create_dir_all(&root).unwrap();
    std::fs::write(root.join("index.html"), "ours").unwrap();
    let at = folder.path().to_owned();
    let mode = move |name: &str, mode: u32| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(at.join(name), mode).unwrap();
    };
    for (name, bits) in [
        ("", 0o755),
        ("closed", 0o755),
        ("closed/site", 0o755),
        ("closed/site/index.html", 0o644),
    ] {
        mode(name, bits);
    }
    (folder, mode)
}

#[test]
fn a_root_of_nginx_that_is_closed_to_its_user_is_refused() {
    let (folder, mode) = site();
    let root = folder.path().join("closed/site");
    let line = format!("server {{ root {}; }}", root.display());
    let said = |own: &[(&str, &str)]| changed_with(own, "nginx", &line);
    let web = [("user", "web"), ("served", "index.html")];
    for (name, bits, missing) in [
        ("closed", 0o700, "o+x"),
        ("closed/site", 0o744, "o+x"),
        ("closed/site/index.html", 0o600, "o+r"),
    ] {
        mode(name, bits);
        let refused = said(&web).unwrap_err();
        let closed = folder.path().join(name).display().to_string();
        assert!(refused.starts_with("line 1: `server { root "), "{refused}");
        assert!(refused.contains("user `web`"), "{refused}");
        let remedy = format!("run `chmod {missing} {closed}`");
        assert!(refused.contains(&remedy), "{refused}");
        mode(name, if missing == "o+x" { 0o755 } else { 0o644 });
    }
    // It need not be listed to be served.
    mode("closed/site", 0o711);
    assert!(said(&web).unwrap().contains(&line["server {".len()..]));
    // What nobody asks for is not in the way.
    mode("closed", 0o700);
    let other = [("user", "web"), ("served", "other.html")];
    assert!(said(&other).unwrap().contains("/t/trial/overlay"));
    mode("closed", 0o755);
}

#[test]
fn a_root_of_nginx_may_be_closed_to_its_workers_alone() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (folder, mode) = site();
    mode("closed", 0o700);
    let root = folder.path().join("closed/site");
    let served = [("served", "index.html")];
    for (user, is_refused) in [("", true), ("user nobody;", true), ("user root;", false)] {
        let text = format!("{user} root {};", root.display());
        let changed = changed_with(&served, "nginx", &text);
        assert_eq!(changed.is_err(), is_refused, "{user}: {changed:?}");
    }
}

#[test]
fn nginx_takes_modules_from_where_its_build_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().display();
    for file in ["lib64/a.so", "opt/modules/a.so"] {
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    let of_package = format!(
        "nginx version: nginx/1.28.3\nconfigure arguments: --prefix={root}/etc \
         --modules-path={root}/lib64 --with-stream=dynamic\n"
    );
    let built_here = format!("configure arguments: --with-threads --prefix={root}/opt\n");
    for (build, folder) in [
        (of_package.as_str(), "lib64"),
        (built_here.as_str(), "opt/modules"),
    ] {
        for name in ["modules/a.so", "\"modules/a.so\"", "'modules/a.so' "] {
            let line = format!("load_module {name};");
            let now = changed_with(&[("build", build)], "nginx", &line).unwrap();
            assert_eq!(now, format!("load_module \"{root}/{folder}/a.so\";\n"));
        }
        let none = changed_with(&[("build", build)], "nginx", "load_module modules/b.so;");
        assert_eq!(none.unwrap(), "\n");
    }
}

#[test]
fn nginx_writes_and_listens_within_the_trial_where_a_statement_goes_on() {
    let http = "http {\n%\n}\n";
    for (line, expected) in [
        (
            "proxy_cache_path /srv/cache/app\n  levels=1:2 keys_zone=app:10m;",
            "proxy_cache_path \"/t m p/run/app\"",
        ),
        (
            "fastcgi_cache_path '/a b/c'\n  keys_zone=c:1m;",
            "fastcgi_cache_path \"/t m p/run/c\"",
        ),
        (
            "scgi_temp_path /a/b\n1 2;",
            "scgi_temp_path \"/t m p/run/b\"",
        ),
        (
            "access_log /var/log/x.log # ours\n  main;",
            "access_log \"/t m p/run/x.log\" # ours",
        ),
        (
            "error_log syslog:server=10.0.0.9\n  warn;",
            "error_log \"/t m p/run/syslog\"",
        ),
        (
            "server {\nlisten 8081\ndefault_server;\n}",
            "listen 127.0.0.1:8081",
        ),
        ("server {\nlisten [::]:8081\nssl;\n}", "listen [::1]:8081"),
        (
            "server {\nlisten unix:/a/b.sock\nssl;\n}",
            "listen \"unix:/t m p/run/b.sock\"",
        ),
    ] {
        check_path("nginx", http, line, expected);
    }
    check_refused(
        "nginx",
        &[
            "http { access_log # ours\n/var/log/x.log; }",
            "  proxy_cache_path\n  /srv/cache levels=1:2;",
            "client_body_temp_path\n/a;",
            "proxy_store\non;",
            "pid\n/run/nginx.pid;",
            "listen\n80;",
        ],
    );
}

#[test]
fn nginx_stores_no_answer_among_the_files_of_a_site() {
    let site = "http {\nserver {\n%\n}\n}\n";
    for (line, expected) in [
        ("proxy_store on;", "proxy_store off;"),
        (
            "location / { proxy_store /data/www${uri}; alias /data/www/; }",
            "location / { proxy_store off; alias \"/t/trial/overlay/\"; }",
        ),
        ("fastcgi_store \"/a b;c/d\";", "fastcgi_store off;"),
        ("uwsgi_store on # all\n;", "uwsgi_store off # all"),
        ("scgi_store '/a'\n;", "scgi_store off"),
        ("proxy_store off;", "proxy_store off;"),
        ("proxy_store_access user:rw;", "proxy_store_access user:rw;"),
    ] {
        check_path("nginx", site, line, expected);
    }
}

#[test]
fn what_is_inserted_for_nginx_is_not_changed_again() {
    for text in ["http {\n}\n", "http { proxy_temp_path \"/a b/p\"; }\n"] {
        let now = changed_in(BLANK, "nginx", text).unwrap();
        for part in now.split(';').filter(|it| it.contains("/t m p/")) {
            assert_eq!(part.matches('"').count(), 2, "{part}: {now}");
        }
        assert!(
            now.contains("access_log \"/t m p/run/access.log\";"),
            "{now}"
        );
    }
}

#[test]
fn other_servers_write_there_however_a_path_is_quoted() {
    let check = |server: &str, line: &str, expected: &str| {
        check_path(server, "%\n", line, expected);
    };
    let run = "\"/t m p/run\"";
    check(
        "apache",
        "DefaultRuntimeDir \"/a b\"",
        &format!("DefaultRuntimeDir {run}"),
    );
    check(
        "apache",
        "PidFile '/a b/c.pid'",
        "PidFile \"/t m p/run/c.pid\"",
    );
    check(
        "apache",
        "CacheRoot \"/a b/c\"",
        "CacheRoot \"/t m p/run/cache\"",
    );
    let log = "CustomLog \"/t m p/run/c.log\" combined";
    check("apache", "CustomLog \"/a b/c.log\" combined", log);
    for mutex in ["Mutex 'file:/a b' default", "Mutex file:/a default"] {
        check("apache", mutex, "Mutex \"file:/t m p/run\" default");
    }
    for path in ["shmcb:/a/b(512000)", "\"shmcb:/a c/b(512000)\""] {
        let cache = format!("SSLSessionCache {path}");
        check(
            "apache",
            &cache,
            "SSLSessionCache \"shmcb:/t m p/run/b(512000)\"",
        );
    }
    check(
        "haproxy",
        "  pidfile \"/a b/c\"",
        "pidfile \"/t m p/run/haproxy.pid\"",
    );
    check(
        "haproxy",
        "  bind /a/b.sock mode 600",
        "bind \"/t m p/run/b.sock\" mode 600",
    );
    let socket = "stats socket \"/t m p/run/c.sock\" level admin";
    check(
        "haproxy",
        "  stats socket \"/a b/c.sock\" level admin",
        socket,
    );
    let pid = "server.pid-file = \"/t m p/run/lighttpd.pid\"";
    check("lighttpd", "server.pid-file = \"/a b/c\"", pid);
    for path in ["\"/a b/c.log\"", "`/a b/c.log`", "/a/c.log"] {
        let log = "a {\nlog {\n%\n}\n}\n";
        let line = format!("output file {path}");
        check_path("caddy", log, &line, "output file \"/t m p/run/c.log\"");
    }
    let variable = "output file {$LOG_FILE}";
    let log = "a {\nlog {\n%\n}\n}\n";
    check_path(
        "caddy",
        log,
        variable,
        "output file \"/t m p/run/access.log\"",
    );
}

#[test]
fn caddy_keeps_its_keys_in_the_trials_folder() {
    let stored = "\troot \"/t/trial/run/storage\"";
    for root in ["/keys", "\"/the keys\"", "keys # ours", "{$KEYS:/keys}"] {
        let text = format!(
            "{{\nstorage file_system {{ # keys\n\troot {root}\n}}\n}}\n\
             :8081 {{\n\troot {root}\n}}\n"
        );
        let now = changed("caddy", &text).unwrap();
        let roots: Vec<&str> = now.lines().filter(|line| line.contains("root ")).collect();
        assert_eq!(roots.len(), 2, "{now}");
        assert_eq!(roots[0], stored, "{now}");
        assert_ne!(roots[1], stored, "{now}");
    }
}

#[test]
fn caddy_keeps_certificates_in_the_trials_folder_by_whatever_module() {
    let stored = "\tstorage file_system \"/t/trial/run/storage\"";
    for line in [
        "storage file_system /keys # ours",
        "storage file_system \"/the keys\"",
        "storage file_system {$NO_SUCH_VARIABLE}",
        "storage file_system {env.KEYS}",
        "storage {args[0]} {args[1]}",
        "storage redis",
        "storage consul http://10.0.0.9:8500",
        "storage {$NO_SUCH_VARIABLE}",
    ] {
        let text = format!("{{\n\t{line}\n}}\n:8081 {{\n}}\n");
        let now = changed("caddy", &text).unwrap();
        assert!(now.lines().any(|line| line == stored), "{line}: {now}");
    }
    for folder in ["/keys", "\"/the keys\"", "{env.KEYS}/a", "`/a b`"] {
        let text = format!("{{\n\tstorage file_system {folder} {{ # ours\n\t}}\n}}\n");
        let now = changed("caddy", &text).unwrap();
        let begun = format!("{stored} {{ # ours");
        assert!(now.lines().any(|line| line == begun), "{folder}: {now}");
    }
    // In a file or a snippet that is taken in, too.
    let snippet = "(keys) {\n\tstorage file_system {\n\t\troot /keys\n\t}\n}\n";
    let now = changed("caddy", snippet).unwrap();
    assert!(!now.contains("/keys"), "{now}");
    check_refused(
        "caddy",
        &[
            "\tstorage redis {\n\t\thost 10.0.0.9\n\t}",
            "\tstorage {$NO_SUCH_VARIABLE} {\n\t}",
            "\tstorage \\\n\t\tfile_system /keys",
            "\tstorage file_system \\\n\t\t/keys",
        ],
    );
    let taken_in = changed("caddy", "storage file_system {\n\timport keys\n}\n").unwrap_err();
    assert!(
        taken_in.starts_with("line 2: `import keys`: "),
        "{taken_in}"
    );
}

#[test]
fn a_store_is_seen_in_what_caddy_makes_of_a_file() {
    let server = Servers::new(None).find("caddy").unwrap();
    let stores = server.own.foreign.stores.as_ref().unwrap();
    let ours = stores.ours.replace("{{ run }}", RUN);
    for (adapted, is_ours) in [
        ("{\"apps\":{}}", true),
        (
            "{\"storage\":{\"module\":\"file_system\",\"root\":\"/t/trial/run/s\"}}",
            true,
        ),
        (
            "{\"storage\":{\"module\":\"file_system\",\"root\":\"/keys\"}}",
            false,
        ),
        ("{\"storage\":{\"module\":\"file_system\"}}", false),
        (
            "{\"storage\":{\"address\":[{}],\"module\":\"redis\"}}",
            false,
        ),
        ("{\"body\":\"{\\\"storage\\\":{\\\"a\\\":1}}\"}", true),
    ] {
        assert_eq!(stores.are(&ours, adapted), is_ours, "{adapted}");
    }
}

#[test]
fn a_document_root_of_caddy_is_one_however_it_is_quoted() {
    let overlay = "root * \"/t/trial/overlay\"";
    let site = ":8081 {\n%\n}\n";
    for path in [
        "site",
        "./site # ours",
        "\"my site\"",
        "`my site` # ours",
        "\"/none/my site\"",
    ] {
        let line = format!("root * {path}");
        let comment = path
            .split_once(" #")
            .map_or(String::new(), |it| format!(" #{}", it.1));
        check_path("caddy", site, &line, &format!("{overlay}{comment}"));
    }
    for path in ["{vars.root}", "\"{vars.root}/site\"", "/srv/{host}"] {
        let line = format!("root * {path}");
        check_path("caddy", site, &line, &line);
    }
    check_refused(
        "caddy",
        &[
            "\troot * sites/{host}",
            "\troot \"my sites/{host}\"",
            "\troot /a/* ~/site",
        ],
    );
}
