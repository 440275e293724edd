//! What a configuration of lighttpd contains: where it listens, and what it answers there. What
//! stands in a condition on the name or the address counts for the site of that condition.

use std::collections::BTreeMap;

use bakeoff_plan::Protocol;

use super::{Found, Listener, ListenerKind, Named, Place, Text, Upstream, UpstreamKind, add};

/// Port of a server that names none.
const PORT: u16 = 80;
/// Conditions within each other that are kept apart; those further inside count as the last.
const DEPTH_MAX: usize = 20;

/// Longest value that is made of several.
const JOINED_BYTES_MAX: usize = 4096;

/// A part of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Word {
    /// A text in quotes.
    Text(String),
    /// A name, a number, or an operator.
    Bare(String),
}

/// What a condition is about.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Condition {
    Socket(String),
    Host {
        name: String,
        is_pattern: bool,
    },
    Path(String),
    /// Whom it lets be, unless it is this machine.
    Elsewhere,
    Other,
}

/// What answers under one name at one address.
#[derive(Debug, Default)]
struct Site {
    /// As it is written; empty for the server's own.
    socket: String,
    host: String,
    place: Place,
    is_secure: bool,
    /// Whether it has something to answer with.
    answers: bool,
    redirects: bool,
}

/// Reads the files of one configuration, the main one first.
pub(super) fn read(files: &[Text<'_>]) -> Found {
    let mut reader = Reader::default();
    for file in files {
        for (line, words) in statements(file.text) {
            reader.take(&words, &file.place(line));
        }
    }
    reader.ended()
}

#[derive(Default)]
struct Reader {
    found: Found,
    /// The server's own, then one for each condition on an address or a name.
    sites: Vec<Site>,
    open: Vec<Condition>,
    address: Option<String>,
    port: Option<(u16, Place)>,
    paths: Vec<String>,
    variables: BTreeMap<String, String>,
}

impl Reader {
    /// A value of texts and variables that are added to each other, up to a bound.
    fn joined(&self, value: &[Word]) -> String {
        let mut joined = String::new();
        for (at, word) in value.iter().enumerate() {
            let is_sign = word.as_bare() == "+";
            if is_sign != (at % 2 == 1) || joined.len() > JOINED_BYTES_MAX {
                break;
            }
            let variable = self.variables.get(word.as_bare());
            let text = variable.map_or(word.as_str(), String::as_str);
            joined.push_str(if is_sign { "" } else { text });
        }
        joined
    }

    fn take(&mut self, words: &[Word], place: &Place) {
        match words {
            [.., last] if last.as_bare() == "{" && self.open.len() < DEPTH_MAX => {
                self.open.push(condition(words));
            }
            [first] if first.as_bare() == "}" => drop(self.open.pop()),
            [Word::Bare(key), Word::Bare(_), value @ ..] => self.assign(key, value, place),
            _ => {}
        }
    }

    fn assign(&mut self, key: &str, value: &[Word], place: &Place) {
        let joined = self.joined(value);
        let first = joined.as_str();
        let named = |text: &str| Named {
            text: text.to_owned(),
            place: place.clone(),
        };
        let found = &mut self.found;
        match key {
            "server.port" => self.port = first.parse().ok().map(|it| (it, place.clone())),
            "server.bind" => self.address = Some(first.to_owned()),
            "server.document-root" => add(&mut found.roots, named(first)),
            "accesslog.filename" | "server.errorlog" => add(&mut found.logs, named(first)),
            "ssl.pemfile" | "ssl.privkey" | "ssl.ca-file" => {
                add(&mut found.certificates, named(first));
            }
            _ if key.starts_with("var.")
                && joined.len() <= JOINED_BYTES_MAX
                && self.variables.len() < super::THINGS_MAX =>
            {
                self.variables.insert(key.to_owned(), joined.clone());
            }
            _ => {}
        }
        let kind = match key {
            "proxy.server" => Some(UpstreamKind::Http),
            "fastcgi.server" => Some(UpstreamKind::FastCgi),
            "scgi.server" => Some(UpstreamKind::Scgi),
            "uwsgi.server" => Some(UpstreamKind::Uwsgi),
            _ => None,
        };
        let prefix = || first_text(value).filter(|it| it.starts_with('/'));
        if let Some(kind) = kind {
            for address in addresses(value) {
                let place = place.clone();
                add(
                    &mut found.upstreams,
                    Upstream {
                        kind,
                        address,
                        place,
                    },
                );
            }
            let within = self.open.iter().rev().find_map(|it| match it {
                Condition::Path(path) => Some(path.clone()),
                _ => None,
            });
            let path = prefix().map(str::to_owned).or(within);
            add(&mut self.paths, path.unwrap_or_else(|| "/".to_owned()));
        } else if key == "server.document-root" {
            add(&mut self.paths, "/".to_owned());
        } else if key == "alias.url"
            && let Some(path) = prefix()
        {
            add(&mut self.paths, path.to_owned());
        }
        self.note(key, value, place, kind.is_some());
    }

    /// Notes what a statement says of the site that it is in.
    fn note(&mut self, key: &str, value: &[Word], place: &Place, asks: bool) {
        let is_path = self.open.iter().any(|it| matches!(it, Condition::Path(_)));
        let is_other = self.open.contains(&Condition::Other);
        let is_on = |word: &Word| matches!(word.as_str(), "enable" | "true");
        let is_denial = key == "url.access-deny" && value.contains(&Word::Text(String::new()));
        let is_here = self.open.iter().all(|it| *it == Condition::Elsewhere);
        if is_denial && is_here {
            self.found.forbids.get_or_insert_with(|| Named {
                text: format!("{key} = ( \"\" )"),
                place: place.clone(),
            });
        }
        let site = self.site(place);
        match key {
            "ssl.engine" => site.is_secure |= value.iter().any(is_on),
            "server.document-root" => site.answers = true,
            "url.redirect" if !is_path && !is_other => site.redirects |= is_of_all(value),
            _ => site.answers |= asks,
        }
    }

    /// The site that a statement is about.
    fn site(&mut self, place: &Place) -> &mut Site {
        let (mut socket, mut host) = (String::new(), String::new());
        for condition in &self.open {
            match condition {
                Condition::Socket(text) => socket.clone_from(text),
                Condition::Host {
                    name,
                    is_pattern: false,
                } => host.clone_from(name),
                _ => {}
            }
        }
        let is_it = |it: &Site| it.socket == socket && it.host == host;
        let at = self.sites.iter().position(is_it).unwrap_or_else(|| {
            if self.sites.len() < super::THINGS_MAX {
                self.sites.push(Site {
                    socket,
                    host,
                    place: place.clone(),
                    ..Site::default()
                });
            }
            self.sites.len() - 1
        });
        &mut self.sites[at]
    }

    fn ended(mut self) -> Found {
        let own = self.address.clone().unwrap_or_else(|| "*".to_owned());
        let secure = self
            .sites
            .iter()
            .filter(|it| it.is_secure && it.host.is_empty());
        let secure: Vec<String> = secure.map(|it| it.socket.clone()).collect();
        let answers_main = self.sites.iter().any(|it| it.is_main() && it.answers);
        let sockets: Vec<&str> = self.sites.iter().map(|it| it.socket.as_str()).collect();
        if self.sites.is_empty() || !sockets.contains(&"") {
            self.sites.insert(0, Site::default());
        }
        for site in &self.sites {
            let mut place = &site.place;
            let (address, port) = match (site.socket.as_str(), &self.port) {
                ("", Some((port, at))) => {
                    if site.is_main() {
                        place = at;
                    }
                    (own.clone(), Some(*port))
                }
                ("", None) => (own.clone(), Some(PORT)),
                (socket, _) => address(socket),
            };
            let is_secure = site.is_secure || secure.contains(&site.socket);
            let hosts = Some(site.host.clone()).filter(|host| !host.is_empty());
            let listener = Listener {
                address,
                port,
                protocols: vec![if is_secure {
                    Protocol::H1Tls
                } else {
                    Protocol::H1
                }],
                hosts: hosts.into_iter().collect(),
                kind: if site.redirects {
                    ListenerKind::Redirect
                } else {
                    ListenerKind::Http
                },
                place: place.clone(),
            };
            let is_named = !site.host.is_empty();
            if !is_named || site.answers || site.redirects || !answers_main {
                add(&mut self.found.listeners, listener);
            }
        }
        super::sort(&mut self.found.listeners);
        super::choose_paths(&mut self.found, self.paths);
        self.found
    }
}

impl Site {
    fn is_main(&self) -> bool {
        self.socket.is_empty() && self.host.is_empty()
    }
}

impl Word {
    fn as_str(&self) -> &str {
        match self {
            Self::Text(text) | Self::Bare(text) => text,
        }
    }

    /// What stands without quotes; empty for a text.
    fn as_bare(&self) -> &str {
        match self {
            Self::Bare(text) => text,
            Self::Text(_) => "",
        }
    }
}

/// The statements of a file, each with its first line. One ends with its line, unless brackets are
/// open in it, or with the brace that begins or ends a block.
fn statements(text: &str) -> Vec<(usize, Vec<Word>)> {
    let mut all = Vec::new();
    let (mut words, mut begun, mut depth) = (Vec::new(), 1, 0_usize);
    for (number, line) in (1..).zip(text.lines()) {
        if words.is_empty() {
            begun = number;
        }
        for word in words_of(line) {
            let is_end = match word.as_bare() {
                "(" => {
                    depth += 1;
                    false
                }
                ")" => {
                    depth = depth.saturating_sub(1);
                    false
                }
                brace => matches!(brace, "{" | "}"),
            };
            if word.as_bare() == "}" && !words.is_empty() {
                all.push((begun, std::mem::take(&mut words)));
            }
            words.push(word);
            if is_end {
                all.push((number, std::mem::take(&mut words)));
                depth = 0;
            }
        }
        if depth == 0 && !words.is_empty() {
            all.push((begun, std::mem::take(&mut words)));
        }
    }
    all
}

fn words_of(line: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next().filter(|first| *first != '#') {
        let (word, end) = match first {
            '"' => {
                let inside = &rest[1..];
                let end = inside.find('"').unwrap_or(inside.len());
                let text = Word::Text(inside[..end].to_owned());
                (text, (end + 2).min(rest.len()))
            }
            '(' | ')' | '{' | '}' | ',' => (Word::Bare(first.to_string()), 1),
            '$' => {
                // `$HTTP["host"]` is one word.
                let end = rest.find(']').map_or(rest.len(), |at| at + 1);
                (Word::Bare(rest[..end].to_owned()), end)
            }
            _ => {
                let is_end = |c: char| c.is_whitespace() || "(){},\"#$".contains(c);
                let is_mark = |c: char| "=+!~:>".contains(c);
                let other = |c: char| is_end(c) || is_mark(c) != is_mark(first);
                let end = rest[first.len_utf8()..].find(other);
                let end = end.map_or(rest.len(), |at| at + first.len_utf8());
                (Word::Bare(rest[..end].to_owned()), end)
            }
        };
        words.push(word);
        rest = rest[end..].trim_start();
    }
    words
}

/// The condition that a block begins with.
fn condition(words: &[Word]) -> Condition {
    let mut words = words.iter().skip_while(|it| !it.as_bare().starts_with('$'));
    let (Some(about), Some(how), Some(Word::Text(value))) =
        (words.next(), words.next(), words.next())
    else {
        return Condition::Other;
    };
    let is_pattern = how.as_bare() == "=~";
    let value = value.clone();
    match (about.as_bare(), how.as_bare()) {
        ("$SERVER[\"socket\"]", "==") => Condition::Socket(value),
        ("$HTTP[\"host\"]", "==" | "=~") => Condition::Host {
            name: value,
            is_pattern,
        },
        ("$HTTP[\"url\"]", "==" | "=~" | "=^") => {
            let path = value.trim_start_matches('^');
            let is_sign = |c: char| "(.*[|?+$\\".contains(c);
            Condition::Path(path[..path.find(is_sign).unwrap_or(path.len())].to_owned())
        }
        ("$HTTP[\"remoteip\"]" | "$HTTP[\"remote-ip\"]", "!=" | "!~") => Condition::Elsewhere,
        ("$HTTP[\"scheme\"]", "==") if value == "http" => Condition::Elsewhere,
        _ => Condition::Other,
    }
}

fn first_text(value: &[Word]) -> Option<&str> {
    value.iter().find_map(|word| match word {
        Word::Text(text) => Some(text.as_str()),
        Word::Bare(_) => None,
    })
}

/// Whom a list of servers names: `"host" => "127.0.0.1", "port" => 9000`, or a socket.
fn addresses(value: &[Word]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut host = None;
    for three in value.windows(3) {
        let [Word::Text(key), Word::Bare(arrow), said] = three else {
            continue;
        };
        match (key.as_str(), arrow.as_str()) {
            ("host", "=>") => {
                host = Some(said.as_str());
                all.push(said.as_str().to_owned());
            }
            ("port", "=>") => {
                let at = host.take().unwrap_or("127.0.0.1");
                if all.last().is_some_and(|it| it == at) {
                    all.pop();
                }
                all.push(format!("{at}:{}", said.as_str()));
            }
            ("socket", "=>") => all.push(format!("unix:{}", said.as_str())),
            _ => {}
        }
    }
    all
}

/// Whether a list of redirects sends every request to https.
fn is_of_all(value: &[Word]) -> bool {
    value.windows(3).any(|three| match three {
        [Word::Text(pattern), Word::Bare(arrow), Word::Text(target)] => {
            let is_any = matches!(
                pattern.trim_end_matches('$'),
                "" | ".*" | "(.*)" | "^" | "^.*" | "^(.*)" | "^/(.*)" | "^/.*" | "/(.*)" | "^/"
            );
            arrow == "=>" && is_any && target.starts_with("https:")
        }
        _ => false,
    })
}

/// Address and port of a socket: `:443`, `[::]:80`, `/run/site.sock`.
fn address(socket: &str) -> (String, Option<u16>) {
    if socket.starts_with('/') {
        return (format!("unix:{socket}"), None);
    }
    let (host, port) = socket.rsplit_once(':').unwrap_or((socket, ""));
    let host = if host.is_empty() { "*" } else { host };
    (host.to_owned(), Some(port.parse().unwrap_or(PORT)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn of(text: &str) -> Found {
        read(&[Text {
            path: Path::new("lighttpd.conf"),
            text,
        }])
    }

    fn listeners(found: &Found) -> Vec<(Option<u16>, ListenerKind, Protocol, String, usize)> {
        let all = found.listeners.iter();
        let row = |it: &Listener| {
            let host = it.hosts.first().cloned().unwrap_or_default();
            (it.port, it.kind, it.protocols[0], host, it.place.line)
        };
        all.map(row).collect()
    }

    #[test]
    fn a_site_of_files_has_a_listener_a_root_and_logs() {
        let found = of(
            "server.document-root = \"/srv/www\" # files\nserver.port = 8080\n\
             server.errorlog = \"/var/log/e.log\"\n",
        );
        let expected = (
            Some(8080),
            ListenerKind::Http,
            Protocol::H1,
            String::new(),
            2,
        );
        assert_eq!(listeners(&found), [expected]);
        assert_eq!(
            (found.roots[0].text.as_str(), found.path),
            ("/srv/www", None)
        );
        assert_eq!(found.logs[0].place.line, 3);
        assert_eq!(listeners(&of(""))[0].0, Some(80));
    }

    #[test]
    fn conditions_on_names_and_sockets_are_sites_of_their_own() {
        let found = of("server.document-root = \"/srv\"\n\
             $HTTP[\"host\"] == \"www.a.test\" {\n  url.redirect = ( \"^/(.*)\" => \
             \"https://a.test/$1\" )\n}\n\
             $SERVER[\"socket\"] == \":443\" {\n  ssl.engine = \"enable\"\n  \
             ssl.pemfile = \"/etc/a.pem\"\n}\n\
             else $HTTP[\"host\"] == \"b.test\" {\n proxy.server = ( \"\" =>\n ( ( \"host\" => \
             \"10.0.0.1\", \"port\" => 9000 ) ) )\n}\n");
        use ListenerKind::{Http, Redirect};
        assert_eq!(
            listeners(&found),
            [
                (Some(80), Http, Protocol::H1, String::new(), 1),
                (Some(80), Redirect, Protocol::H1, "www.a.test".to_owned(), 3),
                (Some(443), Http, Protocol::H1Tls, String::new(), 6),
                (Some(80), Http, Protocol::H1, "b.test".to_owned(), 10),
            ]
        );
        assert_eq!(found.upstreams[0].address, "10.0.0.1:9000");
        assert_eq!(found.certificates[0].text, "/etc/a.pem");
    }

    #[test]
    fn values_may_be_joined_and_a_name_is_asked_as_its_socket_is() {
        let found = of("var.base = \"/srv\"\nvar.site = var.base + \"/site\"\n\
             server.document-root = var.site + \"/htdocs\"\n\
             $SERVER[\"socket\"] == \":443\" {\n ssl.engine = \"enable\"\n \
             $HTTP[\"host\"] == \"a.test\" { server.document-root = \"/a\" }\n}\n");
        assert_eq!(found.roots[0].text, "/srv/site/htdocs");
        let secure = listeners(&found);
        let secure = secure.iter().filter(|it| it.0 == Some(443));
        assert_eq!(
            secure.map(|it| it.2).collect::<Vec<_>>(),
            [Protocol::H1Tls; 2]
        );
    }

    #[test]
    fn a_proxied_path_is_asked_where_nothing_else_answers() {
        let found = of(
            "proxy.server = ( \"/api\" => (( \"host\" => \"127.0.0.1\", \
             \"port\" => 9000 ), ( \"socket\" => \"/run/a.sock\" )) )\n",
        );
        assert_eq!(found.path.as_deref(), Some("/api"));
        let addresses: Vec<&str> = found
            .upstreams
            .iter()
            .map(|it| it.address.as_str())
            .collect();
        assert_eq!(addresses, ["127.0.0.1:9000", "unix:/run/a.sock"]);
        let within = of(
            "$HTTP[\"url\"] =~ \"^/app/\" {\n proxy.server = ( \"\" => (( \"host\" \
             => \"::1\" )))\n}\n",
        );
        assert_eq!(within.path.as_deref(), Some("/app/"));
    }

    #[test]
    fn what_forbids_this_machine_is_named() {
        let found = of("\n$HTTP[\"remoteip\"] != \"10.0.0.0/8\" { url.access-deny = ( \"\" ) }\n");
        let rule = found.forbids.unwrap();
        assert_eq!(
            (rule.text.as_str(), rule.place.line),
            ("url.access-deny = ( \"\" )", 2)
        );
        let other = of(
            "$HTTP[\"url\"] =~ \"^/x\" {\n url.access-deny = ( \"\" )\n}\n\
             url.access-deny = ( \"~\", \".inc\" )\n",
        );
        assert_eq!(other.forbids, None);
    }

    #[test]
    fn all_over_http_may_be_sent_to_https() {
        let found = of("$HTTP[\"scheme\"] == \"http\" {\n url.redirect = (\"\" => \
             \"https://${url.authority}${url.path}${qsa}\")\n}\n\
             $SERVER[\"socket\"] == \"[::]:443\" {\n ssl.engine = \"enable\"\n \
             server.document-root = \"/srv\"\n}\n");
        let kinds: Vec<_> = found
            .listeners
            .iter()
            .map(|it| (it.port, it.kind))
            .collect();
        let expected = [
            (Some(80), ListenerKind::Redirect),
            (Some(443), ListenerKind::Http),
        ];
        assert_eq!(kinds, expected);
    }
}
