//! TLS inside QUIC: the configuration that quinn-proto takes.

use std::sync::Arc;

use quinn_proto::crypto::rustls::QuicClientConfig;
use rustls::client::ClientConfig;
use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::pki_types::ServerName;

use super::Agreed;
use super::error::TlsSetupError;
use super::noted::Seen;

/// Settings made ready for QUIC: shared by all connections.
#[derive(Clone)]
pub(crate) struct QuicTls {
    pub(crate) config: Arc<QuicClientConfig>,
    pub(crate) server_name: String,
}

impl std::fmt::Debug for QuicTls {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("QuicTls")
            .field("server_name", &self.server_name)
            .finish_non_exhaustive()
    }
}

impl QuicTls {
    pub(super) fn new(
        config: Arc<ClientConfig>,
        name: &ServerName<'_>,
    ) -> Result<Self, TlsSetupError> {
        let contradiction = |message: String| TlsSetupError::Contradiction(message);
        // The first packets of every connection are under this suite, whatever is agreed on.
        let initial = TLS13_AES_128_GCM_SHA256
            .tls13()
            .and_then(|suite| suite.quic_suite())
            .ok_or_else(|| contradiction("TLS13_AES_128_GCM_SHA256 is missing".to_owned()))?;
        let config = QuicClientConfig::with_initial(config, initial)
            .map_err(|error| contradiction(error.to_string()))?;
        Ok(Self {
            config: Arc::new(config),
            server_name: name.to_str().into_owned(),
        })
    }
}

/// What a handshake of HTTP/3 agreed on: any other version and protocol would have ended it.
pub(crate) fn agreed_in_quic(seen: Seen) -> Agreed {
    Agreed {
        version: Some("TLSv1.3".to_owned()),
        cipher: seen.suite.map(|suite| format!("{suite:?}")),
        group: seen.group.map(|group| format!("{group:?}")),
        alpn: Some("h3".to_owned()),
    }
}
