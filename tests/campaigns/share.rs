//! Texts that act on a terminal reach none, and a path that is no text is refused.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::process::Command;

use crate::support::plan;
use crate::support::scene::{Finished, Scene};

/// What must not reach a terminal: controls but line ends and tabs, marks of direction, what
/// cannot be seen.
fn acts(character: char) -> bool {
    let unseen = "\u{200b}\u{200e}\u{200f}\u{2028}\u{2029}\u{61c}\u{feff}\u{ad}";
    (character.is_control() && !"\n\t".contains(character))
        || unseen.contains(character)
        || ('\u{202a}'..='\u{202e}').contains(&character)
        || ('\u{2066}'..='\u{2069}').contains(&character)
}

const HOSTILE: [&str; 16] = [
    "\u{1b}[31m",
    "\u{1b}]52;c;aGk=\u{7}",
    "\u{1b}]0;title\u{1b}\\",
    "\u{1b}c",
    "\u{9b}2J",
    "\u{9d}52;c;x\u{9c}",
    "\r",
    "\u{8}\u{8}",
    "\u{7f}",
    "\u{202e}",
    "\u{2066}",
    "\u{200f}",
    "\u{200b}",
    "\u{feff}",
    "\u{2028}",
    "\u{ad}",
];

/// Nothing that it says acts on a terminal.
#[track_caller]
fn assert_calm(reported: &Finished) {
    for text in [&reported.stdout, &reported.stderr] {
        let odd = text.chars().find(|one| acts(*one));
        assert_eq!(odd, None, "{reported:#?}");
    }
}

#[track_caller]
fn check(scene: &Scene, arguments: &[&str]) {
    let reported = scene.run(arguments);
    assert_calm(&reported);
    assert!(
        !(reported.stdout + &reported.stderr).is_empty(),
        "{arguments:?} says something"
    );
}

#[test]
fn hostile_texts_reach_no_terminal() {
    let scene = Scene::new();
    for hostile in HOSTILE {
        let name = format!("a{hostile}b");
        check(&scene, &["report", &name]);
        check(&scene, &["report", "x", "--format", &name]);
        check(&scene, &["run", &format!("./{name}.toml")]);
        check(&scene, &["run", "--library", &name]);
        check(&scene, &["debug", &name, &name]);
        check(
            &scene,
            &["load", &format!("http://127.0.0.1:1/{name}"), "-n", "1"],
        );
    }
}

/// A text in a TOML string: what acts is escaped there, and stands in the value as it is.
fn in_toml(text: &str) -> String {
    let unit = |one: char| format!("\\U{:08x}", u32::from(one));
    let safe = text.chars().map(|one| {
        if acts(one) {
            unit(one)
        } else {
            one.to_string()
        }
    });
    safe.collect::<String>()
        .replace("]0;title\\", "]0;title\\\\")
}

/// A library whose server answers with all of it when it is asked for its version; returns the
/// plan that names it.
fn hostile_library(scene: &Scene, all: &str) -> String {
    let script = format!("#!/bin/sh\nprintf '%s' '1.2{all}'\nprintf '%s' '{all}' >&2\nexit 1\n");
    let program = scene.write("bin/hostile", &script);
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, open).unwrap();
    let server = format!(
        "title = \"{0}\"\nprograms = [\"hostile\"]\nconfig = \"main.conf\"\n\
         install = [\"get {0}\"]\n[version]\ncommand = [\"{{{{ binary }}}}\"]\n\
         pattern = '([0-9.]+.*)'\n[start]\ncommand = [\"{{{{ binary }}}}\"]\n\
         [stop]\nsignal = \"TERM\"\ngrace_ms = 1000\n[templates.default]\n\
         synthetic = \"main.conf\"\n",
        in_toml(all)
    );
    scene.write("library/servers/hostile/server.toml", &server);
    scene.write("library/servers/hostile/main.conf", "");
    scene.write(&format!("library/plans/p{all}.toml").replace('/', ""), "");
    format!(
        "name = \"own\"\ndescription = \"{0}\"\nworkloads = [\"w\"]\n\
         references = {{ yardstick = false, origin = false }}\n\
         [[contender]]\nname = \"x\"\nserver = \"hostile\"\n\
         [[load]]\nclients = 1\n[[workload]]\nname = \"w\"\ntemplate = \"synthetic\"\n\
         description = \"{0}\"\nnotes = [\"{0}\"]\n[workload.expect]\ntext = \"{0}\"\n",
        in_toml(all)
    )
}

