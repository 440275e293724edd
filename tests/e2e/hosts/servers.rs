//! Servers and the upstream behind them on other hosts: staged, asked, sampled, stopped and
//! recorded as on one machine, each host by its name.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use super::lab::{Lab, Nature};
use crate::support::files::{measured, plan, trials};
use crate::support::scene::{Running, Scene};
use crate::support::servers::are_installed;
use crate::support::{processes, wait_until};

const HOSTS: [&str; 4] = ["sut", "up", "g1", "g2"];
/// After the end of its input an agent is gone in half a second; this machine may be busy.
const AFTER_END: Duration = Duration::from_secs(8);
/// After silence it is gone in 10 s, and its servers after it.
const AFTER_SILENCE: Duration = Duration::from_secs(30);

/// A lab of four hosts, and a file with their roles.
fn lab(scene: &Scene) -> Option<Lab<'_>> {
    lab_with(scene, false)
}

/// The same where the program is copied or not.
fn lab_with(scene: &Scene, is_copied: bool) -> Option<Lab<'_>> {
    let lab = Lab::new(scene, &HOSTS.map(|name| (name, Nature::default())))?;
    let file = lab.file(&["g1", "g2"], is_copied);
    scene.write("lab.toml", &format!("{file}origin = \"up\"\n"));
    Some(lab)
}

/// A plan whose contenders run the programs that are found here: hosts have the same files, but
/// not the search path of the tests.
fn plan_here(
    scene: &Scene,
    contenders: &[(&str, &str, &str)],
    workloads: &str,
    load: &str,
) -> String {
    let listed = scene.json(&["list", "--json"]);
    let path = |name: &str| {
        let servers = listed["servers"].as_array().unwrap();
        let server = servers.iter().find(|server| server["name"] == name);
        let program = &server.unwrap()["binary"];
        program.as_str().unwrap_or_default().to_owned()
    };
    let mut text = plan(contenders, workloads, load).replace("clients = 3", "clients = 4");
    for (name, server, _) in contenders {
        let named = format!("name = \"{name}\"\n");
        let with = format!("{named}binary = \"{}\"\n", path(server));
        text = text.replace(&named, &with);
    }
    text
}

fn run(out: &str) -> [&str; 6] {
    ["run", "plan.toml", "--hosts", "lab.toml", "--out", out]
}

/// What is left of an agent on any host: itself, a server, a keeper.
fn left(lab: &Lab<'_>) -> Vec<String> {
    HOSTS.iter().flat_map(|name| lab.left_on(name)).collect()
}

#[track_caller]
fn host<'v>(trial: &'v Value, name: &str) -> &'v Value {
    let hosts = trial["hosts"]["hosts"].as_array().unwrap();
    let found = hosts.iter().find(|host| host["name"] == name);
    found.unwrap_or_else(|| panic!("no host {name}: {hosts:#?}"))
}

fn seconds_of(usage: &Value, role: &str) -> usize {
    let trees = usage["trees"].as_array().into_iter().flatten();
    let of_role = trees.filter(|tree| tree["role"] == role);
    of_role
        .map(|tree| tree["ticks"].as_array().map_or(0, Vec::len))
        .sum()
}

/// The program is copied: the upstream and the yardstick are this copy, run as somebody else.
#[test]
fn servers_run_on_one_host_and_their_upstream_on_another() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let Some(lab) = lab_with(&scene, true) else {
        return;
    };
    let contenders = [("web", "nginx", "default")];
    scene.write(
        "plan.toml",
        &plan_here(
            &scene,
            &contenders,
            "synthetic\", \"proxy",
            "duration = \"500ms\"",
        ),
    );
    let finished = lab.start_home(&run("record")).finish();
    finished.expect_measured();
    let record = scene.path("record");
    assert_eq!(measured(&record).len(), 2);
    let address = lab.address("sut");
    for trial in trials(&record) {
        let id = trial["id"].as_str().unwrap();
        let proxied = trial["workload"] == "proxy";
        let at = trial["server"]["address"].as_str().unwrap();
        assert!(at.starts_with("sut:"), "names stand for addresses: {at}");
        assert_eq!(host(&trial, "sut")["roles"], serde_json::json!(["server"]));
        assert!(
            host(&trial, "sut")["clock"]["after"]["error_ns"]
                .as_u64()
                .unwrap()
                > 0
        );
        assert_eq!(trial["hosts"]["generators"].as_array().unwrap().len(), 2);
        assert!(
            seconds_of(&trial["usage"], "server") > 1,
            "{id}: {}",
            trial["usage"]
        );
        assert!(trial["usage"]["host"].as_array().unwrap().len() > 1);
        let ok = trial["result"]["requests"]["ok"].as_u64().unwrap();
        assert!(ok > 0);
        if proxied {
            let up = host(&trial, "up");
            assert_eq!(up["roles"], serde_json::json!(["origin"]));
            assert!(seconds_of(&up["usage"], "origin") > 1, "{up:#}");
            assert_asked(&trial, ok / 2);
        } else {
            assert_eq!(trial["hosts"]["hosts"].as_array().unwrap().len(), 3);
        }
        let logs = record.join("logs").join(id);
        for file in ["server.log", "command.txt"] {
            assert!(logs.join(file).is_file(), "{file} of {id}");
        }
        let config = trial["server"]["configs"][0]["path"].as_str().unwrap();
        let text = std::fs::read_to_string(record.join(config)).unwrap();
        assert!(text.contains("listen sut:"), "{text}");
        assert!(!text.contains(&address), "{text}");
    }
    wait_until("nothing is left on any host", || left(&lab).is_empty());
}

