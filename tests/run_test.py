#!/usr/bin/env python3
"""tests/run.py, with test programs that are scripts."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Prints what a test program prints of one test that fails as often as a number says.
SCRIPT = """#!/bin/sh
fails={fails}
echo once more >>"$0.tries"
[ "$(wc -l <"$0.tries")" -le "$fails" ] && failed=1 || failed=0
[ "$failed" = 1 ] && echo 'test own::serves ... FAILED'
echo "test result: done. $((1 - failed)) passed; $failed failed; 0 ignored; 0 measured"
exit "$failed"
"""


class Run(unittest.TestCase):
    def run_of(self, name: str, fails: int, *flags: str) -> subprocess.CompletedProcess[str]:
        """Runs one program of this name, whose test fails the first `fails` times."""
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "program")
            program.write_text(SCRIPT.format(fails=fails))
            program.chmod(0o755)
            listed = Path(folder, "tests.json")
            built = {
                "reason": "compiler-artifact",
                "target": {"name": name, "src_path": str(ROOT / "tests/run.py")},
                "manifest_path": str(ROOT / "Cargo.toml"),
                "profile": {"test": True},
                "executable": str(program),
            }
            listed.write_text(json.dumps(built))
            command = [sys.executable, "-B", ROOT / "tests/run.py", "--built", listed, *flags]
            return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_a_test_of_servers_that_passes_alone_is_named_and_passes(self) -> None:
        ended = self.run_of("it", 1)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("passed 2 times alone: own::serves", ended.stdout)
        self.assertIn("tests: 1 passed, 0 failed, 0 skipped", ended.stdout)

    def test_one_that_fails_a_try_alone_has_failed(self) -> None:
        ended = self.run_of("it", 2)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("tests: 0 passed, 1 failed, 0 skipped", ended.stdout)

    def test_others_and_once_try_nothing_again(self) -> None:
        self.assertEqual(self.run_of("bakeoff-plan", 1).returncode, 1)
        self.assertEqual(self.run_of("it", 1, "--once").returncode, 1)
        self.assertEqual(self.run_of("it", 0, "--once").returncode, 0)


if __name__ == "__main__":
    unittest.main()
