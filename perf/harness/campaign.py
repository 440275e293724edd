"""Rounds: every client once at a point, in an order that turns, against a server just started."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from harness.children import Finished
from harness.clients import Client, Counted, Load, Unreadable
from harness.machine import busy_s, idle_s
from harness.points import Point
from harness.servers import Server, ServerFailed, Stage

# Beyond its seconds, a client may take so long to connect, to end and to print.
GRACE_S = 30.0
# How a client ends that does not end by itself, as a shell says it.
KILLED = 128 + 9


@dataclass(frozen=True)
class Run:
    """One client, once: its counts and its cost, or the reason why there are none."""

    point: str
    client: str
    round: int
    place: int
    command: list[str]
    failure: str | None = None
    counted: Counted | None = None
    user_s: float = 0.0
    system_s: float = 0.0
    wall_s: float = 0.0
    rss_bytes: int = 0
    clients: int = 0
    server_cpu_s: float = 0.0
    # Of the server's core. Part of what a server sends is the kernel's own work, in no process's
    # time: what a server leaves of its core is not 1 less its share.
    server_idle_s: float = 0.0
    other_cpu_share: float = 0.0
    # Of one answer, where every answer is compared with it.
    body_bytes: int = 0

    def metric(self, name: str) -> float | None:
        """A figure of this run, or None when it has none."""
        if self.counted is None or self.counted.requests == 0:
            return None
        match name:
            case "cpu_us":
                return (self.user_s + self.system_s) * 1e6 / self.counted.requests
            case "user_us":
                return self.user_s * 1e6 / self.counted.requests
            case "server_us":
                return self.server_cpu_s * 1e6 / self.counted.requests
            case "requests_per_s":
                return self.counted.requests / self.wall_s if self.wall_s else None
            case "rss_bytes":
                return float(self.rss_bytes)
            case "rss_per_client":
                return self.rss_bytes / self.clients if self.clients else None
            case "p50_us":
                return self.counted.p50_us
            case "p99_us":
                return self.counted.p99_us
            case "client_share":
                return (self.user_s + self.system_s) / self.wall_s if self.wall_s else None
            case "server_idle":
                return self.server_idle_s / self.wall_s if self.wall_s else None
            case "goodput_mb_per_s":
                return self.body_bytes * self.counted.requests / self.wall_s / 1e6
            case "errors":
                return float(self.counted.errors)
            case "unsent":
                if self.counted.planned is None or self.counted.sent is None:
                    return None
                return float(self.counted.planned - self.counted.sent)
        raise KeyError(name)

    def document(self) -> dict[str, object]:
        """The run as it is stored, with the figures that are derived from it."""
        derived = ("cpu_us", "user_us", "server_us", "requests_per_s", "rss_per_client",
                   "client_share", "server_idle", "goodput_mb_per_s")  # fmt: skip
        return asdict(self) | {name: self.metric(name) for name in derived}


@dataclass(frozen=True)
class Skipped:
    """A client that took no part at a point."""

    point: str
    client: str
    reason: str


def contenders(point: Point, clients: Sequence[Client]) -> tuple[list[Client], list[Skipped]]:
    """Who can take part at a point, and why others cannot."""
    able: list[Client] = []
    skipped: list[Skipped] = []
    load = point.load(0, 1.0)
    for client in clients:
        if client.name not in point.contenders:
            continue
        reason = client.missing() or client.unable(load)
        if reason:
            skipped.append(Skipped(point.name, client.name, reason))
        else:
            able.append(client)
    return able, skipped


def measure(
    point: Point,
    able: Sequence[Client],
    stage: Stage,
    core: int,
    rounds: int,
    seconds: float,
    told: Callable[[Run], None],
) -> list[Run]:
    """All rounds of a point. A run that fails is kept with its reason; the others go on."""
    runs: list[Run] = []
    for number in range(rounds):
        server = point.server(stage)
        try:
            for place in range(len(able)):
                client = able[(place + number) % len(able)]
                load = point.load(server.port, seconds, server.folder)
                run = once(point, client, load, server, stage, core, number, place)
                runs.append(run)
                told(run)
        finally:
            server.stop()
    return runs


def once(
    point: Point,
    client: Client,
    load: Load,
    server: Server,
    stage: Stage,
    core: int,
    number: int,
    place: int,
) -> Run:
    """One run of one client."""
    command = client.command(load)
    count_before = None if client.ends(load) else server.requests()
    busy_before, server_before, idle_before = busy_s(), server.cpu_s(), idle_s(stage.core)
    ended = stage.children.run(command, core, load.seconds + GRACE_S, client.text_in(load))
    server_idle = idle_s(stage.core) - idle_before
    server_s = server.cpu_s() - server_before
    other_s = busy_s() - busy_before - server_s - ended.cpu_s
    if count_before is None:
        failure, counted = outcome(client, ended)
    elif ended.status != KILLED:
        words = (ended.errors.strip() or ended.output.strip())[-300:]
        failure, counted = f"ended by itself, exit {ended.status}: {words}", None
    else:
        # The question itself is among them.
        failure, counted = None, Counted(requests=server.requests() - count_before - 1)
    if not server.alive():
        raise ServerFailed(f"the server of {point.name} died under {client.name}")
    return Run(
        point=point.name,
        client=client.name,
        round=number,
        place=place,
        command=command,
        failure=failure,
        counted=counted,
        user_s=ended.user_s,
        system_s=ended.system_s,
        wall_s=ended.wall_s,
        rss_bytes=ended.rss_bytes,
        clients=load.clients,
        server_cpu_s=server_s,
        server_idle_s=server_idle,
        other_cpu_share=max(0.0, other_s / ended.wall_s) if ended.wall_s else 0.0,
        body_bytes=load.body.stat().st_size if load.body else 0,
    )


def outcome(client: Client, ended: Finished) -> tuple[str | None, Counted | None]:
    """A run's counts, or why they cannot be had or trusted."""
    if ended.timed_out:
        return f"did not end within {GRACE_S:g} s of its time", None
    try:
        counted = client.counted(ended.output)
    except (Unreadable, KeyError, ValueError, TypeError) as error:
        words = (ended.errors.strip() or ended.output.strip())[-300:]
        return f"exit {ended.status}, {error}: {words}", None
    if counted.errors > counted.requests / 1000:
        return f"{counted.errors:,} errors beside {counted.requests:,} requests", None
    return None, counted
