//! The end of a connection, an agent, a link or home in the middle of a load: the host is named,
//! what others measured is kept and merged into nothing, and nothing is left on any host.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::lab::{Lab, Nature};
use crate::support::scene::{Running, Scene};
use crate::support::{processes, wait_until};

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
    /// After so many packets to the server.
    packets: u64,
    /// And so long after them.
    after: Duration,
}

/// Checks are a few packets, so after a thousand the load is on. Its rate leaves the machine to
/// others.
const IN_WINDOW: Blow = Blow {
    server: &["yardstick"],
    load: &["-r", "1k", "-c", "4", "--warmup", "0s", "-d", "4s"],
    packets: 1_000,
    after: Duration::ZERO,
};
const IN_WARMUP: Blow = Blow {
    load: &["-r", "1k", "-c", "4", "--warmup", "15s", "-d", "1s"],
    ..IN_WINDOW
};
/// Longer than any silence.
const LONG: Blow = Blow {
    load: &["-r", "1k", "-c", "4", "-d", "60s"],
    ..IN_WINDOW
};
/// After the window, while requests are followed to their ends: an answer takes 16 s. Each client's
/// connection takes two packets before the first request.
const WHILE_STOPPING: Blow = Blow {
    server: &["origin", "--delay", "16s"],
    load: &["-r", "20", "-c", "300", "-d", "1s", "--timeout", "40s"],
    packets: 600,
    after: Duration::from_secs(3),
};

/// A lab of a server and two generators.
fn lab(scene: &Scene) -> Option<Lab<'_>> {
    let plain = Nature::default();
    let lab = Lab::new(scene, &[("sut", plain), ("g1", plain), ("g2", plain)])?;
    scene.write("lab.toml", &lab.file(&["g1", "g2"], false));
    Some(lab)
}

/// Starts the server of a blow, and returns its URL.
fn serve(lab: &Lab<'_>, blow: &Blow) -> String {
    let program = [env!("CARGO_BIN_EXE_bakeoff")];
    lab.serve_by("sut", &[&program, blow.server, &["--listen"]].concat())
}

/// Starts the load of a blow and waits for its time.
fn load<'s>(lab: &Lab<'s>, blow: &Blow, url: &str) -> Running<'s> {
    let before = lab.received("sut");
    let load = ["load", url, "--hosts", "lab.toml", "--json"];
    let mut running = lab.start_home(&[&load[..], blow.load].concat());
    running.wait_until("it is under load", |_| {
        lab.received("sut") > before + blow.packets
    });
    std::thread::sleep(blow.after);
    running
}

