//! Users' own files that run in a box: with a network and a file system of their own.

use std::io::ErrorKind::WouldBlock;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use bakeoff_probe::Network;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::files::trials;
use crate::support::scene::{Finished, Scene};
use crate::support::servers::{are_installed, on_path};
use crate::support::{SHORT, pass_over, wait_until};

/// Whether this process may make a box.
fn may_box() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        pass_over("only root makes a box");
    }
    is_root
}

/// Whether a box with one of these servers can be made here.
fn can_box(scene: &Scene, servers: &[&str]) -> bool {
    may_box() && are_installed(scene, servers)
}

/// What mounts this process sees.
fn mounts() -> String {
    std::fs::read_to_string("/proc/self/mountinfo").unwrap()
}

/// The one file of what `try --format json` says.
fn only_file(tried: &Finished) -> Value {
    tried.json()["files"][0].clone()
}

#[test]
fn own_files_are_raced_as_they_are_with_their_upstreams_in_the_box() {
    let scene = Scene::new();
    if !can_box(&scene, &["h2o", "varnish"]) {
        return;
    }
    // What is there outside is another network's.
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    outside.set_nonblocking(true).unwrap();
    let port = outside.local_addr().unwrap().port();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().port();
    scene.write(
        "h2o.conf",
        &format!(
            "listen: {listen}\nhosts:\n  default:\n    paths:\n      /:\n        \
             proxy.reverse.url: http://127.0.0.1:{port}/\n"
        ),
    );
    let backends = "vcl 4.1;\nimport directors;\nbackend a { .host = \"one.test\"; }\n\
                    backend b { .host = \"192.0.2.9\"; .port = \"81\"; }\n\
                    sub vcl_init { new all = directors.round_robin(); all.add_backend(a); \
                    all.add_backend(b); }\n\
                    sub vcl_recv { set req.backend_hint = all.backend(); return (pass); }\n";
    scene.write("default.vcl", backends);
    let race = [
        "race",
        "./h2o.conf",
        "./default.vcl",
        "/",
        "--out",
        "record",
    ];
    scene.run(&[&race[..], &SHORT].concat()).expect_measured();
    assert_eq!(outside.accept().unwrap_err().kind(), WouldBlock);
    let trials = trials(&scene.path("record"));
    for server in ["h2o", "varnish"] {
        let mut all = trials.iter();
        let trial = all
            .find(|it| it["server"]["server"] == server)
            .unwrap_or_else(|| panic!("{server}: {trials:?}"));
        assert_eq!(trial["end"]["kind"], "measured", "{trial}");
        assert!(trial["server"]["config_changes"].is_null(), "{trial}");
        assert!(trial["origin"]["requests"].as_u64() > Some(0), "{trial}");
        let trees = trial["usage"]["trees"].as_array().unwrap();
        for role in ["server", "origin"] {
            let tree = trees.iter().find(|it| it["role"] == role).unwrap();
            let last = tree["ticks"].as_array().unwrap().last().unwrap();
            assert!(last["cpu_system_s"].as_f64().is_some(), "{last}");
            assert!(last["processes"].as_u64() > Some(0), "{last}");
        }
        assert!(trial["server"]["stopped"]["graceful"].as_bool().unwrap());
    }
    let address = |it: &Value| it["server"]["address"].clone();
    let h2o = format!("127.0.0.1:{listen}");
    assert!(trials.iter().any(|it| address(it) == h2o.as_str()));
}

/// Sends all that is for other machines to an interface that counts it, where this can be had.
fn open_way_out() -> bool {
    if on_path("ip").is_none() {
        pass_over("`ip` is missing: tests/programs.sh sshd");
        return false;
    }
    // No packet of the kernel's own: no question for an address of the link, and no version 6.
    let script = "ip link add out type veth peer name far && ip link set far up arp off && \
                  { echo 1 > /proc/sys/net/ipv6/conf/out/disable_ipv6 || true; } && \
                  ip link set out up arp off && ip address add 203.0.113.1/24 dev out && \
                  ip route add default dev out";
    let made = Command::new("sh").args(["-c", script]).status().unwrap();
    if !made.success() {
        pass_over("this kernel or container allows no pair of interfaces");
    }
    made.success()
}

/// Packets that have left the calling thread's network.
fn packets_out() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let mut lines = text.lines().map(str::trim);
    let counts = lines.find_map(|line| line.strip_prefix("out:")).unwrap();
    // After eight of what has come in.
    let sent = counts.split_whitespace().nth(9).unwrap();
    sent.parse().unwrap()
}

#[test]
fn no_packet_of_a_box_leaves_this_machine() {
    if !may_box() {
        return;
    }
    // A machine of its own, as far as networks go.
    Network::new()
        .unwrap()
        .within(race_beside_a_way_out)
        .unwrap();
}

