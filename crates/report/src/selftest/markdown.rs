//! The self-test as Markdown, for `docs/selftest.md`.

use std::fmt::Write as _;

use super::{SelfTest, of, seen};
use crate::markdown::escaped;
use crate::safe::plain;

/// What stands above the result.
const INTRODUCTION: &str = "\
# Self-test
The judge is judged: `bakeoff selftest` plants faults into the world, not into records: servers
that misbehave, programs that take processors away, limits and networks that are too narrow. Each
set-up is also measured without its fault, as a clean twin. A fault is *found* when the checks of
[checks.md](checks.md) name it in 80 % of its runs. At most 5 % of the twins may be named as
faulty, and of at most 5 % of the pairs of equal servers one may be called better (R41). How many
twins any other check doubted is said too. No limit is held against that: a doubt need not be a
false alarm, because a virtual machine can make the load engine late without counting it as stolen
time. All of this page was written by the command.
";

/// What is not planted.
const NOT_PLANTED: &str = "
## What is not planted
A single machine cannot make some things happen to itself, or only by disturbing everybody on it:
`steal`, `throttled`, `frequency`, `clock-error`, `conntrack`, `softnet-drops`, `udp-drops`,
`major-faults`, and the checks of other hosts and their links. The tests of `crates/audit` plant
them into records. `counts-add-up` looks for faults of the engine itself, which has none to plant.

A load engine that a quota holds back is not planted: other programs compute beside it, which the
documented limits of its checks doubt and do not call invalid. Of all faults only `wrong-body` and
`starve` must make a number invalid; of the others a doubt is enough. Of the classes of an
[overload](overload.md) only `crash`, `stall` and `metastable` are asked for, and no fault is
planted into a search. The tests of `crates/audit` and `crates/search` plant those into series.
";

/// The self-test as Markdown: the answer, a table of faults, and the confusion matrix.
pub fn selftest_markdown(test: &SelfTest) -> String {
    let mut out = INTRODUCTION.to_owned();
    out.push_str("\n## Result\n");
    for line in test.answer() {
        let _ = writeln!(out, "- {}", cell(&line));
    }
    let _ = writeln!(out, "\n{}", cell(&test.rig_line()));
    out.push_str("\n## Faults\n");
    out.push_str("| fault | rule | planted | named by | named | twin flagged | finding |\n");
    out.push_str("| --- | --- | --- | --- | --: | --: | --- |\n");
    for row in &test.faults {
        let (with, without) = (&row.with, &row.without);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} |",
            row.name,
            row.rule,
            cell(&row.planted),
            row.named_by.join(", "),
            of(with.named, with.runs),
            of(without.named, without.runs),
            cell(&row.finding())
        );
    }
    out.push_str(
        "\n## Confusion matrix\nEverything that the checks said, and in how many runs; what names \
         the fault is among it.\nA run that another program on the machine disturbed was made \
         again, twice at most. One that was disturbed\neach time counts all the same, as found, \
         missed or flagged.\n\n",
    );
    out.push_str("| fault | with it | without it | made again |\n| --- | --- | --- | --: |\n");
    for row in test.faults.iter().filter(|row| row.with.runs > 0) {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            row.name,
            seen(&row.with),
            seen(&row.without),
            row.with.again + row.without.again
        );
    }
    out.push_str(NOT_PLANTED);
    out
}

/// Text on one line of a table.
fn cell(text: &str) -> String {
    escaped(&plain(text))
}
