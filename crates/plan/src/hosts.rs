//! The hosts file: which hosts there are, how each is reached, and which role each has.
//!
//! It does not try to reach a host.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::check::check;
use crate::error::PlanError;
use crate::rules::{self, Fault};
use crate::source::Source;

/// The host that is always there: the machine where bakeoff was started.
pub const HOME: &str = "home";

/// Most hosts of a file.
const HOSTS_MAX: usize = 1000;
/// Longest text that leads to a host.
const TEXT_MAX: usize = 1024;

/// Hosts and their roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts {
    /// By name; [`HOME`] is among them only where the file says something of it.
    pub hosts: Vec<Host>,
    /// Who does what.
    pub roles: HostRoles,
}

/// One host, or the pods that one selector matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Unique in the file.
    pub name: String,
    /// How it is reached.
    pub way: HostWay,
    /// Address or name by which the others reach it; without it, it is asked.
    pub address: Option<String>,
    /// Where bakeoff is installed on it; without it, it is put into the user's cache there.
    pub program: Option<String>,
}

/// How a host is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostWay {
    /// It is the machine where bakeoff was started.
    Home,
    /// By an alias of the user's ssh configuration, or `USER@HOST`.
    Ssh(String),
    /// It is a network namespace of this machine.
    Netns(String),
    /// By a command that gives standard input and output to the command behind it.
    Command(Vec<String>),
    /// By kubectl: each running pod that the selector matches is a host, `NAME-0`, `NAME-1`, ...
    Kubectl(Pods),
}

/// Pods by namespace and label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pods {
    /// Namespace of the pods.
    #[schemars(extend("examples" = ["bench"]))]
    pub namespace: String,
    /// Labels that the pods have.
    #[schemars(extend("examples" = ["app=bakeoff-generator"]))]
    pub selector: String,
}

/// Names of hosts by role. Those of a kubectl entry stand for all its pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRoles {
    /// Where the servers under test run.
    pub server: String,
    /// Where the upstream behind proxies runs.
    pub origin: String,
    /// Where the load comes from; at least one.
    pub generators: Vec<String>,
}

impl Hosts {
    /// Reads a hosts file; `origin_name` is what messages call it.
    ///
    /// # Errors
    /// The text is not TOML, or not a hosts file, or names a host that it does not have.
    pub fn parse(text: &str, origin_name: &str) -> Result<Self, PlanError> {
        let source = Source::read(text, origin_name)?;
        check(&source, schema_value())?;
        let file: HostsFile = source.deserialize()?;
        if file.hosts.len() > HOSTS_MAX {
            let fault = Fault::new(
                format!("there are {} hosts", file.hosts.len()),
                format!("at most {HOSTS_MAX} can be used"),
            );
            return Err(fault.at(source.place("hosts")));
        }
        let hosts = file
            .hosts
            .iter()
            .map(|(name, table)| host(&source, name, table));
        let hosts = hosts.collect::<Result<Vec<_>, _>>()?;
        let roles = roles(&source, &file)?;
        Ok(Self { hosts, roles })
    }

    /// The host of this name, where the file describes it.
    pub fn named(&self, name: &str) -> Option<&Host> {
        self.hosts.iter().find(|host| host.name == name)
    }
}

impl Host {
    /// The machine where bakeoff was started, where a file says nothing of it.
    pub fn home() -> Self {
        Self {
            name: HOME.to_owned(),
            way: HostWay::Home,
            address: None,
            program: None,
        }
    }

    /// The host that ssh reaches by an alias; `None` where that is no word.
    pub fn by_ssh(alias: &str) -> Option<Self> {
        word("ssh", alias).ok()?;
        Some(Self {
            name: alias.to_owned(),
            way: HostWay::Ssh(alias.to_owned()),
            ..Self::home()
        })
    }
}

/// The JSON Schema of a hosts file, as indented text.
pub fn hosts_schema() -> String {
    format!("{:#}\n", schema_value())
}

fn schema_value() -> &'static serde_json::Value {
    static SCHEMA: OnceLock<serde_json::Value> = OnceLock::new();
    SCHEMA.get_or_init(|| schemars::schema_for!(HostsFile).to_value())
}

