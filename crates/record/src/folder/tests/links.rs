//! Links between hosts, which are measured after the trials that they belong to.

use super::*;

/// What was measured after a trial is read with it, and of a campaign that went on each trial has
/// what came after its own part.
#[test]
fn links_after_the_last_round_belong_to_the_trials_before() {
    let folder = tempfile::tempdir().unwrap();
    let mut open = RecordFolder::create(folder.path(), &plan(), &machine()).unwrap();
    let after = |bits_per_s| vec![link(bits_per_s, crate::When::After)];
    open.keep_links(after(1.0)).unwrap();
    assert!(!folder.path().join(LINKS_FILE).exists(), "of no trial");
    for id in ["a", "b"] {
        open.append(&far(id)).unwrap();
    }
    open.append(&trial("alone")).unwrap();
    open.keep_links(after(2.0)).unwrap();
    drop(open);
    let mut again = RecordFolder::open(folder.path()).unwrap();
    again.append(&far("c")).unwrap();
    again.append(&far("a")).unwrap();
    again.keep_links(after(3.0)).unwrap();
    drop(again);
    let mut last = RecordFolder::open(folder.path()).unwrap();
    last.append(&far("d")).unwrap();
    let record = Record::read(folder.path()).unwrap();
    let read = |id: &str| {
        let trial = record.trials.iter().find(|trial| trial.id == id).unwrap();
        let hosts = trial.hosts.as_ref()?;
        Some(hosts.links.iter().map(|link| link.bits_per_s).collect())
    };
    let of = |last: f64| Some(vec![1e9, last]);
    assert_eq!(read("b"), of(2.0));
    assert_eq!(read("c"), of(3.0));
    assert_eq!(read("a"), of(3.0), "the later of two, with its own");
    assert_eq!(read("d"), Some(vec![1e9]), "nothing came after it");
    assert_eq!(read("alone"), None);
}

#[test]
fn links_are_held_to_their_checksum() {
    let folder = tempfile::tempdir().unwrap();
    let mut open = RecordFolder::create(folder.path(), &plan(), &machine()).unwrap();
    assert_eq!(check_links(folder.path()).unwrap(), Some(true), "no links");
    open.append(&far("a")).unwrap();
    open.keep_links(vec![link(9.41e8, crate::When::After)])
        .unwrap();
    assert_eq!(check_links(folder.path()).unwrap(), Some(true));
    let file = folder.path().join(LINKS_FILE);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("941", "9941", 1)).unwrap();
    assert_eq!(check_links(folder.path()).unwrap(), Some(false));
    fs::remove_file(&file).unwrap();
    assert_eq!(check_links(folder.path()).unwrap(), Some(false), "missing");
    fs::write(&file, &text).unwrap();
    fs::remove_file(folder.path().join("links.sum")).unwrap();
    assert_eq!(check_links(folder.path()).unwrap(), None);
}

#[test]
fn damaged_links_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let open = RecordFolder::create(folder.path(), &plan(), &machine()).unwrap();
    drop(open);
    let file = folder.path().join(LINKS_FILE);
    for (text, expected) in [
        ("{", "links.json line 1 is damaged"),
        ("{\"schema\":\"bakeoff.links/9\"}", "bakeoff.links/9"),
    ] {
        fs::write(&file, text).unwrap();
        let error = Record::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
