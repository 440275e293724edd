//! The site of many records, from made-up ones.
//!
//! When a change is wanted: `BLESS=1 cargo test -p bakeoff-report --test it site`, then read the
//! difference.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use crate::planting::Soil;
use bakeoff_plan::{Protocol, Requests};
use bakeoff_record::{ContenderKind, Record};
use bakeoff_report::{
    Redacted, SITE_MARK, SiteFile, SiteOptions, SiteRecord, site_files, site_record,
};
use serde_json::Value;

use crate::goldens::check;

fn options() -> SiteOptions {
    SiteOptions {
        title: "Proxies & servers".into(),
        url: None,
    }
}

/// The record as if it had begun at another time.
fn at(mut record: Record, started_at: &str) -> Record {
    record.machine.started_at = started_at.to_owned();
    record
}

fn facts(record: Record) -> SiteRecord {
    site_record(&Redacted::shared(record), &options()).0
}

/// Every file of a site, by its path.
fn site_of(records: Vec<Record>, options: &SiteOptions) -> BTreeMap<String, Vec<u8>> {
    let mut all = Vec::new();
    let mut facts = Vec::new();
    for record in records {
        let (one, files) = site_record(&Redacted::shared(record), options);
        facts.push(one);
        all.extend(files);
    }
    all.extend(site_files(facts, options));
    let pairs = all
        .into_iter()
        .map(|SiteFile { path, bytes }| (path, bytes));
    pairs.collect()
}

fn text<'f>(files: &'f BTreeMap<String, Vec<u8>>, path: &str) -> &'f str {
    let bytes = files.get(path).expect("the site has this file");
    std::str::from_utf8(bytes).expect("it is text")
}

/// Two campaigns of one machine, an earlier one with fewer rounds, and one of another machine.
fn corpus() -> Vec<Record> {
    let mut elsewhere = at(
        bakeoff_testing::record_over(Protocol::H2),
        "2026-11-20T09:00:00Z",
    );
    elsewhere.machine.host = "other".into();
    elsewhere.machine.cpus = 8;
    elsewhere.plan.name = "over http/2".into();
    vec![
        at(bakeoff_testing::campaign(7), "2026-11-22T10:00:00Z"),
        at(bakeoff_testing::record(), "2026-11-21T04:00:00Z"),
        elsewhere,
    ]
}

/// The site of the corpus.
fn site() -> &'static BTreeMap<String, Vec<u8>> {
    static SITE: OnceLock<BTreeMap<String, Vec<u8>>> = OnceLock::new();
    SITE.get_or_init(|| site_of(corpus(), &options()))
}

/// A campaign at one workload and load.
fn small() -> Record {
    let mut record = bakeoff_testing::record();
    record.plan.workloads.retain(|it| it.name == "synthetic");
    record.plan.loads.truncate(1);
    let load = record.plan.loads[0].clone();
    record
        .trials
        .retain(|it| it.workload == "synthetic" && it.load == load);
    record
}

#[test]
fn index_feed_and_list_of_a_small_corpus() {
    let files = site();
    check("site.html", text(files, "index.html"));
    check("site.xml", text(files, "feed.xml"));
    check("site.json", text(files, SITE_MARK));
}

#[test]
fn the_order_of_records_changes_no_byte() {
    let mut records = corpus();
    records.reverse();
    assert_eq!(&site_of(records, &options()), site());
}

#[test]
fn a_page_keeps_its_name_when_rounds_are_added_and_no_other_has_it() {
    let name = |record: Record| facts(record).name;
    let first = name(bakeoff_testing::record_of_rounds(1));
    assert_eq!(name(bakeoff_testing::record_of_rounds(3)), first);
    assert!(first.starts_with("synthetic-20261121t040000-"), "{first}");
    let later = at(bakeoff_testing::record(), "2026-11-21T04:00:01Z");
    let mut elsewhere = bakeoff_testing::record();
    elsewhere.machine.host = "other".into();
    let mut of_others = bakeoff_testing::record();
    of_others.plan.contenders[0].name = "another".into();
    let mut names = [later, elsewhere, of_others].map(name).to_vec();
    names.push(first);
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 4);
}

#[test]
fn every_record_has_its_page_plan_and_machine() {
    let files = site();
    let list: Value = serde_json::from_str(text(files, SITE_MARK)).expect("it is JSON");
    let records = list["records"].as_array().expect("a list");
    assert_eq!(records.len(), 3);
    for record in records {
        let page = record["page"].as_str().expect("a path");
        let folder = page.strip_suffix("/index.html").expect("a page");
        for name in ["index.html", "plan.toml", "machine.json"] {
            assert!(
                files.contains_key(&format!("{folder}/{name}")),
                "{folder}/{name}"
            );
        }
        let href = format!("href=\"{page}\"");
        assert!(text(files, "index.html").contains(&href), "{href}");
        assert!(text(files, "feed.xml").contains(&href), "{href}");
        let html = text(files, page);
        assert!(html.contains("href=\"../../index.html\""), "it leads back");
        let plan = text(files, &format!("{folder}/plan.toml"));
        assert!(plan.contains("[[contender]]"), "{plan}");
    }
}

