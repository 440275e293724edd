//! `bakeoff run --hosts`: servers here, and the load from several hosts. The hosts are this
//! machine, each with a home of its own; they reach the servers at another address of it.

use std::net::TcpListener;

use serde_json::Value;

use crate::support::files::{measured, plan, trials};
use crate::support::scene::Scene;
use crate::support::servers::are_installed;

/// A file of hosts whose generators `g1` and `g2` are this machine.
fn hosts(scene: &Scene, roles: &str, home: &str) {
    let mut text = format!("[hosts.home]\n{home}\n");
    for name in ["g1", "g2"] {
        let home = scene.path(name);
        std::fs::create_dir_all(&home).unwrap();
        let (home, program) = (home.display(), env!("CARGO_BIN_EXE_bakeoff"));
        text += &format!(
            "[hosts.{name}]\ncommand = [\"env\", \"HOME={home}\"]\nprogram = \"{program}\"\n"
        );
    }
    scene.write("hosts.toml", &format!("{text}[roles]\n{roles}\n"));
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

#[test]
fn servers_here_are_loaded_from_two_hosts_and_both_parts_are_kept() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    hosts(
        &scene,
        "generators = [\"g1\", \"g2\"]",
        "address = \"127.0.0.2\"",
    );
    let load = "rate = 400.0\nduration = \"500ms\"";
    let contenders = [("web", "nginx", "default")];
    scene.write(
        "plan.toml",
        &plan(&contenders, "synthetic", load).replace("clients = 3", "clients = 4"),
    );
    let arguments = [
        "run",
        "plan.toml",
        "--hosts",
        "hosts.toml",
        "--out",
        "record",
    ];
    let protocols = ["--protocol", "h1,h1-tls"];
    scene
        .run(&[&arguments[..], &protocols].concat())
        .expect_measured();
    let record = scene.path("record");
    assert_eq!(measured(&record).len(), 2);
    trials(&record).iter().for_each(assert_together);
    // One engine, here, has the same schedule.
    let alone = ["run", "plan.toml", "--out", "alone"];
    scene
        .run(&[&alone[..], &protocols].concat())
        .expect_measured();
    let due = |folder: &str| -> Vec<u64> {
        let all = trials(&scene.path(folder));
        let due = |trial: &Value| count(&trial["result"]["requests"]["due"]);
        all.iter().map(due).collect()
    };
    assert_eq!(due("record"), due("alone"));
    trials(&scene.path("alone"))
        .iter()
        .for_each(assert_of_one_machine);
    assert!(due("alone").iter().all(|due| *due > 100));
    let report = scene.run(&["report", "record", "--format", "json"]);
    let report = report.expect_loaded().json();
    assert_links(&report);
    let more = ["run", "--resume", "record", "--rounds", "2"];
    let refused = scene.run(&more).expect(2);
    refused.says("`bakeoff run --resume record --hosts FILE` goes on with it");
    let full = scene.run(&["report", "record", "--format", "md", "--full"]);
    let full = full.expect(0);
    assert!(full.stdout.contains("Links between hosts"), "{full:#?}");
    let codes = report.to_string();
    for code in [
        "link-room",
        "start-spread",
        "clock-error",
        "generators-agree",
    ] {
        assert!(codes.contains(code), "{code}");
    }
}

