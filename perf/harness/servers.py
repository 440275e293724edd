"""The servers that clients are measured against: nginx, the yardstick, and known delays.

Each is pinned to the server's core, listens on a port of the system's choice on 127.0.0.1, and
is started afresh for each round. Configurations are as plain as the question allows: one
worker, no access log, connections kept for as long as the client likes.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.children import Children, children_of, cpu_s_of, signal_group

HOST = "127.0.0.1"
SMALL_BYTES = 4_608
LARGE_BYTES = 289_812
NGINX_FALLBACKS = ("/usr/sbin/nginx", "/usr/local/sbin/nginx")

NGINX_CONFIGURATION = """\
daemon off;
worker_processes 1;
{user}pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
worker_rlimit_nofile {files};
events {{
    worker_connections {connections};
}}
http {{
    access_log off;
    default_type text/html;
    sendfile on;
    tcp_nopush on;
    keepalive_timeout 3600s;
    keepalive_requests 1000000000;
    http2_max_concurrent_streams 128;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} backlog=16384{protocol};
        listen 127.0.0.1:{status_port};
        root {folder}/html;
{tls_settings}{quic}{synthetic}        location = /status {{
            stub_status;
        }}
    }}
}}
"""

SYNTHETIC = """\
        location = /synthetic {
            default_type text/plain;
            return 200 "Hello, world!";
        }
"""

# Segmentation by the kernel, as in a configuration that is made for speed.
QUIC_SETTINGS = """\
        listen 127.0.0.1:{port} quic reuseport;
        http3_max_concurrent_streams 128;
        quic_gso on;
        open_file_cache max=10;
"""

CADDY_CONFIGURATION = """\
{{
    admin 127.0.0.1:{admin}
    persist_config off
    storage file_system {folder}/storage
    auto_https off
    metrics
    servers {{
        protocols h1 h2 h3
    }}
}}
https://127.0.0.1:{port} {{
    bind 127.0.0.1
    tls {folder}/certificate.pem {folder}/key.pem
    respond /synthetic "Hello, world!"
    root * {folder}/html
    file_server
}}
"""

# One cipher suite and one group, so that all clients pay for the same handshake. No session is
# kept: clients differ in whether they resume, and a handshake shall be a whole one here.
TLS_SETTINGS = """\
        ssl_certificate {folder}/certificate.pem;
        ssl_certificate_key {folder}/key.pem;
        ssl_protocols TLSv1.3;
        ssl_conf_command Ciphersuites TLS_AES_256_GCM_SHA384;
        ssl_ecdh_curve X25519;
        ssl_session_cache off;
        ssl_session_tickets off;
"""


class ServerFailed(Exception):
    """A server could not be started; the text says which and why."""


class Server(ABC):
    """A server that is up."""

    port: int
    folder: Path = Path()
    _child: subprocess.Popen[str]

    def alive(self) -> bool:
        """Whether it still runs."""
        return self._child.poll() is None

    def restart(self, children: Children, core: int, pause_s: float) -> None:
        """Kills it, and starts it again on the same port after a pause."""
        command = self._child.args
        assert isinstance(command, list)
        signal_group(self._child.pid, signal.SIGKILL)
        self._child.wait()
        time.sleep(pause_s)
        self._child = children.start(command, core, self.folder / "again.log")

    @abstractmethod
    def processes(self) -> list[int]:
        """The processes whose time is the server's."""

    @abstractmethod
    def stop(self) -> None:
        """Ends it."""

    def requests(self) -> int:
        """Requests that it has counted so far, this question among them."""
        raise ServerFailed("this server counts no requests")

    def cpu_s(self) -> float:
        """User and system time so far, in seconds."""
        return cpu_s_of(self.processes())


@dataclass(frozen=True)
class Stage:
    """What starting a server takes."""

    children: Children
    tools: Path
    bakeoff: Path
    folder: Path
    core: int


