//! Waits until a server answers as the contender that it is meant to be.
//!
//! Answering is not enough: the socket must belong to the server's own processes, the `Server`
//! header must be the program's, and status and body must be the workload's.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use bakeoff_record::Step;
use regex_lite::Regex;

use crate::contacts::Contacts;
use crate::error::{Cause, StageError};
use crate::fetch::{Answer, Expectation};
use crate::held::Held;
use crate::hidden;
use crate::host;
use crate::listeners::{self, Transport};
use crate::log;

/// Between two looks. A look costs a walk over `/proc` and one request.
const LOOK_AGAIN: Duration = Duration::from_millis(15);
/// The first request while waiting; a server that accepts and is silent must not use up the time.
/// Where nobody else can be asked the next one has twice as long, as some answers take longer.
const ASK_LIMIT: Duration = Duration::from_secs(2);
const ASK_LIMIT_MAX: Duration = Duration::from_secs(10);

/// A complete answer that stays wrong for this long will not become right. Servers open their
/// listeners one after the other.
const WRONG_FOR: Duration = Duration::from_millis(300);
/// The same where nothing is found yet: some load their routes only after they listen.
pub(crate) const NOT_FOUND_FOR: Duration = Duration::from_millis(1500);
/// The same where a web server reports a failure: its upstream is up before it, and what it has to
/// load itself takes less. An application may fail for as long as it starts.
pub(crate) const FAILING_FOR: Duration = Duration::from_secs(3);

/// The likely port is waited for so long after another is there.
const LIKELY_FOR: Duration = Duration::from_secs(1);

/// What is waited for.
pub(crate) struct Awaited<'a> {
    pub(crate) expectation: &'a Expectation,
    pub(crate) identity: Option<&'a Regex>,
    /// By what it is reached: datagrams in HTTP/3, whatever else listens at its port.
    pub(crate) transport: Transport,
    /// Address of this host at which it must answer.
    pub(crate) ip: IpAddr,
    /// The port that it is configured to use; with `None` any of its sockets will do.
    pub(crate) port: Option<u16>,
    /// The port that is meant where there are several and none is chosen, such as a site beside a
    /// page of counters; asked alone once something listens there.
    pub(crate) likely: Option<u16>,
    pub(crate) log: &'a Path,
    /// Length of the log before it was started.
    pub(crate) log_from: u64,
    pub(crate) within: Duration,
    /// How long complete answers of a status from 500 on are taken for a server that still starts.
    pub(crate) failing_for: Duration,
    /// How long it may find nothing.
    pub(crate) not_found_for: Duration,
    /// With whom it may be in contact, where that is watched.
    pub(crate) contacts: Option<&'a Contacts>,
}

/// A right answer and where it came from.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) address: SocketAddr,
    pub(crate) status: u16,
    pub(crate) server_header: Option<String>,
    /// Length of the log before this start.
    pub(crate) log_from: u64,
}

pub(crate) fn wait(kept: &mut Held, awaited: &Awaited<'_>) -> Result<Ready, StageError> {
    let end = Instant::now() + awaited.within;
    let mut last = BTreeMap::new();
    let mut wrong = Wrong::default();
    let mut listens_since = None;
    let mut limit = ASK_LIMIT;
    loop {
        if let Some(status) = kept.died() {
            return Err(ended(awaited, status));
        }
        awaited.check(kept)?;
        wrong.begin_look();
        let found = addresses(kept, awaited);
        if found.is_empty() {
            awaited.check_visible(kept)?;
        }
        let asked = choose(found, awaited, &mut listens_since);
        let is_only_one = asked.len() == 1;
        for address in asked {
            host::check(Step::Start)?;
            let left = end
                .saturating_duration_since(Instant::now())
                .max(LOOK_AGAIN);
            match awaited.ask(kept, address, left.min(limit))? {
                Ok(answer) if awaited.fits(&answer) => {
                    let server_header = answer.header("Server").map(str::to_owned);
                    return Ok(Ready {
                        address,
                        status: answer.status,
                        server_header,
                        log_from: awaited.log_from,
                    });
                }
                Ok(answer) => {
                    wrong.came(&answer, awaited.expectation);
                    last.insert(address, Ok(awaited.described(&answer)));
                }
                // That the last, short time did not do says less than what was answered before.
                Err(_) if left < limit && last.contains_key(&address) => {}
                Err(cause) => {
                    if is_only_one && is_silence(&cause) {
                        limit = (limit * 2).min(ASK_LIMIT_MAX);
                    }
                    wrong.failed(&cause);
                    last.insert(address, Err(cause.to_string()));
                }
            }
        }
        host::check(Step::Start)?;
        if wrong.is_final(awaited) || Instant::now() >= end {
            return Err(gave_up(awaited, kept, &last, &wrong));
        }
        kept.hear(LOOK_AGAIN);
    }
}

