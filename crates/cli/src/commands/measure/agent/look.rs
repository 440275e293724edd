//! What an agent reports of its host for `bakeoff doctor --hosts`, in addition to the machine.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How long to watch for other load.
pub(crate) const LOOK: Duration = Duration::from_millis(500);
/// Network interfaces that are reported.
const INTERFACES_MAX: usize = 16;

/// What was seen of a host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Look {
    /// Share of the processors that other programs had; `None` where that cannot be read.
    pub(crate) others: Option<f64>,
    /// Network interfaces that are up, without loopback.
    pub(crate) interfaces: Vec<Interface>,
}

/// A network interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Interface {
    /// Its name.
    pub(crate) name: String,
    /// What it says that it carries, Mbit/s; `None` where it does not, as in many virtual machines.
    pub(crate) mbit_per_s: Option<u64>,
}

impl Look {
    /// Looks for half a second.
    pub(crate) fn take() -> Self {
        Self {
            others: bakeoff_probe::cpu_share_of_others(LOOK),
            interfaces: interfaces(Path::new("/sys/class/net")),
        }
    }
}

fn interfaces(folder: &Path) -> Vec<Interface> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<Interface> = entries
        .filter_map(|entry| {
            let read = |file: &str| fs::read_to_string(entry.path().join(file)).ok();
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_up = name != "lo" && read("operstate")?.trim() == "up";
            // What has no speed says -1, or nothing.
            let speed = || read("speed")?.trim().parse::<u64>().ok();
            is_up.then(|| Interface {
                name,
                mbit_per_s: speed(),
            })
        })
        .collect();
    found.sort_by(|left, right| left.name.cmp(&right.name));
    found.truncate(INTERFACES_MAX);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_that_are_up_are_found_with_their_speed() {
        let folder = tempfile::tempdir().unwrap();
        for (name, state, speed) in [
            ("lo", "unknown", ""),
            ("eth1", "up", "-1"),
            ("eth0", "up", "10000"),
            ("eth2", "down", "1000"),
        ] {
            let path = folder.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("operstate"), format!("{state}\n")).unwrap();
            fs::write(path.join("speed"), format!("{speed}\n")).unwrap();
        }
        let interface = |name: &str, mbit_per_s| Interface {
            name: name.to_owned(),
            mbit_per_s,
        };
        let expected = [interface("eth0", Some(10_000)), interface("eth1", None)];
        assert_eq!(interfaces(folder.path()), expected);
        assert_eq!(interfaces(&folder.path().join("none")), []);
    }
}
