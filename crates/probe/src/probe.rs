//! The thread that takes readings on a fixed schedule.
//!
//! | what | read |
//! | --- | --- |
//! | CPU, resident memory, processes, threads, host, network, accept queues | at each reading |
//! | context switches and CPU of threads | at each fifth and the last; 256 threads at the most |
//! | load average, memory, pressure, packets without room, connections tracked | at each fifth |
//! | frequency of processors | at each tenth |
//! | open files | at each; at each tenth where the kernel cannot say their number |
//! | proportional memory | once a second at the most, and at the last |

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bakeoff_record::{ProbeCost, Role, Usage};
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use crate::host::{Host, Tcp};
use crate::more::More;
use crate::queues::Queues;
use crate::tree::{Depth, Tree, TreeSource};

/// Shortest time between two readings of the proportional memory.
const PSS_EVERY: Duration = Duration::from_secs(1);

/// What to sample, and how often.
#[derive(Debug, Clone)]
pub struct ProbeOptions {
    /// What becomes 0 on the time axis, until [`Probe::set_zero`] says otherwise.
    pub zero: Instant,
    /// Time between two readings; at least a millisecond.
    pub period: Duration,
    /// Process trees.
    pub trees: Vec<TreeSource>,
    /// Ports whose accept queues are read, and who listens there.
    pub listeners: Vec<(Role, u16)>,
    /// Whether what crosses the network interfaces is read, as it is where clients are on other
    /// hosts.
    pub network: bool,
    /// Processors that the probe's thread may use; `None` leaves it where its starter may run.
    pub pin: Option<Vec<usize>>,
}

/// Why sampling could not start.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The root of a tree is not running.
    #[error("sample process {process} ({role:?}): it is not running, or /proc cannot be read")]
    NoProcess {
        /// Number of the process.
        process: u32,
        /// Whose it is.
        role: Role,
    },
    /// The probe's thread could not be bound to its processors.
    #[error("pin the probe to processors {cpus:?}: {source}")]
    Pin {
        /// The kernel's numbers of the processors.
        cpus: Vec<usize>,
        /// The system's cause.
        source: io::Error,
    },
    /// No thread could be started.
    #[error("start the probe's thread: {0}")]
    Thread(io::Error),
}

/// Sampling in progress; dropping it ends it.
#[derive(Debug)]
pub struct Probe {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Usage>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    readings: AtomicU64,
}

#[derive(Debug)]
struct State {
    zero: Instant,
    stop: bool,
}

