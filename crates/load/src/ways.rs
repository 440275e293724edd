//! Which of a name's addresses connections lead to.
//!
//! As a careful client does (RFC 8305), a connection that cannot be made to one address is made
//! to another one. Other than such a client, a load does not begin two for one: the server would
//! count what nobody asked for. Connections are spread over the addresses of one family, that of
//! the first in the resolver's order that was not given up: a name may stand for several servers,
//! and for one that listens to one family alone.

use std::net::IpAddr;

use bakeoff_record::AddressUse;

use crate::driver::Way;
use crate::end::End;
use crate::spec::LoadSpec;
use crate::target::Endpoint;

/// How long an address may let the first connection wait, where there is another one
/// (RFC 8305, 5).
pub(crate) const ATTEMPT_NS_MAX: u64 = 200_000_000;

/// The addresses of a load's target, and what became of connections to each.
pub(crate) struct Ways<'a> {
    endpoints: &'a [Endpoint],
    sources: &'a [IpAddr],
    uses: Vec<AddressUse>,
    /// Connections begun so far.
    turn: usize,
}

impl<'a> Ways<'a> {
    /// The first connection is number `turn`.
    pub(crate) fn new(spec: &'a LoadSpec, turn: usize) -> Self {
        let endpoints = &spec.target.endpoints[..];
        let unused = |endpoint: &Endpoint| AddressUse {
            address: endpoint.to_string(),
            ..AddressUse::default()
        };
        Self {
            endpoints,
            sources: &spec.connections.sources,
            uses: endpoints.iter().map(unused).collect(),
            turn,
        }
    }

    /// The place of the address that the next connection leads to. Where none is left, each has
    /// its turn.
    pub(crate) fn next(&mut self) -> usize {
        let turn = self.turn;
        self.turn = turn.wrapping_add(1);
        let Some(first) = self.left().next() else {
            let fitting = || (0..self.uses.len()).filter(|at| self.has_source(*at));
            return fitting().nth(turn % fitting().count().max(1)).unwrap_or(0);
        };
        let is_v4 = self.endpoints[first].is_v4();
        let same = || {
            self.left()
                .filter(|at| self.endpoints[*at].is_v4() == is_v4)
        };
        same().nth(turn % same().count()).unwrap_or(first)
    }

    /// The way to the address at a place; of the sources of its family, that of this turn.
    pub(crate) fn way(&self, at: usize, turn: usize) -> Way<'a> {
        let to = &self.endpoints[at];
        let fits = |source: &&IpAddr| source.is_ipv4() == to.is_v4();
        let sources = || self.sources.iter().filter(fits);
        Way {
            to,
            source: sources().nth(turn % sources().count().max(1)).copied(),
        }
    }

    /// Connections begun so far.
    pub(crate) fn turn(&self) -> usize {
        self.turn
    }

    /// A connection was made.
    pub(crate) fn opened(&mut self, at: usize) {
        self.uses[at].opened += 1;
    }

    /// A connection could not be made. Returns whether another address is to be tried in place of
    /// this one. One that took a connection before is not given up: its server fails, and that
    /// counts.
    #[cold]
    pub(crate) fn give_up(&mut self, at: usize, end: &End) -> bool {
        if self.uses.len() == 1 || self.uses[at].opened > 0 || !end.is_of_address() {
            return false;
        }
        self.uses[at].problem.get_or_insert_with(|| end.problem());
        self.left().next().is_some()
    }

    /// Whether a connection to this address is the first one, and there is another address.
    pub(crate) fn has_others(&self, at: usize) -> bool {
        self.uses[at].opened == 0 && self.left().any(|other| other != at)
    }

    /// What became of each address; nothing to tell where there is one.
    pub(crate) fn uses(&self) -> Vec<AddressUse> {
        match self.uses.len() {
            1 => Vec::new(),
            _ => self.uses.clone(),
        }
    }

    /// Those that were not given up.
    fn left(&self) -> impl Iterator<Item = usize> {
        let uses = self.uses.iter().enumerate();
        let left = uses.filter(|(_, it)| it.opened > 0 || it.problem.is_none());
        left.map(|(at, _)| at).filter(|at| self.has_source(*at))
    }

    fn has_source(&self, at: usize) -> bool {
        let is_v4 = self.endpoints[at].is_v4();
        let mut sources = self.sources.iter();
        self.sources.is_empty() || sources.any(|source| source.is_ipv4() == is_v4)
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    /// A load of a name with these addresses, from these sources.
    fn spec(addresses: &[&str], sources: &[&str]) -> LoadSpec {
        let mut spec = crate::turn::several(&[1], crate::spec::Order::ByWeight);
        let endpoint = |text: &&str| Endpoint::Tcp(text.parse().expect("an address"));
        spec.target.endpoints = addresses.iter().map(endpoint).collect();
        let source = |text: &&str| text.parse().expect("an address");
        spec.connections.sources = sources.iter().map(source).collect();
        spec
    }

    fn next(ways: &mut Ways<'_>, count: usize) -> Vec<usize> {
        (0..count).map(|_| ways.next()).collect()
    }

    fn refused() -> End {
        End::connect(Errno::CONNREFUSED, &Endpoint::Unix("/a".into()))
    }

    #[test]
    fn connections_are_spread_over_one_family_and_over_what_takes_them() {
        let spec = spec(&["[::1]:1", "1.0.0.1:1", "1.0.0.2:1", "[::2]:1"], &[]);
        let mut ways = Ways::new(&spec, 0);
        assert_eq!(next(&mut ways, 4), [0, 3, 0, 3]);
        assert!(ways.has_others(0));
        assert!(ways.give_up(0, &refused()));
        assert_eq!(next(&mut ways, 4), [1, 2, 1, 2]);
        ways.opened(1);
        assert!(ways.give_up(2, &refused()));
        assert!(!ways.has_others(1) && !ways.give_up(1, &refused()));
        assert_eq!(next(&mut ways, 2), [1, 1], "its server fails");
        let problem = Some("Connection refused (os error 111)".to_owned());
        assert_eq!(ways.uses()[0].problem, problem);
        assert_eq!((ways.uses()[1].opened, &ways.uses()[1].problem), (1, &None));
    }

    #[test]
    fn where_none_takes_connections_each_has_its_turn() {
        let spec = spec(&["[::1]:1", "1.0.0.1:1"], &[]);
        let mut ways = Ways::new(&spec, 0);
        assert!(ways.give_up(0, &refused()));
        assert!(!ways.give_up(1, &refused()));
        assert_eq!(next(&mut ways, 4), [0, 1, 0, 1]);
        let local = End::connect(Errno::MFILE, &spec.target.endpoints[0]);
        let mut ways = Ways::new(&spec, 0);
        assert!(!ways.give_up(0, &local), "no other address would do better");
    }

    #[test]
    fn an_address_is_of_the_family_of_the_sources() {
        let spec = spec(&["[::1]:1", "1.0.0.1:1"], &["1.0.0.8", "1.0.0.9"]);
        let mut ways = Ways::new(&spec, 0);
        assert_eq!(next(&mut ways, 2), [1, 1]);
        let sources: Vec<_> = (0..3).map(|turn| ways.way(1, turn).source).collect();
        let [a, b] = ["1.0.0.8", "1.0.0.9"].map(|it| it.parse().ok());
        assert_eq!(sources, [a, b, a]);
    }
}
