#!/usr/bin/env python3
"""The files for whoever runs the service, and its page, fit the binary. No container is built and
no unit is started here.

usage: deployment_test.py ATTNCD
"""
import json
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "tools/attncd/deploy"
ATTNCD = None
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
# Libraries that debian:12-slim has: its apt and its shell need them.
BASE = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "libz.so.1", "libzstd.so.1",
        "libgnutls.so.30", "ld-linux-x86-64.so.2"}
PACKAGES = {"libmicrohttpd.so.12": "libmicrohttpd12", "libcurl.so.4": "libcurl4",
            "libprometheus-cpp-core.so.1.0": "libprometheus-cpp-core1.0"}


def options_of_attncd():
    told = subprocess.run([ATTNCD, "--help"], capture_output=True, text=True, check=True).stdout
    return set(OPTION.findall(told)) - {"--help", "--version"}


def seconds_of(text, name):
    return int(re.search(rf"{name}[=\" ,]+(\d+)", text)[1])


class Unit(unittest.TestCase):
    text = (DEPLOY / "attncd.service").read_text(encoding="utf-8")

    def test_attncd_has_the_options_that_it_is_started_with(self):
        used = set(OPTION.findall(self.text.split("ExecStart=")[1].split("ExecReload")[0]))
        self.assertTrue(used)
        self.assertLessEqual(used, options_of_attncd())

    def test_systemd_waits_for_longer_than_attncd(self):
        self.assertGreater(seconds_of(self.text, "TimeoutStopSec"),
                           seconds_of(self.text, "--drain-seconds"))

    def test_the_workers_get_no_signal_of_systemds(self):
        self.assertIn("\nKillMode=mixed\n", self.text)

    def test_the_key_is_a_credential_and_the_cache_is_for_its_owner(self):
        self.assertIn("\nLoadCredential=fleet.key:", self.text)
        self.assertIn("--key-file %d/fleet.key", self.text)
        self.assertIn("\nCacheDirectoryMode=0700\n", self.text)


class Container(unittest.TestCase):
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")

    def test_what_is_copied_exists(self):
        copied = re.findall(r"^COPY --from=build /src/(\S+) ", self.text, re.MULTILINE)
        self.assertTrue(copied)
        for path in copied:
            if path.startswith("build/bin/"):  # CMake makes it, wherever the build is
                self.assertEqual(pathlib.Path(path).name, pathlib.Path(ATTNCD).name)
            else:
                self.assertTrue((ROOT / path).exists(), path)

    def test_the_libraries_of_attncd_are_installed(self):
        told = subprocess.run(["readelf", "-d", ATTNCD], capture_output=True, text=True, check=True)
        needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", told.stdout)) - BASE
        installed = self.text.split("FROM debian:12-slim")[1].split("rm -rf")[0].split()
        self.assertIn("libmicrohttpd.so.12", needed)
        for library in needed | {"libcurl.so.4"}:  # which is loaded when it is needed
            self.assertIn(PACKAGES.get(library, library), installed)

    def test_attncd_has_the_options_that_it_is_started_with(self):
        command = re.search(r"^CMD (\[.*?\])$", self.text, re.MULTILINE | re.DOTALL)[1]
        used = set(OPTION.findall(" ".join(json.loads(command.replace("\\\n", "")))))
        self.assertTrue(used)
        self.assertLessEqual(used, options_of_attncd())


class Page(unittest.TestCase):
    text = (ROOT / "docs/service.md").read_text(encoding="utf-8")

    def test_it_has_every_option(self):
        table = self.text.split("\n## attncd\n")[1].split("\n### ")[0]
        self.assertEqual(set(OPTION.findall(table)) - {"--scopes"}, options_of_attncd())

    def test_it_has_every_variable_of_a_client(self):
        header = (ROOT / "runtime/remote/remote.h").read_text(encoding="utf-8")
        for variable in re.findall(r'"(ATTNC_REMOTE\w*)"', header):
            self.assertIn(f"| `{variable}` |", self.text)


if __name__ == "__main__":
    ATTNCD = sys.argv.pop(1)
    unittest.main()
