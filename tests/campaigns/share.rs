//! Texts that act on a terminal reach none.

use crate::support::scene::Scene;

/// What must not reach a terminal: controls but line ends and tabs, marks of direction, what
/// cannot be seen.
fn acts(character: char) -> bool {
    let unseen = "\u{200b}\u{200e}\u{200f}\u{2028}\u{2029}\u{61c}\u{feff}\u{ad}";
    (character.is_control() && !"\n\t".contains(character))
        || unseen.contains(character)
        || ('\u{202a}'..='\u{202e}').contains(&character)
        || ('\u{2066}'..='\u{2069}').contains(&character)
}

const HOSTILE: [&str; 16] = [
    "\u{1b}[31m",
    "\u{1b}]52;c;aGk=\u{7}",
    "\u{1b}]0;title\u{1b}\\",
    "\u{1b}c",
    "\u{9b}2J",
    "\u{9d}52;c;x\u{9c}",
    "\r",
    "\u{8}\u{8}",
    "\u{7f}",
    "\u{202e}",
    "\u{2066}",
    "\u{200f}",
    "\u{200b}",
    "\u{feff}",
    "\u{2028}",
    "\u{ad}",
];

#[track_caller]
fn check(scene: &Scene, arguments: &[&str]) {
    let reported = scene.run(arguments);
    for text in [&reported.stdout, &reported.stderr] {
        let odd = text.chars().find(|one| acts(*one));
        assert_eq!(odd, None, "{arguments:?}: {reported:#?}");
    }
    assert!(
        !(reported.stdout + &reported.stderr).is_empty(),
        "{arguments:?} says something"
    );
}

#[test]
fn hostile_texts_reach_no_terminal() {
    let scene = Scene::new();
    for hostile in HOSTILE {
        let name = format!("a{hostile}b");
        check(&scene, &["report", &name]);
        check(&scene, &["report", "x", "--format", &name]);
        check(&scene, &["run", &format!("./{name}.toml")]);
        check(&scene, &["run", "--library", &name]);
        check(&scene, &["debug", &name, &name]);
        check(
            &scene,
            &["load", &format!("http://127.0.0.1:1/{name}"), "-n", "1"],
        );
    }
}
