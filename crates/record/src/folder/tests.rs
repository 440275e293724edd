use bakeoff_plan::{Builtin, builtin_plan};

use super::*;
use crate::machine::MACHINE_SCHEMA;
use crate::trial::TrialEnd;

mod links;

fn plan() -> Plan {
    let text = builtin_plan("smoke").expect("a ready plan");
    bakeoff_plan::parse(text, "smoke", Path::new("/"), &Builtin).expect("it is right")
}

fn machine() -> Machine {
    Machine {
        schema: MACHINE_SCHEMA.to_owned(),
        ..Machine::default()
    }
}

fn trial(id: &str) -> TrialRecord {
    TrialRecord {
        started_at: "2026-11-21T00:00:00Z".to_owned(),
        ..TrialRecord::begun(id, "nginx-default", "synthetic", plan().loads[0].clone())
    }
}

fn ids(record: &Record) -> Vec<&str> {
    record
        .trials
        .iter()
        .map(|trial| trial.id.as_str())
        .collect()
}

#[test]
fn what_is_appended_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut open = RecordFolder::create(folder.path(), &plan(), &machine()).unwrap();
    open.append(&trial("a")).unwrap();
    open.append(&trial("b")).unwrap();
    open.append(&trial("a")).unwrap();
    let record = Record::read(folder.path()).unwrap();
    assert_eq!(ids(&record), ["b", "a"], "the later of two counts");
    assert_eq!(record.plan, plan());
    assert_eq!(record.machine, machine());
}

#[test]
fn a_torn_line_is_left_out_and_cut_before_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let mut open = RecordFolder::create(folder.path(), &plan(), &machine()).unwrap();
    open.append(&trial("a")).unwrap();
    let file = folder.path().join(TRIALS_FILE);
    let mut torn = fs::read(&file).unwrap();
    torn.extend_from_slice(b"{\"schema\":\"bakeoff.tr");
    fs::write(&file, torn).unwrap();
    drop(open);
    assert_eq!(ids(&Record::read(folder.path()).unwrap()), ["a"]);
    let mut again = RecordFolder::open(folder.path()).unwrap();
    again.append(&trial("b")).unwrap();
    assert_eq!(ids(&Record::read(folder.path()).unwrap()), ["a", "b"]);
}

#[test]
fn a_later_version_and_damage_are_reported_with_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut open = RecordFolder::create(folder.path(), &plan(), &machine()).unwrap();
    open.append(&trial("a")).unwrap();
    let file = folder.path().join(TRIALS_FILE);
    fs::write(&file, "{\"schema\":\"bakeoff.trial/9\",\"new\":1}\n").unwrap();
    let error = Record::read(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("bakeoff.trial/9") && error.contains("trials.jsonl"),
        "{error}"
    );
    fs::write(&file, "nonsense\n").unwrap();
    let error = Record::read(folder.path()).unwrap_err().to_string();
    assert!(error.contains("trials.jsonl line 1 is damaged"), "{error}");
    // Cut off in its middle, cut to nothing, and whole but for a field.
    let whole = serde_json::to_string(&trial("a")).unwrap();
    for cut in [
        &whole[..whole.len() / 2],
        "",
        "{\"schema\":\"bakeoff.trial/1\"}",
    ] {
        fs::write(&file, format!("{whole}\n{cut}\n{whole}\n")).unwrap();
        let error = Record::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("trials.jsonl line 2 is damaged"), "{error}");
    }
}

#[test]
fn a_record_is_never_written_over() {
    let folder = tempfile::tempdir().unwrap();
    RecordFolder::create(folder.path(), &plan(), &machine()).unwrap();
    let again = RecordFolder::create(folder.path(), &plan(), &machine());
    assert!(matches!(again, Err(FolderError::Exists(_))));
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(
        Record::read(empty.path()),
        Err(FolderError::Missing(_))
    ));
    assert!(matches!(
        RecordFolder::open(empty.path()),
        Err(FolderError::Missing(_))
    ));
    let file = Record::read(&folder.path().join(PLAN_FILE)).unwrap_err();
    assert!(
        file.to_string().ends_with("name the folder of its record"),
        "{file}"
    );
    let nowhere = Record::read(&empty.path().join("x")).unwrap_err();
    assert!(nowhere.to_string().starts_with("there is no "), "{nowhere}");
}

