//! Williams squares: orders in which each entrant has each position equally often, and directly
//! follows each other entrant equally often (E. J. Williams 1949, "Experimental designs balanced
//! for the estimation of residual effects of treatments").

/// Row `number` (from 0) of the square for `n` entrants: a permutation of `0..n`. After
/// [`rows`]`(n)` rows the square begins again.
pub(crate) fn row(n: usize, number: u32) -> Vec<usize> {
    let number = number as usize % rows(n).max(1);
    // An odd number of entrants needs the square and its mirror image. They alternate, so that
    // the rows of a short campaign are as balanced as they can be.
    let (shift, mirrored) = if n.is_multiple_of(2) {
        (number, false)
    } else {
        (number / 2, number % 2 == 1)
    };
    let place = |at: usize| {
        let at = if mirrored { n - 1 - at } else { at };
        (zigzag(n, at) + shift) % n
    };
    (0..n).map(place).collect()
}

/// Rows after which everything is balanced.
pub(crate) fn rows(n: usize) -> usize {
    if n.is_multiple_of(2) { n } else { 2 * n }
}

/// 0, n - 1, 1, n - 2, 2, ...: each step from one to the next is another one, modulo n.
fn zigzag(n: usize, at: usize) -> usize {
    if at.is_multiple_of(2) {
        at / 2
    } else {
        n - 1 - at / 2
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn each_stands_in_each_place_and_follows_each_other_equally_often() {
        for n in 1..=9 {
            let mut places: BTreeMap<(usize, usize), usize> = BTreeMap::new();
            let mut follows: BTreeMap<(usize, usize), usize> = BTreeMap::new();
            for number in 0..rows(n) {
                let row = row(n, u32::try_from(number).unwrap());
                for (place, entrant) in row.iter().enumerate() {
                    *places.entry((place, *entrant)).or_default() += 1;
                }
                for pair in row.windows(2) {
                    *follows.entry((pair[0], pair[1])).or_default() += 1;
                }
            }
            let times = rows(n) / n;
            assert_eq!(places.len(), n * n, "{n}");
            assert!(
                places.values().all(|found| *found == times),
                "{n}: {places:?}"
            );
            assert_eq!(follows.len(), n * (n - 1), "{n}");
            assert!(
                follows.values().all(|found| *found == times),
                "{n}: {follows:?}"
            );
        }
    }

    #[test]
    fn rows_begin_again_after_the_square() {
        assert_eq!(row(5, 3), row(5, 13));
        assert_eq!(row(4, 1), row(4, 5));
        assert_ne!(row(4, 0), row(4, 1));
    }
}
