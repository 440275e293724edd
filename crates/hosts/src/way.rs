//! How a host is reached: the command at home whose standard input and output are those of a
//! program there.
//!
//! Keys, jumps, ports and shared connections are those of the user's own `ssh` and `kubectl`.
//! Nothing is forwarded, and nothing ever asks.

use crate::digest::{Digest, Own};

/// The cache of programs, below a user's home.
pub(crate) const CACHE: &str = ".cache/bakeoff";

/// Options of every call of `ssh`: it asks nothing, forwards nothing, and notices a link that is
/// down.
const SSH: [&str; 14] = [
    "ssh",
    "-T",
    "-a",
    "-x",
    "-o",
    "BatchMode=yes",
    "-o",
    "ClearAllForwardings=yes",
    "-o",
    "ConnectTimeout=10",
    "-o",
    "ServerAliveInterval=2",
    "-o",
    "ServerAliveCountMax=3",
];

/// How a host is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// It is this machine.
    Home,
    /// By an alias of the user's ssh configuration, or `USER@HOST`.
    Ssh(String),
    /// It is a network namespace of this machine, by its name.
    Netns(String),
    /// By any command that gives standard input and output to the command behind it.
    Command(Vec<String>),
    /// It is a pod.
    Pod {
        /// Its namespace.
        namespace: String,
        /// Its name.
        pod: String,
    },
}

/// A host to be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its name in the hosts file.
    pub name: String,
    /// How it is reached.
    pub way: Way,
    /// Where bakeoff is installed on it; without, it is put into the user's cache there.
    pub program: Option<String>,
}

impl Way {
    /// Its name in the hosts file and in results.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Home => "home",
            Self::Ssh(_) => "ssh",
            Self::Netns(_) => "netns",
            Self::Command(_) => "command",
            Self::Pod { .. } => "kubectl",
        }
    }

    /// The command that gives `words` to the host as they are, or to its login shell.
    fn to_host(&self, words: &[&str]) -> Vec<String> {
        let mut command: Vec<String> = match self {
            Self::Home => Vec::new(),
            Self::Ssh(alias) => {
                let options = SSH.iter().map(|word| (*word).to_owned());
                options.chain(["--".to_owned(), alias.clone()]).collect()
            }
            Self::Netns(name) => vec![
                // `ip netns exec` would hide the control groups.
                "nsenter".to_owned(),
                format!("--net=/run/netns/{name}"),
                "--".to_owned(),
            ],
            Self::Command(command) => command.clone(),
            Self::Pod { namespace, pod } => {
                let words = ["kubectl", "exec", "-i", "-n", namespace, pod, "--"];
                words.iter().map(|word| (*word).to_owned()).collect()
            }
        };
        command.extend(words.iter().map(|word| (*word).to_owned()));
        command
    }
}

impl Place {
    /// Whether the host runs the program of this process, where it lies.
    fn is_on_this_machine(&self) -> bool {
        matches!(self.way, Way::Home | Way::Netns(_))
    }

    /// Whether the program is put there where it is missing.
    pub(crate) fn takes_uploads(&self) -> bool {
        self.program.is_none() && !self.is_on_this_machine()
    }

    /// Where the program is on the host, for messages.
    pub(crate) fn program_there(&self, own: &Own) -> String {
        match &self.program {
            Some(program) => program.clone(),
            None if self.is_on_this_machine() => own.path.clone(),
            None => format!("~/{CACHE}/{}/bakeoff", own.digest),
        }
    }

    /// The command that starts the agent.
    pub(crate) fn agent(&self, own: &Own) -> Vec<String> {
        match (&self.way, &self.program) {
            // The login shell reads it, whatever shell that is.
            (Way::Ssh(_), Some(program)) => self.way.to_host(&[&quoted(program), "agent"]),
            // It opens `~`, and needs no more of the shell than that.
            (Way::Ssh(_), None) => self.way.to_host(&[&self.program_there(own), "agent"]),
            (_, Some(program)) => match program.strip_prefix("~/") {
                // No shell is between that would open it.
                Some(below) => {
                    let script = "exec \"$HOME/$0\" agent";
                    self.way.to_host(&["sh", "-c", script, below])
                }
                None => self.way.to_host(&[program, "agent"]),
            },
            _ if self.is_on_this_machine() => self.way.to_host(&[&own.path, "agent"]),
            _ => {
                let program = format!("$HOME/{CACHE}/{}/bakeoff", own.digest);
                let script = format!("exec \"{program}\" agent");
                self.way.to_host(&["sh", "-c", &script])
            }
        }
    }

    /// The command that takes the program from its standard input into the cache.
    pub(crate) fn upload(&self, digest: &Digest, bytes: u64) -> Vec<String> {
        let script = script(digest, bytes);
        match self.way {
            Way::Ssh(_) => self.way.to_host(&[&format!("sh -c '{script}'")]),
            _ => self.way.to_host(&["sh", "-c", &script]),
        }
    }
}

