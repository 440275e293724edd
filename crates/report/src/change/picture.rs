//! A picture for each contender: answers in every 10 ms around each action. Actions are in panels
//! below each other, so that they share the time with the one in which nothing was done.

use bakeoff_audit::change::{Cost, Repetition};
use bakeoff_record::{ActionDone, ActionPart, Outcome};

use crate::number::{count, plain};
use crate::svg::{At, DASHED, FAINT, Plot, Svg, escaped};

/// Width of a picture, and the edges of its panels, in units of its own.
const WIDTH: f64 = 400.0;
const LEFT: f64 = 6.0;
const RIGHT: f64 = 394.0;
/// Height of answers, of what got lost below them, and of a panel with its title.
const ANSWERS: f64 = 70.0;
const LOST: f64 = 22.0;
const TITLE: f64 = 18.0;
const PANEL: f64 = TITLE + ANSWERS + LOST + 6.0;
/// Room for the time below.
const TIME: f64 = 16.0;
/// Answers that fill a panel, as a multiple of what is due: those that waited come at once.
const FULL: f64 = 3.0;
/// Most repetitions of a panel: of more, those that lost or waited most.
const SHOWN: usize = 10;
/// Colours that most people can distinguish (Okabe and Ito), lighter for one of many.
const USUAL: &str = "stroke=\"#0072b2\" stroke-width=\"1.6\"";
const OTHER: &str = "stroke=\"#0072b2\" stroke-width=\"0.8\" opacity=\"0.25\"";
const MARK: &str = "fill=\"#d00000\" opacity=\"0.6\"";

/// One for each contender at each workload; nothing where no action was carried out.
pub(super) fn pictures(costs: &[Cost]) -> String {
    let key = |cost: &Cost| [&cost.contender, &cost.workload].map(String::clone);
    let groups = costs.chunk_by(|one, other| key(one) == key(other));
    groups.map(picture).collect()
}

fn picture(group: &[Cost]) -> String {
    let shown = group.iter().filter(|cost| !cost.repetitions.is_empty());
    let shown: Vec<&Cost> = shown.collect();
    let Some(first) = shown.first() else {
        return String::new();
    };
    let name = format!("{} ({})", first.contender, first.workload);
    let edge_ms = shown
        .iter()
        .map(|cost| cost.every_s * 500.0)
        .fold(1.0, f64::max);
    let label = format!("{name}: answers in every 10 ms around each action");
    let height = shown.len() as f64 * PANEL + TIME;
    let style = "style=\"width:100%;max-width:40rem;font-size:11px\" ";
    let mut svg = Svg::new((WIDTH, height), style, &label);
    for (index, cost) in shown.iter().enumerate() {
        let top = index as f64 * PANEL + TITLE;
        let plot = Plot {
            left: LEFT,
            right: RIGHT,
            top,
            floor: top + ANSWERS,
        };
        panel(&mut svg, &Frame { plot, edge_ms }, cost);
    }
    time(&mut svg, edge_ms, height);
    format!(
        "<figure style=\"margin:1.5rem 0\"><figcaption><b>{}</b>: answers in every 10 ms around \
         each action, the usual course thick; red below: requests that got lost</figcaption>\n\
         {}</figure>\n",
        escaped(&plain(&name)),
        svg.finish().trim_end()
    )
}

struct Frame {
    plot: Plot,
    edge_ms: f64,
}

impl Frame {
    fn x(&self, at_ms: f64) -> f64 {
        self.plot.x(0.5 + at_ms / self.edge_ms / 2.0)
    }
}

