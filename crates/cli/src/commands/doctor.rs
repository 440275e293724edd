//! `bakeoff doctor`: what this machine will do to a result, and how to mend it.

use std::time::Duration;

use bakeoff_record::Machine;

use crate::{exit, output};

/// How long other load is looked for.
const LOOK: Duration = Duration::from_millis(500);
/// Files that ten thousand clients and a proxy need.
const FILES_WANTED: u64 = 20_064;
/// Ports that ten thousand clients with new connections want.
const PORTS_WANTED: u32 = 28_000;
/// Accept queue that a burst of connections wants.
const BACKLOG_WANTED: u64 = 4_096;
/// Share of the processors that others may use.
const OTHERS_MAX: f64 = 0.05;

pub(crate) fn carry_out() -> anyhow::Result<u8> {
    let machine = bakeoff_probe::machine();
    let others = bakeoff_probe::cpu_share_of_others(LOOK);
    let mut text = facts(&machine, others);
    let findings = findings(&machine, others);
    if findings.is_empty() {
        text.push_str("\nnothing found that would weaken a result\n");
    }
    for (what, mend) in findings {
        text.push_str(&format!("\n! {what}\n  {mend}\n"));
    }
    output::result(&text)?;
    Ok(exit::DONE)
}

fn facts(machine: &Machine, others: Option<f64>) -> String {
    let told = |value: Option<String>| value.unwrap_or_else(|| "not told".to_owned());
    let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / (1_u64 << 30) as f64);
    let rows = [
        ("host", machine.host.clone()),
        ("system", told(machine.os.clone())),
        ("kernel", machine.kernel.clone()),
        ("processor", told(machine.cpu_model.clone())),
        ("processors", machine.cpus.to_string()),
        ("hypervisor", told(machine.hypervisor.clone())),
        ("governor", told(machine.governor.clone())),
        ("memory", told(machine.memory_bytes.map(gib))),
        (
            "open files",
            told(
                machine
                    .open_files
                    .map(|(soft, hard)| format!("{soft} of {hard}")),
            ),
        ),
        (
            "ports",
            told(machine.ephemeral_ports.map(|(a, b)| format!("{a} to {b}"))),
        ),
        (
            "accept queue",
            told(machine.somaxconn.map(|n| n.to_string())),
        ),
        ("control groups", machine.cgroups.clone()),
        (
            "other load",
            told(others.map(|share| format!("{:.1} %", share * 100.0))),
        ),
    ];
    rows.iter()
        .map(|(name, value)| format!("{name:15}{value}\n"))
        .collect()
}

/// What weakens a result here, each with its mend.
fn findings(machine: &Machine, others: Option<f64>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut add = |what: String, mend: &str| found.push((what, mend.to_owned()));
    if machine.cpus < 3 {
        add(
            format!(
                "{} processors for server, origin and load engine",
                machine.cpus
            ),
            "they share: compare contenders with each other here, quote no absolute figure",
        );
    }
    if let Some((_, hard)) = machine.open_files
        && hard < FILES_WANTED
    {
        add(
            format!("a process may open {hard} files: 10,000 clients through a proxy do not fit"),
            "as root: ulimit -Hn 65536, or LimitNOFILE= for a service; such trials are skipped",
        );
    }
    if let Some((first, last)) = machine.ephemeral_ports {
        let ports = u32::from(last.saturating_sub(first)) + 1;
        if ports < PORTS_WANTED {
            add(
                format!("{ports} ephemeral ports"),
                "as root: sysctl net.ipv4.ip_local_port_range='1024 65535'",
            );
        }
    }
    if let Some(queue) = machine.somaxconn
        && queue < BACKLOG_WANTED
    {
        add(
            format!("accept queues hold {queue} connections at the most"),
            "as root: sysctl net.core.somaxconn=4096",
        );
    }
    if let Some(governor) = &machine.governor
        && governor != "performance"
    {
        add(
            format!("the frequency governor is {governor}"),
            "as root: cpupower frequency-set -g performance",
        );
    }
    if let Some(hypervisor) = &machine.hypervisor {
        add(
            format!("a virtual machine ({hypervisor}): neighbours and sleeps cost unseen time"),
            "prefer rounds over length, and ratios within one run over figures of two runs",
        );
    }
    if let Some(share) = others
        && share > OTHERS_MAX
    {
        add(
            format!(
                "other programs use {:.0} % of the processors now",
                share * 100.0
            ),
            "end them or wait; even a compile in the background halves a rate",
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_good_machine_has_no_findings_and_a_poor_one_has_mends() {
        let good = Machine {
            cpus: 8,
            open_files: Some((1024, 1_048_576)),
            ephemeral_ports: Some((1024, 65535)),
            somaxconn: Some(4096),
            governor: Some("performance".to_owned()),
            ..Machine::default()
        };
        assert_eq!(findings(&good, Some(0.01)), []);
        let poor = Machine {
            cpus: 2,
            open_files: Some((1024, 1024)),
            ephemeral_ports: Some((60000, 60999)),
            somaxconn: Some(128),
            governor: Some("powersave".to_owned()),
            hypervisor: Some("KVM".to_owned()),
            ..Machine::default()
        };
        assert_eq!(findings(&poor, Some(0.5)).len(), 7);
    }
}
