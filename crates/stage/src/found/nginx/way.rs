//! Which way a request takes through a `server` block: to a file, an upstream, or elsewhere.
//!
//! It follows `location`, `return`, `rewrite`, `try_files` and `index`, where nothing that is known
//! only with a request decides. Files are taken to be there if the way needs them, as a trial makes
//! those that it serves.

use regex_lite::Regex;

use super::super::{Place, UpstreamKind};
use super::tree::{Node, first};

/// Internal redirects that are followed; nginx stops after as many.
const STEPS_MAX: usize = 10;
/// Longest path that a rewrite may make.
const TARGET_BYTES_MAX: usize = 64 << 10;
/// A page that a site may have.
pub(super) const PAGE: &str = "/index.html";

/// Where a request comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Way {
    /// This file below the root is served, or below the last folder of an `alias`.
    File(String),
    /// No folder is said, so nginx looks in the one that it was built for, which no trial has.
    Nowhere,
    /// An upstream is asked, in the end for this path.
    Upstream {
        kind: UpstreamKind,
        path: String,
        place: Place,
    },
    /// The client is sent on.
    Redirect(String),
    /// It ends with this status.
    Status(u16),
    /// Counters, beside what a server is there for.
    Aside,
}

/// A `server` block, and what is said around it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site<'n> {
    pub(super) server: &'n [Node],
    pub(super) http: &'n [Node],
    /// Whether it is asked over TLS.
    pub(super) is_secure: bool,
}

