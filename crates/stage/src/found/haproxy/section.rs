//! A section of a configuration, and what matters of its lines.

use std::collections::BTreeMap;

use crate::found::Place;

/// Lines of one kind that are kept of a section.
const LINES_MAX: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Defaults,
    Frontend,
    Backend,
    Listen,
    /// What neither listens nor asks.
    Other,
}

impl Kind {
    /// The kind of section that a line with this first word begins; `None` where it begins none.
    pub(super) fn of(word: &str) -> Option<Self> {
        Some(match word {
            "defaults" => Self::Defaults,
            "frontend" => Self::Frontend,
            "backend" => Self::Backend,
            "listen" => Self::Listen,
            "global" | "userlist" | "peers" | "resolvers" | "mailers" | "cache" | "program"
            | "http-errors" | "ring" | "fcgi-app" | "log-forward" | "crt-store" | "traces"
            | "acme" | "log-profile" => Self::Other,
            _ => return None,
        })
    }
}

/// What a condition is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Test {
    Host(String),
    Path(String),
    /// Whether the request came over TLS.
    IsSecure,
    Other,
}

/// A line `bind`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bind {
    pub(super) addresses: String,
    pub(super) options: Vec<String>,
    pub(super) place: Place,
}

/// A line `use_backend` and the like: where it leads, and the words of its condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) condition: Vec<String>,
    pub(super) place: Place,
}

#[derive(Debug, Clone)]
pub(super) struct Section {
    pub(super) kind: Kind,
    /// `http`, `tcp` or another mode.
    pub(super) mode: String,
    /// Where the mode is said; TCP is that of sections that say none.
    pub(super) mode_place: Option<Place>,
    pub(super) binds: Vec<Bind>,
    /// Conditions on the way to a backend.
    pub(super) uses: Vec<Use>,
    pub(super) tests: BTreeMap<String, Vec<Test>>,
    /// Whether it answers whatever is asked: by a default backend, servers, or itself.
    pub(super) answers: bool,
    /// Whether it has counters to show.
    pub(super) has_stats: bool,
    /// Whether it redirects what came in the clear, or all, to https.
    pub(super) redirects: bool,
    has_servers: bool,
}

impl Section {
    pub(super) fn begin(
        kind: Kind,
        rest: &[String],
        place: &Place,
        defaults: Option<&Self>,
    ) -> Self {
        let of_defaults = defaults.filter(|_| kind != Kind::Defaults);
        let mode = of_defaults.map_or_else(|| "tcp".to_owned(), |it| it.mode.clone());
        let mut section = Self {
            kind,
            mode,
            mode_place: of_defaults.and_then(|it| it.mode_place.clone()),
            binds: Vec::new(),
            uses: Vec::new(),
            tests: BTreeMap::new(),
            answers: of_defaults.is_some_and(|it| it.answers),
            has_stats: false,
            redirects: false,
            has_servers: false,
        };
        // Old files have the address behind the name.
        if let (Kind::Frontend | Kind::Listen, Some(addresses)) = (kind, rest.get(1)) {
            section.bind(addresses, &rest[2..], place);
        }
        section
    }

    pub(super) fn is_http(&self) -> bool {
        self.mode == "http"
    }

    /// Whether it has servers, if any are named.
    pub(super) fn passes_on(&self) -> bool {
        matches!(self.kind, Kind::Backend | Kind::Listen)
    }

    /// Whether requests go anywhere from here.
    pub(super) fn leads_on(&self) -> bool {
        self.answers || self.has_servers || !self.uses.is_empty()
    }

    pub(super) fn note(&mut self, words: &[String], place: &Place) {
        let word = |position: usize| words.get(position).map_or("", String::as_str);
        match word(0) {
            "mode" => {
                self.mode = word(1).to_owned();
                self.mode_place = Some(place.clone());
            }
            "bind" => self.bind(word(1), words.get(2..).unwrap_or_default(), place),
            "acl" => self.test(words),
            "default_backend" => self.answers = true,
            "server" | "server-template" => {
                self.has_servers = true;
                self.answers |= self.kind == Kind::Listen;
            }
            "use_backend" => self.use_if(words, place),
            "stats" if ["enable", "uri", "auth"].contains(&word(1)) => self.has_stats = true,
            "redirect" => self.redirect(&words[1..]),
            "http-request" => match word(1) {
                "redirect" => self.redirect(&words[2..]),
                // A script may answer; else it is counters for Prometheus.
                "use-service" if word(2).starts_with("lua.") => self.answers = true,
                "use-service" => self.has_stats = true,
                "return" | "deny" | "auth" if !has_condition(words) => self.answers = true,
                "return" => self.use_if(words, place),
                _ => {}
            },
            _ => {}
        }
    }

