//! Commands that start nothing: what they print, and how they end.

use std::net::TcpListener;
use std::process::Command;

use serde_json::Value;

use crate::support::plan;
use crate::support::scene::Scene;

#[test]
fn help_that_cannot_be_written_is_no_success() {
    let mut shell = Command::new("sh");
    shell.args(["-c", "\"$1\" --help > /dev/full", "sh"]);
    let output = shell.arg(env!("CARGO_BIN_EXE_bakeoff")).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("failed to write to standard output"),
        "{stderr}"
    );
}

#[test]
fn help_names_every_command_and_the_exit_codes() {
    let help = Scene::new().run(&["--help"]).expect(0).stdout;
    for command in [
        "run",
        "load",
        "report",
        "site",
        "audit",
        "plan",
        "list",
        "install",
        "doctor",
        "debug",
        "origin",
        "yardstick",
    ] {
        let line = format!("\n  {command} ");
        assert!(help.contains(&line), "no {command} in {help}");
    }
    assert!(help.contains("130 interrupted"), "{help}");
}

#[test]
fn list_names_servers_workloads_and_plans() {
    let scene = Scene::new();
    let text = scene.run(&["list"]).expect(0).stdout;
    for name in ["nginx", "caddy", "html-large", "quick", "hotdog", "smoke"] {
        assert!(text.contains(&format!("\n  {name}")), "no {name} in {text}");
    }
    for line in [
        "\n               variants: default, optimized, optimized-pinned\n",
        "\n  html-small       A page of 4.5 KB from disk.\n",
        "\n  smoke            The smallest campaign that uses every part.\n",
    ] {
        assert!(text.contains(line), "no {line} in {text}");
    }
    let list = scene.json(&["list", "--json"]);
    assert_eq!(list["schema"], "bakeoff.list/1");
    let mut servers = list["servers"].as_array().unwrap().iter();
    let nginx = servers.find(|one| one["name"] == "nginx").unwrap();
    let variants = &nginx["variants"];
    let expected = serde_json::json!(["default", "optimized", "optimized-pinned"]);
    assert_eq!(*variants, expected);
    let said = &list["descriptions"];
    assert_eq!(
        said["workloads"]["html-small"],
        "A page of 4.5 KB from disk."
    );
    let smoke = "The smallest campaign that uses every part.";
    assert_eq!(said["plans"]["smoke"], smoke);
    let plans = list["plans"].as_array().unwrap();
    assert!(plans.iter().any(|name| name == "smoke"), "{plans:?}");
    let matrix = scene.run(&["plan", "matrix"]).expect(0).stdout;
    for server in list["servers"].as_array().unwrap() {
        let name = server["name"].as_str().unwrap();
        let trial = format!("r1-{name}-proxy-h2c-c20");
        assert!(matrix.contains(&trial), "no {name} in the plan `matrix`");
        assert!(
            server["version"].is_string() != server["missing"].is_string(),
            "either a version or a reason: {server}"
        );
    }
}

#[test]
fn list_shows_what_a_library_folder_adds() {
    let scene = Scene::new();
    scene.write("library/plans/mine.toml", "");
    let text = scene
        .run(&["list", "--library", "library"])
        .expect(0)
        .stdout;
    assert!(text.contains("\n  mine\n"), "{text}");
    scene
        .run(&["list", "--library", "absent"])
        .expect(2)
        .says("absent");
}

#[test]
fn a_workload_that_cannot_be_read_is_named_with_its_file() {
    let scene = Scene::new();
    let path = scene.write("library/workloads/page.toml", "");
    std::fs::write(path, b"name = \"page\" # caf\xe9\n").unwrap();
    let text = "name = \"mine\"\nworkloads = [\"page\"]\n[[contender]]\nname = \"a\"\n\
                server = \"nginx\"\n[[load]]\nclients = 1\n";
    scene.write("mine.toml", text);
    let plan = ["plan", "./mine.toml", "--library", "library"];
    let refused = scene.run(&plan).expect(2);
    refused.says("./mine.toml:2:14: failed to read workloads/page.toml: ");
}

