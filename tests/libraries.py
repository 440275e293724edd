#!/usr/bin/env python3
"""Runs the tests of every crate but the program's own, as `cargo test` does, but two at once.

Many of these tests wait, for a server or a silence, and cargo runs one test program after the
other, so that a machine is idle for much of the time. Options are those of `cargo test`:
    tests/libraries.py --locked

Prints what each program printed, once it has ended. Leaves with 1 if one failed or took too long.
"""

import json
import os
import shlex
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARGO = shlex.split(os.environ.get("CARGO", "cargo"))
TEST = [*CARGO, "test", "--workspace", "--exclude", "bakeoff"]
AT_ONCE = 2
# The longest takes a minute or so. One that hangs is to fail here, not where all tests are ended.
LONGEST_S = 900


@dataclass(frozen=True)
class Program:
    """A test program that cargo has built."""

    file: str
    source: Path
    crate: Path

    @property
    def name(self) -> str:
        return str(self.source.relative_to(ROOT))


def build(options: list[str]) -> list[Program]:
    """Compiles all tests. Leaves as cargo does where one does not compile."""
    command = [*TEST, *options, "--no-run", "--message-format", "json-render-diagnostics"]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if built.returncode != 0:
        sys.exit(built.returncode)
    messages = [json.loads(line) for line in built.stdout.splitlines() if line.startswith("{")]
    return [
        Program(
            file=message["executable"],
            source=Path(message["target"]["src_path"]),
            crate=Path(message["manifest_path"]).parent,
        )
        for message in messages
        if message["reason"] == "compiler-artifact"
        and message["profile"]["test"]
        and message["executable"]
    ]


def environment() -> dict[str, str]:
    """What cargo would set: the tests' programs are not started by it."""
    settings = tomllib.loads((ROOT / ".cargo/config.toml").read_text())
    return {**os.environ, **settings["env"]}


def run(program: Program, variables: dict[str, str]) -> tuple[bool, str]:
    """Whether all its tests passed, and what it printed."""
    try:
        ended = subprocess.run(
            [program.file],
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


def main() -> int:
    options = sys.argv[1:]
    programs = build(options)
    if not programs:
        print("cargo built no test program: there is nothing that could fail", file=sys.stderr)
        return 1
    variables = environment()
    failed = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        ends = {pool.submit(run, program, variables): program for program in programs}
        try:
            for end in as_completed(ends):
                passed, printed = end.result()
                print(f"     Running {ends[end].name}\n{printed}", end="", flush=True)
                if not passed:
                    failed.append(ends[end].name)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            return 130
    if failed:
        print("failed: " + ", ".join(sorted(failed)), file=sys.stderr)
        return 1
    documents = subprocess.run([*TEST, *options, "--doc"], cwd=ROOT, check=False)
    return documents.returncode


if __name__ == "__main__":
    sys.exit(main())
