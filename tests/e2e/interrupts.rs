//! Ctrl-C at every step of a trial, at which the server is stuck: bakeoff ends soon, with exit code
//! 130, and leaves nothing but a record that can be read and resumed.

use std::time::Duration;

use rustix::process::Signal;

use crate::support::files::plan;
use crate::support::scene::Scene;
use crate::support::servers::script_server;
use crate::support::{PATIENCE, RUN_OWN};

/// A server that gets stuck at a step, and the plan that leads there. `REACHED` stands for the
/// file that says so, `RECORD` for the record.
struct Stuck {
    script: &'static str,
    /// A line of the server's folder, and what follows it.
    server: (&'static str, &'static str),
    warmup: &'static str,
    duration: &'static str,
}

const STUCK: Stuck = Stuck {
    script: "serve()",
    server: ("", ""),
    warmup: "100ms",
    duration: "300ms",
};
/// The last line of `[version]`.
const VERSION: &str = "pattern = 'Python ([0-9.]+)'\n";

/// Counts requests; `n` is the count, `head` what was asked.
const COUNTING: &str = r#"
count = 0
def counted(connection, body):
    global count
    with connection:
        while head := connection.recv(65536):
            count += 1
            if stuck(count, head):
                open('REACHED', 'w').close()
                time.sleep(600)
            text = "HTTP/1.1 200 OK\r\nServer: script\r\nContent-Length: %d\r\n\r\n" % len(body)
            connection.sendall(text.encode() + body)
"#;

#[track_caller]
fn check(step: &str, stuck: &Stuck) {
    let scene = Scene::new();
    let reached = scene.path("reached");
    let replace = |text: &str| {
        let record = scene.path("record").display().to_string();
        let text = text.replace("REACHED", &reached.display().to_string());
        text.replace("RECORD", &record)
    };
    let script = replace(&format!("{COUNTING}\n{}", stuck.script));
    if !script_server(&scene, 3_600_000, &[("stuck", &script)]) {
        return;
    }
    let description = scene.path("library/servers/script/server.toml");
    let text = std::fs::read_to_string(&description).unwrap();
    let (line, added) = stuck.server;
    assert!(text.contains(line));
    let text = text.replacen(line, &format!("{line}{}", replace(added)), 1);
    std::fs::write(&description, text).unwrap();
    let load = format!("duration = \"{}\"", stuck.duration);
    let text = plan(&[("it", "script", "stuck")], "synthetic", &load);
    scene.write("own.toml", &text.replace("100ms", stuck.warmup));
    let mut running = scene.start(&RUN_OWN);
    running.wait_until(step, |_| reached.exists());
    // Into whatever waits there.
    std::thread::sleep(Duration::from_millis(200));
    running.signal_group(Signal::INT);
    let finished = running.finish_within(PATIENCE);
    let finished = finished.unwrap_or_else(|words| panic!("no end of {step}: {words}"));
    let finished = finished.expect(130).says("interrupted");
    scene.assert_empty();
    if scene.path("record").exists() {
        let trials = std::fs::read_to_string(scene.path("record/trials.jsonl")).unwrap();
        let (kept, goes_on) = match trials.contains("\"result\":{") {
            true => ("what was measured is kept", "goes on"),
            false => ("nothing was measured yet", "begins with it"),
        };
        let resume = "`bakeoff run --resume record --library library`";
        finished.says(&format!("interrupted; {kept}, {resume} {goes_on}"));
        scene.run(&["report", "record"]).expect(0);
    } else {
        scene.run(&["list"]).expect(0);
    }
    let left = std::fs::read_dir(scene.path("tmp")).unwrap().count();
    assert_eq!(left, 0, "the run folder is gone after {step}");
}

/// Goes on, and says at one request under load that it is there.
const UNDER_LOAD: &str = "
stuck = lambda n, head: n == 50 and open('REACHED', 'w').close()
serve(answer=counted)";

#[test]
fn ctrl_c_ends_what_comes_before_a_load() {
    for (step, stuck) in [
        (
            "a preparation",
            Stuck {
                server: (
                    "[version]\n",
                    "command = [\"sh\", \"-c\", \"touch REACHED && sleep 600; \
                     {{ binary }} --version\"]\n#",
                ),
                ..STUCK
            },
        ),
        (
            "a check before the first trial",
            Stuck {
                server: (
                    VERSION,
                    "[check]\ncommand = [\"sh\", \"-c\", \"touch REACHED; sleep 600\"]\n",
                ),
                ..STUCK
            },
        ),
        (
            "a check",
            Stuck {
                server: (
                    VERSION,
                    "[check]\ncommand = [\"sh\", \"-c\", \
                     \"[ -d RECORD ] && touch REACHED && sleep 600; exit 0\"]\n",
                ),
                ..STUCK
            },
        ),
        (
            "the wait for a server that never listens",
            Stuck {
                script: "open('REACHED', 'w').close()\ntime.sleep(600)",
                ..STUCK
            },
        ),
        (
            "the wait for a first answer",
            Stuck {
                script: "stuck = lambda n, head: True\nserve(answer=counted)",
                ..STUCK
            },
        ),
        (
            "the look at what a server does",
            Stuck {
                script: "stuck = lambda n, head: b'Connection: close' not in head\n\
                         serve(answer=counted)",
                ..STUCK
            },
        ),
    ] {
        check(step, &stuck);
    }
}

#[test]
fn ctrl_c_ends_a_load_and_what_comes_after_it() {
    for (step, stuck) in [
        (
            "a warm up",
            Stuck {
                script: UNDER_LOAD,
                warmup: "60s",
                ..STUCK
            },
        ),
        (
            "a window",
            Stuck {
                script: UNDER_LOAD,
                duration: "60s",
                ..STUCK
            },
        ),
        (
            "the check after the load",
            Stuck {
                script: "stuck = lambda n, head: n > 20 and b'Connection: close' in head\n\
                         serve(answer=counted)",
                ..STUCK
            },
        ),
        (
            "the wait for a server to stop",
            Stuck {
                script: "signal.signal(signal.SIGTERM, lambda *_: open('REACHED', 'w').close())\n\
                         serve()",
                ..STUCK
            },
        ),
    ] {
        check(step, &stuck);
    }
}
