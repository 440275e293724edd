//! Whose configuration a file of the user's own is: by its name, else by what is in it.
//!
//! What names and contents look like is said by each server's folder, in `[own]`.

use std::path::Path;

use bakeoff_record::{Step, read_regular_text};

use crate::error::StageError;
use crate::own::{FILE_BYTES_MAX, OwnFiles};
use crate::server::Server;
use crate::servers::Servers;
use crate::template;

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
    /// Whether the configuration `path` asks an upstream, or anything that it takes in does.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn asks_upstream(&self, path: &Path) -> Result<bool, StageError> {
        let fail = |cause| StageError::file(Step::Prepare, path, cause);
        let text = read_regular_text(path, FILE_BYTES_MAX).map_err(fail)?;
        if template::is_template(&text) {
            return Ok(self.has_upstream(&text));
        }
        let files = OwnFiles::read(path, &self.own)?;
        Ok(files.files().any(|(_, text)| self.has_upstream(text)))
    }

    /// Whether a file with this text asks an upstream.
    pub(crate) fn has_upstream(&self, text: &str) -> bool {
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

    #[test]
    fn a_proxy_is_known_by_an_upstream_in_a_file_that_it_takes_in() {
        for (server, main, part, upstream, other) in [
            (
                "apache",
                "IncludeOptional sites-enabled/*.conf\n",
                "sites-enabled/app.conf",
                "ProxyPass / http://10.0.0.5:3000/\n",
                "# ProxyPass / http://10.0.0.5:3000/\n",
            ),
            (
                "lighttpd",
                "include \"conf-enabled/10-proxy.conf\"\n",
                "conf-enabled/10-proxy.conf",
                "proxy.server = ( \"\" => ( ( \"host\" => \"10.0.0.5\" ) ) )\n",
                "server.port = 80\n",
            ),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("main.conf");
            let part = folder.path().join(part);
            std::fs::create_dir(part.parent().unwrap()).unwrap();
            std::fs::write(&path, main).unwrap();
            let server = Servers::new(None).find(server).unwrap();
            for (text, expected) in [(upstream, true), (other, false)] {
                std::fs::write(&part, text).unwrap();
                let asks = server.asks_upstream(&path).unwrap();
                assert_eq!(asks, expected, "{}: {text}", server.name);
            }
        }
    }
}
