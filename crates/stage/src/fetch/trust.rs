//! Whom a fetch believes: the stage's own authority, or anybody.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bakeoff_plan::ClientCertificate;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{default_provider, kx_group};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::Approach;

/// Whom a fetch believes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The authority whose certificate is in this file.
    Authority(PathBuf),
    /// Anybody: a configuration of the user's own has certificates of its own, and that the
    /// socket belongs to the server is known already.
    Anything,
}

impl Approach {
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
        let builder = match &self.trust {
            Trust::Authority(file) => {
                let pem = CertificateDer::from_pem_file(file).map_err(io::Error::other)?;
                let mut roots = RootCertStore::empty();
                roots.add(pem).map_err(io::Error::other)?;
                builder.with_root_certificates(roots)
            }
            Trust::Anything => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Anybody(provider.clone()))),
        };
        let mut config = match &self.client.certificate {
            None => builder.with_no_client_auth(),
            Some(own) => builder.with_client_cert_resolver(shown(own, &provider)?),
        };
        config.alpn_protocols = vec![alpn.to_vec()];
        Ok(Arc::new(config))
    }
}

/// A certificate of the client's. Whoever asks for it knows whether it is a good one; rustls would
/// refuse those of version 1.
fn shown(own: &ClientCertificate, provider: &CryptoProvider) -> io::Result<Arc<SingleCertAndKey>> {
    let failed = |path: &Path, cause: &dyn std::fmt::Display| {
        let path = path.display();
        io::Error::other(format!(
            "failed to read the client's PEM file {path}: {cause}"
        ))
    };
    let chain = CertificateDer::pem_file_iter(&own.chain).and_then(Iterator::collect);
    let chain: Vec<_> = chain.map_err(|cause| failed(&own.chain, &cause))?;
    let key = PrivateKeyDer::from_pem_file(&own.key).map_err(|cause| failed(&own.key, &cause))?;
    let key = provider.key_provider.load_private_key(key);
    let key = key.map_err(|cause| failed(&own.key, &cause))?;
    Ok(Arc::new(CertifiedKey::new(chain, key).into()))
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