#[test]
fn what_a_killed_agent_left_on_its_host_is_removed_by_the_next_one() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let folder = |name: &str| {
        let folder = scene.path(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    };
    let program = env!("CARGO_BIN_EXE_bakeoff");
    let host = |name: &str, address: &str| {
        let home = folder(name).display().to_string();
        format!(
            "[hosts.{name}]\naddress = \"{address}\"\nprogram = \"{program}\"\n\
             command = [\"env\", \"HOME={home}\", \"TMPDIR={home}\"]\n"
        )
    };
    let (sut, g1) = (host("sut", "127.0.0.2"), host("g1", "127.0.0.3"));
    let roles = "[roles]\nserver = \"sut\"\ngenerators = [\"g1\"]\n";
    scene.write("hosts.toml", &format!("{sut}{g1}{roles}"));
    // Of a process that no system has.
    let left = folder("sut").join("bakeoff-run-2147483647-1-00ff");
    std::fs::create_dir_all(left.join("own")).unwrap();
    std::fs::write(left.join("own/site.conf"), "server {}").unwrap();
    // One that was made just now may be another bakeoff's that begins.
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    let opened = std::fs::File::open(&left).unwrap();
    opened.set_modified(long_ago).unwrap();
    let contenders = [("web", "nginx", "default")];
    let text = plan(&contenders, "synthetic", "duration = \"200ms\"");
    scene.write("plan.toml", &text);
    let run = ["run", "plan.toml", "--hosts", "hosts.toml"];
    scene
        .run(&[&run[..], &["--out", "record"]].concat())
        .expect_measured();
    assert!(!left.exists(), "it is left");
    let names = std::fs::read_dir(folder("sut")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let own: Vec<String> = names
        .filter(|name| name.starts_with("bakeoff-run-"))
        .collect();
    assert_eq!(own, [""; 0], "the agent's own went with it");
}

/// The generator's host was sampled over its window: engine, processors and network.
#[track_caller]
fn assert_sampled(host: &Value, window_s: f64) {
    let usage = &host["usage"];
    let tree = &usage["trees"][0];
    assert_eq!(tree["role"], "engine", "{usage:#}");
    let at = |ticks: &Value| -> Vec<f64> {
        let ticks = ticks.as_array().unwrap().iter();
        ticks.map(|tick| tick["at_s"].as_f64().unwrap()).collect()
    };
    for ticks in [&tree["ticks"], &usage["host"], &usage["tcp"]] {
        let at = at(ticks);
        let (first, last) = (at[0], at[at.len() - 1]);
        assert!(first <= 0.0 && last >= window_s * 0.8, "{at:?}");
    }
    let last = tree["ticks"].as_array().unwrap().last().unwrap();
    assert!(last["cpu_user_s"].as_f64().unwrap() + last["cpu_system_s"].as_f64().unwrap() > 0.0);
    let host = usage["host"].as_array().unwrap();
    assert!(host.iter().any(|tick| tick["net"].is_object()), "{host:#?}");
    assert!(host.iter().all(|tick| tick["cpus"][0]["steal"].is_number()));
}

/// Each link was measured before the first round and after the last, and the report has both.
#[track_caller]
fn assert_links(report: &Value) {
    let links = report["campaign"]["links"].as_array().unwrap();
    let to: Vec<usize> = links
        .iter()
        .map(|link| link["to"].as_array().unwrap().len())
        .collect();
    assert_eq!(to, [1, 1, 2], "{links:#?}");
    for link in links {
        assert_eq!(link["from"], serde_json::json!(["home"]));
        for when in ["before_bits_per_s", "after_bits_per_s", "rtt_ns"] {
            assert!(link[when].as_f64().unwrap() > 0.0, "{when}: {link:#}");
        }
        // What was full on the way there is known from below only.
        let is_known = link["at_least"] != true;
        assert_eq!(link["changed"].is_boolean(), is_known, "{link:#}");
    }
}

/// The trial had both generators, and its result is the sum of their parts.
#[track_caller]
fn assert_together(trial: &Value) {
    assert_eq!(trial["schema"], "bakeoff.trial/1");
    let address = trial["server"]["address"].as_str().unwrap();
    assert!(address.starts_with("127.0.0.2:"), "{address}");
    let (result, hosts) = (&trial["result"], &trial["hosts"]);
    let parts = hosts["generators"].as_array().unwrap();
    let names: Vec<&Value> = parts.iter().map(|part| &part["host"]).collect();
    assert_eq!(names, ["g1", "g2"]);
    for field in ["due", "ok", "completed"] {
        let sum: u64 = parts
            .iter()
            .map(|part| count(&part["result"]["requests"][field]))
            .sum();
        assert_eq!(count(&result["requests"][field]), sum, "{field}");
    }
    let latencies = result["latency"]["count"].as_u64();
    assert_eq!(latencies, result["requests"]["ok"].as_u64());
    let named = hosts["hosts"].as_array().unwrap();
    assert_eq!(named.len(), 3, "{named:#?}");
    assert!(named[1]["clock"]["after"]["error_ns"].as_u64().unwrap() > 0);
    for host in &named[1..] {
        assert_sampled(host, result["measured_s"].as_f64().unwrap());
        assert_eq!(host["kernel"], named[0]["kernel"], "they are this machine");
    }
    // Each alone, and both together.
    assert_eq!(hosts["links"].as_array().unwrap().len(), 3);
    // What other hosts send crosses an interface, and is sampled only then.
    let ticks = trial["usage"]["host"].as_array().unwrap();
    assert!(
        ticks.iter().any(|tick| tick["net"].is_object()),
        "{ticks:#?}"
    );
    // How hosts are reached is nobody's business.
    let text = hosts.to_string();
    for private in ["127.0.0.2:", "HOME="] {
        let found = hosts["hosts"].to_string().contains(private);
        assert!(!found, "{private}: {text}");
    }
}

#[track_caller]
fn check_unusable_home() {
    let scene = Scene::new();
    // Nobody listens there afterwards.
    drop(TcpListener::bind("127.0.0.2:0").unwrap());
    let generators = "generators = [\"g1\"]";
    let check = ["hosts", "check", "hosts.toml", "--no-links"];
    let refused = |home: &str, expected: &str| {
        hosts(&scene, generators, home);
        let run = scene.run(&["run", "smoke", "--hosts", "hosts.toml"]);
        let finished = run.expect(2);
        assert!(finished.stderr.contains(expected), "{finished:#?}");
        let check = scene.run(&check).expect(4);
        let is_named = check.stdout.starts_with("cannot take part: home\n");
        assert!(is_named, "what `run` refuses `check` finds: {check:#?}");
    };
    refused("", "`hosts.home` has no address");
    refused("address = \"localhost\"", "`localhost` is no IP address");
    hosts(&scene, generators, "address = \"127.0.0.2\"");
    scene.run(&check).expect(0);
}

/// The environment of home has the address of the machine where the user logged in.
#[track_caller]
fn check_unknown_address() {
    let scene = Scene::new();
    let roles = "server = \"sut\"\ngenerators = [\"g1\"]";
    hosts(&scene, roles, "");
    let file = std::fs::read_to_string(scene.path("hosts.toml")).unwrap();
    let (home, program) = (scene.path("sut"), env!("CARGO_BIN_EXE_bakeoff"));
    std::fs::create_dir_all(&home).unwrap();
    let sut = format!(
        "[hosts.sut]\nprogram = \"{program}\"\n\
         command = [\"env\", \"HOME={}\", \"SSH_CONNECTION=192.0.2.9 40000 192.0.2.1 22\"]\n",
        home.display()
    );
    scene.write("hosts.toml", &format!("{sut}{file}"));
    let expected = "host sut: nothing says by which address the others reach it";
    let fix = "; write `address` in its table of the hosts file";
    let run = scene.run(&["run", "smoke", "--hosts", "hosts.toml"]);
    let refused = run.expect(2);
    refused.says(&format!("{expected}{fix}"));
    let check = scene.run(&["hosts", "check", "hosts.toml"]).expect(4);
    let said = check.stdout.contains(expected) && check.stdout.contains(fix);
    assert!(said, "{check:#?}");
}

/// The plan is right, and home has room: it is the host that cannot be used.
#[track_caller]
fn check_temporary_folder() {
    let scene = Scene::new();
    let roles = "server = \"sut\"\ngenerators = [\"g1\"]";
    hosts(&scene, roles, "");
    let file = std::fs::read_to_string(scene.path("hosts.toml")).unwrap();
    let (home, program) = (scene.path("sut"), env!("CARGO_BIN_EXE_bakeoff"));
    std::fs::create_dir_all(&home).unwrap();
    let sut = format!(
        "[hosts.sut]\nprogram = \"{program}\"\naddress = \"127.0.0.2\"\n\
         command = [\"env\", \"HOME={home}\", \"TMPDIR={home}/none\"]\n",
        home = home.display()
    );
    scene.write("hosts.toml", &format!("{sut}{file}"));
    let run = scene.run(&["run", "smoke", "--hosts", "hosts.toml"]);
    let folder = home.join("none");
    let expected = format!(
        "host sut failed to make a run folder in {}: ",
        folder.display()
    );
    let refused = run.expect(4).says(&expected);
    refused.says("; make room in the temporary folder of that host, or set TMPDIR to another");
}

/// Without hosts nothing of them is in a record.
#[track_caller]
fn assert_of_one_machine(trial: &Value) {
    assert_eq!(trial["schema"], "bakeoff.trial/1");
    assert!(trial.get("hosts").is_none());
    let clients = &trial["result"]["observed"]["clients"];
    assert!(clients.get("answers").is_none(), "{clients:#}");
    let ticks = trial["usage"]["host"].as_array().unwrap();
    assert!(ticks.iter().all(|tick| tick.get("net").is_none()));
}

/// As on one machine: nothing is started for a load that a limit forbids.
#[test]
fn a_load_that_a_generator_has_too_few_files_for_is_skipped() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let roles = "generators = [\"g2\"]";
    hosts(&scene, roles, "address = \"127.0.0.2\"");
    let file = std::fs::read_to_string(scene.path("hosts.toml")).unwrap();
    // The agent cannot raise it.
    let limited = "[\"sh\", \"-c\", \"ulimit -n 100 && exec \\\"$@\\\"\", \"-\", \"env\"";
    let (before, g2) = file.split_once("[hosts.g2]").unwrap();
    let g2 = g2.replacen("[\"env\"", limited, 1);
    scene.write("hosts.toml", &format!("{before}[hosts.g2]{g2}"));
    let contenders = [("web", "nginx", "default")];
    let text = plan(&contenders, "synthetic", "duration = \"200ms\"");
    let text = text.replace("clients = 3", "clients = 100");
    scene.write("plan.toml", &text);
    let run = [
        "run",
        "plan.toml",
        "--hosts",
        "hosts.toml",
        "--out",
        "record",
    ];
    scene.run(&run).expect(4);
    let trials = trials(&scene.path("record"));
    assert_eq!(trials.len(), 1);
    let end = &trials[0]["end"];
    assert_eq!(end["kind"], "skipped", "{end:#}");
    let reason = "on host g2: 100 clients need 164 open files, but this process may open 100";
    assert_eq!(end["reason"], reason);
    assert!(
        trials[0].get("hosts").is_none(),
        "none was lost: {:#}",
        trials[0]
    );
}

