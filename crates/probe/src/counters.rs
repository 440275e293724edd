//! A server's own counters: what it says about connections and requests, asked for over HTTP.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use bakeoff_record::CounterSource;

/// Longest answer that is read.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;
/// Time for the whole of an exchange: a server under full load may take its time, and the window
/// goes on meanwhile.
const EXCHANGE_WITHIN: Duration = Duration::from_millis(500);
const READ_BYTES: usize = 16 * 1024;

/// What a server has counted since its start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// Connections accepted; `None` where it does not count them.
    pub accepts: Option<u64>,
    /// Requests; `None` where it does not count them.
    pub requests: Option<u64>,
}

/// Asks a server on this machine, in the clear and on a connection of its own; `None` where it
/// does not answer in time, or with something else.
pub fn ask(source: CounterSource, address: SocketAddr, path: &str, host: &str) -> Option<Counted> {
    let began = Instant::now();
    let mut stream = TcpStream::connect_timeout(&address, EXCHANGE_WITHIN).ok()?;
    stream.set_nodelay(true).ok()?;
    stream.set_write_timeout(Some(EXCHANGE_WITHIN)).ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    loop {
        let left = EXCHANGE_WITHIN.checked_sub(began.elapsed())?;
        stream
            .set_read_timeout(Some(left.max(Duration::from_millis(1))))
            .ok()?;
        let length = answer.len();
        answer.resize(length + READ_BYTES, 0);
        let read = stream.read(&mut answer[length..]).ok()?;
        answer.truncate(length + read);
        if read == 0 {
            return body(&answer).and_then(|body| counted(source, &body));
        }
        if answer.len() > ANSWER_BYTES_MAX {
            return None;
        }
    }
}

/// The counters in the body of an answer; `None` where it is not what this source says.
pub fn counted(source: CounterSource, body: &[u8]) -> Option<Counted> {
    let text = std::str::from_utf8(body).ok()?;
    let counted = match source {
        CounterSource::StubStatus => stub_status(text)?,
        CounterSource::HaproxyStats => haproxy(text)?,
        CounterSource::EnvoyAdmin => envoy(text),
        CounterSource::CaddyMetrics => caddy(text),
    };
    (counted.requests.is_some() || counted.accepts.is_some()).then_some(counted)
}

/// The body of a whole answer with status 200, out of its pieces if it came in such.
pub(crate) fn body(answer: &[u8]) -> Option<Vec<u8>> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let mut lines = head.split("\r\n");
    if lines.next()?.split(' ').nth(1)? != "200" {
        return None;
    }
    let in_pieces = lines.any(|line| {
        line.split_once(':').is_some_and(|(name, value)| {
            name.eq_ignore_ascii_case("transfer-encoding")
                && value.to_ascii_lowercase().contains("chunked")
        })
    });
    let mut rest = &answer[end + 4..];
    if !in_pieces {
        return Some(rest.to_vec());
    }
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|two| two == b"\r\n")?;
        let length = std::str::from_utf8(&rest[..line]).ok()?;
        let length = usize::from_str_radix(length.split(';').next()?.trim(), 16).ok()?;
        if length == 0 {
            return Some(body);
        }
        let piece = rest.get(line + 2..)?.get(..length)?;
        body.extend_from_slice(piece);
        rest = rest.get(line + 2 + length..)?.strip_prefix(b"\r\n")?;
    }
}

/// nginx: a line of names, then one of their numbers.
///
/// ```text
/// Active connections: 2
/// server accepts handled requests
///  30 30 700
/// ```
fn stub_status(text: &str) -> Option<Counted> {
    let mut lines = text.lines();
    lines.find(|line| {
        line.trim_start()
            .starts_with("server accepts handled requests")
    })?;
    let numbers: Option<Vec<u64>> = lines
        .next()?
        .split_whitespace()
        .take(3)
        .map(|word| word.parse().ok())
        .collect();
    let numbers = numbers?;
    Some(Counted {
        accepts: numbers.first().copied(),
        requests: numbers.get(2).copied(),
    })
}

/// HAProxy: a table with a line for each proxy; those of frontends count.
fn haproxy(text: &str) -> Option<Counted> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next()?.strip_prefix("# ")?.split(',').collect();
    let column = |name: &str| names.iter().position(|one| *one == name);
    let (kind, accepts, requests) = (column("svname")?, column("conn_tot"), column("req_tot")?);
    let mut sum = Counted::default();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        if fields.get(kind) != Some(&"FRONTEND") {
            continue;
        }
        let number = |at: usize| fields.get(at)?.parse().ok();
        add(&mut sum.requests, number(requests));
        add(&mut sum.accepts, accepts.and_then(number));
    }
    Some(sum)
}

/// Envoy: `name: number`. Its admin listener and the parts of its workers do not count.
fn envoy(text: &str) -> Counted {
    let mut sum = Counted::default();
    for line in text.lines() {
        let Some((name, value)) = line.split_once(": ") else {
            continue;
        };
        if name.contains(".admin.") || name.contains(".worker_") {
            continue;
        }
        let value = value.trim().parse().ok();
        if name.starts_with("listener.") && name.ends_with(".downstream_cx_total") {
            add(&mut sum.accepts, value);
        } else if name.starts_with("http.") && name.ends_with(".downstream_rq_total") {
            add(&mut sum.requests, value);
        }
    }
    sum
}

