//! What servers do beyond their capacity, judged as `bakeoff overload` judges it.

use bakeoff_report::view::OverloadClass;

use super::super::seen::Finds;
use super::super::setup::{Campaign, Setup};
use super::{Fault, timed, with};

/// A server that can do 200 requests a second and is asked for 800, with the fault in that step.
fn ramp(planted: bool, fault: &str) -> Setup {
    Setup::Campaign(Campaign::ramp(&with(planted, "--work 5ms", fault)))
}

pub(super) fn beyond() -> Vec<Fault> {
    vec![
        timed(
            "die-in-overload",
            "R38",
            "a server's process ends at four times its capacity",
            Finds::Class(&[OverloadClass::Crash]),
            |planted| ramp(planted, "--fault die --at 4500ms"),
        ),
        timed(
            "hang-in-overload",
            "R38",
            "a server answers nobody any more from four times its capacity on, also when the load \
             has gone back",
            Finds::Class(&[OverloadClass::Metastable, OverloadClass::Stall]),
            |planted| ramp(planted, "--fault stop --at 4500ms"),
        ),
    ]
}
