//! Changes the lines of one file of a user's configuration, and keeps the reason for each change.
//!
//! The contender's replacements come first, then the rules of the server's folder. The result is
//! text: nothing is written here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bakeoff_record::{ConfigChange, open_regular};
use regex_lite::{Captures, Match, Regex};

use super::includes::Lead;
use super::lines::Read;
use super::rules::{OpensTable, OwnRules, Rule};
use super::{OwnFile, Tools};
use crate::environment;
use crate::found::stand_in;
use crate::statements::{self, Statement};
use crate::user::{self, Closed, User};
use crate::variables::Variables;

/// Longest text after its changes, bytes: replacements of what others have put there may grow
/// without end.
const TEXT_BYTES_MAX: usize = 64 << 20;
/// Where a site listens that says nothing of it.
const SITE_PORT: u16 = 80;
/// Whom servers answer as that say nothing of it.
const NOBODY_NAME: &str = "nobody";
/// Nobody answers there.
const NOBODY: &str = "127.0.0.1:9";

pub(super) struct Edit<'a> {
    file: &'a OwnFile,
    /// Where relative paths begin.
    base: &'a Path,
    tools: &'a Tools<'a>,
    lines: Vec<Line<'a>>,
    /// Blocks by the line on which they open, from 1; empty unless a rule asks for them.
    blocks: BTreeMap<usize, Vec<Statement>>,
    /// Of the file, and of all that was put into it.
    bytes: usize,
}

/// A line as it was, as the server read it, and as it is.
struct Line<'a> {
    was: Read<'a>,
    now: String,
    why: Vec<String>,
}

impl Line<'_> {
    fn is_changed(&self) -> bool {
        self.now != self.was.text
    }

    /// Keeps a reason, each once.
    fn because(&mut self, why: &str) {
        if !self.why.iter().any(|known| known == why) {
            self.why.push(why.to_owned());
        }
    }
}