/// Takes `bytes` bytes into the cache: under a name of its own first, and whole or not at all. The
/// folder is the user's alone, and the program anybody's, because root's agent runs the built-in
/// servers as somebody else. The script holds no single quote, because a login shell gets it
/// between two.
fn script(digest: &Digest, bytes: u64) -> String {
    format!(
        "LC_ALL=C; export LC_ALL; umask 077; c=\"$HOME/{CACHE}\"; d=\"$c/{digest}\"; \
         n=\"$d/new.$$\"; mkdir -p \"$d\" && chmod 700 \"$c\" \"$d\" && cat > \"$n\" && \
         test \"$(wc -c < \"$n\")\" -eq {bytes} && chmod 755 \"$n\" && \
         mv -f \"$n\" \"$d/bakeoff\"; s=$?; \
         test $s -eq 0 || {{ rm -f \"$n\"; rmdir \"$d\"; }} 2> /dev/null; exit $s"
    )
}

/// A word as every shell takes it; `~/` at its beginning is the home folder.
fn quoted(word: &str) -> String {
    match word.strip_prefix("~/") {
        Some(below) => format!("~/{}", as_it_is(below)),
        None => as_it_is(word),
    }
}

fn as_it_is(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-~+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::MetadataExt as _;
    use std::process::{Command, Stdio};

    use super::*;

    fn own() -> Own {
        Own {
            digest: Digest::of(b"program"),
            bytes: 7,
            path: "/opt/bakeoff".to_owned(),
        }
    }

    #[track_caller]
    fn check(way: Way, program: Option<&str>, expected: &str) {
        let place = Place {
            name: "g1".to_owned(),
            way,
            program: program.map(str::to_owned),
        };
        let digest = own().digest.to_string();
        let command = place.agent(&own()).join(" ").replace(&digest, "DIGEST");
        assert_eq!(command, expected);
    }

    #[test]
    fn each_way_has_its_command() {
        check(Way::Home, None, "/opt/bakeoff agent");
        check(
            Way::Ssh("bench-g1".to_owned()),
            None,
            "ssh -T -a -x -o BatchMode=yes -o ClearAllForwardings=yes -o ConnectTimeout=10 -o \
             ServerAliveInterval=2 -o ServerAliveCountMax=3 -- bench-g1 \
             ~/.cache/bakeoff/DIGEST/bakeoff agent",
        );
        check(
            Way::Netns("up".to_owned()),
            None,
            "nsenter --net=/run/netns/up -- /opt/bakeoff agent",
        );
        let srun = ["srun", "-w", "n4"].map(str::to_owned).to_vec();
        check(
            Way::Command(srun.clone()),
            None,
            "srun -w n4 sh -c exec \"$HOME/.cache/bakeoff/DIGEST/bakeoff\" agent",
        );
        check(
            Way::Command(srun.clone()),
            Some("~/my bin/bakeoff"),
            "srun -w n4 sh -c exec \"$HOME/$0\" agent my bin/bakeoff",
        );
        check(
            Way::Command(srun),
            Some("/bakeoff"),
            "srun -w n4 /bakeoff agent",
        );
        let pod = Way::Pod {
            namespace: "bench".to_owned(),
            pod: "gen-0".to_owned(),
        };
        check(
            pod,
            Some("/bakeoff"),
            "kubectl exec -i -n bench gen-0 -- /bakeoff agent",
        );
    }

    #[test]
    fn a_program_with_blanks_is_one_word_to_a_login_shell() {
        assert_eq!(quoted("/opt/bakeoff-1.0"), "/opt/bakeoff-1.0");
        assert_eq!(quoted("/a b"), "'/a b'");
        assert_eq!(quoted("a'b"), "'a'\\''b'");
        assert_eq!(quoted("~/bin/bakeoff"), "~/bin/bakeoff");
        assert_eq!(quoted("~/my bin/bakeoff"), "~/'my bin/bakeoff'");
    }

    /// What the script leaves in a home of its own, after it was given `bytes` of seven.
    fn uploaded(bytes: &[u8]) -> (bool, Option<Vec<u8>>, Vec<(String, u32)>) {
        let home = tempfile::tempdir().unwrap();
        let place = Place {
            name: "x".to_owned(),
            way: Way::Command(Vec::new()),
            program: None,
        };
        let command = place.upload(&own().digest, own().bytes);
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .env("HOME", home.path())
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        let status = child.wait().unwrap();
        let folder = home.path().join(CACHE).join(own().digest.to_string());
        let names = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let named = |entry: std::fs::DirEntry| {
            let mode = entry.metadata().unwrap().mode() & 0o777;
            (entry.file_name().to_string_lossy().into_owned(), mode)
        };
        let found = std::fs::read(folder.join("bakeoff")).ok();
        if let Ok(data) = folder.metadata() {
            assert_eq!(data.mode() & 0o777, 0o700, "the folder is the user's alone");
        }
        (status.success(), found, names.map(named).collect())
    }

    #[test]
    fn an_upload_is_there_whole_or_not_at_all() {
        let (is_done, found, names) = uploaded(b"program");
        assert!(is_done);
        assert_eq!(found.as_deref(), Some(&b"program"[..]));
        assert_eq!(names, [("bakeoff".to_owned(), 0o755)]);
        assert_eq!(uploaded(b"prog"), (false, None, Vec::new()));
        assert!(!script(&own().digest, 7).contains('\''));
    }
}
