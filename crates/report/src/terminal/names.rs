//! Names in little room, none of which reads like another.

use std::collections::BTreeMap;

use crate::style::cut_middle;

/// How often names that still read alike are cut anew, around what lies further behind.
const TRIES: usize = 8;

/// Each name in at most `most` columns. A long one loses its middle; where two names would then
/// read alike, they show the part in which they differ.
pub(super) fn shortened(names: &[&str], most: usize) -> Vec<String> {
    let mut short: Vec<String> = names.iter().map(|name| cut_middle(name, most)).collect();
    for _ in 0..TRIES {
        let alike = alike(names, &short);
        if alike.is_empty() {
            break;
        }
        for group in alike {
            let of_group: Vec<&str> = group.iter().map(|index| names[*index]).collect();
            let common = common_start(&of_group);
            for index in group {
                short[index] = around(names[index], common, most);
            }
        }
    }
    short
}

/// Positions of names that read alike and differ.
fn alike(names: &[&str], short: &[String]) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, name) in short.iter().enumerate() {
        groups.entry(name).or_default().push(index);
    }
    let groups = groups.into_values();
    let differ = |group: &Vec<usize>| group.iter().any(|one| names[*one] != names[group[0]]);
    groups.filter(differ).collect()
}

/// Characters that all of these begin with.
fn common_start(names: &[&str]) -> usize {
    let Some((first, others)) = names.split_first() else {
        return 0;
    };
    let same = |other: &&str| {
        let pairs = first.chars().zip(other.chars());
        pairs.take_while(|(one, other)| one == other).count()
    };
    others.iter().map(same).min().unwrap_or(0)
}

/// The part of a name around a position: its end, where that is not too long.
fn around(name: &str, at: usize, most: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    let room = most.saturating_sub(1);
    let tail = letters.len().saturating_sub(at);
    if letters.len() <= most {
        return name.to_owned();
    }
    if tail <= room {
        let end: String = letters[letters.len() - room..].iter().collect();
        return format!("…{end}");
    }
    let room = room.saturating_sub(1);
    let start = at.saturating_sub(room / 3);
    let middle: String = letters[start..].iter().take(room).collect();
    let before = if start > 0 { "…" } else { "" };
    format!("{before}{middle}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(names: &[&str], most: usize, expected: &[&str]) {
        assert_eq!(shortened(names, most), expected, "{most}");
    }

    #[test]
    fn a_name_with_room_is_whole_and_one_without_loses_its_middle() {
        check(&["nginx", "caddy"], 9, &["nginx", "caddy"]);
        check(&["nginx-optimized", "caddy"], 9, &["ngin…ized", "caddy"]);
        check(&["a-long-name", "a-long-name"], 7, &["a-l…ame", "a-l…ame"]);
    }

    /// Two versions of a server stood under one and the same head.
    #[test]
    fn names_that_differ_in_their_middle_do_not_read_alike() {
        let two = ["nginx-1.24.0-optimized", "nginx-1.26.3-optimized"];
        check(&two, 18, &["…-1.24.0-optimized", "…-1.26.3-optimized"]);
        check(&two, 9, &["….24.0-o…", "….26.3-o…"]);
        let three = [two[0], two[1], "nginx-1.26.4-optimized"];
        for most in [9, 10, 14, 18] {
            let mut short = shortened(&three, most);
            assert!(
                short.iter().all(|one| one.chars().count() <= most),
                "{short:?}"
            );
            short.sort_unstable();
            short.dedup();
            assert_eq!(short.len(), 3, "{most}: {short:?}");
        }
    }
}
