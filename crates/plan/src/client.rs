//! How clients set their connections up, beyond the protocol: what of TLS they use, and whom they
//! say a connection is for.
//!
//! It reads no file: whether a certificate can be used is found out where it is shown.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::PlanError;
use crate::file::ClientTable;
use crate::protocol::Protocol;
use crate::requests::Surroundings;
use crate::rules::Fault;

/// How clients set their connections up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// Certificate that they show to the server.
    pub certificate: Option<ClientCertificate>,
    /// Whether a new connection resumes an earlier one's session.
    pub resumption: Resumption,
    /// Whether requests are sent before the end of a resumed handshake (0-RTT).
    pub early_data: bool,
    /// The header that says first whom a connection is for.
    pub proxy_protocol: Option<ProxyVersion>,
}

/// A client's certificate and its key, as PEM files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientCertificate {
    /// The certificate, and those that lead from it to an authority; absolute.
    pub chain: PathBuf,
    /// Its key; absolute.
    pub key: PathBuf,
}

/// Whether sessions of TLS are resumed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Resumption {
    /// Each connection shakes hands in full.
    #[default]
    None,
    /// With the tickets, or the session's name, that a server gave.
    Tickets,
}

/// A version of the PROXY protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProxyVersion {
    /// A line of text.
    V1,
    /// Binary.
    V2,
}

impl Client {
    /// Whether it does nothing of its own.
    pub(crate) fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// What a reader should know of it before any number; `None` where it does nothing of its own.
    pub(crate) fn note(&self) -> Option<String> {
        let version = self.proxy_protocol.map(|version| match version {
            ProxyVersion::V1 => "send a PROXY header of version 1",
            ProxyVersion::V2 => "send a PROXY header of version 2",
        });
        let parts = [
            self.certificate
                .is_some()
                .then_some("show a certificate of their own"),
            (self.resumption == Resumption::Tickets).then_some("resume TLS sessions"),
            self.early_data
                .then_some("send requests before a resumed handshake ends"),
            version,
        ];
        let parts: Vec<&str> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| format!("clients {}", parts.join(", and ")))
    }

    /// Whether `protocol` has what it asks for.
    pub(crate) fn suits(&self, protocol: Protocol) -> Result<(), Fault> {
        let wrong = |key: &str, problem: &str, fix: &str| {
            let name = protocol.name();
            Err(Fault::new(
                format!("`{key}` of `client` {problem}, and the workload is asked over {name}"),
                fix,
            ))
        };
        let of_tls = [
            ("certificate", self.certificate.is_some()),
            ("resumption", self.resumption != Resumption::None),
        ];
        let of_tls = of_tls.iter().find(|(_, is_asked)| *is_asked);
        match of_tls {
            Some((key, _)) if !protocol.is_secure() => {
                return wrong(key, "is about TLS", "ask it over h1-tls, h2 or h3");
            }
            _ => {}
        }
        if self.early_data && !protocol.is_h3() {
            return wrong("early_data", "needs HTTP/3", "ask it over h3");
        }
        if self.proxy_protocol.is_some() && protocol.is_h3() {
            let fix = "ask it over another protocol";
            return wrong("proxy_protocol", "needs TCP", fix);
        }
        Ok(())
    }
}

/// The client that a workload's table asks for.
pub(crate) fn client(
    around: &Surroundings<'_>,
    table: Option<&ClientTable>,
) -> Result<Client, PlanError> {
    let Some(table) = table else {
        return Ok(Client::default());
    };
    let at = |key: &str| around.source.place(&format!("{}client.{key}", around.path));
    let conflict = |key: &str, problem: &str, fix: &str| Fault::new(problem, fix).at(at(key));
    let file = |key: &str, name: &str| {
        let path = around.folder.join(name);
        if around.library.has_file(&path) {
            return Ok(path);
        }
        let problem = format!("there is no file {}", path.display());
        let fix = "name a PEM file, from the folder of the file that this stands in";
        Err(Fault::new(problem, fix).at(at(key)))
    };
    if table.key.is_some() && table.certificate.is_none() {
        let problem = "`key` stands without its `certificate`";
        return Err(conflict("key", problem, "add `certificate`"));
    }
    if table.early_data && table.resumption == Resumption::None {
        let problem = "`early_data` is sent in resumed handshakes alone";
        return Err(conflict(
            "early_data",
            problem,
            "write `resumption = \"tickets\"` beside it",
        ));
    }
    let certificate = table.certificate.as_ref().map(|name| {
        let chain = file("certificate", name)?;
        let key = table.key.as_ref().map(|name| file("key", name));
        Ok(ClientCertificate {
            key: key.transpose()?.unwrap_or_else(|| chain.clone()),
            chain,
        })
    });
    Ok(Client {
        certificate: certificate.transpose()?,
        resumption: table.resumption,
        early_data: table.early_data,
        proxy_protocol: table.proxy_protocol,
    })
}

/// The table that [`client`] makes `client` of.
pub(crate) fn client_table(client: &Client) -> Option<ClientTable> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let certificate = client.certificate.as_ref();
    (!client.is_plain()).then(|| ClientTable {
        certificate: certificate.map(|it| text(&it.chain)),
        key: certificate.map(|it| text(&it.key)),
        resumption: client.resumption,
        early_data: client.early_data,
        proxy_protocol: client.proxy_protocol,
    })
}
