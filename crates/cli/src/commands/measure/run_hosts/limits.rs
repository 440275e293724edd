//! What processes on the hosts of generators may use. A load that they cannot carry is not begun.

use bakeoff_conduct::Lacking;
use bakeoff_load::{Threads, check_open_files};

/// What the first of these hosts lacks for its part of so many clients, if one does. Each has a
/// name, its threads, and how many files may be open there.
pub(super) fn shortage<'h>(
    mut hosts: impl Iterator<Item = (&'h str, Threads, Option<u64>)>,
    clients: u32,
) -> Option<Lacking> {
    hosts.find_map(|(name, threads, limit)| {
        let shortage = check_open_files(threads.clients(clients), limit?).err()?;
        Some(Lacking {
            host: Some(name.to_owned()),
            shortage,
        })
    })
}

#[cfg(test)]
mod tests {
    use bakeoff_load::Shortage;

    use super::*;

    /// What two hosts lack for 200 clients that may open so many files.
    fn lacking(limits: [Option<u64>; 2]) -> Option<Lacking> {
        let divided = Threads::divide(200, &[1, 1]).unwrap();
        let hosts = ["g1", "g2"].into_iter().zip(divided).zip(limits);
        let hosts = hosts.map(|((name, threads), limit)| (name, threads, limit));
        shortage(hosts, 200)
    }

    #[test]
    fn each_generator_holds_its_part_of_the_clients() {
        assert_eq!(lacking([Some(164), None]), None);
        let lacking = lacking([None, Some(163)]).unwrap();
        assert_eq!(lacking.host.as_deref(), Some("g2"));
        let expected = Shortage::OpenFiles {
            clients: 100,
            needed: 164,
            limit: 163,
        };
        assert_eq!(lacking.shortage, expected);
    }
}
