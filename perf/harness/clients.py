"""The clients: how each is told a load, and what its own output says it did.

A client that cannot do a load says why. Requests are counted by the client itself; processor
time and memory are the system's figures for its process, so nothing here trusts a client's
view of its own cost.
"""

from __future__ import annotations

import json
import math
import re
import shutil
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from harness.machine import version
from harness.servers import HOST


@dataclass(frozen=True)
class Load:
    """What a client is asked to do; a rate makes it an open loop."""

    port: int
    path: str
    clients: int
    seconds: float
    tls: bool = False
    keep_alive: bool = True
    rate: int | None = None
    protocol: str = "h1"
    streams: int = 1
    # A file that every body must equal; clients that compare nothing pass over it.
    body: Path | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{HOST}:{self.port}{self.path}"

    @property
    def whole_seconds(self) -> int:
        """For clients that know no parts of a second."""
        return max(1, math.ceil(self.seconds))


@dataclass(frozen=True)
class Counted:
    """What a client says it did. Latencies in µs, where it tells any."""

    requests: int
    errors: int = 0
    planned: int | None = None
    sent: int | None = None
    p50_us: float | None = None
    p99_us: float | None = None
    # Errors by the client's own name for them.
    causes: dict[str, int] | None = None


class Unreadable(Exception):
    """A client's output does not hold its counts."""


class Client(ABC):
    """One load generator."""

    name: str

    @abstractmethod
    def missing(self) -> str | None:
        """Why it cannot be run here at all, or None."""

    @abstractmethod
    def unable(self, load: Load) -> str | None:
        """Why it cannot do this load, or None."""

    @abstractmethod
    def command(self, load: Load) -> list[str]:
        """Its command line."""

    @abstractmethod
    def counted(self, output: str) -> Counted:
        """Its output, read; raises `Unreadable`."""

    def text_in(self, load: Load) -> str | None:
        """What it reads from standard input."""
        return None

    def ends(self, load: Load) -> bool:
        """Whether it ends by itself and tells counts; else the server's count has to do."""
        return True

    def version(self) -> str | None:
        return None


class Bakeoff(Client):
    """`bakeoff load`, the one that is measured here."""

    def __init__(self, program: Path, help_text: str, pacing: str = "") -> None:
        self.name = f"bakeoff {pacing}".rstrip()
        self._program = program
        self._pacing = pacing.split()
        self._flags = set(re.findall(r"--[a-z][a-z-]*", help_text))

    def missing(self) -> str | None:
        if not self._program.exists():
            return f"{self._program} is not there: build it with `make build`"
        if self._pacing and self._pacing[0] not in self._flags:
            return f"`bakeoff load` has no {self._pacing[0]}"
        return None

    def unable(self, load: Load) -> str | None:
        if load.tls and "--insecure" not in self._flags:
            return "`bakeoff load` has no https"
        if self._pacing and load.rate is None:
            return f"{self._pacing[0]} is for open loops"
        return None

    def command(self, load: Load) -> list[str]:
        command = [str(self._program), "load", load.url, "--json", "--threads", "1"]
        command += ["--clients", str(load.clients), "--duration", f"{round(load.seconds * 1e3)}ms"]
        command += ["--protocol", load.protocol, "--streams", str(load.streams)]
        if load.tls:
            command.append("--insecure")
        if load.tls and not load.keep_alive and "--resumption" in self._flags:
            command += ["--resumption", "off"]
        if not load.keep_alive:
            command.append("--no-keepalive")
        if load.rate:
            command += ["--rate", str(load.rate)]
        if load.body:
            command += ["--expect-body", str(load.body), "--check-every-body"]
        return command + self._pacing

    def counted(self, output: str) -> Counted:
        document = parsed(output)
        requests = document["requests"]
        completed = int(requests["completed"])
        latency = document["latency_ns"] or {}
        return Counted(
            requests=completed,
            errors=completed - int(requests["ok"]),
            planned=requests["planned"],
            sent=int(requests["started"]),
            p50_us=microseconds(latency.get("p50")),
            p99_us=microseconds(latency.get("p99")),
            causes={name: count for name, count in document["outcomes"].items()
                    if count and name != "ok"},
        )  # fmt: skip

    def version(self) -> str | None:
        return version([str(self._program), "--version"])


