//! One line on a terminal that is drawn over and over: which trial runs, which step of it, and how
//! long the campaign will take. What is worth keeping goes above it.

use std::time::Duration;

use bakeoff_conduct::Event;
use bakeoff_record::{Step, TrialEnd};
use bakeoff_report::plain;
use indicatif::{ProgressBar, ProgressStyle};

use super::{ended_line, spoken, step_name};
use crate::standings::Standings;

pub(super) struct Moving {
    bar: ProgressBar,
    trial: String,
    step: &'static str,
    left: Duration,
    standings: Standings,
}

impl Moving {
    pub(super) fn new(standings: Standings) -> Self {
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {wide_msg}");
        // A bar of a known length of 0 is drawn full.
        let bar = ProgressBar::no_length();
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self {
            bar,
            trial: String::new(),
            step: "",
            left: Duration::ZERO,
            standings,
        }
    }

    /// Lets `print` print above the line.
    pub(super) fn suspend(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Draws the line anew; what is to stay above it.
    pub(super) fn hear(&mut self, event: &Event<'_>) -> Option<String> {
        match event {
            Event::Began {
                trials, recorded, ..
            } => {
                self.bar.set_length(*trials as u64);
                self.bar.set_position(*recorded as u64);
            }
            Event::Trial {
                number,
                trials,
                id,
                left,
                ..
            } => {
                self.bar.set_length(*trials as u64);
                self.bar.set_position(*number as u64 - 1);
                self.trial = plain(id);
                self.left = *left;
                self.draw("");
            }
            Event::Step(step) => {
                self.step = match step {
                    // A server that hangs is asked for long after its load.
                    Step::CheckAgain => "wait for its answer after the load",
                    step => step_name(*step),
                };
                self.draw("");
            }
            Event::Live { ok, errors, since } => {
                let rate = per_second(*ok, *since);
                self.left = self.left.saturating_sub(*since);
                self.draw(&format!("{rate:.0} ok/s, {errors} errors"));
            }
            Event::Observed(_) => {}
            Event::Ended(record) => {
                self.standings.ended(record);
                self.bar.inc(1);
                let is_quiet = matches!(record.end, TrialEnd::Measured);
                return (!is_quiet).then(|| ended_line(record));
            }
            Event::BlockEnded => {
                let block = self.standings.block_ended()?;
                return Some(format!("{}: {}", block.name, block.medians?));
            }
        }
        None
    }

    fn draw(&self, live: &str) {
        let left = spoken(self.left);
        let (trial, step) = (&self.trial, self.step);
        let message = format!("{trial}: {step} {live} ({left} left)");
        self.bar.set_message(message);
    }
}

/// A rate; 0 where no time has passed, as between two looks at once.
fn per_second(count: u64, since: Duration) -> f64 {
    if since.is_zero() {
        return 0.0;
    }
    count as f64 / since.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_without_time_is_none() {
        assert_eq!(per_second(30, Duration::from_millis(100)), 300.0);
        assert_eq!(per_second(30, Duration::ZERO), 0.0);
    }
}
