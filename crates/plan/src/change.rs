//! One resource changed at a time, to see whether it is what limits a rate (method R35).

use std::fmt;

/// What stands between a contender's name and that of a change.
const MARK: char = '+';

crate::named! {
    /// A resource that is changed. The rate should follow where that resource limits it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Change {
        /// The server has a worker more.
        WorkerMore = "worker-more",
        /// The server has a processor less.
        ProcessorLess = "processor-less",
        /// Bodies are half as long.
        HalfBody = "half-body",
        /// The upstream does nothing but answer.
        NullOrigin = "null-origin",
        /// The load engine has a thread more, on a processor of its own.
        EngineThreadMore = "engine-thread-more",
    }
}

impl Change {
    /// Whether the rate should rise if that resource limits it; else it should fall.
    pub fn should_raise(self) -> bool {
        self != Self::ProcessorLess
    }

    /// Name of a contender that is changed so. No contender of a plan has the mark in its name.
    pub fn name_of(self, contender: &str) -> String {
        format!("{contender}{MARK}{}", self.name())
    }

    /// The contender and its change, by such a name.
    pub fn of_name(name: &str) -> Option<(&str, Self)> {
        let (contender, change) = name.split_once(MARK)?;
        let known = Self::ALL.into_iter().find(|one| one.name() == change)?;
        Some((contender, known))
    }
}

/// A bottleneck that is suspected, and what is to be changed to see whether it is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspicion {
    /// Contender's name.
    pub contender: String,
    /// Workload's name.
    pub workload: String,
    /// Label of the load.
    pub load: String,
    /// What is changed.
    pub change: Change,
    /// Workers that the server was seen to have.
    pub workers: Option<u32>,
}

impl fmt::Display for Change {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::WorkerMore => "with one worker more",
            Self::ProcessorLess => "with one processor less",
            Self::HalfBody => "with half of the body",
            Self::NullOrigin => "with an upstream that only answers",
            Self::EngineThreadMore => "with one engine thread more",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_contender_s_name_says_whose_and_what() {
        for change in Change::ALL {
            let name = change.name_of("nginx-1.22");
            assert_eq!(Change::of_name(&name), Some(("nginx-1.22", change)));
        }
        for other in ["nginx", "nginx~", "nginx+more", "+"] {
            assert_eq!(Change::of_name(other), None, "{other}");
        }
    }
}
