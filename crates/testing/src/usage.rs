//! Made-up readings of the probe: every 100 ms from a second before the window to its end.

use bakeoff_record::{CpuShares, HostTick, ProbeCost, Role, TcpTick, TreeTick, TreeUsage, Usage};

use super::{MEASURED_S, Shape};

/// Readings before the window opens.
const LEAD_TICKS: u32 = 11;
/// Seconds between readings.
const PERIOD_S: f64 = 0.1;

/// Everything that the probe saw.
pub(crate) fn usage(shape: &Shape, completed: u64, proxied: bool) -> Usage {
    let mut trees = vec![
        tree(Role::Server, shape.cores, shape.memory, shape.memory_growth),
        tree(Role::Engine, shape.engine_busy, 14.2e6, 0.0),
    ];
    if proxied {
        trees.push(tree(
            Role::Origin,
            0.02 + completed as f64 / 5e6,
            8.8e6,
            0.0,
        ));
    }
    Usage {
        trees,
        host: times().map(|at_s| host(at_s, shape)).collect(),
        tcp: times().map(|at_s| tcp(at_s, shape)).collect(),
        probe: ProbeCost {
            ticks: 61,
            late: 0,
            cpu_s: 0.031,
            tick_s_max: 0.0009,
        },
        ..Usage::default()
    }
}

fn times() -> impl Iterator<Item = f64> {
    let ticks = LEAD_TICKS + (MEASURED_S / PERIOD_S) as u32;
    (0..=ticks).map(|tick| (f64::from(tick) - f64::from(LEAD_TICKS)) * PERIOD_S)
}

fn tree(role: Role, cores: f64, memory: f64, growth: f64) -> TreeUsage {
    let start_s = -f64::from(LEAD_TICKS) * PERIOD_S;
    let ticks = times()
        .map(|at_s| {
            let passed_s = at_s - start_s;
            let used_s = cores * passed_s + 0.004 * (passed_s * 9.0).sin();
            // Stairs, as a garbage collector leaves them.
            let stair = ((passed_s * 2.0).floor() / 12.0).min(1.0);
            TreeTick {
                at_s,
                cpu_user_s: used_s.max(0.0) * 0.4,
                cpu_system_s: used_s.max(0.0) * 0.6,
                rss_bytes: (memory * (1.0 + growth * stair)) as u64,
                pss_bytes: None,
                processes: 2,
                threads: 2,
                open_files: Some(40),
                switches_voluntary: (passed_s * 900.0) as u64,
                switches_involuntary: (passed_s * 90.0) as u64,
                ..TreeTick::default()
            }
        })
        .collect();
    TreeUsage {
        role,
        cpu_source: "cgroup".into(),
        ticks,
        ended: Some(Vec::new()),
    }
}

fn host(at_s: f64, shape: &Shape) -> HostTick {
    let cpu = |cpu, busy: f64| CpuShares {
        cpu,
        user: busy * 0.4,
        system: busy * 0.4,
        softirq: busy * 0.2,
        steal: 0.004,
        idle: (0.996 - busy).max(0.0),
        ..CpuShares::default()
    };
    HostTick {
        at_s,
        cpus: vec![cpu(0, shape.cores.min(0.99)), cpu(1, shape.engine_busy)],
        ..HostTick::default()
    }
}

fn tcp(at_s: f64, shape: &Shape) -> TcpTick {
    let passed_s = (at_s + 1.1).max(0.0);
    let failed = |share: f64| (passed_s * shape.rate * share) as u64;
    TcpTick {
        at_s,
        listen_overflows: failed(shape.refused_share) / 100,
        listen_drops: failed(shape.refused_share) / 100,
        established_resets: failed(shape.reset_share),
        attempt_fails: failed(shape.refused_share),
        established: u64::from(shape.clients) * 2,
        ..TcpTick::default()
    }
}
