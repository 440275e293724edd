//! Opens a slot's connection: connects, shakes hands, and finds out what is spoken.

use bakeoff_wire::proxy_protocol::{ProxyVersion, encode};
use rustix::io::Errno;

use super::{serial, streams};
use crate::driver::{Driver, Ready, Way};
use crate::end::{Closed, End};
use crate::flights::Requests;
use crate::line::{Ciphertext, Line};
use crate::link::{Link, QuicLink, Serial, Streams};
use crate::slot::{Phase, Slot};
use crate::spec::Speaking;
use crate::target::Endpoint;
use crate::thread::Thread;
use crate::tls::{self, Progress, Tls};

/// Reads of a handshake in one turn at the most: then the other connections have theirs.
const SHAKING_READS_MAX: u32 = 8;

/// Starts a connection.
pub(crate) fn connect<D: Driver>(slot: &mut Slot<D::Socket>, thread: &mut Thread<'_, D>, now: u64) {
    thread.begun += usize::from(slot.generation == 0);
    slot.generation = slot.generation.wrapping_add(1);
    slot.carried = 0;
    slot.since = now;
    thread.agenda.opening += 1;
    let turn = thread.ways.turn();
    slot.endpoint = thread.ways.next();
    let way = thread.ways.way(slot.endpoint, turn);
    if thread.tools.quic.is_some() {
        return connect_quic(slot, way, thread, now);
    }
    attempt(slot, way, thread, now);
}

/// Attempts a connection again whose server had no room for it.
#[cold]
pub(crate) fn knock<D: Driver>(slot: &mut Slot<D::Socket>, thread: &mut Thread<'_, D>, now: u64) {
    // It is the same connection: the next one's turn has not come.
    let way = thread.ways.way(slot.endpoint, slot.index as usize);
    attempt(slot, way, thread, now);
}

fn attempt<D: Driver>(
    slot: &mut Slot<D::Socket>,
    way: Way<'_>,
    thread: &mut Thread<'_, D>,
    now: u64,
) {
    match thread.driver.connect(way, slot.token()) {
        Ok(socket) => {
            slot.phase = Phase::Connecting(socket);
            slot.note_deadline(thread);
        }
        // The queue of a server behind a socket file is full (connect(2)). Over TCP the kernel
        // would ask again and again; here the client has to.
        Err(Errno::AGAIN) if matches!(way.to, Endpoint::Unix(_)) => {
            let at = now + thread.pause_ns();
            slot.phase = Phase::Knocking(at);
            thread.agenda.wake(slot.index, at);
            slot.note_deadline(thread);
        }
        Err(errno) => fail(slot, End::connect(errno, way.to), thread, now),
    }
}

/// A connection could not be begun, or not be made: the next address of the same name takes the
/// place of this one, or it has failed.
#[cold]
pub(crate) fn fail<D: Driver>(
    slot: &mut Slot<D::Socket>,
    end: End,
    thread: &mut Thread<'_, D>,
    now: u64,
) {
    thread.agenda.opening -= 1;
    thread.ledger.counts.links.connections.failed += 1;
    slot.leave_phase(thread, now);
    slot.close(thread);
    if thread.may_connect() && thread.ways.give_up(slot.endpoint, &end) {
        thread.agenda.progressed_at = now;
        return connect(slot, thread, now);
    }
    slot.fail(end, thread, now);
}

fn connect_quic<D: Driver>(
    slot: &mut Slot<D::Socket>,
    way: Way<'_>,
    thread: &mut Thread<'_, D>,
    now: u64,
) {
    slot.make_many(thread.spec.load.streams, now);
    let opened = thread.driver.open_datagrams(way, slot.token());
    let session = match (way.to, &thread.tools.quic) {
        (Endpoint::Tcp(remote), Some(quic)) => {
            quic.begin(*remote, now).map_err(|error| error.to_string())
        }
        _ => Err("QUIC needs an address, not a socket file".to_owned()),
    };
    let begun = match (opened, session) {
        (Ok(socket), Ok(session)) => Ok(QuicLink {
            socket,
            session,
            seen: tls::Seen::default(),
        }),
        (Ok(socket), Err(message)) => {
            thread.driver.close(socket);
            Err(End::SetUp(message))
        }
        (Err(errno), _) => Err(End::connect(errno, way.to)),
    };
    match begun {
        Ok(mut link) => {
            link.mark_to_drive(slot.index, &mut thread.tools.quic);
            let is_early = link.session.is_early();
            slot.phase = Phase::ShakingQuic(Box::new(link));
            slot.note_deadline(thread);
            if is_early {
                super::quic::take_up(slot, thread, now);
            }
        }
        Err(end) => fail(slot, end, thread, now),
    }
}

