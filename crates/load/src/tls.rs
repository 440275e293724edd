//! TLS for the engine's connections, on rustls: the one place that knows its buffer interface.
//!
//! ```text
//! ciphertext from the socket ─► Tls::handle ─► plaintext to the protocol
//! request ─► Tls::encrypt ─► outgoing ciphertext ─► socket
//! ```
//!
//! Records are decrypted in place in the thread's read buffer. A connection owns memory of its
//! own only for a record that is not whole yet and for what the socket would not take.
//!
//! It does not verify what [`TlsSettings`] says not to verify, offers no early data and uses
//! no kernel TLS.

use std::sync::Arc;

use rustls::client::{ClientConfig, UnbufferedClientConnection};
use rustls::pki_types::ServerName;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};
use rustls::{
    AlertDescription, CertificateError, HandshakeKind, InvalidMessage, ProtocolVersion,
    SupportedCipherSuite,
};

mod error;
mod files;
mod noted;
mod quic;
mod settings;
mod verify;

pub use error::{PemFile, PemProblem, TlsSetupError};
pub use files::Pem;
pub(crate) use noted::{Seen, forget_seen, seen};
pub(crate) use quic::{QuicTls, agreed_in_quic};
pub(crate) use settings::{TlsClient, TlsSide};
pub use settings::{TlsSettings, TlsVersions, Trust};
use verify::VersionOne;

/// Room that an encrypted request may need beyond its length: a record's header and tag, for
/// each 16 KiB begun.
const OVERHEAD: usize = 64;
/// Bytes in a TLS record at the most.
const RECORD: usize = 16 * 1024;
/// Records that are kept back of what one connection's keys may encrypt: for what was begun by
/// then, such as uploads and what is said about answers in flight.
const RECORDS_SPARE: u64 = 1 << 16;

/// One connection's TLS.
pub(crate) struct Tls {
    connection: UnbufferedClientConnection,
    /// Ciphertext of a record whose end has not come.
    partial: Vec<u8>,
    established: bool,
    /// The peer has said that it sends nothing more.
    closed: bool,
    /// Records that may be encrypted before the connection is to end.
    records_left: u64,
}

/// Why TLS failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum TlsFailure {
    /// The peer sent an alert.
    #[error("the server sent the alert {0}")]
    Alert(String),
    /// The peer broke the protocol, or its certificate was refused.
    #[error("{0}")]
    Refused(String),
}

/// What one call of [`Tls::handle`] came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The handshake ended in this call.
    pub(crate) established: bool,
    /// The peer will send nothing more.
    pub(crate) closed: bool,
}

/// What a handshake agreed on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Agreed {
    pub(crate) version: Option<String>,
    pub(crate) cipher: Option<String>,
    pub(crate) group: Option<String>,
    pub(crate) alpn: Option<String>,
}

impl Tls {
    /// Begins a handshake; what is to be sent for it is appended to `outgoing`.
    pub(crate) fn begin(
        config: &Arc<ClientConfig>,
        name: &ServerName<'static>,
        outgoing: &mut Vec<u8>,
    ) -> Result<Self, TlsFailure> {
        let connection =
            UnbufferedClientConnection::new(config.clone(), name.clone()).map_err(failure)?;
        let mut tls = Self {
            connection,
            partial: Vec::new(),
            established: false,
            closed: false,
            records_left: u64::MAX,
        };
        tls.handle_all(&mut [], outgoing, &mut |_| {})?;
        Ok(tls)
    }

    /// Whether requests can be sent.
    #[cfg(test)]
    pub(crate) fn is_established(&self) -> bool {
        self.established
    }

    /// Bytes that the next call of [`handle`](Self::handle) wants before what is newly read.
    pub(crate) fn partial(&self) -> &[u8] {
        &self.partial
    }

