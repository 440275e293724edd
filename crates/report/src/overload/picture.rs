//! One picture for each contender: what was offered and answered, what failed and how, how long
//! answers took, and the server's memory, all over the same time.

use std::fmt::Write as _;

use bakeoff_audit::overload::{Kind, OverloadRamp, Part, Recovery, Series};

use super::sentence;
use super::view::OverloadRow;
use crate::html::escaped;
use crate::number::{bytes, percent, plain, share, whole};

/// Width of a picture, and the edges of its plots, in units of its own.
const WIDTH: f64 = 480.0;
const LEFT: f64 = 12.0;
const RIGHT: f64 = 468.0;
/// Heights of the plots, from top to bottom: requests, latency, memory.
const HEIGHTS: [f64; 3] = [130.0, 80.0, 44.0];
/// Height of a power of ten of the latency from which the floor's label has room.
const FLOOR_LABEL: f64 = 20.0;
/// Room above the first plot, and above each for its title.
const TOP: f64 = 36.0;
const TITLE: f64 = 22.0;
/// Colours that most people can distinguish, with a colour deficiency or without (Okabe and Ito).
const GOOD: &str = "#0072b2";
const LATENCY: &str = "#cc79a7";
const MEMORY: &str = "#7f7f7f";

fn colour(kind: Kind) -> &'static str {
    match kind {
        Kind::Refused => "#d55e00",
        Kind::Dropped => "#8c3b00",
        Kind::Reset => "#e69f00",
        Kind::Busy => "#f0e442",
        Kind::Timeout => "#7b3294",
        Kind::Unsent => "#999999",
        Kind::Wrong => "#009e73",
        Kind::Local => "#56b4e9",
    }
}

/// Where the time and the plots are.
struct Frame<'s> {
    series: &'s Series,
    end_s: f64,
}

impl Frame<'_> {
    fn x(&self, at_s: f64) -> f64 {
        LEFT + (at_s / self.end_s).clamp(0.0, 1.0) * (RIGHT - LEFT)
    }

    /// Top and floor of a plot.
    fn plot(index: usize) -> (f64, f64) {
        let before: f64 = HEIGHTS[..index].iter().map(|height| height + TITLE).sum();
        let top = TOP + TITLE + before;
        (top, top + HEIGHTS[index])
    }
}

/// The picture of a contender, with what it shows in a line above; nothing where no round was
/// measured.
pub(super) fn draw(row: &OverloadRow) -> String {
    let shown = row
        .shown()
        .and_then(|ramp| Some((ramp, ramp.series.as_ref()?)));
    let Some((ramp, series)) = shown else {
        return String::new();
    };
    let end_s = series.steps.last().map_or(1.0, |step| step.end_s).max(1e-9);
    let frame = Frame { series, end_s };
    let name = escaped(&plain(&format!("{} ({})", row.contender, row.workload)));
    let height = Frame::plot(2).1 + 22.0;
    let mut out = format!(
        "<figure style=\"margin:1.5rem 0\"><figcaption><b>{name}</b>: {}</figcaption>\n{}\
         <svg viewBox=\"0 0 {WIDTH} {height}\" style=\"width:100%;font-size:11px\" role=\"img\" \
         aria-label=\"{name} beyond its capacity and back, over time\">\n",
        escaped(&caption(row, ramp)),
        legend(series)
    );
    steps(&mut out, &frame);
    requests(&mut out, &frame);
    latency(&mut out, &frame);
    memory(&mut out, &frame);
    events(&mut out, &frame, ramp);
    time(&mut out, &frame, height);
    out.push_str("</svg></figure>\n");
    out
}

/// `queue, refuse; recovers in 3.0 s`.
fn caption(row: &OverloadRow, ramp: &OverloadRamp) -> String {
    let does: Vec<&str> = row
        .beyond
        .classes
        .iter()
        .map(|one| one.class.verb())
        .collect();
    let does = match (does.is_empty(), sentence::undecided(row)) {
        (true, Some(_)) => "what it does cannot be said".to_owned(),
        (true, None) => "no sign of overload".to_owned(),
        (false, _) => does.join(", "),
    };
    let goodput = ramp.goodput_at_twice;
    let goodput = goodput.map_or(String::new(), |share| {
        format!("; {} % of its peak at twice the capacity", percent(share))
    });
    let recovery = match ramp.recovery {
        None | Some(Recovery::Never) => String::new(),
        Some(Recovery::After { seconds }) if seconds < 0.05 => {
            "; back to normal at once".to_owned()
        }
        Some(Recovery::After { seconds }) => format!("; back to normal after {seconds:.1} s"),
        Some(Recovery::NotWithin { seconds }) => {
            format!("; not back to normal within {seconds:.0} s")
        }
    };
    format!(
        "{does}{goodput}{recovery} (round {} of {})",
        ramp.round, row.rounds_planned
    )
}

