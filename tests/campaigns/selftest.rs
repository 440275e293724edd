//! What `bakeoff selftest` lists and refuses.

use crate::support::scene::Scene;

#[test]
fn faults_are_listed_and_unknown_ones_are_refused() {
    let scene = Scene::new();
    let list = scene.run(&["selftest", "--list"]).expect(0).stdout;
    for name in ["wrong-body", "engine-starved", "ten-per-cent"] {
        assert!(list.contains(&format!("{name} (R")), "{list}");
    }
    let stderr = scene
        .run(&["selftest", "--fault", "wrong-bod"])
        .expect(2)
        .stderr;
    assert!(stderr.contains("did you mean wrong-body?"), "{stderr}");
}
