//! One picture for each contender: what was offered and answered, what failed and how, how long
//! answers took, and the server's memory, all over the same time.

use bakeoff_audit::overload::{Kind, OverloadRamp, Part, Recovery, Series};

use super::sentence;
use super::view::OverloadRow;
use crate::number::{bytes, percent, plain, share, whole};
use crate::svg::{DASHED, Plot, Svg, escaped};

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
    /// A line that is level during each part.
    fn level<'p>(&self, heights: impl Iterator<Item = (&'p Part, f64)>) -> Vec<(f64, f64)> {
        let ends = heights.flat_map(|(part, y)| {
            let ends = [part.start_s, part.start_s + part.length_s];
            ends.map(|at| (self.x(at), y))
        });
        ends.collect()
    }

    fn x(&self, at_s: f64) -> f64 {
        LEFT + (at_s / self.end_s).clamp(0.0, 1.0) * (RIGHT - LEFT)
    }

    fn plot(index: usize) -> Plot {
        let before: f64 = HEIGHTS[..index].iter().map(|height| height + TITLE).sum();
        let top = TOP + TITLE + before;
        Plot {
            left: LEFT,
            right: RIGHT,
            top,
            floor: top + HEIGHTS[index],
        }
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
    let name = format!("{} ({})", row.contender, row.workload);
    let height = Frame::plot(2).floor + 22.0;
    let label = format!("{name} beyond its capacity and back, over time");
    let style = "style=\"width:100%;font-size:11px\" ";
    let mut svg = Svg::new((WIDTH, height), style, &label);
    steps(&mut svg, &frame);
    requests(&mut svg, &frame);
    latency(&mut svg, &frame);
    memory(&mut svg, &frame);
    events(&mut svg, &frame, ramp);
    time(&mut svg, &frame, height);
    format!(
        "<figure style=\"margin:1.5rem 0\"><figcaption><b>{}</b>: {}</figcaption>\n{}{}</figure>\n",
        escaped(&plain(&name)),
        escaped(&caption(row, ramp)),
        legend(series),
        svg.finish().trim_end()
    )
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
        Some(_) if row.beyond.was_never_over() => "; it was never over its capacity".to_owned(),
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
fn steps(svg: &mut Svg, frame: &Frame<'_>) {
    let floor = Frame::plot(2).floor;
    let shares = frame.series.steps.iter().map(|step| step.share);
    let most = shares.fold(0.0, f64::max);
    for step in &frame.series.steps {
        let (x, end) = (frame.x(step.start_s), frame.x(step.end_s));
        let shade = 0.03 + 0.12 * step.share / most.max(1e-9);
        let style = format!("opacity=\"{shade:.2}\"");
        svg.rect((x, TOP), (end - x, floor - TOP), &style, "");
        let text = format!("{} %", share(step.share));
        svg.text(
            ((x + end) / 2.0, TOP - 6.0),
            "text-anchor=\"middle\"",
            &text,
        );
    }
}

fn rate(part: &Part, count: u64) -> f64 {
    count as f64 / part.length_s.max(1e-9)
}

/// Right answers as an area, what failed stacked above it by kind, and what was offered as a line.
fn requests(svg: &mut Svg, frame: &Frame<'_>) {
    let parts = &frame.series.parts;
    let height = |part: &Part| rate(part, part.due.max(part.ok + part.failed.sum()));
    let most = parts.iter().map(height).fold(1e-9, f64::max);
    let y = |value: f64| Frame::plot(0).y(value / most);
    let mut base: Vec<f64> = vec![0.0; parts.len()];
    band(svg, frame, (&mut base, &|part| part.ok), (GOOD, &y));
    for kind in Kind::ALL {
        if parts.iter().any(|part| part.failed.of(kind) > 0) {
            let count = move |part: &Part| part.failed.of(kind);
            band(svg, frame, (&mut base, &count), (colour(kind), &y));
        }
    }
    let offered = parts.iter().map(|part| (part, y(rate(part, part.due))));
    let style = "stroke=\"currentColor\" stroke-width=\"1.2\"";
    svg.polyline(&frame.level(offered), style, "");
    title(svg, 0, &format!("requests/s, at most {}", whole(most)));
}

/// What the colours of the first plot are, as text that wraps where there is little room.
fn legend(series: &Series) -> String {
    let seen = |kind: &Kind| series.parts.iter().any(|part| part.failed.of(*kind) > 0);
    let kinds = Kind::ALL.into_iter().filter(seen);
    let kinds = kinds.map(|kind| (kind.name(), colour(kind)));
    let mut legend = "<div style=\"font-size:.85em\">".to_owned();
    for (name, colour) in std::iter::once(("right answers", GOOD)).chain(kinds) {
        legend += &format!(
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
    svg: &mut Svg,
    frame: &Frame<'_>,
    (base, count): (&mut [f64], Count<'_>),
    (colour, y): (&str, &dyn Fn(f64) -> f64),
) {
    let parts = &frame.series.parts;
    let edge = |base: &[f64]| {
        let heights = parts.iter().zip(base).map(|(part, base)| (part, y(*base)));
        frame.level(heights)
    };
    let below = edge(base);
    for (part, base) in parts.iter().zip(&mut *base) {
        *base += rate(part, count(part));
    }
    let mut around = edge(base);
    around.extend(below.into_iter().rev());
    svg.polygon(&around, &format!("fill=\"{colour}\""));
}

/// p99 and p50 on a logarithmic scale.
fn latency(svg: &mut Svg, frame: &Frame<'_>) {
    let plot = Frame::plot(1);
    let parts = &frame.series.parts;
    let known = parts
        .iter()
        .flat_map(|part| [part.p50_ns, part.p99_ns])
        .flatten();
    let Some(least) = known.clone().min() else {
        return title(svg, 1, "latency: no right answer");
    };
    let most = known.max().unwrap_or(least);
    let low = (least.max(1) as f64).log10().floor();
    let high = (most.max(1) as f64).log10().ceil().max(low + 1.0);
    let y = |ns: u64| plot.y(((ns.max(1) as f64).log10() - low) / (high - low));
    let has_room = HEIGHTS[1] / (high - low) >= FLOOR_LABEL;
    for power in low as i32..=high as i32 {
        let ns = 10_f64.powi(power);
        let at = y(ns as u64);
        svg.line(
            (LEFT, at),
            (RIGHT, at),
            "stroke=\"currentColor\" opacity=\"0.2\"",
            "",
        );
        // Below its line, where the title is not; that of the floor has room only above it.
        let label_at = if power != low as i32 {
            at + 9.0
        } else if has_room {
            at - 2.0
        } else {
            continue;
        };
        let style = "opacity=\"0.7\" font-size=\"9\"";
        svg.text((LEFT + 2.0, label_at), style, &duration(ns));
    }
    for (quantile, width, opacity) in [(false, 1.0, 0.6), (true, 1.8, 1.0)] {
        let of = |part: &Part| if quantile { part.p99_ns } else { part.p50_ns };
        let style = format!("stroke=\"{LATENCY}\" stroke-width=\"{width}\" opacity=\"{opacity}\"");
        let runs = parts.split(|part| of(part).is_none());
        for run in runs.filter(|run| !run.is_empty()) {
            let heights = run.iter().map(|part| (part, y(of(part).unwrap_or(1))));
            svg.polyline(&frame.level(heights), &style, "");
        }
    }
    let text = "latency of right answers: p99 (thick) and p50, logarithmic";
    title(svg, 1, text);
}

/// `1 ms`, `10 s`.
fn duration(ns: f64) -> String {
    match ns {
        ns if ns >= 1e9 => format!("{:.0} s", ns / 1e9),
        ns if ns >= 1e6 => format!("{:.0} ms", ns / 1e6),
        ns => format!("{:.0} µs", ns / 1e3),
    }
}

fn memory(svg: &mut Svg, frame: &Frame<'_>) {
    let parts = frame.series.parts.iter();
    let known = parts.clone().filter_map(|part| part.memory_bytes).max();
    let Some(most) = known.filter(|most| *most > 0) else {
        return title(svg, 2, "memory: not known");
    };
    let point = |part: &Part| {
        let share = part.memory_bytes? as f64 / most as f64;
        let middle = part.start_s + part.length_s / 2.0;
        Some((frame.x(middle), Frame::plot(2).y(share)))
    };
    let points: Vec<(f64, f64)> = parts.filter_map(point).collect();
    let style = format!("stroke=\"{MEMORY}\" stroke-width=\"1.8\"");
    svg.polyline(&points, &style, "");
    let text = format!("memory of the server, at most {}", bytes(most as f64));
    title(svg, 2, &text);
}

/// When the load went back, when the server was well again, and when it ended.
fn events(svg: &mut Svg, frame: &Frame<'_>, ramp: &OverloadRamp) {
    let bottom = Frame::plot(2).floor;
    let mut mark = |at_s: f64, text: &str, anchor: &str| {
        let x = frame.x(at_s);
        svg.line((x, TOP), (x, bottom), DASHED, "");
        let shift = if anchor == "end" { 0.0 } else { 2.0 };
        svg.text(
            (x + shift, 12.0),
            &format!("text-anchor=\"{anchor}\""),
            text,
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

fn time(svg: &mut Svg, frame: &Frame<'_>, height: f64) {
    let ends = frame.series.steps.iter().map(|step| step.end_s);
    for at in std::iter::once(0.0).chain(ends) {
        let anchor = match at {
            0.0 => "start",
            at if at >= frame.end_s => "end",
            _ => "middle",
        };
        let text = format!("{} s", (at * 10.0).round() / 10.0);
        let style = format!("text-anchor=\"{anchor}\"");
        svg.text((frame.x(at), height - 8.0), &style, &text);
    }
}

fn title(svg: &mut Svg, index: usize, text: &str) {
    svg.text((LEFT, Frame::plot(index).top - 6.0), "", text);
}
