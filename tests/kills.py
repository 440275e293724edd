#!/usr/bin/env python3
"""Kills `bakeoff run` at random moments and in many ways, and looks for what is left.

    tests/kills.py target/debug/bakeoff --programs .bench/programs/bin --kills 200 --seed 1

Each kill is a small campaign of its own in a folder of its own. After it, another command of
bakeoff runs (`report`, or `list` where there is no record yet). Then nothing may be left: no
process, no listening socket, no control group, no run folder. The record must be read, and
`run --resume` must complete it. As root, every other campaign runs as `nobody`, and the others with
and without control groups and PID namespaces. The last line says how many kills left something.

With `--image IMAGE`, an image of podman whose server answers `/` with 200 is the contender, as root,
and no container of the campaign may be left either.

It signals only processes that it has started or that are below one that it has started, each
identified by number and start time.
"""

import argparse
import collections
import fcntl
import json
import os
import pathlib
import pwd
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import threading
import time

SERVERS = ["nginx", "apache", "haproxy", "caddy", "envoy", "yardstick"]
PATIENCE = 120

PLAN = """
name = "kills"
rounds = 2
rest = "0s"
workloads = ["proxy"]
[references]
yardstick = {references}
origin = {references}
[[contender]]
name = "it"
server = "{server}"
config = "default"
[[load]]
clients = 3
warmup = "100ms"
timeout = "5s"
duration = "400ms"
"""

IMAGE_PLAN = """
name = "kills"
rounds = 2
rest = "0s"
workloads = ["page"]
[references]
yardstick = false
[[contender]]
name = "it"
image = "{image}"
[[load]]
clients = 3
warmup = "100ms"
timeout = "5s"
duration = "400ms"
[[workload]]
name = "page"
path = "/"
"""

Process = collections.namedtuple("Process", "pid started parent name state")


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def process(pid):
    """A process by number, or None."""
    text = read(f"/proc/{pid}/stat").decode(errors="replace")
    if ") " not in text:
        return None
    head, rest = text.rsplit(") ", 1)
    fields = rest.split()
    name = head.split("(", 1)[1]
    return Process(int(pid), int(fields[19]), int(fields[1]), name, fields[0])


def processes():
    found = (process(pid) for pid in os.listdir("/proc") if pid.isdigit())
    return [one for one in found if one]


def below(root):
    """Everything below a process, without it."""
    children = collections.defaultdict(list)
    for one in processes():
        children[one.parent].append(one)
    found, parents = [], [root]
    while parents:
        for child in children.pop(parents.pop(), []):
            found.append(child)
            parents.append(child.pid)
    return found


def is_alive(one):
    now = process(one.pid)
    return now is not None and now.started == one.started and now.state not in "ZX"


def send(one, number):
    if is_alive(one):
        try:
            os.kill(one.pid, number)
        except ProcessLookupError:
            pass


def sockets_of(pid):
    """Inodes of the sockets that a process has open."""
    found = set()
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            target = os.readlink(f"/proc/{pid}/fd/{name}")
            if target.startswith("socket:["):
                found.add(target[8:-1])
    except OSError:
        pass
    return found


def listening():
    """Inodes of listening TCP sockets."""
    found = set()
    for file in ["/proc/net/tcp", "/proc/net/tcp6"]:
        for line in read(file).decode().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":
                found.add(fields[9])
    return found


def groups():
    """Control groups that a bakeoff has made."""
    found = []
    for mount in read("/proc/mounts").decode().splitlines():
        fields = mount.split()
        if fields[2] == "cgroup2":
            found += pathlib.Path(fields[1]).glob("**/bakeoff-*")
    return {str(path) for path in found}


def containers(owner):
    """Names of containers that the bakeoff with this number has started, running or not."""
    command = ["podman", "ps", "--all", "--format", "{{.Names}}"]
    listed = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()
    return [name for name in listed.split() if name.startswith(f"bakeoff-run-{owner}-")]


