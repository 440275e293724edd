//! Text as it may stand in XML 1.0.

use crate::safe::plain;

/// Text for an attribute or between tags: on one line, without what XML 1.0 cannot hold.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in plain(text).chars() {
        match character {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            // The two that XML 1.0 leaves out beside control characters, which are gone already.
            '\u{fffe}' | '\u{ffff}' => safe.extend(character.escape_unicode()),
            usual => safe.push(usual),
        }
    }
    safe
}
