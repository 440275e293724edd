//! What TLS is to offer and to verify, from names as people write them.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::ServerCertVerifier;
use rustls::client::{ClientConfig, Resumption, WebPkiServerVerifier};
use rustls::crypto::aws_lc_rs::{ALL_CIPHER_SUITES, ALL_KX_GROUPS, default_provider};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::ParsedCertificate;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, SupportedCipherSuite, SupportedProtocolVersion};
use serde::{Deserialize, Serialize};

use super::error::{PemFile, PemProblem, TlsSetupError};
use super::files::{self, Pem};
use super::noted;
use super::quic::QuicTls;
use super::verify::{AnyCertificate, Known};
use crate::spec::Speaking;

/// Groups offered unless others are asked for. Post-quantum ones are not among them: they cost
/// the client a multiple, and few servers under test agree to them.
const GROUPS: [&str; 3] = ["X25519", "secp256r1", "secp384r1"];

/// What TLS is to offer and to verify.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsSettings {
    /// Name asked for and verified; `None` takes the URL's host.
    pub server_name: Option<String>,
    /// What the server's certificate must lead to.
    pub trust: Trust,
    /// Versions offered.
    pub versions: TlsVersions,
    /// Cipher suites offered, such as `TLS13_AES_128_GCM_SHA256`; empty for all.
    pub ciphers: Vec<String>,
    /// Key exchange groups offered, such as `X25519`; empty for the usual three.
    pub groups: Vec<String>,
    /// Whether a new connection may resume an earlier one's session.
    pub resumption: bool,
    /// Whether requests are sent before the end of a resumed handshake; HTTP/3 only. A server may
    /// see such a request twice (RFC 9001, 9.2).
    pub early_data: bool,
    /// Certificate chain and key shown to the server, as PEM files.
    pub client_certificate: Option<(Pem, Pem)>,
}

/// What a server's certificate must lead to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trust {
    /// An authority that this system trusts.
    System,
    /// An authority in this PEM file.
    File(Pem),
    /// Anything: neither chain nor name nor signature is verified.
    Anything,
}

/// Versions of TLS offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TlsVersions {
    /// 1.2 and 1.3.
    Both,
    /// 1.2 only.
    Only12,
    /// 1.3 only.
    Only13,
}

/// Settings made ready: shared by all connections.
#[derive(Debug, Clone)]
pub(crate) struct TlsClient {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) name: ServerName<'static>,
}

/// Settings made ready for what carries TLS.
#[derive(Debug, Clone)]
pub(crate) enum TlsSide {
    Tcp(TlsClient),
    Quic(QuicTls),
}

impl Default for TlsSettings {
    fn default() -> Self {
        Self {
            server_name: None,
            trust: Trust::System,
            versions: TlsVersions::Both,
            ciphers: Vec::new(),
            groups: Vec::new(),
            resumption: false,
            early_data: false,
            client_certificate: None,
        }
    }
}

impl TlsSettings {
    /// The files that it names.
    pub fn pems_mut(&mut self) -> impl Iterator<Item = &mut Pem> {
        let trusted = match &mut self.trust {
            Trust::File(pem) => Some(pem),
            Trust::System | Trust::Anything => None,
        };
        let shown = self.client_certificate.iter_mut();
        trusted
            .into_iter()
            .chain(shown.flat_map(|(chain, key)| [chain, key]))
    }

    /// Makes the settings ready for connections to `host` (without a port) that speak so.
    pub(crate) fn side(&self, host: &str, speaking: &Speaking) -> Result<TlsSide, TlsSetupError> {
        let alpn = speaking.alpn();
        if speaking.is_h3() {
            self.ready_for_quic(host, alpn).map(TlsSide::Quic)
        } else {
            self.ready(host, alpn).map(TlsSide::Tcp)
        }
    }

    /// Makes the settings ready for connections to `host` (without a port), on which the
    /// protocols `alpn` are offered.
    pub(crate) fn ready(&self, host: &str, alpn: &[&[u8]]) -> Result<TlsClient, TlsSetupError> {
        let versions: &[&'static SupportedProtocolVersion] = match self.versions {
            TlsVersions::Both => &[&TLS13, &TLS12],
            TlsVersions::Only12 => &[&TLS12],
            TlsVersions::Only13 => &[&TLS13],
        };
        self.client(host, alpn, versions, false)
    }