/// Hosts, and which role each of them has.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "bakeoff hosts")]
#[serde(deny_unknown_fields)]
struct HostsFile {
    /// Each host by its name. `home`, the machine where bakeoff was started, is always there.
    #[serde(default)]
    hosts: BTreeMap<String, HostTable>,
    /// Which host does what.
    #[serde(default)]
    roles: RolesTable,
}

/// A host, with one of `ssh`, `netns`, `command` and `kubectl`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HostTable {
    /// Alias of your ssh configuration, or USER@HOST. Keys, ports and jumps are those of ssh.
    #[schemars(extend("examples" = ["bench-g1"]))]
    ssh: Option<String>,
    /// Network namespace of this machine, as `ip netns` lists it. Needs root.
    #[schemars(extend("examples" = ["lab1"]))]
    netns: Option<String>,
    /// Command that runs the command behind it on the host, with standard input and output.
    #[schemars(length(min = 1), extend("examples" = [["srun", "-w", "n4"]]))]
    command: Option<Vec<String>>,
    /// Pods; each running one that matches is a host.
    kubectl: Option<Pods>,
    /// Address or name by which the other hosts reach it. Without it, the host is asked.
    #[schemars(extend("examples" = ["10.0.1.5"]))]
    address: Option<String>,
    /// Where bakeoff is installed on the host. Without it, it is copied into the user's cache.
    #[schemars(extend("examples" = ["/usr/local/bin/bakeoff"]))]
    program: Option<String>,
}

/// Which host does what.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RolesTable {
    /// Where the servers under test run. Without it, `home`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["sut"]))]
    server: Option<String>,
    /// Where the upstream behind proxies runs. Without it, the server's host.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["up"]))]
    origin: Option<String>,
    /// Where the load comes from. Without it, `home`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("examples" = [["g1", "g2"]]))]
    generators: Option<Vec<String>>,
}

fn host(source: &Source<'_>, name: &str, table: &HostTable) -> Result<Host, PlanError> {
    let at = |key: &str| source.place(&format!("hosts.{name}.{key}"));
    rules::name(name).map_err(|fault| fault.at(at("")))?;
    let ways = [
        ("ssh", table.ssh.is_some()),
        ("netns", table.netns.is_some()),
        ("command", table.command.is_some()),
        ("kubectl", table.kubectl.is_some()),
    ];
    let mut given = ways.iter().filter(|(_, given)| *given).map(|(key, _)| *key);
    let (first, second) = (given.next(), given.next());
    if let (Some(first), Some(second)) = (first, second) {
        return Err(Fault::new(
            format!("`{first}` and `{second}` are two ways to one host"),
            "keep one of them",
        )
        .at(at(second)));
    }
    if (name == HOME) != first.is_none() {
        let (problem, fix) = match first {
            Some(first) => (
                format!("`{HOME}` is the machine where bakeoff was started, and has no `{first}`"),
                "give the host another name".to_owned(),
            ),
            None => (
                format!("nothing says how to reach host `{name}`"),
                "write one of `ssh`, `netns`, `command` and `kubectl`".to_owned(),
            ),
        };
        let place = at(first.unwrap_or_default());
        return Err(Fault::new(problem, fix).at(place));
    }
    let checked = [
        ("ssh", table.ssh.as_ref()),
        ("netns", table.netns.as_ref()),
        ("address", table.address.as_ref()),
    ];
    for (key, text) in checked {
        if let Some(text) = text {
            word(key, text).map_err(|fault| fault.at(at(key)))?;
        }
    }
    if let Some(program) = &table.program {
        program_path(program).map_err(|fault| fault.at(at("program")))?;
    }
    if let Some(netns) = &table.netns {
        rules::name(netns).map_err(|fault| fault.at(at("netns")))?;
    }
    Ok(Host {
        name: name.to_owned(),
        way: way(source, name, table)?,
        address: table.address.clone(),
        program: table.program.clone(),
    })
}

