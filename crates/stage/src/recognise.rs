//! Whose configuration a file of the user's own is: by its name, else by what is in it.
//!
//! What names and contents look like is said by each server's folder, in `[own]`.

use std::path::Path;

use crate::server::Server;
use crate::servers::Servers;

/// What a configuration file is taken for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recognised {
    /// Names of the servers that it may be for: one where that is clear, none where nothing says.
    pub servers: Vec<String>,
}

impl Servers {
    /// Whose configuration the file `path` with this `text` is.
    pub fn recognise(&self, path: &Path, text: &str) -> Recognised {
        let servers: Vec<Server> = self.all().collect();
        let file = path.file_name().and_then(|name| name.to_str());
        let file = file.unwrap_or_default();
        let is_usual = |server: &&Server| server.own.names.iter().any(|name| name == file);
        let is_named = |server: &&Server| file.to_lowercase().contains(&server.name);
        let looks_like = |server: &&Server| {
            let pattern = server.own.looks_like.as_ref();
            pattern.is_some_and(|pattern| pattern.is_match(text))
        };
        let signs: [&dyn Fn(&&Server) -> bool; 3] = [&is_usual, &is_named, &looks_like];
        let found = signs.iter().map(|sign| {
            let fitting = servers.iter().filter(|server| sign(server));
            fitting.map(|server| server.name.clone()).collect()
        });
        let servers = found
            .into_iter()
            .find(|servers: &Vec<String>| !servers.is_empty());
        Recognised {
            servers: servers.unwrap_or_default(),
        }
    }
}

impl Server {
    /// Whether a configuration with this text asks an upstream.
    pub fn has_upstream(&self, text: &str) -> bool {
        let is_it = |pattern: &regex_lite::Regex| {
            let mut lines = text.lines().filter(|line| !self.own.is_comment(line));
            lines.any(|line| pattern.is_match(line))
        };
        self.own.proxies.as_ref().is_some_and(is_it)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: &[&str]) {
        let recognised = Servers::new(None).recognise(Path::new(path), text);
        assert_eq!(recognised.servers, expected, "{path}: {text}");
    }

    #[test]
    fn a_name_says_more_than_what_is_in_the_file() {
        check("/etc/nginx/nginx.conf", "", &["nginx"]);
        check("./Caddyfile", "server { }", &["caddy"]);
        check("haproxy.cfg", "", &["haproxy"]);
        check("my-nginx-tuned.conf", "", &["nginx"]);
        check("site.conf", "server {\n  listen 80;\n}\n", &["nginx"]);
        check("a", "frontend web\n  bind :80\n", &["haproxy"]);
        check("a", ":80 {\n\tfile_server\n}\n", &["caddy"]);
        check("a.txt", "hello", &[]);
    }

    #[test]
    fn a_proxy_is_known_by_its_upstream() {
        let upstream = |server: &str, text: &str| {
            let server = Servers::new(None).find(server).unwrap();
            server.has_upstream(text)
        };
        assert!(upstream(
            "nginx",
            "location / {\n proxy_pass http://app;\n}"
        ));
        assert!(!upstream(
            "nginx",
            "location / {\n # proxy_pass http://app;\n}"
        ));
        assert!(upstream(
            "caddy",
            ":80 {\n\treverse_proxy localhost:9000\n}"
        ));
        assert!(upstream(
            "haproxy",
            "backend app\n  server a 127.0.0.1:9000 check"
        ));
        assert!(!upstream("caddy", ":80\nrespond hello"));
    }
}