#[test]
fn doctor_reports_cores_files_and_ports() {
    let text = Scene::new().run(&["doctor"]).expect(0).stdout;
    for words in ["processors", "open files", "ports", "kernel", "memory"] {
        assert!(text.contains(words), "no {words} in {text}");
    }
    let first = text.lines().next().unwrap();
    assert!(first.ends_with(" would distort results here"), "{text}");
}

#[test]
fn plan_lists_every_trial_once_and_runs_nothing() {
    let scene = Scene::new();
    let text = scene.run(&["plan", "smoke"]).expect(0).stdout;
    let trials: Vec<&str> = text
        .split_whitespace()
        .filter(|word| word.starts_with("r1-"))
        .collect();
    assert_eq!(trials.len(), 7, "{text}");
    assert!(text.contains("7 trials, about "), "{text}");
    let quick = scene.run(&["plan"]).expect(0).stdout;
    assert!(quick.starts_with("quick: "), "{quick}");
    for changed in [vec!["--rounds", "2"], vec!["--clients", "5,7"]] {
        let mut arguments = vec!["plan", "smoke"];
        arguments.extend(changed);
        let text = scene.run(&arguments).expect(0).stdout;
        assert!(text.contains("14 trials"), "{text}");
    }
    assert!(!scene.path("bakeoff-results").exists());
}

#[test]
fn processors_that_are_not_there_are_refused_before_a_record_is_made() {
    let scene = Scene::new();
    let own = plan(&[("a", "nginx", "default")], "synthetic", "");
    let path = scene.write("pins.toml", &format!("{own}[pinning]\nengine = [1000]\n"));
    let run = ["run", &path.display().to_string(), "--out", "record"];
    scene.run(&run).expect(2).says("may use [0");
    assert!(!scene.path("record").exists());
}

#[test]
fn schemas_are_json_that_describes_the_keys() {
    let scene = Scene::new();
    for (of, key) in [("plan", "contender"), ("workload", "expect")] {
        let schema = scene.json(&["schema", of]);
        assert_ne!(schema["properties"][key], Value::Null, "{schema:#}");
    }
    scene.run(&["schema", "server"]).expect(2);
}

#[test]
fn the_manual_page_and_completions_are_printed() {
    let scene = Scene::new();
    let manual = scene.run(&["man"]).expect(0).stdout;
    assert!(manual.contains(".TH bakeoff"), "{manual}");
    let completions = scene.run(&["completions", "bash"]).expect(0).stdout;
    let script = scene.write("completions.bash", &completions);
    let check = Command::new("bash").arg("-n").arg(script).status();
    assert!(check.is_ok_and(|status| status.success()), "{completions}");
    for shell in ["zsh", "fish"] {
        let text = scene.run(&["completions", shell]).expect(0).stdout;
        assert!(text.contains("bakeoff"), "{text}");
    }
}

#[test]
fn outputs_that_close_early_are_no_panic() {
    let scene = Scene::new();
    let run = ["run", "smoke", "--out", "record"];
    for arguments in [&["list"][..], &["man"], &["doctor"], &["plan"], &run] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_bakeoff"));
        command.args(arguments).stdout(writer);
        scene.run_command(command).expect(0);
    }
    assert_eq!(scene.measured("record").len(), 7);
}

#[test]
fn debug_suggests_the_nearest_name() {
    let scene = Scene::new();
    let wrong = scene.run(&["debug", "nginx-defualt", "synthetic"]);
    wrong.expect(2).says("did you mean nginx-default?");
    let wrong = scene.run(&["debug", "nginx-default", "syntetic"]);
    wrong.expect(2).says("did you mean synthetic?");
}

#[test]
fn what_cannot_be_served_is_refused_before_anything_starts() {
    let scene = Scene::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (address, why) in [
        (taken.as_str(), "failed to listen"),
        ("0.0.0.0:9464", "loopback"),
        ("192.0.2.1:9464", "loopback"),
    ] {
        let url = "http://127.0.0.1:1/";
        scene
            .run(&["load", url, "--metrics", address])
            .expect(2)
            .says(why);
        let run = ["run", "quick", "--out", "record", "--metrics", address];
        scene.run(&run).expect(2).says(why);
        assert!(!scene.path("record").exists());
    }
}
