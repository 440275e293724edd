//! What a file that is taken in says counts only for the block that takes it in.

use std::fs;

use super::*;

/// Rules that add what a block does not say.
fn rules() -> OwnRules {
    let table = r#"
        include = '(?:^|[;{}])\s*include\s+([^;]+);'
        [[change]]
        pattern = 'http \{'
        unless = "access_log"
        unless-in = "http"
        to = 'http { access_log ours;'
        why = 'a test'
        [[change]]
        pattern = 'server \{'
        opens = { block = "server", without = "listen" }
        to = 'server { listen ours;'
        why = 'a test'
    "#;
    toml::from_str::<OwnTable>(table).unwrap().rules().unwrap()
}

/// The text of the file `main.conf` among `files` after the rules.
fn changed(files: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("own")).unwrap();
    for (name, text) in files {
        fs::write(at(name), text).unwrap();
    }
    let main = at("main.conf");
    let (_, changed) = change(&main, &at("own"), &rules(), &[]).unwrap();
    let main = changed
        .files
        .iter()
        .find(|it| it.path.ends_with("main.conf"));
    main.unwrap().text.clone()
}

#[test]
fn a_statement_counts_only_in_the_block_that_takes_it_in() {
    let quiet = ("quiet.conf", "access_log off;\n");
    let through = ("through.conf", "include quiet.conf;\n");
    let whole = ("whole.conf", "http { include quiet.conf; }\n");
    for (text, is_added) in [
        ("http { location / { include quiet.conf; } }", true),
        ("http { location / { include through.conf; } }", true),
        ("http { location / { access_log off; } }", true),
        ("stream { include quiet.conf; }\nhttp { a; }", true),
        ("http { include none.conf; }", true),
        ("http { include quiet.conf; }", false),
        ("http { a; include \"through.conf\"; }", false),
        ("http { include 'q*.conf'; }", false),
        ("include whole.conf; http { a; }", false),
    ] {
        let now = changed(&[("main.conf", text), quiet, through, whole]);
        assert_eq!(now.contains("access_log ours"), is_added, "{text}: {now}");
    }
}

#[test]
fn a_certificate_and_a_key_of_two_files_can_be_read_together_or_not_at_all() {
    let table = r#"
        include = '(?:^|[;{}])\s*include\s+([^;]+);'
        [[change]]
        pattern = 'half (?P<own_file>[^;]+)'
        why = 'a test'
    "#;
    let rules = toml::from_str::<OwnTable>(table).unwrap().rules().unwrap();
    for (key, expected) in [("none.pem", "False"), ("main.conf", "True")] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("own")).unwrap();
        fs::write(at("main.conf"), "half main.conf; include key.conf;\n").unwrap();
        fs::write(at("key.conf"), format!("half {key};\n")).unwrap();
        let said = |_: &str, variables: &Variables| {
            let said = variables.texts(&["is_readable"]).into_values();
            said.collect()
        };
        let changed = change_by(&at("main.conf"), &at("own"), &rules, &[], &said);
        let (_, changed) = changed.unwrap();
        let texts: Vec<&str> = changed.files.iter().map(|it| it.text.as_str()).collect();
        assert!(texts[0].starts_with(&format!("{expected};")), "{texts:?}");
        assert_eq!(texts[1], format!("{expected};\n"));
    }
}

#[test]
fn a_site_is_without_a_listener_though_another_site_takes_one_in() {
    let text = "http { server { include a.conf; } server { include listen.conf; } }";
    let files = [
        ("main.conf", text),
        ("a.conf", "root /a;\n"),
        ("listen.conf", "listen 80;\n"),
    ];
    let expected = "server { listen ours; include a.conf; } server { include listen.conf; }";
    let now = changed(&files);
    assert!(now.contains(expected), "{now}");
}
