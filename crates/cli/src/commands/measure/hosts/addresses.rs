//! Which addresses a record must not hold: all that are known of hosts that take part.

use bakeoff_hosts::Session;
use bakeoff_plan::{HOME, HostWay, Hosts};
use bakeoff_record::Addresses;

/// Adds what the hosts file says of each host, and the addresses of this machine.
pub(crate) fn of_file(hosts: &Hosts) -> Addresses {
    let mut addresses = Addresses::default();
    for host in &hosts.hosts {
        if let Some(address) = &host.address {
            addresses.add(address, &host.name);
        }
        if let HostWay::Ssh(alias) = &host.way {
            // What has a dot or a colon is an address; anything else is a name of the user's own.
            let target = alias
                .rsplit_once('@')
                .map_or(alias.as_str(), |(_, host)| host);
            if target.contains(['.', ':']) {
                addresses.add(target, &host.name);
            }
        }
    }
    for address in bakeoff_probe::own_addresses() {
        addresses.add(&address.to_string(), HOME);
    }
    addresses
}

/// Adds what the agent of a host says of it.
pub(crate) fn add_of(addresses: &mut Addresses, session: &Session) {
    let hello = session.hello();
    for one in hello.address.iter().chain(&hello.addresses) {
        addresses.add(one, session.host());
    }
}
