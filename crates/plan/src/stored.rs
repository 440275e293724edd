//! What a stored plan holds otherwise than a plan file: lengths of time are seconds as a number.
//!
//! Up to a day, seconds as `f64` keep every nanosecond, so rounding gives back what was written.

use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error, Unexpected};
use serde::ser::Serializer;

use crate::rules::DURATION_MAX;

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