fn race_beside_a_way_out() {
    let scene = Scene::new();
    if !can_box(&scene, &["h2o", "varnish"]) || !open_way_out() {
        return;
    }
    scene.write(
        "h2o.conf",
        "listen: 8080\nhosts:\n  default:\n    paths:\n      /:\n        \
         proxy.reverse.url: http://192.0.2.9:81/\n",
    );
    let backends = "vcl 4.1;\nimport directors;\nbackend a { .host = \"one.test\"; .probe = \
                    { .url = \"/health\"; .interval = 100ms; } }\n\
                    backend b { .host = \"2001:db8::9\"; .port = \"81\"; }\n\
                    sub vcl_init { new all = directors.round_robin(); all.add_backend(a); \
                    all.add_backend(b); }\n\
                    sub vcl_recv { set req.backend_hint = all.backend(); return (pass); }\n";
    scene.write("default.vcl", backends);
    let before = packets_out();
    let race = ["race", "./h2o.conf", "./default.vcl", "/"];
    let race = [&race[..], &["--out", "record"], &SHORT].concat();
    scene.run(&race).expect_measured();
    for trial in trials(&scene.path("record")) {
        assert_eq!(trial["result"]["outcomes"]["status"], 0, "{trial}");
    }
    assert_eq!(packets_out(), before);
    // What the files ask is seen when this process asks it.
    let upstream: SocketAddr = "192.0.2.9:81".parse().unwrap();
    let dialled = TcpStream::connect_timeout(&upstream, Duration::from_millis(20));
    assert!(dialled.is_err() && packets_out() > before, "{dialled:?}");
}

#[test]
fn what_a_file_names_is_made_in_the_box_and_nowhere_else() {
    let scene = Scene::new();
    if !can_box(&scene, &["h2o"]) {
        return;
    }
    let name = format!("bakeoff-test-{}", std::process::id());
    scene.write("site/www/index.html", "ours");
    scene.write("site/error.log", "theirs");
    let text = format!(
        "user: www-data\npid-file: /run/{name}/h2o.pid\nerror-log: error.log\n\
         access-log: /var/log/{name}/access.log\nlisten:\n  port: 443\n  ssl:\n    \
         certificate-file: certs/site.crt\n    key-file: /{name}/site.key\nhosts:\n  default:\n    \
         paths:\n      /:\n        file.dir: www\n"
    );
    let file = scene.write("site/h2o.conf", &text);
    let tried = scene.run(&["try", "site/h2o.conf", "--format", "json"]);
    let tried = only_file(&tried.expect(0));
    assert_eq!(tried["answer"]["status"], 200, "{tried}");
    assert_eq!(tried["answer"]["body_bytes"], 4, "{tried}");
    assert_eq!(tried["asked"]["protocol"], "h2", "{tried}");
    let changes = tried["changes"].as_array().unwrap();
    let mut lines: Vec<u64> = changes
        .iter()
        .filter_map(|it| it["line"].as_u64())
        .collect();
    lines.sort_unstable();
    assert_eq!(lines, [1, 2, 3, 4, 8, 9], "{changes:?}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), text);
    let log = std::fs::read_to_string(scene.path("site/error.log")).unwrap();
    assert_eq!(log, "theirs");
    assert_eq!(scene.path("site").read_dir().unwrap().count(), 3);
    for folder in ["/run", "/var/log", "/"] {
        let path = std::path::Path::new(folder).join(&name);
        assert!(!path.exists(), "{}", path.display());
    }
    assert!(!mounts().contains(&name), "{}", mounts());
}

#[test]
fn a_killed_bakeoff_leaves_nothing_of_a_box() {
    let scene = Scene::new();
    if !can_box(&scene, &["h2o"]) {
        return;
    }
    let h2o = scene.write(
        "h2o.conf",
        "listen: 80\nhosts:\n  default:\n    paths:\n      /: { file.dir: . }\n",
    );
    let plan = format!(
        "name = \"held\"\n[references]\nyardstick = false\n[[contender]]\nname = \"it\"\n\
         server = \"h2o\"\nconfig = \"{}\"\n[[load]]\nclients = 1\nduration = \"60s\"\n\
         [[workload]]\nname = \"page\"\npath = \"/h2o.conf\"\n",
        h2o.display()
    );
    scene.write("held.toml", &plan);
    for signal in [Signal::INT, Signal::KILL] {
        let record = format!("record-{}", signal.as_raw());
        let mut running = scene.start(&["run", "held.toml", "--out", &record]);
        running.wait_until("its server runs", |it| {
            it.below().iter().any(|one| one.name == "h2o")
        });
        let below = running.below();
        running.signal(signal);
        running.finish();
        let is_gone = || !below.iter().any(crate::support::processes::is_alive);
        wait_until("its processes are gone", is_gone);
    }
    scene.run(&["list"]).expect(0);
    let left = scene.path("tmp").read_dir().unwrap().count();
    assert_eq!(left, 0, "a run folder");
    let scene_path = scene.path("").display().to_string();
    assert!(!mounts().contains(scene_path.trim_end_matches('/')));
}

#[test]
fn an_upstream_at_the_files_own_port_is_refused_with_the_line() {
    let scene = Scene::new();
    if !can_box(&scene, &["h2o"]) {
        return;
    }
    scene.write(
        "h2o.conf",
        "listen: 80\nhosts:\n  default:\n    paths:\n      /:\n        \
         proxy.reverse.url: http://app/\n",
    );
    let said = scene.run(&["try", "h2o.conf"]);
    let said = format!("{}{}", said.stdout, said.stderr);
    assert!(said.contains("upstream http://app/ has the port"), "{said}");
    assert!(said.contains("h2o.conf:1"), "{said}");
}
