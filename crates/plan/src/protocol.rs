//! Protocols that requests travel by.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

crate::named! {
    /// How requests travel to a server.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Protocol {
        /// HTTP/1.1 in the clear.
        #[default]
        H1 = "h1",
        /// HTTP/1.1 over TLS.
        H1Tls = "h1-tls",
        /// HTTP/2 over TLS, agreed on by ALPN.
        H2 = "h2",
        /// HTTP/2 in the clear, by prior knowledge.
        H2c = "h2c",
        /// HTTP/3 over QUIC, by prior knowledge.
        H3 = "h3",
    }
}

impl Protocol {
    /// Whether it travels inside TLS; QUIC has it within.
    pub fn is_secure(self) -> bool {
        matches!(self, Self::H1Tls | Self::H2 | Self::H3)
    }

    /// Whether it is HTTP/2.
    pub fn is_h2(self) -> bool {
        matches!(self, Self::H2 | Self::H2c)
    }

    /// Whether it is HTTP/3.
    pub fn is_h3(self) -> bool {
        self == Self::H3
    }

    /// Whether a connection carries several requests at once.
    pub fn has_streams(self) -> bool {
        self.is_h2() || self.is_h3()
    }
}
