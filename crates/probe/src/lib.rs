//! Samples servers, load engine and host.
