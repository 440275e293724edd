//! What a hostile server can send on and on: memory stays bounded, whatever the length it names.

use super::*;
use crate::h3::qpack::SectionError;

/// Longest payload that a frame can have, bytes.
const ENDLESS: u64 = (1 << 62) - 1;
/// The first unidirectional stream of a server.
const FIRST: u64 = 3;

/// The header of a frame of which nothing more has come.
fn announced(kind: u64, length: u64) -> Vec<u8> {
    let mut header = Vec::new();
    varint::write(kind, &mut header);
    varint::write(length, &mut header);
    header
}

fn control(bytes: &[u8]) -> Result<Connection, Violation> {
    let mut connection = Connection::new(&Config::default());
    connection.handle_uni(FIRST, &[0], false, |_| {})?;
    connection.handle_uni(FIRST, bytes, false, |_| {})?;
    Ok(connection)
}

#[test]
fn settings_are_bounded() {
    let one = [0x21, 0];
    assert!(control(&frame(SETTINGS, &one.repeat(2048))).is_ok());
    for length in [4097, ENDLESS] {
        let refused = control(&announced(SETTINGS.into(), length)).map(|_| ());
        assert_eq!(refused, Err(Violation::SettingsTooLong));
    }
    assert_eq!(Violation::SettingsTooLong.code(), ErrorCode::EXCESSIVE_LOAD);
    assert!(Violation::SettingsTooLong.ends_connection());
}

#[test]
fn a_control_stream_keeps_nothing_of_what_it_skips() {
    let mut connection = control(&frame(SETTINGS, b"")).unwrap();
    let mut handle = |bytes: &[u8]| connection.handle_uni(FIRST, bytes, false, |_| {});
    // All state has a fixed size, so there is no place for any of it.
    (0..1000).for_each(|_| handle(&grease(&[7; 100])).unwrap());
    (0..1000).for_each(|_| handle(&frame(GOAWAY, &[0])).unwrap());
    handle(&announced(0x21, ENDLESS)).unwrap();
    (0..1000).for_each(|_| handle(&[7; 1000]).unwrap());
    assert!(
        control(
            &[
                &frame(SETTINGS, b"")[..],
                &announced(GOAWAY.into(), ENDLESS)
            ]
            .concat()
        )
        .is_ok()
    );
}

#[test]
fn a_field_section_is_refused_by_the_length_it_names() {
    let config = Config::default();
    let longest = u64::from(config.max_field_section_size);
    let check = |length, expected| {
        let (mut memo, mut response) = (Memo::new(&config), Response::new(false));
        let bytes = announced(HEADERS.into(), length);
        assert_eq!(response.handle(&bytes, &mut memo, |_| {}), expected);
        assert_eq!(response.kept_bytes(), 0);
    };
    check(longest, Ok(()));
    let too_long = Err(Violation::Section(SectionError::ListTooLong));
    check(longest + 1, too_long);
    check(ENDLESS, too_long);
}

#[test]
fn a_stream_that_ends_within_a_section_leaves_little_memory() {
    let (mut memo, mut response) = (Memo::new(&Config::default()), Response::new(false));
    let begun = [announced(HEADERS.into(), 60_000), vec![0; 59_000]].concat();
    response.handle(&begun, &mut memo, |_| {}).unwrap();
    assert!(response.kept_bytes() >= 59_000);
    response.begin(false);
    assert!(response.kept_bytes() <= 1024, "{}", response.kept_bytes());
}

#[test]
fn interim_responses_and_unknown_frames_leave_nothing_behind() {
    let (mut memo, mut response) = (Memo::new(&Config::default()), Response::new(false));
    let early = headers(&[(":status", "103")]);
    let mut interim = 0;
    let many = [early, grease(&[7; 100])].concat();
    for _ in 0..10_000 {
        let count = |event: Event<'_>| {
            assert_eq!(event, Event::Informational { status: 103 });
            interim += 1;
        };
        response.handle(&many, &mut memo, count).unwrap();
    }
    assert_eq!((interim, response.kept_bytes()), (10_000, 0));
    response
        .handle(&headers(&[(":status", "200")]), &mut memo, |_| {})
        .unwrap();
    // DATA of no bytes is no event.
    let nothing = data(b"").repeat(10_000);
    response.handle(&nothing, &mut memo, |_| panic!()).unwrap();
    assert_eq!((response.body_bytes(), response.kept_bytes()), (0, 0));
}
