"""The points at which clients are compared, and the bars that bakeoff is held to at each.

A bar is a claim about the median over rounds of a figure that is formed within each round, so
that a machine which drifts between rounds drifts away from no one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from harness.clients import Load
from harness.servers import Caddy, Nginx, Server, Stage, yardstick

Metric = Literal["cpu_us", "user_us", "requests_per_s", "rss_bytes", "rss_per_client", "p50_us",
                 "p99_us", "unsent", "client_share", "server_idle", "errors"]  # fmt: skip
Form = Literal["ratio", "difference", "value"]

CLOSED = ("bakeoff", "floor", "wrk", "h2load", "ab", "oha", "k6")
SECURE = ("bakeoff", "wrk", "h2load", "ab", "oha", "k6")
OPEN = ("bakeoff", "bakeoff --spin", "bakeoff --slack 1ms", "spin", "oha", "k6")
MULTIPLEXED = ("bakeoff", "h2load", "oha")


@dataclass(frozen=True)
class Bar:
    """`metric` of `contender`, as a ratio to, or a difference from, the lowest of `peers`."""

    metric: Metric
    form: Form
    limit: float
    peers: tuple[str, ...] = ()
    contender: str = "bakeoff"


@dataclass(frozen=True)
class Point:
    """One load on one server, and who is compared there."""

    name: str
    what: str
    server: Callable[[Stage], Server]
    path: str
    clients: int
    contenders: tuple[str, ...] = CLOSED
    tls: bool = False
    keep_alive: bool = True
    rate: int | None = None
    protocol: str = "h1"
    streams: int = 1
    # Whether every body is compared.
    compares: bool = False
    bars: tuple[Bar, ...] = field(default_factory=tuple)

    def load(self, port: int, seconds: float, folder: Path = Path()) -> Load:
        body = folder / f"html{self.path}" if self.compares else None
        return Load(port, self.path, self.clients, seconds, self.tls, self.keep_alive, self.rate,
                    self.protocol, self.streams, body)  # fmt: skip


def plain(stage: Stage) -> Server:
    return Nginx(stage)


def secure(stage: Stage) -> Server:
    return Nginx(stage, tls=True)


def secure_h2(stage: Stage) -> Server:
    return Nginx(stage, tls=True, h2=True)


def plain_h2(stage: Stage) -> Server:
    return Nginx(stage, h2=True)


def nginx_h3(stage: Stage) -> Server:
    return Nginx(stage, tls=True, h2=True, h3=True)


def caddy_h3(stage: Stage) -> Server:
    return Caddy(stage)


def cheaper_than(limit: float, *peers: str) -> Bar:
    return Bar("cpu_us", "ratio", limit, peers)


def synthetic(clients: int, of_wrk: float, *more: Bar) -> Point:
    return Point(
        name=f"synthetic-{clients}",
        what=f"nginx `return 200`, 13 bytes, {clients:,} clients",
        server=plain,
        path="/synthetic",
        clients=clients,
        bars=(cheaper_than(of_wrk, "wrk"), cheaper_than(1.06, "floor"), *more),
    )


def near_reference(contender: str) -> tuple[Bar, ...]:
    return (
        Bar("p50_us", "difference", 15, ("spin",), contender),
        Bar("p99_us", "difference", 60, ("spin",), contender),
        Bar("unsent", "value", 0, (), contender),
    )


def multiplexed(clients: int, streams: int, *bars: Bar, tls: bool = True,
                path: str = "/synthetic", what: str = "`return 200`") -> Point:  # fmt: skip
    """HTTP/2 over TLS 1.3, or in the clear."""
    name = "h2" if tls else "h2c"
    return Point(
        name=f"{name}{'-large' if 'large' in path else ''}-{clients}x{streams}",
        what=f"nginx {what}, {name}, {clients:,} connections with {streams} streams each",
        server=secure_h2 if tls else plain_h2,
        path=path,
        clients=clients,
        contenders=MULTIPLEXED,
        tls=tls,
        protocol=name,
        streams=streams,
        bars=bars,
    )


def over_quic(server: str, clients: int, streams: int, *bars: Bar, path: str = "/synthetic",
              contenders: tuple[str, ...] = ("bakeoff",)) -> Point:  # fmt: skip
    """HTTP/3, beside HTTP/2 from h2load against the same server."""
    large = "large" in path
    return Point(
        name=f"h3{'-large' if large else ''}-{clients}x{streams}-{server}",
        what=f"{server} {'a file of 289,812 bytes' if large else 'of 13 bytes'}, h3, "
        f"{clients:,} connections with {streams} streams each",
        server={"nginx": nginx_h3, "caddy": caddy_h3}[server],
        path=path,
        clients=clients,
        contenders=contenders,
        tls=True,
        protocol="h3",
        streams=streams,
        compares=large,
        bars=bars,
    )


def quic_points() -> tuple[Point, ...]:
    cheap = (cheaper_than(1.2, "h2load"), cheaper_than(0.35, "oha"))
    not_the_limit = (Bar("client_share", "value", 0.90), Bar("server_idle", "value", 0.05))
    small = Bar("rss_bytes", "value", 256 * 2**20)
    return tuple(
        point
        for server in ("nginx", "caddy")
        for point in (
            over_quic(server, 50, 32, *cheap, contenders=MULTIPLEXED),
            over_quic(server, 20, 4, *not_the_limit, path="/large.html"),
            over_quic(server, 1_000, 100, small, Bar("errors", "value", 0)),
        )
    )


POINTS = (
    synthetic(10, 0.75),
    synthetic(200, 0.90),
    synthetic(1_000, 0.95),
    synthetic(
        10_000,
        0.85,
        Bar("rss_bytes", "ratio", 1.0, ("wrk",)),
        Bar("rss_per_client", "value", 4_096),
    ),
    Point(
        name="html-small",
        what="nginx, a file of 4,608 bytes, 200 clients",
        server=plain,
        path="/small.html",
        clients=200,
        bars=(cheaper_than(0.85, "wrk"),),
    ),
    Point(
        name="html-large",
        what="nginx, a file of 289,812 bytes, 50 clients",
        server=plain,
        path="/large.html",
        clients=50,
        bars=(cheaper_than(0.45, "wrk"), cheaper_than(0.60, "h2load")),
    ),
    Point(
        name="tls",
        what="nginx `return 200` over TLS 1.3, 200 clients, connections kept",
        server=secure,
        path="/synthetic",
        clients=200,
        contenders=SECURE,
        tls=True,
        bars=(cheaper_than(0.90, "wrk"),),
    ),
    Point(
        name="tls-new",
        what="nginx `return 200` over TLS 1.3, 50 clients, a new connection for each request",
        server=secure,
        path="/synthetic",
        clients=50,
        contenders=SECURE,
        tls=True,
        keep_alive=False,
        bars=(cheaper_than(0.70, "wrk", "h2load"),),
    ),
    Point(
        name="open",
        what="nginx `return 200`, 10,000 requests/s over 200 connections",
        server=plain,
        path="/synthetic",
        clients=200,
        contenders=OPEN,
        rate=10_000,
        bars=(
            *near_reference("bakeoff"),
            *near_reference("bakeoff --spin"),
            cheaper_than(1.0, "oha"),
            Bar("cpu_us", "ratio", 1.0, ("oha",), "bakeoff --slack 1ms"),
        ),
    ),
    multiplexed(50, 32, cheaper_than(0.75, "h2load"), Bar("user_us", "ratio", 0.30, ("h2load",))),
    multiplexed(50, 1, cheaper_than(0.80, "h2load")),
    multiplexed(50, 100, cheaper_than(0.60, "h2load"), tls=False),
    multiplexed(50, 4, cheaper_than(0.90, "h2load"), path="/large.html",
                what="a file of 289,812 bytes"),  # fmt: skip
    multiplexed(1_000, 100, Bar("rss_bytes", "ratio", 1.0, ("h2load",))),
    Point(
        name="yardstick",
        what="bakeoff's own null server, 200 clients",
        server=yardstick,
        path="/",
        clients=200,
        contenders=CLOSED,
    ),
    *quic_points(),
)
