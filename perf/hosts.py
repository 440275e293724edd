#!/usr/bin/env python3
"""bakeoff over several hosts, measured. The hosts are network namespaces of this machine, each with
a real sshd, as in tests/e2e/hosts. It judges times, which the tests do not. Needs root.

    make build && tests/programs.sh nginx caddy haproxy sshd
    python3 perf/hosts.py                          everything: about 20 minutes
    python3 perf/hosts.py --parts set-up,spread    some parts
    python3 perf/hosts.py --bakeoff OLD/bakeoff    another one

Hosts have processors of their own, and these share two cores: servers and the upstream have the
first one, generators and home the second one. Only while hosts are set up may all use both.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness.children import children_of
from harness.lab import Lab, LabFailed
from harness.servers import ServerFailed, nginx_program
from harness.table import aligned, marked

ROOT = Path(__file__).resolve().parent.parent
SERVERS, LOAD = ("sut", "up"), ("g1", "g2", "g3", "g4")
RATE = 2000
YARDSTICK_PORT, NGINX_PORT = 8080, 8081
# Where sshd and tc lie, which a user's search path may leave out.
SYSTEM_FOLDERS = "/usr/sbin:/sbin"
# Longer than anything here takes that a command is waited for.
PATIENCE_S = 900

SET_UP_S_MAX = 3.0
SPREAD_MS_MAX = 1.0
CPU_RATIO_MAX = 1.05
# What html-large and its headers come to in a second, by the rate of the link.
LINKS = (("100mbit", 41.0), ("1gbit", 410.0), (None, None))
LINK_ERROR_MAX = 0.05

CAMPAIGN = """
name = "hosts"
rounds = {rounds}
rest = "100ms"
workloads = {workloads}
[pinning]
server = [{first}]
origin = [{first}]
engine = [{second}]
[references]
yardstick = false
origin = false
control = false
{contenders}
[[load]]
{load}
warmup = "500ms"
duration = "{seconds}s"
"""
NGINX = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 1024; }}
http {{
    access_log off; keepalive_requests 1000000000;
    server {{ listen {address}; location / {{ default_type text/plain; return 200 "{body}"; }} }}
}}
"""
BODY = "x" * 600


class Bench:
    """A lab, and bakeoff at home in it."""

    def __init__(self, lab: Lab, folder: Path, options: argparse.Namespace) -> None:
        self.lab = lab
        self.folder = folder
        self.options = options

    def command(self, *words: object, cores: str | None = None) -> list[str]:
        """bakeoff at home, on home's cores or on those named."""
        return self.lab.at_home([str(self.options.bakeoff), *map(str, words)], cores)

    def run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            list(command),
            cwd=self.folder,
            env=self.lab.environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def document(self, command: Sequence[str]) -> dict:
        """What a command prints as JSON."""
        made = self.run(command)
        try:
            return json.loads(made.stdout)
        except ValueError:
            raise LabFailed(f"{' '.join(command)}: {made.stderr.strip()[-600:]}") from None

    def campaign(self, name: str, plan: str, hosts: Path | None) -> dict:
        """Carries out a plan, and returns its report."""
        path = self.folder / f"{name}.toml"
        path.write_text(plan)
        flags = ["--hosts", hosts] if hosts else []
        record = self.folder / f"record-{name}"
        cores = None if hosts else ",".join(self.options.cores)
        made = self.run(self.command("run", path, "--out", record, *flags, cores=cores))
        # 4: it was measured, and no number of it is valid.
        if made.returncode not in (0, 4):
            raise LabFailed(f"{name} ended with {made.returncode}: {made.stderr.strip()[-600:]}")
        return self.document(self.command("report", record, "--format", "json"))

    def plan(self, contenders: Sequence[str], workloads: Sequence[str], load: str) -> str:
        tables = [f'[[contender]]\nname = "{name}"\nserver = "{name}"' for name in contenders]
        return CAMPAIGN.format(
            rounds=self.options.rounds,
            workloads=json.dumps(list(workloads)),
            first=self.options.cores[0],
            second=self.options.cores[1],
            contenders="\n".join(tables),
            load=load,
            seconds=self.options.seconds,
        )


def set_up(bench: Bench) -> None:
    """How long it takes to reach a host, with the copy of the program and without."""
    hosts = bench.lab.hosts_file("sut", "up", LOAD[:2])
    rows = []
    for what in ("with the copy", "again"):
        check = ["hosts", "check", hosts, "--no-links", "--format", "json"]
        found = bench.document(bench.command(*check))["hosts"]
        times = [host["set_up_s"] for host in found if host["name"] in bench.lab.hosts]
        bad = [host["name"] for host in found if host["problem"]]
        if bad or None in times:
            raise LabFailed(f"not reached: {', '.join(bad)}")
        most = marked(f"{max(times):.2f}", max(times) < SET_UP_S_MAX)
        rows.append([what, f"{min(times):.2f}", most])
    show("Set-up of a host, four at a time", ["", "s, least", "s, most"], rows)


