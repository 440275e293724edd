//! Which sockets listen on this machine or are connected, and to whom they belong: from the kernel,
//! or where it does not report, from `/proc`.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use bakeoff_plan::Protocol;
use bakeoff_probe::TcpSocket;
use rustix::process::Pid;

use crate::listening::LOOPBACK;
use crate::tree;

/// How bytes reach a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Tcp,
    Udp,
}

impl Transport {
    /// What a protocol travels over.
    pub(crate) fn of(protocol: Protocol) -> Self {
        if protocol.is_h3() {
            Self::Udp
        } else {
            Self::Tcp
        }
    }
}

/// One listening TCP socket, or a UDP socket that takes datagrams from anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Listener {
    pub(crate) transport: Transport,
    pub(crate) address: SocketAddr,
    pub(crate) inode: u64,
}

impl Listener {
    /// Where a client reaches it that reaches this machine at `own`; `None` when it cannot.
    pub(crate) fn reached_at(&self, own: IpAddr) -> Option<SocketAddr> {
        let ip = match self.address.ip() {
            ip if ip == own => ip,
            // Who is on this machine reaches all of its loopback addresses.
            ip if ip.is_loopback() && own == LOOPBACK => ip,
            // A wildcard of version 6 accepts version 4 too, unless that was turned off.
            ip if ip.is_unspecified() && (ip.is_ipv6() || own.is_ipv4()) => own,
            _ => return None,
        };
        Some(SocketAddr::new(ip, self.address.port()))
    }
}

/// One end of a TCP connection, or of an attempt to make one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Connection {
    pub(crate) own: SocketAddr,
    pub(crate) peer: SocketAddr,
}

impl Connection {
    /// What listens, or is not connected yet, has none.
    fn has_peer(&self) -> bool {
        self.peer.port() != 0
    }
}

/// Every listening socket of the network namespace that this thread is in.
pub(crate) fn listeners() -> Vec<Listener> {
    let mut all = match bakeoff_probe::listening() {
        Some(sockets) => sockets.into_iter().map(listener).collect(),
        None => in_tables(Transport::Tcp),
    };
    all.extend(in_tables(Transport::Udp));
    all
}

fn listener(socket: TcpSocket) -> Listener {
    Listener {
        transport: Transport::Tcp,
        address: socket.own,
        inode: socket.inode,
    }
}

/// The same from the tables that every kernel has.
fn in_tables(transport: Transport) -> Vec<Listener> {
    let mut listeners = Vec::new();
    for lines in tables(transport) {
        // The kernel lists TCP sockets that listen before all others, of which a load leaves
        // thousands behind. It writes the table as it is read, so the rest costs little.
        let lines =
            lines.take_while(|line| transport == Transport::Udp || is_open(transport, line));
        listeners.extend(lines.filter_map(|line| parse(transport, &line)));
    }
    listeners
}

/// The lines of the tables of a transport, those of version 6 last.
fn tables(transport: Transport) -> impl Iterator<Item = impl Iterator<Item = String>> {
    let names = match transport {
        Transport::Tcp => ["tcp", "tcp6"],
        Transport::Udp => ["udp", "udp6"],
    };
    let files = names
        .into_iter()
        .filter_map(|name| File::open(format!("/proc/thread-self/net/{name}")).ok());
    files.map(|file| BufReader::new(file).lines().map_while(Result::ok).skip(1))
}

/// Whether a line of these tables is of a socket to which anybody can send.
fn is_open(transport: Transport, line: &str) -> bool {
    // 0A is TCP_LISTEN; a UDP socket that is connected to nobody is in 07, TCP_CLOSE.
    let state = match transport {
        Transport::Tcp => "0A",
        Transport::Udp => "07",
    };
    line.split_whitespace().nth(3) == Some(state)
}

/// The listening sockets that `pids` hold.
pub(crate) fn held_by(pids: &[Pid]) -> Vec<Listener> {
    let inodes: HashSet<u64> = pids.iter().flat_map(|&pid| sockets(pid)).collect();
    listeners()
        .into_iter()
        .filter(|listener| inodes.contains(&listener.inode))
        .collect()
}

/// The TCP connections that `pids` hold. What was closed has no owner any more and is not seen.
pub(crate) fn connections_of(pids: &[Pid]) -> Vec<Connection> {
    let inodes: HashSet<u64> = pids.iter().flat_map(|&pid| sockets(pid)).collect();
    let Some(connected) = bakeoff_probe::connected() else {
        return connections_in_tables(&inodes);
    };
    let held = connected
        .into_iter()
        .filter(|it| inodes.contains(&it.inode));
    let ends = held.map(|it| Connection {
        own: it.own,
        peer: it.peer,
    });
    ends.filter(Connection::has_peer).collect()
}

/// The same from the tables that every kernel has.
fn connections_in_tables(inodes: &HashSet<u64>) -> Vec<Connection> {
    let lines = tables(Transport::Tcp).flatten();
    lines.filter_map(|line| connection(&line, inodes)).collect()
}

/// A line of these tables, if it is of a connected socket among `inodes`.
fn connection(line: &str, inodes: &HashSet<u64>) -> Option<Connection> {
    let mut fields = line.split_whitespace().skip(1);
    let (own, peer) = (fields.next()?, fields.next()?);
    // The inode is field 9 of all.
    let inode = fields.nth(6)?.parse().ok()?;
    if !inodes.contains(&inode) {
        return None;
    }
    let connection = Connection {
        own: address(own)?,
        peer: address(peer)?,
    };
    connection.has_peer().then_some(connection)
}

