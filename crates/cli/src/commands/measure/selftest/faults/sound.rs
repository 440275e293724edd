//! Set-ups in which nothing is wrong, and which a check could take for a fault.

use super::super::seen::Finds;
use super::super::setup::{Campaign, Setup};
use super::{Fault, timed};

pub(super) fn sound() -> Vec<Fault> {
    vec![timed(
        "new-connections",
        "R31",
        "nothing: each request takes a connection of its own, and no check may doubt that",
        Finds::Nothing,
        // With and without the fault it is the same.
        |_| {
            // Beside 24 ms the load engine's own time is little.
            let campaign = Campaign::closed("--work 3ms").window_ms(2000);
            Setup::Campaign(Campaign {
                workload: "connections = \"new\"",
                ..campaign
            })
        },
    )]
}
