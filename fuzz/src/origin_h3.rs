//! Any bytes, cut anywhere, must give the origin's reader of HTTP/3 the same request as the whole.
use bakeoff_origin::{H3Refused, H3RequestReader, H3Sections, Method};

/// What comes of a stream in the given pieces.
fn request<'a>(mut pieces: impl Iterator<Item = &'a [u8]>) -> Result<Method, H3Refused> {
    let (mut reader, mut sections) = (H3RequestReader::default(), H3Sections::default());
    pieces.try_for_each(|piece| reader.take(piece, &mut sections))?;
    reader.finish()
}

pub(crate) fn check(input: &[u8]) {
    let Some((&size, stream)) = input.split_first() else {
        return;
    };
    let whole = request(std::iter::once(stream));
    assert_eq!(request(stream.chunks(usize::from(size) + 1)), whole);
}
