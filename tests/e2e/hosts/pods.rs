//! Pods as hosts, by a kubectl that is a script: what it is asked, and what becomes of it.

use std::os::unix::fs::PermissionsExt;

use crate::support::scene::Scene;

/// A kubectl with two running pods, each with a home of its own.
const KUBECTL: &str = r#"#!/bin/sh
echo "$*" >> "$KUBECTL_LOG"
case $1 in
get)
    test "$4" = bench && test "$6" = app=bk-gen || exit 1
    printf 'gen-1 10.1.0.2\ngen-0 10.1.0.1\n' ;;
exec)
    test "$2 $3 $4" = "-i -n bench" || exit 1
    pod=$5; shift 6
    HOME="$KUBECTL_PODS/$pod"; export HOME; mkdir -p "$HOME"
    "$@"; code=$?
    test $code -eq 0 || echo "command terminated with exit code $code" >&2
    exit $code ;;
*) exit 1 ;;
esac
"#;

/// A file with the pods of this selector as generators.
fn file(selector: &str) -> String {
    format!(
        "[hosts.home]\naddress = \"127.0.0.1\"\n\
         [hosts.g]\nkubectl = {{ namespace = \"bench\", selector = \"{selector}\" }}\n\
         [roles]\ngenerators = [\"g\"]\n"
    )
}

#[test]
fn two_pods_are_two_hosts_of_one_load() {
    let scene = Scene::new();
    let path = scene.write("bin/kubectl", KUBECTL);
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    let pods = file("app=bk-gen");
    scene.write("pods.toml", &pods);
    let command = |arguments: &[&str]| {
        let mut command = scene.command(arguments);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", scene.path("bin").display()));
        command.env("KUBECTL_LOG", scene.path("kubectl.log"));
        command.env("KUBECTL_PODS", scene.path("pods"));
        scene.start_command(command)
    };
    let mut server = scene.start(&["yardstick"]);
    server.wait_until("it listens", |it| it.stdout().contains("listening on "));
    let stdout = server.stdout();
    let address = stdout.lines().next().unwrap().rsplit(' ').next().unwrap();
    let url = format!("http://{address}/");
    let mut load = vec!["load", &url, "--hosts", "pods.toml"];
    load.extend(["-n", "501", "-c", "4", "--json"]);
    let loaded = command(&load).finish().expect(0).json();
    assert_eq!(loaded["requests"]["completed"], 501);
    let parts = loaded["generators"].as_array().unwrap();
    let names: Vec<&str> = parts
        .iter()
        .map(|it| it["host"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["g-0", "g-1"]);
    let counts = parts
        .iter()
        .map(|part| part["load"]["requests"]["completed"].as_u64());
    assert_eq!(counts.map(Option::unwrap).sum::<u64>(), 501);
    let log = std::fs::read_to_string(scene.path("kubectl.log")).unwrap();
    let execs = log.lines().filter(|line| line.starts_with("exec "));
    // Missing, copied, started: for each pod.
    assert_eq!(execs.count(), 6, "{log}");
    let check = [
        "hosts",
        "check",
        "pods.toml",
        "--no-links",
        "--format",
        "json",
    ];
    let check = command(&check).finish().expect(0).json();
    let names: Vec<&str> = check["hosts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|host| host["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["g-0", "g-1", "home"]);
    let same = "[hosts.g-0]\ncommand = [\"env\"]\n[roles]\ngenerators = [\"g\", \"g-0\"]\n";
    let (hosts, _) = pods.split_once("[roles]").unwrap();
    scene.write("same.toml", &format!("{hosts}{same}"));
    let named = "two hosts are called `g-0`: one of `[hosts.g]` and one of `[hosts.g-0]`";
    load[3] = "same.toml";
    command(&load).finish().expect(2).says(named);
    scene.write("none.toml", &file("app=other"));
    let none = command(&["hosts", "check", "none.toml"]).finish().expect(4);
    assert!(none.stdout.contains("! host g: "), "{none:#?}");
    server.signal(rustix::process::Signal::INT);
    server.finish();
}
