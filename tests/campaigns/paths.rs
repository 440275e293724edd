//! Files that plans and workloads name, and folders that records go to: which ones are read or
//! made, and which ones are refused at once.

use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::scene::{Finished, Scene};

const CONTENDER: &str = "[[contender]]\nname = \"nginx\"\nserver = \"nginx\"\n\
                         [[load]]\nclients = 1\n";
/// A line of a log that can be replayed.
const LINE: &str = "::1 - - [21/Nov/2026:10:00:00 +0000] \"GET / HTTP/1.1\" 200 9 \
                    \"-\" \"x\"\n";

fn make_fifo(path: &Path) {
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
    rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
}

/// What `bakeoff plan` says of a plan with a workload that names this file as its body, and one
/// that names it as its log.
fn planned(scene: &Scene, file: &str, flags: &[&str]) -> [Finished; 2] {
    let body = format!(
        "[[workload]]\nname = \"post\"\ntemplate = \"site\"\n[[workload.request]]\n\
         method = \"POST\"\nbody = {{ file = \"{file}\" }}\nexpect = {{ body = \"any\" }}\n"
    );
    let log = format!(
        "[[workload]]\nname = \"day\"\ntemplate = \"site\"\n\
         [workload.replay]\nfile = \"{file}\"\nformat = \"combined\"\n"
    );
    [("post", body), ("day", log)].map(|(name, workload)| {
        let text = format!("name = \"{name}\"\n{CONTENDER}{workload}");
        let plan = scene.write(&format!("plans/{name}.toml"), &text);
        let arguments = [&["plan", plan.to_str().unwrap()], flags].concat();
        scene.run(&arguments)
    })
}

#[test]
fn bodies_and_logs_are_regular_files_below_the_folder_of_the_plan() {
    let scene = Scene::new();
    scene.write("plans/logs/inside.log", LINE);
    let outside = scene.write("outside.log", LINE).display().to_string();
    symlink("../outside.log", scene.path("plans/link.log")).unwrap();
    symlink("/dev/zero", scene.path("plans/zero.log")).unwrap();
    symlink("logs/inside.log", scene.path("plans/inner.log")).unwrap();
    make_fifo(&scene.path("plans/fifo.log"));
    for file in ["logs/inside.log", "inner.log", "./logs/../logs/inside.log"] {
        for finished in planned(&scene, file, &[]) {
            finished.expect(0);
        }
    }
    let lies_outside = "it lies outside ";
    for (file, problem) in [
        ("../outside.log", lies_outside),
        ("link.log", lies_outside),
        ("zero.log", lies_outside),
        ("/dev/zero", lies_outside),
        (outside.as_str(), lies_outside),
        ("fifo.log", "it is a fifo; expected a regular file"),
        ("logs", "it is a folder; expected a regular file"),
        ("none.log", "No such file"),
    ] {
        for finished in planned(&scene, file, &[]) {
            let finished = finished.expect(2);
            assert!(finished.stderr.contains(problem), "{file}: {finished:#?}");
        }
    }
    let flag = ["--allow-outside-files"];
    for file in ["../outside.log", "link.log", outside.as_str()] {
        for finished in planned(&scene, file, &flag) {
            finished.expect(0);
        }
    }
    for (file, problem) in [("/dev/zero", "a device"), ("fifo.log", "a fifo")] {
        for finished in planned(&scene, file, &flag) {
            let finished = finished.expect(2);
            assert!(finished.stderr.contains(problem), "{file}: {finished:#?}");
        }
    }
}

#[test]
fn plans_and_configurations_that_have_no_end_are_refused() {
    let scene = Scene::new();
    make_fifo(&scene.path("fifo.toml"));
    symlink("/dev/zero", scene.path("zero.toml")).unwrap();
    for (plan, kind) in [
        ("./fifo.toml", "a fifo"),
        ("./zero.toml", "a device"),
        ("./", "a folder"),
    ] {
        let finished = scene.run(&["plan", plan]).expect(2);
        let problem = format!("it is {kind}; expected a regular file");
        assert!(finished.stderr.contains(&problem), "{finished:#?}");
    }
}

/// One short trial of nginx.
const SMALL: &str = "name = \"small\"\nrounds = 1\nrest = \"0s\"\nworkloads = [\"synthetic\"]\n\
                     references = { yardstick = false, origin = false }\n\
                     [[contender]]\nname = \"nginx\"\nserver = \"nginx\"\n\
                     [[load]]\nclients = 3\nrequests = 100\ntimeout = \"5s\"\n";

#[test]
fn the_answer_is_printed_where_there_is_no_room_for_its_page() {
    let scene = Scene::new();
    scene.write("small.toml", SMALL);
    // Nothing can take the place of a folder with something in it.
    scene.write("out/report.html/x", "");
    let ran = scene
        .run(&["run", "./small.toml", "--out", "out"])
        .expect(1);
    assert!(ran.stdout.contains("nginx"), "{ran:#?}");
    let kept = "every trial is kept, and `bakeoff report out` shows them";
    assert!(
        ran.stderr.contains("failed to write out/report.html: "),
        "{ran:#?}"
    );
    assert!(ran.stderr.contains(kept), "{ran:#?}");
    scene.run(&["report", "out"]).expect(0);
}

#[test]
fn a_record_where_no_folder_can_be_made_is_refused_plainly() {
    let scene = Scene::new();
    scene.write("small.toml", SMALL);
    symlink("nowhere", scene.path("dangling")).unwrap();
    for (out, said) in [
        (
            "dangling",
            "dangling is a link to nowhere, which is not there",
        ),
        ("/dev/null/x", "/dev/null is no folder"),
    ] {
        let refused = scene.run(&["run", "./small.toml", "--out", out]).expect(2);
        assert!(refused.stderr.contains(said), "{refused:#?}");
    }
}
