//! Certificates from a local authority that lives as long as the stage.
//!
//! Authority and keys are made anew for each campaign. The authority's own key never leaves this
//! process; a server's key is written into its trial's folder, for its owner alone, and goes with
//! it. Nothing is installed in the system: clients that have to trust the authority get its file.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use bakeoff_plan::CertificateKey;
use bakeoff_record::Step;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, RsaKeySize,
};

use crate::error::{Cause, StageError};
use crate::files;
use crate::listening::Listening;
use crate::trial_folder::make_folder;

/// Names that every server's certificate holds for: the first is what clients ask for.
pub(crate) const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The authority, and a certificate for each kind of key that was asked for.
#[derive(Debug)]
pub(crate) struct Certificates(Mutex<State>);

struct State {
    /// What certificates hold for.
    names: Vec<String>,
    authority: Option<Authority>,
    leaves: Vec<(CertificateKey, Leaf)>,
}

struct Authority {
    certificate_pem: String,
    issuer: Issuer<'static, KeyPair>,
}

#[derive(Clone)]
struct Leaf {
    certificate_pem: String,
    key_pem: String,
}

/// Where a trial's certificate, its key and the authority were written, all as PEM.
#[derive(Debug, Clone)]
pub(crate) struct CertificateFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    /// Both in one file, as some servers want them.
    pub(crate) certificate_and_key: PathBuf,
    pub(crate) authority: PathBuf,
}

impl Certificates {
    /// Certificates for servers that listen here.
    pub(crate) fn of(listening: &Listening) -> Self {
        Self(Mutex::new(State {
            names: listening.certificate_names(&NAMES),
            authority: None,
            leaves: Vec::new(),
        }))
    }

    /// Writes a certificate with a key of this kind below `folder`.
    pub(crate) fn write(
        &self,
        kind: CertificateKey,
        folder: &Path,
    ) -> Result<CertificateFiles, StageError> {
        let (leaf, authority_pem) = self.leaf(kind).map_err(|cause| {
            let cause = cause.to_string();
            StageError::new(Step::Prepare, Cause::Certificate { cause })
        })?;
        put(leaf, &authority_pem, folder)
    }

    /// Writes another one in place of an earlier one, with another key.
    pub(crate) fn renew(
        &self,
        kind: CertificateKey,
        folder: &Path,
    ) -> Result<CertificateFiles, StageError> {
        let mut guard = self
            .0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        guard.leaves.retain(|(other, _)| *other != kind);
        drop(guard);
        self.write(kind, folder)
    }

    fn leaf(&self, kind: CertificateKey) -> Result<(Leaf, String), rcgen::Error> {
        // A thread that panicked while it made a key has left nothing half made.
        let mut guard = self
            .0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let state = &mut *guard;
        let authority = match &mut state.authority {
            Some(authority) => authority,
            none => none.insert(Authority::new()?),
        };
        let authority_pem = authority.certificate_pem.clone();
        if let Some((_, leaf)) = state.leaves.iter().find(|(other, _)| *other == kind) {
            return Ok((leaf.clone(), authority_pem));
        }
        let leaf = authority.sign(kind, &state.names)?;
        state.leaves.push((kind, leaf.clone()));
        Ok((leaf, authority_pem))
    }
}

/// Writes a certificate, its key and the authority below `folder`.
fn put(leaf: Leaf, authority_pem: &str, folder: &Path) -> Result<CertificateFiles, StageError> {
    make_folder(folder)?;
    let files = CertificateFiles {
        certificate: folder.join("certificate.pem"),
        key: folder.join("key.pem"),
        certificate_and_key: folder.join("certificate-and-key.pem"),
        authority: folder.join("authority.pem"),
    };
    let Leaf {
        certificate_pem,
        key_pem,
    } = leaf;
    write(&files.certificate, &certificate_pem)?;
    write(&files.key, &key_pem)?;
    write(&files.certificate_and_key, &(certificate_pem + &key_pem))?;
    write(&files.authority, authority_pem)?;
    Ok(files)
}

impl Authority {
    fn new() -> Result<Self, rcgen::Error> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let name = "bakeoff, for one campaign on this machine";
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let certificate_pem = params.self_signed(&key)?.pem();
        let issuer = Issuer::new(params, key);
        Ok(Self {
            certificate_pem,
            issuer,
        })
    }

    fn sign(&self, kind: CertificateKey, names: &[String]) -> Result<Leaf, rcgen::Error> {
        let key = match kind {
            CertificateKey::EcdsaP256 => KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?,
            CertificateKey::Rsa2048 => {
                KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048)?
            }
        };
        let mut params = CertificateParams::new(names.to_vec())?;
        params.distinguished_name.push(DnType::CommonName, NAMES[0]);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        Ok(Leaf {
            certificate_pem: params.signed_by(&key, &self.issuer)?.pem(),
            key_pem: key.serialize_pem(),
        })
    }
}

/// Nothing of a key may reach a log.
impl std::fmt::Debug for State {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kinds = self.leaves.iter().map(|(kind, _)| kind);
        out.debug_list().entries(kinds).finish()
    }
}

/// Writes a file that only its owner can read, from its first byte on.
fn write(path: &Path, text: &str) -> Result<(), StageError> {
    files::replace(path, text.as_bytes(), files::FOR_OWNER)
        .map_err(|cause| StageError::file(Step::Prepare, path, cause))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn keys_are_their_owners_and_of_the_kind_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let certificates = Certificates::of(&Listening::default());
        let write = |kind, name| certificates.write(kind, &folder.path().join(name)).unwrap();
        let files = write(CertificateKey::EcdsaP256, "a");
        let again = write(CertificateKey::EcdsaP256, "b");
        let rsa = write(CertificateKey::Rsa2048, "c");
        for path in [&files.key, &files.certificate_and_key, &rsa.key] {
            let mode = std::fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        }
        let read = |path: &PathBuf| std::fs::read_to_string(path).unwrap();
        assert_eq!(read(&files.key), read(&again.key), "one for a campaign");
        assert_eq!(read(&files.authority), read(&rsa.authority));
        let key = |path: &PathBuf| KeyPair::from_pem(&read(path)).unwrap();
        assert_eq!(key(&files.key).algorithm(), &PKCS_ECDSA_P256_SHA256);
        assert_eq!(key(&rsa.key).algorithm(), &PKCS_RSA_SHA256);
        let other = Certificates::of(&Listening::default());
        let other = other
            .write(CertificateKey::EcdsaP256, &folder.path().join("d"))
            .unwrap();
        assert_ne!(
            read(&other.authority),
            read(&files.authority),
            "another campaign"
        );
    }

    #[test]
    fn another_one_takes_the_place_of_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let certificates = Certificates::of(&Listening::default());
        let kind = CertificateKey::EcdsaP256;
        let files = certificates.write(kind, folder.path()).unwrap();
        let read = || [&files.certificate, &files.key].map(|it| std::fs::read(it).unwrap());
        let first = read();
        let authority = std::fs::read(&files.authority).unwrap();
        certificates.renew(kind, folder.path()).unwrap();
        assert!(read().iter().zip(&first).all(|(now, before)| now != before));
        assert_eq!(std::fs::read(&files.authority).unwrap(), authority);
    }
}
