//! How the rules of the servers' folders change lines.

use proptest::prelude::*;

use super::*;
use crate::files::Access;
use crate::own::{Names, Ports, Said, Taken};
use crate::servers::Servers;
use crate::template;
use crate::user::User;

mod addresses;
mod paths;
mod published;
mod quotes;
mod tls;

const RUN: &str = "/t/trial/run";

/// The text after the rules of `server`, as a trial behind an origin has it.
fn changed(server: &str, text: &str) -> Result<String, String> {
    changed_with(&[], server, text)
}

/// The same with these variables.
fn changed_with(own: &[(&str, &str)], server: &str, text: &str) -> Result<String, String> {
    edited(own, server, text).map(|it| it.0)
}

/// The same, and what was changed.
fn edited(
    own: &[(&str, &str)],
    server: &str,
    text: &str,
) -> Result<(String, Vec<ConfigChange>), String> {
    let server = Servers::new(None).find(server).unwrap();
    let mut variables = Variables::default();
    let usual = [
        ("run", RUN),
        ("address", "127.0.0.1"),
        ("ip", "127.0.0.1"),
        ("address6", "[::1]"),
        ("ip6", "::1"),
        ("base", "/t/trial/own/etc"),
        ("overlay", "/t/trial/overlay"),
        ("origin", "127.0.0.1:3999"),
        ("build", ""),
        ("modules", "/m"),
        ("certificate", "/t/trial/tls/certificate.pem"),
        ("key", "/t/trial/tls/key.pem"),
        ("certificate_and_key", "/t/trial/tls/both.pem"),
    ];
    for name in ["action", "shows_certificate", "sends_proxy"] {
        variables.set(name, false);
    }
    for (name, value) in usual.iter().chain(own) {
        variables.set(name, *value);
    }
    variables.set("is_root", true);
    let said = |wanted: &str| own.iter().find(|(name, _)| *name == wanted).map(|it| it.1);
    let user = said("user").map(|name| User {
        name: name.to_owned(),
        uid: 54_321,
        gid: 54_321,
    });
    let served = Vec::from_iter(said("served").map(PathBuf::from));
    let render = |text: &str, variables: &Variables, configuration: &str| {
        let context = template::Context {
            version: said("version").unwrap_or("1.0"),
            configuration,
            files: &server,
        };
        template::render(text, variables, &context)
    };
    let tools = Tools {
        rules: &server.own,
        replacements: &[],
        variables: &variables,
        ports: &Ports::all_free(),
        names: &Names::default(),
        user: user.as_ref(),
        taken: &Taken::default(),
        blocks: &server.own.blocks_in(text).map(str::to_owned).collect(),
        served: &served,
        said: Said {
            text,
            defined: &server.own.foreign.lines.defined([text].into_iter()),
        },
        render: &render,
    };
    let file = OwnFile {
        path: "/etc/main.conf".into(),
        text: text.to_owned(),
        access: Access::of(&std::fs::metadata("/").unwrap()),
    };
    let mut edits = [Edit::new(&file, Path::new("/etc"), &tools)];
    let is_said = |word: &String| template::says(text, word);
    let is_like = |pattern: &Regex| text.lines().any(|line| pattern.is_match(line));
    let rules = server.own.changes.iter();
    let at_rest: Vec<bool> = rules
        .map(|rule| {
            let is_needless = rule.when.as_ref().is_some_and(|it| !is_like(it));
            is_needless || rule.unless.as_ref().is_some_and(is_said)
        })
        .collect();
    by_rules(&mut edits, &server.own, &at_rest).map_err(|(_, cause)| cause)?;
    let [mut edit] = edits;
    edit.insert()?;
    Ok(edit.finish())
}

#[track_caller]
fn check(server: &str, line: &str, expected: &str) {
    let changed = changed(server, line).unwrap();
    assert_eq!(changed.lines().last(), Some(expected), "{line}");
}

