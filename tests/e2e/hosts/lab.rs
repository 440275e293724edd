//! Hosts as namespaces of this machine, each with a real sshd, host key, home and process numbers
//! of its own, on a bridge apart. Nothing of it is in the namespaces that the tests run in, and
//! all of it goes with its processes.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use crate::support::processes;
use crate::support::scene::{Running, Scene};
use crate::support::servers::on_path;
use crate::support::{pass_over, wait_until};

/// Programs that a lab is made of.
const PROGRAMS: [&str; 7] = [
    "ssh",
    "sshd",
    "ssh-keygen",
    "ip",
    "unshare",
    "nsenter",
    "mount",
];
/// Where home is on the bridge.
const HOME_ADDRESS: &str = "10.99.0.200";
/// What a lab's processes end after at the latest, seconds.
const LIFE: &str = "300";

/// How a host differs from others.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Nature {
    /// Options of the file system of its home.
    pub(crate) home: &'static str,
    /// What its login shell prints.
    pub(crate) banner: &'static str,
    /// Its clock is ahead by so many seconds.
    pub(crate) ahead_s: u64,
    /// What is done in it before its sshd starts. `$SCENE` is the folder of the test.
    pub(crate) first: &'static str,
}

/// A host of the lab.
struct Host {
    name: String,
    /// Number of `unshare`, whose child is the host's first process. SIGTERM does not end it.
    unshare: Child,
    /// Number of the host's first process, its sshd.
    init: u32,
}

/// Hosts, a bridge between them, and a network namespace for home.
pub(crate) struct Lab<'s> {
    scene: &'s Scene,
    bridge: Child,
    home: Child,
    hosts: Vec<Host>,
    servers: RefCell<Vec<Child>>,
}

impl<'s> Lab<'s> {
    /// A lab of these hosts; `None`, and the reason said, where there can be none.
    pub(crate) fn new(scene: &'s Scene, hosts: &[(&str, Nature)]) -> Option<Self> {
        if let Some(why) = why_none() {
            pass_over(&why);
            return None;
        }
        scene.wait_for_turn();
        let sleep = |name: &str| {
            Command::new("unshare")
                .args(["--net", "sleep", LIFE])
                .env("LAB", scene.path(name))
                .spawn()
                .unwrap()
        };
        let mut lab = Self {
            scene,
            bridge: sleep("bridge"),
            home: sleep("home"),
            hosts: Vec::new(),
            servers: RefCell::default(),
        };
        for pid in [lab.bridge.id(), lab.home.id()] {
            wait_until("a network of its own", || has_own_network(pid));
        }
        lab.in_network(
            lab.bridge.id(),
            "ip link add br0 type bridge && ip link set br0 up",
        );
        keygen(&scene.path("user"));
        let config = "StrictHostKeyChecking yes\nIdentitiesOnly yes\nConnectTimeout 5\n";
        let user = scene.path("user");
        let known = scene.path("known_hosts");
        let mut text = format!(
            "{config}User root\nIdentityFile {}\nUserKnownHostsFile {}\n\
             GlobalKnownHostsFile /dev/null\n",
            user.display(),
            known.display()
        );
        let mut keys = String::new();
        for (index, (name, nature)) in hosts.iter().enumerate() {
            let address = address(index);
            text.push_str(&format!("Host {name}\n  HostName {address}\n"));
            lab.start(index, name, *nature);
            let key = fs::read_to_string(scene.path(&format!("key-{name}.pub"))).unwrap();
            keys.push_str(&format!("{address} {key}"));
        }
        scene.write("known_hosts", &keys);
        let config = scene.write("ssh_config", &text);
        let ssh = on_path("ssh").unwrap();
        // The user's own ssh, whose configuration is not below `HOME` but below the user's home.
        let script = format!(
            "#!/bin/sh\nexec {} -F {} \"$@\"\n",
            ssh.display(),
            config.display()
        );
        lab.program("ssh", &script);
        lab.connect(lab.home.id(), "home", HOME_ADDRESS);
        for (index, host) in lab.hosts.iter().enumerate() {
            lab.connect(host.init, &host.name, &address(index));
        }
        for index in 0..lab.hosts.len() {
            lab.wait_for_sshd(index);
        }
        Some(lab)
    }

