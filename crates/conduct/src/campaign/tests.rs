//! Campaigns on hosts that are scripts: no process, no socket.

use std::sync::atomic::AtomicU32;

use bakeoff_plan::{Cpus, Pinning};
use bakeoff_record::Record;

use super::*;
use crate::scripts::{Host, failed, gone, plan};

/// Carries out what is missing in the folder, and returns how that ended and what is there.
fn carried_out(
    folder: &mut RecordFolder,
    earlier: Vec<TrialRecord>,
    (server, generators): (&Host, Host),
) -> (CampaignEnd, Vec<TrialRecord>) {
    // This thread stays on the processors that it has.
    let pinning = Pinning {
        engine: Cpus::Any,
        ..Pinning::default()
    };
    let options = Options {
        stop: Arc::default(),
        earlier,
        roles: Roles::divide(&pinning).expect("processors"),
        warnings: Vec::new(),
        generators: Some(Box::new(generators)),
    };
    let end = carry_out(&plan(), folder, server, options, Rules::none(), &mut |_| {});
    let record = Record::read(folder.path()).expect("a record");
    (end.expect("a folder to write"), record.trials)
}

fn record_in(folder: &std::path::Path) -> RecordFolder {
    let machine = bakeoff_probe::machine();
    RecordFolder::create(folder, &plan(), &machine).expect("a record")
}

/// A host that is lost in so many starts.
fn lost_in(starts: u32) -> Host {
    Host {
        goes: Arc::new(AtomicU32::new(starts)),
        ..Host::default()
    }
}

#[test]
fn a_trial_whose_host_is_lost_before_its_load_is_begun_again() {
    let place = tempfile::tempdir().expect("a folder");
    let mut folder = record_in(place.path());
    let server = lost_in(BEGINS - 1);
    let (end, trials) = carried_out(&mut folder, Vec::new(), (&server, Host::default()));
    assert_eq!(end, CampaignEnd::Complete);
    let planned = bakeoff_plan::trials(&plan());
    let ids: Vec<&str> = trials.iter().map(|trial| trial.id.as_str()).collect();
    let expected: Vec<&str> = planned.iter().map(|trial| trial.id.as_str()).collect();
    assert_eq!(ids, expected, "each once");
    let is_run = |trial: &TrialRecord| trial.end == failed() && trial.lost().is_empty();
    assert!(
        trials.iter().all(is_run),
        "no contender had a failure for it"
    );
}

#[test]
fn a_trial_that_loses_its_host_each_time_is_left() {
    let place = tempfile::tempdir().expect("a folder");
    let mut folder = record_in(place.path());
    let server = lost_in(u32::MAX);
    let (end, left) = carried_out(&mut folder, Vec::new(), (&server, Host::default()));
    let CampaignEnd::HostLost(why) = end else {
        panic!("a host was lost: {end:?}");
    };
    let named = "the last time, host g1 was lost: nothing came from it for 10 s";
    assert!(why.contains(&left[0].id) && why.ends_with(named), "{why}");
    assert_eq!(left.len(), 1, "no other trial was tried");
    assert_eq!(left[0].end, TrialEnd::Interrupted);
    assert_eq!(left[0].lost(), [gone()]);
    assert_eq!(server.goes.load(Ordering::Relaxed), u32::MAX - BEGINS);
}

#[test]
fn a_trial_whose_host_is_not_reached_again_is_left_for_a_campaign_that_goes_on() {
    let there = Host::default();
    let lost = gone();
    let gone = Host {
        lost: Some(lost.clone()),
        ..Host::default()
    };
    for (server, generators) in [(&gone, there.clone()), (&there, gone.clone())] {
        let place = tempfile::tempdir().expect("a folder");
        let mut folder = record_in(place.path());
        let (end, left) = carried_out(&mut folder, Vec::new(), (server, generators));
        let why = "host g1 was lost and cannot be reached again: nothing came from it for 10 s";
        assert_eq!(end, CampaignEnd::HostLost(why.to_owned()));
        assert_eq!(left.len(), 1, "no other trial was tried");
        assert_eq!(left[0].end, TrialEnd::Interrupted);
        assert_eq!(left[0].lost(), std::slice::from_ref(&lost));
        let both = (&there, there.clone());
        let (end, trials) = carried_out(&mut folder, left.clone(), both);
        assert_eq!(end, CampaignEnd::Complete);
        assert_eq!(trials.len(), bakeoff_plan::trials(&plan()).len());
        let again = trials.iter().find(|trial| trial.id == left[0].id);
        assert_eq!(again.map(|trial| &trial.end), Some(&failed()), "it was run");
    }
}