#[test]
fn statements_that_share_a_line_are_each_changed() {
    let line = "a { listen 8081; listen [::]:8082 ssl; listen *:8083; } # listen 1;";
    let expected = "a { listen 127.0.0.1:8081; listen [::1]:8082 ssl; \
                    listen 127.0.0.1:8083; } # listen 1;";
    check("nginx", line, expected);
    check("nginx", "# a; listen 8081;", "# a; listen 8081;");
    let line = "upstream a { server b weight=2; server unix:/c; } server_name { }";
    let expected = "upstream a { server 127.0.0.1:3999 weight=2; \
                    server 127.0.0.1:3999; } server_name { }";
    check("nginx", line, expected);
    let line = "\tbind :8081,ipv4@10.0.0.1:8082,[::]:8083-8084 ssl alpn h2,http/1.1";
    let expected = "\tbind 127.0.0.1:8081,127.0.0.1:8082,[::1]:8083-8084 ssl \
                    alpn h2,http/1.1";
    check("haproxy", line, expected);
    let line = "<virtualhost 10.0.0.1 *:8081 [::1]:8082>";
    check("apache", line, "<virtualhost * *:8081 *:8082>");
}

#[test]
fn no_upstream_of_caddy_but_the_origin_is_asked() {
    let origin = "127.0.0.1:3999";
    let check = |line: &str, expected: &str| {
        let now = changed("caddy", &format!("a {{\n{line}\n}}\n")).unwrap();
        let lines: Vec<&str> = now.lines().rev().skip(1).collect();
        let expected = expected.replace("ORIGIN", origin);
        let expected: Vec<&str> = expected.lines().rev().collect();
        assert_eq!(lines[..expected.len()], expected, "{line}");
        assert!(lines[expected.len()].starts_with('a'), "{now}");
    };
    for (line, expected) in [
        ("reverse_proxy 10.0.0.5", "reverse_proxy ORIGIN"),
        ("\treverse_proxy app1 app2", "\treverse_proxy ORIGIN ORIGIN"),
        ("\t\tto 10.0.0.6", "\t\tto ORIGIN"),
        ("reverse_proxy app # of ours", "reverse_proxy ORIGIN"),
        ("reverse_proxy app:80 { # ours", "reverse_proxy ORIGIN {"),
        (
            "\treverse_proxy @get \"app:80\" {",
            "\treverse_proxy @get ORIGIN {",
        ),
        (
            "\treverse_proxy /api/* 10.0.0.5:80-89",
            "\treverse_proxy /api/* ORIGIN",
        ),
        ("reverse_proxy * tcp/10.0.0.5:80", "reverse_proxy * ORIGIN"),
        (
            "reverse_proxy http://{host}.lan:80 {x}:1",
            "reverse_proxy ORIGIN ORIGIN",
        ),
        (
            "reverse_proxy [fd00::1] h2c://a unix//b",
            "reverse_proxy ORIGIN ORIGIN ORIGIN",
        ),
        ("\tforward_auth auth {", "\tforward_auth ORIGIN {"),
        ("\tdynamic a app 8080", "\tto ORIGIN"),
        ("\tdynamic srv _http._tcp.app", "\tto ORIGIN"),
        ("\tdynamic a {", "\tto ORIGIN\n\thealth_headers {"),
        (
            "\tdynamic srv app { # ours",
            "\tto ORIGIN\n\thealth_headers {",
        ),
        ("\treverse_proxy @get {", "\treverse_proxy @get {"),
        ("\treverse_proxy {", "\treverse_proxy {"),
        ("\t# reverse_proxy app", "\t# reverse_proxy app"),
    ] {
        check(line, expected);
    }
}

