//! Caddyfiles as people write them.

use std::path::Path;

use super::*;
use crate::found::add;

fn of(text: &str) -> Found {
    let path = Path::new("Caddyfile");
    read(&[Text { path, text }])
}

/// Port, names, kind and whether it speaks TLS, of each listener.
fn listeners(found: &Found) -> Vec<(u16, String, ListenerKind, bool)> {
    let row = |it: &Listener| {
        let has_tls = it.protocols.contains(&Protocol::H1Tls);
        (it.port.unwrap_or(0), it.hosts.join(" "), it.kind, has_tls)
    };
    found.listeners.iter().map(row).collect()
}

#[track_caller]
fn check(text: &str, expected: &[(u16, &str, ListenerKind, bool)]) {
    let expected = expected.iter();
    let expected: Vec<_> = expected
        .map(|it| (it.0, it.1.to_owned(), it.2, it.3))
        .collect();
    assert_eq!(listeners(&of(text)), expected, "{text}");
}

#[test]
fn an_address_says_port_name_and_tls() {
    use ListenerKind::{Http, Redirect};
    check(":80 {\n\trespond hi\n}\n", &[(80, "", Http, false)]);
    check(":8080\nfile_server\n", &[(8080, "", Http, false)]);
    check(
        "example.com, www.example.com {\n\trespond hi\n}\n",
        &[
            (443, "example.com www.example.com", Http, true),
            (80, "example.com www.example.com", Redirect, false),
        ],
    );
    check(
        "a.test,\nb.test:8443 {\n\trespond hi\n}\n",
        &[
            (443, "a.test", Http, true),
            (8443, "b.test", Http, true),
            (80, "a.test b.test", Redirect, false),
        ],
    );
    check(
        "http://a.test {\n\trespond hi\n}\n",
        &[(80, "a.test", Http, false)],
    );
    check(
        "{\n\tauto_https off\n}\na.test {\n\trespond hi\n}\n",
        &[(80, "a.test", Http, false)],
    );
    check(
        "{$DOMAIN} {\n\trespond hi\n}\nhttp://a.test {\n\tredir https://a.test{uri}\n}\n",
        &[
            (443, "example.com", Http, true),
            (80, "a.test", Redirect, false),
        ],
    );
    check(
        "(snippet) {\n\tencode gzip\n}\n:80 {\n\timport snippet\n}\n",
        &[(80, "", Http, false)],
    );
}

#[test]
fn directives_say_what_it_serves_asks_and_writes() {
    let found = of(
        "{\n\torder rate_limit before basicauth\n\tacme_dns cloudflare {env.T}\n}\n\
        {$SITE:a.test} {\n\troot * /srv/www\n\tphp_fastcgi unix//run/php.sock\n\
        \thandle /api/* {\n\t\treverse_proxy /api/* api:9000 h2c://b:1 {\n\
        \t\t\tto c:2\n\t\t}\n\t}\n\
        \thandle {\n\t\treverse_proxy d:3 {\n\t\t\ttransport fastcgi {\n\t\t\t}\n\t\t}\n\t}\n\
        \ttls /etc/a.pem /etc/a.key\n\tlog {\n\t\toutput file /var/log/a.log\n\t}\n}\n",
    );
    let texts = |named: &[Named]| -> Vec<String> {
        named
            .iter()
            .map(|it| format!("{}:{}", it.place.line, it.text))
            .collect()
    };
    assert_eq!(texts(&found.roots), ["6:/srv/www"]);
    assert_eq!(texts(&found.logs), ["21:/var/log/a.log"]);
    assert_eq!(
        texts(&found.certificates),
        ["19:/etc/a.pem", "19:/etc/a.key"]
    );
    assert_eq!(
        texts(&found.modules),
        ["2:rate_limit", "3:dns.providers.cloudflare"]
    );
    assert_eq!(
        texts(&found.placeholders),
        ["3:{env.T}", "5:{$SITE:a.test}"]
    );
    let upstreams: Vec<_> = found
        .upstreams
        .iter()
        .map(|it| (it.kind, &*it.address))
        .collect();
    let (http, php) = (UpstreamKind::Http, UpstreamKind::FastCgi);
    let expected = [
        (php, "unix//run/php.sock"),
        (http, "api:9000"),
        (http, "h2c://b:1"),
        (http, "c:2"),
        (php, "d:3"),
    ];
    assert_eq!(upstreams, expected);
}

