//! Consecutive values kept one by one: for looking at dependence and shape, not for quantiles.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Consecutive values; a file holds them as LEB128 in base64.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Samples(Vec<u64>);

impl Samples {
    /// The values, in order.
    pub fn values(&self) -> &[u64] {
        &self.0
    }

    /// Adds a value, unless there are `most` already.
    #[inline]
    pub fn push_up_to(&mut self, most: usize, value: u64) {
        if self.0.len() < most {
            self.0.push(value);
        }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends another thread's values.
    pub fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }
}

impl Serialize for Samples {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::with_capacity(self.0.len() * 3);
        for value in &self.0 {
            let mut rest = *value;
            while rest >= 0x80 {
                bytes.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            bytes.push(rest as u8);
        }
        serializer.serialize_str(&BASE64.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for Samples {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let text = String::deserialize(deserializer)?;
        let bytes = BASE64.decode(text).map_err(Error::custom)?;
        let (mut values, mut value, mut shift) = (Vec::new(), 0_u64, 0_u32);
        for byte in bytes {
            if shift > 63 {
                return Err(Error::custom("a sample has more than 64 bits"));
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 != 0 {
                shift += 7;
            } else {
                values.push(value);
                (value, shift) = (0, 0);
            }
        }
        if shift > 0 {
            return Err(Error::custom("the last sample is cut"));
        }
        Ok(Self(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gives_back_the_same_values() {
        let mut samples = Samples::default();
        for value in [0, 1, 127, 128, 300, 1 << 40, u64::MAX] {
            samples.push_up_to(7, value);
        }
        samples.push_up_to(7, 9);
        assert_eq!(samples.values().len(), 7, "no more than asked for");
        let text = serde_json::to_string(&samples).unwrap();
        assert_eq!(serde_json::from_str::<Samples>(&text).unwrap(), samples);
    }

    #[test]
    fn text_that_is_cut_or_too_long_is_refused() {
        for text in ["\"gA==\"", "\"/////////////w8=\"", "\"!\""] {
            assert!(serde_json::from_str::<Samples>(text).is_err(), "{text}");
        }
    }
}
