//! TLS inside QUIC: the configuration that quinn-proto takes, and what it does not tell.

use std::cell::Cell;
use std::sync::Arc;

use quinn_proto::crypto::rustls::QuicClientConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};

use super::Agreed;
use super::settings::{TlsClient, TlsSetupError};

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
    pub(super) fn new(client: TlsClient) -> Result<Self, TlsSetupError> {
        let contradiction = |words: String| TlsSetupError::Contradiction(words);
        // The first packets of every connection are under this suite, whatever is agreed on.
        let initial = TLS13_AES_128_GCM_SHA256
            .tls13()
            .and_then(|suite| suite.quic_suite())
            .ok_or_else(|| contradiction("TLS13_AES_128_GCM_SHA256 is missing".to_owned()))?;
        let config = QuicClientConfig::with_initial(client.config, initial)
            .map_err(|error| contradiction(error.to_string()))?;
        Ok(Self {
            config: Arc::new(config),
            server_name: client.name.to_str().into_owned(),
        })
    }
}

/// What every handshake of HTTP/3 agrees on. quinn-proto does not tell suite and group.
pub(crate) fn agreed_in_quic() -> Agreed {
    Agreed {
        version: Some("TLSv1.3".to_owned()),
        alpn: Some("h3".to_owned()),
        ..Agreed::default()
    }
}

thread_local! {
    static HAS_VERIFIED: Cell<bool> = const { Cell::new(false) };
}

/// Begins to watch whether a certificate is verified on this thread.
pub(crate) fn forget_verified() {
    HAS_VERIFIED.set(false);
}

/// Whether a certificate was verified on this thread since [`forget_verified`]: then the
/// handshake that went on in between was a full one. quinn-proto does not tell otherwise.
pub(crate) fn has_verified() -> bool {
    HAS_VERIFIED.get()
}

/// `verifier`, noticed when it is asked.
pub(super) fn noticed(verifier: Arc<dyn ServerCertVerifier>) -> Arc<dyn ServerCertVerifier> {
    Arc::new(Noticed(verifier))
}

#[derive(Debug)]
struct Noticed(Arc<dyn ServerCertVerifier>);

impl ServerCertVerifier for Noticed {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        HAS_VERIFIED.set(true);
        self.0
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
