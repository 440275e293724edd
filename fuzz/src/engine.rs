//! What a container engine says: an id is one, and no text makes it panic.

pub(crate) fn check(text: &str) {
    bakeoff_stage::fuzzing::engine(text);
}
