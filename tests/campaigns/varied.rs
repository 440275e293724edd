//! Requests that differ from one to the next, and clients that do more than connect: what a plan
//! keeps of them, and what is said.

use crate::support::scene::Scene;

const PLAN: &str = r#"name = "own"
rounds = 2
[[contender]]
name = "a"
server = "nginx"
[[contender]]
name = "b"
server = "caddy"
[[load]]
clients = 5
duration = "1s"
[[workload]]
name = "shop"
template = "html-small"
[[workload.request]]
path = "/users/{csv users.csv name}"
headers = ["Authorization: Bearer {csv users.csv key}", "X-Id: {uuid}"]
"#;

const USERS: &str = "id,name,key\n1,Ann,sesame-4711\n2,Bob,sesame-0815\n";

#[test]
fn a_plan_keeps_the_values_that_it_names_and_shows_no_secret_of_them() {
    let scene = Scene::of("server.answer.changes = true");
    scene.write("own.toml", PLAN);
    scene.write("users.csv", USERS);
    let ran = scene
        .run(&["run", "./own.toml", "--out", "record"])
        .expect(0);
    ran.says("the answers of a to variants of `GET /users/{csv users.csv name}` differ (at byte")
        .says("only its status is compared");
    let kept = scene.read("record/plan.toml");
    assert!(
        kept.contains("sesame-0815") && !kept.contains("\"id\""),
        "{kept}"
    );
    // What was kept is all that is needed.
    std::fs::remove_file(scene.path("users.csv")).unwrap();
    let again = ["run", "./record/plan.toml", "--out", "again"];
    scene.run(&again).expect(0);
    assert_eq!(scene.read("again/plan.toml"), kept);
    let shown = scene
        .run(&["report", "record", "--format", "json"])
        .expect(0);
    assert!(!shown.stdout.contains("sesame"), "{shown:#?}");
    shown.prints("/users/{csv users.csv name}");
    scene
        .run(&["report", "record", "--share", "shared"])
        .expect(0);
    let shared = scene.read("shared/plan.toml");
    assert!(
        !shared.contains("sesame") && shared.contains("Ann"),
        "{shared}"
    );
}

#[test]
fn a_race_takes_placeholders_and_asks_all_the_same() {
    let scene = Scene::new();
    let race = [
        "race",
        "nginx",
        "caddy",
        "/item/{random 1-5}",
        "--out",
        "record",
    ];
    scene.run(&race).expect(0);
    let kept = scene.read("record/plan.toml");
    assert!(kept.contains("path = \"/item/{random%201-5}\""), "{kept}");
    let urls = ["http://127.0.0.1:1/a/{n}", "http://127.0.0.1:2/b/{n}"];
    let said = scene.run(&["race", urls[0], urls[1]]).expect(2);
    said.says("give it once, behind URLs without a path");
    let unknown = scene.run(&["race", "nginx", "caddy", "/{name}"]).expect(2);
    unknown.says("{name} is no placeholder; there are {n}, ");
}

#[test]
fn what_clients_do_is_kept_and_said() {
    let scene = Scene::new();
    let client = "[workload.client]\ncertificate = \"client.pem\"\nresumption = \"tickets\"\n";
    let text = PLAN.replace(
        "[[workload.request]]",
        &format!("protocol = \"h2\"\n{client}proxy_protocol = \"v2\"\n[[workload.request]]"),
    );
    scene.write("users.csv", USERS);
    scene.write("own.toml", &text);
    let run = ["run", "./own.toml", "--out", "record"];
    scene
        .run(&run)
        .expect(2)
        .says("client.pem; name a PEM file");
    scene.write("client.pem", "");
    scene.run(&run).expect(0);
    let kept = scene.read("record/plan.toml");
    let path = scene.path("client.pem").display().to_string();
    assert_eq!(kept.matches(&path).count(), 2, "{kept}");
    let report = ["report", "record", "--format", "json"];
    scene.run(&report).expect(0).prints(
        "clients show a certificate of their own, and resume TLS sessions, and send a PROXY header",
    );
    for (from, to, said) in [
        ("\"h2\"", "\"h1\"", "`certificate` of `client` is about TLS"),
        ("\"h2\"", "\"h3\"", "`proxy_protocol` of `client` needs TCP"),
        (
            "proxy_protocol = \"v2\"",
            "early_data = true",
            "`early_data` of `client` needs HTTP/3",
        ),
        (
            "resumption = \"tickets\"",
            "early_data = true",
            "write `resumption",
        ),
        (
            "certificate =",
            "key =",
            "`key` stands without its `certificate`",
        ),
    ] {
        scene.write("own.toml", &text.replacen(from, to, 1));
        scene.run(&run).expect(2).says(said);
    }
}
