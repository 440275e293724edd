//! The file format over versions: a stored record of each version is read, and what is written has
//! the fields of its version and no others.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bakeoff_record::{
    MACHINE_SCHEMA, Record, TRIAL_SCHEMA, TrialEnd, TrialRecord, When, check_machine, check_sums,
};

/// The trial of the stored record that was measured.
const MEASURED: &str = "r1-nginx-default-proxy-c5";

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn find<'r>(record: &'r Record, id: &str) -> &'r TrialRecord {
    record.trials.iter().find(|trial| trial.id == id).expect(id)
}

#[test]
fn a_record_of_version_1_reads_whole() {
    let folder = folder("tests/fixtures/trial-1");
    let record = Record::read(&folder).expect("it reads");
    assert_eq!(record.machine.schema, "bakeoff.machine/1");
    assert_eq!(record.plan.name, "smoke");
    let ends: Vec<&TrialEnd> = record.trials.iter().map(|trial| &trial.end).collect();
    assert!(matches!(
        ends[..],
        [
            TrialEnd::Failed { .. },
            TrialEnd::Skipped { .. },
            TrialEnd::Measured
        ]
    ));
    let measured = find(&record, MEASURED);
    assert_eq!(measured.schema, "bakeoff.trial/1");
    assert_eq!(measured.load_label(), "c5");
    let when: Vec<When> = measured.answers.iter().map(|answer| answer.when).collect();
    assert_eq!(when, [When::Before, When::After]);
    let result = measured.result.as_ref().expect("a result");
    assert!(result.requests.ok > 0 && result.latency.quantile(0.5).is_some());
    let origin = measured.origin.as_ref().expect("it is proxied");
    assert!(origin.requests > 0);
    assert_eq!(check_machine(&folder).ok(), Some(Some(true)));
    let sums = check_sums(&folder).expect("it reads");
    assert_eq!((sums.whole, sums.missing), (3, 0));
}

#[test]
fn a_field_that_is_not_known_is_refused() {
    let lines = std::fs::read_to_string(folder("tests/fixtures/trial-1/trials.jsonl"));
    let lines = lines.expect("a record");
    let line = lines.lines().last().expect("a trial");
    let mut value: serde_json::Value = serde_json::from_str(line).expect("it is JSON");
    let read = |value: &serde_json::Value| {
        let line = value.to_string();
        serde_json::from_str::<TrialRecord>(&line).map_err(|error| error.to_string())
    };
    let trial = read(&value).expect("it reads");
    let again = serde_json::to_value(&trial).expect("it is written");
    assert_eq!(again, value, "keys stay where they were");
    value["colour"] = "blue".into();
    let error = read(&value).expect_err("nobody knows this key");
    assert!(error.contains("unknown field `colour`"), "{error}");
    let mut without = serde_json::to_value(&trial).expect("it is written");
    without.as_object_mut().expect("a trial").remove("steps");
    let error = read(&without).expect_err("a key is missing");
    assert!(error.contains("missing field `steps`"), "{error}");
}

fn copy() -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("a folder");
    for name in ["plan.json", "machine.json", "trials.jsonl"] {
        let from = folder("tests/fixtures/trial-1").join(name);
        std::fs::copy(from, copy.path().join(name)).expect("a copy");
    }
    copy
}

/// Such a histogram was read, and whoever asked it for a percentile panicked.
#[test]
fn a_histogram_that_cannot_be_is_refused_with_its_trial_and_field() {
    let copy = copy();
    let file = copy.path().join("trials.jsonl");
    let text = std::fs::read_to_string(&file).expect("trials");
    let change = |field: &str, changed: &mut dyn FnMut(&mut serde_json::Value)| {
        let lines = text.lines().map(|line| {
            let mut trial: serde_json::Value = serde_json::from_str(line).expect("a trial");
            if trial["id"] == MEASURED {
                changed(trial.pointer_mut(field).expect(field));
            }
            trial.to_string() + "\n"
        });
        std::fs::write(&file, lines.collect::<String>()).expect("trials");
        Record::read(copy.path()).map_err(|error| error.to_string())
    };
    let fields = ["/result/latency", "/result/intervals/1/latency"];
    for field in fields {
        let mut swap = |histogram: &mut serde_json::Value| {
            let least = histogram["min_ns"].take();
            histogram["min_ns"] = histogram["max_ns"].take();
            histogram["max_ns"] = least;
        };
        let error = change(field, &mut swap).expect_err(field);
        assert!(error.contains("trials.jsonl line "), "{error}");
        let trial = format!("is damaged: trial {MEASURED}: min_ns ");
        assert!(error.contains(&trial), "{error}");
        let place = field[1..].replace("/1", "[1]").replace('/', ".");
        assert!(error.ends_with(&format!("(at {place})")), "{error}");
    }
    change("/result", &mut |_| ()).expect("unchanged, it reads");
}

