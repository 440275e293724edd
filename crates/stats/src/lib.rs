//! Record to estimates and comparisons.