def spread(bench: Bench) -> None:
    """How far apart four generators begin, and what home uses beside them."""
    start_yardstick(bench)
    url = f"http://{bench.lab.hosts['sut'].address}:{YARDSTICK_PORT}/"
    hosts = bench.lab.hosts_file("sut", "up", LOAD)
    load = ["load", url, "--hosts", hosts, "-c", "40", "--json"]
    found = [bench.document(bench.command(*load, "-r", "801", "-d", "1s")) for _ in range(7)]
    apart = sorted(one["start_spread_ns"] / 1e6 for one in found)
    errors = sorted(one["clock_error_ns"] / 1e6 for one in found)
    middle = statistics.median(apart)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    bench.document(bench.command(*load, "-r", RATE, "-d", "20s"))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    home_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    shown = marked(f"{middle:.2f}", middle < SPREAD_MS_MAX)
    rows = [
        ["start spread, ms", shown, between(apart, ".2f")],
        ["error of the clocks, ms", f"{statistics.median(errors):.3f}", between(errors, ".3f")],
        ["requests due of 801", str(int(statistics.median(due(one) for one in found))), ""],
        ["CPU time of home in 20 s, s", f"{home_s:.2f}", ""],
    ]
    show("Four generators, seven loads of 801/s", ["", "median", "least to most"], rows)


def due(load: dict) -> int:
    return load["requests"]["due"]


def path(bench: Bench) -> None:
    """CPU time of one server per request, over the same network: from a process without an agent,
    from one agent, from two."""
    lab, options = bench.lab, bench.options
    address = lab.hosts["sut"].address
    servers = {
        "nginx": (start_nginx(bench), NGINX_PORT),
        "yardstick": (start_yardstick(bench), YARDSTICK_PORT),
    }
    one, two = (lab.hosts_file("sut", "up", LOAD[:number]) for number in (1, 2))
    ways = {
        "no agent": lambda *load: lab.on("g1", [str(options.bakeoff), *map(str, load)]),
        "one agent": lambda *load: bench.command(*load, "--hosts", one),
        "two agents": lambda *load: bench.command(*load, "--hosts", two),
    }
    costs: dict[tuple[str, str], list[float]] = {}
    for number in range(options.rounds):
        for name, (process, port) in servers.items():
            for way in turned(list(ways), number):
                load = ["load", f"http://{address}:{port}/", "-r", RATE, "-c", "50", "--json"]
                before = cpu_ns(process.pid)
                made = bench.document(ways[way](*load, "-d", f"{options.seconds}s"))
                spent = cpu_ns(process.pid) - before
                costs.setdefault((name, way), []).append(spent / 1000 / due(made))
    rows = []
    for (name, way), each in costs.items():
        ratio = statistics.median(each) / statistics.median(costs[name, "no agent"])
        against = "" if way == "no agent" else marked(f"{ratio:.3f}", ratio <= CPU_RATIO_MAX)
        rows.append([name, way, f"{statistics.median(each):.1f}", between(each, ".1f"), against])
    heads = ["server", "load from", "µs/request", "least to most", "ratio"]
    show(f"CPU time per request at {RATE:,}/s over one network", heads, rows)


def servers(bench: Bench) -> None:
    """CPU time of servers per request, on one machine over loopback and over hosts."""
    names, workloads = ["nginx", "caddy", "haproxy"], ["html-small", "proxy"]
    plan = bench.plan(names, workloads, f"rate = {RATE}\nclients = 50")
    lab = bench.lab
    runs = {
        "one machine": bench.campaign("before", plan, None),
        "two generators": bench.campaign("two", plan, lab.hosts_file("sut", "up", LOAD[:2])),
        "again": bench.campaign("again", plan, None),
        "one generator": bench.campaign("one", plan, lab.hosts_file("sut", "up", LOAD[:1])),
    }
    costs = {name: costs_of(report) for name, report in runs.items()}
    rows = []
    for cell in costs["one machine"]:
        here = [costs[name].get(cell) for name in ("one machine", "again")]
        far = [costs[name].get(cell) for name in ("two generators", "one generator")]
        if None in here + far:
            rows.append([*cell, "not known"])
            continue
        ratios = [each / statistics.mean(here) for each in far]
        against = [marked(f"{ratio:.3f}", ratio <= CPU_RATIO_MAX) for ratio in ratios]
        rows.append([*cell, *(f"{each:.1f}" for each in here + far), *against])
    heads = ["server", "workload", "one machine, µs", "again", "two generators", "one generator"]
    title = f"CPU time per request at {RATE:,}/s, rounds: {bench.options.rounds}"
    show(title, [*heads, "two/here", "one/here"], rows)


def costs_of(report: dict) -> dict[tuple[str, str], float | None]:
    """Microseconds per request of each contender at each workload, where they are known."""
    cells = [cell for cell in report["cells"] if cell["kind"] == "contender"]
    points = [point_of(cell, "cpu_ns_per_request") for cell in cells]
    names = [(cell["contender"], cell["workload"]) for cell in cells]
    return {name: point and point / 1000 for name, point in zip(names, points)}


