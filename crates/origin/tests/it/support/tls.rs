//! A client of TLS that shares no code with the server but rustls.

use std::io::Read;
use std::net::TcpStream;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme, StreamOwned,
    SupportedProtocolVersion,
};

use super::Server;

pub(crate) type Stream = StreamOwned<ClientConnection, TcpStream>;

/// What a client offers that trusts any certificate.
pub(crate) fn config(versions: &[&'static SupportedProtocolVersion], alpn: &[u8]) -> ClientConfig {
    let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody))
        .with_no_client_auth();
    config.alpn_protocols = vec![alpn.to_vec()];
    config
}

pub(crate) fn connect(
    server: &Server,
    versions: &[&'static SupportedProtocolVersion],
    alpn: &[u8],
) -> Stream {
    let name = ServerName::try_from("localhost").unwrap();
    let session = ClientConnection::new(Arc::new(config(versions, alpn)), name).unwrap();
    StreamOwned::new(session, server.connect())
}

/// The body of one answer, `body` bytes long.
pub(crate) fn read_answer_bytes(stream: &mut Stream, body: usize) -> Vec<u8> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let mut bytes = vec![0; body];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

/// Trusts anybody: what is tested is not who the server is.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let provider = default_provider();
        provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
