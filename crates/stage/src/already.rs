//! A server that runs already, at a URL: found, queried and watched, and neither started nor
//! stopped. Of one on another machine only its answers are known.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use bakeoff_plan::{Contender, RunningUrl, Workload};
use bakeoff_record::{ServerFacts, Step};

use crate::command;
use crate::error::{Cause, StageError};
use crate::fetch::{Answer, Approach, Expectation};
use crate::held::{Already, Held};
use crate::host;
use crate::listeners::Transport;
use crate::log::Log;
use crate::running::{Ending, Running, Ways};
use crate::stage::{Stage, Surroundings};
use crate::trial_folder::make_folder;

/// Finding out which address of a name answers must not take longer.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);
/// One answer of a server that runs.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// Between two looks at a server that starts anew.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

impl Stage {
    /// Asks a URL that is answered already, after the commands that make it fresh, and finds the
    /// processes behind it.
    ///
    /// # Errors
    /// When a command fails, the scheme does not suit the workload's protocol, nobody answers, or
    /// the answer is not the expected one.
    pub fn attach(
        &self,
        contender: &Contender,
        running: &RunningUrl,
        workload: &Workload,
        surroundings: &Surroundings,
        within: Duration,
    ) -> Result<Running, StageError> {
        suits(running, workload)?;
        make_folder(&surroundings.log_folder)?;
        for line in &running.fresh {
            command::run_fresh(line, &running.folder, &surroundings.log_folder)?;
        }
        let host = contender.host.clone().or_else(|| named(running));
        let first = workload.requests.first();
        let approach = Approach::by(host, &workload.client);
        let expectation = Expectation::of(first, workload.protocol, &approach);
        // What was made fresh may still be starting.
        let within = if running.fresh.is_empty() {
            Duration::ZERO
        } else {
            within
        };
        let (address, answer) = answered(running, &expectation, within)?;
        let transport = Transport::of(workload.protocol);
        let already = Already::at(address, transport);
        let binary = already.program();
        let facts = ServerFacts {
            binary: binary
                .map(|it| it.display().to_string())
                .unwrap_or_default(),
            server_header: answer.header("Server").map(str::to_owned),
            ..ServerFacts::without_folder("url", address)
        };
        Ok(Running {
            kept: Held::Already(already),
            address,
            facts,
            first_status: Some(answer.status),
            log: Log {
                file: surroundings.log_folder.join("server.log"),
                from: 0,
            },
            approach,
            ways: Ways::by_own(contender.action_command.clone(), ".".into()),
            settings: BTreeMap::new(),
            ending: Ending {
                signal: "TERM".to_owned(),
                grace: Duration::ZERO,
            },
            contacts: None,
            network: None,
            _folder: None,
        })
    }
}

/// The URL's scheme must say the same of TLS as the workload's protocol.
fn suits(running: &RunningUrl, workload: &Workload) -> Result<(), StageError> {
    let protocol = workload.protocol;
    if running.url.is_secure == protocol.is_secure() {
        return Ok(());
    }
    let (scheme, fix) = if running.url.is_secure {
        ("https", "h1-tls, h2 or h3")
    } else {
        ("http", "h1 or h2c")
    };
    let reason = format!(
        "{} is {scheme}, and is asked over {}: choose {fix} with --protocol, or another URL",
        running.url,
        protocol.name()
    );
    Err(StageError::new(
        Step::Prepare,
        Cause::Unsupported { reason },
    ))
}

/// A host's name to ask by. `localhost` is one like others: a server may have a site of that name.
fn named(running: &RunningUrl) -> Option<String> {
    let url = &running.url;
    (!url.has_address()).then(|| url.host.clone())
}

