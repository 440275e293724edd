//! Starts the loops and the control listener, and ends them.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use bakeoff_plan::Protocol;
use rustix::net::sockopt::{set_socket_reuseaddr, set_socket_reuseport, set_tcp_nodelay};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, listen, socket_with};
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::answer::Answers;
use crate::behaviour::{Behaviour, Immediate};
use crate::certificate;
use crate::connection::{BUFFER_BYTES, Connection};
use crate::control;
use crate::counts::{Counters, Counts};
use crate::driven::{Ready, Shared};
use crate::halt::Halt;
use crate::link::Clear;
use crate::options::{OriginError, ServeOptions};
use crate::play::Plays;
use crate::replies::Replies;
use crate::request::Memo;
use crate::tls::{Room, Secure};
use crate::worker::{BACKLOG, Worker};
use crate::{h2, h3};

/// Answers requests until `stop` is set; see [`serve_with`].
///
/// # Errors
/// When the options cannot be carried out, or the kernel's event queue fails.
pub fn serve(
    options: &ServeOptions,
    announce: &mut dyn FnMut(SocketAddr, SocketAddr),
    stop: &AtomicBool,
) -> Result<Counts, OriginError> {
    serve_with(options, Immediate, announce, stop)
}

/// Answers requests as `behaviour` decides until `stop` is set, and returns what was counted.
///
/// Blocks. `announce` gets the addresses of requests and of counts once both accept
/// connections. `stop` is looked at every 50 ms; connections open at that time are closed.
///
/// # Errors
/// When the options cannot be carried out, or the kernel's event queue fails.
pub fn serve_with<B: Behaviour>(
    options: &ServeOptions,
    behaviour: B,
    announce: &mut dyn FnMut(SocketAddr, SocketAddr),
    stop: &AtomicBool,
) -> Result<Counts, OriginError> {
    if options.threads == 0 {
        return Err(OriginError::NoThreads);
    }
    let (answers, ready) = encode(options, &behaviour)?;
    let tls = certificate::settings(options.protocol, options.certificate.as_ref())?;
    let (mut listeners, address) = request_listeners(options, options.listen)?;
    for &other in &options.also {
        listeners.extend(request_listeners(options, other)?.0);
    }
    let (control, control_address) = control_listener(options)?;
    let counters: Vec<Counters> = listeners.iter().map(|_| Counters::default()).collect();
    announce(address, control_address);

    let (failed, back_ms) = (AtomicBool::new(false), AtomicU64::new(0));
    let halt = Halt {
        stop,
        failed: &failed,
        began: Instant::now(),
        back_ms: &back_ms,
    };
    std::thread::scope(|scope| {
        let mut loops = Vec::new();
        for (index, (listener, counters)) in listeners.into_iter().zip(&counters).enumerate() {
            let (answers, replies, behaviour) = (&answers, &ready, behaviour.clone());
            let failed = &failed;
            let cpu = pinned_to(&options.pin, index);
            let (protocol, tls) = (options.protocol, tls.clone());
            loops.push(scope.spawn(move || {
                let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
                let shared = Shared {
                    answers,
                    counters,
                    behaviour,
                    memo: Memo::default(),
                    plays: Plays::default(),
                    buffer,
                    room: Room::new(tls),
                    replies,
                    out: Vec::new(),
                };
                let result = pin(cpu).and_then(|()| run(protocol, listener, shared, halt));
                failed.fetch_or(result.is_err(), Ordering::Relaxed);
                result
            }));
        }
        control::report(&control, &counters, &behaviour, halt);
        loops.into_iter().try_for_each(|one| match one.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    Ok(control::total(&counters))
}

/// Encodes all answers, for what is spoken alone.
fn encode<B: Behaviour>(
    options: &ServeOptions,
    behaviour: &B,
) -> Result<(Answers, Ready), OriginError> {
    let (name, reply) = (options.name.header(), &options.reply);
    let others = behaviour.replies(reply);
    let answers = Answers::new(name, reply)?;
    let mut ready = Ready::default();
    match options.protocol {
        Protocol::H1 | Protocol::H1Tls => return Ok((answers.with(name, &others)?, ready)),
        Protocol::H2 | Protocol::H2c => {
            ready.h2 = Replies::new(name, reply, &others, h2::encode)?;
        }
        Protocol::H3 => ready.h3 = Replies::new(name, reply, &others, h3::encode)?,
    }
    Ok((answers, ready))
}

/// Runs the loop of one thread, compiled for what it speaks.
fn run<B: Behaviour>(
    protocol: Protocol,
    listener: OwnedFd,
    shared: Shared<'_, B>,
    halt: Halt<'_>,
) -> Result<(), OriginError> {
    match protocol {
        Protocol::H1 => Worker::<B, Connection<Clear>>::new(listener, shared)?.run(halt),
        Protocol::H1Tls => Worker::<B, Connection<Secure>>::new(listener, shared)?.run(halt),
        Protocol::H2 => Worker::<B, h2::Connection<Secure>>::new(listener, shared)?.run(halt),
        Protocol::H2c => Worker::<B, h2::Connection<Clear>>::new(listener, shared)?.run(halt),
        Protocol::H3 => h3::Worker::new(listener, shared)?.run(halt),
    }
}

/// One listener for each loop, all on one address.
fn request_listeners(
    options: &ServeOptions,
    wanted: SocketAddr,
) -> Result<(Vec<OwnedFd>, SocketAddr), OriginError> {
    let failed = |source| OriginError::Listen {
        address: wanted,
        purpose: "requests",
        source,
    };
    // Listeners that share a port would also share it with another server of this user, and each
    // would get a part of the requests: the first one is alone until it has the port.
    let listener = |address, share| match options.protocol {
        Protocol::H3 => datagram_listener(address, share),
        _ => listener(address, share),
    };
    let alone = listener(wanted, false).map_err(failed)?;
    let address = local_address(&alone).map_err(failed)?;
    if options.threads == 1 {
        return Ok((vec![alone], address));
    }
    drop(alone);
    let shared: io::Result<Vec<_>> = (0..options.threads)
        .map(|_| listener(address, true))
        .collect();
    Ok((shared.map_err(failed)?, address))
}

fn listener(address: SocketAddr, share: bool) -> io::Result<OwnedFd> {
    let socket = bound(address, SocketType::STREAM, share)?;
    listen(&socket, BACKLOG)?;
    Ok(socket)
}

fn datagram_listener(address: SocketAddr, share: bool) -> io::Result<OwnedFd> {
    let socket = bound(address, SocketType::DGRAM, share)?;
    h3::open(&socket, address)?;
    Ok(socket)
}

fn bound(address: SocketAddr, kind: SocketType, share: bool) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, kind, flags, None)?;
    if kind == SocketType::STREAM {
        // Of datagrams it would share the port with whoever else asks for it.
        set_socket_reuseaddr(&socket, true)?;
        // Connections inherit it: an answer behind another one must not wait for an
        // acknowledgement.
        set_tcp_nodelay(&socket, true)?;
    }
    set_socket_reuseport(&socket, share)?;
    bind(&socket, &address)?;
    Ok(socket)
}

fn local_address(socket: &OwnedFd) -> io::Result<SocketAddr> {
    Ok(SocketAddr::try_from(getsockname(socket)?)?)
}

fn control_listener(options: &ServeOptions) -> Result<(TcpListener, SocketAddr), OriginError> {
    let address = options.control;
    let open = || {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    open().map_err(|source| OriginError::Listen {
        address,
        purpose: "counts",
        source,
    })
}

fn pinned_to(pin: &[usize], index: usize) -> Option<usize> {
    (!pin.is_empty()).then(|| pin[index % pin.len()])
}

fn pin(cpu: Option<usize>) -> Result<(), OriginError> {
    let Some(cpu) = cpu else { return Ok(()) };
    let failed = |source| OriginError::Pin { cpu, source };
    if cpu >= CpuSet::MAX_CPU {
        return Err(failed(io::ErrorKind::InvalidInput.into()));
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|errno| failed(errno.into()))
}
