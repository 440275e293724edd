//! `bakeoff doctor`: what on this machine would distort results, and how to fix it.

use bakeoff_record::Machine;
use bakeoff_report::counted;

use crate::commands::measure::agent::LOOK;
use crate::flags::DoctorFlags;
use crate::{exit, output};

mod hosts;

/// Open files that ten thousand clients through a proxy need.
const FILES_WANTED: u64 = 20_064;
/// Ports that ten thousand clients with new connections need.
const PORTS_WANTED: u32 = 28_000;
/// Length of an accept queue that holds a burst of connections.
const BACKLOG_WANTED: u64 = 4_096;
/// Share of the processors that other programs may use.
const OTHERS_MAX: f64 = 0.05;

/// What runs here where no other host does anything.
const ALL_ROLES: [&str; 3] = ["server", "origin", "load engine"];

/// A machine, and what was seen of it.
struct Seen<'s> {
    machine: &'s Machine,
    /// Share of the processors that other programs had.
    others: Option<f64>,
    /// Processors' worth of time that a quota leaves to what runs on it, rounded up.
    quota_cpus: Option<u32>,
    /// What is to run on it.
    roles: &'s [&'static str],
}

pub(crate) fn carry_out(flags: &DoctorFlags) -> anyhow::Result<u8> {
    if let Some(file) = &flags.hosts {
        return hosts::carry_out(file);
    }
    let seen = Seen {
        machine: &bakeoff_probe::machine(),
        others: bakeoff_probe::cpu_share_of_others(LOOK),
        quota_cpus: bakeoff_probe::quota_cpus(),
        roles: &ALL_ROLES,
    };
    let findings = findings(&seen);
    let mut text = format!("{}\n\n", headline(findings.len(), "here"));
    for (name, value) in rows(&seen) {
        text.push_str(&format!("{name:15}{value}\n"));
    }
    for (what, fix) in findings {
        text.push_str(&format!("\n! {what}\n  {fix}\n"));
    }
    output::result(&text)?;
    Ok(exit::DONE)
}

/// How many findings there are, which is the first line.
fn headline(findings: usize, place: &str) -> String {
    let findings = match findings {
        0 => "nothing".to_owned(),
        some => counted(some as u64, "finding"),
    };
    format!("{findings} would distort results {place}")
}

fn rows(seen: &Seen<'_>) -> Vec<(&'static str, String)> {
    let Seen {
        machine,
        others,
        quota_cpus,
        ..
    } = *seen;
    let known = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
    let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / (1_u64 << 30) as f64);
    vec![
        ("host", machine.host.clone()),
        ("system", known(machine.os.clone())),
        ("kernel", machine.kernel.clone()),
        ("processor", known(machine.cpu_model.clone())),
        ("processors", machine.cpus.to_string()),
        (
            "CPU quota",
            quota_cpus.map_or("none".to_owned(), |cpus| cpus.to_string()),
        ),
        (
            "hypervisor",
            known(machine.hypervisor_name().map(str::to_owned)),
        ),
        ("governor", known(machine.governor.clone())),
        ("memory", known(machine.memory_bytes.map(gib))),
        (
            "open files",
            known(
                machine
                    .open_files
                    .map(|(soft, hard)| format!("{soft} of {hard}")),
            ),
        ),
        (
            "ports",
            known(machine.ephemeral_ports.map(|(a, b)| format!("{a} to {b}"))),
        ),
        (
            "accept queue",
            known(machine.somaxconn.map(|n| n.to_string())),
        ),
        ("control groups", machine.cgroups.clone()),
        (
            "other load",
            known(others.map(|share| format!("{:.1} %", share * 100.0))),
        ),
    ]
}

/// What distorts results here, each with its fix.
fn findings(seen: &Seen<'_>) -> Vec<(String, String)> {
    let of_processors = of_processors(seen).into_iter();
    let all = of_processors.chain(of_limits(seen.machine));
    all.map(|(what, fix)| (what, fix.to_owned())).collect()
}

