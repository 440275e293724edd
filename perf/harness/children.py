"""Child processes: started in groups of their own, bounded in time, ended by their own ids.

Nothing here knows what the children do. No child outlives the `Children` that started it: each
leads a process group, and leaving the `with` block, by whatever way, ends every group.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

Environment = dict[str, str]
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Finished:
    """What a bounded program left behind: output, status, and what it used."""

    command: list[str]
    output: str
    errors: str
    status: int
    user_s: float
    system_s: float
    rss_bytes: int
    wall_s: float
    timed_out: bool

    @property
    def cpu_s(self) -> float:
        return self.user_s + self.system_s


class Children:
    """All the processes of a run of the harness, and the only one who ends them."""

    def __init__(self, launcher: Path) -> None:
        self._launcher = launcher
        self._running: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Children:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for child in list(self._running):
            self.stop(child)

    def start(
        self, command: Sequence[str], core: int, output: Path | None = None
    ) -> subprocess.Popen[str]:
        """Starts a server on one core; its output goes to a file, or to a pipe without one."""

        def prepare() -> None:
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
            os.sched_setaffinity(0, {core})

        target = open(output, "w") if output else None
        try:
            child = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=target or subprocess.PIPE,
                stderr=subprocess.STDOUT if target else None,
                text=True,
                start_new_session=True,
                preexec_fn=prepare,
            )
        finally:
            if target:
                target.close()
        self._running.append(child)
        return child

    def stop(self, child: subprocess.Popen[str]) -> None:
        """Ends a child's whole group: asks first, insists after two seconds."""
        if child in self._running:
            self._running.remove(child)
        for number, patience_s in ((signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0)):
            signal_group(child.pid, number)
            # A frozen process takes no signal but these two.
            signal_group(child.pid, signal.SIGCONT)
            try:
                child.wait(patience_s)
            except subprocess.TimeoutExpired:
                continue
            if not group_lives(child.pid, 0.5):
                break
        if child.stdout:
            child.stdout.close()

    def run(
        self,
        command: Sequence[str],
        core: int,
        timeout_s: float,
        text_in: str | None = None,
        prepare: Callable[[], None] | None = None,
        meanwhile: Callable[[subprocess.Popen[str]], None] | None = None,
    ) -> Finished:
        """Runs one program on one core to its end, or ends it after `timeout_s`.

        `prepare` runs in the new process before the program does, `meanwhile` here beside it.
        """
        report_in, report_out = os.pipe()
        child: subprocess.Popen[str] | None = None
        try:
            child = subprocess.Popen(
                [str(self._launcher), str(core), str(report_out), *command],
                stdin=subprocess.PIPE if text_in is not None else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
                pass_fds=[report_out],
                preexec_fn=prepare,
            )
            self._running.append(child)
            os.close(report_out)
            report_out = -1
            return self._awaited(child, list(command), report_in, timeout_s, text_in, meanwhile)
        finally:
            os.close(report_in)
            if report_out >= 0:
                os.close(report_out)
            if child is not None and child in self._running:
                self.stop(child)

    def _awaited(
        self,
        child: subprocess.Popen[str],
        command: list[str],
        report_in: int,
        timeout_s: float,
        text_in: str | None,
        meanwhile: Callable[[subprocess.Popen[str]], None] | None,
    ) -> Finished:
        timed_out = False
        if meanwhile:
            meanwhile(child)
        try:
            output, errors = child.communicate(text_in, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            timed_out = True
            signal_group(child.pid, signal.SIGKILL)
            output, errors = child.communicate(timeout=10)
        self._running.remove(child)
        user_us, system_us, rss_kib, wall_us, status = usage_of(report_in)
        return Finished(
            command=command,
            output=output,
            errors=errors,
            status=status,
            user_s=user_us / 1e6,
            system_s=system_us / 1e6,
            rss_bytes=rss_kib * 1024,
            wall_s=wall_us / 1e6,
            timed_out=timed_out,
        )


def usage_of(report_in: int) -> tuple[int, int, int, int, int]:
    """The launcher's report; zeros and status 137 when it was ended before it could write one."""
    words = os.read(report_in, 4096).split()
    if len(words) != 5:
        return (0, 0, 0, 0, 137)
    user_us, system_us, rss_kib, wall_us, status = (int(word) for word in words)
    return (user_us, system_us, rss_kib, wall_us, status)


def signal_group(leader: int, number: signal.Signals) -> None:
    """Signals one of our own groups; a group that is gone already is no error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def group_lives(leader: int, patience_s: float) -> bool:
    """Whether members of a group are still there after `patience_s` at the most."""
    end = time.monotonic() + patience_s
    while True:
        try:
            os.killpg(leader, 0)
        except (ProcessLookupError, PermissionError):
            return False
        if time.monotonic() > end:
            return True
        time.sleep(0.01)


def children_of(parent: int) -> list[int]:
    """Direct children of a process, read from /proc."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            fields = stat_fields(int(entry.name))
            if fields and int(fields[1]) == parent:
                found.append(int(entry.name))
    return sorted(found)


def stat_fields(process: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on; empty when the process is gone."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return []
    return text[text.rindex(")") + 2 :].split()


def cpu_s_of(processes: Sequence[int]) -> float:
    """User and system time of processes so far, in seconds, to a clock tick."""
    ticks = 0
    for process in processes:
        fields = stat_fields(process)
        if fields:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
