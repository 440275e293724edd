//! Flags that change a plan before it runs.

use std::time::Duration;

use crate::choice;
use crate::course;
use crate::course::{Budget, Until};
use crate::error::{Place, PlanError};
use crate::load::{Load, LoadModel};
use crate::loads::check_streams;
use crate::model::{Plan, Workload};
use crate::order;
use crate::protocol::Protocol;
use crate::protocols::{keep_answers, over, rename_answers};
use crate::rules::{self, Fault};
use crate::schedule::Arrival;

/// Rounds after which `--until` gives up where nothing else is said.
const UNTIL_MAX_ROUNDS: u32 = 40;

/// Changes to a plan; a default one changes nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// Only these contenders, in the plan's order, and after them those that are named with a
    /// version, `NAME@VERSION` or `SERVER@VERSION`; empty for all.
    pub contenders: Vec<String>,
    /// Only these workloads, in the plan's order; empty for all.
    pub workloads: Vec<String>,
    /// These numbers of clients instead of the plan's.
    pub clients: Option<Vec<u32>>,
    /// Every workload over each of these instead of the plan's; empty for the plan's.
    pub protocols: Vec<Protocol>,
    /// Requests in flight on each connection of every load.
    pub streams: Option<u32>,
    /// Requests that every load ends after, which takes its warm-up away.
    pub requests: Option<u64>,
    /// Requests per second for every load, which makes each an open loop.
    pub rate: Option<f64>,
    /// Gaps between the requests of every open loop.
    pub arrival: Option<Arrival>,
    /// Measured time of every load; references are shortened to it, never lengthened.
    pub duration: Option<Duration>,
    /// Time before measuring of every load by time; a load by count has none.
    pub warmup: Option<Duration>,
    /// How many rounds.
    pub rounds: RoundsAsked,
    /// Seed.
    pub seed: Option<u64>,
}

/// How many rounds flags ask for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RoundsAsked {
    /// So many, in any case.
    pub number: Option<u32>,
    /// Reach of the widest interval that rounds are added for.
    pub until: Option<f64>,
    /// Rounds after which they are added no more.
    pub at_most: Option<u32>,
    /// As many as this time allows, until each difference is decided.
    pub budget: Option<Duration>,
}

impl RoundsAsked {
    /// So many rounds.
    pub fn number(number: u32) -> Self {
        Self {
            number: Some(number),
            ..Self::default()
        }
    }

    fn is_number_alone(self) -> bool {
        self.number.is_some() && self.until.is_none() && self.at_most.is_none()
    }
}

impl Plan {
    /// The plan with `overrides` applied.
    ///
    /// # Errors
    /// A name that the plan does not have, a number out of its range, or loads that cannot be
    /// distinguished afterwards. The place of an error is the flag of the override's name.
    pub fn with(mut self, overrides: &Overrides) -> Result<Self, PlanError> {
        self.contenders = choice::contenders(self.contenders, &overrides.contenders)?;
        self.workloads = choice::named(self.workloads, &overrides.workloads, "workload", |it| {
            &it.name
        })?;
        keep_answers(&mut self.contenders, &self.workloads);
        self.refuse_what_is_of_no_use(overrides)?;
        self.protocols(overrides)?;
        self.course(overrides.rounds)?;
        if let Some(seed) = overrides.seed {
            rules::seed(seed).map_err(|fault| fault.at(Place::flag("seed")))?;
            self.seed = seed;
            self.seed_values();
        }
        self.times(overrides)?;
        let usual: Vec<bool> = self.loads.iter().map(connects_as_usual).collect();
        self.counts(overrides)?;
        self.rates(overrides)?;
        for (load, usual) in self.loads.iter_mut().zip(usual) {
            // What was asked for by name stays, but for a load that became an open loop.
            if usual || matches!(load.model, LoadModel::Open { .. }) {
                load.connect = load.usual_connect();
            }
        }
        self.clients(overrides)?;
        check_streams(&self).map_err(|fault| {
            let streams = overrides.streams.is_some();
            fault.at(Place::flag(if streams { "streams" } else { "protocol" }))
        })?;
        let checked = self.loads.iter().try_for_each(Load::check);
        checked.map_err(|fault| fault.at(Place::flag("duration")))?;
        order::check_ids(&self).map_err(|fault| fault.at(Place::flag("clients")))?;
        Ok(self)
    }

