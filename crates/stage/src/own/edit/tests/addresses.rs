//! Where servers listen: on a machine without an address of version 6, and by global options. And
//! an upstream at such an address.

use super::*;

#[test]
fn what_listens_at_version_6_listens_beside_what_does_at_version_4() {
    let without = [("address6", "127.0.0.6"), ("ip6", "127.0.0.6")];
    for (server, text, expected) in [
        (
            "nginx",
            "server { listen 8081; listen [::]:8081; }",
            "server { listen 127.0.0.1:8081; listen 127.0.0.6:8081; }",
        ),
        (
            "apache",
            "Listen 8081\nListen [::]:8081",
            "Listen 127.0.0.1:8081\nListen 127.0.0.6:8081",
        ),
        (
            "haproxy",
            "  bind *:8081,[::]:8081 v6only",
            "  bind 127.0.0.1:8081,127.0.0.6:8081 v6only",
        ),
        (
            "haproxy",
            "  bind quic6@:8081,quic4@:8081",
            "  bind quic4@127.0.0.6:8081,quic4@127.0.0.1:8081",
        ),
        (
            "lighttpd",
            "server.bind = \"::\"\n$SERVER[\"socket\"] == \"[::]:8081\" {\n}",
            "server.bind = \"127.0.0.6\"\n$SERVER[\"socket\"] == \"127.0.0.6:8081\" {\n}",
        ),
    ] {
        let now = changed_with(&without, server, text).unwrap();
        assert!(now.trim_end().ends_with(expected), "{server}: {now}");
    }
}

#[test]
fn an_upstream_of_version_6_is_written_without_brackets_where_it_stands_alone() {
    let line = "proxy.server = ( \"\" => ( ( \"host\" => \"10.0.0.1\" ) ) )";
    let now = changed_with(&[("origin", "[fd00::5]:3999")], "lighttpd", line).unwrap();
    let expected = "\"host\" => \"fd00::5\", \"port\" => 3999,";
    assert!(now.contains(expected), "{now}");
}

#[test]
fn global_options_of_caddy_are_one_block() {
    for begin in ["{", "{ # Global options"] {
        let now = changed("caddy", &format!("{begin}\n\tdebug\n}}\na {{\n}}\n")).unwrap();
        assert!(now.starts_with(&format!("{begin}\n")), "{now}");
        assert_eq!(
            now.lines().filter(|line| line.starts_with('{')).count(),
            1,
            "{now}"
        );
        assert!(now.contains("\tdefault_bind 127.0.0.1\n"), "{now}");
    }
}

#[test]
fn options_of_caddy_for_one_address_are_for_where_the_trial_listens() {
    for address in [":8443", "a.test:8443", "[::]:8443", "\":8443\""] {
        let text = format!("{{\n\tservers {address} {{\n\t}}\n}}\n:8443 {{\n}}\n");
        let now = changed("caddy", &text).unwrap();
        assert!(now.contains("\tservers 127.0.0.1:8443 {\n"), "{now}");
    }
    for line in ["servers {", "\tservers 127.0.0.1:8443 {"] {
        check("caddy", &format!(":8081 {{\n}}\n{line}"), line);
    }
    check_refused(
        "caddy",
        &["\tservers unix//a.sock {", "servers :8000-8010 {"],
    );
    let now = changed("caddy", "{\n\tservers :80 {\n\t}\n}\n:80 {\n}\n").unwrap();
    let mapped = |line: &&str| line.contains(":") && line.ends_with('{');
    let ports: Vec<&str> = now.lines().filter(mapped).collect();
    let port = |line: &str| line.rsplit(':').next().map(str::to_owned);
    assert_eq!(ports.len(), 2, "{now}");
    assert_eq!(port(ports[0]), port(ports[1]), "{now}");
}
