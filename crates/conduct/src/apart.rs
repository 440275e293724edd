//! A server on one site and its upstream on another, as a single contestant.
//!
//! What is asked about the upstream goes to its site, and all else to the server's.

use std::time::Instant;

use bakeoff_plan::{Plan, ServerChoice};
use bakeoff_record::{
    HostFacts, HostRole, Hosts, LostHost, Pinned, Step, StopFacts, TrialEnd, TrialRecord, Usage,
};

use crate::preflight::Finding;
use crate::site::{
    Answer, Ask, FirstAnswers, Part, Site, SiteError, Staged, StartFailed, StartOrder, Started,
};

/// Two sites: one for servers, and one for the upstream behind them.
#[derive(Debug)]
pub struct Apart {
    server: Box<dyn Site>,
    origin: Box<dyn Site>,
}

impl Apart {
    /// Servers on the first, upstreams on the second.
    pub fn new(server: Box<dyn Site>, origin: Box<dyn Site>) -> Self {
        Self { server, origin }
    }
}

impl Site for Apart {
    fn fix_programs(&self, plan: &Plan, earlier: &[TrialRecord]) -> Result<(), SiteError> {
        self.server.fix_programs(plan, earlier)
    }

    fn preflight(&self, plan: &Plan) -> Result<Vec<Finding>, SiteError> {
        self.server.preflight(plan)
    }

    // With an upstream on the server's own site: what is asked is what the server makes of it.
    fn first_answers(&self, plan: &Plan, known: &[Finding]) -> Result<FirstAnswers, SiteError> {
        self.server.first_answers(plan, known)
    }

    fn open_files(&self) -> Option<u64> {
        self.server.open_files()
    }

    fn start(
        &self,
        order: &StartOrder<'_>,
        step: &mut dyn FnMut(Step),
    ) -> Result<Box<dyn Staged>, StartFailed> {
        let is_built_in = matches!(
            order.contender.server,
            ServerChoice::Yardstick | ServerChoice::Origin
        );
        if is_built_in || !order.workload.proxied {
            return self.server.start(order, step);
        }
        let upstream = StartOrder {
            part: Part::Upstream,
            ..*order
        };
        let origin = self.origin.start(&upstream, step)?;
        let server = StartOrder {
            part: Part::ServerBefore(origin.started().reached.address),
            ..*order
        };
        let server = self.server.start(&server, step)?;
        Ok(Box::new(Pair {
            server,
            origin,
            origin_usage: None,
        }))
    }
}

/// A server and its upstream. The server is dropped first.
struct Pair {
    server: Box<dyn Staged>,
    origin: Box<dyn Staged>,
    /// What was sampled where the upstream runs.
    origin_usage: Option<Usage>,
}

impl Staged for Pair {
    fn started(&self) -> Started {
        let server = self.server.started();
        let origin = self.origin.started().pinned.origin;
        Started {
            pinned: Pinned {
                origin,
                ..server.pinned
            },
            ..server
        }
    }

    fn ask(&mut self, ask: Ask) -> Answer {
        match ask {
            Ask::Behave { .. } | Ask::OriginCounts => self.origin.ask(ask),
            Ask::MayAct(action) | Ask::Act(action) if action.is_of_upstream() => {
                self.origin.ask(ask)
            }
            Ask::Sample { .. } => {
                let origin = self.origin.ask(ask.clone());
                match self.server.ask(ask) {
                    Answer::Done => origin,
                    failed => failed,
                }
            }
            ask => self.server.ask(ask),
        }
    }

    fn died(&mut self) -> Option<String> {
        self.server.died()
    }

    fn strayed(&mut self) -> Option<String> {
        self.server.strayed()
    }

    fn lost(&mut self) -> Option<String> {
        self.server.lost().or_else(|| self.origin.lost())
    }

    fn away(&mut self) -> Option<LostHost> {
        self.server.away().or_else(|| self.origin.away())
    }

    fn add_to(&self, hosts: &mut Hosts) {
        self.server.add_to(hosts);
        self.origin.add_to(hosts);
        let is_origin = |host: &&mut HostFacts| host.roles.contains(&HostRole::Origin);
        if let Some(host) = hosts.hosts.iter_mut().find(is_origin) {
            add_usage(host, self.origin_usage.as_ref());
        }
    }

    fn sampled(&mut self, start: Option<Instant>) -> Usage {
        self.origin_usage = Some(self.origin.sampled(start));
        self.server.sampled(start)
    }

    fn stop(self: Box<Self>) -> Result<Option<StopFacts>, TrialEnd> {
        let Self { server, origin, .. } = *self;
        let stopped = server.stop();
        let origin = origin.stop();
        let stopped = stopped?;
        origin?;
        Ok(stopped)
    }
}

/// Adds what was sampled of the upstream to what is known of its host. Where a generator on that
/// host has sampled it as well, only the processes are new. May be done again.
fn add_usage(host: &mut HostFacts, of_origin: Option<&Usage>) {
    let Some(of_origin) = of_origin else {
        return;
    };
    let is_generator = host.roles.contains(&HostRole::Generator);
    let Some(usage) = &mut host.usage else {
        // Without its engine, the load of others on this host would not be known.
        host.usage = (!is_generator).then(|| of_origin.clone());
        return;
    };
    for tree in &of_origin.trees {
        if usage.trees.iter().all(|known| known.role != tree.role) {
            usage.trees.push(tree.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_record::{HostTick, Role, TreeUsage};

    use super::*;

    fn usage(roles: &[Role], readings: usize) -> Usage {
        let tree = |role: &Role| TreeUsage {
            role: *role,
            cpu_source: "process-clock".to_owned(),
            ticks: Vec::new(),
            ended: Some(Vec::new()),
        };
        Usage {
            trees: roles.iter().map(tree).collect(),
            host: vec![HostTick::default(); readings],
            ..Usage::default()
        }
    }

    /// What the host of the upstream has after its samples were added, twice as in a trial.
    #[track_caller]
    fn check(roles: &[HostRole], before: Option<Usage>, expected: Option<Usage>) {
        let mut host = HostFacts {
            roles: roles.to_vec(),
            usage: before,
            ..HostFacts::default()
        };
        let of_origin = usage(&[Role::Origin, Role::Bakeoff], 3);
        for of_origin in [None, Some(&of_origin), Some(&of_origin)] {
            add_usage(&mut host, of_origin);
        }
        assert_eq!(host.usage, expected);
    }

    #[test]
    fn an_upstream_beside_a_generator_takes_nothing_from_its_samples() {
        let alone = [HostRole::Origin];
        let of_origin = usage(&[Role::Origin, Role::Bakeoff], 3);
        check(&alone, None, Some(of_origin));
        let both = [HostRole::Origin, HostRole::Generator];
        let all = usage(&[Role::Engine, Role::Origin, Role::Bakeoff], 5);
        check(&both, Some(usage(&[Role::Engine], 5)), Some(all));
        check(&both, None, None);
    }
}
