//! Reads what the kernel reports of the whole machine: bytes in, values out, no file and no clock.
//!
//! Formats: `proc(5)`; `Documentation/accounting/psi.rst`, `admin-guide/cgroup-v1/` and
//! `admin-guide/cgroup-v2.rst` of Linux. Whatever is not as described gives `None` or is left out;
//! nothing here can panic.

use bakeoff_record::{NetCounts, Softnet};

use crate::parse::{field, lines, number, words};

/// Where control groups are mounted.
pub(crate) const CONTROL_GROUPS: &str = "/sys/fs/cgroup";
/// Deepest nesting of control groups that is followed.
const GROUPS_MAX: usize = 16;

/// The load average over one minute in `/proc/loadavg`.
pub(crate) fn load_average(text: &[u8]) -> Option<f64> {
    let load: f64 = number(words(text).next()?)?;
    (load.is_finite() && load >= 0.0).then_some(load)
}

/// Context switches of all processors in `/proc/stat`.
pub(crate) fn context_switches(text: &[u8]) -> Option<u64> {
    number(field(text, b"ctxt")?)
}

/// Whether interrupts are charged to nobody, from the sums in `/proc/stat`. A kernel that takes
/// samples finds itself inside an interrupt almost never, because the sample is one too; one that
/// takes times finds about as much there as in the deferred ones.
pub(crate) fn interrupts_apart(text: &[u8]) -> Option<bool> {
    let line = lines(text).find(|line| words(line).next() == Some(b"cpu"))?;
    let mut fields = words(line).skip(6);
    let irq: u64 = number(fields.next()?)?;
    let softirq: u64 = number(fields.next()?)?;
    (irq > 0 || softirq > 0).then(|| irq.saturating_mul(1000) > softirq)
}

/// Time in which at least one task waited, microseconds: `some ... total=123` of a file in
/// `/proc/pressure`.
pub(crate) fn pressure_us(text: &[u8]) -> Option<u64> {
    let line = lines(text).find(|line| words(line).next() == Some(b"some"))?;
    number(words(line).find_map(|word| word.strip_prefix(b"total="))?)
}

/// The sums over processors of `/proc/net/softnet_stat`, whose numbers are hexadecimal.
pub(crate) fn softnet(text: &[u8]) -> Option<Softnet> {
    let mut sum = None;
    for line in lines(text) {
        let mut fields = words(line).skip(1);
        let (Some(dropped), Some(squeezed)) = (fields.next(), fields.next()) else {
            continue;
        };
        let before: Softnet = sum.unwrap_or_default();
        sum = Some(Softnet {
            dropped: before.dropped.saturating_add(hexadecimal(dropped)?),
            squeezed: before.squeezed.saturating_add(hexadecimal(squeezed)?),
        });
    }
    sum
}

/// The sums over the network interfaces of these names in `/proc/net/dev`, or over all but
/// loopback.
pub(crate) fn interfaces(text: &[u8], names: Option<&[String]>) -> Option<NetCounts> {
    let mut sum: Option<NetCounts> = None;
    for line in lines(text) {
        // A large number may follow the colon without a space.
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            continue;
        };
        let (name, rest) = line.split_at(colon);
        let name = name.trim_ascii();
        let is_counted = match names {
            Some(names) => names.iter().any(|one| one.as_bytes() == name),
            None => name != b"lo",
        };
        if !is_counted {
            continue;
        }
        let mut fields = words(rest.get(1..)?);
        let mut at = |skipped: usize| number::<u64>(fields.nth(skipped)?);
        // Received: bytes, packets, errors, dropped, four more; then the same of what was sent.
        let (Some(received_bytes), Some(received_dropped), Some(sent_bytes), Some(sent_dropped)) =
            (at(0), at(2), at(4), at(2))
        else {
            continue;
        };
        let before = sum.unwrap_or_default();
        sum = Some(NetCounts {
            received_bytes: before.received_bytes.saturating_add(received_bytes),
            sent_bytes: before.sent_bytes.saturating_add(sent_bytes),
            received_dropped: before.received_dropped.saturating_add(received_dropped),
            sent_dropped: before.sent_dropped.saturating_add(sent_dropped),
        });
    }
    sum
}

