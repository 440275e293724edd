//! A name with several addresses, of which some take no connections.

use super::*;
use crate::driver::invented::Door;
use crate::target::Endpoint;

/// A load of a name with an address of each family.
fn of_two(mut spec: LoadSpec) -> LoadSpec {
    let both = ["[::1]:80", "127.0.0.1:80"];
    let endpoint = |text: &str| Endpoint::Tcp(text.parse().expect("an address"));
    spec.target.endpoints = both.map(endpoint).into();
    spec
}

/// Connections made to each address, and the problem of each.
fn uses(result: &LoadResult) -> Vec<(&str, u64, Option<&str>)> {
    let uses = result.observed.addresses.iter();
    uses.map(|one| (&*one.address, one.opened, one.problem.as_deref()))
        .collect()
}

const REFUSED: Option<&str> = Some("Connection refused (os error 111)");

#[test]
fn what_one_address_refuses_another_one_takes() {
    for connect in [Connect::First, Connect::AsNeeded] {
        let mut spec = of_two(counted(3, 30));
        spec.load.connect = connect;
        let server = Server::after(ms(1)).at_door(|number, _| match number {
            0 => Door::Refuses(us(10)),
            _ => Door::Opens(DOOR),
        });
        let result = check(&spec, server, &[(Outcome::Ok, 30)]).result;
        let expected = [("[::1]:80", 0, REFUSED), ("127.0.0.1:80", 3, None)];
        assert_eq!(uses(&result), expected);
        let connections = &result.connections;
        assert_eq!((connections.opened, connections.failed), (3, 1));
    }
}

#[test]
fn an_address_that_says_nothing_is_given_up_for_another_one() {
    let mut spec = of_two(counted(3, 30));
    spec.load.connect = Connect::First;
    spec.load.timeout_s = 5.0;
    let server = Server::after(ms(1)).at_door(|number, _| match number {
        0..3 => Door::Silent,
        _ => Door::Opens(DOOR),
    });
    let played = check(&spec, server, &[(Outcome::Ok, 30)]);
    let problem = Some("no connection within 0.2 s");
    let expected = [("[::1]:80", 0, problem), ("127.0.0.1:80", 3, None)];
    assert_eq!(uses(&played.result), expected);
    assert!(played.end() < BEGIN + ms(220), "{}", played.end());
}

#[test]
fn where_all_refuse_each_is_named() {
    let spec = of_two(counted(1, 4));
    let server = Server::silent().at_door(|_, _| Door::Refuses(us(10)));
    let result = check(&spec, server, &[(Outcome::Refused, 4)]).result;
    let expected = [("[::1]:80", 0, REFUSED), ("127.0.0.1:80", 0, REFUSED)];
    assert_eq!(uses(&result), expected);
    let sample = &result.error_samples["refused"];
    assert_eq!(
        sample,
        "connect to 127.0.0.1:80: Connection refused (os error 111)"
    );
}

#[test]
fn one_address_is_not_told_of() {
    let played = check(&counted(2, 10), Server::after(ms(1)), &[(Outcome::Ok, 10)]);
    assert_eq!(uses(&played.result), []);
}
