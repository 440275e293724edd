//! `bakeoff try` shows what configuration files contain, what a trial would change in them, and
//! what they answer. It can write a plan that measures them.
//!
//! Each server is started once, sent a request and stopped, as in a trial. Nothing but the plan is
//! written, and only if a flag asks for it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use bakeoff_conduct::{Contestant, start_for_debugging};
use bakeoff_load::shown_url;
use bakeoff_plan::{Plan, Protocol, Request, Workload};
use bakeoff_record::{AnswerCheck, ConfigChange, OwnLimits, ServerFacts};
use bakeoff_report::Redaction;
use bakeoff_stage::{
    Choice, FileFound, Named, Stage, StageError, Surroundings, is_about_failure,
    without_trial_folders,
};

use super::load::address::{has_scheme, is_address, lacks_slashes};
use super::own_file::{self, OwnFile};
use super::race::name;
use super::saved_plan::{SavedPlan, refuse_taken};
use crate::flags::{TryFlags, TryFormat};
use crate::interrupt::Interrupt;
use crate::library::Folder;
use crate::run_folder::RunFolder;
use crate::{exit, output};

mod json;
mod plan;
#[cfg(test)]
mod tests;
mod text;

/// How long a server may answer 404 for a path that its file names, and how often it is asked.
const ROUTES_WITHIN: Duration = Duration::from_secs(3);
const ROUTES_PERIOD: Duration = Duration::from_millis(100);
/// One answer may take this long.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// Other paths that are asked where a site has nothing at its root, and that are named.
const OTHERS_MAX: usize = 20;
const NAMED_MAX: usize = 5;
/// Redirects that are followed.
const REDIRECTS_MAX: usize = 3;

/// A file that was tried.
struct Tried {
    /// As the user named it.
    named: PathBuf,
    /// What it is; `None` where it could not be read, or nobody knows whose it is.
    file: Option<OwnFile>,
    /// Name of its contender.
    contender: String,
    /// What was asked at last.
    choice: Option<Choice>,
    /// Whether the upstream had a part in the answer.
    of_upstream: bool,
    /// Lines that are other in a trial.
    changes: Vec<ConfigChange>,
    version: Option<String>,
    end: End,
}

/// What came of it.
enum End {
    Answered(AnswerCheck),
    /// An answer that is none to measure, and what to do.
    Wrong(AnswerCheck, String),
    /// It was started and did not answer.
    Silent(String),
    /// It cannot be used as it is.
    Refused(String),
}

impl End {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Answered(_) => exit::DONE,
            Self::Wrong(..) | Self::Silent(_) => exit::NOT_VALID,
            Self::Refused(_) => exit::USAGE,
        }
    }
}

pub(crate) fn carry_out(flags: &TryFlags) -> anyhow::Result<u8> {
    refuse_taken(flags.save_plan.as_deref())?;
    let library = Folder::new(flags.library.clone())?;
    let interrupt = Interrupt::listen_with_limit()?;
    let scratch = RunFolder::make()?;
    let (bakeoff, stage) = scratch.stage(library.servers())?;
    let mut tried = read(flags, &library)?;
    let known = tried.iter().filter_map(|it| it.file.as_ref());
    let asking = Asking {
        flags,
        library: &library,
        stage: &stage,
        bakeoff: &bakeoff,
        scratch: scratch.path(),
        protocol: flags
            .protocol
            .or_else(|| own_file::protocol_of_all(known.map(|it| &it.found))),
    };
    for one in &mut tried {
        asking.ask(one);
        if interrupt.came() {
            return Ok(exit::INTERRUPTED);
        }
    }
    let plan = asking.plan_of(&tried)?;
    let redaction = match (flags.show_secrets, &plan) {
        (true, _) => Redaction::nothing(),
        (false, Some((_, plan))) => Redaction::of_plan(plan),
        (false, None) => Redaction::default(),
    };
    let toml = plan.as_ref().map(|(text, _)| text.as_str());
    match (&flags.save_plan, toml) {
        (Some(path), Some(text)) => SavedPlan::write(text, Some(path))?.keep(),
        (Some(path), None) => output::note(&format!(
            "no plan was written to {}: no file answered",
            path.display()
        )),
        (None, _) => {}
    }
    match flags.format {
        TryFormat::Text => output::result(&text::drawn(&tried, toml, flags, &redaction))?,
        TryFormat::Json => output::document(&json::document(&tried, toml, &redaction))?,
    }
    let codes = tried.iter().map(|one| one.end.exit_code());
    // What cannot be used at all comes before what answers wrongly.
    let worst = codes.min_by_key(|code| {
        [exit::USAGE, exit::NOT_VALID]
            .iter()
            .position(|it| it == code)
            .unwrap_or(2)
    });
    Ok(worst.unwrap_or(exit::DONE))
}

