//! What is found in configurations as people write them.

use std::path::Path;

use super::*;

fn found(text: &str) -> Found {
    let text = format!("http {{\n{text}\n}}\n");
    read(&[Text {
        path: Path::new("/etc/nginx/nginx.conf"),
        text: &text,
    }])
}

/// Where a request for `path` goes in a server with these lines.
#[track_caller]
fn check(server: &str, path: &str, expected: &str) {
    let text = format!("http {{ root /srv; server {{ listen 80;\n{server}\n}} }}");
    let files = [Text {
        path: Path::new("/etc/nginx/nginx.conf"),
        text: &text,
    }];
    let ways = Routes::of(&files).ways(None, false, std::iter::once(path));
    let way = match ways.into_iter().next().unwrap() {
        Way::File(path) => format!("file {path}"),
        Way::Nowhere => "nowhere".to_owned(),
        Way::Upstream { kind, path, .. } => format!("{kind:?} {path}"),
        Way::Redirect(target) => format!("redirect {target}"),
        Way::Status(status) => status.to_string(),
        Way::Aside => "aside".to_owned(),
    };
    assert_eq!(way, expected, "{server}");
}

#[test]
fn sites_of_php_lead_to_their_script() {
    let php = "location ~ \\.php$ { try_files $uri =404; fastcgi_pass php:9000; }";
    for location in [
        "location / { try_files $uri $uri/ /index.php?$args; } index index.php;",
        "location / { try_files $uri $uri/ /index.php?$args; } index index.html index.php;",
        "location / { try_files $uri /index.php$is_args$args; }",
        "location / { rewrite ^ /index.php$request_uri; }",
        "index index.php;",
        "location / { index index.php; }",
    ] {
        check(&format!("{location} {php}"), "/", "FastCgi /index.php");
    }
    let nested = "location / { index index.php; location ~ \\.php$ { fastcgi_pass a; } }";
    check(nested, "/", "FastCgi /index.php");
    check(php, "/", "file /index.html");
}

#[test]
fn applications_are_asked_for_what_is_no_file() {
    let app = "location @app { proxy_pass http://app; }";
    for location in [
        "location / { try_files $uri @app; }",
        "location / { try_files $uri/index.html $uri.html $uri @app; }",
        "try_files $uri @app;",
        "location = / { proxy_pass http://app; } location / { return 404; }",
    ] {
        check(&format!("{location} {app}"), "/", "Http /");
    }
    check(
        "location / { uwsgi_pass app; } location /static { }",
        "/",
        "Uwsgi /",
    );
    check(
        "location / { uwsgi_pass app; } location /static { }",
        "/static/a",
        "file /static/a",
    );
    check(
        "location / { try_files $uri /index.html; }",
        "/",
        "file /index.html",
    );
    check(
        "location ^~ /a { return 204; } location ~ . { return 205; }",
        "/a/b",
        "204",
    );
    check(
        "location /a { return 204; } location ~* ^/A { return 205; }",
        "/a/b",
        "205",
    );
    check("location / { deny all; }", "/", "403");
    check(
        "deny 10.0.0.1; location / { root /a; }",
        "/",
        "file /index.html",
    );
    check(
        "deny all; location / { allow all; }",
        "/",
        "file /index.html",
    );
    check("try_files $uri =404;", "/a.css", "file /a.css");
    check("try_files $uri =404;", "/", "404");
    check("location /status { stub_status; }", "/status", "aside");
    check("rewrite ^/(.*)$ /$1 last;", "/", "file /index.html");
}

#[test]
fn an_alias_leads_below_the_last_folder_that_it_has() {
    for (location, path, expected) in [
        ("/static/ { alias /no/such/; }", "/static/x.css", "x.css"),
        ("/static/ { alias /no/such/; }", "/static/", "index.html"),
        ("/static { alias /no/such; }", "/static/x.css", "such/x.css"),
        ("= /icon { alias /no/favicon.ico; }", "/icon", "favicon.ico"),
        ("~ ^/i/(.*)$ { alias /no/$1; }", "/i/a/b.png", "a/b.png"),
        ("~* ^/I/(.*)$ { alias /no/x-$1; }", "/i/b", "x-b"),
    ] {
        check(
            &format!("location {location}"),
            path,
            &format!("file {expected}"),
        );
    }
}

