//! Whether the workloads of two records ask the same, when what they ask is not shown in full.

use std::collections::BTreeMap;

use bakeoff_audit::asked;
use bakeoff_plan::{Plan, Workload};
use bakeoff_record::hex;
use sha2::{Digest, Sha256};

use super::NOT_SHARED;

/// A digest of each workload, by its name. None for one of a shared copy whose headers were left
/// out: it may have asked anything there.
pub(super) fn of(plan: &Plan) -> BTreeMap<String, String> {
    let whole = plan.workloads.iter().filter(|it| !lacks_headers(it));
    let digest = |it: &Workload| {
        let text = serde_json::to_vec(&asked(it)).ok()?;
        Some((it.name.clone(), hex(&Sha256::digest(&text))))
    };
    whole.filter_map(digest).collect()
}

fn lacks_headers(workload: &Workload) -> bool {
    let mut headers = workload.requests.iter().flat_map(|it| &it.headers);
    headers.any(|(_, value)| value.starts_with(NOT_SHARED))
}
