//! A server in memory: what it does with each connection and each request is said by closures.

use crate::driver::invented::{Act, Door, Heard, World};

use super::frames;
use super::{HELLO, us};

/// How long a server takes to let a connection in, unless a test says something else.
pub(super) const DOOR: u64 = us(50);

/// A request that the server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    /// Which connection it came on, from 0.
    pub(super) link: usize,
    /// Which stream of HTTP/2.
    pub(super) stream: u32,
    /// Which request of all this is, from 0.
    pub(super) number: u64,
    pub(super) now: u64,
}

impl Asked {
    /// `hello`, after so long.
    pub(super) fn hello(self, after: u64) -> Vec<Act> {
        let bytes = match self.stream {
            0 => HELLO.to_vec(),
            stream => frames::answer(stream, b"hello"),
        };
        vec![Act::Send(after, bytes)]
    }
}

/// A server in memory.
pub(super) struct Server<'a> {
    door: Box<dyn FnMut(usize, u64) -> Door + 'a>,
    opened: Box<dyn FnMut(usize, u64) -> Vec<Act> + 'a>,
    asked: Box<dyn FnMut(Asked) -> Vec<Act> + 'a>,
    room: usize,
    /// What was heard on each connection and is no whole request yet.
    unread: Vec<Vec<u8>>,
    is_h2: bool,
    requests: u64,
}

impl<'a> Server<'a> {
    /// Answers by `asked`, over HTTP/1.1.
    pub(super) fn new(asked: impl FnMut(Asked) -> Vec<Act> + 'a) -> Self {
        Self {
            door: Box::new(|_, _| Door::Opens(DOOR)),
            opened: Box::new(|_, _| Vec::new()),
            asked: Box::new(asked),
            room: usize::MAX,
            unread: Vec::new(),
            is_h2: false,
            requests: 0,
        }
    }

    /// Answers by `asked`, over HTTP/2, after settings that say nothing.
    pub(super) fn h2(asked: impl FnMut(Asked) -> Vec<Act> + 'a) -> Self {
        Self::new(asked).over_h2()
    }

    /// The same over HTTP/2, after settings that say nothing.
    pub(super) fn over_h2(self) -> Self {
        Self {
            is_h2: true,
            ..self.on_open(|_, _| vec![Act::Send(0, frames::settings(&[]))])
        }
    }

    /// Answers `hello` after so long.
    pub(super) fn after(ns: u64) -> Self {
        Self::new(move |asked| asked.hello(ns))
    }

    /// Never answers.
    pub(super) fn silent() -> Self {
        Self::new(|_| Vec::new())
    }

    /// Lets connections in, or not.
    pub(super) fn at_door(mut self, door: impl FnMut(usize, u64) -> Door + 'a) -> Self {
        self.door = Box::new(door);
        self
    }

    /// What it says to a connection that is open.
    pub(super) fn on_open(mut self, opened: impl FnMut(usize, u64) -> Vec<Act> + 'a) -> Self {
        self.opened = Box::new(opened);
        self
    }

    /// Takes so many bytes of each connection before it says that it takes more.
    pub(super) fn with_room(mut self, bytes: usize) -> Self {
        self.room = bytes;
        self
    }

    /// Takes one request off what was heard: its stream, where it is of HTTP/2.
    fn next(&mut self, number: usize) -> Option<u32> {
        let unread = &mut self.unread[number];
        if self.is_h2 {
            return frames::next_request(unread);
        }
        let end = unread.windows(4).position(|four| four == b"\r\n\r\n")?;
        unread.drain(..end + 4);
        Some(0)
    }
}

impl World for Server<'_> {
    fn door(&mut self, number: usize, now: u64) -> Door {
        self.unread.resize(number + 1, Vec::new());
        (self.door)(number, now)
    }

    fn room(&mut self, _: usize) -> usize {
        self.room
    }

    fn hear(&mut self, number: usize, heard: Heard<'_>, now: u64) -> Vec<Act> {
        let Heard::Bytes(bytes) = heard else {
            return (self.opened)(number, now);
        };
        self.unread[number].extend(bytes);
        let mut acts = Vec::new();
        while let Some(stream) = self.next(number) {
            let asked = Asked {
                link: number,
                stream,
                number: self.requests,
                now,
            };
            self.requests += 1;
            acts.extend((self.asked)(asked));
        }
        acts
    }
}
