//! The decoder's dynamic table (RFC 7541, 2.3.2 and 4; RFC 9204, 3.2).
//!
//! Names and values stand one behind the other in one buffer, oldest first. When the dead part
//! at its front has grown as large as the table may be, the live part moves to the front: so an
//! insertion allocates nothing once the buffer has its size.

use std::collections::VecDeque;

use super::ENTRY_OVERHEAD_BYTES;

/// Names and values that the encoder had us remember.
#[derive(Debug)]
pub(crate) struct Table {
    /// Oldest first.
    entries: VecDeque<Entry>,
    bytes: Vec<u8>,
    /// Size of all entries as the RFC counts, bytes.
    size: u32,
    /// Largest size, as the encoder chose, bytes.
    size_max: u32,
    /// Raised with each change, so that what a block meant is known to be still so.
    version: u32,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// Where the name begins; the value is behind it.
    start: u32,
    name_bytes: u32,
    value_bytes: u32,
}

impl Entry {
    fn size(self) -> u32 {
        self.name_bytes + self.value_bytes + ENTRY_OVERHEAD_BYTES
    }
}

impl Table {
    /// An empty table for at most `size_max` bytes.
    pub(crate) fn new(size_max: u32) -> Self {
        Self {
            entries: VecDeque::new(),
            bytes: Vec::new(),
            size: 0,
            size_max,
            version: 0,
        }
    }

    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    pub(crate) fn size_max(&self) -> u32 {
        self.size_max
    }

    /// The entry that was inserted `age` insertions before the last one.
    pub(crate) fn entry(&self, age: u32) -> Option<(&[u8], &[u8])> {
        let place = self.entries.len().checked_sub(age as usize + 1)?;
        let entry = self.entries.get(place)?;
        let text = self.bytes.get(entry.start as usize..)?;
        let (name, rest) = text.split_at_checked(entry.name_bytes as usize)?;
        Some((name, rest.get(..entry.value_bytes as usize)?))
    }

    /// Inserts an entry and evicts the oldest ones that have no room beside it. One that is
    /// larger than the table empties it (RFC 7541, 4.4).
    pub(crate) fn insert(&mut self, name: &[u8], value: &[u8]) {
        let entry = Entry {
            start: 0,
            name_bytes: name.len() as u32,
            value_bytes: value.len() as u32,
        };
        let Some(most) = self.size_max.checked_sub(entry.size()) else {
            self.evict(0);
            return;
        };
        self.evict(most);
        self.make_room();
        self.version = self.version.wrapping_add(1);
        self.size += entry.size();
        self.entries.push_back(Entry {
            start: self.bytes.len() as u32,
            ..entry
        });
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
    }

    /// Sets the largest size.
    pub(crate) fn resize(&mut self, size_max: u32) {
        if size_max != self.size_max {
            self.version = self.version.wrapping_add(1);
        }
        self.size_max = size_max;
        self.evict(size_max);
    }

    /// Evicts the oldest entries until the size is at most `most`.
    fn evict(&mut self, most: u32) {
        while self.size > most
            && let Some(entry) = self.entries.pop_front()
        {
            self.size -= entry.size();
            self.version = self.version.wrapping_add(1);
        }
    }

    /// Moves the live bytes to the front when the dead ones before them are too many.
    fn make_room(&mut self) {
        let dead = match self.entries.front() {
            Some(oldest) => oldest.start,
            None => self.bytes.len() as u32,
        };
        if dead >= self.size_max {
            self.bytes.drain(..dead as usize);
            for entry in &mut self.entries {
                entry.start -= dead;
            }
        }
    }

    /// Size of all entries as the RFC counts, bytes.
    #[cfg(test)]
    pub(crate) fn size(&self) -> u32 {
        self.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_by_age_and_the_oldest_go_first() {
        let mut table = Table::new(4096);
        table.resize(3 * 34);
        for name in ["a", "b", "c", "d"] {
            table.insert(name.as_bytes(), b"1");
        }
        assert_eq!(table.entry(0), Some((&b"d"[..], &b"1"[..])));
        assert_eq!(table.entry(2), Some((&b"b"[..], &b"1"[..])));
        assert_eq!((table.entry(3), table.size()), (None, 3 * 34));
        table.resize(2 * 34);
        assert_eq!((table.entry(2), table.size()), (None, 2 * 34));
        table.insert(&[b'x'; 40], b"");
        assert_eq!(
            (table.entry(0), table.size()),
            (None, 0),
            "larger than the table"
        );
    }

    #[test]
    fn the_buffer_stays_bounded_and_entries_right() {
        let mut table = Table::new(4096);
        table.resize(200);
        for number in 0..10_000_u32 {
            let value = number.to_string().repeat(number as usize % 5);
            table.insert(b"name", value.as_bytes());
            assert_eq!(table.entry(0), Some((&b"name"[..], value.as_bytes())));
        }
        assert!(table.bytes.capacity() < 1000, "{}", table.bytes.capacity());
    }

    #[test]
    fn only_a_change_raises_the_version() {
        let mut table = Table::new(4096);
        table.resize(0);
        let version = table.version();
        table.insert(b"name", b"value");
        table.resize(0);
        assert_eq!(table.version(), version, "nothing fits, nothing changes");
        table.resize(100);
        assert_ne!(table.version(), version);
    }
}
