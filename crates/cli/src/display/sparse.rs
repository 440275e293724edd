//! Few lines of many, for a log: the first ones, those in which something is new, and a summary a
//! minute. It knows no clock: callers say how much time has passed.

use std::time::Duration;

/// Lines that are printed whatever they say.
const FIRST: usize = 24;
/// The time between summaries.
const MINUTE: Duration = Duration::from_secs(60);
/// The same as a part of the time so far, which is longer after six minutes: an hour has 18
/// summaries, and a day 36.
const PART: u32 = 6;

#[derive(Debug, Default)]
pub(crate) struct Sparse {
    printed: usize,
    /// The line that was left out last, after all that were printed.
    left_out: Option<String>,
    summed_up: Duration,
}

impl Sparse {
    /// The line, if it is to be printed now.
    pub(crate) fn line(&mut self, line: String, is_news: bool) -> Option<String> {
        if self.printed < FIRST || is_news {
            self.printed += 1;
            self.left_out = None;
            return Some(line);
        }
        self.left_out = Some(line);
        None
    }

    /// Whether a summary is due after `passed`; if so, the next one is due later.
    pub(crate) fn is_due(&mut self, passed: Duration) -> bool {
        let is_due = passed.saturating_sub(self.summed_up) >= MINUTE.max(passed / PART);
        if is_due {
            self.summed_up = passed;
        }
        is_due
    }

    /// A summary of what is `so_far`, with the line that was left out last.
    pub(crate) fn summary(&mut self, so_far: &str) -> String {
        let last = self.left_out.take();
        let last = last.map_or(String::new(), |line| format!("; last: {line}"));
        format!("{so_far}{last}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_come_a_minute_apart_and_later_a_sixth_of_the_time_so_far() {
        let mut sparse = Sparse::default();
        let mut at = Vec::new();
        for second in 0..3600 {
            if sparse.is_due(Duration::from_secs(second)) {
                at.push(second);
            }
        }
        assert_eq!(at[..9], [60, 120, 180, 240, 300, 360, 432, 519, 623]);
        assert_eq!(at.len(), 18);
    }

    #[test]
    fn later_lines_are_printed_where_they_are_news_or_else_the_last_one_with_the_summary() {
        let mut sparse = Sparse::default();
        for number in 0..FIRST {
            let line = number.to_string();
            assert_eq!(sparse.line(line.clone(), false), Some(line));
        }
        assert_eq!(sparse.line("a".to_owned(), false), None);
        assert_eq!(
            sparse.line("b".to_owned(), true),
            Some("b".to_owned()),
            "news"
        );
        assert_eq!(sparse.summary("so far"), "so far");
        assert_eq!(sparse.line("c".to_owned(), false), None);
        assert_eq!(sparse.line("d".to_owned(), false), None);
        assert_eq!(sparse.summary("so far"), "so far; last: d");
        assert_eq!(sparse.summary("so far"), "so far");
    }
}
