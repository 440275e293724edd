#!/usr/bin/env python3
"""What the built-in references cost over each protocol, beside nginx on the same core.

Both are loaded in turns by the engine, the client on one processor and the servers on another;
told are requests per second and the server's processor time per request, as the kernel counts it,
handshakes and all. Everything runs on 127.0.0.1, and every process is ended by its number.
"""

import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

# Protocol, clients and requests in flight on each connection.
POINTS = [
    ("h1", 200, 1),
    ("h1-tls", 200, 1),
    ("h1-tls", 50, 1),
    ("h2", 50, 32),
    ("h2", 200, 1),
    ("h2c", 50, 32),
    ("h2c", 200, 1),
    ("h3", 50, 32),
    ("h3", 200, 1),
]
LISTEN = {
    "h1": "",
    "h1-tls": " ssl",
    "h2": " ssl http2",
    "h2c": " http2",
    "h3": " quic reuseport",
}
BODY = "Hello, world!"
NGINX = """
daemon off; master_process off; pid %(folder)s/pid; error_log %(folder)s/error.log warn;
events { worker_connections 4096; }
http {
    access_log off; keepalive_requests 1000000000; keepalive_timeout 300s; %(quic)s
    client_body_temp_path %(folder)s/body; proxy_temp_path %(folder)s/proxy;
    fastcgi_temp_path %(folder)s/fastcgi; uwsgi_temp_path %(folder)s/uwsgi;
    scgi_temp_path %(folder)s/scgi;
    server {
        listen 127.0.0.1:%(port)d%(listen)s;
        ssl_certificate %(folder)s/certificate.pem; ssl_certificate_key %(folder)s/key.pem;
        ssl_protocols TLSv1.3;
        location / { default_type text/plain; return 200 "%(body)s"; }
    }
}
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bakeoff", default="bakeoff", help="the references' program")
    parser.add_argument("--client", help="the engine's program, if it is another one")
    parser.add_argument("--nginx", default="nginx")
    parser.add_argument("--nginx-h3", default="nginx-1.28", help="one with http_v3_module")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--cores", default="0,1", help="of the client and of the servers")
    parser.add_argument("--points", help="such as h2:50:32,h3:200:1")
    parser.add_argument("--json", type=pathlib.Path, help="file for every run")
    return parser.parse_args()


def make_certificate(folder):
    files = ["-keyout", f"{folder}/key.pem", "-out", f"{folder}/certificate.pem"]
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", "req", "-x509", *curve, *files, *name], check=True,
                   capture_output=True)


def free_port(kind):
    with socket.socket(socket.AF_INET, kind) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start(name, protocol, flags, folder):
    """Starts a server and returns it with its port, once it has had time to listen."""
    port = free_port(socket.SOCK_DGRAM if protocol == "h3" else socket.SOCK_STREAM)
    if name == "nginx":
        folder = pathlib.Path(folder)
        quic = "quic_gso on; http3 on;" if protocol == "h3" else ""
        values = {"folder": folder, "port": port, "listen": LISTEN[protocol], "body": BODY,
                  "quic": quic}
        file = folder / f"nginx-{port}.conf"
        file.write_text(NGINX % values)
        program = flags.nginx_h3 if protocol == "h3" else flags.nginx
        command = [program, "-p", str(folder), "-c", str(file)]
    else:
        command = [flags.bakeoff, "yardstick", "--listen", f"127.0.0.1:{port}",
                   "--protocol", protocol, "--body-text", BODY]
        if protocol in ("h1-tls", "h2", "h3"):
            command += ["--certificate", f"{folder}/certificate.pem",
                        "--key", f"{folder}/key.pem"]
    core = flags.cores.split(",")[1]
    server = subprocess.Popen(["taskset", "-c", core, *command], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
    time.sleep(0.5)
    if server.poll() is not None:
        sys.exit(f"{' '.join(command)} ended: {server.stderr.read()}")
    return server, port


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(server, port, point, flags):
    protocol, clients, streams = point
    scheme = "http" if protocol in ("h1", "h2c") else "https"
    command = ["taskset", "-c", flags.cores.split(",")[0], flags.client or flags.bakeoff, "load",
               f"{scheme}://127.0.0.1:{port}/", "--json", "--threads", "1", "--warmup", "0s",
               "--clients", str(clients), "--streams", str(streams),
               "--protocol", "h1" if protocol == "h1-tls" else protocol,
               "--duration", f"{round(flags.seconds * 1000)}ms"]
    if scheme == "https":
        command.append("--insecure")
    before = processor_seconds(server.pid)
    ran = subprocess.run(command, capture_output=True, text=True)
    spent = processor_seconds(server.pid) - before
    if not ran.stdout:
        sys.exit(f"{' '.join(command)}: {ran.stderr}")
    result = json.loads(ran.stdout)
    ok, ended = result["outcomes"]["ok"], sum(result["outcomes"].values())
    return {"rate": ok / result["measured_s"], "failed": ended - ok,
            "server_us": spent / max(ended, 1) * 1e6,
            "server_busy": spent / result["measured_s"],
            "client_busy": result["engine"]["busy_share"][0]}


def compare(point, flags, folder):
    """Every run of both servers, the order turned from round to round."""
    names = ["yardstick", "nginx"]
    servers = {name: start(name, point[0], flags, folder) for name in names}
    runs = {name: [] for name in names}
    try:
        for number in range(flags.rounds):
            for name in names if number % 2 == 0 else names[::-1]:
                runs[name].append(measure(*servers[name], point, flags))
    finally:
        for server, _ in servers.values():
            server.terminate()
            server.wait()
    return runs


def row(point, runs):
    def middle(name, key):
        return statistics.median(run[key] for run in runs[name])

    pairs = zip(runs["yardstick"], runs["nginx"])
    ratios = sorted(one["server_us"] / other["server_us"] for one, other in pairs)
    cells = [f"{point[0]} {point[1]} x {point[2]}"]
    cells += [f"{middle(name, 'rate'):,.0f}" for name in runs]
    cells += [f"{middle(name, 'server_us'):.2f}" for name in runs]
    cells.append(f"{statistics.median(ratios):.2f} ({ratios[0]:.2f}..{ratios[-1]:.2f})")
    failed = sum(run["failed"] for each in runs.values() for run in each)
    cells.append(str(failed))
    return "| " + " | ".join(cells) + " |"


def main():
    flags = arguments()
    points = POINTS
    if flags.points:
        split = [text.split(":") for text in flags.points.split(",")]
        points = [(name, int(clients), int(streams)) for name, clients, streams in split]
    print("| point | yardstick/s | nginx/s | yardstick µs | nginx µs | µs ratio | failed |")
    print("| --- | --- | --- | --- | --- | --- | --- |", flush=True)
    kept = []
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        make_certificate(folder)
        for point in points:
            runs = compare(point, flags, folder)
            kept.append({"point": point, "runs": runs})
            print(row(point, runs), flush=True)
    if flags.json:
        flags.json.write_text(json.dumps(kept) + "\n")


if __name__ == "__main__":
    main()
