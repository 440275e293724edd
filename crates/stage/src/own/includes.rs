//! Finds the files that a user's configuration includes, and changes none of them.
//!
//! Patterns are expanded as `glob(3)` does it, one path component at a time. Limits on files, bytes
//! and folder entries stop a pattern that would match a whole disk.

mod taken;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use bakeoff_record::{Step, open_regular, text_of};

use super::elsewhere::Instead;
use super::trail::Trail;
use super::{OwnFile, OwnRules, mirror};
use crate::error::{Cause, StageError};
use crate::files::Access;
pub(crate) use taken::Taken;

/// Files of one configuration, at the most: a pattern that matches a whole disk is a mistake.
const FILES_MAX: usize = 1000;
/// Bytes of all these files.
pub(super) const BYTES_MAX: u64 = 64 << 20;
/// Different patterns in all these files.
const PATTERNS_MAX: usize = 10_000;
/// Entries of folders that are compared with patterns.
const ENTRIES_MAX: usize = 200_000;
/// Longest pattern; the system takes no longer path.
const PATTERN_BYTES_MAX: usize = 4096;
/// Folders in folders of one that is taken in as a whole.
const DEPTH_MAX: usize = 20;
/// Major and minor number of `/dev/null`, which stands for an empty file.
const NULL: (u32, u32) = (1, 3);

/// How files take in others.
#[derive(Debug, Clone, Default)]
pub(super) struct Includes {
    patterns: Vec<Pattern>,
    numbers: BTreeMap<String, usize>,
    /// For each file the numbers of its patterns.
    takes: Vec<BTreeSet<usize>>,
}

/// What is taken in, as a file has it, and what that leads to.
#[derive(Debug, Clone)]
struct Pattern {
    text: String,
    /// Without links in their paths.
    files: Vec<PathBuf>,
    /// The folder that its parts before the first wildcard lead to, without links in its path.
    from: PathBuf,
    /// Its other parts.
    rest: String,
    climbs: Climbs,
    /// What is taken in where nothing is at the path that the file has.
    instead: Option<Instead>,
}

/// What a pattern becomes in a copy, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lead {
    pub(super) to: String,
    pub(super) why: &'static str,
}

/// Whether `..` is said in the root folder, where it leads nowhere; in a copy it would.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Climbs {
    Never,
    BeforeWildcards,
    BehindWildcards,
}

/// Files, how they take in each other, and the base of relative paths in them.
pub(super) struct Found {
    pub(super) files: Vec<OwnFile>,
    pub(super) includes: Includes,
    pub(super) base: PathBuf,
    /// Why the first file is one that a trial makes, and not the user's main one.
    pub(super) made: Option<String>,
}

/// Reads `main` and, transitively, what it takes in, each file once. The folder of `main` has no
/// links in its path.
pub(super) fn read(main: &Path, rules: &OwnRules, trail: &mut Trail) -> Result<Found, StageError> {
    let fail = |cause| StageError::file(Step::Prepare, main, cause);
    let first = trail.follow(Path::new("/"), main).map_err(fail)?;
    let mut reader = Reader {
        main,
        rules,
        trail,
        base: PathBuf::new(),
        made: None,
        files: Vec::new(),
        includes: Includes::default(),
        waiting: vec![first.clone()],
        queued: BTreeSet::from([first]),
        bytes_left: BYTES_MAX,
        entries_left: ENTRIES_MAX,
    };
    while let Some(path) = reader.waiting.pop() {
        reader.read(path)?;
    }
    Ok(Found {
        files: reader.files,
        includes: reader.includes,
        base: reader.base,
        made: reader.made,
    })
}

struct Reader<'a> {
    main: &'a Path,
    rules: &'a OwnRules,
    trail: &'a mut Trail,
    base: PathBuf,
    made: Option<String>,
    files: Vec<OwnFile>,
    includes: Includes,
    waiting: Vec<PathBuf>,
    queued: BTreeSet<PathBuf>,
    bytes_left: u64,
    entries_left: usize,
}