class Nginx(Server):
    """nginx with one worker and the sites of the points."""

    def __init__(
        self, stage: Stage, tls: bool = False, h2: bool = False, h3: bool = False
    ) -> None:
        self._children = stage.children
        self._tls = tls
        self._h2 = h2
        self._h3 = h3
        self._folder = self.folder = stage.folder / f"nginx-{time.monotonic_ns()}"
        self._folder.mkdir()
        write_site(self._folder)
        if tls:
            write_certificate(self._folder)
        self.port = free_port()
        # What is asked beside the load is asked in plain HTTP/1.1, whatever the load speaks.
        self._status_port = free_port()
        configuration = self._folder / "nginx.conf"
        configuration.write_text(self._configuration())
        program = quic_nginx_program() if h3 else nginx_program()
        command = [program, "-p", str(self._folder), "-c", str(configuration)]
        self._child = stage.children.start(command, stage.core, self._folder / "output.log")
        log = self._folder / "error.log"
        await_answer(self._child, lambda: self._asked("/synthetic") != "", "nginx", log)

    def _configuration(self) -> str:
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if files == resource.RLIM_INFINITY:
            files = 65_536
        return NGINX_CONFIGURATION.format(
            folder=self._folder,
            port=self.port,
            files=files,
            connections=min(files, 16_384),
            # As root its worker would lose the right to read a folder of root's own.
            user="user root;\n" if os.getuid() == 0 else "",
            status_port=self._status_port,
            protocol=(" ssl" if self._tls else "") + (" http2" if self._h2 else ""),
            tls_settings=TLS_SETTINGS.format(folder=self._folder) if self._tls else "",
            quic=QUIC_SETTINGS.format(port=self.port) if self._h3 else "",
            # The one with HTTP/3 may be built without the module of `return`: a file does there.
            synthetic="" if self._h3 else SYNTHETIC,
        )

    def _asked(self, path: str) -> str:
        return asked(f"http://{HOST}:{self._status_port}{path}")

    def worker(self) -> int:
        """The one worker's process."""
        workers = children_of(self._child.pid)
        if len(workers) != 1:
            raise ServerFailed(f"expected one nginx worker, found {workers}")
        return workers[0]

    def requests(self) -> int:
        """Requests that nginx has counted so far, this question among them."""
        return int(self._asked("/status").splitlines()[2].split()[2])

    def processes(self) -> list[int]:
        return [self._child.pid, *children_of(self._child.pid)]

    def stop(self) -> None:
        self._children.stop(self._child)
        shutil.rmtree(self._folder, ignore_errors=True)


class Caddy(Server):
    """Caddy on one core, with HTTP/3 and a count of requests."""

    def __init__(self, stage: Stage) -> None:
        self._children = stage.children
        self.folder = stage.folder / f"caddy-{time.monotonic_ns()}"
        self.folder.mkdir()
        write_site(self.folder)
        write_certificate(self.folder)
        self.port, self._admin = free_port(), free_port()
        configuration = self.folder / "Caddyfile"
        configuration.write_text(
            CADDY_CONFIGURATION.format(folder=self.folder, port=self.port, admin=self._admin)
        )
        log = self.folder / "output.log"
        program = shutil.which("caddy")
        if program is None:
            raise ServerFailed("caddy is not on the search path: run `tests/programs.sh caddy`")
        command = [program, "run", "--adapter", "caddyfile", "--config", str(configuration)]
        self._child = stage.children.start(command, stage.core, log)
        await_answer(self._child, lambda: self._metrics() != "", "caddy", log)

    def _metrics(self) -> str:
        return asked(f"http://{HOST}:{self._admin}/metrics")

    def requests(self) -> int:
        lines = self._metrics().splitlines()
        name = 'caddy_http_request_duration_seconds_count{'
        counts = [line for line in lines if line.startswith(name) and '"subroute"' in line]
        # Its own question is not among them, as the callers think it is.
        return round(sum(float(line.rsplit(" ", 1)[1]) for line in counts)) + 1

    def processes(self) -> list[int]:
        return [self._child.pid]

    def stop(self) -> None:
        self._children.stop(self._child)
        shutil.rmtree(self.folder, ignore_errors=True)


