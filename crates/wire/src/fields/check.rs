//! What names and values of fields may hold (RFC 9113, 8.2; RFC 9114, 4.2 and 10.3).

/// Whether a name may stand in an ordinary field (RFC 9113, 8.2.1).
pub(crate) fn is_field_name(name: &[u8]) -> bool {
    let fits =
        |&byte: &u8| matches!(byte, 0x21..=0x7e if byte != b':') && !byte.is_ascii_uppercase();
    !name.is_empty() && name.iter().all(fits)
}

/// Whether a value may stand in a field (RFC 9113, 8.2.1).
pub(crate) fn is_field_value(value: &[u8]) -> bool {
    let is_space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    !value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n'))
        && !is_space(value.first())
        && !is_space(value.last())
}

/// Whether a field belongs to HTTP/1.1 connections (RFC 9113, 8.2.2; RFC 9114, 4.2).
pub(crate) fn is_connection_field(name: &[u8]) -> bool {
    matches!(
        name,
        b"connection" | b"proxy-connection" | b"keep-alive" | b"transfer-encoding" | b"upgrade"
    )
}
