//! What a person sees while a campaign runs: one moving line on a terminal that can be drawn over,
//! a log elsewhere. It hears events and changes nothing.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bakeoff_conduct::{Event, Left};
use bakeoff_plan::{CONTROL_MARK, LoadModel};
use bakeoff_record::{Step, TrialEnd, TrialRecord, When};
use bakeoff_report::view::LATE_S;
use bakeoff_report::{Redaction, count, counted, digits, trimmed};
use bakeoff_stage::without_trial_folders;

use crate::output;
use crate::standings::Standings;

mod log;
mod moving;
mod sparse;

use log::Log;
use moving::Moving;

pub(crate) use log::LineFor;
pub(crate) use sparse::Sparse;

pub(crate) struct Display {
    face: Face,
    began: Instant,
    redaction: Redaction,
    /// Changes of own configurations that were shown: contender, file and line.
    shown: BTreeSet<(String, String, usize)>,
}

enum Face {
    Moving(Moving),
    Log(Log),
}

impl Display {
    /// `line_for` is what a log has a line for.
    pub(crate) fn new(standings: Standings, line_for: LineFor, redaction: Redaction) -> Self {
        Self {
            face: if output::is_drawable() {
                Face::Moving(Moving::new(standings))
            } else {
                // A bar that is not drawn would hide everything all the same.
                Face::Log(Log::new(standings, line_for))
            },
            began: Instant::now(),
            redaction,
            shown: BTreeSet::new(),
        }
    }

    /// A note above the moving line, without secrets; in a log it is one line.
    pub(crate) fn note(&self, text: &str) {
        let text = self.redaction.line(text);
        match &self.face {
            Face::Moving(moving) => moving.suspend(|| output::note(&text)),
            Face::Log(_) => output::note(&on_one_line(&text)),
        }
    }

    pub(crate) fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Began {
                trials,
                recorded,
                expected,
                may_add,
            } => self.note(&began_line((*trials, *recorded), *expected, *may_add)),
            Event::Observed(record) => self.redaction.learn_trial(record),
            Event::Ended(record) => {
                self.redaction.learn_trial(record);
                self.show_changes(record);
            }
            Event::Trial { .. } | Event::Step(_) | Event::Live { .. } | Event::BlockEnded => {}
        }
        let lines = match &mut self.face {
            Face::Moving(moving) => moving.hear(event).into_iter().collect(),
            Face::Log(log) => log.hear(event, self.began.elapsed()),
        };
        lines.iter().for_each(|line: &String| self.note(line));
    }

    pub(crate) fn finish(&self) {
        if let Face::Moving(moving) = &self.face {
            moving.finish();
        }
    }

    /// What a contender's own configuration was changed in; each line of it once, as only its
    /// ports are others from trial to trial.
    fn show_changes(&mut self, record: &TrialRecord) {
        let changes = record.server.iter().flat_map(|it| &it.config_changes);
        for change in changes {
            // A control is the contender once more.
            let contender = record.contender.trim_end_matches(CONTROL_MARK);
            let key = (contender.to_owned(), change.file.clone(), change.line);
            if self.shown.insert(key) {
                let change = self.redaction.configuration(&change.on_one_line());
                let change = without_trial_folders(&change);
                self.note(&format!("{contender}: changed {change}"));
            }
        }
    }
}

/// A note may have lines on what to change, or of a server's log.
fn on_one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines.join(" | ")
}

/// One line about a campaign that begins: how many trials it has, how many of them are `recorded`,
/// and how long the others take.
fn began_line((trials, recorded): (usize, usize), expected: Duration, may_add: Left) -> String {
    let most = (trials + may_add.trials) as u64;
    let trials = counted_to(trials as u64, most, "trial");
    let known = match recorded {
        0 => String::new(),
        some => format!(", {some} of them recorded before"),
    };
    let longest = expected.saturating_add(may_add.expected);
    let time = match spoken(longest).as_str() {
        "0 s" => String::new(),
        _ => format!(", {}", about(expected, longest)),
    };
    format!("{trials}{known}{time}")
}

/// One line about a trial that ended.
fn ended_line(record: &TrialRecord) -> String {
    format!("{}: {}", record.id, how_it_ended(record))
}

