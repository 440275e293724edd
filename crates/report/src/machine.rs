//! The machine of a record on one line.

use bakeoff_record::Machine;

/// `2 CPUs (MODEL), Linux 6.1.0, started 2026-01-01T12:00:00Z`.
pub(crate) fn on_one_line(machine: &Machine) -> String {
    let model = machine.cpu_model.as_deref();
    format!(
        "{} CPUs ({}), Linux {}, started {}",
        machine.cpus,
        model.unwrap_or("model unknown"),
        machine.kernel,
        machine.started_at
    )
}
