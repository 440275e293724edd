//! Accept queues of the ports that are watched.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use bakeoff_record::{ListenerTick, Role};

use crate::diag::{States, TcpSocket};
use crate::{kernel, sockets};

/// The most that is read of `/proc/net/tcp`, where listening sockets come first: seven thousand of
/// them.
const TABLE_BYTES_MAX: usize = 1024 * 1024;
/// The kernel gives a page at a time, whatever there is room for.
const PAGE_BYTES: usize = 4 * 1024;

/// Where queues are read, and the readings so far.
#[derive(Debug)]
pub(crate) struct Queues {
    watched: Vec<(Role, u16)>,
    source: Source,
    ticks: Vec<ListenerTick>,
    found: Vec<TcpSocket>,
}

#[derive(Debug)]
enum Source {
    Diag(OwnedFd),
    Tables(Vec<File>),
}

impl Queues {
    /// Watches these ports.
    pub(crate) fn new(watched: Vec<(Role, u16)>) -> Self {
        let source = match sockets::open() {
            Some(socket) if !watched.is_empty() => Source::Diag(socket),
            _ => Source::tables(),
        };
        Self {
            watched,
            source,
            ticks: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Takes a reading; a port that nobody listens on has no tick.
    pub(crate) fn read(&mut self, at_s: f64, buffer: &mut Vec<u8>) {
        if self.watched.is_empty() {
            return;
        }
        self.found.clear();
        if let Source::Diag(socket) = &self.source {
            let read = sockets::ask(socket, States::LISTENING, buffer, &mut self.found);
            if read.is_none() {
                self.source = Source::tables();
            }
        }
        for (role, port) in &self.watched {
            let fullest = match &self.source {
                Source::Diag(_) => {
                    let own = self.found.iter().filter(|one| one.own.port() == *port);
                    let fullest = own.max_by_key(|one| one.queue);
                    fullest.map(|one| (u64::from(one.queue), Some(u64::from(one.limit))))
                }
                Source::Tables(tables) => {
                    let queues = tables.iter().map(|table| queue(table, *port, buffer));
                    queues.max().flatten().map(|queue| (queue, None))
                }
            };
            self.ticks
                .extend(fullest.map(|(queue, limit)| ListenerTick {
                    at_s,
                    port: *port,
                    role: *role,
                    queue,
                    limit,
                }));
        }
    }

    /// The readings, with the axis moved so that `zero_s` becomes 0.
    pub(crate) fn into_ticks(mut self, zero_s: f64) -> Vec<ListenerTick> {
        for tick in &mut self.ticks {
            tick.at_s -= zero_s;
        }
        self.ticks
    }
}

impl Source {
    fn tables() -> Self {
        let open = |name| File::open(format!("/proc/thread-self/net/{name}")).ok();
        Self::Tables(["tcp", "tcp6"].into_iter().filter_map(open).collect())
    }
}

fn queue(table: &File, port: u16, buffer: &mut Vec<u8>) -> Option<u64> {
    let mut length = 0;
    while length < TABLE_BYTES_MAX {
        buffer.resize(length + PAGE_BYTES, 0);
        let read = table.read_at(&mut buffer[length..], length as u64).ok()?;
        length += read;
        if read == 0 || !kernel::listens_to_the_end(&buffer[..length]) {
            break;
        }
    }
    kernel::queue(&buffer[..length], port)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    use super::*;

    /// Reads until three wait: a busy kernel puts a connection into the queue some time after its
    /// client has it.
    fn once_full(watched: &[(Role, u16)], asks_kernel: bool) -> Queues {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let mut queues = Queues::new(watched.to_vec());
            if !asks_kernel {
                queues.source = Source::tables();
            }
            queues.read(1.5, &mut Vec::new());
            if queues.ticks.iter().any(|tick| tick.queue == 3) || Instant::now() > until {
                return queues;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn connections_that_nobody_accepts_are_in_the_queue() {
        // More than a page of a table has room for.
        let listen = |_| TcpListener::bind("127.0.0.1:0").unwrap();
        let listeners: Vec<_> = (0..300).map(listen).collect();
        let address = listeners[150].local_addr().unwrap();
        let _waiting: Vec<_> = (0..3)
            .map(|_| TcpStream::connect(address).unwrap())
            .collect();
        let watched = vec![(Role::Server, address.port()), (Role::Origin, 1)];
        for has_limit in [true, false] {
            let queues = once_full(&watched, has_limit);
            let diag = matches!(queues.source, Source::Diag(_));
            let ticks = queues.into_ticks(1.0);
            assert_eq!(ticks.len(), 1, "{ticks:?}");
            assert_eq!((ticks[0].port, ticks[0].queue), (address.port(), 3));
            assert_eq!(ticks[0].at_s, 0.5);
            assert_eq!(ticks[0].limit.is_some(), has_limit && diag);
        }
    }
}
