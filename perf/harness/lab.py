"""Hosts as network namespaces of this machine, each with a real sshd, on a bridge of their own.

Needs root. All of it ends with the `with` block of a `Lab`, and where this process is killed, too.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from harness.children import LIBC, PR_SET_PDEATHSIG, children_of

HOME_ADDRESS = "10.99.0.200"
SSH_PORT = 22
PROGRAMS = ("ssh", "sshd", "ssh-keygen", "ip", "tc", "unshare", "nsenter", "mount", "taskset")
SIGKILL = 9


class LabFailed(Exception):
    """What kept a lab from being made."""


class Host:
    """One of the hosts: its name, its address on the bridge, and its first process."""

    def __init__(self, name: str, address: str, init: int) -> None:
        self.name = name
        self.address = address
        self.init = init


class Lab:
    """Hosts, and home, where bakeoff is started, with a network of its own, too.

    `cores` are those of each host, as taskset takes them: `0` or `0,1`.
    """

    def __init__(self, folder: Path, cores: dict[str, str], home: str, programs: Path) -> None:
        self._folder = folder
        self._cores = cores
        self._home_cores = home
        self._programs = programs
        self._processes: list[subprocess.Popen[bytes]] = []
        self.hosts: dict[str, Host] = {}

    def __enter__(self) -> Lab:
        missing = [name for name in PROGRAMS if shutil.which(name) is None]
        if missing or os.geteuid() != 0:
            raise LabFailed(f"hosts need root and {', '.join(missing or PROGRAMS)}")
        try:
            self._make()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def at_home(self, command: Sequence[str], cores: str | None = None) -> list[str]:
        """The command as it is run at home, on home's cores or on those named."""
        return self._inside(self._home, command, cores or self._home_cores)

    def on(self, name: str, command: Sequence[str]) -> list[str]:
        """The command as it is run in the network of a host, on its cores."""
        return self._inside(self.hosts[name].init, command, self._cores[name])

    def start_on(
        self, name: str, command: Sequence[str], port: int, log: Path
    ) -> subprocess.Popen[bytes]:
        """Starts a server in the network of a host, and waits until it listens on a port of the
        host's address. It ends with the lab."""
        with open(log, "wb") as output:
            process = self._start(self.on(name, command), output)
        self._wait_for(self.hosts[name], port)
        return process

    def hosts_file(self, server: str, origin: str, generators: Sequence[str]) -> Path:
        """A file of the hosts that have these roles."""
        path = self._folder / f"{server}-{origin}-{'-'.join(generators)}.toml"
        lines = []
        for name in dict.fromkeys([server, origin, *generators]):
            lines += [f"[hosts.{name}]", f'ssh = "{name}"']
            lines += [f'address = "{self.hosts[name].address}"']
        lines += ["[roles]", f'server = "{server}"', f'origin = "{origin}"']
        lines += [f"generators = {json.dumps(list(generators))}"]
        path.write_text("\n".join(lines) + "\n")
        return path

    def hold_link(self, name: str, rate: str) -> None:
        """Has the kernel carry so much over the link to a host and no more."""
        limit = ["tbf", "rate", rate, "burst", "256kb", "latency", "50ms"]
        self._on_bridge(["tc", "qdisc", "replace", "dev", f"v-{name}", "root", *limit])

    def free_link(self, name: str) -> None:
        """Has it carry again what it can."""
        self._on_bridge(["tc", "qdisc", "del", "dev", f"v-{name}", "root"])

    def environment(self) -> dict[str, str]:
        """What programs at home get: an ssh that knows the hosts."""
        path = f"{self._folder / 'bin'}:{os.environ['PATH']}"
        return os.environ | {"PATH": path, "BAKEOFF_PROGRAMS": str(self._programs)}

    def _make(self) -> None:
        self._bridge = self._network()
        self._home = self._network()
        self._on_bridge(["ip", "link", "add", "br0", "type", "bridge"])
        self._on_bridge(["ip", "link", "set", "br0", "up"])
        make_key(self._folder / "user")
        for index, name in enumerate(self._cores):
            address = f"10.99.0.{index + 1}"
            make_key(self._folder / f"key-{name}")
            self.hosts[name] = Host(name, address, self._start_host(name, address))
        self._write_ssh()
        self._connect(self._home, "home", HOME_ADDRESS)
        for host in self.hosts.values():
            self._connect(host.init, host.name, host.address)
        for host in self.hosts.values():
            self._wait_for(host, SSH_PORT)

    def _network(self) -> int:
        """A process that holds a network of its own."""
        process = self._start(["unshare", "--net", "sleep", "infinity"])
        wait_until("a network is made", lambda: has_own_network(process.pid))
        return process.pid

    def _start_host(self, name: str, address: str) -> int:
        config = self._folder / f"sshd-{name}"
        config.write_text(
            f"ListenAddress {address}\nHostKey {self._folder / f'key-{name}'}\n"
            f"AuthorizedKeysFile {self._folder / 'user.pub'}\nPidFile none\nUsePAM no\n"
            "StrictModes no\nPasswordAuthentication no\nPermitRootLogin yes\n"
            f"SetEnv BAKEOFF_PROGRAMS={self._programs}\n"
        )
        # Its sshd binds an address that is put on a moment later.
        script = (
            "mount -t tmpfs -o mode=700,size=600m tmpfs /root && mkdir -p /run/sshd && "
            f"hostname {name} && ip link set lo up && sysctl -q net.ipv4.ip_nonlocal_bind=1 && "
            f"exec {shutil.which('sshd')} -D -e -f {config}"
        )
        spaces = ["--net", "--mount", "--pid", "--uts", "--ipc", "--mount-proc"]
        command = ["unshare", *spaces, "--fork", "--kill-child", "sh", "-c", script]
        pinned = ["taskset", "-c", self._cores[name], *command]
        with open(self._folder / f"log-{name}", "wb") as log:
            process = self._start(pinned, log)

        def has_begun() -> bool:
            children = children_of(process.pid)
            return bool(children) and has_own_network(children[0])

        wait_until(f"the host {name} begins", has_begun)
        return children_of(process.pid)[0]

    def _write_ssh(self) -> None:
        keys = [
            f"{host.address} {(self._folder / f'key-{host.name}.pub').read_text()}"
            for host in self.hosts.values()
        ]
        known = self._folder / "known_hosts"
        known.write_text("".join(keys))
        lines = ["StrictHostKeyChecking yes", "IdentitiesOnly yes", "ConnectTimeout 5"]
        lines += ["User root", f"IdentityFile {self._folder / 'user'}"]
        lines += [f"UserKnownHostsFile {known}", "GlobalKnownHostsFile /dev/null"]
        for host in self.hosts.values():
            lines += [f"Host {host.name}", f"  HostName {host.address}"]
        config = self._folder / "ssh_config"
        config.write_text("\n".join(lines) + "\n")
        program = self._folder / "bin/ssh"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {config} "$@"\n')
        program.chmod(0o755)

    def _connect(self, process: int, name: str, address: str) -> None:
        """Gives the network of a process an address on the bridge."""
        cable = ["type", "veth", "peer", "name", f"v-{name}", "netns", str(self._bridge)]
        for words in (
            ["link", "add", "eth0", *cable],
            ["addr", "add", f"{address}/24", "dev", "eth0"],
            ["link", "set", "lo", "up"],
            ["link", "set", "eth0", "up"],
        ):
            must_run(self._inside(process, ["ip", *words]))
        self._on_bridge(["ip", "link", "set", f"v-{name}", "master", "br0"])
        self._on_bridge(["ip", "link", "set", f"v-{name}", "up"])

    def _on_bridge(self, command: Sequence[str]) -> None:
        must_run(self._inside(self._bridge, command))

    def _wait_for(self, host: Host, port: int) -> None:
        knock = self.at_home(["bash", "-c", f"exec 3<> /dev/tcp/{host.address}/{port}"])

        def listens() -> bool:
            return subprocess.run(knock, capture_output=True, check=False).returncode == 0

        wait_until(f"{host.name} listens on port {port}", listens)

    def _inside(
        self, process: int, command: Sequence[str], cores: str | None = None
    ) -> list[str]:
        pinned = ["taskset", "-c", cores] if cores else []
        return ["nsenter", f"--net=/proc/{process}/ns/net", "--", *pinned, *command]

    def _start(
        self, command: Sequence[str], output: object = subprocess.DEVNULL
    ) -> subprocess.Popen[bytes]:
        # `unshare` ends at no SIGTERM while its child runs.
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=output,  # type: ignore[call-overload]
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, SIGKILL),
        )
        self._processes.append(process)
        return process

    def _end(self) -> None:
        for process in reversed(self._processes):
            process.kill()
            process.wait()
        self._processes.clear()


def has_own_network(process: int) -> bool:
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{process}/ns/net") != os.readlink("/proc/self/ns/net")
    return False


def make_key(path: Path) -> None:
    must_run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", str(path)])


def must_run(command: Sequence[str]) -> None:
    made = subprocess.run(list(command), capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise LabFailed(f"{' '.join(command)}: {made.stderr.strip()}")


def wait_until(what: str, is_so: Callable[[], bool], patience_s: float = 10.0) -> None:
    end = time.monotonic() + patience_s
    while not is_so():
        if time.monotonic() > end:
            raise LabFailed(f"waited {patience_s:.0f} s in vain until {what}")
        time.sleep(0.02)