    /// Refuses the first flag that a plan without `[[load]]` has no use for.
    fn refuse_what_is_of_no_use(&self, overrides: &Overrides) -> Result<(), PlanError> {
        let (useless, problem): (&[&str], _) = if self.is_search() {
            let flags = &["rate", "requests", "rounds", "until", "max-rounds"];
            let why = "the plan is a search, which finds its rates and the number of its trials";
            (flags, why)
        } else if self.is_overload() {
            let flags = &["rate", "requests", "until", "max-rounds"];
            let why = "the plan is an overload, whose steps are shares of the capacity";
            (flags, why)
        } else if self.is_change() {
            let why = "the plan is a change, whose actions say how long its window is";
            (&["requests", "duration"], why)
        } else {
            return Ok(());
        };
        let rounds = overrides.rounds;
        let given = [
            ("rate", overrides.rate.is_some()),
            ("requests", overrides.requests.is_some()),
            ("duration", overrides.duration.is_some()),
            ("rounds", rounds.number.is_some()),
            ("until", rounds.until.is_some()),
            ("max-rounds", rounds.at_most.is_some()),
        ];
        let mut given = given.iter().filter(|(_, is_given)| *is_given);
        given
            .find(|(name, _)| useless.contains(name))
            .map_or(Ok(()), |(name, _)| {
                let fix = "take the flag out, or run a plan with `[[load]]`";
                Err(Fault::new(problem, fix).at(Place::flag(name)))
            })
    }

    /// How long it goes on: by a number of rounds, by a rule, or by time. The one that is asked for
    /// takes the place of that of the plan.
    fn course(&mut self, asked: RoundsAsked) -> Result<(), PlanError> {
        if let Some(length) = asked.budget {
            course::check_budget(length).map_err(|fault| fault.at(Place::flag("budget")))?;
            self.budget = Some(Budget::new(length));
            (self.rounds, self.until) = (1, None);
            return Ok(());
        }
        if let Some(rounds) = asked.number {
            rules::rounds(rounds).map_err(|fault| fault.at(Place::flag("rounds")))?;
            (self.rounds, self.budget) = (rounds, None);
        }
        if asked.until.is_some() {
            self.budget = None;
        }
        self.until = self.stopping_rule(asked)?;
        Ok(())
    }

    /// The rule after both flags; each alone changes that of the plan.
    fn stopping_rule(&self, asked: RoundsAsked) -> Result<Option<Until>, PlanError> {
        let own = self.until;
        let width = asked.until.or(own.map(|until| until.width));
        let max_rounds = asked.at_most.or(own.map(|until| until.max_rounds));
        let until = match (width, max_rounds) {
            (None, None) => return Ok(None),
            // A number of rounds that is asked for is no least one.
            _ if asked.is_number_alone() => return Ok(None),
            (Some(width), max_rounds) => Until {
                width,
                max_rounds: max_rounds.unwrap_or(UNTIL_MAX_ROUNDS.max(self.rounds)),
            },
            (None, Some(_)) => {
                return Err(Fault::new(
                    "it limits nothing without `--until`",
                    "add `--until 3%`, or write `--rounds`",
                )
                .at(Place::flag("max-rounds")));
            }
        };
        course::check_until(until, self.rounds).map_err(|fault| fault.at(Place::flag("until")))?;
        Ok(Some(until))
    }

    fn times(&mut self, overrides: &Overrides) -> Result<(), PlanError> {
        if let Some(duration) = overrides.duration {
            rules::length("duration", duration)
                .map_err(|fault| fault.at(Place::flag("duration")))?;
            for load in &mut self.loads {
                load.duration_s = duration.as_secs_f64();
            }
            self.references.duration = self.references.duration.map(|own| own.min(duration));
        }
        if let Some(warmup) = overrides.warmup {
            rules::pause("warmup", warmup).map_err(|fault| fault.at(Place::flag("warmup")))?;
            for load in self.loads.iter_mut().filter(|load| load.requests.is_none()) {
                load.warmup_s = warmup.as_secs_f64();
            }
        }
        Ok(())
    }

