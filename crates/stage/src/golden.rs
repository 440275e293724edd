//! Golden files: every template of the embedded servers, rendered with fixed values, as the
//! server would read it. `BAKEOFF_BLESS=1` writes them anew.

use std::path::Path;

use bakeoff_plan::{Connections, Content, Encoding, Expected, Protocol, Request, Workload};

use crate::listening::Listening;
use crate::servers::Servers;
use crate::template;
use crate::variables::Variables;

pub(crate) fn workload(name: &str, protocol: Protocol) -> Workload {
    Workload {
        name: name.to_owned(),
        description: String::new(),
        template: name.to_owned(),
        protocol,
        requests: Request {
            method: "GET".to_owned(),
            path: "/".to_owned(),
            headers: Vec::new(),
            placeholders: false,
            secret_headers: Vec::new(),
            weight: 1,
            body: None,
            expect: Expected {
                status: 200,
                body: Some(Content::Text(String::new())),
                encoding: Encoding::Identity,
                known_by: bakeoff_plan::KnownBy::Plan,
            },
        }
        .into(),
        connections: Connections::default(),
        client: bakeoff_plan::Client::default(),
        values: None,
        files: Vec::new(),
        proxied: false,
        origin: None,
        notes: Vec::new(),
    }
}

fn variables(server: &crate::Server, protocol: Protocol) -> Variables {
    let mut variables = Variables::default();
    for (name, value) in &server.description.variables {
        variables.set(name, value.clone());
    }
    Listening::default().set_variables(&mut variables);
    variables.set("port", 8080);
    variables.set("status_port", 8082);
    variables.set("root", "/run/trial/root");
    variables.set("run", "/run/trial/run");
    variables.set("config", "/run/trial/config");
    variables.set("log", "/run/trial/server.log");
    variables.set_address("origin", "127.0.0.1:8081");
    variables.set("workers", 1);
    variables.set("cpus", vec![1_usize]);
    variables.set("is_root", true);
    variables.set("protocol", protocol.name());
    variables.set("tls", protocol.is_secure());
    variables.set("h2", protocol.is_h2());
    variables.set("h3", protocol.is_h3());
    variables.set("action", "");
    if protocol.is_secure() {
        variables.set("certificate", "/run/trial/tls/certificate.pem");
        variables.set("key", "/run/trial/tls/key.pem");
        variables.set(
            "certificate_and_key",
            "/run/trial/tls/certificate-and-key.pem",
        );
    }
    variables
}

#[test]
fn configurations_are_as_they_were() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let bless = std::env::var_os("BAKEOFF_BLESS").is_some();
    let mut seen = Vec::new();
    for (name, version) in [
        ("nginx", "1.22.1"),
        ("caddy", "2.11.7"),
        ("haproxy", "2.6.12"),
        ("h2o", "2.2.5"),
        ("apache", "2.4.62"),
        ("envoy", "1.40.0"),
        ("lighttpd", "1.4.69"),
        ("traefik", "3.7.15"),
        ("varnish", "7.1.1"),
    ] {
        let server = Servers::new(None).find(name).unwrap();
        for (variant, templates) in &server.description.templates {
            // The protocol is a matter of the files that all of a server's templates include: one
            // of them shows it.
            let shown = ["synthetic", "proxy"].map(str::to_owned);
            let shown = shown.iter().find(|name| templates.contains_key(*name));
            for workload_name in templates.keys() {
                for protocol in Protocol::ALL {
                    let asked = workload(workload_name, protocol);
                    if protocol != Protocol::H1 && shown != Some(workload_name) {
                        continue;
                    }
                    let Ok(template) = server.template(variant, &asked) else {
                        continue;
                    };
                    let context = template::Context {
                        version,
                        configuration: "",
                        files: &server,
                    };
                    let variables = variables(&server, protocol);
                    let text = template::render(&template.text, &variables, &context).unwrap();
                    let file = match protocol {
                        Protocol::H1 => format!("{name}-{variant}-{workload_name}.txt"),
                        other => format!("{name}-{variant}-{workload_name}-{}.txt", other.name()),
                    };
                    if bless {
                        std::fs::write(folder.join(&file), &text).unwrap();
                    }
                    let golden = std::fs::read_to_string(folder.join(&file)).unwrap_or_default();
                    assert_eq!(text, golden, "{file}; BAKEOFF_BLESS=1 accepts the change");
                    seen.push(file);
                }
            }
        }
    }
    let entries = std::fs::read_dir(&folder).unwrap().flatten();
    let mut there: Vec<String> = entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    there.sort();
    seen.sort();
    assert_eq!(there, seen, "a golden file without a template");
}

