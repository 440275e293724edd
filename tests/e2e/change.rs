//! Something is done to a server under load, and what its clients noticed is what it did.

use serde_json::Value;

use crate::support::files::trials;
use crate::support::scene::Scene;
use crate::support::servers::{are_installed, on_path};
use crate::support::{alone, certificates, pass_over};

/// A server that closes five idle connections at SIGHUP, then answers nobody for 120 ms, and then
/// drops the next seven requests of connections that have carried others: over HTTP/2 their streams
/// alone. It writes a line of what it did after each of these.
const SERVER: &str = r#"
import json, os, select, signal, socket, ssl, struct, sys, threading, time

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nfine\n"
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
lock = threading.Lock()
connections = set()
left = 0
did = {}

class Connection:
    def __init__(self, raw):
        self.raw, self.carried, self.answered = raw, 0, 0.0
        self.asked = self.closed = False

    def serve(self):
        global left
        try:
            self.raw = tls.wrap_socket(self.raw, server_side=True) if tls else self.raw
            for answer, reset in h2(self.raw) if is_h2 else h1(self.raw):
                self.asked = True
                with lock:
                    self.asked = False
                    if self.closed:
                        return
                    if left > 0 and self.carried > 0:
                        left -= 1
                        did["lost"] += 1
                        did["closed"] += not is_h2
                        if left == 0:
                            note()
                        if not is_h2:
                            return
                        self.raw.sendall(reset)
                        continue
                    self.raw.sendall(answer)
                    self.carried += 1
                    self.answered = time.monotonic()
        except OSError:
            pass
        finally:
            with lock:
                connections.discard(self)
            self.raw.close()

def h1(stream):
    """For each request its answer; without one the connection ends."""
    while True:
        asked = b""
        while b"\r\n\r\n" not in asked:
            part = stream.recv(65536)
            if not part:
                return
            asked += part
        yield OK, None

def frame(kind, flags, number, payload):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, number) + payload

def h2(stream):
    """For each request its answer, and what resets its stream instead."""
    received = stream.makefile("rb")
    received.read(24)
    stream.sendall(frame(4, 0, 0, b""))
    while len(head := received.read(9)) == 9:
        payload = received.read(int.from_bytes(head[:3], "big"))
        kind, flags, number = struct.unpack(">BBI", head[3:])
        if kind in (4, 6) and flags == 0:
            with lock:
                stream.sendall(frame(kind, 1, 0, payload if kind == 6 else b""))
        if kind == 1:
            answer = frame(1, 4, number, b"\x88") + frame(0, 1, number, b"fine\n")
            yield answer, frame(3, 0, number, struct.pack(">I", 2))

def is_idle(one):
    """Whether nothing that it was asked waits, here or unread."""
    return not one.asked and not select.select([one.raw], [], [], 0)[0]

def note():
    with open("did.jsonl", "a") as file:
        file.write(json.dumps(did) + "\n")

def act():
    """Closes kept connections, which have carried two requests or more: what was answered last is
    asked last, so nothing is on its way there."""
    global did, left
    with lock:
        kept = [one for one in connections if one.carried > 1 and not one.closed]
        kept.sort(key=lambda one: -one.answered)
        did = {"lost": 0, "closed": 0}
        for one in [one for one in kept if is_idle(one)][:5]:
            one.closed = True
            if is_h2 and not tls:
                one.raw.sendall(frame(7, 0, 0, struct.pack(">II", 2**31 - 1, 0)))
            socket.socket.shutdown(one.raw, socket.SHUT_RDWR)
            did["closed"] += 1
        time.sleep(0.12)
        left = 7

def accept():
    while True:
        raw, _ = listener.accept()
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        one = Connection(raw)
        with lock:
            connections.add(one)
        threading.Thread(target=one.serve, daemon=True).start()

is_h2 = "h2" in sys.argv
tls = None
if "tls" in sys.argv:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain("tls/server.pem", "tls/server.key")
    tls.set_alpn_protocols(["h2" if is_h2 else "http/1.1"])
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", int(os.environ["PORT"])))
listener.listen(1024)
threading.Thread(target=accept, daemon=True).start()
while True:
    signal.sigwait({signal.SIGHUP})
    act()
"#;

/// Three times of one action, 100 requests a second, over this protocol. Beside other tests the
/// server may stand still for a second: handshakes have time before the window, and what it did
/// until the next action.
fn plan(protocol: &str, contender: &str, action: &str) -> String {
    format!(
        "name = \"change\"\nrounds = 1\nworkloads = [\"one\"]\nprotocols = [\"{protocol}\"]\n\
         {contender}\n[[workload]]\nname = \"one\"\npath = \"/\"\n\
         [[change]]\naction = \"{action}\"\ntimes = 3\nevery = \"4s\"\nrate = 100\n\
         warmup = \"3s\"\n"
    )
}

