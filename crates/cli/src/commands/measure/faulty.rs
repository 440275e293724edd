//! `bakeoff faulty`: what the self-test starts to be measured, or to disturb a measurement.
//!
//! Each fault is made by a process of its own, as the kernel and the network see it. bakeoff
//! learns of it by its own means alone.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::flags::FaultyCommand;
use crate::{exit, output};

mod exchange;
mod faults;
mod server;

/// Connections that a flood attempts at once.
const FLOOD: usize = 24;
/// Time between two floods.
const FLOOD_EVERY: Duration = Duration::from_millis(15);

pub(crate) fn carry_out(command: &FaultyCommand) -> anyhow::Result<u8> {
    match command {
        FaultyCommand::Server(flags) => server::serve(flags)?,
        FaultyCommand::Spin { threads, lasts } => spin(*threads, *lasts)?,
        FaultyCommand::Flood { lasts } => flood(*lasts)?,
    }
    Ok(exit::DONE)
}

/// Says that it is up, as every helper of a stage does; nobody connects to the address.
fn say_ready(address: SocketAddr) -> io::Result<()> {
    output::result(&format!("listening on {address}\n"))
}

/// Computes on so many threads.
fn spin(threads: u32, lasts: Duration) -> io::Result<()> {
    say_ready((Ipv4Addr::LOCALHOST, 1).into())?;
    let end = Instant::now() + lasts;
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| work_until(end));
        }
    });
    Ok(())
}

/// Keeps the processor busy.
fn work_until(end: Instant) {
    let mut value = 1_u64;
    while Instant::now() < end {
        for _ in 0..200 {
            value = std::hint::black_box(value.wrapping_mul(6_364_136_223_846_793_005) | 1);
        }
    }
}

/// Connects to a listener that accepts nobody, more than its queue has room for.
fn flood(lasts: Duration) -> io::Result<()> {
    let listener = listener(0, 1)?;
    let address = listener.local_addr()?;
    say_ready(address)?;
    let end = Instant::now() + lasts;
    let mut open: Vec<OwnedFd> = Vec::new();
    while Instant::now() < end {
        open.clear();
        for _ in 0..FLOOD {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let family = AddressFamily::INET;
            let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
            // It ends at once, or never: nobody accepts.
            let _ = rustix::net::connect(&socket, &address);
            open.push(socket);
        }
        std::thread::sleep(FLOOD_EVERY);
    }
    Ok(())
}

/// A listener with room for so many connections that nobody has accepted.
fn listener(port: u16, backlog: i32) -> io::Result<TcpListener> {
    let family = AddressFamily::INET;
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    rustix::net::sockopt::set_socket_reuseaddr(&socket, true)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, backlog)?;
    Ok(TcpListener::from(socket))
}
