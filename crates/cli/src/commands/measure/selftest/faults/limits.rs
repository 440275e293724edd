//! Limits on open files and ports.

use bakeoff_report::view::Code;

use super::super::seen::Finds;
use super::super::setup::{Campaign, Server, Setup};
use super::{Fault, certain, timed};

pub(super) fn limits() -> Vec<Fault> {
    vec![
        certain(
            "engine-files",
            "R12",
            "200 clients where the load may open 128 files",
            Finds::Refused(&["open files"]),
            |planted| {
                Setup::Line(if planted {
                    "ulimit -n 128; \"$0\" load -c 200 -d 300ms --timeout 300ms \
                         http://127.0.0.1:1/"
                } else {
                    "ulimit -n 128; \"$0\" load -c 8 -d 300ms --timeout 300ms \
                         http://127.0.0.1:1/"
                })
            },
        ),
        timed(
            "engine-ports",
            "R12",
            "300 connections from a network with 100 ports",
            Finds::Refused(&["port"]),
            |planted| Setup::Line(if planted { PORTS_100 } else { PORTS_1000 }),
        ),
        timed(
            "server-fd-limit",
            "R34",
            "a server may open 64 files, and has 100 clients",
            Finds::Weakened(&[Code::FdLimit]),
            |planted| {
                let server = "--work 1ms".to_owned();
                let server = if planted {
                    Server::FewFiles(server, 64)
                } else {
                    Server::Faulty(server)
                };
                Setup::Campaign(Campaign::of("clients = 100", server))
            },
        ),
        certain(
            "server-files",
            "R16",
            "one of two servers may open 20 files, and has 32 clients",
            Finds::Unequal(&[Code::Equal("equal-open-files")]),
            |planted| {
                let server = || Server::Faulty("--work 1ms".to_owned());
                let mut campaign = Campaign::of("clients = 32", server());
                campaign.contenders.push(if planted {
                    Server::FewFiles("--work 1ms".to_owned(), 20)
                } else {
                    server()
                });
                Setup::Campaign(campaign)
            },
        ),
    ]
}

const PORTS_100: &str = "unshare -rn sh -c 'ip link set lo up && \
    echo 20000 20099 >/proc/sys/net/ipv4/ip_local_port_range && \
    \"$0\" load -c 300 -d 300ms --timeout 300ms http://127.0.0.1:1/' \"$0\"";
const PORTS_1000: &str = "unshare -rn sh -c 'ip link set lo up && \
    echo 20000 20999 >/proc/sys/net/ipv4/ip_local_port_range && \
    \"$0\" load -c 300 -d 300ms --timeout 300ms http://127.0.0.1:1/' \"$0\"";
