//! The same request several times on one connection, as a client under load makes it: whether the
//! server keeps the connection, and what it does behind it.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bakeoff_record::CertificateFacts;

use super::{Answer, Expectation, certificate, h1, h2, h3};

/// What several equal requests came to.
#[derive(Debug)]
pub(crate) struct Repeated {
    /// Connections that they took.
    pub(crate) connections: u32,
    /// Key of the server's certificate.
    pub(crate) certificate: Option<CertificateFacts>,
}

impl Expectation {
    /// Asks so many `times` in turn, on a connection that is used for as long as the server lets
    /// it; `limit` is for all of it.
    pub(crate) fn repeat(
        &self,
        address: SocketAddr,
        times: u32,
        limit: Duration,
    ) -> io::Result<Repeated> {
        let end = Instant::now() + limit;
        let connect = || self.connect(address, end);
        let asked = self.asked(address);
        if self.protocol.is_h3() {
            let (_, certificate) = h3::ask(address, &asked, &self.approach, times, end)?;
            return Ok(Repeated {
                connections: 1,
                certificate,
            });
        }
        let mut stream = connect()?;
        let certificate = stream.certificate();
        let mut repeated = Repeated {
            connections: 1,
            certificate: certificate.and_then(|it| certificate::facts(it)),
        };
        if self.protocol.is_h2() {
            h2::ask(stream, &asked, times, end)?;
            return Ok(repeated);
        }
        let mut is_fresh = true;
        let mut answered = 0;
        while answered < times {
            match h1::ask(&mut stream, &asked, false, end) {
                Ok(answer) => {
                    answered += 1;
                    is_fresh = false;
                    if !ends(&answer) || answered == times {
                        continue;
                    }
                }
                // A server that closes says so or just does it; a new connection that fails is
                // another matter.
                Err(cause) if is_fresh || Instant::now() >= end => return Err(cause),
                Err(_) => {}
            }
            stream = connect()?;
            repeated.connections += 1;
            is_fresh = true;
        }
        Ok(repeated)
    }
}

/// Whether the answer says that it is the last one of its connection.
fn ends(answer: &Answer) -> bool {
    answer
        .header("Connection")
        .is_some_and(|value| value.eq_ignore_ascii_case("close"))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use bakeoff_plan::{Client, Protocol};

    use super::*;
    use crate::fetch::Approach;

    /// A server that ends each connection after so many answers, with or without announcing it.
    fn connections(answers: usize, says: bool) -> u32 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                for answer in 1..=answers {
                    let mut head = [0; 1024];
                    if !matches!(stream.read(&mut head), Ok(1..)) {
                        break;
                    }
                    let close = if says && answer == answers {
                        "Connection: close\r\n"
                    } else {
                        ""
                    };
                    let text = format!("HTTP/1.1 200 OK\r\n{close}Content-Length: 2\r\n\r\nhi");
                    stream.write_all(text.as_bytes()).unwrap();
                }
            }
        });
        let workload = bakeoff_plan::parse_workload("name = \"w\"\n[expect]\ntext = \"hi\"\n", "w");
        let requests = workload.unwrap().requests;
        let expectation = Expectation::of(
            requests.first(),
            Protocol::H1,
            &Approach::by(None, &Client::default()),
        );
        let repeated = expectation.repeat(address, 6, Duration::from_secs(10));
        repeated.unwrap().connections
    }

    #[test]
    fn connections_that_a_server_ends_are_counted() {
        assert_eq!(connections(6, false), 1);
        assert_eq!(connections(7, true), 1);
        assert_eq!(connections(2, false), 3);
        assert_eq!(connections(1, true), 6);
        assert_eq!(connections(1, false), 6);
    }
}
