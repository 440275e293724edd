//! What the network between hosts carried, before the first round and after the last.

use bakeoff_plan::distinct;
use bakeoff_record::{LinkFacts, Record, When};
use schemars::JsonSchema;
use serde::Serialize;

/// One link. A campaign that went on measured it once more, and has it once more.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Link {
    /// Hosts that sent.
    pub from: Vec<String>,
    /// Hosts that received.
    pub to: Vec<String>,
    /// What it carried before the first round, bits per second; null where it was not measured.
    pub before_bits_per_s: Option<f64>,
    /// What it carried after the last round, bits per second; null where it was not measured.
    pub after_bits_per_s: Option<f64>,
    /// Whether processors were full before it was in each measurement, so that it may carry more.
    pub at_least: bool,
    /// The fastest round trip without load that was seen, nanoseconds; null where none was.
    pub rtt_ns: Option<u64>,
    /// Whether the two differ by more than a tenth of the larger one; null without both, or where
    /// the link may carry more.
    pub changed: Option<bool>,
}

pub(super) fn draw(record: &Record) -> Vec<Link> {
    let mut drawn: Vec<Link> = Vec::new();
    let hosts = record.trials.iter().filter_map(|it| it.hosts.as_ref());
    for hosts in hosts {
        let mut own: Vec<Link> = Vec::new();
        for link in &hosts.links {
            let same = own
                .iter_mut()
                .find(|it| it.from == link.from && it.to == link.to);
            match same {
                Some(known) => known.add(link),
                None => own.push(Link::of(link)),
            }
        }
        drawn.extend(own.into_iter().map(Link::compared));
    }
    distinct(drawn)
}

impl Link {
    fn of(facts: &LinkFacts) -> Self {
        let mut link = Self {
            from: facts.from.clone(),
            to: facts.to.clone(),
            before_bits_per_s: None,
            after_bits_per_s: None,
            at_least: true,
            rtt_ns: None,
            changed: None,
        };
        link.add(facts);
        link
    }

    fn add(&mut self, facts: &LinkFacts) {
        let place = match facts.when {
            When::Before => &mut self.before_bits_per_s,
            When::After => &mut self.after_bits_per_s,
        };
        *place = Some(facts.bits_per_s);
        self.at_least &= facts.at_least;
        self.rtt_ns = self.rtt_ns.into_iter().chain(facts.rtt_ns).min();
    }

    fn compared(mut self) -> Self {
        let both = self.before_bits_per_s.zip(self.after_bits_per_s);
        let both = both.filter(|_| !self.at_least);
        self.changed = both.map(|(before, after)| bakeoff_audit::link_has_changed(before, after));
        self
    }
}
