#!/usr/bin/env python3
"""Many processes that start together with an empty cache, each compiling the same specs: how often
NVRTC ran for each image, and what they took.

usage: cold_cache.py [--attnc FILE] [--processes N] [--output FILE] [--commit C]
"""
import argparse
import collections
import datetime
import json
import os
import pathlib
import platform
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SPECS = ("full", "causal", "gqa", "alibi", "bias", "softcap", "sliding_window", "lse")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--attnc", default=str(ROOT / "build/bin/attnc"))
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--commit", default="")
    arguments = parser.parse_args()
    tiers, compiled, failed = collections.Counter(), collections.Counter(), []
    lock, start = threading.Barrier(arguments.processes), time.monotonic()

    def worker(number, environment):
        lock.wait()
        for turn in range(len(SPECS)):  # in another order each
            spec = SPECS[(turn + number) % len(SPECS)]
            ended = subprocess.run(
                [arguments.attnc, "compile", spec, "--target", "sm_80", "--emit", "ptx", "--json"],
                capture_output=True, text=True, env=environment)
            if ended.returncode:
                failed.append(ended.stderr)
                continue
            report = json.loads(ended.stdout)
            tiers[report["tier"]] += 1
            compiled[spec] += report["images_compiled"]

    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "ATTNC_CACHE_DIR": folder}
        threads = [threading.Thread(target=worker, args=(n, environment))
                   for n in range(arguments.processes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        stats = json.loads(subprocess.run([arguments.attnc, "cache", "stats", "--json"], text=True,
                                          capture_output=True, env=environment).stdout)
        del stats["directory"]
    report = {"kind": "cold_cache", "date": datetime.date.today().isoformat(),
              "commit": arguments.commit,
              "machine": f"{platform.machine()}, {os.cpu_count()} processors",
              "processes": arguments.processes, "specs": len(SPECS), "tiers": dict(tiers),
              "nvrtc_runs": dict(compiled), "failed": failed, "cache": stats,
              "seconds": round(time.monotonic() - start, 1)}
    text = json.dumps(report, indent=1) + "\n"
    if arguments.output:
        arguments.output.write_text(text)
    print(text, end="")


main()
