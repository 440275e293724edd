//! What a configuration of Apache httpd contains: where it listens, its virtual hosts and what they
//! answer.

use bakeoff_plan::Protocol;

use super::{
    Found, Listener, ListenerKind, Named, Place, Text, Upstream, UpstreamKind, add, tokens,
};

/// The main server, or a virtual host.
#[derive(Default)]
struct Site {
    /// Of a virtual host; 0 where it says none.
    ports: Vec<u16>,
    hosts: Vec<String>,
    place: Place,
    is_secure: bool,
    speaks_h2: bool,
    speaks_h2c: bool,
    redirects: bool,
    paths: Vec<String>,
}

/// Reads the files of one configuration, the main one first.
pub(super) fn read(files: &[Text<'_>]) -> Found {
    let mut found = Found::default();
    let mut main = Site::default();
    let mut sites: Vec<Site> = Vec::new();
    let mut listens: Vec<Listener> = Vec::new();
    // A virtual host that is open, and the path of a `<Location>`.
    let (mut open, mut location) = (None, String::new());
    for file in files {
        for (number, line) in (1..).zip(file.text.lines()) {
            let place = file.place(number);
            let words = tokens(line.trim().trim_end_matches('>'));
            let Some((name, values)) = words.split_first() else {
                continue;
            };
            match name.to_lowercase().as_str() {
                "listen" => listens.extend(values.first().map(|it| listen(it, &place))),
                "<virtualhost" => {
                    open = Some(Site {
                        ports: values.iter().map(|it| port(it)).collect(),
                        place,
                        ..Site::default()
                    });
                }
                "</virtualhost" => sites.extend(open.take()),
                "<location" => location = values.first().cloned().unwrap_or_default(),
                "</location" => location.clear(),
                name => {
                    let site = open.as_mut().unwrap_or(&mut main);
                    site.note(name, values, &location);
                    note(&mut found, name, values, place);
                }
            }
            if sites.len() == super::THINGS_MAX {
                break;
            }
        }
    }
    let mut all_ports: Vec<u16> = listens.iter().filter_map(|it| it.port).collect();
    if all_ports.is_empty() {
        all_ports.push(80);
    }
    let mut paths = None;
    if sites.is_empty() {
        for listen in listens {
            add(&mut found.listeners, of_main(listen, &main));
        }
        paths = Some(std::mem::take(&mut main.paths));
    }
    for site in sites {
        let own = site.ports.iter().copied().filter(|port| *port > 0);
        let own: Vec<u16> = own.collect();
        for port in if own.is_empty() { &all_ports } else { &own } {
            add(&mut found.listeners, site.listener(*port, &main));
        }
        if paths.is_none() && site.kind() == ListenerKind::Http {
            paths = Some(site.paths);
        }
    }
    super::choose_paths(&mut found, paths.unwrap_or_default());
    found
}

/// A listener that no virtual host answers at.
fn of_main(listen: Listener, main: &Site) -> Listener {
    Listener {
        address: listen.address,
        place: listen.place,
        ..main.listener(listen.port.unwrap_or(80), main)
    }
}

/// A line `Listen`.
fn listen(value: &str, place: &Place) -> Listener {
    let address = value.rsplit_once(':').map_or("*", |(address, _)| address);
    Listener {
        address: address.to_owned(),
        port: Some(port(value)).filter(|port| *port > 0),
        place: place.clone(),
        ..Listener::default()
    }
}

/// The port of an address; 0 where it has none.
fn port(address: &str) -> u16 {
    let port = address.rsplit(':').next().unwrap_or_default();
    port.parse().unwrap_or(0)
}

fn note(found: &mut Found, name: &str, values: &[String], place: Place) {
    let (things, text) = match name {
        "documentroot" => (&mut found.roots, values.first()),
        "alias" => (&mut found.roots, values.get(1)),
        "errorlog" | "customlog" | "transferlog" => (&mut found.logs, values.first()),
        "sslcertificatefile" | "sslcertificatekeyfile" => (&mut found.certificates, values.first()),
        "proxypass" | "proxypassmatch" | "balancermember" | "sethandler" => {
            let target = values.iter().find(|it| it.contains("://"));
            let Some(target) = target.filter(|it| !it.starts_with("balancer:")) else {
                return;
            };
            let is_php = target.contains("fcgi://");
            let upstream = Upstream {
                kind: if is_php {
                    UpstreamKind::FastCgi
                } else {
                    UpstreamKind::Http
                },
                address: target.trim_start_matches("proxy:").to_owned(),
                place,
            };
            return add(&mut found.upstreams, upstream);
        }
        _ => return,
    };
    if let Some(text) = text.cloned() {
        add(things, Named { text, place });
    }
}

impl Site {
    fn note(&mut self, name: &str, values: &[String], location: &str) {
        let first = values.first().map_or("", String::as_str);
        let is_left_out = values.get(1).is_some_and(|it| it == "!");
        let path = if first.starts_with('/') {
            first
        } else {
            location
        };
        match name {
            "servername" | "serveralias" => {
                for value in values {
                    let host = value.rsplit("://").next().unwrap_or_default();
                    let host = host.split(':').next().unwrap_or_default();
                    add(&mut self.hosts, host.to_owned());
                }
            }
            "sslengine" => self.is_secure |= first.eq_ignore_ascii_case("on"),
            "protocols" => {
                self.speaks_h2 |= values.iter().any(|it| it == "h2");
                self.speaks_h2c |= values.iter().any(|it| it == "h2c");
            }
            "redirect" | "redirectmatch" | "rewriterule" => {
                let is_of_all = |it: &String| it == "/" || it == "^" || it.contains(".*");
                let is_secure = |it: &String| it.starts_with("https://");
                self.redirects |= values.iter().any(is_of_all) && values.iter().any(is_secure);
            }
            "documentroot" => add(&mut self.paths, "/".to_owned()),
            "proxypass" | "alias" | "wsgiscriptalias" if path.starts_with('/') && !is_left_out => {
                add(&mut self.paths, path.to_owned());
            }
            _ => {}
        }
    }

    fn kind(&self) -> ListenerKind {
        if self.redirects && self.paths.iter().all(|path| path == "/") && !self.is_secure {
            ListenerKind::Redirect
        } else {
            ListenerKind::Http
        }
    }

    /// It at a port; `main` says what holds for all.
    fn listener(&self, port: u16, main: &Self) -> Listener {
        let speaks_h2 = self.speaks_h2 || main.speaks_h2;
        let speaks_h2c = self.speaks_h2c || main.speaks_h2c;
        let protocols = match (self.is_secure || main.is_secure, speaks_h2, speaks_h2c) {
            (true, true, _) => vec![Protocol::H2, Protocol::H1Tls],
            (true, false, _) => vec![Protocol::H1Tls],
            (false, _, true) => vec![Protocol::H1, Protocol::H2c],
            (false, ..) => vec![Protocol::H1],
        };
        Listener {
            address: "*".to_owned(),
            port: Some(port),
            protocols,
            hosts: self.hosts.clone(),
            kind: self.kind(),
            place: self.place.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn of(text: &str) -> Found {
        read(&[Text {
            path: Path::new("httpd.conf"),
            text,
        }])
    }

    #[test]
    fn virtual_hosts_have_their_ports_names_and_paths() {
        let found = of(
            "Listen 80\nListen 443\n<VirtualHost *:80>\n  ServerName a.test:80\n  \
             Redirect permanent / https://a.test/\n</VirtualHost>\n<VirtualHost *:443>\n  \
             ServerName a.test\n  SSLEngine on\n  Protocols h2 http/1.1\n  \
             ProxyPass /api http://app:3000/api\n  ProxyPass /private !\n</VirtualHost>\n",
        );
        let listeners: Vec<_> = found
            .listeners
            .iter()
            .map(|it| (it.port.unwrap(), it.kind, it.protocols[0], it.place.line))
            .collect();
        assert_eq!(
            listeners,
            [
                (80, ListenerKind::Redirect, Protocol::H1, 3),
                (443, ListenerKind::Http, Protocol::H2, 7),
            ]
        );
        assert_eq!(found.listeners[1].hosts, ["a.test"]);
        assert_eq!(found.path.as_deref(), Some("/api"));
        assert_eq!(found.upstreams[0].address, "http://app:3000/api");
    }

    #[test]
    fn without_virtual_hosts_the_main_server_listens() {
        let found = of("Listen 127.0.0.1:8080\nDocumentRoot \"/srv\"\nAlias /s/ /x/\n");
        let listener = &found.listeners[0];
        assert_eq!(
            (listener.address.as_str(), listener.port),
            ("127.0.0.1", Some(8080))
        );
        assert_eq!(
            (found.path.as_deref(), found.paths),
            (None, vec!["/s/".to_owned()])
        );
        let alone =
            of("<VirtualHost *>\n<Location /x>\nProxyPass http://a:1\n</Location>\n</VirtualHost>");
        assert_eq!(alone.listeners[0].port, Some(80));
        assert_eq!(alone.path.as_deref(), Some("/x"));
    }
}
