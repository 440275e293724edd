//! Certificates and keys out of PEM files. What such a file holds instead is named, with what makes
//! PEM of it: a library would only say that nothing was found.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use bakeoff_record::FileBytes;
use rustls::pki_types::pem::{PemObject as _, SectionKind};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::{Deserialize, Serialize};

use super::error::{FILE_BYTES_MAX, PemFile, PemProblem, TlsSetupError};

/// A file of certificates or keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pem {
    /// Where it is, or was on the host that it came from.
    pub path: PathBuf,
    /// What it holds, where that came with it.
    pub bytes: Option<FileBytes>,
}

impl<P: Into<PathBuf>> From<P> for Pem {
    fn from(path: P) -> Self {
        Self {
            path: path.into(),
            bytes: None,
        }
    }
}

/// The certificates of a file, in order; at least one.
pub(super) fn certificates(
    file: PemFile,
    pem: &Pem,
) -> Result<Vec<CertificateDer<'static>>, TlsSetupError> {
    let sections = sections(file, pem, |kind| kind == SectionKind::Certificate)?;
    let read = sections.into_iter();
    Ok(read.map(|(_, der)| CertificateDer::from(der)).collect())
}

/// The first private key of a file.
pub(super) fn private_key(pem: &Pem) -> Result<PrivateKeyDer<'static>, TlsSetupError> {
    let is_key = |kind| {
        matches!(
            kind,
            SectionKind::PrivateKey | SectionKind::RsaPrivateKey | SectionKind::EcPrivateKey
        )
    };
    let sections = sections(PemFile::Key, pem, is_key)?;
    let mut keys = sections
        .into_iter()
        .filter_map(|(kind, der)| PrivateKeyDer::from_pem(kind, der));
    keys.next()
        .ok_or_else(|| failed(PemFile::Key, &pem.path, PemProblem::NotPem))
}

pub(super) fn failed(file: PemFile, path: &Path, problem: PemProblem) -> TlsSetupError {
    TlsSetupError::Pem {
        file,
        path: path.to_owned(),
        problem,
    }
}

/// Whether a certificate is one of X.509 version 1, which has no field for its version.
pub(super) fn is_version_1(der: &[u8]) -> bool {
    let signed = inside_sequence(der).and_then(inside_sequence);
    signed.is_some_and(|fields| fields.first() == Some(&0x02))
}

/// The parts of a file that are wanted; at least one.
fn sections(
    file: PemFile,
    Pem { path, bytes }: &Pem,
    is_wanted: impl Fn(SectionKind) -> bool,
) -> Result<Vec<(SectionKind, Vec<u8>)>, TlsSetupError> {
    let bytes = match bytes {
        Some(bytes) => Cow::Borrowed(&bytes.0),
        None => Cow::Owned(read(path).map_err(|problem| failed(file, path, problem))?),
    };
    let all = <(SectionKind, Vec<u8>)>::pem_slice_iter(&bytes);
    let all: Result<Vec<_>, _> = all.collect();
    let found =
        all.map_err(|error| failed(file, path, damage(file, &bytes, &error.to_string())))?;
    let wanted: Vec<_> = found
        .into_iter()
        .filter(|(kind, _)| is_wanted(*kind))
        .collect();
    if wanted.is_empty() {
        return Err(failed(file, path, other(file, &bytes)));
    }
    Ok(wanted)
}

fn read(path: &Path) -> Result<Vec<u8>, PemProblem> {
    let mut bytes = Vec::new();
    // It may be a pipe, as of `<(...)` in a shell.
    let read = File::open(path).and_then(|file| {
        let mut file = file.take(FILE_BYTES_MAX + 1);
        file.read_to_end(&mut bytes)
    });
    match read {
        Err(error) => Err(PemProblem::Unreadable(error.to_string())),
        Ok(length) if length as u64 > FILE_BYTES_MAX => Err(PemProblem::TooLong),
        Ok(_) => Ok(bytes),
    }
}

/// What a file is whose PEM cannot be read.
fn damage(file: PemFile, bytes: &[u8], error: &str) -> PemProblem {
    match other(file, bytes) {
        PemProblem::Encrypted => PemProblem::Encrypted,
        _ => PemProblem::Damaged(error.to_owned()),
    }
}