/// Who listens on `port`, for an error message: the process, or that it cannot be seen. `None`
/// when nobody listens.
pub(crate) fn owner_text(port: u16) -> Option<String> {
    let on_port = |listener: &Listener| listener.address.port() == port;
    let listener = listeners().into_iter().find(on_port)?;
    let owner = tree::all()
        .into_iter()
        .find(|&pid| sockets(pid).contains(&listener.inode));
    Some(match owner {
        Some(pid) => format!("process {pid} ({})", tree::name(pid)),
        // Where the system refuses to say what a process has open, it has nothing here.
        None => "a process that bakeoff may not look at, such as one of another user".to_owned(),
    })
}

/// Whether somebody listens on `port`, and nobody who may be looked at.
pub(crate) fn has_hidden_owner(transport: Transport, port: u16) -> bool {
    let is_there = |it: &Listener| it.transport == transport && it.address.port() == port;
    let inodes: HashSet<u64> = listeners()
        .iter()
        .filter(|listener| is_there(listener))
        .map(|listener| listener.inode)
        .collect();
    !inodes.is_empty() && !tree::all().into_iter().any(|pid| holds(pid, &inodes))
}

/// Whether `pid` holds one of these sockets.
pub(crate) fn holds(pid: Pid, inodes: &HashSet<u64>) -> bool {
    sockets(pid).iter().any(|inode| inodes.contains(inode))
}

fn sockets(pid: Pid) -> Vec<u64> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/fd")) else {
        return Vec::new();
    };
    let targets = entries
        .flatten()
        .filter_map(|entry| std::fs::read_link(entry.path()).ok());
    targets
        .filter_map(|target| inode(target.to_str()?))
        .collect()
}

fn inode(target: &str) -> Option<u64> {
    target
        .strip_prefix("socket:[")?
        .strip_suffix(']')?
        .parse()
        .ok()
}

/// A line of one of these tables, if it is a listening socket's.
fn parse(transport: Transport, line: &str) -> Option<Listener> {
    if !is_open(transport, line) {
        return None;
    }
    let fields: Vec<&str> = line.split_whitespace().collect();
    Some(Listener {
        transport,
        address: address(fields.get(1)?)?,
        inode: fields.get(9)?.parse().ok()?,
    })
}

/// An address as these tables write it.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    // Each group of eight digits is a number in the byte order of the machine.
    let parts: Option<Vec<[u8; 4]>> = (0..ip.len() / 8)
        .map(|at| u32::from_str_radix(ip.get(at * 8..at * 8 + 8)?, 16).ok())
        .map(|part| part.map(u32::to_ne_bytes))
        .collect();
    let bytes = parts?.concat();
    let ip = match bytes.len() {
        4 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?)),
        _ => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)),
    };
    // A socket of version 6 that is bound to an address of version 4 is reached by that one.
    Some(SocketAddr::new(ip.to_canonical(), port))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;

    #[test]
    fn a_listening_socket_is_found_with_its_owner() {
        let me = rustix::process::getpid();
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(socket) = TcpListener::bind(address) else {
                assert!(address.starts_with('['), "version 4 must be there");
                continue;
            };
            let address = socket.local_addr().unwrap();
            assert!(
                held_by(&[me])
                    .iter()
                    .any(|listener| listener.address == address)
            );
            let in_tables = in_tables(Transport::Tcp);
            assert!(in_tables.iter().any(|listener| listener.address == address));
            assert!(
                owner_text(address.port())
                    .unwrap()
                    .contains(&format!("process {me} "))
            );
            assert!(!has_hidden_owner(Transport::Tcp, address.port()));
            drop(socket);
            assert!(
                !held_by(&[me])
                    .iter()
                    .any(|listener| listener.address == address)
            );
        }
    }

    #[test]
    fn a_mapped_address_of_version_4_is_that_address() {
        let Ok(socket) = TcpListener::bind("[::ffff:127.0.0.1]:0") else {
            return;
        };
        let port = socket.local_addr().unwrap().port();
        let held = held_by(&[rustix::process::getpid()]);
        let found = held.iter().find(|it| it.address.port() == port).unwrap();
        let address = SocketAddr::new(LOOPBACK, port);
        assert_eq!(found.reached_at(LOOPBACK), Some(address));
    }

    #[test]
    fn both_ends_of_a_connection_are_found_with_their_peers() {
        let me = rustix::process::getpid();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = listener.local_addr().unwrap();
        let stream = TcpStream::connect(there).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let here = stream.local_addr().unwrap();
        let asking = Connection {
            own: here,
            peer: there,
        };
        let asked = Connection {
            own: there,
            peer: here,
        };
        let found = connections_of(&[me]);
        assert!(found.contains(&asking) && found.contains(&asked));
        let inodes = sockets(me).into_iter().collect();
        let found = connections_in_tables(&inodes);
        assert!(found.contains(&asking) && found.contains(&asked));
        assert!(connections_of(&[]).is_empty(), "those of nobody");
        drop((stream, accepted));
        let left = connections_of(&[me]);
        assert!(!left.contains(&asking) && !left.contains(&asked));
    }

    #[test]
    fn a_udp_socket_listens_until_it_is_connected() {
        let me = rustix::process::getpid();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let listens = || {
            let held = held_by(&[me]).into_iter();
            let mut udp = held.filter(|listener| listener.transport == Transport::Udp);
            udp.any(|listener| listener.address == address)
        };
        assert!(listens());
        assert!(owner_text(address.port()).is_some());
        socket.connect(address).unwrap();
        assert!(!listens());
    }
}
