//! Who may read what bakeoff writes, and whom servers run as where bakeoff runs as root.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::support::files::{plan, trials};
use crate::support::pass_over;
use crate::support::processes::Process;
use crate::support::scene::{Running, Scene};
use crate::support::servers::{are_installed, on_path, script_server};

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        pass_over("only root runs servers as other users");
    }
    is_root
}

/// Real, effective and saved user of a process, and its groups; `None` when it is gone.
fn identity(pid: u32) -> Option<(Vec<u32>, Vec<u32>)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let numbers = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        Some(
            line.split_whitespace()
                .filter_map(|it| it.parse().ok())
                .collect(),
        )
    };
    let mut groups: Vec<u32> = numbers("Gid:")?;
    groups.extend(numbers("Groups:")?);
    Some((numbers("Uid:")?, groups))
}

/// Whether a process is a server: anything but bakeoff itself and its keepers.
fn is_server(process: &Process) -> bool {
    let program = std::fs::read_link(format!("/proc/{}/exe", process.pid));
    let is_bakeoff = program.is_ok_and(|it| it == Path::new(env!("CARGO_BIN_EXE_bakeoff")));
    let command = std::fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
    let mut words = command.split(|&byte| byte == 0).skip(1);
    let is_built_in = words
        .next()
        .is_some_and(|it| it == b"origin" || it == b"yardstick");
    !is_bakeoff || is_built_in
}

/// Debugs the contender `it` of the plan, until its server answers.
fn debug<'s>(scene: &'s Scene, workload: &str, environment: &[(&str, &str)]) -> Running<'s> {
    let arguments = ["debug", "it", workload, "--plan", "./own.toml"];
    let mut command = scene.command(&arguments);
    command.env_remove("SUDO_UID");
    command.envs(environment.iter().copied());
    let mut running = scene.start_command(command);
    running.wait_until("the server answers", |it| {
        it.stderr().contains("press Ctrl-C")
    });
    running
}

#[track_caller]
fn assert_user(running: Running<'_>, name: &str, uid: u32) {
    let servers = running.below().into_iter().filter(is_server);
    let servers: Vec<_> = servers.collect();
    assert!(!servers.is_empty());
    for process in servers {
        let Some((uids, groups)) = identity(process.pid) else {
            continue;
        };
        assert_eq!(uids, [uid; 4], "{process:?}");
        assert_eq!(groups.contains(&0), uid == 0, "{process:?}: {groups:?}");
    }
    let stdout = running.stdout();
    assert!(stdout.contains(&format!("\nuser     {name}\n")), "{stdout}");
    running.signal(Signal::INT);
    running.finish().expect(0);
}

fn write_plan(scene: &Scene, server: &str, workload: &str, more: &str) {
    let variant = if server == "script" {
        "good"
    } else {
        "default"
    };
    let load = "duration = \"200ms\"";
    let text = plan(&[("it", server, variant)], workload, load);
    let (before, load) = text.split_once("[[load]]").unwrap();
    scene.write("own.toml", &format!("{before}{more}\n[[load]]{load}"));
}

#[test]
fn no_process_of_a_server_is_root() {
    if !is_root() {
        return;
    }
    for (server, workload) in [
        ("nginx", "html-small"),
        ("nginx", "proxy"),
        ("apache", "html-small"),
        ("caddy", "html-small-h1-tls"),
        ("haproxy", "proxy"),
        ("lighttpd", "html-small"),
        ("h2o", "html-small-h1-tls"),
        ("envoy", "proxy"),
        ("varnish", "proxy"),
    ] {
        let scene = Scene::new();
        if !are_installed(&scene, &[server]) {
            continue;
        }
        write_plan(&scene, server, workload.trim_end_matches("-h1-tls"), "");
        if workload.ends_with("-h1-tls") {
            let text = std::fs::read_to_string(scene.path("own.toml")).unwrap();
            scene.write("own.toml", &format!("protocols = [\"h1-tls\"]\n{text}"));
        }
        assert_user(debug(&scene, workload, &[]), "nobody", 65534);
    }
}

