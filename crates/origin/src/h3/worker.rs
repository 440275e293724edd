//! The loop of one thread: datagrams in, peers driven, datagrams out.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{
    DatagramEvent, Endpoint, EndpointConfig, IdleTimeout, Incoming, ServerConfig, Transmit,
    TransportConfig, VarInt,
};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::Timespec;

use super::datagrams;
use super::peer::{Kit, Peer};
use super::request::{Sections, code};
use crate::behaviour::Behaviour;
use crate::driven::Shared;
use crate::halt::Halt;
use crate::options::OriginError;
use crate::timers::Timers;

/// Longest sleep: how soon a stop is looked after.
const TICK: Duration = Duration::from_millis(50);
/// Connections that a thread has at the most: a datagram is all that it takes to ask for one.
const PEERS_MAX: usize = 65_536;
/// Streams that a client may have open at once.
const STREAMS_MAX: u32 = 256;
/// Streams of its own that it may have beside its requests: HTTP/3 needs three.
const CONTROLS_MAX: u32 = 8;
/// What a client may send on one stream before it is read, bytes: it is read at once.
const STREAM_WINDOW: u32 = 1 << 20;
/// How long nothing may come on a connection; without an end those of clients that are gone would
/// stay for ever.
const IDLE: Duration = Duration::from_secs(120);
/// Receive calls in a row before what came is answered.
const RECEIVES_MAX: usize = 64;
/// Send calls in a row that one connection may cost the others.
const SENDS_MAX: usize = 32;
/// Datagrams in one send call; the kernel takes 64 KiB.
const SEGMENTS_MAX: usize = 32;

/// One thread's loop.
pub(crate) struct Worker<'a, B> {
    epoll: OwnedFd,
    wire: Wire,
    endpoint: Endpoint,
    /// Memory that datagrams are received into.
    block: BytesMut,
    /// Connections by quinn-proto's number.
    peers: Vec<Option<Box<Peer>>>,
    kit: Kit<'a, B>,
    /// Connections that may have something to say.
    to_drive: Vec<usize>,
    timers: Timers,
}

/// The socket's way out.
struct Wire {
    socket: OwnedFd,
    /// Datagrams as they are made.
    outgoing: Vec<u8>,
    /// Datagrams that the socket would not take, to whom, and the length of each.
    blocked: Option<(Vec<u8>, SocketAddr, usize)>,
    /// 1 where the kernel cannot cut.
    segments_max: usize,
}

/// Makes a UDP socket ready for [`Worker::new`].
pub(crate) fn open(socket: &OwnedFd, address: SocketAddr) -> io::Result<()> {
    datagrams::prepare(socket, address)
}

impl<'a, B: Behaviour> Worker<'a, B> {
    /// A loop over `socket`.
    ///
    /// # Errors
    /// When the kernel grants no epoll set, or TLS is not such as QUIC needs.
    pub(crate) fn new(socket: OwnedFd, shared: Shared<'a, B>) -> Result<Self, OriginError> {
        let make = || -> rustix::io::Result<OwnedFd> {
            let epoll = epoll::create(CreateFlags::CLOEXEC)?;
            epoll::add(&epoll, &socket, EventData::new_u64(0), EventFlags::IN)?;
            Ok(epoll)
        };
        let epoll = make().map_err(|errno| system("create an epoll set", errno))?;
        let wrong = |text: &str| OriginError::Certificate(text.to_owned());
        let tls = shared.room.config().ok_or_else(|| wrong("there is none"))?;
        let tls = QuicServerConfig::try_from(tls).map_err(|error| wrong(&error.to_string()))?;
        let mut config = ServerConfig::with_crypto(Arc::new(tls));
        config.transport_config(Arc::new(transport()));
        config.migration(false);
        let endpoint = EndpointConfig::default();
        Ok(Self {
            epoll,
            wire: Wire {
                socket,
                outgoing: Vec::new(),
                blocked: None,
                segments_max: SEGMENTS_MAX,
            },
            endpoint: Endpoint::new(Arc::new(endpoint), Some(Arc::new(config)), true, None),
            block: BytesMut::new(),
            peers: Vec::new(),
            kit: Kit {
                replies: &shared.replies.h3,
                counters: shared.counters,
                behaviour: shared.behaviour,
                sections: Sections::default(),
            },
            to_drive: Vec::new(),
            timers: Timers::default(),
        })
    }

