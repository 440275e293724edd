//! How `bakeoff load` ends: by count, by a signal, and with which exit code.

use crate::support::scene::Scene;
use crate::support::scripted::always;

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

#[test]
fn a_count_at_a_rate_is_measured_at_that_rate() {
    let scene = Scene::new();
    let url = format!("http://{}/", always(HELLO));
    for (rate, count, measured_s) in [("10", "1", 0.1), ("10", "3", 0.3)] {
        let load = scene.json(&["load", &url, "-r", rate, "-n", count, "--json"]);
        assert_eq!(load["measured_s"], measured_s, "{load:#}");
        let rate = load["rate_per_s"]["ok"].as_f64().unwrap();
        assert!((rate - 10.0).abs() < 1e-9, "{rate}");
    }
}
