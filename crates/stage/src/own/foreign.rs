//! What files need that were made for other machines: `[own.foreign]` in `server.toml`.

use std::path::PathBuf;

use regex_lite::Regex;
use serde::Deserialize;

use super::elsewhere::{Elsewhere, StandInTable};
use super::lines::{Layout, LinesTable};
use super::site::{SiteRules, SiteTable};

/// `[own.foreign]` as it is written.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForeignTable {
    /// Its first group is the name of a block that lines can name in place of an address.
    blocks: Option<String>,
    /// Folders in which an installed server has its files.
    #[serde(default)]
    elsewhere: Vec<PathBuf>,
    #[serde(default, rename = "stand-in")]
    stand_ins: Vec<StandInTable>,
    site: Option<SiteTable>,
    reads: Option<ReadsTable>,
    stores: Option<StoresTable>,
    /// Its first group that matches is whom requests are answered as where the server runs as
    /// root, in a line of a file or of `build`.
    workers: Option<String>,
    #[serde(default)]
    lines: LinesTable,
}

/// How the server says which files it reads.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadsTable {
    command: Vec<String>,
    /// Its first group is a path, in a line of the output.
    pattern: String,
}

/// Where a file would store, in what the program makes of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoresTable {
    /// Its first group is what is said of a store, in what the command `own.adapt` prints.
    pattern: String,
    /// A template: how that begins where the store is in the trial's folder.
    ours: String,
    /// Why a file with another one is refused, and what to do.
    why: String,
}

/// `[own.foreign]`, ready to be used.
#[derive(Debug, Clone, Default)]
pub(crate) struct Foreign {
    pub(crate) blocks: Option<Regex>,
    pub(super) elsewhere: Elsewhere,
    pub(super) site: Option<SiteRules>,
    pub(crate) reads: Option<Reads>,
    pub(crate) stores: Option<Stores>,
    pub(super) workers: Option<Regex>,
    pub(super) lines: Layout,
}

/// `[own.foreign.reads]`, ready to be used.
#[derive(Debug, Clone)]
pub(crate) struct Reads {
    pub(crate) command: Vec<String>,
    pub(crate) pattern: Regex,
}

/// `[own.foreign.stores]`, ready to be used.
#[derive(Debug, Clone)]
pub(crate) struct Stores {
    pattern: Regex,
    pub(crate) ours: String,
    pub(crate) why: String,
}

impl Stores {
    /// Whether all that is stored by `adapted`, what the program makes of a file, begins like
    /// `ours`.
    pub(crate) fn are(&self, ours: &str, adapted: &str) -> bool {
        let stores = self.pattern.captures_iter(adapted);
        let mut said = stores.filter_map(|captures| captures.get(1));
        said.all(|said| said.as_str().starts_with(ours))
    }
}

impl ForeignTable {
    /// Reads the patterns; an error names the key and what is wrong.
    pub(super) fn rules(&self) -> Result<Foreign, String> {
        let with_group = |key: &str, text: &str| {
            let pattern = Regex::new(text)
                .map_err(|cause| format!("`own.foreign.{key}` is no pattern: {cause}"))?;
            match pattern.captures_len() {
                0 | 1 => Err(format!("`own.foreign.{key}` has no group")),
                _ => Ok(pattern),
            }
        };
        let blocks = self
            .blocks
            .as_deref()
            .map(|text| with_group("blocks", text));
        let stand_ins = self.stand_ins.iter().map(StandInTable::read);
        let reads = self.reads.as_ref().map(|reads| {
            Ok::<_, String>(Reads {
                command: reads.command.clone(),
                pattern: with_group("reads.pattern", &reads.pattern)?,
            })
        });
        let workers = self.workers.as_deref();
        let workers = workers.map(|text| with_group("workers", text));
        let stores = self.stores.as_ref().map(|stores| {
            Ok::<_, String>(Stores {
                pattern: with_group("stores.pattern", &stores.pattern)?,
                ours: stores.ours.clone(),
                why: stores.why.clone(),
            })
        });
        Ok(Foreign {
            blocks: blocks.transpose()?,
            elsewhere: Elsewhere {
                folders: self.elsewhere.clone(),
                stand_ins: stand_ins.collect::<Result<_, _>>()?,
            },
            site: self.site.as_ref().map(SiteTable::rules).transpose()?,
            reads: reads.transpose()?,
            stores: stores.transpose()?,
            workers: workers.transpose()?,
            lines: self.lines.rules()?,
        })
    }
}
