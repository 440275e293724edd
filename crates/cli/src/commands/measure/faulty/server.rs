//! A server with a known service time: a thread for each connection, and workers that compute.

use std::fs::File;
use std::io::{self, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::exchange::{Inbox, Upstream, answer, gzip};
use super::faults::{Planted, work_of_this_start};
use super::{listener, work_until};
use crate::flags::{Fault, FaultyServerFlags};

/// Connections that wait to be accepted, of a server without that fault.
const BACKLOG: i32 = 1024;
/// The same of one with it, and the time from one that it accepts to the next.
const BACKLOG_FAULTY: (i32, Duration) = (4, Duration::from_millis(100));
/// How often a thread looks whether a fault has begun.
const LOOK: Duration = Duration::from_millis(5);
/// Bytes a second that all connections send together, of a server that is paced, and at once.
const PACE: (f64, usize) = (4e6, 16 << 10);
/// Work that takes three times as long.
const SLOWER: u32 = 3;
/// Exit status of the process that a restart ends, and of a server that dies.
const DIED: i32 = 7;
/// Set in the environment of the process that a restart may end.
const INNER: &str = "BAKEOFF_FAULTY_INNER";
/// Line of a log.
const LOG_LINE: &[u8] = b"127.0.0.1 - - [01/Jan/2026:00:00:00 +0000] \"GET / HTTP/1.1\" 200 100\n";

/// What all connections share.
struct Server {
    planted: Planted,
    work: Duration,
    body: Vec<u8>,
    flags: FaultyServerFlags,
    jobs: SyncSender<Job>,
    log: Option<File>,
    /// When the link of a paced server is free.
    link: Mutex<Instant>,
    /// To end all connections at once.
    open: Mutex<Vec<TcpStream>>,
}

/// Work for a worker; it sends when it is done.
struct Job {
    work: Duration,
    done: SyncSender<()>,
}

pub(super) fn serve(flags: &FaultyServerFlags) -> anyhow::Result<()> {
    if flags.fault == Some(Fault::Restart) && std::env::var_os(INNER).is_none() {
        return start_again_and_again();
    }
    let work = work_of_this_start(flags)?;
    let (jobs, waiting) = sync_channel(4096);
    let waiting = Arc::new(Mutex::new(waiting));
    for _ in 0..flags.workers {
        let waiting = Arc::clone(&waiting);
        std::thread::spawn(move || work_on(&waiting));
    }
    let log = flags.folder.as_ref().map(|it| it.join("access.log"));
    let log = log.filter(|_| flags.fault == Some(Fault::Log));
    let server = Arc::new(Server {
        planted: Planted::new(flags),
        work,
        body: vec![b'x'; flags.body],
        flags: flags.clone(),
        jobs,
        log: log.map(File::create).transpose()?,
        link: Mutex::new(Instant::now()),
        open: Mutex::default(),
    });
    let ends = [Fault::Die, Fault::Restart, Fault::Refuse];
    if flags.fault.is_some_and(|fault| ends.contains(&fault)) {
        let server = Arc::clone(&server);
        std::thread::spawn(move || server.end_when_due());
    }
    let backlog = match flags.fault {
        Some(Fault::Backlog) => BACKLOG_FAULTY.0,
        _ => BACKLOG,
    };
    accept(&server, listener(flags.port, backlog)?);
    Ok(())
}

/// Keeps one process that answers, and starts another one when it has ended.
fn start_again_and_again() -> anyhow::Result<()> {
    let program = std::env::current_exe()?;
    loop {
        let mut inner = std::process::Command::new(&program);
        inner.args(std::env::args_os().skip(1)).env(INNER, "1");
        if inner.status()?.code() != Some(DIED) {
            return Ok(());
        }
    }
}

/// Accepts for ever.
fn accept(server: &Arc<Server>, listener: TcpListener) {
    let mut number = 0_u64;
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            // No file left: those that wait are not accepted until one is.
            Err(_) => {
                std::thread::sleep(LOOK);
                continue;
            }
        };
        if server.planted.is_on(Fault::Refuse) {
            // The last one that is accepted.
            drop(listener);
            return wait_for_ever();
        }
        if server.planted.is(Fault::Backlog) {
            std::thread::sleep(BACKLOG_FAULTY.1);
        }
        let starves = server.planted.is(Fault::Starve) && number % 2 == 1;
        number += 1;
        let server = Arc::clone(server);
        std::thread::spawn(move || {
            // A client that is gone is no matter of the server's.
            let _ = server.converse(stream, starves);
        });
    }
}

