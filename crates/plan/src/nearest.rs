//! The known name that a mistyped one was probably meant to be.

/// The name in `known` nearest to `given`, if it is near enough to be worth suggesting.
///
/// Nearness is the Damerau-Levenshtein distance without regard to case; a third of the longer
/// name may differ, and a name that begins with all of the other is always near.
pub fn nearest<'k>(
    given: &str,
    known: impl IntoIterator<Item = &'k (impl AsRef<str> + ?Sized + 'k)>,
) -> Option<&'k str> {
    let given = given.to_lowercase();
    known
        .into_iter()
        .map(AsRef::as_ref)
        .filter_map(|name| Some((distance(&given, name)?, name)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// How far `name` is from `given`; `None` where it is too far.
fn distance(given: &str, name: &str) -> Option<usize> {
    let lower = name.to_lowercase();
    let distance = strsim::damerau_levenshtein(given, &lower);
    let longer = given.chars().count().max(lower.chars().count());
    let begins = given.len() >= 3 && (lower.starts_with(given) || given.starts_with(&lower));
    (begins || distance <= (longer / 3).max(1)).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(given: &str, expected: Option<&str>) {
        let known = ["rounds", "seed", "rest", "contender", "nginx-default"];
        assert_eq!(nearest(given, &known), expected, "for {given}");
    }

    #[test]
    fn suggests_what_was_meant_and_nothing_else() {
        check("round", Some("rounds"));
        check("Seed", Some("seed"));
        check("contneder", Some("contender"));
        check("contenders", Some("contender"));
        check("nginx", Some("nginx-default"));
        check("rset", Some("rest"));
        check("colour", None);
        check("x", None);
        check("", None);
    }
}