#[test]
fn no_upstream_of_nginx_but_the_origin_is_asked() {
    for (address, expected) in [
        ("\"http://10.0.0.5:3000\"", "http://127.0.0.1:3999"),
        ("'https://10.0.0.5/a'", "http://127.0.0.1:3999/a"),
        ("\"http://10.0.0.5/a b;c\"", "http://127.0.0.1:3999"),
        ("HTTP://10.0.0.5:3000", "http://127.0.0.1:3999"),
        ("http://10.0.0.5:3000 ", "http://127.0.0.1:3999 "),
        ("http://10.0.0.5:3000?a=b", "http://127.0.0.1:3999?a=b"),
        ("http://machine ", "http://127.0.0.1:3999 "),
        ("$backend$request_uri", "http://127.0.0.1:3999"),
        ("${backend}", "http://127.0.0.1:3999"),
        ("$scheme://10.0.0.5:80$request_uri", "http://127.0.0.1:3999"),
        ("\"http://app\"", "http://app"),
    ] {
        let line =
            |address: &str| format!("upstream app {{ }} location / {{ proxy_pass {address}; }}");
        check("nginx", &line(address), &line(expected));
    }
    let text = "upstream app {\n  server 10.0.0.5:80\n    weight=2;\n}\n\
                location / {\n  proxy_pass\n    http://10.0.0.6;\n}\n";
    let now = changed("nginx", text).unwrap();
    for line in [
        "  server 127.0.0.1:3999\n    weight=2;",
        // What follows is no directive, and nginx refuses it.
        "  proxy_pass http://127.0.0.1:3999;\n",
    ] {
        assert!(now.contains(line), "no {line:?} in {now}");
    }
}

#[test]
fn what_only_looks_like_it_stays() {
    for (server, line) in [
        (
            "nginx",
            "upstream app { } location / { proxy_pass http://app; }",
        ),
        ("nginx", "server_name listen 80;"),
        ("nginx", "access_log off;"),
        ("haproxy", "    log global"),
        ("haproxy", "    user admin password 1234"),
        ("haproxy", "    log-format \"%ci\""),
        ("apache", "RewriteRule ^/$ https://example.com/ [R,P2]"),
        ("apache", "ProxyPassReverse / http://example.com/"),
        ("apache", "ProxyPass / balancer://app/"),
        ("caddy", "\tadmin $2a$14$hash"),
    ] {
        check(server, line, line);
    }
}

#[track_caller]
fn check_all(server: &str, cases: &[(&str, &str)]) {
    for (line, expected) in cases {
        let now = changed(server, line).unwrap();
        let added = now.lines().count() - expected.split('\n').count();
        let now: Vec<&str> = now.lines().skip(added).map(str::trim_end).collect();
        assert_eq!(now.join("\n"), *expected, "{line}");
    }
}

#[track_caller]
fn check_refused(server: &str, lines: &[&str]) {
    for line in lines {
        let cause = changed(server, &format!("# one\n{line}\n")).unwrap_err();
        assert!(cause.starts_with("line 2: `"), "{line}: {cause}");
    }
}

#[test]
fn haproxy_asks_no_other_machine() {
    check_all(
        "haproxy",
        &[
            ("    dispatch 10.0.0.5:80", "    dispatch 127.0.0.1:3999"),
            (
                "    tcp-check connect addr 10.0.0.5 port 80 ssl",
                "    tcp-check connect",
            ),
            ("    tcp-check connect", "    tcp-check connect"),
            ("    parse-resolv-conf", ""),
            ("    source 10.0.0.1 usesrc clientip", ""),
            (
                "    log 10.0.0.9:514 profile p local0",
                "    log stderr format raw profile p local0",
            ),
            (
                "    log 10.0.0.9:514 x y local0",
                "    log stderr format raw daemon",
            ),
            (
                "    bind :8081 ssl crt-list /dev/null ocsp-update on",
                "    bind 127.0.0.1:8081 ssl crt /t/trial/tls/both.pem",
            ),
            (
                "ring r\n  server a 10.0.0.1:514\n  backing-file /var/x",
                "ring r\n\n",
            ),
            (
                "peers p\n peer a 10.0.0.1:1000\n server b 10.0.0.1:1\n bind :1000\n\
                 backend p\n server b 10.0.0.1:1",
                "peers p\n\n\n\nbackend p\n server b 127.0.0.1:3999",
            ),
            (
                "  stick-table type ip size 1m peers p store http_req_rate(10s)",
                "  stick-table type ip size 1m store http_req_rate(10s)",
            ),
            ("program p\n  command /usr/bin/x", "\n"),
            (
                "  server ssl 10.0.0.1:443 ssl verify none check-send-proxy check",
                "  server \"ssl\" 127.0.0.1:3999 check",
            ),
            (
                "  server addr 10.0.0.1 addr 10.0.0.2",
                "  server \"addr\" 127.0.0.1:3999",
            ),
            ("  http-check expect status 204", ""),
            (
                "  http-check expect status 200-299",
                "  http-check expect status 200-299",
            ),
            ("  mailer m 10.0.0.1:25", "  mailer m 127.0.0.1:9"),
        ],
    );
    check_refused("haproxy", &["acme LE"]);
}