def exe(one):
    try:
        return os.readlink(f"/proc/{one.pid}/exe")
    except OSError:
        return ""


class Campaign:
    """One `bakeoff run` in a folder of its own."""

    def __init__(self, options, server, user, without, terminal):
        self.options, self.user = options, user
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kills-", dir=options.scratch))
        os.chmod(self.folder, 0o755)
        for name in ["tmp", "home"]:
            (self.folder / name).mkdir()
        references = "true" if server == "yardstick" else "false"
        name = "nginx" if server == "yardstick" else server
        plan = PLAN.format(server=name, references=references)
        if options.image:
            plan = IMAGE_PLAN.format(image=options.image)
        (self.folder / "own.toml").write_text(plan)
        self.environment = dict(
            os.environ,
            HOME=str(self.folder / "home"),
            TMPDIR=str(self.folder / "tmp"),
            BAKEOFF_WITHOUT=without,
            BAKEOFF_PROGRAMS=str(options.scratch / "programs"),
        )
        for path in [self.folder, *self.folder.iterdir()]:
            if user:
                os.chown(path, user.pw_uid, user.pw_gid)
        self.seen, self.sockets = {}, set()
        self.terminal = None
        self.errors = open(self.folder / "stderr", "wb")
        start = {"stdout": subprocess.DEVNULL, "stderr": self.errors}
        if terminal:
            self.terminal, other = os.openpty()
            start = {"stdin": other, "stdout": other, "stderr": other}
        self.child = subprocess.Popen(
            self.command("run", "./own.toml", "--out", "record"),
            cwd=self.folder,
            env=self.environment,
            preexec_fn=lambda: self.become(terminal),
            **{"stdin": subprocess.DEVNULL, **start},
        )
        if terminal:
            os.close(other)
            threading.Thread(target=self.drain, daemon=True).start()
        self.me = process(self.child.pid)

    def drain(self):
        try:
            while (terminal := self.terminal) is not None:
                # A read that waits would keep the terminal open.
                if select.select([terminal], [], [], 0.02)[0]:
                    os.read(terminal, 4096)
        except (OSError, ValueError):
            pass

    def command(self, *arguments):
        return [str(self.options.scratch / "bakeoff"), *arguments]

    def become(self, terminal):
        os.setsid()
        if terminal:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        if self.user:
            os.setgroups([])
            os.setgid(self.user.pw_gid)
            os.setuid(self.user.pw_uid)

    def look(self):
        """Notes what runs below it now."""
        tree = below(self.child.pid)
        for one in tree:
            if (one.pid, one.started) not in self.seen:
                self.seen[one.pid, one.started] = one
            self.sockets |= sockets_of(one.pid)
        return tree

    def run(self, *arguments):
        return subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environment,
            preexec_fn=lambda: self.become(False),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=PATIENCE,
        )

    def left(self, groups_before):
        """What should not be there."""
        marker = str(self.folder).encode()
        alive = [one for one in self.seen.values() if is_alive(one)]
        me = os.getpid()
        for one in processes():
            if one.pid != me and one.state not in "ZX" and one not in alive:
                if marker in read(f"/proc/{one.pid}/environ"):
                    alive.append(one)
        found = [f"process {one.pid} {one.name} {one.state}" for one in alive]
        found += [f"socket {inode}" for inode in self.sockets & listening()]
        own = f"bakeoff-{self.child.pid}-"
        found += [group for group in groups() - groups_before if own in group]
        found += [f"folder {path.name}" for path in (self.folder / "tmp").iterdir()]
        if self.options.image:
            found += [f"container {name}" for name in containers(self.child.pid)]
        return found


def named(tree, *names):
    return [one for one in tree if one.name in names]


def all_of(number, choose):
    """Sends a signal to everything that `choose` picks from the tree, the campaign included."""

    def strike(campaign, tree):
        for one in choose([*tree, campaign.me]):
            send(one, number)

    return strike


def then_kill(strike):
    def both(campaign, tree):
        strike(campaign, tree)
        send(campaign.me, signal.SIGKILL)

    return both