/// The socket of a connection in progress became ready.
pub(crate) fn connected<D: Driver>(
    slot: &mut Slot<D::Socket>,
    ready: Ready,
    thread: &mut Thread<'_, D>,
) {
    let now = thread.driver.now();
    if let Phase::Connecting(socket) = &slot.phase
        && let Err(errno) = thread.driver.connected(socket)
    {
        let to = thread.ways.way(slot.endpoint, 0).to;
        return slot.fail(End::connect(errno, to), thread, now);
    }
    let since = slot.leave_phase(thread, now);
    let Phase::Connecting(socket) = std::mem::replace(&mut slot.phase, Phase::Spare) else {
        unreachable!("only a slot that is connecting comes here");
    };
    let links = &mut thread.ledger.counts.links;
    links.connect.record(now.saturating_sub(since));
    links.connections.opened += 1;
    slot.quiet_since = now;
    thread.agenda.progressed_at = now;
    thread.ways.opened(slot.endpoint);
    announce_client(&socket, slot.endpoint, thread);
    let mut line = Line::new(socket, ready.ended);
    let Some(client) = &thread.tools.tls else {
        thread.tools.early.clear();
        return match thread.spec.speaking {
            Speaking::H2c => begin_streams(slot, line, ready.readable, thread, now),
            _ => begin_serial(slot, line, ready.readable, thread, now),
        };
    };
    slot.since = now;
    let begun = Tls::begin(&client.config, &client.name, &mut thread.tools.made);
    let flushed = begun.map_err(End::Tls).and_then(|tls| {
        line.tls = Some(Box::new(tls));
        line.flush(thread)
    });
    slot.phase = Phase::Shaking(line);
    slot.note_deadline(thread);
    match flushed {
        Ok(()) if ready.readable => thread.agenda.leave_unread(slot.index),
        Ok(()) => {}
        Err(end) => slot.fail(end, thread, now),
    }
}

/// Goes on with a handshake of TLS as far as what has come allows.
pub(crate) fn shake<D: Driver>(slot: &mut Slot<D::Socket>, thread: &mut Thread<'_, D>) {
    thread.tools.early.clear();
    let mut reads = 0;
    let end = loop {
        let Phase::Shaking(line) = &mut slot.phase else {
            unreachable!("only a slot that shakes hands comes here");
        };
        if !line.unsent.is_empty()
            && let Err(end) = line.flush(thread)
        {
            break end;
        }
        if reads == SHAKING_READS_MAX {
            return thread.agenda.leave_unread(slot.index);
        }
        reads += 1;
        let (bytes, time) = match line.take_ciphertext(thread) {
            Ciphertext::Some(bytes, _, time) => (bytes, time),
            Ciphertext::Drained => match line.broken() {
                Ok(()) => return,
                Err(end) => break end,
            },
            Ciphertext::End => break line.end(End::Closed(Closed::InHandshake)),
            Ciphertext::Failed(errno) => break End::Read(errno),
        };
        let tools = &mut thread.tools;
        let Some(tls) = &mut line.tls else {
            unreachable!("a slot that shakes hands has TLS");
        };
        // A server may say something in the segment that ends the handshake.
        let mut plain = |data: &[u8]| tools.early.extend_from_slice(data);
        match tls.handle(&mut tools.buffer[..bytes], &mut tools.made, &mut plain) {
            Ok(Progress {
                established: true,
                closed,
            }) => {
                line.ended |= closed;
                return finish_handshake(slot, thread);
            }
            Ok(Progress { closed: true, .. }) => break End::Closed(Closed::InHandshake),
            Ok(_) => {
                if !tools.made.is_empty() {
                    // What this side answers to gets the handshake on; else a server that says
                    // little by little what means nothing would keep the load from its beginning.
                    thread.agenda.progressed_at = time.now;
                }
                if let Err(end) = line.flush(thread) {
                    break end;
                }
            }
            Err(failure) => break End::Tls(failure),
        }
    };
    let now = thread.driver.now();
    slot.fail(end, thread, now);
}

