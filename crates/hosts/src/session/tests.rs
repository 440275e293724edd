//! Sessions with agents that are scripts.

use super::*;
use crate::digest::own_program;
use crate::way::Way;

/// A session with an agent that greets and says this over and over.
fn session_with(folder: &std::path::Path, said: &Report) -> Session {
    let (digest, _) = own_program().unwrap();
    let greeting = Greeting {
        version: "0.1.0".to_owned(),
        digest,
        arch: std::env::consts::ARCH.to_owned(),
    };
    std::fs::write(folder.join("greeting"), format!("\n{greeting}\n")).unwrap();
    let frame = Frame::Json(serde_json::to_vec(said).unwrap());
    let mut frames = Vec::new();
    for _ in 0..1000 {
        write_frame(&mut frames, &frame, || {}).unwrap();
    }
    std::fs::write(folder.join("frames"), frames).unwrap();
    // The last word is the program, which is left out.
    let script = format!(
        "cd '{}' && cat greeting && while cat frames; do :; done",
        folder.display()
    );
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

/// As many words as come, none of them is an answer.
#[test]
fn an_agent_that_never_stops_talking_is_late() {
    let folder = tempfile::tempdir().unwrap();
    let live = Report::Live { ok: 1, errors: 0 };
    let mut session = session_with(folder.path(), &live);
    let within = Duration::from_millis(300);
    let late = session.expect("say hello", within, |report| {
        matches!(report, Report::Hello { .. })
    });
    let cause = late.unwrap_err().cause;
    let is_late = matches!(cause, Cause::Late { what, .. } if what == "say hello");
    assert!(is_late, "{cause}");
}