impl<'a> Edit<'a> {
    pub(super) fn new(file: &'a OwnFile, base: &'a Path, tools: &'a Tools<'a>) -> Self {
        let line = |was: Read<'a>| Line {
            now: was.text.clone().into_owned(),
            was,
            why: Vec::new(),
        };
        let lines = tools.rules.foreign.lines.lines(&file.text).into_iter();
        let looks = tools.rules.look_into_blocks();
        let blocks = looks.then(|| statements::blocks(&file.text));
        Self {
            file,
            base,
            tools,
            blocks: blocks.unwrap_or_default(),
            lines: lines.map(line).collect(),
            bytes: file.text.len(),
        }
    }

    /// Whether nothing was changed.
    pub(super) fn is_empty(&self) -> bool {
        !self.lines.iter().any(Line::is_changed)
    }

    /// The contender's own replacements, in lines; `used` is set for those that were found.
    pub(super) fn replace(&mut self, used: &mut [bool]) -> Result<(), String> {
        for (replacement, used) in self.tools.replacements.iter().zip(used) {
            let found = |line: &&mut Line<'_>| line.now.contains(&replacement.from);
            for line in self.lines.iter_mut().filter(found) {
                let to = (self.tools.render)(&replacement.to, self.tools.variables, "")?;
                let times = line.now.matches(&replacement.from).count();
                self.bytes = self.bytes.saturating_add(times.saturating_mul(to.len()));
                refuse_large(self.bytes)?;
                line.now = line.now.replace(&replacement.from, &to);
                line.because("the plan says so");
                *used = true;
            }
        }
        Ok(())
    }

    /// What one of the server's rules says that a trial needs.
    fn by_rule(&mut self, rule: &Rule, is_readable: bool) -> Result<(), String> {
        for index in 0..self.lines.len() {
            let line = &self.lines[index];
            if self.tools.rules.is_comment(&line.now)
                || !rule.looks_into(&line.now, &line.was.section)
            {
                continue;
            }
            let (changed, why) = self.changed_by(rule, index, is_readable)?;
            let line = &mut self.lines[index];
            if changed != line.now {
                self.bytes += changed.len();
                refuse_large(self.bytes)?;
                line.now = changed;
                line.because(&why);
            }
        }
        Ok(())
    }

    /// What the main file gets at its beginning.
    pub(super) fn insert(&mut self) -> Result<(), String> {
        let Some((after, insert)) = &self.tools.rules.insert else {
            return Ok(());
        };
        let is_statement = |line: &Line<'_>| {
            let text = line.now.trim();
            !text.is_empty() && !text.starts_with('#')
        };
        // Caddy lets snippets stand before the block of global options.
        let is_block = |line: &Line<'_>| {
            let is_outer = !line.now.starts_with(char::is_whitespace);
            is_outer && is_statement(line) && after.is_match(&line.now)
        };
        let block = self.lines.iter().position(is_block);
        let mut lines = self.lines.iter_mut().skip(block.unwrap_or(0));
        let Some(line) = lines.find(|line| is_statement(line)) else {
            return Ok(());
        };
        let mut variables = self.tools.variables.clone();
        variables.set("mapped_http_port", self.tools.ports.of(80)?);
        variables.set("mapped_https_port", self.tools.ports.of(443)?);
        let render = |template| (self.tools.render)(template, &variables, self.tools.said.text);
        line.now = if after.is_match(&line.now) {
            format!("{}\n{}", line.now, render(&insert.lines)?.trim_end())
        } else {
            format!("{}\n{}", render(&insert.otherwise)?.trim_end(), line.now)
        };
        line.because(&insert.why);
        Ok(())
    }

    /// A line after a rule, and why the rule has changed it.
    fn changed_by(
        &self,
        rule: &Rule,
        index: usize,
        is_readable: bool,
    ) -> Result<(String, String), String> {
        let line = self.lines[index].now.as_str();
        let mut changed = String::new();
        let mut why = rule.why.clone();
        let (mut from, mut number) = (0, 0);
        while let Some(captures) = rule.pattern.captures_at(line, from) {
            let Some(whole) = captures.get(0) else {
                break;
            };
            let end = captures.name("next").map_or(whole.end(), |it| it.start());
            if end == from {
                break;
            }
            let variables = self.variables(&rule.pattern, &captures);
            let mut variables = variables.map_err(|cause| self.at(index, &cause))?;
            variables.set("is_readable", is_readable);
            variables.set("is_joined", self.lines[index].was.before.contains('\n'));
            variables.set("section", &*self.lines[index].was.section);
            let render = |template| (self.tools.render)(template, &variables, self.tools.said.text);
            let condition = rule.condition.as_deref().map(render).transpose()?;
            let rests = condition.is_some_and(|said| said.trim().is_empty())
                || self.is_said_inside(rule, index, number);
            number += 1;
            changed.push_str(&line[from..whole.start()]);
            if rests {
                changed.push_str(&line[whole.start()..end]);
            } else if let Some(refuse) = &rule.refuse {
                let said = self.lines[index].was.before.trim();
                let problem = format!("`{said}`: {}; {}", render(&rule.why)?, render(refuse)?);
                return Err(self.at(index, &problem));
            } else {
                changed.push_str(&render(&rule.to)?);
                refuse_large(changed.len())?;
                if rule.why.contains("{{") {
                    why = render(&rule.why)?;
                }
            }
            from = end;
        }
        changed.push_str(&line[from..]);
        Ok((changed, why))
    }

    /// A problem with the place of its line.
    fn at(&self, index: usize, problem: &str) -> String {
        format!("line {}: {problem}", self.lines[index].was.number)
    }

    /// Whether the block that the match `number` of a line opens says what the rule would add.
    fn is_said_inside(&self, rule: &Rule, index: usize, number: usize) -> bool {
        let Some(OpensTable {
            block,
            without: word,
        }) = &rule.opens
        else {
            return false;
        };
        let opened = self
            .blocks
            .get(&self.lines[index].was.number)
            .into_iter()
            .flatten();
        let mut opened = opened.filter(|it| it.name() == block);
        let Some(block) = opened.nth(number) else {
            return true;
        };
        self.tools.taken.says(block.inner(), word)
    }

    /// Whether every file that a rule's group `own_file` names here can be read.
    fn is_readable(&self, rule: &Rule) -> bool {
        let mut names = rule.pattern.capture_names().flatten();
        if !names.any(|it| it == "own_file" || it == "own_files") {
            return true;
        }
        let files = self.lines.iter().flat_map(|line| {
            let captures = rule.pattern.captures_iter(&line.now);
            captures.filter_map(|it| it.name("own_file").or(it.name("own_files")))
        });
        let path = |file: Match<'_>| self.path(file.as_str());
        let user = self.tools.user;
        // A folder is that of several such files.
        let may_be_folder = rule
            .pattern
            .capture_names()
            .any(|it| it == Some("own_files"));
        files.map(path).all(|path| {
            let is_there = open_regular(&path).is_ok() || may_be_folder && path.is_dir();
            is_there && user.is_none_or(|user| user.can_read(&path))
        })
    }

    /// A path as the file has it, from where relative ones begin.
    fn path(&self, text: &str) -> PathBuf {
        let path = self.base.join(text.trim_matches(['"', '\'', '`']));
        if !text.contains('\\') || path.exists() {
            return path;
        }
        // A backslash stands before a blank in some files.
        self.base.join(text.replace("\\ ", " "))
    }

    /// Whether a folder is here that the server's user can enter and that has any of what requests
    /// come to.
    fn is_served(&self, folder: &Path) -> bool {
        let (user, served) = (self.tools.user, self.tools.served);
        // The user may have put the trial's own root there, whose files are not made yet.
        let root = self.tools.variables.texts(&["root"]);
        if root.values().any(|root| folder.starts_with(root)) {
            return true;
        }
        let has_any = served.is_empty() || served.iter().any(|file| folder.join(file).exists());
        let is_open = user.is_none_or(|user| user.kept_out_by(folder).is_none());
        folder.is_dir() && is_open && has_any
    }

    /// To whom a file in a folder is closed that requests come to, and by what.
    fn set_closed(&self, folder: &Path, variables: &mut Variables) {
        let root = self.tools.variables.texts(&["root", "overlay"]);
        let is_ours = root.values().any(|root| folder.starts_with(root));
        let mut served = self.tools.served.iter().filter(|_| !is_ours);
        let closed = served.find_map(|file| self.closed(&folder.join(file)));
        variables.set("closed_to", closed.as_ref().map_or("", |it| it.0.as_str()));
        if let Some((_, closed)) = closed {
            variables.set("closed", closed.path.display().to_string());
            variables.set("owner", closed.owner);
            variables.set("missing", closed.missing);
        }
    }

    /// What keeps whoever answers requests from a file, and who that is.
    fn closed(&self, file: &Path) -> Option<(String, Closed)> {
        let own = rustix::process::geteuid();
        if self.tools.user.is_none() && !own.is_root() {
            return Some((user::user_name(own.as_raw()), user::keeps_out(file)?));
        }
        let worker = || self.worker();
        let user = self.tools.user.cloned().or_else(worker)?;
        let closed = user.kept_out_by(file)?;
        Some((user.name, closed))
    }

    /// Whom a server that runs as root answers as; `None` for root, and where nothing is known.
    fn worker(&self) -> Option<User> {
        let pattern = self.tools.rules.foreign.workers.as_ref()?;
        let build = self.tools.variables.texts(&["build"]);
        let texts = build.values().map(String::as_str);
        let lines = [self.tools.said.text].into_iter().chain(texts);
        let mut lines = lines
            .flat_map(str::lines)
            .filter(|line| !self.tools.rules.is_comment(line));
        let name = lines.find_map(|line| pattern.captures(line)?.iter().skip(1).flatten().next());
        User::named(name.map_or(NOBODY_NAME, |name| name.as_str()))
    }

    /// The trial's variables, the groups of a match, where its port leads, and whether this
    /// machine knows its user and group.
    fn variables(&self, pattern: &Regex, captures: &Captures<'_>) -> Result<Variables, String> {
        let mut variables = self.tools.variables.clone();
        let upstream = variables.texts(&["origin"]).remove("origin");
        variables.set_address("upstream", upstream.as_deref().unwrap_or(NOBODY));
        let defined = self.tools.said.defined.iter();
        let defined = defined.filter_map(|(name, it)| Some((name.clone(), it.clone()?)));
        variables.set("defined", defined.collect::<BTreeMap<_, _>>());
        for name in pattern.capture_names().flatten() {
            let text = captures.name(name).map_or("", |group| group.as_str());
            variables.set(name, text);
            match name {
                "own_port" if !text.is_empty() => {
                    let port = text.parse().map_err(|_| format!("{text} is no port"))?;
                    let host = captures.name("own_host").map_or("", |host| host.as_str());
                    variables.set("mapped_port", self.mapped(host, port)?);
                }
                "own_path" => variables.set("own_name", self.tools.names.of(text)),
                // A site that is not in the file listens where one would by default.
                "own_site" => variables.set("site_port", self.tools.ports.of(SITE_PORT)?),
                "own_folder" => {
                    let folder = self.path(text);
                    variables.set("is_folder", self.is_served(&folder));
                    self.set_closed(&folder, &mut variables);
                }
                "own_regular" => variables.set("is_there", self.path(text).is_file()),
                // A variable that is set is the server's to read.
                "own_variable" => {
                    let is_set = environment::inherited(text).is_some();
                    let value = stand_in::of(text).filter(|_| !is_set);
                    variables.set("own_value", value.unwrap_or_default());
                    variables.set("is_set", is_set);
                }
                "own_beside" => variables.set("beside", self.beside(text)),
                "own_environment" => self.set_environment(text, &mut variables),
                "own_block" => variables.set("is_block", self.tools.blocks.contains(text)),
                "own_user" => variables.set("is_user", is_listed(text, "/etc/passwd")),
                "own_group" => variables.set("is_group", is_listed(text, "/etc/group")),
                _ => {}
            }
        }
        Ok(variables)
    }

    /// The port that stands for that of an address; what a rule has put there stays.
    fn mapped(&self, host: &str, port: u16) -> Result<u16, String> {
        let address6 = self.tools.variables.texts(&["address6"]);
        let is_ours = |address6: &String| !address6.starts_with('[') && address6 == host;
        if address6.values().any(is_ours) {
            Ok(port)
        } else {
            self.tools.ports.at(host, port)
        }
    }

    /// Where a relative path leads, if anything is there, in quotes if it had or needs them; empty
    /// for others.
    fn beside(&self, text: &str) -> String {
        let path = self.path(text);
        let is_found = !text.starts_with('/') && path.exists();
        let found = path.to_str().filter(|_| is_found).unwrap_or_default();
        if is_found && (text.starts_with('"') || found.contains(' ')) {
            format!("\"{found}\"")
        } else {
            found.to_owned()
        }
    }

    /// What the server takes for a variable that the file or the environment may set.
    fn set_environment(&self, name: &str, variables: &mut Variables) {
        let set = match self.tools.said.defined.get(name) {
            // It is not certain what the file means; the text stays.
            Some(None) => Some(format!("${{{name}}}")),
            Some(Some(defined)) => Some(defined.clone()),
            None => environment::inherited(name).and_then(|value| value.into_string().ok()),
        };
        variables.set("is_set", set.is_some());
        let value = set.or_else(|| stand_in::of(name).map(str::to_owned));
        variables.set("own_value", value.unwrap_or_default());
    }

    /// Puts other patterns in place of those that `leads` has, so that copies are taken in.
    pub(super) fn lead(&mut self, leads: &BTreeMap<&str, Lead>) {
        for line in &mut self.lines {
            // A rule may have put lines before the first one.
            let parts = line.now.split('\n');
            let led = parts.map(|part| self.tools.rules.with_included(part, leads));
            let led = led.collect::<Vec<_>>().join("\n");
            if led != line.now {
                let rules = self.tools.rules;
                let patterns = line.now.split('\n').flat_map(|part| rules.included(part));
                let whys: BTreeSet<&str> =
                    patterns.filter_map(|it| Some(leads.get(it)?.why)).collect();
                line.now = led;
                whys.into_iter().for_each(|why| line.because(why));
            }
        }
    }

    /// The text, and what is different in it.
    pub(super) fn finish(self) -> (String, Vec<ConfigChange>) {
        let mut text = String::new();
        let mut changes = Vec::new();
        for line in self.lines {
            if !line.is_changed() {
                text.push_str(line.was.before);
                text.push('\n');
                continue;
            }
            text.push_str(&line.now);
            text.push('\n');
            // The lines that follow keep their numbers.
            let [before, now] = [line.was.before, &line.now].map(|it| it.matches('\n').count());
            text.extend(std::iter::repeat_n('\n', before.saturating_sub(now)));
            changes.push(ConfigChange {
                file: self.file.path.display().to_string(),
                line: line.was.number,
                before: line.was.before.to_owned(),
                after: line.now,
                why: line.why.join("; "),
            });
        }
        (text, changes)
    }
}