#[test]
fn three_proxies_are_compared_over_tls() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx", "caddy", "haproxy"]) {
        return;
    }
    let Some(lab) = lab(&scene) else {
        return;
    };
    let contenders = ["nginx", "caddy", "haproxy"].map(|name| (name, name, "default"));
    let load = "duration = \"300ms\"";
    scene.write("plan.toml", &plan_here(&scene, &contenders, "proxy", load));
    let tls = [&run("record")[..], &["--protocol", "h1-tls"]].concat();
    let finished = lab.start_home(&tls).finish();
    finished.expect_measured();
    let record = scene.path("record");
    assert_eq!(measured(&record).len(), 3);
    for trial in trials(&record) {
        let answers = trial["answers"].as_array().unwrap();
        assert!(answers.len() > 1 && answers.iter().all(|it| it["right"] == true));
        let upstream = &trial["work"]["upstream"]["requests"];
        assert!(upstream.as_u64().unwrap() >= 10, "{:#}", trial["work"]);
        assert_asked(&trial, 0);
        assert!(trial["server"]["stopped"]["took_s"].as_f64().is_some());
    }
    wait_until("nothing is left on any host", || left(&lab).is_empty());
}

/// The upstream was asked more often than this. Its counts are read over the network, a moment
/// beside the edges of the window; on a busy machine too late to be kept.
#[track_caller]
fn assert_asked(trial: &Value, times: u64) {
    let counted = &trial["origin"]["requests"];
    let is_more = counted.as_u64().is_some_and(|counted| counted > times);
    assert!(counted.is_null() || is_more, "{counted}, not over {times}");
}

/// A plan of a command and of what runs already, both on `sut`.
fn plan_of_own(url: &str) -> String {
    let empty = plan(&[], "any", "duration = \"300ms\"");
    let bakeoff = env!("CARGO_BIN_EXE_bakeoff");
    format!(
        "{empty}[[contender]]\nname = \"command\"\n\
         command = \"{bakeoff} yardstick --listen 0.0.0.0:{{port}}\"\n\
         [[contender]]\nname = \"running\"\nurl = \"{url}\"\n\
         [[workload]]\nname = \"any\"\n[[workload.request]]\npath = \"/\"\n\
         expect = {{ status = 200, body = \"any\" }}\n"
    )
}

#[test]
fn commands_and_running_servers_are_those_of_the_servers_host() {
    let scene = Scene::new();
    let Some(lab) = lab(&scene) else {
        return;
    };
    let url = lab.serve("sut");
    scene.write("plan.toml", &plan_of_own(&url));
    // The links of one generator are measured sooner than those of two.
    scene.write("lab.toml", &lab.file(&["g1"], false));
    lab.start_home(&run("record")).finish().expect_measured();
    let record = scene.path("record");
    assert_eq!(measured(&record).len(), 2);
    for trial in trials(&record) {
        let at = trial["server"]["address"].as_str().unwrap();
        assert!(at.starts_with("sut:"), "{}: {at}", trial["contender"]);
        assert!(trial["result"]["requests"]["ok"].as_u64().unwrap() > 0);
        let trees = &trial["usage"]["trees"];
        assert!(seconds_of(&trial["usage"], "server") > 1, "{trees:#}");
        // The agent is no engine: the load comes from others.
        assert_eq!(seconds_of(&trial["usage"], "engine"), 0, "{trees:#}");
        assert!(seconds_of(&trial["usage"], "bakeoff") > 1, "{trees:#}");
    }
    let command = format!(
        "{} yardstick --listen 0.0.0.0:{{port}}",
        env!("CARGO_BIN_EXE_bakeoff")
    );
    let race = [
        "race", &url, "--start", &command, "--hosts", "lab.toml", "--out", "race",
    ];
    let brief = ["--rounds", "1", "--duration", "300ms", "--clients", "4"];
    let raced = lab.start_home(&[&race[..], &brief].concat()).finish();
    let raced = raced.expect_measured();
    assert!(
        raced.stderr.contains("race/plan.toml --hosts lab.toml"),
        "{raced:#?}"
    );
    let raced = trials(&scene.path("race"));
    assert_eq!(
        raced.iter().filter(|it| it["kind"] == "contender").count(),
        2
    );
    for trial in raced {
        let at = trial["server"]["address"].as_str().unwrap_or_default();
        let is_here = trial["kind"] != "contender";
        assert!(is_here || at.starts_with("sut:"), "{at}");
    }
    // What ran before goes on, and nothing else.
    assert!(lab.serves(), "the running server was ended");
    wait_until("nothing is left on any host", || left(&lab).is_empty());
}