/// Caddy: each handler that a request went through counted it; the one that saw most saw all. It
/// counts no connections.
fn caddy(text: &str) -> Counted {
    let mut handlers: Vec<(&str, u64)> = Vec::new();
    for line in text.lines() {
        let Some((labels, value)) = line
            .strip_prefix("caddy_http_requests_total{")
            .and_then(|rest| rest.rsplit_once("} "))
        else {
            continue;
        };
        let handler = labels
            .split(',')
            .find_map(|label| label.strip_prefix("handler="));
        let count = value
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|count| *count >= 0.0);
        let (Some(handler), Some(count)) = (handler, count) else {
            continue;
        };
        match handlers.iter_mut().find(|(known, _)| *known == handler) {
            Some((_, sum)) => *sum = sum.saturating_add(count as u64),
            None => handlers.push((handler, count as u64)),
        }
    }
    Counted {
        accepts: None,
        requests: handlers.into_iter().map(|(_, sum)| sum).max(),
    }
}

fn add(sum: &mut Option<u64>, value: Option<u64>) {
    if let Some(value) = value {
        *sum = Some(sum.unwrap_or(0).saturating_add(value));
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    const STUB_STATUS: &str = "Active connections: 2 \nserver accepts handled requests\n 30 30 \
                               700 \nReading: 0 Writing: 1 Waiting: 1 \n";
    const HAPROXY: &str = "# pxname,svname,req_tot,conn_tot,\nin,FRONTEND,500,20,\nout,web1,9,,\n\
                           stats,FRONTEND,4,3,\nout,BACKEND,9,,\n";
    const ENVOY: &str = "http.admin.downstream_rq_total: 7\nhttp.in.downstream_rq_total: 90\n\
                         listener.0.0.0.0_80.downstream_cx_total: 12\n\
                         listener.0.0.0.0_80.worker_0.downstream_cx_total: 12\n\
                         listener.admin.downstream_cx_total: 3\n";
    const CADDY: &str = "# HELP caddy_http_requests_total Counter of requests.\n\
        caddy_http_requests_total{handler=\"subroute\",server=\"srv0\"} 41\n\
        caddy_http_requests_total{handler=\"file_server\",server=\"srv0\"} 40\n\
        caddy_http_requests_total{handler=\"subroute\",server=\"srv1\"} 1e+02\n";

    fn of(source: CounterSource, text: &str) -> Option<(Option<u64>, Option<u64>)> {
        let counted = counted(source, text.as_bytes())?;
        Some((counted.accepts, counted.requests))
    }

    #[test]
    fn each_server_is_read_as_it_counts() {
        use CounterSource::{CaddyMetrics, EnvoyAdmin, HaproxyStats, StubStatus};
        assert_eq!(of(StubStatus, STUB_STATUS), Some((Some(30), Some(700))));
        assert_eq!(of(HaproxyStats, HAPROXY), Some((Some(23), Some(504))));
        assert_eq!(of(EnvoyAdmin, ENVOY), Some((Some(12), Some(90))));
        assert_eq!(of(CaddyMetrics, CADDY), Some((None, Some(141))));
        for source in [StubStatus, HaproxyStats, EnvoyAdmin, CaddyMetrics] {
            assert_eq!(of(source, "<html>Welcome</html>\n"), None, "{source:?}");
            assert_eq!(of(source, ""), None, "{source:?}");
        }
    }

    #[test]
    fn cut_and_damaged_answers_never_panic() {
        for text in [STUB_STATUS, HAPROXY, ENVOY, CADDY] {
            for end in 0..=text.len() {
                for damage in [b' ', b',', b'\n', b'9', b'}', 0xff] {
                    let mut bytes = text.as_bytes()[..end].to_vec();
                    if let Some(last) = bytes.last_mut() {
                        *last = damage;
                    }
                    crate::fuzzing::counters(&bytes);
                }
            }
        }
    }

    #[test]
    fn a_body_is_taken_out_of_its_pieces() {
        let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        assert_eq!(body(whole).as_deref(), Some(&b"hello"[..]));
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n";
        let pieces = format!("{head}3\r\nhel\r\n2;x=1\r\nlo\r\n0\r\n\r\n");
        assert_eq!(body(pieces.as_bytes()).as_deref(), Some(&b"hello"[..]));
        assert_eq!(body(format!("{head}9\r\nhel").as_bytes()), None);
        assert_eq!(body(b"HTTP/1.1 404 Not Found\r\n\r\nhello"), None);
        for end in 0..pieces.len() {
            let _ = body(&pieces.as_bytes()[..end]);
        }
    }

    fn serve(answer: &'static str, after: Duration) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let _ = stream.read(&mut request);
            std::thread::sleep(after);
            let _ = stream.write_all(answer.as_bytes());
        });
        address
    }

    #[test]
    fn a_server_is_asked_and_one_that_is_silent_is_given_up() {
        let answer = "HTTP/1.1 200 OK\r\n\r\nserver accepts handled requests\n 1 1 2\n";
        let address = serve(answer, Duration::ZERO);
        let found = ask(CounterSource::StubStatus, address, "/status", "localhost");
        assert_eq!(found.and_then(|found| found.requests), Some(2));
        let silent = serve(answer, EXCHANGE_WITHIN * 60);
        assert_eq!(
            ask(CounterSource::StubStatus, silent, "/", "localhost"),
            None
        );
    }
}
