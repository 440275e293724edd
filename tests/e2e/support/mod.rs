//! What the tests share: scenes, processes, servers that answer rightly and wrongly, records.

pub(crate) mod certificates;
pub(crate) mod files;
pub(crate) mod hostile;
pub(crate) mod processes;
pub(crate) mod scene;
pub(crate) mod scripted;
pub(crate) mod servers;
pub(crate) mod terminal;
mod turns;

use std::time::{Duration, Instant};

pub(crate) use turns::alone;

/// Runs the scene's own plan with the scene's own servers into its record folder.
pub(crate) const RUN_OWN: [&str; 6] = [
    "run",
    "./own.toml",
    "--library",
    "library",
    "--out",
    "record",
];

/// Longer than any machine needs for a step; a test that waits this long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Whether a test must not be passed over.
pub(crate) fn in_ci() -> bool {
    std::env::var("CI").as_deref() == Ok("true")
}

/// What makes a race short.
pub(crate) const SHORT: [&str; 8] = [
    "--rounds",
    "2",
    "--duration",
    "200ms",
    "--warmup",
    "50ms",
    "--clients",
    "2",
];

/// Says that a test is passed over, which must not be where `CI=true`.
pub(crate) fn pass_over(why: &str) {
    assert!(!in_ci(), "{why}");
    eprintln!("PASSED OVER: {why}");
}

/// Waits until `holds`, at most [`PATIENCE`]. What takes longer is asked less often: most questions
/// read all of `/proc`, and twelve tests ask at the same time.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    let mut pause = Duration::from_millis(5);
    while !holds() {
        assert!(Instant::now() < end, "waited in vain until {what}");
        std::thread::sleep(pause);
        pause = (pause * 5 / 4).min(Duration::from_millis(50));
    }
}
