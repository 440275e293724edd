//! Clients of any kind.

use bakeoff_plan::{Client, ClientCertificate, ProxyVersion, Resumption};
use proptest::option;
use proptest::prelude::*;

/// A client, whatever the protocol.
pub(super) fn client() -> impl Strategy<Value = Client> {
    let certificate = option::of(("/[a-z]{1,9}", "/[a-z]{1,9}")).prop_map(|files| {
        let certificate = |(chain, key): (String, String)| ClientCertificate {
            chain: chain.into(),
            key: key.into(),
        };
        files.map(certificate)
    });
    let version = prop_oneof![Just(ProxyVersion::V1), Just(ProxyVersion::V2)];
    (certificate, any::<bool>(), option::of(version)).prop_map(|(certificate, resumes, version)| {
        Client {
            certificate,
            resumption: if resumes {
                Resumption::Tickets
            } else {
                Resumption::None
            },
            early_data: resumes,
            proxy_protocol: version,
        }
    })
}
