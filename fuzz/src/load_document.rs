//! Any bytes read as what `bakeoff load --json` prints: what is taken can stand beside itself, and
//! does not differ from it.

use bakeoff_report::{LoadDocument, compare_loads};

pub(crate) fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(load) = LoadDocument::read(text) else {
        return;
    };
    let compared = compare_loads([("one", &load), ("other", &load)]);
    assert!(!compared.contains("\ndiffers: "), "{compared}");
}