#[test]
fn haproxy_listens_on_this_machine_only() {
    check_all(
        "haproxy",
        &[
            (
                "  bind quic6@:8443,ipv6@:8081",
                "  bind quic6@[::1]:8443,[::1]:8081",
            ),
            ("  bind tcp4@*:8081", "  bind 127.0.0.1:8081"),
            ("  bind '*:8081' ssl", "  bind 127.0.0.1:8081 ssl"),
            ("  bind [fe80::1%eth0]:8081", "  bind [::1]:8081"),
            ("  bind \"${NOT_SET_HERE-*}:8081\"", "  bind 127.0.0.1:8081"),
            (
                "setenv NOT_SET_PORT 8082\nbind :${NOT_SET_PORT}",
                "setenv NOT_SET_PORT 8082\nbind 127.0.0.1:8082",
            ),
            ("  bind my_host:8081", "  bind 127.0.0.1:8081"),
            (
                "  bind :8081,abns@x,/run/a/y",
                "  bind 127.0.0.1:8081,\"/t/trial/run/x\",\"/t/trial/run/y\"",
            ),
            ("  dgram-bind :8514", "  dgram-bind 127.0.0.1:8514"),
            (
                "  stats socket [::1]:9999 level admin",
                "  stats socket [::1]:9999 level admin",
            ),
            ("  stats socket ipv6@:9999", "  stats socket [::1]:9999"),
            ("  stats socket *:9999", "  stats socket 127.0.0.1:9999"),
            ("  unix-bind prefix /var/run mode 600", ""),
            (
                "  bind :8081 namespace web verify required ca-file /none/a",
                "  bind 127.0.0.1:8081",
            ),
            ("  chroot /var/lib/haproxy # safe", ""),
            ("  user no-such-user-here # x", "  user root"),
        ],
    );
    let range = changed("haproxy", "  bind :80-89").unwrap();
    assert!(
        range.starts_with("  bind 127.0.0.1:") && !range.contains("-89"),
        "{range}"
    );
    check_refused(
        "haproxy",
        &[
            "bind fd@3",
            "bind rhttp@b/s",
            "stats socket fd@${NO_SUCH_FD_EXTRA}",
        ],
    );
}

#[test]
fn apache_asks_no_upstream_but_the_origin() {
    check_all(
        "apache",
        &[
            (
                "ProxyPass /a ajp://10.0.0.1:8009/x",
                "ProxyPass /a http://127.0.0.1:3999/x",
            ),
            (
                "ProxyPass /a 'HTTP://u:p@app/x' retry=0",
                "ProxyPass /a 'http://127.0.0.1:3999/x' retry=0",
            ),
            (
                "ProxyPass /a http://[fd00::5]:80/",
                "ProxyPass /a http://127.0.0.1:3999/",
            ),
            (
                "ProxyPass /a http://${BACKEND}:8080/",
                "ProxyPass /a http://127.0.0.1:3999/",
            ),
            (
                "ProxyPass /ws wss://$host/",
                "ProxyPass /ws ws://127.0.0.1:3999/",
            ),
            (
                "ProxyPassMatch ^(/.*)$ http://10.0.0.1:80$1",
                "ProxyPassMatch ^(/.*)$ http://127.0.0.1:3999$1",
            ),
            ("ProxyPass /a \"!\"", "ProxyPass /a \"!\""),
            ("ProxyPass / balancer://app/", "ProxyPass / balancer://app/"),
            (
                "BalancerMember unix:/x.sock|http://localhost",
                "BalancerMember http://127.0.0.1:3999",
            ),
            (
                "SetHandler \"proxy:unix:/run/php/x.sock|fcgi://localhost\"",
                "SetHandler \"proxy:fcgi://127.0.0.1:3999\"",
            ),
            (
                "RewriteRule ^/(.*)$ http://%{HTTP_HOST}:8080/$1 [proxy,L]",
                "RewriteRule ^/(.*)$ http://127.0.0.1:3999/$1 [proxy,L]",
            ),
            (
                "RewriteRule ^/(.*)$ http://a/$1 \"[L, P]\"",
                "RewriteRule ^/(.*)$ http://127.0.0.1:3999/$1 \"[L, P]\"",
            ),
            (
                "ProxyPass /a \\\n  http://10.0.0.1/ \\\n  retry=0",
                "ProxyPass /a   http://127.0.0.1:3999/   retry=0",
            ),
            (
                "# ProxyPass \\\n / http://a/",
                "# ProxyPass \\\n / http://a/",
            ),
            ("ProxyRemote * http://10.0.0.1:3128", ""),
            ("MDomain example.com", ""),
            ("ProxyRequests On", "ProxyRequests Off"),
        ],
    );
}

