//! Conditions that end a load with an exit code of their own.

use crate::support::scene::Scene;
use crate::support::scripted;

#[test]
fn a_load_fails_where_its_condition_holds() {
    let scene = Scene::new();
    let wrong = scripted::always(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    let right = scripted::always(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let load = |address: std::net::SocketAddr, condition: &str| {
        let url = format!("http://{address}/");
        let load = ["load", &url, "-n", "50", "-c", "2", "--fail-if", condition];
        scene.run(&load)
    };
    load(right, "errors > 0%").expect(0);
    let said = load(wrong, "errors > 10 %").expect(3);
    assert!(
        said.stderr.contains("breached: errors > 10 %: 100%"),
        "{}",
        said.stderr
    );
    // No latency of a right answer was seen.
    let said = load(wrong, "p50 > 1s").expect(4);
    assert!(
        said.stderr
            .contains("cannot tell: p50 > 1s: no answer was ok"),
        "{}",
        said.stderr
    );
    // Fifty answers have no percentile 99.9.
    let said = load(right, "p99.9 < 1ns").expect(2);
    assert!(
        said.stderr.contains("'p99.9 < 1ns': it takes 10,000"),
        "{}",
        said.stderr
    );
}