#[test]
fn the_plan_comes_from_json_and_a_plan_file_alone_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let open = RecordFolder::create(folder.path(), &plan(), &machine()).unwrap();
    let mut more = plan();
    more.rounds += 7;
    open.replace_plan(&more).unwrap();
    assert_eq!(Record::read(folder.path()).unwrap().plan, more);
    fs::remove_file(folder.path().join(PLAN_FILE)).unwrap();
    let missing = Record::read(folder.path()).unwrap_err();
    assert!(matches!(missing, FolderError::Missing(_)), "{missing}");
    assert!(matches!(
        RecordFolder::create(folder.path(), &plan(), &machine()),
        Err(FolderError::Exists(_))
    ));
}

#[test]
fn a_plan_of_a_later_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    RecordFolder::create(folder.path(), &plan(), &machine()).unwrap();
    let text = r#"{"schema":"bakeoff.plan/9","plan":{}}"#;
    fs::write(folder.path().join(PLAN_FILE), text).unwrap();
    let error = Record::read(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("bakeoff.plan/9") && error.contains("plan.json"),
        "{error}"
    );
}

#[test]
fn a_record_of_somebody_else_writes_and_waits_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let (record, theirs) = (folder.path().join("record"), folder.path().join("theirs"));
    fs::create_dir(&theirs).unwrap();
    drop(RecordFolder::create(&record, &plan(), &machine()).unwrap());
    fs::create_dir(record.join("logs")).unwrap();
    std::os::unix::fs::symlink(&theirs, record.join("logs/a")).unwrap();
    let error = RecordFolder::open(&record).unwrap_err().to_string();
    assert!(error.contains("logs/a: it is a link"), "{error}");
    fs::remove_file(record.join("logs/a")).unwrap();
    RecordFolder::open(&record).unwrap();

    let file = record.join(PLAN_FILE);
    let text = fs::read_to_string(&file).unwrap();
    let name = format!("\"{}\"", plan().contenders[0].name);
    fs::write(&file, text.replace(&name, "\"../../theirs\"")).unwrap();
    let error = Record::read(&record).unwrap_err().to_string();
    assert!(error.contains("`../../theirs` cannot be a name"), "{error}");

    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
    let error = Record::read(&record).unwrap_err().to_string();
    assert!(error.contains("expected a regular file"), "{error}");
}

#[test]
fn a_record_has_one_writer_and_any_number_of_readers() {
    let base = tempfile::tempdir().unwrap();
    let folder = base.path().join("record");
    let mut open = RecordFolder::create(&folder, &plan(), &machine()).unwrap();
    // Another name of the same folder leads to the same lock.
    let link = base.path().join("link");
    std::os::unix::fs::symlink(&folder, &link).unwrap();
    for path in [&folder, &link] {
        let error = RecordFolder::open(path).unwrap_err();
        let text = error.to_string();
        let FolderError::Held { writer, .. } = error else {
            panic!("{text}");
        };
        assert_eq!(writer.map(|it| it.pid), Some(std::process::id()));
        let by = format!("by process {}, `", std::process::id());
        assert!(text.contains(&by) && text.contains("`, since 20"), "{text}");
    }
    open.append(&trial("a")).unwrap();
    assert_eq!(ids(&Record::read(&link).unwrap()), ["a"]);
    drop(open);
    assert!(!folder.join("writer.json").exists());
    RecordFolder::open(&folder).unwrap();
}

#[test]
fn a_note_or_a_removed_note_of_the_writer_is_not_the_lock() {
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("writer.json");
    let open = RecordFolder::create(folder.path(), &plan(), &machine()).unwrap();
    fs::remove_file(&note).unwrap();
    let error = RecordFolder::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("by another process"), "{error}");
    drop(open);
    for left in ["{\"pid\":1,\"command\":[],\"since\":\"\"}", "torn {"] {
        fs::write(&note, left).unwrap();
        RecordFolder::open(folder.path()).unwrap();
    }
}

