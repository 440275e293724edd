//! The certificate that a server shows, and the settings of TLS that go with it.

use std::path::Path;
use std::sync::Arc;

use bakeoff_plan::Protocol;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::{Ticketer, default_provider};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::options::{Certificate, OriginError};

/// Names that a certificate made at the start holds for.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The settings of TLS for `protocol`, which alone is offered; `None` if it goes in the clear.
///
/// # Errors
/// When the files cannot be read, or hold no certificate and key that belong together.
pub(crate) fn settings(
    protocol: Protocol,
    certificate: Option<&Certificate>,
) -> Result<Option<Arc<ServerConfig>>, OriginError> {
    // Its name in the handshake (RFC 7301).
    let name = match protocol {
        Protocol::H1 | Protocol::H2c => return Ok(None),
        Protocol::H1Tls => &b"http/1.1"[..],
        Protocol::H2 => b"h2",
        Protocol::H3 => b"h3",
    };
    let (chain, key) = match certificate {
        Some(files) => (read_chain(&files.certificate)?, read_key(&files.key)?),
        None => self_signed()?,
    };
    let failed = |error: rustls::Error| OriginError::Certificate(error.to_string());
    let versions: &[_] = match protocol {
        Protocol::H3 => &[&rustls::version::TLS13],
        _ => rustls::ALL_VERSIONS,
    };
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(versions)
        .map_err(failed)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(failed)?;
    config.alpn_protocols = vec![name.to_vec()];
    // Without a state to keep for each client, as other servers do it.
    config.ticketer = Ticketer::new().map_err(failed)?;
    Ok(Some(Arc::new(config)))
}

type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn self_signed() -> Result<Identity, OriginError> {
    let made = rcgen::generate_simple_self_signed(NAMES.map(String::from));
    let made = made.map_err(|error| OriginError::Certificate(error.to_string()))?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    Ok((vec![made.cert.der().clone()], key.into()))
}

fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, OriginError> {
    let chain = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let chain: Vec<_> = chain.map_err(|error| unread(path, &error.to_string()))?;
    if chain.is_empty() {
        return Err(unread(path, "there is no certificate in it"));
    }
    Ok(chain)
}

fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, OriginError> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| unread(path, &error.to_string()))
}

fn unread(path: &Path, why: &str) -> OriginError {
    OriginError::Certificate(format!("{}: {why}", path.display()))
}
