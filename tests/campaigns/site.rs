//! `bakeoff site`: many records as pages.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::scene::Scene;

/// When records began: one hour after the other.
fn hour(number: usize) -> String {
    format!("2036-11-{:02}T{:02}:00:00Z", 1 + number / 24, number % 24)
}

/// A scene with so many records in `results`, of the same plan.
fn with_records(count: usize) -> Scene {
    let scene = Scene::raced(&["--rounds", "1", "--duration", "1s"]);
    for number in 0..count {
        again(&scene, &format!("results/r{number}"), &hour(number));
    }
    fs::remove_dir_all(scene.path("record")).unwrap();
    scene
}

/// The record as if it had begun at another time.
fn again(scene: &Scene, to: &str, started_at: &str) {
    scene.change("record", to, |record| {
        record.machine.started_at = started_at.to_owned();
    });
}

/// Every file below a folder, by its path.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(one) = folders.pop() {
        for path in fs::read_dir(one).unwrap().map(|it| it.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|it| it.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn fifty_records_have_a_page_each_that_the_index_leads_to() {
    let scene = with_records(50);
    scene.write("results/README.md", "not a record");
    scene.write("results/empty/note.txt", "not a record");
    let site = ["site", "results", "--output", "public"];
    let said = scene
        .run(&site)
        .expect(0)
        .prints("public/index.html: 50 records");
    said.says("skipped in results: README.md, empty: no record");
    let all = files(&scene.path("public"));
    let index = String::from_utf8(all["index.html"].clone()).unwrap();
    assert_eq!(index.matches("<article").count(), 50);
    let links = index.split("href=\"").skip(1);
    let links = links.map(|it| it.split('"').next().unwrap());
    let mut pages = 0;
    for link in links.filter(|link| !link.starts_with('#')) {
        assert!(all.contains_key(link), "{link}");
        pages += usize::from(link.starts_with("records/"));
    }
    assert!(pages >= 50, "{pages}");
    assert_eq!(names(&scene.path("public/records")).len(), 50);
    let feed = String::from_utf8(all["feed.xml"].clone()).unwrap();
    assert_eq!(feed.matches("<entry>").count(), 50);
    // Where a page is built, its script stands once for all.
    let scripts = all.keys().filter(|it| it.ends_with(".js")).count();
    assert!(scripts <= 2, "{scripts}");
}

#[test]
fn texts_of_configurations_are_not_published() {
    let scene = Scene::of("server.work.config = \"access_log off;\"");
    let race = ["race", "nginx", "caddy", "--rounds", "1", "--out", "own"];
    scene.run(&race).expect(0);
    assert!(scene.read("own/trials.jsonl").contains("access_log off"));
    scene.run(&["site", "own", "--output", "public"]).expect(0);
    for (path, bytes) in files(&scene.path("public")) {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("access_log off"), "{path}");
    }
}

#[test]
fn a_second_run_gives_the_same_bytes_and_follows_the_folder() {
    let scene = with_records(3);
    let site = ["site", "results", "--output", "public", "--title", "Ours"];
    scene.run(&site).expect(0);
    let first = files(&scene.path("public"));
    scene.run(&site).expect(0);
    assert_eq!(files(&scene.path("public")), first);

    // What a killed command left goes, but not what it was about to keep.
    scene.write(".public.bakeoff-4294967290/records/x/index.html", "");
    scene.write(".public.bakeoff-4294967291/index.html", "");
    scene.write(".public.bakeoff-4294967291/CNAME", "");
    scene.run(&site).expect(0);
    assert!(!scene.path(".public.bakeoff-4294967290").exists());
    let left = scene.path(".public.bakeoff-4294967291");
    assert_eq!(names(&left), ["CNAME"]);
    fs::remove_dir_all(left).unwrap();

    // What is not the site's stays: a folder that is published may be a repository.
    scene.write("public/CNAME", "example.com");
    scene.write("public/.git/HEAD", "ref: x");
    fs::remove_dir_all(scene.path("results/r1")).unwrap();
    scene.run(&site).expect(0).prints("kept (2)");
    let then = files(&scene.path("public"));
    assert_eq!(then["CNAME"], b"example.com");
    assert_eq!(then[".git/HEAD"], b"ref: x");
    assert_eq!(names(&scene.path("public/records")).len(), 2);
    let beside = names(&scene.path("."));
    let is_left = beside.iter().any(|name| name.contains("bakeoff-"));
    assert!(!is_left, "{beside:?}");

    // A folder that holds records and the site.
    let said = scene.run(&["site", ".", "--output", "public"]).expect(0);
    said.says("it is a site");
    assert_eq!(names(&scene.path("public/records")).len(), 2);
}