fn bakeoff(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bakeoff"));
    command.args(arguments);
    command
}

#[test]
fn hostile_texts_of_files_reach_no_terminal() {
    let scene = Scene::new();
    let all = HOSTILE.concat();
    let plan = hostile_library(&scene, &all);
    scene.write("own.toml", &plan);
    let path = format!("{}:/usr/bin:/bin", scene.path("bin").display());
    for arguments in [
        &["list", "--library", "library"][..],
        &["list", "--library", "library", "--json"],
        &["plan", "./own.toml", "--library", "library"],
        &["run", "./own.toml", "--library", "library"],
        &[
            "debug",
            "x",
            "w",
            "--plan",
            "./own.toml",
            "--library",
            "library",
        ],
    ] {
        let mut command = bakeoff(arguments);
        command.env("PATH", &path);
        let reported = scene.run_command(command);
        assert_calm(&reported);
        // What names the server or describes the plan came through, in another form.
        let all = reported.stdout + &reported.stderr;
        let came = all.contains("\\u{202e}") || all.contains("\\u202e") || all.contains("hostile");
        assert!(came, "{arguments:?}: {all}");
    }
    // Keys and values that the plan's reader quotes in its messages.
    for (old, new) in [
        ("name = \"x\"", format!("name = \"x{}\"", in_toml(&all))),
        (
            "server = \"hostile\"",
            format!("server = \"{}\"", in_toml(&all)),
        ),
        (
            "workloads = [\"w\"]",
            format!("workloads = [\"{}\"]", in_toml(&all)),
        ),
        ("clients = 1", format!("clients = \"{}\"", in_toml(&all))),
        ("[[load]]", format!("[[load]]\n\"{}\" = 1", in_toml(&all))),
        (
            "name = \"w\"",
            format!("name = \"w\"\nheaders = [\"{}\"]", in_toml(&all)),
        ),
        (
            "name = \"w\"",
            format!("name = \"w\"\npath = \"{}\"", in_toml(&all)),
        ),
        ("name = \"own\"", format!("name = \"own\" {all}")),
    ] {
        scene.write("bad.toml", &plan.replacen(old, &new, 1));
        check(&scene, &["plan", "./bad.toml", "--library", "library"]);
    }
}

#[test]
fn a_path_that_is_no_text_is_refused_or_works() {
    let scene = Scene::new();
    let odd = OsStr::from_bytes(b"re\xff\xfecord");
    let text = plan(&[("a", "nginx", "default")], "synthetic", "");
    scene.write("own.toml", &text);
    for flags in [
        &["run", "./own.toml", "--out"][..],
        &["run", "--resume"],
        &["list", "--library"],
    ] {
        let mut command = bakeoff(flags);
        command.arg(odd);
        let reported = scene.run_command(command).expect(2);
        let is_told = ["there is no re", "is not UTF-8"]
            .iter()
            .any(|words| reported.stderr.contains(words));
        assert!(is_told, "{flags:?}: {reported:#?}");
    }
    let mut command = bakeoff(&["report"]);
    command.arg(odd);
    scene.run_command(command).expect(2).says("there is no re");
    let mut folder = OsString::from("TMPDIR=");
    folder.push(odd);
    let mut command = Command::new("env");
    command.arg(folder).arg(env!("CARGO_BIN_EXE_bakeoff"));
    command.args(["plan", "./own.toml"]);
    let reported = scene.run_command(command).expect(2);
    reported.says("is not UTF-8");
    let mut command = bakeoff(&[]);
    command.arg(odd);
    scene.run_command(command).expect(2);
}
