//! Versions as programs report them: which ones a plan accepts, and which is newer.

use std::cmp::Ordering;

/// Whether the version `reported` is `wanted`, by dotted part: `1.22` accepts `1.22.1` and not
/// `1.221`.
pub(crate) fn accepts(wanted: &str, reported: &str) -> bool {
    reported.strip_prefix(wanted).is_some_and(|rest| {
        rest.is_empty() || rest.starts_with(['.', '-', '+']) || wanted.is_empty()
    })
}

/// Whether a version is this one or a later one, number by number: 1.22.1 is before 1.25.
pub(crate) fn at_least(version: &str, least: &str) -> bool {
    numbers(version) >= numbers(least)
}

/// Older before newer: by numbers, and of equal numbers what says more is a preview of the other.
pub(crate) fn compare(one: &str, other: &str) -> Ordering {
    numbers(one)
        .cmp(&numbers(other))
        .then_with(|| other.len().cmp(&one.len()))
        .then_with(|| one.cmp(other))
}

/// The version of the program that a package carries, if its build metadata names one:
/// `1.28.5+1.28.3` carries 1.28.3.
pub(crate) fn carried(own: &str) -> &str {
    own.split_once('+').map_or(own, |(_, carried)| carried)
}

fn numbers(version: &str) -> Vec<u64> {
    let parts = version.split(['.', '-', '+', '~']);
    parts.map_while(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_accepted_by_dotted_part() {
        for (wanted, reported, expected) in [
            ("1.22", "1.22.1", true),
            ("1.22.1", "1.22.1", true),
            ("1.2", "1.22.1", false),
            ("2", "2.11.7-beta", true),
            ("2.11.7", "2.11.7-beta", true),
        ] {
            assert_eq!(accepts(wanted, reported), expected, "{wanted} {reported}");
        }
    }

    #[test]
    fn the_newer_version_is_greater() {
        for (older, newer) in [
            ("2.8.4", "2.11.7"),
            ("1.9", "1.22.1"),
            ("2.11.7-beta.1", "2.11.7"),
            ("1.28", "1.28.3"),
            ("", "1"),
        ] {
            assert_eq!(compare(older, newer), Ordering::Less, "{older} {newer}");
            assert_eq!(compare(newer, older), Ordering::Greater, "{older} {newer}");
        }
    }
}