/// Time in which a quota held a control group back, microseconds: in `cpu.stat` of either version.
pub(crate) fn throttled_us(text: &[u8]) -> Option<u64> {
    if let Some(word) = field(text, b"throttled_usec") {
        return number(word);
    }
    let ns: u64 = number(field(text, b"throttled_time")?)?;
    Some(ns / 1000)
}

/// Processors' worth of time that a quota and its period give, rounded up: in `cpu.max` of version
/// 2. `None` where there is no quota: that is `max` there, and -1 in version 1.
pub(crate) fn cpus_of_quota(text: &[u8]) -> Option<u32> {
    let mut words = words(text);
    let (quota, period): (u64, u64) = (number(words.next()?)?, number(words.next()?)?);
    let cpus = quota.max(1).checked_next_multiple_of(period)? / period;
    u32::try_from(cpus).ok()
}

/// Processes that were killed for a control group's limit of memory: in `memory.events` of version
/// 2 and `memory.oom_control` of version 1.
pub(crate) fn memory_kills(text: &[u8]) -> Option<u64> {
    number(field(text, b"oom_kill")?)
}

/// Folders below `/sys/fs/cgroup` whose files may show a quota on a process, from its
/// `/proc/PID/cgroup`: its own group and those above it.
pub(crate) fn groups_with_quota(text: &[u8]) -> Vec<String> {
    groups_of(text, "cpu", &["cpu", "cpu,cpuacct"])
}

/// The same of a limit of memory.
pub(crate) fn groups_with_memory(text: &[u8]) -> Vec<String> {
    groups_of(text, "memory", &["memory"])
}

/// The same of a controller, with the mounts that version 1 may have it at.
fn groups_of(text: &[u8], controller: &str, version_1: &[&str]) -> Vec<String> {
    let mut folders = Vec::new();
    for line in lines(text) {
        let Ok(line) = std::str::from_utf8(line) else {
            continue;
        };
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let mounts: &[&str] = match controllers {
            "" => &["", "unified"],
            several if several.split(',').any(|one| one == controller) => version_1,
            _ => continue,
        };
        let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        if names.contains(&"..") {
            continue;
        }
        for mount in mounts {
            for depth in (0..=names.len().min(GROUPS_MAX)).rev() {
                let below = names[..depth].iter().flat_map(|name| ["/", name]);
                let folder = [mount]
                    .into_iter()
                    .copied()
                    .chain(below)
                    .collect::<String>();
                folders.push(folder.trim_start_matches('/').to_owned());
            }
        }
    }
    folders
}

/// The kernel's `TCP_LISTEN`, as its tables have it.
const LISTENS: &[u8] = b"0A";

/// Whether the last whole line of `/proc/net/tcp` or `tcp6` is of a listening socket: more of them
/// may follow.
pub(crate) fn listens_to_the_end(text: &[u8]) -> bool {
    // The last part is a line that was cut, or nothing.
    let last = text.rsplit(|byte| *byte == b'\n').nth(1);
    last.is_some_and(|line| words(line).nth(3) == Some(LISTENS))
}

/// The fullest accept queue of `port` in `/proc/net/tcp` or `tcp6`, where listening sockets come
/// first.
pub(crate) fn queue(text: &[u8], port: u16) -> Option<u64> {
    let queues = lines(text).skip(1).map_while(|line| {
        let mut fields = words(line).skip(1);
        let (local, state) = (fields.next()?, fields.nth(1)?);
        // A line that was cut has no queue.
        let queue = (state == LISTENS).then(|| fields.next())??;
        let at = local.iter().position(|byte| *byte == b':')?;
        let own = hexadecimal(local.get(at + 1..)?)? == u64::from(port);
        let at = queue.iter().position(|byte| *byte == b':')?;
        let waiting = hexadecimal(queue.get(at + 1..)?)?;
        Some(own.then_some(waiting))
    });
    queues.flatten().max()
}

