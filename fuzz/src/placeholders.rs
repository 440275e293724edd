//! Any text read as a path, a header and a body with placeholders: what is taken has variants that
//! are the same each time, and are all the same where nothing differs.

use bakeoff_plan::{Cut, ValueTable, Values};

pub(crate) fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut lines = text.splitn(3, '\n');
    let mut line = || lines.next().unwrap_or_default();
    let (path, header, body) = (line(), line(), line());
    let headers = [("X-Id".to_owned(), header.to_owned())];
    let Ok(cut) = Cut::of(path, &headers, body.as_bytes()) else {
        return;
    };
    let cuts = [cut];
    let read = |_: &str| {
        let records = [["name", "age"], ["Ann", "5"], ["Bob", "6"]];
        let records = records.map(|cells| cells.map(str::to_owned).to_vec());
        Ok(ValueTable::of_records(records.to_vec()))
    };
    let Ok(values) = Values::read(&cuts, 7, &read) else {
        return;
    };
    let variant = |number: u32| values.variant(&cuts[0], 0, number.into());
    let count = values.count(&cuts, Some(100));
    assert!((1..=100).contains(&count));
    assert_eq!(variant(count), variant(count));
    if !cuts[0].varies() {
        assert_eq!((count, variant(1)), (1, variant(2)));
    }
    if !path.contains('{') {
        assert_eq!(variant(1).path, path);
    }
}
