//! The nouns of a plan as ready values: nothing optional that a trial needs, no state that
//! contradicts another. `file` reads them from TOML; this module knows nothing of TOML.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::client::Client;
use crate::contender::{Contender, ServerChoice};
use crate::content::ServedFile;
use crate::course::{Budget, CONTROL_FROM, CompareMode, References, Until};
use crate::demand::Demand;
use crate::load::Load;
use crate::pinning::Pinning;
use crate::protocol::Protocol;
use crate::request::{Connections, Expected, KnownBy, Request, Requests};
use crate::rules;
use crate::stored;
use crate::variants::{Cut, Values};

/// Rounds from which a plan without a stopping rule may add some. Where there are fewer, all of
/// them must be believable.
const SPARE_FROM: u32 = 6;
/// Rounds of a plan for each one that may be added.
const ROUNDS_A_SPARE: u32 = 2;
/// Most rounds that are added without a stopping rule, so that no campaign takes much longer than
/// was said.
const SPARE_MOST: u32 = 5;
/// Paths that a server is made ready for.
const PATHS_MAX: usize = 10_000;

/// What to run: contenders times workloads times loads, several rounds of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Name shown in titles and used for the default result folder.
    pub name: String,
    /// One or two sentences for the reader of a report.
    pub description: String,
    /// How often each trial is repeated with a fresh server. At least 1; 1 with a budget, which
    /// decides how many more there are.
    pub rounds: u32,
    /// The time after which it ends, where that is not by a number of rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// When to stop after that; `None` stops there, or a few rounds later where too few of them can
    /// be believed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// What a difference in the work of two contenders does to their comparison.
    pub compare: CompareMode,
    /// Seed of the order of trials and of every open-loop schedule.
    pub seed: u64,
    /// Pause between the end of one trial and the start of the next.
    #[serde(rename = "rest_s", with = "stored::seconds")]
    pub rest: Duration,
    /// Processors given to each role.
    pub pinning: Pinning,
    /// The built-in servers measured beside the contenders.
    pub references: References,
    /// What is compared, in the order of the file.
    pub contenders: Vec<Contender>,
    /// What is asked, in the order of the file.
    pub workloads: Vec<Workload>,
    /// How hard it is asked, in the order of the file.
    pub loads: Vec<Load>,
}

/// What is asked of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Unique in the plan.
    pub name: String,
    /// One sentence for the reader of a report.
    pub description: String,
    /// What a configuration template is chosen by: the name without a protocol.
    pub template: String,
    /// How requests travel.
    pub protocol: Protocol,
    /// Requests and their right answers.
    pub requests: Requests,
    /// How long a connection is used.
    pub connections: Connections,
    /// How clients set it up.
    #[serde(default, skip_serializing_if = "Client::is_plain")]
    pub client: Client,
    /// What placeholders in them stand for; `None` where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Values>,
    /// Files that the server serves.
    pub files: Vec<ServedFile>,
    /// Whether the answer comes from an upstream behind the server.
    pub proxied: bool,
    /// What is wanted of that upstream besides the answer; only where `proxied`.
    pub origin: Option<Demand>,
    /// What a reader of a report should know of it.
    pub notes: Vec<String>,
}

impl Plan {
    /// Whether the first contender is measured a second time in each block.
    pub fn has_control(&self) -> bool {
        let control = self.references.control;
        control.unwrap_or(self.rounds_at_most() >= CONTROL_FROM)
    }

    /// Whether a number of rounds ends it, and not its time.
    pub fn has_fixed_rounds(&self) -> bool {
        self.budget.is_none()
    }

    /// Rounds that are run in any case.
    pub fn rounds_at_least(&self) -> u32 {
        self.until.map_or(self.rounds, |until| {
            self.rounds.max(Until::LOOK_FROM).min(until.max_rounds)
        })
    }

    /// Rounds that may be run: those that a stopping rule leads to, and without one those that make
    /// up for rounds that cannot be believed.
    pub fn rounds_at_most(&self) -> u32 {
        let spare = match self.rounds {
            ..SPARE_FROM => 0,
            rounds => (rounds / ROUNDS_A_SPARE).min(SPARE_MOST),
        };
        let with_spare = self.rounds.saturating_add(spare);
        match (self.budget, self.until) {
            (Some(_), _) => Budget::ROUNDS_MAX,
            (None, Some(until)) => until.max_rounds,
            (None, None) => with_spare,
        }
    }

    /// The plan of a campaign that goes on after its end, for `rounds` in all. Who is measured
    /// stays the same.
    #[must_use]
    pub fn extended(mut self, rounds: u32) -> Self {
        self.references.control = Some(self.has_control());
        self.rounds = rounds;
        self
    }