#[test]
fn an_upstream_of_apache_that_cannot_be_told_is_refused() {
    check_refused(
        "apache",
        &[
            "ProxyPass /a ${URL}",
            "BalancerMember $member",
            "SetHandler proxy:unix:/x|fcgi:",
            "RewriteRule ^/(.*)$ ${map:$1|http://a}/ [P]",
            "RewriteRule ^(.*)$ %{ENV:x} [P]",
            "AuthLDAPURL ldap://10.0.0.1/",
            "Include conf/${ENV}/a.conf",
            "Include \\\n  a.conf",
        ],
    );
}

#[test]
fn apache_listens_and_writes_within_the_trial() {
    check_all(
        "apache",
        &[
            ("Listen \"8081\" https", "Listen 127.0.0.1:8081 https"),
            ("Listen *:8081", "Listen 127.0.0.1:8081"),
            ("Listen [fe80::1%eth0]:8081", "Listen [::1]:8081"),
            (
                "Define WEB 8082\nListen ${WEB}",
                "Define WEB 8082\nListen 127.0.0.1:8082",
            ),
            (
                "Define WEB 8082\nListen ${WEB}\n<VirtualHost *:${WEB}>",
                "Define WEB 8082\nListen 127.0.0.1:8082\n<VirtualHost *:8082>",
            ),
            (
                "SecAuditLog /var/log/a.log",
                "SecAuditLog \"/t/trial/run/a.log\"",
            ),
            (
                "SecAuditLog \"|/bin/mlogc /etc/m\"",
                "SecAuditLog \"/t/trial/run/log\"",
            ),
            ("SecDataDir /var/cache/x", "SecDataDir \"/t/trial/run\""),
            (
                "WSGISocketPrefix /var/run/wsgi",
                "WSGISocketPrefix \"/t/trial/run/wsgi\"",
            ),
            (
                "Mutex \"file:/var/lock\" default",
                "Mutex \"file:/t/trial/run\" default",
            ),
            (
                "Mutex file:/var/lock default",
                "Mutex \"file:/t/trial/run\" default",
            ),
            ("ScriptLog logs/cgi", "ScriptLog \"/t/trial/run/cgi\""),
        ],
    );
    // Which of the two is meant, nobody here knows.
    check_refused("apache", &["Listen x/y"]);
    let twice = changed("apache", "Define WEB 1\nDefine WEB 2\nListen ${WEB}");
    assert!(twice.is_err_and(|cause| cause.starts_with("line 3: `Listen ${WEB}`")));
}

