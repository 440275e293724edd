//! What a Caddyfile contains, by its text: blocks, the directives that matter, and the addresses
//! of its sites.
//!
//! Snippets are read where they stand. What `caddy adapt` says of listeners is in [`adapted`].

pub(super) mod adapted;
mod address;

use bakeoff_plan::Protocol;

use self::address::Address;
use super::{
    Found, Listener, ListenerKind, Named, Place, Text, Upstream, UpstreamKind, add,
    stand_in::{self, Variable},
    tokens,
};

/// What a file that is taken in may begin a block with at its outermost level.
const DIRECTIVES: [&str; 22] = [
    "@",
    "bind",
    "encode",
    "file_server",
    "forward_auth",
    "handle",
    "handle_errors",
    "handle_path",
    "header",
    "import",
    "log",
    "php_fastcgi",
    "redir",
    "request_body",
    "request_header",
    "respond",
    "reverse_proxy",
    "rewrite",
    "root",
    "route",
    "tls",
    "vars",
];
/// What answers a request.
const ANSWERING: [&str; 9] = [
    "abort",
    "acme_server",
    "file_server",
    "forward_proxy",
    "import",
    "metrics",
    "php_fastcgi",
    "respond",
    "reverse_proxy",
];

/// Arguments of an `import` that are looked at, and the longest.
const ARGUMENTS_MAX: usize = 10;
const ARGUMENT_BYTES_MAX: usize = 1000;
/// Begin of an argument in a snippet.
const ARGUMENT: &str = "{args[";
/// Beginnings of variables of the environment: filled in when the file is read, and later.
const VARIABLES: [&str; 2] = ["{$", "{env."];

/// Reads the files of one configuration, the main one first.
pub(super) fn read(files: &[Text<'_>]) -> Found {
    let mut reader = Reader::default();
    for (index, file) in files.iter().enumerate() {
        reader.read(file, index == 0);
    }
    reader.finish()
}

/// Text with the variables of the environment filled in, as far as names say for what.
pub(super) fn filled(text: &str) -> String {
    let [parsed, running] = VARIABLES;
    let filled = stand_in::filled(text, |rest| stand_in::variable(rest, parsed, ":"));
    stand_in::filled(&filled, |rest| stand_in::variable(rest, running, ":"))
}

/// The variable of the environment that a text is.
pub(crate) fn variable(text: &str) -> Option<Variable<'_>> {
    let mut found = VARIABLES.iter();
    found.find_map(|open| stand_in::variable(text, open, ":"))
}

/// An address with the argument in place of its number.
fn with_argument(address: &str, arguments: &[String]) -> String {
    let parts = || {
        let (before, rest) = address.split_once(ARGUMENT)?;
        let (number, behind) = rest.split_once("]}")?;
        let argument = arguments.get(number.parse::<usize>().ok()?)?;
        Some(format!("{before}{argument}{behind}"))
    };
    parts().unwrap_or_else(|| address.to_owned())
}

#[derive(Default)]
struct Reader {
    found: Found,
    sites: Vec<Site>,
    options: Options,
    /// First words of the open blocks, the outermost first.
    blocks: Vec<String>,
    /// Addresses on lines before the one that opens their block.
    addresses: Vec<Address>,
    /// Upstreams that were there when the innermost `reverse_proxy` began.
    upstreams_before: usize,
    /// Lines `import`: a snippet in parentheses, and the arguments for it.
    imports: Vec<(String, Vec<String>)>,
    /// Upstreams that an import names, each with its snippet.
    in_snippets: Vec<(String, Upstream)>,
}

/// Global options that say where sites listen.
struct Options {
    http_port: u16,
    https_port: u16,
    has_https: bool,
    redirects: bool,
    /// The port that the open block `servers` is for; `None` for all.
    of_port: Option<u16>,
    /// What such blocks say, and for which port.
    spoken: Vec<(Option<u16>, Spoken)>,
}

/// Versions of HTTP that are spoken over TLS besides HTTP/1.1.
#[derive(Clone, Copy)]
struct Spoken {
    h2: bool,
    h3: bool,
}

impl Default for Spoken {
    fn default() -> Self {
        Self { h2: true, h3: true }
    }
}