#[test]
fn of_many_that_make_a_record_at_once_one_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record");
    let (plan, machine) = (plan(), machine());
    let made = std::thread::scope(|scope| {
        let make = || RecordFolder::create(&path, &plan, &machine);
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
        let ends = threads.into_iter().map(|thread| thread.join().unwrap());
        // What was made is kept, and with it the lock, until all have ended.
        ends.collect::<Vec<_>>()
    });
    let winners = made.iter().filter(|it| it.is_ok()).count();
    assert_eq!(winners, 1, "{made:?}");
    let refused = made.iter().filter_map(|it| it.as_ref().err());
    for error in refused {
        let is_named = matches!(error, FolderError::Held { .. } | FolderError::Exists(_));
        assert!(is_named, "{error}");
    }
    drop(made);
    assert!(matches!(
        RecordFolder::create(&path, &plan, &machine),
        Err(FolderError::Exists(_))
    ));
}

#[test]
fn trials_without_a_plan_are_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let mut open = RecordFolder::create(folder.path(), &plan(), &machine()).unwrap();
    open.append(&trial("a")).unwrap();
    drop(open);
    let file = folder.path().join(TRIALS_FILE);
    let before = fs::read(&file).unwrap();
    for name in [PLAN_FILE, PLAN_COPY] {
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    assert!(matches!(
        RecordFolder::create(folder.path(), &plan(), &machine()),
        Err(FolderError::Exists(_))
    ));
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn a_new_record_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let base = tempfile::tempdir().unwrap();
    let folder = base.path().join("results/record");
    let open = RecordFolder::create(&folder, &plan(), &machine()).unwrap();
    open.replace_plan(&plan()).unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let files = fs::read_dir(&folder).unwrap().flatten();
    let modes: Vec<(PathBuf, u32)> = files.map(|it| (it.path(), mode(&it.path()))).collect();
    assert!(modes.len() >= 4, "{modes:?}");
    assert!(modes.iter().all(|(_, mode)| *mode == 0o600), "{modes:?}");
}

/// A record of three trials in a folder.
fn three(folder: &Path) {
    let mut open = RecordFolder::create(folder, &plan(), &machine()).unwrap();
    for id in ["a", "b", "c"] {
        open.append(&trial(id)).unwrap();
    }
}

#[test]
fn every_flipped_bit_of_a_trial_is_found_and_its_trial_named() {
    let folder = tempfile::tempdir().unwrap();
    three(folder.path());
    let whole = check_sums(folder.path()).unwrap();
    assert_eq!((whole.whole, whole.missing), (3, 0), "{whole:?}");
    assert!(whole.changed.is_empty(), "{whole:?}");
    let file = folder.path().join(TRIALS_FILE);
    let bytes = fs::read(&file).unwrap();
    let sums = fs::read_to_string(folder.path().join(SUMS_FILE)).unwrap();
    let mut ends = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        if *byte == b'\n' {
            ends.push(at);
        }
    }
    assert_eq!(ends.len(), 3);
    let mut random = bakeoff_plan::Random::new(7);
    // Every byte of the line ends and of the beginnings, and others by chance.
    let others = (0..400).map(|_| (random.unit() * bytes.len() as f64) as usize);
    let edges = ends
        .iter()
        .flat_map(|end| [end - 1, *end, (end + 1) % bytes.len()]);
    for at in edges.chain(others).collect::<Vec<_>>() {
        for bit in [0, (at % 8) as u8, 7] {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            fs::write(&file, &flipped).unwrap();
            let found = check_sums(folder.path()).unwrap();
            let trial = ["a", "b", "c"][ends.iter().position(|end| at <= *end).unwrap()];
            let named: Vec<&str> = found.changed.iter().map(|it| it.trial.as_str()).collect();
            assert_eq!(named, [trial], "byte {at}, bit {bit}: {found:?}\n{sums}");
        }
    }
}