/// What a file is that has nothing of what is wanted.
fn other(file: PemFile, bytes: &[u8]) -> PemProblem {
    let text = String::from_utf8_lossy(bytes);
    let begins = |label: &str| text.contains(&format!("-----BEGIN {label}"));
    let is_key = file == PemFile::Key;
    if text.trim().is_empty() {
        PemProblem::Empty
    } else if is_key && (begins("ENCRYPTED PRIVATE KEY") || text.contains("4,ENCRYPTED")) {
        PemProblem::Encrypted
    } else if is_key && begins("OPENSSH PRIVATE KEY") {
        PemProblem::Ssh
    } else if begins("CERTIFICATE REQUEST") || begins("NEW CERTIFICATE REQUEST") {
        PemProblem::Holds("a request for a certificate")
    } else if begins("CERTIFICATE") {
        PemProblem::Holds("a certificate")
    } else if text.contains("PRIVATE KEY-----") {
        PemProblem::Holds("a private key")
    } else if begins("PUBLIC KEY") {
        PemProblem::Holds("a public key")
    } else if begins("") {
        PemProblem::Holds("other PEM")
    } else if let Some(inside) = inside_sequence(bytes) {
        // PFX begins with its version, 3 (RFC 7292, 4).
        match inside.starts_with(&[2, 1, 3]) {
            true => PemProblem::Pkcs12,
            false => PemProblem::Der,
        }
    } else {
        PemProblem::NotPem
    }
}

