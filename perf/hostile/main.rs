//! A hostile server of `tests/e2e/support/hostile` as a program, for `perf/hostile.py`.
//!
//! `hostile PROTOCOL ACT` prints its address and runs until its standard input ends; `hostile`
//! alone prints every protocol with its acts.

#![allow(
    clippy::unwrap_used,
    reason = "a measuring tool that meets an error ends"
)]
#![allow(clippy::print_stdout, reason = "a program of its own")]
#![allow(
    dead_code,
    unreachable_pub,
    reason = "tests use more of the kit than this does"
)]

#[path = "../../tests/e2e/support/hostile/mod.rs"]
mod hostile;

use std::io::Read as _;

use hostile::{Act, Protocol, Server};

fn main() {
    let mut words = std::env::args().skip(1);
    let (protocol, act) = (words.next(), words.next());
    let known = Protocol::ALL.map(|protocol| (protocol, Act::all(protocol)));
    for (protocol_known, acts) in known {
        for (name, act_known) in acts {
            if protocol.is_none() {
                println!("{} {name}", protocol_known.name());
            } else if protocol.as_deref() == Some(protocol_known.name())
                && act.as_deref() == Some(&name)
            {
                return serve(&Server::start(protocol_known, act_known));
            }
        }
    }
    assert!(protocol.is_none(), "there is no such protocol or act");
}

fn serve(server: &Server) {
    println!("{}", server.address);
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}
