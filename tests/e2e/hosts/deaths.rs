//! The end of a connection, an agent, a link or home in the middle of a load: the host is named,
//! what others measured is kept and merged into nothing, and nothing is left on any host.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::lab::{Lab, Nature};
use crate::support::processes;
use crate::support::scene::{Running, Scene};

/// After the end of its input an agent is gone in half a second; this machine may be busy.
const AFTER_END: Duration = Duration::from_secs(8);
/// After silence it is gone in 10 s, and the look at that takes up to a second.
const AFTER_SILENCE: Duration = Duration::from_secs(30);

/// A load from g1 and g2, and when something happens to it.
struct Blow {
    /// What is loaded.
    server: &'static [&'static str],
    /// How.
    load: &'static [&'static str],
    /// When, from the start of the agents on.
    after: Duration,
}

/// In the window: hello, clocks and the start take less, and the load takes longer.
const IN_WINDOW: Blow = Blow {
    server: &["yardstick"],
    load: &["-c", "4", "-d", "9s"],
    after: Duration::from_secs(5),
};
const IN_WARMUP: Blow = Blow {
    server: &["yardstick"],
    load: &["-c", "4", "--warmup", "20s", "-d", "2s"],
    after: Duration::from_millis(4000),
};
/// After the window, while requests are followed to their ends: an answer takes 16 s.
const WHILE_STOPPING: Blow = Blow {
    server: &["origin", "--delay", "16s"],
    load: &["-r", "20", "-c", "300", "-d", "1s", "--timeout", "40s"],
    after: Duration::from_secs(9),
};

/// Strikes g1 in the window of a load from g1 and g2: g1 is lost for a reason of this `code`, and
/// nothing is left on it `within` so long.
#[track_caller]
fn check(strike: impl Fn(&Lab<'_>, &Running<'_>), code: &str, within: Duration) {
    check_at(&IN_WINDOW, strike, &[code], within);
}

/// The same at another time, for one of these reasons.
#[track_caller]
fn check_at(
    blow: &Blow,
    strike: impl Fn(&Lab<'_>, &Running<'_>),
    codes: &[&str],
    within: Duration,
) {
    let scene = Scene::new();
    let plain = Nature::default();
    let Some(lab) = Lab::new(&scene, &[("sut", plain), ("g1", plain), ("g2", plain)]) else {
        return;
    };
    scene.write("lab.toml", &lab.file(&["g1", "g2"], false));
    let program = [env!("CARGO_BIN_EXE_bakeoff")];
    let url = lab.serve_by("sut", &[&program, blow.server, &["--listen"]].concat());
    let load = ["load", &url, "--hosts", "lab.toml", "--json"];
    let mut running = lab.start_home(&[&load[..], blow.load].concat());
    running.wait_until("both agents run", |_| {
        !lab.agents("g1").is_empty() && !lab.agents("g2").is_empty()
    });
    std::thread::sleep(blow.after);
    let since = Instant::now();
    strike(&lab, &running);
    while !lab.agents("g1").is_empty() {
        assert!(since.elapsed() < within, "an agent is left on g1");
        std::thread::sleep(Duration::from_millis(10));
    }
    eprintln!("{codes:?}: gone after {:?}", since.elapsed());
    let finished = running.finish().expect(4).says("host g1: ");
    let reported = serde_json::from_str::<serde_json::Value>(&finished.stdout).unwrap();
    let lost = reported["lost"].as_array().unwrap();
    assert_eq!(
        (lost.len(), &lost[0]["host"]),
        (1, &"g1".into()),
        "{reported:#}"
    );
    assert!(
        codes.iter().any(|code| lost[0]["code"] == *code),
        "{reported:#}"
    );
    assert!(
        reported.get("latency_ns").is_none(),
        "nothing stands for the whole load"
    );
    let kept = reported["generators"].as_array().unwrap();
    assert_eq!((kept.len(), &kept[0]["host"]), (1, &"g2".into()));
    assert!(kept[0]["load"]["requests"]["ok"].as_u64().unwrap() > 0);
    assert!(lab.agents("g2").is_empty());
}

