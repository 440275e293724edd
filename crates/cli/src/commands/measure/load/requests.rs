//! What is requested: the URLs of the command line, of a list, or of a page that a browser saved.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use bakeoff_load::{
    ConnectTo, Exchange, ExpectedStatus, Order, Request, Speaking, Target, TargetError, shown_url,
};
use bakeoff_plan::{Page, parse_request_list};
use bakeoff_record::{open_regular, read_regular_text};

use super::address;
use crate::flags::LoadFlags;
use crate::{exit, output};

/// Longest list of URLs, bytes.
const LIST_BYTES_MAX: u64 = 16 << 20;
/// What all requests may take together, bytes: each is kept with its body.
const REQUEST_BYTES_MAX: usize = 1 << 30;

/// Requests before they are encoded; at least one.
pub(super) struct Asked {
    pub(super) requests: Vec<AskedOne>,
    pub(super) order: Order,
}

/// One of them.
pub(super) struct AskedOne {
    pub(super) target: Target,
    method: String,
    weight: u32,
    status: ExpectedStatus,
}

impl Asked {
    /// Finds out what the flags ask for.
    pub(super) fn of(flags: &LoadFlags) -> anyhow::Result<Self> {
        let request = &flags.request;
        if let Some(path) = &request.list {
            return Self::of_list(flags, path);
        }
        if let Some(path) = &request.har {
            return Self::of_page(flags, path);
        }
        let urls = &flags.amount.urls;
        let weights = request.weights.clone();
        let weights = weights.unwrap_or_else(|| vec![1; urls.len()]);
        if weights.len() != urls.len() {
            return Err(exit::usage(format!(
                "--weights has {} numbers for {} URLs; expected one for each",
                weights.len(),
                urls.len()
            )));
        }
        let mut server = Server::of(flags);
        let each = urls.iter().zip(weights).map(|(url, weight)| {
            Ok(AskedOne {
                target: server.target(url).map_err(exit::usage)?,
                method: request.method.clone(),
                weight,
                status: status(flags, None),
            })
        });
        Ok(Self {
            requests: each.collect::<anyhow::Result<_>>()?,
            order: Order::ByWeight,
        })
    }

    fn of_list(flags: &LoadFlags, path: &Path) -> anyhow::Result<Self> {
        let is_input = path == Path::new("-");
        let name = if is_input {
            "standard input".to_owned()
        } else {
            path.display().to_string()
        };
        let text = if is_input {
            standard_input()
        } else {
            read_regular_text(path, LIST_BYTES_MAX)
        };
        let wrong = |problem: &dyn std::fmt::Display| {
            exit::usage(format!("--urls: failed to read {name}: {problem}"))
        };
        let list = parse_request_list(&text.map_err(|error| wrong(&error))?);
        let mut server = Server::of(flags);
        let each = list.map_err(|error| wrong(&error))?.into_iter();
        let requests = each.map(|listed| {
            let target = server.target(&listed.url);
            Ok(AskedOne {
                target: target.map_err(|error| wrong(&format!("line {}: {error}", listed.line)))?,
                method: listed
                    .method
                    .unwrap_or_else(|| flags.request.method.clone()),
                weight: listed.weight,
                status: status(flags, None),
            })
        });
        Ok(Self {
            requests: requests.collect::<anyhow::Result<_>>()?,
            order: Order::ByWeight,
        })
    }

    fn of_page(flags: &LoadFlags, path: &Path) -> anyhow::Result<Self> {
        let read = open_regular(path).and_then(|file| {
            let mut reader = std::io::BufReader::new(file);
            Page::read(&mut reader)
        });
        let page = read.map_err(|error| {
            exit::usage(format!("--har: failed to read {}: {error}", path.display()))
        })?;
        if !flags.print.quiet && !flags.print.json {
            output::note(&format!("{}: {}", path.display(), page.note()));
        }
        let mut server = Server::of(flags);
        let first = match &flags.amount.urls[..] {
            [] => {
                let scheme = if page.is_secure { "https" } else { "http" };
                server.target(&format!("{scheme}://{}/", page.host))
            }
            [url] => server.target(url),
            _ => Err("--har takes one URL, that of the server to ask".to_owned()),
        };
        let first = first.map_err(exit::usage)?;
        if first.path != "/" {
            return Err(exit::usage(format!(
                "with --har a URL only names the server, but {} has a path: leave it out",
                shown_url(&first.url)
            )));
        }
        let scheme = if first.secure { "https" } else { "http" };
        let requests = page.requests.into_iter().map(|one| AskedOne {
            target: Target {
                url: format!("{scheme}://{}{}", first.host, one.target),
                path: one.target,
                ..first.clone()
            },
            method: one.method,
            weight: 1,
            status: status(flags, Some(one.status)),
        });
        Ok(Self {
            requests: requests.collect(),
            order: Order::InTurn,
        })
    }

