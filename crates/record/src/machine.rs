//! The machine that a campaign ran on: what another reader needs to judge its numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Version of `machine.json`. A reader refuses any other.
pub const MACHINE_SCHEMA: &str = "bakeoff.machine/1";

/// The machine, as read before the first trial. What could not be read is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// [`MACHINE_SCHEMA`].
    pub schema: String,
    /// Version of bakeoff.
    pub bakeoff: String,
    /// Host name.
    pub host: String,
    /// Distribution.
    pub os: Option<String>,
    /// Kernel release.
    pub kernel: String,
    /// Control groups found: `v2`, `v2-beside-v1`, `v1`, `none`.
    pub cgroups: String,
    /// Processor model.
    pub cpu_model: Option<String>,
    /// Processors that may be used.
    pub cpus: u32,
    /// Hypervisor, as the processor reports it.
    pub hypervisor: Option<String>,
    /// Frequency governor.
    pub governor: Option<String>,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
    /// Soft and hard limit of open files.
    pub open_files: Option<(u64, u64)>,
    /// First and last ephemeral port.
    pub ephemeral_ports: Option<(u16, u16)>,
    /// Longest accept queue.
    pub somaxconn: Option<u64>,
    /// `net.ipv4.tcp_tw_reuse`.
    pub tcp_tw_reuse: Option<u32>,
    /// What else shapes numbers.
    pub settings: MachineSettings,
    /// Load average over one minute, before the first trial.
    pub load_average: Option<f64>,
    /// Command line of the campaign.
    pub command: Vec<String>,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
}

impl Machine {
    /// The hypervisor by the name that people know it by: `KVM` for `KVMKVMKVM`. One that is not
    /// known here keeps what the processor reports.
    pub fn hypervisor_name(&self) -> Option<&str> {
        let reported = self.hypervisor.as_deref()?;
        Some(match reported {
            "KVMKVMKVM" => "KVM",
            "Microsoft Hv" => "Hyper-V",
            "VMwareVMware" => "VMware",
            "XenVMMXenVMM" => "Xen",
            "TCGTCGTCGTCG" => "QEMU",
            "VBoxVBoxVBox" => "VirtualBox",
            "bhyve bhyve" => "bhyve",
            _ => reported,
        })
    }
}

/// Settings of processor and kernel that shape numbers. What could not be read is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineSettings {
    /// Version of the processor's microcode.
    pub microcode: Option<String>,
    /// Swap space, bytes.
    pub swap_bytes: Option<u64>,
    /// Kernel settings by name, such as `net.core.somaxconn`, as the kernel writes them.
    pub sysctls: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use super::Machine;

    #[test]
    fn a_hypervisor_has_the_name_that_people_know() {
        let name = |reported: Option<&str>| {
            let machine = Machine {
                hypervisor: reported.map(str::to_owned),
                ..Default::default()
            };
            machine.hypervisor_name().map(str::to_owned)
        };
        assert_eq!(name(Some("KVMKVMKVM")).as_deref(), Some("KVM"));
        assert_eq!(name(Some("Microsoft Hv")).as_deref(), Some("Hyper-V"));
        assert_eq!(name(Some("a new one")).as_deref(), Some("a new one"));
        assert_eq!(name(None), None);
    }
}
