//! TCP sockets of this network namespace, from the kernel's socket diagnostics.
//!
//! `/proc/net/tcp` has the same. But it also has a line of text for each connection that a load
//! left behind, and the kernel searches all of them even if only listening sockets are wanted.

use std::os::fd::OwnedFd;

use rustix::net::netlink::SOCK_DIAG;

use crate::diag::{self, States, TcpSocket};
use crate::netlink;

/// Those that listen; `None` where the kernel does not report.
pub fn listening() -> Option<Vec<TcpSocket>> {
    all(States::LISTENING)
}

/// Those that are connected to another end, or are about to be; `None` where the kernel does not
/// report. What waits for late packets after its end is not among them.
pub fn connected() -> Option<Vec<TcpSocket>> {
    all(States::CONNECTED)
}

fn all(states: States) -> Option<Vec<TcpSocket>> {
    let mut found = Vec::new();
    ask(&open()?, states, &mut Vec::new(), &mut found)?;
    Some(found)
}

/// A socket to ask by.
pub(crate) fn open() -> Option<OwnedFd> {
    netlink::open(Some(SOCK_DIAG))
}

/// Adds the sockets of both families in these states; `None` where the kernel does not report.
pub(crate) fn ask(
    socket: &OwnedFd,
    states: States,
    buffer: &mut Vec<u8>,
    found: &mut Vec<TcpSocket>,
) -> Option<()> {
    for family in diag::FAMILIES {
        let request = diag::request(family, states);
        netlink::ask(socket, &request, buffer, |bytes| {
            diag::sockets(bytes, found)
        })?;
    }
    Some(())
}
