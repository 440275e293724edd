//! What the real pip does with a package that is not the known one, and what a record says of it.
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
fn the_real_pip_builds_no_package_and_refuses_a_wheel_whose_bytes_were_changed() {
    let Some((scene, python)) = real_pip() else {
        return;
    };
    // The newest version is a source package, whose setup would leave a trace.
    let refused = run_with_pip(&scene, &["install", "tart@1.3", "--unverified"]).expect(2);
    refused.says("no version 1.3; there are: 1.2.9");
    assert!(!scene.path("ran").exists());
    assert_eq!(shelf(&scene), [""; 0]);

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