#[test]
fn lighttpd_asks_no_upstream_but_the_origin() {
    let origin = "\"host\" => \"127.0.0.1\", \"port\" => 3999,";
    for (line, expected) in [
        (
            "proxy.server = ( \"\" => ( ( \"host\" => \"10.0.0.1\" ) ) )",
            "proxy.server = ( \"\" => ( ( ORIGIN ) ) )",
        ),
        (
            "fastcgi.server += ( \".php\" => # all\n (( \"socket\" => \"/x\", \
             \"bin-path\" => \"/y\",\n \
             \"bin-environment\" => ( \"A\" => \"1\" ), \"check-local\" => \"disable\" )) )",
            "fastcgi.server += ( \".php\" => \n (( ORIGIN \"check-local\" => \"disable\" )) )",
        ),
        (
            "$HTTP[\"url\"] =~ \"^/{\" { proxy.server = ( \
             \"/\" => (( \"host\" => env.X, \"port\" => \"80\" )) ) }",
            "$HTTP[\"url\"] =~ \"^/{\" {\n proxy.server = ( \"/\" => (( ORIGIN )) )\n}",
        ),
        ("proxy.server = ( )", "proxy.server = ( )"),
    ] {
        let now = changed("lighttpd", line).unwrap();
        let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = squeeze(&expected.replace("ORIGIN", origin));
        assert!(squeeze(&now).ends_with(&expected), "{line}: {now}");
    }
    check_refused(
        "lighttpd",
        &[
            "proxy.server = var.backends",
            "proxy.server = ( \"/\" => backends )",
            "include conf_dir + \"/a.conf\"",
            "include \"/a\" + x",
            "include_shell \"cat /etc/x\"",
            "include_shell \"/usr/share/lighttpd/include-conf-enabled.pl\"",
            "server.port = a + b",
            "$SERVER[\"socket\"] == x + \":80\" { }",
        ],
    );
}

#[test]
fn lighttpd_listens_and_writes_within_the_trial() {
    check_all(
        "lighttpd",
        &[
            ("server.bind = env.X", "server.bind = \"127.0.0.1\""),
            (
                "server.bind = \"/run/x.sock\" # y",
                "server.bind = \"127.0.0.1\"# y",
            ),
            (
                "var.p = 8082\nserver.port = var.p",
                "var.p = 8082\nserver.port = 8082",
            ),
            ("server.port = \"8081\"", "server.port = 8081"),
            (
                "server.breakagelog = \"/var/log/b\"",
                "server.breakagelog = \"/t/trial/run/breakage.log\"",
            ),
            (
                "webdav.sqlite-db-name = \"/var/x.db\"",
                "webdav.sqlite-db-name = \"/t/trial/run/webdav.db\"",
            ),
            (
                "$HTTP[\"host\"] == \"x\" { accesslog.filename = \"/var/log/x.log\" }",
                "$HTTP[\"host\"] == \"x\" {\n accesslog.filename = \"/t/trial/run/access.log\"\n}",
            ),
            (
                "$SERVER[\"socket\"] == \"*:8443\" { }",
                "$SERVER[\"socket\"] == \"127.0.0.1:8443\" {\n\n}",
            ),
            (
                "include_shell \"/usr/share/lighttpd/create-mime.conf.pl\"",
                "include_shell \"/usr/share/lighttpd/create-mime.conf.pl\"",
            ),
        ],
    );
}

proptest! {
    /// Whatever the file holds, it is read to its end; comments stay.
    #[test]
    fn every_text_comes_to_an_end(text in "([ \t#;{}\\[\\]\"|:/,*.a-z0-9$-]|listen |\
        server |bind |log |Listen |proxy_pass http://|<VirtualHost |tls |\n){0,40}")
    {
        for server in ["nginx", "caddy", "haproxy", "apache", "lighttpd"] {
            // What is refused is so with its line.
            match changed(server, &text) {
                Ok(changed) => {
                    let is_one = |it: &&str| it.starts_with('#') && !it.contains("Set by bakeoff");
                    let kept = |text: &str| text.lines().map(str::trim).filter(is_one).count();
                    // lighttpd's may stand within a statement.
                    prop_assert!(server == "lighttpd" || kept(&changed) == kept(&text));
                }
                Err(cause) => prop_assert!(cause.starts_with("line "), "{}", cause),
            }
        }
    }
}
