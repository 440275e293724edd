//! Limits of CPU time and memory that the kernel holds servers to.

use serde_json::Value;

use crate::support::files::trials;
use crate::support::pass_over;
use crate::support::scene::{Finished, Scene};
use crate::support::servers::on_path;

/// Keeps 200 KB of each request.
const GREEDY: &str = "
import http.server, sys
kept = []
class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        kept.append(bytearray(200_000))
        self.send_response(200)
        self.send_header('Content-Length', '4')
        self.end_headers()
        self.wfile.write(b'more')
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Answer).serve_forever()
";

/// Whether nothing here can hold a server to a limit, which is said.
fn is_passed_over(finished: &Finished) -> bool {
    let lacks = finished
        .stderr
        .contains("nothing here holds a server to a limit");
    if lacks {
        pass_over("limits need control groups whose controllers are on, and root");
    }
    lacks
}

/// The largest of a counter of the server's tree.
fn counted(trial: &Value, name: &str) -> u64 {
    let trees = trial["usage"]["trees"].as_array().expect("trees");
    let server = trees.iter().find(|tree| tree["role"] == "server");
    let ticks = server.expect("a server")["ticks"]
        .as_array()
        .expect("ticks");
    let all = ticks.iter().filter_map(|tick| tick[name].as_u64());
    all.max().unwrap_or(0)
}

#[test]
fn a_server_has_no_more_time_than_its_limit_and_each_limit_is_a_contender() {
    if on_path("nginx").is_none() {
        return pass_over("nginx is not installed");
    }
    let scene = Scene::new();
    let race = ["race", "nginx", "--limits", "cpus=0.02,1,memory=256M"];
    let short = [
        "--rounds", "1", "-d", "1s", "--format", "json", "--out", "record",
    ];
    let finished = scene.run(&[&race[..], &short].concat());
    if is_passed_over(&finished) {
        return;
    }
    let all = trials(&scene.path("record"));
    let of = |name: &str| all.iter().find(|it| it["contender"] == name).expect(name);
    let (slow, wide) = (of("nginx-0.02cpu-256M"), of("nginx-1cpu-256M"));
    assert_eq!(slow["server"]["limits"]["cpus"], 0.02);
    // Of the kernel's own time, so that it holds however busy the machine is.
    assert!(counted(slow, "limited_us") > 100_000, "{slow}");
    assert!(
        counted(slow, "limited_us") > counted(wide, "limited_us"),
        "{wide}"
    );
    let document: Value = serde_json::from_str(&finished.stdout).expect("it is JSON");
    let text = document.to_string();
    assert!(
        text.contains("its limit of 0.02 processors held it back"),
        "{text}"
    );
}

#[test]
fn a_server_that_reaches_its_limit_of_memory_is_named() {
    let scene = Scene::new();
    let program = scene.write("greedy.py", GREEDY);
    let command = format!("python3 {} {{port}}", program.display());
    let race = [
        "race",
        "--start",
        &command,
        "--limits",
        "cpus=1,2,memory=48M",
    ];
    let short = [
        "--rounds",
        "1",
        "-d",
        "20s",
        "--clients",
        "4",
        "--out",
        "record",
    ];
    let finished = scene.run(&[&race[..], &short].concat());
    if is_passed_over(&finished) {
        return;
    }
    let said = "because it reached the limit of 48 MiB of its memory";
    assert!(finished.stderr.contains(said), "{finished:#?}");
    let all = trials(&scene.path("record"));
    let kills = all.iter().map(|trial| counted(trial, "memory_kills"));
    assert!(kills.max() >= Some(1), "{all:#?}");
}