/// Changes all files of a configuration by the server's rules that are not `at_rest`. What one rule
/// says of files that can be read goes for all: a certificate of one pair and a key of another
/// would be refused, wherever each is named. An error comes with the file that it is in.
pub(super) fn by_rules(
    edits: &mut [Edit<'_>],
    rules: &OwnRules,
    at_rest: &[bool],
) -> Result<(), (PathBuf, String)> {
    let rules = rules.changes.iter().zip(at_rest);
    for (rule, _) in rules.filter(|(_, at_rest)| !**at_rest) {
        let is_readable = edits.iter().all(|edit| edit.is_readable(rule));
        for edit in &mut *edits {
            let edited = edit.by_rule(rule, is_readable);
            edited.map_err(|cause| (edit.file.path.clone(), cause))?;
        }
    }
    Ok(())
}

fn refuse_large(bytes: usize) -> Result<(), String> {
    if bytes <= TEXT_BYTES_MAX {
        return Ok(());
    }
    Err(format!(
        "with its changes it has more than {TEXT_BYTES_MAX} bytes; replace what occurs less often"
    ))
}

/// Whether `name` stands in a list like `/etc/passwd`. Those that only a directory service knows
/// do not, and are changed for want of better knowledge.
fn is_listed(name: &str, list: &str) -> bool {
    let list = std::fs::read(list).unwrap_or_default();
    let mut names = list.split(|byte| *byte == b'\n').map(|line| {
        let end = line.iter().position(|byte| *byte == b':');
        &line[..end.unwrap_or(0)]
    });
    names.any(|listed| listed == name.as_bytes() && !name.is_empty())
}

#[cfg(test)]
mod tests;
