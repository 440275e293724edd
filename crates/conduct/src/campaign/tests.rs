//! Campaigns on hosts that are scripts: no process, no socket.

use bakeoff_plan::{Cpus, Pinning};
use bakeoff_record::{HOSTS_SCHEMA, LostHost, Record};

use super::*;
use crate::scripts::{Host, failed, plan};

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
    let end = carry_out(&plan(), folder, server, options, &mut |_| None, &mut |_| {});
    let record = Record::read(folder.path()).expect("a record");
    (end.expect("a folder to write"), record.trials)
}

#[test]
fn a_trial_whose_host_is_not_reached_again_is_left_for_a_campaign_that_goes_on() {
    let there = Host::default();
    let lost = LostHost {
        host: "g1".to_owned(),
        at_s: None,
        message: "nothing came from it for 10 s".to_owned(),
    };
    let gone = Host {
        lost: Some(lost.clone()),
    };
    for (server, generators) in [(&gone, there.clone()), (&there, gone.clone())] {
        let folder = tempfile::tempdir().expect("a folder");
        let machine = bakeoff_probe::machine();
        let folder = RecordFolder::create(folder.path(), &plan(), &machine);
        let mut folder = folder.expect("a record");
        let (end, left) = carried_out(&mut folder, Vec::new(), (server, generators));
        let why = "host g1 was lost and cannot be reached again: nothing came from it for 10 s";
        assert_eq!(end, CampaignEnd::HostLost(why.to_owned()));
        assert_eq!(left.len(), 1, "no other trial was tried");
        assert_eq!(left[0].end, TrialEnd::Interrupted);
        assert_eq!(left[0].course.lost(), std::slice::from_ref(&lost));
        assert_eq!(left[0].schema, HOSTS_SCHEMA);
        let both = (&there, there.clone());
        let (end, trials) = carried_out(&mut folder, left.clone(), both);
        assert_eq!(end, CampaignEnd::Complete);
        assert_eq!(trials.len(), bakeoff_plan::trials(&plan()).len());
        let again = trials.iter().find(|trial| trial.id == left[0].id);
        assert_eq!(again.map(|trial| &trial.end), Some(&failed()), "it was run");
    }
}
