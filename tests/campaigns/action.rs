//! The script of `action.yml`: exit codes become what GitHub shows, and the record a summary.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::scene::{Finished, Scene};

/// Runs the script as the action does, with these arguments for this program.
fn act(scene: &Scene, program: &Path, arguments: &str, undecided: &str) -> Finished {
    let mut command = action(scene, arguments, undecided);
    command.env("BAKEOFF", program);
    scene.run_command(command)
}

fn action(scene: &Scene, arguments: &str, undecided: &str) -> Command {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/action.sh");
    let mut command = Command::new("bash");
    command.arg(script);
    for name in ["output", "summary"] {
        scene.write(name, "");
    }
    command
        .env("BAKEOFF_ARGUMENTS", arguments)
        .env("BAKEOFF_RECORD", "record")
        .env("BAKEOFF_UNDECIDED", undecided)
        .env("GITHUB_OUTPUT", scene.path("output"))
        .env("GITHUB_STEP_SUMMARY", scene.path("summary"));
    command
}

/// A program like bakeoff that ends with the code after its command, and has a report to write of
/// what it measured.
const ENDING: &str = r#"#!/bin/sh
case "$1" in
report) cat report.json >"$6" ;;
*) exit "$2" ;;
esac
"#;

fn program(scene: &Scene, text: &str) -> PathBuf {
    let program = scene.write("bakeoff", text);
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    program
}

#[test]
fn an_exit_code_becomes_a_red_build_a_warning_or_nothing() {
    let scene = Scene::new();
    let program = program(&scene, ENDING);
    scene.write("report.json", r#"{"answer":{"failing":[],"late":[]}}"#);
    for (code, undecided, ends, says) in [
        (0, "warn", 0, ""),
        (1, "warn", 1, "::error::bakeoff ended with 1"),
        (2, "warn", 2, "::error::bakeoff ended with 2"),
        (3, "warn", 3, "::error::a gate was breached"),
        (4, "warn", 0, "::warning::the rounds cannot tell"),
        (4, "fail", 4, "::error::the rounds cannot tell"),
        (0, "perhaps", 2, "write warn or fail"),
    ] {
        let acted = act(&scene, &program, &format!("race\n{code}\n"), undecided);
        let acted = acted.expect(ends).prints(says);
        assert_eq!(acted.stdout.is_empty(), says.is_empty(), "{acted:#?}");
        let noted = scene.read("output");
        let is_noted = noted.contains(&format!("exit-code={code}\n"));
        assert_eq!(is_noted, undecided != "perhaps", "{noted}");
    }
}

/// A commit, a branch and `./` have no release.
#[test]
fn a_release_that_is_not_there_is_named() {
    let scene = Scene::new();
    let client = scene.write(
        "bin/gh",
        "#!/bin/sh\necho 'release not found' >&2\nexit 1\n",
    );
    std::fs::set_permissions(&client, PermissionsExt::from_mode(0o755)).unwrap();
    let folder = client.parent().unwrap().to_str().unwrap();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap());
    for (repository, reference) in [("", ""), ("somebody/bakeoff", "main")] {
        let mut command = action(&scene, "race\na\nb\n", "warn");
        command
            .env("BAKEOFF", "")
            .env("BAKEOFF_REPOSITORY", repository)
            .env("BAKEOFF_REF", reference)
            .env("RUNNER_TEMP", scene.path("tmp"))
            .env("PATH", &path);
        let text = scene.run_command(command).expect(1).stdout;
        let named = format!("::error::no release `{reference}` of this action was downloaded");
        assert!(
            text.starts_with(&named) && text.contains("set `program`"),
            "{text}"
        );
    }
}