class Floor(Client):
    """One write and one read for each request, nothing looked at."""

    name = "floor"

    def __init__(self, tools: Path) -> None:
        self._program = tools / "floor"

    def missing(self) -> str | None:
        return None if self._program.exists() else "not built: run `make perf`"

    def unable(self, load: Load) -> str | None:
        if load.tls or not load.keep_alive or load.rate or load.protocol != "h1":
            return "the floor is closed loops over kept connections in plain text"
        return None

    def command(self, load: Load) -> list[str]:
        return [str(self._program), HOST, str(load.port), load.path, str(load.clients),
                f"{load.seconds:g}"]  # fmt: skip

    def counted(self, output: str) -> Counted:
        return Counted(requests=int(found(r"^requests (\d+)", output)))


class Spin(Client):
    """The reference for open loops, turning on its core between sends."""

    name = "spin"

    def __init__(self, tools: Path) -> None:
        self._program = tools / "spin"

    def missing(self) -> str | None:
        return None if self._program.exists() else "not built: run `make perf`"

    def unable(self, load: Load) -> str | None:
        return None if load.rate and not load.tls else "the reference is for open loops"

    def command(self, load: Load) -> list[str]:
        return [str(self._program), HOST, str(load.port), load.path, str(load.clients),
                str(load.rate), f"{load.seconds:g}"]  # fmt: skip

    def counted(self, output: str) -> Counted:
        return Counted(
            requests=int(found(r"^ok (\d+)", output)),
            planned=int(found(r"^planned (\d+)", output)),
            sent=int(found(r"^sent (\d+)", output)),
            p50_us=int(found(r"^p50_ns (\d+)", output)) / 1e3,
            p99_us=int(found(r"^p99_ns (\d+)", output)) / 1e3,
        )


class Peer(Client):
    """A program that is found on PATH."""

    program: str
    version_flag = "--version"

    def missing(self) -> str | None:
        return None if shutil.which(self.program) else f"{self.program} is not installed"

    def version(self) -> str | None:
        return version([self.program, self.version_flag])


class Wrk(Peer):
    name = program = "wrk"
    version_flag = "-v"

    def unable(self, load: Load) -> str | None:
        return "wrk has no open loop" if load.rate else None

    def command(self, load: Load) -> list[str]:
        command = ["wrk", "-t1", f"-c{load.clients}", f"-d{load.whole_seconds}s",
                   "--timeout", "10s"]  # fmt: skip
        if not load.keep_alive:
            command += ["-H", "Connection: close"]
        return [*command, load.url]

    def counted(self, output: str) -> Counted:
        broken = re.search(r"Socket errors: (.*)", output)
        errors = sum(int(count) for count in re.findall(r"\d+", broken[1])) if broken else 0
        wrong = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
        return Counted(
            requests=int(found(r"^\s*(\d+) requests in", output)),
            errors=errors + (int(wrong[1]) if wrong else 0),
        )


class H2load(Peer):
    """Over HTTP/2 where HTTP/3 is asked for: the distribution's knows no QUIC."""

    name = program = "h2load"
    # About what one core does of handshakes; see `command`.
    NEW_CONNECTIONS_PER_S = 2_000

    def unable(self, load: Load) -> str | None:
        return "h2load paces in bursts: no open loop" if load.rate else None

    def command(self, load: Load) -> list[str]:
        command = ["h2load", "-t1", f"-c{load.clients}", f"-m{load.streams}"]
        if load.protocol == "h1":
            command.append("--h1")
        if load.keep_alive:
            return [*command, f"-D{round(load.seconds * 1e3)}ms", load.url]
        # With a duration, 1.52 never ends when the server closes connections: it gets a count.
        count = max(load.clients, round(load.seconds * self.NEW_CONNECTIONS_PER_S))
        return [*command, f"-n{count}", "-H", "Connection: close", load.url]

    def counted(self, output: str) -> Counted:
        line = found(r"^requests: (.*)", output)
        return Counted(
            requests=int(found(r"(\d+) done", line)),
            errors=int(found(r"(\d+) failed", line)),
        )


class Ab(Peer):
    name = program = "ab"
    version_flag = "-V"

    def unable(self, load: Load) -> str | None:
        return "ab has no open loop" if load.rate else None

    def command(self, load: Load) -> list[str]:
        # It keeps a row for each request: enough of them for any rate met on one core.
        most = 300_000 * load.whole_seconds
        command = ["ab", "-q", "-t", str(load.whole_seconds), "-n", str(most),
                   "-c", str(load.clients)]  # fmt: skip
        return [*command, *(["-k"] if load.keep_alive else []), load.url]

    def counted(self, output: str) -> Counted:
        return Counted(
            requests=int(found(r"^Complete requests:\s+(\d+)", output)),
            errors=int(found(r"^Failed requests:\s+(\d+)", output)),
        )