impl Reader<'_> {
    fn read(&mut self, path: PathBuf) -> Result<(), StageError> {
        let fail = |cause| StageError::file(Step::Prepare, &path, cause);
        let file = open_regular(&path).map_err(fail)?;
        let metadata = file.metadata().map_err(fail)?;
        let mut bytes = Vec::new();
        let read = file.take(self.bytes_left + 1).read_to_end(&mut bytes);
        let length = read.map_err(fail)? as u64;
        self.bytes_left = self
            .bytes_left
            .checked_sub(length)
            .ok_or_else(|| self.too_many())?;
        // No rule could change the lines of another text, and the server would read them.
        let text = self.rules.without_mark(text_of(bytes).map_err(fail)?);
        let access = Access::of(&metadata);
        if self.files.is_empty() {
            self.begin(&path, &text, access)?;
        }
        self.keep(OwnFile { path, text, access })
    }

    /// Finds the base of relative paths, and makes the main file that a mere part lacks.
    fn begin(&mut self, path: &Path, text: &str, access: Access) -> Result<(), StageError> {
        let site = self.rules.foreign.site.as_ref();
        let included = text.lines().flat_map(|line| self.rules.included(line));
        let included: Vec<&str> = included.collect();
        let whole = site.map(|site| site.whole(self.main, text, &included));
        let whole = whole
            .transpose()
            .map_err(|cause| StageError::file(Step::Prepare, path, std::io::Error::other(cause)))?;
        let whole = whole.flatten();
        let (base, line) = match &whole {
            Some(whole) => (whole.base.clone(), None),
            None => self.rules.base_of(self.main, text),
        };
        let followed = self.trail.follow(Path::new("/"), &base);
        self.base = followed.map_err(|cause| match line {
            None => StageError::file(Step::Prepare, &base, cause),
            Some(line) => {
                let problem = format!(
                    "line {line}: its relative paths begin in {}, which is no folder here \
                     ({cause}); install the server there, or write the folder where it is",
                    base.display()
                );
                StageError::file(Step::Prepare, path, std::io::Error::other(problem))
            }
        })?;
        let Some(whole) = whole else {
            return Ok(());
        };
        self.made = Some(whole.why);
        self.keep(OwnFile {
            path: self.base.join(whole.name),
            text: whole.text,
            access,
        })
    }

    /// Takes in a file, and notes what it takes in itself.
    fn keep(&mut self, file: OwnFile) -> Result<(), StageError> {
        let mut takes = BTreeSet::new();
        let mut found = Vec::new();
        for pattern in file.text.lines().flat_map(|line| self.rules.included(line)) {
            let number = self.number_of(pattern)?;
            if takes.insert(number) {
                found.extend(self.includes.patterns[number].files.iter().cloned());
            }
        }
        found.retain(|path| self.queued.insert(path.clone()));
        self.waiting.extend(found.into_iter().rev());
        if self.queued.len() > FILES_MAX {
            return Err(self.too_many());
        }
        self.includes.takes.push(takes);
        self.files.push(file);
        Ok(())
    }

    fn too_many(&self) -> StageError {
        let file = self.main.to_owned();
        StageError::new(Step::Prepare, Cause::TooManyIncludes { file })
    }

    /// The number of a pattern, which is looked up once.
    fn number_of(&mut self, text: &str) -> Result<usize, StageError> {
        if let Some(number) = self.includes.numbers.get(text) {
            return Ok(*number);
        }
        let number = self.includes.patterns.len();
        if number == PATTERNS_MAX {
            return Err(self.too_many());
        }
        let pattern = self.found(text)?;
        self.includes.patterns.push(pattern);
        self.includes.numbers.insert(text.to_owned(), number);
        Ok(number)
    }

    /// What a pattern stands for, where it says or elsewhere.
    fn found(&mut self, text: &str) -> Result<Pattern, StageError> {
        let [before, after] = self.rules.foreign.elsewhere.paths(text, &self.base);
        for instead in before {
            if let Some(pattern) = self.elsewhere(text, instead)? {
                return Ok(pattern);
            }
        }
        let mut pattern = self.pattern(text)?;
        if pattern.is_something(text) {
            return Ok(pattern);
        }
        for instead in after {
            if let Some(pattern) = self.elsewhere(text, instead)? {
                return Ok(pattern);
            }
        }
        if !is_wild(text) {
            pattern.instead = self.rules.foreign.elsewhere.stand_in(text);
        }
        Ok(pattern)
    }

    /// What `text` stands for at another path, if anything is there.
    fn elsewhere(&mut self, text: &str, instead: Instead) -> Result<Option<Pattern>, StageError> {
        let Instead::Path { path, .. } = &instead else {
            return Ok(None);
        };
        let found = self.pattern(path)?;
        if found.files.is_empty() {
            return Ok(None);
        }
        Ok(Some(Pattern {
            text: text.to_owned(),
            instead: Some(instead),
            ..found
        }))
    }

    /// What a pattern stands for, in the order of names. What is no such pattern, like the name
    /// of a snippet, stands for no file.
    fn pattern(&mut self, text: &str) -> Result<Pattern, StageError> {
        let is_part = |part: &&str| !part.is_empty() && *part != ".";
        let parts: Vec<&str> = text.split('/').filter(is_part).collect();
        let wild = parts.iter().position(|part| is_wild(part));
        let (before, behind) = parts.split_at(wild.unwrap_or(parts.len().saturating_sub(1)));
        let is_absolute = text.starts_with('/');
        let mut pattern = Pattern {
            text: text.to_owned(),
            files: Vec::new(),
            from: if is_absolute {
                "/".into()
            } else {
                self.base.clone()
            },
            rest: behind.join("/"),
            climbs: Climbs::Never,
            instead: None,
        };
        if text.len() > PATTERN_BYTES_MAX {
            return Ok(pattern);
        }
        let mut place = Place::at(&pattern.from);
        for part in before {
            if *part == ".." && place.real.parent().is_none() {
                pattern.climbs = Climbs::BeforeWildcards;
            }
            match place.step(part.as_ref()) {
                Some(next) => place = next,
                None => return Ok(pattern),
            }
        }
        pattern.from.clone_from(&place.real);
        let mut places = vec![place];
        for part in behind {
            if *part == ".." && places.iter().any(|place| place.real.parent().is_none()) {
                pattern.climbs = Climbs::BehindWildcards;
            }
            let mut next = Vec::new();
            for place in places {
                let names = self.names(&place.real, part)?;
                next.extend(names.iter().filter_map(|name| place.step(name)));
            }
            places = next;
        }
        for place in places {
            self.take(&place, DEPTH_MAX, &mut pattern.files)?;
        }
        Ok(pattern)
    }

    /// Names in `folder` that a part of a pattern stands for, in their order.
    fn names(&mut self, folder: &Path, part: &str) -> Result<Vec<OsString>, StageError> {
        match matcher(part) {
            Some(matcher) => self.entries(folder, |name| matcher.matches_with(name, MATCHING)),
            None => Ok(vec![part.into()]),
        }
    }

    fn entries(
        &mut self,
        folder: &Path,
        is_meant: impl Fn(&str) -> bool,
    ) -> Result<Vec<OsString>, StageError> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let left = self.entries_left.checked_sub(1);
            self.entries_left = left.ok_or_else(|| self.too_many())?;
            let name = entry.file_name();
            if is_meant(&name.to_string_lossy()) {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Takes in the file at a place, or all below a folder where the server does so.
    fn take(
        &mut self,
        place: &Rc<Place>,
        depth: usize,
        files: &mut Vec<PathBuf>,
    ) -> Result<(), StageError> {
        let Ok(metadata) = place.real.metadata() else {
            return Ok(());
        };
        if !metadata.is_dir() {
            if !is_null(&metadata) {
                place.note_way(self.trail);
                files.push(place.real.clone());
            }
            if files.len() > FILES_MAX {
                return Err(self.too_many());
            }
            return Ok(());
        }
        if !self.rules.folders || depth == 0 {
            return Ok(());
        }
        for name in self.entries(&place.real, |_| true)? {
            if let Some(inner) = place.step(&name) {
                self.take(&inner, depth - 1, files)?;
            }
        }
        Ok(())
    }
}