/// Looks into each file.
fn read(flags: &TryFlags, library: &Folder) -> anyhow::Result<Vec<Tried>> {
    let here = std::env::current_dir().context("failed to find the current folder")?;
    let named = flags.files.iter().filter_map(|file| file.to_str());
    let is_url = |text: &&str| {
        let is_url = has_scheme(text) || lacks_slashes(text) || is_address(text);
        is_url && !here.join(text).exists()
    };
    if let Some(url) = named.into_iter().find(is_url) {
        return Err(exit::usage(format!(
            "{} is a URL, and `bakeoff try` shows configuration files: `bakeoff load URL` asks a \
             server that runs",
            shown_url(url)
        )));
    }
    let servers = library.servers();
    let said = flags.server.as_deref().map(|server| own_file::Said {
        server,
        of_one: flags.files.len() == 1,
    });
    let mut taken = Vec::new();
    let mut tried = Vec::new();
    for named in &flags.files {
        let is_long = flags
            .files
            .iter()
            .filter(|it| it.file_name() == named.file_name())
            .count()
            > 1;
        let contender = name::free(name::of_file(&here.join(named), is_long), &taken);
        taken.push(contender.clone());
        let read = own_file::read(here.join(named), &servers, said);
        let (file, end) = match read {
            Ok(file) => {
                let refusal = file.refusal().unwrap_or_default();
                (Some(file), End::Refused(refusal))
            }
            Err(error) => (None, End::Refused(format!("{error:#}"))),
        };
        tried.push(Tried {
            named: named.clone(),
            file,
            contender,
            choice: None,
            of_upstream: false,
            changes: Vec::new(),
            version: None,
            end,
        });
    }
    Ok(tried)
}

/// What files are asked with.
struct Asking<'a> {
    flags: &'a TryFlags,
    library: &'a Folder,
    stage: &'a Stage,
    bakeoff: &'a Path,
    scratch: &'a Path,
    /// What all files speak; `None` where that is not known.
    protocol: Option<Protocol>,
}

