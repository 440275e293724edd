//! `bakeoff hosts check`: what it finds, and how it names what is wrong.

use std::path::Path;
use std::process::Command;

use super::lab::{Lab, Nature};
use crate::support::scene::{Finished, Scene};
use crate::support::{pass_over, wait_until};

const PLAIN: Nature = Nature {
    home: "",
    banner: "",
    ahead_s: 0,
    first: "",
};
const DAY_S: u64 = 86_400;

/// Of three hosts one is a day ahead, and one prints a banner before everything.
#[test]
fn every_host_is_reached_the_program_copied_once_and_links_measured() {
    let scene = Scene::new();
    let loud = Nature {
        banner: "Welcome to g1",
        ..PLAIN
    };
    let ahead = Nature {
        ahead_s: DAY_S,
        ..PLAIN
    };
    let hosts = [("sut", PLAIN), ("g1", loud), ("g2", ahead)];
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
    let log = lab.greeted(&scene, "g1");
    assert!(
        log.starts_with("Welcome to g1\n"),
        "the banner came first: {log}"
    );
    let check = ["hosts", "check", "lab.toml", "--no-links", "--addresses"];
    let again = lab.start_home(&check).finish().expect(0);
    assert!(
        again.stdout.contains("sut is reached at 10.99.0.1"),
        "{again:#?}"
    );
    assert!(
        again.stdout.contains("+86"),
        "the clock of a day: {again:#?}"
    );
    // A copy that is not whole is copied again.
    let copy = lab.root_of("g1").join(&lab.files("g1")[0]);
    let whole = copy.metadata().unwrap().len();
    let program = std::fs::OpenOptions::new().write(true).open(&copy).unwrap();
    for bytes in [0, 1 << 20] {
        program.set_len(bytes).unwrap();
        lab.start_home(&check).finish().expect(0);
        assert_eq!(copy.metadata().unwrap().len(), whole);
    }
    drop(program);
    assert_doctor(&lab);
    wait_until("nothing is left on any host", || lab.is_empty());
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

/// The doctor's table has a column for each host that can be reached, and the others are named.
#[track_caller]
fn assert_doctor(lab: &Lab<'_>) {
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
    assert!(row("clock")[1].starts_with("+86"), "{whole:#?}");
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
}

/// Hosts with something wrong each: by name, the code and the text that say what.
const WRONG: [(&str, &str, &str); 8] = [
    ("key", "host-key", "ssh-keygen -R"),
    ("nowhere", "unreachable", "g9.invalid"),
    ("stranger", "log-in", "authorized_keys"),
    ("full", "disk-full", "make room"),
    ("locked", "read-only", "set `program`"),
    ("noexec", "not-executable", "noexec"),
    ("other", "other-program", "and this one has digest"),
    ("absent", "missing", "/nowhere/bakeoff"),
];

/// A line of a host's table with another one in its place.
fn replace_of(file: &str, host: &str, from: &str, to: &str) -> String {
    let begins = format!("[hosts.{host}]");
    let (before, after) = file.split_once(&begins).unwrap();
    assert!(after.contains(from), "{from}");
    format!("{before}{begins}{}", after.replacen(from, to, 1))
}

/// The file of these hosts, with what is wrong with them.
fn wrong_file(scene: &Scene, lab: &Lab<'_>) -> String {
    let own = format!("program = \"{}\"\n", env!("CARGO_BIN_EXE_bakeoff"));
    let names = WRONG.map(|(name, ..)| name);
    let mut file = lab.file(&names, false);
    for copied in ["full", "locked", "noexec"] {
        file = replace_of(&file, copied, &own, "");
    }
    let unknown = ("ssh = \"nowhere\"", "ssh = \"g9.invalid\"");
    file = replace_of(&file, "nowhere", unknown.0, unknown.1);
    file = replace_of(&file, "absent", &own, "program = \"/nowhere/bakeoff\"\n");
    // Another build: one byte of its header that means nothing.
    let mut bytes = std::fs::read(env!("CARGO_BIN_EXE_bakeoff")).unwrap();
    bytes[15] ^= 1;
    let path = scene.path("other");
    std::fs::write(&path, bytes).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, mode).unwrap();
    let other = format!("program = \"{}\"\n", path.display());
    replace_of(&file, "other", &own, &other)
}

