//! The example of CONTRIBUTING.md, as it stands there: its files written, its commands run.

use std::path::{Path, PathBuf};

use crate::support::files::measured;
use crate::support::scene::Scene;
use crate::support::servers::are_installed;

/// Files that a document shows: a line with a path in backticks, then the text between fences.
pub(crate) fn shown_files(document: &str) -> Vec<(&str, &str)> {
    let blocks = document.split("\n```\n").filter_map(|before_end| {
        let (before, text) = before_end.rsplit_once("\n```")?;
        let (_language, text) = text.split_once('\n')?;
        let name = before.lines().last()?;
        let path = name.strip_prefix('`')?.strip_suffix('`')?;
        Some((path, text))
    });
    blocks.collect()
}

#[test]
fn the_example_of_a_server_works_as_it_is_shown() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let document: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../CONTRIBUTING.md");
    let document = std::fs::read_to_string(document).unwrap();
    for (path, text) in shown_files(&document) {
        scene.write(path, text);
    }
    let list = ["list", "--library", "mine", "--versions"];
    let list = scene.run(&list).expect(0).stdout;
    assert!(list.contains("\n  python       3."), "{list}");

    let run = ["run", "pages", "--library", "mine", "--duration", "300ms"];
    let more = ["--warmup", "100ms", "--rounds", "1", "--out", "pages"];
    scene.run(&[&run[..], &more[..]].concat()).expect_measured();
    let mut of_python = measured(&scene.path("pages"));
    of_python.retain(|trial| trial.contains("python"));
    assert_eq!(
        of_python,
        ["r1-python-html-small-c4", "r1-python-html-small-h1-tls-c4"]
    );

    let cannot = [
        "--workload",
        "html-small",
        "--protocol",
        "h2",
        "--contender",
        "python",
    ];
    let refused = scene.run(&[&run[..], &cannot[..]].concat());
    refused
        .expect(2)
        .says("it speaks HTTP/1.1 and no later version");
}