impl Spoken {
    /// By the words of an option `protocols`.
    fn of(words: &[String]) -> Self {
        let has = |name: &str| words.iter().any(|word| word == name);
        Self {
            h2: has("h2"),
            h3: has("h3"),
        }
    }

    /// As far as these names of ALPN allow it. HTTP/3 has its own.
    fn within(self, names: &[String]) -> Self {
        let h2 = self.h2 && names.iter().any(|name| name == "h2");
        Self { h2, ..self }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            http_port: 80,
            https_port: 443,
            has_https: true,
            redirects: true,
            of_port: None,
            spoken: Vec::new(),
        }
    }
}

/// A site, as its block has it.
#[derive(Default)]
struct Site {
    addresses: Vec<Address>,
    place: Place,
    has_tls: bool,
    answers: bool,
    /// Whether it redirects to https.
    redirects: bool,
    /// Names of ALPN, where it says any.
    names: Option<Vec<String>>,
}

impl Reader {
    fn read(&mut self, file: &Text<'_>, is_main: bool) {
        self.blocks.clear();
        self.addresses.clear();
        for (number, line) in (1..).zip(file.text.lines()) {
            let place = file.place(number);
            self.note_variables(line, &place);
            let mut words = tokens(&filled(line));
            while words.first().is_some_and(|word| word == "}") {
                words.remove(0);
                self.blocks.pop();
            }
            let closes = words.len() > 1 && words.last().is_some_and(|word| word == "}");
            let opens = !closes && words.last().is_some_and(|word| word == "{");
            if opens {
                words.pop();
            }
            self.line(&words, opens, &place, is_main);
        }
    }

    fn line(&mut self, words: &[String], opens: bool, place: &Place, is_main: bool) {
        let first = words.first().map_or("", String::as_str);
        let is_list = words.last().is_some_and(|word| word.ends_with(','));
        let is_directive = |name: &&str| first == *name || *name == "@" && first.starts_with('@');
        let is_outer = self.blocks.is_empty() && !DIRECTIVES.iter().any(is_directive);
        if !is_outer || first.is_empty() && !opens {
            self.directive(words, place);
            if opens {
                self.blocks.push(first.to_owned());
            }
            return;
        }
        if first.is_empty() || first.starts_with('(') {
            self.blocks
                .push(if first.is_empty() { "{" } else { first }.to_owned());
            return;
        }
        if !opens && !is_list && !is_main {
            // Options of a block that takes the file in.
            self.directive(words, place);
            return;
        }
        let addresses = words.iter().flat_map(|word| word.split(','));
        let addresses = addresses.filter(|word| !word.is_empty());
        self.addresses.extend(addresses.map(Address::parse));
        if is_list {
            return;
        }
        self.sites.push(Site {
            addresses: std::mem::take(&mut self.addresses),
            place: place.clone(),
            ..Site::default()
        });
        // Without braces the whole file is one site.
        self.blocks.push(first.to_owned());
    }

