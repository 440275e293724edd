//! The static table of RFC 7541, appendix A.

use crate::fields;

/// Number of entries; the dynamic table begins behind them.
pub(super) const LEN: u32 = 61;

/// Names and values, from index 1.
pub(super) static ENTRIES: [(&str, &str); LEN as usize] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// The entry at `index`, from 1.
#[inline]
pub(super) fn entry(index: u32) -> Option<(&'static [u8], &'static [u8])> {
    let (name, value) = ENTRIES.get((index as usize).checked_sub(1)?)?;
    Some((name.as_bytes(), value.as_bytes()))
}

/// The first entry with this name, if any, and whether one has the value too: then that one.
pub(super) fn find(name: &[u8], value: &[u8]) -> Option<(u32, bool)> {
    fields::find((1..=LEN).zip(&ENTRIES), name, value)
}