#[test]
fn http_2_is_listed_only_where_it_is_spoken() {
    use Protocol::{H1Tls, H2, H3};
    let site = "https://a.test:8443 {\n\ttls internal {\n\t\talpn http/1.1\n\t}\n}\n";
    let plain = "https://a.test:8443 {\n\trespond hi\n}\n";
    let servers =
        |of: &str, said: &str| format!("{{\n\tservers {of} {{\n\t\tprotocols {said}\n\t}}\n}}\n");
    for (options, site, expected) in [
        (String::new(), plain, &[H1Tls, H2, H3][..]),
        (String::new(), site, &[H1Tls, H3]),
        (servers("", "h1"), plain, &[H1Tls]),
        (servers("", "h1 h2"), plain, &[H1Tls, H2]),
        (servers(":8443", "h1 h3"), plain, &[H1Tls, H3]),
        (servers(":8444", "h1"), plain, &[H1Tls, H2, H3]),
    ] {
        let found = of(&format!("{options}{site}"));
        assert_eq!(found.listeners[0].protocols, expected, "{options}{site}");
    }
    let adapted = |more: &str| {
        let routes = r#"[{"match":[{"host":["a.test"]}]}]"#;
        let server = format!(r#"{{"listen":[":8443"],"routes":{routes}{more}}}"#);
        format!(r#"{{"apps":{{"http":{{"servers":{{"srv0":{server}}}}}}}}}"#)
    };
    let policies = r#","tls_connection_policies":[{"match":{"sni":["b.test"]},"alpn":["h2"]},
        {"match":{"sni":["a.test"]},"alpn":["http/1.1"]},{}]"#;
    for (more, expected) in [
        ("", &[H1Tls, H2, H3][..]),
        (r#","protocols":["h1"]"#, &[H1Tls]),
        (policies, &[H1Tls, H3]),
    ] {
        let mut found = of(plain);
        adapted::take(&mut found, &adapted(more).replace('\n', ""));
        assert_eq!(found.listeners[0].protocols, expected, "{more}");
    }
}

#[test]
fn where_keys_are_stored_is_no_document_root() {
    let found = of("{\n\tstorage file_system {\n\t\troot /keys\n\t}\n}\n\
        :80 {\n\troot * /srv\n\tfile_server\n}\n");
    let roots: Vec<&str> = found.roots.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(roots, ["/srv"]);
}

#[test]
fn what_is_taken_in_may_be_sites_or_parts_of_them() {
    let text = |path: &'static str, text: &'static str| Text {
        path: Path::new(path),
        text,
    };
    let found = read(&[
        text("Caddyfile", "a.test {\n\timport parts\n}\nimport sites/*\n"),
        text("parts", "encode gzip\nreverse_proxy app:1\n"),
        text("sites/b", "b.test {\n\treverse_proxy app:2\n}\n"),
    ]);
    assert_eq!(found.listeners[0].hosts, ["a.test", "b.test"]);
    assert_eq!(found.upstreams.len(), 2);
    assert_eq!(
        found.upstreams[1].place,
        Place {
            file: "sites/b".into(),
            line: 2
        }
    );
}

#[test]
fn what_the_program_says_of_listeners_is_what_counts() {
    let routes = r#"[{"match":[{"host":["a.test"]}],"handle":[{"handler":"subroute","routes":[
        {"match":[{"path":["/api/*"]}],"handle":[{"handler":"reverse_proxy"}]}]}]}]"#;
    let redirect = r#"[{"handle":[{"handler":"static_response","status_code":302,
        "headers":{"Location":["https://a.test"]}}]}]"#;
    let servers = format!(
        r#"{{"srv0":{{"listen":[":443"],"routes":{routes}}},
            "srv1":{{"listen":[":8080"],"routes":{redirect}}},
            "srv2":{{"listen":[":8090"],"automatic_https":{{"skip":["a.test"]}},
                "routes":{routes}}}}}"#
    );
    let adapted = format!(r#"{{"apps":{{"http":{{"servers":{servers}}}}}}}"#).replace('\n', "");
    let adapted = &format!("{{\"level\":\"warn\"}}\n{adapted}\n");
    let mut found = of("a.test {\n\timport unknown\n}\n:8080 {\n}\n");
    adapted::take(&mut found, adapted);
    use ListenerKind::{Http, Redirect};
    let expected = [
        (443, "a.test".to_owned(), Http, true),
        (8080, String::new(), Redirect, false),
        (8090, "a.test".to_owned(), Http, false),
        (80, "a.test".to_owned(), Redirect, false),
    ];
    assert_eq!(listeners(&found), expected);
    assert_eq!(found.path.as_deref(), Some("/api/"));
    assert_eq!(found.listeners[0].place.line, 1);
    let before = found.clone();
    for text in ["", "{", "Error: adapting", "{\"apps\":[]}", "{}"] {
        adapted::take(&mut found, text);
        assert_eq!(found, before, "{text}");
    }
}

#[test]
fn no_more_is_kept_than_a_reader_could_want() {
    let mut things = Vec::new();
    (0..10_000).for_each(|number| add(&mut things, number));
    assert!(things.len() < 1000);
    let deep = "a {\n".repeat(100_000);
    let _ = of(&deep);
}

#[test]
fn the_upstream_of_a_snippet_is_what_its_imports_name() {
    let found = of(
        "(proxy) {\n\treverse_proxy {args[0]} x:1\n}\na.test {\n\timport proxy localhost:9000\n}\n\
         b.test {\n\timport proxy b:1\n}\n(other) {\n\treverse_proxy {args[0]}\n}\n",
    );
    let upstreams: Vec<_> = found
        .upstreams
        .iter()
        .map(|it| it.address.as_str())
        .collect();
    assert_eq!(upstreams, ["x:1", "localhost:9000", "b:1"]);
}
