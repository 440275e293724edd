//! Kinds of what can disturb a trial.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

bakeoff_plan::named! {
    /// What can disturb a trial.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema, Deserialize,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum Disturbance {
        /// Programs that do not belong to the trial had processors.
        OtherLoad = "other-load",
        /// The hypervisor gave processors to others.
        Steal = "steal",
        /// A quota of CPU time held programs back.
        Throttled = "throttled",
        /// A thread of the engine wanted a processor and had none.
        EngineKept = "engine-kept",
        /// The yardstick's rate in this block was another than in the others.
        Drift = "drift",
    }
}

impl Disturbance {
    /// What there is most of; `None` of none. Of several as many, the one that came last.
    pub fn most_of(all: &[Self]) -> Option<Self> {
        let times = |what: &Self| all.iter().filter(|one| *one == what).count();
        all.iter().copied().max_by_key(times)
    }

    /// What does it, as a part of a sentence: disturbed by `the hypervisor`.
    pub fn source(self) -> &'static str {
        match self {
            Self::OtherLoad => "other programs",
            Self::Steal => "the hypervisor",
            Self::Throttled => "a quota of CPU time",
            Self::EngineKept => "something on the load engine's processor",
            Self::Drift => "a change of the machine's speed",
        }
    }
}
