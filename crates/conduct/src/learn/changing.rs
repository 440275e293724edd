//! What stays the same of bodies that change from answer to answer, as with an id and a time.
//!
//! Contenders that give the same page have the same left where each of their changes is taken out
//! of all of them. Nothing is said of pages that change in their structure, as a list of random
//! length does.

use bakeoff_stage::sha256;

/// What stands in place of what changes: no byte of UTF-8.
const CHANGED: u8 = 0xff;

/// Whether a byte is part of a word: a time, a number or a token is one.
pub(super) fn is_of_word(byte: &u8) -> bool {
    !byte.is_ascii_whitespace() && !b"\"'<>=,{}[]".contains(byte)
}

/// The words of a body, each with what ends it.
type Words<'b> = Vec<&'b [u8]>;

/// A digest of what stays of each contender's bodies; equal ones are of the same page. `None` where
/// too little of them can be held against each other.
pub(super) fn rests(contenders: &[&[Vec<u8>]]) -> Option<Vec<String>> {
    let contenders: Vec<Vec<Words<'_>>> = contenders.iter().map(|it| words(it)).collect();
    let is_steady =
        |answers: &Vec<Words<'_>>| answers.iter().all(|it| it.len() == answers[0].len());
    if contenders.iter().all(is_steady) {
        let digest = |answers: &Vec<Words<'_>>| sha256(&unchanged(&answers[0], &contenders));
        return Some(contenders.iter().map(digest).collect());
    }
    let ends = contenders.iter().map(|answers| ends(answers));
    let (begin, end) = ends.reduce(|one, other| (one.0.min(other.0), one.1.min(other.1)))?;
    let longest = contenders.iter().flatten().map(Vec::len).max()?;
    // Less than that may be what all pages begin and end with.
    if 2 * (begin + end) < longest {
        return None;
    }
    let outer = |answers: &Vec<Words<'_>>| {
        let first = &answers[0];
        sha256(
            &[&first[..begin], &first[first.len() - end..]]
                .concat()
                .concat(),
        )
    };
    Some(contenders.iter().map(outer).collect())
}

fn words(bodies: &[Vec<u8>]) -> Vec<Words<'_>> {
    let each = bodies.iter();
    each.map(|body| body.split_inclusive(|byte| !is_of_word(byte)).collect())
        .collect()
}

/// The words of an answer, without those that change at their place in bodies of any contender with
/// as many.
fn unchanged(first: &Words<'_>, contenders: &[Vec<Words<'_>>]) -> Vec<u8> {
    let alike = contenders.iter().filter(|it| it[0].len() == first.len());
    let alike: Vec<&Vec<Words<'_>>> = alike.collect();
    let changes = |at: usize| {
        let mut alike = alike.iter();
        alike.any(|answers| answers.iter().any(|one| one[at] != answers[0][at]))
    };
    let mut rest = Vec::new();
    for (at, word) in first.iter().enumerate() {
        if changes(at) {
            rest.push(CHANGED);
        } else {
            rest.extend_from_slice(word);
        }
    }
    rest
}

/// How many words all answers begin and end with; no word counts as both.
fn ends(answers: &[Words<'_>]) -> (usize, usize) {
    let first = &answers[0];
    let shortest = answers.iter().map(Vec::len).min().unwrap_or(0);
    let at_begin = |at: &usize| answers.iter().all(|one| one[*at] == first[*at]);
    let begin = (0..shortest).take_while(at_begin).count();
    let at_end = |back: &usize| {
        let last = first[first.len() - 1 - back];
        answers.iter().all(|one| one[one.len() - 1 - back] == last)
    };
    let end = (0..shortest - begin).take_while(at_end).count();
    (begin, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether what stays of both is the same; `None` where that is not known.
    fn same(a: &[&str], b: &[&str]) -> Option<bool> {
        let bodies = |one: &[&str]| -> Vec<Vec<u8>> {
            one.iter().map(|body| body.as_bytes().to_vec()).collect()
        };
        let (a, b) = (bodies(a), bodies(b));
        rests(&[&a, &b]).map(|rests| rests[0] == rests[1])
    }

    #[test]
    fn pages_are_the_same_apart_from_what_changes_in_either() {
        let page =
            |id: &str, time: &str| format!("{{\"id\":{id},\"at\":\"{time}\",\"to\":\"all\"}}");
        let (a, b) = (page("7", "12:04:05"), page("8", "12:04:06"));
        // The other one's clock stood still while it was asked, and its ids are longer.
        let (c, d) = (page("a1f0-77", "12:05:00"), page("2fe0-12", "12:05:00"));
        assert_eq!(same(&[&a, &b], &[&c, &d]), Some(true));
        let other = "{\"error\":8,\"at\":\"12:04:06\",\"to\":\"all\"}";
        assert_eq!(same(&[&a, &b], &[other, other]), Some(false));
        assert_eq!(same(&[&a, &b], &["<p>1</p>", "<p>2</p>"]), Some(false));
    }

    #[test]
    fn a_structure_that_changes_is_held_against_others_by_its_ends() {
        let page = |inner: &str| format!("<html><head><title>news</title>{inner}</html>");
        let (a, b) = (page("one two"), page("one"));
        assert_eq!(same(&[&a, &b], &[&a, &b]), Some(true));
        let c = page("three").replace("news", "olds");
        assert_eq!(same(&[&a, &b], &[&c, &c]), Some(false));
        assert_eq!(same(&["a b c d e f", "g h i"], &["a b c", "a b c"]), None);
    }
}
