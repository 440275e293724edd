//! Files of hosts that are refused before any host is reached.

use crate::support::scene::Scene;

#[test]
fn a_wrong_file_is_refused_before_anything_is_reached() {
    let scene = Scene::new();
    scene.write("a.toml", "[roles]\ngenerators = [\"g1\"]\n");
    let refused = scene.run(&["hosts", "check", "a.toml"]).expect(2);
    refused.says("no host is called `g1`");
    let missing = scene.run(&["hosts", "check", "none.toml"]).expect(2);
    missing.says("none.toml");
}