    /// A program that is found before others of its name.
    pub(crate) fn program(&self, name: &str, script: &str) {
        let path = self.scene.write(&format!("bin/{name}"), script);
        fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    fn start(&mut self, index: usize, name: &str, nature: Nature) {
        let key = self.scene.path(&format!("key-{name}"));
        keygen(&key);
        let user = self.scene.path("user.pub");
        let config = format!(
            "ListenAddress {}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\n\
             StrictModes no\nPasswordAuthentication no\nPermitRootLogin yes\n",
            address(index),
            key.display(),
            user.display()
        );
        let config = self.scene.write(&format!("sshd-{name}"), &config);
        let options = match nature.home {
            "" => "size=300m",
            options => options,
        };
        // Its sshd binds an address that is put on a moment later.
        let script = format!(
            "mount -t tmpfs -o mode=700,{options} tmpfs /root && mkdir -p /run/sshd && {first}\n\
             printf '%s' '{banner}' > /root/.profile 2> /dev/null; \
             cp /root/.profile /root/.bashrc 2> /dev/null; \
             hostname {name}; ip link set lo up; \
             sysctl -q net.ipv4.ip_nonlocal_bind=1; \
             exec {sshd} -D -e -f {config}",
            first = if nature.first.is_empty() {
                "true"
            } else {
                nature.first
            },
            banner = banner_script(nature.banner),
            sshd = on_path("sshd").unwrap().display(),
            config = config.display(),
        );
        let log = fs::File::create(self.scene.path(&format!("log-{name}"))).unwrap();
        let mut unshare = Command::new("unshare");
        unshare.args(["--net", "--mount", "--pid", "--uts", "--ipc"]);
        if nature.ahead_s > 0 {
            unshare.args(["--time", "--monotonic", &nature.ahead_s.to_string()]);
        }
        let unshare = unshare
            .args([
                "--fork",
                "--kill-child",
                "--mount-proc",
                "sh",
                "-c",
                &script,
            ])
            .env_remove("LD_PRELOAD")
            .env("SCENE", self.scene.path(""))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut init = None;
        wait_until("a host has begun", || {
            init = processes::below(unshare.id()).first().map(|it| it.pid);
            init.is_some_and(has_own_network)
        });
        self.hosts.push(Host {
            name: name.to_owned(),
            init: init.unwrap(),
            unshare,
        });
    }

    /// Gives the network of a process an address on the bridge.
    fn connect(&self, pid: u32, name: &str, address: &str) {
        let bridge = self.bridge.id();
        self.in_network(
            pid,
            &format!(
                "ip link add eth0 type veth peer name v-{name} netns {bridge} && \
                 ip addr add {address}/24 dev eth0 && ip link set lo up && ip link set eth0 up"
            ),
        );
        self.in_network(
            bridge,
            &format!("ip link set v-{name} master br0 && ip link set v-{name} up"),
        );
    }

    fn wait_for_sshd(&self, index: usize) {
        let address = address(index);
        let script = format!("exec 3<> /dev/tcp/{address}/22");
        wait_until("an sshd listens", || {
            let mut command = self.entering(self.home.id(), "bash");
            let connected = command.args(["-c", &script]).stderr(Stdio::null()).status();
            connected.unwrap().success()
        });
    }

    fn entering(&self, pid: u32, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{pid}/ns/net"));
        command.args(["--", program]);
        command
    }

    #[track_caller]
    fn in_network(&self, pid: u32, script: &str) {
        let output = self.entering(pid, "sh").args(["-c", script]).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{script}: {output:?}");
    }

    /// Takes the link of a host away, or gives it back.
    pub(crate) fn set_link(&self, name: &str, state: &str) {
        self.in_network(self.bridge.id(), &format!("ip link set v-{name} {state}"));
    }

    /// Has the kernel carry so much over the link to a host and no more, from whoever sends.
    pub(crate) fn hold_link(&self, name: &str, rate: &str, burst: &str) {
        let qdisc = format!("tbf rate {rate} burst {burst} latency 50ms");
        let script = format!("tc qdisc replace dev v-{name} root {qdisc}");
        self.in_network(self.bridge.id(), &script);
    }

    /// Has it carry again what it can.
    pub(crate) fn free_link(&self, name: &str) {
        let script = format!("tc qdisc del dev v-{name} root");
        self.in_network(self.bridge.id(), &script);
    }

    /// Puts a firewall before home that drops what comes from a host, but for answers to ssh.
    /// False, and the reason said, where there can be none.
    pub(crate) fn drop_from(&self, name: &str) -> bool {
        self.drop_at(self.home.id(), name)
    }

    /// The same before another host.
    pub(crate) fn drop_between(&self, name: &str, before: &str) -> bool {
        self.drop_at(self.host(before).init, name)
    }

    fn drop_at(&self, pid: u32, name: &str) -> bool {
        if on_path("nft").is_none() {
            pass_over("nft is missing: tests/programs.sh nftables");
            return false;
        }
        let address = self.address(name);
        let script = format!(
            "nft add table inet lab && \
             nft 'add chain inet lab in {{ type filter hook input priority 0; }}' && \
             nft add rule inet lab in ip saddr {address} tcp sport != 22 drop"
        );
        self.in_network(pid, &script);
        true
    }

    /// Packets that a host has got over its link so far.
    pub(crate) fn received(&self, name: &str) -> u64 {
        let file = format!("/proc/{}/net/dev", self.host(name).init);
        let text = fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find_map(|it| it.trim().strip_prefix("eth0:"));
        let packets = line.and_then(|it| it.split_whitespace().nth(1)?.parse().ok());
        packets.unwrap_or(0)
    }

    /// Names of the processes in the networks of the lab that bakeoff has started there.
    pub(crate) fn ours(&self) -> Vec<String> {
        let network = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
        let inits = self.hosts.iter().map(|host| host.init);
        let networks: Vec<_> = inits
            .chain([self.home.id(), self.bridge.id()])
            .filter_map(|pid| network(&pid.to_string()))
            .collect();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let pid = entry.file_name().to_string_lossy().into_owned();
            if network(&pid).is_none_or(|it| !networks.contains(&it)) {
                continue;
            }
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            let name = name.trim();
            if ["bakeoff", "nginx", "ssh"].contains(&name) {
                found.push(name.to_owned());
            }
        }
        found
    }

