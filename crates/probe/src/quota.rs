//! How many processors a quota of CPU time leaves to this process.

use std::path::Path;

use crate::{file, kernel};

/// Processors' worth of time that quotas leave to this process, rounded up; `None` without a quota.
/// Of its control group and those above, the narrowest quota counts.
pub fn quota_cpus() -> Option<u32> {
    let mut buffer = Vec::new();
    let groups = file::read("/proc/self/cgroup", &mut buffer)?;
    narrowest(Path::new(kernel::CONTROL_GROUPS), groups)
}

/// The same below `root`, for a process in `groups`.
fn narrowest(root: &Path, groups: &[u8]) -> Option<u32> {
    let mut buffer = Vec::new();
    let folders = kernel::groups_with_quota(groups);
    let quotas = folders.iter().filter_map(|below| {
        let text = quota_and_period(&root.join(below), &mut buffer)?;
        kernel::cpus_of_quota(&text)
    });
    quotas.min()
}

/// The two of a control group. Version 1 has in two files what version 2 has in one.
fn quota_and_period(folder: &Path, buffer: &mut Vec<u8>) -> Option<Vec<u8>> {
    if let Some(both) = file::read(folder.join("cpu.max"), buffer) {
        return Some(both.to_vec());
    }
    let mut both = file::read(folder.join("cpu.cfs_quota_us"), buffer)?.to_vec();
    both.push(b' ');
    both.extend_from_slice(file::read(folder.join("cpu.cfs_period_us"), buffer)?);
    Some(both)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// Tests run beside each other.
    static MADE: AtomicU32 = AtomicU32::new(0);

    /// What is left to a process in `groups` where these files are.
    #[track_caller]
    fn check(files: &[(&str, &str)], groups: &str, expected: Option<u32>) {
        let (process, number) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let root = std::env::temp_dir().join(format!("bakeoff-quota-{process}-{number}"));
        for (name, text) in files {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let found = narrowest(&root, groups.as_bytes());
        let _ = std::fs::remove_dir_all(&root);
        assert_eq!(found, expected, "{files:?} {groups}");
    }

    #[test]
    fn the_narrowest_quota_above_a_process_counts() {
        let (own, above) = ("pods/one/cpu.max", "pods/cpu.max");
        let none = "max 100000\n";
        check(&[], "0::/pods/one\n", None);
        check(&[(own, none)], "0::/pods/one\n", None);
        let wide = (above, "400000 100000\n");
        check(&[(own, none), wide], "0::/pods/one\n", Some(4));
        check(&[(own, "150000 100000\n"), wide], "0::/pods/one\n", Some(2));
        check(&[(own, "5000 100000\n"), wide], "0::/pods/one\n", Some(1));
        // In a container its own group is the root.
        check(&[("cpu.max", "200000 100000\n")], "0::/\n", Some(2));
    }

    #[test]
    fn a_quota_of_version_1_is_in_two_files() {
        let groups = "4:cpu,cpuacct:/docker/a\n3:memory:/x\n";
        let period = |below| (below, "50000\n");
        let own = "cpu,cpuacct/docker/a/cpu.cfs_quota_us";
        let of_own = period("cpu,cpuacct/docker/a/cpu.cfs_period_us");
        check(&[(own, "-1\n"), of_own], groups, None);
        check(&[(own, "125000\n"), of_own], groups, Some(3));
        check(&[(own, "125000\n")], groups, None);
        // A container sees its own group at the mount, whatever it is called outside.
        let (quota, of_mount) = ("cpu/cpu.cfs_quota_us", period("cpu/cpu.cfs_period_us"));
        check(&[(quota, "100000\n"), of_mount], groups, Some(2));
    }
}
