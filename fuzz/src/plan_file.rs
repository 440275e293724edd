//! Any text read as a plan or a workload: refused or understood, never a panic; and what is
//! understood is written and read back the same.

use std::path::Path;

use bakeoff_plan::{Builtin, parse, parse_workload};

pub(crate) fn check(text: &str) {
    let _ = parse_workload(text, "workload.toml");
    match parse(text, "plan.toml", Path::new("/plans"), &Builtin) {
        Ok(plan) => {
            let again = parse(&plan.to_toml(), "again.toml", Path::new("/"), &Builtin);
            assert_eq!(again.expect("a written plan is a plan"), plan);
        }
        Err(error) => assert!(error.place().position.is_some(), "{error}"),
    }
}
