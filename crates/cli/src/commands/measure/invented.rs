//! Campaigns on an invented machine, for tests: what a file says of its servers is recorded, judged
//! and reported as if it had been measured, in no time.
//!
//! The variable that names the file is in no help: nobody who measures needs it.

use std::path::Path;

use bakeoff_conduct::{INVENTED, Invented};
use bakeoff_plan::Plan;
use bakeoff_record::Record;

use crate::exit;
use crate::interrupt::Interrupt;

/// The file of the machine.
const FILE: &str = "BAKEOFF_INVENTED";

/// Whether the environment asks for one, which has other processors than this machine.
pub(super) fn is_asked_for() -> bool {
    std::env::var_os(FILE).is_some()
}

/// The machine that the environment asks for, divided as a plan asks.
pub(super) fn asked_for(interrupt: &Interrupt, plan: &Plan) -> anyhow::Result<Option<Invented>> {
    let Some(file) = std::env::var_os(FILE) else {
        return Ok(None);
    };
    let invented = Invented::read(Path::new(&file), interrupt.flag()).map_err(exit::usage)?;
    let divided = invented.divided(&plan.pinning).map_err(exit::usage)?;
    Ok(Some(divided))
}

/// Refuses to go on with what was measured on an invented machine, and the other way round.
pub(super) fn refuse_to_mix(resumed: &Record) -> anyhow::Result<()> {
    if (resumed.machine.host == INVENTED) == is_asked_for() {
        return Ok(());
    }
    Err(exit::usage(format!(
        "a record of an invented machine goes on with {FILE} alone, and no other one does"
    )))
}
