//! Any bytes, cut anywhere, must give the origin's request reader the same steps as the whole: as
//! HTTP, and as records of FastCGI.
use bakeoff_origin::{Memo, RequestReader, Step};

/// The record that begins a request of FastCGI.
const BEGIN: [u8; 16] = [1, 1, 0, 1, 0, 8, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0];

/// The steps of a stream that comes in the given pieces, up to the first refusal.
fn steps<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Step> {
    let (mut reader, mut memo) = (RequestReader::default(), Memo::default());
    let (mut held, mut found) = (Vec::new(), Vec::new());
    for piece in pieces {
        held.extend_from_slice(piece);
        while !held.is_empty() {
            let (taken, step) = reader.step(&mut memo, &held);
            assert!(taken <= held.len(), "took {taken} of {} bytes", held.len());
            assert!(taken > 0 || matches!(step, Step::More | Step::Refused(_)));
            held.drain(..taken);
            match step {
                Step::More => break,
                Step::Refused(_) => {
                    found.push(step);
                    return found;
                }
                _ => found.push(step),
            }
        }
    }
    found
}

pub(crate) fn check(input: &[u8]) {
    let Some((&size, stream)) = input.split_first() else {
        return;
    };
    let records = [&BEGIN, stream].concat();
    for stream in [stream, &records] {
        let whole = steps(std::iter::once(stream));
        assert_eq!(steps(stream.chunks(usize::from(size) + 1)), whole);
    }
}
