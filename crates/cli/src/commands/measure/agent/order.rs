//! A load in the form that goes to an agent: the engine's own specification, followed by requests,
//! bodies and certificates as files.
//!
//! Host names stay unresolved: each host asks its own resolver.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;
use std::net::IpAddr;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bakeoff_load::{
    BodyCheck, ConnectTo, ConnectionUse, Exchange, ExpectedStatus, LoadSpec, Order, Pacing, Part,
    ProxyVersion, Speaking, Target, Threads, TlsSettings, TlsVersions, Trust, Waiting, h2,
};
use bakeoff_plan::{Load, RateShape};
use bakeoff_record::read_regular;
use rustix::fs::MemfdFlags;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Longest PEM file.
const PEM_BYTES_MAX: u64 = 16 << 20;

/// Number of a file that is sent beside the order.
type FileNumber = usize;

/// A load as it is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoadOrder {
    to: To,
    speaking: SentSpeaking,
    exchanges: Vec<SentExchange>,
    load: Load,
    shape: RateShape,
    count: Option<u64>,
    connections: SentConnections,
    threads: SentThreads,
    seed: u64,
    /// One body in so many is compared; `None` compares all.
    check_one_in: Option<u32>,
    pacing: SentPacing,
    interval_ns: u64,
}

/// An order with its files.
#[derive(Debug)]
pub(crate) struct Packed {
    pub(crate) order: LoadOrder,
    pub(crate) files: Vec<Vec<u8>>,
}