fn is_silence(cause: &std::io::Error) -> bool {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    matches!(cause.kind(), TimedOut | WouldBlock)
}

/// Whether what answers is wrong for good: complete answers that stay wrong, and nobody who may
/// still answer otherwise.
#[derive(Default)]
struct Wrong {
    since: Option<Instant>,
    has_answer: bool,
    may_change: bool,
    is_failing: bool,
    is_not_found: bool,
    hint: String,
}

impl Wrong {
    /// Another look at all addresses begins.
    fn begin_look(&mut self) {
        (self.has_answer, self.may_change) = (false, false);
        (self.is_failing, self.is_not_found) = (false, false);
    }

    fn came(&mut self, answer: &Answer, expectation: &Expectation) {
        self.has_answer = true;
        self.is_failing |= answer.status >= 500;
        self.is_not_found |= answer.status == 404;
        self.hint = expectation.hint(answer);
    }

    /// Refusals and silence may end. What speaks another protocol goes on doing so.
    fn failed(&mut self, cause: &std::io::Error) {
        use std::io::ErrorKind::{ConnectionRefused, ConnectionReset, TimedOut, WouldBlock};
        let kinds = [ConnectionRefused, ConnectionReset, TimedOut, WouldBlock];
        self.may_change |= kinds.contains(&cause.kind());
    }

    /// At the end of a look.
    fn is_final(&mut self, awaited: &Awaited<'_>) -> bool {
        if !self.has_answer || self.may_change {
            self.since = None;
            return false;
        }
        let enough = match (self.is_failing, self.is_not_found) {
            (true, _) => awaited.failing_for,
            (false, true) => awaited.not_found_for,
            (false, false) => WRONG_FOR,
        };
        self.since.get_or_insert_with(Instant::now).elapsed() >= enough
    }
}

impl Awaited<'_> {
    /// Asks once; an error is final.
    fn ask(
        &self,
        kept: &Held,
        address: SocketAddr,
        within: Duration,
    ) -> Result<io::Result<Answer>, StageError> {
        let ask = || self.expectation.ask(address, within);
        let Some(contacts) = self.contacts else {
            return Ok(ask());
        };
        let came = contacts.watch(&kept.pids(), ask);
        self.check(kept).map(|()| came)
    }

    /// Refuses a server that is in contact with an address that has no part in the trial.
    fn check(&self, kept: &Held) -> Result<(), StageError> {
        match self.contacts {
            Some(contacts) => contacts
                .check(&kept.pids())
                .map_err(|cause| self.error(cause)),
            None => Ok(()),
        }
    }

    /// Refuses a server that listens by a process that may not be looked at: that it is the
    /// server's own, will not be seen later either.
    fn check_visible(&self, kept: &Held) -> Result<(), StageError> {
        let Some(pid) = hidden::first_of(&kept.pids()) else {
            return Ok(());
        };
        let port = self.port.or(self.likely);
        if port.is_some_and(|port| listeners::has_hidden_owner(self.transport, port)) {
            Err(self.error(hidden::cause(pid)))
        } else {
            Ok(())
        }
    }

    fn fits(&self, answer: &Answer) -> bool {
        self.is_itself(answer) && self.expectation.is_met_by(answer)
    }

    fn is_itself(&self, answer: &Answer) -> bool {
        // A proxy may leave `Server` to its upstream and name itself in `Via`.
        let named = |(name, value): &(String, String), identity: &Regex| {
            let names_itself = ["Server", "Via"]
                .iter()
                .any(|header| name.eq_ignore_ascii_case(header));
            names_itself && identity.is_match(value)
        };
        let headers = &answer.headers;
        self.identity
            .is_none_or(|identity| headers.iter().any(|header| named(header, identity)))
    }

    fn described(&self, answer: &Answer) -> String {
        let description = answer.described();
        match answer.header("Server") {
            _ if self.is_itself(answer) => description,
            Some(name) => format!("{description} from `{name}`"),
            None => format!("{description} from a server that does not give its name"),
        }
    }

    fn expected_text(&self) -> String {
        let description = self.expectation.described();
        match self.identity {
            Some(identity) => {
                format!("{description} from a server whose name matches `{identity}`")
            }
            None => description,
        }
    }

    fn error(&self, cause: Cause) -> StageError {
        StageError::new(Step::Start, cause).with_message(log::tail(self.log, self.log_from))
    }
}

