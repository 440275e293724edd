//! What actions cost, in sentences.

use bakeoff_audit::change::{Cost, Doubt, Each, LeftOut, WhyLeftOut, control};
use bakeoff_audit::list;
use bakeoff_plan::Action;
use bakeoff_record::{LostAt, TrialEnd};

use crate::number::{count, counted, digits, plain};
use crate::view::Tone;
use crate::words::{self, capital};

/// One sentence for each action of each contender.
pub(crate) fn answer(costs: &[Cost]) -> Vec<(Tone, String)> {
    let is_asked = |cost: &&Cost| cost.action != Action::None;
    let any_action = costs.iter().any(|cost| is_asked(&cost));
    let shown = costs.iter().filter(|cost| !any_action || is_asked(cost));
    shown.map(|cost| one(cost, costs)).collect()
}

fn one(cost: &Cost, costs: &[Cost]) -> (Tone, String) {
    let name = contender(cost, costs);
    if cost.actions == 0 {
        return (Tone::Note, format!("{name}: {}.", untold(cost)));
    }
    let tone = if cost.doubts.iter().any(is_of_control) {
        Tone::Warning
    } else {
        Tone::Good
    };
    let closed = cost.closed_each.filter(|each| each.most > 0);
    let closed = closed.map_or(String::new(), |each| {
        format!("; {} kept connections closed in each", range(each))
    });
    let gap = gap(cost, costs).unwrap_or_default();
    let taken_up = taken_up(cost).unwrap_or_default();
    let also: Vec<String> = weak_in_answer(cost);
    let also = also.iter().map(|why| format!(" {}.", capital(why)));
    let text = format!(
        "{}{closed}{gap}{taken_up}.{}",
        lost(cost, &name),
        also.collect::<String>()
    );
    (tone, text)
}

/// `caddy loses 63 of 9,000 requests in 9 reloads (7 in each)`.
fn lost(cost: &Cost, name: &str) -> String {
    let extent = match (cost.lost, cost.lost_each) {
        (0, _) => " (at most 3)".to_owned(),
        (_, Some(each)) => format!(" ({} in each)", range(each)),
        (_, None) => String::new(),
    };
    format!(
        "{name} loses {} of {} in {}{extent}",
        count(cost.lost),
        counted(cost.due, "request"),
        counted(cost.actions, noun(cost.action)),
    )
}

/// Where it is longer than any without an action.
fn gap(cost: &Cost, costs: &[Cost]) -> Option<String> {
    let usual = control(cost, costs)?.gap_s?.high?;
    let gap = cost.gap_s?;
    match gap.median {
        Some(median_s) => (median_s > usual).then(|| {
            let (median, usual) = (digits(median_s * 1e3), digits(usual * 1e3));
            format!("; {median} ms without an answer (at most {usual} ms otherwise)")
        }),
        None => Some("; in half of them or more no answer came at all".to_owned()),
    }
}

/// When the new configuration answered, and until when the old one did after that.
fn taken_up(cost: &Cost) -> Option<String> {
    let ms = |seconds: f64| digits(seconds * 1e3);
    let first = cost.first_new_s?.median?;
    let old = cost.last_old_s.and_then(|it| it.high);
    let old = old.filter(|last| *last > first);
    let old = old.map_or(String::new(), |last| {
        format!(", the old one for up to {} ms", ms(last))
    });
    Some(format!(
        "; the new configuration answers after {} ms{old}",
        ms(first)
    ))
}

/// What an action is called.
pub(crate) fn noun(action: Action) -> &'static str {
    match action {
        Action::None => "quiet stretch",
        Action::Reload => "reload",
        Action::Upgrade => "upgrade",
        Action::Certificate => "new certificate",
        Action::KillWorker => "killed worker",
        Action::UpstreamRestart => "upstream restart",
        Action::UpstreamSlow => "slow upstream",
    }
}

/// Where requests were that got lost.
pub(crate) fn place(at: LostAt) -> &'static str {
    match at {
        LostAt::Before => "before it",
        LostAt::InFlight => "in flight",
        LostAt::Kept => "on kept connections",
        LostAt::New => "on new connections",
    }
}

/// `7`, `40 to 44`.
pub(crate) fn range(each: Each) -> String {
    if each.least == each.most {
        return count(each.most);
    }
    format!("{} to {}", count(each.least), count(each.most))
}

/// The contender, with the workload and the setting where there are several.
fn contender(cost: &Cost, costs: &[Cost]) -> String {
    let workload = costs.iter().any(|it| it.workload != cost.workload);
    let setting = costs.iter().any(|it| it.setting != cost.setting);
    let among = [(workload, &cost.workload), (setting, &cost.setting)];
    words::named(&cost.contender, among)
}

/// The same with what was done.
pub(crate) fn named(cost: &Cost, costs: &[Cost]) -> String {
    format!("{}, {}", contender(cost, costs), cost.action.name())
}