    /// Takes ciphertext: what [`partial`](Self::partial) held and what was read after it.
    /// Plaintext is handed to `plain` record by record; answers of the handshake are appended to
    /// `outgoing`.
    pub(crate) fn handle(
        &mut self,
        incoming: &mut [u8],
        outgoing: &mut Vec<u8>,
        plain: &mut impl FnMut(&[u8]),
    ) -> Result<Progress, TlsFailure> {
        let before = self.established;
        // rustls says once that the peer has closed, and uses up nothing that comes behind it.
        let mut used = 0;
        if !self.closed {
            (used, self.closed) = self.handle_all(incoming, outgoing, plain)?;
        }
        if self.established && !before {
            self.records_left = self.records_max();
        }
        if self.closed {
            used = incoming.len();
        }
        let rest = &incoming[used..];
        if rest.is_empty() {
            self.partial = Vec::new();
        } else {
            self.partial.clear();
            self.partial.extend_from_slice(rest);
        }
        Ok(Progress {
            established: self.established && !before,
            closed: self.closed,
        })
    }

    /// Records that one connection's keys may encrypt, without the spare ones. With TLS 1.3 rustls
    /// makes new keys in time; with TLS 1.2 and AES-GCM it encrypts no more after 16.7 million.
    fn records_max(&self) -> u64 {
        if let Some(SupportedCipherSuite::Tls12(suite)) = self.connection.negotiated_cipher_suite()
        {
            let most = suite.common.confidentiality_limit;
            return most.saturating_sub(RECORDS_SPARE);
        }
        u64::MAX
    }

    /// Whether the connection is to end because its keys have encrypted as much as they may.
    #[inline]
    pub(crate) fn is_used_up(&self) -> bool {
        self.records_left == 0
    }

    /// Encrypts `plaintext` and appends it to `outgoing`. Only once established.
    pub(crate) fn encrypt(
        &mut self,
        plaintext: &[u8],
        outgoing: &mut Vec<u8>,
    ) -> Result<(), TlsFailure> {
        let records = plaintext.len().div_ceil(RECORD) as u64;
        self.records_left = self.records_left.saturating_sub(records);
        let UnbufferedStatus { state, .. } = self.connection.process_tls_records(&mut []);
        let ConnectionState::WriteTraffic(mut traffic) = state.map_err(failure)? else {
            return Err(TlsFailure::Refused(
                "the connection takes no data".to_owned(),
            ));
        };
        let start = outgoing.len();
        let room = plaintext.len() + OVERHEAD * (plaintext.len() / RECORD + 1);
        outgoing.resize(start + room, 0);
        let written = match traffic.encrypt(plaintext, &mut outgoing[start..]) {
            Err(EncryptError::InsufficientSize(needed)) => {
                outgoing.resize(start + needed.required_size, 0);
                traffic.encrypt(plaintext, &mut outgoing[start..])
            }
            other => other,
        };
        match written {
            Ok(written) => {
                outgoing.truncate(start + written);
                Ok(())
            }
            Err(error) => {
                outgoing.truncate(start);
                Err(TlsFailure::Refused(error.to_string()))
            }
        }
    }

    /// Whether the handshake resumed an earlier connection's session.
    pub(crate) fn is_resumed(&self) -> bool {
        self.connection.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Whether the server chose HTTP/2.
    pub(crate) fn is_h2(&self) -> bool {
        self.connection.alpn_protocol() == Some(b"h2")
    }

    /// What the handshake agreed on.
    pub(crate) fn agreed(&self) -> Agreed {
        let version = self
            .connection
            .protocol_version()
            .map(|version| match version {
                ProtocolVersion::TLSv1_3 => "TLSv1.3".to_owned(),
                ProtocolVersion::TLSv1_2 => "TLSv1.2".to_owned(),
                other => format!("{other:?}"),
            });
        let cipher = self.connection.negotiated_cipher_suite();
        let group = self.connection.negotiated_key_exchange_group();
        let alpn = self.connection.alpn_protocol();
        Agreed {
            version,
            cipher: cipher.map(|suite| format!("{:?}", suite.suite())),
            group: group.map(|group| format!("{:?}", group.name())),
            alpn: alpn.map(|name| String::from_utf8_lossy(name).into_owned()),
        }
    }

    /// Works on everything in `incoming`; returns how much of it was used up and whether the
    /// peer has closed.
    fn handle_all(
        &mut self,
        incoming: &mut [u8],
        outgoing: &mut Vec<u8>,
        plain: &mut impl FnMut(&[u8]),
    ) -> Result<(usize, bool), TlsFailure> {
        let mut used = 0;
        loop {
            let UnbufferedStatus { mut discard, state } =
                self.connection.process_tls_records(&mut incoming[used..]);
            match state.map_err(failure)? {
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(failure)?;
                        discard += record.discard;
                        plain(record.payload);
                    }
                }
                ConnectionState::EncodeTlsData(mut data) => encode(&mut data, outgoing)?,
                ConnectionState::TransmitTlsData(data) => data.done(),
                ConnectionState::WriteTraffic(_) => {
                    self.established = true;
                    return Ok((used + discard, false));
                }
                ConnectionState::BlockedHandshake => return Ok((used + discard, false)),
                ConnectionState::PeerClosed | ConnectionState::Closed => {
                    return Ok((used + discard, true));
                }
                other => return Err(TlsFailure::Refused(format!("unexpected {other:?}"))),
            }
            used += discard;
        }
    }
}

