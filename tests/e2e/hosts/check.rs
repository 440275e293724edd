//! `bakeoff hosts check`: what it finds, and how it names what is wrong.

use std::path::Path;
use std::process::Command;

use super::lab::{Lab, Nature};
use crate::support::alone;
use crate::support::scene::{Finished, Scene};
use crate::support::{pass_over, wait_until};

const PLAIN: Nature = Nature {
    home: "",
    banner: "",
    ahead_s: 0,
    first: "",
};
const DAY_S: u64 = 86_400;

#[test]
fn every_host_is_reached_the_program_copied_once_and_links_measured() {
    let _alone = alone();
    let scene = Scene::new();
    let ahead = Nature {
        ahead_s: DAY_S,
        ..PLAIN
    };
    let hosts = [("sut", PLAIN), ("g1", PLAIN), ("g2", ahead)];
    let Some(lab) = Lab::new(&scene, &hosts) else {
        return;
    };
    scene.write("lab.toml", &lab.file(&["g1", "g2"], true));
    let first = lab.start_home(&["hosts", "check", "lab.toml", "--format", "json"]);
    let first = first.finish().expect(0).json();
    assert_eq!(first["schema"], "bakeoff.hosts/1");
    assert_eq!(first["fine"], true, "{first:#}");
    let found = first["hosts"].as_array().unwrap();
    let names: Vec<&str> = found
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["g1", "g2", "sut"]);
    found.iter().for_each(assert_reached);
    let links = first["links"].as_array().unwrap();
    assert_measured(links);
    let text = first.to_string();
    assert!(
        !text.contains("10.99.0."),
        "no address unless it is asked for"
    );
    wait_until("nothing is left on any host", || lab.is_empty());
    for host in ["sut", "g1", "g2"] {
        let files = lab.files(host);
        let is_program = |path: &std::path::PathBuf| path.ends_with("bakeoff");
        assert!(files.len() == 1 && is_program(&files[0]), "{files:?}");
    }
    let again = lab.start_home(&["hosts", "check", "lab.toml", "--no-links", "--addresses"]);
    let again = again.finish().expect(0);
    assert!(
        again.stdout.contains("sut is reached at 10.99.0.1"),
        "{again:#?}"
    );
    assert!(
        again.stdout.contains("+86"),
        "the clock of a day: {again:#?}"
    );
}

#[test]
fn a_copy_that_is_not_whole_is_copied_again() {
    let scene = Scene::new();
    let Some(lab) = Lab::new(&scene, &[("sut", PLAIN), ("g1", PLAIN)]) else {
        return;
    };
    scene.write("lab.toml", &lab.file(&["g1"], true));
    let check = ["hosts", "check", "lab.toml", "--no-links"];
    lab.start_home(&check).finish().expect(0);
    let files = lab.files("g1");
    let copy = lab.root_of("g1").join(&files[0]);
    let program = std::fs::OpenOptions::new().write(true).open(&copy).unwrap();
    for bytes in [0, 1 << 20] {
        program.set_len(bytes).unwrap();
        lab.start_home(&check).finish().expect(0);
    }
}

/// What is said of a host that was reached is there, and its clock is off by what it is.
#[track_caller]
fn assert_reached(host: &serde_json::Value) {
    assert_eq!(host["way"], "ssh");
    assert_eq!(host["locked"], true, "{host:#}");
    assert!(host["set_up_s"].as_f64().unwrap() > 0.0);
    assert_eq!(
        host["machine"]["host"], host["name"],
        "it has a name of its own"
    );
    assert!(host["limits"]["open_files"]["hard"].as_u64().unwrap() > 0);
    let offset = host["clock"]["offset_ns"].as_i64().unwrap();
    let error = host["clock"]["error_ns"].as_u64().unwrap();
    let truth = if host["name"] == "g2" {
        DAY_S as i64 * 1_000_000_000
    } else {
        0
    };
    assert!(
        offset.abs_diff(truth) <= error,
        "{offset} is not {truth} ± {error}"
    );
    eprintln!(
        "{}: set-up with the copy {} s, clock {offset} ns ± {error} ns",
        host["name"], host["set_up_s"]
    );
}