/// Whoever adds, renames or removes a field moves the version: a reader of the one before would
/// refuse the line as damaged instead of asking for a newer bakeoff.
#[test]
fn a_changed_field_moves_the_version() {
    let version = |schema: &str| schema.replace("bakeoff.", "").replace('/', "-");
    let (machine, rest): (BTreeSet<_>, BTreeSet<_>) = fields_of_sources()
        .into_iter()
        .partition(|field| field.starts_with("Machine"));
    for (schema, found) in [(TRIAL_SCHEMA, rest), (MACHINE_SCHEMA, machine)] {
        let file = folder("tests/fields").join(format!("{}.txt", version(schema)));
        if std::env::var_os("BLESS").is_some() {
            let lines: Vec<&str> = found.iter().map(String::as_str).collect();
            std::fs::write(&file, lines.join("\n") + "\n").expect("a list");
        }
        let stored = std::fs::read_to_string(&file).unwrap_or_default();
        let stored: BTreeSet<String> = stored.lines().map(str::to_owned).collect();
        let (new, gone): (Vec<_>, Vec<_>) = (
            found.difference(&stored).collect(),
            stored.difference(&found).collect(),
        );
        assert!(
            new.is_empty() && gone.is_empty(),
            "{schema} has no longer the fields that it had. New: {new:?}; gone: {gone:?}. Where \
             that version was released, raise it and go on reading the one before; then write \
             the list with BLESS=1."
        );
    }
}

/// Every field of every type in the sources that is written, as `Type.field` or
/// `Type::Variant.field`.
fn fields_of_sources() -> BTreeSet<String> {
    let sources = std::fs::read_dir(folder("src")).expect("the sources");
    let files = sources.map(|entry| entry.expect("an entry").path());
    let texts = files.filter(|path| path.extension().is_some_and(|end| end == "rs"));
    let mut fields = BTreeSet::new();
    for path in texts {
        let text = std::fs::read_to_string(path).expect("a source");
        fields_of(&text, &mut fields);
    }
    fields
}

/// Adds the fields in `text` to `found`.
fn fields_of(text: &str, found: &mut BTreeSet<String>) {
    let mut written = false;
    let (mut owner, mut variant): (Option<String>, Option<String>) = (None, None);
    for line in text.lines() {
        if line.starts_with("#[derive(") {
            written = line.contains("Serialize");
        }
        let opened = ["pub struct ", "pub enum "]
            .iter()
            .find_map(|begin| line.strip_prefix(begin));
        if let Some(name) = opened.and_then(|rest| rest.strip_suffix(" {")) {
            owner = written.then(|| name.to_owned());
            written = false;
        } else if line == "}" {
            (owner, variant) = (None, None);
        } else if line == "    }," {
            variant = None;
        }
        let Some(owner) = &owner else { continue };
        let deeper = line.strip_prefix("    ").unwrap_or_default();
        if let Some(name) = deeper.strip_suffix(" {") {
            variant = Some(name.to_owned());
        } else if let (Some(variant), Some(field)) = (&variant, field(deeper.trim_start())) {
            found.insert(format!("{owner}::{variant}.{field}"));
        } else if let Some(name) = deeper.strip_prefix("pub ").and_then(field) {
            found.insert(format!("{owner}.{name}"));
        }
    }
}

/// `name` of a line `name: Type,`.
fn field(line: &str) -> Option<&str> {
    let (name, _) = line.strip_suffix(',')?.split_once(": ")?;
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    name.bytes().all(plain).then_some(name)
}
