//! The built-in server that an agent runs: at the other end of a link that is measured.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use bakeoff_hosts::{Outbox, Report};
use bakeoff_origin::{Name, Reply, ServeOptions, serve};
use bakeoff_plan::Protocol;
use bakeoff_probe::ThreadTimes;

use super::ask::Answer;
use super::refused;

/// Longest body of an answer.
const BODY_BYTES_MAX: u32 = 64 << 20;

/// The server of an agent: one at a time.
pub(super) struct Servers {
    outbox: Outbox,
    running: Option<Running>,
}

/// A server that runs.
struct Running {
    stop: Arc<AtomicBool>,
    /// What its busiest thread had of processors when it was ended.
    times: Arc<OnceLock<ThreadTimes>>,
    thread: JoinHandle<()>,
}

impl Servers {
    pub(super) fn new(outbox: Outbox) -> Self {
        Self {
            outbox,
            running: None,
        }
    }

    /// Starts the yardstick on `listen`.
    pub(super) fn start(&mut self, listen: SocketAddr, body_bytes: u32) -> Result<(), Report> {
        if self
            .running
            .as_ref()
            .is_some_and(|it| !it.thread.is_finished())
        {
            return Err(refused("a server runs already", false));
        }
        if body_bytes > BODY_BYTES_MAX {
            let why = format!("a body has at most {BODY_BYTES_MAX} bytes");
            return Err(refused(why, true));
        }
        let options = ServeOptions {
            listen,
            also: Vec::new(),
            // Counts are of interest to this process alone.
            control: SocketAddr::from(([127, 0, 0, 1], 0)),
            threads: 1,
            pin: Vec::new(),
            reply: Reply {
                status: 200,
                content_type: "application/octet-stream".to_owned(),
                body: vec![b'x'; body_bytes as usize],
            },
            name: Name::Yardstick,
            protocol: Protocol::H1,
            certificate: None,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let times: Arc<OnceLock<ThreadTimes>> = Arc::default();
        let (outbox, asked, worked) = (self.outbox.clone(), stop.clone(), times.clone());
        let thread = std::thread::Builder::new().name("server".to_owned());
        let running = thread
            .spawn(move || {
                let mut announce = |address: SocketAddr, _| {
                    let _ = outbox.answer(&Answer::Serving { address });
                };
                let times = || worked.get();
                let _ = match serve(&options, &mut announce, &asked) {
                    Ok(_) => outbox.answer(&Answer::Closed {
                        ran: times().map(|it| it.ran),
                        waited: times().map(|it| it.waited).unwrap_or_default(),
                    }),
                    Err(error) => outbox.send(&refused(format!("failed to {error}"), true)),
                };
            })
            .map_err(|error| refused(error, false))?;
        self.running = Some(Running {
            stop,
            times,
            thread: running,
        });
        Ok(())
    }

    pub(super) fn close(&mut self) -> Result<(), Report> {
        match self.running.take() {
            Some(running) => {
                // Its threads still are.
                if let Some(times) = bakeoff_probe::busiest_thread() {
                    let _ = running.times.set(times);
                }
                running.stop.store(true, Ordering::Relaxed);
                // It looks every 50 ms, and sends its report.
                let _ = running.thread.join();
                Ok(())
            }
            None => Err(refused("no server runs", false)),
        }
    }
}
