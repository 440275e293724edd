//! Checksums of a record, which may come from anybody: numbers that overflow, ranges that overlap.

pub(crate) fn check(data: &[u8]) {
    // The first half is the trials, the second their checksums.
    let (trials, sums) = data.split_at(data.len() / 2);
    let sums = String::from_utf8_lossy(sums);
    let found = bakeoff_record::check_lines(trials, &sums);
    let lines = trials.iter().filter(|byte| **byte == b'\n').count();
    assert!(found.missing <= lines);
    assert!(found.whole + found.changed.len() <= sums.lines().count());
}
