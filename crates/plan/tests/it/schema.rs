//! The schemas that editors take are those of the types.

#[test]
fn docs_schema_is_current() {
    let fix = "run `cargo run -p bakeoff-plan --example schema plan \
                > docs/schema/plan.schema.json` \
                and the same with `workload` and `hosts`";
    let plan = include_str!("../../../../docs/schema/plan.schema.json");
    assert!(plan == bakeoff_plan::plan_schema(), "{fix}");
    let workload = include_str!("../../../../docs/schema/workload.schema.json");
    assert!(workload == bakeoff_plan::workload_schema(), "{fix}");
    let hosts = include_str!("../../../../docs/schema/hosts.schema.json");
    assert!(hosts == bakeoff_plan::hosts_schema(), "{fix}");
}
