#!/usr/bin/env python3
"""The demo of docs/service.md does what the page says. Needs NVRTC.

usage: demo_test.py ATTNCD ATTNC
"""
import pathlib
import subprocess
import sys
import unittest

import nvrtc

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "docs/examples/service_demo.sh"
FOLDER = None


class Demo(unittest.TestCase):
    def test_it_prints_what_the_page_shows(self):
        ended = subprocess.run([SCRIPT, FOLDER], capture_output=True, text=True, timeout=300,
                               check=False)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        page = (ROOT / "docs/service.md").read_text(encoding="utf-8")
        shown = page.split("```text service-demo\n")[1].split("```")[0]
        self.assertEqual(ended.stdout, shown)

    def test_the_lines_of_the_page_are_those_of_the_script(self):
        page = (ROOT / "docs/service.md").read_text(encoding="utf-8")
        shown = page.split("```sh service-demo\n")[1].split("```")[0]
        self.assertIn(shown, SCRIPT.read_text(encoding="utf-8"))


if __name__ == "__main__":
    attncd, attnc = sys.argv[1:3]
    del sys.argv[1:3]
    FOLDER = str(pathlib.Path(attncd).parent)
    nvrtc.needed_by("demo_test", attnc)
    unittest.main()