    /// Ends a host by force, with all that runs on it.
    pub(crate) fn kill(&self, name: &str) {
        processes::signal(self.host(name).init, Signal::KILL);
    }

    fn host(&self, name: &str) -> &Host {
        self.hosts.iter().find(|host| host.name == name).unwrap()
    }

    pub(crate) fn address(&self, name: &str) -> String {
        let index = self.hosts.iter().position(|host| host.name == name);
        address(index.unwrap())
    }

    /// bakeoff at home, not yet started.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.entering(self.home.id(), env!("CARGO_BIN_EXE_bakeoff"));
        command.args(arguments);
        let mut command = self.scene.settle(command);
        let path = std::env::var("PATH").unwrap_or_default();
        let bin = self.scene.path("bin");
        command.env("PATH", format!("{}:{path}:/usr/sbin", bin.display()));
        command
    }

    /// Starts bakeoff at home.
    pub(crate) fn start_home(&self, arguments: &[&str]) -> Running<'s> {
        self.scene.start_command(self.command(arguments))
    }

    /// Starts the yardstick on a host, and returns its URL.
    pub(crate) fn serve(&self, name: &str) -> String {
        let program = env!("CARGO_BIN_EXE_bakeoff");
        self.serve_by(name, &[program, "yardstick", "--listen"])
    }

    /// Starts a server on a host by a command, whose last word comes here: the address. It says
    /// `listening on` when it does.
    pub(crate) fn serve_by(&self, name: &str, command: &[&str]) -> String {
        let listen = format!("{}:8080", self.address(name));
        let log = self.scene.path("server");
        let init = self.host(name).init;
        let child = Command::new("nsenter")
            .args([
                format!("--net=/proc/{init}/ns/net"),
                // Its processes are those of the host, which go with it.
                format!("--pid=/proc/{init}/ns/pid"),
                "--".to_owned(),
            ])
            .args(command)
            .arg(&listen)
            .stdin(Stdio::null())
            .stdout(fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        self.servers.borrow_mut().push(child);
        wait_until("the yardstick listens", || {
            fs::read_to_string(&log)
                .unwrap_or_default()
                .contains("listening on")
        });
        format!("http://{listen}/")
    }

    /// Whether all servers that were started here run.
    pub(crate) fn serves(&self) -> bool {
        let mut servers = self.servers.borrow_mut();
        servers
            .iter_mut()
            .all(|it| matches!(it.try_wait(), Ok(None)))
    }

    /// A hosts file with these entries, each with the program of the tests unless it is copied.
    pub(crate) fn file(&self, generators: &[&str], is_copied: bool) -> String {
        let program = env!("CARGO_BIN_EXE_bakeoff");
        let mut text = String::new();
        for host in &self.hosts {
            let (name, address) = (&host.name, self.address(&host.name));
            text.push_str(&format!(
                "[hosts.{name}]\nssh = \"{name}\"\naddress = \"{address}\"\n"
            ));
            if !is_copied {
                text.push_str(&format!("program = \"{program}\"\n"));
            }
        }
        let server = &self.hosts[0].name;
        text + &format!("[roles]\nserver = \"{server}\"\ngenerators = {generators:?}\n")
    }

    /// The same with the servers at home.
    pub(crate) fn file_with_home(&self, generators: &[&str]) -> String {
        let server = format!("server = \"{}\"", self.hosts[0].name);
        let text = self.file(generators, false);
        let text = text.replace(&server, "server = \"home\"");
        format!("[hosts.home]\naddress = \"{HOME_ADDRESS}\"\n{text}")
    }

    /// What an agent on a host writes, with what its login files write before it.
    pub(crate) fn greeted(&self, scene: &Scene, name: &str) -> String {
        let output = self
            .entering(self.home.id(), "sh")
            .arg(scene.path("bin/ssh"))
            .args([name, env!("CARGO_BIN_EXE_bakeoff"), "agent"])
            .stdin(Stdio::null())
            .output();
        String::from_utf8_lossy(&output.unwrap().stdout).into_owned()
    }

    /// Numbers of agents on a host.
    pub(crate) fn agents(&self, name: &str) -> Vec<u32> {
        let inside = |pid: u32| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
        let host = inside(self.host(name).init);
        let below = processes::below(self.host(name).unshare.id());
        let agents = below.iter().filter(|it| {
            let line = fs::read(format!("/proc/{}/cmdline", it.pid)).unwrap_or_default();
            it.name == "bakeoff" && line.ends_with(b"agent\0") && inside(it.pid) == host
        });
        agents.map(|it| it.pid).collect()
    }

    /// Processes on a host that are neither its sshd nor of a session with it.
    fn others_on(&self, name: &str) -> Vec<processes::Process> {
        let mut below = processes::below(self.host(name).unshare.id());
        below.retain(|it| !it.name.starts_with("sshd"));
        below
    }

    /// What they are called.
    pub(crate) fn left_on(&self, name: &str) -> Vec<String> {
        let others = self.others_on(name).into_iter();
        others.map(|it| format!("{} on {name}", it.name)).collect()
    }

    /// Their numbers.
    pub(crate) fn numbers_on(&self, name: &str) -> Vec<u32> {
        let others = self.others_on(name).into_iter();
        others.map(|it| it.pid).collect()
    }

    /// Whether no process of bakeoff is left on any host.
    pub(crate) fn is_empty(&self) -> bool {
        self.hosts
            .iter()
            .all(|host| self.agents(&host.name).is_empty())
    }

    /// The home of a host.
    pub(crate) fn root_of(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root/root", self.host(name).init))
    }

    /// Files below the home of a host.
    pub(crate) fn files(&self, name: &str) -> Vec<PathBuf> {
        let root = self.root_of(name);
        let mut found = Vec::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.push(path.strip_prefix(&root).unwrap().to_owned());
                }
            }
        }
        found.retain(|path| path.starts_with(".cache"));
        found
    }

    /// The process at home that leads to each host, with the host's name as ssh got it.
    pub(crate) fn ssh_to(&self, running: &Running<'_>, name: &str) -> u32 {
        let leads_there = |pid: u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0)
                .any(|word| word == name.as_bytes())
        };
        let below = running.below();
        let found = below
            .iter()
            .find(|it| it.name == "ssh" && leads_there(it.pid));
        found
            .unwrap_or_else(|| panic!("no ssh to {name}: {below:?}"))
            .pid
    }
}