/// The rounds could not tell, and the job of a user who wants no weak number was green.
#[test]
fn a_strict_job_is_red_whatever_the_rounds_cannot_tell() {
    let scene = Scene::new();
    let program = program(&scene, ENDING);
    scene.write("report.json", r#"{"answer":{"failing":[],"late":[]}}"#);
    for (arguments, ends, says) in [
        ("race\n4\n--strict\n", 4, "::error::a number is not valid"),
        (
            "run\n4\n--format\nmd\n--strict\n",
            4,
            "the arguments have --strict",
        ),
        ("race\n4\n--start\n./it --strict {port}\n", 0, "::warning::"),
        ("race\n0\n--strict\n", 0, ""),
    ] {
        let acted = act(&scene, &program, arguments, "warn");
        acted.expect(ends).prints(says);
    }
}

/// The second step ended with advice that works in no action, and with the first one's summary.
#[test]
fn each_step_has_a_record_of_its_own() {
    let scene = Scene::new();
    let says = "#!/bin/sh\nmkdir -p kept; : >kept/trials.jsonl; echo \"$@\"\n";
    let program = program(&scene, says);
    let step = |arguments: &str| {
        let acted = act(&scene, &program, arguments, "warn");
        (acted.code, acted.stdout, scene.read("output"))
    };
    let (code, text, noted) = step("race\na\nb\n");
    assert_eq!((code, text.as_str()), (Some(0), "race a b --out record\n"));
    assert!(noted.contains("record=record\n"), "{noted}");

    scene.write("record/trials.jsonl", "");
    let (code, text, _) = step("race\na\nb\n");
    assert_eq!(code, Some(2), "{text}");
    assert!(text.starts_with("::error::record holds a record") && text.contains("`record`"));
    let summary = scene.read("summary");
    assert_eq!(summary, "");

    for arguments in ["run\n--resume\nkept\n", "run\na\n--out=kept\n"] {
        let (code, text, noted) = step(arguments);
        assert_eq!(code, Some(0), "{text}");
        assert!(
            text.starts_with(&arguments.trim_end().replace('\n', " ")),
            "{text}"
        );
        assert!(noted.contains("record=kept\n"), "{noted}");
        let summary = scene.read("summary");
        assert!(
            summary.starts_with("report kept --format summary"),
            "{summary}"
        );
    }
}

/// A branch that crashed at its start, or answered with errors, had a green build.
#[test]
fn a_contender_that_did_not_do_its_work_is_no_warning() {
    let scene = Scene::new();
    let program = program(&scene, ENDING);
    let red = |command: &str| {
        let acted = act(&scene, &program, &format!("{command}\n4\n"), "warn");
        acted.expect(4).prints("did not do its work");
    };
    // There is no record.
    red("race");
    for failing in [
        "b at app, c50: it died.",
        "The campaign was broken off: 1 trial was interrupted.",
    ] {
        let report = format!(r#"{{"answer":{{"failing":["{failing}"]}}}}"#);
        scene.write("report.json", &report);
        red("race");
        red("run");
    }
    // The record may be of another command.
    scene.write("report.json", r#"{"answer":{"failing":[]}}"#);
    red("compare");
}

#[test]
fn a_record_becomes_a_summary() {
    let scene = Scene::of("contender.caddy.rate = 5_000");
    let program = Path::new(env!("CARGO_BIN_EXE_bakeoff"));
    act(&scene, program, "race\nnginx\ncaddy\n", "warn").expect(0);
    let report = scene.run(&["report", "record", "--format", "summary"]);
    let report = report.expect(0).stdout;
    assert!(!report.is_empty());
    assert_eq!(scene.read("summary").trim_end(), report.trim_end());
}

/// A program like bakeoff with the record of a search, which has no summary.
const SEARCHING: &str = r#"#!/bin/sh
case "$*" in
*--out*)
    shift $(($# - 1))
    mkdir "$1"
    touch "$1/trials.jsonl"
    ;;
"report record --format md") echo "what was found" ;;
*)
    echo "refused" >&2
    exit 2
    ;;
esac
"#;

#[test]
fn a_search_and_an_overload_become_a_summary_too() {
    for command in ["find", "overload"] {
        let scene = Scene::new();
        let program = program(&scene, SEARCHING);
        let acted = act(&scene, &program, &format!("{command}\nnginx\n"), "warn");
        let acted = acted.expect(0);
        assert!(acted.stderr.is_empty(), "{command}: {acted:#?}");
        let noted = scene.read("output");
        assert!(noted.contains("record=record\n"), "{noted}");
        let summary = scene.read("summary");
        assert_eq!(summary, "what was found\n", "{command}");
    }
}
