//! Search tables become loads whose rate is sought, and back.

use std::time::Duration;

use crate::error::PlanError;
use crate::file::{DurationText, PlanFile, SearchTable};
use crate::load::{Load, LoadModel};
use crate::model::Plan;
use crate::rules::{self, Fault};
use crate::search::{GOALS_MAX, Objective, Search, format_errors, goals, parse_errors};
use crate::source::Source;

/// Full trials that the time after which a rate is decided must hold: half of them, three, may be
/// all that stands behind a bound.
const TRIALS_LEAST: u32 = 6;
/// Lengths of a full trial.
const TRIAL: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(600);
/// Longest time that a rate may be decided after.
const SUM_MAX: Duration = Duration::from_secs(3600);
/// Points that a latency curve may have.
const CURVE_MAX: usize = 16;

impl Plan {
    /// Whether its rates are sought: such a plan has searches in place of loads.
    pub fn is_search(&self) -> bool {
        self.loads.iter().any(|load| load.search().is_some())
    }
}

impl Load {
    /// The search that finds its rate.
    pub fn search(&self) -> Option<&Search> {
        match &self.model {
            LoadModel::Sought(search) => Some(search),
            _ => None,
        }
    }

    /// Gives the search that finds its rate another budget.
    pub fn set_budget(&mut self, budget: Duration) {
        if let LoadModel::Sought(search) = &mut self.model {
            search.budget = budget;
        }
    }

    /// The load whose rate `search` finds.
    pub fn sought(search: Search, trial: Duration, warmup: Duration) -> Self {
        Self {
            warmup_s: warmup.as_secs_f64(),
            ..Self::new(LoadModel::Sought(Box::new(search)), trial.as_secs_f64())
        }
    }
}

/// A kind of tables that become loads.
pub(crate) struct TableKind {
    pub(crate) name: &'static str,
    /// Key that is named where two are the same.
    pub(crate) key: &'static str,
    /// What to do then.
    pub(crate) fix: &'static str,
}

/// The loads of tables of one kind, each with a label of its own.
pub(crate) fn of_tables<T>(
    source: &Source<'_>,
    kind: &TableKind,
    tables: &[T],
    load: impl Fn(&T) -> Result<Load, (&'static str, Fault)>,
) -> Result<Vec<Load>, PlanError> {
    let mut loads: Vec<Load> = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        let place = |key: &str| source.place(&format!("{}.{index}.{key}", kind.name));
        let load = load(table).map_err(|(key, fault)| fault.at(place(key)))?;
        if loads.iter().any(|other| other.label() == load.label()) {
            let place = place(kind.key);
            return Err(PlanError::twice(place, kind.name, &load.label(), kind.fix));
        }
        loads.push(load);
    }
    Ok(loads)
}

/// The loads of a plan's search tables.
pub(crate) fn searches(source: &Source<'_>, file: &PlanFile) -> Result<Vec<Load>, PlanError> {
    let kind = TableKind {
        name: "search",
        key: "slo",
        fix: "two searches must differ in slo, clients or streams",
    };
    let loads = of_tables(source, &kind, &file.search, load)?;
    if !loads.is_empty() && !file.load.is_empty() {
        return Err(Fault::new(
            "a plan has `[[load]]` or `[[search]]`, not both",
            "write two plans",
        )
        .at(source.place("search")));
    }
    let others = [file.load.len(), file.overload.len(), file.change.len()];
    if loads.is_empty() && others == [0; 3] {
        let fault = Fault::new(
            "nothing says how hard it is asked",
            "add `[[load]]` with `clients = 50`, or `[[search]]` with `slo = [\"p99<10ms\"]`",
        );
        return Err(fault.at(source.place("")));
    }
    Ok(loads)
}

fn load(table: &SearchTable) -> Result<Load, (&'static str, Fault)> {
    let search = search(table)?;
    rules::clients(table.clients).map_err(|fault| ("clients", fault))?;
    rules::streams(table.streams).map_err(|fault| ("streams", fault))?;
    rules::pause("warmup", table.warmup.0).map_err(|fault| ("warmup", fault))?;
    rules::length("timeout", table.timeout.0).map_err(|fault| ("timeout", fault))?;
    Ok(Load {
        streams: table.streams,
        timeout_s: table.timeout.0.as_secs_f64(),
        ..Load::sought(search, table.trial.0, table.warmup.0)
    })
}

