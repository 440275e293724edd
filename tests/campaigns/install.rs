//! `bakeoff install`, with tools that are scripts.
//!
//! The scripts stand for pip, cargo, go and apt on a search path of their own; the server `tart`
//! is a script as well. What a script was asked is kept in a file beside it. Nothing is invented
//! here: what is installed is asked for its version.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;

use crate::support::plan;
use crate::support::scene::{Finished, Scene};

mod known;

/// The description of the server `tart`, a script; `SOURCES` stands for where it comes from.
const TART: &str = include_str!("../install/server.toml");
/// Puts a wheel in place whose program reports the version that was asked for, or `SAID`.
const PIP: &str = include_str!("../install/pip.sh");
const WHEEL: &str = "[[source]]\nkind = \"wheel\"\npackage = \"tart-bin\"\nprogram = \"tart\"\n";
const GO: &str = "[[source]]\nkind = \"go\"\npackage = \"bakery.test/v2/cmd/tart\"\n\
                  module = \"bakery.test/v2\"\n";
const APT: &str = "[[source]]\nkind = \"apt\"\npackage = \"tart\"\n";
const CRATE: &str = r#"
[[source]]
kind = "crate"
package = "tart-src"
folder = "tart"
program = "oven/tart"
needs = [{ program = "sh", package = "dash" }]
build = [["sh", "-c", "mkdir oven && cp tart.sh oven/tart"]]
"#;

/// A scene with the server `tart` and these tools, each a script.
fn scene(sources: &str, tools: &[(&str, &str)]) -> Scene {
    let scene = Scene::new();
    // Programs are asked for their version as another user where this is root, and leave a mark.
    std::fs::set_permissions(scene.path(""), PermissionsExt::from_mode(0o777)).unwrap();
    scene.write(
        "library/servers/tart/server.toml",
        &TART.replace("SOURCES", sources),
    );
    scene.write("library/servers/tart/tart.conf", "");
    for (tool, script) in tools {
        let asked = scene.path(&format!("asked-{tool}")).display().to_string();
        let script = format!("#!/bin/sh\necho \"$*\" >>{asked}\n{script}");
        let path = scene.write(&format!("bin/{tool}"), &script);
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    scene
}

fn pip(before: &str) -> Vec<(&'static str, String)> {
    vec![("python3", PIP.replace("BEFORE", before))]
}

/// A scene whose only source is a wheel, with a line that pip meets before it gives it.
fn wheel_scene(before: &str) -> Scene {
    let tools = pip(before);
    let tools: Vec<(&str, &str)> = tools
        .iter()
        .map(|(tool, it)| (*tool, it.as_str()))
        .collect();
    scene(WHEEL, &tools)
}

fn command(scene: &Scene, arguments: &[&str]) -> Command {
    // What is installed here is looked for as on a real machine.
    let library = format!("BAKEOFF_LIBRARY={}", scene.path("library").display());
    let mut command = Command::new("/usr/bin/env");
    command
        .args(["-u", "BAKEOFF_INVENTED", &library])
        .arg(env!("CARGO_BIN_EXE_bakeoff"))
        .args(arguments)
        .env(
            "PATH",
            format!("{}:/usr/bin:/bin", scene.path("bin").display()),
        )
        .env("BAKEOFF_PROGRAMS", scene.path("programs"));
    command
}

/// Runs bakeoff with what is known alone.
#[track_caller]
fn run_verified(scene: &Scene, arguments: &[&str]) -> Finished {
    scene.run_command(command(scene, arguments))
}

/// The same. What is installed need not be known: the digests of what scripts make are not.
#[track_caller]
fn run(scene: &Scene, arguments: &[&str]) -> Finished {
    let mut command = command(scene, arguments);
    if arguments[0] == "install" {
        command.arg("--unverified");
    }
    scene.run_command(command)
}

/// What lies on tart's shelf, sorted, without the lock.
fn shelf(scene: &Scene) -> Vec<String> {
    let entries = std::fs::read_dir(scene.path("programs/tart"));
    let names = entries.into_iter().flatten().flatten();
    let mut names: Vec<String> = names
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|name| name != ".lock")
        .collect();
    names.sort();
    names
}

