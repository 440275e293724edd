//! The commands of the tutorial, run as it shows them.

use std::path::Path;

use crate::contributing::shown_files;
use crate::support::scene::Scene;
use crate::support::servers::are_installed;

/// What shortens a race where the tutorial takes its time.
const SHORT: [&str; 6] = ["--duration", "150ms", "--warmup", "50ms", "--rounds", "1"];

#[test]
fn every_command_of_the_tutorial_works_in_its_order() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx", "caddy"]) {
        return;
    }
    let tutorial = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorial.md");
    let text = std::fs::read_to_string(tutorial).unwrap();
    for (path, content) in shown_files(&text) {
        scene.write(path, content);
    }
    let lines: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("$ bakeoff "))
        .collect();
    assert_eq!(lines.len(), text.matches("\n$ ").count(), "not of bakeoff");
    assert!(lines.len() >= 10, "{lines:?}");
    for line in lines {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let command = words[0];
        // What is not decided with so few and short trials ends with 4.
        let ends: &[i32] = match command {
            "race" => {
                words.extend(SHORT);
                &[0, 4]
            }
            "run" => {
                *words.last_mut().unwrap() = "2";
                &[0, 4]
            }
            // A busy machine may leave nothing to compare.
            "report" => &[0, 4],
            "compare" => &[0, 3, 4],
            _ => &[0],
        };
        let finished = scene.run(&words);
        assert!(
            finished
                .status
                .code()
                .is_some_and(|code| ends.contains(&code)),
            "`bakeoff {line}`: {finished:?}"
        );
    }
    for made in ["first/report.html", "decision/report.html", "to-give-away"] {
        assert!(scene.path(made).exists(), "no {made}");
    }
    let trials = crate::support::files::trials(&scene.path("decision"));
    let rounds = trials.iter().filter_map(|trial| trial["round"].as_u64());
    assert_eq!(rounds.max(), Some(2), "the second race was not continued");
}
