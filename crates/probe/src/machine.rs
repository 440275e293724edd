//! What machine this is, and whether it has something else to do.

use std::time::Duration;

use bakeoff_record::{MACHINE_SCHEMA, Machine, MachineSettings};
use rustix::process::{Resource, getrlimit};

use crate::file::{self, KeptFile};
use crate::parse::{self, CpuTimes};

/// Kernel settings that shape numbers: queues and ports of connections, memory of sockets, what
/// the firewall tracks, and how the scheduler treats who wakes up.
const SYSCTLS: [&str; 16] = [
    "kernel.sched_autogroup_enabled",
    "net.core.default_qdisc",
    "net.core.netdev_budget",
    "net.core.netdev_max_backlog",
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
    "net.netfilter.nf_conntrack_max",
    "vm.swappiness",
];

/// The machine as it stands. `bakeoff`, `command` and `started_at` are left empty: only the
/// caller knows them.
pub fn machine() -> Machine {
    let mut buffer = Vec::new();
    let names = rustix::system::uname();
    let limit = getrlimit(Resource::Nofile);
    let unlimited = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
    let allowed = rustix::thread::sched_getaffinity(None).map(|set| set.count());
    Machine {
        schema: MACHINE_SCHEMA.into(),
        bakeoff: String::new(),
        host: names.nodename().to_string_lossy().into_owned(),
        os: text("/etc/os-release").and_then(|text| os_name(&text)),
        kernel: names.release().to_string_lossy().into_owned(),
        cgroups: text("/proc/self/mountinfo")
            .map_or("none", |text| cgroups(&text))
            .into(),
        cpu_model: text("/proc/cpuinfo").and_then(|text| cpu_field(&text, "model name")),
        cpus: allowed.unwrap_or_default(),
        hypervisor: hypervisor(),
        governor: governor(),
        memory_bytes: file::read("/proc/meminfo", &mut buffer)
            .and_then(|text| parse::kibibytes(text, b"MemTotal:")),
        open_files: Some((unlimited(limit.current), unlimited(limit.maximum))),
        ephemeral_ports: file::line("/proc/sys/net/ipv4/ip_local_port_range")
            .and_then(|line| port_range(&line)),
        somaxconn: number("/proc/sys/net/core/somaxconn"),
        tcp_tw_reuse: number("/proc/sys/net/ipv4/tcp_tw_reuse"),
        load_average: file::line("/proc/loadavg")
            .and_then(|line| line.split(' ').next()?.parse().ok()),
        settings: settings(&mut buffer),
        command: Vec::new(),
        started_at: String::new(),
    }
}

/// Share of all processors' time, 0 to 1, that anybody but this process takes while it sleeps
/// for `window`, the hypervisor's other guests included. `None` when the host cannot be read or
/// the window is too short for its clock ticks of 10 ms.
pub fn cpu_share_of_others(window: Duration) -> Option<f64> {
    let mut buffer = Vec::new();
    let stat = KeptFile::open("/proc/stat").ok()?;
    let mut read = || {
        let mut times = Vec::new();
        parse::cpu_times(stat.read(&mut buffer)?, &mut times);
        let own = file::read("/proc/self/stat", &mut Vec::new()).and_then(parse::process_stat)?;
        Some((times, own.own.total_ns()))
    };
    let (before, own_before) = read()?;
    std::thread::sleep(window);
    let (now, own_now) = read()?;
    share_of_others(
        &before,
        &now,
        Duration::from_nanos(own_now.saturating_sub(own_before)),
    )
}

fn share_of_others(before: &[CpuTimes], now: &[CpuTimes], own: Duration) -> Option<f64> {
    let sum = |times: &[CpuTimes], part: fn(&CpuTimes) -> u64| -> u64 {
        times.iter().map(part).fold(0, u64::saturating_add)
    };
    let total = sum(now, CpuTimes::total).saturating_sub(sum(before, CpuTimes::total));
    let spare = |one: &CpuTimes| one.idle.saturating_add(one.iowait);
    let idle = sum(now, spare).saturating_sub(sum(before, spare));
    let own_ticks = own.as_secs_f64() * 100.0;
    let busy = total.saturating_sub(idle) as f64 - own_ticks;
    (total > 0).then(|| (busy / total as f64).clamp(0.0, 1.0))
}

fn settings(buffer: &mut Vec<u8>) -> MachineSettings {
    let read = |name: &&str| {
        let value = file::line(format!("/proc/sys/{}", name.replace('.', "/")))?;
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(((*name).to_owned(), value))
    };
    MachineSettings {
        microcode: text("/proc/cpuinfo").and_then(|text| cpu_field(&text, "microcode")),
        swap_bytes: file::read("/proc/meminfo", buffer)
            .and_then(|text| parse::kibibytes(text, b"SwapTotal:")),
        sysctls: SYSCTLS.iter().filter_map(read).collect(),
    }
}

fn text(path: &str) -> Option<String> {
    let mut buffer = Vec::new();
    Some(String::from_utf8_lossy(file::read(path, &mut buffer)?).into_owned())
}

fn number<N: std::str::FromStr>(path: &str) -> Option<N> {
    parse::number(file::line(path)?.as_bytes())
}

