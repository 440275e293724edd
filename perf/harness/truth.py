"""Truth tests: what `bakeoff load` reports, held against what was done to the server or to it.

Not about cost: a server frozen for a known time, a server whose delays are known, an engine
that is starved of its core, and nginx's own count of requests. Each says what was expected,
what was reported and whether that is within the bar.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from harness.campaign import GRACE_S
from harness.children import Children, Finished, children_of, signal_group
from harness.servers import HOST, Caddy, Nginx, Server, Stage, known_delays

FROZEN_SHARE = 1 / 30
# The longest load under which a server is killed and restarted, seconds.
RESTART_S = 6.0
# What a request may come to whose server is killed.
LOST = {"refused", "reset", "timeout", "connect_timeout"}
STARVED_SHARE = 0.10
STARVED_WARNINGS = {"generator-saturated", "schedule-behind"}
CGROUP_V1 = Path("/sys/fs/cgroup/cpu")
CGROUP_V2 = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Claim:
    """One figure that must be true; `met` is None when it could not be had."""

    test: str
    text: str
    expected: str
    reported: str
    met: bool | None


Document = dict[str, Any]


class Engine:
    """`bakeoff load` on the client's core."""

    def __init__(self, program: Path, children: Children, core: int) -> None:
        self._program = program
        self._children = children
        self._core = core

    def load(
        self,
        server: Server,
        path: str,
        clients: int,
        seconds: float,
        *more: str,
        prepare: Callable[[], None] | None = None,
        meanwhile: Callable[[subprocess.Popen[str]], None] | None = None,
    ) -> tuple[Finished, Document]:
        """Runs it; the document is empty when it printed none."""
        scheme = "https" if "h3" in more else "http"
        command = [str(self._program), "load", f"{scheme}://{HOST}:{server.port}{path}", "--json"]
        command += ["--threads", "1", "--clients", str(clients)]
        command += ["--duration", f"{round(seconds * 1e3)}ms", *more]
        ended = self._children.run(
            command, self._core, seconds + GRACE_S, prepare=prepare, meanwhile=meanwhile
        )
        try:
            return ended, json.loads(ended.output)
        except ValueError:
            return ended, {}


def frozen(engine: Engine, stage: Stage, seconds: float) -> list[Claim]:
    """nginx stands still for a thirtieth of the time, in the middle, at 1,000 requests/s."""
    length = seconds * FROZEN_SHARE
    return froze(engine, Nginx(stage), seconds, f"frozen {length:.2g} s in {seconds:g} s")


def frozen_h3(engine: Engine, stage: Stage, seconds: float) -> list[Claim]:
    """The same over HTTP/3."""
    length = seconds * FROZEN_SHARE
    server = Nginx(stage, tls=True, h2=True, h3=True)
    test = f"frozen {length:.2g} s in {seconds:g} s, h3"
    claims = froze(engine, server, seconds, test, "--protocol", "h3", "--insecure")
    # What overran the frozen server's socket is lost and sent again after a probe timeout, which
    # has doubled meanwhile: beyond p99 there is more than the freeze.
    return [claim for claim in claims if claim.text != "p99.9, s"]


def froze(
    engine: Engine, server: Nginx, seconds: float, test: str, *more: str
) -> list[Claim]:
    """In an open loop over T seconds a freeze of S puts the quantile q at S - (1 - q) T."""
    length = seconds * FROZEN_SHARE
    try:
        worker = server.worker()

        def freeze(_child: subprocess.Popen[str]) -> None:
            time.sleep(seconds / 2)
            end = time.monotonic() + length
            os.kill(worker, signal.SIGSTOP)
            try:
                time.sleep(max(0.0, end - time.monotonic()))
            finally:
                os.kill(worker, signal.SIGCONT)

        ended, document = engine.load(
            server, "/synthetic", 200, seconds, "--rate", "1000", *more, meanwhile=freeze
        )
    finally:
        server.stop()
    if not document:
        return [failed(test, ended)]
    return [
        within(test, "p99, s", length - 0.01 * seconds, 0.15, 0.0, quantile_s(document, "p99")),
        within(test, "p99.9, s", length - 0.001 * seconds, 0.05, 0.0,
               quantile_s(document, "p99_9")),
        sent_all(test, document),
    ]  # fmt: skip


def restarted_h3(engine: Engine, stage: Stage, seconds: float) -> list[Claim]:
    """A server of HTTP/3 is killed and started again: what fails is named, and the load goes on."""
    seconds, claims = min(seconds, RESTART_S), []
    for name, server in (("nginx", Nginx(stage, tls=True, h2=True, h3=True)),
                         ("caddy", Caddy(stage))):  # fmt: skip
        test = f"killed and restarted, h3, {name}"

        def kill(_child: subprocess.Popen[str], server: Server = server) -> None:
            time.sleep(seconds / 3)
            server.restart(stage.children, stage.core, seconds / 6)

        try:
            ended, document = engine.load(
                server, "/synthetic", 20, seconds, "--protocol", "h3", "--insecure",
                "--streams", "4", "--timeout", "2s", meanwhile=kill,
            )  # fmt: skip
        finally:
            server.stop()
        if not document:
            claims.append(failed(test, ended))
            continue
        outcomes = {name for name, count in document["outcomes"].items() if count} - {"ok"}
        claims.append(Claim(test, "outcomes beside ok", "some of " + ", ".join(sorted(LOST)),
                            ", ".join(sorted(outcomes)) or "none",
                            bool(outcomes) and outcomes <= LOST))  # fmt: skip
        last = sum(part["ok"] for part in document["intervals"][-10:])
        claims.append(Claim(test, "ok in the last second", "some", f"{last:,}", last > 0))
    return claims


