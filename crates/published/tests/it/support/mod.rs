//! What tests of readers share.

use bakeoff_published::Row;

/// Its quantiles as shares and nanoseconds.
pub(crate) fn quantiles(row: &Row) -> Vec<(f64, f64)> {
    let quantiles = row.latency.quantiles.iter();
    // To whole nanoseconds: 16.56 ms is no binary fraction.
    quantiles
        .map(|one| (one.share, one.value.value.round()))
        .collect()
}