/// Where the server's own listening sockets are reached, each once.
fn addresses(kept: &Held, awaited: &Awaited<'_>) -> BTreeSet<SocketAddr> {
    let held = listeners::held_by(&kept.pids());
    let by_transport = held
        .iter()
        .filter(|listener| listener.transport == awaited.transport);
    by_transport
        .filter_map(|listener| listener.reached_at(awaited.ip))
        .filter(|address| awaited.port.is_none_or(|port| address.port() == port))
        .collect()
}

/// Those at the likely port; nothing before it is there, and all if it does not come.
fn choose(
    addresses: BTreeSet<SocketAddr>,
    awaited: &Awaited<'_>,
    listens_since: &mut Option<Instant>,
) -> BTreeSet<SocketAddr> {
    let Some(port) = awaited.likely.filter(|_| awaited.port.is_none()) else {
        return addresses;
    };
    if addresses.iter().any(|address| address.port() == port) {
        return addresses
            .into_iter()
            .filter(|address| address.port() == port)
            .collect();
    }
    if addresses.is_empty() {
        return addresses;
    }
    let since = listens_since.get_or_insert_with(Instant::now);
    if since.elapsed() < LIKELY_FOR {
        BTreeSet::new()
    } else {
        addresses
    }
}

/// The server ended: because its port is taken, or for a reason of its own.
fn ended(awaited: &Awaited<'_>, status: String) -> StageError {
    let log = log::read(awaited.log, awaited.log_from);
    let taken = log
        .lines()
        .find(|line| line.to_lowercase().contains("address already in use"));
    let owner = taken.and_then(|line| {
        let mut ports = ports_in(line).into_iter().chain(awaited.port);
        ports.find_map(|port| Some((port, listeners::owner_text(port)?)))
    });
    awaited.error(match (taken, owner) {
        (Some(_), Some((port, owner))) => Cause::PortTaken { port, owner },
        (Some(line), None) if !ports_in(line).is_empty() || awaited.port.is_some() => {
            let port = ports_in(line)
                .first()
                .copied()
                .or(awaited.port)
                .unwrap_or_default();
            Cause::PortTaken {
                port,
                owner: "a process that has ended since".to_owned(),
            }
        }
        _ => Cause::Died { status },
    })
}

/// The last result from each address: a description of the answer, or why there was none.
type Last = BTreeMap<SocketAddr, Result<String, String>>;

/// The wrong answers, which say more than silence: a user's own file may have listeners for other
/// protocols beside the one that is asked.
fn got(last: &Last) -> Option<String> {
    let answers: Vec<String> = last
        .iter()
        .filter_map(|(address, came)| Some((address, came.as_ref().ok()?)))
        .map(|(address, text)| match last.len() {
            1 => text.clone(),
            _ => format!("{text} at {address}"),
        })
        .collect();
    if !answers.is_empty() {
        return Some(answers.join("; "));
    }
    let (address, came) = last.iter().next()?;
    let cause = came.as_ref().err()?;
    Some(format!("no answer from {address}: {cause}"))
}

