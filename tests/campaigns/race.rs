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