#[test]
fn links_are_absolute_where_the_address_is_known() {
    let url = "https://example.com/b/";
    let options = SiteOptions {
        url: Some(url.into()),
        ..options()
    };
    let files = site_of(vec![bakeoff_testing::record()], &options);
    let (feed, index) = (text(&files, "feed.xml"), text(&files, "index.html"));
    assert!(feed.contains(&format!("<link href=\"{url}records/synthetic-")));
    let own = format!("<meta property=\"og:url\" content=\"{url}index.html\">");
    assert!(index.contains(&own), "{index}");
    assert!(!text(site(), "index.html").contains("http:"));
}

/// What stands between the summary of a ranking and its end.
fn ranking<'i>(index: &'i str, title: &str) -> &'i str {
    let start = format!("<summary><span>{title}</span>");
    let (_, rest) = index.split_once(&start).expect("there is such a ranking");
    rest.split_once("</details>").expect("it ends").0
}

#[test]
fn what_is_not_valid_has_no_place() {
    let files = site_of(vec![bakeoff_testing::record()], &options());
    let index = text(&files, "index.html");
    let failing = ranking(index, "synthetic over h1, 200 clients");
    let (ranked, apart) = failing.split_once("Not ranked:").expect("some are not");
    assert!(!ranked.contains("nginx-default <small>"), "{ranked}");
    assert!(apart.contains("nginx-default <small>"), "{apart}");
    assert!(apart.contains("suspect: "), "{apart}");
    let skipped = ranking(index, "proxy over h1, 200 clients");
    let (ranked, apart) = skipped.split_once("Not ranked:").expect("some are not");
    assert!(!ranked.contains("<th scope=\"row\">caddy"), "{ranked}");
    assert!(apart.contains("</small>: skipped: 200 clients"), "{apart}");
    assert!(
        !index.contains("yardstick <small>"),
        "references are not ranked"
    );
}

#[test]
fn records_meet_in_a_ranking_only_where_they_can_be_compared() {
    let earlier = small();
    let meet = |change: fn(&mut Record)| {
        let mut later = at(earlier.clone(), "2026-11-22T04:00:00Z");
        change(&mut later);
        let files = site_of(vec![earlier.clone(), later], &options());
        let index = text(&files, "index.html");
        match (
            index.matches("<details").count(),
            index.matches(" and 1 other").count(),
        ) {
            (1, 3) => true,
            (2, 0) => false,
            other => panic!("{other:?}"),
        }
    };
    assert!(meet(|_| ()));
    assert!(meet(|it| it.plan.rounds = 5));
    assert!(meet(|it| it.plan.description = "other".into()));
    assert!(!meet(|it| it.machine.host = "other".into()));
    assert!(!meet(|it| it.machine.cpus = 3));
    assert!(!meet(|it| it.machine.kernel = "6.2.0".into()));
    assert!(!meet(|it| it.machine.bakeoff = "0.2.0".into()));
    assert!(!meet(|it| it.plan.loads[0].duration_s = 9.0));
    assert!(!meet(|it| {
        let results = it.trials.iter_mut().filter_map(|it| it.result.as_mut());
        results.for_each(|it| it.threads += 1);
    }));
    assert!(!meet(|it| it.plan.workloads[0].proxied = true));
    // Null servers that did something else, or none: nothing shows that the machine is the same.
    assert!(!meet(|it| {
        let is_yardstick =
            |it: &&mut bakeoff_record::TrialRecord| it.kind == ContenderKind::Yardstick;
        let results = it.trials.iter_mut().filter(is_yardstick);
        results
            .filter_map(|it| it.result.as_mut())
            .for_each(|it| it.measured_s *= 1.2);
    }));
    assert!(!meet(|it| {
        it.trials.retain(|it| it.kind != ContenderKind::Yardstick);
    }));
}

/// Their values are left out of the copies that the site is drawn from.
#[test]
fn records_whose_headers_differ_do_not_meet() {
    let asking = |mode: &str, started_at: &str| {
        let mut record = at(small(), started_at);
        for workload in &mut record.plan.workloads {
            let mut requests = workload.requests.to_vec();
            let header = ("X-Mode".to_owned(), mode.to_owned());
            requests[0].headers.push(header);
            workload.requests = Requests::new(requests).expect("there is one");
        }
        record
    };
    let first = asking("cached", "2026-11-22T03:00:00Z");
    for (mode, rankings) in [("cached", 1), ("uncached", 2)] {
        let second = asking(mode, "2026-11-22T04:00:00Z");
        let files = site_of(vec![first.clone(), second], &options());
        let index = text(&files, "index.html");
        assert_eq!(index.matches("<details").count(), rankings, "{mode}");
        assert!(!index.contains("cached"));
    }
}

