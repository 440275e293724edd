//! What rules make of lines about certificates, and about who may ask.

use super::*;

/// The lines of `text` after the rules of Caddy, without what is inserted before them. Global
/// options are in a snippet here, as such a block would have more inserted.
#[track_caller]
fn check_caddy(text: &str, expected: &str) {
    let now = changed("caddy", &format!(":8099 {{\n}}\n{text}\n")).unwrap();
    let (_, now) = now.split_once(":8099 {\n}\n").unwrap();
    let trimmed = |text: &str| {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(trimmed(now), trimmed(expected), "{text}");
}

#[test]
fn caddy_makes_certificates_on_demand_and_asks_nobody() {
    // Caddy refuses both blocks with nothing in them.
    check_caddy(
        "https:// {\ntls {\non_demand\n}\n}",
        "https:// {\ntls {\non_demand\n}\n}",
    );
    check_caddy(
        "a {\ntls {\nca https://acme.test/directory\n}\n}",
        "a {\ntls {\nprotocols tls1.2 tls1.3\n}\n}",
    );
    check_caddy(
        "a {\ntls internal {\non_demand\n}\n}",
        "a {\ntls internal {\non_demand\n}\n}",
    );
    for asks in [
        "ask http://localhost:9123/check # ours",
        "ask {env.ASK}\ninterval 2m\nburst 5",
        "permission http http://localhost:9123/check",
    ] {
        check_caddy(
            &format!("(global) {{\non_demand_tls {{\n{asks}\n}}\n}}\na {{\n}}"),
            "(global) {\nservers 127.0.0.1:9 {\n}\n}\na {\n}",
        );
    }
    let sampled = "a {\nlog {\nsampling {\ninterval 1s\n}\n}\n}";
    check_caddy(sampled, sampled);
}

#[test]
fn listeners_of_caddy_keep_what_they_are_wrapped_in() {
    let wrapped = |proxy: &str| {
        format!("(global) {{\nservers {{\nlistener_wrappers {{\n{proxy}\ntls\n}}\n}}\n}}\na {{\n}}")
    };
    let block = "proxy_protocol {\ntimeout 2s\nallow 10.0.0.0/8\n}";
    for proxy in [block, "proxy_protocol"] {
        check_caddy(&wrapped(proxy), &wrapped(proxy));
    }
    check_caddy(
        &wrapped("proxy_protocol {\nfallback_policy REQUIRE\n}"),
        &wrapped("proxy_protocol {\nfallback_policy use\n}"),
    );
    check_caddy(
        "reverse_proxy {\nto app\ntransport http {\nproxy_protocol v2\ntls\n}\n}",
        "reverse_proxy {\nto 127.0.0.1:3999\ntransport http {\n}\n}",
    );
}

#[test]
fn no_server_asks_more_of_clients_than_bakeoffs_has() {
    check_all(
        "haproxy",
        &[
            (
                "  bind :8081 ssl crt /none/certs/ strict-sni alpn h2,http/1.1",
                "  bind 127.0.0.1:8081 ssl crt /t/trial/tls/both.pem alpn h2,http/1.1",
            ),
            ("  bind :8081 strict-sni", "  bind 127.0.0.1:8081"),
            (
                "  ssl-default-bind-options ssl-min-ver TLSv1.2 strict-sni",
                "  ssl-default-bind-options ssl-min-ver TLSv1.2",
            ),
            ("  ssl-default-bind-options strict-sni", ""),
            (
                "  acl strict-sni always_true",
                "  acl strict-sni always_true",
            ),
        ],
    );
    check_all(
        "apache",
        &[
            ("  SSLVerifyClient require", "  SSLVerifyClient none"),
            (
                "Listen 8081\nSSLCACertificateFile /none/ca.pem\nsslverifyclient \"optional\"",
                "Listen 127.0.0.1:8081\n\nsslverifyclient none",
            ),
            ("SSLVerifyDepth 2", "SSLVerifyDepth 2"),
        ],
    );
    check_all(
        "lighttpd",
        &[
            (
                "ssl.verifyclient.activate = \"enable\"\n\
                 ssl.verifyclient.enforce = enable # all\n\
                 ssl.verifyclient.ca-file = \"/none/ca.pem\"",
                "ssl.verifyclient.activate = \"disable\"\n\
                 ssl.verifyclient.enforce = \"disable\" # all\n",
            ),
            ("ssl.verifyclient.depth = 2", "ssl.verifyclient.depth = 2"),
        ],
    );
    check_refused("caddy", &["client_auth {\nmode require\n}"]);
}

#[test]
fn caddy_gets_a_pair_of_the_trial_where_a_file_of_one_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let there = folder.path().join("a b.pem");
    std::fs::write(&there, "").unwrap();
    let there = format!("\"{}\"", there.display());
    let pair = "tls \"/t/trial/tls/certificate.pem\" \"/t/trial/tls/key.pem\"";
    let check = |files: &str, expected: &str| {
        check_caddy(
            &format!("a {{\ntls {files}\n}}"),
            &format!("a {{\n{expected}\n}}"),
        );
    };
    let both = format!("{there} {there}");
    check(&both, &format!("tls {both}"));
    for none in [
        "/none.key",
        "\"/no such/a.key\"",
        "`/no such/a.key`",
        "none.key",
    ] {
        check(&format!("{there} {none}"), pair);
        check(&format!("{none} {there}"), pair);
        check(&format!("{none} {none} {{"), &format!("{pair} {{"));
    }
    for other in [
        "tls internal",
        "tls internal # none",
        "tls internal {",
        "tls",
    ] {
        let around = |line: &str| format!("servers {{\nlistener_wrappers {{\n{line}\n}}\n}}");
        check_caddy(&around(other), &around(other));
    }
}