def stop(*names):
    return lambda campaign, tree: [send(one, signal.SIGSTOP) for one in named(tree, *names)]


def kill(*names):
    return lambda campaign, tree: [send(one, signal.SIGKILL) for one in named(tree, *names)]


def only(number):
    return lambda campaign, tree: send(campaign.me, number)


def twice(campaign, tree):
    send(campaign.me, signal.SIGINT)
    time.sleep(0.03)
    send(campaign.me, signal.SIGINT)


def whole_group(number):
    def strike(campaign, tree):
        if is_alive(campaign.me):
            os.killpg(campaign.child.pid, number)

    return strike


def close_terminal(campaign, tree):
    terminal, campaign.terminal = campaign.terminal, None
    time.sleep(0.05)
    os.close(terminal)


def command_line(one):
    return b"bakeoff" in read(f"/proc/{one.pid}/cmdline")


MODES = {
    "SIGINT": only(signal.SIGINT),
    "SIGTERM": only(signal.SIGTERM),
    "SIGHUP": only(signal.SIGHUP),
    "SIGQUIT": only(signal.SIGQUIT),
    "SIGINT twice": twice,
    "SIGINT to the group": whole_group(signal.SIGINT),
    "terminal closed": close_terminal,
    "SIGKILL": only(signal.SIGKILL),
    "SIGABRT": only(signal.SIGABRT),
    "SIGKILL to the group": whole_group(signal.SIGKILL),
    "keeper killed": kill("keeper"),
    "guard killed": kill("guard"),
    "keeper stopped, bakeoff killed": then_kill(stop("keeper")),
    "guard stopped, bakeoff killed": then_kill(stop("guard")),
    "both stopped, bakeoff killed": then_kill(stop("keeper", "guard")),
    "keeper and bakeoff killed": then_kill(kill("keeper")),
    "keeper, guard and bakeoff killed": then_kill(kill("keeper", "guard")),
    "holder and bakeoff killed": then_kill(kill("sh")),
    "pkill -9 bakeoff": all_of(signal.SIGKILL, lambda all: named(all, "bakeoff")),
    "pkill -9 -f bakeoff": all_of(signal.SIGKILL, lambda all: filter(command_line, all)),
    "killall -9 PATH": all_of(
        signal.SIGKILL,
        lambda all: [one for one in all if exe(one).split(" ")[0].endswith("/bakeoff")],
    ),
}
INTERRUPTS = list(MODES)[:7]
SURVIVED = ["keeper killed", "guard killed"]


