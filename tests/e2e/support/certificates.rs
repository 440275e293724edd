//! An authority of the tests' own, and certificates by it, as PEM files of a scene.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use super::scene::Scene;

/// Names in a server's certificate, beside its address.
pub(crate) const NAMES: [&str; 3] = ["localhost", "one.test", "two.test"];

/// Writes `tls/ca.pem`, `tls/server.pem` and `tls/client.pem` with their keys `.key`, and
/// `tls/stranger.pem`, an authority that signed none of them.
pub(crate) fn write(scene: &Scene) {
    let authority = authority("bakeoff tests");
    scene.write("tls/ca.pem", &authority.pem());
    scene.write("tls/stranger.pem", &self::authority("nobody's own").pem());
    let mut names = NAMES.map(str::to_owned).to_vec();
    names.push("127.0.0.1".to_owned());
    for (file, names) in [("server", names), ("client", vec!["tester".to_owned()])] {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.push(DnType::CommonName, file);
        let certificate = params.signed_by(&key, &authority).unwrap();
        scene.write(&format!("tls/{file}.pem"), &certificate.pem());
        scene.write(&format!("tls/{file}.key"), &key.serialize_pem());
    }
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}