impl Asking<'_> {
    /// Starts the server of a file, asks it and stops it, unless it was refused already.
    fn ask(&self, one: &mut Tried) {
        let Some(file) = one.file.clone() else {
            return;
        };
        let mut choice = self.choice(&file);
        if file.refusal().is_some() {
            one.choice = Some(choice);
            return;
        }
        for _ in 0..=REDIRECTS_MAX {
            one.choice = Some(choice.clone());
            one.end = self.once(one, &file, &choice);
            let End::Wrong(answer, _) = &one.end else {
                return;
            };
            match followed(answer, &choice, &file) {
                Some(next) => choice = next,
                None => return,
            }
        }
    }

    fn choice(&self, file: &OwnFile) -> Choice {
        let own = file.found.protocols();
        let host = self.flags.host.as_deref();
        let fits = |it: &Protocol| host.is_none() && own.contains(it.name());
        let protocol = self.flags.protocol.or(self.protocol.filter(fits));
        let mut choice = file.found.choice_of(protocol, host);
        if let Some(host) = &self.flags.host {
            choice.host = Some(host.clone());
        }
        if let Some(path) = &self.flags.path {
            choice.ask_for(path);
        }
        choice
    }

    fn once(&self, one: &mut Tried, file: &OwnFile, choice: &Choice) -> End {
        let part = (one.contender.as_str(), file, choice);
        let text = plan::text(&[part], file.has_upstream, true);
        let plan = match self.parsed(&text) {
            Ok(plan) => plan,
            Err(error) => return End::Refused(format!("{error:#}")),
        };
        let (contender, workload) = (&plan.contenders[0], &plan.workloads[0]);
        let surroundings = Surroundings {
            origin: Some(([127, 0, 0, 1], 9).into()),
            cpus: Vec::new(),
            boxed: None,
            log_folder: self.scratch.join("logs").join("changes"),
            action: None,
        };
        match self.stage.prepare(contender, workload, &surroundings) {
            Ok(prepared) => {
                one.changes = shown(&prepared.changes());
                one.version = Some(prepared.program().version.clone());
            }
            Err(error) => return End::Refused(of_stage(&error)),
        }
        let logs = self.scratch.join("logs").join(&one.contender);
        let up = match start_for_debugging(self.stage, self.bakeoff, &logs, contender, workload) {
            Ok(up) => up,
            Err(error) if is_before_start(&error) => return End::Refused(of_stage(&error)),
            Err(error) => return End::Silent(of_stage(&error)),
        };
        let facts = up.server.facts();
        one.changes = shown(&facts.config_changes);
        let answer = self.answer(&up, one, file, workload);
        let _ = up.server.stop();
        if let Some(origin) = up.origin {
            let _ = origin.stop();
        }
        match answer {
            Err(error) => End::Silent(of_stage(&error)),
            Ok(check) => {
                let rule = || {
                    let servers = self.library.servers();
                    servers.forbidding(&file.server, &file.path, choice)
                };
                let rule = Some(check.status)
                    .filter(|it| *it == 403)
                    .and_then(|_| rule());
                let named = said_by(check.status, choice, file, &facts, rule);
                match named.or_else(|| hint(&check, file)) {
                    None => End::Answered(check),
                    Some(hint) => End::Wrong(check, hint),
                }
            }
        }
    }

    /// The answer of a server that is up: where it has nothing at the path that was chosen for it,
    /// that at the first other path of its file that has something.
    fn answer(
        &self,
        up: &Contestant,
        one: &mut Tried,
        file: &OwnFile,
        workload: &Workload,
    ) -> Result<AnswerCheck, StageError> {
        let ask = |request: &Request| up.ask(request, workload.protocol, ANSWER_LIMIT);
        let request = workload.requests.first();
        let mut first = ask(request)?;
        // Routes may be read after the first answer.
        let until = Instant::now() + ROUTES_WITHIN;
        let is_named = file.found.paths.contains(&request.path);
        while is_named && first.fetched.check.status == 404 && Instant::now() < until {
            std::thread::sleep(ROUTES_PERIOD);
            first = ask(request)?;
        }
        let others = match &self.flags.path {
            None if has_nothing(&first.fetched.check) => file.found.paths.as_slice(),
            _ => &[],
        };
        for path in others
            .iter()
            .filter(|path| **path != request.path)
            .take(OTHERS_MAX)
        {
            let other = ask(&Request {
                path: path.clone(),
                ..request.clone()
            })?;
            let check = other.fetched.check;
            if check.status < 300 && !has_nothing(&check) {
                if let Some(choice) = &mut one.choice {
                    choice.take_other(path);
                }
                one.of_upstream = other.of_upstream;
                return Ok(check);
            }
        }
        one.of_upstream = first.of_upstream;
        Ok(first.fetched.check)
    }

    /// The plan of all that answer, as its text and as what that is.
    fn plan_of(&self, tried: &[Tried]) -> anyhow::Result<Option<(String, Plan)>> {
        let answering = tried
            .iter()
            .filter(|one| matches!(one.end, End::Answered(_)));
        let parts: Vec<_> = answering
            .filter_map(|one| {
                Some((
                    one.contender.as_str(),
                    one.file.as_ref()?,
                    one.choice.as_ref()?,
                ))
            })
            .collect();
        let Some((_, _, first)) = parts.first() else {
            return Ok(None);
        };
        let wanted = first.protocol;
        let (parts, others): (Vec<_>, Vec<_>) = parts
            .into_iter()
            .partition(|(_, _, choice)| choice.protocol == wanted);
        for (name, _, choice) in others {
            output::note(&format!(
                "the plan leaves {name} out: it was asked over {}, and a plan asks all over one \
                 protocol, here {}; give --protocol to choose another",
                choice.protocol.name(),
                wanted.name()
            ));
        }
        // What counts is where the requests ended, whatever else the files name.
        let is_part = |one: &&Tried| parts.iter().any(|(name, ..)| *name == one.contender);
        let is_proxied = tried.iter().filter(is_part).any(|one| one.of_upstream);
        let has_root = |(_, file, _): &(_, &OwnFile, _)| !file.found.roots.is_empty();
        let text = plan::text(
            &parts,
            is_proxied,
            !is_proxied || parts.iter().any(has_root),
        );
        let plan = self.parsed(&text)?;
        Ok(Some((text, plan)))
    }

    fn parsed(&self, text: &str) -> anyhow::Result<Plan> {
        bakeoff_plan::parse(text, "try", Path::new("/"), self.library).map_err(exit::usage)
    }
}