#[test]
fn a_configuration_or_sudo_names_another_user_and_an_unknown_one_is_refused() {
    if !is_root() {
        return;
    }
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let write = |more: &str| write_plan(&scene, "nginx", "synthetic", more);
    write("");
    assert_user(
        debug(&scene, "synthetic", &[("SUDO_UID", "1")]),
        "daemon",
        1,
    );
    let root = [("SUDO_UID", "0"), ("SUDO_GID", "0")];
    assert_user(debug(&scene, "synthetic", &root), "nobody", 65534);
    write("user = \"daemon\"");
    assert_user(debug(&scene, "synthetic", &[]), "daemon", 1);
    write("user = \"root\"");
    assert_user(debug(&scene, "synthetic", &[("SUDO_UID", "1")]), "root", 0);

    let run = |environment: &[(&str, &str)]| {
        let mut command = scene.command(&["run", "./own.toml", "--out", "record"]);
        command
            .env_remove("SUDO_UID")
            .envs(environment.iter().copied());
        scene.start_command(command).finish()
    };
    write("user = \"no-such-user\"");
    let refused = run(&[]).expect(2);
    refused
        .says("`user` of contender `it` is `no-such-user`")
        .says("no such user");
    write("");
    for uid in ["4000000000", "x", "-1"] {
        let refused = run(&[("SUDO_UID", uid)]).expect(2);
        refused.says(&format!("SUDO_UID is `{uid}`"));
    }
    assert!(!scene.path("record").exists());
}

#[test]
fn a_program_below_a_folder_of_roots_alone_is_run_by_another_user() {
    if !is_root() {
        return;
    }
    let scene = Scene::new();
    let Some(nginx) = on_path("nginx") else {
        return pass_over("no nginx was found");
    };
    // As the cache of installed programs below /root is.
    let program = scene.path("private/cache/nginx");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    let private = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(scene.path("private"), private).unwrap();
    std::fs::copy(nginx, &program).unwrap();
    write_plan(
        &scene,
        "nginx",
        "synthetic",
        "binary = \"./private/cache/nginx\"",
    );
    let running = debug(&scene, "synthetic", &[]);
    assert!(running.below().iter().any(|it| it.name == "nginx"));
    assert_user(running, "nobody", 65534);
    write_plan(
        &scene,
        "nginx",
        "synthetic",
        "binary = \"./private/cache/nginx\"",
    );
    scene
        .run(&["run", "./own.toml", "--out", "record"])
        .expect_measured();
    let trial = &trials(&scene.path("record"))[0];
    assert_eq!(trial["server"]["binary"], program.display().to_string());
    assert_eq!(
        trial["work"]["crew"]["users"],
        serde_json::json!(["nobody"])
    );
}

/// The variables of a process.
fn environment(pid: u32) -> Vec<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let variables = bytes.split(|&byte| byte == 0);
    variables
        .map(|variable| String::from_utf8_lossy(variable).into_owned())
        .collect()
}

#[test]
fn proxies_and_tuning_of_the_caller_reach_no_server() {
    let scene = Scene::new();
    if !script_server(&scene, 2000, &[("good", "serve()")]) {
        return;
    }
    write_plan(&scene, "script", "synthetic", "");
    let library = scene.path("library").display().to_string();
    let withheld = [
        ("http_proxy", "http://127.0.0.1:9"),
        ("NO_PROXY", "*"),
        ("GOGC", "off"),
        ("MALLOC_ARENA_MAX", "1"),
    ];
    let others = [
        ("BAKEOFF_LIBRARY", library.as_str()),
        ("OF_THE_CALLER", "stays"),
    ];
    let running = debug(&scene, "synthetic", &[&others[..], &withheld].concat());
    let servers = running.below().into_iter().filter(is_server);
    let servers: Vec<Vec<String>> = servers.map(|it| environment(it.pid)).collect();
    assert!(!servers.is_empty());
    for variables in servers {
        let has = |text: &str| variables.iter().any(|variable| variable.starts_with(text));
        assert!(has("OF_THE_CALLER=stays"), "{variables:?}");
        for (name, _) in withheld {
            assert!(!has(&format!("{name}=")), "{name} in {variables:?}");
        }
    }
    running.signal(Signal::INT);
    running.finish().expect(0);
}

/// Everything below a folder, with it.
fn tree(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    let mut next = 0;
    while let Some(path) = found.get(next).cloned() {
        next += 1;
        if path.is_dir() && !path.is_symlink() {
            let entries = std::fs::read_dir(&path).unwrap().flatten();
            found.extend(entries.map(|entry| entry.path()));
        }
    }
    found
}

#[test]
fn a_record_is_its_owners_alone_whatever_the_umask() {
    let scene = Scene::new();
    if !script_server(&scene, 2000, &[("good", "serve()")]) {
        return;
    }
    write_plan(&scene, "script", "synthetic", "");
    let run = [
        "run",
        "./own.toml",
        "--library",
        "library",
        "--out",
        "results/record",
    ];
    for umask in ["000", "022", "077"] {
        let _ = std::fs::remove_dir_all(scene.path("results"));
        let started = scene.start_command(scene.command_with_umask(umask, &run));
        started.finish().expect_measured();
        let record = scene.path("results/record");
        assert!(record.join("logs/r1-it-synthetic-c3/server.log").exists());
        for path in tree(&record) {
            let mode = path.metadata().unwrap().mode() & 0o777;
            let expected = if path.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode, expected, "{} with umask {umask}", path.display());
        }
    }
}