/// How often a tool was asked for something with these words in it.
fn asked(scene: &Scene, tool: &str, words: &str) -> usize {
    let text = std::fs::read_to_string(scene.path(&format!("asked-{tool}")));
    let text = text.unwrap_or_default();
    text.lines().filter(|line| line.contains(words)).count()
}

fn listed(scene: &Scene) -> Value {
    let list = run(scene, &["list", "--json"]).expect(0).json();
    let servers = list["servers"].as_array().unwrap();
    servers
        .iter()
        .find(|it| it["name"] == "tart")
        .unwrap()
        .clone()
}

/// `bakeoff debug` of a plan with tart, which refuses every configuration and says who it is.
fn debug(scene: &Scene, version: &str) -> Finished {
    let plan = plan(
        &[("own", "tart", "default")],
        "synthetic",
        "duration = \"1s\"",
    );
    let plan = plan.replace("server =", &format!("{version}\nserver ="));
    scene.write("own.toml", &plan);
    run(
        scene,
        &["debug", "own", "synthetic", "--plan", "./own.toml"],
    )
}

#[test]
fn versions_lie_beside_each_other_and_the_newest_comes_first() {
    let scene = wheel_scene("");
    let both = ["install", "tart", "tart@1.2.9"];
    let text = run(&scene, &both).expect(0).stdout;
    assert!(text.starts_with("tart 1.2.10  "), "{text}");
    assert!(text.contains("\ntart 1.2.9  "), "{text}");
    assert_eq!(shelf(&scene), ["1.2.10", "1.2.9"]);
    let tart = listed(&scene);
    let versions: Vec<&str> = tart["programs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["version"].as_str().unwrap())
        .collect();
    assert_eq!(versions, ["1.2.10", "1.2.9"]);
    assert_eq!(tart["version"], "1.2.10");
    let reported = scene.path("programs/tart/1.2.9/installed.toml");
    let reported = std::fs::read_to_string(reported).unwrap();
    for words in [
        "package = \"tart-bin\"",
        "source = \"wheel\"",
        "sha256:",
        "pip 1.0",
        "date = ",
    ] {
        assert!(reported.contains(words), "no {words} in {reported}");
    }
}

#[test]
fn what_is_sound_is_kept_and_what_is_damaged_replaced() {
    let scene = wheel_scene("");
    let install = ["install", "tart@1.2"];
    run(&scene, &install).expect(0);
    run(&scene, &install).expect(0).says("already installed");
    assert_eq!(asked(&scene, "python3", "download"), 1);
    let path = scene.path("programs/tart/1.2/tart");
    std::fs::write(&path, "#!/bin/sh\necho tart 1.2\n").unwrap();
    let damage = listed(&scene)["programs"][0]["damage"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(damage.contains("sha256"), "{damage}");
    debug(&scene, "").expect(2).says("bakeoff install tart@1.2");
    run(&scene, &install).expect(0).says("is damaged");
    assert_eq!(asked(&scene, "python3", "download"), 2);
    assert_eq!(listed(&scene)["programs"][0]["damage"], Value::Null);
    run(&scene, &["install", "tart@1.2", "--force"]).expect(0);
    assert_eq!(asked(&scene, "python3", "download"), 3);
    assert_eq!(shelf(&scene), ["1.2"]);
}

/// Without what was noted of it nobody knows what the program was, so it is not run.
#[test]
fn a_program_whose_notes_cannot_be_read_is_damaged() {
    let scene = wheel_scene("");
    run(&scene, &["install", "tart@1.2"]).expect(0);
    std::fs::write(scene.path("programs/tart/1.2/installed.toml"), "").unwrap();
    let program = listed(&scene)["programs"][0].clone();
    assert_eq!(program["version"], "1.2");
    let damage = program["damage"].as_str().unwrap();
    assert!(damage.starts_with("installed.toml beside it"), "{damage}");
    let refused = debug(&scene, "").expect(2);
    refused.says("bakeoff install tart@1.2");
    let replaced = run(&scene, &["install", "tart@1.2"]).expect(0);
    replaced.says("is damaged");
    assert_eq!(listed(&scene)["programs"][0]["damage"], Value::Null);
    assert_eq!(shelf(&scene), ["1.2"]);
}

#[test]
fn what_is_installed_needs_no_lock_and_no_folder_that_can_be_written() {
    let scene = wheel_scene("");
    run(&scene, &["install", "tart@1.2"]).expect(0);
    // As in a folder of somebody else, the lock cannot be opened.
    let lock = scene.path("programs/tart/.lock");
    std::fs::remove_file(&lock).unwrap();
    std::fs::create_dir(&lock).unwrap();
    let kept = run(&scene, &["install", "tart@1.2"]).expect(0);
    kept.says("already installed");
    run(&scene, &["install", "tart@1.2", "--force"]).expect(1);
    // No folder can be made in the kernel's.
    let mut command = command(&scene, &["install", "tart@1.2", "--unverified"]);
    command.env("BAKEOFF_PROGRAMS", "/sys/bakeoff-test");
    let refused = scene.run_command(command).expect(2);
    refused.says("set BAKEOFF_PROGRAMS to a folder that you can write to");
}

#[test]
fn a_contender_gets_the_newest_of_its_version_or_the_command_that_gets_it() {
    let scene = wheel_scene("");
    run(
        &scene,
        &["install", "tart@1.2.9", "tart@1.2.10", "tart@1.3"],
    )
    .expect(0);
    debug(&scene, "version = \"1.2\"")
        .expect(2)
        .says("tart/1.2.10/tart");
    debug(&scene, "version = \"1.2.9\"")
        .expect(2)
        .says("tart/1.2.9/tart");
    let missing = debug(&scene, "version = \"7\"").expect(2);
    missing.says("1.2.10 (").says("bakeoff install tart@7");
    let skipped = run(&scene, &["run", "./own.toml", "--out", "record"]).expect(2);
    skipped.says("skipped: own").says("bakeoff install tart@7");
}

#[test]
fn a_program_is_kept_under_the_version_that_it_reports() {
    let scene = wheel_scene("SAID=1.2.3");
    let finished = run(&scene, &["install", "tart@1.2.5"]).expect(0);
    assert!(finished.stdout.starts_with("tart 1.2.3  "), "{finished:?}");
    finished.says("tart-bin 1.2.5 contains Tart 1.2.3");
    assert_eq!(shelf(&scene), ["1.2.3"]);
    // Asked for by the package's version, it is known again.
    run(&scene, &["install", "tart@1.2.5"])
        .expect(0)
        .says("already installed");
}

#[track_caller]
fn refused(before: &str, code: i32, words: &[&str]) {
    let scene = wheel_scene(before);
    let mut finished = run(&scene, &["install", "tart@2", "--time-limit", "20s"]).expect(code);
    for words in words {
        finished = finished.says(words);
    }
    assert_eq!(finished.stdout, "");
    assert_eq!(shelf(&scene), [""; 0]);
}

#[test]
fn a_version_that_is_not_there_is_reported_with_those_that_are() {
    let words = "echo 'ERROR: none (from versions: 1.1, 1.2)' >&2; exit 1";
    refused(words, 2, &["no version 2", "there are: 1.1, 1.2"]);
}

#[test]
fn a_tool_that_refuses_what_came_is_heard() {
    let words = "echo 'THESE PACKAGES DO NOT MATCH THE HASHES' >&2; exit 1";
    refused(
        words,
        1,
        &[
            "python3 -m pip",
            "exit status: 1",
            "DO NOT MATCH THE HASHES",
        ],
    );
    refused(
        "echo '#!/bin/sh' >$dest/a.whl; echo >$dest/b.whl",
        1,
        &["more than one file"],
    );
    refused("exit 0", 1, &["is not in what came"]);
    refused(
        "SAID='of no version'",
        1,
        &["it was downloaded, but does not run"],
    );
}

#[test]
fn what_a_killed_installation_left_is_removed_by_the_next() {
    let scene = wheel_scene("");
    scene.write("programs/tart/.installing/wheel/half", "half");
    assert_eq!(listed(&scene)["programs"], serde_json::json!([]));
    run(&scene, &["install", "tart"]).expect(0);
    assert_eq!(shelf(&scene), ["1.2.10"]);
}

/// Has version 2.0, and lists 2.1 as well.
const GO_TOOL: &str = r#"
case "$1 $2" in
"mod download")
    case $4 in *@v2.0 | *@latest) ;; *) echo "go: no matching versions" >&2; exit 1 ;; esac
    mkdir -p module
    echo 'module bakery.test/v2' >module.mod
    echo 'flour.test v1.0.0 h1:f=' >module/go.sum
    printf '{\n"Version": "v2.0",\n"GoMod": "%s/module.mod",\n"Dir": "%s/module",\n' "$PWD" "$PWD"
    printf '"Sum": "h1:%s=",\n"GoModSum": "h1:def="\n}\n' "${SUM:-abc}" ;;