impl Site<'_> {
    /// The way of a request for `path`.
    pub(super) fn way(&self, path: &str) -> Way {
        self.step(path, STEPS_MAX)
    }

    fn step(&self, path: &str, left: usize) -> Way {
        if left == 0 {
            return Way::Status(500);
        }
        if let Some(way) = self.rewritten(self.server, path, left) {
            return way;
        }
        match location(self.server, path) {
            Some(location) => self.content(&[location], path, left),
            None => self.content(&[], path, left),
        }
    }

    /// What comes of a request where the last of these locations, each in the one before, is for
    /// it.
    fn content(&self, within: &[&Node], path: &str, left: usize) -> Way {
        let inner = innermost(within);
        if !inner.is_empty()
            && let Some(way) = self.rewritten(inner, path, left)
        {
            return way;
        }
        if let Some(nested) = location(inner, path) {
            return self.content(&[within, &[nested]].concat(), path, left);
        }
        let is_asked = left == STEPS_MAX;
        if is_asked && first(inner, "internal").is_some() {
            return Way::Status(404);
        }
        if self.forbidding(within).is_some() {
            return Way::Status(403);
        }
        let scope = if inner.is_empty() { self.server } else { inner };
        if let Some(tried) = first(scope, "try_files")
            && let Some(way) = self.tried(tried.values(), within, path, left)
        {
            return way;
        }
        self.handled(within, path, left)
    }

    /// What the handler of a location makes of a request.
    fn handled(&self, within: &[&Node], path: &str, left: usize) -> Way {
        for node in innermost(within) {
            let kind = match node.name() {
                "proxy_pass" => UpstreamKind::Http,
                "fastcgi_pass" => UpstreamKind::FastCgi,
                "uwsgi_pass" => UpstreamKind::Uwsgi,
                "scgi_pass" => UpstreamKind::Scgi,
                "grpc_pass" => UpstreamKind::Grpc,
                "stub_status" => return Way::Aside,
                _ => continue,
            };
            return Way::Upstream {
                kind,
                path: path.to_owned(),
                place: node.place.clone(),
            };
        }
        if path.ends_with('/') {
            return self.index(within, path, left);
        }
        match within.last().and_then(|location| aliased(location, path)) {
            Some(file) => Way::File(file),
            None if self.said(within, "root").is_some() => Way::File(path.to_owned()),
            None => Way::Nowhere,
        }
    }

    /// What forbids requests from this machine in the innermost of these locations: the first rule
    /// that fits, of the innermost rules that there are.
    pub(super) fn forbidding<'s>(&'s self, within: &[&'s Node]) -> Option<&'s Node> {
        let is_rule = |node: &&Node| matches!(node.name(), "allow" | "deny");
        let mut scopes = self.scopes(within);
        let scope = scopes.find(|scope| scope.iter().any(|node| is_rule(&node)))?;
        let fits = |node: &&Node| {
            let from = node.value();
            from == "all" || from.starts_with("127.") || from.starts_with("0.0.0.0/")
        };
        let first = scope.iter().filter(is_rule).find(fits)?;
        (first.name() == "deny").then_some(first)
    }

    /// What forbids requests for `path` from this machine.
    pub(super) fn forbidden(&self, path: &str) -> Option<&Node> {
        let location = location(self.server, path);
        self.forbidding(location.as_slice())
    }

    /// Whether it answers nothing but errors, whatever is asked.
    pub(super) fn refuses_all(&self) -> bool {
        let refuses = |way| matches!(way, Way::Status(400..) | Way::Aside);
        if let Some(said) = first(self.server, "return") {
            return refuses(returned(said.values()));
        }
        let mut locations = self.server.iter().filter(|node| node.name() == "location");
        ["/", PAGE].iter().all(|path| refuses(self.way(path)))
            && locations.all(|it| refuses(self.content(&[it], PAGE, STEPS_MAX)))
    }

    /// The statements around a request, the innermost first.
    fn scopes<'s>(&'s self, within: &[&'s Node]) -> impl Iterator<Item = &'s [Node]> {
        let locations = within.iter().rev().map(|it| it.inner.as_slice());
        locations.chain([self.server, self.http])
    }

    /// What is said closest to the innermost of these locations.
    fn said<'s>(&'s self, within: &[&'s Node], name: &str) -> Option<&'s Node> {
        self.scopes(within).find_map(|scope| first(scope, name))
    }

    /// The file of a folder: a script, if the list has one that an upstream runs.
    fn index(&self, within: &[&Node], path: &str, left: usize) -> Way {
        let said = self.said(within, "index");
        let usual = ["index.html".to_owned()];
        let names = said.map_or(usual.as_slice(), Node::values);
        let place = |name: &String| {
            if name.starts_with('/') {
                name.clone()
            } else {
                format!("{path}{name}")
            }
        };
        let is_plain = |name: &&String| !name.contains('$');
        let mut ways = names
            .iter()
            .filter(is_plain)
            .map(|name| self.step(&place(name), left - 1));
        let Some(first) = ways.next() else {
            return Way::Status(403);
        };
        let is_upstream = |way: &Way| matches!(way, Way::Upstream { .. });
        if is_upstream(&first) {
            first
        } else {
            ways.find(is_upstream).unwrap_or(first)
        }
    }

    /// What `try_files` leads to; `None` if the location goes on with the path as it is.
    fn tried(&self, values: &[String], within: &[&Node], path: &str, left: usize) -> Option<Way> {
        let (last, files) = values.split_last()?;
        for file in files {
            let is_folder = file.ends_with('/');
            if is_folder && path.ends_with('/') && file.starts_with("$uri") {
                return Some(self.handled(within, path, left));
            }
            // What the way has led to so far is made for the trial, and so is a script, and what
            // is a file or nothing.
            let is_made = left < STEPS_MAX || path.ends_with(".php") || last.starts_with('=');
            let is_itself = matches!(
                file.as_str(),
                "$uri" | "$fastcgi_script_name" | "$document_uri" | "$request_filename"
            );
            if is_itself && is_made && !path.ends_with('/') {
                return None;
            }
        }
        if let Some(status) = last.strip_prefix('=') {
            return Some(Way::Status(status.parse().unwrap_or(404)));
        }
        if last.starts_with('@') {
            let mut named = self.server.iter();
            let named = named.find(|node| node.name() == "location" && node.value() == last)?;
            return Some(self.content(&[named], path, left - 1));
        }
        Some(self.step(&local(last, path), left - 1))
    }

    /// What `return` and `rewrite` make of a request, where no condition stands before them.
    fn rewritten(&self, nodes: &[Node], path: &str, left: usize) -> Option<Way> {
        for node in nodes {
            match node.name() {
                "return" => return Some(returned(node.values())),
                // A block for one client or another, but for those that send all on to https.
                "if" if !self.is_secure => {
                    let inner = node.inner.iter();
                    let mut targets = inner.flat_map(|it| it.values().iter());
                    if let Some(target) = targets.find(|it| it.starts_with("https://")) {
                        return Some(Way::Redirect(target.clone()));
                    }
                }
                "rewrite" => {
                    let [pattern, target, flags @ ..] = node.values() else {
                        continue;
                    };
                    if !matches(pattern, path, false) {
                        continue;
                    }
                    let is_redirect = flags.iter().any(|it| it == "permanent" || it == "redirect");
                    if is_redirect || target.contains("://") || target.starts_with("$scheme") {
                        return Some(Way::Redirect(target.clone()));
                    }
                    let next = local(&filled(pattern, target, path), path);
                    if next == path || flags.iter().any(|it| it == "break") {
                        continue;
                    }
                    return Some(self.step(&next, left - 1));
                }
                _ => {}
            }
        }
        None
    }
}

fn innermost<'n>(within: &[&'n Node]) -> &'n [Node] {
    within.last().map_or(&[], |location| &location.inner)
}

/// The file that an `alias` of a location makes of a path, below the last folder that is written
/// out in it; `None` where it has none.
fn aliased(location: &Node, path: &str) -> Option<String> {
    let alias = first(&location.inner, "alias")?.value();
    let written = alias.find('$').unwrap_or(alias.len());
    let tail = &alias[alias[..written].rfind('/').map_or(0, |at| at + 1)..];
    Some(match form(location) {
        Form::Prefix(prefix, _) | Form::Exact(prefix) => {
            format!("{tail}{}", path.strip_prefix(prefix).unwrap_or_default())
        }
        Form::Pattern(pattern, ignores_case) => filled(&cased(pattern, ignores_case), tail, path),
        Form::Named => tail.to_owned(),
    })
}

