//! Ports of users' own files, as a trial uses them.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::prepared::free_port;

/// Ports below this are the system's, and often in use by the very server that is tuned.
const FIRST_OF_USERS: u16 = 1024;

/// Another port for each of the system's; the others stay.
#[derive(Debug, Default)]
pub(crate) struct Ports(RefCell<BTreeMap<u16, u16>>);

impl Ports {
    /// The port that stands for `own`, the same one each time.
    pub(super) fn of(&self, own: u16) -> Result<u16, String> {
        if own >= FIRST_OF_USERS {
            return Ok(own);
        }
        let mut ports = self.0.borrow_mut();
        if let Some(port) = ports.get(&own) {
            return Ok(*port);
        }
        let free = free_port().map_err(|error| error.to_string())?;
        ports.insert(own, free);
        Ok(free)
    }
}
