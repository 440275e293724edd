//! Any bytes from a host, in two pieces: a banner, a greeting, frames, reports. Never a panic, and
//! never a frame that is longer than one may be.

use bakeoff_hosts::{FRAME_BYTES_MAX, Frame, FrameReader, GreetingReader, Report, read_pods};

pub(crate) fn check(pieces: (&[u8], &[u8])) {
    let mut greeting = GreetingReader::default();
    let mut frames = FrameReader::default();
    let mut has_greeted = false;
    for piece in [pieces.0, pieces.1] {
        if has_greeted {
            frames.put(piece);
        } else {
            match greeting.put(piece) {
                Ok(None) => {}
                Ok(Some((found, rest))) => {
                    let mut again = GreetingReader::default();
                    let line = format!("{found}\n");
                    let read = again.put(line.as_bytes());
                    assert_eq!(read, Ok(Some((found, Vec::new()))));
                    frames.put(&rest);
                    has_greeted = true;
                }
                Err(_) => return,
            }
        }
    }
    let _ = greeting.banner();
    // Frames are read whether or not a greeting came before them, as a target of their own.
    let mut bare = FrameReader::default();
    bare.put(pieces.0);
    bare.put(pieces.1);
    for reader in [&mut frames, &mut bare] {
        while let Ok(Some(frame)) = reader.next_frame() {
            let (Frame::Json(bytes) | Frame::Raw(bytes)) = &frame;
            assert!(bytes.len() <= FRAME_BYTES_MAX);
            if Report::of(frame).is_err() {
                break;
            }
        }
    }
    for pod in read_pods(&String::from_utf8_lossy(pieces.0)) {
        assert!(!pod.name.is_empty() && !pod.name.starts_with('-'));
    }
}