/// `PRETTY_NAME` of `os-release(5)`.
fn os_name(text: &str) -> Option<String> {
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

/// What `/proc/cpuinfo` says of the first processor; ARM machines name neither model nor
/// microcode.
fn cpu_field(text: &str, wanted: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == wanted).then(|| value.trim().to_owned())
    })
}

fn port_range(line: &str) -> Option<(u16, u16)> {
    let mut ports = line.split_whitespace().map(|port| port.parse().ok());
    Some((ports.next()??, ports.next()??))
}

/// Governors of all processors; several when they differ.
fn governor() -> Option<String> {
    let folder = std::fs::read_dir("/sys/devices/system/cpu/cpufreq").ok()?;
    let policies = folder.filter_map(Result::ok).map(|policy| policy.path());
    let mut governors: Vec<_> = policies
        .filter_map(|policy| file::line(policy.join("scaling_governor")))
        .collect();
    governors.sort();
    governors.dedup();
    (!governors.is_empty()).then(|| governors.join(", "))
}

/// Which versions of control groups are mounted, from `/proc/self/mountinfo`.
fn cgroups(mounts: &str) -> &'static str {
    // The type stands behind the lone dash; what comes before has no fixed length.
    let kinds = || {
        mounts
            .lines()
            .filter_map(|line| line.split(" - ").nth(1)?.split(' ').next())
    };
    match (
        kinds().any(|kind| kind == "cgroup2"),
        kinds().any(|kind| kind == "cgroup"),
    ) {
        (true, false) => "v2",
        (true, true) => "v2-beside-v1",
        (false, true) => "v1",
        (false, false) => "none",
    }
}

/// The hypervisor's signature, where the processor says that there is one.
#[cfg(target_arch = "x86_64")]
#[allow(
    unused_unsafe,
    reason = "safe since Rust 1.94, and this builds with 1.88"
)]
fn hypervisor() -> Option<String> {
    use std::arch::x86_64::__cpuid;
    // SAFETY: every x86-64 processor knows the instruction.
    let features = unsafe { __cpuid(1) };
    if features.ecx >> 31 == 0 {
        return None;
    }
    // SAFETY: as above; the bit tested says that this leaf is there.
    let leaf = unsafe { __cpuid(0x4000_0000) };
    let bytes = [leaf.ebx, leaf.ecx, leaf.edx]
        .map(u32::to_le_bytes)
        .concat();
    let name = String::from_utf8_lossy(&bytes)
        .trim_matches(['\0', ' '])
        .to_owned();
    Some(if name.is_empty() {
        "unnamed".into()
    } else {
        name
    })
}

/// Other processors do not say; what the kernel found stands in `/sys`.
#[cfg(not(target_arch = "x86_64"))]
fn hypervisor() -> Option<String> {
    file::line("/sys/hypervisor/type")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_about_the_machine_are_read() {
        let os = "NAME=\"Example\"\nPRETTY_NAME=\"Example Linux 9 (nine)\"\n";
        assert_eq!(os_name(os).as_deref(), Some("Example Linux 9 (nine)"));
        let cpus = "processor\t: 0\nmodel name\t: Example: CPU\n\nmodel name\t: Other\n";
        assert_eq!(
            cpu_field(cpus, "model name").as_deref(),
            Some("Example: CPU")
        );
        assert_eq!(port_range("32768\t60999"), Some((32768, 60999)));
        assert_eq!(port_range("32768"), None);
        assert_eq!(port_range("0 70000"), None);
    }

    #[test]
    fn control_groups_are_distinguished() {
        let v1 = "1 2 0:3 / /sys/fs/cgroup/cpu rw shared:4 - cgroup cgroup rw,cpu";
        let v2 = "1 2 0:3 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
        let other = "1 2 0:3 / / rw - ext4 /dev/cgroup rw";
        assert_eq!(cgroups(&[v1, v2].join("\n")), "v2-beside-v1");
        assert_eq!(cgroups(&[other, v2].join("\n")), "v2");
        assert_eq!(cgroups(&[v1, other].join("\n")), "v1");
        assert_eq!(cgroups(other), "none");
    }

    #[test]
    fn own_time_is_not_that_of_others() {
        let before = [CpuTimes {
            cpu: 0,
            user: 50,
            idle: 50,
            ..CpuTimes::default()
        }];
        let now = [CpuTimes {
            cpu: 0,
            user: 110,
            idle: 80,
            steal: 10,
            ..CpuTimes::default()
        }];
        let share = share_of_others(&before, &now, Duration::from_millis(200)).unwrap();
        assert!((share - 0.5).abs() < 1e-9, "{share}");
        assert_eq!(share_of_others(&before, &before, Duration::ZERO), None);
    }

    #[test]
    fn this_machine_has_the_least_that_a_machine_has() {
        let machine = machine();
        assert_eq!(machine.schema, MACHINE_SCHEMA);
        assert!(machine.cpus > 0 && !machine.kernel.is_empty());
        let settings = machine.settings;
        assert!(settings.sysctls.contains_key("net.core.somaxconn"));
        assert!(settings.swap_bytes.is_some());
        assert!(machine.memory_bytes.is_some_and(|bytes| bytes > 1 << 20));
        assert!(
            machine
                .open_files
                .is_some_and(|(soft, hard)| 0 < soft && soft <= hard)
        );
    }
}
