//! `bakeoff site`: many records as pages, from folders that are made up.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use bakeoff_plan::{Arrival, Load, Overload};
use bakeoff_record::{Record, RecordFolder};

pub(crate) use bakeoff_testing as made_up;

use crate::support::scene::Scene;

/// A small campaign.
fn record() -> Record {
    let mut record = made_up::record_of_rounds(1);
    record.plan.workloads.truncate(1);
    record.plan.loads.truncate(1);
    let (workload, load) = (
        record.plan.workloads[0].name.clone(),
        record.plan.loads[0].clone(),
    );
    record
        .trials
        .retain(|it| it.workload == workload && it.load == load);
    record
}

pub(crate) fn store(record: &Record, folder: &Path) {
    let mut stored = RecordFolder::create(folder, &record.plan, &record.machine).unwrap();
    for trial in &record.trials {
        stored.append(trial).unwrap();
    }
}

/// A copy of a stored record that began at another time.
fn copy(from: &Path, to: &Path, started_at: &str) {
    fs::create_dir_all(to).unwrap();
    for name in ["plan.json", "plan.toml", "trials.jsonl", "trials.sum"] {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
    let machine = fs::read_to_string(from.join("machine.json")).unwrap();
    let old = "2026-11-21T04:00:00Z";
    assert!(machine.contains(old));
    fs::write(to.join("machine.json"), machine.replace(old, started_at)).unwrap();
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

fn with_records(scene: &Scene, count: usize) {
    let first = scene.path("results/r0");
    store(&record(), &first);
    for number in 1..count {
        let time = format!("2026-11-21T{:02}:{:02}:00Z", 5 + number / 60, number % 60);
        copy(&first, &scene.path(&format!("results/r{number}")), &time);
    }
}

#[test]
fn fifty_records_have_a_page_each_that_the_index_leads_to() {
    let scene = Scene::new();
    with_records(&scene, 50);
    scene.write("results/README.md", "not a record");
    scene.write("results/empty/note.txt", "not a record");
    let site = ["site", "results", "--output", "public"];
    let said = scene.run(&site).expect(0);
    assert!(
        said.stdout.contains("public/index.html: 50 records"),
        "{said:#?}"
    );
    said.says("skipped in results: README.md, empty: no record");
    let all = files(&scene.path("public"));
    let index = String::from_utf8(all["index.html"].clone()).unwrap();
    assert_eq!(index.matches("<article").count(), 50);
    let links = index
        .split("href=\"")
        .skip(1)
        .map(|it| it.split('"').next().unwrap());
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
    for (path, bytes) in &all {
        let text = String::from_utf8_lossy(bytes);
        assert!(
            !text.contains("access_log off"),
            "{path} has a configuration's text"
        );
    }
}

#[test]
fn a_second_run_gives_the_same_bytes_and_follows_the_folder() {
    let scene = Scene::new();
    with_records(&scene, 3);
    let site = ["site", "results", "--output", "public", "--title", "Ours"];
    scene.run(&site).expect(0);
    let first = files(&scene.path("public"));
    scene.run(&site).expect(0);
    assert_eq!(files(&scene.path("public")), first);

    // What a killed command left goes, but not what it was about to keep.
    scene.write("./.public.bakeoff-4294967290/records/x/index.html", "");
    scene.write("./.public.bakeoff-4294967291/index.html", "");
    scene.write("./.public.bakeoff-4294967291/CNAME", "");
    scene.run(&site).expect(0);
    assert!(!scene.path(".public.bakeoff-4294967290").exists());
    let left = scene.path(".public.bakeoff-4294967291");
    assert_eq!(names(&left), ["CNAME"]);
    fs::remove_dir_all(left).unwrap();

    // What is not the site's stays: a folder that is published may be a repository.
    scene.write("public/CNAME", "example.com");
    scene.write("public/.git/HEAD", "ref: x");
    fs::remove_dir_all(scene.path("results/r1")).unwrap();
    let said = scene.run(&site).expect(0);
    assert!(said.stdout.contains("kept (2)"), "{said:#?}");
    let then = files(&scene.path("public"));
    assert_eq!(then["CNAME"], b"example.com");
    assert_eq!(then[".git/HEAD"], b"ref: x");
    assert_eq!(names(&scene.path("public/records")).len(), 2);
    let beside = names(&scene.path("."));
    assert!(
        !beside.iter().any(|name| name.contains("bakeoff-")),
        "{beside:?}"
    );

    // A folder that holds records and the site.
    scene
        .run(&["site", ".", "--output", "public"])
        .expect(0)
        .says("it is a site");
    assert_eq!(names(&scene.path("public/records")).len(), 2);
}

#[test]
fn a_broken_record_is_named_and_the_others_are_published() {
    let scene = Scene::new();
    with_records(&scene, 3);
    scene.write(
        "results/r1/trials.jsonl",
        "{\"schema\":\"bakeoff.trial/2\"}\n",
    );
    scene.write(
        "results/r2/machine.json",
        "{\"schema\":\"bakeoff.machine/99\"}",
    );
    let said = scene.run(&["site", "results"]).expect(2);
    assert!(said.stdout.contains("1 record, 2 left out"), "{said:#?}");
    said.says("left out: results/r1: ")
        .says("trials.jsonl line 1 is damaged")
        .says("machine.json is of format bakeoff.machine/99");
    assert_eq!(names(&scene.path("public/records")).len(), 1);
}

#[test]
fn a_campaign_is_published_once() {
    let scene = Scene::new();
    with_records(&scene, 2);
    let same = "2026-11-21T04:00:00Z";
    copy(&scene.path("results/r0"), &scene.path("results/copy"), same);
    // The copy has one trial less.
    let trials = scene.path("results/copy/trials.jsonl");
    let text = fs::read_to_string(&trials).unwrap();
    let cut = text.trim_end().rfind('\n').unwrap() + 1;
    fs::write(&trials, &text[..cut]).unwrap();
    let said = scene.run(&["site", "results", "results/r1"]).expect(0);
    assert!(said.stdout.contains("2 records"), "{said:#?}");
    said.says("results/copy is the same campaign as results/r0");
}

#[test]
fn nothing_else_is_written_over() {
    let scene = Scene::new();
    with_records(&scene, 1);
    scene.write("mine/index.html", "mine");
    let said = scene
        .run(&["site", "results", "--output", "mine"])
        .expect(2);
    said.says("bakeoff-site.json");
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
    let scene = Scene::new();
    let mut record = record();
    record.machine.host = "<script>alert(1)</script>".into();
    record.machine.started_at = "../../now".into();
    store(&record, &scene.path("results/<b>&"));
    scene.run(&["site", "results"]).expect(0);
    let [name] = &names(&scene.path("public/records"))[..] else {
        panic!("there is one page");
    };
    assert!(name.starts_with("synthetic-now-"), "{name}");
    let index = fs::read_to_string(scene.path("public/index.html")).unwrap();
    assert!(!index.contains("<script>"), "{index}");
}

#[test]
fn a_shared_overload_has_the_report_of_an_overload() {
    let scene = Scene::new();
    let mut record = record();
    let overload = Overload {
        steps: vec![0.5, 1.0, 2.0, 0.5],
        capacity_per_s: Some(1000.0),
        arrival: Arrival::Poisson,
        clients: 100,
        ladder: Vec::new(),
        rung: Duration::from_secs(10),
    };
    let second = Duration::from_secs(1);
    record.plan.loads = vec![Load::beyond(overload, 10 * second, second)];
    record.trials.clear();
    store(&record, &scene.path("own"));
    scene.run(&["report", "own", "--share", "copy"]).expect(0);
    let report = ["report", "copy", "--format", "md", "--full"];
    let report = scene.run(&report).expect(0).stdout;
    assert!(report.contains("was not measured"), "{report}");
    let shared = fs::read_to_string(scene.path("copy/report.md")).unwrap();
    assert_eq!(shared, report);
    scene.run(&["site", "own"]).expect(0);
    let list = fs::read_to_string(scene.path("public/bakeoff-site.json")).unwrap();
    assert!(list.contains("was not measured"), "{list}");
}
