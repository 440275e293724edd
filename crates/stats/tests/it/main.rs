//! The arithmetic against known values and simulated campaigns.

mod check;
mod vectors;
