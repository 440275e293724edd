//! What carries out a load: the engine of this process, or engines on several hosts together.
//!
//! Whoever measures knows neither. It asks for a load, follows its window, and takes what it came
//! to; all times are those of this machine.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use bakeoff_load::{Control, LoadError, Noted, Shortage, Threads, check_clients, run};
use bakeoff_plan::Trial;
use bakeoff_record::{Hosts, LoadResult, LostHost};

use crate::actions::notes_of;
use crate::roles::Roles;
use crate::spec::LoadOrder;

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
    pub(crate) fn of(roles: &Roles) -> Self {
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