def delays(engine: Engine, stage: Stage, seconds: float) -> list[Claim]:
    """A server that takes 5 ms for 99 requests of 100 and 50 ms for one."""
    server = known_delays(stage)
    try:
        ended, document = engine.load(server, "/", 100, seconds, "--rate", "2000")
    finally:
        server.stop()
    test = "known delays"
    if not document:
        return [failed(test, ended)]
    return [
        within(test, "p50, s", 0.005, 0.01, 50e-6, quantile_s(document, "p50")),
        within(test, "p99.9, s", 0.050, 0.01, 50e-6, quantile_s(document, "p99_9")),
        sent_all(test, document),
    ]


def starved(engine: Engine, stage: Stage, seconds: float) -> list[Claim]:
    """The engine gets a tenth of a core, in both kinds of loop, and must say so itself."""
    claims = []
    for name, more in (("open loop", ("--rate", "10000")), ("closed loop", ())):
        server = Nginx(stage)
        try:
            with starvation() as (how, prepare, meanwhile):
                ended, document = engine.load(
                    server, "/synthetic", 200, seconds, "--strict", *more,
                    prepare=prepare, meanwhile=meanwhile,
                )  # fmt: skip
        finally:
            server.stop()
        test = f"starved by {how}, {name}"
        codes = sorted({warning["code"] for warning in document.get("warnings", [])})
        wanted = STARVED_WARNINGS if name == "open loop" else {"generator-saturated"}
        claims.append(Claim(test, "warnings", " or ".join(sorted(wanted)),
                            ", ".join(codes) or "none", bool(wanted & set(codes))))  # fmt: skip
        claims.append(Claim(test, "exit code with --strict", "4", str(ended.status),
                            ended.status == 4))  # fmt: skip
    return claims


Starvation = tuple[str, Callable[[], None] | None, Callable[[subprocess.Popen[str]], None] | None]


@contextmanager
def starvation() -> Iterator[Starvation]:
    """How to give a process a tenth of a core here: by cgroup v1, v2, or stops and starts."""
    name = f"bakeoff-perf-{os.getpid()}"
    share = round(STARVED_SHARE * 100_000)
    limits = {
        CGROUP_V1 / name: {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": str(share)},
        CGROUP_V2 / name: {"cpu.max": f"{share} 100000"},
    }
    for group, files in limits.items():
        try:
            group.mkdir()
            for file, value in files.items():
                (group / file).write_text(value)
        except OSError:
            if group.exists():
                group.rmdir()
            continue
        try:
            yield "a quota", partial(join, group), None
        finally:
            remove(group)
        return
    yield "stops and starts", None, stop_and_start


def join(group: Path) -> None:
    """Puts the process that calls it into a group."""
    (group / "cgroup.procs").write_text(str(os.getpid()))


def remove(group: Path) -> None:
    """Removes a group; its last member may take a moment to be gone."""
    for _attempt in range(100):
        try:
            group.rmdir()
            return
        except OSError:
            time.sleep(0.05)


def stop_and_start(child: subprocess.Popen[str]) -> None:
    """Lets the launcher's program run for 10 ms of each 100 until it has ended."""
    while child.poll() is None and children_of(child.pid):
        signal_group(child.pid, signal.SIGSTOP)
        time.sleep(0.1 * (1 - STARVED_SHARE))
        signal_group(child.pid, signal.SIGCONT)
        time.sleep(0.1 * STARVED_SHARE)


def counters(engine: Engine, stage: Stage, seconds: float) -> list[Claim]:
    """nginx's own count lies between what the engine completed and what it started."""
    claims = []
    for clients in (200, 10_000):
        server = Nginx(stage)
        try:
            before = server.requests()
            ended, document = engine.load(server, "/synthetic", clients, seconds)
            # The question that follows the load is one more request.
            counted = server.requests() - before - 1
        finally:
            server.stop()
        test = f"nginx's counter, {clients:,} clients"
        if not document:
            claims.append(failed(test, ended))
            continue
        completed = int(document["requests"]["completed"])
        started = int(document["requests"]["started"])
        claims.append(Claim(test, "requests", f"{completed:,} to {started:,}", f"{counted:,}",
                            completed <= counted <= started))  # fmt: skip
    return claims


def within(
    test: str, text: str, expected: float, ratio: float, more: float, reported: float | None
) -> Claim:
    """A figure that may lie off by a share of what is expected and by an absolute amount."""
    slack = expected * ratio + more
    met = None if reported is None else abs(reported - expected) <= slack
    shown = "null" if reported is None else f"{reported:.6f}"
    return Claim(test, text, f"{expected:.6f} ±{slack:.6f}", shown, met)


def quantile_s(document: Document, name: str) -> float | None:
    value = (document["latency_ns"] or {}).get(name)
    return None if value is None else value / 1e9


def sent_all(test: str, document: Document) -> Claim:
    planned, started = document["requests"]["planned"], document["requests"]["started"]
    return Claim(test, "requests sent", str(planned), str(started), planned == started)


def failed(test: str, ended: Finished) -> Claim:
    words = (ended.errors.strip() or ended.output.strip())[-200:]
    return Claim(test, "a report", "one", f"none, exit {ended.status}: {words}", False)


TESTS: tuple[Callable[[Engine, Stage, float], list[Claim]], ...] = (
    frozen,
    frozen_h3,
    restarted_h3,
    delays,
    starved,
    counters,
)
