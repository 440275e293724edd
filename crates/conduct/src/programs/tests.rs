//! A server that is a file below a library, and never run.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};

use bakeoff_plan::Pinning;
use bakeoff_stage::{Asks, Servers, StageOptions};

use super::*;
use crate::here::Here;
use crate::roles::Roles;
use crate::scripts::plan;
use crate::site::Site as _;

/// No program of such a name is on a search path.
const SERVER: &str = r#"
title = "Unheard Of"
programs = ["bakeoff-test-unheard-of"]
config = "main.conf"
install = ["apt-get install unheard-of"]
[version]
command = ["{{ binary }}", "--version"]
pattern = '([0-9.]+)'
[start]
command = ["{{ binary }}"]
[stop]
signal = "TERM"
grace_ms = 1000
[templates.default]
synthetic = "main.conf"
"#;

/// This machine with the server in a library below `home`.
fn here(home: &Path) -> Here {
    let server = home.join("servers/unheard-of");
    std::fs::create_dir_all(&server).unwrap();
    std::fs::write(server.join("server.toml"), SERVER).unwrap();
    std::fs::write(server.join("main.conf"), "port {{ port }}\n").unwrap();
    let stage = Stage::new(StageOptions {
        run_folder: home.join("run"),
        keeper: vec!["/bin/false".to_owned()],
        servers: Servers::new(Some(home.join("servers"))).asking(Asks::None),
        listening: Default::default(),
    });
    Here {
        stage: Arc::new(stage.unwrap()),
        bakeoff: PathBuf::from("/bin/false"),
        folder: home.join("run"),
        roles: Roles::divide(&Pinning::default()).unwrap(),
        seed: 1,
        stop: Arc::default(),
        programs: Mutex::default(),
    }
}

/// The server alone, at one workload.
fn unheard_of() -> Plan {
    let mut plan = plan();
    plan.workloads
        .retain(|workload| workload.name == "synthetic");
    plan.contenders.truncate(1);
    let contender = &mut plan.contenders[0];
    contender.name = "mine".to_owned();
    if let ServerChoice::Program { server, .. } = &mut contender.server {
        "unheard-of".clone_into(server);
    }
    plan
}

#[test]
fn a_campaign_is_looked_at_with_the_programs_that_its_trials_had() {
    let home = tempfile::tempdir().unwrap();
    let (here, plan) = (here(home.path()), unheard_of());
    let ends = || -> Vec<TrialEnd> {
        let findings = here.preflight(&plan).unwrap().into_iter();
        findings.map(|finding| finding.end).collect()
    };
    let missing = ends();
    let is_skipped = matches!(missing[..], [TrialEnd::Skipped { .. }]);
    assert!(is_skipped, "{missing:?}");

    let path = home.path().join("bakeoff-test-unheard-of");
    std::fs::write(&path, "as it was").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let sha256 = here.stage.digest(&path).unwrap();
    let program = Fixed {
        path: path.clone(),
        sha256,
    };
    let before = Programs([("mine".to_owned(), program)].into());
    here.fix(&plan, before).unwrap();
    assert_eq!(ends(), []);

    std::fs::write(&path, "another one").unwrap();
    let changed = ends();
    let [TrialEnd::Failed { cause, .. }] = &changed[..] else {
        panic!("{changed:?}");
    };
    assert!(
        cause.contains("the program of mine has changed since this campaign began"),
        "{cause}"
    );
}
