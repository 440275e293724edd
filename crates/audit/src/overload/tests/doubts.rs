//! What looks like a class and is none, and what cannot be said.

use super::*;

/// A machine that stands still at the very end, for a quarter of the last step.
#[test]
fn a_server_that_was_well_and_is_ill_again_at_the_end_is_not_metastable() {
    let ill_from = |ill_s: f64| {
        series(&move |at, rate, part| {
            if rate > CAPACITY || (80.0..82.0).contains(&at) || at >= ill_s {
                slow(part, 900);
            }
        })
    };
    let judged = check(&ill_from(97.0), &[OverloadClass::Queue]);
    assert_eq!(judged.recovery, Some(Recovery::NotWithin { seconds: 20.0 }));
    assert_eq!(
        judged.unsaid,
        [
            "whether it recovers: it was well from 2.0 s to 17.0 s after the load had gone back, \
             and ill again when the step ended; take more --rounds"
        ]
    );
    // Three parts are less than what must follow recovery.
    let judged = check(
        &ill_from(85.0),
        &[OverloadClass::Queue, OverloadClass::Metastable],
    );
    assert_eq!(judged.unsaid, [""; 0]);
}
