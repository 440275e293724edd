//! Open files, ports and addresses, checked before the first connection. If they were missing, it
//! would be measured as the server's failure (R11, R12).

use std::fmt;
use std::net::{IpAddr, UdpSocket};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::net::SocketAddrUnix;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::spec::LoadSpec;
use crate::target::Endpoint;

/// Files that the process needs besides the engine's sockets.
const OTHER_FILES: u64 = 64;

/// What this machine lacks for a load, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shortage {
    /// Too few files may be open at once.
    OpenFiles {
        /// Connections asked for.
        clients: u32,
        /// Files needed.
        needed: u64,
        /// Hard limit.
        limit: u64,
    },
    /// Too few ephemeral ports towards one address.
    Ports {
        /// Connections asked for.
        clients: u32,
        /// Ports in the range.
        ports: u32,
    },
    /// There is no unix socket to connect to.
    UnixSocket {
        /// Where it was to be.
        path: PathBuf,
        /// What is there instead.
        problem: String,
    },
    /// Connections cannot come from an address.
    Source {
        /// Where connections were to come from.
        source_address: IpAddr,
        /// Why they cannot.
        problem: String,
    },
}

impl Shortage {
    /// What is missing.
    pub fn reason(&self) -> String {
        match self {
            Self::OpenFiles {
                clients,
                needed,
                limit,
            } => format!(
                "{clients} clients need {needed} open files, but this process may open {limit}"
            ),
            Self::Ports { clients, ports } => format!(
                "{clients} clients need as many ephemeral ports, but this machine has {ports}"
            ),
            Self::UnixSocket { path, problem } => {
                let path = path.display();
                format!("cannot connect to the Unix socket {path}: {problem}")
            }
            Self::Source {
                source_address,
                problem,
            } => format!("cannot connect from {source_address}: {problem}"),
        }
    }

    /// What to do about it.
    pub fn fix(&self) -> String {
        match self {
            Self::OpenFiles { needed, .. } => format!(
                "raise the limit with `ulimit -n {needed}` (as root: `ulimit -Hn {needed}` first)"
            ),
            Self::Ports { .. } => "widen them with `sysctl \
                 net.ipv4.ip_local_port_range='1024 65535'`, or add source addresses"
                .to_owned(),
            Self::UnixSocket { .. } => "expected a socket on which a server listens: start the \
                 server first, or correct the path"
                .to_owned(),
            Self::Source { .. } => "expected an address of this machine, of the same family as \
                 the server's: `ip address` lists them"
                .to_owned(),
        }
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}; {}", self.reason(), self.fix())
    }
}

impl std::error::Error for Shortage {}

/// Whether this process can make and hold the connections of `spec`; raises its soft limit of
/// open files as far as it may.
pub(crate) fn check_budget(spec: &LoadSpec) -> Result<(), Shortage> {
    for endpoint in &spec.target.endpoints {
        if let Endpoint::Unix(path) = endpoint {
            check_unix_socket(path)?;
        }
    }
    for source in &spec.connections.sources {
        check_source(*source, &spec.target.endpoints)?;
    }
    let to_socket_files = spec.target.endpoints.iter().all(|endpoint| match endpoint {
        Endpoint::Tcp(_) => false,
        Endpoint::Unix(_) => true,
    });
    // A port may be used once towards each address, from each source.
    let sources = spec.connections.sources.len().max(1);
    // Connections go to addresses of one family, and the first may be the only one.
    let first = spec.target.endpoints.first().map(Endpoint::is_v4);
    let same = spec
        .target
        .endpoints
        .iter()
        .filter(|it| Some(it.is_v4()) == first);
    let tuples = same.count().max(1) * sources;
    let tuples = if to_socket_files { usize::MAX } else { tuples };
    check_clients(spec.own_clients(), tuples)
}

/// Whether this process can hold `clients` connections, where each ephemeral port can be used
/// `tuples` times.
pub fn check_clients(clients: u32, tuples: usize) -> Result<(), Shortage> {
    let needed = u64::from(clients) + OTHER_FILES;
    let limit = getrlimit(Resource::Nofile);
    let hard = limit.maximum.unwrap_or(u64::MAX);
    if limit.current.is_some_and(|soft| soft < needed) {
        let raised = Rlimit {
            current: Some(hard),
            maximum: limit.maximum,
        };
        check_open_files(clients, hard)?;
        if setrlimit(Resource::Nofile, raised).is_err() {
            return Err(Shortage::OpenFiles {
                clients,
                needed,
                limit: hard,
            });
        }
    }
    match ephemeral_ports() {
        Some(ports) if u64::from(ports).saturating_mul(tuples as u64) < u64::from(clients) => {
            Err(Shortage::Ports { clients, ports })
        }
        _ => Ok(()),
    }
}

