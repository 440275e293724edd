//! What a stored plan holds otherwise than a plan file: lengths of time are seconds as a number.
//!
//! Up to a day, seconds as `f64` keep every nanosecond, so rounding gives back what was written.
//! A stored plan may come from somebody else, so what becomes a path is looked at again.

use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error, Unexpected};
use serde::ser::Serializer;

use crate::contender::ServerChoice;
use crate::model::{Load, Plan};
use crate::rules::{self, DURATION_MAX};

/// A kind that has no fields: serde by itself takes any.
pub(crate) fn nothing_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}
    Nothing::deserialize(deserializer).map(|Nothing {}| ())
}

/// A length of time.
pub(crate) mod seconds {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        duration: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(duration.as_secs_f64())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        read(f64::deserialize(deserializer)?)
    }
}

/// A length of time that may be left out.
pub(crate) mod optional_seconds {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => serializer.serialize_some(&duration.as_secs_f64()),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let seconds = Option::<f64>::deserialize(deserializer)?;
        seconds.map(read).transpose()
    }
}

fn read<E: Error>(seconds: f64) -> Result<Duration, E> {
    if (0.0..=DURATION_MAX.as_secs_f64()).contains(&seconds) {
        return Ok(Duration::from_nanos((seconds * 1e9).round() as u64));
    }
    let expected = "seconds from 0 to those of a day";
    Err(E::invalid_value(Unexpected::Float(seconds), &expected))
}

impl Plan {
    /// Whether nothing in a plan that was stored leads out of the folders it is for: names are
    /// parts of folders' names, and files are served below a document root. Nor may a search be
    /// one that no plan file could ask for.
    ///
    /// # Errors
    /// The first name or path that does not.
    pub fn check_stored_paths(&self) -> Result<(), String> {
        let contenders = self.contenders.iter().flat_map(|contender| {
            let server = match &contender.server {
                ServerChoice::Program { server, .. } => Some(server),
                _ => None,
            };
            std::iter::once(&contender.name).chain(server)
        });
        let workloads = self.workloads.iter().map(|it| &it.name);
        let mut names = std::iter::once(&self.name)
            .chain(contenders)
            .chain(workloads);
        if let Some(name) = names.find(|name| !is_part(name)) {
            return Err(format!("`{}` cannot be a name", name.escape_debug()));
        }
        let mut files = self.workloads.iter().flat_map(|it| &it.files);
        files.try_for_each(|file| rules::file_path(&file.path).map_err(|fault| fault.problem))?;
        let checked = self.loads.iter().try_for_each(Load::check);
        checked.map_err(|fault| fault.to_string())
    }
}

/// Whether `name` can be a part of a file's name.
fn is_part(name: &str) -> bool {
    let hidden = name.starts_with('.');
    !name.is_empty() && !hidden && !name.contains(['/', '\\']) && !name.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::tests::builtin;

    #[test]
    fn names_and_paths_that_lead_elsewhere_are_refused() {
        let check = |change: &dyn Fn(&mut Plan)| {
            let mut plan = builtin("hotdog");
            change(&mut plan);
            plan.check_stored_paths()
        };
        assert_eq!(check(&|_| ()), Ok(()));
        for name in ["", "..", "../a", "/a", "a/../../b", "a\n", ".a"] {
            assert!(check(&|plan| plan.name = name.to_owned()).is_err());
            assert!(check(&|plan| plan.contenders[1].name = name.to_owned()).is_err());
            assert!(check(&|plan| plan.workloads[1].name = name.to_owned()).is_err());
        }
        let large = |plan: &mut Plan| plan.workloads[2].files[0].path = "../a".to_owned();
        let refused = check(&large).unwrap_err();
        assert_eq!(refused, "`../a` is not a path below the document root");
    }
}
