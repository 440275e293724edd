//! Whatever a configuration includes, and wherever links lead: many configurations.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use super::*;

/// Different configurations, each with a seed of its own, for each case that proptest would look
/// at, of which `make night` asks for more.
const CASES: u64 = 4;
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
fn configurations_change_nothing_outside() {
    let cases = CASES * u64::from(proptest::test_runner::Config::default().cases);
    let of_thread = |thread: u64| {
        let (world, rules) = (World::new(), rules());
        let seeds = (0..cases).filter(|seed| seed % THREADS == thread);
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
    assert_eq!(ends.len() as u64, cases);
    let count = |is_meant: fn(&End) -> bool| ends.iter().filter(|end| is_meant(end)).count();
    let several = count(|end| matches!(end, End::Mirrored { files: 2.. }));
    assert!(several > ends.len() / 5, "{several} with includes");
    assert!(count(|end| *end == End::InPlace) > ends.len() / 20);
    assert!(count(|end| *end == End::Refused) < ends.len() / 2);
}
