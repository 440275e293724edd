//! The streams in flight, found by identifier, and those cancelled that frames may still come for.
//!
//! Slots stay where they are and are used again, last freed first. They are found through chains
//! that hang in a table of twice as many heads at most: identifiers of streams in flight are
//! close to each other, so a chain is rarely longer than one.

use super::window::{ReceiveWindow, SendWindow};

/// No slot.
pub(super) const NONE: u16 = u16::MAX;
/// Heads at first.
const MIN_HEADS: usize = 8;
/// Most cancelled streams that are remembered.
const MAX_CANCELLED: usize = 128;

/// What is known of a response's body beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// The final head has not come.
    NoHead,
    /// A body of any length.
    AnyBody,
    /// A body of the length in [`Slot::content_length`].
    Length,
    /// None: to HEAD, with 204, with 304.
    NoBody,
}

/// A stream in flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    /// Identifier; 0 when the slot is free.
    pub(super) id: u32,
    /// The caller's name for it.
    pub(super) token: u32,
    /// Which of the requests.
    pub(super) request: u32,
    /// Bytes of the request's body that were sent.
    pub(super) sent_bytes: u32,
    pub(super) receive: ReceiveWindow,
    pub(super) send: SendWindow,
    /// Bytes of the response's body that came.
    pub(super) body_bytes: u64,
    pub(super) content_length: u64,
    /// The next slot of the chain, or of the free ones.
    next: u16,
    pub(super) expected: Expected,
    /// Whether the whole request was sent.
    pub(super) is_sent: bool,
}

/// The streams in flight on one connection.
#[derive(Debug)]
pub(super) struct Streams {
    slots: Vec<Slot>,
    /// First slot of each chain; a power of two of them.
    heads: Vec<u16>,
    free: u16,
    open: u32,
    /// Identifiers cancelled, oldest first, for which the server has not ended its side.
    cancelled: Vec<u32>,
    /// Up to this identifier, a closed stream may be a cancelled one that was forgotten.
    forgotten: u32,
}

impl Default for Streams {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            heads: Vec::new(),
            free: NONE,
            open: 0,
            cancelled: Vec::new(),
            forgotten: 0,
        }
    }
}

impl Slot {
    /// A stream that is being opened.
    pub(super) fn new(id: u32, token: u32, request: u32) -> Self {
        Self {
            id,
            token,
            request,
            sent_bytes: 0,
            receive: ReceiveWindow::new(0),
            send: SendWindow::new(0),
            body_bytes: 0,
            content_length: 0,
            next: NONE,
            expected: Expected::NoHead,
            is_sent: true,
        }
    }
}

impl Streams {
    /// Number of streams in flight.
    #[inline]
    pub(super) fn open(&self) -> u32 {
        self.open
    }

    /// The slot of a stream in flight.
    #[inline]
    pub(super) fn find(&self, id: u32) -> Option<u16> {
        let mut at = *self.heads.get(self.chain(id))?;
        while let Some(slot) = self.slots.get(usize::from(at)) {
            if slot.id == id {
                return Some(at);
            }
            at = slot.next;
        }
        None
    }

    /// What is in a slot that [`find`](Self::find) or [`insert`](Self::insert) named.
    #[inline]
    pub(super) fn slot(&mut self, at: u16) -> &mut Slot {
        &mut self.slots[usize::from(at)]
    }

    /// Puts a stream into a slot; the caller keeps the number of streams below 65,535.
    #[inline]
    pub(super) fn insert(&mut self, slot: Slot) -> u16 {
        let mut at = self.free;
        if at == NONE {
            at = self.slots.len() as u16;
            self.grow(slot);
        } else {
            self.free = self.slots[usize::from(at)].next;
        }
        let chain = self.chain(slot.id);
        let next = std::mem::replace(&mut self.heads[chain], at);
        self.slots[usize::from(at)] = Slot { next, ..slot };
        self.open += 1;
        at
    }