/// Has `key` show another key than the known one, and `stranger` be asked with a key that it does
/// not let in.
fn write_wrong_keys(scene: &Scene, lab: &Lab<'_>) {
    let known = std::fs::read_to_string(scene.path("known_hosts")).unwrap();
    let address = lab.address("key");
    let (_, key) = known.lines().next().unwrap().split_once(' ').unwrap();
    let lines = known.lines().map(|line| match line.split_once(' ') {
        Some((of, _)) if of == address => format!("{of} {key}\n"),
        _ => format!("{line}\n"),
    });
    scene.write("known_hosts", &lines.collect::<String>());
    let config = std::fs::read_to_string(scene.path("ssh_config")).unwrap();
    // The first value counts, so the general one goes to the hosts that keep it.
    let user = format!("IdentityFile {}\n", scene.path("user").display());
    let (before, after) = config.split_once(&user).unwrap();
    let lines = after.lines().map(|line| match line.strip_prefix("Host ") {
        Some("stranger") => {
            let key = scene.path("key-sut");
            format!("{line}\n  IdentityFile {}\n", key.display())
        }
        Some(_) => format!("{line}\n  {user}"),
        None => format!("{line}\n"),
    });
    let after: String = lines.collect();
    scene.write("ssh_config", &format!("{before}{after}"));
}

/// One check of a host with which nothing is wrong, and of those with which something is.
#[test]
fn what_is_wrong_with_each_host_is_named() {
    let scene = Scene::new();
    let nature = |name: &str| match name {
        "full" => Nature {
            home: "size=10m",
            ..PLAIN
        },
        "locked" => Nature {
            first: "mount -o remount,ro /root",
            ..PLAIN
        },
        "noexec" => Nature {
            home: "size=300m,noexec",
            ..PLAIN
        },
        _ => PLAIN,
    };
    let mut hosts = vec![("sut", PLAIN)];
    hosts.extend(WRONG.map(|(name, ..)| (name, nature(name))));
    let Some(lab) = Lab::new(&scene, &hosts) else {
        return;
    };
    scene.write("lab.toml", &wrong_file(&scene, &lab));
    write_wrong_keys(&scene, &lab);
    let check = ["hosts", "check", "lab.toml", "--no-links"];
    let text = lab.start_home(&check).finish().expect(4);
    let first = text.stdout.lines().next().unwrap();
    let json = lab.start_home(&[&check[..], &["--format", "json"]].concat());
    let json = json.finish().expect(4).json();
    let found = |name: &str| {
        let hosts = json["hosts"].as_array().unwrap().iter();
        let mut hosts = hosts.filter(|host| host["name"] == name);
        hosts
            .next()
            .unwrap_or_else(|| panic!("no {name}: {json:#}"))
    };
    assert!(first.starts_with("cannot take part: "), "{first}");
    for (name, code, says) in WRONG {
        let line = named(&text, name);
        assert!(line.contains(says), "{text:#?}");
        assert!(first.contains(name), "{first}");
        assert_eq!(found(name)["problem"]["code"], code, "{json:#}");
    }
    assert!(!first.contains("sut"), "{first}");
    assert_eq!(found("sut")["problem"], serde_json::Value::Null, "{json:#}");
    assert!(!json.to_string().contains("10.99.0."), "{json:#}");
    wait_until("nothing is left on any host", || lab.is_empty());
    for (name, code, _) in WRONG {
        let left = lab.files(name).len();
        assert_eq!(left, usize::from(code == "not-executable"), "on {name}");
    }
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