/// CPU time of a thread in `/proc/PID/task/TID/schedstat`, and the time in which it wanted a
/// processor and had none, nanoseconds.
pub(crate) fn thread_times_ns(text: &[u8]) -> Option<(u64, u64)> {
    let mut words = words(text);
    Some((number(words.next()?)?, number(words.next()?)?))
}

fn hexadecimal(word: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: &[u8] = b"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n   \
        0: 0100007F:1F90 00000000:0000 0A 00000000:00000003 00:00000000 00000000 0 0 7 1\n   \
        1: 0100007F:1F90 00000000:0000 0A 00000000:00000011 00:00000000 00000000 0 0 8 1\n   \
        2: 0100007F:1F91 00000000:0000 0A 00000000:00000099 00:00000000 00000000 0 0 9 1\n   \
        3: 0100007F:1F90 0100007F:C350 01 00000000:000000FF 00:00000000 00000000 0 0 9 1\n";

    #[test]
    fn texts_are_read_as_the_kernel_writes_them() {
        assert_eq!(load_average(b"4.84 3.10 2.00 3/210 5011\n"), Some(4.84));
        assert_eq!(context_switches(b"cpu0 1\nctxt 905\nbtime 1\n"), Some(905));
        let some = b"some avg10=0.00 avg60=1.50 avg300=0.10 total=8123\n\
                     full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(pressure_us(some), Some(8123));
        let stat = b"00ff 00000002 0000000a 0 0\n00aa 00000001 00000001 0 0\n";
        assert_eq!(
            softnet(stat),
            Some(Softnet {
                dropped: 3,
                squeezed: 11
            })
        );
        assert_eq!(softnet(b""), None);
        let interfaces_text = b"Inter-|   Receive            |  Transmit\n \
              face |bytes packets errs drop fifo frame compressed multicast|bytes\n    \
              lo: 900 9 0 9 0 0 0 0 900 9 0 9 0 0 0 0\n  \
            eth0:1000 9 0 1 0 0 0 0 2000 9 0 2 0 0 0 0\n  \
            eth1: 10 9 0 3 0 0 0 0 20 9 0 4 0 0 0 0\n";
        let counts = NetCounts {
            received_bytes: 1010,
            sent_bytes: 2020,
            received_dropped: 4,
            sent_dropped: 6,
        };
        assert_eq!(interfaces(interfaces_text, None), Some(counts));
        let one = NetCounts {
            received_bytes: 10,
            sent_bytes: 20,
            received_dropped: 3,
            sent_dropped: 4,
        };
        let names = ["eth1".to_owned()];
        assert_eq!(interfaces(interfaces_text, Some(&names)), Some(one));
        assert_eq!(interfaces(interfaces_text, Some(&[])), None);
        assert_eq!(interfaces(b"lo: 1 2 3", None), None);
        assert_eq!(interfaces(b"eth0: 1 2 3", None), None);
        assert_eq!(
            throttled_us(b"nr_throttled 2\nthrottled_usec 1500\n"),
            Some(1500)
        );
        assert_eq!(
            throttled_us(b"nr_throttled 2\nthrottled_time 1500999\n"),
            Some(1500)
        );
        assert_eq!(throttled_us(b"usage_usec 30\n"), None);
        assert_eq!(cpus_of_quota(b"200000 100000\n"), Some(2));
        assert_eq!(cpus_of_quota(b"200001 100000\n"), Some(3));
        assert_eq!(cpus_of_quota(b"0 100000\n"), Some(1));
        for none in ["max 100000\n", "-1\n 100000\n", "200000\n", "1 0\n", ""] {
            assert_eq!(cpus_of_quota(none.as_bytes()), None, "{none}");
        }
        assert_eq!(thread_times_ns(b"2293811 5 1\n"), Some((2_293_811, 5)));
        assert_eq!(thread_times_ns(b"2293811\n"), None);
    }

    #[test]
    fn a_table_that_ends_with_a_listening_socket_may_go_on() {
        let line = |state: &str| format!("  0: 0100007F:1F90 00000000:0000 {state} 0:0\n");
        let (listening, connected) = (line("0A"), line("01"));
        for (text, goes_on) in [
            (format!("  sl head\n{listening}"), true),
            (format!("{listening}  1: 0100"), true),
            (format!("{listening}{connected}"), false),
            (format!("{listening}{connected}  2: 0100"), false),
            ("  sl".to_owned(), false),
        ] {
            assert_eq!(listens_to_the_end(text.as_bytes()), goes_on, "{text}");
        }
    }

    #[test]
    fn kernels_that_take_times_of_interrupts_are_known_by_them() {
        assert_eq!(
            interrupts_apart(b"cpu  9 9 9 9 9 0 622 9\ncpu0 1\n"),
            Some(false)
        );
        assert_eq!(interrupts_apart(b"cpu  9 9 9 9 9 500 622 9\n"), Some(true));
        assert_eq!(interrupts_apart(b"cpu  9 9 9 9 9 0 0 9\n"), None);
        assert_eq!(interrupts_apart(b"cpu  9 9\n"), None);
    }

    #[test]
    fn a_quota_may_be_on_any_group_above() {
        let text = b"4:cpu,cpuacct:/docker/a\n3:memory:/x\n0::/user.slice/b\n";
        assert_eq!(
            groups_with_quota(text),
            [
                "cpu/docker/a",
                "cpu/docker",
                "cpu",
                "cpu,cpuacct/docker/a",
                "cpu,cpuacct/docker",
                "cpu,cpuacct",
                "user.slice/b",
                "user.slice",
                "",
                "unified/user.slice/b",
                "unified/user.slice",
                "unified",
            ]
        );
        assert_eq!(groups_with_quota(b"0::/../..\nnonsense\n\xff:\n"), [""; 0]);
        let memory = ["memory/x", "memory", "user.slice/b", "user.slice"];
        assert_eq!(groups_with_memory(text)[..4], memory);
    }

    #[test]
    fn kills_for_memory_are_counted_in_either_version() {
        let version_2 = b"low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\n";
        assert_eq!(memory_kills(version_2), Some(2));
        let version_1 = b"oom_kill_disable 0\nunder_oom 0\noom_kill 1\n";
        assert_eq!(memory_kills(version_1), Some(1));
        assert_eq!(memory_kills(b"under_oom 0\n"), None);
    }

    #[test]
    fn the_fullest_queue_of_a_port_is_found() {
        assert_eq!(queue(TCP, 8080), Some(17));
        assert_eq!(queue(TCP, 8081), Some(0x99));
        assert_eq!(queue(TCP, 80), None);
    }

    #[test]
    fn cut_and_damaged_texts_never_panic() {
        let texts: [&[u8]; 5] = [
            TCP,
            b"cpu  9 9 9 9 9 0 622 9\nctxt 99999999999999999999\n",
            b"some avg10=0.00 total=8123\n",
            b"00ff 00000002 0000000a\n",
            b"0::/user.slice/b\n4:cpu:/a\n",
        ];
        for text in texts {
            for end in 0..=text.len() {
                for damage in [b' ', b':', b'\n', b'9', 0, 0xff] {
                    let mut bytes = text[..end].to_vec();
                    if let Some(last) = bytes.last_mut() {
                        *last = damage;
                    }
                    crate::fuzzing::texts(&bytes);
                }
            }
        }
    }
}
