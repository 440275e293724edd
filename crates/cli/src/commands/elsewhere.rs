//! In the place of `measure` on systems other than Linux, where a bakeoff explains and does not
//! measure.

use crate::exit;
use crate::flags::{MachineCommand, MeasureCommand};

pub(super) fn carry_out(_: MeasureCommand) -> anyhow::Result<u8> {
    Err(needs_linux())
}

pub(super) fn on_machine(_: MachineCommand) -> anyhow::Result<u8> {
    Err(needs_linux())
}

/// Nothing was started here.
pub(super) fn end_leftovers() {}

fn needs_linux() -> anyhow::Error {
    exit::usage(
        "this command needs Linux: it starts, loads or observes programs; on this system use \
         `report`, `compare`, `history`, `verify`, `site` and `audit`, on records from Linux",
    )
}
