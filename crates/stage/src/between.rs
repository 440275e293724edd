//! Who holds a server's listening socket and is not the server: what forwards connections to it,
//! and what starts services when somebody connects.
//!
//! Their processor time and memory say nothing of the server, and what a manager of services has
//! started is most of the machine.

use std::path::Path;

use rustix::process::Pid;

use crate::tree;

/// Programs that hand on what comes, to a container or to another machine.
const FORWARDERS: [&str; 11] = [
    "docker-proxy",
    "rootlessport",
    "rootlesskit",
    "slirp4netns",
    "pasta",
    "passt",
    "systemd-socket-proxyd",
    "kubectl",
    "ssh",
    "sshd",
    "sshd-session",
];
/// Programs that listen for services, and hand the socket over.
const MANAGERS: [&str; 4] = ["systemd", "init", "inetd", "xinetd"];
/// Bytes of a process's name that the kernel keeps.
const NAME_MAX: usize = 15;

/// Why the processes of the server behind `port` are not known where `pid` holds its socket;
/// `None` where that may be the server itself.
pub(crate) fn why_unknown(pid: Pid, port: u16) -> Option<String> {
    let names = names(pid);
    let is_it = |program: &&&str| names.iter().any(|name| is_named(name, program));
    if let Some(program) = FORWARDERS.iter().find(is_it) {
        return Some(format!(
            "port {port} is forwarded by {program} (process {pid}), so the processes behind it, \
             with their CPU time and memory, are not known"
        ));
    }
    let program = MANAGERS.iter().find(is_it)?;
    Some(format!(
        "{program} (process {pid}) alone holds the socket of port {port}, so the processes that \
         answer, with their CPU time and memory, are not known"
    ))
}

/// The names of a process: the kernel's, and that of its program where it may be seen.
fn names(pid: Pid) -> Vec<String> {
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    let program = program.as_deref().and_then(Path::file_name);
    let program = program.map(|name| name.to_string_lossy().into_owned());
    program.into_iter().chain([tree::name(pid)]).collect()
}

/// Whether this is the name of a program: in full, as the kernel cuts it, or with the processor
/// that it was built for, as in `pasta.avx2`.
fn is_named(name: &str, program: &str) -> bool {
    let is_cut = name.len() == NAME_MAX && program.starts_with(name);
    let built_for = name.strip_prefix(program);
    is_cut || built_for.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_known_by_their_names() {
        for (name, program, expected) in [
            ("docker-proxy", "docker-proxy", true),
            ("systemd-socket-", "systemd-socket-proxyd", true),
            ("pasta.avx2", "pasta", true),
            ("systemd-journal", "systemd", false),
            ("sshd", "ssh", false),
            ("ssh", "sshd", false),
            ("nginx", "init", false),
        ] {
            assert_eq!(is_named(name, program), expected, "{name} as {program}");
        }
        let me = rustix::process::getpid();
        assert_eq!(why_unknown(me, 80), None, "a server of one's own");
    }
}