/// The changes without the path of the trial's folder, which is gone when they are read.
fn shown(changes: &[ConfigChange]) -> Vec<ConfigChange> {
    let changes = changes.iter().map(|change| ConfigChange {
        after: without_trial_folders(&change.after),
        ..change.clone()
    });
    changes.collect()
}

fn is_before_start(error: &StageError) -> bool {
    use bakeoff_record::Step::{CheckConfig, Prepare};
    matches!(error.step, Prepare | CheckConfig)
}

/// The stage's error with the server's own message, its last lines.
fn of_stage(error: &StageError) -> String {
    let step = crate::display::step_name(error.step);
    let message = error.message.as_deref().unwrap_or("").trim();
    // Servers report much before the line that says why.
    let lines = message.lines();
    let mut why: Vec<&str> = lines.filter(|line| is_about_failure(line)).collect();
    if why.is_empty() {
        why = message.lines().collect();
    }
    let last = &why[why.len().saturating_sub(text::LINES_MAX / 2)..];
    let below: String = last.iter().map(|line| format!("\n{line}")).collect();
    format!("failed at {step}: {error}{below}")
}

/// Whether an answer says that the path is none of the site's: Caddy gives an empty page then.
fn has_nothing(answer: &AnswerCheck) -> bool {
    matches!(answer.status, 400 | 403 | 404 | 405 | 410) || hint_of_nothing(answer).is_some()
}

/// What refused a request, where the file has a line for it.
fn said_by(
    status: u16,
    choice: &Choice,
    file: &OwnFile,
    facts: &ServerFacts,
    rule: Option<Named>,
) -> Option<String> {
    if let Some(limit) = OwnLimits::of(facts).refusing(status, &choice.path) {
        return Some(format!(
            "{limit} may limit how often it is asked: raise that limit, or ask another path with \
             --path"
        ));
    }
    let has_files = !file.found.roots.is_empty() || file.has_upstream;
    if status == 404 && file.server == "nginx" && !has_files {
        return Some(
            "no `root` is set, and a trial has none of nginx's own folders: set one".to_owned(),
        );
    }
    // The rules are those of the site that is asked without a word.
    let is_this = file.found.choice(Some(choice.protocol)).port == choice.port;
    let first = file.found.forbids.as_ref();
    let first = first.filter(|_| status == 403 && is_this);
    let rule = rule.as_ref().or(first)?;
    let name = rule.place.file.file_name().unwrap_or_default().display();
    Some(format!(
        "`{}` ({name}:{}) forbids it to this machine: allow 127.0.0.1 there, or ask another path \
         with --path{}",
        rule.text,
        rule.place.line,
        other_paths(&file.found)
    ))
}