class Printing(Server):
    """A server of this project that prints the address it took."""

    def __init__(self, stage: Stage, command: list[str], log_name: str) -> None:
        self._children = stage.children
        log = stage.folder / f"{log_name}-{time.monotonic_ns()}.log"
        self._child = stage.children.start(command, stage.core, log)
        await_answer(self._child, lambda: "listening " in log.read_text(), log_name, log)
        first = next(line for line in log.read_text().splitlines() if "listening " in line)
        self.port = int(first.rsplit(":", 1)[-1].split()[-1])

    def processes(self) -> list[int]:
        return [self._child.pid]

    def stop(self) -> None:
        self._children.stop(self._child)


def yardstick(stage: Stage) -> Server:
    """bakeoff's own null server."""
    command = [str(stage.bakeoff), "yardstick", "--threads", "1", "--pin", str(stage.core)]
    return Printing(stage, command, "yardstick")


def known_delays(stage: Stage) -> Server:
    """5 ms for 99 requests of 100 and 50 ms for one, met by a server that never sleeps."""
    command = [str(stage.tools / "delay"), "0", "5000", "50000", "100", "spin"]
    return Printing(stage, command, "delay")


def nginx_program() -> str:
    """Where nginx is; the system's folder is often not on a user's PATH."""
    found = shutil.which("nginx")
    candidates = [found] if found else [path for path in NGINX_FALLBACKS if Path(path).exists()]
    if not candidates:
        raise ServerFailed("nginx is not here: install it, or run `make perf`")
    return candidates[0]


def quic_nginx_program() -> str:
    """Where an nginx with HTTP/3 is: `nginx-1.28`, as `bakeoff install` names it, or `nginx`."""
    for name in ("nginx-1.28", "nginx"):
        program = shutil.which(name)
        if program is None:
            continue
        told = subprocess.run([program, "-V"], capture_output=True, text=True, timeout=10)
        if "--with-http_v3_module" in told.stderr:
            return program
    raise ServerFailed("no nginx with http_v3_module is on the search path, as nginx-1.28 or nginx")


def asked(url: str) -> str:
    """The body of an answer; proxies of the environment have no business on the loopback."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=5) as answer:
        return str(answer.read().decode())


def write_site(folder: Path) -> None:
    """The files of the html points, of exactly the published sizes."""
    html = folder / "html"
    html.mkdir()
    (html / "synthetic").write_bytes(b"Hello, world!")
    line = b"<p>The quick brown fox jumps over the lazy dog, and is timed while it does.</p>\n"
    for name, size in (("small.html", SMALL_BYTES), ("large.html", LARGE_BYTES)):
        (html / name).write_bytes((line * (size // len(line) + 1))[:size])


def write_certificate(folder: Path) -> None:
    """A self-signed ECDSA P-256 certificate for the loopback."""
    command = [
        *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
        *("-nodes", "-days", "2", "-subj", "/CN=localhost"),
        *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
        *("-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")),
    ]
    made = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    if made.returncode != 0:
        raise ServerFailed(f"openssl made no certificate: {made.stderr.strip()}")


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def await_answer(
    child: subprocess.Popen[str], answers: Callable[[], bool], name: str, log: Path
) -> None:
    """Waits until a server answers; raises with its own words when it does not."""
    end = time.monotonic() + 10
    while time.monotonic() < end and child.poll() is None:
        try:
            if answers():
                return
        except (OSError, ValueError):
            pass
        time.sleep(0.02)
    words = log.read_text()[-2000:] if log.exists() else ""
    raise ServerFailed(f"{name} did not answer within 10 s: {words}")