/// Upstreams on other hosts may have an address of version 6: in brackets before a port, without
/// them where it stands alone.
#[test]
fn an_upstream_of_version_6_is_written_as_each_server_reads_it() {
    let whole = "[fd00::5]:43210";
    for (name, version, expected) in [
        ("nginx", "1.22.1", [whole, whole]),
        ("caddy", "2.11.7", [whole, whole]),
        ("haproxy", "2.6.12", [whole, whole]),
        ("h2o", "2.2.5", [whole, whole]),
        ("apache", "2.4.62", [whole, whole]),
        ("traefik", "3.7.15", [whole, whole]),
        (
            "envoy",
            "1.40.0",
            ["address: \"fd00::5\"", "port_value: 43210"],
        ),
        (
            "lighttpd",
            "1.4.69",
            ["\"host\" => \"fd00::5\"", "\"port\" => 43210,"],
        ),
        (
            "varnish",
            "7.1.1",
            [".host = \"fd00::5\";", ".port = \"43210\";"],
        ),
    ] {
        let server = Servers::new(None).find(name).unwrap();
        let proxy = workload("proxy", Protocol::H1);
        let template = server.template("default", &proxy).unwrap();
        let context = template::Context {
            version,
            configuration: "",
            files: &server,
        };
        let mut variables = variables(&server, Protocol::H1);
        variables.set_address("origin", whole);
        let text = template::render(&template.text, &variables, &context).unwrap();
        for words in expected {
            assert!(text.contains(words), "{name}: no `{words}` in {text}");
        }
    }
}

/// Go finds out the processors and a quota by itself, and a value turns that off.
#[test]
fn what_is_written_in_go_chooses_its_processors_itself() {
    for name in ["caddy", "traefik"] {
        let server = Servers::new(None).find(name).unwrap();
        let environment = &server.description.environment;
        assert!(!environment.contains_key("GOMAXPROCS"), "{environment:?}");
    }
}

/// Debian's folder is the default, and no other system has its modules there.
#[test]
fn apache_says_how_to_name_the_folder_of_its_modules() {
    let apache = Servers::new(None).find("apache").unwrap();
    let context = template::Context {
        version: "2.4.62",
        configuration: "",
        files: &apache,
    };
    let folder = "/usr/lib/apache2/modules";
    let hint_for = |module: &str| {
        let message = format!("Syntax error on line 9: Cannot load {folder}/{module} into server");
        let (hint, words, _) = apache.own.hint(&message).unwrap();
        template::render(hint, &words, &context).unwrap()
    };
    for module in ["mod_unixd.so", "mod_mpm_event.so"] {
        let hint = hint_for(module);
        assert!(
            hint.contains(folder) && hint.contains("overlay = {"),
            "{hint}"
        );
    }
    let hint = hint_for("mod_brotli.so");
    assert!(hint.contains("install the package"), "{hint}");
}

/// `-e` came with 1.19.5; an older nginx refuses it, which reads as a rejected configuration.
#[test]
fn nginx_gets_no_switch_that_its_version_lacks() {
    let nginx = Servers::new(None).find("nginx").unwrap();
    let mut variables = variables(&nginx, Protocol::H1);
    variables.set("binary", "/usr/sbin/nginx");
    let description = &nginx.description;
    let check = &description.check.as_ref().unwrap().command;
    let reads = &nginx.own.foreign.reads.as_ref().unwrap().command;
    for (version, configuration, has_switch, has_log) in [
        ("1.18.0", "", false, true),
        ("1.18.0", "error_log stderr;", false, false),
        ("1.19.5", "", true, false),
        ("1.28.3", "", true, false),
    ] {
        let context = template::Context {
            version,
            configuration,
            files: &nginx,
        };
        for command in [check, &description.start.command, reads] {
            let rendered = command
                .iter()
                .map(|template| template::render(template, &variables, &context));
            let arguments: Vec<String> = rendered.map(Result::unwrap).collect();
            let is_switch = |argument: &String| argument.starts_with("-e");
            assert_eq!(arguments.iter().any(is_switch), has_switch, "{arguments:?}");
            let directives = arguments.last().unwrap();
            let log = directives.contains("; error_log stderr;");
            assert_eq!(log, has_log, "{arguments:?}");
        }
    }
}