    fn ready_for_quic(&self, host: &str, alpn: &[&[u8]]) -> Result<QuicTls, TlsSetupError> {
        if self.versions == TlsVersions::Only12 {
            let message = "QUIC needs TLS 1.3".to_owned();
            return Err(TlsSetupError::Contradiction(message));
        }
        let TlsClient { config, name } = self.client(host, alpn, &[&TLS13], true)?;
        QuicTls::new(config, &name)
    }

    /// Of QUIC, what a handshake comes to is noted on the way.
    fn client(
        &self,
        host: &str,
        alpn: &[&[u8]],
        versions: &[&'static SupportedProtocolVersion],
        is_quic: bool,
    ) -> Result<TlsClient, TlsSetupError> {
        let name = self.server_name.as_deref().unwrap_or(host);
        let bare = name
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        let server_name =
            ServerName::try_from(bare).map_err(|_| TlsSetupError::ServerName(name.to_owned()))?;
        let mut provider = self.provider()?;
        if is_quic {
            noted::note_provider(&mut provider);
        }
        let provider = Arc::new(provider);
        let contradiction = |error: rustls::Error| TlsSetupError::Contradiction(error.to_string());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(versions)
            .map_err(contradiction)?;
        let mut verifier = self.verifier(provider.clone())?;
        if is_quic {
            verifier = noted::note_verifier(verifier);
        }
        let builder = builder
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut config = match &self.client_certificate {
            None => builder.with_no_client_auth(),
            Some(files) => builder.with_client_cert_resolver(client_key(&provider, files)?),
        };
        config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        config.resumption = if self.resumption {
            Resumption::in_memory_sessions(4096)
        } else {
            Resumption::disabled()
        };
        config.enable_early_data = is_quic && self.resumption && self.early_data;
        Ok(TlsClient {
            config: Arc::new(config),
            name: server_name,
        })
    }

    fn verifier(
        &self,
        provider: Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, TlsSetupError> {
        let (roots, named) = match &self.trust {
            Trust::Anything => return Ok(Arc::new(AnyCertificate(provider))),
            Trust::File(pem) => {
                let named = files::certificates(PemFile::Authorities, pem)?;
                (roots_from(&pem.path, &named)?, named)
            }
            Trust::System => (system_roots()?, Vec::new()),
        };
        let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), provider).build();
        let authorities =
            verifier.map_err(|error| TlsSetupError::Contradiction(error.to_string()))?;
        Ok(Arc::new(Known { authorities, named }))
    }

    fn provider(&self) -> Result<CryptoProvider, TlsSetupError> {
        let mut provider = default_provider();
        if !self.ciphers.is_empty() {
            provider.cipher_suites = self
                .ciphers
                .iter()
                .map(|name| cipher(name))
                .collect::<Result<_, _>>()?;
        }
        let usual = GROUPS.map(str::to_owned);
        let names = if self.groups.is_empty() {
            &usual[..]
        } else {
            &self.groups
        };
        provider.kx_groups = names
            .iter()
            .map(|name| group(name))
            .collect::<Result<_, _>>()?;
        Ok(provider)
    }
}

/// The suite called `name`, whatever its case and with or without `TLS_`.
fn cipher(name: &str) -> Result<SupportedCipherSuite, TlsSetupError> {
    let plain = |name: &str| {
        name.to_ascii_uppercase()
            .replace("TLS13_", "TLS_")
            .replace('-', "_")
    };
    let named =
        |suite: &&SupportedCipherSuite| plain(&format!("{:?}", suite.suite())) == plain(name);
    ALL_CIPHER_SUITES
        .iter()
        .find(named)
        .copied()
        .ok_or_else(|| TlsSetupError::Cipher {
            name: name.to_owned(),
            known: joined(
                ALL_CIPHER_SUITES
                    .iter()
                    .map(|suite| format!("{:?}", suite.suite())),
            ),
        })
}

