#!/usr/bin/env python3
"""Runs tests/programs.sh where programs are missing, old or half installed.

The search path is a folder of the tools that the script itself uses and of scripts that stand for
servers. Their apt-get installs by moving scripts from `later/`.
"""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent / "programs.sh"
TOOLS = """
awk cat cut dirname env expr grep head id mkdir mktemp rm sed sh sort tail timeout tr
""".split()
NGINX = """
echo 'nginx version: nginx/1.22.1'
echo '--with-http_ssl_module --with-http_v2_module --with-http_stub_status_module'
"""
LIGHTTPD = """
[ "$1" != -v ] || echo 'lighttpd/1.4.69 (ssl) - a light and fast webserver'
! grep -q 'mod_LACKS"' "$3" || { echo 'dlopen() failed for: mod_LACKS.so'; exit ENDS; }
"""
APACHE = """
[ "$1" != -v ] || echo 'Server version: Apache/2.4.57 (Debian)'
! grep -q 'LACKS_module' "$3" || { echo 'Cannot load modules/mod_LACKS.so into server'; exit 1; }
"""
APT_CACHE = """
case $2 in
    h2o) echo '  Candidate: (none)' ;;
    varnish) echo '  Candidate: 1:5.0.0-7' ;;
    *) echo '  Candidate: 1:99.0-1' ;;
esac
"""
APT_GET = """
echo "$*" >>FOLDER/asked
case "$*" in *' install '*)
    for program in FOLDER/later/*; do cp "$program" FOLDER/bin/; done ;;
esac
"""


