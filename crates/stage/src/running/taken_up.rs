//! Which configuration answers. Those of a server's folder say their number in a header, which each
//! change raises; a thread asks for it again and again, over another connection each time.
//!
//! A file of a user's own is not numbered, as it is only read.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use bakeoff_plan::{Protocol, Request};
use bakeoff_record::TakenUp;

use crate::fetch::{Approach, Expectation};
use crate::files;
use crate::user::{self, User};

/// The header in which templates say a configuration's number; it is 0 at the start.
const HEADER: &str = "X-Bakeoff-Change";
/// From one question to the next.
const PERIOD: Duration = Duration::from_millis(10);
/// An answer may take so long.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);
/// Nobody is asked any longer once only the new one has answered for this time.
const SETTLED_AFTER: Duration = Duration::from_secs(1);

/// A configuration that says its number.
#[derive(Debug)]
pub(crate) struct Numbered {
    path: PathBuf,
    /// As it was at the start.
    text: String,
    user: Option<User>,
    question: Expectation,
    number: u32,
    asking: Option<Asking>,
}

/// Somebody asks which configuration answers, as long as this is there.
#[derive(Debug)]
struct Asking {
    seen: Arc<Mutex<Seen>>,
    /// When the change began.
    from: Option<Instant>,
}

/// When answers came.
#[derive(Debug, Default)]
struct Seen {
    first_new: Option<Instant>,
    last_old: Option<Instant>,
}

impl Numbered {
    /// A configuration that was rendered, if it says its number.
    pub(crate) fn of(
        path: PathBuf,
        text: String,
        user: Option<User>,
        (request, protocol, approach): (&Request, Protocol, &Approach),
    ) -> Option<Self> {
        // Its headers are enough: a large answer again and again would be a load of its own.
        let request = Request {
            method: "HEAD".to_owned(),
            body: None,
            ..request.clone()
        };
        text.contains(HEADER).then(|| Self {
            path,
            text,
            user,
            question: Expectation::of(&request, protocol, approach),
            number: 0,
            asking: None,
        })
    }

    /// Begins to ask which configuration answers, before the next one is in its place.
    pub(super) fn watch(&mut self, address: SocketAddr) -> io::Result<()> {
        let seen = Arc::<Mutex<Seen>>::default();
        let (question, number) = (self.question.clone(), self.number + 1);
        let noted = Arc::downgrade(&seen);
        let thread = std::thread::Builder::new().name("taken-up".to_owned());
        thread.spawn(move || ask(&question, address, number, &noted))?;
        self.asking = Some(Asking { seen, from: None });
        Ok(())
    }

    /// Writes the next one in place of the one before it.
    pub(super) fn write_next(&mut self) -> io::Result<()> {
        self.number += 1;
        let text = with_number(&self.text, self.number);
        // A server may read it as soon as it is there.
        let next = self.path.with_extension("next");
        files::replace(&next, text.as_bytes(), files::FOR_OWNER)?;
        user::hand_over_file(&next, self.user.as_ref())?;
        std::fs::rename(&next, &self.path)
    }

    /// Notes that the change begins.
    pub(super) fn begin(&mut self) {
        if let Some(asking) = &mut self.asking {
            asking.from = Some(Instant::now());
        }
    }

    /// When the new one has answered since the change began, and asks no longer.
    pub(super) fn taken_up(&mut self) -> Option<TakenUp> {
        let asking = self.asking.take()?;
        let from = asking.from?;
        let seen = locked(&asking.seen);
        let since = |at: Instant| at.checked_duration_since(from);
        let seconds = |at: Option<Instant>| at.and_then(since).map(|it| it.as_secs_f64());
        Some(TakenUp {
            first_new_s: seconds(seen.first_new),
            last_old_s: seconds(seen.last_old),
        })
    }
}

/// Asks until only this number has answered for a while, or nobody waits for it any longer.
fn ask(question: &Expectation, address: SocketAddr, number: u32, noted: &Weak<Mutex<Seen>>) {
    while noted.strong_count() > 0 {
        let next = Instant::now() + PERIOD;
        let answer = question.ask(address, ANSWER_LIMIT).ok();
        let says = answer.and_then(|answer| answer.header(HEADER)?.parse::<u32>().ok());
        let Some(seen) = noted.upgrade() else { return };
        if locked(&seen).note(says.map(|it| it >= number), Instant::now()) {
            return;
        }
        drop(seen);
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}

impl Seen {
    /// Notes an answer, and whether it is of the new one; returns whether nothing else is expected.
    fn note(&mut self, is_new: Option<bool>, now: Instant) -> bool {
        match is_new {
            Some(true) => _ = self.first_new.get_or_insert(now),
            Some(false) => self.last_old = Some(now),
            None => {}
        }
        let last_change = self
            .first_new
            .map(|first| self.last_old.unwrap_or(first).max(first));
        last_change.is_some_and(|at| now.duration_since(at) >= SETTLED_AFTER)
    }
}

fn locked(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The text with another number in place of the 0 that follows the header's name on its line.
fn with_number(text: &str, number: u32) -> String {
    let line = |line: &str| match line.find(HEADER) {
        Some(at) => {
            let (before, after) = line.split_at(at + HEADER.len());
            before.to_owned() + &after.replacen('0', &number.to_string(), 1)
        }
        None => line.to_owned(),
    };
    text.split_inclusive('\n').map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_raised_in_the_syntax_of_each_server() {
        for (before, after) in [
            (
                "add_header X-Bakeoff-Change 0 always;",
                "add_header X-Bakeoff-Change 12 always;",
            ),
            (
                "port 8080\nheader X-Bakeoff-Change 0\n",
                "port 8080\nheader X-Bakeoff-Change 12\n",
            ),
            (
                "set resp.http.X-Bakeoff-Change = \"0\";",
                "set resp.http.X-Bakeoff-Change = \"12\";",
            ),
            (
                "( \"X-Bakeoff-Change\" => \"0\" )\n10",
                "( \"X-Bakeoff-Change\" => \"12\" )\n10",
            ),
        ] {
            assert_eq!(with_number(before, 12), after);
        }
    }

    #[test]
    fn it_is_over_once_only_the_new_one_has_answered_for_a_while() {
        let start = Instant::now();
        let mut seen = Seen::default();
        let mut note = |is_new, ms| seen.note(is_new, start + Duration::from_millis(ms));
        assert!(!note(Some(false), 0));
        assert!(!note(Some(true), 20));
        assert!(!note(Some(false), 500));
        assert!(!note(None, 1_400));
        assert!(note(Some(true), 1_500));
        assert_eq!(seen.first_new, Some(start + Duration::from_millis(20)));
        assert_eq!(seen.last_old, Some(start + Duration::from_millis(500)));
    }
}
