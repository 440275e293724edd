#!/usr/bin/env python3
"""The engine against servers that want to do harm, measured: `bakeoff load` and `hostile`, the
servers of tests/e2e as a program. It judges times, which the tests do not.

    cargo build --release -p bakeoff --bin bakeoff --example hostile
    python3 perf/hostile.py                                everything: about eight minutes
    python3 perf/hostile.py --parts floods,silent --protocols h2c,h2
    python3 perf/hostile.py --bakeoff OLD/bakeoff          another one, by the same servers

Two cores: the engine has the first one, the servers have the second one.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from harness.table import aligned, marked

PARTS = ["floods", "beside", "edges", "silent"]
PROTOCOLS = ["h1", "h1-tls", "h2c", "h2"]
# What a load may take beyond its duration: to end, and to let what is in flight come in.
BEYOND_MS_MAX = 250 + 250
INTERRUPTED_MS_MAX = 250
RSS_MB_MAX = 64
SHARE_MIN = 0.90
EDGE_REQUESTS = 1000
SILENT_CLIENTS = 9900
# Longer than any load here may take beyond its duration; then it is killed.
PATIENCE_S = 5

# The outcomes that are right at an edge; of "early" and "goaway" all but these are.
RIGHT = {
    "busy": {"status"},
    "fin": {"closed_early"},
    "reset": {"reset"},
    "reset-in-body": {"reset"},
}
WRONG = {"early": {"ok"}, "goaway": {"ok", "timeout"}}


def right_at(edge, protocol, outcomes):
    """How many of these outcomes are right."""
    if edge == "garbage":
        right = {"tls"} if protocol in ("h1-tls", "h2") else {"protocol"}
    else:
        right = RIGHT.get(edge) or set(outcomes) - WRONG[edge]
    return sum(count for name, count in outcomes.items() if name in right)


class Server:
    """A hostile server, for as long as a `with`."""

    def __init__(self, options, protocol, act):
        command = ["taskset", "-c", str(options.server_core), options.server, protocol, act]
        self.child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        scheme = "https" if protocol in ("h1-tls", "h2") else "http"
        self.url = f"{scheme}://{self.child.stdout.readline().strip()}/"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        try:
            self.child.wait(5)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


class Run:
    """What a load came to."""

    def __init__(self, wall_s, status, result, rss_kb):
        self.wall_s = wall_s
        self.was_killed = os.WIFSIGNALED(status)
        self.result = result
        rss = result["engine"]["rss_bytes_max"] / 1024 if result else rss_kb
        self.rss_mb = rss / 1024

    def outcomes(self):
        outcomes = self.result["outcomes"] if self.result else {}
        return {name: count for name, count in outcomes.items() if count}

    def ok(self):
        return self.outcomes().get("ok", 0)

    def is_accounted(self):
        if not self.result:
            return False
        requests = self.result["requests"]
        return (
            requests["started"] == requests["completed"] + requests["in_flight_at_end"]
            and requests["completed"] == sum(self.outcomes().values())
        )


def load(options, protocol, server, flags, seconds, interrupt_s=None):
    """Runs a load that should take so many seconds; `interrupt_s` sends SIGINT by then, and the
    time is what follows it."""
    spoken = {"h1-tls": "h1"}.get(protocol, protocol)
    command = ["nice", "-n", str(options.nice)] if options.nice else []
    command += ["taskset", "-c", str(options.engine_core), options.bakeoff, "load", server.url]
    command += ["--json", "--protocol", spoken]
    command += ["-k"] if server.url.startswith("https") else []
    with tempfile.TemporaryFile() as output:
        begin = time.monotonic()
        child = subprocess.Popen(
            command + flags, stdout=output, stderr=subprocess.DEVNULL, start_new_session=True
        )
        # A timer that ends what does not end; the child is not waited for anywhere else.
        killer = threading.Timer(seconds + PATIENCE_S, child.kill)
        killer.start()
        if interrupt_s is not None:
            time.sleep(interrupt_s)
            begin = time.monotonic()
            os.kill(child.pid, signal.SIGINT)
        _, status, usage = os.wait4(child.pid, 0)
        wall_s = time.monotonic() - begin
        killer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    try:
        result = json.loads(text)
    except ValueError:
        result = None
    return Run(wall_s, status, result, usage.ru_maxrss)


def in_ms(run, expected_s):
    """Milliseconds beyond what was expected, as text."""
    beyond = round((run.wall_s - expected_s) * 1000)
    return beyond, (f"killed after {beyond}" if run.was_killed else str(beyond))


def table(title, heads, rows):
    print(f"\n{title}")
    print("\n".join(aligned([[str(cell) for cell in row] for row in [heads] + rows])))
    sys.stdout.flush()


def acts(options, protocol, kind):
    """The names of a protocol's acts of a kind, as the server prints them."""
    words = [line.split() for line in options.acts]
    names = [act for of, act in words if of == protocol and act.startswith(kind + ":")]
    return [name.split(":", 1)[1] for name in names]


def floods(options):
    rows = []
    for protocol in options.protocols:
        for flood in acts(options, protocol, "flood"):
            flags = ["-c", "4", "-t", "1", "-d", f"{options.seconds}s", "--timeout", "30s"]
            with Server(options, protocol, f"flood:{flood}") as server:
                run = load(options, protocol, server, flags, options.seconds)
            flags[flags.index("-d") + 1] = "30s"
            with Server(options, protocol, f"flood:{flood}") as server:
                ended = load(options, protocol, server, flags, 2, interrupt_s=1)
            beyond, beyond_text = in_ms(run, options.seconds)
            after, after_text = in_ms(ended, 0)
            rss = max(run.rss_mb, ended.rss_mb)
            rows.append([
                f"{protocol} {flood}",
                marked(beyond_text, beyond <= BEYOND_MS_MAX),
                marked(after_text, after <= INTERRUPTED_MS_MAX),
                marked(f"{rss:.0f}", rss < RSS_MB_MAX),
                marked("yes" if run.is_accounted() else "no", run.is_accounted()),
                json.dumps(run.outcomes()),
            ])
    heads = ["flood", "ms beyond -d", "ms after Ctrl-C", "RSS MB", "accounted", "outcomes"]
    table(f"Floods on 4 connections, -d {options.seconds}s", heads, rows)