#[track_caller]
fn check_processors() {
    let scene = Scene::new();
    hosts(&scene, "generators = [\"g1\"]", "address = \"127.0.0.2\"");
    let own = plan(&[("web", "nginx", "default")], "synthetic", "");
    scene.write("plan.toml", &format!("{own}[pinning]\nengine = [1000]\n"));
    let run = ["run", "plan.toml", "--hosts", "hosts.toml", "--out"];
    let refused = scene.run(&[&run[..], &["record"]].concat()).expect(2);
    refused.says("host g1: the plan pins the engine to processor 1000, but ");
    assert!(!scene.path("record").exists());
}

#[track_caller]
fn check_fewer_clients() {
    let scene = Scene::new();
    let roles = "generators = [\"g1\", \"g2\"]";
    hosts(&scene, roles, "address = \"127.0.0.2\"");
    let run = ["run", "smoke", "--clients", "10,1", "--hosts", "hosts.toml"];
    let refused = scene.run(&run).expect(2);
    let expected = "load c1: 1 client cannot be divided over 2 generators (g1, g2): give at least \
                    as many clients as generators";
    assert!(refused.stderr.contains(expected), "{refused:#?}");
    assert!(!refused.stderr.contains("is ready"), "{refused:#?}");
}

#[track_caller]
fn check_lock() {
    let scene = Scene::new();
    let program = env!("CARGO_BIN_EXE_bakeoff");
    let g1 = format!("command = [\"env\", \"-u\", \"HOME\"]\nprogram = \"{program}\"\n");
    scene.write(
        "hosts.toml",
        &format!("[hosts.g1]\n{g1}[roles]\ngenerators = [\"g1\"]\n"),
    );
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let load = ["load", &url, "--hosts", "hosts.toml", "-n", "1", "-c", "1"];
    let load = scene.run(&load).expect(4);
    load.says("host g1: a second campaign would not be noticed: ");
}

#[track_caller]
fn check_no_right_answer() {
    let scene = Scene::new();
    let roles = "generators = [\"g1\", \"g2\"]";
    hosts(&scene, roles, "address = \"127.0.0.2\"");
    // Nobody listens there any more.
    let listener = TcpListener::bind("127.0.0.2:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let load = [
        "load",
        &url,
        "--hosts",
        "hosts.toml",
        "-c",
        "2",
        "-d",
        "300ms",
    ];
    let load = scene.run(&load).expect(4);
    let why = "not a valid measurement: no answer was right; ";
    assert!(load.stderr.contains(why), "{load:#?}");
    assert!(
        load.stderr.contains("requests ended as `refused`"),
        "{load:#?}"
    );
}

/// Nothing is started on them but agents.
#[test]
fn hosts_that_cannot_be_used_so_are_named_before_anything_runs() {
    check_unusable_home();
    check_unknown_address();
    check_temporary_folder();
    check_processors();
    check_fewer_clients();
    check_lock();
    check_no_right_answer();
}