/// The address of the URL that answers as expected, with the answer. Silence and failures of the
/// server are waited for, wrong answers are not.
fn answered(
    running: &RunningUrl,
    expectation: &Expectation,
    within: Duration,
) -> Result<(SocketAddr, Answer), StageError> {
    let end = Instant::now() + within;
    let mut turn = 0;
    loop {
        // Where nobody takes datagrams, no answer says so.
        let limit = if expectation.is_over_udp() && turn == 0 {
            CONNECT_LIMIT
        } else {
            ANSWER_LIMIT
        };
        let asked = address_of(running, expectation, turn).and_then(|address| {
            let answer = expectation.ask(address, limit);
            answer.map(|answer| (address, answer))
        });
        host::check(Step::Start)?;
        let is_over = Instant::now() >= end;
        match asked {
            Ok((address, answer)) if expectation.is_met_by(&answer) => {
                return Ok((address, answer));
            }
            Ok((_, answer)) if is_over || answer.status < 500 => {
                let cause = Cause::WrongAnswer {
                    within: None,
                    expected: expectation.described(),
                    got: answer.described(),
                    hint: expectation.hint(&answer),
                };
                return Err(StageError::new(Step::Start, cause));
            }
            Err(cause) if is_over => {
                let url = running.url.to_string();
                return Err(StageError::new(
                    Step::Start,
                    Cause::NobodyAnswers { url, cause },
                ));
            }
            Ok(_) | Err(_) => std::thread::sleep(LOOK_AGAIN),
        }
        turn += 1;
    }
}

/// The first address of the URL's host that can be connected to.
fn address_of(
    running: &RunningUrl,
    expectation: &Expectation,
    turn: usize,
) -> std::io::Result<SocketAddr> {
    let url = &running.url;
    let addresses: Vec<SocketAddr> = (url.host.as_str(), url.port).to_socket_addrs()?.collect();
    // Datagrams are not refused before they are sent: each address has its turn to answer.
    if expectation.is_over_udp()
        && let Some(address) = addresses.get(turn % addresses.len().max(1))
    {
        return Ok(*address);
    }
    let mut failures = Vec::new();
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECT_LIMIT) {
            Ok(_) => return Ok(address),
            Err(cause) => failures.push((address, cause)),
        }
    }
    Err(none_answers(failures))
}

/// Why no address of a name can be connected to; of several, why each cannot.
fn none_answers(mut failures: Vec<(SocketAddr, std::io::Error)>) -> std::io::Error {
    if failures.len() < 2 {
        let only = failures.pop().map(|(_, cause)| cause);
        return only.unwrap_or_else(|| std::io::Error::other("its name has no address"));
    }
    let kind = failures[0].1.kind();
    let each = failures
        .iter()
        .map(|(address, cause)| format!("{address}: {cause}"));
    std::io::Error::new(kind, each.collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::path::PathBuf;

    use bakeoff_plan::Url;

    use super::*;

    #[test]
    fn of_several_addresses_each_that_cannot_be_connected_to_is_named() {
        let refused = |address: &str| {
            let cause = std::io::Error::from(ErrorKind::ConnectionRefused);
            (address.parse().unwrap(), cause)
        };
        let said = |failures| none_answers(failures).to_string();
        let both = said(vec![refused("[::1]:80"), refused("127.0.0.1:80")]);
        assert_eq!(
            both,
            "[::1]:80: connection refused; 127.0.0.1:80: connection refused"
        );
        assert_eq!(said(vec![refused("127.0.0.1:80")]), "connection refused");
        assert_eq!(said(Vec::new()), "its name has no address");
    }

    #[test]
    fn a_url_with_a_name_is_asked_by_it() {
        for (text, expected) in [
            ("http://localhost:8080/", Some("localhost")),
            ("https://site.test/", Some("site.test")),
            ("http://127.0.0.1:8080/", None),
            ("http://[::1]:8080/", None),
        ] {
            let running = RunningUrl {
                url: Url::parse(text).unwrap(),
                fresh: Vec::new(),
                folder: PathBuf::new(),
            };
            assert_eq!(named(&running).as_deref(), expected, "{text}");
        }
    }
}