/// What an answer that is none to measure suggests; `None` for one that is. Only a file that asks
/// an upstream may have one that does not answer.
fn hint(answer: &AnswerCheck, file: &OwnFile) -> Option<String> {
    let to = answer.header("location").unwrap_or("nowhere");
    let has_upstream = file.has_upstream;
    let other = other_paths(&file.found);
    Some(match answer.status {
        0..=299 | 304 => return None,
        300..=399 => format!(
            "it redirects to {to}, which is not here; ask for another path with --path, or let \
             the plan expect status {}",
            answer.status
        ),
        401 | 407 => {
            "it asks for credentials: add an `Authorization` header to the plan".to_owned()
        }
        403 => format!("it forbids this path: ask for another with --path{other}"),
        404 => format!("it has nothing at this path: ask for another with --path{other}"),
        421 => "it does not know this name: give one that it serves with --host".to_owned(),
        429 => "it limits how often it is asked: raise that limit".to_owned(),
        502 | 504 if has_upstream => "its upstream does not answer it".to_owned(),
        503 => {
            let upstream = if has_upstream {
                "its upstream does not answer it, or "
            } else {
                ""
            };
            format!(
                "{upstream}it refuses by a limit or with a page of maintenance: raise that limit, \
                 or ask for another path with --path"
            )
        }
        status => format!("status {status} is no right answer: try --path or --host"),
    })
}

/// The paths that a file has, to be named at the end of a hint.
fn other_paths(found: &FileFound) -> String {
    match found.paths.as_slice() {
        [] => String::new(),
        paths => format!(
            "; the file has {}",
            paths[..paths.len().min(NAMED_MAX)].join(", ")
        ),
    }
}

/// The hint as it is shown: only where the server redirects to may hold a secret.
fn shown_hint(hint: &str, answer: &AnswerCheck, redaction: &Redaction) -> String {
    match answer.header("location") {
        Some(to) => hint.replace(to, &redaction.line(to)),
        None => hint.to_owned(),
    }
}

/// A header as it is shown. A challenge has a scheme and a realm in it, and no credentials.
fn shown_header(name: &str, answer: &AnswerCheck, redaction: &Redaction) -> Option<String> {
    let value = answer.header(name)?;
    let is_challenge = name == "www-authenticate" && value.contains("realm=");
    Some(if is_challenge {
        value.to_owned()
    } else {
        redaction.line(value)
    })
}

/// What to ask in place of what has an answer with nothing in it; `None` for any other.
fn hint_of_nothing(answer: &AnswerCheck) -> Option<String> {
    let is_empty = answer.status == 200 && answer.body_bytes == 0;
    is_empty.then(|| {
        "nothing is in that answer, as where no site or route of Caddy fits: ask for another path \
         with --path, or by another name with --host"
            .to_owned()
    })
}

/// Where a redirect leads, if that is another way to ask the same file.
fn followed(answer: &AnswerCheck, choice: &Choice, file: &OwnFile) -> Option<Choice> {
    if !(300..400).contains(&answer.status) {
        return None;
    }
    let to = answer.header("location")?;
    let (scheme, rest) = match to.split_once("://") {
        Some((scheme, rest)) => (Some(scheme), rest),
        None => (None, to),
    };
    let path = rest.find('/').map_or("/", |at| &rest[at..]);
    let path = path.split('#').next().unwrap_or("/");
    let is_secure = scheme.map_or(choice.protocol.is_secure(), |it| it == "https");
    let mut next = choice.clone();
    if is_secure != choice.protocol.is_secure() {
        let usual = [Protocol::H2, Protocol::H1Tls, Protocol::H1];
        let spoken = file.found.protocols();
        let speaks = |it: &&Protocol| it.is_secure() == is_secure && spoken.contains(it.name());
        next = file.found.choice(Some(*usual.iter().find(speaks)?));
    }
    if let (Some(_), Some(host)) = (scheme, rest.split(['/', ':']).next()) {
        let asked = choice.host.as_deref();
        let is_address = host.parse::<std::net::IpAddr>().is_ok();
        if asked != Some(host) && !is_address && !is_listed(file, host) {
            return None;
        }
        if !is_address {
            next.host = Some(host.to_owned());
        }
    }
    next.path = path.to_owned();
    if (next.protocol, &next.path, &next.host) == (choice.protocol, &choice.path, &choice.host) {
        return None;
    }
    next.reasons.push(format!(
        "{} is answered with {}, so its target is asked",
        choice.path, answer.status
    ));
    Some(next)
}

fn is_listed(file: &OwnFile, host: &str) -> bool {
    let mut hosts = file.found.listeners.iter().flat_map(|it| &it.hosts);
    hosts.any(|listed| listed == host)
}
