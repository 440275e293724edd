//! What `bakeoff install` knows beforehand of a package, and what it does with one that is not it.
//!
//! A program that was executed leaves a file `ran` in the scene.

use std::path::{Path, PathBuf};

use super::*;
use crate::support::servers::{on_path, script_server};

/// A source, and what is known of its versions.
fn knowing(source: &str, versions: &[(&str, &str)]) -> String {
    let mut text = format!("{}\n[source.known]\n", source.trim_end());
    for (version, digest) in versions {
        text.push_str(&format!("\"{version}\" = [\"{digest}\"]\n"));
    }
    text
}

/// SHA-256 as `server.toml` has it.
fn sha256(path: &Path) -> String {
    let output = Command::new("sha256sum").arg(path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    format!("sha256:{}", text.split_whitespace().next().unwrap())
}

/// Any digest but that of what comes.
fn another() -> String {
    format!("sha256:{}", "0".repeat(64))
}

fn installed_toml(scene: &Scene, version: &str) -> String {
    let path = scene.path(&format!("programs/tart/{version}/installed.toml"));
    std::fs::read_to_string(path).unwrap()
}

/// The program of a wheel of the scripted pip's, which leaves `ran`.
fn wheel(scene: &Scene) -> String {
    format!(
        "#!/bin/sh\ntouch {}\necho tart 1.2.9\n",
        scene.path("ran").display()
    )
}

/// A scene whose pip gives this wheel whatever it is asked for.
fn scene_with(known: impl Fn(&Scene) -> Vec<(&'static str, String)>) -> Scene {
    let before = "cp ../../../../wheel $dest/tart_bin-1.2.9-py3-none-any.whl; exit 0";
    let scene = wheel_scene(before);
    scene.write("wheel", &wheel(&scene));
    let known = known(&scene);
    let known: Vec<(&str, &str)> = known.iter().map(|(it, of)| (*it, of.as_str())).collect();
    let text = TART.replace("SOURCES", &knowing(WHEEL, &known));
    scene.write("library/servers/tart/server.toml", &text);
    scene
}

#[test]
fn a_known_version_is_asked_for_with_its_hashes_and_noted_as_verified() {
    let scene = scene_with(|scene| {
        let digest = sha256(&scene.path("wheel"));
        vec![("1.2.9", digest), ("1.1", another())]
    });
    run_verified(&scene, &["install", "tart@1.2"]).expect(0);
    assert_eq!(asked(&scene, "python3", "--require-hashes"), 1);
    assert_eq!(asked(&scene, "python3", "--only-binary :all:"), 1);
    let reported = installed_toml(&scene, "1.2.9");
    assert!(reported.contains("verified = true"), "{reported}");
    assert_eq!(listed(&scene)["programs"][0]["unverified"], false);
    let list = run(&scene, &["list"]).expect(0).stdout;
    assert!(!list.contains("unverified"), "{list}");
    // Without a version it is the newest that is known.
    run_verified(&scene, &["install", "tart", "--force"]).expect(0);
}

#[test]
fn a_wheel_with_other_bytes_is_not_unpacked_even_if_pip_let_it_pass() {
    let scene = scene_with(|_| vec![("1.2.9", another())]);
    let refused = run_verified(&scene, &["install", "tart@1.2.9"]).expect(1);
    let refused = refused.says("tart_bin-1.2.9-py3-none-any.whl has sha256:");
    refused.says(&another()).says("nothing of it was used");
    assert_eq!(asked(&scene, "python3", "zipfile"), 0);
    assert!(!scene.path("ran").exists());
    assert_eq!(shelf(&scene), [""; 0]);
    // The flag is for versions that are not known; it does not make others of known ones.
    run(&scene, &["install", "tart@1.2.9"]).expect(1);
    assert!(!scene.path("ran").exists());
}

#[test]
fn no_other_source_is_tried_once_a_package_was_altered() {
    let pips = [
        "echo x >$dest/tart_bin-2.0-py3-none-any.whl; exit 0",
        "echo 'THESE PACKAGES DO NOT MATCH THE HASHES'; exit 1",
    ];
    for before in pips {
        let pip = PIP.replace("BEFORE", before);
        let wheel = knowing(WHEEL, &[("2.0", &another())]);
        let go = knowing(GO, &[("2.0", &format!("h1:{}=", "a".repeat(43)))]);
        let scene = scene(
            &format!("{wheel}{go}"),
            &[("python3", &pip), ("go", GO_TOOL)],
        );
        run_verified(&scene, &["install", "tart@2.0"]).expect(1);
        assert_eq!(asked(&scene, "go", ""), 0);
    }
}

#[test]
fn a_version_that_is_not_known_needs_a_flag_and_stays_marked() {
    let scene = scene_with(|_| vec![("1.1", another()), ("1.10", another())]);
    let refused = run_verified(&scene, &["install", "tart@1.2.9"]).expect(2);
    let refused = refused.says("no checksum of version 1.2.9; known versions: 1.10, 1.1;");
    refused.says("--unverified");
    assert_eq!(asked(&scene, "python3", ""), 0);
    let finished = run(&scene, &["install", "tart@1.2.9"]).expect(0);
    finished.says("tart: unverified:");
    let reported = installed_toml(&scene, "1.2.9");
    assert!(reported.contains("verified = false"), "{reported}");
    assert_eq!(listed(&scene)["programs"][0]["unverified"], true);
    let list = run(&scene, &["list"]).expect(0).stdout;
    assert!(list.contains("tart/1.2.9/tart  (unverified)"), "{list}");
}

#[test]
fn a_record_says_that_a_program_is_unverified() {
    let scene = Scene::new();
    if !script_server(&scene, 1000, &[("plain", "serve()")]) {
        return;
    }
    let python = on_path("python3").unwrap();
    let program = format!("#!/bin/sh\nexec {} \"$@\"\n", python.display());
    scene.write("wheel", &program);
    let pip = PIP.replace(
        "BEFORE",
        "cp ../../../../wheel $dest/a-9-py3-none-any.whl; exit 0",
    );
    let pip = format!(
        "#!/bin/sh\n{}",
        pip.replace("scripts/tart", "scripts/python3")
    );
    let path = scene.write("bin/python3", &pip);
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    let file = "library/servers/script/server.toml";
    let text = std::fs::read_to_string(scene.path(file)).unwrap();
    // The interpreter may be in the home of whoever runs the tests.
    let text = text.replace("[start]\n", "[start]\nuser = \"root\"\n");
    let source = "[[source]]\nkind = \"wheel\"\npackage = \"a\"\nprogram = \"python3\"\n";
    scene.write(file, &format!("{text}{source}"));
    run(&scene, &["install", "script"]).expect(0);
    let plan = files::plan(
        &[("a", "script", "plain")],
        "synthetic",
        "duration = \"200ms\"",
    );
    scene.write("own.toml", &plan);
    run(&scene, &["run", "./own.toml", "--out", "record"]).expect_measured();
    let trial = &files::trials(&scene.path("record"))[0];
    let package = &trial["server"]["package"];
    assert_eq!(package["verified"], false, "{package}");
    assert_eq!(
        (&package["source"], &package["name"]),
        (&"wheel".into(), &"a".into())
    );
}

#[test]
fn what_a_killed_installation_leaves_is_no_program() {
    let scene =
        wheel_scene("cp $0 $dest/tart_bin-1.2-py3-none-any.whl; touch half; exec sleep 600");
    let mut running = start(&scene, &["install", "tart"]);
    running.wait_until("half of it is there", |_| {
        let half = "programs/tart/.installing/wheel/half";
        scene.path(half).exists()
    });
    running.signal(Signal::KILL);
    running.finish().expect_signal(Signal::KILL);
    assert_eq!(listed(&scene)["programs"], serde_json::json!([]));
    assert_eq!(listed(&scene)["version"], Value::Null);
}

#[test]
fn a_modules_checksum_is_compared_before_it_is_built() {
    let (sum, other) = ("a".repeat(43), "b".repeat(43));
    let source = format!("{GO}version-variable = \"tart.Version\"\n");
    let known = knowing(&source, &[("2.0", &format!("h1:{sum}="))]);
    let scene = scene(&known, &[("go", GO_TOOL)]);
    let install = |sum: &str| {
        let mut command = command(&scene, &["install", "tart"]);
        command.env("SUM", sum);
        scene.start_command(command).finish()
    };
    let refused = install(&other).expect(1);
    let refused = refused.says(&format!("bakery.test/v2 v2.0 has h1:{other}="));
    refused.says("nothing of it was used");
    assert_eq!(asked(&scene, "go", "build"), 0);
    install(&sum).expect(0);
    assert!(installed_toml(&scene, "2.0").contains("verified = true"));
    assert_eq!(asked(&scene, "go", "-ldflags=-X=tart.Version=v2.0"), 1);
}

#[test]
fn checksums_of_a_crate_and_of_those_beside_it_are_compared_before_they_are_unpacked() {
    let sum = "c0".repeat(32);
    let known = knowing(CRATE, &[("1.2.5+1.2.3", &format!("sha256:{sum}"))]);
    let scene = scene(&known, &[("cargo", CARGO)]);
    let install = |sum: &str| {
        let mut command = command(&scene, &["install", "tart@1.2.3"]);
        command.env("CHECKSUM", sum);
        scene.start_command(command).finish()
    };
    let refused = install(&"0c".repeat(32)).expect(1);
    refused.says("tart-src 1.2.5+1.2.3 has sha256:0c0c");
    assert_eq!(asked(&scene, "cargo", "vendor"), 0);
    install(&sum).expect(0);
    assert!(installed_toml(&scene, "1.2.3").contains("verified = true"));
    // Its own checksum is right, and there is no such crate beside it.
    let beside = format!(
        "folder = \"tart\"\nbeside = [{{ package = \"flour\", version = \"1.0.0\", \
         digest = \"sha256:{sum}\" }}]"
    );
    let text = TART.replace("SOURCES", &known.replace("folder = \"tart\"", &beside));
    scene.write("library/servers/tart/server.toml", &text);
    let mut command = command(&scene, &["install", "tart", "--force"]);
    command.env("CHECKSUM", &sum);
    let refused = scene.start_command(command).finish().expect(1);
    refused.says("cargo locked no flour");
    assert_eq!(asked(&scene, "cargo", "vendor"), 1);
}

#[test]
fn what_a_tool_says_is_shown_without_what_a_terminal_would_obey() {
    let scene = wheel_scene("printf '\\033]0;title\\007\\033[31mno such index\\033[0m\\n'; exit 1");
    let refused = run(&scene, &["install", "tart"]).expect(1);
    assert!(!refused.stderr.contains('\x1b') && !refused.stderr.contains('\x07'));
    refused.says("no such index");
}

#[test]
fn an_index_that_does_not_answer_is_not_taken_for_an_empty_one() {
    let scene = wheel_scene("echo 'Connection refused'; echo '(from versions: none)'; exit 1");
    run(&scene, &["install", "tart@1"])
        .expect(1)
        .says("download --quiet")
        .says("ended with exit status: 1")
        .says("Connection refused");
}

#[test]
fn a_server_toml_with_half_a_digest_is_refused() {
    let scene = scene(&knowing(WHEEL, &[("1.2", "sha256:c0ffee")]), &[]);
    let refused = run_verified(&scene, &["install", "tart"]).expect(2);
    refused.says("`known` of 1.2 must be a list of digests");
}

/// Writes files as packages of the Python index, by the real python.
const PACK: &str = r#"
import sys, zipfile, tarfile, io
folder, program, setup = sys.argv[1:]
info = "tart_bin-1.2.9.dist-info/"
wheel = zipfile.ZipFile(folder + "/tart_bin-1.2.9-py3-none-any.whl", "w")
wheel.writestr("tart_bin-1.2.9.data/scripts/tart", program)
wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: tart-bin\nVersion: 1.2.9\n")
wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
wheel.writestr(info + "RECORD", "")
wheel.close()
source = tarfile.open(folder + "/tart-bin-1.3.tar.gz", "w:gz")
member = tarfile.TarInfo("tart-bin-1.3/setup.py")
member.size = len(setup)
source.addfile(member, io.BytesIO(setup.encode()))
source.close()
"#;

/// Writes the packages with this program into the folder `index`.
fn pack(scene: &Scene, python: &Path, program: &str) {
    let ran = scene.path("ran").display().to_string();
    let setup =
        format!("open({ran:?}, 'w')\nfrom setuptools import setup\nsetup(name='tart-bin')\n");
    std::fs::create_dir_all(scene.path("index")).unwrap();
    let packed = Command::new(python)
        .args(["-c", PACK])
        .arg(scene.path("index"))
        .args([program, &setup])
        .status();
    assert!(packed.unwrap().success());
}

/// A scene with a folder of packages instead of an index, and the real python; `None` without pip.
fn real_pip() -> Option<(Scene, PathBuf)> {
    let has_pip = |python: &PathBuf| {
        let asked = Command::new(python)
            .args(["-m", "pip", "--version"])
            .output();
        asked.is_ok_and(|output| output.status.success())
    };
    let Some(python) = on_path("python3").filter(has_pip) else {
        pass_over("no python3 with pip was found");
        return None;
    };
    let scene = scene(WHEEL, &[]);
    pack(&scene, &python, &wheel(&scene));
    Some((scene, python))
}

/// Runs bakeoff with the real pip, whose index is the folder.
fn run_with_pip(scene: &Scene, arguments: &[&str]) -> Finished {
    let mut command = command(scene, arguments);
    command
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("PIP_NO_INDEX", "1")
        .env("PIP_FIND_LINKS", scene.path("index"))
        .env("PIP_CONFIG_FILE", "/dev/null");
    scene.start_command(command).finish()
}

#[test]
fn the_real_pip_refuses_a_wheel_whose_bytes_were_changed() {
    let Some((scene, python)) = real_pip() else {
        return;
    };
    let path = scene.path("index/tart_bin-1.2.9-py3-none-any.whl");
    let known = knowing(WHEEL, &[("1.2.9", &sha256(&path))]);
    let text = TART.replace("SOURCES", &known);
    scene.write("library/servers/tart/server.toml", &text);
    let honest = std::fs::read(&path).unwrap();
    // Another program under the same name: a sound wheel, and not the known one.
    pack(&scene, &python, &format!("{}# and more\n", wheel(&scene)));
    let refused = run_with_pip(&scene, &["install", "tart@1.2"]).expect(1);
    refused.says("DO NOT MATCH THE HASHES");
    assert!(!scene.path("ran").exists(), "something of it was executed");
    assert_eq!(shelf(&scene), [""; 0]);
    std::fs::write(&path, &honest).unwrap();
    run_with_pip(&scene, &["install", "tart@1.2"]).expect(0);
    assert!(installed_toml(&scene, "1.2.9").contains("verified = true"));
    assert!(
        scene.path("ran").exists(),
        "it was not asked for its version"
    );
}

#[test]
fn the_real_pip_builds_no_package() {
    let Some((scene, _)) = real_pip() else {
        return;
    };
    // The newest version is a source package, whose setup would leave a trace.
    let refused = run_with_pip(&scene, &["install", "tart@1.3", "--unverified"]).expect(2);
    refused.says("no version 1.3; there are: 1.2.9");
    assert!(!scene.path("ran").exists());
    assert_eq!(shelf(&scene), [""; 0]);
}

#[test]
fn list_and_plan_run_nothing_of_a_library() {
    let scene = scene(WHEEL, &[]);
    let ran = scene.path("ran");
    let program = format!("#!/bin/sh\ntouch {}\necho tart 1.2.9\n", ran.display());
    let path = scene.write("bin/tart", &program);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    let list = run(&scene, &["list"]).expect(0);
    assert!(list.stdout.contains("tart         not asked  "), "{list:?}");
    list.says("--versions");
    let tart = listed(&scene);
    assert_eq!(
        (&tart["version"], &tart["missing"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(tart["programs"][0]["why_no_version"], "not asked");
    let built_in = format!("binary = {path:?}\nserver =");
    let contenders = [("own", "tart", "default"), ("other", "nginx", "default")];
    let plan = files::plan(&contenders, "synthetic", "duration = \"1s\"");
    for plan in [
        plan.clone(),
        plan.replace("server =", "version = \"1.2\"\nserver ="),
        plan.replace("server =", &built_in),
    ] {
        scene.write("own.toml", &plan);
        run(&scene, &["plan", "./own.toml"]).expect(0);
    }
    assert!(!ran.exists(), "a program was executed");
    let list = run(&scene, &["list", "--versions"]).expect(0).stdout;
    assert!(list.contains("tart         1.2.9  "), "{list}");
    assert!(ran.exists());
}

#[test]
fn a_program_that_changed_since_it_was_installed_is_not_run() {
    let scene = wheel_scene("");
    run(&scene, &["install", "tart@1.2"]).expect(0);
    let ran = scene.path("ran");
    let program = format!("#!/bin/sh\ntouch {}\necho tart 1.2\n", ran.display());
    std::fs::write(scene.path("programs/tart/1.2/tart"), program).unwrap();
    let list = run(&scene, &["list", "--versions"]).expect(0).stdout;
    assert!(list.contains("(damaged: "), "{list}");
    debug(&scene, "version = \"1.2\"").expect(2);
    assert!(!ran.exists(), "it was executed");
}
