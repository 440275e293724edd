#!/usr/bin/env python3
"""Builds the tests as `cargo test` does, and runs several test programs at once.

    tests/run.py            all of them
    tests/run.py --quick    unit tests, rules, replayed inputs and invented campaigns
    tests/run.py --build FILE    compiles all of them, and lists them in FILE
    tests/run.py --built FILE    runs those, without waiting for a cargo that works beside it

Many tests wait: for a server, a silence, their turn. cargo runs one test program after the other,
so a machine would be idle for much of the time. Prints what each program printed, once it has
ended, and at last how many tests there were. Leaves with 1 if one failed or took too long.

A few tests of real servers need a share of the machine that the others, a compiler, or a neighbour
on a shared machine may not leave them. Up to AGAIN_MOST of those that failed are tried again, alone,
AGAIN_TRIES times: who fails one of these has failed. Their names are printed last, so that they are
repaired; `--once` tries nothing again.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEST = [*shlex.split(os.environ.get("CARGO", "cargo")), "test", "--workspace", "--locked"]
QUICK = ["--lib", "--bins", *(f"--test={name}" for name in ("tidy", "replay", "campaigns"))]
# The end-to-end tests take longest and mostly wait: they begin first, on threads of their own
# number. tests/e2e/support/turns.rs says how many of them have processes at a time.
LONG = {"e2e": "48"}
AT_ONCE = 3
# One that hangs is to fail here, not where all tests are ended.
LONGEST_S = 2_400
# Programs whose tests start servers.
OF_SERVERS = ("e2e", "it")
AGAIN_MOST = 3
AGAIN_TRIES = 2
FAILED = re.compile(r"^test (\S+) \.\.\. FAILED$", re.MULTILINE)
COUNTS = re.compile(r"^test result: .*?(\d+) passed; (\d+) failed; (\d+) ignored", re.MULTILINE)


@dataclass(frozen=True)
class Program:
    """A test program that cargo has built."""

    file: str
    name: str
    source: Path
    crate: Path


def build(options: list[str]) -> str:
    """Compiles the tests, and returns cargo's list of them. Leaves as cargo does where one does
    not compile."""
    command = [*TEST, *options, "--no-run", "--message-format", "json-render-diagnostics"]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if built.returncode != 0:
        sys.exit(built.returncode)
    return built.stdout


def programs_of(listed: str) -> list[Program]:
    """The test programs in cargo's list."""
    messages = [json.loads(line) for line in listed.splitlines() if line.startswith("{")]
    programs = [
        Program(
            file=message["executable"],
            name=message["target"]["name"],
            source=Path(message["target"]["src_path"]).relative_to(ROOT),
            crate=Path(message["manifest_path"]).parent,
        )
        for message in messages
        if message["reason"] == "compiler-artifact"
        and message["profile"]["test"]
        and message["executable"]
    ]
    return sorted(programs, key=lambda program: program.name not in LONG)


def environment() -> dict[str, str]:
    """What cargo would set: the tests' programs are not started by it."""
    settings = tomllib.loads((ROOT / ".cargo/config.toml").read_text())
    return {**os.environ, **settings["env"]}


def run(program: Program, variables: dict[str, str], options: list[str]) -> tuple[bool, str]:
    """Whether all its tests passed, and what it printed."""
    if program.name in LONG:
        variables = {**variables, "RUST_TEST_THREADS": LONG[program.name]}
    try:
        ended = subprocess.run(
            [program.file, *options],
            cwd=program.crate,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        printed = (late.stdout or b"").decode(errors="replace")
        return False, f"{printed}\nended after {LONGEST_S} s: a test hangs\n"
    return ended.returncode == 0, ended.stdout


def run_all(programs: list[Program]) -> Iterator[tuple[Program, bool, str]]:
    """Runs them, and yields each as it ends."""
    variables = environment()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        ends = {pool.submit(run, program, variables, []): program for program in programs}
        try:
            for end in as_completed(ends):
                yield ends[end], *end.result()
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            sys.exit(130)


def passed_alone(failures: list[tuple[Program, list[str]]]) -> list[str]:
    """The tests among these that pass each try with nothing beside them; none if there are more
    than a busy machine explains."""
    if sum(len(names) for _, names in failures) > AGAIN_MOST:
        return []
    passed = []
    variables = environment()
    for program, names in failures:
        for name in names if program.name in OF_SERVERS else []:
            tries = (run(program, variables, ["--exact", name]) for _ in range(AGAIN_TRIES))
            if all(has_passed for has_passed, _ in tries):
                passed.append(name)
    return passed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="without what takes minutes")
    parser.add_argument("--once", action="store_true", help="try no test again")
    parser.add_argument("--build", type=Path, help="compile them, and list them in this file")
    parser.add_argument("--built", type=Path, help="a list that --build has written")
    flags = parser.parse_args()
    if flags.build:
        flags.build.write_text(build([]))
        return 0
    listed = flags.built.read_text() if flags.built else build(QUICK if flags.quick else [])
    programs = programs_of(listed)
    if not programs:
        print("cargo built no test program: there is nothing that could fail", file=sys.stderr)
        return 1
    counts = [0, 0, 0]
    failures = []
    for program, has_passed, printed in run_all(programs):
        print(f"     Running {program.source}\n{printed}", end="", flush=True)
        for found in COUNTS.findall(printed):
            counts = [count + int(one) for count, one in zip(counts, found, strict=True)]
        if not has_passed:
            failures.append((program, FAILED.findall(printed)))
    alone = [] if flags.once else passed_alone(failures)
    passed, failed, ignored = counts
    for name in alone:
        print(f"failed beside others, passed {AGAIN_TRIES} times alone: {name}")
    print(f"tests: {passed + len(alone)} passed, {failed - len(alone)} failed, {ignored} skipped")
    # A program without names did not end as tests end.
    failed_programs = [
        str(program.source)
        for program, names in failures
        if not names or set(names) - set(alone)
    ]
    if failed_programs:
        print("failed: " + ", ".join(sorted(failed_programs)), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
