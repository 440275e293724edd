"""Facts of the machine, versions of programs, and processor time that belongs to nobody here."""

from __future__ import annotations

import os
import platform
import re
import resource
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path


def facts() -> dict[str, object]:
    """What a reader of the figures must know of the machine; no name of a host or user."""
    return {
        "processor": field_of(Path("/proc/cpuinfo"), "model name"),
        "cores": os.cpu_count(),
        "cores_allowed": sorted(os.sched_getaffinity(0)),
        "memory": field_of(Path("/proc/meminfo"), "MemTotal"),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "system": field_of(Path("/etc/os-release"), "PRETTY_NAME", "=").strip('"'),
        "virtual": "hypervisor" in field_of(Path("/proc/cpuinfo"), "flags").split(),
        "open_files_max": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        "load_average": os.getloadavg(),
        "python": platform.python_version(),
    }


def field_of(path: Path, name: str, separator: str = ":") -> str:
    """The first value of a `name: value` file; empty when there is none."""
    try:
        for line in path.read_text().splitlines():
            key, found, value = line.partition(separator)
            if found and key.strip() == name:
                return value.strip()
    except OSError:
        pass
    return ""


def version(command: Sequence[str]) -> str | None:
    """The first line that holds a version, or None when the program is not here."""
    if shutil.which(command[0]) is None:
        return None
    try:
        made = subprocess.run(
            list(command), capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    for line in (made.stdout + made.stderr).splitlines():
        if re.search(r"\d+\.\d+", line):
            return line.strip()
    return None


def revision(folder: Path) -> str | None:
    """The commit of the sources, with a mark when they were changed since."""
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12"]
    made = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    return made.stdout.strip() or None


def busy_s() -> float:
    """Processor time that all cores together have spent on something, in seconds."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    user, nice, system, _idle, _iowait, interrupts, soft_interrupts = map(int, fields[:7])
    return (user + nice + system + interrupts + soft_interrupts) / os.sysconf("SC_CLK_TCK")


def idle_s(core: int) -> float:
    """Time in which one core had nothing to do, in seconds."""
    lines = Path("/proc/stat").read_text().splitlines()
    fields = next(line.split()[1:] for line in lines if line.startswith(f"cpu{core} "))
    return (int(fields[3]) + int(fields[4])) / os.sysconf("SC_CLK_TCK")
