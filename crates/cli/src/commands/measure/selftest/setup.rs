//! A set-up: a plan, and the programs that run on the machine meanwhile.

use std::fmt::Write as _;
use std::path::Path;

/// A set-up of the self-test.
#[derive(Debug, Clone)]
pub(super) enum Setup {
    /// A campaign, judged as any other.
    Campaign(Campaign),
    /// A line of a shell, with bakeoff's own program as `$0`, judged by what it prints.
    Line(&'static str),
}

/// A campaign of scripted servers.
#[derive(Debug, Clone)]
pub(super) struct Campaign {
    pub(super) rounds: u32,
    /// Keys of the load, or of the overload.
    pub(super) load: String,
    /// Length of the warm-up and of the window, milliseconds.
    pub(super) times_ms: (u32, u32),
    /// Keys of the workload besides what is expected.
    pub(super) workload: &'static str,
    pub(super) body: usize,
    /// Each contender's server.
    pub(super) contenders: Vec<Server>,
    /// Built-in servers that are measured too.
    pub(super) references: &'static [&'static str],
    /// Keys of `[pinning]`.
    pub(super) pinning: &'static str,
    pub(super) beside: Vec<Disturber>,
}

/// A contender's server.
#[derive(Debug, Clone)]
pub(super) enum Server {
    /// `bakeoff faulty server` with these arguments.
    Faulty(String),
    /// The same, which may open so many files.
    FewFiles(String, u32),
    /// The built-in null server.
    Null,
}

/// A program that runs as long as the campaign.
#[derive(Debug, Clone)]
pub(super) struct Disturber {
    /// Arguments of `bakeoff faulty`.
    pub(super) arguments: &'static [&'static str],
    pub(super) on: On,
}

/// Where a program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum On {
    /// The server's processors.
    Server,
    /// The load engine's.
    Engine,
}

impl Campaign {
    /// One round of a closed loop of eight clients, with a server of one worker.
    pub(super) fn closed(server: &str) -> Self {
        Self::of("clients = 8", Server::Faulty(server.to_owned()))
    }

    /// One round of an open loop at a rate a second.
    pub(super) fn open(rate: u32, server: &str) -> Self {
        let load = format!("rate = {rate}\nclients = 32");
        Self::of(&load, Server::Faulty(server.to_owned()))
    }

    /// One round beyond a capacity of 200 requests a second and back, judged as an overload. Fewer
    /// wait at the server than a client is patient for: what it does not carry is never sent.
    pub(super) fn ramp(server: &str) -> Self {
        let load = "steps = [0.5, 1.1, 4.0, 0.5]\nstep = \"2s\"\ncapacity = 200\nclients = 32\n\
                    patience = \"500ms\"";
        Self::of(load, Server::Faulty(server.to_owned()))
    }

    pub(super) fn of(load: &str, server: Server) -> Self {
        Self {
            rounds: 1,
            load: load.to_owned(),
            times_ms: (300, 900),
            workload: "",
            body: 100,
            contenders: vec![server],
            references: &[],
            pinning: "",
            beside: Vec::new(),
        }
    }

    /// A second contender.
    pub(super) fn against(mut self, server: &str) -> Self {
        self.contenders.push(Server::Faulty(server.to_owned()));
        self
    }

    pub(super) fn rounds(self, rounds: u32) -> Self {
        Self { rounds, ..self }
    }

    pub(super) fn window_ms(mut self, window: u32) -> Self {
        self.times_ms.1 = window;
        self
    }

    /// A plan file; `program` is bakeoff's own and `folder` is for what servers remember.
    pub(super) fn plan(&self, program: &Path, folder: &Path) -> String {
        let mut plan = format!(
            "name = \"selftest\"\nrounds = {}\nrest = \"20ms\"\nworkloads = [\"answer\"]\n\
             [pinning]\n{}\n[references]\ncontrol = false\n",
            self.rounds, self.pinning
        );
        for reference in ["yardstick", "origin"] {
            let wanted = self.references.contains(&reference);
            let _ = writeln!(plan, "{reference} = {wanted}");
        }
        for (name, server) in ["a", "b"].iter().zip(&self.contenders) {
            // A drift is of the machine: its clock begins with the first start of either server.
            let own = if server.drifts() { "both" } else { name };
            let command = server.command(program, &folder.join(own), self.body);
            let command = command.replace('\\', "\\\\").replace('"', "\\\"");
            let _ = writeln!(
                plan,
                "[[contender]]\nname = \"{name}\"\ncommand = \"{command}\"\n\
                 stop = {{ grace = \"500ms\" }}"
            );
        }
        let _ = writeln!(plan, "{}", self.load_table());
        let _ = write!(
            plan,
            "[[workload]]\nname = \"answer\"\npath = \"/\"\n{}",
            self.workload
        );
        if !self.workload.contains("expect") {
            let _ = writeln!(
                plan,
                "\nexpect = {{ text = \"{}\" }}",
                "x".repeat(self.body)
            );
        }
        plan
    }

    fn load_table(&self) -> String {
        if self.load.contains("steps") {
            return format!("[[overload]]\n{}", self.load);
        }
        let (warmup, window) = self.times_ms;
        let timeout = if self.load.contains("timeout") {
            ""
        } else {
            "timeout = \"1s\"\n"
        };
        format!(
            "[[load]]\n{}\n{timeout}warmup = \"{warmup}ms\"\nduration = \"{window}ms\"",
            self.load
        )
    }
}

impl Server {
    fn drifts(&self) -> bool {
        matches!(self, Self::Faulty(arguments) if arguments.contains("--fault drift"))
    }

    fn command(&self, program: &Path, folder: &Path, body: usize) -> String {
        let program = format!("'{}'", program.display());
        let faulty = |arguments: &str| {
            let folder = if arguments.contains("--fault") {
                format!(" --folder '{}'", folder.display())
            } else {
                String::new()
            };
            format!("{program} faulty server --port {{port}} --body {body} {arguments}{folder}")
        };
        match self {
            Self::Faulty(arguments) => faulty(arguments),
            Self::FewFiles(arguments, files) => {
                format!("ulimit -n {files}; exec {}", faulty(arguments))
            }
            Self::Null => {
                let text = "x".repeat(body);
                format!("{program} yardstick --listen 127.0.0.1:{{port}} --body-text {text}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_plan::{Builtin, parse};

    use super::super::faults;
    use super::*;

    #[test]
    fn every_set_up_is_a_plan_that_can_be_read() {
        for fault in faults::all() {
            for planted in [true, false] {
                let Setup::Campaign(campaign) = (fault.setup)(planted) else {
                    continue;
                };
                let folder = Path::new("/folder");
                let text = campaign.plan(Path::new("/bin/bakeoff"), folder);
                let plan = parse(&text, fault.name, folder, &Builtin);
                let plan = plan.unwrap_or_else(|error| panic!("{}: {error}\n{text}", fault.name));
                assert_eq!(plan.contenders.len(), campaign.contenders.len());
                let is_ramp = fault.name.ends_with("-in-overload");
                assert_eq!(plan.is_overload(), is_ramp, "{text}");
            }
        }
    }
}