fn encode<Data>(
    data: &mut rustls::unbuffered::EncodeTlsData<'_, Data>,
    outgoing: &mut Vec<u8>,
) -> Result<(), TlsFailure> {
    let start = outgoing.len();
    loop {
        match data.encode(&mut outgoing[start..]) {
            Ok(written) => {
                outgoing.truncate(start + written);
                return Ok(());
            }
            Err(EncodeError::InsufficientSize(needed)) => {
                outgoing.resize(start + needed.required_size, 0);
            }
            Err(error) => return Err(TlsFailure::Refused(error.to_string())),
        }
    }
}

fn failure(error: rustls::Error) -> TlsFailure {
    match error {
        rustls::Error::AlertReceived(alert) => {
            let about = about_client(alert).map_or(String::new(), |about| format!(" ({about})"));
            TlsFailure::Alert(format!("{alert:?}{about}"))
        }
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            TlsFailure::Refused("the server does not speak TLS here: use http".to_owned())
        }
        rustls::Error::InvalidCertificate(reason) => {
            let way_out = way_out(&reason);
            let why = match &reason {
                CertificateError::Other(other) => other.0.to_string(),
                reason => reason.to_string(),
            };
            TlsFailure::Refused(format!(
                "the server's certificate is refused: {why} ({way_out})"
            ))
        }
        other => TlsFailure::Refused(other.to_string()),
    }
}

/// What an alert may say of the client's certificate, which the server refused or did not get
/// (RFC 8446, 6.2).
pub(crate) fn about_client(alert: AlertDescription) -> Option<&'static str> {
    match alert {
        AlertDescription::CertificateRequired => {
            Some("it wants a client certificate; `load`: give one with --cert FILE --key FILE")
        }
        AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnknownCA
        | AlertDescription::AccessDenied => {
            Some("it is about the client certificate; `load`: that of --cert FILE")
        }
        AlertDescription::HandshakeFailure => Some(
            "it takes none of the versions, ciphers and groups offered, or wants a client \
             certificate; `load`: give one with --cert FILE --key FILE",
        ),
        _ => None,
    }
}

/// What to do about a certificate that this side refused. The flags are those of `bakeoff load`.
fn way_out(reason: &CertificateError) -> &'static str {
    match reason {
        CertificateError::Other(other) if other.0.is::<VersionOne>() => TRUST_ANY,
        // The other is mostly that an authority's certificate is a server's: it signed for itself.
        CertificateError::UnknownIssuer | CertificateError::Other(_) => TRUST_IT,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "`load`: name the host that it is for with --server-name, or verify nothing with -k"
        }
        _ => TRUST_ANY,
    }
}

const TRUST_IT: &str = "`load`: trust it with --cacert FILE, or verify nothing with -k";
const TRUST_ANY: &str = "`load`: verify nothing with -k";

/// What to do about a certificate that this side refused with an alert of this number over QUIC
/// (RFC 8446, 6.2); `None` where the alert is about something else.
pub(crate) fn way_out_of_alert(alert: u8) -> Option<&'static str> {
    match alert {
        // unknown_ca
        48 => Some(TRUST_IT),
        // bad_certificate to certificate_unknown, and unrecognized_name
        42..=46 | 112 => Some(TRUST_ANY),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
