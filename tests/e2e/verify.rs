//! What `bakeoff verify` says of records that were changed.

use std::path::Path;

use crate::gates::overload;
use crate::published_site::{made_up, store};
use crate::support::scene::Scene;

/// What could not be compared is not said to hold.
#[test]
fn a_record_without_a_page_holds_as_far_as_its_trials() {
    let scene = Scene::new();
    store(&made_up::record_of_rounds(1), &scene.path("record"));
    let said = scene.run(&["verify", "record"]).expect(0);
    let only = "record: the trials are as they were written; verdicts and estimates were not \
                compared\n";
    assert!(said.stdout.starts_with(only), "{}", said.stdout);
    assert!(
        said.stdout.contains("there is no report.html"),
        "{}",
        said.stdout
    );
}

/// What a browser shows is held against the record, wherever in the page it stands.
#[test]
fn a_page_that_shows_anything_else_does_not_hold() {
    let scene = Scene::new();
    store(&made_up::record_of_rounds(1), &scene.path("drawn"));
    let page = scene.path("drawn/report.html");
    let page = page.to_str().unwrap();
    scene
        .run(&["report", "drawn", "--format", "html", "--output", page])
        .expect(0);
    // The name of the folder is on the page, and need not stay.
    std::fs::rename(scene.path("drawn"), scene.path("record")).unwrap();
    let page = scene.path("record/report.html");
    let verify = |text: &str| {
        std::fs::write(&page, text).unwrap();
        scene.run(&["verify", "record"])
    };
    let right = std::fs::read_to_string(&page).unwrap();
    assert!(verify(&right).expect(0).stdout.contains("all of it holds"));
    let mark = " id=\"record\">";
    let (before, rest) = right.split_once(mark).expect("the page was built");
    let (document, after) = rest.split_once("</script>").unwrap();
    let other = document.replacen("nginx", "caddy", 1);
    assert_ne!(other, document);
    let forged = [
        // Another document for the browser than for whoever looks for the first.
        format!("{before}{mark}{document}</script><script{mark}{other}</script>{after}"),
        right.replacen("<body>", "<body><h1>caddy is ten times as fast</h1>", 1),
        format!("{before}{mark}null</script>{after}"),
        right.replacen(mark, " id=\"recore\">", 1),
        format!("{before}{mark}{other}</script>{after}"),
        String::new(),
    ];
    for text in forged {
        assert_ne!(text, right);
        let said = verify(&text).expect(1);
        assert!(said.stdout.contains("report.html"), "{}", said.stdout);
    }
}

/// What lies beside the trials was said to hold.
#[test]
fn files_that_are_not_of_the_record_do_not_hold() {
    let scene = Scene::new();
    store(&made_up::record_of_rounds(1), &scene.path("record"));
    let said = scene.run(&["verify", "record"]).expect(0);
    assert!(
        said.stdout.contains("logs/ is not covered"),
        "{}",
        said.stdout
    );
    let changed = |name: &str, text: &str, expected: &str| {
        let file = scene.path("record").join(name);
        let before = std::fs::read(&file).unwrap();
        std::fs::write(&file, text).unwrap();
        let said = scene.run(&["verify", "record"]).expect(1);
        assert!(
            said.stdout.contains(expected),
            "{expected}: {}",
            said.stdout
        );
        std::fs::write(&file, before).unwrap();
    };
    std::fs::rename(scene.path("record/plan.json"), scene.path("plan.json")).unwrap();
    let said = scene.run(&["verify", "record"]).expect(1);
    assert!(
        said.stdout.contains("plan.json is missing"),
        "{}",
        said.stdout
    );
    std::fs::rename(scene.path("plan.json"), scene.path("record/plan.json")).unwrap();
    changed(
        "plan.toml",
        "name = \"another\"\n",
        "plan.toml does not say",
    );
    let sums = std::fs::read_to_string(scene.path("record/trials.sum")).unwrap();
    let cut = &sums[..sums.len() / 2];
    changed("trials.sum", cut, "no checksum in trials.sum");
    changed("trials.sum", "", "no checksum in trials.sum");
    changed("trials.sum", &[&sums, cut].concat(), "is there twice");
    let trials = std::fs::read_to_string(scene.path("record/trials.jsonl")).unwrap();
    let expected = "record: 1 difference from the checksums\n";
    changed("trials.jsonl", &contradicting(&trials), expected);
}

/// The page of a search or an overload shows a line of the machine alone.
#[test]
fn another_machine_does_not_hold() {
    let scene = Scene::new();
    let mut record = made_up::record_of_rounds(1);
    record.plan.loads = vec![overload()];
    record.trials.truncate(1);
    let trial = &mut record.trials[0];
    trial.load = record.plan.loads[0].clone();
    trial.end = bakeoff_record::TrialEnd::Interrupted;
    trial.result = None;
    store(&record, &scene.path("record"));
    let page = scene.path("record/report.html");
    let draw = ["report", "record", "--format", "html", "--output"];
    let draw = [&draw[..], &[page.to_str().unwrap()]].concat();
    scene.run(&draw).expect(0);
    let said = scene.run(&["verify", "record"]).expect(0);
    assert!(said.stdout.contains("all of it holds"), "{}", said.stdout);
    let file = scene.path("record/machine.json");
    let machine = std::fs::read_to_string(&file).unwrap();
    let changed = machine.replacen("\"memory_bytes\": ", "\"memory_bytes\": 9", 1);
    assert_ne!(changed, machine);
    std::fs::write(&file, &changed).unwrap();
    let said = scene.run(&["verify", "record"]).expect(1);
    assert!(said.stdout.contains("machine.sum"), "{}", said.stdout);
    // Records from before there was a checksum hold as far as they can be checked.
    std::fs::remove_file(scene.path("record/machine.sum")).unwrap();
    let said = scene.run(&["verify", "record"]).expect(0).stdout;
    let is_said = said.contains("machine.json is not covered");
    assert!(is_said && !said.contains("all of it holds"), "{said}");
}

/// A record of version 1 has neither checksums nor a page.
#[test]
fn an_old_record_verifies_what_it_can() {
    let scene = Scene::new();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../record/tests/fixtures/trial-1");
    std::fs::create_dir(scene.path("old")).unwrap();
    for name in ["plan.toml", "machine.json", "trials.jsonl"] {
        std::fs::copy(fixture.join(name), scene.path("old").join(name)).unwrap();
    }
    let said = scene.run(&["verify", "old"]).expect(4);
    let nothing = said.stdout.starts_with("old: nothing could be checked\n");
    assert!(nothing, "{}", said.stdout);
    assert!(said.stdout.contains("have no checksum"), "{}", said.stdout);
    assert!(
        said.stdout.contains("there is no report.html"),
        "{}",
        said.stdout
    );
    assert!(
        !scene.path("old/trials.sum").exists(),
        "verify writes nothing"
    );
}

/// Trials of which one has a smallest latency above its largest, in lines as long as they were.
pub(crate) fn contradicting(trials: &str) -> String {
    let (before, after) = trials.split_once("\"max_ns\":").unwrap();
    let digits = after.find(|one: char| !one.is_ascii_digit()).unwrap();
    let changed = format!("{before}\"max_ns\":{:digits$}{}", 1, &after[digits..]);
    assert_eq!(changed.len(), trials.len());
    changed
}
