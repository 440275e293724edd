//! The order of things: stage, warm up, measure, probe, record.