impl Probe {
    /// Starts sampling; returns when the first reading, which all counters count from, was taken.
    ///
    /// # Errors
    /// When a root is not running, a processor is not allowed, or no thread can be had.
    pub fn start(options: ProbeOptions) -> Result<Self, ProbeError> {
        let state = Mutex::new(State {
            zero: options.zero,
            stop: false,
        });
        let shared = Arc::new(Shared {
            state,
            changed: Condvar::new(),
            readings: AtomicU64::new(0),
        });
        let (sender, ready) = mpsc::sync_channel(1);
        let thread = std::thread::Builder::new().name("probe".into()).spawn({
            let shared = Arc::clone(&shared);
            move || match Sampler::new(options) {
                Ok(mut sampler) => {
                    sampler.read(false);
                    // The starter waits for this word, so it is there to hear it.
                    let _ = sender.send(Ok(()));
                    sampler.run(&shared)
                }
                Err(error) => {
                    let _ = sender.send(Err(error));
                    Usage::default()
                }
            }
        });
        let probe = Self {
            shared,
            thread: Some(thread.map_err(ProbeError::Thread)?),
        };
        match ready.recv() {
            Ok(started) => started.map(|()| probe),
            Err(_) => Err(ProbeError::Thread(io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// Makes `zero` the 0 of the time axis; earlier readings come to stand before it.
    pub fn set_zero(&self, zero: Instant) {
        self.shared.lock().zero = zero;
    }

    /// Readings that were taken behind the first one.
    pub fn readings(&self) -> u64 {
        self.shared.readings.load(Ordering::Relaxed)
    }

    /// Takes a last reading, at once, and returns all of them. To be called while the servers
    /// still run: the last reading is the one with everything in it.
    pub fn stop(mut self) -> Usage {
        match self.end() {
            Some(Ok(usage)) => usage,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Usage::default(),
        }
    }

    fn end(&mut self) -> Option<std::thread::Result<Usage>> {
        self.shared.lock().stop = true;
        self.shared.changed.notify_all();
        self.thread.take().map(JoinHandle::join)
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until `due`, or until asked to stop; true when asked.
    ///
    /// The schedule is absolute, so what a single sleep is late by does not add up; and unlike a
    /// plain sleep this one ends at once when the trial does.
    fn stopped_before(&self, due: Instant) -> bool {
        let mut state = self.lock();
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if state.stop || left.is_zero() {
                return state.stop;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Everything that the thread owns.
struct Sampler {
    started: Instant,
    period: Duration,
    trees: Vec<Tree>,
    host: Host,
    tcp: Tcp,
    queues: Queues,
    cost: ProbeCost,
    read_at: Instant,
    pss_at: Option<Instant>,
    buffer: Vec<u8>,
}

impl Sampler {
    fn new(options: ProbeOptions) -> Result<Self, ProbeError> {
        pin(options.pin)?;
        let mut buffer = Vec::new();
        let groups = options
            .trees
            .iter()
            .filter(|tree| tree.limited.is_none())
            .filter_map(|tree| tree.cgroup.as_deref());
        let more = More::new(groups, options.network, &mut buffer);
        let roots: Vec<_> = options.trees.iter().map(|tree| tree.root).collect();
        let mut trees = Vec::new();
        for source in options.trees {
            if !std::path::Path::new(&format!("/proc/{}/stat", source.root)).exists() {
                return Err(ProbeError::NoProcess {
                    process: source.root,
                    role: source.role,
                });
            }
            let foreign = roots
                .iter()
                .copied()
                .filter(|root| *root != source.root)
                .collect();
            trees.push(Tree::new(source, foreign, &mut buffer));
        }
        Ok(Self {
            started: Instant::now(),
            period: options.period.max(Duration::from_millis(1)),
            trees,
            host: Host::new(more, &mut buffer),
            tcp: Tcp::new(),
            queues: Queues::new(options.listeners),
            cost: ProbeCost::default(),
            read_at: Instant::now(),
            pss_at: None,
            buffer,
        })
    }

    fn run(mut self, shared: &Shared) -> Usage {
        let mut due = self.started;
        loop {
            due += self.period;
            if shared.stopped_before(due) {
                break;
            }
            let late = due.elapsed();
            if late > self.period / 2 {
                self.cost.late += 1;
            }
            // Readings that were slept through are left out, not made up for in a burst.
            due += self.period * (late.as_nanos() / self.period.as_nanos()) as u32;
            self.read(false);
            shared.readings.fetch_add(1, Ordering::Relaxed);
        }
        self.read(true);
        self.cost.cpu_s = thread_cpu_s();
        let zero = shared.lock().zero;
        let zero_s = seconds_from(self.started, zero);
        Usage {
            trees: self
                .trees
                .into_iter()
                .map(|tree| tree.into_usage(zero_s))
                .collect(),
            interrupts_apart: self.host.interrupts_apart,
            host: self.host.into_ticks(zero_s),
            tcp: self.tcp.into_ticks(zero_s),
            listeners: self.queues.into_ticks(zero_s),
            server_counters: None,
            probe: self.cost,
        }
    }

    fn read(&mut self, last: bool) {
        let now = Instant::now();
        // Half a period early counts as due, lest a reading that is a little early skips one.
        let pss = self
            .pss_at
            .is_none_or(|at| now - at + self.period / 2 >= PSS_EVERY);
        if pss {
            self.pss_at = Some(now);
        }
        let at_s = seconds_from(self.started, now);
        let depth = Depth {
            index: self.cost.ticks,
            pss,
            last,
        };
        for tree in &mut self.trees {
            tree.read(at_s, depth, &mut self.buffer);
        }
        // Shares of a moment would be those of a clock tick or two.
        if !last || now - self.read_at >= self.period / 2 {
            self.host.read(at_s, depth.index, &mut self.buffer);
        }
        self.tcp.read(at_s, &mut self.buffer);
        self.queues.read(at_s, &mut self.buffer);
        self.read_at = now;
        self.cost.ticks += 1;
        self.cost.tick_s_max = self.cost.tick_s_max.max(now.elapsed().as_secs_f64());
    }
}

fn pin(cpus: Option<Vec<usize>>) -> Result<(), ProbeError> {
    let Some(cpus) = cpus else { return Ok(()) };
    let mut set = CpuSet::new();
    for cpu in &cpus {
        if *cpu >= CpuSet::MAX_CPU {
            return Err(ProbeError::Pin {
                cpus,
                source: io::ErrorKind::InvalidInput.into(),
            });
        }
        set.set(*cpu);
    }
    sched_setaffinity(None, &set).map_err(|errno| ProbeError::Pin {
        cpus,
        source: errno.into(),
    })
}

/// CPU time that the calling thread has used, seconds.
fn thread_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Seconds from `start` to `end`, negative when `end` came first.
fn seconds_from(start: Instant, end: Instant) -> f64 {
    match end.checked_duration_since(start) {
        Some(after) => after.as_secs_f64(),
        None => -start.duration_since(end).as_secs_f64(),
    }
}