/// What `return` gives.
fn returned(values: &[String]) -> Way {
    let (status, target) = match values {
        [target] if target.parse::<u16>().is_err() => (302, Some(target)),
        [status, rest @ ..] => (status.parse().unwrap_or(500), rest.first()),
        [] => (500, None),
    };
    match target {
        Some(target) if bakeoff_plan::is_redirect(status) => Way::Redirect(target.clone()),
        _ => Way::Status(status),
    }
}

/// A target with the groups of its pattern filled in.
fn filled(pattern: &str, target: &str, path: &str) -> String {
    let captures = Regex::new(pattern).ok();
    let Some(captures) = captures.as_ref().and_then(|it| it.captures(path)) else {
        return target.to_owned();
    };
    let mut filled = target.to_owned();
    for number in 1..=9 {
        let group = captures.get(number).map_or("", |it| it.as_str());
        filled = filled.replace(&format!("${number}"), group);
        if filled.len() > TARGET_BYTES_MAX {
            return target.to_owned();
        }
    }
    filled
}

/// The path of a target without what is known only with a request.
fn local(target: &str, path: &str) -> String {
    let target = target.split('?').next().unwrap_or_default();
    match target {
        _ if target.starts_with("$uri") || target.starts_with("$request_uri") => path.to_owned(),
        _ => match target.split('$').next().unwrap_or_default() {
            "" => path.to_owned(),
            begin => begin.to_owned(),
        },
    }
}

/// The location that nginx takes for a path, of those in `nodes`.
fn location<'n>(nodes: &'n [Node], path: &str) -> Option<&'n Node> {
    let locations = || nodes.iter().filter(|node| node.name() == "location");
    let exact = locations().find(|node| matches!(form(node), Form::Exact(it) if it == path));
    if exact.is_some() {
        return exact;
    }
    let prefixes = locations().filter_map(|node| match form(node) {
        Form::Prefix(prefix, is_final) if path.starts_with(prefix) => {
            Some((prefix.len(), is_final, node))
        }
        _ => None,
    });
    let longest = prefixes.max_by_key(|(length, _, _)| *length);
    if let Some((_, true, node)) = longest {
        return Some(node);
    }
    let is_like = |node: &&Node| match form(node) {
        Form::Pattern(pattern, ignores_case) => matches(pattern, path, ignores_case),
        _ => false,
    };
    locations()
        .find(is_like)
        .or(longest.map(|(_, _, node)| node))
}

/// A path that a location is for: the begin of a pattern, up to what is no letter of its own.
pub(super) fn path(location: &Node) -> Option<&str> {
    let path = match form(location) {
        Form::Exact(path) | Form::Prefix(path, _) => path,
        Form::Pattern(pattern, _) => {
            let path = pattern.strip_prefix('^')?;
            let is_plain =
                |letter: char| letter.is_ascii_alphanumeric() || "/-_~%".contains(letter);
            let end = path.find(|letter| !is_plain(letter)).unwrap_or(path.len());
            // What may be missing is no part of it.
            let is_optional = path[end..].starts_with(['?', '*', '{']);
            &path[..end - usize::from(is_optional && end > 0)]
        }
        Form::Named => return None,
    };
    Some(path).filter(|path| path.starts_with('/'))
}

/// What a location is for.
enum Form<'n> {
    Exact(&'n str),
    /// `true` if patterns are not looked at.
    Prefix(&'n str, bool),
    /// `true` if letters of both cases are one.
    Pattern(&'n str, bool),
    Named,
}

fn form(node: &Node) -> Form<'_> {
    let values = node.values();
    let (sign, rest) = match values {
        [sign, rest] => (sign.as_str(), rest.as_str()),
        // The sign may stand before the pattern without a blank.
        [one] => {
            let signs = ["^~", "~*", "~", "="];
            let sign = signs.into_iter().find(|sign| one.starts_with(sign));
            (sign.unwrap_or_default(), &one[sign.map_or(0, str::len)..])
        }
        _ => return Form::Named,
    };
    match sign {
        "=" => Form::Exact(rest),
        "^~" => Form::Prefix(rest, true),
        "~" => Form::Pattern(rest, false),
        "~*" => Form::Pattern(rest, true),
        _ if rest.starts_with('@') => Form::Named,
        _ => Form::Prefix(rest, false),
    }
}

/// Whether a pattern of nginx's matches; one that cannot be read here does not.
fn matches(pattern: &str, path: &str, ignores_case: bool) -> bool {
    Regex::new(&cased(pattern, ignores_case)).is_ok_and(|it| it.is_match(path))
}

fn cased(pattern: &str, ignores_case: bool) -> String {
    let flag = if ignores_case { "(?i)" } else { "" };
    format!("{flag}{pattern}")
}