    /// Puts down in the workloads what a reader should know of the contenders, and of clients. What
    /// is there already is not put down again.
    pub fn note_contenders(&mut self) {
        let notes: Vec<String> = self.contenders.iter().filter_map(Contender::note).collect();
        for workload in &mut self.workloads {
            for note in notes.iter().chain(&workload.client.note()) {
                if !workload.notes.contains(note) {
                    workload.notes.push(note.clone());
                }
            }
        }
    }

    /// Gives its seed to what placeholders stand for.
    pub(crate) fn seed_values(&mut self) {
        let values = self
            .workloads
            .iter_mut()
            .filter_map(|it| it.values.as_mut());
        values.for_each(|values| values.seed = self.seed);
    }

    /// Whether nothing in a plan that was stored leads out of the folders it is for: names are
    /// parts of folders' names, and files are served below a document root. Nor may a search be
    /// one that no plan file could ask for.
    ///
    /// # Errors
    /// The first name or path that does not.
    pub fn check_stored_paths(&self) -> Result<(), String> {
        let contenders = self.contenders.iter().flat_map(|contender| {
            let server = match &contender.server {
                ServerChoice::Program { server, .. } => Some(server),
                _ => None,
            };
            std::iter::once(&contender.name).chain(server)
        });
        let workloads = self.workloads.iter().map(|it| &it.name);
        let mut names = std::iter::once(&self.name)
            .chain(contenders)
            .chain(workloads);
        if let Some(name) = names.find(|name| !is_part(name)) {
            return Err(format!("`{}` cannot be a name", name.escape_debug()));
        }
        let mut files = self.workloads.iter().flat_map(|it| &it.files);
        files.try_for_each(|file| rules::file_path(&file.path).map_err(|fault| fault.problem))?;
        let checked = self.loads.iter().try_for_each(Load::check);
        checked.map_err(|fault| fault.to_string())
    }
}

impl Workload {
    /// The workload as `contender` is asked: below the path of its URL, with right answers of its
    /// own.
    #[must_use]
    pub fn asked_of(&self, contender: &Contender) -> Self {
        let mut workload = self.clone();
        if let ServerChoice::Url(running) = &contender.server {
            workload.requests = workload.requests.map(|request| {
                let mut request = request.clone();
                let mut url = running.url.clone();
                if request.placeholders {
                    // The URL's own braces are no placeholders.
                    url.path = url.path.replace('{', "%7B").replace('}', "%7D");
                }
                request.path = url.below(&request.path);
                request
            });
        }
        let own = contender
            .answers
            .iter()
            .filter(|it| it.workload == self.name);
        for answer in own {
            let position = answer.request as usize;
            workload.requests = workload.requests.changed(position, |request| {
                request.expect = Expected {
                    status: answer.status,
                    body: None,
                    encoding: request.expect.encoding,
                    known_by: KnownBy::Sent(answer.body.clone()),
                };
            });
        }
        workload
    }

    /// Whether the body of any answer has something to be compared with byte by byte, with right
    /// answers of `contender`'s own.
    pub fn compares_bodies(&self, contender: Option<&Contender>) -> bool {
        let is_known = |(index, request): (usize, &Request)| {
            let own = contender.and_then(|it| it.own_answer(&self.name, index));
            let is_known = match own {
                Some(own) => own.body.sha256.is_some(),
                None => request.expect.is_body_known(),
            };
            is_known && request.method != "HEAD"
        };
        self.requests.iter().enumerate().any(is_known)
    }

