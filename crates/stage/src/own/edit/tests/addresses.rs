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

/// The ports that `text` says behind an address of this machine after the rules of `server`.
fn ports(server: &str, text: &str) -> Vec<String> {
    let now = changed(server, text).unwrap();
    let behind = now.split("127.0.0.1:").skip(1);
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect();
    behind.map(digits).collect()
}

#[test]
fn two_addresses_with_one_port_listen_at_two_ports() {
    let haproxy = "frontend a\n bind 127.0.0.2:8301\nfrontend b\n bind 127.0.0.3:8301\n\
                   listen c tcp4@127.0.0.2:8301\n bind 127.0.0.2:8301";
    let nginx = "server { listen 192.0.2.10:8301; } server { listen 192.0.2.11:8301; } \
                 server { listen 192.0.2.10:8301; }";
    for (server, text) in [("haproxy", haproxy), ("nginx", nginx)] {
        let ports = ports(server, text);
        assert_eq!(ports[0], "8301", "{server}");
        assert_ne!(ports[1], ports[0], "{server}");
        assert_eq!(ports.last(), ports.first(), "{server}");
    }
    // Each way to say every address is the same one.
    for (server, text) in [
        ("haproxy", " bind :8301\n bind *:8301\n bind 0.0.0.0:8301"),
        ("nginx", "listen 8301; listen *:8301; listen 0.0.0.0:8301;"),
    ] {
        assert_eq!(ports(server, text), ["8301"; 3], "{server}");
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
fn a_site_without_a_listener_listens_on_this_machine_only() {
    let text = "http {\n  server\n  {\n    root /;\n  }\n  \
                server { a b; } server { listen 8081; }\n  \
                map $a $b { default 1; }\n}\n";
    let now = changed("nginx", text).unwrap();
    let lines: Vec<&str> = now.lines().collect();
    let added = |line: &str| line.matches("listen 127.0.0.1:").count();
    let counts: Vec<usize> = lines.iter().map(|line| added(line)).collect();
    assert_eq!(counts, [0, 0, 1, 0, 0, 2, 0, 0], "{now}");
    assert!(lines[5].contains("{ listen 127.0.0.1:8081; }"), "{now}");
    let said = "server {\n  listen unix:/x/a.sock;\n}\n";
    let kept = changed("nginx", said).unwrap();
    assert_eq!(
        kept,
        "server {\n  listen \"unix:/t/trial/run/a.sock\";\n}\n"
    );
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