#[test]
fn a_broken_record_is_named_and_the_others_are_published() {
    let scene = with_records(3);
    scene.write(
        "results/r1/trials.jsonl",
        "{\"schema\":\"bakeoff.trial/1\"}\n",
    );
    scene.write(
        "results/r2/machine.json",
        "{\"schema\":\"bakeoff.machine/99\"}",
    );
    let said = scene.run(&["site", "results"]).expect(2);
    said.prints("1 record, 2 left out")
        .says("left out: results/r1: ")
        .says("trials.jsonl line 1 is damaged")
        .says("machine.json is of format bakeoff.machine/99");
    assert_eq!(names(&scene.path("public/records")).len(), 1);
}

#[test]
fn a_campaign_is_published_once() {
    let scene = with_records(2);
    scene.change("results/r0", "results/copy", |record| {
        // The copy has one trial less.
        record.trials.pop();
    });
    let said = scene.run(&["site", "results", "results/r1"]).expect(0);
    said.prints("2 records")
        .says("results/copy is the same campaign as results/r0");
}

#[test]
fn nothing_else_is_written_over() {
    let scene = with_records(1);
    scene.write("mine/index.html", "mine");
    let mine = ["site", "results", "--output", "mine"];
    scene.run(&mine).expect(2).says("bakeoff-site.json");
    assert_eq!(names(&scene.path("mine")), ["index.html"]);
    scene
        .run(&["site", "results", "--output", "results/r0"])
        .expect(2);
    scene
        .run(&["site", "results/r0/plan.json"])
        .expect(2)
        .says("not a folder");
    scene.write("nothing/here.txt", "");
    scene
        .run(&["site", "nothing"])
        .expect(2)
        .says("no record to publish");
    assert!(!scene.path("public").exists());
    let address = ["site", "results", "--url", "javascript:alert(1)"];
    scene.run(&address).expect(2);
}

#[test]
fn hostile_names_stay_texts_and_below_the_folder() {
    let scene = Scene::raced(&["--rounds", "1"]);
    scene.change("record", "results/<b>&", |record| {
        record.machine.host = "<script>alert(1)</script>".into();
        record.machine.started_at = "../../now".into();
    });
    scene.run(&["site", "results"]).expect(0);
    let [name] = &names(&scene.path("public/records"))[..] else {
        panic!("there is one page");
    };
    assert!(name.starts_with("race-now-"), "{name}");
    let index = scene.read("public/index.html");
    assert!(!index.contains("<script>"), "{index}");
}

#[test]
fn a_shared_overload_has_the_report_of_an_overload() {
    let scene = Scene::of("stop_after = 0");
    scene
        .run(&["overload", "nginx", "--quick", "--out", "own"])
        .expect(130);
    scene.run(&["report", "own", "--share", "copy"]).expect(0);
    let report = ["report", "copy", "--format", "md", "--full"];
    let report = scene
        .run(&report)
        .expect(0)
        .prints("was not measured")
        .stdout;
    assert_eq!(scene.read("copy/report.md"), report);
    scene.run(&["site", "own"]).expect(0);
    let list = scene.read("public/bakeoff-site.json");
    assert!(list.contains("was not measured"), "{list}");
}
