//! Users' files stay as they are, and nothing is made outside of the trial's folder, whatever a
//! configuration includes and wherever links lead.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use bakeoff_plan::Replacement;

use super::*;

/// Different configurations that are looked at, each with a seed of its own.
const CASES: u64 = 10_000;
/// Threads that look at them, each in a folder of its own.
const THREADS: u64 = 4;
const FOLDERS: [&str; 8] = [
    "etc",
    "etc/site",
    "etc/site/conf.d",
    "etc/site/sites",
    "common",
    "common/deep",
    "home",
    "home/u",
];
const NAMES: [&str; 4] = ["a.conf", "b.conf", "c.conf", "link"];
/// Relative ones begin in `etc/site`; `@` is the folder of all folders.
const PATTERNS: [&str; 22] = [
    "../common/*.conf",
    "../../common/*.conf",
    "../../common/deep/../*.conf",
    "../site/conf.d/*.conf",
    "conf.d/*.conf",
    "conf.d/../../site/sites/?.conf",
    "sites/*",
    "sites/link/*.conf",
    "sites/link/../a.conf",
    "link/../../common/b.conf",
    "link",
    "*/[ab].conf",
    "*/../sites/*.conf",
    "../../home/*/a.conf",
    "./conf.d//./a.conf",
    "none/../a.conf",
    "main.conf",
    "@/common/*.conf",
    "@/etc/site/sites/*.conf",
    "@/etc/../common/deep/a.conf",
    "@/home/u/link",
    "@/*/link/*.conf",
];
/// These go above the root folder. Few cases have one: each makes a link for each of its entries.
const CLIMBING: [&str; 2] = [
    "../../../../../../../../../../../../../../../../../..@/common/a.conf",
    "*/../../../../../../../../../../../../../../../../..@/common/*.conf",
];
const TARGETS: [&str; 14] = [
    "a.conf",
    "../a.conf",
    "../../common/a.conf",
    "../sites",
    "..",
    "../..",
    "link",
    "nowhere",
    "@/common",
    "@/common/deep",
    "@/home/u/b.conf",
    "@/etc/site/sites/link",
    "/dev/null",
    "../../../../../../../../../../../../../../../../../../..@/home/u",
];
const MODES: [u32; 7] = [0o600, 0o640, 0o644, 0o664, 0o666, 0o400, 0o755];

/// SplitMix64: the same cases on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % end as u64) as usize
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

/// A disk with a user's files and a trial's folder.
struct World {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

/// What must not change of a file, a folder or a link: all that the system knows, but for the
/// time of the last look at it.
type Known = (u32, u64, u64, (i64, i64), (i64, i64), (u32, u32), Vec<u8>);

impl World {
    fn new() -> Self {
        // A disk in memory, where there is one, is ten times as fast.
        let memory = tempfile::tempdir_in("/dev/shm");
        let folder = memory.or_else(|_| tempfile::tempdir()).unwrap();
        // Deep, so that a few steps up do not yet lead to what other programs change.
        let root = folder.path().canonicalize().unwrap().join("1/2/3/4/5");
        for folder in FOLDERS {
            fs::create_dir_all(root.join("disk").join(folder)).unwrap();
        }
        fs::create_dir(root.join("trial")).unwrap();
        Self {
            _folder: folder,
            root,
        }
    }

    fn disk(&self) -> PathBuf {
        self.root.join("disk")
    }

    fn own(&self) -> PathBuf {
        self.root.join("trial/own")
    }

