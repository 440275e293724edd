//! Plain words where people read: documents, the page, help of the command line, descriptions of
//! servers, workloads and plans, and comments of the sources.
//!
//! It knows no grammar. It only bans words of an idiom that this project once had, and that stop
//! a native reader.

use std::fs;

use crate::files::{all, root};
use crate::mask::mask;
use crate::rules::Offence;

/// Each banned phrase, in lower case, and what to write instead.
const BANNED: [(&[&str], &str); 10] = [
    (&["mend"], "fix"),
    (&["mends"], "fixes"),
    (&["mended"], "fixed"),
    (&["told"], "reported, shown or distinguished"),
    (&["tells"], "says, prints, reports or distinguishes"),
    (&["of", "before"], "earlier, or from an earlier version"),
    (&["dear"], "expensive"),
    (&["dearer"], "more expensive"),
    (&["whose", "own"], "with its own, or name the owner"),
    (&["in", "words"], "as text, or as a message"),
];
/// Beginnings of paths with help, descriptions and reasons that users read.
const SHOWN: [&str; 6] = [
    "crates/cli/src/flags",
    "docs/schema/",
    "plans/",
    "servers/",
    "web/src/",
    "workloads/",
];

/// Every banned phrase in documents, help, descriptions and comments.
pub(crate) fn idioms() -> Vec<Offence> {
    let is_shown = |path: &String| {
        path.ends_with(".md") || SHOWN.iter().any(|beginning| path.starts_with(beginning))
    };
    let mut offences = Vec::new();
    for path in all() {
        if !is_shown(&path) && !path.ends_with(".rs") {
            continue;
        }
        let bytes = fs::read(root().join(&path)).expect("a listed file can be read");
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if path.ends_with(".ts") {
            text = words_of_page(&text);
        } else if !is_shown(&path) {
            text = comments(&text);
        }
        offences.extend(banned(&text).into_iter().map(|(line, text)| Offence {
            rule: "language",
            path: path.clone(),
            line,
            text,
        }));
    }
    offences
}

/// The text with its comments alone, at their lines.
fn comments(text: &str) -> String {
    let line = |line: &str| match line.trim_start() {
        comment if comment.starts_with("//") => format!("{comment}\n"),
        _ => "\n".to_owned(),
    };
    text.lines().map(line).collect()
}

/// The text of TypeScript with its comments and strings alone, at their lines.
fn words_of_page(text: &str) -> String {
    let code = mask(text, false);
    let pairs = text.chars().zip(code.chars());
    let blank = |c: char| if c == '\n' { c } else { ' ' };
    pairs
        .map(|(c, code)| if c == code { blank(c) } else { c })
        .collect()
}

/// Line, from 1, and advice for each banned phrase of a text; a phrase may go over the end of a
/// line.
fn banned(text: &str) -> Vec<(usize, String)> {
    let words: Vec<(usize, String)> = text
        .lines()
        .enumerate()
        .flat_map(|(index, line)| {
            let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            let words = words.filter(|word| !word.is_empty());
            words.map(move |word| (index + 1, word.to_lowercase()))
        })
        .collect();
    let mut found = Vec::new();
    for at in 0..words.len() {
        for (phrase, instead) in BANNED {
            let here = words[at..].iter().map(|(_, word)| word.as_str());
            if here.take(phrase.len()).eq(phrase.iter().copied()) {
                let advice = format!("`{}`: write {instead}", phrase.join(" "));
                found.push((words[at].0, advice));
            }
        }
    }
    found
}

#[test]
fn banned_phrases_are_found_as_whole_words_and_over_line_ends() {
    let lines = |text| -> Vec<usize> { banned(text).iter().map(|(line, _)| *line).collect() };
    assert_eq!(lines("A\nserver is Told.\nIt mends"), [2, 3]);
    assert_eq!(lines("records of\nbefore"), [1]);
    assert_eq!(
        lines("amend what was foretold before, its own words"),
        [0_usize; 0]
    );
    assert_eq!(lines("the `told_by` of a crate"), [0_usize; 0]);
    let code = comments("let told = 1;\n    // It is\n    // told.\n");
    assert_eq!(lines(&code), [3]);
    let page = "const told = 1;\nfor (it of [\"before\"]) {}\nconst A = \"as it tells\"; // told\n";
    assert_eq!(lines(&words_of_page(page)), [3, 3]);
}
