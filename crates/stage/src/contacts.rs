//! With whom a server that runs a user's own files is connected, and where it listens.
//!
//! Rules change what they know of such files. What they miss would send a load to a real upstream,
//! or offer the server to other machines. The sockets of its processes show both, however the file
//! says it.
//!
//! It does not see what has no TCP connection: datagrams to others, sockets in the file system. Nor
//! does it see a connection that was made and closed between two looks.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::error::Cause;
use crate::listeners::{self, Connection, Listener, Transport};

/// Nobody listens there. It is what rules put in place of an upstream that a trial has not.
const CLOSED_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9);
/// The system's usual first port for sockets that ask for none.
const FIRST_OF_CLIENTS: u16 = 32768;
/// Between two looks while an answer is waited for.
const LOOK_AGAIN: Duration = Duration::from_millis(1);
/// Between two looks under load: the first ones fall into the warm-up, and those in the window are
/// too few to be measured.
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// A look may take this share of the time, unless it takes so long that it would come too seldom.
const COST_MAX: u32 = 100;

/// Who may be in contact with a server.
#[derive(Debug)]
pub(crate) struct Contacts {
    /// The server's name as people write it.
    title: String,
    /// Address of this host at which it listens.
    ip: IpAddr,
    origin: Option<SocketAddr>,
    /// The first port that sockets get which ask for none.
    first_of_clients: u16,
    found: OnceLock<Contact>,
    next: Instant,
    pause: Duration,
}

/// Says that something is over, in whatever way it ended.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What a server must not have in a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Contact {
    /// It is connected to somebody else.
    Peer(SocketAddr),
    /// Other machines reach it here.
    Listens(SocketAddr),
}

impl Contacts {
    pub(crate) fn new(title: &str, ip: IpAddr, origin: Option<SocketAddr>) -> Self {
        Self {
            title: title.to_owned(),
            ip,
            origin,
            first_of_clients: first_of_clients(),
            found: OnceLock::new(),
            next: Instant::now(),
            pause: PAUSE,
        }
    }

    /// Looks once at a server with these processes.
    ///
    /// # Errors
    /// When it is in contact with somebody it should not be, or was at an earlier look.
    pub(crate) fn check(&self, pids: &[Pid]) -> Result<(), Cause> {
        if self.found.get().is_none() {
            self.look(pids);
        }
        self.verdict()
    }

    /// The same, if it is time for another look.
    pub(crate) fn check_at_times(&mut self, pids: impl Fn() -> Vec<Pid>) -> Result<(), Cause> {
        let began = Instant::now();
        if self.found.get().is_none() && began >= self.next {
            self.look(&pids());
            let cost = began.elapsed();
            self.next = began + self.pause.max(cost * COST_MAX).min(PAUSE_MAX);
            self.pause = (self.pause * 3 / 2).min(PAUSE_MAX);
        }
        self.verdict()
    }

    /// Looks again and again while `ask` waits for an answer: a server may connect to its upstream
    /// for no longer than that.
    pub(crate) fn watch<T>(&self, pids: &[Pid], ask: impl FnOnce() -> T) -> T {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) && self.found.get().is_none() {
                    self.look(pids);
                    std::thread::sleep(LOOK_AGAIN);
                }
            });
            let _over = Over(&is_over);
            ask()
        })
    }

    fn look(&self, pids: &[Pid]) {
        let connections = listeners::connections_of(pids);
        // Read later, they hold the one at which a connection was accepted.
        let listeners = listeners::held_by(pids);
        if let Some(contact) = self.wrong(&listeners, &connections) {
            let _ = self.found.set(contact);
        }
    }

    fn verdict(&self) -> Result<(), Cause> {
        let server = self.title.clone();
        match self.found.get() {
            None => Ok(()),
            Some(Contact::Peer(peer)) => Err(Cause::ForeignPeer {
                server,
                peer: *peer,
            }),
            Some(Contact::Listens(address)) => Err(Cause::OpenListener {
                server,
                address: *address,
            }),
        }
    }

    /// What of these sockets a trial must not have.
    fn wrong(&self, listeners: &[Listener], connections: &[Connection]) -> Option<Contact> {
        let open = listeners.iter().find(|it| self.is_open(it));
        if let Some(listener) = open {
            return Some(Contact::Listens(listener.address));
        }
        let is_own = |address: SocketAddr| {
            let mut tcp = listeners.iter().filter(|it| it.transport == Transport::Tcp);
            tcp.any(|it| {
                let at = it.address;
                at.port() == address.port() && (at.ip() == address.ip() || at.ip().is_unspecified())
            })
        };
        let is_known = |connection: &&Connection| {
            let Connection { own, peer } = **connection;
            Some(peer) == self.origin || peer == CLOSED_PORT || is_own(own) || is_own(peer)
        };
        let foreign = connections.iter().find(|it| !is_known(it))?;
        Some(Contact::Peer(foreign.peer))
    }

    /// Whether other machines reach it that should not.
    fn is_open(&self, listener: &Listener) -> bool {
        let at = listener.address;
        // A UDP socket that only sends looks like one that listens, at a port that the system gave.
        let only_sends = listener.transport == Transport::Udp && at.port() >= self.first_of_clients;
        !at.ip().is_loopback() && at.ip() != self.ip && !only_sends
    }
}