#[test]
fn trials_that_were_cut_off_swapped_or_never_had_a_checksum_are_distinguished() {
    let folder = tempfile::tempdir().unwrap();
    three(folder.path());
    let at = |name: &str| folder.path().join(name);
    let (trials, sums) = (
        fs::read_to_string(at(TRIALS_FILE)).unwrap(),
        fs::read_to_string(at(SUMS_FILE)).unwrap(),
    );
    let found = |trials: &str, sums: &str| {
        fs::write(at(TRIALS_FILE), trials).unwrap();
        fs::write(at(SUMS_FILE), sums).unwrap();
        let check = check_sums(folder.path()).unwrap();
        (check.whole, check.missing, check.changed.len())
    };
    let lines: Vec<&str> = trials.split_inclusive('\n').collect();
    let of_sums: Vec<&str> = sums.split_inclusive('\n').collect();
    assert_eq!(
        found(&lines[..2].concat(), &sums),
        (2, 0, 1),
        "the last is gone"
    );
    let swapped = [lines[1], lines[0], lines[2]].concat();
    assert_eq!(found(&swapped, &sums), (1, 0, 2));
    // Ended by force between the trial and its checksum, or while the checksum was written.
    assert_eq!(found(&trials, &of_sums[..2].concat()), (2, 1, 0));
    assert_eq!(found(&trials, sums.trim_end()), (2, 1, 0));
    assert_eq!(found(&trials, &of_sums[1..].concat()), (2, 1, 0));
    assert_eq!(found(&trials, ""), (0, 3, 0));
    assert_eq!(found(&trials, "nonsense\n"), (0, 2, 1));
    let far = "18446744073709551615 18446744073709551615 ";
    let far = format!("{far}{} a\n", "0".repeat(64));
    assert_eq!(
        found(&trials, &far).2,
        1,
        "numbers of others do not overflow"
    );
    fs::remove_file(at(SUMS_FILE)).unwrap();
    assert_eq!(check_sums(folder.path()).unwrap().missing, 3);
}

/// Each was said to hold.
#[test]
fn checksums_that_are_twice_reversed_or_of_another_name_are_found() {
    let folder = tempfile::tempdir().unwrap();
    three(folder.path());
    let sums = fs::read_to_string(folder.path().join(SUMS_FILE)).unwrap();
    let lines: Vec<&str> = sums.split_inclusive('\n').collect();
    let trials = fs::read(folder.path().join(TRIALS_FILE)).unwrap();
    let found = |sums: &str| {
        let check = check_lines(&trials, sums);
        let changed = check.changed.iter();
        let changed: Vec<String> = changed
            .map(|it| format!("{}: {}", it.trial, it.text))
            .collect();
        (check.whole, changed.join("; "))
    };
    let twice = [&sums, lines[2]].concat();
    let text = "c: line 4 of trials.sum is there twice, or at a wrong place";
    assert_eq!(found(&twice), (3, text.to_owned()));
    let reversed = [lines[2], lines[1], lines[0]].concat();
    assert_eq!(found(&reversed).0, 1);
    let renamed = sums.replace(" b\n", " a\n");
    let text = "a: trials.sum has this name beside the checksum of trial b";
    assert_eq!(found(&renamed), (2, text.to_owned()));
}

#[test]
fn a_machine_that_was_changed_is_found() {
    let folder = tempfile::tempdir().unwrap();
    three(folder.path());
    let found = || check_machine(folder.path()).unwrap();
    assert_eq!(found(), Some(true));
    let file = folder.path().join(MACHINE_FILE);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text + "\n").unwrap();
    assert_eq!(found(), Some(false));
    fs::remove_file(folder.path().join(MACHINE_SUM_FILE)).unwrap();
    assert_eq!(found(), None);
}

/// What a reader of the folder sees beside the trials is of the same campaign.
#[test]
fn a_plan_file_or_an_experiment_of_another_campaign_is_found() {
    let folder = tempfile::tempdir().unwrap();
    three(folder.path());
    let found = || {
        let record = Record::read(folder.path()).unwrap();
        check_beside(folder.path(), &record).unwrap()
    };
    let confirm = folder.path().join(CONFIRM_FOLDER);
    RecordFolder::create(&confirm, &plan(), &machine()).unwrap();
    assert_eq!(found(), Vec::<String>::new());
    let copy = folder.path().join(PLAN_COPY);
    fs::write(&copy, plan().to_toml() + "# more\n").unwrap();
    assert_eq!(found(), ["plan.toml does not say what plan.json does"]);
    fs::remove_file(&copy).unwrap();
    assert_eq!(found(), ["plan.toml is missing"]);
    fs::write(&copy, plan().to_toml()).unwrap();
    fs::remove_dir_all(&confirm).unwrap();
    let other = Machine {
        started_at: "2026-11-20T00:00:00Z".to_owned(),
        ..machine()
    };
    RecordFolder::create(&confirm, &plan(), &other).unwrap();
    let said = found();
    assert!(
        said[0].starts_with("confirm/ is of another campaign"),
        "{said:?}"
    );
    assert_eq!(said.len(), 1);
}

