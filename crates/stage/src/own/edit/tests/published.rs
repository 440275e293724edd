//! Files as people publish them, for other machines and other versions.

use super::*;

/// Whether a line of what `text` becomes is `expected`.
#[track_caller]
fn becomes(own: &[(&str, &str)], server: &str, text: &str, expected: &str) {
    let now = changed_with(own, server, text).unwrap();
    let is_there = now.lines().any(|line| line.trim() == expected);
    assert!(is_there, "{text}: no `{expected}` in\n{now}");
}

#[test]
fn http3_is_said_as_each_version_of_nginx_says_it() {
    let port = free_port();
    let own = |parameter: &str| format!("server {{\n  listen {port} {parameter} reuseport;\n}}\n");
    for parameter in ["http3", "quic"] {
        let old = changed_with(&[("version", "1.22.1")], "nginx", &own(parameter)).unwrap();
        assert!(
            !old.contains("reuseport") && !old.contains("http3"),
            "{old}"
        );
        let quic = format!("listen 127.0.0.1:{port} quic reuseport;");
        becomes(&[("version", "1.28.0")], "nginx", &own(parameter), &quic);
    }
    let old = "server { listen 8443 ssl; http3 on; http3_hq on; quic_retry on; root /srv; }\n";
    let now = changed_with(&[("version", "1.22.1")], "nginx", old).unwrap();
    assert!(
        !now.contains("http3") && !now.contains("quic") && now.contains("listen"),
        "{now}"
    );
}

#[test]
fn an_alias_of_a_missing_folder_is_that_of_the_trial() {
    for (line, expected) in [
        ("alias /no/such/;", "alias \"/t/trial/overlay/\";"),
        ("alias /no/such;", "alias \"/t/trial/overlay/such\";"),
        ("alias \"/no/a.ico\";", "alias \"/t/trial/overlay/a.ico\";"),
        ("alias /no/such/$1;", "alias \"/t/trial/overlay/$1\";"),
        ("alias /no/$a/$2;", "alias \"/t/trial/overlay/$a/$2\";"),
        ("alias /usr/share/;", "alias /usr/share/;"),
    ] {
        becomes(&[], "nginx", &format!("server {{\n{line}\n}}\n"), expected);
    }
    let lighttpd = "alias.url = ( \"/s/\" => \"/no/such/\" )";
    becomes(
        &[],
        "lighttpd",
        lighttpd,
        "alias.url = ( \"/s/\" => \"/t/trial/overlay/\" )",
    );
    for line in ["Alias /s/ /no/such/", "Alias \"/s/\" \"/no/such/\""] {
        let begin = line.split("/no").next().unwrap().trim_end_matches('"');
        becomes(
            &[],
            "apache",
            line,
            &format!("{begin}\"/t/trial/overlay/\""),
        );
    }
}

#[test]
fn a_missing_root_is_that_of_the_trial() {
    let root = "server.document-root = \"/t/trial/overlay\"";
    becomes(&[], "lighttpd", "server.document-root = \"/no/such\"", root);
    let joined = "var.top = \"/no\"\nserver.document-root = var.top + \"/such\"\n";
    becomes(&[], "lighttpd", joined, root);
    becomes(&[], "lighttpd", "server.modules = ( \"mod_proxy\" )", root);
    let apache = "DocumentRoot \"/no/such\"\n<Directory /no/such/>\n</Directory>\n\
                  <Directory /no/such/private>\n</Directory>\n";
    becomes(&[], "apache", apache, "DocumentRoot \"/t/trial/overlay\"");
    becomes(&[], "apache", apache, "<Directory /no/such/private>");
    let now = changed("apache", apache).unwrap();
    assert_eq!(
        now.matches("<Directory \"/t/trial/overlay\">").count(),
        2,
        "{now}"
    );
    becomes(
        &[],
        "caddy",
        ":8080\nfile_server browse\n",
        "root * \"/t/trial/own/etc\"",
    );
}

#[test]
fn a_caddyfile_without_braces_has_its_addresses_in_its_first_line() {
    for (line, count) in [
        (":80", 1),
        ("localhost:80, app.test:80", 2),
        ("localhost:80 app.test:80 # both", 2),
        ("app.test:80 localhost:80", 2),
        ("http://localhost:80", 1),
        ("localhost, app.test:80", 1),
        ("[::1]:80", 1),
        ("*.app.test:80/api", 1),
    ] {
        let now = changed("caddy", &format!("{line}\nrespond hello\n")).unwrap();
        let words = now.lines().rev().nth(1).unwrap().to_owned();
        let words: Vec<&str> = words.split([' ', ',']).collect();
        assert!(
            !words
                .iter()
                .any(|it| it.ends_with(":80") || it.contains(":80/")),
            "{now}"
        );
        let mapped = words
            .iter()
            .filter(|it| it.rsplit(':').next().is_some_and(|it| it.len() > 3));
        assert!(mapped.count() >= count, "{now}");
    }
    check(
        "caddy",
        ":8080\nredir https://a.test:80/x",
        "redir https://a.test:80/x",
    );
}