fn way(source: &Source<'_>, name: &str, table: &HostTable) -> Result<HostWay, PlanError> {
    let at = |key: &str| source.place(&format!("hosts.{name}.{key}"));
    if let Some(alias) = &table.ssh {
        return Ok(HostWay::Ssh(alias.clone()));
    }
    if let Some(netns) = &table.netns {
        return Ok(HostWay::Netns(netns.clone()));
    }
    if let Some(command) = &table.command {
        let is_bad = |word: &String| word.len() > TEXT_MAX || word.contains('\0');
        if command.is_empty() || command[0].is_empty() || command.iter().any(is_bad) {
            let fault = Fault::new(
                "`command` has no program, or a word that no command line can hold",
                "write the program and its arguments, such as [\"srun\", \"-w\", \"n4\"]",
            );
            return Err(fault.at(at("command")));
        }
        return Ok(HostWay::Command(command.clone()));
    }
    let Some(pods) = &table.kubectl else {
        return Ok(HostWay::Home);
    };
    for (key, text) in [("namespace", &pods.namespace), ("selector", &pods.selector)] {
        word(key, text).map_err(|fault| fault.at(at(&format!("kubectl.{key}"))))?;
    }
    Ok(HostWay::Kubectl(pods.clone()))
}

/// A word of a command line that cannot be taken for an option.
fn word(key: &str, text: &str) -> Result<(), Fault> {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
    if !text.is_empty()
        && text.len() <= TEXT_MAX
        && !text.starts_with('-')
        && text.chars().all(is_plain)
    {
        return Ok(());
    }
    Err(Fault::new(
        format!("`{key}` is empty, begins with a dash or has blanks in it"),
        "write one word",
    ))
}

fn program_path(text: &str) -> Result<(), Fault> {
    let is_path = text.starts_with('/') || text.starts_with("~/");
    if is_path && text.len() <= TEXT_MAX && !text.chars().any(char::is_control) {
        return Ok(());
    }
    Err(Fault::new(
        "`program` is not a path from the root or the home folder",
        "write it as in \"/usr/local/bin/bakeoff\"",
    ))
}

