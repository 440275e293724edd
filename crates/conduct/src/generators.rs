//! What carries out a load: the engine of this process, or engines on several hosts together.
//!
//! Whoever measures knows neither. It asks for a load, follows its window, and takes what it came
//! to; all times are those of this machine.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use bakeoff_load::{
    Control, LoadError, LoadSpec, Noted, Pem, Shortage, Threads, check_clients, run,
};
use bakeoff_plan::Trial;
use bakeoff_probe::Network;
use bakeoff_record::{Hosts, LoadResult, LostHost};
use bakeoff_stage::Running;
use serde::{Deserialize, Serialize};

use crate::actions::notes_of;
use crate::answers::Encoded;
use crate::roles::Roles;
use crate::spec::spec_of;

/// Where a server is reached, and by what name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    /// Address for connections.
    pub address: SocketAddr,
    /// Name that it is asked by, in `Host` and in SNI; `None` to ask by the address.
    pub host: Option<String>,
    /// The authority that its certificate leads to.
    pub authority: Option<Pem>,
    /// The network that its address is in; `None` for that of this process.
    #[serde(skip)]
    pub network: Option<Network>,
}

impl Reached {
    /// Where clients on this machine reach a server that runs on it.
    pub fn of(server: &Running) -> Self {
        Self {
            address: server.address(),
            host: server.host().map(str::to_owned),
            authority: server.authority().map(Pem::from),
            network: server.network().cloned(),
        }
    }
}

/// A load to carry out.
#[derive(Debug, Clone, Copy)]
pub struct LoadOrder<'a> {
    /// The trial, whose workload and load it is.
    pub trial: &'a Trial,
    /// Bodies that were fetched before of what the server encodes, by the position of the request.
    pub encoded: &'a Encoded,
    /// Seed of the schedule and of the choice among requests.
    pub seed: u64,
    /// The server.
    pub reached: &'a Reached,
}

impl LoadOrder<'_> {
    /// What an engine with these threads is to do.
    ///
    /// # Errors
    /// When a request cannot be sent over the protocol.
    pub fn spec(&self, threads: Threads) -> Result<LoadSpec, String> {
        spec_of(self, threads)
    }
}

/// What a load lacks where its engine runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    /// The host of that engine; `None` for this machine.
    pub host: Option<String>,
    /// What it lacks.
    pub shortage: Shortage,
}

/// Carries out loads.
pub trait Generators: std::fmt::Debug + Send + Sync {
    /// Puts a load on a server, and returns as soon as it is under way.
    ///
    /// # Errors
    /// Why it cannot be, as text that follows "failed to".
    fn begin(&self, order: &LoadOrder<'_>) -> Result<Box<dyn UnderWay>, String>;

    /// Whether the engine is this process, so that nothing of the load crosses a network.
    fn are_here(&self) -> bool;

    /// What the first of them lacks for this number of clients, if one does.
    fn shortage(&self, _clients: u32) -> Option<Lacking> {
        None
    }

    /// Reaches hosts that were lost since an earlier load began. It may take attempts, and waits
    /// between them.
    ///
    /// # Errors
    /// The first that cannot be reached.
    fn reach_again(&self) -> Result<(), LostHost> {
        Ok(())
    }

    /// The hosts of a trial, as far as they are known before its load; `None` where it is this
    /// machine alone.
    fn hosts(&self, _trial: &Trial) -> Option<Hosts> {
        None
    }
}

/// A load under way.
pub trait UnderWay {
    /// Planned start and end of the measured window on this machine's clock, once they are known.
    fn window(&self) -> Option<(Instant, Instant)>;

    /// Requests that ended since the start, as `ok` and otherwise, warm-up included.
    fn live(&self) -> (u64, u64);

    /// Asks it to end; it does soon.
    fn stop(&self);

    /// Whether it has ended, by itself or not. Does not wait.
    fn is_over(&mut self) -> bool;

    /// Its result; waits for its end.
    fn finish(self: Box<Self>) -> Generated;
}

/// The result of a load.
#[derive(Debug, Default)]
pub struct Generated {
    /// What the engine saw, or all of them together. Where the load failed it is what is left.
    pub result: Option<LoadResult>,
    /// The hosts that took part; `None` where it was this machine alone.
    pub hosts: Option<Hosts>,
    /// Why it failed, if it did.
    pub failed: Option<String>,
    /// The host that was away when it was to begin: it never did.
    pub away: Option<LostHost>,
    /// What was noted of a load in which something is done to the server.
    pub noted: Noted,
}

/// The engine of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnEngine {
    threads: Threads,
}

impl OwnEngine {
    /// The engine on the processors of its role.
    pub fn of(roles: &Roles) -> Self {
        Self {
            threads: Threads {
                count: roles.engine_threads,
                pin: roles.pinned.engine.clone(),
                part: None,
            },
        }
    }
}

impl Generators for OwnEngine {
    fn begin(&self, order: &LoadOrder<'_>) -> Result<Box<dyn UnderWay>, String> {
        let spec = order.spec(self.threads.clone())?;
        let noting = notes_of(&order.trial.load).map(Control::noting_all);
        let control = Arc::new(noting.unwrap_or_default());
        let network = order.reached.network.clone();
        let engine = {
            let control = control.clone();
            // The engine's threads are made by this one, and are in its network.
            let engine = move || {
                network.map_or(Ok(()), |it| it.enter()).map_err(unentered)?;
                run(&spec, &control).map_err(|error| error.to_string())
            };
            std::thread::Builder::new()
                .name("engine".to_owned())
                .spawn(engine)
        };
        let engine = engine.map_err(|error| format!("start a thread: {error}"))?;
        Ok(Box::new(OwnLoad { control, engine }))
    }

    fn are_here(&self) -> bool {
        true
    }

    fn shortage(&self, clients: u32) -> Option<Lacking> {
        let shortage = check_clients(clients, 1).err()?;
        Some(Lacking {
            host: None,
            shortage,
        })
    }
}

fn unentered(cause: std::io::Error) -> String {
    format!("failed to enter the server's network: {cause}")
}

/// A load of the engine of this process.
struct OwnLoad {
    control: Arc<Control>,
    engine: JoinHandle<Result<LoadResult, String>>,
}

impl UnderWay for OwnLoad {
    fn window(&self) -> Option<(Instant, Instant)> {
        self.control.window()
    }

    fn live(&self) -> (u64, u64) {
        let live = self.control.live();
        (live.ok(), live.errors())
    }

    fn stop(&self) {
        self.control.stop();
    }

    fn is_over(&mut self) -> bool {
        self.engine.is_finished()
    }

    fn finish(self: Box<Self>) -> Generated {
        let panicked = || Err(LoadError::Panicked.to_string());
        match self.engine.join().unwrap_or_else(|_| panicked()) {
            Ok(result) => Generated {
                result: Some(result),
                noted: self.control.noted(),
                ..Generated::default()
            },
            Err(error) => Generated {
                failed: Some(error),
                ..Generated::default()
            },
        }
    }
}
