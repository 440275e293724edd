//! Versions of a package whose bytes are known beforehand: `[source.known]` of a `server.toml`.
//!
//! It compares texts and reads no file; who has a file's digest asks it.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::version::{accepts, compare};

/// Hexadecimal digits of a SHA-256.
const SHA256_DIGITS: usize = 64;
/// Characters of a SHA-256 in base 64, as in Go's `h1:`.
const BASE64_CHARACTERS: usize = 44;

/// Version of the package, then the digests that it may have: one for each file that it comes in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Known(BTreeMap<String, Vec<String>>);

/// A version whose bytes are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KnownVersion<'a> {
    pub(crate) version: &'a str,
    digests: &'a [String],
}

/// How a digest is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Digests {
    /// `sha256:` and hexadecimal digits: of a file.
    Sha256,
    /// `h1:` and base 64: of a module's files and their names, as Go computes it.
    GoSum,
}

impl Known {
    /// The newest version that is wanted, by its own name or by what it is `called`.
    pub(crate) fn newest<'a>(
        &'a self,
        wanted: Option<&str>,
        called: impl Fn(&'a str) -> &'a str,
    ) -> Option<KnownVersion<'a>> {
        let newest = |is_meant: &dyn Fn(&'a str) -> bool| {
            let meant = self.0.iter().filter(|(version, _)| is_meant(version));
            meant.max_by(|(one, _), (other, _)| compare(one, other))
        };
        let found = match wanted {
            None => newest(&|_| true),
            Some(wanted) => newest(&|version| accepts(wanted, called(version)))
                .or_else(|| newest(&|version| accepts(wanted, version))),
        };
        found.map(|(version, digests)| KnownVersion { version, digests })
    }

    /// Versions for a sentence, the newest first.
    pub(crate) fn names(&self) -> String {
        let mut versions: Vec<&str> = self.0.keys().map(String::as_str).collect();
        versions.sort_by(|one, other| compare(other, one));
        if versions.is_empty() {
            return "none".to_owned();
        }
        versions.join(", ")
    }

    /// What is wrong in it.
    pub(crate) fn check(&self, digests: Digests) -> Result<(), String> {
        for (version, given) in &self.0 {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
            let begins = version.starts_with(|c: char| c.is_ascii_digit());
            if !begins || !version.chars().all(is_plain) {
                return Err(format!("`known` has `{version}`, which is no version"));
            }
            let is_sound = |digest: &String| digests.accept(digest);
            if given.is_empty() || !given.iter().all(is_sound) {
                let example = digests.example();
                return Err(format!(
                    "`known` of {version} must be a list of digests such as \"{example}\""
                ));
            }
        }
        Ok(())
    }
}

impl KnownVersion<'_> {
    /// Whether the bytes with this digest are known.
    pub(crate) fn has(&self, digest: &str) -> bool {
        self.digests.iter().any(|known| known == digest)
    }

    /// Every digest that it may have.
    pub(crate) fn digests(&self) -> &[String] {
        self.digests
    }
}

impl Digests {
    /// Whether a digest is written as it must be.
    pub(crate) fn accept(self, digest: &str) -> bool {
        match self {
            Self::Sha256 => digest.strip_prefix("sha256:").is_some_and(|hex| {
                let is_digit = |c: char| matches!(c, '0'..='9' | 'a'..='f');
                hex.len() == SHA256_DIGITS && hex.chars().all(is_digit)
            }),
            Self::GoSum => digest.strip_prefix("h1:").is_some_and(|base64| {
                let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
                base64.len() == BASE64_CHARACTERS && base64.chars().all(is_plain)
            }),
        }
    }

    fn example(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256:0123456789abcdef...",
            Self::GoSum => "h1:0123456789ABCDEFabcdef...=",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(versions: &[&str]) -> Known {
        let entry = |it: &&str| ((*it).to_owned(), vec![format!("sha256:{}", "0".repeat(64))]);
        Known(versions.iter().map(entry).collect())
    }

    #[test]
    fn the_newest_known_version_is_meant_by_dotted_part() {
        let known = known(&["2.8.4", "2.11.7", "2.9.1"]);
        let newest = |wanted| known.newest(wanted, |own| own).map(|it| it.version);
        assert_eq!(newest(None), Some("2.11.7"));
        assert_eq!(newest(Some("2")), Some("2.11.7"));
        assert_eq!(newest(Some("2.8")), Some("2.8.4"));
        assert_eq!(newest(Some("2.1")), None);
        assert_eq!(known.names(), "2.11.7, 2.9.1, 2.8.4");
        assert_eq!(Known::default().newest(None, |own| own), None);
        assert_eq!(Known::default().names(), "none");
    }

    #[test]
    fn what_a_package_carries_is_meant_before_its_own_version() {
        let known = known(&["1.28.5+1.28.3", "1.28.3+1.28.1"]);
        let carried = |own| crate::version::carried(own);
        let newest = |wanted| known.newest(Some(wanted), carried).map(|it| it.version);
        assert_eq!(newest("1.28.3"), Some("1.28.5+1.28.3"));
        assert_eq!(newest("1.28.1"), Some("1.28.3+1.28.1"));
        assert_eq!(newest("1.28.5"), Some("1.28.5+1.28.3"));
        assert_eq!(newest("1.28"), Some("1.28.5+1.28.3"));
    }

    #[test]
    fn digests_are_whole_or_refused() {
        let check = |version: &str, digest: &str, how: Digests| {
            let versions = BTreeMap::from([(version.to_owned(), vec![digest.to_owned()])]);
            Known(versions).check(how)
        };
        let (hex, base64) = ("0a".repeat(32), format!("{}=", "Aa+/".repeat(10) + "abc"));
        assert_eq!(
            check("1.0", &format!("sha256:{hex}"), Digests::Sha256),
            Ok(())
        );
        assert_eq!(
            check("1.0", &format!("h1:{base64}"), Digests::GoSum),
            Ok(())
        );
        for (version, digest) in [
            ("1.0", hex.as_str()),
            ("1.0", "sha256:0a"),
            ("1.0", &format!("sha256:{}", hex.to_uppercase())),
            ("1.0", &format!("h1:{base64}")),
            ("../x", &format!("sha256:{hex}")),
            ("1.0 --x", &format!("sha256:{hex}")),
        ] {
            let refused = check(version, digest, Digests::Sha256).unwrap_err();
            assert!(refused.contains(version), "{refused}");
        }
        let empty = Known(BTreeMap::from([("1.0".to_owned(), Vec::new())]));
        assert!(empty.check(Digests::Sha256).is_err());
    }
}
