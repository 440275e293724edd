//! What a contender may use at the most: processors' worth of time, and memory.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{At, PlanError};
use crate::file::LimitsTable;
use crate::rules::Fault;

/// Processors that a limit may give.
const CPUS: std::ops::RangeInclusive<f64> = 0.01..=1024.0;
/// Bytes that a limit may give.
const MEMORY: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 44;
/// Most limits of one flag.
const SEVERAL_MAX: usize = 50;
/// Units of memory, in bytes; the longer names first. One letter is a power of 1,024, as engines
/// of containers have it.
const UNITS: [(&str, u64); 9] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
];

/// What a contender may use at the most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Processors' worth of time: 0.5 is half of the time of one.
    pub cpus: Option<f64>,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
}

impl Limits {
    /// Reads limits such as `cpus=0.25,0.5,1,memory=64M`: each of several processors with each of
    /// several sizes.
    ///
    /// # Errors
    /// Says what of it is no limit, and what to write.
    pub fn several(text: &str) -> Result<Vec<Self>, String> {
        let (mut cpus, mut memory) = (Vec::new(), Vec::new());
        let mut key = "";
        for part in text.split(',') {
            let (name, value) = part.split_once('=').unwrap_or((key, part));
            key = name.trim();
            match key {
                "cpus" => cpus.push(Some(cpus_of(value)?)),
                "memory" => memory.push(Some(memory_of(value)?)),
                _ => {
                    return Err(format!(
                        "`{part}` is no limit: write cpus=0.5, memory=64M, or cpus=0.25,0.5,1"
                    ));
                }
            }
        }
        if cpus.is_empty() {
            cpus.push(None);
        }
        if memory.is_empty() {
            memory.push(None);
        }
        let each = cpus.iter().flat_map(|&cpus| {
            memory
                .iter()
                .map(move |&memory_bytes| Self { cpus, memory_bytes })
        });
        let all: Vec<Self> = each.collect();
        if all.len() > SEVERAL_MAX {
            return Err(format!("{} limits are more than {SEVERAL_MAX}", all.len()));
        }
        Ok(all)
    }

    /// Those of memory alone.
    #[must_use]
    pub fn of_memory(self) -> Self {
        Self { cpus: None, ..self }
    }

    /// As a part of a contender's name: `0.5cpu-64M`.
    pub fn suffix(&self) -> String {
        let cpus = self.cpus.map(|cpus| format!("{cpus}cpu"));
        let memory = self.memory_bytes.map(memory_text);
        let parts: Vec<String> = cpus.into_iter().chain(memory).collect();
        parts.join("-")
    }
}

/// As a person says it: `0.5 processors and 64 MiB`.
impl fmt::Display for Limits {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(cpus) = self.cpus {
            let noun = if cpus == 1.0 {
                "processor"
            } else {
                "processors"
            };
            write!(out, "{cpus} {noun}")?;
        }
        if self.cpus.is_some() && self.memory_bytes.is_some() {
            out.write_str(" and ")?;
        }
        match self.memory_bytes {
            Some(bytes) => {
                let mebibytes = bytes as f64 / 1_048_576.0;
                write!(out, "{} MiB", (mebibytes * 100.0).round() / 100.0)
            }
            None => Ok(()),
        }
    }
}

/// The limits of a contender's table.
pub(crate) fn of_table(
    table: Option<&LimitsTable>,
    at: At<'_>,
) -> Result<Option<Limits>, PlanError> {
    let Some(table) = table else { return Ok(None) };
    let limits = || -> Result<Limits, String> {
        Ok(Limits {
            cpus: table
                .cpus
                .map(|cpus| cpus_of(&cpus.to_string()))
                .transpose()?,
            memory_bytes: table.memory.as_deref().map(memory_of).transpose()?,
        })
    };
    let fix = "write limits = { cpus = 0.5, memory = \"64M\" }, or one of them";
    match limits() {
        Ok(limits) if limits == Limits::default() => {
            Err(Fault::new("`limits` limits nothing", fix).at(at("limits")))
        }
        Ok(limits) => Ok(Some(limits)),
        Err(problem) => Err(Fault::new(problem, fix).at(at("limits"))),
    }
}

/// The table of a contender's limits.
pub(crate) fn to_table(limits: Limits) -> LimitsTable {
    LimitsTable {
        cpus: limits.cpus,
        memory: limits.memory_bytes.map(memory_text),
    }
}

/// Reads a number of processors.
pub(crate) fn cpus_of(text: &str) -> Result<f64, String> {
    let cpus: Option<f64> = text.trim().parse().ok();
    cpus.filter(|cpus| CPUS.contains(cpus)).ok_or_else(|| {
        format!("`{text}` is no number of processors: write one from 0.01 to 1024, such as 0.5")
    })
}

/// Reads a size of memory.
pub(crate) fn memory_of(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let unit = UNITS
        .iter()
        .find_map(|(name, bytes)| Some((text.strip_suffix(name)?, *bytes)));
    let (number, unit) = unit.unwrap_or((text, 1));
    let number: Option<u64> = number.trim().parse().ok();
    let bytes = number.and_then(|number| number.checked_mul(unit));
    bytes.filter(|bytes| MEMORY.contains(bytes)).ok_or_else(|| {
        format!("`{text}` is no size of memory: write one from 1M to 16384G, such as 64M")
    })
}

/// A size as [`memory_of`] reads it again.
pub(crate) fn memory_text(bytes: u64) -> String {
    let fits = |unit: &&(&str, u64)| unit.0.len() == 1 && bytes.is_multiple_of(unit.1);
    match UNITS.iter().rev().find(fits) {
        Some((name, unit)) => format!("{}{name}", bytes / unit),
        None => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_a_flag_are_each_with_each() {
        let names = |text: &str| {
            let all = Limits::several(text).unwrap();
            all.iter().map(Limits::suffix).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names("cpus=0.25,0.5,1"), "0.25cpu 0.5cpu 1cpu");
        assert_eq!(names("memory=64M"), "64M");
        assert_eq!(names("memory=64MB"), "62500K");
        assert_eq!(
            names("cpus=1,2,memory=64M,1G"),
            "1cpu-64M 1cpu-1G 2cpu-64M 2cpu-1G"
        );
        for text in [
            "",
            "cpus",
            "0.5",
            "cpus=0",
            "cpus=nan",
            "memory=1",
            "memory=64X",
            "gpus=1",
        ] {
            assert!(Limits::several(text).is_err(), "{text}");
        }
        assert!(Limits::several(&format!("cpus={}", ["1"; 51].join(","))).is_err());
    }

    #[test]
    fn sizes_are_written_as_they_are_read() {
        for bytes in [1 << 20, 64 << 20, 1 << 30, 62_500 << 10, 64_000_001] {
            assert_eq!(memory_of(&memory_text(bytes)), Ok(bytes));
        }
        let both = Limits {
            cpus: Some(0.5),
            memory_bytes: Some(64 << 20),
        };
        assert_eq!(both.to_string(), "0.5 processors and 64 MiB");
    }
}
