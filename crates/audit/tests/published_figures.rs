//! Figures that are missing, that contradict each other, or that hold for one run of several.

use bakeoff_audit::published::{Audit, Rig, audit};
use bakeoff_published::read;

fn audited(text: &str, rig: &Rig) -> Audit {
    audit(&read(text, None, &[]).expect("it can be read"), rig)
}

/// The codes of the only row of a table with this header and these cells.
fn codes(header: &str, cells: &str, rig: &Rig) -> Vec<&'static str> {
    let audit = audited(&format!("{header}\n{cells}\n"), rig);
    assert_eq!(audit.rows.len(), 1);
    let findings = audit.rows[0].findings.iter();
    findings.map(|it| it.code.name()).collect()
}

#[test]
fn every_rule_that_lacks_a_figure_is_listed() {
    let listed = |header: &str, cells: &str| -> Vec<&'static str> {
        let audit = audited(&format!("{header}\n{cells}\n"), &Rig::default());
        assert_eq!(audit.believable(), 1);
        audit.not_checked.iter().map(|it| it.code.name()).collect()
    };
    let few = listed("server,requests", "a,100000");
    for code in [
        "failed-share",
        "latency-of-failures",
        "little",
        "schedule-kept",
        "generator-ceiling",
        "engine-busy",
        "duration-short",
        "longer-than-run",
        "set-up-counted",
        "network-bound",
        "rate-differs",
        "impossible-bytes",
        "impossible-cpu",
        "quantile-unsupported",
        "quantile-order",
    ] {
        assert!(few.contains(&code), "{code} in {few:?}");
    }
    // What has its figures is not.
    let some = listed(
        "clients,requests,errors_percent,duration_s,rps,mean_ms,p99_ms",
        "100,100000,0,10,10000,10,30",
    );
    for code in [
        "rate-differs",
        "longer-than-run",
        "quantile-order",
        "little",
    ] {
        assert!(!some.contains(&code), "{code} in {some:?}");
    }
}
