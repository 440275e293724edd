//! Commands beside `run` and `load`: what they print, and that what they start ends with them.

use std::net::SocketAddr;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::files::plan;
use crate::support::scene::Scene;
use crate::support::servers::{are_installed, get};

/// The address that follows `words` in a text.
#[track_caller]
pub(crate) fn address_after(text: &str, words: &str) -> SocketAddr {
    let rest = text.split_once(words).map(|(_, rest)| rest);
    let address = rest.and_then(|rest| rest.split(['/', '\n']).next());
    address.unwrap_or_else(|| panic!("{text}")).parse().unwrap()
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
    for arguments in [&["list"][..], &["man"], &["doctor"], &["plan"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = scene.command(arguments).stdout(writer).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?} {errors}");
        assert!(!errors.contains("panicked"), "{errors}");
    }
}

#[track_caller]
fn debug(contender: &str, workload: &str, body: &str, signal: Signal) {
    let scene = Scene::new();
    let server = contender.split('-').next().unwrap();
    if !are_installed(&scene, &[server]) {
        return;
    }
    let mut debug = scene.start(&["debug", contender, workload]);
    debug.wait_until("it is up", |it| it.stderr().contains("Ctrl-C"));
    let text = debug.stdout();
    let address = address_after(&text, "http://");
    let answer = get(address, "/");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with(body), "{answer}");
    assert!(text.contains("\ncommand  /"), "{text}");
    assert!(text.contains("\nlog      /"), "{text}");
    let port = address.port().to_string();
    assert!(text.matches(&port).count() >= 2, "no configuration: {text}");
    assert!(debug.below().iter().any(|it| it.name.starts_with(server)));
    debug.signal_group(signal);
    debug.finish().expect(0);
}

#[test]
fn debug_keeps_nginx_up_until_ctrl_c() {
    debug("nginx-default", "synthetic", "Hello, world!", Signal::INT);
}

#[test]
fn debug_keeps_a_proxy_and_its_origin_up_until_it_is_asked_to_end() {
    debug("caddy-default", "proxy", "", Signal::TERM);
}

#[test]
fn debug_suggests_the_nearest_name() {
    let scene = Scene::new();
    let wrong = scene.run(&["debug", "nginx-defualt", "synthetic"]);
    wrong.expect(2).says("did you mean nginx-default?");
    let wrong = scene.run(&["debug", "nginx-default", "syntetic"]);
    wrong.expect(2).says("did you mean synthetic?");
}

#[track_caller]
fn serves_and_counts(name: &str) {
    let scene = Scene::new();
    let body = scene.write("body", "mustard").display().to_string();
    let mut served = scene.start(&[name, "--body", &body, "--content-type", "text/x-sauce"]);
    served.wait_until("it listens", |it| it.stdout().contains("counts on"));
    let address = address_after(&served.stdout(), "listening on ");
    let control = address_after(&served.stdout(), "counts on http://");
    let answer = get(address, "/");
    assert!(answer.ends_with("\r\n\r\nmustard"), "{answer}");
    assert!(answer.contains("text/x-sauce"), "{answer}");
    let url = format!("http://{address}/");
    scene.run(&["load", &url, "-n", "250", "-c", "5"]).expect(0);
    let counts = get(control, "/counts");
    let (_, counts) = counts.split_once("\r\n\r\n").unwrap();
    let counts: Value = serde_json::from_str(counts).unwrap();
    assert_eq!(counts["requests"], 251, "{counts}");
    assert!(counts["connections"].as_u64() <= Some(6), "{counts}");
    served.signal_group(Signal::INT);
    served.finish().expect(0).says("answered 251 requests");
}

#[test]
fn the_origin_serves_and_counts() {
    serves_and_counts("origin");
}

#[test]
fn the_yardstick_serves_and_counts() {
    serves_and_counts("yardstick");
}

#[test]
fn a_taken_address_is_reported() {
    let scene = Scene::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let finished = scene.run(&["origin", "--listen", &address]).expect(1);
    finished.says(&address);
}
