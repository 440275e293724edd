//! Every reader of outside bytes on the same ones, for tests and fuzzing.

use bakeoff_record::CounterSource;

use crate::{addresses, diag, interfaces, kernel, parse};

/// Reads `bytes` as each of the texts. None of them may panic.
pub fn texts(bytes: &[u8]) {
    let _ = parse::process_stat(bytes);
    let _ = parse::switches(bytes);
    let _ = parse::kibibytes(bytes, b"Pss:");
    let _ = parse::cgroup_cpu(bytes);
    let _ = parse::counter(bytes, b"TcpExt:", b"B");
    let _ = parse::socket_count(bytes, b"TCP:", b"tw");
    parse::cpu_times(bytes, &mut Vec::new());
    let _ = kernel::load_average(bytes);
    let _ = kernel::context_switches(bytes);
    let _ = kernel::interrupts_apart(bytes);
    let _ = kernel::pressure_us(bytes);
    let _ = kernel::softnet(bytes);
    let _ = kernel::interfaces(bytes, None);
    let _ = kernel::throttled_us(bytes);
    let _ = kernel::groups_with_quota(bytes);
    let _ = kernel::groups_with_memory(bytes);
    let _ = kernel::memory_kills(bytes);
    let _ = kernel::cpus_of_quota(bytes);
    let _ = kernel::queue(bytes, 8080);
    let _ = kernel::thread_times_ns(bytes);
    let _ = kernel::thread_times_ns(bytes);
    let _ = addresses::v4(bytes);
    let _ = addresses::v6(bytes);
    let _ = diag::sockets(bytes, &mut Vec::new());
    let _ = interfaces::read(bytes, &mut Vec::new());
}

/// Reads `bytes` as the answer of each server that reports its counters. None of them may panic.
pub fn counters(bytes: &[u8]) {
    for source in [
        CounterSource::StubStatus,
        CounterSource::HaproxyStats,
        CounterSource::EnvoyAdmin,
        CounterSource::CaddyMetrics,
    ] {
        let _ = crate::counters::counted(source, bytes);
    }
    let _ = crate::counters::body(bytes);
}
