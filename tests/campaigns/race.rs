//! What `bakeoff race` refuses before it asks anybody.

use crate::support::scene::Scene;

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
