//! Bytes of bodies and files: generated, the same on every machine and in every version.
//!
//! A server that compresses must find in a page what it finds in a page of the world: words
//! and markup that repeat, but not one line over and over. What is generated shrinks under
//! gzip about as real pages and scripts do. It is made of our own words, not copied.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::random::Random;

/// How a body is encoded on its way (`Content-Encoding`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// Not at all.
    #[default]
    Identity,
    /// Compressed by gzip (RFC 1952).
    Gzip,
}

/// A file that a server serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServedFile {
    /// Path below the document root, without a leading slash.
    pub path: String,
    /// What is in it.
    pub content: Content,
}

/// Bytes of a body or file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// These bytes.
    Text(String),
    /// Made by [`crate::content::generate`], the same on every machine.
    Generated {
        /// What it looks like.
        kind: ContentKind,
        /// Length in bytes.
        bytes: usize,
    },
}

/// What generated content looks like; matters where a server compresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ContentKind {
    /// Markup with words.
    Html,
    /// Source text of a script.
    Script,
    /// Bytes that do not compress.
    Random,
}

impl Content {
    /// The bytes.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.clone().into_bytes(),
            Self::Generated { kind, bytes } => generate(*kind, *bytes),
        }
    }

    /// How many bytes these are.
    pub fn length(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Generated { bytes, .. } => *bytes,
        }
    }
}

/// Exactly `bytes` bytes that look like `kind`; the same for the same arguments, always.
pub fn generate(kind: ContentKind, bytes: usize) -> Vec<u8> {
    // Any constant does; a change of it changes every body that was ever measured.
    let random = Random::labelled(2022, "content");
    match kind {
        ContentKind::Html => html(random, bytes),
        ContentKind::Script => script(random, bytes),
        ContentKind::Random => noise(random, bytes),
    }
}

fn html(mut random: Random, bytes: usize) -> Vec<u8> {
    let head = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
                <title>A page to be served</title>\n<link rel=\"stylesheet\" href=\"/page.css\">\n\
                </head>\n<body>\n";
    fill(
        bytes,
        head,
        "</body>\n</html>\n",
        ("<!--", "-->\n"),
        &mut random,
        html_section,
    )
}

fn script(mut random: Random, bytes: usize) -> Vec<u8> {
    let head = "/*! A script to be served; it does nothing. */\n(function (root) {\n\
                \"use strict\";\n\n";
    fill(
        bytes,
        head,
        "}(this));\n",
        ("/*", "*/\n"),
        &mut random,
        script_function,
    )
}

fn noise(mut random: Random, bytes: usize) -> Vec<u8> {
    let mut noise = Vec::with_capacity(bytes + 8);
    while noise.len() < bytes {
        noise.extend_from_slice(&random.bits().to_le_bytes());
    }
    noise.truncate(bytes);
    noise
}

/// `head`, as many `unit`s as fit, a comment that takes what is left, `tail`.
fn fill(
    bytes: usize,
    head: &str,
    tail: &str,
    comment: (&str, &str),
    random: &mut Random,
    unit: impl Fn(&mut Random) -> String,
) -> Vec<u8> {
    let mut text = String::with_capacity(bytes + 64);
    text.push_str(head);
    loop {
        let next = unit(random);
        if text.len() + next.len() + tail.len() > bytes {
            break;
        }
        text.push_str(&next);
    }
    let gap = bytes.saturating_sub(text.len() + tail.len());
    text.push_str(&filler(gap, comment, random));
    text.push_str(tail);
    // Only where even head and tail do not fit. All of it is ASCII, so any cut is between
    // characters.
    text.truncate(bytes);
    text.into_bytes()
}

fn filler(gap: usize, (open, close): (&str, &str), random: &mut Random) -> String {
    let Some(inside) = gap.checked_sub(open.len() + close.len()) else {
        return " ".repeat(gap);
    };
    let mut words = String::new();
    while words.len() < inside {
        words.push(' ');
        words.push_str(word(random));
    }
    words.truncate(inside);
    format!("{open}{words}{close}")
}

fn html_section(random: &mut Random) -> String {
    let id = format!("{}-{}", word(random), random.below(1000));
    let mut text = format!("<section id=\"{id}\" class=\"{}\">\n", word(random));
    text.push_str(&format!("<h2>{}</h2>\n", sentence(random, 3)));
    for _ in 0..=random.below(2) {
        text.push_str(&format!(
            "<p>{} <a href=\"/{}/{}\">{}</a> {}</p>\n",
            sentence(random, 12),
            word(random),
            word(random),
            word(random),
            sentence(random, 9),
        ));
    }
    if random.below(3) == 0 {
        text.push_str("<ul>\n");
        for _ in 0..2 + random.below(3) {
            text.push_str(&format!("<li>{}</li>\n", sentence(random, 4)));
        }
        text.push_str("</ul>\n");
    }
    text.push_str("</section>\n");
    text
}

fn script_function(random: &mut Random) -> String {
    let (name, first, second) = (identifier(random), word(random), identifier(random));
    let mut text = format!("\t// {}\n", sentence(random, 9));
    text.push_str(&format!(
        "\troot.{name} = function( {first}, {second} ) {{\n"
    ));
    let local = identifier(random);
    text.push_str(&format!("\t\tvar {local} = {},\n", random.below(1000)));
    text.push_str(&format!("\t\t\t{} = [];\n\n", word(random)));
    for _ in 0..=random.below(4) {
        text.push_str(&statement(random, &local, first, &second));
    }
    text.push_str(&format!("\t\treturn {local};\n\t}};\n\n"));
    text
}

