//! `--follow`: before the load each URL is asked once, and what it redirects to is loaded instead.
//!
//! One redirect and no more: a load of many hops would measure something else than its URL says.

use bakeoff_load::{Control, Exchange, LoadSpec, Pacing, Threads, shown_url};
use bakeoff_plan::{Connect, Load, LoadModel, RateShape};
use bakeoff_record::Said;

use super::{not_loaded, output};
use crate::exit;
use crate::flags::LoadFlags;

/// Longest time that one URL may take, seconds.
const ASKED_S_MAX: f64 = 10.0;

/// The URLs of the flags, or what they redirect to.
pub(super) fn urls(spec: &LoadSpec, flags: &LoadFlags) -> anyhow::Result<Vec<String>> {
    if spec.pacing.variants > 1 {
        return Err(exit::usage(
            "--follow asks one URL once, and placeholders make many: give the URLs to which they \
             redirect",
        ));
    }
    let urls = spec.exchanges.iter().zip(&flags.amount.urls);
    let each = urls.map(|(exchange, url)| {
        let Some(said) = redirect(spec, exchange)? else {
            return Ok(url.clone());
        };
        let to = said.target().unwrap_or_default();
        // What a server sends has no placeholders.
        let to = to.replace('{', "%7B").replace('}', "%7D");
        must_be_the_same_host(spec, flags, &to)?;
        output::note(&format!(
            "{} redirects ({}) to {}, which is loaded",
            shown_url(url),
            said.status,
            shown_url(&to).escape_debug()
        ));
        Ok(to)
    });
    each.collect()
}

/// What is said to the request of `exchange` if it is redirected.
fn redirect(spec: &LoadSpec, exchange: &Exchange) -> anyhow::Result<Option<Said>> {
    if ![b"GET ", b"HEAD"].contains(&exchange.request.first_chunk().unwrap_or(b"    ")) {
        return Err(exit::usage(
            "--follow is for GET and HEAD: another request must not be sent beside the load",
        ));
    }
    let once = LoadSpec {
        exchanges: vec![exchange.clone()],
        load: Load {
            connect: Connect::AsNeeded,
            timeout_s: spec.load.timeout_s.min(ASKED_S_MAX),
            ..Load::new(LoadModel::Closed { clients: 1 }, ASKED_S_MAX)
        },
        shape: RateShape::Level,
        count: Some(1),
        threads: Threads {
            count: 1,
            pin: Vec::new(),
            part: None,
        },
        pacing: Pacing::default(),
        ..spec.clone()
    };
    let result = bakeoff_load::run(&once, &Control::default()).map_err(not_loaded)?;
    let mut said = result.observed.said.into_iter();
    Ok(said.find(|said| said.target().is_some()))
}

/// Who is sent elsewhere takes no secrets there.
fn must_be_the_same_host(spec: &LoadSpec, flags: &LoadFlags, to: &str) -> anyhow::Result<()> {
    let of = |url: &str| {
        let rest = url.split_once("://").map_or("", |(_, rest)| rest);
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let host = rest[..end]
            .rsplit_once(':')
            .map_or(&rest[..end], |(host, _)| host);
        host.to_ascii_lowercase()
    };
    let head = &flags.request.head;
    let is_secret =
        |name: &str| ["authorization", "cookie"].contains(&name.to_ascii_lowercase().as_str());
    let has_secret = head.user.is_some() || head.headers.iter().any(|(name, _)| is_secret(name));
    if has_secret && of(to) != of(&spec.target.url) {
        return Err(exit::usage(format!(
            "the URL redirects to another host, {}, which must not get its password or cookie: \
             give that URL itself, without --follow",
            shown_url(to).escape_debug()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use clap::Parser as _;

    use super::*;
    use crate::flags::{Command, Flags, MeasureCommand};

    /// What is loaded in place of `/old` of a server that sends it to `location`.
    fn followed(location: &str, more: &[&str]) -> anyhow::Result<Vec<String>> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/old", listener.local_addr().unwrap());
        let head = format!("HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n{location}\r\n");
        std::thread::spawn(move || {
            let mut streams = listener.incoming().flatten();
            let Some(mut stream) = streams.next() else {
                return;
            };
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(head.as_bytes());
        });
        let line = ["bakeoff", "load", "--follow", &url];
        let flags = Flags::try_parse_from(line.iter().chain(more)).unwrap();
        let Command::Measure(MeasureCommand::Load(flags)) = flags.command else {
            panic!("a load");
        };
        let spec = super::super::spec(&flags.load)?;
        let urls = urls(&spec, &flags.load)?;
        let here = url.trim_end_matches("/old");
        Ok(urls.iter().map(|url| url.replace(here, "")).collect())
    }

    #[test]
    fn what_a_url_redirects_to_is_loaded_in_its_place() {
        let followed = |location: &str, more: &[&str]| followed(location, more).unwrap();
        assert_eq!(followed("Location: /new\r\n", &[]), ["/new"]);
        assert_eq!(followed("Location: new?a={n}\r\n", &[]), ["/new?a=%7Bn%7D"]);
        assert_eq!(followed("", &[]), ["/old"]);
        let other = "http://127.0.0.2:1/";
        assert_eq!(followed(&format!("Location: {other}\r\n"), &[]), [other]);
    }

    #[test]
    fn what_must_not_be_sent_twice_or_elsewhere_is_refused() {
        let refused =
            |location: &str, more: &[&str]| followed(location, more).unwrap_err().to_string();
        let said = refused("Location: /new\r\n", &["-X", "POST"]);
        assert!(said.contains("for GET and HEAD"), "{said}");
        let elsewhere = "Location: http://127.0.0.2:1/\r\n";
        let said = refused(elsewhere, &["-u", "me:sesame"]);
        assert!(said.contains("must not get its password"), "{said}");
        assert!(!said.contains("sesame"), "{said}");
    }
}
