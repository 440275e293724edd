//! Results of any kind of tool, as any bytes, and what is said of a column: read and judged, or
//! refused with a line of the text; never a panic.

use bakeoff_audit::published::{Rig, audit};
use bakeoff_published::{Format, read};

pub(crate) fn check(data: &[u8]) {
    let Some((first, bytes)) = data.split_first() else {
        return;
    };
    let text = String::from_utf8_lossy(bytes);
    let _ = text.parse::<bakeoff_published::ColumnRule>();
    let _ = bakeoff_published::parse_bits_per_s(&text);
    let format = Format::ALL.get(usize::from(first & 15)).copied();
    let rig = Rig {
        duration_s: (first & 32 == 0).then_some(30.0),
        bodies: vec![(None, 4096.0)],
        link_bits_per_s: Some(1e9),
        clients: (first & 64 == 0).then_some(10.0),
        ..Rig::default()
    };
    match read(&text, format, &[]) {
        Ok(published) => {
            let audit = audit(&published, &rig);
            assert_eq!(audit.rows.len(), published.rows.len());
            assert!(audit.believable() <= audit.rows.len());
            let numbers = audit.rows.iter().flat_map(|row| &row.findings);
            assert!(
                numbers
                    .clone()
                    .all(|it| !it.value.is_nan() && !it.limit.is_nan())
            );
        }
        Err(error) => assert!(error.line >= 1 && error.line <= text.lines().count().max(1) + 1),
    }
}