/// The steps as bands, darker the more is offered, with their shares on top.
fn steps(out: &mut String, frame: &Frame<'_>) {
    let floor = Frame::plot(2).1;
    let most = frame
        .series
        .steps
        .iter()
        .map(|step| step.share)
        .fold(0.0, f64::max);
    for step in &frame.series.steps {
        let (x, end) = (frame.x(step.start_s), frame.x(step.end_s));
        let shade = 0.03 + 0.12 * step.share / most.max(1e-9);
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\" \
             opacity=\"{shade:.2}\"/>\
             <text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{} %</text>",
            end - x,
            floor - TOP,
            (x + end) / 2.0,
            TOP - 6.0,
            share(step.share)
        );
    }
}

fn rate(part: &Part, count: u64) -> f64 {
    count as f64 / part.length_s.max(1e-9)
}

/// Right answers as an area, what failed stacked above it by kind, and what was offered as a line.
fn requests(out: &mut String, frame: &Frame<'_>) {
    let (top, floor) = Frame::plot(0);
    let parts = &frame.series.parts;
    let height = |part: &Part| rate(part, part.due.max(part.ok + part.failed.sum()));
    let most = parts.iter().map(height).fold(1e-9, f64::max);
    let y = |value: f64| floor - value / most * (floor - top);
    let mut base: Vec<f64> = vec![0.0; parts.len()];
    band(out, frame, (&mut base, &|part| part.ok), (GOOD, &y));
    for kind in Kind::ALL {
        if parts.iter().any(|part| part.failed.of(kind) > 0) {
            let count = move |part: &Part| part.failed.of(kind);
            band(out, frame, (&mut base, &count), (colour(kind), &y));
        }
    }
    let mut line = String::new();
    for part in parts {
        let (from, to) = (frame.x(part.start_s), frame.x(part.start_s + part.length_s));
        let at = y(rate(part, part.due));
        let _ = write!(line, "{from:.1},{at:.1} {to:.1},{at:.1} ");
    }
    let _ = writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.2\"/>",
        line.trim_end()
    );
    title(out, 0, &format!("requests/s, at most {}", whole(most)));
}

/// What the colours of the first plot are, as text that wraps where there is little room.
fn legend(series: &Series) -> String {
    let seen = |kind: &Kind| series.parts.iter().any(|part| part.failed.of(*kind) > 0);
    let kinds = Kind::ALL.into_iter().filter(seen);
    let kinds = kinds.map(|kind| (kind.name(), colour(kind)));
    let mut legend = "<div style=\"font-size:.85em\">".to_owned();
    for (name, colour) in std::iter::once(("right answers", GOOD)).chain(kinds) {
        let _ = write!(
            legend,
            "<span style=\"white-space:nowrap\"><span style=\"display:inline-block;width:.8em;\
             height:.8em;background:{colour}\"></span> {name} &nbsp;</span> "
        );
    }
    legend + "&mdash; offered, its share of the capacity above</div>\n"
}

/// What is counted of a part of a window.
type Count<'c> = &'c dyn Fn(&Part) -> u64;

/// A band of a count above what lies below, which it is added to.
fn band(
    out: &mut String,
    frame: &Frame<'_>,
    (base, count): (&mut [f64], Count<'_>),
    (colour, y): (&str, &dyn Fn(f64) -> f64),
) {
    let mut above = String::new();
    let mut below = Vec::new();
    for (part, base) in frame.series.parts.iter().zip(base) {
        let (from, to) = (frame.x(part.start_s), frame.x(part.start_s + part.length_s));
        let low = y(*base);
        *base += rate(part, count(part));
        let high = y(*base);
        let _ = write!(above, "{from:.1},{high:.1} {to:.1},{high:.1} ");
        below.push(format!("{to:.1},{low:.1} {from:.1},{low:.1}"));
    }
    below.reverse();
    let _ = writeln!(
        out,
        "<polygon points=\"{above}{}\" fill=\"{colour}\"/>",
        below.join(" ")
    );
}

/// p99 and p50 on a logarithmic scale.
fn latency(out: &mut String, frame: &Frame<'_>) {
    let (top, floor) = Frame::plot(1);
    let parts = &frame.series.parts;
    let known = parts
        .iter()
        .flat_map(|part| [part.p50_ns, part.p99_ns])
        .flatten();
    let Some(least) = known.clone().min() else {
        return title(out, 1, "latency: no right answer");
    };
    let most = known.max().unwrap_or(least);
    let low = (least.max(1) as f64).log10().floor();
    let high = (most.max(1) as f64).log10().ceil().max(low + 1.0);
    let y = |ns: u64| floor - ((ns.max(1) as f64).log10() - low) / (high - low) * (floor - top);
    let has_room = (floor - top) / (high - low) >= FLOOR_LABEL;
    for power in low as i32..=high as i32 {
        let at = y(10_f64.powi(power) as u64);
        let _ = writeln!(
            out,
            "<path d=\"M{LEFT} {at:.1} H{RIGHT}\" stroke=\"currentColor\" opacity=\"0.2\"/>"
        );
        // Below its line, where the title is not; that of the floor has room only above it.
        let label_at = if power != low as i32 {
            at + 9.0
        } else if has_room {
            at - 2.0
        } else {
            continue;
        };
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{label_at:.1}\" opacity=\"0.7\" font-size=\"9\">{}</text>",
            LEFT + 2.0,
            duration(10_f64.powi(power))
        );
    }
    for (quantile, width, opacity) in [(false, 1.0, 0.6), (true, 1.8, 1.0)] {
        let of = |part: &Part| if quantile { part.p99_ns } else { part.p50_ns };
        for run in parts
            .split(|part| of(part).is_none())
            .filter(|run| !run.is_empty())
        {
            let mut line = String::new();
            for part in run {
                let (from, to) = (frame.x(part.start_s), frame.x(part.start_s + part.length_s));
                let at = y(of(part).unwrap_or(1));
                let _ = write!(line, "{from:.1},{at:.1} {to:.1},{at:.1} ");
            }
            let _ = writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{LATENCY}\" \
                 stroke-width=\"{width}\" opacity=\"{opacity}\"/>",
                line.trim_end()
            );
        }
    }
    title(
        out,
        1,
        "latency of right answers: p99 (thick) and p50, logarithmic",
    );
}

