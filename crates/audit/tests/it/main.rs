//! The judge, from invented records to verdicts, comparisons and findings.

mod comparisons;
mod conditions;
mod confirm;
mod equivalence;
mod planted;
mod published;
mod published_figures;
mod published_rates;
mod published_tools;
mod verdicts;
mod verdicts_hosts;
mod verdicts_load;
mod verdicts_rounds;
mod weakened;
