//! Requests, encoded once and sent again and again on all connections.

use super::{frame, qpack};
use crate::fields::Request;

/// All requests of a load, as bytes: each has its field section in a HEADERS frame and its body
/// in a DATA frame. Connections share it and name a request by its index.
#[derive(Debug)]
pub struct Requests {
    /// All requests, one behind the other.
    bytes: Vec<u8>,
    places: Vec<Place>,
}

#[derive(Debug)]
struct Place {
    start: usize,
    end: usize,
    to_head: bool,
}

impl Requests {
    /// Makes `requests` ready; their indexes are their places in it.
    pub fn new(requests: Vec<Request>) -> Self {
        let (mut bytes, mut section) = (Vec::new(), Vec::new());
        let ready = |request: Request| {
            let start = bytes.len();
            section.clear();
            qpack::encode(&request.fields, &mut section);
            frame::write_header(frame::HEADERS, section.len(), &mut bytes);
            bytes.extend_from_slice(&section);
            if !request.body.is_empty() {
                frame::write_header(frame::DATA, request.body.len(), &mut bytes);
                bytes.extend_from_slice(&request.body);
            }
            Place {
                start,
                end: bytes.len(),
                to_head: request.to_head,
            }
        };
        let places = requests.into_iter().map(ready).collect();
        Self { bytes, places }
    }

    /// Number of requests.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is no request.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// All that is to be written on a new bidirectional stream, which ends behind it; empty if
    /// there is no such request.
    #[inline]
    pub fn bytes(&self, index: u32) -> &[u8] {
        let place = self.places.get(index as usize);
        let bytes = place.and_then(|place| self.bytes.get(place.start..place.end));
        bytes.unwrap_or_default()
    }

    /// Whether a request is HEAD, so that its response has no body.
    #[inline]
    pub fn is_to_head(&self, index: u32) -> bool {
        let place = self.places.get(index as usize);
        place.is_some_and(|place| place.to_head)
    }
}