#[test]
fn an_ssh_that_is_killed_loses_its_host() {
    let strike = |lab: &Lab<'_>, running: &Running<'_>| {
        processes::signal(lab.ssh_to(running, "g1"), Signal::KILL);
    };
    check(strike, "ended", AFTER_END);
}

#[test]
fn an_agent_that_is_killed_loses_its_host() {
    let strike = |lab: &Lab<'_>, _: &Running<'_>| {
        processes::signal(lab.agents("g1")[0], Signal::KILL);
    };
    check(strike, "ended", AFTER_END);
}

#[test]
fn an_sshd_that_is_killed_loses_its_host() {
    let strike = |lab: &Lab<'_>, _: &Running<'_>| {
        let session = processes::parent(lab.agents("g1")[0]).expect("an sshd");
        processes::signal(session, Signal::KILL);
    };
    check(strike, "ended", AFTER_END);
}

#[test]
fn a_host_that_dies_is_lost() {
    check(|lab, _| lab.kill("g1"), "ended", AFTER_END);
}

#[test]
fn an_ssh_that_is_stopped_loses_its_host_by_silence() {
    let strike = |lab: &Lab<'_>, running: &Running<'_>| {
        processes::signal(lab.ssh_to(running, "g1"), Signal::STOP);
    };
    check(strike, "silent", AFTER_SILENCE);
}

#[test]
fn a_link_that_is_down_loses_its_host_and_the_load_there_ends() {
    // Whichever gives up first: ssh, which asks each 2 s, or home after 10 s.
    check(|lab, _| lab.set_link("g1", "down"), "ended", AFTER_SILENCE);
}

/// Which side gives the link up first is the system's to say.
const BY_LINK: [&str; 2] = ["ended", "silent"];

#[test]
fn a_link_that_goes_down_in_the_warm_up_loses_its_host() {
    let down = |lab: &Lab<'_>, _: &Running<'_>| lab.set_link("g1", "down");
    check_at(&IN_WARMUP, down, &BY_LINK, AFTER_SILENCE);
}

#[test]
fn a_link_that_goes_down_after_the_window_loses_its_host() {
    let down = |lab: &Lab<'_>, _: &Running<'_>| lab.set_link("g1", "down");
    check_at(&WHILE_STOPPING, down, &BY_LINK, AFTER_SILENCE);
}

#[track_caller]
fn check_home(signal: Signal, within: Duration) {
    let scene = Scene::new();
    let plain = Nature::default();
    let Some(lab) = Lab::new(&scene, &[("sut", plain), ("g1", plain)]) else {
        return;
    };
    scene.write("lab.toml", &lab.file(&["g1"], false));
    let url = lab.serve("sut");
    let load = ["load", &url, "--hosts", "lab.toml", "-c", "4", "-d", "60s"];
    let mut running = lab.start_home(&load);
    running.wait_until("the agent runs", |_| !lab.agents("g1").is_empty());
    std::thread::sleep(Duration::from_millis(1500));
    let since = Instant::now();
    running.signal(signal);
    while !lab.is_empty() {
        assert!(since.elapsed() < within, "an agent is left");
        std::thread::sleep(Duration::from_millis(10));
    }
    eprintln!("home {signal:?}: gone after {:?}", since.elapsed());
    running.signal(Signal::KILL);
    running.finish().expect_signal(Signal::KILL);
    // It learns of the end over the network, which goes with the lab.
    scene.wait_for_end_of("ssh");
}

#[test]
fn nothing_runs_on_after_home_is_killed() {
    check_home(Signal::KILL, AFTER_END);
}

#[test]
fn nothing_runs_on_after_home_is_stopped() {
    check_home(Signal::STOP, AFTER_SILENCE);
}
