//! Why TLS cannot be set up, and what to do about it.

use std::fmt;
use std::path::{Path, PathBuf};

/// Longest file of certificates or keys, bytes: those of all authorities of a system have a
/// quarter of a megabyte.
pub(super) const FILE_BYTES_MAX: u64 = 16 << 20;

/// Why TLS cannot be set up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsSetupError {
    /// No cipher suite has this name.
    #[error("there is no cipher suite {name}; known: {known}")]
    Cipher {
        /// As written.
        name: String,
        /// All names.
        known: String,
    },
    /// No group has this name.
    #[error("there is no key exchange group {name}; known: {known}")]
    Group {
        /// As written.
        name: String,
        /// All names.
        known: String,
    },
    /// A PEM file cannot be used.
    #[error("failed to read {file} from {}: {}", path.display(), problem.told(*file, path))]
    Pem {
        /// Whose it is.
        file: PemFile,
        /// Its path.
        path: PathBuf,
        /// What is wrong with it.
        problem: PemProblem,
    },
    /// The key is another certificate's.
    #[error(
        "the private key in {} is not that of the first certificate in {}: name the files of one \
         certificate and its key with --key and --cert, the client's own certificate first",
        key.display(), certificate.display()
    )]
    OtherKey {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// The system's trusted authorities cannot be read.
    #[error("this system has no readable certificate authorities ({0}); pass a file with --cacert")]
    NoRoots(String),
    /// The server's name is neither a host name nor an address.
    #[error("{0:?} is not a server name for TLS")]
    ServerName(String),
    /// The choices do not fit together.
    #[error("TLS cannot be set up: {0}")]
    Contradiction(String),
}

/// Which file it is, and so whose certificate or key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PemFile {
    /// Those who may have issued the server's certificate.
    Authorities,
    /// The certificate that the client shows.
    Certificate,
    /// The key of that certificate.
    Key,
}

/// What is wrong with a file of certificates or keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PemProblem {
    /// The system does not read it.
    Unreadable(String),
    /// It is longer than any such file.
    TooLong,
    /// There is nothing in it.
    Empty,
    /// It holds this instead.
    Holds(&'static str),
    /// It is an archive of a certificate and its key.
    Pkcs12,
    /// It is in binary, without the lines of PEM.
    Der,
    /// The key is encrypted.
    Encrypted,
    /// It is a key in the form of OpenSSH.
    Ssh,
    /// It is something else.
    NotPem,
    /// Its lines of PEM are damaged.
    Damaged(String),
    /// What this part of it holds is not what it says it is; from 1.
    NoCertificate(usize),
    /// The key is of a kind that is not supported.
    KindOfKey,
}

impl fmt::Display for PemFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Authorities => "the authorities (--cacert)",
            Self::Certificate => "the client certificate (--cert)",
            Self::Key => "the client's key (--key)",
        })
    }
}

impl PemProblem {
    /// What is wrong, and what to do about it.
    pub(super) fn told(&self, file: PemFile, path: &Path) -> String {
        let path = path.display();
        let is_key = file == PemFile::Key;
        match self {
            Self::Unreadable(why) => why.clone(),
            Self::TooLong => format!("it is longer than {FILE_BYTES_MAX} bytes"),
            Self::Empty => "it is empty".to_owned(),
            Self::Holds(found) if file == PemFile::Authorities => {
                format!("it holds {found} and no certificate")
            }
            Self::Holds(found) => {
                let wanted = if is_key { "private key" } else { "certificate" };
                format!(
                    "it holds {found} and no {wanted}: --cert names the certificate, and --key its \
                     key"
                )
            }
            Self::Pkcs12 if file == PemFile::Authorities => format!(
                "it is PKCS#12: write PEM with `openssl pkcs12 -in {path} -nokeys -out ca.pem`"
            ),
            Self::Pkcs12 => format!(
                "it is PKCS#12: write PEM with `openssl pkcs12 -in {path} -nodes -out client.pem`, \
                 and give --cert client.pem alone, which holds the key as well"
            ),
            Self::Der => {
                let command = if is_key { "pkey" } else { "x509" };
                format!(
                    "it is not PEM: if it is DER, write PEM with `openssl {command} -inform DER \
                     -in {path} -out new.pem`"
                )
            }
            Self::Encrypted => format!(
                "the key is encrypted: write it without a password with `openssl pkey -in {path} \
                 -out key.pem`"
            ),
            Self::Ssh => "it is a key of OpenSSH: make PEM of a copy of it with `ssh-keygen -p -m \
                          PKCS8 -f COPY`"
                .to_owned(),
            Self::NotPem => {
                let label = if is_key { "PRIVATE KEY" } else { "CERTIFICATE" };
                format!("it has no PEM, as in -----BEGIN {label}-----")
            }
            Self::Damaged(why) => format!("its PEM is damaged: {why}"),
            Self::NoCertificate(which) => format!("certificate {which} in it is damaged"),
            Self::KindOfKey => "this kind of key is not supported: expected RSA of 2048 bits or \
                                more, ECDSA with P-256, P-384 or P-521, or Ed25519"
                .to_owned(),
        }
    }
}
