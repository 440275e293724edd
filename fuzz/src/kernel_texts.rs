//! What the kernel reports, as any bytes: read or refused, never a panic.

pub(crate) fn check(data: &[u8]) {
    bakeoff_probe::fuzzing::texts(data);
}