fn statement(random: &mut Random, local: &str, first: &str, second: &str) -> String {
    let (one, two) = (identifier(random), word(random));
    match random.below(5) {
        0 => format!("\t\tif ( {first}.{one} !== null ) {{\n\t\t\treturn {two};\n\t\t}}\n"),
        1 => {
            let head = format!("\t\tfor ( ; {local} < {second}.length; {local}++ ) {{");
            format!("{head}\n\t\t\t{two}.{one}();\n\t\t}}\n")
        }
        2 => format!(
            "\t\t{second}.{two} = root.{one}( {first}, \"{}\" );\n",
            word(random)
        ),
        3 => format!(
            "\t\t// {}\n\t\t{two} = {one} || {{}};\n",
            sentence(random, 6)
        ),
        _ => {
            let number = random.below(64);
            format!("\t\t{local} += {first}[ {number} ].{two} === \"{one}\" ? 1 : 0;\n")
        }
    }
}

fn identifier(random: &mut Random) -> String {
    let (first, second) = (word(random), word(random));
    let (initial, rest) = second.split_at(1);
    format!("{first}{}{rest}", initial.to_ascii_uppercase())
}

fn sentence(random: &mut Random, words: u64) -> String {
    let first = word(random);
    let (initial, rest) = first.split_at(1);
    let mut text = format!("{}{rest}", initial.to_ascii_uppercase());
    for _ in 0..words / 2 + random.below(words) {
        text.push(' ');
        text.push_str(word(random));
    }
    text.push('.');
    text
}

fn word(random: &mut Random) -> &'static str {
    // The smaller of two draws: early words come more often, as in any language.
    let index = random
        .below(WORDS.len() as u64)
        .min(random.below(WORDS.len() as u64));
    WORDS[index as usize]
}

#[rustfmt::skip]
const WORDS: [&str; 120] = [
    "the", "and", "of", "to", "near", "that", "it", "under", "after", "as", "one", "by", "from",
    "table", "river", "value", "stone", "list", "garden", "window", "number", "letter", "node",
    "bread", "field", "house", "water", "light", "paper", "event", "colour", "market", "bridge",
    "summer", "winter", "kettle", "answer", "question", "street", "harbour", "button", "mustard",
    "onion", "pepper", "grill", "plate", "server", "request", "handle", "cache", "index", "token",
    "queue", "buffer", "offset", "length", "filter", "target", "source", "style", "width",
    "height", "margin", "border", "frame", "layer", "parent", "child", "sibling", "anchor",
    "image", "script", "order", "morning", "evening", "yellow", "copper", "silver", "wooden",
    "narrow", "quiet", "simple", "round", "early", "little", "sudden", "open", "close", "begin",
    "carry", "gather", "follow", "repeat", "measure", "listen", "wander", "borrow", "deliver",
    "connect", "resolve", "attach", "detach", "observe", "compare", "prepare", "balance",
    "whistle", "lantern", "blanket", "compass", "orchard", "village", "station", "machine",
    "journey", "picture", "pattern", "library", "signal", "thread",
];

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [ContentKind; 3] = [ContentKind::Html, ContentKind::Script, ContentKind::Random];

    /// FNV-1a: enough to notice a change.
    fn digest(bytes: &[u8]) -> u64 {
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }

    /// Bits a byte if bytes were independent: 8 for noise.
    fn entropy_bits(bytes: &[u8]) -> f64 {
        let mut counts = [0_u32; 256];
        bytes
            .iter()
            .for_each(|byte| counts[usize::from(*byte)] += 1);
        let shares = counts
            .iter()
            .filter(|n| **n > 0)
            .map(|n| f64::from(*n) / bytes.len() as f64);
        shares.map(|share| -share * share.log2()).sum()
    }

    #[test]
    fn every_length_is_exact() {
        for kind in KINDS {
            for bytes in (0..700).chain([4_608, 65_536, 289_812]) {
                assert_eq!(generate(kind, bytes).len(), bytes, "{kind:?}");
            }
        }
    }

    #[test]
    fn the_bytes_are_those_of_every_version() {
        let digests = KINDS.map(|kind| format!("{:016x}", digest(&generate(kind, 10_000))));
        assert_eq!(
            digests,
            ["60d4d54c625a6d45", "32a34a7ec643216d", "676deb1a41f460fd"]
        );
    }

    #[test]
    fn pages_and_scripts_are_whole_ascii_text() {
        let page = String::from_utf8(generate(ContentKind::Html, 4_608)).unwrap();
        assert!(page.is_ascii() && page.starts_with("<!DOCTYPE html>"));
        assert!(page.ends_with("</html>\n"));
        assert_eq!(
            page.matches("<section").count(),
            page.matches("</section>").count()
        );
        let script = String::from_utf8(generate(ContentKind::Script, 289_812)).unwrap();
        assert!(script.is_ascii() && script.ends_with("}(this));\n"));
        assert_eq!(script.matches('{').count(), script.matches('}').count());
    }

    #[test]
    fn text_has_the_entropy_of_text_and_noise_that_of_noise() {
        for kind in [ContentKind::Html, ContentKind::Script] {
            let bits = entropy_bits(&generate(kind, 289_812));
            assert!((4.0..5.5).contains(&bits), "{kind:?}: {bits}");
        }
        let bits = entropy_bits(&generate(ContentKind::Random, 289_812));
        assert!(bits > 7.99, "{bits}");
    }

    #[test]
    fn lines_do_not_repeat_over_and_over() {
        let script = String::from_utf8(generate(ContentKind::Script, 289_812)).unwrap();
        let lines: Vec<&str> = script.lines().filter(|line| line.len() > 20).collect();
        let distinct: std::collections::HashSet<&&str> = lines.iter().collect();
        assert!(
            distinct.len() * 10 > lines.len() * 9,
            "{} of {}",
            distinct.len(),
            lines.len()
        );
    }
}