/// Two of one machine that do not meet looked alike.
#[test]
fn rankings_with_one_title_name_their_records() {
    let mut later = at(small(), "2026-11-22T04:00:00Z");
    later.plan.loads[0].duration_s = 9.0;
    let files = site_of(vec![small(), later], &options());
    let index = text(&files, "index.html");
    let start = "<summary><span>synthetic over h1, 10 clients, record ";
    let names: BTreeSet<&str> = index
        .split(start)
        .skip(1)
        .filter_map(|rest| rest.split("</span>").next())
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(
        names
            .iter()
            .all(|name| index.contains(&format!("records/{name}")))
    );
}

#[test]
fn a_contender_of_several_records_has_one_place() {
    let mut later = at(small(), "2026-11-22T04:00:00Z");
    later.plan.contenders[2].name = "caddy-new".into();
    for trial in &mut later.trials {
        if trial.contender == "caddy-default" {
            trial.contender = "caddy-new".into();
        }
    }
    let files = site_of(vec![small(), later], &options());
    let met = ranking(text(&files, "index.html"), "synthetic over h1, 10 clients");
    for name in [
        "nginx-default",
        "nginx-optimized",
        "caddy-new",
        "caddy-default",
    ] {
        let row = format!("<th scope=\"row\">{name} ");
        assert_eq!(met.matches(&row).count(), 1, "{name} in {met}");
    }
    assert!(
        met.contains("synthetic, 2026-11-22</a> and 1 other"),
        "{met}"
    );
    assert!(met.contains("From 2 records."), "{met}");
    // Between the records no difference is shown, nor between the two of nginx.
    assert!(met.contains("<tbody>\n<tr><td>1 to 2</td>"), "{met}");
    assert_eq!(met.matches("<tr><td>3 to 4</td>").count(), 2, "{met}");
}

/// What must not reach a reader's screen as it is.
fn acts(character: char) -> bool {
    (character.is_control() && character != '\n')
        || "\u{200b}\u{200e}\u{200f}\u{2028}\u{2029}\u{61c}\u{feff}\u{ad}".contains(character)
        || ('\u{202a}'..='\u{202e}').contains(&character)
        || ('\u{2066}'..='\u{2069}').contains(&character)
}

/// Markup that would do something on a page, in a feed or in a path.
const HOSTILE: [&str; 9] = [
    "</script><script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onfocus='alert(1)' autofocus='",
    "</title></summary></details></table><iframe>",
    "<!--<script>",
    "]]></feed>&bogus;",
    "\u{202e}\u{1b}[2J\u{200b}\0\r\n",
    "../../../etc/passwd",
    "javascript:alert(1)//",
];

#[test]
fn hostile_texts_stay_texts() {
    let hostile = HOSTILE.concat();
    let record = Soil::new().planted(|place, old| {
        if place.ends_with("/schema") {
            old.to_owned()
        } else {
            format!("{hostile}{old}")
        }
    });
    let options = SiteOptions {
        title: hostile.clone(),
        url: None,
    };
    let files = site_of(vec![record, small()], &options);
    for path in files.keys() {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-./".contains(c);
        assert!(path.chars().all(is_plain) && !path.contains(".."), "{path}");
    }
    let index = text(&files, "index.html");
    assert_eq!(index.matches("<script").count(), 1);
    for markup in ["<img", "<iframe", "href=\"javascript", "<!--"] {
        assert!(!index.contains(markup), "{markup}");
    }
    assert_eq!(index.matches("<article").count(), 2);
    for name in ["summary", "details", "table", "title"] {
        let (begun, ended) = (format!("<{name}"), format!("</{name}>"));
        let counts = (index.matches(&begun).count(), index.matches(&ended).count());
        assert_eq!(counts.0, counts.1, "{name}");
    }
    let feed = text(&files, "feed.xml");
    for markup in ["<script", "<img", "&bogus;", "]]>"] {
        assert!(!feed.contains(markup), "{markup}");
    }
    assert_eq!(feed.matches("</feed>").count(), 1);
    // The one that does not say when it began.
    assert_eq!(feed.matches("<entry>").count(), 1);
    let shown = files.keys().filter(|path| {
        let end = path.rsplit('.').next().unwrap_or(path);
        ["html", "xml", "json"].contains(&end)
    });
    for name in shown {
        let odd = text(&files, name).chars().find(|one| acts(*one));
        assert_eq!(odd, None, "in {name}");
    }
    let pages = files.keys().filter(|path| path.ends_with("/index.html"));
    for path in pages {
        let page = text(&files, path);
        // Where the page is not built, it is tables without a script.
        let scripts = page.matches("<script").count();
        assert!(scripts == 0 || scripts == 2, "{path}: {scripts}");
        assert!(!page.contains("<img") && !page.contains("<iframe"));
    }
}

#[test]
fn texts_of_configurations_are_in_no_file() {
    let files = site();
    for (path, bytes) in files {
        let text = String::from_utf8_lossy(bytes);
        assert!(!text.contains("respond \\\"Hello"), "{path}");
        assert!(!text.contains("sendfile on"), "{path}");
    }
}

#[test]
fn a_site_without_records_can_be_drawn() {
    let files = site_of(Vec::new(), &options());
    assert!(text(&files, "index.html").contains("No records."));
}