fn group(name: &str) -> Result<&'static dyn SupportedKxGroup, TlsSetupError> {
    let known = || {
        ALL_KX_GROUPS
            .iter()
            .map(|group| (format!("{:?}", group.name()), *group))
    };
    let found = known().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found
        .map(|(_, group)| group)
        .ok_or_else(|| TlsSetupError::Group {
            name: name.to_owned(),
            known: joined(known().map(|(name, _)| name)),
        })
}

fn joined(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

fn roots_from(
    path: &Path,
    named: &[CertificateDer<'static>],
) -> Result<RootCertStore, TlsSetupError> {
    let mut roots = RootCertStore::empty();
    for (which, certificate) in (1..).zip(named) {
        roots.add(certificate.clone()).map_err(|_| {
            let problem = PemProblem::NoCertificate(which);
            files::failed(PemFile::Authorities, path, problem)
        })?;
    }
    Ok(roots)
}

fn system_roots() -> Result<RootCertStore, TlsSetupError> {
    let loaded = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(loaded.certs);
    if roots.is_empty() {
        let reason = loaded
            .errors
            .first()
            .map_or("none found".to_owned(), ToString::to_string);
        return Err(TlsSetupError::NoRoots(reason));
    }
    Ok(roots)
}

/// The client's certificates with their key. rustls's own way verifies that the certificate is one
/// of version 3, which servers need not ask for.
fn client_key(
    provider: &CryptoProvider,
    (chain, key): &(Pem, Pem),
) -> Result<Arc<SingleCertAndKey>, TlsSetupError> {
    let certificates = files::certificates(PemFile::Certificate, chain)?;
    let signing = provider
        .key_provider
        .load_private_key(files::private_key(key)?);
    let signing =
        signing.map_err(|_| files::failed(PemFile::Key, &key.path, PemProblem::KindOfKey))?;
    let own = certificates.first().map_or(&[][..], |own| own);
    if !files::is_version_1(own) && ParsedCertificate::try_from(&CertificateDer::from(own)).is_err()
    {
        return Err(files::failed(
            PemFile::Certificate,
            &chain.path,
            PemProblem::NoCertificate(1),
        ));
    }
    // A certificate holds its public key as it is.
    let holds = |public: &[u8]| own.windows(public.len().max(1)).any(|part| part == public);
    if signing.public_key().is_some_and(|public| !holds(&public)) {
        return Err(TlsSetupError::OtherKey {
            certificate: chain.path.clone(),
            key: key.path.clone(),
        });
    }
    let certified = CertifiedKey::new(certificates, signing);
    Ok(Arc::new(SingleCertAndKey::from(certified)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_and_groups_are_found_by_name() {
        let settings = TlsSettings {
            trust: Trust::Anything,
            ciphers: vec!["tls_aes_128_gcm_sha256".to_owned()],
            groups: vec!["x25519".to_owned()],
            ..TlsSettings::default()
        };
        let ready = settings.ready("localhost", &[b"http/1.1"]).unwrap();
        assert_eq!(ready.config.crypto_provider().cipher_suites.len(), 1);
        assert_eq!(ready.config.crypto_provider().kx_groups.len(), 1);
    }

    #[test]
    fn what_does_not_exist_is_named_with_what_does() {
        let error = |settings: TlsSettings| {
            settings
                .ready("localhost", &[b"http/1.1"])
                .unwrap_err()
                .to_string()
        };
        let ciphers = vec!["RC4".to_owned()];
        let text = error(TlsSettings {
            ciphers,
            trust: Trust::Anything,
            ..TlsSettings::default()
        });
        assert!(
            text.contains("RC4") && text.contains("TLS13_AES_128_GCM_SHA256"),
            "{text}"
        );
        let groups = vec!["x448".to_owned()];
        let text = error(TlsSettings {
            groups,
            trust: Trust::Anything,
            ..TlsSettings::default()
        });
        assert!(text.contains("x448") && text.contains("X25519"), "{text}");
        let trust = Trust::File("/nonexistent/ca.pem".into());
        let text = error(TlsSettings {
            trust,
            ..TlsSettings::default()
        });
        assert!(text.contains("/nonexistent/ca.pem"), "{text}");
    }
}
