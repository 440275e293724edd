//! What tests reach in place of hosts: agents that are scripts.

use std::fs;
use std::path::Path;

use bakeoff_hosts::{Frame, Greeting, Hello, Own, Place, Report, Way, write_frame};

use crate::commands::measure::agent::Answer;

/// A host whose first agent ends when it has been asked for something; every later one says `more`
/// behind its `hello` and lives on. Both greet as this program. Each start leaves a line in
/// `starts`.
pub(super) fn host_that_ends(folder: &Path, own: &Own, more: Option<&Answer>) -> Place {
    let hello = framed(&Report::Hello(Hello::default()));
    let first = [greeted(own), hello].concat();
    fs::write(folder.join("first"), &first).expect("a file");
    let more = more.map(|it| written(&Frame::Raw(serde_json::to_vec(it).expect("JSON"))));
    let later = [first, more.unwrap_or_default()].concat();
    fs::write(folder.join("later"), later).expect("a file");
    fs::write(folder.join("alive"), framed(&Report::Taking)).expect("a file");
    // The shell keeps its output open, whose end is that of the session. It answers no pings, and
    // says otherwise that it lives. The last word is the program, which is left out.
    let script = format!(
        "cd '{}' && echo >> starts && if test -e again; then cat later; \
         while cat alive && sleep 1; do :; done & cat > /dev/null; kill $!; \
         else touch again && cat first && dd bs=1 count=1 > /dev/null 2>&1; fi",
        folder.display()
    );
    Place {
        name: "g1".to_owned(),
        way: Way::Command(["sh", "-c", &script, "-"].map(str::to_owned).to_vec()),
        program: Some("/bakeoff".to_owned()),
    }
}

/// How many agents were started there.
pub(super) fn starts(folder: &Path) -> usize {
    let starts = fs::read_to_string(folder.join("starts")).expect("a file");
    starts.lines().count()
}

fn greeted(own: &Own) -> Vec<u8> {
    let greeting = Greeting {
        version: "0.1.0".to_owned(),
        digest: own.digest,
        arch: std::env::consts::ARCH.to_owned(),
    };
    format!("{greeting}\n").into_bytes()
}

fn framed(report: &Report) -> Vec<u8> {
    written(&Frame::Json(serde_json::to_vec(report).expect("JSON")))
}

fn written(frame: &Frame) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_frame(&mut bytes, frame, || {}).expect("room");
    bytes
}