#[test]
fn a_record_goes_on_with_checksums_after_a_torn_end() {
    let folder = tempfile::tempdir().unwrap();
    three(folder.path());
    for name in [TRIALS_FILE, SUMS_FILE] {
        let mut torn = fs::read(folder.path().join(name)).unwrap();
        torn.extend_from_slice(b"12 ");
        fs::write(folder.path().join(name), torn).unwrap();
    }
    let check = check_sums(folder.path()).unwrap();
    assert_eq!(
        (check.whole, check.changed.len()),
        (3, 0),
        "a torn end is no damage"
    );
    RecordFolder::open(folder.path())
        .unwrap()
        .append(&trial("d"))
        .unwrap();
    let check = check_sums(folder.path()).unwrap();
    assert_eq!((check.whole, check.missing, check.changed.len()), (4, 0, 0));
}

#[test]
fn addresses_are_written_neither_in_trials_nor_in_logs() {
    let folder = tempfile::tempdir().unwrap();
    let mut open = RecordFolder::create(folder.path(), &plan(), &machine()).unwrap();
    let mut addresses = Addresses::default();
    addresses.add("10.99.0.1", "sut");
    open.hide(addresses);
    let logs = open.logs_of("a");
    fs::create_dir_all(&logs).unwrap();
    fs::write(logs.join("server.log"), "bound 10.99.0.1:80\n").unwrap();
    let mut trial = trial("a");
    let cause = "connect to 10.99.0.1:80: refused".to_owned();
    trial.end = TrialEnd::Unsupported { reason: cause };
    open.append(&trial).unwrap();
    let written = fs::read_to_string(folder.path().join(TRIALS_FILE)).unwrap();
    assert!(!written.contains("10.99"), "{written}");
    assert!(written.contains("connect to sut:80: refused"), "{written}");
    let log = fs::read_to_string(logs.join("server.log")).unwrap();
    assert_eq!(log, "bound sut:80\n");
    drop(open);
    assert_eq!(check_sums(folder.path()).unwrap().whole, 1);
    assert_eq!(ids(&Record::read(folder.path()).unwrap()), ["a"]);
}

#[test]
fn an_address_that_is_a_word_of_the_format_leaves_a_record_that_can_be_read() {
    for word in [
        "load",
        "server",
        "origin",
        "engine",
        "host",
        "end",
        "id",
        "h1",
        "nginx-default",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut open = RecordFolder::create(folder.path(), &plan(), &machine()).unwrap();
        let mut addresses = Addresses::default();
        addresses.add(word, "g1");
        open.hide(addresses);
        let mut far = far("a");
        far.hosts.as_mut().unwrap().hosts = vec![crate::HostFacts {
            name: "g1".to_owned(),
            transport: "netns".to_owned(),
            roles: vec![crate::HostRole::Server, crate::HostRole::Origin],
            ..crate::HostFacts::default()
        }];
        let load = far.load.clone();
        far.result = Some(crate::LoadResult::empty(load, 1.0));
        let cause = format!("connect to {word}:80: refused");
        far.end = TrialEnd::Unsupported { reason: cause };
        open.append(&far).unwrap();
        drop(open);
        let read = Record::read(folder.path()).unwrap().trials.remove(0);
        let reason = "connect to g1:80: refused".to_owned();
        far.end = TrialEnd::Unsupported { reason };
        assert_eq!(read, far, "{word}");
    }
}

#[test]
fn where_half_a_plan_was_written_the_same_command_can_be_given_again() {
    let folder = tempfile::tempdir().unwrap();
    // What a full disk does to the second of the two files.
    let in_the_way = folder.path().join(format!("{PLAN_COPY}.unfinished"));
    fs::create_dir(&in_the_way).unwrap();
    RecordFolder::create(folder.path(), &plan(), &machine()).unwrap_err();
    fs::remove_dir(&in_the_way).unwrap();
    RecordFolder::create(folder.path(), &plan(), &machine()).unwrap();
}

fn far(id: &str) -> TrialRecord {
    let mut far = trial(id);
    far.hosts = Some(crate::Hosts {
        links: vec![link(1e9, crate::When::Before)],
        ..crate::Hosts::default()
    });
    far
}

fn link(bits_per_s: f64, when: crate::When) -> LinkFacts {
    LinkFacts {
        from: vec!["sut".to_owned()],
        to: vec!["g1".to_owned()],
        bits_per_s,
        at_least: false,
        rtt_ns: None,
        when,
    }
}
