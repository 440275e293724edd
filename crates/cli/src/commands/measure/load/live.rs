//! Draws the live view while a load runs, on a thread of its own that only reads.
//!
//! It draws over its own lines and leaves all else of the terminal as it is: no other screen, no
//! hidden cursor, no mode is switched. So there is nothing to restore, however bakeoff ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bakeoff_load::{Control, LoadSpec};
use bakeoff_plan::{LoadModel, RateShape};
use bakeoff_record::LoadResult;
use bakeoff_report::{Redaction, count};

use super::view::{About, Phase, Size, View};
use crate::flags::LoadFlags;
use crate::output;

/// From one reading to the next; every other one is drawn.
const PERIOD: Duration = Duration::from_millis(100);

/// The view of a running load; none where nobody would see it.
pub(super) struct Live(Option<(Arc<AtomicBool>, JoinHandle<()>)>);

impl Live {
    /// Draws from now on, if standard error is a terminal that can.
    pub(super) fn start(flags: &LoadFlags, spec: &LoadSpec, control: &Arc<Control>) -> Self {
        let print = &flags.print;
        if print.json || print.quiet || !output::is_drawable() {
            return Self(None);
        }
        control.live().want_latencies();
        let view = View::new(about(spec, print.show_secrets));
        let (control, is_over) = (control.clone(), Arc::new(AtomicBool::new(false)));
        let over = is_over.clone();
        let thread = std::thread::Builder::new().name("view".to_owned());
        let thread = thread.spawn(move || draw_until(&over, &control, view));
        // Without the thread nothing is drawn, and the load is the same.
        Self(thread.ok().map(|thread| (is_over, thread)))
    }

    /// Takes the view away.
    pub(super) fn finish(self) {
        if let Some((is_over, thread)) = self.0 {
            is_over.store(true, Ordering::Relaxed);
            thread.thread().unpark();
            // The thread only draws; that it failed would change no number.
            let _ = thread.join();
        }
    }
}

fn draw_until(is_over: &AtomicBool, control: &Control, mut view: View) {
    let (began, colour) = (Instant::now(), output::has_colour());
    let mut drawing = Drawing::default();
    let (mut next, mut is_drawn) = (began + PERIOD, true);
    while !is_over.load(Ordering::Relaxed) {
        let now = Instant::now();
        if now < next {
            std::thread::park_timeout(next - now);
            continue;
        }
        next = now + PERIOD;
        view.take(now - began, control.live().reading());
        is_drawn = !is_drawn;
        if !is_drawn {
            continue;
        }
        match output::drawing_size() {
            Some((columns, rows)) => {
                let size = Size { columns, rows };
                let lines = view.frame(phase(control, began, now), size, colour);
                output::draw(&drawing.over(&lines, size));
            }
            // Somebody else has the terminal: what is there by now is not ours.
            None => drawing = Drawing::default(),
        }
    }
    if let Some((columns, rows)) = output::drawing_size() {
        output::draw(&drawing.away(Size { columns, rows }));
    }
}

fn phase(control: &Control, began: Instant, now: Instant) -> Phase {
    match control.window() {
        None => Phase::Connecting(now - began),
        Some((start, _)) if now < start => {
            let left = start - now;
            // When the load began is not known here; it cannot be before this did.
            let passed = now - began;
            Phase::WarmUp(passed, passed + left)
        }
        Some((start, end)) if now < end => Phase::Measuring(now - start, end - start),
        Some(_) => Phase::Ending,
    }
}

/// The load for a title, without secrets unless they are to be shown.
fn about(spec: &LoadSpec, show_secrets: bool) -> About {
    let mut shown = LoadResult::empty(spec.load.clone(), 0.0);
    shown.url.clone_from(&spec.target.url);
    if !show_secrets {
        Redaction::default().hide_in_load(&mut shown);
    }
    let others = spec.exchanges.len() - 1;
    if others > 0 {
        shown
            .url
            .push_str(&format!(" and {} more", count(others as u64)));
    }
    let clients = spec.load.clients();
    let noun = if clients == 1 { "client" } else { "clients" };
    let clients = format!("{} {noun}", count(u64::from(clients)));
    About {
        url: shown.url,
        how: match spec.load.model {
            LoadModel::Open { rate_per_s, .. } => {
                let rate = count(rate_per_s.round() as u64);
                let to = last_rate(&spec.shape).map(|last| format!(" to {last}"));
                let to = to.unwrap_or_default();
                format!("open loop, {rate}{to} requests/s, {clients}")
            }
            _ => format!("closed loop, {clients}"),
        },
        requests: spec.count,
    }
}