    /// Serves until the server is to end, and then lets the clients know.
    ///
    /// # Errors
    /// When the kernel's event queue or the socket fails.
    pub(crate) fn run(mut self, halt: Halt<'_>) -> Result<(), OriginError> {
        let idle = Event {
            flags: EventFlags::empty(),
            data: EventData::new_u64(0),
        };
        let mut events = [idle; 1];
        while !halt.asked() {
            let sleep = self.sleep();
            let ready = match epoll::wait(&self.epoll, &mut events[..], Some(&sleep)) {
                Ok(ready) => ready,
                Err(Errno::INTR) => 0,
                Err(errno) => return Err(system("wait for events", errno)),
            };
            let flags = if ready > 0 {
                events[0].flags
            } else {
                EventFlags::empty()
            };
            if flags.contains(EventFlags::OUT) {
                self.unblock()?;
            }
            let now = Instant::now();
            if flags.intersects(EventFlags::IN | EventFlags::ERR) {
                self.receive(now)?;
            }
            self.wake_due(now);
            self.drive_marked(now)?;
        }
        let now = Instant::now();
        for slot in 0..self.peers.len() {
            if let Some(Some(peer)) = self.peers.get_mut(slot) {
                let code = VarInt::from_u32(code::NO_ERROR);
                peer.connection.close(now, code, Bytes::new());
                self.drive(slot, now)?;
            }
        }
        Ok(())
    }

    /// How long to sleep: up to the next timer, at the most a tick, and not at all while there is
    /// something to do that the socket does not stand in the way of.
    fn sleep(&self) -> Timespec {
        let next = self.timers.next();
        let mut sleep = next.map_or(TICK, |at| {
            TICK.min(at.saturating_duration_since(Instant::now()))
        });
        if !self.to_drive.is_empty() && self.wire.blocked.is_none() {
            sleep = Duration::ZERO;
        }
        Timespec {
            tv_sec: 0,
            tv_nsec: sleep.subsec_nanos().into(),
        }
    }

    fn receive(&mut self, now: Instant) -> Result<(), OriginError> {
        for _ in 0..RECEIVES_MAX {
            let mut received = match datagrams::receive(&self.wire.socket, &mut self.block) {
                Ok(received) => received,
                Err(Errno::AGAIN) => return Ok(()),
                // What the network says of datagrams sent before is of one client's concern.
                Err(Errno::INTR | Errno::CONNREFUSED | Errno::HOSTUNREACH | Errno::NETUNREACH) => {
                    continue;
                }
                Err(Errno::INVAL | Errno::NOMEM | Errno::NOBUFS) => continue,
                Err(errno) => return Err(system("receive datagrams", errno)),
            };
            while !received.bytes.is_empty() {
                let length = received.segment.clamp(1, received.bytes.len());
                let datagram = received.bytes.split_to(length);
                self.take(datagram, received.from, now);
            }
        }
        Ok(())
    }

