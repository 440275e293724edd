//! Links between documents: the file must be there, and the heading in it.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::files::{all, root};
use crate::rules::Offence;

/// Relative links of every document that lead nowhere.
pub(crate) fn broken() -> Vec<Offence> {
    let mut offences = Vec::new();
    for path in all().into_iter().filter(|path| path.ends_with(".md")) {
        let text = fs::read_to_string(root().join(&path)).expect("a listed file can be read");
        for (line, target) in links(&text) {
            if let Err(text) = follow(&path, &target) {
                offences.push(Offence {
                    rule: "links",
                    path: path.clone(),
                    line,
                    text,
                });
            }
        }
    }
    offences
}

/// Line, from 1, and target of each link outside code that leads to no other site.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        fenced ^= line.trim_start().starts_with("```");
        if fenced {
            continue;
        }
        // Every other part between backquotes is code.
        let prose: String = line.split('`').step_by(2).collect();
        let targets = prose
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next());
        let here = targets.filter(|target| !target.contains("://"));
        found.extend(here.map(|target| (index + 1, target.to_owned())));
    }
    found
}

fn follow(from: &str, target: &str) -> Result<(), String> {
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let folder = Path::new(from).parent().unwrap_or(Path::new(""));
    let path = if file.is_empty() {
        PathBuf::from(from)
    } else {
        plain(&folder.join(file))
    };
    let Ok(text) = fs::read(root().join(&path)) else {
        let there = root().join(&path).is_dir() && heading.is_empty();
        return if there {
            Ok(())
        } else {
            Err(format!("{target}: there is no such file"))
        };
    };
    let text = String::from_utf8_lossy(&text);
    let known = text
        .lines()
        .filter(|line| line.starts_with('#'))
        .any(|line| slug(line) == heading);
    if heading.is_empty() || known {
        Ok(())
    } else {
        Err(format!("{target}: there is no such heading"))
    }
}

/// `path` without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// The anchor that a heading gets.
fn slug(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = words
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn links_are_found_outside_code() {
    let text = "[a](b.md#c) ![p](p.png)\n```\n[x](y)\n```\n`[x](y)` [web](https://example.org)";
    assert_eq!(
        links(text),
        [(1, "b.md#c".to_owned()), (1, "p.png".to_owned())]
    );
    assert_eq!(slug("## `server.toml`, the keys"), "servertoml-the-keys");
}
