//! Each reader of outside bytes meets the project's own files, changed copies of them and random
//! bytes: the same ones in every run, so that a failure can be repeated.

use std::fs;
use std::path::Path;

use bakeoff_fuzz::{TARGETS, Target};

/// Inputs for each target. `make fuzz` searches for as long as it is given.
const INPUTS: usize = 1_000;
/// Longest random input, bytes.
const LONGEST: usize = 512;
/// Of a longer seed only so much is changed: all of a log would take most of the time.
const SEED_LONGEST: usize = 8_192;

/// The generator splitmix64, by Steele, Lea and Flood (2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 where `end` is 0.
    fn below(&mut self, end: usize) -> usize {
        self.next().checked_rem(end as u64).unwrap_or(0) as usize
    }

    fn bytes(&mut self) -> Vec<u8> {
        let length = self.below(LONGEST);
        (0..length).map(|_| self.next() as u8).collect()
    }

    /// The seed with up to four changes: a byte, a piece that goes, a piece of any seed that comes.
    fn changed(&mut self, seed: &[u8], seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = seed[..seed.len().min(SEED_LONGEST)].to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() + 1);
            let end = (at + self.below(16)).min(bytes.len());
            match self.below(4) {
                0 if at < bytes.len() => bytes[at] = self.next() as u8,
                1 => drop(bytes.drain(at..end)),
                2 => bytes.truncate(at.max(1)),
                _ => {
                    let other = &seeds[self.below(seeds.len())];
                    let from = self.below(other.len());
                    let piece = &other[from..(from + self.below(32)).min(other.len())];
                    drop(bytes.splice(at..at, piece.iter().copied()));
                }
            }
        }
        bytes
    }
}

/// The files below a folder of the repository, in order.
fn files(folder: &Path, into: &mut Vec<Vec<u8>>) {
    let entries = fs::read_dir(folder);
    let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, into)
        } else {
            into.extend(fs::read(&path).ok())
        }
    }
}

fn replay(target: &Target) {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut seeds = Vec::new();
    for folder in target.seeds {
        files(&repository.join(folder), &mut seeds);
    }
    assert!(
        target.seeds.is_empty() || !seeds.is_empty(),
        "{} has no seeds",
        target.name
    );
    (target.check)(&[]);
    seeds.iter().for_each(|seed| (target.check)(seed));
    let mut random = Random(target.name.len() as u64);
    for number in 0..INPUTS {
        // Every third is random from beginning to end.
        let bytes = match seeds.get(random.below(seeds.len())) {
            Some(seed) if number % 3 > 0 => random.changed(seed, &seeds),
            _ => random.bytes(),
        };
        (target.check)(&bytes);
    }
}

#[test]
fn every_reader_keeps_its_promises() {
    let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
    assert!(names.is_sorted(), "each once, in order: {names:?}");
    std::thread::scope(|scope| {
        for target in &TARGETS {
            let thread = std::thread::Builder::new().name(target.name.to_owned());
            thread
                .spawn_scoped(scope, || replay(target))
                .expect("a thread");
        }
    });
}
