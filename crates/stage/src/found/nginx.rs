//! What a configuration of nginx contains.

#[cfg(test)]
mod tests;
mod tree;
mod way;

use bakeoff_plan::Protocol;

use super::{
    Found, Listener, ListenerKind, Named, Place, Problem, Text, Upstream, UpstreamKind, add,
};
use tree::{Node, first, walk};
use way::Site;
pub(crate) use way::Way;

/// Redirects within a site that are followed to a path that answers.
const REDIRECTS_MAX: usize = 5;

/// Reads the files of one configuration, the main one first.
pub(super) fn read(files: &[Text<'_>]) -> Found {
    let (tree, circle) = tree::of(files);
    let mut found = Found::default();
    found.problems.extend(circle.map(|place| Problem {
        place,
        what: "it takes itself in, and nginx would not end".to_owned(),
        hint: "remove this `include`, or name the files that are meant".to_owned(),
    }));
    walk(&tree, &mut |node| note(&mut found, node));
    let sites = sites(&tree);
    for site in &sites {
        for listener in site.listeners() {
            add(&mut found.listeners, listener);
        }
    }
    found.listeners.extend(stand_in(&tree, &sites));
    for listen in streams(&tree) {
        let (address, port) = address(listen.value());
        let listener = Listener {
            address,
            port,
            kind: ListenerKind::Tcp,
            place: listen.place.clone(),
            ..Listener::default()
        };
        add(&mut found.listeners, listener);
    }
    let is_usual = |site: &&Block<'_>| site.kind() == ListenerKind::Http;
    let usual = sites.iter().find(|it| is_usual(it) && it.is_reachable());
    let refusing = || sites.iter().find(|it| it.kind() == ListenerKind::Refusing);
    if let Some(site) = usual {
        let path = site.path();
        found.paths = site.other_paths();
        found.problems.extend(problem(&site.site(), &path));
        found.path = Some(path).filter(|path| path != "/");
    } else if sites.iter().any(|site| is_usual(&site)) {
        found.problems.extend(out_of_reach(&sites));
    }
    let asked = usual.or_else(refusing).map(Block::site);
    found.forbids = asked.and_then(|site| Some(site.forbidden("/")?.whole()));
    found
}

/// Where the site listens that a trial adds to a configuration without any.
fn stand_in(tree: &[Node], sites: &[Block<'_>]) -> Option<Listener> {
    let http = tree.iter().find(|node| node.name() == "http")?;
    sites.is_empty().then(|| Listener {
        address: "127.0.0.1".to_owned(),
        port: Some(80),
        protocols: vec![Protocol::H1],
        place: http.place.clone(),
        ..Listener::default()
    })
}

/// The ways that requests take through a configuration.
#[derive(Debug)]
pub(crate) struct Routes(Vec<Node>);

impl Routes {
    /// Reads the files of one configuration, the main one first.
    pub(crate) fn of(files: &[Text<'_>]) -> Self {
        Self(tree::of(files).0)
    }

    /// The ways of requests for `paths` to the site `host`, over TLS or not; none where there are
    /// sites and none answers so.
    pub(crate) fn ways<'p>(
        &self,
        host: Option<&str>,
        is_secure: bool,
        paths: impl Iterator<Item = &'p str>,
    ) -> Vec<Way> {
        let sites = sites(&self.0);
        let plain = paths.map(|path| path.split('?').next().unwrap_or_default());
        if sites.is_empty() {
            // The site that a trial adds serves files.
            let index = |path: &str| {
                if path.ends_with('/') {
                    "index.html"
                } else {
                    ""
                }
            };
            return plain
                .map(|path| Way::File(format!("{path}{}", index(path))))
                .collect();
        }
        let Some(site) = asked(&sites, host, is_secure) else {
            return Vec::new();
        };
        plain.map(|path| site.way(path)).collect()
    }

    /// What forbids requests for `path` to the site `host` to this machine.
    pub(crate) fn forbidding(
        &self,
        host: Option<&str>,
        is_secure: bool,
        path: &str,
    ) -> Option<Named> {
        let sites = sites(&self.0);
        Some(asked(&sites, host, is_secure)?.forbidden(path)?.whole())
    }
}

/// The site that answers to a name, over TLS or not.
fn asked<'n>(sites: &[Block<'n>], host: Option<&str>, is_secure: bool) -> Option<Site<'n>> {
    let speaks = |site: &&Block<'_>| {
        let is_meant = !is_secure || !site.rejects_handshakes();
        is_meant && site.listeners().iter().any(|it| is_secure == secure(it))
    };
    let mut speaking = sites.iter().filter(speaks);
    let serves = |site: &&Block<'_>| site.hosts().any(|name| Some(name) == host);
    let is_default = |site: &&Block<'_>| site.listens().any(|it| it.says("default_server"));
    let site = speaking.clone().find(serves);
    let site = site.or_else(|| speaking.clone().find(is_default));
    let site = site.or_else(|| speaking.next())?;
    Some(Site {
        is_secure,
        ..site.site()
    })
}

