//! Sessions with agents that are scripts.

use super::*;
use crate::digest::own_program;
use crate::way::Way;

/// A session with an agent that greets and goes on with this, in a folder.
fn session_with(folder: &std::path::Path, then: &str) -> Session {
    let (digest, _) = own_program().unwrap();
    let greeting = Greeting {
        version: "0.1.0".to_owned(),
        digest,
        arch: std::env::consts::ARCH.to_owned(),
    };
    std::fs::write(folder.join("greeting"), format!("\n{greeting}\n")).unwrap();
    // The last word is the program, which is left out.
    let script = format!("cd '{}' && cat greeting && {then}", folder.display());
    let place = Place {
        name: "g1".to_owned(),
        way: Way::Command(["sh", "-c", &script, "-"].map(str::to_owned).to_vec()),
        program: Some("/bakeoff".to_owned()),
    };
    match Session::begin(&place, &Own::find().unwrap()) {
        Ok(Begun::Greeted(session, _)) => *session,
        Ok(Begun::Ended(ended)) => panic!("it ended: {}", ended.message),
        Err(cause) => panic!("it did not begin: {cause}"),
    }
}

fn framed(frame: &Frame) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_frame(&mut bytes, frame, || {}).unwrap();
    bytes
}

/// As many words as come, none of them is an answer.
#[test]
fn an_agent_that_never_stops_talking_is_late() {
    let folder = tempfile::tempdir().unwrap();
    let frames = framed(&Frame::Raw(b"1".to_vec())).repeat(1000);
    std::fs::write(folder.path().join("frames"), frames).unwrap();
    let mut session = session_with(folder.path(), "while cat frames; do :; done");
    let within = Duration::from_millis(300);
    let talks = |_: u64| Fits::<()>::Before;
    let late = session.expect("say hello", within, &|| true, talks);
    let cause = late.unwrap_err().cause;
    let is_late = matches!(cause, Cause::Late { what, .. } if what == "say hello");
    assert!(is_late, "{cause}");
}

/// Nobody reads a session between two loads: what became of its agent shows when it is asked.
#[test]
fn an_agent_that_has_ended_and_one_that_is_silent_are_found_out() {
    for (then, code, is_loss) in [("exit 0", "ended", true), ("sleep 60", "late", false)] {
        let folder = tempfile::tempdir().unwrap();
        let mut session = session_with(folder.path(), then);
        let cause = session.check().unwrap_err().cause;
        assert_eq!((cause.code(), cause.is_loss()), (code, is_loss), "{cause}");
    }
}

/// What comes of an answer of 9 bytes where so many bytes wait already: the bytes that were passed
/// on and then wait, or why the agent is given up.
fn passed_on(before: usize) -> Result<(Option<usize>, usize), String> {
    let (events, taken) = sync_channel(WAITING_MAX);
    let (exchanges, _) = sync_channel(WAITING_MAX);
    let waiting = AtomicUsize::new(before);
    let mut frames = FrameReader::default();
    frames.put(&framed(&Frame::Raw(vec![0; 9])));
    pass_on(&mut frames, 1, (&events, &waiting, &exchanges))?;
    let bytes = taken.try_iter().find_map(|event| match event {
        Event::Said(_, bytes) => Some(bytes),
        _ => None,
    });
    Ok((bytes, waiting.into_inner()))
}

/// Nobody takes what it sends, as between two trials.
#[test]
fn an_agent_that_sends_without_being_asked_does_not_fill_the_memory() {
    assert_eq!(passed_on(0), Ok((Some(9), 9)));
    let most = WAITING_BYTES_MAX - 9;
    assert_eq!(passed_on(most), Ok((Some(9), WAITING_BYTES_MAX)));
    let why = passed_on(most + 1).unwrap_err();
    assert!(why.contains("640 MiB that nobody had asked for"), "{why}");
}
