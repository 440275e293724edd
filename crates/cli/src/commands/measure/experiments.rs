//! `bakeoff experiments`: the published comparisons that a plan of the program repeats.

use std::path::Path;

use bakeoff_plan::{Builtin, builtin_plans, expected_duration, parse, published};
use bakeoff_report::counted;

use crate::display::about;
use crate::{exit, output};

pub(crate) fn carry_out() -> anyhow::Result<u8> {
    let mut text = String::new();
    for (name, plan) in builtin_plans() {
        let Some(known) = published(name) else {
            continue;
        };
        let plan = parse(plan, &format!("plans/{name}.toml"), Path::new(""), &Builtin)?;
        let [least, most] = [plan.rounds_at_least(), plan.rounds_at_most()];
        let [least, most] = [least, most].map(|rounds| expected_duration(&plan, rounds));
        text.push_str(&format!(
            "{name}\n  {}\n  published: {}\n  answers whether {} hold here; takes {}\n",
            plan.description.trim(),
            known.title,
            counted(known.rows.len() as u64, "published ratio"),
            about(least, most),
        ));
    }
    text.push_str("`bakeoff run NAME` repeats one; less of it: `bakeoff run --help`\n");
    output::result(&text)?;
    Ok(exit::DONE)
}
