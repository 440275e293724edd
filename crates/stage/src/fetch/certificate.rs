//! The public key of a certificate, read by as few rules of DER as that takes.
//!
//! It checks nothing: whether to trust the certificate is decided elsewhere. What is not laid out
//! as X.509 has it (RFC 5280, 4.1) has no facts.

use bakeoff_record::CertificateFacts;

const SEQUENCE: u8 = 0x30;
const OBJECT_IDENTIFIER: u8 = 0x06;
const BIT_STRING: u8 = 0x03;
const INTEGER: u8 = 0x02;
/// The version of a certificate, which old ones leave out.
const VERSION: u8 = 0xa0;

// Contents of the object identifiers (RFC 3279, RFC 5480, RFC 8410).
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
const P384: &[u8] = &[0x2b, 0x81, 4, 0, 34];
const P521: &[u8] = &[0x2b, 0x81, 4, 0, 35];
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];

/// Kind and length of the key in a certificate.
pub(super) fn facts(certificate: &[u8]) -> Option<CertificateFacts> {
    let mut certificate = Der(Der(certificate).take(SEQUENCE)?);
    let mut fields = Der(certificate.take(SEQUENCE)?);
    if fields.0.first() == Some(&VERSION) {
        fields.take(VERSION)?;
    }
    fields.take(INTEGER)?;
    // Signature algorithm, issuer, validity and subject stand before the key.
    for _ in 0..4 {
        fields.take(SEQUENCE)?;
    }
    let mut key = Der(fields.take(SEQUENCE)?);
    let mut algorithm = Der(key.take(SEQUENCE)?);
    let name = algorithm.take(OBJECT_IDENTIFIER)?;
    let facts = |key: &str, bits| {
        let key = key.to_owned();
        Some(CertificateFacts { key, bits })
    };
    match name {
        RSA => facts("RSA", rsa_bits(key.take(BIT_STRING)?)),
        EC => {
            let curve = algorithm.take(OBJECT_IDENTIFIER)?;
            let bits = [(P256, 256), (P384, 384), (P521, 521)];
            let known = bits.iter().find(|(name, _)| *name == curve);
            facts("ECDSA", known.map(|(_, bits)| *bits))
        }
        ED25519 => facts("Ed25519", Some(256)),
        other => facts(&format!("{other:02x?}"), None),
    }
}

/// Length of the modulus; the bits stand behind a count of unused ones, which is 0.
fn rsa_bits(bits: &[u8]) -> Option<u32> {
    let mut key = Der(Der(bits.get(1..)?).take(SEQUENCE)?);
    let modulus = key.take(INTEGER)?;
    let start = modulus.iter().position(|byte| *byte != 0)?;
    let bytes = u32::try_from(modulus.len() - start).ok()?;
    Some(bytes * 8 - modulus[start].leading_zeros())
}

/// What is left to read.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// The content of the next value, which must be of this kind.
    fn take(&mut self, kind: u8) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_first()?;
        let (length, rest) = rest.split_first()?;
        let (length, rest) = match *length {
            short @ 0..=0x7f => (usize::from(short), rest),
            // Four bytes of length are more than a handshake can carry.
            long @ 0x81..=0x84 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
                let length = bytes
                    .iter()
                    .fold(0_usize, |sum, byte| (sum << 8) | usize::from(*byte));
                (length, rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        (*first == kind).then_some(content)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rcgen::{KeyPair, SignatureAlgorithm};

    use super::*;

    fn certificate(algorithm: &'static SignatureAlgorithm) -> Vec<u8> {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let parameters = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
        parameters.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn kind_and_length_of_a_key_are_read() {
        let check = |algorithm, key: &str, bits| {
            let expected = CertificateFacts {
                key: key.to_owned(),
                bits: Some(bits),
            };
            assert_eq!(facts(&certificate(algorithm)), Some(expected));
        };
        check(&rcgen::PKCS_RSA_SHA256, "RSA", 2048);
        check(&rcgen::PKCS_ECDSA_P256_SHA256, "ECDSA", 256);
        check(&rcgen::PKCS_ECDSA_P384_SHA384, "ECDSA", 384);
        check(&rcgen::PKCS_ED25519, "Ed25519", 256);
    }

    proptest! {
        #[test]
        fn nothing_that_a_server_sends_is_too_strange(bytes: Vec<u8>) {
            let _ = facts(&bytes);
        }

        #[test]
        fn a_spoiled_certificate_is_read_or_not(at in 0_usize..300, byte: u8, cut in 0_usize..400) {
            let mut bytes = certificate(&rcgen::PKCS_ECDSA_P256_SHA256);
            let length = bytes.len();
            bytes[at.min(length - 1)] = byte;
            bytes.truncate(cut);
            let _ = facts(&bytes);
        }
    }
}