/// The rate at the end, where it is another than at the start.
fn last_rate(shape: &RateShape) -> Option<String> {
    let last = match shape {
        RateShape::Level => None,
        RateShape::Ramp { to_per_s } => Some(*to_per_s),
        RateShape::Steps { then_per_s } => then_per_s.last().copied(),
    };
    last.map(|last| count(last.round() as u64))
}

/// What has been drawn: the columns of each line, on a terminal of a size.
#[derive(Debug, Default)]
struct Drawing {
    columns: Vec<usize>,
    size: Option<Size>,
}

impl Drawing {
    /// What to write to have these lines in place of the last ones.
    fn over(&mut self, lines: &[String], size: Size) -> String {
        let is_same = self.size == Some(size);
        let mut text = self.back_up(size);
        if !is_same {
            text.push_str("\x1b[J");
        }
        for line in lines {
            text.push_str(line);
            text.push_str("\x1b[K\r\n");
        }
        text.push_str("\x1b[J");
        let columns = |line: &String| anstream::adapter::strip_str(line).to_string();
        let columns = lines.iter().map(|line| columns(line).chars().count());
        (self.columns, self.size) = (columns.collect(), Some(size));
        text
    }

    /// What to write to have none of it.
    fn away(&self, size: Size) -> String {
        match self.size {
            Some(_) => self.back_up(size) + "\x1b[J",
            None => String::new(),
        }
    }

    /// Leads to the first line. One that is longer than the terminal is wide by now has been
    /// folded by it.
    fn back_up(&self, size: Size) -> String {
        let width = size.columns.max(1);
        let rows = self
            .columns
            .iter()
            .map(|columns| columns.div_ceil(width).max(1));
        match rows.sum::<usize>() {
            0 => "\r".to_owned(),
            rows => format!("\r\x1b[{rows}A"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size {
        columns: 80,
        rows: 24,
    };

    #[test]
    fn a_rate_that_changes_has_an_end() {
        let ramp = RateShape::Ramp { to_per_s: 2e4 };
        let then_per_s = vec![200.0, 400.0];
        let steps = RateShape::Steps { then_per_s };
        assert_eq!(last_rate(&ramp).as_deref(), Some("20,000"));
        assert_eq!(last_rate(&steps).as_deref(), Some("400"));
        assert_eq!(last_rate(&RateShape::Level), None);
    }

    #[test]
    fn lines_are_drawn_over_the_last_ones_and_taken_away() {
        let mut drawing = Drawing::default();
        assert_eq!(drawing.away(SIZE), "");
        let lines = ["one".to_owned(), "\x1b[1mtwo\x1b[0m".to_owned()];
        let first = drawing.over(&lines, SIZE);
        assert_eq!(
            first,
            "\r\x1b[Jone\x1b[K\r\n\x1b[1mtwo\x1b[0m\x1b[K\r\n\x1b[J"
        );
        let second = drawing.over(&lines[..1], SIZE);
        assert_eq!(second, "\r\x1b[2Aone\x1b[K\r\n\x1b[J");
        assert_eq!(drawing.away(SIZE), "\r\x1b[1A\x1b[J");
    }

    #[test]
    fn lines_that_a_narrower_terminal_has_folded_are_all_replaced() {
        let mut drawing = Drawing::default();
        drawing.over(&["x".repeat(79), String::new(), "y".repeat(40)], SIZE);
        let narrow = Size {
            columns: 40,
            ..SIZE
        };
        let text = drawing.over(&["z".to_owned()], narrow);
        assert_eq!(text, "\r\x1b[4A\x1b[Jz\x1b[K\r\n\x1b[J");
    }
}