/// Whether a process that may open so many files can hold `clients` connections.
///
/// # Errors
/// It may not open enough.
pub fn check_open_files(clients: u32, limit: u64) -> Result<(), Shortage> {
    let needed = u64::from(clients) + OTHER_FILES;
    if needed <= limit {
        return Ok(());
    }
    Err(Shortage::OpenFiles {
        clients,
        needed,
        limit,
    })
}

/// Whether there is a socket at `path`. It is not connected to: a connection that the load does
/// not count would be one that the server sees.
fn check_unix_socket(path: &Path) -> Result<(), Shortage> {
    let problem = match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            "there is no such file".into()
        }
        Err(error) => error.to_string(),
        Ok(found) if !found.file_type().is_socket() => "it is not a socket".to_owned(),
        Ok(_) => match SocketAddrUnix::new(path) {
            Ok(_) => return Ok(()),
            Err(_) => "its path is longer than the kernel takes, 107 bytes".to_owned(),
        },
    };
    Err(Shortage::UnixSocket {
        path: path.to_owned(),
        problem,
    })
}

/// Whether connections to `endpoints` can come from `source`.
fn check_source(source: IpAddr, endpoints: &[Endpoint]) -> Result<(), Shortage> {
    let problem = |problem: String| Shortage::Source {
        source_address: source,
        problem,
    };
    let is_other = |endpoint: &Endpoint| match endpoint {
        Endpoint::Tcp(address) => address.is_ipv4() != source.is_ipv4(),
        Endpoint::Unix(_) => false,
    };
    if let Some(address) = endpoints.first()
        && endpoints.iter().all(is_other)
    {
        return Err(problem(format!("it is of another family than {address}")));
    }
    // A port of UDP is as good for asking as one of TCP, and leaves nothing behind.
    match UdpSocket::bind((source, 0)) {
        Ok(_) => Ok(()),
        Err(error) => Err(problem(error.to_string())),
    }
}

/// Number of ephemeral ports; `None` if the kernel does not say.
fn ephemeral_ports() -> Option<u32> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut bounds = text
        .split_whitespace()
        .filter_map(|number| number.parse::<u32>().ok());
    let (first, last) = (bounds.next()?, bounds.next()?);
    Some(last.saturating_sub(first) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_names_need_limit_and_fix() {
        assert_eq!(check_clients(10, 1), Ok(()));
        assert_eq!(check_open_files(10, 74), Ok(()));
        let shortage = check_open_files(11, 74).unwrap_err().to_string();
        let named = "11 clients need 75 open files, but this process may open 74";
        assert!(shortage.contains(named), "{shortage}");
        let shortage = check_clients(u32::MAX, 1).unwrap_err().to_string();
        assert!(shortage.contains("4294967295 clients need"), "{shortage}");
        assert!(
            shortage.contains("ulimit") || shortage.contains("sysctl"),
            "{shortage}"
        );
    }

    #[test]
    fn a_unix_socket_must_be_there() {
        let name = format!("bakeoff-limits-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let check = |name: &str, expected: &str| {
            let path = folder.join(name);
            let text = check_unix_socket(&path).unwrap_err().to_string();
            let named = text.contains(&path.display().to_string());
            assert!(named && text.contains(expected), "{text}");
        };
        check("absent", "there is no such file");
        std::fs::write(folder.join("file"), "").unwrap();
        check("file", "it is not a socket");
        let path = folder.join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert_eq!(check_unix_socket(&path), Ok(()));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn connections_come_from_addresses_of_this_machine_and_family() {
        let to = [Endpoint::Tcp("127.0.0.1:9".parse().unwrap())];
        let check = |source: &str, endpoints: &[Endpoint], expected: &str| {
            let found = check_source(source.parse().unwrap(), endpoints);
            let text = found.unwrap_err().to_string();
            assert!(text.contains(source) && text.contains(expected), "{text}");
        };
        assert_eq!(check_source("127.0.0.2".parse().unwrap(), &to), Ok(()));
        // TEST-NET-1, which no machine has (RFC 5737).
        check("192.0.2.1", &to, "ip address");
        check("::1", &to, "another family than 127.0.0.1:9");
    }
}
