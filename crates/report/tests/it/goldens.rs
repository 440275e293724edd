//! Golden files: what an output format gave, looked at once and kept.

#![expect(
    clippy::disallowed_methods,
    reason = "tests read their golden files; the library does not"
)]

use std::path::Path;

/// Compares with `tests/golden/NAME`, or writes it when `BLESS` is set.
#[track_caller]
pub(crate) fn check(name: &str, actual: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let path = folder.join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, actual).expect("the golden folder can be written");
    }
    let expected = std::fs::read_to_string(&path).expect("there is a golden file of this name");
    for (index, (expected, actual)) in expected.lines().zip(actual.lines()).enumerate() {
        assert_eq!(actual, expected, "{name}, line {}", index + 1);
    }
    assert!(actual == expected, "{name} differs:\n{actual}");
}