class Oha(Peer):
    name = program = "oha"

    def unable(self, load: Load) -> str | None:
        return None

    def ends(self, load: Load) -> bool:
        # 1.16 waits for ever when its time is over.
        return load.protocol != "h3"

    def command(self, load: Load) -> list[str]:
        if load.protocol == "h3":
            return ["timeout", "--foreground", "-s", "KILL", f"{load.seconds:g}", "oha",
                    "--no-tui", "-z", "1h", "-c", str(load.clients), "-p", str(load.streams),
                    "--http-version", "3", "--insecure", load.url]  # fmt: skip
        command = ["oha", "--no-tui", "-z", f"{round(load.seconds * 1e3)}ms",
                   "-c", str(load.clients), "--output-format", "json"]  # fmt: skip
        if load.tls:
            command.append("--insecure")
        if load.protocol != "h1":
            command += ["--http2", "-p", str(load.streams)]
        if not load.keep_alive:
            command.append("--disable-keepalive")
        if load.rate:
            command += ["-q", str(load.rate)]
        return [*command, load.url]

    def counted(self, output: str) -> Counted:
        document = parsed(output)
        by_status = document["statusCodeDistribution"]
        ok = sum(count for status, count in by_status.items() if status < "400")
        # What was still on its way at the end is no error of the client's.
        errors = sum(count for text, count in document.get("errorDistribution", {}).items()
                     if "deadline" not in text)  # fmt: skip
        percentiles = document.get("latencyPercentiles", {})
        return Counted(
            requests=sum(by_status.values()),
            errors=errors + sum(by_status.values()) - ok,
            p50_us=scaled(percentiles.get("p50"), 1e6),
            p99_us=scaled(percentiles.get("p99"), 1e6),
        )


class K6(Peer):
    name = program = "k6"
    version_flag = "version"

    def unable(self, load: Load) -> str | None:
        return None

    def command(self, load: Load) -> list[str]:
        return ["k6", "run", "--quiet", "--no-usage-report", "--address", "", "-"]

    def text_in(self, load: Load) -> str:
        options: dict[str, object] = {
            "insecureSkipTLSVerify": True,
            "noConnectionReuse": not load.keep_alive,
            "discardResponseBodies": True,
            "summaryTrendStats": ["med", "p(99)"],
        }
        length = f"{round(load.seconds * 1e3)}ms"
        if load.rate:
            options["scenarios"] = {"load": {
                "executor": "constant-arrival-rate", "rate": load.rate, "timeUnit": "1s",
                "duration": length, "preAllocatedVUs": load.clients, "maxVUs": load.clients,
            }}  # fmt: skip
        else:
            options |= {"vus": load.clients, "duration": length}
        return (
            "import http from 'k6/http';\n"
            f"export const options = {json.dumps(options)};\n"
            f"export default () => {{ http.get({json.dumps(load.url)}); }};\n"
            "export const handleSummary = (data) => ({ stdout: JSON.stringify(data.metrics) });\n"
        )

    def counted(self, output: str) -> Counted:
        metrics = parsed(output)
        trend = metrics["http_req_duration"]["values"]
        requests = int(metrics["http_reqs"]["values"]["count"])
        failed = metrics["http_req_failed"]["values"]
        return Counted(
            requests=requests,
            # The share of true values: here of requests that failed.
            errors=round(requests * float(failed["rate"])),
            p50_us=scaled(trend.get("med"), 1e3),
            p99_us=scaled(trend.get("p(99)"), 1e3),
        )


def all_clients(bakeoff: Path, help_text: str, tools: Path) -> list[Client]:
    """Every client in the order in which tables show them."""
    return [
        Bakeoff(bakeoff, help_text),
        Bakeoff(bakeoff, help_text, "--spin"),
        Bakeoff(bakeoff, help_text, "--slack 1ms"),
        Floor(tools),
        Spin(tools),
        Wrk(),
        H2load(),
        Ab(),
        Oha(),
        K6(),
    ]


def parsed(output: str) -> dict[str, dict]:  # type: ignore[type-arg]
    """The one JSON document in an output."""
    start = output.find("{")
    if start < 0:
        raise Unreadable("there is no JSON in its output")
    document: dict[str, dict] = json.loads(output[start:])  # type: ignore[type-arg]
    return document


def found(pattern: str, text: str) -> str:
    """The first group of a pattern in a text, line by line."""
    match = re.search(pattern, text, re.MULTILINE)
    if match is None:
        raise Unreadable(f"nothing like {pattern!r} is in its output")
    return match[1]


def microseconds(nanoseconds: float | None) -> float | None:
    return scaled(nanoseconds, 1e-3)


def scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