class Programs(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ["bin", "later"]:
            (self.folder / name).mkdir()
        for tool in TOOLS:
            (self.folder / "bin" / tool).symlink_to(shutil.which(tool))
        self.fake("cp", f'exec {shutil.which("cp")} "$@"')

    def fake(self, name, script, where="bin"):
        path = self.folder / where / name
        path.write_text("#!/bin/sh\n" + script.replace("FOLDER", str(self.folder)) + "\n")
        path.chmod(0o755)

    def with_apt(self):
        self.fake("apt-cache", APT_CACHE)
        self.fake("apt-get", APT_GET)
        self.fake("dpkg", ":")
        self.fake("sudo", 'exec "$@"')

    def run_script(self, *arguments):
        environment = {
            "PATH": str(self.folder / "bin"),
            "SBIN": str(self.folder / "sbin"),
            "BAKEOFF_PROGRAMS": str(self.folder / "own"),
            "TMPDIR": str(self.folder),
        }
        command = [str(SCRIPT), *arguments]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True)
        return ended.returncode, ended.stderr

    def check(self, names, *expected):
        """What `--check` says, each line without its indent; nothing if all is there."""
        code, said = self.run_script("--check", *names.split())
        lines = [line.strip() for line in said.splitlines()]
        wanted = ["missing:", *expected] if expected else []
        self.assertEqual((code, lines), (1 if expected else 0, wanted))

    def asked(self):
        path = self.folder / "asked"
        return path.read_text().splitlines() if path.exists() else []

    def test_everything_that_is_missing_is_named_with_all_its_packages(self):
        self.check(
            "lighttpd nginx sshd",
            "lighttpd: no lighttpd (lighttpd lighttpd-mod-deflate lighttpd-mod-openssl)",
            "nginx: no nginx (nginx)",
            "sshd: no sshd (openssh-server)",
            "sshd: no ssh (openssh-client)",
            "sshd: no ip (iproute2)",
        )

    def test_what_is_whole_is_not_named(self):
        self.fake("nginx", NGINX)
        self.fake("lighttpd", LIGHTTPD)
        self.fake("apache2", APACHE)
        self.check("nginx lighttpd apache")

    def test_old_programs_are_named_with_the_version_that_is_needed(self):
        self.fake("nginx", NGINX.replace("1.22.1", "1.18.0"))
        self.fake("caddy", "echo v2.6.2 h1:0")
        self.check(
            "nginx caddy",
            "nginx: nginx 1.18.0 is too old, at least 1.19.5 is needed (nginx)",
            "caddy: caddy 2.6.2 is too old, at least 2.8.4 is needed (wheel:caddy)",
        )

    def test_pip_is_needed_only_for_what_it_still_has_to_get(self):
        self.fake("caddy", "echo v2.11.7 h1:0")
        self.check("caddy")
        (self.folder / "bin" / "caddy").unlink()
        self.check(
            "caddy",
            "caddy: no caddy (wheel:caddy)",
            "caddy: no python3 (python3-pip)",
        )

    def test_versions_are_compared_by_number(self):
        self.fake("nginx", NGINX.replace("1.22.1", "1.100.0"))
        self.check("nginx")

    def test_servers_without_a_module_are_named_with_its_package(self):
        self.fake("nginx", NGINX.replace("--with-http_v2_module", ""))
        self.fake("lighttpd", LIGHTTPD.replace("LACKS", "openssl").replace("ENDS", "1"))
        self.fake("apache2", APACHE.replace("LACKS", "http2"))
        self.fake("haproxy", "echo HAProxy version 2.6.12; echo Features: -OPENSSL")
        self.check(
            "nginx lighttpd apache haproxy",
            "nginx: `nginx -V` does not print --with-http_v2_module (nginx)",
            "lighttpd: lighttpd loads no mod_openssl (lighttpd-mod-openssl)",
            "apache: apache2 loads no mod_http2 (apache2-bin)",
            "haproxy: `haproxy -vv` does not print +OPENSSL (haproxy)",
        )

    def test_a_module_without_which_lighttpd_starts_is_named_too(self):
        self.fake("lighttpd", LIGHTTPD.replace("LACKS", "deflate").replace("ENDS", "0"))
        self.check("lighttpd", "lighttpd: lighttpd loads no mod_deflate (lighttpd-mod-deflate)")

    def test_programs_that_do_not_start_are_named(self):
        self.fake("nginx", "echo libpcre2-8.so.0: cannot open; exit 127")
        self.fake("valgrind", "echo libc6-dbg is not here; exit 1")
        self.fake("chromium", "echo requires the chromium snap")
        code, said = self.run_script("--check", "nginx", "valgrind", "chromium")
        self.assertEqual(code, 1)
        for words in ["(nginx)", "libc6-dbg is not here (valgrind)", "(chromium-headless-shell)"]:
            self.assertIn(words, said)

    def test_one_call_of_apt_get_installs_all_that_is_missing(self):
        self.with_apt()
        self.fake("lighttpd", LIGHTTPD.replace("LACKS", "openssl").replace("ENDS", "1"))
        self.fake("lighttpd", LIGHTTPD, "later")
        self.fake("nginx", NGINX, "later")
        code, said = self.run_script("nginx", "lighttpd")
        self.assertEqual(code, 0, said)
        update, install = self.asked()
        self.assertTrue(update.endswith(" update"), update)
        self.assertTrue(install.endswith(" lighttpd-mod-openssl nginx"), install)
        self.assertEqual(self.run_script("nginx", "lighttpd"), (0, ""))
        self.assertEqual(len(self.asked()), 2)

    def test_packages_that_cannot_help_are_named_before_anything_is_installed(self):
        self.with_apt()
        code, said = self.run_script("h2o", "nginx", "varnish")
        self.assertEqual(code, 1)
        _, cannot = said.split("cannot be had here")
        self.assertIn("h2o: no h2o (h2o)", cannot)
        self.assertIn("package 5.0.0-7 is too old, at least 6.0 is needed (varnish)", cannot)
        self.assertNotIn("nginx", cannot)
        self.assertEqual(len(self.asked()), 1)

    def test_what_is_still_missing_afterwards_is_named(self):
        self.with_apt()
        self.fake("lighttpd", LIGHTTPD.replace("LACKS", "openssl").replace("ENDS", "1"))
        self.fake("nginx", NGINX, "later")
        code, said = self.run_script("nginx", "lighttpd")
        self.assertEqual(code, 1)
        _, cannot = said.split("cannot be had here:")
        self.assertIn("lighttpd loads no mod_openssl (lighttpd-mod-openssl)", cannot)
        self.assertNotIn("nginx", cannot)

    def test_without_apt_get_the_packages_are_named(self):
        code, said = self.run_script("nginx", "h2o")
        self.assertEqual(code, 1)
        _, cannot = said.split("cannot be had here")
        for words in ["nginx: no nginx (nginx)", "h2o: no h2o (h2o)"]:
            self.assertIn(words, cannot)

    def test_an_unknown_name_is_refused_before_anything_else(self):
        self.assertEqual(
            self.run_script("nginx", "nope"), (2, "programs.sh does not know nope\n")
        )

    def test_all_that_tests_need_is_known(self):
        for names in ["--for-tests", "--after-build"]:
            code, said = self.run_script("--check", names)
            self.assertEqual((code, said.splitlines()[0]), (1, "missing:"))


if __name__ == "__main__":
    unittest.main()
