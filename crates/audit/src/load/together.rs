//! One load from several hosts: what only that can have wrong.

use bakeoff_record::{LoadResult, LostHost, Warning};

use super::warning;
use crate::check::Level;
use crate::generators::agreement;
use crate::limits::{CLOCK_ERROR_NS, START_SPREAD_S};

/// What is known of the hosts of one load.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoadHosts<'l> {
    /// Time from the first generator's start to the last one's, with what their clocks may be off,
    /// nanoseconds; `None` for one generator.
    pub start_spread_ns: Option<u64>,
    /// The largest error of a clock, nanoseconds.
    pub clock_error_ns: u64,
    /// Hosts that were lost, each with the time since the start.
    pub lost: &'l [LostHost],
    /// What each generator saw, with its host's name.
    pub parts: &'l [(&'l str, &'l LoadResult)],
}

impl LoadHosts<'_> {
    /// What weakens the load, beside what weakens any load.
    pub fn judge(&self) -> Vec<Warning> {
        let lost = self.lost.iter().map(|lost| {
            let after_s = lost.at_s.unwrap_or_default();
            let (host, message) = (&lost.host, &lost.message);
            let text = format!("host {host} was lost after {after_s:.1} s: {message}");
            warning("host-lost", text)
        });
        let together = [self.start_spread(), self.clock_error(), self.agree()];
        together.into_iter().flatten().chain(lost).collect()
    }

    /// Why what was measured is not the whole load, although no host was lost.
    pub fn not_whole(&self) -> Option<String> {
        let found = agreement(self.parts).filter(|found| found.level == Level::Invalid)?;
        Some(found.text)
    }

    /// What a campaign's check says of the same.
    fn agree(&self) -> Option<Warning> {
        let found = agreement(self.parts).filter(|found| found.level > Level::Passed)?;
        Some(warning("generators-agree", found.text))
    }

    fn start_spread(&self) -> Option<Warning> {
        let spread = self.start_spread_ns? as f64;
        (spread > START_SPREAD_S * 1e9).then(|| {
            let text = format!(
                "the generators began up to {:.1} ms apart; expected at most {} ms",
                spread / 1e6,
                START_SPREAD_S * 1e3
            );
            warning("start-spread", text)
        })
    }

    fn clock_error(&self) -> Option<Warning> {
        let error = self.clock_error_ns as f64;
        (error > CLOCK_ERROR_NS).then(|| {
            let text = format!(
                "a clock is known to within {:.1} ms; expected {} ms",
                error / 1e6,
                CLOCK_ERROR_NS / 1e6
            );
            warning("clock-error", text)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_in_time_weaken_nothing_and_others_are_warned_of() {
        let lost = LostHost {
            host: "g2".to_owned(),
            at_s: Some(1.25),
            message: "its connection ended".to_owned(),
        };
        for (spread_ms, error_us, lost, expected) in [
            (None, 0, None, &[][..]),
            (Some(10), 1_000, None, &[]),
            (
                Some(11),
                0,
                None,
                &["start-spread: the generators began up to 11.0 ms apart; expected at most 10 ms"],
            ),
            (
                None,
                1_500,
                None,
                &["clock-error: a clock is known to within 1.5 ms; expected 1 ms"],
            ),
            (
                None,
                0,
                Some(lost),
                &["host-lost: host g2 was lost after 1.2 s: its connection ended"],
            ),
        ] {
            let lost: Vec<LostHost> = lost.into_iter().collect();
            let hosts = LoadHosts {
                start_spread_ns: spread_ms.map(|ms: u64| ms * 1_000_000),
                clock_error_ns: error_us * 1_000,
                lost: &lost,
                parts: &[],
            };
            let said = hosts.judge();
            let said: Vec<String> = said
                .iter()
                .map(|it| format!("{}: {}", it.code, it.text))
                .collect();
            assert_eq!(said, expected);
        }
    }
}