fn search(table: &SearchTable) -> Result<Search, (&'static str, Fault)> {
    let as_fault = |error: crate::search::GoalError| {
        let text = error.to_string();
        let (problem, fix) = text.split_once(": ").unwrap_or((&text, "write another"));
        Fault::new(problem, fix)
    };
    let objectives: Result<Vec<Objective>, _> = table.slo.iter().map(|it| it.parse()).collect();
    let objectives = objectives.map_err(|error| ("slo", as_fault(error)))?;
    let errors: Result<Vec<f64>, _> = table.errors.iter().map(|it| parse_errors(it)).collect();
    let errors = errors.map_err(|error| ("errors", as_fault(error)))?;
    let search = Search {
        goals: goals(&objectives, &errors),
        arrival: table.arrival,
        clients: table.clients,
        sum: table.sum.0,
        exceed: table.exceed,
        width: table.width,
        budget: table.budget.0,
        confirm: table.confirm.0,
        curve: table.curve.clone(),
    };
    search.check(table.trial.0)?;
    Ok(search)
}

impl Search {
    /// What is wrong with it, and with which key, beside full trials of a length.
    pub(crate) fn check(&self, trial: Duration) -> Result<(), (&'static str, Fault)> {
        let fault = |problem: String, fix: &str| Err(Fault::new(problem, fix));
        let goals = match self.goals.len() {
            0 => fault(
                "there is no goal".to_owned(),
                "write `errors = [\"0.001%\"]`",
            ),
            count if count > GOALS_MAX => fault(
                format!("`slo` and `errors` make {count} goals"),
                "leave some out: a search has at most 8, each objective with each share",
            ),
            _ => Ok(()),
        };
        goals.map_err(|fault| ("errors", fault))?;
        let twice = (1..self.goals.len()).any(|at| self.goals[..at].contains(&self.goals[at]));
        if twice {
            let fault = Fault::new("two goals are the same", "write each of them once");
            return Err(("slo", fault));
        }
        rules::in_range("trial", &trial, &TRIAL, "write a time from 1s to 10m")?;
        if self.sum < trial * TRIALS_LEAST || self.sum > SUM_MAX {
            let fix = "write at least six times `trial`, so that three trials stand behind each \
                       bound, and at most 1h";
            return Err(("sum", Fault::new("`sum` is out of range", fix)));
        }
        let fix = "write a share from 0 to 0.9";
        rules::in_range("exceed", &self.exceed, &(0.0..=0.9), fix)?;
        let fix = "write a share from 0.001 to 0.5";
        rules::in_range("width", &self.width, &(0.001..=0.5), fix)?;
        rules::length("budget", self.budget).map_err(|fault| ("budget", fault))?;
        let confirm = Duration::ZERO..=*TRIAL.end();
        rules::in_range(
            "confirm",
            &self.confirm,
            &confirm,
            "write a time from 0s to 10m",
        )?;
        let is_share = |share: &f64| (0.01..=1.0).contains(share);
        if self.curve.len() > CURVE_MAX || !self.curve.iter().all(is_share) {
            let fix = "write at most 16 shares from 0.01 to 1";
            return Err(("curve", Fault::new("`curve` is no list of shares", fix)));
        }
        Ok(())
    }
}

/// The table of a load whose rate is sought.
pub(crate) fn search_table(load: &Load) -> Option<SearchTable> {
    let search = load.search()?;
    Some(SearchTable {
        slo: search
            .objectives()
            .iter()
            .map(ToString::to_string)
            .collect(),
        errors: search.errors().into_iter().map(format_errors).collect(),
        clients: search.clients,
        streams: load.streams,
        arrival: search.arrival,
        warmup: DurationText::of_seconds(load.warmup_s),
        timeout: DurationText::of_seconds(load.timeout_s),
        trial: DurationText::of_seconds(load.duration_s),
        sum: DurationText(search.sum),
        exceed: search.exceed,
        width: search.width,
        budget: DurationText(search.budget),
        confirm: DurationText(search.confirm),
        curve: search.curve.clone(),
    })
}