    /// Fills the folders anew, as this seed has it. Returns the main file's name.
    fn fill(&self, random: &mut Random) -> PathBuf {
        for folder in FOLDERS {
            for entry in fs::read_dir(self.disk().join(folder)).unwrap() {
                let path = entry.unwrap().path();
                if !path.symlink_metadata().unwrap().is_dir() {
                    fs::remove_file(path).unwrap();
                }
            }
        }
        let root = self.disk().display().to_string();
        let text = |random: &mut Random, includes: usize| {
            let mut text = String::from("first\n");
            for _ in 0..random.below(includes + 1) {
                let pattern = match random.below(50) {
                    0 => random.of(&CLIMBING),
                    _ => random.of(&PATTERNS),
                };
                let pattern = pattern.replace('@', &root);
                text.push_str(&format!("include {pattern};\n"));
            }
            if random.below(3) > 0 {
                text.push_str("listen;\n");
            }
            text
        };
        let main = self.disk().join("etc/site/main.conf");
        let body = text(random, 3);
        self.write(&main, &body, random.of(&MODES));
        for folder in FOLDERS {
            for name in NAMES {
                let path = self.disk().join(folder).join(name);
                match random.below(8) {
                    0 | 1 => {
                        let body = text(random, 1);
                        self.write(&path, &body, random.of(&MODES));
                    }
                    2 => symlink(random.of(&TARGETS).replace('@', &root), path).unwrap(),
                    _ => {}
                }
            }
        }
        match random.below(4) {
            0 => self.disk().join("home/../etc/./site/conf.d/../main.conf"),
            1 => {
                let link = self.disk().join("home/u/link");
                let _ = fs::remove_file(&link);
                symlink("../../etc/site", &link).unwrap();
                link.join("main.conf")
            }
            2 => {
                let link = self.disk().join("etc/site/c.conf");
                let _ = fs::remove_file(&link);
                symlink("main.conf", &link).unwrap();
                link
            }
            _ => main,
        }
    }