fn secure(listener: &Listener) -> bool {
    listener
        .protocols
        .iter()
        .any(|protocol| protocol.is_secure())
}

/// Takes a statement down that names a thing.
fn note(found: &mut Found, node: &Node) {
    let kind = match node.name() {
        "root" | "alias" => return add(&mut found.roots, node.named()),
        "access_log" | "error_log" if node.value() != "off" => {
            return add(&mut found.logs, node.named());
        }
        "ssl_certificate" | "ssl_certificate_key" => {
            return add(&mut found.certificates, node.named());
        }
        "load_module" => return add(&mut found.modules, node.named()),
        "listen" if node.value().contains("${") => {
            let variable = node.value();
            return found.problems.push(Problem {
                place: node.place.clone(),
                what: format!("`{variable}` is no address: it is a template, for `envsubst`"),
                hint: "give the file that comes of it, as `envsubst < TEMPLATE > site.conf` does"
                    .to_owned(),
            });
        }
        "upstream" if node.is_block => {
            for server in node.inner.iter().filter(|it| it.name() == "server") {
                note_upstream(found, UpstreamKind::Http, server);
            }
            return;
        }
        "proxy_pass" => UpstreamKind::Http,
        "fastcgi_pass" => UpstreamKind::FastCgi,
        "uwsgi_pass" => UpstreamKind::Uwsgi,
        "scgi_pass" => UpstreamKind::Scgi,
        "grpc_pass" => UpstreamKind::Grpc,
        _ => return,
    };
    note_upstream(found, kind, node);
}

fn note_upstream(found: &mut Found, kind: UpstreamKind, node: &Node) {
    let upstream = Upstream {
        kind,
        address: node.value().to_owned(),
        place: node.place.clone(),
    };
    add(&mut found.upstreams, upstream);
}

/// A `server` block of HTTP.
struct Block<'n> {
    node: &'n Node,
    http: &'n [Node],
}

fn sites(tree: &[Node]) -> Vec<Block<'_>> {
    let https = tree.iter().filter(|node| node.name() == "http");
    let blocks = https.flat_map(|http| {
        let servers = http.inner.iter();
        let servers = servers.filter(|node| node.name() == "server" && node.is_block);
        servers.map(|node| Block {
            node,
            http: &http.inner,
        })
    });
    blocks.take(super::THINGS_MAX).collect()
}

/// Where `stream` listens.
fn streams(tree: &[Node]) -> Vec<&Node> {
    let streams = tree.iter().filter(|node| node.name() == "stream");
    let servers = streams.flat_map(|node| &node.inner);
    let lines = servers
        .filter(|node| node.name() == "server")
        .flat_map(|node| &node.inner);
    lines
        .filter(|node| node.name() == "listen")
        .take(super::THINGS_MAX)
        .collect()
}

