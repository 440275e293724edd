//! Readers of outside texts, for tests and fuzzing. They render no template and start nothing.

use std::path::Path;

use bakeoff_plan::Protocol;

use crate::found::{Found, Text};
use crate::own::{Leads, with_leads};
use crate::server::{Files, Server};

/// Servers whose users' configurations are read.
const READ: [&str; 9] = [
    "apache", "caddy", "envoy", "h2o", "haproxy", "lighttpd", "nginx", "traefik", "varnish",
];

/// Reads `text` as what a container engine says.
pub fn engine(text: &str) {
    let _ = crate::engine::image(text);
    let _ = crate::engine::last_words(text);
    for seen in crate::engine::containers(text).unwrap_or_default() {
        let is_id = |id: &str| id.chars().all(|c| c.is_ascii_hexdigit());
        assert!(is_id(&seen.id) && is_id(&seen.image), "{seen:?}");
    }
}

/// Reads `text` as a `server.toml`, and uses what it says. It may be refused, but nothing panics.
pub fn server_description(text: &str) {
    let Ok(server) = Server::parse("fuzzed", text, Files::Embedded(&[])) else {
        return;
    };
    let _ = server.ways_to_install(Some("1.2"));
    let _ = server.variants().count();
    for source in server.sources() {
        let name = source.to_string();
        assert!(
            !name.contains('\n'),
            "a source's name is one line: {name:?}"
        );
        let Some(known) = source.known() else {
            continue;
        };
        for wanted in [None, Some("1"), Some("1.2.3")] {
            if let Some(version) = known.newest(wanted, crate::version::carried) {
                let is_word = |text: &str| !text.contains(|c: char| c.is_whitespace());
                assert!(is_word(version.version), "{:?}", version.version);
                assert!(version.digests().iter().all(|digest| is_word(digest)));
            }
        }
        let _ = known.names();
    }
    // Its patterns meet any text: the one that they stand in will do.
    let _ = server.version_pattern.captures(text);
    let _ = server.identity.as_ref().map(|it| it.is_match(text));
    let _ = server.own.base_of(Path::new("/etc/fuzzed.conf"), text);
    for line in text.lines() {
        let _ = server.own.included(line);
    }
}

/// Reads `text` as a user's own configuration of each server that has a reader, and asks what to
/// ask of it; and as a compose file.
pub fn found(text: &str) {
    let path = Path::new("fuzzed.conf");
    let _ = crate::compose::compose(Path::new("/nowhere/compose.yaml"), text);
    for server in READ {
        let mut found = Found::read(server, &[Text { path, text }]);
        assert_eq!(with_leads(text, &Leads::new(), Path::new("/there")), text);
        // What is no answer of a program changes nothing.
        found.adapt(server, text);
        crate::boxed::fuzz(&found);
        let choice = found.choice(None);
        assert!(
            choice.path.starts_with('/') || found.path.is_some(),
            "{choice:?}"
        );
        for protocol in Protocol::ALL {
            let _ = found.choice(Some(protocol));
        }
        let lines = text.lines().count();
        let places = found.listeners.iter().map(|it| &it.place);
        places.for_each(|place| assert!(place.line <= lines, "{place:?}"));
    }
}