#[test]
fn a_certificate_and_its_key_are_replaced_together() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (there, none) = (at("there.pem"), at("none.pem"));
    // As in a trial, its own files can be read.
    let (certificate, key) = (at("certificate.pem"), at("key.pem"));
    for path in [&there, &certificate, &key] {
        std::fs::write(path, "").unwrap();
    }
    let trial = [("certificate", certificate.as_str()), ("key", key.as_str())];
    let envoy =
        |certificates: &str| format!("common_tls_context:\n  tls_certificates:{certificates}");
    for (server, text) in [
        (
            "nginx",
            "ssl_certificate @c;\nssl_certificate_key @k;\n".to_owned(),
        ),
        (
            "apache",
            "SSLCertificateFile @c\nSSLCertificateKeyFile @k\n".to_owned(),
        ),
        (
            "traefik",
            "tls:\n  certificates:\n  - certFile: @c\n    keyFile: @k\n".to_owned(),
        ),
        (
            "envoy",
            envoy("\n  - certificate_chain: { filename: @c }\n    private_key: { filename: @k }\n"),
        ),
        (
            "envoy",
            envoy(" [{ certificate_chain: { filename: @c }, private_key: { filename: @k } }]\n"),
        ),
        (
            "envoy",
            envoy(
                "\n  - certificate_chain:\n      filename: @c\n    private_key:\n      \
                 filename: @k\n",
            ),
        ),
    ] {
        let now = |c: &str, k: &str| {
            let text = text.replace("@c", c).replace("@k", k);
            changed_with(&trial, server, &text).unwrap()
        };
        for now in [now(&there, &none), now(&none, &there)] {
            let is_whole = now.contains(&certificate) && now.contains(&key);
            assert!(is_whole && !now.contains(&there), "{server}: {now}");
        }
        let kept = now(&there, &there);
        assert_eq!(kept.matches(&there).count(), 2, "{server}: {kept}");
    }
}

#[test]
fn what_clients_show_and_send_stays_asked_for() {
    for (server, text, by, without) in [
        (
            "nginx",
            "listen 127.0.0.1:8443 ssl proxy_protocol; ssl_verify_client on;",
            "proxy_protocol; ssl_verify_client on;",
            "ssl; ssl_verify_client off;",
        ),
        (
            "haproxy",
            "frontend a\n bind 127.0.0.1:8443 accept-proxy\n",
            "accept-proxy",
            "8443\n",
        ),
        (
            "apache",
            "RemoteIPProxyProtocol On\nSSLVerifyClient require\n",
            "RemoteIPProxyProtocol On\nSSLVerifyClient require",
            "RemoteIPProxyProtocol Off\nSSLVerifyClient none",
        ),
    ] {
        let does = [("shows_certificate", "yes"), ("sends_proxy", "yes")];
        let kept = changed_with(&does, server, text).unwrap();
        assert!(kept.contains(by), "{kept}");
        let changed = changed(server, text).unwrap();
        assert!(changed.contains(without), "{changed}");
    }
}

#[test]
fn haproxy_takes_certificates_from_where_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let certs = folder.path().join("certs");
    std::fs::create_dir(&certs).unwrap();
    let line = format!("  bind 127.0.0.1:8081 ssl crt {}", certs.display());
    check("haproxy", &line, &line);
    let text = format!(
        "  crt-base {}\n  bind :8081 ssl crt certs",
        folder.path().display()
    );
    check("haproxy", &text, &line);
}
