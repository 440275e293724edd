//! Flags of connections, protocols and TLS.

use std::path::PathBuf;
use std::time::Duration;

use bakeoff_plan::Connect;
use clap::{Args, ValueEnum};

use super::Switch;
use crate::flags::duration;
use crate::flags::foreign::{self, Elsewhere};
use crate::flags::number::whole;

/// What is spoken, and to where.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connection and protocol")]
pub(crate) struct WayFlags {
    /// Protocol
    #[arg(long, value_enum, value_name = "NAME", default_value_t = ProtocolFlag::Auto)]
    pub(crate) protocol: ProtocolFlag,
    /// Requests in flight on each connection; more than 1 only over HTTP/2 and 3
    #[arg(short = 'm', long, default_value_t = 1, value_name = "N", hide_short_help = true,
          value_parser = Elsewhere::new(whole::<u32>(1, 65_534), foreign::method))]
    pub(crate) streams: u32,
    /// Connect to this address instead of the URL's host
    #[arg(
        long,
        value_name = "HOST:PORT",
        value_parser = of_curl,
        conflicts_with = "unix_socket",
        hide_short_help = true
    )]
    pub(crate) connect_to: Option<String>,
    /// Connect to this Unix socket instead of the URL's host
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) unix_socket: Option<PathBuf>,
    /// Local address for connections; may be repeated, and the addresses are used in turn
    #[arg(long, value_name = "ADDR", hide_short_help = true)]
    pub(crate) source: Vec<std::net::IpAddr>,
    /// Send a PROXY protocol header on each connection
    #[arg(long, value_enum, value_name = "VERSION", hide_short_help = true)]
    pub(crate) proxy_protocol: Option<ProxyVersionFlag>,
    /// Largest UDP payload that the server may send (RFC 9000, 18.2); HTTP/3 only
    #[arg(long, value_name = "BYTES", value_parser = whole::<u16>(1_200, 65_527),
          hide_short_help = true)]
    pub(crate) max_udp_payload: Option<u16>,
}

/// How connections are opened and kept.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connection and protocol")]
pub(crate) struct ConnectionFlags {
    /// Close the connection after each request
    #[arg(long, hide_short_help = true)]
    pub(crate) no_keepalive: bool,
    /// Close a connection after this many requests
    #[arg(long, value_name = "N", conflicts_with = "no_keepalive",
          value_parser = whole::<u32>(1, u64::from(u32::MAX)), hide_short_help = true)]
    pub(crate) requests_per_connection: Option<u32>,
    /// When to open connections: all before the load begins, or with the first requests
    /// [default: first, or as-needed with --requests; an open loop always connects first]
    #[arg(long, value_enum, value_name = "WHEN", hide_short_help = true)]
    pub(crate) connect: Option<ConnectFlag>,
    /// Time between the starts of two connections [default: 25us]
    #[arg(long, value_parser = duration, value_name = "TIME", hide_short_help = true)]
    pub(crate) ramp_gap: Option<Duration>,
    /// Open this many connections per second at the start; the inverse of --ramp-gap
    #[arg(long, value_name = "R", conflicts_with = "ramp_gap",
          value_parser = whole::<u32>(1, u64::from(u32::MAX)), hide_short_help = true)]
    pub(crate) connect_rate: Option<u32>,
    /// How long a client waits after its connection failed [default: 10ms]
    #[arg(long, value_parser = duration, value_name = "TIME", hide_short_help = true)]
    pub(crate) retry_pause: Option<Duration>,
}

/// Flags of TLS.
#[derive(Debug, Args)]
#[command(next_help_heading = "TLS")]
pub(crate) struct TlsFlags {
    /// Don't verify the server's certificate, its name or its signature
    #[arg(short = 'k', long, conflicts_with = "cacert", hide_short_help = true)]
    pub(crate) insecure: bool,
    /// PEM file with the certificate authorities to trust, instead of the system's
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) cacert: Option<PathBuf>,
    /// Use only this version of TLS
    #[arg(long, value_enum, value_name = "VERSION", hide_short_help = true)]
    pub(crate) tls_version: Option<TlsVersionFlag>,
    /// Use only these cipher suites, such as TLS13_AES_128_GCM_SHA256
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        hide_short_help = true
    )]
    pub(crate) ciphers: Vec<String>,
    /// Use only these key exchange groups [default: X25519,secp256r1,secp384r1]
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        hide_short_help = true
    )]
    pub(crate) groups: Vec<String>,
    /// Server name to request (SNI) and verify, instead of the URL's host
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) server_name: Option<String>,
    /// Let a new connection resume an earlier session
    #[arg(long, value_enum, default_value_t = Switch::Off, hide_short_help = true)]
    pub(crate) resumption: Switch,
    /// Send requests before a resumed handshake is complete (0-RTT). The server may see such a
    /// request twice. HTTP/3 only, with --resumption on
    #[arg(long, value_enum, default_value_t = Switch::Off, hide_short_help = true)]
    pub(crate) early_data: Switch,
    /// PEM file with a client certificate, and with its key where --key names no other
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) cert: Option<PathBuf>,
    /// PEM file with the key for --cert
    #[arg(long, value_name = "FILE", requires = "cert", hide_short_help = true)]
    pub(crate) key: Option<PathBuf>,
}

/// Reads `HOST:PORT`, also from curl's `URL-HOST:URL-PORT:HOST:PORT`.
fn of_curl(text: &str) -> Result<String, String> {
    let fields: Vec<&str> = text.split(':').collect();
    Ok(match fields[..] {
        [_, _, host, port] if !text.contains('[') => format!("{host}:{port}"),
        _ => text.to_owned(),
    })
}

/// The protocol of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProtocolFlag {
    /// HTTP/2 or HTTP/1.1 over TLS, as the server chooses; HTTP/1.1 without TLS
    Auto,
    /// HTTP/1.1
    #[value(aliases = ["1", "1.1", "http1", "http1.1", "http/1.1"])]
    H1,
    /// HTTP/2 over TLS
    #[value(aliases = ["2", "http2", "http/2"])]
    H2,
    /// HTTP/2 without TLS, with prior knowledge
    H2c,
    /// HTTP/3 over QUIC, with prior knowledge
    #[value(aliases = ["3", "http3", "http/3"])]
    H3,
}

/// When the connections of a load are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConnectFlag {
    /// All of them before the load begins
    First,
    /// With the first requests, so that setting them up is part of the load
    AsNeeded,
}

impl ConnectFlag {
    /// The plan's value for it.
    pub(crate) fn ready(self) -> Connect {
        match self {
            Self::First => Connect::First,
            Self::AsNeeded => Connect::AsNeeded,
        }
    }
}

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TlsVersionFlag {
    #[value(name = "1.2")]
    V12,
    #[value(name = "1.3")]
    V13,
}

/// A version of the PROXY protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProxyVersionFlag {
    V1,
    V2,
}