/// The server at home and the upstream elsewhere, and the other way round, with a generator on
/// the host of the server.
#[test]
fn roles_may_be_on_any_hosts() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let Some(lab) = lab(&scene) else {
        return;
    };
    let contenders = [("web", "nginx", "default")];
    let load = "duration = \"300ms\"";
    scene.write("plan.toml", &plan_here(&scene, &contenders, "proxy", load));
    let file = lab.file(&["g1"], false);
    let (hosts, _) = file.split_once("[roles]").unwrap();
    let home = "[hosts.home]\naddress = \"10.99.0.200\"\n";
    for (index, (server, origin, generator)) in [
        ("home", "up", "g1"),
        ("sut", "home", "g1"),
        ("sut", "sut", "sut"),
        ("sut", "g1", "g1"),
    ]
    .into_iter()
    .enumerate()
    {
        let roles = format!(
            "[roles]\nserver = \"{server}\"\norigin = \"{origin}\"\n\
             generators = [\"{generator}\"]\n"
        );
        scene.write("lab.toml", &format!("{hosts}{home}{roles}"));
        let record = format!("record-{index}");
        lab.start_home(&run(&record)).finish().expect_measured();
        let trials = trials(&scene.path(&record));
        assert_eq!(trials.len(), 1);
        let roles_of = |role: &str, name: &str| {
            let roles = host(&trials[0], name)["roles"].as_array().unwrap();
            assert!(
                roles.iter().any(|it| it == role),
                "{role} on {name}: {roles:?}"
            );
        };
        roles_of("server", server);
        roles_of("origin", origin);
        roles_of("generator", generator);
        let at = trials[0]["server"]["address"].as_str().unwrap();
        assert!(at.starts_with(&format!("{server}:")), "{at}");
        assert_asked(&trials[0], 0);
        let sampled = |role: &str, name: &str| {
            let usage = &host(&trials[0], name)["usage"];
            assert!(seconds_of(usage, role) > 0, "{role} on {name}: {usage:#}");
        };
        sampled("engine", generator);
        if origin != server {
            sampled("origin", origin);
        }
    }
    wait_until("nothing is left on any host", || left(&lab).is_empty());
}

/// What is said of a host that is not reached again, and of the record that goes on.
const GONE: &str = "host sut was lost and cannot be reached again: ";
const GOES_ON: &str = "`bakeoff run --resume record --hosts lab.toml` goes on";

/// A campaign of nginx with these workloads on a lab, whose windows last 3 s.
fn campaign<'s>(lab: &Lab<'s>, scene: &Scene, workloads: &[&str], rest: &str) -> Running<'s> {
    let contenders = [("web", "nginx", "default")];
    let workloads = workloads.join("\", \"");
    let text = plan_here(scene, &contenders, &workloads, "duration = \"3s\"");
    let rest = format!("rest = \"{rest}\"");
    scene.write("plan.toml", &text.replace("rest = \"0s\"", &rest));
    lab.start_home(&run("record"))
}

/// Waits until so many trials are recorded and the server of the next one is under load: checks
/// are a few packets.
#[track_caller]
fn wait_for_load(lab: &Lab<'_>, scene: &Scene, running: &mut Running<'_>, recorded: usize) {
    let record = scene.path("record");
    running.wait_until("the server runs", |_| {
        record.join("plan.json").exists()
            && trials(&record).len() == recorded
            && lab.left_on("sut").iter().any(|it| it.starts_with("nginx"))
    });
    let before = lab.received("sut");
    running.wait_until("it is under load", |_| lab.received("sut") > before + 3_000);
}