"build -mod=readonly")
    grep -q 'bakery.test/v2 v2.0 h1:' go.sum && grep -q 'flour.test' go.sum || exit 1
    printf '#!/bin/sh\necho tart 2.0\n' >"$5" ;;
"list -m") case "$4" in bakery.test/v2) echo "$4 v2.0 v2.1" ;; *) exit 1 ;; esac ;;
*) echo "go 1" ;;
esac
"#;

const BARE_TOOLS: &[(&str, &str)] = &[("apt-cache", "echo '  Candidate: 1:1.1-2'")];

#[test]
fn sources_are_tried_in_order_and_each_refusal_is_reported() {
    let pip = PIP.replace("BEFORE", "echo '(from versions: 1.1)'; exit 1");
    let tools = [("python3", pip.as_str()), ("go", GO_TOOL), BARE_TOOLS[0]];
    let scene = scene(&format!("{WHEEL}{GO}{APT}"), &tools);
    run(&scene, &["install", "tart@2.0"]).expect(0);
    let reported = std::fs::read_to_string(scene.path("programs/tart/2.0/installed.toml")).unwrap();
    assert!(
        reported.contains("package_hash = \"h1:abc=\""),
        "{reported}"
    );
    let refused = run(&scene, &["install", "tart@3"]).expect(2);
    let refused = refused.says("wheel tart-bin: it has no version 3; there are: 1.1");
    let refused = refused.says("cmd/tart: it has no version 3; there are: 2.0, 2.1");
    refused.says("apt tart: it has no version 3; there are: 1:1.1-2");
    let refused = run(&scene, &["install", "tart@3", "--source", "go"]).expect(2);
    assert!(!refused.stderr.contains("tart-bin"), "{refused:?}");
}

