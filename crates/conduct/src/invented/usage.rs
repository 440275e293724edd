//! What the probe would have seen of an invented machine.

use bakeoff_record::{
    CpuShares, HostTick, Pinned, ProbeCost, Role, TcpTick, TreeTick, TreeUsage, Usage,
};

use super::traffic::Traffic;
use super::world::Server;

/// Readings in a window, about, and the shortest time between two, seconds.
const READINGS: f64 = 20.0;
const PERIOD_S: f64 = 0.1;
/// Processors that an upstream is busy with for a request a second.
const OF_UPSTREAM: f64 = 2e-5;

/// A machine in a trial.
pub(super) struct Seen<'a> {
    pub(super) server: &'a Server,
    pub(super) traffic: &'a Traffic,
    pub(super) pinned: &'a Pinned,
    pub(super) processors: usize,
    pub(super) is_proxied: bool,
    /// When it was looked at last, seconds from the start of the window.
    pub(super) until_s: f64,
}

/// Processors that a role uses while a part of the window is on.
struct Busy {
    server: f64,
    engine: f64,
    origin: f64,
}

impl Seen<'_> {
    /// Everything that the probe saw.
    pub(super) fn usage(&self) -> Usage {
        let memory = self.server.usage.memory_mb * 1e6;
        let mut trees = vec![
            self.tree(Role::Server, memory, |busy| busy.server),
            self.tree(Role::Engine, 14.2e6, |busy| busy.engine),
        ];
        if self.is_proxied {
            trees.push(self.tree(Role::Origin, 8.8e6, |busy| busy.origin));
        }
        let times = self.times();
        Usage {
            trees,
            host: times.iter().map(|at_s| self.host(*at_s)).collect(),
            tcp: times.iter().map(|at_s| self.tcp(*at_s)).collect(),
            interrupts_apart: Some(false),
            probe: ProbeCost {
                ticks: times.len() as u64,
                cpu_s: 0.001 * times.len() as f64,
                tick_s_max: 0.0009,
                ..ProbeCost::default()
            },
            ..Usage::default()
        }
    }

    /// When it looked: before the window, at its edges, and between.
    fn times(&self) -> Vec<f64> {
        let window_s = self.traffic.length_s.min(self.until_s).max(0.0);
        let period_s = (window_s / READINGS).max(PERIOD_S);
        let number = (window_s / period_s).round().max(1.0);
        let inside = (0..=number as u32).map(|at| f64::from(at) * window_s / number);
        [-1.0, -0.5].into_iter().chain(inside).collect()
    }

    fn busy_at(&self, at_s: f64) -> Busy {
        let mut parts = self.traffic.load_by_part();
        let share = parts
            .find(|(end_s, _)| at_s < *end_s)
            .map(|(_, share)| share);
        // After the last part nothing is seen but its end.
        let share = share.or_else(|| self.traffic.load_by_part().last().map(|(_, share)| share));
        let share = share.unwrap_or(0.0);
        Busy {
            server: self.server.usage.cores * share,
            engine: self.traffic.machine.engine_busy * self.pinned.engine.len().max(1) as f64,
            origin: OF_UPSTREAM * self.traffic.rate * share,
        }
    }

    fn tree(&self, role: Role, memory: f64, cores: fn(&Busy) -> f64) -> TreeUsage {
        let mut used_s = 0.0;
        let times = self.times();
        let before = [times[0]].into_iter().chain(times.iter().copied());
        let ticks = times.iter().zip(before).map(|(at_s, before_s)| {
            let cores = cores(&self.busy_at(before_s));
            used_s += cores * (at_s - before_s);
            TreeTick {
                at_s: *at_s,
                cpu_user_s: used_s * 0.4,
                cpu_system_s: used_s * 0.6,
                rss_bytes: memory as u64,
                processes: 2,
                threads: 2,
                open_files: Some(40),
                switches_voluntary: (used_s * 900.0) as u64,
                switches_involuntary: (used_s * 90.0) as u64,
                busiest_thread: self.busiest_thread(role, cores),
                ..TreeTick::default()
            }
        });
        TreeUsage {
            role,
            cpu_source: "cgroup".to_owned(),
            ticks: ticks.collect(),
            ended: Some(Vec::new()),
        }
    }

    /// A server's workers share its work; a thread of any other is not looked at.
    fn busiest_thread(&self, role: Role, cores: f64) -> Option<f64> {
        let all = self.pinned.server.len().max(1);
        let workers = self.server.work.workers.map_or(all as f64, f64::from);
        (role == Role::Server).then(|| (cores / workers).min(1.0))
    }

    /// Each role is on its own processors, and other programs on the server's.
    fn host(&self, at_s: f64) -> HostTick {
        let busy = self.busy_at(at_s - 1e-3);
        let machine = &self.traffic.machine;
        let of_role = |cpus: &[usize], cpu: usize, cores: f64| {
            let (all, each): (Vec<usize>, f64) = match cpus {
                [] => ((0..self.processors).collect(), self.processors as f64),
                some => (some.to_vec(), some.len() as f64),
            };
            if all.contains(&cpu) {
                cores / each
            } else {
                0.0
            }
        };
        let origin = if self.is_proxied { busy.origin } else { 0.0 };
        let cpus = (0..self.processors).map(|cpu| {
            let used = of_role(&self.pinned.server, cpu, busy.server + machine.other_load)
                + of_role(&self.pinned.engine, cpu, busy.engine)
                + of_role(&self.pinned.origin, cpu, origin);
            let used = used.min(1.0 - machine.steal);
            CpuShares {
                cpu: u32::try_from(cpu).unwrap_or(u32::MAX),
                user: used * 0.4,
                system: used * 0.6,
                steal: machine.steal,
                idle: 1.0 - machine.steal - used,
                ..CpuShares::default()
            }
        });
        HostTick {
            at_s,
            cpus: cpus.collect(),
            ..HostTick::default()
        }
    }

    fn tcp(&self, at_s: f64) -> TcpTick {
        TcpTick {
            at_s,
            established: self.traffic.clients * 2,
            ..TcpTick::default()
        }
    }
}