/// Nothing of g1 is left within so long after it was struck.
#[track_caller]
fn assert_gone(lab: &Lab<'_>, since: Instant, within: Duration, what: &str) {
    while !lab.agents("g1").is_empty() {
        assert!(since.elapsed() < within, "{what}: an agent is left on g1");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// g1 is lost for one of these reasons, and what g2 measured is kept.
#[track_caller]
fn assert_lost(running: Running<'_>, lab: &Lab<'_>, codes: &[&str], what: &str) {
    let finished = running.finish().expect(4).says("host g1: ");
    let reported = serde_json::from_str::<serde_json::Value>(&finished.stdout).unwrap();
    let lost = reported["lost"].as_array().unwrap();
    assert_eq!(
        (lost.len(), &lost[0]["host"]),
        (1, &"g1".into()),
        "{what}: {reported:#}"
    );
    assert!(
        codes.iter().any(|code| lost[0]["code"] == *code),
        "{what}: {reported:#}"
    );
    assert!(
        reported.get("latency_ns").is_none(),
        "nothing stands for the whole load"
    );
    let kept = reported["generators"].as_array().unwrap();
    assert_eq!((kept.len(), &kept[0]["host"]), (1, &"g2".into()), "{what}");
    assert!(
        kept[0]["load"]["requests"]["ok"].as_u64().unwrap() > 0,
        "{what}"
    );
    assert!(lab.agents("g2").is_empty(), "{what}");
}

/// What is done to a host of a load that home does.
type Strike = fn(&Lab<'_>, &Running<'_>);

/// One load after another, each with an end of its own; the last one is home's.
#[test]
fn a_host_whose_connection_ends_is_lost_and_nothing_runs_on() {
    let strikes: [(&str, Strike); 4] = [
        ("an ssh is killed", |lab, running| {
            processes::signal(lab.ssh_to(running, "g1"), Signal::KILL);
        }),
        ("an agent is killed", |lab, _| {
            processes::signal(lab.agents("g1")[0], Signal::KILL);
        }),
        ("an sshd is killed", |lab, _| {
            let session = processes::parent(lab.agents("g1")[0]).expect("an sshd");
            processes::signal(session, Signal::KILL);
        }),
        ("home is killed", |_, running| running.signal(Signal::KILL)),
    ];
    let scene = Scene::new();
    let Some(lab) = lab(&scene) else {
        return;
    };
    let url = serve(&lab, &IN_WINDOW);
    for (what, strike) in strikes {
        let blow = if what == "home is killed" {
            &LONG
        } else {
            &IN_WINDOW
        };
        let running = load(&lab, blow, &url);
        let since = Instant::now();
        strike(&lab, &running);
        assert_gone(&lab, since, AFTER_END, what);
        if what == "home is killed" {
            wait_until("no agent is left", || lab.is_empty());
            running.finish().expect_signal(Signal::KILL);
            scene.wait_for_end_of("ssh");
        } else {
            assert_lost(running, &lab, &["ended"], what);
        }
    }
    let running = load(&lab, &IN_WINDOW, &url);
    let since = Instant::now();
    lab.kill("g1");
    assert_gone(&lab, since, AFTER_END, "the host is killed");
    assert_lost(running, &lab, &["ended"], "the host is killed");
}

/// Each in a lab of its own at the same time, because silence is waited for.
#[test]
fn a_host_that_is_silent_is_lost_and_nothing_runs_on() {
    // Which side gives a link up first is the system's to say: ssh, which asks each 2 s, or home
    // after 10 s.
    const BY_LINK: [&str; 2] = ["ended", "silent"];
    let down: Strike = |lab, _| lab.set_link("g1", "down");
    let stop: Strike = |lab, running| {
        processes::signal(lab.ssh_to(running, "g1"), Signal::STOP);
    };
    let blows: [(&str, &Blow, Strike, &[&str]); 4] = [
        ("an ssh is stopped", &IN_WINDOW, stop, &["silent"]),
        ("a link is down", &IN_WINDOW, down, &BY_LINK),
        ("a link is down in the warm-up", &IN_WARMUP, down, &BY_LINK),
        (
            "a link is down after the window",
            &WHILE_STOPPING,
            down,
            &BY_LINK,
        ),
    ];
    let scenes = [(); 5].map(|()| Scene::new());
    let mut labs = Vec::new();
    for scene in &scenes {
        let Some(lab) = lab(scene) else {
            return;
        };
        labs.push(lab);
    }
    let mut struck = Vec::new();
    for (lab, (what, blow, strike, codes)) in labs.iter().zip(blows) {
        let running = load(lab, blow, &serve(lab, blow));
        strike(lab, &running);
        struck.push((lab, running, Instant::now(), what, codes));
    }
    let (of_home, scene) = (&labs[4], &scenes[4]);
    let running = load(of_home, &LONG, &serve(of_home, &LONG));
    running.signal(Signal::STOP);
    let stopped = Instant::now();
    for (lab, running, since, what, codes) in struck {
        assert_gone(lab, since, AFTER_SILENCE, what);
        assert_lost(running, lab, codes, what);
    }
    while !of_home.is_empty() {
        assert!(stopped.elapsed() < AFTER_SILENCE, "home is stopped");
        std::thread::sleep(Duration::from_millis(10));
    }
    running.signal(Signal::KILL);
    running.finish().expect_signal(Signal::KILL);
    // It learns of the end over the network, which goes with the lab.
    scene.wait_for_end_of("ssh");
}