/// A step on the way to a file, which may come to nothing.
struct Place {
    real: PathBuf,
    passed: Trail,
    before: Option<Rc<Place>>,
}

impl Place {
    /// Where a way begins.
    fn at(real: &Path) -> Rc<Self> {
        Rc::new(Self {
            real: real.to_owned(),
            passed: Trail::default(),
            before: None,
        })
    }

    fn step(self: &Rc<Self>, name: &OsStr) -> Option<Rc<Self>> {
        let mut passed = Trail::default();
        let real = passed.follow(&self.real, Path::new(name)).ok()?;
        let before = Some(Rc::clone(self));
        Some(Rc::new(Self {
            real,
            passed,
            before,
        }))
    }

    /// Adds what was passed on the whole way.
    fn note_way(&self, trail: &mut Trail) {
        let mut place = Some(self);
        while let Some(at) = place {
            trail.folders.extend(at.passed.folders.iter().cloned());
            trail.links.extend(at.passed.links.iter().cloned());
            place = at.before.as_deref();
        }
    }
}

impl Includes {
    /// Whether anything is taken in from elsewhere than the files say.
    pub(super) fn lead_elsewhere(&self) -> bool {
        self.patterns
            .iter()
            .any(|pattern| pattern.instead.is_some())
    }

    /// The stand-ins that are taken in.
    pub(super) fn stand_ins(&self) -> impl Iterator<Item = &str> {
        self.patterns
            .iter()
            .filter_map(|pattern| match &pattern.instead {
                Some(Instead::StandIn(file)) => Some(file.as_str()),
                _ => None,
            })
    }