fn first_of_clients() -> u16 {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
    let first = range
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse().ok());
    first.unwrap_or(FIRST_OF_CLIENTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn listener(transport: Transport, at: &str) -> Listener {
        Listener {
            transport,
            address: address(at),
            inode: 1,
        }
    }

    fn contacts(ip: &str) -> Contacts {
        Contacts {
            first_of_clients: FIRST_OF_CLIENTS,
            ..Contacts::new("Jetty", ip.parse().unwrap(), Some(address("10.0.0.2:3999")))
        }
    }

    #[test]
    fn a_server_may_speak_to_its_clients_its_origin_and_itself() {
        let contacts = contacts("127.0.0.1");
        let listeners = [
            listener(Transport::Tcp, "127.0.0.1:8080"),
            listener(Transport::Tcp, "[::1]:8081"),
            listener(Transport::Udp, "127.0.0.1:8443"),
        ];
        let wrong = |own: &str, peer: &str| {
            let connection = Connection {
                own: address(own),
                peer: address(peer),
            };
            contacts.wrong(&listeners, &[connection])
        };
        for (own, peer) in [
            ("127.0.0.1:8080", "127.0.0.1:50000"),
            ("[::1]:8081", "[::1]:50000"),
            ("10.0.0.1:50001", "10.0.0.2:3999"),
            ("127.0.0.1:50001", "127.0.0.1:8080"),
            ("127.0.0.1:50001", "127.0.0.1:9"),
        ] {
            assert_eq!(wrong(own, peer), None, "{own} and {peer}");
        }
        for (own, peer) in [
            ("127.0.0.1:50001", "127.0.0.1:3999"),
            ("127.0.0.1:50001", "127.0.0.1:9000"),
            ("127.0.0.1:50001", "127.0.0.1:8443"),
            ("10.0.0.1:50001", "10.0.0.2:80"),
            ("10.0.0.1:8080", "10.0.0.7:50000"),
        ] {
            let expected = Some(Contact::Peer(address(peer)));
            assert_eq!(wrong(own, peer), expected, "{own} and {peer}");
        }
    }

    #[test]
    fn a_server_may_listen_for_this_machine_or_where_it_was_asked_to() {
        let check = |ip: &str, transport, at: &str, is_wrong: bool| {
            let wrong = contacts(ip).wrong(&[listener(transport, at)], &[]);
            let expected = is_wrong.then(|| Contact::Listens(address(at)));
            assert_eq!(wrong, expected, "{at} at {ip}");
        };
        let (tcp, udp) = (Transport::Tcp, Transport::Udp);
        check("127.0.0.1", tcp, "127.0.0.1:80", false);
        check("127.0.0.1", tcp, "127.9.0.1:80", false);
        check("127.0.0.1", tcp, "[::1]:80", false);
        check("10.0.0.1", tcp, "10.0.0.1:80", false);
        check("127.0.0.1", tcp, "10.0.0.1:80", true);
        check("127.0.0.1", tcp, "0.0.0.0:80", true);
        check("10.0.0.1", tcp, "0.0.0.0:80", true);
        check("127.0.0.1", tcp, "[::]:40000", true);
        check("127.0.0.1", udp, "0.0.0.0:443", true);
        check("127.0.0.1", udp, "0.0.0.0:40000", false);
    }

    #[test]
    fn what_was_seen_once_stays_wrong() {
        let mut contacts = contacts("127.0.0.1");
        let nobody = contacts.check(&[]);
        assert!(nobody.is_ok(), "{nobody:?}");
        let listener = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
        let me = rustix::process::getpid();
        let came = contacts.watch(&[me], || {
            let end = Instant::now() + Duration::from_secs(30);
            while contacts.found.get().is_none() && Instant::now() < end {
                std::thread::sleep(LOOK_AGAIN);
            }
            "an answer"
        });
        assert_eq!(came, "an answer");
        drop(listener);
        let words = contacts.check(&[]).unwrap_err().to_string();
        assert!(words.starts_with("Jetty "), "{words}");
        let later = contacts.check_at_times(Vec::new).unwrap_err();
        assert_eq!(later.to_string(), words);
    }
}