/// Each generator was measured alone, then all together.
#[track_caller]
fn assert_measured(links: &[serde_json::Value]) {
    let from: Vec<usize> = links
        .iter()
        .map(|it| it["from"].as_array().unwrap().len())
        .collect();
    assert_eq!(from, [1, 1, 2], "each alone, then all together");
    for link in links {
        assert!(link["bits_per_s"].as_f64().unwrap() > 0.0, "{link}");
        assert!(link["rtt_ns"].as_u64().unwrap() > 0, "{link}");
    }
}

/// A check of the hosts `sut` and `g1` must name `g1` with this code and text, and find nothing
/// wrong with `sut`.
#[track_caller]
fn check(nature: Nature, prepare: impl Fn(&Scene, &Lab<'_>), copied: bool, code: &str, says: &str) {
    let scene = Scene::new();
    let Some(lab) = Lab::new(&scene, &[("sut", PLAIN), ("g1", nature)]) else {
        return;
    };
    scene.write("lab.toml", &lab.file(&["g1"], copied));
    prepare(&scene, &lab);
    let arguments = ["hosts", "check", "lab.toml", "--no-links"];
    let text = lab.start_home(&arguments).finish().expect(4);
    let line = named(&text, "g1");
    assert!(line.contains(says), "{text:#?}");
    let first = text.stdout.lines().next().unwrap();
    assert_eq!(first, "cannot take part: g1");
    let json = lab.start_home(&[&arguments[..], &["--format", "json"]].concat());
    let json = json.finish().expect(4).json();
    let hosts = json["hosts"].as_array().unwrap();
    let g1 = hosts.iter().find(|host| host["name"] == "g1").unwrap();
    assert_eq!(g1["problem"]["code"], code, "{json:#}");
    let sut = hosts.iter().find(|host| host["name"] == "sut").unwrap();
    assert_eq!(sut["problem"], serde_json::Value::Null, "{json:#}");
    assert!(!json.to_string().contains("10.99.0."), "{json:#}");
    wait_until("nothing is left on any host", || lab.is_empty());
    assert_eq!(lab.files("g1").len(), usize::from(code == "not-executable"));
}

#[track_caller]
fn named(finished: &Finished, host: &str) -> String {
    let begins = format!("! host {host}: ");
    let line = finished
        .stdout
        .lines()
        .find(|line| line.starts_with(&begins));
    line.unwrap_or_else(|| panic!("{host} is not named: {finished:#?}"))
        .to_owned()
}

#[test]
fn a_wrong_host_key_is_named() {
    let swap = |scene: &Scene, _: &Lab<'_>| {
        let known = std::fs::read_to_string(scene.path("known_hosts")).unwrap();
        let first = known.lines().next().unwrap();
        let key = first.split_once(' ').unwrap().1;
        scene.write("known_hosts", &format!("{first}\n10.99.0.2 {key}\n"));
    };
    check(PLAIN, swap, false, "host-key", "ssh-keygen -R");
}

#[test]
fn no_such_host_is_named() {
    let rename = |scene: &Scene, lab: &Lab<'_>| {
        let text = lab.file(&["g1"], false);
        scene.write(
            "lab.toml",
            &text.replace("ssh = \"g1\"", "ssh = \"g9.invalid\""),
        );
    };
    check(PLAIN, rename, false, "unreachable", "g9.invalid");
}

#[test]
fn a_key_that_is_not_let_in_is_named() {
    let forget = |scene: &Scene, _: &Lab<'_>| {
        let text = std::fs::read_to_string(scene.path("sshd-g1")).unwrap();
        assert!(text.contains("user.pub"));
        let config = std::fs::read_to_string(scene.path("ssh_config")).unwrap();
        let stranger = scene.path("key-sut");
        let other = format!("  IdentityFile {}\n", stranger.display());
        let config = config.replace("Host g1\n", &format!("Host g1\n{other}"));
        let user = format!("IdentityFile {}\n", scene.path("user").display());
        let (before, after) = config.split_once(&user).unwrap();
        // The first value counts, so the general one goes to the host that keeps it.
        let after = after.replace("Host sut\n", &format!("Host sut\n  {user}"));
        scene.write("ssh_config", &format!("{before}{after}"));
    };
    check(PLAIN, forget, false, "log-in", "authorized_keys");
}