fn gave_up(awaited: &Awaited<'_>, kept: &Held, last: &Last, wrong: &Wrong) -> StageError {
    if let Some(got) = got(last) {
        let expected = awaited.expected_text();
        let within = match (wrong.has_answer && !wrong.may_change, wrong.is_failing) {
            (true, false) => None,
            (true, true) => Some(awaited.failing_for),
            (false, _) => Some(awaited.within),
        };
        return awaited.error(Cause::WrongAnswer {
            within,
            expected,
            got,
            hint: wrong.hint.clone(),
        });
    }
    let owner = awaited
        .port
        .and_then(|port| Some((port, listeners::owner_text(port)?)));
    // It may listen where nobody expects it.
    if owner.is_none()
        && let Some(pid) = hidden::first_of(&kept.pids())
    {
        return awaited.error(hidden::cause(pid));
    }
    let aside = match owner {
        Some((port, owner)) => format!("; port {port} is held by {owner}"),
        None => String::new(),
    };
    let within = awaited.within;
    awaited.error(Cause::NeverListened { within, aside })
}

/// The numbers after the last colon of a word that can be ports. Seconds of a log's times cannot,
/// nor lines of a file, as in `[/etc/haproxy.cfg:7]`.
fn ports_in(line: &str) -> Vec<u16> {
    let words = line.split(|letter: char| letter.is_whitespace() || "T\",".contains(letter));
    let words = words.filter(|word| !begins_with_time(word) && !word.contains('/'));
    let ports = words.filter_map(|word| {
        let word = word.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        let (_, port) = word.rsplit_once(':')?;
        port.parse().ok()
    });
    ports.filter(|&port| port > 0).collect()
}

/// Whether it begins as `17:22:19` does.
fn begins_with_time(part: &str) -> bool {
    let time = part.as_bytes().get(..8);
    time.is_some_and(|time| {
        let mut letters = time.iter().enumerate();
        letters.all(|(place, letter)| match place {
            2 | 5 => *letter == b':',
            _ => letter.is_ascii_digit(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_answers_are_reported_before_silence() {
        let address = |text: &str| -> SocketAddr { text.parse().unwrap() };
        let mut last = Last::new();
        assert_eq!(got(&last), None);
        last.insert(address("[::1]:80"), Err("corrupt message".into()));
        let silent = "no answer from [::1]:80: corrupt message";
        assert_eq!(got(&last).as_deref(), Some(silent));
        last.insert(address("127.0.0.1:443"), Ok("status 403".into()));
        let wrong = "status 403 at 127.0.0.1:443";
        assert_eq!(got(&last).as_deref(), Some(wrong));
        last.remove(&address("[::1]:80"));
        assert_eq!(got(&last).as_deref(), Some("status 403"));
    }

    #[test]
    fn ports_are_read_from_the_words_of_servers() {
        let nginx = "nginx: [emerg] bind() to 127.0.0.1:8080 failed (98: Address already in use)";
        assert_eq!(ports_in(nginx), [8080]);
        let caddy = "\"listening on :8443: listen tcp :8443: bind: address already in use\"}";
        assert_eq!(ports_in(caddy), [8443, 8443]);
        let at_22 = format!("2026/11/22 17:22:19 [emerg] 2#2: {}", &nginx[7..]);
        assert_eq!(ports_in(&at_22), [8080]);
        let haproxy = "[ALERT] (2) : Binding [/etc/haproxy.cfg:7] for frontend in: cannot bind \
                       socket (Address already in use) for [127.0.0.1:8080]";
        assert_eq!(ports_in(haproxy), [8080]);
        let version_6 = haproxy.replace("127.0.0.1", "::1");
        assert_eq!(ports_in(&version_6), [8080]);
        let varnish = "Error: Could not get socket 127.0.0.1:8080: Address already in use";
        assert_eq!(ports_in(varnish), [8080]);
        let lighttpd = "2026-11-22 17:22:19: (network.c.540) bind() 0.0.0.0:8080: \
                        Address already in use";
        assert_eq!(ports_in(lighttpd), [8080]);
        let apache = "(98)Address already in use: AH00072: make_sock: could not bind to address \
                      [::]:8080";
        assert_eq!(ports_in(apache), [8080]);
        let envoy = "error adding listener 'main': cannot bind '127.0.0.1:8080': Address in use";
        assert_eq!(ports_in(envoy), [8080]);
        let zoned = "2026-11-22T17:22:19.5+01:00 cannot bind [::1]:8080: address in use";
        assert_eq!(ports_in(zoned), [8080]);
        assert!(ports_in("no port here: really").is_empty());
    }
}
