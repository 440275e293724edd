//! A page of metrics on loopback while a campaign or a load runs, for a scraper such as Prometheus.
//!
//! One thread serves it. It sleeps in `poll` and wakes for a connection and once a second, when it
//! takes a reading of counters that are there for the live view anyway. The engine's threads do
//! nothing for it. It changes nothing, and when what it is about has ended it is gone.

use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::Context;

use crate::exit;

mod campaign;
mod load;
mod server;

pub(crate) use campaign::CampaignMetrics;
pub(crate) use load::LoadMetrics;

/// What is served.
trait Source: Send {
    /// Takes a reading; once a second.
    fn tick(&mut self, now: Instant);
    /// The page, of the last reading.
    fn page(&mut self) -> String;
}

/// An address that is listened at; a scraper waits until something is served.
pub(crate) struct Endpoint {
    listener: TcpListener,
    address: SocketAddr,
}

impl Endpoint {
    /// Listens, or says why it cannot: with exit code 2, before anything is started.
    pub(crate) fn open(address: SocketAddr) -> anyhow::Result<Self> {
        if !address.ip().is_loopback() {
            return Err(exit::usage(format!(
                "--metrics {address} is not an address of loopback, and whoever reaches it could \
                 read the metrics: give 127.0.0.1:PORT or [::1]:PORT"
            )));
        }
        let listener = TcpListener::bind(address).map_err(|cause| {
            exit::usage(format!(
                "failed to listen at --metrics {address}: {cause}; give another port"
            ))
        })?;
        listener
            .set_nonblocking(true)
            .context("failed to set up the listener of --metrics")?;
        let address = listener.local_addr().unwrap_or(address);
        Ok(Self { listener, address })
    }

    /// What to say of it.
    pub(crate) fn notice(&self) -> String {
        format!("metrics: http://{}/metrics, until the end", self.address)
    }

    /// Serves from now on.
    fn serve(self, source: impl Source + 'static) -> anyhow::Result<Serving> {
        let (heard, over) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .context("failed to make a pipe for --metrics")?;
        let thread = std::thread::Builder::new().name("metrics".to_owned());
        let thread = thread.spawn(move || server::serve(&self.listener, &heard, source));
        let thread = thread.context("failed to start the thread of --metrics")?;
        Ok(Serving(Some((over, thread))))
    }
}

/// An endpoint that is served until this is dropped.
pub(crate) struct Serving(Option<(OwnedFd, JoinHandle<()>)>);

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some((over, thread)) = self.0.take() {
            // The thread hears that the other end of its pipe is closed.
            drop(over);
            // It only shows; that it failed would change no number.
            let _ = thread.join();
        }
    }
}