#[test]
fn a_full_disk_is_named_and_nothing_is_left_on_it() {
    let small = Nature {
        home: "size=10m",
        ..PLAIN
    };
    check(small, |_, _| {}, true, "disk-full", "make room");
}

#[test]
fn a_home_that_cannot_be_written_is_named() {
    let read_only = Nature {
        first: "mount -o remount,ro /root",
        ..PLAIN
    };
    check(read_only, |_, _| {}, true, "read-only", "set `program`");
}

#[test]
fn a_cache_without_execution_is_named() {
    let noexec = Nature {
        home: "size=300m,noexec",
        ..PLAIN
    };
    check(noexec, |_, _| {}, true, "not-executable", "noexec");
}

#[test]
fn another_program_is_refused_and_both_are_named() {
    let other = |scene: &Scene, lab: &Lab<'_>| {
        // Another build: one byte of its header that means nothing.
        let mut bytes = std::fs::read(env!("CARGO_BIN_EXE_bakeoff")).unwrap();
        bytes[15] ^= 1;
        let path = scene.path("other");
        std::fs::write(&path, bytes).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).unwrap();
        let (g1, own) = (lab.file(&["g1"], false), env!("CARGO_BIN_EXE_bakeoff"));
        let (before, after) = g1.split_once("[hosts.g1]").unwrap();
        let after = after.replace(own, &path.display().to_string());
        scene.write("lab.toml", &format!("{before}[hosts.g1]{after}"));
    };
    check(
        PLAIN,
        other,
        false,
        "other-program",
        "and this one has digest",
    );
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let missing = |scene: &Scene, lab: &Lab<'_>| {
        let (g1, own) = (lab.file(&["g1"], false), env!("CARGO_BIN_EXE_bakeoff"));
        let (before, after) = g1.split_once("[hosts.g1]").unwrap();
        let after = after.replace(own, "/nowhere/bakeoff");
        scene.write("lab.toml", &format!("{before}[hosts.g1]{after}"));
    };
    check(PLAIN, missing, false, "missing", "/nowhere/bakeoff");
}

#[test]
fn a_banner_is_skipped() {
    let scene = Scene::new();
    let loud = Nature {
        banner: "Welcome to g1",
        ..PLAIN
    };
    let Some(lab) = Lab::new(&scene, &[("sut", PLAIN), ("g1", loud)]) else {
        return;
    };
    scene.write("lab.toml", &lab.file(&["g1"], false));
    let check = lab.start_home(&["hosts", "check", "lab.toml", "--no-links"]);
    check.finish().expect(0);
    let log = lab.greeted(&scene, "g1");
    assert!(
        log.starts_with("Welcome to g1\n"),
        "the banner came first: {log}"
    );
}

