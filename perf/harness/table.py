"""Tables and bars from runs: medians, their spread, and ratios within rounds. Prints nothing."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from harness.campaign import Run, Skipped
from harness.points import Bar, Point

# More processor time than this, of one core, spent by others makes a run doubtful.
OTHERS_MAX = 0.10
NAMES = {
    "cpu_us": "CPU a request",
    "rss_bytes": "peak memory",
    "rss_per_client": "memory a connection, bytes",
    "p50_us": "p50, µs",
    "p99_us": "p99, µs",
    "unsent": "requests not sent",
    "client_share": "its core's share",
    "server_idle": "idle share of the server's core",
    "errors": "errors",
}


@dataclass(frozen=True)
class Spread:
    """A median with the least and the most that it stands for."""

    median: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Judged:
    """A bar and how it was met; `met` is None when a figure was missing."""

    point: str
    text: str
    limit: float
    spread: Spread | None
    met: bool | None


def spread(values: Sequence[float]) -> Spread | None:
    if not values:
        return None
    return Spread(statistics.median(values), min(values), max(values), len(values))


def of_client(runs: Sequence[Run], client: str, metric: str) -> Spread | None:
    values = [run.metric(metric) for run in runs if run.client == client]
    return spread([value for value in values if value is not None])


def ratios(runs: Sequence[Run], contender: str, peer: str, metric: str) -> Spread | None:
    """The contender's figure over the peer's, round by round."""
    return formed(runs, Bar("cpu_us", "ratio", 0.0, (peer,), contender), metric)


def formed(runs: Sequence[Run], bar: Bar, metric: str) -> Spread | None:
    """A bar's figure in each round that has all of its parts."""
    by_round: dict[int, dict[str, Run]] = {}
    for run in runs:
        by_round.setdefault(run.round, {})[run.client] = run
    values: list[float] = []
    for members in by_round.values():
        own = members[bar.contender].metric(metric) if bar.contender in members else None
        # A peer that is missing might have been the lowest one: it is named, not passed over.
        peers = [members[peer].metric(metric) for peer in bar.peers if peer in members]
        others = [value for value in peers if value is not None]
        if own is None or len(others) < len(bar.peers):
            continue
        match bar.form:
            case "ratio":
                if min(others) > 0:
                    values.append(own / min(others))
            case "difference":
                values.append(own - min(others))
            case "value":
                values.append(own)
    return spread(values)


def judged(point: Point, runs: Sequence[Run]) -> list[Judged]:
    """Every bar of a point."""
    results = []
    for bar in point.bars:
        found = formed(runs, bar, bar.metric)
        met = None if found is None else found.median <= bar.limit
        results.append(Judged(point.name, described(bar), bar.limit, found, met))
    return results


def described(bar: Bar) -> str:
    name = NAMES.get(bar.metric, bar.metric)
    match bar.form:
        case "ratio":
            return f"{bar.contender}: {name} over that of {' or '.join(bar.peers)}"
        case "difference":
            return f"{bar.contender}: {name} above that of {' or '.join(bar.peers)}"
        case "value":
            return f"{bar.contender}: {name}"


def point_table(point: Point, runs: Sequence[Run], skipped: Sequence[Skipped]) -> str:
    """The table of a point: a line for each client, then who could not take part, and why."""
    timed = any(run.counted and run.counted.p50_us is not None and point.rate for run in runs)
    head = ["client", "CPU µs/request (min-max)", "user µs", "requests/s", "peak MB"]
    head += ["p50 µs (min-max)", "p99 µs (min-max)"] if timed else []
    head += ["bakeoff / it (min-max)", "server µs", "runs"]
    rows = [head]
    for client in dict.fromkeys(run.client for run in sorted(runs, key=lambda run: run.round)):
        rows.append(client_row(client, runs, timed))
    notes = [f"  without {skip.client}: {skip.reason}" for skip in skipped]
    for run in runs:
        if run.failure:
            notes.append(f"  {run.client}, round {run.round + 1}, failed: {run.failure}")
    for run in runs:
        if run.counted and run.counted.causes:
            notes.append(f"  {run.client}, round {run.round + 1}: {run.counted.causes}")
    if compared := [run for run in runs if run.body_bytes and run.counted]:
        shares = [ranged(spread([run.metric(name) or 0 for run in compared]))
                  for name in ("goodput_mb_per_s", "client_share", "server_idle")]  # fmt: skip
        notes.append("  every body compared: {} MB/s; the client's core {}, the server's idle {}"
                     .format(*shares))  # fmt: skip
    noisy = [run for run in runs if run.other_cpu_share > OTHERS_MAX]
    if noisy:
        worst = max(run.other_cpu_share for run in noisy)
        notes.append(
            f"  doubtful: in {len(noisy)} of {len(runs)} runs others took up to "
            f"{worst:.0%} of a core; end them and measure again"
        )
    return "\n".join([f"{point.name}: {point.what}", *aligned(rows), *notes])


def client_row(client: str, runs: Sequence[Run], timed: bool) -> list[str]:
    rss = of_client(runs, client, "rss_bytes")
    rate = of_client(runs, client, "requests_per_s")
    user, server = of_client(runs, client, "user_us"), of_client(runs, client, "server_us")
    row = [
        client,
        ranged(of_client(runs, client, "cpu_us")),
        f"{user.median:.2f}" if user else "-",
        f"{rate.median:,.0f}" if rate else "-",
        f"{rss.median / 1e6:.1f}" if rss else "-",
    ]
    if timed:
        row += [ranged(of_client(runs, client, metric), 0) for metric in ("p50_us", "p99_us")]
    own = client == "bakeoff"
    row.append("" if own else ranged(ratios(runs, "bakeoff", client, "cpu_us")))
    row.append(f"{server.median:.2f}" if server else "-")
    row.append(str(sum(run.client == client and run.failure is None for run in runs)))
    return row


def bar_table(results: Sequence[Judged]) -> str:
    """All bars with their marks."""
    rows = [["point", "bar", "at most", "median (min-max)", ""]]
    for result in results:
        mark = {True: "pass", False: "MISS", None: "no figure"}[result.met]
        rows.append([
            result.point, result.text, f"{result.limit:g}", ranged(result.spread), mark
        ])  # fmt: skip
    return "\n".join(aligned(rows))


def ranged(found: Spread | None, digits: int = 2) -> str:
    if found is None:
        return "-"
    if abs(found.median) >= 1000:
        digits = 0
    return f"{found.median:.{digits}f} ({found.low:.{digits}f}-{found.high:.{digits}f})"


def marked(text: str, is_good: bool) -> str:
    """A figure, with a `!` behind it where it misses its bar."""
    return text if is_good else f"{text} !"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns: text to the left in the first, figures to the right, a rule below the head."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for number, row in enumerate(rows):
        textual = [not cell[:1].isdigit() and cell[:1] != "-" for cell in rows[-1]]
        cells = [
            cell.ljust(width) if text or column == 0 else cell.rjust(width)
            for column, (cell, width, text) in enumerate(zip(row, widths, textual, strict=True))
        ]
        lines.append(("  " + "  ".join(cells)).rstrip())
        if number == 0:
            lines.append("  " + "  ".join("-" * width for width in widths))
    return lines
