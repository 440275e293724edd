//! Open files and ports, budgeted before the first connection: running out in mid-run would be
//! measured as the server's failure (R11, R12).

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::spec::LoadSpec;
use crate::target::Endpoint;

/// Files that the process needs besides the engine's sockets.
const OTHER_FILES: u64 = 64;

/// What this machine lacks for a load, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Shortage {
    /// Too few files may be open at once.
    #[error(
        "{clients} clients need {needed} open files, but this process may open {limit}; \
         raise the limit with `ulimit -n {needed}` (as root: `ulimit -Hn {needed}` first)"
    )]
    OpenFiles {
        /// Connections asked for.
        clients: u32,
        /// Files needed.
        needed: u64,
        /// Hard limit.
        limit: u64,
    },
    /// Too few ephemeral ports towards one address.
    #[error(
        "{clients} clients need as many ephemeral ports, but this machine has {ports}; \
         widen them with `sysctl net.ipv4.ip_local_port_range='1024 65535'`, or name more \
         addresses to come from"
    )]
    Ports {
        /// Connections asked for.
        clients: u32,
        /// Ports in the range.
        ports: u32,
    },
}

/// Whether this process can hold the connections of `spec`; raises its soft limit of open files
/// as far as it may.
pub(crate) fn check_budget(spec: &LoadSpec) -> Result<(), Shortage> {
    let to_socket_files = spec.target.endpoints.iter().all(|endpoint| match endpoint {
        Endpoint::Tcp(_) => false,
        Endpoint::Unix(_) => true,
    });
    // A port may be used once towards each address, from each source.
    let tuples = spec.target.endpoints.len().max(1) * spec.sources.len().max(1);
    let tuples = if to_socket_files { usize::MAX } else { tuples };
    check_clients(spec.load.clients(), tuples)
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
        if hard < needed || setrlimit(Resource::Nofile, raised).is_err() {
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

/// Number of ephemeral ports; `None` where the kernel does not tell.
fn ephemeral_ports() -> Option<u32> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut bounds = text
        .split_whitespace()
        .filter_map(|word| word.parse::<u32>().ok());
    let (first, last) = (bounds.next()?, bounds.next()?);
    Some(last.saturating_sub(first) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_names_need_limit_and_mend() {
        assert_eq!(check_clients(10, 1), Ok(()));
        let shortage = check_clients(u32::MAX, 1).unwrap_err().to_string();
        assert!(shortage.contains("4294967295 clients need"), "{shortage}");
        assert!(
            shortage.contains("ulimit") || shortage.contains("sysctl"),
            "{shortage}"
        );
    }
}