impl Drop for Lab<'_> {
    fn drop(&mut self) {
        for child in self.servers.borrow_mut().iter_mut() {
            end(child);
        }
        for host in &mut self.hosts {
            end(&mut host.unshare);
        }
        end(&mut self.bridge);
        end(&mut self.home);
        let gone = |host: &Host| !processes::exists(host.init);
        wait_until("the lab is gone", || self.hosts.iter().all(gone));
    }
}

/// Why there can be no lab here.
fn why_none() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("hosts as namespaces with an sshd need root".to_owned());
    }
    if let Some(missing) = PROGRAMS.iter().find(|name| on_path(name).is_none()) {
        return Some(format!("{missing} is missing: tests/programs.sh sshd"));
    }
    let probe = Command::new("unshare")
        .args(["--net", "--mount", "--pid", "--time", "--fork"])
        .args(["ip", "link", "add", "name", "probe", "type", "bridge"])
        .output();
    let is_allowed = probe.is_ok_and(|output| output.status.success());
    let why = "this kernel or container allows no namespaces with a bridge";
    (!is_allowed).then(|| why.to_owned())
}

fn end(child: &mut Child) {
    // Both fail only if it has ended.
    let _ = child.kill();
    let _ = child.wait();
}

fn address(index: usize) -> String {
    format!("10.99.0.{}", index + 1)
}

/// What prints a banner where login shells read it.
fn banner_script(banner: &str) -> String {
    match banner {
        "" => String::new(),
        text => format!("echo \"{text}\""),
    }
}

fn has_own_network(pid: u32) -> bool {
    let of = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    let theirs = of(&pid.to_string());
    theirs.is_some() && theirs != of("self")
}

fn keygen(path: &std::path::Path) {
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f"])
        .arg(path)
        .status();
    assert!(made.unwrap().success());
}
