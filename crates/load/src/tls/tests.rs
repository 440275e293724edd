//! Both ends in memory: the client here, rustls's own server there, bytes cut at will.

use std::io::{Read, Write};

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection};

use super::*;

fn server(versions: &[&'static rustls::SupportedProtocolVersion]) -> ServerConnection {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    server_of(&made.cert, &made.signing_key, versions)
}

fn server_of(
    certificate: &rcgen::Certificate,
    key: &rcgen::KeyPair,
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> ServerConnection {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    ServerConnection::new(Arc::new(config)).unwrap()
}

/// Sends `to_server` there and returns what the server has to say.
fn to_server(server: &mut ServerConnection, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes;
    while !bytes.is_empty() {
        server.read_tls(&mut bytes).unwrap();
        server.process_new_packets().unwrap();
    }
    let mut answer = Vec::new();
    while server.wants_write() {
        server.write_tls(&mut answer).unwrap();
    }
    answer
}

/// Hands `bytes` to the client in pieces; returns plaintext and what it has to say.
fn to_client(tls: &mut Tls, bytes: &[u8], piece: usize) -> (Vec<u8>, Vec<u8>) {
    let (mut plain, mut outgoing) = (Vec::new(), Vec::new());
    for part in bytes.chunks(piece) {
        let mut incoming = [tls.partial(), part].concat();
        tls.handle(&mut incoming, &mut outgoing, &mut |data| {
            plain.extend_from_slice(data)
        })
        .unwrap();
    }
    (plain, outgoing)
}

/// Both ends after their handshake.
fn established(
    version: &'static rustls::SupportedProtocolVersion,
    piece: usize,
) -> (Tls, ServerConnection) {
    let settings = TlsSettings {
        trust: Trust::Anything,
        ..TlsSettings::default()
    };
    let client = settings.ready("localhost", &[b"http/1.1"]).unwrap();
    let mut server = server(&[version]);
    let mut outgoing = Vec::new();
    let mut tls = Tls::begin(&client.config, &client.name, &mut outgoing).unwrap();
    while !outgoing.is_empty() {
        let answer = to_server(&mut server, &outgoing);
        (_, outgoing) = to_client(&mut tls, &answer, piece);
    }
    assert!(tls.is_established());
    (tls, server)
}

fn check(version: &'static rustls::SupportedProtocolVersion, piece: usize) {
    let (mut tls, mut server) = established(version, piece);
    let agreed = tls.agreed();
    assert_eq!(agreed.alpn.as_deref(), Some("http/1.1"));
    assert!(
        agreed
            .version
            .is_some_and(|name| name.starts_with("TLSv1."))
    );
    assert!(!tls.is_resumed());

    let question = vec![b'q'; 10_000];
    let mut sent = Vec::new();
    tls.encrypt(&question, &mut sent).unwrap();
    let answer = to_server(&mut server, &sent);
    assert!(answer.is_empty());
    let mut heard = vec![0; question.len()];
    server.reader().read_exact(&mut heard).unwrap();
    assert_eq!(heard, question);

    let said = vec![b'a'; 50_000];
    server.writer().write_all(&said).unwrap();
    let answer = to_server(&mut server, &[]);
    let (plain, _) = to_client(&mut tls, &answer, piece);
    assert_eq!(plain, said);
    assert_eq!(tls.partial().len(), 0, "an idle connection owns no buffer");

    server.send_close_notify();
    let answer = to_server(&mut server, &[]);
    let mut incoming = answer;
    let progress = tls
        .handle(&mut incoming, &mut Vec::new(), &mut |_| {})
        .unwrap();
    assert!(progress.closed);
    for _ in 0..10 {
        let mut behind = [tls.partial(), &[23; 10_000]].concat();
        let handled = tls.handle(&mut behind, &mut Vec::new(), &mut |_| panic!("no data"));
        assert!(handled.unwrap().closed);
        assert_eq!(tls.partial().len(), 0, "nothing behind the end is kept");
    }
}

#[test]
fn a_connection_is_used_up_before_its_keys_are() {
    let (tls, _) = established(&rustls::version::TLS13, 1000);
    assert_eq!(tls.records_left, u64::MAX, "there are new keys in time");
    let (mut tls, _) = established(&rustls::version::TLS12, 1000);
    assert_eq!(tls.records_left, (1 << 24) - (1 << 16));
    tls.records_left = 3;
    let mut encrypts = |bytes| {
        tls.encrypt(&vec![b'q'; bytes], &mut Vec::new()).unwrap();
        tls.is_used_up()
    };
    assert!(!encrypts(2 * RECORD));
    assert!(encrypts(1));
    assert!(encrypts(1), "there are some to spare");
}

#[test]
fn both_versions_work_whatever_the_pieces() {
    for piece in [1, 7, 1000, 100_000] {
        check(&rustls::version::TLS13, piece);
        check(&rustls::version::TLS12, piece);
    }
}

#[test]
fn garbage_and_alerts_are_failures() {
    let settings = TlsSettings {
        trust: Trust::Anything,
        ..TlsSettings::default()
    };
    let client = settings.ready("localhost", &[b"http/1.1"]).unwrap();
    let mut answer = b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec();
    let mut tls = Tls::begin(&client.config, &client.name, &mut Vec::new()).unwrap();
    assert!(
        tls.handle(&mut answer, &mut Vec::new(), &mut |_| {})
            .is_err()
    );
    let mut tls = Tls::begin(&client.config, &client.name, &mut Vec::new()).unwrap();
    // A fatal handshake_failure alert.
    let mut alert = vec![21, 3, 3, 0, 2, 2, 40];
    let failure = tls
        .handle(&mut alert, &mut Vec::new(), &mut |_| {})
        .unwrap_err();
    assert!(matches!(failure, TlsFailure::Alert(_)), "{failure}");
}

#[test]
fn an_unknown_authority_is_refused() {
    let client = TlsSettings::default()
        .ready("localhost", &[b"http/1.1"])
        .unwrap();
    let mut outgoing = Vec::new();
    let mut tls = Tls::begin(&client.config, &client.name, &mut outgoing).unwrap();
    let mut answer = to_server(&mut server(&[&rustls::version::TLS13]), &outgoing);
    let failure = tls
        .handle(&mut answer, &mut Vec::new(), &mut |_| {})
        .unwrap_err();
    assert!(matches!(failure, TlsFailure::Refused(_)), "{failure}");
}

/// As `openssl req -x509` makes it: the certificate of an authority, and of the server as well.
#[test]
fn a_server_that_signed_for_itself_is_known_by_its_own_certificate() {
    let mut own = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    own.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().unwrap();
    let own = own.self_signed(&key).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.pem");
    std::fs::write(&path, own.pem()).unwrap();
    let met = |host: &str| {
        let settings = TlsSettings {
            trust: Trust::File(path.clone().into()),
            ..TlsSettings::default()
        };
        let client = settings.ready(host, &[b"http/1.1"]).unwrap();
        let mut outgoing = Vec::new();
        let mut tls = Tls::begin(&client.config, &client.name, &mut outgoing).unwrap();
        let mut answer = to_server(
            &mut server_of(&own, &key, &[&rustls::version::TLS13]),
            &outgoing,
        );
        let progress = tls.handle(&mut answer, &mut Vec::new(), &mut |_| {});
        progress.map(|progress| progress.established)
    };
    assert_eq!(met("localhost"), Ok(true));
    let other = met("other.test").unwrap_err().to_string();
    assert!(
        other.starts_with("the server's certificate is refused: "),
        "{other}"
    );
    assert!(other.contains("--server-name"), "{other}");
}

#[test]
fn what_a_beginner_meets_has_a_way_out() {
    let certificate = rustls::Error::InvalidCertificate;
    for (error, words) in [
        (
            certificate(CertificateError::UnknownIssuer),
            "--cacert FILE",
        ),
        (
            certificate(CertificateError::NotValidForName),
            "--server-name",
        ),
        (certificate(CertificateError::Expired), "with -k"),
        (
            certificate(CertificateError::Other(rustls::OtherError(Arc::new(
                std::fmt::Error,
            )))),
            "--cacert FILE",
        ),
        (
            rustls::Error::AlertReceived(AlertDescription::HandshakeFailure),
            "wants a client",
        ),
        (
            rustls::Error::AlertReceived(AlertDescription::CertificateRequired),
            "--cert FILE --key FILE",
        ),
        (
            rustls::Error::AlertReceived(AlertDescription::UnknownCA),
            "that of --cert",
        ),
        (
            rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType),
            "does not speak TLS here: use http",
        ),
    ] {
        let said = failure(error).to_string();
        assert!(said.contains(words), "{said}");
    }
}