#[test]
fn a_site_without_a_folder_has_a_page_nowhere_and_another_path_is_asked() {
    let found = |server: &str| found(&format!("server {{ listen 80; {server} }}"));
    let gateway = found(
        "location /static/ { alias /no/such/; } location /json { proxy_pass http://app; }\n\
         location /db { proxy_pass http://app; } location /metrics { stub_status; }",
    );
    assert_eq!(gateway.path.as_deref(), Some("/json"));
    assert_eq!(gateway.paths, ["/json", "/db", "/static/"]);
    let bare = found("server_name a.test;");
    assert_eq!(bare.path, None);
    assert_eq!(bare.listeners[0].kind, ListenerKind::Http);
}

#[test]
fn a_redirect_to_https_is_distinguished_from_a_site() {
    for line in [
        "return 301 https://$host$request_uri;",
        "location / { return 308 https://example.com$request_uri; }",
        "rewrite ^ https://$host$request_uri permanent;",
        "if ($host = example.com) { return 301 https://$host$request_uri; } return 404;",
        "if ($scheme != https) { return 301 https://$host$request_uri; }",
    ] {
        let text = format!(
            "server {{ listen 80; server_name example.com; {line} }}\n\
             server {{ listen 443 ssl http2 default_server; server_name example.com *.example.org; \
             ssl_certificate a.pem; root /srv; }}"
        );
        let found = found(&text);
        let kinds: Vec<_> = found.listeners.iter().map(|it| it.kind).collect();
        assert_eq!(
            kinds,
            [ListenerKind::Redirect, ListenerKind::Http],
            "{line}"
        );
        let choice = found.choice(None);
        assert_eq!(choice.protocol, Protocol::H2);
        assert_eq!(choice.host.as_deref(), Some("example.com"));
    }
}