/// Why nothing is known of it.
pub(crate) fn untold(cost: &Cost) -> String {
    let what = noun(cost.action);
    if cost.doubts.iter().any(is_of_control) {
        return weak(cost).into_iter().next().unwrap_or_default();
    }
    if let Some(failed) = cost.failed.first() {
        return format!("no {what} could be carried out: {}", plain(&failed.why));
    }
    match cost.left_out.first() {
        Some(one) => format!("no {what} was measured: {}", why_left_out(one)),
        None => format!("no {what} was measured yet"),
    }
}

fn why_left_out(one: &LeftOut) -> String {
    plain(&match &one.why {
        WhyLeftOut::Repeated => "its block was disturbed, and was measured again".to_owned(),
        WhyLeftOut::Ended(end) => match end {
            TrialEnd::Failed { cause, .. } => cause.clone(),
            TrialEnd::Skipped { reason, .. } | TrialEnd::Unsupported { reason } => reason.clone(),
            TrialEnd::Interrupted => "it was interrupted".to_owned(),
            TrialEnd::Measured => "its record holds no result".to_owned(),
        },
    })
}

/// Whether what an action cost is not known.
pub(crate) fn tells_nothing(cost: &Cost) -> bool {
    cost.actions == 0 || cost.doubts.iter().any(is_of_control)
}

/// Whether the answer itself must say it.
fn is_in_answer(doubt: &Doubt) -> bool {
    is_of_control(doubt) || matches!(doubt, Doubt::NotTakenUp { .. })
}

fn is_of_control(doubt: &Doubt) -> bool {
    matches!(doubt, Doubt::ControlLoses { .. })
}

/// What takes away from it, each as a line.
pub(crate) fn weakened_by(costs: &[Cost]) -> Vec<String> {
    let lines = costs.iter().flat_map(|cost| {
        let name = named(cost, costs);
        weak(cost)
            .into_iter()
            .map(move |why| format!("{name}: {why}"))
    });
    lines.collect()
}

/// What takes away from a cost, the worst first.
pub(crate) fn weak(cost: &Cost) -> Vec<String> {
    let mut all = weak_in_answer(cost);
    let others = cost.doubts.iter().filter(|it| !is_in_answer(it));
    all.extend(others.map(doubt));
    let repeated = cost
        .left_out
        .iter()
        .filter(|it| it.why == WhyLeftOut::Repeated);
    let repeated = repeated.count() as u64;
    if repeated > 0 {
        let trials = counted(repeated, "trial");
        all.push(format!(
            "{trials} left out, as the block was disturbed and measured again"
        ));
    }
    all
}

/// What the answer itself must say.
fn weak_in_answer(cost: &Cost) -> Vec<String> {
    let what = noun(cost.action);
    let doubts = cost.doubts.iter().filter(|it| is_in_answer(it)).map(doubt);
    let failed = cost.failed.iter().map(|one| {
        let all: u64 = cost.actions + cost.failed.iter().map(|it| it.actions).sum::<u64>();
        let lost = match one.lost {
            0 => String::new(),
            some => format!(", and {} got lost around it", counted(some, "request")),
        };
        format!(
            "{} of {} could not be carried out{lost}: {}",
            count(one.actions),
            counted(all, what),
            plain(&one.why)
        )
    });
    let ended: Vec<&LeftOut> = cost
        .left_out
        .iter()
        .filter(|it| it.why != WhyLeftOut::Repeated)
        .collect();
    let ended = ended.first().map(|first| {
        format!(
            "{} of {} not measured: {}",
            count(ended.len() as u64),
            counted(cost.rounds_planned.into(), "round"),
            why_left_out(first)
        )
    });
    doubts.chain(failed).chain(ended).collect()
}

fn doubt(doubt: &Doubt) -> String {
    match doubt {
        Doubt::NoControl => "no load without an action was measured beside it, so what it lost \
                             may be lost anyway; add `none` to --do"
            .to_owned(),
        Doubt::ControlLoses { lost, due } => format!(
            "without it {} of {} get lost too, so what it lost cannot be distinguished",
            count(*lost),
            counted(*due, "request")
        ),
        Doubt::NotTakenUp { actions } => format!(
            "the new configuration never answered after {} of them",
            count(*actions)
        ),
        Doubt::LostBefore { requests } => {
            format!(
                "{} got lost before its actions",
                counted(*requests, "request")
            )
        }
        Doubt::Unsent { requests } => format!(
            "{} could not be sent: no file, port or memory on this side",
            counted(*requests, "request")
        ),
        Doubt::Engine { rounds, check } => {
            format!(
                "in {}: {}",
                counted(*rounds as u64, "round"),
                plain(&check.text)
            )
        }
        Doubt::Disturbed { trials } => {
            let trials: Vec<String> = trials.iter().map(|id| plain(id)).collect();
            format!("other load on the machine disturbed {}", list(&trials))
        }
    }
}
