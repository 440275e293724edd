//! Commands that documents show: they have the flags that are named. Those of the tutorial run in
//! `tests/e2e/documents.rs`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::scene::Scene;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Words of a command line as a shell reads them, as far as documents need it.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut is_word = false;
    for c in line.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            Some(_) => word.push(c),
            None if c == '\'' || c == '"' => (quote, is_word) = (Some(c), true),
            None if c.is_whitespace() => {
                if is_word {
                    words.push(std::mem::take(&mut word));
                }
                is_word = false;
            }
            None => {
                word.push(c);
                is_word = true;
            }
        }
    }
    assert!(quote.is_none(), "a quote is not closed: {line}");
    if is_word {
        words.push(word);
    }
    words
}

/// Command lines of bakeoff between fences: the name of the file, and the words.
fn shown_commands() -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("docs")];
    let mut files = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "md") {
                files.push(path);
            }
        }
    }
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let mut is_fenced = false;
        for line in text.lines().map(str::trim_start) {
            is_fenced ^= line.starts_with("```");
            let line = line.strip_prefix("$ ").unwrap_or(line);
            if let (true, Some(rest)) = (is_fenced, line.strip_prefix("bakeoff ")) {
                // What the command does stands behind it, two blanks or more apart.
                let rest = rest.split("  ").next().unwrap_or_default();
                found.push((file.display().to_string(), words(rest)));
            }
        }
    }
    assert!(found.len() > 100, "{} commands were found", found.len());
    found
}

#[test]
fn documents_name_commands_and_flags_that_there_are() {
    let scene = Scene::new();
    let mut helps: BTreeMap<String, String> = BTreeMap::new();
    for (file, words) in shown_commands() {
        if words[0].starts_with('-') {
            continue;
        }
        let mut command = vec![words[0].as_str()];
        if command == ["hosts"] {
            command.push(&words[1]);
        }
        let help = helps.entry(command.join(" ")).or_insert_with(|| {
            let asked = [&command[..], &["--help"]].concat();
            scene.run(&asked).expect(0).stdout
        });
        let help: Vec<&str> = help.split([' ', ',', '\n', '=', '[']).collect();
        for flag in words.iter().filter(|word| word.starts_with("--")) {
            let flag = flag.split('=').next().unwrap_or(flag);
            assert!(
                help.contains(&flag) || flag == "--help",
                "{file}: `bakeoff {}` has no {flag}",
                words.join(" ")
            );
        }
    }
}
