//! Frames of an invented load: what they show at which size, and that no line is too long.

use super::*;

const fn seconds(tenths: u64) -> Duration {
    Duration::from_millis(tenths * 100)
}

const fn size(columns: usize, rows: usize) -> Size {
    Size { columns, rows }
}

fn about() -> About {
    About {
        url: "http://127.0.0.1:8080/".to_owned(),
        how: "closed loop, 50 clients".to_owned(),
        requests: None,
    }
}

/// A load that `each` says for each tenth of a second: `ok` responses, errors and latency.
fn view(about: About, tenths: u64, each: impl Fn(u64) -> (u64, u64, u64)) -> View {
    let mut view = View::new(about);
    let mut all = Reading::default();
    for tenth in 1..=tenths {
        let (ok, errors, latency_ms) = each(tenth);
        all.add_ok(latency_ms * 1_000_000, ok);
        all.errors += errors;
        all.covered_s += 0.1;
        view.take(seconds(tenth), all.clone());
    }
    view
}

/// Rises for two seconds, and then stays.
fn rising(tenth: u64) -> (u64, u64, u64) {
    (tenth.min(20) * 360, 0, 3)
}

#[track_caller]
fn check(view: &View, phase: Phase, size: Size, expected: &str) {
    let lines = view.frame(phase, size, false);
    let expected: Vec<&str> = expected.trim_matches('\n').lines().collect();
    assert_eq!(lines, expected, "{}", lines.join("\n"));
}

const HALF: Phase = Phase::Measuring(seconds(40), seconds(80));

#[test]
fn a_wide_terminal_has_a_line_for_everything() {
    check(
        &view(about(), 40, rising),
        HALF,
        size(80, 24),
        "
http://127.0.0.1:8080/   closed loop, 50 clients
measuring    4.0 s of 8.0 s  ████████████████████░░░░░░░░░░░░░░░░░░░░  50 %
last second      72,000 ok/s         0 errors  p50     3.00 ms  p99     3.00 ms
so far          219,600 ok           0 errors      54,900 ok/s
rate         ▂▃▄▄▅▅▆▇▇███████████                       at most     72,000 ok/s
",
    );
}

#[test]
fn a_narrower_one_has_fewer_fields_in_a_line() {
    check(
        &view(about(), 40, rising),
        HALF,
        size(60, 20),
        "
http://127.0.0.1:8080/   closed loop, 50 clients
measuring    4.0 s of 8.0 s  ████████████░░░░░░░░░░░░  50 %
last second      72,000 ok/s         0 errors
             p50     3.00 ms  p99     3.00 ms
so far          219,600 ok           0 errors
                 54,900 ok/s
rate         ▂▃▄▄▅▅▆▇▇███████████   at most     72,000 ok/s
",
    );
    check(
        &view(about(), 40, rising),
        HALF,
        size(32, 20),
        "
http://127.0.0.1:8080/
closed loop, 50 clients
measuring    4.0 s of 8.0 s
last second
      72,000 ok/s
         0 errors
  p50     3.00 ms
  p99     3.00 ms
so far
     219,600 ok
         0 errors
      54,900 ok/s
rate         ▂▃▄▄▅▅▆▇██████████
",
    );
}

#[test]
fn the_last_second_is_not_the_average_and_few_latencies_have_no_p99() {
    // Half a minute of quick answers, then slow ones and errors.
    let turned = view(about(), 300, |tenth| {
        if tenth > 280 {
            (5, 3, 400)
        } else {
            (1_000, 0, 2)
        }
    });
    let lines = turned.frame(HALF, size(80, 24), false);
    let last = &lines[2];
    for part in ["50 ok/s", "30 errors", "p50      401 ms", "max      401 ms"] {
        assert!(last.contains(part), "{last}");
    }
    assert!(lines[3].contains("280,100 ok"), "{}", lines[3]);
    assert!(lines[3].contains("60 errors"), "{}", lines[3]);
    assert!(lines[4].contains("▂▂"), "the fall is seen: {}", lines[4]);
}

#[test]
fn a_stop_is_seen_in_the_course_of_the_rate() {
    let stopped = view(about(), 40, |tenth| {
        (if tenth > 20 { 0 } else { 100 }, 0, 1)
    });
    let lines = stopped.frame(HALF, size(80, 24), false);
    assert!(lines[4].contains("██████████▁▁▁▁▁▁▁▁▁▁"), "{}", lines[4]);
    assert!(lines[2].contains("0 ok/s"), "{}", lines[2]);
    assert!(lines[2].contains("p50           -"), "{}", lines[2]);
}

