//! `bakeoff agent`: this program on another host, with home at its standard input and output.
//!
//! It does what one machine can be asked: say what it is, load, serve, stage. Loads and its own
//! server are threads of it, and servers that it stages have keepers, so its end is the end of
//! everything. It ends with its input, and when nothing has come from home for ten seconds.

use std::fs::File;
use std::net::IpAddr;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use bakeoff_conduct::allowed_cpus;
use bakeoff_hosts::{Agent, Heard, Hello, HostLock, LockError, Order, Outbox, Report};
use rustix::process::{Resource, getrlimit};

use crate::exit;
use ask::Limit;
use loads::Loads;
use servers::Servers;
use stages::{Ending, Stages};

mod ask;
mod cpus;
mod loads;
mod look;
mod own_folders;
mod samples;
mod servers;
mod stages;

pub(crate) use ask::{Answer, Ask, Limits, Load, OwnFolder, SetUp, StageFacts};
pub(crate) use look::{LOOK, Look};
pub(crate) use own_folders::is_plain;

pub(crate) fn carry_out() -> anyhow::Result<u8> {
    // Unlike the standard library's handles they keep nothing back.
    let input = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let taken = Taken::default();
    let ending = Ending::default();
    let (left, ends) = (taken.clone(), ending.clone());
    let silence = move || {
        ends.end();
        left.give_up();
        // Nothing is unwound: a write that home does not take may hold a lock.
        signal_hook::low_level::exit(i32::from(exit::FAILED));
    };
    let version = env!("CARGO_PKG_VERSION");
    let mut agent = Agent::greet(input, Box::new(output), version, silence)
        .context("failed to greet; `bakeoff agent` is started by bakeoff on another host")?;
    let mut work = Work {
        outbox: agent.outbox(),
        taken: taken.clone(),
        loads: Loads::new(agent.outbox()),
        servers: Servers::new(agent.outbox()),
        stages: Stages::new(agent.outbox(), ending.clone()),
    };
    loop {
        let done = match agent.receive() {
            Heard::End | Heard::Order(Order::End) => break,
            Heard::Order(Order::Hello { host, owner }) => work.hello(&host, &owner),
            // It is dealt with before.
            Heard::Order(Order::Ping { .. }) => Ok(()),
            Heard::Ask(bytes) => match serde_json::from_slice(&bytes) {
                Ok(ask) => work.carry_out(ask),
                Err(error) => Err(refused(format!("the order cannot be read: {error}"), false)),
            },
        };
        if let Err(refusal) = done
            && work.outbox.send(&refusal).is_err()
        {
            break;
        }
    }
    ending.end();
    taken.give_up();
    Ok(exit::DONE)
}

/// The lock on this host, once it is taken.
#[derive(Clone, Default)]
struct Taken(Arc<Mutex<Option<HostLock>>>);

impl Taken {
    fn give_up(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// What an agent is at.
struct Work {
    outbox: Outbox,
    taken: Taken,
    loads: Loads,
    servers: Servers,
    stages: Stages,
}

/// Says that something could not be done; `usage` if the user can fix it in what was asked for.
fn refused(why: impl std::fmt::Display, usage: bool) -> Report {
    Report::Refused {
        why: why.to_string(),
        usage,
    }
}

impl Work {
    fn carry_out(&mut self, ask: Ask) -> Result<(), Report> {
        match ask {
            Ask::Machine => self.say(&Answer::Machine(Box::new(bakeoff_probe::machine()))),
            Ask::Limits => self.say(&Answer::Limits(limits())),
            Ask::Look => self.say(&Answer::Look(Look::take())),
            Ask::Load(load) => self.loads.start(*load),
            Ask::Begin { at_ns } => self.loads.begin(at_ns),
            Ask::Halt => {
                self.loads.halt();
                Ok(())
            }
            Ask::Serve { listen, body_bytes } => self.servers.start(listen, body_bytes),
            Ask::Close => self.servers.close(),
            of_stage => self.stages.carry_out(of_stage),
        }
    }

    /// Takes the host for `owner`.
    fn hello(&self, host: &str, owner: &str) -> Result<(), Report> {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let locked = match home.filter(|home| home.is_absolute()) {
            Some(home) => HostLock::take(&home, owner).map(Some),
            None => Ok(None),
        };
        let unlocked = match locked {
            Ok(Some(lock)) => {
                let mut taken = self.taken.0.lock().unwrap_or_else(PoisonError::into_inner);
                *taken = Some(lock);
                None
            }
            Ok(None) => Some(format!("host {host} has no home folder for a lock")),
            // What holds it is another campaign; a disk that cannot be written holds nobody up.
            Err(held @ LockError::Held { .. }) => return Err(refused(held, true)),
            Err(error @ LockError::Io { .. }) => Some(error.to_string()),
        };
        let cpus = cpus::usable();
        let addresses = bakeoff_probe::own_addresses();
        let hello = Hello {
            cpus: cpus.max(1),
            address: own_address().map(|it| it.to_string()),
            addresses: addresses.iter().map(ToString::to_string).collect(),
            kernel: own_kernel(),
            unlocked,
        };
        // Whoever no longer listens is noticed by the end of the input.
        let _ = self.outbox.send(&Report::Hello(hello));
        Ok(())
    }

    fn say(&self, answer: &Answer) -> Result<(), Report> {
        let _ = self.outbox.answer(answer);
        Ok(())
    }
}

/// The address by which home reached this host, where sshd says so.
fn own_address() -> Option<IpAddr> {
    let connection = std::env::var("SSH_CONNECTION").ok()?;
    reached_at(&connection, &bakeoff_probe::own_addresses())
}

/// The address in what an sshd says of a connection to it, if this host has it. Otherwise it is
/// that of another sshd: who starts bakeoff on a machine that is reached by ssh has one of its own
/// in the environment, which `srun`, `nsenter` and the like pass on.
fn reached_at(connection: &str, own: &[IpAddr]) -> Option<IpAddr> {
    let address = connection.split(' ').nth(2)?.parse().ok()?;
    own.contains(&address).then_some(address)
}

/// What the kernel has called itself since it started.
pub(crate) fn own_kernel() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

/// What a process may use here.
fn limits() -> Limits {
    let of = |resource| {
        let limit = getrlimit(resource);
        Limit {
            soft: limit.current,
            hard: limit.maximum,
        }
    };
    Limits {
        open_files: of(Resource::Nofile),
        processes: of(Resource::Nproc),
        locked_memory_bytes: of(Resource::Memlock),
        cpus: allowed_cpus(),
        quota_cpus: bakeoff_probe::quota_cpus(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(connection: &str, expected: Option<&str>) {
        let own: [IpAddr; 2] = ["10.0.1.5", "fd00::5"].map(|it| it.parse().unwrap());
        let expected: Option<IpAddr> = expected.map(|it| it.parse().unwrap());
        assert_eq!(reached_at(connection, &own), expected, "{connection}");
    }

    #[test]
    fn an_address_that_this_host_does_not_have_is_that_of_another() {
        check("10.0.9.9 40000 10.0.1.5 22", Some("10.0.1.5"));
        check("fd00::9 40000 fd00::5 22", Some("fd00::5"));
        // Of the machine where the user logged in.
        check("10.0.9.9 40000 10.0.0.1 22", None);
        check("10.0.1.5 40000 10.0.0.1 22", None);
        check("", None);
        check("10.0.9.9 40000 somewhere 22", None);
    }
}