fn roles(source: &Source<'_>, file: &HostsFile) -> Result<HostRoles, PlanError> {
    let home = || HOME.to_owned();
    let names: Vec<&str> = file.hosts.keys().map(String::as_str).collect();
    let known: Vec<String> = names
        .iter()
        .copied()
        .chain([HOME].into_iter().filter(|home| !names.contains(home)))
        .map(str::to_owned)
        .collect();
    let check = |key: String, name: &String| {
        if known.contains(name) {
            return Ok(());
        }
        Err(PlanError::unknown(
            source.place(&format!("roles.{key}")),
            "host",
            name,
            known.clone(),
        ))
    };
    let table = &file.roles;
    for (key, name) in [("server", &table.server), ("origin", &table.origin)] {
        let Some(name) = name else { continue };
        check(key.to_owned(), name)?;
        let way = file.hosts.get(name).map(|host| &host.kubectl);
        if way.is_some_and(Option::is_some) {
            return Err(Fault::new(
                format!("`{name}` may be several pods, and {key} is one host"),
                "choose another host",
            )
            .at(source.place(&format!("roles.{key}"))));
        }
    }
    let generators = table.generators.clone().unwrap_or_else(|| vec![home()]);
    for (index, name) in generators.iter().enumerate() {
        check(format!("generators.{index}"), name)?;
        if generators[..index].contains(name) {
            let place = source.place(&format!("roles.generators.{index}"));
            return Err(PlanError::twice(
                place,
                "generator",
                name,
                "name each host once",
            ));
        }
    }
    let server = table.server.clone().unwrap_or_else(home);
    Ok(HostRoles {
        origin: table.origin.clone().unwrap_or_else(|| server.clone()),
        server,
        generators,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"[hosts.sut]
ssh = "bench-sut"
address = "10.0.1.5"
[hosts.g1]
ssh = "me@g1"
[hosts.up]
netns = "org"
[hosts.pods]
kubectl = { namespace = "bench", selector = "app=bk-gen" }
[hosts.x]
command = ["srun", "-w", "n4"]
program = "/opt/bakeoff"
[roles]
server = "sut"
origin = "up"
generators = ["g1", "pods", "x", "home"]
"#;

    #[test]
    fn a_file_becomes_hosts_and_roles() {
        let hosts = Hosts::parse(FILE, "h.toml").unwrap();
        let named = |name| hosts.named(name).unwrap().way.clone();
        assert_eq!(named("sut"), HostWay::Ssh("bench-sut".to_owned()));
        assert_eq!(named("up"), HostWay::Netns("org".to_owned()));
        let HostWay::Kubectl(pods) = named("pods") else {
            panic!("pods");
        };
        assert_eq!((&*pods.namespace, &*pods.selector), ("bench", "app=bk-gen"));
        assert!(matches!(named("x"), HostWay::Command(words) if words.len() == 3));
        assert_eq!(
            hosts.named("sut").unwrap().address.as_deref(),
            Some("10.0.1.5")
        );
        assert_eq!(hosts.roles.generators, ["g1", "pods", "x", "home"]);
        assert_eq!((&*hosts.roles.server, &*hosts.roles.origin), ("sut", "up"));
    }

    #[test]
    fn home_is_what_a_file_does_not_say() {
        let hosts = Hosts::parse("", "h.toml").unwrap();
        assert_eq!(hosts.roles.server, HOME);
        assert_eq!(hosts.roles.origin, HOME);
        assert_eq!(hosts.roles.generators, [HOME]);
        let text = "[hosts.home]\naddress = \"10.0.0.1\"\n";
        let hosts = Hosts::parse(text, "h.toml").unwrap();
        assert_eq!(hosts.named(HOME).unwrap().way, HostWay::Home);
    }

    #[track_caller]
    fn refused(old: &str, new: &str, expected: &str) {
        assert!(FILE.contains(old), "{old}");
        let error = Hosts::parse(&FILE.replacen(old, new, 1), "h.toml").unwrap_err();
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        refused(
            "\"g1\", ",
            "\"g2\", ",
            "h.toml:16:15: no host is called `g2`; did you mean `g1`?",
        );
        refused(
            "server = \"sut\"",
            "server = \"pods\"",
            "h.toml:14:10: `pods` may be several pods, and server is one host; choose another host",
        );
        refused(
            "\"x\", ",
            "\"g1\", ",
            "h.toml:16:29: generator `g1` appears twice; name each host once",
        );
        refused(
            "netns = \"org\"",
            "netns = \"org\"\nssh = \"a\"",
            "h.toml:7:9: `ssh` and `netns` are two ways to one host; keep one of them",
        );
        refused(
            "ssh = \"me@g1\"",
            "",
            "h.toml:4:1: nothing says how to reach host `g1`; write one of `ssh`, `netns`, \
             `command` and `kubectl`",
        );
        refused(
            "ssh = \"me@g1\"",
            "ssh = \"-oProxyCommand=x\"",
            "h.toml:5:7: `ssh` is empty, begins with a dash or has blanks in it; write one word",
        );
        refused(
            "ssh = \"me@g1\"",
            "shs = \"me@g1\"",
            "h.toml:5:1: unknown key `shs` in `g1`; did you mean `ssh`?",
        );
        refused(
            "[hosts.g1]",
            "[hosts.home]",
            "h.toml:5:7: `home` is the machine where bakeoff was started, and has no `ssh`; give \
             the host another name",
        );
        refused(
            "netns = \"org\"",
            "netns = \"../org\"",
            "h.toml:7:9: `../org` cannot be a name; use up to 64 letters, digits, `.`, `_`, `-`; \
             begin with a letter or digit",
        );
        refused(
            "program = \"/opt/bakeoff\"",
            "program = \"bakeoff\"",
            "h.toml:12:11: `program` is not a path from the root or the home folder; write it as \
             in \"/usr/local/bin/bakeoff\"",
        );
        refused(
            "[\"srun\", \"-w\", \"n4\"]",
            "[]",
            "h.toml:11:11: `command` is empty; write at least one, such as `command = [\"srun\", \
             \"-w\", \"n4\"]`",
        );
    }
}