    fn directive(&mut self, words: &[String], place: &Place) {
        let Some((name, rest)) = words.split_first() else {
            return;
        };
        let is_in_tls = self.blocks.last().is_some_and(|block| block == "tls");
        let is_global = self.blocks.first().is_some_and(|block| block == "{");
        let named = |text: &String| Named {
            text: text.clone(),
            place: place.clone(),
        };
        if is_global {
            self.option(name, rest);
        } else if let Some(site) = self.sites.last_mut() {
            site.note(name, rest);
        }
        match name.as_str() {
            // In a block `storage` it is where Caddy keeps its keys.
            "root" if !is_global => rest
                .last()
                .into_iter()
                .for_each(|it| add(&mut self.found.roots, named(it))),
            "reverse_proxy" | "php_fastcgi" | "forward_auth" => {
                self.upstreams_before = self.found.upstreams.len();
                let is_php = name == "php_fastcgi";
                let kind = if is_php {
                    UpstreamKind::FastCgi
                } else {
                    UpstreamKind::Http
                };
                self.upstreams(rest, kind, place);
            }
            "import" => self.note_import(rest),
            "to" => self.upstreams(rest, UpstreamKind::Http, place),
            "transport" if rest.first().is_some_and(|kind| kind == "fastcgi") => {
                let of_proxy = self.found.upstreams.iter_mut().skip(self.upstreams_before);
                of_proxy.for_each(|upstream| upstream.kind = UpstreamKind::FastCgi);
            }
            "output" if rest.len() > 1 => add(&mut self.found.logs, named(&rest[1])),
            "tls" if rest.len() > 1 => {
                let files = rest.iter().take(2);
                files.for_each(|it| add(&mut self.found.certificates, named(it)));
            }
            "alpn" if is_in_tls => {
                if let Some(site) = self.sites.last_mut() {
                    site.names = Some(rest.to_vec());
                }
            }
            "dns" if is_in_tls || is_global => {
                if let Some(provider) = rest.first() {
                    let text = format!("dns.providers.{provider}");
                    add(&mut self.found.modules, named(&text));
                }
            }
            "acme_dns" if is_global => {
                if let Some(provider) = rest.first() {
                    let text = format!("dns.providers.{provider}");
                    add(&mut self.found.modules, named(&text));
                }
            }
            "order" if is_global => {
                rest.first()
                    .into_iter()
                    .for_each(|it| add(&mut self.found.modules, named(it)));
            }
            _ => {}
        }
    }

    /// A global option.
    fn option(&mut self, name: &str, rest: &[String]) {
        let first = rest.first().map_or("", String::as_str);
        match name {
            "http_port" => self.options.http_port = first.parse().unwrap_or(80),
            "https_port" => self.options.https_port = first.parse().unwrap_or(443),
            "auto_https" => {
                self.options.has_https &= first != "off";
                self.options.redirects &= first != "off" && first != "disable_redirects";
            }
            "servers" => self.options.of_port = Address::parse(first).port,
            "protocols" => {
                let spoken = (self.options.of_port, Spoken::of(rest));
                self.options.spoken.push(spoken);
            }
            _ => {}
        }
    }

    fn upstreams(&mut self, rest: &[String], kind: UpstreamKind, place: &Place) {
        // A matcher may stand before them.
        let is_matcher = |word: &&String| word.starts_with(['/', '@', '*']);
        for address in rest.iter().filter(|word| !is_matcher(word)) {
            let upstream = Upstream {
                kind,
                address: address.clone(),
                place: place.clone(),
            };
            match self.blocks.first() {
                Some(snippet)
                    if address.contains(ARGUMENT) && address.len() <= ARGUMENT_BYTES_MAX =>
                {
                    add(&mut self.in_snippets, (snippet.clone(), upstream));
                }
                _ => add(&mut self.found.upstreams, upstream),
            }
        }
    }

    fn note_variables(&mut self, line: &str, place: &Place) {
        if line.trim_start().starts_with('#') {
            return;
        }
        for open in VARIABLES {
            let mut rest = line;
            while let Some(variable) = stand_in::variable(rest, open, ":") {
                let text = rest[variable.from..variable.to].to_owned();
                let others = &mut self.found.placeholders;
                if !others.iter().any(|other| other.text == text) {
                    let place = place.clone();
                    add(others, Named { text, place });
                }
                rest = &rest[variable.to..];
            }
        }
    }

    fn note_import(&mut self, rest: &[String]) {
        if let [name, arguments @ ..] = rest
            && !arguments.is_empty()
        {
            let arguments = arguments.iter().take(ARGUMENTS_MAX);
            let arguments = arguments.take_while(|it| it.len() <= ARGUMENT_BYTES_MAX);
            let arguments: Vec<String> = arguments.cloned().collect();
            add(&mut self.imports, (format!("({name})"), arguments));
        }
    }

    /// The upstreams of snippets, as the imports of these name them.
    fn take_imported(&mut self) {
        for (name, upstream) in &self.in_snippets {
            for (_, arguments) in self.imports.iter().filter(|(it, _)| it == name) {
                let address = with_argument(&upstream.address, arguments);
                add(
                    &mut self.found.upstreams,
                    Upstream {
                        address,
                        ..upstream.clone()
                    },
                );
            }
        }
    }