fn how_it_ended(record: &TrialRecord) -> String {
    match &record.end {
        TrialEnd::Measured => {
            let Some(result) = &record.result else {
                return "measured".to_owned();
            };
            let rate = result.requests.ok as f64 / result.measured_s;
            let errors = result.outcomes.errors();
            let p99 = result.latency_bounds(0.99).filter(|_| is_sought(record));
            let p99 = p99.map_or(String::new(), |it| {
                format!(", p99 {:.2} ms", it.low as f64 / 1e6)
            });
            format!(
                "{}{} ok/s, {}{p99}{}",
                offered(record),
                digits(rate),
                counted(errors, "error"),
                waited(record)
            )
        }
        TrialEnd::Failed { step, cause, .. } => format!("failed at {}: {cause}", step_name(*step)),
        TrialEnd::Skipped { reason, fix } => format!("skipped: {reason}; {fix}"),
        TrialEnd::Unsupported { reason } => format!("unsupported: {reason}"),
        TrialEnd::Interrupted => match record.lost().first() {
            None => "interrupted".to_owned(),
            Some(lost) => lost.to_string(),
        },
    }
}

/// How long the trial waited for an answer after its load, where that was long; and whether none
/// came.
fn waited(record: &TrialRecord) -> String {
    let mut steps = record.steps.iter();
    let asked = steps.find(|it| it.step == Step::CheckAgain);
    let Some(asked) = asked.filter(|it| it.took_s >= LATE_S) else {
        return String::new();
    };
    let took = spoken(Duration::from_secs_f64(asked.took_s));
    if record.answers.iter().any(|it| it.when == When::After) {
        format!("; its first answer after the load took {took}")
    } else {
        format!("; no answer for {took} after the load, though the server lives")
    }
}

/// Whether the trial's rate was found in the campaign.
fn is_sought(record: &TrialRecord) -> bool {
    record.load_name.is_some() && matches!(record.load.model, LoadModel::Open { .. })
}

/// The rate that a trial of a search offered: no label names it.
fn offered(record: &TrialRecord) -> String {
    match record.load.model {
        LoadModel::Open { rate_per_s, .. } if is_sought(record) => {
            let (rate, seconds) = (trimmed(rate_per_s), trimmed(record.load.duration_s));
            format!("{rate}/s for {seconds} s: ")
        }
        _ => String::new(),
    }
}

/// A step as the display names it.
pub(crate) fn step_name(step: Step) -> &'static str {
    match step {
        Step::Prepare => "prepare",
        Step::Origin => "start the origin",
        Step::CheckConfig => "check the configuration",
        Step::Start => "start",
        Step::Observe => "observe",
        Step::WarmUp => "warm up",
        Step::Measure => "measure",
        Step::CheckAgain => "check again",
        Step::Stop => "stop",
    }
}

/// How many there are at least and at most: `7 rounds`, `10 to 40 rounds`.
pub(crate) fn counted_to(least: u64, most: u64, noun: &str) -> String {
    if least == most {
        counted(most, noun)
    } else {
        format!("{} to {}", count(least), counted(most, noun))
    }
}

/// How long something takes at least and at most: `about 5 s`, `about 15 min 0 s to 1 h 0 min`.
pub(crate) fn about(least: Duration, most: Duration) -> String {
    let (least, most) = (spoken(least), spoken(most));
    if least == most {
        format!("about {most}")
    } else {
        format!("about {least} to {most}")
    }
}

/// A length of time as people say it.
pub(crate) fn spoken(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_in_two_units() {
        assert_eq!(spoken(Duration::from_millis(5400)), "5 s");
        assert_eq!(spoken(Duration::from_secs(305)), "5 min 5 s");
        assert_eq!(spoken(Duration::from_secs(7380)), "2 h 3 min");
    }

    #[test]
    fn a_note_in_a_log_is_one_line() {
        assert_eq!(
            on_one_line("no answer\n  it said: why\n"),
            "no answer | it said: why"
        );
    }

    #[test]
    fn a_campaign_begins_with_how_much_there_is_at_least_and_at_most() {
        let line = |trials, expected_s, (more, more_s)| {
            let may_add = Left {
                trials: more,
                expected: Duration::from_secs(more_s),
            };
            began_line(trials, Duration::from_secs(expected_s), may_add)
        };
        assert_eq!(line((1, 0), 5, (0, 0)), "1 trial, about 5 s");
        assert_eq!(line((0, 0), 0, (0, 0)), "0 trials");
        assert_eq!(
            line((370, 0), 900, (1110, 2700)),
            "370 to 1,480 trials, about 15 min 0 s to 1 h 0 min"
        );
        assert_eq!(
            line((370, 370), 0, (1110, 2700)),
            "370 to 1,480 trials, 370 of them recorded before, about 0 s to 45 min 0 s"
        );
    }
}
