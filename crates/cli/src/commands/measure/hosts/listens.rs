//! Where servers on a host listen for the others, as far as home knows: what `hosts check` finds
//! wrong with an address is what `run` refuses.

use std::net::{IpAddr, ToSocketAddrs as _};

use bakeoff_hosts::Cause;
use bakeoff_plan::HOME;

/// The address on which servers on this host listen, from what the hosts file or its agent says.
/// At home it is no name: this machine may resolve its own to an address of loopback.
///
/// # Errors
/// No address is known, or it cannot be used.
pub(crate) fn at(host: &str, address: Option<&str>) -> Result<IpAddr, Cause> {
    let text = address.ok_or(Cause::NoAddress)?;
    let unusable = |why: &str, problem| Cause::BadAddress {
        address: format!("{text}{why}"),
        problem,
    };
    match text.parse() {
        Ok(address) => Ok(address),
        Err(_) if host == HOME => Err(unusable("", "its `address` is no IP address")),
        Err(_) => resolved(text).map_err(|why| {
            let problem = "its `address` is no IP address and cannot be resolved here";
            unusable(&format!(": {why}"), problem)
        }),
    }
}

fn resolved(name: &str) -> Result<IpAddr, String> {
    let found = (name, 0).to_socket_addrs();
    let mut found = found.map_err(|error| error.to_string())?;
    let first = found.next().map(|it| it.ip());
    first.ok_or_else(|| "nothing was found".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(host: &str, address: Option<&str>, expected: Result<&str, &str>) {
        let found = at(host, address);
        let found = found.map(|it| it.to_string());
        let found = found.as_deref().map_err(Cause::code);
        assert_eq!(found, expected, "{host} at {address:?}");
    }

    #[test]
    fn servers_listen_at_an_address_and_elsewhere_at_a_name_of_one() {
        check("sut", Some("10.0.1.5"), Ok("10.0.1.5"));
        check(HOME, Some("fd00::5"), Ok("fd00::5"));
        check("sut", Some("localhost"), Ok("127.0.0.1"));
        check(HOME, Some("localhost"), Err("bad-address"));
        check("sut", Some("no such name"), Err("bad-address"));
        check("sut", None, Err("no-address"));
        check(HOME, None, Err("no-address"));
    }
}