fn panel(svg: &mut Svg, frame: &Frame, cost: &Cost) {
    let plot = &frame.plot;
    let text = match cost.lost {
        0 => cost.action.name().to_owned(),
        lost => format!("{}: {} lost", cost.action.name(), count(lost)),
    };
    svg.text((plot.left, plot.top - 5.0), "", &text);
    svg.line((plot.left, plot.floor), (plot.right, plot.floor), FAINT, "");
    let x = frame.x(0.0);
    svg.line((x, plot.top), (x, plot.floor + LOST), DASHED, "");
    let each_due = cost.due as f64 / cost.actions.max(1) as f64;
    let usual = each_due * f64::from(ActionDone::PART_MS) / (cost.every_s * 1e3);
    let full = (usual * FULL).max(1.0);
    let edge = (cost.every_s * 500.0) as i32;
    let mut ordered: Vec<&Repetition> = cost.repetitions.iter().collect();
    let gap = |one: &Repetition| one.gap_s.unwrap_or(f64::INFINITY);
    ordered.sort_by(|one, other| {
        let by_loss = one.lost.cmp(&other.lost);
        by_loss.then(gap(one).total_cmp(&gap(other)))
    });
    let median = ordered[ordered.len() / 2];
    let worst = ordered.iter().rev().take(SHOWN);
    for one in worst.filter(|one| !std::ptr::eq(**one, median)) {
        svg.polyline(&course(frame, (&one.parts, edge), full), OTHER, "");
    }
    svg.polyline(&course(frame, (&median.parts, edge), full), USUAL, "");
    marks(svg, frame, cost);
}

/// Answers over time; what the record has no part for is none. What was due in the stretch and came
/// later is beyond the edge.
fn course(frame: &Frame, (parts, edge): (&[ActionPart], i32), full: f64) -> Vec<At> {
    let step = ActionDone::PART_MS;
    let mut points: Vec<At> = Vec::new();
    let mut parts = parts.iter().peekable();
    for at_ms in (-edge..edge).step_by(step.unsigned_abs() as usize) {
        let is_in = |part: &&ActionPart| part.at_ms < at_ms + step;
        let mut ok = 0;
        while let Some(part) = parts.next_if(is_in) {
            ok += part.ended.of(Outcome::Ok);
        }
        let y = frame.plot.y((ok as f64 / full).min(1.0));
        // The middle of a level line says nothing.
        if let [.., before, last] = &points[..]
            && (before.1, last.1) == (y, y)
        {
            points.pop();
        }
        points.push((frame.x(f64::from(at_ms + step / 2)), y));
    }
    points
}

/// What got lost, in every 10 ms of all repetitions: the deeper the more. What was given up later
/// stands at the edge.
fn marks(svg: &mut Svg, frame: &Frame, cost: &Cost) {
    let mut lost = std::collections::BTreeMap::<i32, u64>::new();
    for part in cost.repetitions.iter().flat_map(|one| &one.parts) {
        let errors = part.ended.errors();
        if errors > 0 {
            let last = frame.edge_ms as i32 - ActionDone::PART_MS;
            *lost.entry(part.at_ms.min(last)).or_default() += errors;
        }
    }
    let most = lost.values().max().copied().unwrap_or(1) as f64;
    for (at_ms, requests) in lost {
        let x = frame.x(f64::from(at_ms));
        let width = (frame.x(f64::from(at_ms + ActionDone::PART_MS)) - x).max(2.0);
        // Few are seen beside many.
        let depth = (LOST * (requests as f64 / most).sqrt()).max(4.0);
        let at = (x, frame.plot.floor + 1.0);
        svg.rect(
            at,
            (width, depth),
            MARK,
            &format!("{} lost", count(requests)),
        );
    }
}

fn time(svg: &mut Svg, edge_ms: f64, height: f64) {
    let edge_s = edge_ms / 1e3;
    let middle = (LEFT + RIGHT) / 2.0;
    let labels = [
        (LEFT, "start", format!("-{edge_s} s")),
        (middle, "middle", "action".to_owned()),
        (RIGHT, "end", format!("+{edge_s} s")),
    ];
    for (x, anchor, text) in labels {
        let style = format!("text-anchor=\"{anchor}\"");
        svg.text((x, height - 4.0), &style, &text);
    }
}
