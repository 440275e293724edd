//! The load engine against servers in this process: sockets, TLS, HTTP/1.1, 2 and 3.

mod framing;
mod h2;
mod h2_faults;
mod h2_tls;
mod h3;
mod h3_datagrams;
mod h3_early;
mod h3_hostile;
mod h3_path;
mod outcomes;
mod quic_server;
mod support;
