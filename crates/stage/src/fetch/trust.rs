//! Whom a fetch believes: the stage's own authority, or anybody.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{default_provider, kx_group};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// Whom a fetch believes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The authority whose certificate is in this file.
    Authority(PathBuf),
    /// Anybody: a configuration of the user's own has certificates of its own, and that the
    /// socket belongs to the server is known already.
    Anything,
}

impl Trust {
    /// A client that offers one application protocol.
    pub(super) fn config(&self, alpn: &[u8]) -> io::Result<Arc<ClientConfig>> {
        // The groups that the load engine offers, so that a check agrees on what a load does.
        let provider = Arc::new(CryptoProvider {
            kx_groups: vec![kx_group::X25519, kx_group::SECP256R1, kx_group::SECP384R1],
            ..default_provider()
        });
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?;
        let mut config = match self {
            Self::Authority(file) => {
                let pem = CertificateDer::from_pem_file(file).map_err(io::Error::other)?;
                let mut roots = RootCertStore::empty();
                roots.add(pem).map_err(io::Error::other)?;
                builder.with_root_certificates(roots).with_no_client_auth()
            }
            Self::Anything => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Anybody(provider)))
                .with_no_client_auth(),
        };
        config.alpn_protocols = vec![alpn.to_vec()];
        Ok(Arc::new(config))
    }
}

/// Accepts every certificate.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