#[test]
fn no_line_wraps_whatever_the_size_and_the_numbers() {
    let long = About {
        url: format!("http://127.0.0.1:8080/{}", "ä😀\u{202e}path/".repeat(40)),
        how: "open loop, 1,000,000 requests/s, 100,000 clients".to_owned(),
        requests: Some(4_000_000_000),
    };
    let huge = |_: u64| (9_876_543_210, 12_345_678_901, 4_000_000);
    for about in [long, about()] {
        let view = view(about, 2_000, huge);
        for columns in 1..120 {
            for rows in [1, 2, 3, 6, 9, 24] {
                for phase in [
                    Phase::Connecting(seconds(3)),
                    Phase::WarmUp(seconds(3), seconds(70_000)),
                    HALF,
                    Phase::Ending,
                ] {
                    let lines = view.frame(phase, size(columns, rows), false);
                    assert!(
                        !lines.is_empty() && lines.len() < rows.max(2),
                        "{columns} x {rows}"
                    );
                    for line in &lines {
                        let width = line.chars().count();
                        assert!(width < columns.max(1) || width == 0, "{columns}: {line:?}");
                        assert!(line.is_ascii() || !line.contains('ä'), "{line:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_figures_of_the_moment_stay_where_there_are_few_rows() {
    let lines = view(about(), 40, rising).frame(HALF, size(80, 3), false);
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with("measuring"), "{lines:?}");
    assert!(lines[1].starts_with("last second"), "{lines:?}");
}

#[test]
fn colours_change_no_character() {
    let view = view(about(), 40, |_| (10, 1, 5));
    let plain = view.frame(HALF, size(80, 24), false);
    let coloured = view.frame(HALF, size(80, 24), true);
    let stripped: Vec<String> = coloured
        .iter()
        .map(|line| anstream::adapter::strip_str(line).to_string())
        .collect();
    assert_eq!(stripped, plain);
    assert!(plain.iter().all(|line| !line.contains('\x1b')));
    assert!(coloured[2].contains("\x1b[1m\x1b[31m"), "{:?}", coloured[2]);
}

#[test]
fn before_during_and_after_the_window_have_names() {
    let view = view(about(), 1, rising);
    let second = |phase: Phase| view.frame(phase, size(80, 24), false)[1].clone();
    assert_eq!(second(Phase::Connecting(seconds(12))), "connecting   1.2 s");
    assert!(
        second(Phase::WarmUp(seconds(5), seconds(20))).starts_with("warm-up      0.5 s of 2.0 s")
    );
    let minutes = Phase::Measuring(seconds(900), seconds(6_000));
    assert!(second(minutes).starts_with("measuring    1:30 min of 10:00 min"));
    let hours = Phase::Measuring(seconds(75_000), seconds(360_000));
    assert!(second(hours).starts_with("measuring    2:05 h of 10:00 h"));
    assert_eq!(
        second(Phase::Ending),
        "ending       waiting for the last answers"
    );
}

#[test]
fn a_load_by_count_is_as_far_as_its_requests() {
    let counted = About {
        requests: Some(100_000),
        ..about()
    };
    let lines = view(counted, 10, |_| (2_490, 10, 1)).frame(HALF, size(80, 24), false);
    assert!(
        lines[1].starts_with("measuring    25,000 of 100,000 requests, 4.0 s  "),
        "{}",
        lines[1]
    );
    assert!(lines[1].ends_with("  25 %"), "{}", lines[1]);
}

#[test]
fn hours_of_a_rate_take_no_more_memory_than_minutes() {
    let mut course = Course::default();
    for tenth in 0..100_000_u64 {
        course.add(if tenth < 50_000 { 10 } else { 20 }, 0.1);
    }
    assert!(course.cells.len() <= CELLS_MAX);
    let (rates, most) = course.rates();
    assert!(rates.len() > CELLS_MAX / 3, "{}", rates.len());
    assert!((most - 200.0).abs() < 1e-6, "{most}");
    assert!((rates[0] - 100.0).abs() < 1e-6, "{}", rates[0]);
    assert!(
        sparkline(&rates, 10).starts_with("▅▅▅▅"),
        "{}",
        sparkline(&rates, 10)
    );
}
