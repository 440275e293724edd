//! What several rounds show together, and what concerns a campaign.

use super::{Described, Limit, Text, check, invalid, not_run, note, suspect};
use crate::code::{ALL, Code, SOUND, TIMED};
use crate::limits::{CPU_LEVEL_SHARE, MODES_APART, RATE_VARIATION, ROUNDS_MIN, ROUNDS_SHARE};

const ENOUGH: Text = Text(
    "Needed are {} rounds and {} of the planned ones; all of them if fewer than {} were planned. \
     [method.md](method.md#rounds-that-count) has the details.",
    &[
        Limit::Count(ROUNDS_MIN as u64),
        Limit::Percent(ROUNDS_SHARE),
        Limit::Count(ROUNDS_MIN as u64),
    ],
);

pub(super) const CHECKS: [Described; 8] = [
    Described {
        details: &[ENOUGH],
        ..check(
            Code::RoundsComplete,
            "measured rounds, with the planned ones",
            &[
                note("some are missing, and enough are left", &[]),
                suspect(SOUND, "too few are left", &[]),
            ],
            "The report says how each of the others ended. `bakeoff run --resume` runs missing \
             rounds.",
        )
    },
    Described {
        details: &[ENOUGH],
        ..check(
            Code::RoundsAccepted,
            "rounds whose number can be believed, where each check alone leaves enough of them",
            &[
                suspect(ALL, "too few for that number", &[]),
                invalid(ALL, "none is left for that number", &[]),
            ],
            "Different checks spoiled different rounds. The cell lists them.",
        )
    },
    check(
        Code::RoundsAgree,
        "standard deviation over mean of the rate, over the rounds of its estimate if that has \
         three",
        &[
            not_run(TIMED, "fewer than three rounds"),
            note("from {}, of a contender", &[Limit::Percent(RATE_VARIATION)]),
            suspect(
                TIMED,
                "from {}, of a reference, which does the same work each time",
                &[Limit::Percent(RATE_VARIATION)],
            ),
        ],
        "The machine changes from round to round. More rounds narrow the interval.",
    ),
    check(
        Code::TwoModes,
        "medians of the two groups that the rounds fall into, one over the other: of the rate in \
         a closed loop, of p99 in an open one, or of CPU per request",
        &[note("from {}", &[Limit::Plain(MODES_APART)])],
        "The median describes neither group, so the report shows both.",
    ),
    check(
        Code::CpuLevel,
        "CPU time per request, with its median over the rates that the server kept up with",
        &[note(
            "off by more than {}",
            &[Limit::Percent(CPU_LEVEL_SHARE)],
        )],
        "Work should cost the same at each rate below the knee. Something else is in the figure.",
    ),
    check(
        Code::ProgramChanged,
        "version and digest of a contender's program over the campaign",
        &[invalid(ALL, "there are two", &[])],
        "The program was replaced during the campaign. Start it again.",
    ),
    check(
        Code::TrialEnded,
        "how a trial ended that was not measured",
        &[suspect(
            ALL,
            "it failed, was skipped or is unsupported; the verdict says which",
            &[],
        )],
        "The text has the reason.",
    ),
    check(
        Code::Warning,
        "what the tool reports about itself",
        &[note("always", &[])],
        "The text has a hint.",
    ),
];