/// What takes processor time from what is measured, or changes how fast it is.
fn of_processors(seen: &Seen<'_>) -> Vec<(String, &'static str)> {
    let processors = seen.machine;
    let mut found = Vec::new();
    let mut add = |what: String, fix| found.push((what, fix));
    let cpus = processors.cpus;
    let shown = |cpus: u32| counted(u64::from(cpus), "processor");
    if let Some((last, others)) = seen.roles.split_last()
        && !others.is_empty()
        && (cpus as usize) < seen.roles.len()
    {
        let others = others.join(", ");
        add(
            format!("{others} and {last} share {}", shown(cpus)),
            "compare contenders with each other on this machine; don't quote absolute figures",
        );
    }
    if let Some(quota) = seen.quota_cpus.filter(|quota| *quota < cpus) {
        add(
            format!(
                "a quota of the control group leaves the time of {quota} of {}: whoever has used \
                 it up stands still, which shows as latency",
                shown(cpus)
            ),
            "take the quota away (CPUQuota= of a service, --cpus of a container, limits.cpu of a \
             pod) and give it whole processors instead (AllowedCPUs=, --cpuset-cpus)",
        );
    }
    if let Some(governor) = &processors.governor
        && governor != "performance"
    {
        add(
            format!("the frequency governor is {governor}"),
            "as root: cpupower frequency-set -g performance",
        );
    }
    if let Some(hypervisor) = processors.hypervisor_name() {
        add(
            format!(
                "this is a virtual machine ({hypervisor}): others on the host take time unseen"
            ),
            "use more rounds instead of longer ones, and compare ratios from one campaign only",
        );
    }
    if let Some(share) = seen.others.filter(|share| *share > OTHERS_MAX) {
        add(
            format!(
                "other programs are using {:.0} % of the processors",
                share * 100.0
            ),
            "stop them or wait; even a compiler in the background can halve a rate",
        );
    }
    found
}

/// Limits of the system that many clients meet.
fn of_limits(machine: &Machine) -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    let mut add = |what: String, fix| found.push((what, fix));
    if let Some((_, hard)) = machine.open_files
        && hard < FILES_WANTED
    {
        add(
            format!("a process may open only {hard} files, too few for 10,000 clients of a proxy"),
            "as root: ulimit -Hn 65536, or LimitNOFILE= for a service; until then, such trials are \
             skipped",
        );
    }
    if let Some((first, last)) = machine.ephemeral_ports {
        let ports = u32::from(last.saturating_sub(first)) + 1;
        if ports < PORTS_WANTED {
            add(
                format!("there are only {ports} ephemeral ports"),
                "as root: sysctl net.ipv4.ip_local_port_range='1024 65535'",
            );
        }
    }
    if let Some(queue) = machine.somaxconn
        && queue < BACKLOG_WANTED
    {
        add(
            format!("accept queues hold at most {queue} connections"),
            "as root: sysctl net.core.somaxconn=4096",
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_counts_the_findings() {
        assert_eq!(headline(0, "here"), "nothing would distort results here");
        assert_eq!(headline(1, "here"), "1 finding would distort results here");
        assert_eq!(headline(3, "here"), "3 findings would distort results here");
    }

    #[test]
    fn a_good_machine_has_no_findings_and_a_poor_one_has_fixes() {
        let good = Machine {
            cpus: 8,
            governor: Some("performance".to_owned()),
            open_files: Some((1024, 1_048_576)),
            ephemeral_ports: Some((1024, 65535)),
            somaxconn: Some(4096),
            ..Machine::default()
        };
        let found = |machine: &Machine, others, quota_cpus, roles| {
            let seen = Seen {
                machine,
                others: Some(others),
                quota_cpus,
                roles,
            };
            findings(&seen)
        };
        assert_eq!(found(&good, 0.01, Some(8), &ALL_ROLES), []);
        // A container with a quota sees all processors.
        let throttled = found(&good, 0.01, Some(3), &ALL_ROLES);
        assert_eq!(throttled.len(), 1);
        assert!(
            throttled[0].0.contains("3 of 8 processors"),
            "{throttled:?}"
        );
        let poor = Machine {
            cpus: 2,
            governor: Some("powersave".to_owned()),
            hypervisor: Some("KVM".to_owned()),
            open_files: Some((1024, 1024)),
            ephemeral_ports: Some((60000, 60999)),
            somaxconn: Some(128),
            ..Machine::default()
        };
        assert_eq!(found(&poor, 0.5, None, &ALL_ROLES).len(), 7);
        // A host with one role shares its processors with nobody.
        assert_eq!(found(&poor, 0.5, None, &["generator"]).len(), 6);
        assert_eq!(
            found(&poor, 0.5, None, &ALL_ROLES)[0].0,
            "server, origin and load engine share 2 processors"
        );
    }
}
