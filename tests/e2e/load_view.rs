//! The live view of `bakeoff load`: drawn on a terminal, gone at the end, and nowhere else.

use crate::support::scene::Scene;
use crate::support::scripted::always;
use crate::support::terminal::{OnTerminal, screen};

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const CTRL_C: &[u8] = b"\x03";

fn url() -> String {
    format!("http://{}/", always(HELLO))
}

/// Whether the view was drawn with figures at least so many times.
fn is_drawn(written: &str, times: usize) -> bool {
    written.matches("p50").count() >= times && written.contains(" ms")
}

/// What follows the last time that the view was drawn over.
fn last_frame(written: &str) -> &str {
    written.rsplit("\r\x1b[").next().unwrap_or_default()
}

#[test]
fn the_view_follows_the_terminal_and_ctrl_c_prints_the_result_in_its_place() {
    let no_color = [("NO_COLOR", "1")];
    for ((columns, rows), environment) in [((80, 24), &[][..]), ((60, 20), &no_color)] {
        let (scene, url) = (Scene::new(), url());
        let load = ["load", &url, "-c", "2", "-d", "60s"];
        let mut running = OnTerminal::start(&scene, (columns, rows), &load, environment);
        running.wait_until("it is drawn", |written| is_drawn(written, 2));
        let size = (usize::from(columns), usize::from(rows));
        let view = screen(&running.written(), size);
        let has = |text: &str| view.iter().any(|line| line.contains(text));
        for text in [
            url.as_str(),
            "closed loop, 2 clients",
            "measuring",
            "of 1:00 min",
            "ok/s",
        ] {
            assert!(has(text), "no {text} on {view:#?}");
        }
        let is_full = |line: &&String| line.chars().count() >= size.0;
        assert_eq!(view.iter().find(is_full), None);
        running.resize(40, 10);
        // Two fields in a line leave no room for the percentiles beside them.
        running.wait_until("it is drawn narrow", |written| {
            let frame = last_frame(written);
            let narrow = frame.lines().all(|line| {
                let line = line.split("\x1b[").next().unwrap_or_default();
                line.chars().count() < 40
            });
            narrow && frame.contains("p50") && frame.ends_with("\x1b[J")
        });
        running.type_in(CTRL_C);
        let (status, written) = running.finish();
        assert_eq!(status.code(), Some(130), "{written}");
        let is_coloured = environment.is_empty();
        assert_eq!(written.contains("\x1b[1mhttp"), is_coloured, "{written:?}");
        assert!(
            is_coloured || !written.contains("\x1b[1m"),
            "NO_COLOR was set: {written:?}"
        );
        assert!(written.contains("\x1b[K"), "{written:?}");
        let end = screen(&written, (200, 100));
        let has = |text: &str| end.iter().any(|line| line.contains(text));
        assert!(has("ok/s; latency p50"), "{end:#?}");
        assert!(has("outcomes     ok"), "{end:#?}");
        assert!(!has("last second") && !has("measuring"), "{end:#?}");
        assert!(
            written.ends_with('\n'),
            "the prompt needs a line: {written:?}"
        );
    }
}

#[test]
fn nothing_is_drawn_where_nobody_can_see_it() {
    /// Flags, and variables of the environment.
    type Case = (
        &'static [&'static str],
        &'static [(&'static str, &'static str)],
    );
    let cases: [Case; 4] = [
        (&[], &[("TERM", "dumb")]),
        (&[], &[("TERM", "")]),
        (&["-q"], &[]),
        (&["--json"], &[]),
    ];
    for (flags, environment) in cases {
        let (scene, url) = (Scene::new(), url());
        let load = [&["load", &url, "-c", "1", "-d", "700ms"], flags].concat();
        let running = OnTerminal::start(&scene, (80, 24), &load, environment);
        let (status, written) = running.finish();
        assert_eq!(status.code(), Some(0), "{written}");
        assert!(
            !written.contains('\x1b'),
            "{flags:?} {environment:?}: {written:?}"
        );
        assert!(written.contains("ok"), "{written}");
    }
    let scene = Scene::new();
    let finished = scene.run(&["load", &url(), "-d", "700ms"]).expect(0);
    assert_eq!(finished.stderr, "", "a file is no terminal");
}
