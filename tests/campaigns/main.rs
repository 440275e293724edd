//! Runs the binary on invented machines: whole campaigns, their texts, files and exit codes.
//!
//! A test belongs here when it asks what a campaign says, writes or returns. It belongs in
//! `tests/e2e` when it needs a process, a signal, a socket or a server that is really there.
//!
//! To write one: make a [`Scene`](support::scene::Scene) of a machine, as TOML, and run bakeoff in
//! it. Servers of plans need not be installed; every name of `servers/` will do. Time is invented,
//! so that a trial of a minute takes none, and nothing is sent or started. Tests run beside each
//! other; each has a folder and campaigns of its own.
//!
//! ```text
//! let scene = Scene::of("contender.caddy.rate = 5_000");
//! let raced = scene.run(&["race", "nginx", "caddy", "--out", "record", "--gate", "rate=5%"]);
//! raced.expect(3).says("breached");
//! ```
//!
//! Without more, a server answers 10,000 requests a second, everyone rightly, and nothing disturbs
//! the machine: every number is valid. The keys of the file, all with a default, are the fields of
//! `crates/conduct/src/invented/world.rs`:
//!
//! ```text
//! stop_after = 3                 # somebody presses Ctrl-C in the load after these
//! server.rate = 10_000           # what every server does
//! [contender.caddy]              # what one does otherwise: also `yardstick`, `origin`, `caddy~`
//! rate = 5_000
//! noise = 0.002                  # from trial to trial, as a share
//! beyond = "shed"                # more than its rate: queue hold refuse shed crash stick
//! failing = { reset = 0.01 }     # shares of requests by outcome
//! latency = { mean_ms = 0.5, spread = 0.3, slow = [0.004, 3.0] }
//! answer = { body = "x", changes = false, wrong = "after", silent = false }
//! fate = { dies_s = 2.5 }        # or: unsupported = "why", fails = "why", lost = "host"
//! usage = { cores = 0.8, memory_mb = 20 }
//! work = { log_bytes = 90, keeps_upstream = false, http_1_0 = true, workers = 1 }
//! [[trial]]                      # what is otherwise in some trials; any of the keys above
//! id = "r2-*"                    # `*` is any text, as in r2-nginx-synthetic-c10
//! machine = { steal = 0.2, other_load = 0.5, engine_busy = 0.95, engine_kept = 0.3 }
//! ```
//!
//! No test here depends on a time or on the machine that it runs on. One that needs a record and
//! not a campaign takes that of [`Scene::raced`](support::scene::Scene::raced).

#![allow(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod action;
mod audit;
mod change;
mod commands;
mod confirm;
mod documents;
mod equal;
mod faults;
mod find;
mod gates;
mod history;
mod hosts;
mod install;
mod load;
mod overload;
mod paths;
mod published;
mod race;
mod resumed;
mod run;
mod selftest;
mod share;
mod site;
mod support;
mod timed;
mod varied;
mod verify;
