//! What happens in a handshake of QUIC and quinn-proto does not report: whether a certificate was
//! verified, and suite and group. What rustls is given for each of them notes its use.
//!
//! Notes are the thread's: who wants them forgets the old ones, lets a handshake go on, and looks.

use std::cell::Cell;
use std::sync::{Arc, LazyLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::{ALL_CIPHER_SUITES, ALL_KX_GROUPS};
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::crypto::{
    ActiveKeyExchange, CipherSuiteCommon, CryptoProvider, SharedSecret, SupportedKxGroup,
};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::quic::{Algorithm, HeaderProtectionKey, PacketKey};
use rustls::{
    CipherSuite, DigitallySignedStruct, Error, NamedGroup, ProtocolVersion, SignatureScheme,
    SupportedCipherSuite, Tls13CipherSuite,
};

/// What was seen of a handshake.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    /// The server proved who it is: the handshake was a full one.
    pub(crate) verified: bool,
    /// What packets were protected by last.
    pub(crate) suite: Option<CipherSuite>,
    pub(crate) group: Option<NamedGroup>,
}

impl Seen {
    /// Adds what was seen later.
    pub(crate) fn add(&mut self, later: Self) {
        self.verified |= later.verified;
        self.suite = later.suite.or(self.suite);
        self.group = later.group.or(self.group);
    }
}

thread_local! {
    static SEEN: Cell<Seen> = const {
        Cell::new(Seen { verified: false, suite: None, group: None })
    };
}

/// Begins to watch the handshakes of this thread.
pub(crate) fn forget_seen() {
    SEEN.take();
}

/// What was seen on this thread since [`forget_seen`].
pub(crate) fn seen() -> Seen {
    SEEN.get()
}

fn note(add: impl FnOnce(&mut Seen)) {
    let mut seen = SEEN.get();
    add(&mut seen);
    SEEN.set(seen);
}

/// Lets the suites and groups of `provider` note their use.
pub(super) fn note_provider(provider: &mut CryptoProvider) {
    for suite in &mut provider.cipher_suites {
        let noted = SUITES
            .iter()
            .find(|each| each.common.suite == suite.suite());
        if let Some(noted) = noted {
            *suite = SupportedCipherSuite::Tls13(noted);
        }
    }
    for group in &mut provider.kx_groups {
        if let Some(noted) = GROUPS.iter().find(|each| each.name() == group.name()) {
            *group = noted;
        }
    }
}

/// Lets `verifier` note its use.
pub(super) fn note_verifier(verifier: Arc<dyn ServerCertVerifier>) -> Arc<dyn ServerCertVerifier> {
    Arc::new(NotedVerifier(verifier))
}

static ALGORITHMS: LazyLock<Vec<NotedAlgorithm>> = LazyLock::new(|| {
    let suites = ALL_CIPHER_SUITES.iter();
    suites
        .filter_map(|suite| suite.tls13())
        .filter_map(|suite| Some(NotedAlgorithm(suite.common.suite, suite.quic?)))
        .collect()
});

static SUITES: LazyLock<Vec<Tls13CipherSuite>> = LazyLock::new(|| {
    let suites = ALL_CIPHER_SUITES.iter();
    suites
        .filter_map(|suite| suite.tls13())
        .filter_map(|suite| {
            let noted = |each: &&'static NotedAlgorithm| each.0 == suite.common.suite;
            let algorithm: &'static NotedAlgorithm = ALGORITHMS.iter().find(noted)?;
            Some(Tls13CipherSuite {
                common: CipherSuiteCommon {
                    suite: suite.common.suite,
                    hash_provider: suite.common.hash_provider,
                    confidentiality_limit: suite.common.confidentiality_limit,
                },
                hkdf_provider: suite.hkdf_provider,
                aead_alg: suite.aead_alg,
                quic: Some(algorithm),
            })
        })
        .collect()
});

static GROUPS: LazyLock<Vec<NotedGroup>> = LazyLock::new(|| {
    ALL_KX_GROUPS
        .iter()
        .map(|group| NotedGroup(*group))
        .collect()
});

struct NotedAlgorithm(CipherSuite, &'static dyn Algorithm);

impl Algorithm for NotedAlgorithm {
    fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn PacketKey> {
        note(|seen| seen.suite = Some(self.0));
        self.1.packet_key(key, iv)
    }

    fn header_protection_key(&self, key: AeadKey) -> Box<dyn HeaderProtectionKey> {
        self.1.header_protection_key(key)
    }

    fn aead_key_len(&self) -> usize {
        self.1.aead_key_len()
    }

    fn fips(&self) -> bool {
        self.1.fips()
    }
}

#[derive(Debug)]
struct NotedGroup(&'static dyn SupportedKxGroup);

impl SupportedKxGroup for NotedGroup {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(NotedExchange(self.0.start()?)))
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        self.0.ffdhe_group()
    }

    fn name(&self) -> NamedGroup {
        self.0.name()
    }

    fn fips(&self) -> bool {
        self.0.fips()
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        self.0.usable_for_version(version)
    }
}

struct NotedExchange(Box<dyn ActiveKeyExchange>);

impl ActiveKeyExchange for NotedExchange {
    fn complete(self: Box<Self>, peer_pub_key: &[u8]) -> Result<SharedSecret, Error> {
        note(|seen| seen.group = Some(self.0.group()));
        self.0.complete(peer_pub_key)
    }

    fn hybrid_component(&self) -> Option<(NamedGroup, &[u8])> {
        self.0.hybrid_component()
    }

    fn complete_hybrid_component(
        self: Box<Self>,
        peer_pub_key: &[u8],
    ) -> Result<SharedSecret, Error> {
        let component = self.0.hybrid_component().map(|(group, _)| group);
        note(|seen| seen.group = component);
        self.0.complete_hybrid_component(peer_pub_key)
    }

    fn pub_key(&self) -> &[u8] {
        self.0.pub_key()
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        self.0.ffdhe_group()
    }

    fn group(&self) -> NamedGroup {
        self.0.group()
    }
}

#[derive(Debug)]
struct NotedVerifier(Arc<dyn ServerCertVerifier>);

impl ServerCertVerifier for NotedVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        note(|seen| seen.verified = true);
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
