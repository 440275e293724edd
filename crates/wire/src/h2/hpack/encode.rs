//! Writes header blocks for lists that are known beforehand.
//!
//! [`Lists`] decides once, for all connections, which fields are worth a place in a dynamic
//! table: those that save most, as many as fit. An [`Encoder`] inserts each of them when it is
//! first used and never evicts one. So its whole state is the order of insertions.

use std::collections::HashMap;

use super::{DEFAULT_TABLE_BYTES, ENTRY_OVERHEAD_BYTES, Field, static_table};
use crate::fields::{integer, text};

/// Mark of a field that is never inserted into a dynamic table.
const NO_PLACE: u8 = u8::MAX;
/// Most fields that have a place: as many as fit a table of 4,096 bytes, each at least 33.
const MAX_PLACES: usize = (DEFAULT_TABLE_BYTES / (ENTRY_OVERHEAD_BYTES + 1)) as usize;

/// Header lists, made ready to be encoded again and again.
#[derive(Debug)]
pub struct Lists {
    /// The fields of each list, by their places in `fields`.
    lists: Vec<Box<[u32]>>,
    fields: Vec<Ready>,
}

/// A field in each of the forms that it may be written in.
#[derive(Debug)]
struct Ready {
    /// As an entry of the static table; empty if it is none.
    fixed: Box<[u8]>,
    /// As a literal that is to be inserted.
    inserted: Box<[u8]>,
    /// As a literal that is not.
    literal: Box<[u8]>,
    /// What it takes in a table, bytes.
    size: u32,
    /// Which of the fields worth inserting it is, or [`NO_PLACE`].
    place: u8,
    /// In how many lists it stands.
    uses: u32,
}

impl Ready {
    fn new((name, value): &Field) -> Self {
        let mut fixed = Vec::new();
        let found = static_table::find(name, value);
        if let Some((index, true)) = found {
            integer::write(0x80, 7, index, &mut fixed);
        }
        let literal = |pattern, bits| {
            let mut out = Vec::new();
            integer::write(pattern, bits, found.map_or(0, |(index, _)| index), &mut out);
            if found.is_none() {
                text::write(0, 7, name, &mut out);
            }
            text::write(0, 7, value, &mut out);
            out.into_boxed_slice()
        };
        Self {
            inserted: literal(0x40, 6),
            literal: literal(0, 4),
            fixed: fixed.into_boxed_slice(),
            size: u32::try_from(name.len() + value.len())
                .unwrap_or(u32::MAX)
                .saturating_add(ENTRY_OVERHEAD_BYTES),
            place: NO_PLACE,
            uses: 0,
        }
    }
}

impl Lists {
    /// Makes `lists` ready. Names are taken as they are.
    pub fn new(lists: &[Vec<Field>]) -> Self {
        let mut known = HashMap::new();
        let mut fields: Vec<Ready> = Vec::new();
        let mut numbered = |field| {
            let number = *known.entry(field).or_insert_with(|| {
                fields.push(Ready::new(field));
                fields.len() - 1
            });
            fields[number].uses += 1;
            number as u32
        };
        let lists = lists
            .iter()
            .map(|list| list.iter().map(&mut numbered).collect())
            .collect();
        give_places(&mut fields);
        Self { lists, fields }
    }
}

/// Gives places to the fields that save most, as long as they fit one table together.
fn give_places(fields: &mut [Ready]) {
    let mut order: Vec<usize> = (0..fields.len())
        .filter(|&number| fields[number].fixed.is_empty())
        .collect();
    let saved = |field: &Ready| u64::from(field.uses) * field.literal.len() as u64;
    order.sort_by_key(|&number| std::cmp::Reverse(saved(&fields[number])));
    let (mut left, mut places) = (DEFAULT_TABLE_BYTES, 0);
    for number in order {
        let field = &mut fields[number];
        if places < MAX_PLACES
            && let Some(rest) = left.checked_sub(field.size)
        {
            left = rest;
            field.place = places as u8;
            places += 1;
        }
    }
}

/// Writes the header blocks of one connection, in their order.
#[derive(Debug)]
pub struct Encoder {
    /// For each place, the number of its insertion from 1; 0 before.
    inserted: Vec<u8>,
    /// Insertions so far.
    count: u8,
    /// Size of the table, bytes.
    size: u32,
    /// Largest size of the table, bytes.
    size_max: u32,
    /// What to announce to the decoder about the table's size in the next block.
    pending: Pending,
    /// Raised when an earlier block would no longer mean the same.
    version: u32,
}

/// A change of the table's size that the decoder has not heard of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pending {
    Nothing,
    /// The table may be larger.
    Grow,
    /// The table had to shrink: it is emptied, then has its new size.
    Empty,
}

impl Default for Encoder {
    fn default() -> Self {
        Self {
            inserted: Vec::new(),
            count: 0,
            size: 0,
            size_max: DEFAULT_TABLE_BYTES,
            pending: Pending::Nothing,
            version: 0,
        }
    }
}

impl Encoder {
    /// A number that changes when a block encoded before would now be encoded differently.
    #[inline]
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Sets what the table may grow to, as the decoder's settings say. More than 4,096 bytes are
    /// not made use of.
    pub fn allow(&mut self, size_allowed: u32) {
        let size_max = size_allowed.min(DEFAULT_TABLE_BYTES);
        if size_max < self.size_max {
            self.inserted.clear();
            self.count = 0;
            self.size = 0;
            self.pending = Pending::Empty;
        } else if size_max > self.size_max && self.pending == Pending::Nothing {
            self.pending = Pending::Grow;
        } else if size_max == self.size_max {
            return;
        }
        self.size_max = size_max;
        self.version = self.version.wrapping_add(1);
    }

    /// Appends the block of a list; nothing if there is no such list.
    pub fn encode(&mut self, lists: &Lists, list: u32, out: &mut Vec<u8>) {
        if self.pending == Pending::Empty && self.size_max > 0 {
            integer::write(0x20, 5, 0_u32, out);
        }
        if self.pending != Pending::Nothing {
            integer::write(0x20, 5, self.size_max, out);
            self.pending = Pending::Nothing;
            self.version = self.version.wrapping_add(1);
        }
        let Some(list) = lists.lists.get(list as usize) else {
            return;
        };
        for &number in list {
            if let Some(field) = lists.fields.get(number as usize) {
                self.encode_field(field, out);
            }
        }
    }

    fn encode_field(&mut self, field: &Ready, out: &mut Vec<u8>) {
        if !field.fixed.is_empty() {
            out.extend_from_slice(&field.fixed);
            return;
        }
        let place = usize::from(field.place);
        match self.inserted.get(place) {
            Some(&number @ 1..) => {
                let age = u32::from(self.count - number);
                integer::write(0x80, 7, static_table::LEN + 1 + age, out);
            }
            _ if field.place != NO_PLACE && self.size + field.size <= self.size_max => {
                out.extend_from_slice(&field.inserted);
                self.insert(place, field.size);
            }
            _ => out.extend_from_slice(&field.literal),
        }
    }

    fn insert(&mut self, place: usize, size: u32) {
        if self.inserted.len() <= place {
            self.inserted.resize(place + 1, 0);
        }
        self.count += 1;
        self.inserted[place] = self.count;
        self.size += size;
        self.version = self.version.wrapping_add(1);
    }
}