/// The doctor's table has a column for each host that can be reached, and the others are named.
#[test]
fn the_doctor_looks_at_every_host() {
    let scene = Scene::new();
    let ahead = Nature {
        ahead_s: DAY_S,
        ..PLAIN
    };
    let Some(lab) = Lab::new(&scene, &[("sut", PLAIN), ("g1", ahead), ("g2", PLAIN)]) else {
        return;
    };
    scene.write("lab.toml", &lab.file(&["g1", "g2"], false));
    let doctor = ["doctor", "--hosts", "lab.toml"];
    let whole = lab.start_home(&doctor).finish().expect(0);
    let first = |of: &Finished| of.stdout.lines().next().unwrap_or_default().to_owned();
    let said = first(&whole);
    assert!(
        said.ends_with(" would distort results on 3 hosts"),
        "{said}"
    );
    let row = |name: &str| -> Vec<&str> {
        let line = whole.stdout.lines().find(|line| line.starts_with(name));
        let line = line.unwrap_or_else(|| panic!("no {name}: {whole:#?}"));
        line[name.len()..]
            .split("  ")
            .map(str::trim)
            .filter(|it| !it.is_empty())
            .collect()
    };
    assert_eq!(row(" "), ["g1", "g2", "sut"]);
    assert_eq!(row("host"), ["g1", "g2", "sut"], "each said its own name");
    assert_eq!(row("roles"), ["generator", "generator", "server, origin"]);
    assert!(
        row("network").iter().all(|it| it.starts_with("eth0")),
        "{whole:#?}"
    );
    assert!(row("clock")[0].starts_with("+86"), "{whole:#?}");
    for name in [
        "kernel",
        "processors",
        "governor",
        "open files",
        "ports",
        "other load",
    ] {
        assert_eq!(row(name).len(), 3, "{name}: {whole:#?}");
    }
    assert!(!whole.stdout.contains("10.99.0."), "{whole:#?}");
    lab.kill("g2");
    let less = lab.start_home(&doctor).finish().expect(4);
    named(&less, "g2");
    let said = first(&less);
    assert!(said.starts_with("cannot be used: g2; "), "{said}");
    assert!(
        less.stdout.contains("g1") && less.stdout.contains("sut"),
        "{less:#?}"
    );
    wait_until("nothing is left on any host", || lab.is_empty());
}

#[test]
fn a_wrong_file_is_refused_before_anything_is_reached() {
    let scene = Scene::new();
    scene.write("a.toml", "[roles]\ngenerators = [\"g1\"]\n");
    let refused = scene.run(&["hosts", "check", "a.toml"]).expect(2);
    refused.says("no host is called `g1`");
    let missing = scene.run(&["hosts", "check", "none.toml"]).expect(2);
    missing.says("none.toml");
}

#[test]
fn the_manifest_is_yaml_with_what_the_docs_promise() {
    let scene = Scene::new();
    let manifest = [
        "hosts",
        "manifest",
        "--generators",
        "4",
        "--deadline",
        "90s",
    ];
    let text = scene.run(&manifest).expect(0).stdout;
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.bench/parsers/bin/python");
    if !python.exists() {
        return pass_over("no parser of YAML is here: tests/programs.sh parsers");
    }
    scene.write("job.yaml", &text);
    let script = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))";
    let parsed = Command::new(python)
        .args(["-c", script])
        .arg(scene.path("job.yaml"))
        .output()
        .unwrap();
    let job: serde_json::Value = serde_json::from_slice(&parsed.stdout).unwrap();
    assert_eq!(
        (&job["apiVersion"], &job["kind"]),
        (&"batch/v1".into(), &"Job".into())
    );
    let spec = &job["spec"];
    for (key, expected) in [
        ("completionMode", "Indexed".into()),
        ("completions", serde_json::json!(4)),
        ("parallelism", serde_json::json!(4)),
        ("activeDeadlineSeconds", serde_json::json!(90)),
        ("ttlSecondsAfterFinished", serde_json::json!(60)),
    ] {
        assert_eq!(spec[key], expected, "{key}");
    }
    let pod = &spec["template"]["spec"];
    assert_eq!(pod["automountServiceAccountToken"], false);
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    let container = &pod["containers"][0];
    assert_eq!(
        container["resources"]["requests"],
        container["resources"]["limits"]
    );
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    assert_eq!(
        container["securityContext"]["allowPrivilegeEscalation"],
        false
    );
    let apart = &pod["affinity"]["podAntiAffinity"];
    let apart = &apart["requiredDuringSchedulingIgnoredDuringExecution"][0];
    assert_eq!(apart["topologyKey"], "kubernetes.io/hostname");
    let labels = &spec["template"]["metadata"]["labels"];
    assert_eq!(&apart["labelSelector"]["matchLabels"], labels);
}
