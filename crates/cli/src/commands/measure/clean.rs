//! `bakeoff clean`: removes what bakeoff has left on this machine outside of records.
//!
//! It looks into the folder for temporary files, the folders of installed programs, the cache for
//! agents and for the index of histories, and nowhere else. What somebody uses stays. Records are
//! never touched.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use anyhow::Context;
use bakeoff_report::bytes;
use bakeoff_stage::{
    Holding, HoldingKind, bytes_in, holdings, left_by_others, leftovers, runs_from,
};

use crate::commands::history::index;
use crate::flags::CleanFlags;
use crate::{campaigns, exit, output};

/// What is said of an installed program that stays.
const WITH_PROGRAMS: &str = "kept; --programs removes it";

/// What can be found.
enum Thing {
    /// In a folder of this machine's own.
    Held(Holding),
    /// A copy of bakeoff for an agent.
    Copy { path: PathBuf, in_use: bool },
    /// What histories took from records.
    Index(PathBuf),
}

/// What is said of a thing, and whether it takes room no more.
struct Said {
    text: Cow<'static, str>,
    is_gone: bool,
}

pub(crate) fn carry_out(flags: &CleanFlags) -> anyhow::Result<u8> {
    let temporary = std::env::temp_dir();
    let things = found(&temporary)?;
    // Its programs are used without a lock, between two trials by nobody that can be seen.
    let someone_works = !campaigns::others()?.is_empty()
        || things
            .iter()
            .any(|thing| thing.is(HoldingKind::Run) && thing.in_use());
    let ended = if flags.dry_run {
        0
    } else {
        leftovers::remove(&temporary)
    };
    let (mut freed, mut lines, mut code) = (0, String::new(), exit::DONE);
    for thing in things {
        let size = thing.bytes();
        let said = remove(&thing, flags, someone_works).unwrap_or_else(|cause| {
            code = exit::FAILED;
            Said {
                text: format!("failed to remove it: {cause}").into(),
                is_gone: false,
            }
        });
        freed += if said.is_gone { size } else { 0 };
        lines.push_str(&format!(
            "{:>9}  {:24} {}  ({})\n",
            bytes(size as f64),
            thing.name(),
            thing.path().display(),
            said.text
        ));
    }
    for (path, user) in left_by_others(&temporary) {
        lines.push_str(&format!(
            "{:>9}  {:24} {}  (left by user {user}, whose `bakeoff clean` removes it)\n",
            bytes(bytes_in(&path) as f64),
            "run folder",
            path.display()
        ));
    }
    let verb = if flags.dry_run { "would free" } else { "freed" };
    lines.push_str(&format!("{verb} {}", bytes(freed as f64)));
    if ended > 0 {
        lines.push_str(&format!("; ended {ended} processes of a killed bakeoff"));
    }
    output::result(&lines)?;
    Ok(code)
}

fn found(temporary: &Path) -> anyhow::Result<Vec<Thing>> {
    let mut things: Vec<Thing> = holdings(temporary).into_iter().map(Thing::Held).collect();
    if let Some(home) = std::env::var_os("HOME").filter(|home| !home.is_empty()) {
        let home = PathBuf::from(home);
        let copies = bakeoff_hosts::copies(&home);
        let (copies, is_held) =
            copies.with_context(|| format!("failed to read the cache below {}", home.display()))?;
        things.extend(copies.into_iter().map(|path| Thing::Copy {
            in_use: is_held || runs_from(&path),
            path,
        }));
    }
    let is_folder = |path: &PathBuf| path.symlink_metadata().is_ok_and(|it| it.is_dir());
    let index = index::path().filter(is_folder);
    things.extend(index.map(Thing::Index));
    Ok(things)
}

/// Removes a thing if it may go. What killed bakeoffs have left was removed before.
fn remove(thing: &Thing, flags: &CleanFlags, someone_works: bool) -> std::io::Result<Said> {
    let said = |text: &'static str, is_gone| {
        let text = text.into();
        Ok(Said { text, is_gone })
    };
    let stays = |text| said(text, false);
    let is_program = thing.is(HoldingKind::Program);
    if thing.in_use() {
        return stays("in use, kept");
    }
    if is_program && !flags.programs {
        return stays(WITH_PROGRAMS);
    }
    if is_program && someone_works {
        return stays("kept, because another bakeoff is running");
    }
    if flags.dry_run {
        return said("would be removed", true);
    }
    match thing {
        // What could not be removed before is tried again, because that did not say why.
        Thing::Held(holding) if is_program || holding.path.exists() => {
            if !holding.remove()? {
                return stays("in use, kept");
            }
        }
        Thing::Held(_) => {}
        Thing::Copy { path, .. } => std::fs::remove_dir_all(path)?,
        Thing::Index(path) => std::fs::remove_dir_all(path)?,
    }
    said("removed", true)
}

impl Thing {
    fn is(&self, kind: HoldingKind) -> bool {
        matches!(self, Self::Held(holding) if holding.kind == kind)
    }

    fn in_use(&self) -> bool {
        match self {
            Self::Held(holding) => holding.in_use,
            Self::Copy { in_use, .. } => *in_use,
            // Who uses it makes it again.
            Self::Index(_) => false,
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Held(holding) => &holding.path,
            Self::Copy { path, .. } | Self::Index(path) => path,
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Held(holding) => holding.bytes,
            Self::Copy { path, .. } | Self::Index(path) => bytes_in(path),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Held(holding) => match holding.kind {
                HoldingKind::Run => "run folder",
                HoldingKind::Installation => "unfinished installation",
                HoldingKind::Program => "installed program",
            },
            Self::Copy { .. } => "copy for an agent",
            Self::Index(_) => "index of histories",
        }
    }
}
