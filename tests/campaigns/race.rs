//! What `bakeoff race` refuses before it asks anybody.

use crate::support::scene::Scene;

/// A site as most are: a page, and a path that is passed on.
const SITE: &str = "server {
    listen 8380;
    location / { root /no/such/folder; }
    location /api/ { proxy_pass http://app.invalid:9000; }
}
";

#[test]
fn a_page_beside_a_path_that_is_passed_on_is_not_expected_at_the_upstream() {
    for (machine, is_said) in [
        ("server = { work = { asks_upstream = false } }", false),
        ("contender.b = { work = { asks_upstream = false } }", true),
    ] {
        let scene = Scene::of(machine);
        scene.write("a.conf", SITE);
        scene.write("b.conf", SITE);
        let race = [
            "race",
            "a.conf",
            "b.conf",
            "/",
            "--out",
            "record",
            "--duration",
            "1s",
        ];
        scene.run(&race);
        let cells = &scene.json(&["report", "record", "--format", "json"])["cells"];
        let is_blamed = cells.to_string().contains("origin-asked");
        assert_eq!(is_blamed, is_said, "{machine}");
    }
}

#[test]
fn arguments_that_mean_nothing_are_refused_with_what_to_write() {
    let scene = Scene::new();
    scene.write("notes.txt", "hello\n");
    let url = "http://127.0.0.1:1/";
    for (arguments, words) in [
        (vec![], "at least two contenders"),
        (vec![url], "bakeoff load"),
        (vec!["ngnix", "caddy"], "did you mean nginx?"),
        (vec!["nginx:fast", "caddy"], "nginx has no variant fast"),
        (
            vec!["./absent.conf", "caddy"],
            "there is no file ./absent.conf",
        ),
        (vec!["./notes.txt", "caddy"], "add --server NAME"),
        (vec![url, "https://127.0.0.1:2/"], "differ in their scheme"),
        (
            vec![url, url, "--protocol", "h2"],
            "for http it is h1 or h2c",
        ),
        (vec![url, "http://:x/"], "write a URL such as"),
        (
            vec![url, url, "--header", "Content-Length: 3"],
            "Content-Length",
        ),
        (
            vec![url, url, "/x", "--workload", "site"],
            "leave one of them out",
        ),
        (vec![url, url, "--workload", "siet"], "did you mean `site`?"),
    ] {
        scene
            .run(&[&["race"], &arguments[..]].concat())
            .expect(2)
            .says(words);
    }
    assert!(!scene.path("bakeoff-results").exists());
}

const CHANGING: [&str; 7] = [
    "race", "--start", "fast", "--start", "slow", "--out", "record",
];

/// "Nothing could be compared" stood below two apps with an id in their pages, one of them twice as
/// fast in every round.
#[test]
fn apps_whose_pages_change_are_ranked() {
    let machine = "server.answer = { changes = true, body = '{\"id\":' }\n\
                   contender.slow.rate = 5_000";
    let scene = Scene::of(machine);
    let ran = scene.run(&CHANGING).expect(0);
    let ran = ran.says("its status and about its length are compared");
    ran.prints("fast is faster than slow: ")
        .prints("the body changes from answer to answer");
    let table = &scene.json(&["report", "record", "--format", "json"])["equivalence"][0];
    assert_eq!(table["inequalities"].as_array().unwrap().len(), 0);
    // Pages that differ in what stays of them are other pages.
    let other = "\n[contender.slow.answer]\nbody = '<h1>busy</h1> '\nchanges = true";
    let scene = Scene::of(&machine.replace("contender.slow.rate = 5_000", other));
    let ran = scene.run(&CHANGING).says("they may do unequal work");
    let words: Vec<&str> = ran.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains("body, SHA-256"), "{ran:#?}");
}

/// Three rounds without a control ended with more trust than eight with one.
#[test]
fn a_size_is_not_known_without_a_control() {
    let scene = Scene::raced(&["--rounds", "3"]);
    scene
        .run(&["report", "record"])
        .expect(0)
        .prints("direction yes, size no")
        .prints("no server was run twice");
    let scene = Scene::raced(&["--rounds", "7"]);
    let ran = scene.run(&["report", "record"]).expect(0);
    ran.prints("direction yes, size within");
}