def beside(options):
    flags = ["-c", "2", "-t", "1", "-d", f"{options.seconds}s", "--timeout", "30s"]
    rows = []
    for protocol in options.protocols:
        for flood in acts(options, protocol, "flood"):
            alone, flooded, runs = [], [], []
            for _ in range(options.rounds):
                for act, answers in [("silence", alone), (flood, flooded)]:
                    with Server(options, protocol, f"beside:{act}") as server:
                        runs.append(load(options, protocol, server, flags, options.seconds))
                    answers.append(runs[-1].ok() / max(runs[-1].wall_s, options.seconds))
            share = statistics.median(flooded) / max(statistics.median(alone), 1e-9)
            beyond = max(in_ms(run, options.seconds) for run in runs)
            rss = max(run.rss_mb for run in runs)
            rows.append([
                f"{protocol} {flood}",
                f"{statistics.median(alone):.0f}",
                f"{statistics.median(flooded):.0f}",
                marked(f"{share * 100:.0f} %", share >= SHARE_MIN),
                marked(beyond[1], beyond[0] <= BEYOND_MS_MAX),
                marked(f"{rss:.0f}", rss < RSS_MB_MAX),
            ])
    heads = ["flood on one connection", "ok/s alone", "ok/s beside", "share", "ms beyond -d",
             "RSS MB"]
    title = "An answer after 1 ms beside a flood, 2 connections on one thread, medians of "
    table(title + f"{options.rounds}", heads, rows)


def edges(options):
    rows = []
    for protocol in options.protocols:
        versions = ["1.2", "1.3"] if protocol in ("h1-tls", "h2") else [None]
        for version in versions:
            for edge in acts(options, protocol, "edge"):
                # What nobody asked for is seen only while nothing is in flight.
                if edge == "unasked" or (edge, protocol) == ("early", "h1"):
                    continue
                flags = ["-n", str(EDGE_REQUESTS), "-c", "10", "-t", "1", "-d", "20s"]
                flags += ["--timeout", "2s" if edge != "early" else "100ms"]
                flags += ["--tls-version", version] if version else []
                with Server(options, protocol, f"edge:{edge}") as server:
                    run = load(options, protocol, server, flags, 20)
                right = right_at(edge, protocol, run.outcomes())
                opened = run.result["connections"]["opened"] if run.result else 0
                rows.append([
                    f"{protocol} {edge}" + (f" (TLS {version})" if version else ""),
                    marked(str(right), right == EDGE_REQUESTS),
                    f"{run.wall_s * 1000:.0f}",
                    opened,
                    json.dumps(run.outcomes()),
                ])
    heads = ["edge", f"right of {EDGE_REQUESTS}", "ms", "connections", "outcomes"]
    table("Connections that end or speak at an edge", heads, rows)


def silent(options):
    rows = []
    for seconds, timeout, interrupt_s, most in [
        (4, "2s", None, 500),
        (60, "60s", 3, INTERRUPTED_MS_MAX),
    ]:
        flags = ["-c", str(SILENT_CLIENTS), "-t", "1", "-d", f"{seconds}s", "--timeout", timeout]
        with Server(options, "h1", "silent") as server:
            run = load(options, "h1", server, flags, interrupt_s or seconds, interrupt_s)
        beyond, beyond_text = in_ms(run, 0 if interrupt_s else seconds)
        rows.append([
            "Ctrl-C at 3 s" if interrupt_s else f"-d {seconds}s --timeout {timeout}",
            marked(beyond_text, beyond <= most),
            f"{run.rss_mb:.0f}",
            marked("yes" if run.is_accounted() else "no", run.is_accounted()),
            json.dumps(run.result["requests"] if run.result else {}),
            json.dumps(run.outcomes()),
        ])
    heads = ["end", "ms beyond it", "RSS MB", "accounted", "requests", "outcomes"]
    table(f"{SILENT_CLIENTS} connections that say nothing", heads, rows)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    split = lambda text: text.split(",")
    parser.add_argument("--bakeoff", default="target/release/bakeoff")
    parser.add_argument("--server", default="target/release/examples/hostile")
    parser.add_argument("--parts", type=split, default=PARTS, help=",".join(PARTS))
    parser.add_argument("--protocols", type=split, default=PROTOCOLS, help=",".join(PROTOCOLS))
    parser.add_argument("--seconds", type=int, default=2, help="of a flood")
    parser.add_argument("--rounds", type=int, default=3, help="beside a flood, and alone")
    parser.add_argument("--nice", type=int, default=0, help="of the engine, on a busy machine")
    parser.add_argument("--engine-core", type=int, default=0)
    parser.add_argument("--server-core", type=int, default=1)
    options = parser.parse_args()
    for path in (options.bakeoff, options.server):
        if not os.path.exists(path):
            parser.error(f"{path} is not there: build it, as --help tells")
    options.acts = subprocess.check_output([options.server], text=True).splitlines()
    version = subprocess.check_output([options.bakeoff, "--version"], text=True).strip()
    print(f"{version} at {options.bakeoff}; ! marks what is beyond its bar")
    for part in options.parts:
        {"floods": floods, "beside": beside, "edges": edges, "silent": silent}[part](options)


if __name__ == "__main__":
    main()
