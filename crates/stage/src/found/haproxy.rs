//! What a configuration of HAProxy contains, by its sections.

mod listeners;
mod section;

use self::section::{Kind, Section};
use super::{Found, Named, Place, Text, Upstream, UpstreamKind, add, stand_in, tokens};

/// Reads the files of one configuration, the main one first.
pub(super) fn read(files: &[Text<'_>]) -> Found {
    let mut found = Found::default();
    let mut sections: Vec<Section> = Vec::new();
    for file in files {
        for (number, line) in (1..).zip(file.text.lines()) {
            let place = file.place(number);
            note_variables(line, &place, &mut found);
            let words = tokens(&filled(line));
            let Some(first) = words.first() else {
                continue;
            };
            match Kind::of(first) {
                Some(kind) => {
                    let defaults = sections.iter().rev().find(|it| it.kind == Kind::Defaults);
                    let section = Section::begin(kind, &words[1..], &place, defaults);
                    sections.push(section);
                }
                None => {
                    if let Some(section) = sections.last_mut() {
                        note(&words, section, &place, &mut found);
                        section.note(&words, &place);
                    }
                }
            }
        }
    }
    listeners::find(&sections, &mut found);
    found
}

/// A line with the variables of the environment filled in, as far as names say for what.
fn filled(line: &str) -> String {
    let filled = stand_in::filled(line, |rest| stand_in::variable(rest, "${", "-"));
    stand_in::filled(&filled, stand_in::bare)
}

fn note_variables(line: &str, place: &Place, found: &mut Found) {
    let mut rest = line.split(" #").next().unwrap_or_default();
    if rest.trim_start().starts_with('#') {
        return;
    }
    let next = |rest| stand_in::variable(rest, "${", "-").or_else(|| stand_in::bare(rest));
    while let Some(variable) = next(rest) {
        let text = rest[variable.from..variable.to].to_owned();
        if !found.placeholders.iter().any(|other| other.text == text) {
            let place = place.clone();
            add(&mut found.placeholders, Named { text, place });
        }
        rest = &rest[variable.to..];
    }
}

/// Keeps what the line names.
fn note(words: &[String], section: &Section, place: &Place, found: &mut Found) {
    let named = |text: &str| Named {
        text: text.to_owned(),
        place: place.clone(),
    };
    let rest = words.get(1).map_or("", String::as_str);
    match words[0].as_str() {
        "log" if !rest.is_empty() && rest != "global" => add(&mut found.logs, named(rest)),
        "errorfile" => words
            .get(2)
            .into_iter()
            .for_each(|it| add(&mut found.roots, named(it))),
        "lua-load" | "lua-load-per-thread" => add(&mut found.modules, named(rest)),
        "filter" if rest == "spoe" || rest == "trace" => add(&mut found.modules, named(rest)),
        "bind" => {
            let mut pairs = words
                .windows(2)
                .filter(|pair| pair[0] == "crt" || pair[0] == "crt-list");
            pairs
                .by_ref()
                .for_each(|pair| add(&mut found.certificates, named(&pair[1])));
        }
        "server" | "server-template" if section.passes_on() => {
            let position = if words[0] == "server" { 2 } else { 3 };
            let Some(address) = words.get(position) else {
                return;
            };
            let is_php = words
                .windows(2)
                .any(|pair| pair[0] == "proto" && pair[1] == "fcgi");
            let upstream = Upstream {
                kind: match (is_php, section.is_http()) {
                    (true, _) => UpstreamKind::FastCgi,
                    (_, true) => UpstreamKind::Http,
                    (_, false) => UpstreamKind::Tcp,
                },
                address: address.clone(),
                place: place.clone(),
            };
            add(&mut found.upstreams, upstream);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