    /// What patterns become in copies below `folder` so that they take in the copies, where they
    /// would not do so as they are. `changed` says which files are.
    pub(super) fn leads(
        &self,
        files: &[OwnFile],
        changed: &[bool],
        folder: &Path,
    ) -> Result<BTreeMap<&str, Lead>, String> {
        let climbs = |number: &usize| {
            let pattern = &self.patterns[*number];
            pattern.climbs_to_files() || pattern.instead.is_some()
        };
        // A file with such a pattern changes as well, and so do those that take it in.
        let changed = changed.iter().zip(&self.takes);
        let changed = changed.map(|(changed, takes)| *changed || takes.iter().any(climbs));
        let reaches = self.reaching(files, changed.collect());
        let mut leads = BTreeMap::new();
        for (pattern, reaches) in self.patterns.iter().zip(reaches) {
            if let Some(lead) = pattern.lead(reaches, folder)? {
                leads.insert(pattern.text.as_str(), lead);
            }
        }
        Ok(leads)
    }

    /// For each pattern whether it takes in a changed file, directly or through others.
    fn reaching(&self, files: &[OwnFile], mut changed: Vec<bool>) -> Vec<bool> {
        let paths = files.iter().map(|file| file.path.as_path());
        let numbers: BTreeMap<&Path, usize> = paths.zip(0..).collect();
        let mut taken_by = vec![Vec::new(); files.len()];
        let mut includers = vec![Vec::new(); self.patterns.len()];
        for (number, pattern) in self.patterns.iter().enumerate() {
            let taken = pattern.files.iter();
            for file in taken.filter_map(|path| numbers.get(path.as_path())) {
                taken_by[*file].push(number);
            }
        }
        for (file, takes) in self.takes.iter().enumerate() {
            takes
                .iter()
                .for_each(|number| includers[*number].push(file));
        }
        let mut reaches = vec![false; self.patterns.len()];
        let mut waiting: Vec<usize> = (0..files.len()).filter(|file| changed[*file]).collect();
        while let Some(file) = waiting.pop() {
            for &number in &taken_by[file] {
                if std::mem::replace(&mut reaches[number], true) {
                    continue;
                }
                for &includer in &includers[number] {
                    if !std::mem::replace(&mut changed[includer], true) {
                        waiting.push(includer);
                    }
                }
            }
        }
        reaches
    }
}

