//! What `bakeoff verify` says of records that were changed.

use crate::gates::contradicting;
use crate::support::scene::Scene;
use crate::support::{PAGE_BUILT, pass_over_without_page};

/// What could not be compared is not said to hold.
#[test]
fn a_record_without_a_page_holds_as_far_as_its_trials() {
    let scene = Scene::raced(&["--rounds", "1"]);
    std::fs::remove_file(scene.path("record/report.html")).unwrap();
    let said = scene.run(&["verify", "record"]).expect(0);
    let only = "record: the trials are as they were written; verdicts and estimates were not \
                compared\n";
    assert!(said.stdout.starts_with(only), "{}", said.stdout);
    said.prints("there is no report.html");
}

/// What a browser shows is held against the record, wherever in the page it stands.
#[test]
fn a_page_that_shows_anything_else_does_not_hold() {
    let scene = Scene::raced(&["--rounds", "1"]);
    // The name of the folder is on the page, and need not stay.
    std::fs::rename(scene.path("record"), scene.path("moved")).unwrap();
    let right = scene.read("moved/report.html");
    let verify = |text: &str, code: i32| {
        scene.write("moved/report.html", text);
        scene.run(&["verify", "moved"]).expect(code)
    };
    verify(&right, 0).prints("all of it holds");
    let mark = PAGE_BUILT;
    let Some((before, rest)) = right.split_once(mark) else {
        return pass_over_without_page();
    };
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
        verify(&text, 1).prints("report.html");
    }
}

/// What lies beside the trials was said to hold.
#[test]
fn files_that_are_not_of_the_record_do_not_hold() {
    let scene = Scene::raced(&["--rounds", "1"]);
    let verify = |code: i32| scene.run(&["verify", "record"]).expect(code);
    verify(0).prints("logs/ is not covered");
    let changed = |name: &str, text: &str, expected: &str| {
        let name = format!("record/{name}");
        let before = scene.read(&name);
        scene.write(&name, text);
        verify(1).prints(expected);
        scene.write(&name, &before);
    };
    std::fs::rename(scene.path("record/plan.json"), scene.path("plan.json")).unwrap();
    verify(2).says("it has no plan.json");
    std::fs::rename(scene.path("plan.json"), scene.path("record/plan.json")).unwrap();
    changed(
        "plan.toml",
        "name = \"another\"\n",
        "plan.toml does not say",
    );
    let sums = scene.read("record/trials.sum");
    let cut = &sums[..sums.len() / 2];
    changed("trials.sum", cut, "no checksum in trials.sum");
    changed("trials.sum", "", "no checksum in trials.sum");
    changed("trials.sum", &[&sums, cut].concat(), "is there twice");
    let trials = scene.read("record/trials.jsonl");
    let expected = "record: 1 difference from the checksums\n";
    changed("trials.jsonl", &contradicting(&trials), expected);
}

/// The page of a search or an overload shows a line of the machine alone.
#[test]
fn another_machine_does_not_hold() {
    let scene = Scene::new();
    scene
        .run(&["overload", "nginx", "--quick", "--out", "record"])
        .expect(0);
    let verify = |code: i32| scene.run(&["verify", "record"]).expect(code);
    verify(0).prints("all of it holds");
    let machine = scene.read("record/machine.json");
    let changed = machine.replacen("\"memory_bytes\": ", "\"memory_bytes\": 9", 1);
    assert_ne!(changed, machine);
    scene.write("record/machine.json", &changed);
    verify(1).prints("machine.sum");
    // Without a checksum it holds as far as it can be checked.
    std::fs::remove_file(scene.path("record/machine.sum")).unwrap();
    let said = verify(0).prints("machine.json is not covered");
    assert!(!said.stdout.contains("all of it holds"), "{}", said.stdout);
}