    #[inline]
    fn take(&mut self, datagram: BytesMut, from: SocketAddr, now: Instant) {
        let mut answer = Vec::new();
        let event = self
            .endpoint
            .handle(now, from, None, None, datagram, &mut answer);
        match event {
            None => {}
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(Some(peer)) = self.peers.get_mut(handle.0) {
                    peer.connection.handle_event(event);
                    self.mark(handle.0);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.welcome(incoming, from, now),
            Some(DatagramEvent::Response(transmit)) => self.wire.respond(&transmit, &answer),
        }
    }

    fn welcome(&mut self, incoming: Incoming, from: SocketAddr, now: Instant) {
        let mut answer = Vec::new();
        if self.endpoint.open_connections() >= PEERS_MAX {
            let transmit = self.endpoint.refuse(incoming, &mut answer);
            self.kit.counters.accept_errors.add(1);
            return self.wire.respond(&transmit, &answer);
        }
        match self.endpoint.accept(incoming, now, &mut answer, None) {
            Ok((handle, connection)) => {
                self.kit.counters.connections.add(1);
                let slot = handle.0;
                if slot >= self.peers.len() {
                    self.peers.resize_with(slot + 1, || None);
                }
                self.peers[slot] = Some(Box::new(Peer::new(handle, connection, from)));
                self.mark(slot);
            }
            Err(error) => {
                if let Some(transmit) = error.response {
                    self.wire.respond(&transmit, &answer);
                }
            }
        }
    }

    /// A connection is driven in this turn.
    #[inline]
    fn mark(&mut self, slot: usize) {
        if let Some(Some(peer)) = self.peers.get_mut(slot)
            && !std::mem::replace(&mut peer.is_marked, true)
        {
            self.to_drive.push(slot);
        }
    }

    fn wake_due(&mut self, now: Instant) {
        while let Some((at, slot)) = self.timers.take_due(now) {
            if let Some(Some(peer)) = self.peers.get_mut(slot)
                && peer.alarm == Some(at)
            {
                peer.alarm = None;
                peer.wake(&mut self.kit, now);
                self.mark(slot);
            }
        }
    }

    fn drive_marked(&mut self, now: Instant) -> Result<(), OriginError> {
        let marked = std::mem::take(&mut self.to_drive);
        for slot in &marked {
            if let Some(Some(peer)) = self.peers.get_mut(*slot) {
                peer.is_marked = false;
                self.drive(*slot, now)?;
            }
        }
        if self.to_drive.is_empty() {
            // Its memory is used again.
            self.to_drive = marked;
            self.to_drive.clear();
        }
        Ok(())
    }

    /// Takes what a connection has to say and sends what it has to send.
    fn drive(&mut self, slot: usize, now: Instant) -> Result<(), OriginError> {
        let Some(Some(peer)) = self.peers.get_mut(slot) else {
            return Ok(());
        };
        peer.poll(&mut self.kit, now);
        let mut is_drained = false;
        while let Some(event) = peer.connection.poll_endpoint_events() {
            is_drained |= event.is_drained();
            if let Some(event) = self.endpoint.handle_event(peer.handle, event) {
                peer.connection.handle_event(event);
            }
        }
        let is_done = self.wire.transmit(peer, now)?;
        if is_drained {
            self.peers[slot] = None;
            self.kit.counters.connections_closed.add(1);
            return Ok(());
        }
        if let Some(next) = peer.next()
            && peer.alarm.is_none_or(|alarm| next < alarm)
        {
            peer.alarm = Some(next);
            self.timers.add(next, slot);
        }
        if !is_done {
            self.mark(slot);
        }
        if self.wire.blocked.is_some() {
            self.listen_for(EventFlags::IN | EventFlags::OUT)?;
        }
        Ok(())
    }

    /// The socket has room again.
    fn unblock(&mut self) -> Result<(), OriginError> {
        if let Some((bytes, to, segment)) = self.wire.blocked.take() {
            self.wire.send(to, bytes, segment)?;
        }
        if self.wire.blocked.is_none() {
            self.listen_for(EventFlags::IN)?;
        }
        Ok(())
    }

    fn listen_for(&self, flags: EventFlags) -> Result<(), OriginError> {
        let data = EventData::new_u64(0);
        epoll::modify(&self.epoll, &self.wire.socket, data, flags)
            .map_err(|errno| system("wait for room in a socket", errno))
    }
}

impl Wire {
    /// Sends what a connection has to send; false if that was not all.
    fn transmit(&mut self, peer: &mut Peer, now: Instant) -> Result<bool, OriginError> {
        for _ in 0..SENDS_MAX {
            if self.blocked.is_some() {
                return Ok(false);
            }
            let mut outgoing = std::mem::take(&mut self.outgoing);
            outgoing.clear();
            let connection = &mut peer.connection;
            let Some(transmit) = connection.poll_transmit(now, self.segments_max, &mut outgoing)
            else {
                self.outgoing = outgoing;
                return Ok(true);
            };
            let segment = transmit.segment_size.unwrap_or(transmit.size);
            outgoing.truncate(transmit.size);
            self.outgoing = self.send(peer.remote, outgoing, segment)?;
        }
        Ok(false)
    }

    /// Sends datagrams and gives their memory back, unless the socket does not take them.
    fn send(
        &mut self,
        to: SocketAddr,
        bytes: Vec<u8>,
        segment: usize,
    ) -> Result<Vec<u8>, OriginError> {
        match bakeoff_udp::send(&self.socket, Some(to), &bytes, segment) {
            Ok(()) => Ok(bytes),
            Err(Errno::AGAIN) => {
                self.blocked = Some((bytes, to, segment));
                Ok(Vec::new())
            }
            // A kernel or a device that cannot cut: one at a time from now on.
            Err(Errno::IO | Errno::INVAL) if bytes.len() > segment => {
                self.segments_max = 1;
                for datagram in bytes.chunks(segment) {
                    // What is lost is sent again if it matters.
                    let _ = bakeoff_udp::send(&self.socket, Some(to), datagram, segment);
                }
                Ok(bytes)
            }
            Err(Errno::BADF | Errno::NOTSOCK) => Err(system("send datagrams", Errno::BADF)),
            // Too long for the path, refused before, no memory: lost, as datagrams may be.
            Err(_) => Ok(bytes),
        }
    }

    /// Sends one datagram that belongs to no connection; it is lost where there is no room.
    fn respond(&self, transmit: &Transmit, bytes: &[u8]) {
        if let Some(bytes) = bytes.get(..transmit.size) {
            let _ = bakeoff_udp::send(
                &self.socket,
                Some(transmit.destination),
                bytes,
                transmit.size,
            );
        }
    }
}

fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(STREAMS_MAX))
        .max_concurrent_uni_streams(VarInt::from_u32(CONTROLS_MAX))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .send_fairness(false)
        .datagram_receive_buffer_size(None)
        .max_idle_timeout(IdleTimeout::try_from(IDLE).ok());
    transport
}

fn system(doing: &'static str, errno: Errno) -> OriginError {
    OriginError::System {
        doing,
        source: io::Error::from(errno),
    }
}