/// `1 ms`, `10 s`.
fn duration(ns: f64) -> String {
    match ns {
        ns if ns >= 1e9 => format!("{:.0} s", ns / 1e9),
        ns if ns >= 1e6 => format!("{:.0} ms", ns / 1e6),
        ns => format!("{:.0} µs", ns / 1e3),
    }
}

fn memory(out: &mut String, frame: &Frame<'_>) {
    let (top, floor) = Frame::plot(2);
    let known = frame.series.parts.iter();
    let known: Vec<(f64, u64)> = known
        .filter_map(|part| Some((part.start_s + part.length_s / 2.0, part.memory_bytes?)))
        .collect();
    let Some(most) = known
        .iter()
        .map(|(_, bytes)| *bytes)
        .max()
        .filter(|most| *most > 0)
    else {
        return title(out, 2, "memory: not known");
    };
    let points: Vec<String> = known
        .iter()
        .map(|(at, bytes)| {
            let share = *bytes as f64 / most as f64;
            format!("{:.1},{:.1}", frame.x(*at), floor - share * (floor - top))
        })
        .collect();
    let _ = writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{MEMORY}\" stroke-width=\"1.8\"/>",
        points.join(" ")
    );
    title(
        out,
        2,
        &format!("memory of the server, at most {}", bytes(most as f64)),
    );
}

/// When the load went back, when the server was well again, and when it ended.
fn events(out: &mut String, frame: &Frame<'_>, ramp: &OverloadRamp) {
    let bottom = Frame::plot(2).1;
    let mut mark = |at_s: f64, text: &str, anchor: &str| {
        let x = frame.x(at_s);
        let _ = writeln!(
            out,
            "<path d=\"M{x:.1} {TOP} V{bottom:.1}\" stroke=\"currentColor\" \
             stroke-dasharray=\"4 3\"/><text x=\"{x:.1}\" y=\"12\" text-anchor=\"{anchor}\" \
             dx=\"{}\">{text}</text>",
            if anchor == "end" { 0 } else { 2 }
        );
    };
    let back = frame.series.steps.last().map_or(0.0, |step| step.start_s);
    match ramp.recovery {
        Some(Recovery::After { seconds }) if seconds > 0.0 => {
            mark(
                back + seconds,
                &format!("well again after {seconds:.1} s"),
                "end",
            );
        }
        Some(Recovery::NotWithin { .. }) => mark(frame.end_s, "not well again", "end"),
        _ => {}
    }
    if frame.series.died.is_some() {
        let last = frame.series.parts.last();
        let at = last.map_or(0.0, |part| part.start_s + part.length_s);
        let anchor = if at > frame.end_s / 2.0 {
            "end"
        } else {
            "start"
        };
        mark(at, "the server ended", anchor);
    }
}

fn time(out: &mut String, frame: &Frame<'_>, height: f64) {
    let ends = frame.series.steps.iter().map(|step| step.end_s);
    for at in std::iter::once(0.0).chain(ends) {
        let anchor = match at {
            0.0 => "start",
            at if at >= frame.end_s => "end",
            _ => "middle",
        };
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{} s</text>",
            frame.x(at),
            height - 8.0,
            (at * 10.0).round() / 10.0
        );
    }
}

fn title(out: &mut String, index: usize, text: &str) {
    let (top, _) = Frame::plot(index);
    let _ = writeln!(
        out,
        "<text x=\"{LEFT}\" y=\"{:.1}\">{text}</text>",
        top - 6.0
    );
}
