//! The load engine: sends requests and times them.