    /// Asks each workload over each protocol; workloads that were distinguished by protocol only
    /// become one.
    fn protocols(&mut self, overrides: &Overrides) -> Result<(), PlanError> {
        if overrides.protocols.is_empty() {
            return Ok(());
        }
        let mut workloads: Vec<Workload> = Vec::new();
        let mut renamed = Vec::new();
        for workload in &self.workloads {
            for protocol in &overrides.protocols {
                let changed =
                    over(workload, *protocol).map_err(|fault| fault.at(Place::flag("protocol")))?;
                if !workloads.iter().any(|other| other.name == changed.name) {
                    renamed.push((workload.name.clone(), changed.name.clone()));
                    workloads.push(changed);
                }
            }
        }
        self.workloads = workloads;
        rename_answers(&mut self.contenders, &renamed);
        Ok(())
    }

    fn counts(&mut self, overrides: &Overrides) -> Result<(), PlanError> {
        if let Some(streams) = overrides.streams {
            rules::streams(streams).map_err(|fault| fault.at(Place::flag("streams")))?;
            for load in &mut self.loads {
                load.streams = streams;
            }
        }
        if let Some(requests) = overrides.requests {
            rules::requests(requests).map_err(|fault| fault.at(Place::flag("requests")))?;
            for load in &mut self.loads {
                load.requests = Some(requests);
                load.warmup_s = 0.0;
            }
        }
        Ok(())
    }

    fn rates(&mut self, overrides: &Overrides) -> Result<(), PlanError> {
        if let Some(rate_per_s) = overrides.rate {
            rules::rate(rate_per_s).map_err(|fault| fault.at(Place::flag("rate")))?;
            if self.is_change() {
                // No rate is a share of anything any more.
                self.loads.retain(|load| load.actions.is_some());
            }
            for load in &mut self.loads {
                let arrival = load.model.arrival().unwrap_or(Arrival::Poisson);
                let clients = load.clients();
                load.model = LoadModel::Open {
                    rate_per_s,
                    arrival,
                    clients,
                };
            }
        }
        let Some(chosen) = overrides.arrival else {
            return Ok(());
        };
        let mut open = false;
        for load in &mut self.loads {
            if let (_, Some(arrival)) = load.model.choices() {
                *arrival = chosen;
                open = true;
            }
        }
        if open {
            return Ok(());
        }
        Err(Fault::new(
            "no load of this plan has a rate, so there are no gaps to choose",
            "add `--rate 500`",
        )
        .at(Place::flag("arrival")))
    }

    /// Gives each load each number of clients; loads that were distinguished by clients only
    /// become one.
    fn clients(&mut self, overrides: &Overrides) -> Result<(), PlanError> {
        let mut loads: Vec<Load> = Vec::new();
        match &overrides.clients {
            None => loads.append(&mut self.loads),
            Some(list) => {
                if list.is_empty() {
                    let fault = Fault::new("the list is empty", "write `--clients 10,200`");
                    return Err(fault.at(Place::flag("clients")));
                }
                for clients in list {
                    rules::clients(*clients).map_err(|fault| fault.at(Place::flag("clients")))?;
                    loads.extend(self.loads.iter().map(|load| with_clients(load, *clients)));
                }
            }
        }
        self.loads = Vec::new();
        for load in loads {
            if self.loads.contains(&load) {
                continue;
            }
            if self.loads.iter().any(|other| other.label() == load.label()) {
                let has_clients = overrides.clients.is_some();
                let place = Place::flag(if has_clients { "clients" } else { "rate" });
                let fix = "the plan's loads differ in their times: give one time to all with \
                           `--duration` and `--warmup`";
                return Err(PlanError::twice(place, "load", &load.label(), fix));
            }
            self.loads.push(load);
        }
        Ok(())
    }
}