/// The actions of the only trial.
fn actions(scene: &Scene) -> Vec<Value> {
    let mut all = trials(&scene.path("record"));
    let trial = all.remove(0);
    assert_eq!(trial["end"]["kind"], "measured", "{trial}");
    trial["actions"].as_array().expect("actions").clone()
}

fn lost(action: &Value) -> u64 {
    let lost = action["lost"].as_array().into_iter().flatten();
    lost.filter_map(|it| it["requests"].as_u64()).sum()
}

/// Carries out three reloads of the server, and compares its own counts.
fn check(protocol: &str, argument: &str) {
    let _alone = alone();
    if on_path("python3").is_none() {
        return pass_over("no python3 was found");
    }
    let scene = Scene::new();
    scene.write("server.py", SERVER);
    certificates::write(&scene);
    let command = format!("python3 server.py {argument}");
    // Where this is root, too: the server writes what it did, and reads its key.
    let contender =
        format!("[[contender]]\nname = \"s\"\ncommand = \"{command}\"\nuser = \"root\"\n");
    let is_root = rustix::process::geteuid().is_root();
    let contender = match is_root {
        true => contender,
        false => contender.replace("user = \"root\"\n", ""),
    };
    let plan = plan(protocol, &contender, "reload");
    scene.write("plan.toml", &plan);
    scene.run(&["run", "./plan.toml", "--out", "record"]);
    let did = std::fs::read_to_string(scene.path("did.jsonl")).expect("it was written");
    let did = did
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let did: Vec<Value> = did.collect();
    let actions = actions(&scene);
    assert_eq!((actions.len(), did.len()), (3, 3));
    for (action, did) in actions.iter().zip(&did) {
        assert_eq!(did["lost"], 7);
        assert_eq!(lost(action), 7, "{action}");
        assert_eq!(action["closed"], did["closed"], "{action}");
        assert_eq!(action["closed_before"], 0, "{action}");
        let gap = action["gap"]["length_s"].as_f64().expect("a gap");
        assert!(gap >= 0.12, "{action}");
        assert!(action.get("failed").is_none(), "{action}");
    }
}

#[test]
fn what_clients_noticed_is_what_the_server_did() {
    check("h1", "");
}

#[test]
fn what_clients_noticed_is_what_the_server_did_over_tls() {
    check("h1-tls", "tls");
}

#[test]
fn what_clients_noticed_is_what_the_server_did_to_streams() {
    check("h2c", "h2");
}

#[test]
fn what_clients_noticed_is_what_the_server_did_to_streams_over_tls() {
    check("h2", "tls h2");
}

/// Each time the new configuration answered.
fn check_taken_up(actions: &[Value]) {
    let first = |it: &Value| it["taken_up"]["first_new_s"].as_f64();
    assert!(actions.iter().all(|it| first(it).is_some()), "{actions:?}");
}

/// Three times of an action to a real server, none of which fails.
fn real(server: &str, protocol: &str, action: &str) -> Option<Vec<Value>> {
    let scene = Scene::new();
    if !are_installed(&scene, &[server]) {
        pass_over(&format!("{server} is not installed"));
        return None;
    }
    let contender = format!("[[contender]]\nname = \"{server}\"\nserver = \"{server}\"\n");
    let plan = plan(protocol, &contender, action);
    let plan = plan.replace("\"one\"]", "\"synthetic\"]");
    let plan = plan.replace("[[workload]]\nname = \"one\"\npath = \"/\"\n", "");
    scene.write("plan.toml", &plan);
    scene.run(&["run", "./plan.toml", "--out", "record"]);
    let actions = actions(&scene);
    assert_eq!(actions.len(), 3);
    assert!(
        actions.iter().all(|it| it.get("failed").is_none()),
        "{actions:?}"
    );
    Some(actions)
}

#[test]
fn a_real_server_is_reloaded_and_upgraded_and_answers_with_other_processes() {
    for action in ["reload", "upgrade"] {
        let Some(actions) = real("nginx", "h1", action) else {
            return;
        };
        // Its workers end, and the connections that they kept with them; on a busy machine not
        // always before the next action.
        assert!(
            actions.iter().any(|it| it["closed"].as_u64() > Some(0)),
            "{actions:?}"
        );
        check_taken_up(&actions);
    }
}

#[test]
fn another_certificate_is_taken_up() {
    for (server, protocol) in [("nginx", "h2"), ("haproxy", "h1-tls")] {
        let Some(actions) = real(server, protocol, "certificate") else {
            continue;
        };
        check_taken_up(&actions);
    }
}

#[test]
fn nothing_closes_no_connection() {
    let Some(actions) = real("nginx", "h1", "none") else {
        return;
    };
    assert!(
        actions.iter().all(|it| it["closed"] == 0 && lost(it) == 0),
        "{actions:?}"
    );
}