def one_kill(options, number):
    chance = random.Random(options.seed * 100_000 + number)
    modes = options.modes or list(MODES)
    mode = modes[number % len(modes)]
    servers = options.servers or SERVERS
    server = servers[chance.randrange(len(servers))]
    is_root = os.geteuid() == 0
    is_nobody = is_root and number % 2 and not options.image
    user = pwd.getpwnam("nobody") if is_nobody else None
    choices = ["", "namespace", "groups", "namespace,groups"]
    without = choices[chance.randrange(4)] if user is None else ""
    groups_before = groups()
    campaign = Campaign(options, server, user, without, mode == "terminal closed")
    begun = time.monotonic()
    at = begun + chance.uniform(0.0, options.longest)
    while time.monotonic() < at and campaign.child.poll() is None:
        campaign.look()
        time.sleep(0.02)
    ended_before = campaign.child.poll() is not None
    tree = campaign.look()
    names = sorted({one.name for one in tree})
    since = time.monotonic()
    MODES[mode](campaign, tree)
    while campaign.child.poll() is None:
        if mode in SURVIVED:
            campaign.look()
        time.sleep(0.005)
        if time.monotonic() - since > PATIENCE:
            campaign.child.kill()
    took = time.monotonic() - since
    code = campaign.child.returncode
    record = campaign.folder / "record"
    # The plan is written last: a folder without one is no record yet, and can be used again.
    has_record = (record / "plan.json").exists()
    next_command = ["report", "record"] if has_record else ["list"]
    after = campaign.run(*next_command)
    problems = campaign.left(groups_before)
    if after.returncode not in (0, 4):
        problems.append(f"{next_command}: {after.returncode} {after.stderr[-300:]!r}")
    # A signal may come when all is measured and the report is being printed. Then the campaign has
    # ended by itself, with 4 where a busy machine made every number doubtful.
    has_ended = code in (0, 4) and (record / "report.html").exists()
    if mode in INTERRUPTS and not ended_before and not has_ended and code != 130:
        # Before it hears signals, it dies of them, and nothing has begun.
        if has_record or code >= 0:
            problems.append(f"exit code {code}")
    if has_record:
        resumed = campaign.run("run", "--resume", "record")
        if resumed.returncode not in (0, 4):
            problems.append(f"resume: {resumed.returncode} {resumed.stderr[-300:]!r}")
        problems += [f"after resume: {left}" for left in campaign.left(groups_before)]
    said = read(campaign.folder / "stderr")
    if b"panicked" in said:
        problems.append(f"panic: {said[-500:]!r}")
    for one in campaign.seen.values():
        send(one, signal.SIGKILL)
    if not problems:
        shutil.rmtree(campaign.folder, ignore_errors=True)
    return {
        "number": number,
        "mode": mode,
        "server": server,
        "user": "nobody" if user else "root" if is_root else "own",
        "without": without,
        "after_s": round(since - begun, 3),
        "running": names,
        "record": has_record,
        "ended_before": ended_before,
        "code": code,
        "took_s": round(took, 3),
        "ended_by_next": after.stderr.decode(errors="replace").count("had left running"),
        "problems": problems,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("bakeoff", type=pathlib.Path)
    parser.add_argument("--programs", type=pathlib.Path, help="folder with caddy and envoy")
    parser.add_argument("--image", help="image of podman to kill campaigns of, as root")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the first kill")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--longest", type=float, default=5.0, help="latest moment of a kill, seconds")
    parser.add_argument("--mode", dest="modes", action="append", choices=MODES)
    parser.add_argument("--server", dest="servers", action="append", choices=SERVERS)
    parser.add_argument("--out", type=pathlib.Path, help="file for one line of JSON for each kill")
    options = parser.parse_args()
    options.scratch = pathlib.Path(tempfile.mkdtemp(prefix="kills-of-", dir="/var/tmp"))
    os.chmod(options.scratch, 0o755)
    # Where any user can run it; and so named that `pkill bakeoff` means it.
    shutil.copy(options.bakeoff, options.scratch / "bakeoff")
    (options.scratch / "programs/bin").mkdir(parents=True)
    for program in ["caddy", "envoy"]:
        if options.programs and (options.programs / program).exists():
            shutil.copy(options.programs / program, options.scratch / "programs/bin" / program)
    numbers = iter(range(options.first, options.first + options.kills))
    lock, results = threading.Lock(), []
    out = open(options.out, "a") if options.out else None

    def work():
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            result = one_kill(options, number)
            with lock:
                results.append(result)
                line = json.dumps(result)
                if out:
                    print(line, file=out, flush=True)
                if result["problems"]:
                    print(line, flush=True)

    threads = [threading.Thread(target=work) for _ in range(options.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    table = collections.defaultdict(list)
    for result in results:
        table[result["mode"]].append(result)
    print(f"{'mode':34} kills  left  ended by the next  slowest end")
    for mode in MODES:
        rows = table.get(mode, [])
        if rows:
            left = sum(bool(row["problems"]) for row in rows)
            ended = sum(row["ended_by_next"] for row in rows)
            slowest = max(row["took_s"] for row in rows)
            print(f"{mode:34} {len(rows):5} {left:5} {ended:18} {slowest:10.3f} s")
    bad = sum(bool(result["problems"]) for result in results)
    print(f"{len(results)} kills, {bad} with something left")
    if not bad:
        shutil.rmtree(options.scratch, ignore_errors=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