/// A load that can be carried out here.
pub(crate) struct Unpacked {
    pub(crate) spec: LoadSpec,
    /// Files in memory, which paths of the specification lead to.
    pub(crate) kept: Vec<File>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct To {
    url: String,
    host: Option<String>,
    unix_socket: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum SentSpeaking {
    H1(Option<SentTls>),
    Auto(SentTls),
    H2(SentTls),
    H2c,
    H3(SentTls),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SentTls {
    server_name: Option<String>,
    trust: SentTrust,
    only: Option<TlsVersion>,
    ciphers: Vec<String>,
    groups: Vec<String>,
    resumption: bool,
    early_data: bool,
    certificate_and_key: Option<(FileNumber, FileNumber)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum TlsVersion {
    #[serde(rename = "1.2")]
    V12,
    #[serde(rename = "1.3")]
    V13,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum SentTrust {
    System,
    Anything,
    File(FileNumber),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SentExchange {
    name: String,
    request: FileNumber,
    h2: Option<SentH2>,
    to_head_request: bool,
    status: Option<u16>,
    body: Option<FileNumber>,
    weight: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SentH2 {
    /// Names and values, as JSON: thousands of variants are longer than a message can be.
    fields: FileNumber,
    body: FileNumber,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SentConnections {
    ramp_gap_ns: u64,
    retry_pause_ns: u64,
    requests_per_connection: Option<u32>,
    sources: Vec<IpAddr>,
    proxy_protocol: Option<u8>,
    max_udp_payload: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SentThreads {
    count: u32,
    pin: Vec<usize>,
    first_and_of: Option<(u32, u32)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SentPacing {
    deadline_ns: Option<u64>,
    waiting: SentWaiting,
    gather: bool,
    /// Whether its requests are sent one after the other.
    in_turn: bool,
    variants: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum SentWaiting {
    Nap,
    Spin,
    SlackNs(u64),
}

/// Files to be sent, each once.
#[derive(Default)]
struct FilesToSend {
    files: Vec<Vec<u8>>,
    numbers: HashMap<Vec<u8>, FileNumber>,
}

impl FilesToSend {
    fn add(&mut self, bytes: &[u8]) -> FileNumber {
        if let Some(number) = self.numbers.get(bytes) {
            return *number;
        }
        let number = self.files.len();
        self.files.push(bytes.to_vec());
        self.numbers.insert(bytes.to_vec(), number);
        number
    }

    fn add_pem(&mut self, path: &Path) -> anyhow::Result<FileNumber> {
        let bytes = read_regular(path, PEM_BYTES_MAX);
        let bytes = bytes.with_context(|| format!("failed to read {}", path.display()))?;
        Ok(self.add(&bytes))
    }
}

impl LoadOrder {
    /// `spec` as it is sent; connections go to `host` or `unix_socket` in place of the URL's host.
    pub(crate) fn pack(
        spec: &LoadSpec,
        host: Option<&str>,
        unix_socket: Option<&Path>,
    ) -> anyhow::Result<Packed> {
        let mut files = FilesToSend::default();
        let speaking = match &spec.speaking {
            Speaking::H1 { tls: None } => SentSpeaking::H1(None),
            Speaking::H1 { tls: Some(tls) } => SentSpeaking::H1(Some(pack_tls(tls, &mut files)?)),
            Speaking::Auto { tls } => SentSpeaking::Auto(pack_tls(tls, &mut files)?),
            Speaking::H2 { tls } => SentSpeaking::H2(pack_tls(tls, &mut files)?),
            Speaking::H2c => SentSpeaking::H2c,
            Speaking::H3 { tls } => SentSpeaking::H3(pack_tls(tls, &mut files)?),
        };
        let exchanges = spec.exchanges.iter();
        let order = Self {
            to: To {
                url: spec.target.url.clone(),
                host: host.map(str::to_owned),
                unix_socket: unix_socket.map(Path::to_owned),
            },
            speaking,
            exchanges: exchanges
                .map(|each| pack_exchange(each, &mut files))
                .collect(),
            load: spec.load.clone(),
            shape: spec.shape.clone(),
            count: spec.count,
            connections: pack_connections(&spec.connections),
            threads: SentThreads {
                count: spec.threads.count,
                pin: spec.threads.pin.clone(),
                first_and_of: spec.threads.part.map(|part| (part.first, part.of)),
            },
            seed: spec.seed,
            check_one_in: match spec.check {
                BodyCheck::All => None,
                BodyCheck::OneIn(many) => Some(many),
            },
            pacing: SentPacing {
                deadline_ns: spec.pacing.deadline.map(nanos),
                waiting: match spec.pacing.waiting {
                    Waiting::Nap => SentWaiting::Nap,
                    Waiting::Spin => SentWaiting::Spin,
                    Waiting::Slack(slack) => SentWaiting::SlackNs(nanos(slack)),
                },
                gather: spec.pacing.gather,
                in_turn: spec.pacing.order == Order::InTurn,
                variants: spec.pacing.variants,
            },
            interval_ns: nanos(spec.interval),
        };
        Ok(Packed {
            order,
            files: files.files,
        })
    }

    /// What the gaps between its connections come to, which are opened one after the other.
    pub(crate) fn ramp(&self) -> Duration {
        let gap = Duration::from_nanos(self.connections.ramp_gap_ns);
        gap.saturating_mul(self.load.clients())
    }

    /// Gives the order to one of several engines.
    pub(crate) fn set_threads(&mut self, threads: &Threads) {
        self.threads = SentThreads {
            count: threads.count,
            pin: threads.pin.clone(),
            first_and_of: threads.part.map(|part| (part.first, part.of)),
        };
    }

    /// The specification of what was sent, with names resolved here.
    pub(crate) fn unpack(self, files: &[Vec<u8>]) -> anyhow::Result<Unpacked> {
        let connect_to = match (&self.to.host, &self.to.unix_socket) {
            (Some(host), _) => ConnectTo::Host(host),
            (None, Some(path)) => ConnectTo::Unix(path),
            (None, None) => ConnectTo::Url,
        };
        let target = Target::resolve(&self.to.url, connect_to)?;
        let mut kept = Vec::new();
        let speaking = unpack_speaking(self.speaking, files, &mut kept)?;
        let exchanges = self.exchanges.into_iter();
        let exchanges = exchanges.map(|each| unpack_exchange(each, files));
        let exchanges = exchanges.collect::<anyhow::Result<Vec<_>>>()?;
        if exchanges.is_empty() {
            bail!("the load has no request");
        }
        let variants = self.pacing.variants.max(1);
        if exchanges.len() % variants as usize != 0 {
            let sent = exchanges.len();
            bail!("{sent} requests are no {variants} variants of each");
        }
        let spec = LoadSpec {
            target,
            speaking,
            exchanges,
            load: self.load,
            shape: self.shape,
            count: self.count,
            connections: unpack_connections(self.connections)?,
            threads: Threads {
                count: self.threads.count,
                pin: self.threads.pin,
                part: self
                    .threads
                    .first_and_of
                    .map(|(first, of)| Part { first, of }),
            },
            seed: self.seed,
            check: self.check_one_in.map_or(BodyCheck::All, BodyCheck::OneIn),
            pacing: Pacing {
                order: if self.pacing.in_turn {
                    Order::InTurn
                } else {
                    Order::ByWeight
                },
                variants: self.pacing.variants,
                deadline: self.pacing.deadline_ns.map(Duration::from_nanos),
                waiting: match self.pacing.waiting {
                    SentWaiting::Nap => Waiting::Nap,
                    SentWaiting::Spin => Waiting::Spin,
                    SentWaiting::SlackNs(ns) => Waiting::Slack(Duration::from_nanos(ns)),
                },
                gather: self.pacing.gather,
            },
            interval: Duration::from_nanos(self.interval_ns.max(1)),
        };
        Ok(Unpacked { spec, kept })
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn pack_tls(tls: &TlsSettings, files: &mut FilesToSend) -> anyhow::Result<SentTls> {
    let pair = tls.client_certificate.as_ref();
    let pair = pair
        .map(|(certificate, key)| anyhow::Ok((files.add_pem(certificate)?, files.add_pem(key)?)));
    Ok(SentTls {
        server_name: tls.server_name.clone(),
        certificate_and_key: pair.transpose()?,
        trust: match &tls.trust {
            Trust::System => SentTrust::System,
            Trust::Anything => SentTrust::Anything,
            Trust::File(path) => SentTrust::File(files.add_pem(path)?),
        },
        only: match tls.versions {
            TlsVersions::Both => None,
            TlsVersions::Only12 => Some(TlsVersion::V12),
            TlsVersions::Only13 => Some(TlsVersion::V13),
        },
        ciphers: tls.ciphers.clone(),
        groups: tls.groups.clone(),
        resumption: tls.resumption,
        early_data: tls.early_data,
    })
}

fn pack_exchange(exchange: &Exchange, files: &mut FilesToSend) -> SentExchange {
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    let h2 = exchange.h2.as_ref().map(|request| {
        let fields = request.fields().iter();
        let fields = fields.map(|(name, value)| json!([text(name), text(value)]));
        SentH2 {
            fields: files.add(Value::from_iter(fields).to_string().as_bytes()),
            body: files.add(request.body()),
        }
    });
    SentExchange {
        name: exchange.name.clone(),
        request: files.add(&exchange.request),
        h2,
        to_head_request: exchange.to_head_request,
        status: match exchange.status {
            ExpectedStatus::Success => None,
            ExpectedStatus::Exactly(status) => Some(status),
        },
        body: exchange.body.as_ref().map(|body| files.add(body)),
        weight: exchange.weight,
    }
}

fn pack_connections(connections: &ConnectionUse) -> SentConnections {
    SentConnections {
        ramp_gap_ns: nanos(connections.ramp_gap),
        retry_pause_ns: nanos(connections.retry_pause),
        requests_per_connection: connections.requests_per_connection,
        sources: connections.sources.clone(),
        proxy_protocol: connections.proxy_protocol.map(|version| match version {
            ProxyVersion::V1 => 1,
            ProxyVersion::V2 => 2,
        }),
        max_udp_payload: connections.max_udp_payload,
    }
}

fn file(files: &[Vec<u8>], number: FileNumber) -> anyhow::Result<&[u8]> {
    let file = files.get(number).map(Vec::as_slice);
    file.with_context(|| format!("file {number} of the load is missing"))
}

/// A file in memory, which leaves nothing behind, and its path.
fn in_memory(bytes: &[u8], kept: &mut Vec<File>) -> anyhow::Result<PathBuf> {
    let memory = rustix::fs::memfd_create("bakeoff-pem", MemfdFlags::CLOEXEC)?;
    let mut file = File::from(memory);
    file.write_all(bytes)?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    kept.push(file);
    Ok(PathBuf::from(path))
}

fn unpack_speaking(
    speaking: SentSpeaking,
    files: &[Vec<u8>],
    kept: &mut Vec<File>,
) -> anyhow::Result<Speaking> {
    let mut tls = |tls| unpack_tls(tls, files, kept);
    Ok(match speaking {
        SentSpeaking::H1(None) => Speaking::H1 { tls: None },
        SentSpeaking::H1(Some(sent)) => Speaking::H1 {
            tls: Some(tls(sent)?),
        },
        SentSpeaking::Auto(sent) => Speaking::Auto { tls: tls(sent)? },
        SentSpeaking::H2(sent) => Speaking::H2 { tls: tls(sent)? },
        SentSpeaking::H2c => Speaking::H2c,
        SentSpeaking::H3(sent) => Speaking::H3 { tls: tls(sent)? },
    })
}

fn unpack_tls(
    tls: SentTls,
    files: &[Vec<u8>],
    kept: &mut Vec<File>,
) -> anyhow::Result<TlsSettings> {
    let client_certificate = match tls.certificate_and_key {
        Some((certificate, key)) => Some((
            in_memory(file(files, certificate)?, kept)?,
            in_memory(file(files, key)?, kept)?,
        )),
        None => None,
    };
    Ok(TlsSettings {
        server_name: tls.server_name,
        trust: match tls.trust {
            SentTrust::System => Trust::System,
            SentTrust::Anything => Trust::Anything,
            SentTrust::File(number) => Trust::File(in_memory(file(files, number)?, kept)?),
        },
        versions: match tls.only {
            None => TlsVersions::Both,
            Some(TlsVersion::V12) => TlsVersions::Only12,
            Some(TlsVersion::V13) => TlsVersions::Only13,
        },
        ciphers: tls.ciphers,
        groups: tls.groups,
        resumption: tls.resumption,
        early_data: tls.early_data,
        client_certificate,
    })
}

fn unpack_exchange(exchange: SentExchange, files: &[Vec<u8>]) -> anyhow::Result<Exchange> {
    let h2 = exchange.h2.map(|request| unpack_h2(request, files));
    let body = exchange.body.map(|number| file(files, number));
    Ok(Exchange {
        name: exchange.name,
        request: file(files, exchange.request)?.into(),
        h2: h2.transpose()?,
        to_head_request: exchange.to_head_request,
        status: exchange
            .status
            .map_or(ExpectedStatus::Success, ExpectedStatus::Exactly),
        body: body.transpose()?.map(Arc::from),
        weight: exchange.weight,
    })
}

fn unpack_h2(request: SentH2, files: &[Vec<u8>]) -> anyhow::Result<h2::Request> {
    let fields: Vec<(String, String)> = serde_json::from_slice(file(files, request.fields)?)
        .context("the fields of a request cannot be read")?;
    let (first, headers): (Vec<_>, Vec<_>) = fields
        .into_iter()
        .partition(|(name, _)| name.starts_with(':'));
    let named = |name: &str| {
        let found = first.iter().find(|(each, _)| each == name);
        found.map_or("", |(_, value)| value.as_str())
    };
    Ok(h2::Request::new(
        named(":method"),
        named(":scheme"),
        named(":authority"),
        named(":path"),
        &headers,
        file(files, request.body)?.to_vec(),
    )?)
}

fn unpack_connections(connections: SentConnections) -> anyhow::Result<ConnectionUse> {
    Ok(ConnectionUse {
        ramp_gap: Duration::from_nanos(connections.ramp_gap_ns),
        retry_pause: Duration::from_nanos(connections.retry_pause_ns),
        requests_per_connection: connections.requests_per_connection,
        sources: connections.sources,
        proxy_protocol: match connections.proxy_protocol {
            None => None,
            Some(1) => Some(ProxyVersion::V1),
            Some(2) => Some(ProxyVersion::V2),
            Some(other) => bail!("there is no PROXY protocol of version {other}"),
        },
        max_udp_payload: connections.max_udp_payload,
    })
}

#[cfg(test)]
mod tests;
