//! Requests, made ready once and sent again and again on all connections.

use super::hpack::Lists;
use crate::fields::Request;

/// All requests of a load. Connections share it and name a request by its index.
#[derive(Debug)]
pub struct Requests {
    pub(super) lists: Lists,
    tails: Vec<Tail>,
}

/// What of a request is not in its header list.
#[derive(Debug)]
struct Tail {
    body: Vec<u8>,
    to_head: bool,
}

impl Requests {
    /// Makes `requests` ready; their indexes are their places in it.
    pub fn new(requests: Vec<Request>) -> Self {
        let (mut lists, mut tails) = (Vec::new(), Vec::new());
        for Request {
            fields,
            body,
            to_head,
        } in requests
        {
            lists.push(fields);
            tails.push(Tail { body, to_head });
        }
        Self {
            lists: Lists::new(&lists),
            tails,
        }
    }

    /// Number of requests.
    pub(crate) fn len(&self) -> usize {
        self.tails.len()
    }

    /// Whether there is no request.
    pub fn is_empty(&self) -> bool {
        self.tails.is_empty()
    }

    /// The body of a request; empty if there is no such request.
    #[inline]
    pub(super) fn body(&self, index: u32) -> &[u8] {
        let tail = self.tails.get(index as usize);
        tail.map_or(&[], |tail| &tail.body)
    }

    /// Whether a request is HEAD.
    #[inline]
    pub(super) fn is_to_head(&self, index: u32) -> bool {
        self.tails
            .get(index as usize)
            .is_some_and(|tail| tail.to_head)
    }
}
