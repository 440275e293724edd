//! `installed.toml`, next to an installed program: what it is and where it came from.

use std::io;
use std::path::Path;

use bakeoff_record::PackageFacts;
use serde::{Deserialize, Serialize};

/// Name of the file.
pub(crate) const FILE: &str = "installed.toml";

/// Where a program came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Installed {
    /// Name of the server's folder.
    pub(crate) server: String,
    /// As the program reports it.
    pub(crate) version: String,
    /// SHA-256 of the program, hex.
    pub(crate) sha256: String,
    /// When.
    pub(crate) date: String,
    /// Kind of the source.
    pub(crate) source: String,
    /// Package, and its own version.
    pub(crate) package: String,
    pub(crate) package_version: String,
    /// What the package's registry, or its file, says of its bytes.
    pub(crate) package_hash: String,
    /// Whether that is a hash that the server's folder knew.
    pub(crate) verified: bool,
    /// Commands that got and built it.
    pub(crate) commands: Vec<String>,
    /// What these tools say of themselves.
    pub(crate) tools: Vec<String>,
}

impl Installed {
    /// What is said of the program at `path`, if anything is.
    pub(crate) fn beside(path: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(path.with_file_name(FILE)).ok()?;
        toml::from_str(&text).ok()
    }

    /// What is wrong with the file beside the program at `path`, where it is there and cannot be
    /// read: then nobody knows what the program was.
    pub(crate) fn fault_beside(path: &Path) -> Option<String> {
        let fault = match std::fs::read_to_string(path.with_file_name(FILE)) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return None,
            Err(cause) => cause.to_string(),
            Ok(text) => toml::from_str::<Self>(&text).err()?.message().to_owned(),
        };
        Some(format!("{FILE} beside it cannot be read: {fault}"))
    }

    /// What is wrong with the program, whose SHA-256 is now this one.
    pub(crate) fn damage(&self, sha256: io::Result<String>) -> Option<String> {
        match sha256 {
            Ok(now) if now == self.sha256 => None,
            Ok(now) => Some(format!(
                "its sha256 is {now:.12}..., not {:.12}...",
                self.sha256
            )),
            Err(cause) => Some(cause.to_string()),
        }
    }

    /// What a trial's record says of it.
    pub(crate) fn facts(self) -> PackageFacts {
        PackageFacts {
            source: self.source,
            name: self.package,
            version: self.package_version,
            hash: self.package_hash,
            verified: self.verified,
        }
    }

    pub(crate) fn to_toml(&self) -> String {
        let text = toml::to_string(self).expect("its types are all TOML's");
        format!("# Written by `bakeoff install`, which compares the program with it.\n{text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_says_nothing_is_a_fault_and_a_missing_one_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("tart");
        assert_eq!(Installed::fault_beside(&program), None);
        for text in ["", "server = ", "server = \"tart\"\n"] {
            std::fs::write(folder.path().join(FILE), text).unwrap();
            assert!(Installed::beside(&program).is_none());
            let fault = Installed::fault_beside(&program).unwrap();
            assert!(fault.starts_with("installed.toml beside it cannot be read: "));
        }
    }
}
