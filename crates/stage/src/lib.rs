//! Starts, checks and stops servers.
