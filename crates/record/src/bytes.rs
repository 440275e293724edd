//! Bytes as they stand in a message between hosts: in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};

/// Bytes of a file or a body.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileBytes(#[serde(with = "self")] pub Vec<u8>);

/// Writes bytes.
///
/// # Errors
/// Those of the format.
pub fn serialize<S: Serializer>(bytes: &impl AsRef<[u8]>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&BASE64.encode(bytes))
}

/// Reads bytes again.
///
/// # Errors
/// Those of the format, or it is no base64.
pub fn deserialize<'de, D: Deserializer<'de>, B: From<Vec<u8>>>(from: D) -> Result<B, D::Error> {
    let text = String::deserialize(from)?;
    let bytes = BASE64.decode(text).map_err(D::Error::custom)?;
    Ok(bytes.into())
}