#[test]
fn a_virtual_host_alone_gets_what_its_main_file_would_say() {
    let site = "<VirtualHost *:80>\n  DocumentRoot /usr/share\n</VirtualHost>\n";
    let now = changed(
        "apache",
        &format!("{site}{site}<VirtualHost *>\n</VirtualHost>\n"),
    )
    .unwrap();
    assert!(
        now.contains("LoadModule mpm_event_module \"/m/mod_mpm_event.so\""),
        "{now}"
    );
    // Each port is listened at once.
    assert_eq!(
        now.matches("<IfDefine !bakeoff80>\nDefine bakeoff80\nListen 127")
            .count(),
        3
    );
    let port = now
        .split("Listen 127.0.0.1:")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap();
    assert!(port.parse::<u16>().unwrap() > 1023, "{port}");
    assert_eq!(
        now.matches(&format!("<VirtualHost *:{port}>")).count(),
        2,
        "{now}"
    );
    let whole = changed("apache", &format!("LoadModule a b\nListen 80\n{site}")).unwrap();
    assert!(
        !whole.contains("IfDefine") && !whole.contains("mpm_event"),
        "{whole}"
    );
}

#[test]
fn envoy_listens_and_asks_as_a_trial_does() {
    let port = free_port();
    let text = |at: &str, upstream: &str| {
        format!(
            "static_resources:\n  listeners:\n  - address:\n{at}\n  clusters:\n  - name: a\n    \
             http2_protocol_options: {{}}\n    load_assignment:\n      endpoints:\n\
             {upstream}\nadmin:\n  address:\n    socket_address:\n      address: 0.0.0.0\n      \
             port_value: 80\n"
        )
    };
    let inline = text(
        &format!("      socket_address: {{ address: 0.0.0.0, port_value: {port} }}"),
        "      - x: { socket_address: { address: app, port_value: 80 } }",
    );
    let listens = format!("socket_address: {{ address: \"127.0.0.1\", port_value: {port} }}");
    becomes(&[], "envoy", &inline, &listens);
    let asks = "- x: { socket_address: { address: \"127.0.0.1\", port_value: 3999 } }";
    becomes(&[], "envoy", &inline, asks);
    becomes(&[], "envoy", &inline, "http_protocol_options: {}");
    let blocks = text(
        &format!("      socket_address:\n        address: '::'\n        port_value: {port}"),
        "      - address:\n          socket_address:\n            address: app.test\n            \
         port_value: 443 # there",
    );
    becomes(&[], "envoy", &blocks, "address: \"::1\"");
    becomes(&[], "envoy", &blocks, &format!("port_value: {port}"));
    becomes(&[], "envoy", &blocks, "port_value: 3999 # there");
    let now = changed("envoy", &blocks).unwrap();
    assert!(
        !now.contains("0.0.0.0") && !now.contains("port_value: 80\n"),
        "{now}"
    );
    let tls = "static_resources:\n  clusters:\n  - transport_socket:\n      typed_config:\n        \
               '@type': type.googleapis.com/envoy.x.tls.v3.UpstreamTlsContext\n";
    assert!(
        changed("envoy", tls)
            .unwrap_err()
            .contains("remove the `transport_socket`")
    );
}

#[test]
fn traefik_listens_and_asks_as_a_trial_does() {
    let port = free_port();
    for (text, expected) in [
        (
            format!("entryPoints:\n  web:\n    address: \":{port}\"\n"),
            format!("address: \"127.0.0.1:{port}\""),
        ),
        (
            format!("[entryPoints.web]\naddress = \"0.0.0.0:{port}/tcp\"\n"),
            format!("address = \"127.0.0.1:{port}/tcp\""),
        ),
        (
            format!("entryPoints: {{ web: {{ address: ':{port}' }} }}\n"),
            format!("entryPoints: {{ web: {{ address: \"127.0.0.1:{port}\" }} }}"),
        ),
        (
            "http:\n  services:\n    a:\n      loadBalancer:\n        servers:\n        - url: \
             http://app:80/\n"
                .to_owned(),
            "- url: \"http://127.0.0.1:3999\"".to_owned(),
        ),
        (
            "[[http.services.a.loadBalancer.servers]]\n  url = \"https://10.0.0.1\"\n".to_owned(),
            "url = \"http://127.0.0.1:3999\"".to_owned(),
        ),
        (
            "providers:\n  file:\n    filename: ./dynamic.yml\n".to_owned(),
            "filename: \"/t/trial/own/etc/./dynamic.yml\"".to_owned(),
        ),
        (
            "http:\n  routers:\n    a:\n      tls: { certResolver: le }\n".to_owned(),
            "tls: { options: \"default\" }".to_owned(),
        ),
        (
            "api:\n  insecure: true\n".to_owned(),
            "insecure: false".to_owned(),
        ),
    ] {
        becomes(&[], "traefik", &text, &expected);
    }
}

/// A port that stays as it is.
fn free_port() -> u16 {
    crate::prepared::free_port().unwrap()
}
