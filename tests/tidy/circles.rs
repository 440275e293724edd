//! Files of one crate that use each other in a circle: none of them can be read by itself. A file
//! and those in its folder may use each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::files::Source;
use crate::rules::Offence;

/// Circles that are left, and the files of the largest. The aim is 10 of at most 3.
const CIRCLES: usize = 1;
const LARGEST: usize = 2;

/// A file's place among the modules of its crate.
type Place<'s> = Vec<&'s str>;

/// More circles than are known, or fewer: then the numbers above have to follow.
pub(crate) fn circles(sources: &[Source]) -> Vec<Offence> {
    let mut crates: BTreeMap<&str, BTreeMap<Place<'_>, &str>> = BTreeMap::new();
    for source in sources.iter().filter(|it| it.is_rust() && it.is_in_crate()) {
        let Some((name, path)) = source.path.split_once("/src/") else {
            continue;
        };
        let place = place(path);
        if !place.iter().any(|part| part.ends_with("tests")) {
            let tests = source.code.find("#[cfg(test)]\nmod tests {");
            let code = &source.code[..tests.unwrap_or(source.code.len())];
            crates.entry(name).or_default().insert(place, code);
        }
    }
    let found: Vec<String> = crates
        .iter()
        .flat_map(|(name, files)| {
            let all = of_crate(files).into_iter();
            all.map(move |circle| (circle.len(), format!("{name}: {}", circle.join(", "))))
        })
        .map(|(files, text)| format!("{files} {text}"))
        .collect();
    let size = |text: &String| text.split(' ').next().and_then(|it| it.parse().ok());
    let largest = found.iter().filter_map(size).max().unwrap_or(0);
    if (found.len(), largest) == (CIRCLES, LARGEST) {
        return Vec::new();
    }
    let (count, list) = (found.len(), found.join("\n"));
    vec![Offence {
        rule: "circles",
        path: "tests/tidy/circles.rs".to_owned(),
        line: 11,
        text: format!("{count} circles, the largest of {largest} files:\n{list}"),
    }]
}

fn place(path: &str) -> Place<'_> {
    let mut place: Place<'_> = path.trim_end_matches(".rs").split('/').collect();
    if matches!(place.last(), Some(&"mod" | &"lib" | &"main")) {
        place.pop();
    }
    place
}

/// The circles of a crate, each with the names of its files.
fn of_crate<'s>(files: &BTreeMap<Place<'s>, &'s str>) -> Vec<Vec<String>> {
    let mut used: BTreeMap<&Place<'s>, BTreeSet<&Place<'s>>> = BTreeMap::new();
    for (place, code) in files {
        let others = paths(code)
            .into_iter()
            .filter_map(|path| found(files, place, &path));
        let is_apart = |other: &&Place<'_>| !other.starts_with(place) && !place.starts_with(other);
        used.insert(place, others.filter(is_apart).collect());
    }
    let reached: BTreeMap<&Place<'_>, BTreeSet<&Place<'_>>> = files
        .keys()
        .map(|place| {
            let (mut seen, mut next) = (BTreeSet::new(), vec![place]);
            while let Some(one) = next.pop() {
                next.extend(used[one].iter().filter(|it| seen.insert(**it)));
            }
            (place, seen)
        })
        .collect();
    let mut circles: BTreeSet<Vec<String>> = BTreeSet::new();
    for (place, seen) in &reached {
        let both = seen.iter().filter(|other| reached[**other].contains(place));
        let names: Vec<String> = both.map(|other| other.join("/")).collect();
        if !names.is_empty() {
            circles.insert(names);
        }
    }
    circles.into_iter().collect()
}

/// The file that a path leads to from a place.
fn found<'f, 's>(
    files: &'f BTreeMap<Place<'s>, &'s str>,
    from: &Place<'s>,
    path: &[&'s str],
) -> Option<&'f Place<'s>> {
    let above = path.iter().take_while(|part| **part == "super").count();
    let base = match path.first() {
        Some(&"crate") => &[][..],
        _ => &from[..from.len().checked_sub(above)?],
    };
    let rest = &path[above.max(1)..];
    let of = |parts: usize| files.get_key_value(&[base, &rest[..parts]].concat());
    // The longest that is a file: what follows are its items.
    let found = (0..=rest.len()).rev().find_map(of);
    found.map(|(place, _)| place)
}

/// Every path in code that begins with `crate` or `super`.
fn paths(code: &str) -> Vec<Vec<&str>> {
    let mut all = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let is_inside =
                code[..at].ends_with(|it: char| it == ':' || it == '_' || it.is_alphanumeric());
            if !is_inside {
                tree(&code[at..], &mut Vec::new(), &mut all);
            }
        }
    }
    all
}

/// The paths of a tree such as `a::{b, c::d}`.
fn tree<'c>(code: &'c str, before: &mut Vec<&'c str>, all: &mut Vec<Vec<&'c str>>) {
    let code = code.trim_start();
    if let Some(inner) = code.strip_prefix('{') {
        let (mut depth, mut start) = (1, 0);
        for (at, letter) in inner.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 || (depth == 1 && letter == ',') {
                tree(&inner[start..at], &mut before.clone(), all);
                start = at + 1;
            }
            if depth == 0 {
                return;
            }
        }
        return;
    }
    let is_other = |it: char| it != '_' && !it.is_alphanumeric();
    let end = code.find(is_other).unwrap_or(code.len());
    before.push(&code[..end]);
    match code[end..].strip_prefix("::") {
        Some(rest) => tree(rest, before, all),
        None => all.push(before.clone()),
    }
}