fn connects_as_usual(load: &Load) -> bool {
    load.connect == load.usual_connect()
}

fn with_clients(load: &Load, clients: u32) -> Load {
    let mut load = load.clone();
    *load.model.choices().0 = clients;
    load
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::tests::builtin;
    use crate::load::Connect;

    fn labels(plan: &Plan) -> Vec<String> {
        plan.loads.iter().map(Load::label).collect()
    }

    #[track_caller]
    fn refused(plan: &str, overrides: &Overrides, expected: &str) {
        let error = builtin(plan).with(overrides).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn nothing_changes_nothing() {
        let plan = builtin("quick");
        assert_eq!(plan.clone().with(&Overrides::default()).unwrap(), plan);
    }

    #[test]
    fn flags_take_the_place_of_the_plans_values() {
        let plan = builtin("hotdog")
            .with(&Overrides {
                contenders: vec!["caddy-default".to_owned()],
                workloads: vec!["proxy".to_owned(), "synthetic".to_owned()],
                clients: Some(vec![10, 50]),
                duration: Some(Duration::from_secs(3)),
                warmup: Some(Duration::from_millis(100)),
                rounds: RoundsAsked::number(1),
                seed: Some(9),
                ..Overrides::default()
            })
            .unwrap();
        assert_eq!(labels(&plan), ["c10", "c50"]);
        assert_eq!(plan.contenders.len(), 1);
        let names: Vec<&str> = plan.workloads.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["synthetic", "proxy"], "in the plan's order");
        assert_eq!((plan.rounds, plan.seed), (1, 9));
        assert_eq!(
            (plan.loads[0].duration_s, plan.loads[1].warmup_s),
            (3.0, 0.1)
        );
        assert_eq!(plan.references.duration, Some(Duration::from_secs(3)));
    }

    #[test]
    fn a_rate_opens_the_loop() {
        let rate = Overrides {
            rate: Some(500.0),
            ..Overrides::default()
        };
        let plan = builtin("quick").with(&rate).unwrap();
        assert_eq!(labels(&plan), ["r500p-c50"], "both loads become this one");
        let constant = Overrides {
            arrival: Some(Arrival::Constant),
            ..rate
        };
        let plan = builtin("quick").with(&constant).unwrap();
        assert_eq!(labels(&plan), ["r500-c50"]);
    }

    #[test]
    fn how_a_load_connects_follows_what_it_became_unless_it_was_said() {
        let mut plan = builtin("hotdog");
        plan.loads.truncate(2);
        plan.loads[1].connect = Connect::AsNeeded;
        let connect = |overrides: &Overrides| {
            let loads = plan.clone().with(overrides).unwrap().loads;
            [loads[0].connect, loads[1].connect]
        };
        let requests = Overrides {
            requests: Some(5),
            ..Overrides::default()
        };
        assert_eq!(connect(&requests), [Connect::AsNeeded; 2]);
        let rate = Overrides {
            rate: Some(5.0),
            ..Overrides::default()
        };
        assert_eq!(connect(&rate), [Connect::First; 2]);
        let nothing = Overrides::default();
        assert_eq!(connect(&nothing), [Connect::First, Connect::AsNeeded]);
    }

    #[test]
    fn a_stopping_rule_comes_and_goes_with_its_flags() {
        let builtin = |name: &str| {
            let seven = RoundsAsked::number(7);
            let seven = Overrides {
                rounds: seven,
                ..Overrides::default()
            };
            builtin(name).with(&seven).unwrap()
        };
        let rule = |plan: Plan, overrides: &Overrides| plan.with(overrides).map(|plan| plan.until);
        let none = Overrides::default;
        let until = |width, max_rounds| Ok(Some(Until { width, max_rounds }));
        let asked = |until, at_most| Overrides {
            rounds: RoundsAsked {
                number: None,
                until,
                at_most,
                budget: None,
            },
            ..none()
        };
        let three = asked(Some(0.03), None);
        assert_eq!(rule(builtin("quick"), &three), until(0.03, 40));
        let both = asked(Some(0.03), Some(20));
        assert_eq!(rule(builtin("quick"), &both), until(0.03, 20));
        let with_rule = || builtin("quick").with(&both).unwrap();
        assert_eq!(rule(with_rule(), &none()), until(0.03, 20));
        let rounds = Overrides {
            rounds: RoundsAsked::number(5),
            ..none()
        };
        assert_eq!(rule(with_rule(), &rounds), Ok(None), "so many and no more");
        refused(
            "quick",
            &asked(None, Some(20)),
            "--max-rounds: it limits nothing without `--until`; add `--until 3%`, or write \
             `--rounds`",
        );
        let error = builtin("quick").with(&asked(Some(0.03), Some(5)));
        assert_eq!(
            error.unwrap_err().to_string(),
            "--until: `max_rounds` is 5, fewer than the 7 of `rounds`; write at least as many",
        );
    }

    #[test]
    fn a_changed_plan_is_written_and_read_too() {
        let overrides = Overrides {
            rate: Some(0.1),
            duration: Some(Duration::from_nanos(1_234_567_891)),
            rounds: RoundsAsked {
                until: Some(0.1),
                ..RoundsAsked::default()
            },
            ..Overrides::default()
        };
        let plan = builtin("quick").with(&overrides).unwrap();
        let nothing = crate::library::NoFiles;
        let again = crate::parse(&plan.to_toml(), "p", std::path::Path::new("/x"), &nothing);
        assert_eq!(again, Ok(plan));
    }

    #[test]
    fn refusals_name_the_flag() {
        let none = Overrides::default;
        let name = |name: &str| vec![name.to_owned()];
        refused(
            "quick",
            &Overrides {
                contenders: name("nginx-defalt"),
                ..none()
            },
            "--contender: no contender is called `nginx-defalt`; did you mean `nginx-default`?",
        );
        refused(
            "smoke",
            &Overrides {
                workloads: name("zzz"),
                ..none()
            },
            "--workload: no workload is called `zzz`; known are synthetic, proxy",
        );
        refused(
            "quick",
            &Overrides {
                clients: Some(vec![10, 20_000]),
                ..none()
            },
            "--clients: `clients` is 20000; write a number from 1 to 10000",
        );
        refused(
            "quick",
            &Overrides {
                clients: Some(vec![]),
                ..none()
            },
            "--clients: the list is empty; write `--clients 10,200`",
        );
    }

    #[test]
    fn numbers_out_of_range_name_the_flag_too() {
        let none = Overrides::default;
        refused(
            "quick",
            &Overrides {
                rate: Some(-1.0),
                ..none()
            },
            "--rate: `rate` is -1; write a number from 0.001 to 10000000",
        );
        assert!(
            builtin("quick")
                .with(&Overrides {
                    rate: Some(f64::NAN),
                    ..none()
                })
                .is_err()
        );
        refused(
            "quick",
            &Overrides {
                rounds: RoundsAsked::number(0),
                ..none()
            },
            "--rounds: `rounds` is 0; write a number from 1 to 1000",
        );
        refused(
            "quick",
            &Overrides {
                duration: Some(Duration::ZERO),
                ..none()
            },
            "--duration: `duration` is 0; write a time above 0, such as `2s`",
        );
        refused(
            "hotdog",
            &Overrides {
                arrival: Some(Arrival::Poisson),
                ..none()
            },
            "--arrival: no load of this plan has a rate, so there are no gaps to choose; \
             add `--rate 500`",
        );
    }

    #[test]
    fn loads_that_differ_in_more_than_clients_are_not_merged_in_silence() {
        let mut plan = builtin("hotdog");
        plan.loads.truncate(2);
        plan.loads[1].duration_s = 9.0;
        let clients = Overrides {
            clients: Some(vec![50]),
            ..Overrides::default()
        };
        let error = plan.clone().with(&clients).unwrap_err();
        assert!(matches!(error, PlanError::Duplicate { .. }), "{error}");
        let one_time = Overrides {
            duration: Some(Duration::from_secs(1)),
            ..clients
        };
        assert_eq!(labels(&plan.with(&one_time).unwrap()), ["c50"]);
    }
}
