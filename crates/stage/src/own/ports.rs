//! Ports of users' own files, as a trial uses them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::ErrorKind::AddrInUse;
use std::net::{Ipv4Addr, TcpListener};

use crate::prepared::free_port;

/// Ports below this are the system's, and often in use by the very server that is tuned.
const FIRST_OF_USERS: u16 = 1024;

/// Another port for each of the system's, and for each that is in use; the others stay.
#[derive(Debug, Default)]
pub(crate) struct Ports(RefCell<BTreeMap<u16, u16>>);

impl Ports {
    /// The port that stands for `own`, the same one each time.
    pub(super) fn of(&self, own: u16) -> Result<u16, String> {
        let mut ports = self.0.borrow_mut();
        if let Some(port) = ports.get(&own) {
            return Ok(*port);
        }
        let port = match own >= FIRST_OF_USERS && is_free(own) {
            true => own,
            false => free_port().map_err(|error| error.to_string())?,
        };
        ports.insert(own, port);
        Ok(port)
    }

    /// The port that stood for `own`.
    pub(crate) fn known(&self, own: u16) -> u16 {
        self.0.borrow().get(&own).copied().unwrap_or(own)
    }
}

/// Whether nobody listens there.
fn is_free(port: u16) -> bool {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    !listener.is_err_and(|cause| cause.kind() == AddrInUse)
}