    /// The requests as the engine sends them.
    pub(super) fn exchanges(
        &self,
        flags: &LoadFlags,
        speaking: &Speaking,
    ) -> anyhow::Result<Vec<Exchange>> {
        let body = read_optional("--body", flags.request.body.as_deref())?.unwrap_or_default();
        let expected = read_optional("--expect-body", flags.checks.expect_body.as_deref())?;
        let expected: Option<Arc<[u8]>> = expected.map(Into::into);
        if body.len().saturating_mul(self.requests.len()) > REQUEST_BYTES_MAX {
            return Err(exit::usage(format!(
                "--body has {} bytes for each of {} requests; expected at most {REQUEST_BYTES_MAX} \
                 bytes together",
                body.len(),
                self.requests.len()
            )));
        }
        let one = |asked: &AskedOne| {
            let request = Request {
                method: &asked.method,
                target: &asked.target.path,
                host: &asked.target.host,
                headers: &flags.request.headers,
                body: &body,
                keep_alive: !flags.connection.no_keepalive,
            };
            let bytes = if flags.request.chunked {
                request.encode_chunked()
            } else {
                request.encode()
            };
            let h2 = (!speaking.is_h1()).then(|| Exchange::over_h2(&request, asked.target.secure));
            Ok(Exchange {
                name: asked.target.url.clone(),
                request: bytes.map_err(exit::usage)?.into(),
                h2: h2.transpose().map_err(exit::usage)?,
                to_head_request: asked.method.eq_ignore_ascii_case("HEAD"),
                status: asked.status,
                body: expected.clone(),
                weight: asked.weight,
            })
        };
        self.requests.iter().map(one).collect()
    }
}

/// The one server that all URLs must be of.
struct Server<'a> {
    to: ConnectTo<'a>,
    first: Option<Target>,
}

impl<'a> Server<'a> {
    fn of(flags: &'a LoadFlags) -> Self {
        let to = match (&flags.way.connect_to, &flags.way.unix_socket) {
            (Some(host), _) => ConnectTo::Host(host),
            (None, Some(path)) => ConnectTo::Unix(path),
            (None, None) => ConnectTo::Url,
        };
        Self { to, first: None }
    }

    /// The target of a URL as somebody typed it.
    fn target(&mut self, text: &str) -> Result<Target, String> {
        let said = |error: TargetError| error.to_string();
        let url = address::url(text)?;
        let Some(first) = &self.first else {
            let target = Target::resolve(&url, self.to).map_err(said)?;
            self.first = Some(target.clone());
            return Ok(target);
        };
        let target = first.beside(&url).map_err(said)?;
        target.ok_or_else(|| {
            format!(
                "{} and {} are on two servers; a load can only have URLs of one server",
                shown_url(&first.url),
                shown_url(&url)
            )
        })
    }
}

/// What a flag expects; else, where a browser was answered otherwise than with success, that.
fn status(flags: &LoadFlags, recorded: Option<u16>) -> ExpectedStatus {
    let failed = recorded.filter(|status| !ExpectedStatus::Success.accepts(*status));
    let exactly = flags.checks.expect_status.or(failed);
    exactly.map_or(ExpectedStatus::Success, ExpectedStatus::Exactly)
}

/// A list of URLs from standard input.
fn standard_input() -> std::io::Result<String> {
    let mut text = String::new();
    let input = std::io::stdin().lock();
    let length = input.take(LIST_BYTES_MAX + 1).read_to_string(&mut text)?;
    if length as u64 > LIST_BYTES_MAX {
        let problem = format!("it is longer than {LIST_BYTES_MAX} bytes");
        return Err(std::io::Error::other(problem));
    }
    Ok(text)
}

fn read_optional(flag: &str, path: Option<&Path>) -> anyhow::Result<Option<Vec<u8>>> {
    let Some(path) = path else { return Ok(None) };
    let bytes = super::super::body_at(path);
    let bytes = bytes.map_err(|error| {
        exit::usage(format!(
            "{flag}: failed to read {}: {error}",
            path.display()
        ))
    });
    bytes.map(Some)
}