impl<'n> Block<'n> {
    fn listens(&self) -> impl Iterator<Item = &'n Node> {
        self.node
            .inner
            .iter()
            .filter(|node| node.name() == "listen")
    }

    fn hosts(&self) -> impl Iterator<Item = &'n str> {
        let names = self
            .node
            .inner
            .iter()
            .filter(|node| node.name() == "server_name");
        let names = names.flat_map(|node| node.values());
        names
            .map(String::as_str)
            .filter(|name| !matches!(*name, "" | "_"))
    }

    /// Whether it, or all of `http`, says `NAME on`.
    fn is_on(&self, name: &str) -> bool {
        let said = first(&self.node.inner, name).or_else(|| first(self.http, name));
        said.is_some_and(|node| node.value() == "on")
    }

    fn site(&self) -> Site<'n> {
        Site {
            server: &self.node.inner,
            http: self.http,
            is_secure: self.listens().any(is_secure) || self.is_on("ssl"),
        }
    }

    fn listeners(&self) -> Vec<Listener> {
        let kind = self.kind();
        let hosts: Vec<String> = self.hosts().map(str::to_owned).collect();
        let listener = |node: &Node| {
            let (address, port) = address(node.value());
            Listener {
                address,
                port,
                protocols: self.protocols(node),
                hosts: hosts.clone(),
                kind: if self.rejects_handshakes() && self.is_secure(node) {
                    ListenerKind::Aside
                } else {
                    kind
                },
                place: node.place.clone(),
            }
        };
        let mut listeners: Vec<Listener> = self.listens().map(listener).collect();
        if listeners.is_empty() {
            // So says nginx: port 80, or 8000 for other users than root.
            listeners.push(Listener {
                address: "*".to_owned(),
                port: Some(if rustix::process::geteuid().is_root() {
                    80
                } else {
                    8000
                }),
                protocols: vec![Protocol::H1],
                hosts,
                kind,
                place: self.node.place.clone(),
            });
        }
        listeners
    }

    fn protocols(&self, listen: &Node) -> Vec<Protocol> {
        if is_quic(listen) {
            return vec![Protocol::H3];
        }
        let h2 = listen.says("http2") || self.is_on("http2");
        match (self.is_secure(listen), h2) {
            (true, true) => vec![Protocol::H2, Protocol::H1Tls],
            (true, false) => vec![Protocol::H1Tls],
            (false, true) => vec![Protocol::H1, Protocol::H2c],
            (false, false) => vec![Protocol::H1],
        }
    }

    fn is_secure(&self, listen: &Node) -> bool {
        is_secure(listen) || self.is_on("ssl")
    }

    /// Whether it is there to end connections over TLS that ask for no name of the others.
    fn rejects_handshakes(&self) -> bool {
        self.is_on("ssl_reject_handshake")
    }

    fn is_reachable(&self) -> bool {
        let mut listens = self.listens().peekable();
        listens.peek().is_none() || listens.any(|it| address(it.value()).1.is_some())
    }

    /// What it is there for, by what it does with a request for its root.
    fn kind(&self) -> ListenerKind {
        let mut listens = self.listens().peekable();
        let listens_at_all = listens.peek().is_some();
        if self.rejects_handshakes() && listens_at_all && listens.all(|it| self.is_secure(it)) {
            return ListenerKind::Aside;
        }
        let site = self.site();
        let mut locations = self.node.inner.iter();
        match site.way("/") {
            Way::Redirect(target) if is_elsewhere(&target) => ListenerKind::Redirect,
            Way::Aside => ListenerKind::Aside,
            _ if !site.refuses_all() => ListenerKind::Http,
            _ if locations.any(|it| first(&it.inner, "stub_status").is_some()) => {
                ListenerKind::Aside
            }
            _ => ListenerKind::Refusing,
        }
    }

    /// A path that it probably answers.
    fn path(&self) -> String {
        let site = self.site();
        let mut path = "/".to_owned();
        for _ in 0..REDIRECTS_MAX {
            match site.way(&path) {
                Way::Redirect(target) if target.starts_with('/') && !target.contains('$') => {
                    path = target;
                }
                Way::Nowhere | Way::Status(400..) => {
                    let other = self.other_paths().into_iter().next();
                    let page = || matches!(site.way(way::PAGE), Way::File(_)).then_some(way::PAGE);
                    return other.or_else(|| Some(page()?.to_owned())).unwrap_or(path);
                }
                _ => return path,
            }
        }
        path
    }

    /// Paths of locations that lead to an upstream or have an answer, then of those that lead to a
    /// file.
    fn other_paths(&self) -> Vec<String> {
        let site = self.site();
        let locations = self
            .node
            .inner
            .iter()
            .filter(|node| node.name() == "location");
        let paths = locations.filter_map(way::path);
        let paths = paths.filter(|path| *path != "/");
        let (mut passed_on, mut files) = (Vec::new(), Vec::new());
        for path in paths {
            match site.way(path) {
                Way::Upstream {
                    kind: UpstreamKind::Http | UpstreamKind::FastCgi,
                    ..
                }
                | Way::Status(200..=299) => add(&mut passed_on, path.to_owned()),
                Way::File(_) => add(&mut files, path.to_owned()),
                _ => {}
            }
        }
        passed_on.append(&mut files);
        passed_on
    }
}

