//! What a server says in place of a page: the first answer of each status that is none of success
//! and that nobody asked for.
//!
//! Nothing is kept of other answers: they cost a comparison of their status where a head is read,
//! and nothing where it is recognised.

use bakeoff_record::Said;
use bakeoff_wire::h1::NewHead;

use crate::spec::{Exchange, ExpectedStatus};

/// Bytes of a `Location` that are kept.
const LOCATION_BYTES_MAX: usize = 1024;
/// Bytes of a reason that are kept.
const REASON_BYTES_MAX: usize = 80;

/// The answers of one thread that are kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answers(Vec<Kept>);

#[derive(Debug, Clone)]
struct Kept {
    exchange: u32,
    status: u16,
    reason: Vec<u8>,
    location: Option<Vec<u8>>,
    body: Vec<u8>,
}

impl Answers {
    /// Begins to keep an answer by its head, if it is the first of its status. Returns its number,
    /// counted from 1, for the body of it.
    #[cold]
    pub(crate) fn begin(
        &mut self,
        exchange: u32,
        expected: ExpectedStatus,
        head: &NewHead<'_>,
    ) -> Option<u8> {
        let is_asked_for = expected == ExpectedStatus::Exactly(head.status);
        let is_known = self.0.iter().any(|kept| kept.status == head.status);
        if is_asked_for || is_known || self.0.len() == Said::MAX {
            return None;
        }
        let part = |bytes: &[u8], most: usize| bytes[..bytes.len().min(most)].to_vec();
        self.0.push(Kept {
            exchange,
            status: head.status,
            reason: part(head.reason, REASON_BYTES_MAX),
            location: head.location.map(|it| part(it, LOCATION_BYTES_MAX)),
            body: Vec::new(),
        });
        Some(self.0.len() as u8)
    }

    /// Adds what `Location` said in the first head of each status, where that is known apart from
    /// the answers: over HTTP/2 and HTTP/3.
    #[cold]
    pub(crate) fn locate<'l>(&mut self, location: impl Fn(u16) -> Option<&'l [u8]>) {
        for kept in self.0.iter_mut().filter(|kept| kept.location.is_none()) {
            kept.location = location(kept.status).map(<[u8]>::to_vec);
        }
    }

    /// Adds a part of the body of the answer number `number`, counted from 1.
    #[cold]
    pub(crate) fn add(&mut self, number: u8, part: &[u8]) {
        let kept = usize::from(number).checked_sub(1);
        if let Some(kept) = kept.and_then(|at| self.0.get_mut(at)) {
            let room = Said::BODY_BYTES_MAX.saturating_sub(kept.body.len());
            kept.body.extend_from_slice(&part[..part.len().min(room)]);
        }
    }

    /// Adds those of another thread.
    pub(crate) fn merge(&mut self, other: Self) {
        for kept in other.0 {
            let is_known = self.0.iter().any(|known| known.status == kept.status);
            if !is_known && self.0.len() < Said::MAX {
                self.0.push(kept);
            }
        }
    }

    /// What was said, by status.
    pub(crate) fn said(self, exchanges: &[Exchange]) -> Vec<Said> {
        let said = self.0.into_iter().map(|kept| Said {
            url: exchanges[kept.exchange as usize].name.clone(),
            status: kept.status,
            reason: Said::text(&kept.reason),
            location: kept.location.map(|it| Said::text(&it)),
            body: Said::text(&kept.body),
        });
        let mut said: Vec<Said> = said.collect();
        said.sort_by_key(|said| said.status);
        said
    }
}
