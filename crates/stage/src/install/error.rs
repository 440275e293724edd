//! Why a program could not be installed; each reads well after "failed to ".

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A program could not be installed. Nothing of it is left.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The server's folder names no source, or none of the kind that was asked for.
    #[error("install {server}: its server.toml has no source{of_kind}; to get it: {install}")]
    NoSource {
        /// Title of the server.
        server: String,
        /// Empty, or the kind after a blank.
        of_kind: String,
        /// Ways to get it by hand.
        install: String,
    },
    /// Every source was tried in vain.
    #[error("install {what}: {}", lines(refusals))]
    Refused {
        /// Title of the server, and the version if one was asked for.
        what: String,
        /// Why, source by source.
        refusals: Vec<Refusal>,
    },
    /// A file or folder could not be made, read or written.
    #[error("use {path}: {cause}")]
    File {
        /// The path.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// It was asked to end.
    #[error("install: interrupted; the unfinished installation was removed")]
    Interrupted,
}

/// One source and why it did not give the program.
#[derive(Debug)]
pub struct Refusal {
    /// Kind and package.
    pub source: String,
    /// Why.
    pub reason: Reason,
}

/// Why a source did not give the program.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// It has other versions.
    #[error("it has no version {wanted}; there are: {there_are}")]
    NoSuchVersion {
        /// As asked for.
        wanted: String,
        /// What there is, as far as the tool reports it.
        there_are: String,
    },
    /// Nothing says which bytes this version has.
    #[error("{}", not_known(wanted.as_deref(), known))]
    NotKnown {
        /// As asked for.
        wanted: Option<String>,
        /// The versions that are known.
        known: String,
    },
    /// A package does not have the bytes that its version is known for.
    #[error("{what} has {digest}, and server.toml knows {known}; nothing of it was used")]
    Altered {
        /// The package or its file.
        what: String,
        /// Its digest.
        digest: String,
        /// The digests that it may have.
        known: String,
    },
    /// A program that gets or builds it is not on the search path.
    #[error("`{tool}` is not on the search path; {fix}")]
    NoTool {
        /// The program.
        tool: String,
        /// What to do.
        fix: String,
    },
    /// The build needs what is not here.
    #[error("the build needs {needs}; as root: apt-get install {packages}")]
    Needs {
        /// Headers and programs.
        needs: String,
        /// The packages that bring them.
        packages: String,
    },
    /// Only root can install it.
    #[error("only root can install it; as root: {command}")]
    NeedsRoot {
        /// The command to run.
        command: String,
    },
    /// A command failed.
    #[error("`{command}` {how}{}", below(output))]
    Failed {
        /// The command line.
        command: String,
        /// How it ended, as a verb phrase.
        how: String,
        /// The end of its output.
        output: String,
    },
    /// The package does not contain what was expected.
    #[error("{0}")]
    Unexpected(String),
}

/// What ends the work on a source: on to the next one, or out.
#[derive(Debug)]
pub(crate) enum Obstacle {
    Refusal(Reason),
    End(InstallError),
}

impl From<Reason> for Obstacle {
    fn from(reason: Reason) -> Self {
        Self::Refusal(reason)
    }
}

impl From<InstallError> for Obstacle {
    fn from(error: InstallError) -> Self {
        Self::End(error)
    }
}

impl InstallError {
    pub(crate) fn file(path: impl AsRef<Path>, cause: io::Error) -> Self {
        Self::File {
            path: path.as_ref().to_owned(),
            cause,
        }
    }

    /// Whether the user can fix it, by asking for something else or by installing a tool.
    pub fn is_fixable(&self) -> bool {
        match self {
            Self::NoSource { .. } => true,
            Self::Refused { refusals, .. } => !refusals.iter().any(|refusal| {
                matches!(
                    refusal.reason,
                    Reason::Failed { .. } | Reason::Altered { .. } | Reason::Unexpected(_)
                )
            }),
            // Another folder may be given.
            Self::File { cause, .. } => matches!(
                cause.kind(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
            ),
            Self::Interrupted => false,
        }
    }
}

impl Reason {
    /// A version that is not among those that there are.
    pub(crate) fn no_version(wanted: &str, there_are: String) -> Self {
        Self::NoSuchVersion {
            wanted: wanted.to_owned(),
            there_are,
        }
    }

    /// Whether what came has other bytes than its version is known for: by our own comparison, or
    /// by pip's, which comes first.
    pub(crate) fn is_altered(&self) -> bool {
        match self {
            Self::Altered { .. } => true,
            Self::Failed { output, .. } => output.contains("DO NOT MATCH THE HASHES"),
            _ => false,
        }
    }

    /// A command that did not end in time.
    pub(crate) fn too_slow(command: String, limit: Duration, output: String) -> Self {
        let how = format!("did not finish within {limit:?}; raise --time-limit");
        Self::Failed {
            command,
            how,
            output,
        }
    }
}

fn not_known(wanted: Option<&str>, known: &str) -> String {
    let of = wanted.map_or("any version".to_owned(), |wanted| {
        format!("version {wanted}")
    });
    let known = if known.is_empty() { "none" } else { known };
    format!(
        "server.toml has no checksum of {of}; known versions: {known}; to install it without: \
         --unverified"
    )
}

/// A line for each; a single one in the same line.
fn lines(refusals: &[Refusal]) -> String {
    let lines = refusals
        .iter()
        .map(|Refusal { source, reason }| format!("{source}: {reason}"));
    let lines: Vec<String> = lines.collect();
    match lines.as_slice() {
        [one] => one.clone(),
        _ => format!("no source has it\n  {}", lines.join("\n  ")),
    }
}

fn below(output: &str) -> String {
    let output = output.trim();
    if output.is_empty() {
        String::new()
    } else {
        format!(":\n    {}", output.replace('\n', "\n    "))
    }
}