fn wait_for_ever() {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

/// A worker: one job after the other.
fn work_on(waiting: &Mutex<Receiver<Job>>) {
    loop {
        let next = waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        let Ok(job) = next else { return };
        work_until(Instant::now() + job.work);
        // Who asked for it may be gone.
        let _ = job.done.send(());
    }
}

impl Server {
    /// Answers one connection until its end.
    fn converse(&self, mut stream: TcpStream, starves: bool) -> io::Result<()> {
        stream.set_nodelay(true)?;
        if self.planted.is(Fault::Refuse) {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.push(stream.try_clone()?);
        }
        let mut inbox = Inbox::default();
        let mut upstream = self.flags.origin.map(Upstream::new);
        let (done, is_done) = sync_channel(1);
        while let Some(asked) = inbox.request(&mut stream)? {
            let number = self.planted.count();
            if starves && self.planted.is_on(Fault::Starve) {
                // Until the client gives up.
                while inbox.request(&mut stream)?.is_some() {}
                return Ok(());
            }
            while let Some(end) = self.planted.stopped_until() {
                std::thread::sleep(end.saturating_duration_since(Instant::now()));
            }
            if self.planted.meets(Fault::Reset, number) {
                rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO))?;
                return Ok(());
            }
            let bytes = if self.planted.is_on(Fault::WrongStatus) {
                answer("503 Service Unavailable", "", b"no\n")
            } else {
                let work = self.work_now();
                let done = done.clone();
                if !work.is_zero() && self.jobs.send(Job { work, done }).is_ok() {
                    let _ = is_done.recv();
                }
                self.answer(number, upstream.as_mut())?
            };
            self.send(&mut stream, &bytes)?;
            let cut = self.planted.meets(Fault::ShortBody, number);
            if asked.closes || cut || self.planted.is(Fault::Close) {
                return stream.shutdown(Shutdown::Both);
            }
        }
        Ok(())
    }

    fn work_now(&self) -> Duration {
        if self.planted.is_on(Fault::Slow) {
            self.work * SLOWER
        } else {
            self.work
        }
    }

    /// The answer to the request with this number.
    fn answer(&self, number: u64, upstream: Option<&mut Upstream>) -> io::Result<Vec<u8>> {
        let mut body = match upstream {
            Some(upstream) if !self.skips_upstream(number) => {
                if self.planted.is(Fault::NewUpstream) {
                    upstream.forget();
                }
                upstream.ask()?
            }
            _ => self.body.clone(),
        };
        if let Some(mut log) = self.log.as_ref() {
            log.write_all(LOG_LINE)?;
        }
        if self.planted.meets(Fault::WrongBody, number) {
            body.fill(b'y');
        }
        let headers = match self.flags.fault {
            Some(Fault::Close) => "Connection: close\r\n",
            Some(Fault::Compress) => {
                body = gzip(&body)?;
                "Content-Encoding: gzip\r\n"
            }
            _ => "",
        };
        let mut bytes = answer("200 OK", headers, &body);
        if self.planted.meets(Fault::ShortBody, number) {
            bytes.truncate(bytes.len() - body.len() / 2);
        }
        Ok(bytes)
    }

    fn skips_upstream(&self, number: u64) -> bool {
        self.planted.is_on(Fault::Cache) && number % 2 == 1
    }

    fn send(&self, stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
        if !self.planted.is(Fault::Pace) {
            return stream.write_all(bytes);
        }
        let (per_s, at_once) = PACE;
        for piece in bytes.chunks(at_once) {
            let takes = Duration::from_secs_f64(piece.len() as f64 / per_s);
            let free = {
                let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
                *link = (*link).max(Instant::now()) + takes;
                *link
            };
            std::thread::sleep(free.saturating_duration_since(Instant::now()));
            stream.write_all(piece)?;
        }
        Ok(())
    }

    /// Ends the process, or all connections and the listener, when the fault begins.
    fn end_when_due(&self) {
        let ends = |fault| self.planted.is_on(fault);
        while !ends(Fault::Die) && !ends(Fault::Restart) && !ends(Fault::Refuse) {
            std::thread::sleep(LOOK);
        }
        if !self.planted.is(Fault::Refuse) {
            std::process::exit(DIED);
        }
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        for stream in open.iter() {
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
        // The accepting thread takes one connection more, and then lets the listener go.
        let _ = TcpStream::connect(("127.0.0.1", self.flags.port));
    }
}