/// What stands in a sequence of DER with which `bytes` begin.
fn inside_sequence(bytes: &[u8]) -> Option<&[u8]> {
    let (tag, length) = (*bytes.first()?, *bytes.get(1)?);
    let header = match length {
        0x00..=0x7f => 2,
        0x80..=0x84 => 2 + usize::from(length - 0x80),
        _ => return None,
    };
    bytes.get(header..).filter(|_| tag == 0x30)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::{TlsSettings, Trust};

    /// A certificate of version 1, as `openssl x509 -req` makes it without -extfile, and its key.
    const VERSION_1: &str = "-----BEGIN CERTIFICATE-----
MIIBJDCBzAIUAS9lNmfScaxtm9j0f9p1vsndhHgwCgYIKoZIzj0EAwIwGDEWMBQG
A1UEAwwNb3duIGF1dGhvcml0eTAgFw0yNjExMzAwNzAzMDZaGA8yMTI2MTEwNjA3
MDMwNlowETEPMA0GA1UEAwwGY2xpZW50MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcD
QgAEvTtnmIr2zEvuDxGWazELgL9lAUbWx7UNdd4PyzMNeMuHrgFKGWsm+FdoVJnN
5tSgxT3RmMmGabTCNR0vp2DJgzAKBggqhkjOPQQDAgNHADBEAiB3ufxEWjJvpfMy
vyKyI29U61PkyTw8v9N/ZiVMtl+VcQIgCR2NBx95LghNBJdNAnoiKgNRRU09etny
PYfRVKqIbv0=
-----END CERTIFICATE-----
";
    const ITS_KEY: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgsNl1kkUkYQ6VJaEt
9aGa/Po0Sie4yyn5mFA/OSQByEShRANCAAS9O2eYivbMS+4PEZZrMQuAv2UBRtbH
tQ113g/LMw14y4euAUoZayb4V2hUmc3m1KDFPdGYyYZptMI1HS+nYMmD
-----END PRIVATE KEY-----
";

    struct Files(tempfile::TempDir);

    impl Files {
        fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
            let path = self.0.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        }

        /// What setting TLS up with these settings comes to.
        fn said(&self, settings: &TlsSettings) -> Result<(), String> {
            let ready = settings.ready("localhost", &[b"http/1.1"]);
            let folder = format!("{}/", self.0.path().display());
            ready
                .map(drop)
                .map_err(|error| error.to_string().replace(&folder, ""))
        }

        fn client(
            &self,
            certificate: impl AsRef<[u8]>,
            key: impl AsRef<[u8]>,
        ) -> Result<(), String> {
            let files = (
                self.write("c.pem", certificate).into(),
                self.write("k.pem", key).into(),
            );
            self.said(&TlsSettings {
                trust: Trust::Anything,
                client_certificate: Some(files),
                ..TlsSettings::default()
            })
        }

        fn authorities(&self, bytes: impl AsRef<[u8]>) -> Result<(), String> {
            self.said(&TlsSettings {
                trust: Trust::File(self.write("ca.pem", bytes).into()),
                ..TlsSettings::default()
            })
        }
    }

    fn files() -> Files {
        Files(tempfile::tempdir().unwrap())
    }

    #[test]
    fn a_client_certificate_of_version_1_is_used() {
        let files = files();
        assert_eq!(files.client(VERSION_1, ITS_KEY), Ok(()));
        let both = format!("{VERSION_1}{ITS_KEY}");
        assert_eq!(files.client(&both, &both), Ok(()));
        let made = rcgen::generate_simple_self_signed(vec!["a.test".to_owned()]).unwrap();
        assert_eq!(
            files.client(made.cert.pem(), made.signing_key.serialize_pem()),
            Ok(())
        );
        assert_eq!(
            files.authorities(VERSION_1),
            Ok(()),
            "as one of an authority"
        );
    }

    const PKCS12: [u8; 8] = [0x30, 0x82, 0x0a, 0, 2, 1, 3, 0x30];

    fn made() -> (rcgen::Certificate, rcgen::KeyPair) {
        let made = rcgen::generate_simple_self_signed(vec!["a.test".to_owned()]).unwrap();
        (made.cert, made.signing_key)
    }

    fn labelled(label: &str) -> String {
        format!("-----BEGIN {label}-----\nAAAA\n-----END {label}-----\n")
    }

    #[test]
    fn what_is_no_certificate_is_named_with_what_it_is_and_what_to_do() {
        let (files, (own, key)) = (files(), made());
        let (der, key) = (own.der().to_vec(), key.serialize_pem());
        let certificate = "failed to read the client certificate (--cert) from c.pem: ";
        for (bytes, words) in [
            (&b""[..], "it is empty"),
            (b"hello", "it has no PEM, as in -----BEGIN CERTIFICATE-----"),
            (
                key.as_bytes(),
                "it holds a private key and no certificate: --cert names",
            ),
            (
                labelled("CERTIFICATE REQUEST").as_bytes(),
                "it holds a request for a certificate",
            ),
            (
                &PKCS12,
                "it is PKCS#12: write PEM with `openssl pkcs12 -in c.pem -nodes",
            ),
            (
                &der,
                "it is not PEM: if it is DER, write PEM with `openssl x509 -inform DER",
            ),
            (
                labelled("CERTIFICATE").as_bytes(),
                "certificate 1 in it is damaged",
            ),
            (b"-----BEGIN CERTIFICATE-----\nAAAA\n", "its PEM is damaged"),
        ] {
            let said = files.client(bytes, &key).unwrap_err();
            assert!(said.starts_with(&format!("{certificate}{words}")), "{said}");
        }
    }

    #[test]
    fn what_is_no_key_is_named_with_what_it_is_and_what_to_do() {
        let (files, (own, key)) = (files(), made());
        let (own, der) = (own.pem(), key.serialize_der());
        let old = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: A\n\nAAAA\n\
                   -----END RSA PRIVATE KEY-----\n";
        let of_key = "failed to read the client's key (--key) from k.pem: ";
        for (bytes, words) in [
            (&b"\n"[..], "it is empty"),
            (
                own.as_bytes(),
                "it holds a certificate and no private key: --cert names",
            ),
            (
                labelled("ENCRYPTED PRIVATE KEY").as_bytes(),
                "the key is encrypted: write it",
            ),
            (
                old.as_bytes(),
                "the key is encrypted: write it without a password",
            ),
            (
                labelled("OPENSSH PRIVATE KEY").as_bytes(),
                "it is a key of OpenSSH",
            ),
            (
                labelled("PUBLIC KEY").as_bytes(),
                "it holds a public key and no private key",
            ),
            (
                labelled("PRIVATE KEY").as_bytes(),
                "this kind of key is not supported",
            ),
            (
                &der,
                "it is not PEM: if it is DER, write PEM with `openssl pkey",
            ),
        ] {
            let said = files.client(&own, bytes).unwrap_err();
            assert!(said.starts_with(&format!("{of_key}{words}")), "{said}");
        }
    }

    #[test]
    fn a_key_of_another_certificate_is_named_with_both_files() {
        let (files, (own, key)) = (files(), made());
        let (own, key) = (own.pem(), key.serialize_pem());
        let said = files.client(&own, ITS_KEY).unwrap_err();
        assert!(
            said.starts_with("the private key in k.pem is not that of the first"),
            "{said}"
        );
        let said = files.client(VERSION_1, &key).unwrap_err();
        assert!(said.contains("certificate in c.pem"), "{said}");
    }

    #[test]
    fn what_is_no_authority_is_named_with_what_it_is() {
        let (files, (own, key)) = (files(), made());
        let (own, key) = (own.pem(), key.serialize_pem());
        let authorities = "failed to read the authorities (--cacert) from ca.pem: ";
        for (bytes, words) in [
            (
                &PKCS12[..],
                "it is PKCS#12: write PEM with `openssl pkcs12 -in ca.pem -nokeys",
            ),
            (
                format!("{own}{}", labelled("CERTIFICATE")).as_bytes(),
                "certificate 2 in it",
            ),
            (key.as_bytes(), "it holds a private key and no certificate"),
        ] {
            let said = files.authorities(bytes).unwrap_err();
            assert!(said.starts_with(&format!("{authorities}{words}")), "{said}");
        }
    }
}
