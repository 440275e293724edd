//! What rules make of lines about certificates.

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