#[test]
fn a_tool_that_is_missing_is_named() {
    let scene = scene(&format!("{WHEEL}{GO}"), &[]);
    let mut command = command(&scene, &["install", "tart", "--unverified"]);
    command.env("PATH", scene.path("bin"));
    let refused = scene.run_command(command).expect(2);
    let refused = refused.says("`python3` is not on the search path");
    refused.says("`go` is not on the search path");
    assert_eq!(shelf(&scene), [""; 0]);
}

#[test]
fn the_distributions_package_needs_root() {
    let apt_get = "printf '#!/bin/sh\\necho tart 1.1\\n' >${0%/*}/tart; chmod +x ${0%/*}/tart";
    let scene = scene(APT, &[BARE_TOOLS[0], ("apt-get", apt_get)]);
    let finished = run(&scene, &["install", "tart@1.1"]);
    if rustix::process::geteuid().is_root() {
        let text = finished.expect(0).stdout;
        assert!(
            text.contains("tart 1.1  ") && text.contains("bin/tart"),
            "{text}"
        );
    } else {
        finished.expect(2).says("as root: apt-get install -y");
        assert_eq!(asked(&scene, "apt-get", ""), 0);
    }
}

/// Knows 1.2.5, which carries 1.2.3, and 1.2.4, which carries 1.2.2.
const CARGO: &str = r#"
lock() {
    printf '[[package]]\nname = "tart-src"\nversion = "%s"\nchecksum = "%s"\n' \
        "$1" "${CHECKSUM:-c}" >Cargo.lock
}
case "$1 $(cat Cargo.toml 2>/dev/null | grep tart-src)" in
generate-lockfile*'"~1.2, <1.2.4"'*) exit 1 ;;
generate-lockfile*'"~1.2, <1.2.5"'* | generate-lockfile*'"=1.2.4"'*) lock 1.2.4+1.2.2 ;;
generate-lockfile*'"~1.2"'* | generate-lockfile*'"=1.2.5"'* | generate-lockfile*'"*"'*)
    lock 1.2.5+1.2.3 ;;
