//! What tests of several modules measure on: no process, no socket.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bakeoff_plan::{Builtin, Plan};
use bakeoff_record::{AnswerCheck, LostHost, Step, TrialEnd, TrialRecord, When};

use crate::generators::{Generators, UnderWay};
use crate::preflight::Finding;
use crate::site::{FirstAnswers, Site, SiteError, Staged, StartFailed, StartOrder};
use crate::spec::LoadOrder;

/// What servers run on, and what the load comes from. Either may have been lost.
#[derive(Debug, Clone, Default)]
pub(crate) struct Host {
    pub(crate) lost: Option<LostHost>,
    /// In so many starts it is lost, each time to be back for the next one.
    pub(crate) goes: Arc<AtomicU32>,
}

impl Host {
    fn reached(&self) -> Result<(), LostHost> {
        self.lost.clone().map_or(Ok(()), Err)
    }
}

impl Site for Host {
    fn fix_programs(&self, _: &Plan, _: &[TrialRecord]) -> Result<(), SiteError> {
        Ok(())
    }

    fn preflight(&self, _: &Plan) -> Result<Vec<Finding>, SiteError> {
        Ok(Vec::new())
    }

    fn first_answers(&self, _: &Plan, _: &[Finding]) -> Result<FirstAnswers, SiteError> {
        unreachable!("it is asked before a campaign")
    }

    fn open_files(&self) -> Option<u64> {
        None
    }

    fn start(
        &self,
        _: &StartOrder<'_>,
        _: &mut dyn FnMut(Step),
    ) -> Result<Box<dyn Staged>, StartFailed> {
        self.reached().map_err(StartFailed::Unreached)?;
        let left = self.goes.load(Ordering::Relaxed);
        if left > 0 {
            self.goes.store(left - 1, Ordering::Relaxed);
            return Err(StartFailed::Lost(gone()));
        }
        Err(StartFailed::Trial(failed()))
    }
}

impl Generators for Host {
    fn begin(&self, _: &LoadOrder<'_>) -> Result<Box<dyn UnderWay>, String> {
        unreachable!("no server starts")
    }

    fn are_here(&self) -> bool {
        false
    }

    fn reach_again(&self) -> Result<(), LostHost> {
        self.reached()
    }
}

/// A host that was lost, and why.
pub(crate) fn gone() -> LostHost {
    LostHost {
        host: "g1".to_owned(),
        at_s: None,
        message: "nothing came from it for 10 s".to_owned(),
    }
}

/// How trials end whose server would start here.
pub(crate) fn failed() -> TrialEnd {
    TrialEnd::failed(Step::Start, "it is a script")
}

/// A plan that comes with bakeoff.
pub(crate) fn plan() -> Plan {
    let text = bakeoff_plan::builtin_plan("smoke").expect("it is built in");
    bakeoff_plan::parse(text, "smoke", Path::new("/"), &Builtin).expect("a plan")
}

/// An empty answer with this status, as it was looked at.
pub(crate) fn answer(status: u16) -> AnswerCheck {
    AnswerCheck {
        when: When::Before,
        request: "GET /".to_owned(),
        status,
        body_bytes: 0,
        body_sha256: String::new(),
        decoded_bytes: None,
        decoded_sha256: None,
        negotiated: bakeoff_record::Negotiated::default(),
        headers: Vec::new(),
        right: status < 500,
    }
}