    fn bind(&mut self, addresses: &str, options: &[String], place: &Place) {
        if self.binds.len() < LINES_MAX {
            self.binds.push(Bind {
                addresses: addresses.to_owned(),
                options: options.to_vec(),
                place: place.clone(),
            });
        }
    }

    fn use_if(&mut self, words: &[String], place: &Place) {
        match condition(words) {
            None => self.answers = true,
            Some(condition) if self.uses.len() < LINES_MAX => self.uses.push(Use {
                condition: condition.to_vec(),
                place: place.clone(),
            }),
            Some(_) => {}
        }
    }

    /// A redirect to https of all that is asked here in the clear.
    fn redirect(&mut self, words: &[String]) {
        let is_secure = words.windows(2).any(|pair| {
            pair[0] == "scheme" && pair[1] == "https"
                || ["prefix", "location"].contains(&&*pair[0]) && pair[1].starts_with("https://")
        });
        let is_for_all = match condition(words) {
            None => true,
            Some(condition) => is_in_the_clear(condition, &self.tests),
        };
        self.redirects |= is_secure && is_for_all;
    }

    fn test(&mut self, words: &[String]) {
        let Some(name) = words.get(1) else {
            return;
        };
        if self.tests.len() < LINES_MAX || self.tests.contains_key(name) {
            let tests = self.tests.entry(name.clone()).or_default();
            if tests.len() < LINES_MAX {
                tests.push(test(&words[2..]));
            }
        }
    }
}

/// The words behind `if` or `unless`, the word itself first.
fn condition(words: &[String]) -> Option<&[String]> {
    let begin = words
        .iter()
        .position(|word| word == "if" || word == "unless")?;
    Some(&words[begin..])
}

fn has_condition(words: &[String]) -> bool {
    condition(words).is_some()
}

/// Whether a condition is that a request came in the clear, and perhaps that it is not for a few
/// paths.
fn is_in_the_clear(condition: &[String], tests: &BTreeMap<String, Vec<Test>>) -> bool {
    let is_unless = condition.first().is_some_and(|word| word == "unless");
    let text = condition[1..].join(" ");
    let is_secure = |name: &str| {
        tests
            .get(name)
            .is_some_and(|tests| tests.contains(&Test::IsSecure))
    };
    let secure_by_name = condition[1..]
        .iter()
        .any(|word| is_secure(word.trim_start_matches('!')));
    let mentions = text.contains("ssl_fc") || secure_by_name;
    let is_negated =
        text.starts_with('!') || text.contains("!{ ssl_fc") || text.contains("! { ssl_fc");
    let only_exceptions = condition[1..].iter().all(|word| word.starts_with('!'));
    mentions || !is_unless && is_negated && only_exceptions
}

/// What an ACL is about, from its criterion on.
pub(super) fn test(words: &[String]) -> Test {
    let criterion = words.first().map_or("", String::as_str);
    let bare = criterion.split([',', '(']).next().unwrap_or_default();
    let mut values = words.iter().skip(1);
    let mut value = values.next();
    while let Some(flag) = value {
        match flag.as_str() {
            "-i" | "-n" | "--" => value = values.next(),
            // A method of matching has a name behind it.
            "-m" if values.next().is_some() => value = values.next(),
            _ if flag.starts_with('-') => return Test::Other,
            _ => break,
        }
    }
    let is_of_host = criterion.contains("(host") || criterion.contains("(Host");
    let is_plain = |text: &&String| !text.contains(['^', '$', '\\', '*', '(']);
    match (bare, value.filter(is_plain)) {
        ("ssl_fc", _) => Test::IsSecure,
        ("hdr" | "req.hdr" | "hdr_dom" | "hdr_beg" | "hdr_end" | "base_dom", Some(value))
            if is_of_host =>
        {
            Test::Host(value.clone())
        }
        ("path" | "path_beg" | "path_dir" | "url_beg" | "url", Some(value))
            if value.starts_with('/') =>
        {
            Test::Path(value.clone())
        }
        _ => Test::Other,
    }
}