vendor*) mkdir -p vendor/tart-src/tart
    version=$(sed -n 's/.*+\(.*\)"/\1/p' Cargo.lock)
    printf '#!/bin/sh\necho tart %s\n' "$version" >vendor/tart-src/tart/tart.sh ;;
generate-lockfile*) echo "candidate versions found which didn't match: 1.2.5+1.2.3"; exit 1 ;;
--version*) echo "cargo 1" ;;
esac
"#;

#[test]
fn a_crate_is_chosen_by_the_version_that_it_carries() {
    for (wanted, expected) in [
        ("tart", "1.2.3"),
        ("tart@1.2", "1.2.3"),
        ("tart@1.2.2", "1.2.2"),
        ("tart@1.2.5", "1.2.3"),
    ] {
        let scene = scene(CRATE, &[("cargo", CARGO)]);
        run(&scene, &["install", wanted]).expect(0);
        assert_eq!(shelf(&scene), [expected], "{wanted}");
    }
    let scene = scene(CRATE, &[("cargo", CARGO)]);
    let refused = run(&scene, &["install", "tart@1.2.9"]).expect(2);
    refused.says("no version 1.2.9; there are: 1.2.5+1.2.3, 1.2.4+1.2.2");
    let refused = run(&scene, &["install", "tart@9"]).expect(2);
    refused.says("no version 9; there are: 1.2.5+1.2.3");
}

#[test]
fn what_a_build_needs_and_does_not_find_is_named_with_its_package() {
    let needs = CRATE.replace(
        "needs = [",
        "needs = [{ header = \"flour.h\", package = \"mill\" }, ",
    );
    let scene = scene(&needs, &[("cargo", CARGO)]);
    let refused = run(&scene, &["install", "tart"]).expect(2);
    refused.says("the build needs flour.h; as root: apt-get install mill");
    assert_eq!(asked(&scene, "cargo", "vendor"), 0);
}

#[test]
fn what_cannot_be_installed_is_said() {
    let scene = scene("install = [\"bake it\"]", &[]);
    run(&scene, &["install", "tart"])
        .expect(2)
        .says("to get it: bake it");
    run(&scene, &["install", "pie"]).expect(2).says("`pie`");
    run(&scene, &["install", "tart@../x"])
        .expect(2)
        .says("has no valid version");
    run(&scene, &["install"]).expect(2);
}
