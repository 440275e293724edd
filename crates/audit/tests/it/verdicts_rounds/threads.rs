//! A server whose one thread is full, and those that only look like it.

use super::*;

/// What the busiest thread of a server on two processors did, and what the server used of them.
#[derive(Clone, Copy)]
struct Threads {
    worked: f64,
    waited: Option<f64>,
    steal: f64,
    used: f64,
}

const FULL: Threads = Threads {
    worked: 0.97,
    waited: None,
    steal: 0.0,
    used: 1.0,
};

/// The bottleneck that is named, and the figures that speak for it.
fn bottleneck(threads: Threads) -> (&'static str, String) {
    let mut record = rounds(3);
    for trial in of(&mut record, CONTENDER) {
        trial.pinned.server = vec![0, 1];
        for tick in &mut trial.usage.trees[0].ticks {
            tick.busiest_thread = Some(threads.worked);
            tick.busiest_thread_waited = threads.waited;
            tick.cpu_user_s = tick.at_s * threads.used;
            tick.cpu_system_s = 0.0;
        }
        for cpu in trial.usage.host.iter_mut().flat_map(|tick| &mut tick.cpus) {
            cpu.steal = threads.steal;
        }
    }
    let judged = judge(&record);
    let found = &cell(&judged, (CONTENDER, "synthetic", "c10")).bottleneck;
    let found = found.as_ref().expect("it was measured");
    (found.name.name(), found.text.clone())
}

#[test]
fn one_full_thread_beside_idle_processors_is_the_bottleneck() {
    let (name, text) = bottleneck(FULL);
    assert_eq!(name, "single-core");
    let expected = "one thread of the server worked 97 % of the time, and 50 % of its 2 \
                    processors was idle";
    assert_eq!(text, expected);
}

/// It shares its processors with the load engine, on a virtual machine: it never rests, and yet has
/// less than 95 % of a processor.
#[test]
fn a_thread_that_is_kept_from_its_processor_does_not_rest() {
    let kept = Threads {
        worked: 0.92,
        waited: Some(0.03),
        steal: 0.03,
        used: 0.93,
    };
    let (name, text) = bottleneck(kept);
    assert_eq!(name, "single-core", "{text}");
    let expected = "worked 92 % of the time and wanted a processor for another 6 %, and 51 % of";
    assert!(text.contains(expected), "{text}");
    for resting in [
        Threads {
            waited: None,
            steal: 0.0,
            ..kept
        },
        Threads {
            worked: 0.6,
            waited: Some(0.0),
            used: 0.6,
            ..kept
        },
    ] {
        let (name, text) = bottleneck(resting);
        assert_ne!(name, "single-core", "{text}");
    }
}

/// Two threads that share two processors with others are not one that is full.
#[test]
fn threads_that_all_wait_for_processors_are_not_one_that_is_full() {
    let two = Threads {
        worked: 0.6,
        waited: Some(0.38),
        steal: 0.0,
        used: 1.2,
    };
    let (name, text) = bottleneck(two);
    assert_ne!(name, "single-core", "{text}");
    let one = Threads { used: 0.6, ..two };
    assert_eq!(bottleneck(one).0, "single-core");
}

/// It used all that it had, which is less than all of its processors.
#[test]
fn a_server_is_full_where_it_used_what_others_left_it() {
    let taken = |steal: f64| Threads {
        worked: 0.5,
        waited: None,
        steal,
        used: 1.75,
    };
    let (name, text) = bottleneck(taken(0.04));
    assert_eq!(name, "cpu-bound");
    let expected = "the server used 1.75 of the 1.92 that others left of its 2 processors";
    assert_eq!(text, expected);
    assert_ne!(bottleneck(taken(0.0)).0, "cpu-bound");
}