    fn write(&self, path: &Path, text: &str, mode: u32) {
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Everything but what the mirror holds.
    fn known(&self) -> BTreeMap<PathBuf, Known> {
        let mut known = BTreeMap::new();
        let mut waiting = vec![self.root.clone()];
        while let Some(path) = waiting.pop() {
            let metadata = path.symlink_metadata().unwrap();
            let mut bytes = Vec::new();
            if metadata.is_symlink() {
                bytes = fs::read_link(&path)
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes();
            } else if metadata.is_file() {
                bytes = fs::read(&path).unwrap();
            } else if path == self.own() {
                continue;
            } else {
                let entries = fs::read_dir(&path).unwrap();
                waiting.extend(entries.map(|entry| entry.unwrap().path()));
            }
            if path == self.root.join("trial") {
                continue;
            }
            let one = (
                metadata.mode(),
                metadata.ino(),
                metadata.nlink(),
                (metadata.mtime(), metadata.mtime_nsec()),
                (metadata.ctime(), metadata.ctime_nsec()),
                (metadata.uid(), metadata.gid()),
                bytes,
            );
            known.insert(path, one);
        }
        known
    }
}

fn rules() -> OwnRules {
    let table = r#"
        include = '(?m)^include ([^;]+);'
        [[change]]
        pattern = '^listen;'
        to = 'listens;'
        why = 'a test'
    "#;
    toml::from_str::<OwnTable>(table).unwrap().rules().unwrap()
}

/// Makes the configuration at `main` ready for a trial.
fn change(
    main: &Path,
    own: &Path,
    rules: &OwnRules,
    replacements: &[Replacement],
) -> Result<(PathBuf, Changed), StageError> {
    let files = OwnFiles::read(main, rules)?;
    let tools = Tools {
        rules,
        replacements,
        variables: &Variables::default(),
        ports: &Ports::default(),
        user: None,
        render: &|text, _, _| Ok(text.to_owned()),
    };
    let changed = files.change(&tools, own)?;
    Ok((files.base, changed))
}

/// The files that a server reads which is started with `main`, by paths without links, as another
/// implementation of patterns finds them.
fn read_by_a_server(main: &Path, base: &Path, rules: &OwnRules) -> BTreeSet<PathBuf> {
    let mut read = BTreeSet::new();
    let mut waiting = vec![main.canonicalize().unwrap()];
    while let Some(path) = waiting.pop() {
        let text = fs::read_to_string(&path).unwrap();
        if !read.insert(path) {
            continue;
        }
        for pattern in text.lines().flat_map(|line| rules.included(line)) {
            let found = glob::glob(base.join(pattern).to_str().unwrap()).unwrap();
            let files = found.flatten().filter(|path| path.is_file());
            waiting.extend(files.filter_map(|path| path.canonicalize().ok()));
        }
    }
    read
}

/// What came of a case.
#[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Copy, Debug)]
enum End {
    Refused,
    InPlace,
    Mirrored { files: usize },
}

fn check(world: &World, seed: u64, rules: &OwnRules) -> End {
    let _ = fs::remove_dir_all(world.own());
    let mut random = Random(seed);
    let main = world.fill(&mut random);
    let before = world.known();
    let changed = change(&main, &world.own(), rules, &[]);
    let after = world.known();
    assert_eq!(after, before, "seed {seed}");
    let (base, changed) = match changed {
        Err(_) => return End::Refused,
        Ok((_, changed)) if changed.changes.is_empty() => {
            assert_eq!(changed.main, main, "seed {seed}");
            assert!(!world.own().exists(), "seed {seed}");
            return End::InPlace;
        }
        Ok(changed) => changed,
    };
    let copied = check_copies(world, seed);
    let of_files = changed.files.iter().map(|file| file.path.clone());
    assert_eq!(copied, of_files.collect(), "seed {seed}");

    let originals = read_by_a_server(&main, &base, rules);
    let own = world.own();
    let there = read_by_a_server(&changed.main, &mirror::at(&own, &base), rules);
    let mut found = BTreeSet::new();
    for path in there {
        let copied = path
            .strip_prefix(&own)
            .map(|path| Path::new("/").join(path));
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains("listen;"), "seed {seed}: {}", path.display());
        found.insert(copied.unwrap_or(path));
    }
    let texts = changed.files.iter().map(|file| (&file.path, &file.text));
    assert_eq!(
        found,
        originals,
        "seed {seed}: {:#?}",
        texts.collect::<Vec<_>>()
    );
    let files = copied.len();
    End::Mirrored { files }
}

/// Every file in the mirror is a copy of one that lies there without links, and no more open.
/// Returns the originals.
fn check_copies(world: &World, seed: u64) -> BTreeSet<PathBuf> {
    let mut copied = BTreeSet::new();
    let mut waiting = vec![world.own()];
    while let Some(path) = waiting.pop() {
        let metadata = path.symlink_metadata().unwrap();
        if metadata.is_dir() {
            let entries = fs::read_dir(&path).unwrap();
            waiting.extend(entries.map(|entry| entry.unwrap().path()));
        }
        if !metadata.is_file() {
            continue;
        }
        let original = Path::new("/").join(path.strip_prefix(world.own()).unwrap());
        assert_eq!(original.canonicalize().unwrap(), original, "seed {seed}");
        let its = original.symlink_metadata().unwrap();
        assert!(its.is_file(), "seed {seed}");
        let (mode, its_mode) = (metadata.mode() & 0o7777, its.mode() & 0o7777);
        assert_eq!(mode & !its_mode, 0, "seed {seed}: {mode:o} of {its_mode:o}");
        assert_eq!(mode & 0o022, 0, "seed {seed}: {mode:o}");
        assert_eq!(metadata.nlink(), 1, "seed {seed}");
        copied.insert(original);
    }
    copied
}

#[test]
fn ten_thousand_configurations_change_nothing_outside() {
    let of_thread = |thread: u64| {
        let (world, rules) = (World::new(), rules());
        let seeds = (0..CASES).filter(|seed| seed % THREADS == thread);
        seeds
            .map(|seed| check(&world, seed, &rules))
            .collect::<Vec<End>>()
    };
    let root = || -> BTreeSet<PathBuf> {
        let entries = fs::read_dir("/").unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let before = root();
    let ends: Vec<End> = std::thread::scope(|scope| {
        let threads = (0..THREADS).map(|thread| scope.spawn(move || of_thread(thread)));
        let threads: Vec<_> = threads.collect();
        let ends = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap());
        ends.collect()
    });
    assert_eq!(root(), before);
    // Cases that do nothing would show nothing.
    assert_eq!(ends.len() as u64, CASES);
    let count = |is_meant: fn(&End) -> bool| ends.iter().filter(|end| is_meant(end)).count();
    let several = count(|end| matches!(end, End::Mirrored { files: 2.. }));
    assert!(several > ends.len() / 5, "{several} with includes");
    assert!(count(|end| *end == End::InPlace) > ends.len() / 20);
    assert!(count(|end| *end == End::Refused) < ends.len() / 2);
}

/// A folder with a main configuration, and what comes of reading it.
struct Site(tempfile::TempDir);

impl Site {
    fn new(main: &str) -> Self {
        let site = Self(tempfile::tempdir().unwrap());
        fs::write(site.at("main.conf"), main).unwrap();
        site
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn fifo(&self, name: &str) {
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
        rustix::fs::mknodat(rustix::fs::CWD, self.at(name), kind, mode, 0).unwrap();
    }

    /// The names of the files, the main one first, or the problem.
    fn read(&self, main: &str) -> Result<Vec<String>, String> {
        let files = OwnFiles::read(&self.at(main), &rules()).map_err(|it| it.to_string())?;
        let name = |file: OwnFile| {
            let below = file.path.strip_prefix(self.at("")).unwrap();
            below.display().to_string()
        };
        Ok(files.files.into_iter().map(name).collect())
    }

    #[track_caller]
    fn refused(&self, problem: &str) {
        let found = self.read("main.conf").unwrap_err();
        assert!(found.contains(problem), "{found}");
    }
}

#[test]
fn what_is_no_regular_file_is_refused_and_not_waited_for() {
    let site = Site::new("include *.conf;\n");
    site.fifo("fifo.conf");
    site.refused("fifo.conf: it is a fifo; expected a regular file");
    let site = Site::new("include zero;\n");
    symlink("/dev/zero", site.at("zero")).unwrap();
    site.refused("/dev/zero: it is a device; expected a regular file");
    fs::remove_file(site.at("zero")).unwrap();
    symlink("/dev/null", site.at("zero")).unwrap();
    assert_eq!(
        site.read("main.conf").unwrap(),
        ["main.conf"],
        "an empty file"
    );
    for (main, problem) in [
        ("", "a folder"),
        ("../..", "a folder"),
        ("none", "No such file"),
    ] {
        let found = site.read(main).unwrap_err();
        assert!(found.contains(problem), "{main}: {found}");
    }
    fs::create_dir(site.at("folder")).unwrap();
    fs::write(site.at("main.conf"), "include folder;\ninclude fold*;\n").unwrap();
    assert_eq!(
        site.read("main.conf").unwrap(),
        ["main.conf"],
        "the server says so"
    );
    fs::write(site.at("main.conf"), [b'a', 0xff]).unwrap();
    site.refused("it is not text in UTF-8");
}

#[test]
fn certificates_that_are_no_files_cannot_be_read() {
    let site = Site::new("certificate fifo;\n");
    site.fifo("fifo");
    let table = "change = [{ pattern = '^certificate (?P<own_file>.+);', to = 'none', why = 'a' }]";
    let rules = toml::from_str::<OwnTable>(table).unwrap().rules().unwrap();
    let (_, changed) = change(&site.at("main.conf"), &site.at("own"), &rules, &[]).unwrap();
    assert_eq!(changed.files[0].text, "none\n");
}

#[test]
fn circles_end_and_what_grows_without_end_is_refused() {
    let site = Site::new("include a;\ninclude loop;\ninclude loop/*;\n");
    fs::write(site.at("a"), "include b;\ninclude a;\ninclude main.conf;\n").unwrap();
    fs::write(site.at("b"), "include a;\ninclude */../b;\ninclude none;\n").unwrap();
    symlink("loop", site.at("loop")).unwrap();
    fs::create_dir(site.at("c")).unwrap();
    symlink("..", site.at("c/up")).unwrap();
    assert_eq!(site.read("main.conf").unwrap(), ["main.conf", "a", "b"]);
    let up = "c/up/".repeat(300);
    fs::write(site.at("main.conf"), format!("include {up}a;\n")).unwrap();
    assert_eq!(site.read("main.conf").unwrap(), ["main.conf", "a", "b"]);

    let too_many = "includes more than 1,000 files or 64 MiB";
    let site = Site::new("include 0;\n");
    for depth in 0..1000 {
        fs::write(
            site.at(&depth.to_string()),
            format!("include {};\n", depth + 1),
        )
        .unwrap();
    }
    site.refused(too_many);
    fs::write(site.at("998"), "").unwrap();
    assert_eq!(site.read("main.conf").unwrap().len(), 1000);
    fs::write(site.at("main.conf"), "include *;\n").unwrap();
    site.refused(too_many);
    fs::write(
        site.at("main.conf"),
        format!("include {};\n", ["*/.."; 9].join("/")),
    )
    .unwrap();
    for folder in 0..30 {
        fs::create_dir(site.at(&format!("folder-{folder}"))).unwrap();
    }
    site.refused("or its include patterns match against more than 200,000 names");
    let site = Site::new("include large;\n");
    let large = fs::File::create(site.at("large")).unwrap();
    large.set_len(65 << 20).unwrap();
    site.refused(too_many);
}

#[test]
fn replacements_of_replacements_do_not_fill_the_memory() {
    let site = Site::new("0\n");
    let replacement = |digit: u32| Replacement {
        from: digit.to_string(),
        to: (digit + 1).to_string().repeat(100),
    };
    let replacements: Vec<Replacement> = (0..9).map(replacement).collect();
    let main = site.at("main.conf");
    let error = change(&main, &site.at("own"), &rules(), &replacements).unwrap_err();
    assert!(
        error.to_string().contains("more than 67108864 bytes"),
        "{error}"
    );
}

#[test]
fn a_folder_is_taken_in_where_the_server_does_so() {
    let site = Site::new("include sites;\n");
    fs::create_dir_all(site.at("sites/more")).unwrap();
    fs::create_dir(site.at("available")).unwrap();
    for name in ["available/a", "sites/b", "sites/more/c"] {
        fs::write(site.at(name), "listen;\n").unwrap();
    }
    symlink("../available/a", site.at("sites/a")).unwrap();
    symlink("..", site.at("sites/more/up")).unwrap();
    assert_eq!(site.read("main.conf").unwrap(), ["main.conf"]);
    let folders = OwnRules {
        folders: true,
        ..rules()
    };
    let (_, changed) = change(&site.at("main.conf"), &site.at("own"), &folders, &[]).unwrap();
    let names: Vec<PathBuf> = changed.files.into_iter().map(|file| file.path).collect();
    let expected = ["main.conf", "available/a", "sites/b", "sites/more/c"];
    assert_eq!(names, expected.map(|name| site.at(name)));
    let copy = mirror::at(&site.at("own"), &site.at("sites/a"));
    assert_eq!(fs::read_to_string(copy).unwrap(), "listens;\n");
}

/// Root's files among others: their owner and group go along with the copy.
#[test]
fn a_copy_belongs_to_whom_the_original_belongs() {
    let site = Site::new("listen;\n");
    let main = site.at("main.conf");
    fs::set_permissions(&main, fs::Permissions::from_mode(0o4666)).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        std::os::unix::fs::chown(&main, Some(65_534), Some(65_533)).unwrap();
        fs::set_permissions(&main, fs::Permissions::from_mode(0o4640)).unwrap();
    }
    let before = main.metadata().unwrap();
    let (_, changed) = change(&main, &site.at("own"), &rules(), &[]).unwrap();
    let copy = changed.main.metadata().unwrap();
    assert_eq!((copy.uid(), copy.gid()), (before.uid(), before.gid()));
    let expected = if is_root { 0o640 } else { 0o644 };
    assert_eq!(copy.mode() & 0o7777, expected);
}