#[test]
fn listeners_have_their_address_protocols_and_names() {
    let found = found(
        "server { listen [::]:443 ssl; listen unix:/run/a.sock; listen 443 quic reuseport;\n\
         http2 on; server_name _; listen localhost; }\n\
         server { listen 8080 default_server; return 444; }",
    );
    let listeners = found.listeners.iter();
    let shown: Vec<String> = listeners
        .map(|it| {
            let protocols: Vec<_> = it.protocols.iter().map(|it| it.name()).collect();
            format!(
                "{} {:?} {} {:?}",
                it.address,
                it.port,
                protocols.join("+"),
                it.kind
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "[::] Some(443) h2+h1-tls Http",
            "unix:/run/a.sock None h1+h2c Http",
            "* Some(443) h3 Http",
            "localhost Some(80) h1+h2c Http",
            "* Some(8080) h1 Refusing",
        ]
    );
    assert!(found.listeners.iter().all(|it| it.hosts.is_empty()));
}

#[test]
fn a_path_that_answers_is_found_where_the_root_does_not() {
    let path = |server: &str| found(&format!("server {{ listen 80; {server} }}")).path;
    assert_eq!(path("location / { proxy_pass http://a; }"), None);
    let moved = "location = / { return 302 /ui/; } location /ui/ { root /srv; }";
    assert_eq!(path(moved).as_deref(), Some("/ui/"));
    let api = "location / { return 404; } location /api/ { proxy_pass http://a; }";
    assert_eq!(path(api).as_deref(), Some("/api/"));
    let pattern = "location ~ ^/v1/(a|b)? { proxy_pass http://a; } location / { return 404; }";
    assert_eq!(path(pattern).as_deref(), Some("/v1/"));
    let files = "root /srv; location / { try_files $uri =404; }";
    assert_eq!(path(files).as_deref(), Some("/index.html"));
}

#[test]
fn a_site_is_aside_only_where_it_counts_or_rejects_handshakes() {
    use ListenerKind::{Aside, Http, Refusing};
    for (server, kind) in [
        ("root /srv; location / { try_files $uri =404; }", Http),
        (
            "location / { return 404; } location ~ ^/v1/ { proxy_pass http://a; }",
            Http,
        ),
        (
            "location / { return 404; } location ~ \\.php$ { fastcgi_pass a; }",
            Http,
        ),
        ("location = / { return 403; } root /srv;", Http),
        ("allow 127.0.0.1; deny all; root /srv;", Http),
        (
            "location / { return 404; } location ~ ^/s { stub_status; }",
            Aside,
        ),
        (
            "location / { stub_status; allow 127.0.0.1; deny all; }",
            Aside,
        ),
        ("return 403;", Refusing),
        ("location / { return 404; }", Refusing),
        ("allow 10.0.0.0/8; deny all; root /srv;", Refusing),
        ("return 200 ok;", Http),
    ] {
        let found = found(&format!("server {{ listen 80; {server} }}"));
        assert_eq!(found.listeners[0].kind, kind, "{server}");
        assert_eq!(found.choice(None).port.is_some(), kind != Aside, "{server}");
        let forbids = found.forbids.map(|it| (it.text, it.place.line));
        let expected = server
            .contains("allow 10")
            .then(|| ("deny all".to_owned(), 2));
        assert_eq!(forbids, expected, "{server}");
    }
}

#[test]
fn what_nobody_answers_is_a_problem_with_its_line() {
    let found = found("server { listen 80;\nlocation / { uwsgi_pass unix:/run/app.sock; } }");
    let problem = &found.problems[0];
    assert_eq!(problem.place.line, 3);
    assert!(problem.what.contains("uwsgi"), "{}", problem.what);
    let found = super::tests::found("server { listen unix:/run/a.sock; root /srv; }");
    assert!(found.problems[0].what.contains("file system"));
    let found = super::tests::found("server {\n listen ${NGINX_PORT}; root /srv; }");
    assert_eq!(found.problems[0].place.line, 3);
    assert!(found.problems[0].what.contains("envsubst"));
    let path = Path::new("/etc/nginx/nginx.conf");
    let text = "http {\n include nginx.conf;\n server { listen 80; root /srv; } }";
    let found = read(&[Text { path, text }]);
    assert_eq!(found.problems[0].place.line, 2);
    assert!(found.problems[0].what.starts_with("it takes itself in"));
}

#[test]
fn files_are_read_where_they_are_taken_in() {
    let file = |path: &'static str, text: &'static str| Text {
        path: Path::new(path),
        text,
    };
    let found = read(&[
        file(
            "/etc/nginx/nginx.conf",
            "http { include conf.d/*.conf; include /etc/nginx/a; }",
        ),
        file(
            "/etc/nginx/conf.d/b.conf",
            "server {\n listen 81; include snippets/../c; }",
        ),
        file("/etc/nginx/a", "upstream app {\n server a:1; server b:2; }"),
        file("/etc/nginx/c", "root /srv; include c;"),
        file("/etc/nginx/lost/d.conf", "server { listen 82; }"),
    ]);
    let ports: Vec<_> = found.listeners.iter().map(|it| it.port).collect();
    assert_eq!(ports, [Some(81), Some(82)]);
    assert_eq!(found.roots[0].place.file, Path::new("/etc/nginx/c"));
    let upstreams: Vec<_> = found
        .upstreams
        .iter()
        .map(|it| it.address.as_str())
        .collect();
    assert_eq!(upstreams, ["a:1", "b:2"]);
}

#[test]
fn a_default_site_that_rejects_handshakes_is_not_the_one_to_ask() {
    let text = "server { listen 443 ssl default_server; ssl_reject_handshake on; }\n\
                server { listen 8443 ssl; server_name a.test;\n\
                location / { proxy_pass http://app; } }\n\
                server { listen 80; listen 9443 ssl; ssl_reject_handshake on; }";
    let found = found(text);
    let kinds: Vec<_> = found
        .listeners
        .iter()
        .map(|it| (it.port.unwrap(), it.kind))
        .collect();
    let expected = [
        (443, ListenerKind::Aside),
        (8443, ListenerKind::Http),
        (80, ListenerKind::Http),
        (9443, ListenerKind::Aside),
    ];
    assert_eq!(kinds, expected);
    let choice = found.choice(Some(Protocol::H1Tls));
    assert_eq!(choice.host.as_deref(), Some("a.test"));
    let text = format!("http {{\n{text}\n}}\n");
    let files = [Text {
        path: Path::new("/etc/nginx/nginx.conf"),
        text: &text,
    }];
    let ways = Routes::of(&files).ways(None, true, std::iter::once("/"));
    assert!(matches!(ways[..], [Way::Upstream { .. }]), "{ways:?}");
}
