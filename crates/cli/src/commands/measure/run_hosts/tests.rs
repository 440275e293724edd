use bakeoff_hosts::Cause;
use bakeoff_plan::{Load, LoadModel};
use bakeoff_record::{HostTick, Role, TreeUsage};

use super::*;
use crate::commands::measure::generators::HostPart;

/// Such as a result that is too long to be sent.
#[test]
fn why_an_agent_refused_is_kept_with_the_lost_host() {
    let why = "send the result: it is too long";
    let refused = HostError {
        host: "g1".to_owned(),
        cause: Cause::Refused {
            why: why.to_owned(),
            usage: false,
        },
    };
    let together = Together {
        parts: Vec::new(),
        lost: vec![LostPart {
            error: refused,
            after_s: 3.0,
        }],
    };
    let generated = generated(together, Hosts::default(), 0, Duration::from_secs(1));
    let lost = generated.hosts.unwrap().lost;
    assert!(lost[0].message.contains(why), "{lost:?}");
    let failed = generated.failed.unwrap();
    let is_named = failed.starts_with("host g1 was lost: ");
    assert!(is_named && failed.contains(why), "{failed}");
}

/// What a generator of this name measured and sampled.
fn part(host: &str) -> HostPart {
    let load = Load {
        timeout_s: 1.0,
        ..Load::new(LoadModel::Closed { clients: 2 }, 1.0)
    };
    let engine = TreeUsage {
        role: Role::Engine,
        cpu_source: "process-clock".to_owned(),
        ticks: Vec::new(),
        ended: Some(Vec::new()),
    };
    HostPart {
        host: host.to_owned(),
        threads: 1,
        began_ns: None,
        before: ClockOffset {
            offset_ns: 0,
            error_ns: 0,
            rtt_ns: 0,
        },
        after: None,
        result: LoadResult::empty(load, 1.0),
        usage: Some(Usage {
            trees: vec![engine],
            host: vec![HostTick::default()],
            ..Usage::default()
        }),
    }
}

/// Without them, what else ran on the server's host is not known.
#[test]
fn of_a_generator_on_the_servers_host_its_processes_are_kept() {
    let host = |name: &str, roles: &[HostRole]| HostFacts {
        name: name.to_owned(),
        roles: roles.to_vec(),
        ..HostFacts::default()
    };
    let known = Hosts {
        hosts: vec![
            host("sut", &[HostRole::Server, HostRole::Generator]),
            host("g1", &[HostRole::Generator]),
        ],
        ..Hosts::default()
    };
    let together = Together {
        parts: vec![part("sut"), part("g1")],
        lost: Vec::new(),
    };
    let generated = generated(together, known, 0, Duration::ZERO);
    let kept = generated.hosts.unwrap().hosts;
    let kept = kept.iter().filter_map(|host| host.usage.as_ref());
    let kept: Vec<_> = kept
        .map(|usage| (usage.trees.len(), usage.host.len()))
        .collect();
    assert_eq!(kept, [(1, 0), (1, 1)], "trees and readings of the host");
}
