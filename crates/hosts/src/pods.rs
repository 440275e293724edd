//! The running pods that a selector matches: each is a host.

use std::io::Read as _;
use std::time::{Duration, Instant};

use crate::error::{Cause, HostError, cause_of_end};
use crate::session::Child;

/// How long `kubectl get` may take.
const WITHIN: Duration = Duration::from_secs(20);
/// Most bytes of its answer.
const BYTES_MAX: u64 = 1 << 20;
/// Most pods of a selector.
const PODS_MAX: usize = 1000;
/// A line for each pod: its name, and its address where it has one.
const FORMAT: &str =
    "jsonpath={range .items[*]}{.metadata.name}{\" \"}{.status.podIP}{\"\\n\"}{end}";

/// A running pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    /// Its name.
    pub name: String,
    /// Its address, where it has one.
    pub address: Option<String>,
}

/// Asks kubectl for the running pods that `selector` matches, for the host named `host`.
///
/// # Errors
/// kubectl cannot be asked, or there is no such pod.
pub fn pods(host: &str, namespace: &str, selector: &str) -> Result<Vec<Pod>, HostError> {
    let named = |cause| HostError {
        host: host.to_owned(),
        cause,
    };
    let words = [
        "kubectl",
        "get",
        "pods",
        "-n",
        namespace,
        "-l",
        selector,
        "--field-selector=status.phase=Running",
        "-o",
        FORMAT,
    ];
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let text = answer(&words).map_err(named)?;
    let pods = read_pods(&text);
    if pods.is_empty() {
        return Err(named(Cause::NoPods {
            namespace: namespace.to_owned(),
            selector: selector.to_owned(),
        }));
    }
    Ok(pods)
}

/// Reads a line for each pod: its name, then its address.
pub fn read_pods(text: &str) -> Vec<Pod> {
    // What kubectl may start a word with is an option; no pod's name does.
    let is_name = |name: &&str| !name.starts_with('-');
    let pod = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next().filter(is_name)?.to_owned();
        let address = words.next().map(str::to_owned);
        Some(Pod { name, address })
    };
    let mut pods: Vec<Pod> = text.lines().filter_map(pod).take(PODS_MAX).collect();
    // Hosts are numbered in this order, the same each time.
    pods.sort_by(|left, right| natural(&left.name).cmp(&natural(&right.name)));
    pods
}

/// Shorter names first, so that `gen-10` comes after `gen-9`.
fn natural(name: &str) -> (usize, &str) {
    (name.len(), name)
}

fn answer(words: &[String]) -> Result<String, Cause> {
    let mut child = Child::start(words)?;
    drop(child.take_input());
    let output = child.take_output();
    let reader = std::thread::Builder::new().name("kubectl".to_owned());
    let read = move || {
        let mut text = Vec::new();
        if let Some(output) = output {
            // What is cut off is a pod less, which is missed by its number.
            let _ = output.take(BYTES_MAX).read_to_end(&mut text);
        }
        String::from_utf8_lossy(&text).into_owned()
    };
    let reader = reader.spawn(read).map_err(|source| Cause::Command {
        program: "a thread".to_owned(),
        source,
    })?;
    let Some(status) = child.ended_within(WITHIN) else {
        child.kill();
        return Err(Cause::Late {
            what: "list its pods",
            seconds: WITHIN.as_secs(),
        });
    };
    if !status.success() {
        let message = child.errors(Instant::now() + Duration::from_secs(1));
        return Err(cause_of_end(status.code(), message));
    }
    Ok(reader.join().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_read_in_the_order_of_their_numbers() {
        let text = "gen-10 10.0.0.3\n\ngen-9 10.0.0.2\ngen-1\n--help 10.0.0.9\n";
        let found = read_pods(text);
        let names: Vec<&str> = found.iter().map(|pod| pod.name.as_str()).collect();
        assert_eq!(names, ["gen-1", "gen-9", "gen-10"]);
        assert_eq!(found[0].address, None);
        assert_eq!(found[1].address.as_deref(), Some("10.0.0.2"));
        assert_eq!(read_pods(""), []);
    }
}
