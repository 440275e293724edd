//! One file's lines while they are changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bakeoff_record::{ConfigChange, open_regular};
use regex_lite::{Captures, Match, Regex};

use super::includes::Lead;
use super::rules::{OpensTable, Rule};
use super::{OwnFile, Tools};
use crate::found::stand_in;
use crate::statements::{self, Statement};
use crate::template::Variables;

/// Longest text after its changes, bytes: replacements of what others have put there may grow
/// without end.
const TEXT_BYTES_MAX: usize = 64 << 20;
/// Where a site listens that says nothing of it.
const SITE_PORT: u16 = 80;

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

/// A line as it was and as it is.
struct Line<'a> {
    before: &'a str,
    now: String,
    why: Vec<String>,
}

impl Line<'_> {
    /// Keeps a reason, each once.
    fn because(&mut self, why: &str) {
        if !self.why.iter().any(|known| known == why) {
            self.why.push(why.to_owned());
        }
    }
}

impl<'a> Edit<'a> {
    pub(super) fn new(file: &'a OwnFile, base: &'a Path, tools: &'a Tools<'a>) -> Self {
        let line = |before: &'a str| Line {
            before,
            now: before.to_owned(),
            why: Vec::new(),
        };
        let looks = tools.rules.look_into_blocks();
        let blocks = looks.then(|| statements::blocks(&file.text));
        Self {
            file,
            base,
            tools,
            blocks: blocks.unwrap_or_default(),
            lines: file.text.lines().map(line).collect(),
            bytes: file.text.len(),
        }
    }

    /// Whether nothing was changed.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| line.now == line.before)
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

    /// What the server's folder says that a trial needs, by all rules that are not `at_rest`.
    pub(super) fn by_rules(&mut self, at_rest: &[bool]) -> Result<(), String> {
        let rules = self.tools.rules.changes.iter().zip(at_rest);
        for (rule, _) in rules.filter(|(_, at_rest)| !**at_rest) {
            let is_readable = self.is_readable(rule);
            for index in 0..self.lines.len() {
                let now = &self.lines[index].now;
                if self.tools.rules.is_comment(now) {
                    continue;
                }
                if rule.line.as_ref().is_some_and(|line| !line.is_match(now)) {
                    continue;
                }
                let changed = self.changed_by(rule, index, is_readable)?;
                let line = &mut self.lines[index];
                if changed != line.now {
                    self.bytes += changed.len();
                    refuse_large(self.bytes)?;
                    line.now = changed;
                    line.because(&rule.why);
                }
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
        let render = |template| (self.tools.render)(template, &variables, &self.file.text);
        line.now = if after.is_match(&line.now) {
            format!("{}\n{}", line.now, render(&insert.lines)?.trim_end())
        } else {
            format!("{}\n{}", render(&insert.otherwise)?.trim_end(), line.now)
        };
        line.because(&insert.why);
        Ok(())
    }

    fn changed_by(&self, rule: &Rule, index: usize, is_readable: bool) -> Result<String, String> {
        let line = self.lines[index].now.as_str();
        let mut changed = String::new();
        let (mut from, mut number) = (0, 0);
        while let Some(captures) = rule.pattern.captures_at(line, from) {
            let Some(whole) = captures.get(0) else {
                break;
            };
            let end = captures.name("next").map_or(whole.end(), |it| it.start());
            if end == from {
                break;
            }
            let mut variables = self.variables(&rule.pattern, &captures)?;
            variables.set("is_readable", is_readable);
            let render = |template| (self.tools.render)(template, &variables, &self.file.text);
            let condition = rule.condition.as_deref().map(render).transpose()?;
            let rests = condition.is_some_and(|said| said.trim().is_empty())
                || self.is_said_inside(rule, index, number);
            number += 1;
            changed.push_str(&line[from..whole.start()]);
            if rests {
                changed.push_str(&line[whole.start()..end]);
            } else {
                changed.push_str(&render(&rule.to)?);
                refuse_large(changed.len())?;
            }
            from = end;
        }
        changed.push_str(&line[from..]);
        Ok(changed)
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
        let opened = self.blocks.get(&(index + 1)).into_iter().flatten();
        let mut opened = opened.filter(|it| it.name() == block);
        let Some(block) = opened.nth(number) else {
            return true;
        };
        let mut inner = block.inner().iter();
        let may_take_in = self.tools.parts.contains(word);
        inner.any(|it| it.name() == word || may_take_in && it.name() == "include")
    }

    /// Whether every file that a rule's group `own_file` names can be read: a certificate of one
    /// pair and a key of another would be refused.
    fn is_readable(&self, rule: &Rule) -> bool {
        let files = self.lines.iter().flat_map(|line| {
            let captures = rule.pattern.captures_iter(&line.now);
            captures.filter_map(|it| it.name("own_file"))
        });
        let path = |file: Match<'_>| self.path(file.as_str());
        let user = self.tools.user;
        files
            .map(path)
            .all(|path| open_regular(&path).is_ok() && user.is_none_or(|user| user.can_read(&path)))
    }

    /// A path as the file has it, from where relative ones begin.
    fn path(&self, text: &str) -> PathBuf {
        self.base.join(text.trim_matches(['"', '\'']))
    }

    /// Whether a folder is here that the server's user can read and that has any of what requests
    /// come to.
    fn is_served(&self, folder: &Path) -> bool {
        let (user, served) = (self.tools.user, self.tools.served);
        // The user may have put the trial's own root there, whose files are not made yet.
        let root = self.tools.variables.texts(&["root"]);
        if root.values().any(|root| folder.starts_with(root)) {
            return true;
        }
        let has_any = served.is_empty() || served.iter().any(|file| folder.join(file).exists());
        folder.is_dir() && user.is_none_or(|user| user.can_read(folder)) && has_any
    }

    /// The trial's variables, the groups of a match, where its port leads, and whether this
    /// machine knows its user and group.
    fn variables(&self, pattern: &Regex, captures: &Captures<'_>) -> Result<Variables, String> {
        let mut variables = self.tools.variables.clone();
        for name in pattern.capture_names().flatten() {
            let text = captures.name(name).map_or("", |group| group.as_str());
            variables.set(name, text);
            match name {
                "own_port" if !text.is_empty() => {
                    let port = text.parse().map_err(|_| format!("{text} is no port"))?;
                    variables.set("mapped_port", self.tools.ports.of(port)?);
                }
                // A site that is not in the file listens where one would by default.
                "own_site" => variables.set("site_port", self.tools.ports.of(SITE_PORT)?),
                "own_folder" => variables.set("is_folder", self.is_served(&self.path(text))),
                "own_regular" => variables.set("is_there", self.path(text).is_file()),
                // A variable that is set is the server's to read.
                "own_variable" => {
                    let is_set = std::env::var_os(text).is_some();
                    let value = stand_in::of(text).filter(|_| !is_set);
                    variables.set("own_value", value.unwrap_or_default());
                    variables.set("is_set", is_set);
                }
                "own_block" => variables.set("is_block", self.tools.blocks.contains(text)),
                "own_user" => variables.set("is_user", is_listed(text, "/etc/passwd")),
                "own_group" => variables.set("is_group", is_listed(text, "/etc/group")),
                _ => {}
            }
        }
        Ok(variables)
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
        for (index, line) in self.lines.into_iter().enumerate() {
            text.push_str(&line.now);
            text.push('\n');
            if line.now != line.before {
                changes.push(ConfigChange {
                    file: self.file.path.display().to_string(),
                    line: index + 1,
                    before: line.before.to_owned(),
                    after: line.now,
                    why: line.why.join("; "),
                });
            }
        }
        (text, changes)
    }
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::files::Access;
    use crate::own::Ports;
    use crate::servers::Servers;
    use crate::template;

    const RUN: &str = "/t/trial/run";

    /// The text after the rules of `server`, as a trial behind an origin has it.
    fn changed(server: &str, text: &str) -> Result<String, String> {
        let server = Servers::new(None).find(server).unwrap();
        let mut variables = Variables::default();
        for (name, value) in [
            ("run", RUN),
            ("address", "127.0.0.1"),
            ("ip", "127.0.0.1"),
            ("base", "/t/trial/own/etc"),
            ("overlay", "/t/trial/overlay"),
            ("origin", "127.0.0.1:3999"),
            ("build", ""),
            ("certificate", "/t/trial/tls/certificate.pem"),
            ("key", "/t/trial/tls/key.pem"),
            ("certificate_and_key", "/t/trial/tls/both.pem"),
        ] {
            variables.set(name, value);
        }
        variables.set("is_root", true);
        let render = |text: &str, variables: &Variables, configuration: &str| {
            let context = template::Context {
                version: "1.0",
                configuration,
                files: &server,
            };
            template::render(text, variables, &context)
        };
        let tools = Tools {
            rules: &server.own,
            replacements: &[],
            variables: &variables,
            ports: &Ports::default(),
            user: None,
            parts: &BTreeSet::new(),
            blocks: &server.own.blocks_in(text).map(str::to_owned).collect(),
            served: &[],
            render: &render,
        };
        let file = OwnFile {
            path: "/etc/main.conf".into(),
            text: text.to_owned(),
            access: Access::of(&std::fs::metadata("/").unwrap()),
        };
        let mut edit = Edit::new(&file, Path::new("/etc"), &tools);
        let is_said = |word: &String| template::says(text, word);
        let is_like = |pattern: &Regex| text.lines().any(|line| pattern.is_match(line));
        let rules = server.own.changes.iter();
        let at_rest: Vec<bool> = rules
            .map(|rule| {
                let is_needless = rule.when.as_ref().is_some_and(|it| !is_like(it));
                is_needless || rule.unless.as_ref().is_some_and(is_said)
            })
            .collect();
        edit.by_rules(&at_rest)?;
        edit.insert()?;
        Ok(edit.finish().0)
    }

    #[track_caller]
    fn check(server: &str, line: &str, expected: &str) {
        let changed = changed(server, line).unwrap();
        assert_eq!(changed.lines().last(), Some(expected), "{line}");
    }

    #[test]
    fn statements_that_share_a_line_are_each_changed() {
        let line = "a { listen 8081; listen [::]:8082 ssl; listen *:8083; } # listen 1;";
        let expected = "a { listen 127.0.0.1:8081; listen [::1]:8082 ssl; \
                        listen 127.0.0.1:8083; } # listen 1;";
        check("nginx", line, expected);
        check("nginx", "# a; listen 8081;", "# a; listen 8081;");
        let line = "upstream a { server b weight=2; server unix:/c; } server_name { }";
        let expected = "upstream a { server 127.0.0.1:3999 weight=2; \
                        server 127.0.0.1:3999; } server_name { }";
        check("nginx", line, expected);
        let line = "\tbind :8081,ipv4@10.0.0.1:8082,[::]:8083-8084 ssl alpn h2,http/1.1";
        let expected = "\tbind 127.0.0.1:8081,127.0.0.1:8082,[::1]:8083-8084 ssl \
                        alpn h2,http/1.1";
        check("haproxy", line, expected);
        let line = "<virtualhost 10.0.0.1 *:8081 [::1]:8082>";
        check("apache", line, "<virtualhost * *:8081 *:8082>");
    }

    #[test]
    fn a_site_without_a_listener_listens_on_this_machine_only() {
        let text = "http {\n  server\n  {\n    root /;\n  }\n  \
                    server { a b; } server { listen 8081; }\n  \
                    map $a $b { default 1; }\n}\n";
        let now = changed("nginx", text).unwrap();
        let lines: Vec<&str> = now.lines().collect();
        let added = |line: &str| line.matches("listen 127.0.0.1:").count();
        let counts: Vec<usize> = lines.iter().map(|line| added(line)).collect();
        assert_eq!(counts, [0, 0, 1, 0, 0, 2, 0, 0], "{now}");
        assert!(lines[5].contains("{ listen 127.0.0.1:8081; }"), "{now}");
        let said = "server {\n  listen unix:/x/a.sock;\n}\n";
        let kept = changed("nginx", said).unwrap();
        assert_eq!(kept, "server {\n  listen unix:/t/trial/run/a.sock;\n}\n");
    }

    #[test]
    fn nginx_stores_nothing_where_it_was_built_to() {
        let names = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|it| it.to_owned());
        let stored = |text: &str| {
            let now = changed("nginx", text).unwrap();
            names.clone().map(|name| {
                let folder = format!("{name}_temp_path");
                let said: Vec<&str> = now.split(&folder).skip(1).collect();
                let is_here = |it: &&str| it.trim_start_matches([' ', '"']).starts_with("/t/");
                (said.len(), said.iter().all(is_here))
            })
        };
        assert_eq!(stored("http {\n}\n"), [(1, true); 5]);
        let own = "http {\n  proxy_temp_path /var/cache/p;\n}\n";
        assert_eq!(stored(own), [(1, true); 5], "none is said twice");
    }

    #[test]
    fn no_upstream_of_caddy_but_the_origin_is_asked() {
        let origin = "127.0.0.1:3999";
        let check = |line: &str, expected: &str| {
            let now = changed("caddy", &format!("a {{\n{line}\n}}\n")).unwrap();
            let lines: Vec<&str> = now.lines().rev().skip(1).collect();
            let expected = expected.replace("ORIGIN", origin);
            let expected: Vec<&str> = expected.lines().rev().collect();
            assert_eq!(lines[..expected.len()], expected, "{line}");
            assert!(lines[expected.len()].starts_with('a'), "{now}");
        };
        for (line, expected) in [
            ("reverse_proxy 10.0.0.5", "reverse_proxy ORIGIN"),
            ("\treverse_proxy app1 app2", "\treverse_proxy ORIGIN ORIGIN"),
            ("\t\tto 10.0.0.6", "\t\tto ORIGIN"),
            ("reverse_proxy app # of ours", "reverse_proxy ORIGIN"),
            ("reverse_proxy app:80 { # ours", "reverse_proxy ORIGIN {"),
            (
                "\treverse_proxy @get \"app:80\" {",
                "\treverse_proxy @get ORIGIN {",
            ),
            (
                "\treverse_proxy /api/* 10.0.0.5:80-89",
                "\treverse_proxy /api/* ORIGIN",
            ),
            ("reverse_proxy * tcp/10.0.0.5:80", "reverse_proxy * ORIGIN"),
            (
                "reverse_proxy http://{host}.lan:80 {x}:1",
                "reverse_proxy ORIGIN ORIGIN",
            ),
            (
                "reverse_proxy [fd00::1] h2c://a unix//b",
                "reverse_proxy ORIGIN ORIGIN ORIGIN",
            ),
            ("\tforward_auth auth {", "\tforward_auth ORIGIN {"),
            ("\tdynamic a app 8080", "\tto ORIGIN"),
            ("\tdynamic srv _http._tcp.app", "\tto ORIGIN"),
            ("\tdynamic a {", "\tto ORIGIN\n\thealth_headers {"),
            (
                "\tdynamic srv app { # ours",
                "\tto ORIGIN\n\thealth_headers {",
            ),
            ("\treverse_proxy @get {", "\treverse_proxy @get {"),
            ("\treverse_proxy {", "\treverse_proxy {"),
            ("\t# reverse_proxy app", "\t# reverse_proxy app"),
        ] {
            check(line, expected);
        }
    }

    #[test]
    fn no_upstream_of_nginx_but_the_origin_is_asked() {
        for (address, expected) in [
            ("\"http://10.0.0.5:3000\"", "http://127.0.0.1:3999"),
            ("'https://10.0.0.5/a'", "http://127.0.0.1:3999/a"),
            ("\"http://10.0.0.5/a b;c\"", "http://127.0.0.1:3999"),
            ("HTTP://10.0.0.5:3000", "http://127.0.0.1:3999"),
            ("http://10.0.0.5:3000 ", "http://127.0.0.1:3999 "),
            ("http://10.0.0.5:3000?a=b", "http://127.0.0.1:3999?a=b"),
            ("http://machine ", "http://127.0.0.1:3999 "),
            ("$backend$request_uri", "http://127.0.0.1:3999"),
            ("${backend}", "http://127.0.0.1:3999"),
            ("$scheme://10.0.0.5:80$request_uri", "http://127.0.0.1:3999"),
            ("\"http://app\"", "http://app"),
        ] {
            let line = |address: &str| {
                format!("upstream app {{ }} location / {{ proxy_pass {address}; }}")
            };
            check("nginx", &line(address), &line(expected));
        }
        let text = "upstream app {\n  server 10.0.0.5:80\n    weight=2;\n}\n\
                    location / {\n  proxy_pass\n    http://10.0.0.6;\n}\n";
        let now = changed("nginx", text).unwrap();
        for line in [
            "  server 127.0.0.1:3999\n    weight=2;",
            // What follows is no directive, and nginx refuses it.
            "  proxy_pass http://127.0.0.1:3999;\n",
        ] {
            assert!(now.contains(line), "no {line:?} in {now}");
        }
    }

    #[test]
    fn what_only_looks_like_it_stays() {
        for (server, line) in [
            (
                "nginx",
                "upstream app { } location / { proxy_pass http://app; }",
            ),
            ("nginx", "server_name listen 80;"),
            ("nginx", "access_log off;"),
            ("haproxy", "    log global"),
            ("haproxy", "    user admin password 1234"),
            ("haproxy", "    log-format \"%ci\""),
            ("apache", "RewriteRule ^/$ https://example.com/ [R,P2]"),
            ("apache", "ProxyPassReverse / http://example.com/"),
            ("apache", "ProxyPass / balancer://app/"),
            ("caddy", "\tadmin $2a$14$hash"),
        ] {
            check(server, line, line);
        }
    }

    proptest! {
        /// Whatever the file holds, it is read to its end; comments stay.
        #[test]
        fn every_text_comes_to_an_end(text in "([ \t#;{}\\[\\]\"|:/,*.a-z0-9$-]|listen |\
            server |bind |log |Listen |proxy_pass http://|<VirtualHost |tls |\n){0,40}")
        {
            for server in ["nginx", "caddy", "haproxy", "apache", "lighttpd"] {
                // A number too large for a port is the only thing to be refused.
                match changed(server, &text) {
                    Ok(changed) => {
                        let comments = |text: &str| text.lines().filter(|it| {
                            it.trim_start().starts_with('#') && !it.contains("Set by bakeoff")
                        }).count();
                        prop_assert_eq!(comments(&changed), comments(&text));
                    }
                    Err(cause) => prop_assert!(cause.ends_with("is no port"), "{}", cause),
                }
            }
        }
    }
}
