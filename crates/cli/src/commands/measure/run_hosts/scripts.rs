//! What tests reach in place of hosts: agents that are scripts.

use std::fs;
use std::path::Path;

use bakeoff_hosts::{Frame, Greeting, Own, Place, Report, Way, write_frame};

/// A host whose first agent ends when it has been asked for something; every later one says `more`
/// behind its `hello` and lives on. Both greet as this program. Each start leaves a line in
/// `starts`.
pub(super) fn host_that_ends(folder: &Path, own: &Own, more: &[Report]) -> Place {
    let hello = Report::Hello {
        cpus: 2,
        address: None,
        addresses: Vec::new(),
        kernel: None,
        unlocked: None,
    };
    fs::write(folder.join("first"), said(own, &[&hello])).expect("a file");
    let all: Vec<&Report> = std::iter::once(&hello).chain(more).collect();
    fs::write(folder.join("later"), said(own, &all)).expect("a file");
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

fn said(own: &Own, reports: &[&Report]) -> Vec<u8> {
    let greeting = Greeting {
        version: "0.1.0".to_owned(),
        digest: own.digest,
        arch: std::env::consts::ARCH.to_owned(),
    };
    let mut bytes = format!("{greeting}\n").into_bytes();
    for report in reports {
        bytes.extend(framed(report));
    }
    bytes
}

fn framed(report: &Report) -> Vec<u8> {
    let frame = Frame::Json(serde_json::to_vec(report).expect("JSON"));
    let mut bytes = Vec::new();
    write_frame(&mut bytes, &frame, || {}).expect("room");
    bytes
}