    /// What its placeholders stand for.
    pub fn values(&self) -> Cow<'_, Values> {
        let values = self.values.as_ref().map(Cow::Borrowed);
        values.unwrap_or_default()
    }

    /// Its requests, cut at their placeholders.
    pub fn cuts(&self) -> Vec<Cut> {
        self.requests.iter().map(Request::cut).collect()
    }

    /// `request` at this position as its first variant.
    pub fn first_variant(&self, position: usize, request: &Request) -> Request {
        self.nth_variant(position, request, 1)
    }

    fn nth_variant(&self, position: usize, request: &Request, number: u64) -> Request {
        if !request.placeholders {
            return request.clone();
        }
        request.filled(self.values().variant(&request.cut(), position, number))
    }

    /// Variants of `request` at this position that stand for all of them: the first two, one in
    /// the middle and the last.
    pub fn samples(&self, position: usize, request: &Request) -> Vec<Request> {
        let last = match request.placeholders {
            true => u64::from(self.values().count(&self.cuts(), None)),
            false => 1,
        };
        let mut numbers = vec![1, 2.min(last), last.div_ceil(2), last];
        numbers.sort_unstable();
        numbers.dedup();
        let numbers = numbers.into_iter();
        numbers
            .map(|number| self.nth_variant(position, request, number))
            .collect()
    }

    /// The workload as its first variants, which a server can be asked. Where paths differ, more
    /// requests follow with those of other variants, for servers that are made ready for a path.
    pub fn filled(&self) -> Cow<'_, Self> {
        if self.values.is_none() {
            return Cow::Borrowed(self);
        }
        let cuts = self.cuts();
        let values = self.values();
        let filled =
            |at: usize, number| self.requests[at].filled(values.variant(&cuts[at], at, number));
        let all = 0..self.requests.len();
        let mut requests: Vec<Request> = all.clone().map(|at| filled(at, 1)).collect();
        let paths: Vec<usize> = all
            .filter(|at| cuts[*at].path.plain_text().is_none())
            .collect();
        for number in 2..=u64::from(values.count(&cuts, None)) {
            if requests.len() + paths.len() > PATHS_MAX {
                break;
            }
            requests.extend(paths.iter().map(|at| filled(*at, number)));
        }
        Cow::Owned(Self {
            requests: requests
                .try_into()
                .unwrap_or_else(|_| self.requests.clone()),
            values: None,
            ..self.clone()
        })
    }
}

/// Whether `name` can be a part of a file's name.
fn is_part(name: &str) -> bool {
    let hidden = name.starts_with('.');
    !name.is_empty() && !hidden && !name.contains(['/', '\\']) && !name.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::*;
    use crate::library::tests::builtin;
    use crate::schedule::RateShape;

    #[test]
    fn a_field_that_is_not_known_is_refused_in_every_part_of_a_stored_plan() {
        fn problem<T: serde::de::DeserializeOwned>(text: &str) -> String {
            let read = serde_json::from_str::<T>(text).map(|_| ());
            read.expect_err(text).to_string()
        }
        let closed = r#"{"kind": "closed", "clients": 3}"#;
        let times = r#""streams": 1, "warmup_s": 0.0, "duration_s": 1.0, "timeout_s": 2.0,
            "connect": "first""#;
        let load = |model: &str, more: &str| format!(r#"{{"model": {model}, {times}{more}}}"#);
        assert!(serde_json::from_str::<Load>(&load(closed, "")).is_ok());
        let misspelt = [
            load(closed, r#", "shape": 2"#),
            load(r#"{"kind": "closed", "clients": 3, "rate": 5}"#, ""),
        ];
        for text in misspelt {
            assert!(problem::<Load>(&text).contains("unknown field"), "{text}");
        }
        let ramp = r#"{"kind": "ramp", "to_per_s": 2.0, "by_s": 1.0}"#;
        assert!(problem::<RateShape>(ramp).contains("unknown field `by_s`"));
        let level = r#"{"kind": "level", "to_per_s": 2.0}"#;
        assert!(problem::<RateShape>(level).contains("unknown field `to_per_s`"));
        use crate::contender::ServerChoice;
        let program = r#"{"kind": "program", "server": "nginx", "version": null, "binary": null,
            "config": {"variant": "default"}, "verison": "1"}"#;
        assert!(problem::<ServerChoice>(program).contains("unknown field `verison`"));
        let origin = r#"{"kind": "origin", "server": "nginx"}"#;
        assert!(problem::<ServerChoice>(origin).contains("unknown field `server`"));
        for kind in ["origin", "yardstick"] {
            let text = format!(r#"{{"kind": "{kind}"}}"#);
            assert!(
                serde_json::from_str::<ServerChoice>(&text).is_ok(),
                "{kind}"
            );
        }
    }

    #[test]
    fn names_and_paths_that_lead_elsewhere_are_refused() {
        let check = |change: &dyn Fn(&mut Plan)| {
            let mut plan = builtin("hotdog");
            change(&mut plan);
            plan.check_stored_paths()
        };
        assert_eq!(check(&|_| ()), Ok(()));
        for name in ["", "..", "../a", "/a", "a/../../b", "a\n", ".a"] {
            assert!(check(&|plan| plan.name = name.to_owned()).is_err());
            assert!(check(&|plan| plan.contenders[1].name = name.to_owned()).is_err());
            assert!(check(&|plan| plan.workloads[1].name = name.to_owned()).is_err());
        }
        let large = |plan: &mut Plan| plan.workloads[2].files[0].path = "../a".to_owned();
        let refused = check(&large).unwrap_err();
        assert_eq!(refused, "`../a` is not a path below the document root");
    }
}
