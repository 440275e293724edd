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

/// Nobody sees the process of a server on another host.
fn ends_unseen(from_s: f64) -> Series {
    series(&move |at, _, part| {
        if at >= from_s {
            (part.ok, part.p50_ns, part.p99_ns) = (0, None, None);
            part.failed.add(Kind::Refused, part.due);
        } else if at >= from_s - 1.0 {
            part.ok = 100;
            part.failed.add(Kind::Reset, part.due - 100);
        }
    })
}

#[test]
fn what_failed_because_the_server_ended_unseen_is_no_other_class() {
    for from_s in [41.0, 55.0, 60.0, 61.0, 80.0] {
        let judged = check(&ends_unseen(from_s), &[OverloadClass::Crash]);
        assert_eq!(judged.recovery, Some(Recovery::Never));
        let expected = format!("from {from_s:.1} s on every connection was refused");
        let evidence = &judged.classes[0].evidence;
        assert!(evidence.starts_with(&expected), "{evidence}");
    }
    // What it did before that counts.
    let mut ill = ends_unseen(55.0);
    for part in &mut ill.parts[40..54] {
        part.failed.add(Kind::Refused, part.due - 300);
        ill.steps[2].failed.add(Kind::Refused, part.due - 300);
        part.ok = 300;
    }
    check(
        &ill,
        &[
            OverloadClass::Refuse,
            OverloadClass::Collapse,
            OverloadClass::Crash,
        ],
    );
}

/// The other way to end: its process is seen, and the load is stopped soon.
#[test]
fn a_step_that_was_cut_short_by_the_servers_end_is_no_collapse() {
    let mut died = ends_unseen(61.0);
    died.parts.truncate(62);
    died.steps[3].ok_per_s = Some(50.0);
    died.steps[3].due = 4000;
    died.steps[3].failed = Kinds::default();
    died.steps[3].failed.add(Kind::Reset, 1900);
    died.steps[3].failed.add(Kind::Refused, 2000);
    (died.steps[4].ok_per_s, died.steps[4].due) = (None, 0);
    died.died = Some("the server died under load: signal 9".to_owned());
    check(&died, &[OverloadClass::Crash]);
}

#[test]
fn a_last_step_in_which_nothing_was_due_is_no_crash() {
    let idle = series(&|at, _, part| {
        if at >= 80.0 {
            *part = Part {
                start_s: part.start_s,
                length_s: part.length_s,
                ..Part::default()
            };
        }
    });
    check(&idle, &[]);
}
