//! Files that plans and workloads name: which ones are read, and which ones are refused at once.

use std::path::Path;

use crate::support::files::trials;
use crate::support::pass_over;
use crate::support::scene::Scene;
use crate::support::servers::are_installed;

/// nginx as `bakeoff install` builds it opens `logs/access.log` in its prefix, where no other log
/// is configured.
#[test]
fn an_nginx_with_its_own_paths_runs_without_a_configured_log() {
    let programs = std::env::var_os("BAKEOFF_PROGRAMS").unwrap_or_default();
    let binary = Path::new(&programs).join("bin/nginx-1.28");
    if !binary.is_file() {
        return pass_over("nginx-1.28 is not there");
    }
    let scene = Scene::new();
    let binary = binary.display();
    for (name, log) in [("no-log", ""), ("one-log", "access_log off;")] {
        let second = format!("server {{ listen 8482; {log} }}");
        let config = "worker_processes 1;\nevents { worker_connections 64; }\nhttp {\n\
                      server { listen 8481; location / { return 200 'Hello, world!'; } }\n";
        scene.write("its.conf", &format!("{config}{second}\n}}\n"));
        let plan = format!(
            "name = \"{name}\"\nrounds = 1\nrest = \"0s\"\nworkloads = [\"synthetic\"]\n\
             references = {{ yardstick = false, origin = false }}\n\
             [[contender]]\nname = \"ours\"\nserver = \"nginx\"\nbinary = \"{binary}\"\n\
             config = \"its.conf\"\n[[load]]\nclients = 3\nrequests = 100\ntimeout = \"5s\"\n"
        );
        let file = format!("{name}.toml");
        let file = scene.write(&file, &plan).display().to_string();
        scene.run(&["run", &file, "--out", name]).expect_measured();
        let trials = trials(&scene.path(name));
        let requests = &trials[0]["result"]["requests"];
        assert_eq!(requests["ok"], 100, "{:#}", trials[0]);
    }
}

/// One short trial of nginx.
const SMALL: &str = "name = \"small\"\nrounds = 1\nrest = \"0s\"\nworkloads = [\"synthetic\"]\n\
                     references = { yardstick = false, origin = false }\n\
                     [[contender]]\nname = \"nginx\"\nserver = \"nginx\"\n\
                     [[load]]\nclients = 3\nrequests = 100\ntimeout = \"5s\"\n";

#[test]
fn a_limit_of_the_size_of_files_is_an_error_and_no_signal() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    scene.write("small.toml", SMALL);
    let mut command = std::process::Command::new("/bin/sh");
    // The configuration is longer than a block.
    let script = "ulimit -f 1; exec \"$@\"";
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_bakeoff")]);
    command.args(["run", "./small.toml", "--out", "out"]);
    let limited = scene.start_command(scene.settle(command)).finish();
    // The first file beyond it is the configuration of a contender, which cannot be started then.
    let limited = limited.expect(2);
    assert!(
        limited.stderr.contains("nginx.conf: File too large"),
        "{limited:#?}"
    );
}
