//! Campaigns on an invented machine, for tests: what a file says of its servers is recorded, judged
//! and reported as if it had been measured, in no time.
//!
//! The variable that names the file is in no help: nobody who measures needs it.

use std::path::Path;

use bakeoff_conduct::{Generators, INVENTED, Invented};
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
pub(super) fn refuse_to_mix(
    resumed: Option<&Record>,
    invented: Option<&Invented>,
) -> anyhow::Result<()> {
    let is_other = |record: &Record| (record.machine.host == INVENTED) != invented.is_some();
    match resumed.is_some_and(is_other) {
        true => Err(exit::usage(format!(
            "a record of an invented machine goes on with {FILE} alone, and no other one does"
        ))),
        false => Ok(()),
    }
}

/// What carries out its loads.
pub(super) fn generators(invented: &Option<Invented>) -> Option<Box<dyn Generators>> {
    let invented = invented.clone()?;
    Some(Box::new(invented))
}