def point_of(cell: dict, number: str) -> float | None:
    estimate = cell["estimates"].get(number)
    return estimate and estimate["point"]


def links(bench: Bench) -> None:
    """What a link that is too narrow is called, with both figures."""
    plan = bench.plan(["nginx"], ["html-large"], "clients = 20")
    hosts = bench.lab.hosts_file("sut", "up", LOAD[:1])
    rows = []
    for rate, expected in LINKS:
        if rate:
            bench.lab.hold_link("g1", rate)
        else:
            bench.lab.free_link("g1")
        cells = bench.campaign(f"link-{rate}", plan, hosts)["cells"]
        cell = next(one for one in cells if one["kind"] == "contender")
        point = point_of(cell, "rate_per_s")
        is_named = cell["bottleneck"]["name"] == "network"
        is_near = expected is None or abs((point or 0) / expected - 1) <= LINK_ERROR_MAX
        named = marked(cell["bottleneck"]["text"], is_named == (rate is not None))
        measured = "not known" if point is None else f"{point:,.1f}"
        rows.append([rate or "none", marked(measured, is_near), named])
    show("html-large over a link that is held", ["held to", "answers/s", "bottleneck"], rows)


def start_yardstick(bench: Bench) -> subprocess.Popen[bytes]:
    listen = f"{bench.lab.hosts['sut'].address}:{YARDSTICK_PORT}"
    command = [str(bench.options.bakeoff), "yardstick", "--listen", listen]
    return bench.lab.start_on("sut", command, YARDSTICK_PORT, bench.folder / "yardstick.log")


def start_nginx(bench: Bench) -> subprocess.Popen[bytes]:
    listen = f"{bench.lab.hosts['sut'].address}:{NGINX_PORT}"
    config = bench.folder / "nginx.conf"
    config.write_text(NGINX.format(folder=bench.folder, address=listen, body=BODY))
    command = [nginx_program(), "-c", str(config)]
    return bench.lab.start_on("sut", command, NGINX_PORT, bench.folder / "nginx.out")


def cpu_ns(process: int) -> int:
    """CPU time of a process and of all below it."""
    own = 0
    for thread in Path(f"/proc/{process}/task").iterdir():
        own += int((thread / "schedstat").read_text().split()[0])
    return own + sum(cpu_ns(child) for child in children_of(process))


def turned(names: list[str], number: int) -> list[str]:
    """The order of a round, so that none always follows the same other one."""
    at = number % len(names)
    return names[at:] + names[:at]


def between(values: Sequence[float], form: str) -> str:
    return f"{min(values):{form}} to {max(values):{form}}"


def show(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    whole = [[*row, *[""] * (len(heads) - len(row))] for row in [heads, *rows]]
    print("\n" + "\n".join([title, *aligned(whole)]), flush=True)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


PARTS = {"set-up": set_up, "spread": spread, "path": path, "servers": servers, "links": links}


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bakeoff", type=Path, default=ROOT / "target/work/bakeoff")
    programs = Path(os.environ.get("BAKEOFF_PROGRAMS", ROOT / ".bench/programs"))
    parser.add_argument("--programs", type=Path, default=programs)
    parser.add_argument("--parts", default=",".join(PARTS), help="names with commas")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=4, help="length of a measurement")
    options = parser.parse_args()
    options.parts = options.parts.split(",")
    for name in options.parts:
        if name not in PARTS:
            parser.error(f"there is no part {name}; there are {', '.join(PARTS)}")
    options.bakeoff = options.bakeoff.resolve()
    if not options.bakeoff.exists():
        parser.error(f"{options.bakeoff} is not there: build it with `make build`")
    options.cores = [str(core) for core in sorted(os.sched_getaffinity(0))[:2]]
    if len(options.cores) < 2:
        parser.error("servers and load need a core each, and there is one")
    return options


def lab_for(part: str, folder: Path, options: argparse.Namespace) -> Lab:
    """Hosts that share the cores by their roles, or that use all while they are set up."""
    first, second = options.cores
    if part == "set-up":
        first = second = ",".join(options.cores)
    cores = {name: first for name in SERVERS} | {name: second for name in LOAD}
    return Lab(folder, cores, second, options.programs.resolve())


def main() -> int:
    options = read_options()
    os.environ["PATH"] += ":" + SYSTEM_FOLDERS
    version = subprocess.check_output([options.bakeoff, "--version"], text=True).strip()
    print(f"{version} at {options.bakeoff}; ! marks what is beyond its bar")
    try:
        for part in options.parts:
            with tempfile.TemporaryDirectory(prefix="bakeoff-hosts-") as folder:
                os.chmod(folder, 0o755)
                with lab_for(part, Path(folder), options) as lab:
                    PARTS[part](Bench(lab, Path(folder), options))
    except (LabFailed, ServerFailed) as error:
        say(f"failed: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
