//! Texts that act on terminals, spreadsheets and pages are in no format as they are, wherever in
//! a record they stand.

use crate::planting::Soil;
use bakeoff_report::{
    MarkdownOptions, Report, TextOptions, csv, html, json, json_safe, load_json, load_text,
    markdown, text, view,
};
use serde_json::Value;

/// Escape sequences, controls, marks of direction, invisible characters, formulas, markup.
const HOSTILE: [&str; 52] = [
    "\u{1b}[31m",
    "\u{1b}[2J",
    "\u{1b}]52;c;aGk=\u{7}",
    "\u{1b}]0;title\u{7}",
    "\u{1b}Pq\u{1b}\\",
    "\u{1b}]8;;http://x\u{1b}\\",
    "\u{1b}c",
    "\u{1b}[?1049h",
    "\u{1b}",
    "\u{9b}31m",
    "\u{9d}52;c;x",
    "\u{90}",
    "\u{85}",
    "\0",
    "\u{7}",
    "\u{8}\u{8}",
    "\u{b}",
    "\u{c}",
    "\r",
    "a\rb",
    "\r\n=1",
    "\u{7f}",
    "\u{200b}",
    "\u{200d}",
    "\u{200e}",
    "\u{200f}",
    "\u{202a}",
    "\u{202b}",
    "\u{202c}",
    "\u{202d}",
    "\u{202e}",
    "\u{2066}",
    "\u{2067}",
    "\u{2068}",
    "\u{2069}",
    "\u{2028}",
    "\u{2029}",
    "\u{61c}",
    "\u{feff}",
    "\u{ad}",
    "\u{e0041}",
    "=cmd|' /C calc'!A0",
    "+1+cmd",
    "-1+cmd",
    "@SUM(1)",
    "\t=1",
    "\u{ff1d}1",
    "=HYPERLINK(\"x\",\"y\")",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "a|b`c`*d*",
    "\"><img src=x onerror=alert(1)>",
];

/// Every format, with the escapes of colour in none.
fn formats(report: &Report) -> Vec<(&'static str, String)> {
    let options = |full, width| TextOptions {
        width,
        colour: false,
        full,
        diffs: full,
        record: Some("re\u{1b}[1mcord"),
        needed_again: Some(" --hosts h\u{1b}[1m"),
    };
    vec![
        ("json", json(report)),
        ("html", html(report)),
        ("csv", csv(report)),
        ("md", markdown(report, MarkdownOptions { full: false })),
        (
            "md --full",
            markdown(report, MarkdownOptions { full: true }),
        ),
        ("text", text(report, options(false, 80))),
        ("text --full", text(report, options(true, 200))),
    ]
}

/// What a terminal acts on, or what hides in a text. The list is this test's own.
fn acts(character: char) -> bool {
    (character.is_control() && character != '\n')
        || "\u{200b}\u{200d}\u{200e}\u{200f}\u{2028}\u{2029}\u{61c}\u{feff}\u{ad}\u{e0041}"
            .contains(character)
        || ('\u{202a}'..='\u{202e}').contains(&character)
        || ('\u{2066}'..='\u{2069}').contains(&character)
}

#[track_caller]
fn assert_tame(what: &str, text: &str) {
    let Some((at, character)) = text.char_indices().find(|(_, one)| acts(*one)) else {
        return;
    };
    let around: String = text[..at].chars().rev().take(80).collect();
    let around: String = around.chars().rev().collect();
    panic!("{what}: {character:?} after {around:?}");
}

/// Fields of CSV by RFC 4180.
fn cells(text: &str) -> Vec<String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                cell.push('"');
                characters.next();
            }
            '"' => quoted = !quoted,
            ',' | '\n' if !quoted => cells.push(std::mem::take(&mut cell)),
            other => cell.push(other),
        }
    }
    cells
}

/// The document in the page.
fn embedded(page: &str) -> Option<&str> {
    let (_, after) = page.split_once("id=\"record\">")?;
    Some(after.split_once("</script>")?.0)
}

/// The lines of Markdown that are in no fenced block. A block ends at a fence as long as its own.
fn outside_fences(text: &str) -> Vec<&str> {
    let mut fence = None;
    let mut outside = Vec::new();
    for line in text.lines() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        let is_bare = line.len() == ticks;
        match fence {
            None if ticks >= 3 => fence = Some(ticks),
            None => outside.push(line),
            Some(length) if is_bare && ticks >= length => fence = None,
            Some(_) => {}
        }
    }
    assert_eq!(fence, None, "every block ends");
    outside
}

#[test]
fn hostile_texts_in_every_place_of_a_record_are_tame_in_every_format() {
    let soil = Soil::new();
    for hostile in HOSTILE {
        let record = soil.planted(|place, old| {
            if place.ends_with("/schema") {
                old.to_owned()
            } else {
                format!("{hostile}{old}")
            }
        });
        let report = view(&record);
        for (format, text) in formats(&report) {
            let what = format!("{hostile:?} in {format}");
            match format {
                "html" => {
                    let markup = text.split("<script type=\"application/json\"").nth(1);
                    // Without a built page there is none; the fallback is markup alone.
                    if let Some(json) = markup.and_then(|_| embedded(&text)) {
                        assert_tame(&what, json);
                        assert!(!json.contains('<'), "{what}");
                        serde_json::from_str::<Value>(json).expect("the page holds JSON");
                    } else {
                        assert_tame(&what, &text);
                        assert!(!text.contains("<script"), "{what}");
                        assert!(!text.contains("<img"), "{what}");
                    }
                }
                "json" => {
                    assert_tame(&what, &text);
                    let read: Value = serde_json::from_str(&text).expect("it is JSON");
                    let name = read["campaign"]["name"].as_str().expect("it has a name");
                    assert!(name.starts_with(hostile), "{what}: JSON keeps the text");
                }
                "csv" => {
                    assert_tame(&what, &text);
                    for cell in cells(&text) {
                        let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\u{ff1d}']);
                        let fine = cell.len() < 2 || cell.parse::<f64>().is_ok();
                        assert!(!formula || fine, "{what}: {cell:?}");
                    }
                }
                "md" | "md --full" => {
                    assert_tame(&what, &text);
                    for line in outside_fences(&text) {
                        assert!(
                            !line.contains("<script") && !line.contains("<img"),
                            "{line}"
                        );
                    }
                }
                _ => assert_tame(&what, &text),
            }
        }
    }
}

#[test]
fn hostile_texts_in_a_load_are_tame() {
    let soil = Soil::new();
    for hostile in HOSTILE {
        let record = soil.planted(|_, old| format!("{hostile}{old}"));
        let results = record.trials.iter().filter_map(|it| it.result.as_ref());
        for result in results.take(1) {
            assert_tame("load", &load_text(result, None));
            let document = load_json(result).to_string();
            assert_tame("load --json", &json_safe(&document));
        }
    }
}