impl Pattern {
    /// Whether it leads to something, even if that is no file to be read.
    fn is_something(&self, text: &str) -> bool {
        !self.files.is_empty() || Path::new(text).exists() && text.starts_with('/')
    }

    /// What it becomes in a copy; `reaches` says that it leads to one.
    fn lead(&self, reaches: bool, folder: &Path) -> Result<Option<Lead>, String> {
        let to = match &self.instead {
            Some(Instead::StandIn(file)) => stand_in_at(folder, file).display().to_string(),
            Some(Instead::Nothing) => "/dev/null".to_owned(),
            Some(Instead::Path { .. }) if reaches => self.below(folder)?,
            Some(Instead::Path { path, .. }) if self.from.to_str().is_some_and(is_plain) => {
                path.clone()
            }
            Some(Instead::Path { .. }) => return Err(self.must_be_quoted()),
            None if self.climbs_to_files() || reaches && self.text.starts_with('/') => {
                self.below(folder)?
            }
            None => return Ok(None),
        };
        let why = self.instead.as_ref().map(Instead::why);
        let why = why.unwrap_or("so that changed copies are taken in");
        Ok(Some(Lead { to, why }))
    }

    fn climbs_to_files(&self) -> bool {
        self.climbs != Climbs::Never && !self.files.is_empty()
    }

    /// The same pattern for the mirror in `folder`.
    fn below(&self, folder: &Path) -> Result<String, String> {
        let text = &self.text;
        if self.climbs == Climbs::BehindWildcards {
            return Err(format!(
                "the include `{text}` goes above the root folder behind a wildcard; \
                 write the path without these `..`"
            ));
        }
        // A path that the file itself has is quoted there as it must be; one behind links is not.
        let said = self.from.to_str();
        let from = said.filter(|from| text.starts_with(from) || is_plain(from));
        let there = mirror::at(folder, &self.from);
        match (from, there.to_str()) {
            (Some(_), Some(there)) if self.rest.is_empty() => Ok(there.to_owned()),
            (Some(_), Some(there)) => Ok(format!("{there}/{}", self.rest)),
            _ => Err(self.must_be_quoted()),
        }
    }

    fn must_be_quoted(&self) -> String {
        format!(
            "the include `{}` leads to {}, a name with characters that a configuration must quote; \
             give the folder a plain name",
            self.text,
            self.from.display()
        )
    }
}

/// Where a trial has the stand-in `file`, when copies are below `folder`.
pub(super) fn stand_in_at(folder: &Path, file: &str) -> PathBuf {
    folder.with_file_name("stand-ins").join(file)
}

/// As in a shell: names that begin with a dot are meant only where the pattern begins so.
const MATCHING: glob::MatchOptions = glob::MatchOptions {
    case_sensitive: true,
    require_literal_separator: false,
    require_literal_leading_dot: true,
};

/// Whether a path needs no quotes in any configuration.
fn is_plain(path: &str) -> bool {
    path.chars()
        .all(|c| c.is_ascii_alphanumeric() || "/._-+@,=~%:".contains(c))
}

fn is_wild(part: &str) -> bool {
    part.contains(['*', '?', '['])
}

/// For names of one folder; `None` where they are to be taken literally.
fn matcher(part: &str) -> Option<glob::Pattern> {
    if !is_wild(part) {
        return None;
    }
    // Two asterisks are one in `glob(3)`, and `^` negates as `!` does.
    let mut text = part.replace("[^", "[!");
    while text.contains("**") {
        text = text.replace("**", "*");
    }
    glob::Pattern::new(&text).ok()
}

fn is_null(metadata: &Metadata) -> bool {
    let device = metadata.rdev();
    let number = (rustix::fs::major(device), rustix::fs::minor(device));
    metadata.file_type().is_char_device() && number == NULL
}