/// The handshake has ended: what the client still has to say goes with the request.
fn finish_handshake<D: Driver>(slot: &mut Slot<D::Socket>, thread: &mut Thread<'_, D>) {
    let now = thread.driver.now();
    let since = slot.leave_phase(thread, now);
    let Phase::Shaking(line) = &slot.phase else {
        unreachable!("only a slot that shakes hands comes here");
    };
    let Some(tls) = &line.tls else {
        unreachable!("a slot that shakes hands has TLS");
    };
    let links = &mut thread.ledger.counts.links;
    links.handshake(now.saturating_sub(since), tls.is_resumed(), || tls.agreed());
    let is_h2 = tls.is_h2();
    let was_many = matches!(slot.requests, Requests::Many(_));
    if !is_h2 && (was_many || matches!(thread.spec.speaking, Speaking::H2 { .. })) {
        return slot.fail(End::NoH2, thread, now);
    }
    let Phase::Shaking(line) = std::mem::replace(&mut slot.phase, Phase::Spare) else {
        unreachable!("seen above");
    };
    // What came behind the handshake in the same segments has not been read.
    if is_h2 {
        begin_streams(slot, line, true, thread, now);
    } else {
        begin_serial(slot, line, true, thread, now);
    }
}

fn begin_serial<D: Driver>(
    slot: &mut Slot<D::Socket>,
    line: Line<D::Socket>,
    readable: bool,
    thread: &mut Thread<'_, D>,
    now: u64,
) {
    let links = &mut thread.ledger.counts.links;
    links.protocol.get_or_insert("h1");
    slot.opened(thread, now);
    slot.phase = Phase::Ready(Link::Serial(Serial::new(line)));
    serial::take_up(slot, readable, thread, now);
}

fn begin_streams<D: Driver>(
    slot: &mut Slot<D::Socket>,
    line: Line<D::Socket>,
    readable: bool,
    thread: &mut Thread<'_, D>,
    now: u64,
) {
    let protocol = if line.tls.is_some() { "h2" } else { "h2c" };
    thread.ledger.counts.links.protocol.get_or_insert(protocol);
    slot.make_many(thread.spec.load.streams, now);
    let Some(h2) = &mut thread.tools.h2 else {
        unreachable!("a server can only choose HTTP/2 where it was offered");
    };
    let streams = Streams::new(line, h2);
    slot.phase = Phase::Ready(Link::Streams(Box::new(streams)));
    streams::take_up(slot, readable, thread, now);
}

/// Makes the PROXY protocol's header, if one is to be sent.
fn announce_client<D: Driver>(socket: &D::Socket, endpoint: usize, thread: &mut Thread<'_, D>) {
    let Some(version) = thread.spec.connections.proxy_protocol else {
        return;
    };
    let version = match version {
        bakeoff_plan::ProxyVersion::V1 => ProxyVersion::V1,
        bakeoff_plan::ProxyVersion::V2 => ProxyVersion::V2,
    };
    let destination = match thread.ways.way(endpoint, 0).to {
        Endpoint::Tcp(address) => Some(*address),
        Endpoint::Unix(_) => None,
    };
    let unknown = std::net::SocketAddr::from(([0, 0, 0, 0], 0));
    let source = thread.driver.local_address(socket).unwrap_or(unknown);
    let header = encode(version, source, destination.unwrap_or(unknown));
    thread.tools.made.extend_from_slice(&header);
}