    fn finish(mut self) -> Found {
        self.take_imported();
        let options = std::mem::take(&mut self.options);
        for site in &self.sites {
            for address in &site.addresses {
                let listener = site.listener(address, &options);
                merge(&mut self.found.listeners, listener);
            }
        }
        if options.has_https && options.redirects {
            add_redirects(&mut self.found.listeners, options.http_port);
        }
        self.found
    }
}

impl Site {
    fn note(&mut self, name: &str, rest: &[String]) {
        if name == "redir" {
            let mut targets = rest.iter();
            self.redirects |= targets.any(|target| target.starts_with("https://"));
        }
        self.answers |= ANSWERING.contains(&name);
        self.has_tls |= name == "tls";
    }

    /// What its listener at a port speaks over TLS: options for that port count before others.
    fn spoken(&self, port: u16, options: &Options) -> Spoken {
        let of = |wanted| {
            options
                .spoken
                .iter()
                .find(|(of_port, _)| *of_port == wanted)
        };
        let spoken = of(Some(port)).or_else(|| of(None));
        let spoken = spoken.map(|(_, spoken)| *spoken).unwrap_or_default();
        self.names
            .as_deref()
            .map_or(spoken, |names| spoken.within(names))
    }

    fn listener(&self, address: &Address, options: &Options) -> Listener {
        let host = address.host.as_str();
        let is_clear = address.scheme == "http";
        let is_secure = address.scheme == "https" || self.has_tls;
        let has_name = !host.is_empty();
        let is_https = !is_clear && (has_name && options.has_https || is_secure);
        let port = address.port.unwrap_or(if is_https {
            options.https_port
        } else {
            options.http_port
        });
        let is_usual = port == options.https_port || has_name && port != options.http_port;
        let has_tls = !is_clear && (is_secure || options.has_https && is_usual);
        let is_redirect = self.redirects && !self.answers && !has_tls;
        Listener {
            address: "*".to_owned(),
            port: Some(port),
            protocols: protocols(has_tls, self.spoken(port, options)),
            hosts: has_name.then(|| host.to_owned()).into_iter().collect(),
            kind: if is_redirect {
                ListenerKind::Redirect
            } else {
                ListenerKind::Http
            },
            place: self.place.clone(),
        }
    }
}

/// What a listener of Caddy speaks, which agrees on HTTP/2 over TLS wherever it can.
fn protocols(has_tls: bool, spoken: Spoken) -> Vec<Protocol> {
    if !has_tls {
        return vec![Protocol::H1];
    }
    let mut protocols = vec![Protocol::H1Tls];
    protocols.extend(spoken.h2.then_some(Protocol::H2));
    protocols.extend(spoken.h3.then_some(Protocol::H3));
    protocols
}

/// Adds a listener, or its names to the one that is like it.
fn merge(listeners: &mut Vec<Listener>, listener: Listener) {
    let is_same = |other: &&mut Listener| {
        other.port == listener.port
            && other.protocols == listener.protocols
            && other.kind == listener.kind
    };
    let Some(other) = listeners.iter_mut().find(is_same) else {
        return add(listeners, listener);
    };
    // One site without a name answers to any.
    if listener.hosts.is_empty() || other.hosts.is_empty() {
        other.hosts.clear();
        return;
    }
    listener
        .hosts
        .into_iter()
        .for_each(|host| add(&mut other.hosts, host));
}

/// The redirects that Caddy makes for sites over TLS.
fn add_redirects(listeners: &mut Vec<Listener>, http_port: u16) {
    let of_tls = |it: &&Listener| it.protocols.contains(&Protocol::H1Tls) && !it.hosts.is_empty();
    let hosts: Vec<String> = listeners
        .iter()
        .filter(of_tls)
        .flat_map(|it| it.hosts.clone())
        .collect();
    let is_there = listeners.iter().any(|it| it.port == Some(http_port));
    if hosts.is_empty() || is_there {
        return;
    }
    let redirect = Listener {
        address: "*".to_owned(),
        port: Some(http_port),
        protocols: protocols(false, Spoken::default()),
        hosts,
        kind: ListenerKind::Redirect,
        place: Place::default(),
    };
    add(listeners, redirect);
}

#[cfg(test)]
mod tests;