/// Strikes the host of the server; `within` so long nothing that ran there is left.
#[track_caller]
fn strike(lab: &Lab<'_>, within: Duration, strike: impl FnOnce()) {
    let since = Instant::now();
    // Of the next trial there is something again, so that it is the first that is looked for.
    let struck = lab.numbers_on("sut");
    strike();
    while struck.iter().any(|pid| processes::exists(*pid)) {
        assert!(
            since.elapsed() < within,
            "left on sut: {:?}",
            lab.left_on("sut")
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The trial has failed, the host is named, and what the generators measured is kept.
#[track_caller]
fn assert_lost(trial: &Value, lab: &Lab<'_>, generators: usize) {
    assert_eq!(trial["end"]["kind"], "failed", "{:#}", trial["end"]);
    let cause = trial["end"]["cause"].as_str().unwrap();
    assert!(cause.starts_with("host sut was lost: "), "{cause}");
    let lost = trial["hosts"]["lost"].as_array().unwrap();
    assert_eq!(
        (lost.len(), &lost[0]["host"]),
        (1, &"sut".into()),
        "{lost:?}"
    );
    assert!(
        !lost[0].to_string().contains(&lab.address("sut")),
        "{lost:?}"
    );
    let parts = trial["hosts"]["generators"].as_array().unwrap();
    assert_eq!(
        parts.len(),
        generators,
        "what the generators measured is kept"
    );
}

/// Between the first and the second trial nobody asks hosts for anything, so that none fails for
/// what happens then. Then an ssh is killed under load, and an agent in the trial after it.
#[test]
fn a_connection_to_the_server_that_is_killed_loses_its_trial_and_not_the_next() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let Some(lab) = lab(&scene) else {
        return;
    };
    let workloads = ["synthetic", "html-small", "html-large", "gzip"];
    let mut running = campaign(&lab, &scene, &workloads, "3s");
    let record = scene.path("record");
    running.wait_until("the first trial is recorded", |_| {
        !trials(&record).is_empty()
    });
    for name in ["g2", "sut"] {
        processes::signal(lab.ssh_to(&running, name), Signal::KILL);
    }
    wait_for_load(&lab, &scene, &mut running, 1);
    strike(&lab, AFTER_END, || {
        processes::signal(lab.ssh_to(&running, "sut"), Signal::KILL);
    });
    wait_for_load(&lab, &scene, &mut running, 2);
    strike(&lab, AFTER_END, || {
        for agent in lab.agents("sut") {
            processes::signal(agent, Signal::KILL);
        }
    });
    running.finish().expect_measured();
    let trials = trials(&record);
    let ends: Vec<&Value> = trials.iter().map(|trial| &trial["end"]["kind"]).collect();
    assert_eq!(ends, ["measured", "failed", "failed", "measured"]);
    for trial in &trials[1..3] {
        assert_lost(trial, &lab, 2);
    }
    wait_until("nothing is left on any host", || left(&lab).is_empty());
}

/// Two campaigns at the same time: the host of one is killed, the link of the other is down. The
/// trial that could not begin is measured once the host is back and the record goes on.
#[test]
fn a_host_of_the_server_that_is_not_reached_again_ends_the_campaign() {
    let scenes = [(); 2].map(|()| Scene::new());
    if !are_installed(&scenes[0], &["nginx"]) {
        return;
    }
    let mut labs = Vec::new();
    for scene in &scenes {
        let Some(lab) = lab(scene) else {
            return;
        };
        // The links of one generator are measured sooner than those of two.
        let file = lab.file(&["g1"], false);
        scene.write("lab.toml", &format!("{file}origin = \"up\"\n"));
        labs.push(lab);
    }
    type Blow = fn(&Lab<'_>);
    let strikes: [(Blow, Duration); 2] = [
        (|lab| lab.kill("sut"), AFTER_END),
        (|lab| lab.set_link("sut", "down"), AFTER_SILENCE),
    ];
    let workloads = ["synthetic", "html-small"];
    let mut struck = Vec::new();
    for ((lab, scene), (blow, within)) in labs.iter().zip(&scenes).zip(strikes) {
        let mut running = campaign(lab, scene, &workloads, "0s");
        wait_for_load(lab, scene, &mut running, 0);
        strike(lab, within, || blow(lab));
        struck.push(running);
    }
    for ((running, lab), scene) in struck.into_iter().zip(&labs).zip(&scenes) {
        running.finish().expect(4).says(GONE).says(GOES_ON);
        let trials = trials(&scene.path("record"));
        assert_lost(&trials[0], lab, 1);
        assert_eq!(trials[1]["end"]["kind"], "interrupted", "{:#}", trials[1]);
    }
    let (lab, scene) = (&labs[1], &scenes[1]);
    lab.set_link("sut", "up");
    let left_off = trials(&scene.path("record"));
    let resume = ["run", "--resume", "record", "--hosts", "lab.toml"];
    lab.start_home(&resume).finish().expect_measured();
    let all = trials(&scene.path("record"));
    assert_eq!(
        all.len(),
        left_off.len() + 1,
        "the other was not tried again"
    );
    let (again, missing) = (&all[left_off.len()], &left_off[left_off.len() - 1]);
    assert_eq!(again["id"], missing["id"]);
    assert_eq!(again["end"]["kind"], "measured", "{:#}", again["end"]);
    for lab in &labs {
        wait_until("nothing is left on any host", || left(lab).is_empty());
    }
}