/// What cannot be compared ends alike, whoever says it.
#[test]
fn nothing_compared_is_nothing_valid() {
    let scene = Scene::of("server.machine.other_load = 0.2");
    let race = ["race", "nginx", "caddy", "--out", "record"];
    let said = "not a valid measurement: which one is faster is not known";
    let nothing = |arguments: &[&str]| scene.run(arguments).expect(4).says(said);
    nothing(&race).prints("Which one is faster is not known");
    nothing(&["run", "--resume", "record"]);
    for format in ["text", "json", "junit"] {
        nothing(&["report", "record", "--format", format]);
    }
    // Nor does a file of failures pass where a number can be looked at.
    let scene = Scene::raced(&["--rounds", "1"]);
    let junit = ["report", "record", "--format", "junit"];
    let ran = scene.run(&junit).expect(4);
    ran.says("2 test cases of the JUnit file failed");
    scene.run(&["report", "record"]).expect(0);
}

#[test]
fn the_last_lines_name_what_is_there() {
    let scene = Scene::raced(&["--rounds", "2"]);
    let report = ["report", "record"];
    let ran = scene.run(&report).expect(0);
    let ran = ran.prints("report: record/report.html");
    let next = ran.stdout.lines().find(|line| line.starts_with("next: "));
    assert!(next.unwrap().contains("  # about "), "{ran:#?}");
    std::fs::remove_file(scene.path("record/report.html")).unwrap();
    let ran = scene.run(&report).expect(0);
    assert!(!ran.stdout.contains("report: "), "{ran:#?}");
    let resumed = ["run", "--resume", "record", "--rounds", "3"];
    scene.run(&resumed).says("(medians of 3 rounds)");
}

#[test]
fn a_limit_of_the_servers_own_is_named() {
    let limits = |config: &str| {
        let scene = Scene::of(&format!(
            "contender.nginx.work = {{ workers = 1, config = '''{config}''' }}"
        ));
        let race = ["race", "nginx", "caddy", "-c", "1000", "--out", "record"];
        scene.run(&race);
        scene.run(&["report", "record"]).stdout
    };
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = words(&limits("events {\n worker_connections 512; }"));
    let expected = "`worker_connections 512` (server.conf:2) lets it hold 512 connections at once, \
                    and 1,000 clients need 1,000";
    assert!(said.contains(expected), "{said}");
    let said = limits("events {\n worker_connections 4096; }");
    assert!(!said.contains("worker_connections"), "{said}");
}

#[test]
fn a_file_that_configures_no_server_is_named_with_what_to_give() {
    let scene = Scene::new();
    let ingress = "apiVersion: networking.k8s.io/v1\nkind: Ingress\n";
    let unit = "[Unit]\nAfter=a\n[Service]\nExecStart=/usr/bin/app --port 80\n";
    std::fs::create_dir(scene.path("conf")).unwrap();
    std::fs::write(scene.path("conf/haproxy.cfg"), "").unwrap();
    for (name, bytes, words) in [
        ("nginx.conf", &b"\n"[..], "nginx.conf is empty"),
        (
            "site.conf",
            b"%PDF-1.4\n\xe2",
            "is a PDF; expected the configuration",
        ),
        (".htaccess", b"RewriteEngine On\n", "is a .htaccess"),
        (
            "nginx.yaml",
            ingress.as_bytes(),
            "describes Ingress of Kubernetes",
        ),
        (
            "nginx.service",
            unit.as_bytes(),
            "--start '/usr/bin/app --port 80'",
        ),
        ("Dockerfile", b"FROM nginx\n", "--image NAME"),
    ] {
        std::fs::write(scene.path(name), bytes).unwrap();
        scene
            .run(&["race", name, "http://127.0.0.1:9/"])
            .expect(2)
            .says(words);
    }
    let folder = scene
        .run(&["race", "conf", "http://127.0.0.1:9/"])
        .expect(2);
    folder.says("conf/haproxy.cfg");
}