    /// Frees a slot whose stream has ended.
    #[inline]
    pub(super) fn remove(&mut self, at: u16) {
        let Slot { id, next, .. } = self.slots[usize::from(at)];
        let chain = self.chain(id);
        if self.heads[chain] == at {
            self.heads[chain] = next;
        } else {
            let mut before = self.heads[chain];
            while let Some(slot) = self.slots.get_mut(usize::from(before)) {
                before = slot.next;
                if before == at {
                    slot.next = next;
                    break;
                }
            }
        }
        let free = std::mem::replace(&mut self.free, at);
        let freed = self.slot(at);
        freed.id = 0;
        freed.next = free;
        self.open -= 1;
    }

    /// All slots that are in use.
    pub(super) fn all(&self) -> impl Iterator<Item = (u16, &Slot)> {
        let numbered = (0..).zip(&self.slots);
        numbered.filter(|(_, slot)| slot.id != 0)
    }

    /// All streams in flight.
    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut Slot> {
        self.slots.iter_mut().filter(|slot| slot.id != 0)
    }

    /// Number of slots, used and free.
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Remembers that frames may still come for a stream that this side ended.
    pub(super) fn remember_cancelled(&mut self, id: u32) {
        if self.cancelled.len() == MAX_CANCELLED {
            self.forgotten = self.forgotten.max(self.cancelled.remove(0));
        }
        self.cancelled.push(id);
    }

    /// Whether frames may still come for a closed stream.
    pub(super) fn may_linger(&self, id: u32) -> bool {
        id <= self.forgotten || self.cancelled.contains(&id)
    }

    /// Forgets a cancelled stream: the server has ended its side.
    pub(super) fn forget_cancelled(&mut self, id: u32) {
        self.cancelled.retain(|&cancelled| cancelled != id);
    }

    #[inline]
    fn chain(&self, id: u32) -> usize {
        // Identifiers of clients are odd.
        (id >> 1) as usize & self.heads.len().wrapping_sub(1)
    }

    /// Adds a slot, and heads when they have become too few.
    #[cold]
    fn grow(&mut self, slot: Slot) {
        self.slots.push(slot);
        if self.slots.len() <= self.heads.len() {
            return;
        }
        let heads = (self.heads.len() * 2).max(MIN_HEADS);
        self.heads = vec![NONE; heads];
        // The new slot is not in use yet.
        let used = self.slots.len() - 1;
        for at in 0..used {
            let id = self.slots[at].id;
            if id != 0 {
                let chain = self.chain(id);
                self.slots[at].next = std::mem::replace(&mut self.heads[chain], at as u16);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_small() {
        assert_eq!(size_of::<Slot>(), 48);
    }

    #[test]
    fn streams_are_found_while_in_flight_and_only_then() {
        let mut streams = Streams::default();
        let mut open = Vec::new();
        let (mut id, mut seed) = (1, 7_u32);
        for _ in 0..20_000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if open.len() < 300 && seed >> 30 != 0 {
                let at = streams.insert(Slot::new(id, id, 0));
                open.push((id, at));
                id += 2;
            } else if !open.is_empty() {
                let (id, at) = open.swap_remove(seed as usize / 7 % open.len());
                assert_eq!(streams.find(id), Some(at));
                streams.remove(at);
                assert_eq!(streams.find(id), None);
            }
            assert_eq!(streams.open() as usize, open.len());
        }
        for (id, at) in &open {
            assert_eq!(streams.find(*id), Some(*at));
        }
        assert_eq!(streams.all().count(), open.len());
        assert!(streams.slots() <= 300, "slots are used again");
    }

    #[test]
    fn cancelled_streams_are_remembered_within_bounds() {
        let mut streams = Streams::default();
        let ids = || (0..MAX_CANCELLED as u32 + 10).map(|number| number * 2 + 1);
        for id in ids() {
            streams.remember_cancelled(id);
        }
        assert!(ids().all(|id| streams.may_linger(id)));
        let last = ids().next_back().unwrap_or_default();
        streams.forget_cancelled(last);
        assert!(!streams.may_linger(last) && !streams.may_linger(last + 2));
        assert_eq!(streams.cancelled.len(), MAX_CANCELLED - 1);
    }
}