fn is_secure(listen: &Node) -> bool {
    listen.says("ssl") || is_quic(listen)
}

/// Before 1.25 it was `http3`.
fn is_quic(listen: &Node) -> bool {
    listen.says("quic") || listen.says("http3")
}

/// Whether a target is another site, or the same over https.
fn is_elsewhere(target: &str) -> bool {
    target.contains("://") || target.starts_with("$scheme") || target.starts_with("//")
}

/// The address of a `listen` and its port.
fn address(value: &str) -> (String, Option<u16>) {
    if value.starts_with("unix:") {
        return (value.to_owned(), None);
    }
    if let Ok(port) = value.parse() {
        return ("*".to_owned(), Some(port));
    }
    let (host, port) = match value.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()),
        _ => (value, None),
    };
    (host.to_owned(), Some(port.unwrap_or(80)))
}

/// Why requests for `path` cannot be measured, if they cannot.
fn problem(site: &Site<'_>, path: &str) -> Option<Problem> {
    let Way::Upstream { kind, place, .. } = site.way(path) else {
        return None;
    };
    let reason = unsupported(kind)?;
    Some(Problem {
        place,
        what: format!("requests for {path} go {reason}"),
        hint: "ask a path that goes elsewhere, or start the application yourself".to_owned(),
    })
}

/// Where requests go that nobody answers in a trial.
pub(crate) fn unsupported(kind: UpstreamKind) -> Option<&'static str> {
    match kind {
        UpstreamKind::Uwsgi => {
            Some("to a uwsgi application, and bakeoff's upstream speaks HTTP and FastCGI")
        }
        UpstreamKind::Scgi => {
            Some("to an SCGI application, and bakeoff's upstream speaks HTTP and FastCGI")
        }
        UpstreamKind::Grpc => {
            Some("to a gRPC service, and bakeoff's upstream speaks HTTP and FastCGI")
        }
        UpstreamKind::Http | UpstreamKind::FastCgi | UpstreamKind::Tcp => None,
    }
}

fn out_of_reach(sites: &[Block<'_>]) -> Option<Problem> {
    let listen = sites.iter().find_map(|site| site.listens().next());
    let place = listen.map_or_else(Place::default, |node| node.place.clone());
    Some(Problem {
        place,
        what: "it listens on sockets in the file system only".to_owned(),
        hint: "add a port, such as `listen 8080;`, by `replace` in a plan".to_owned(),
    })
}
