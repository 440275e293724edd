"""Measures bakeoff's load engine beside its peers, and holds it to the bars of docs/performance.md.

`make perf` builds what this needs and runs it. It only ever speaks to servers of its own on the
loopback, ends only what it started, and changes nothing outside results/perf.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from types import FrameType

from harness import campaign, machine, table, truth
from harness.children import Children
from harness.clients import Client, all_clients
from harness.points import POINTS, Point
from harness.servers import ServerFailed, Stage, nginx_program

ROOT = Path(__file__).resolve().parent.parent
# With fewer rounds than these a median is shown, but a bar proves nothing.
ROUNDS_MIN = 5


def main() -> int:
    arguments = read_arguments()
    signal.signal(signal.SIGTERM, interrupted)
    allow_all_files()
    wanted, with_truth = chosen_points(arguments.points)
    help_text = help_of(arguments.bakeoff)
    clients = chosen_clients(arguments, help_text)
    server_core, client_core = chosen_cores()
    document: dict[str, object] = {
        "schema": "bakeoff.perf/1",
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": sys.argv,
        "revision": machine.revision(ROOT),
        "machine": machine.facts(),
        "cores": {"server": server_core, "client": client_core},
        "rounds": arguments.rounds,
        "seconds": arguments.seconds,
        "versions": versions(clients),
    }
    try:
        with (
            tempfile.TemporaryDirectory(prefix="bakeoff-perf-") as folder,
            Children(arguments.tools / "launch") as children,
        ):
            stage = Stage(children, arguments.tools, arguments.bakeoff, Path(folder), server_core)
            results = measure_points(wanted, clients, stage, client_core, arguments, document)
            claims = []
            if with_truth:
                engine = truth.Engine(arguments.bakeoff, children, client_core)
                claims = test_truth(engine, stage, arguments, document)
    except KeyboardInterrupt:
        say("interrupted: the record holds what was measured")
        store(document, arguments.out)
        return 130
    except ServerFailed as error:
        say(f"failed: {error}")
        return 1
    store(document, arguments.out)
    return closing(results, claims, arguments)


def read_arguments() -> argparse.Namespace:
    names = ", ".join(point.name for point in POINTS)
    parser = argparse.ArgumentParser(
        prog="perf/run.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"points: {names}, truth",
    )
    parser.add_argument("--points", default="all", help="names with commas; default: all")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each client at a point")
    parser.add_argument("--seconds", type=float, default=8.0, help="length of a run")
    parser.add_argument("--clients-only", default="", help="names with commas: only these")
    parser.add_argument("--truth-seconds", type=float, default=30.0, help="length of truth runs")
    parser.add_argument("--truth-only", default="", help="truth tests by name, with commas")
    parser.add_argument("--bakeoff", type=Path, default=ROOT / "target/release/bakeoff")
    parser.add_argument("--tools", type=Path, default=ROOT / ".bench/perf")
    parser.add_argument("--out", type=Path, default=ROOT / "results/perf")
    parser.add_argument("--strict", action="store_true", help="exit with 3 when a bar is missed")
    arguments = parser.parse_args()
    if arguments.rounds < 1 or arguments.seconds <= 0 or arguments.truth_seconds <= 0:
        parser.error("rounds and seconds must be more than zero")
    if not arguments.bakeoff.exists():
        parser.error(f"{arguments.bakeoff} is not there: build it with `make build`")
    if not (arguments.tools / "launch").exists():
        parser.error(f"{arguments.tools}/launch is not there: run `make perf-tools`")
    return arguments


def chosen_points(text: str) -> tuple[list[Point], bool]:
    """The points named, and whether truth is among them."""
    if text == "all":
        return list(POINTS), True
    names = [name for name in text.split(",") if name]
    known = {point.name: point for point in POINTS}
    for name in names:
        if name not in known and name != "truth":
            sys.exit(f"perf/run.py: there is no point {name}; there are {', '.join(known)}, truth")
    return [known[name] for name in names if name in known], "truth" in names


def chosen_clients(arguments: argparse.Namespace, help_text: str) -> list[Client]:
    clients = all_clients(arguments.bakeoff.resolve(), help_text, arguments.tools)
    only = [name for name in arguments.clients_only.split(",") if name]
    for name in only:
        if name not in {client.name for client in clients}:
            known = ", ".join(client.name for client in clients)
            sys.exit(f"perf/run.py: there is no client {name}; there are {known}")
    return [client for client in clients if not only or client.name in only]


def chosen_cores() -> tuple[int, int]:
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        say("one core only: server and client share it, and figures say little")
    return cores[0], cores[-1] if len(cores) < 2 else cores[1]


def measure_points(
    points: list[Point],
    clients: list[Client],
    stage: Stage,
    core: int,
    arguments: argparse.Namespace,
    document: dict[str, object],
) -> list[table.Judged]:
    """Measures point by point, shows each table as it is complete, and fills the document."""
    runs: list[dict[str, object]] = []
    skips: list[dict[str, object]] = []
    bars: list[dict[str, object]] = []
    document |= {"runs": runs, "skipped": skips, "bars": bars}
    results: list[table.Judged] = []
    for point in points:
        able, skipped = campaign.contenders(point, clients)
        skips += [asdict(skip) for skip in skipped]

        def told(run: campaign.Run) -> None:
            runs.append(run.document())
            cost = run.metric("cpu_us")
            figure = f"{cost:.2f} µs a request" if cost is not None else str(run.failure)
            say(f"{run.point} round {run.round + 1}/{arguments.rounds} {run.client}: {figure}")

        measured = campaign.measure(
            point, able, stage, core, arguments.rounds, arguments.seconds, told
        )
        print("\n" + table.point_table(point, measured, skipped) + "\n", flush=True)
        of_point = table.judged(point, measured)
        bars += [asdict(result) for result in of_point]
        results += of_point
    return results


def test_truth(
    engine: truth.Engine, stage: Stage, arguments: argparse.Namespace, document: dict[str, object]
) -> list[truth.Claim]:
    claims: list[truth.Claim] = []
    only = [name for name in arguments.truth_only.split(",") if name]
    for test in truth.TESTS:
        if only and test.__name__ not in only:
            continue
        say(f"truth: {test.__name__}")
        claims += test(engine, stage, arguments.truth_seconds)
        document["truth"] = [asdict(claim) for claim in claims]
    return claims


def closing(
    results: list[table.Judged], claims: list[truth.Claim], arguments: argparse.Namespace
) -> int:
    """Prints the bars; the exit code follows them only when that was asked for."""
    if results:
        print("bars, median of the figure in each round\n" + table.bar_table(results) + "\n")
    if claims:
        rows = [["test", "what", "expected", "reported", ""]]
        for claim in claims:
            mark = {True: "pass", False: "MISS", None: "no figure"}[claim.met]
            rows.append([claim.test, claim.text, claim.expected, claim.reported, mark])
        print("truth\n" + "\n".join(table.aligned(rows)) + "\n")
    if results and arguments.rounds < ROUNDS_MIN:
        print(f"{arguments.rounds} rounds: too few for the bars to mean anything")
    marks = [result.met for result in results] + [claim.met for claim in claims]
    missed = False in marks
    return 3 if missed and arguments.strict else 0


def store(document: dict[str, object], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    moment = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H%M%SZ")
    path = folder / f"{moment}.json"
    path.write_text(json.dumps(document, indent=1) + "\n")
    say(f"raw data in {path}")


def versions(clients: list[Client]) -> dict[str, str | None]:
    found = {client.name: client.version() for client in clients}
    try:
        found["nginx"] = machine.version([nginx_program(), "-v"])
    except ServerFailed:
        found["nginx"] = None
    return found | {"openssl": machine.version(["openssl", "version"])}


def help_of(program: Path) -> str:
    made = subprocess.run(
        [str(program), "load", "--help"], capture_output=True, text=True, timeout=10, check=False
    )
    return made.stdout


def allow_all_files() -> None:
    """10,000 connections need as many open files; children inherit the limit."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def interrupted(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
