//! What `bakeoff install` knows beforehand of a package, and what it does with one that is not it.
//!
//! A program that was executed leaves a file `ran` in the scene.

use std::path::Path;

use super::*;

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
fn a_modules_checksum_is_compared_before_it_is_built() {
    let (sum, other) = ("a".repeat(43), "b".repeat(43));
    let source = format!("{GO}version-variable = \"tart.Version\"\n");
    let known = knowing(&source, &[("2.0", &format!("h1:{sum}="))]);
    let scene = scene(&known, &[("go", GO_TOOL)]);
    let install = |sum: &str| {
        let mut command = command(&scene, &["install", "tart"]);
        command.env("SUM", sum);
        scene.run_command(command)
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
        scene.run_command(command)
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
    let refused = scene.run_command(command).expect(1);
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
    let plan = plan(&contenders, "synthetic", "duration = \"1s\"");
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
