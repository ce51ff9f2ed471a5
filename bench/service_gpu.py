#!/usr/bin/env python3
"""Programs that the cache service has compiled, on a GPU: are they right, and when are they ready?

For each spec of the library two processes without NVRTC and without a cache run it and compare it with
the reference: for the first one attncd compiles it, the second one finds it there. On the machine:

  service_gpu.py ATTNC ATTNCD SPECS OUT.json --commit C [--target sm_90a] [--jobs 4]
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/service"))
from attncd import Attncd  # noqa: E402


def run(arguments, server, token, spec, folder):
    """One process with a cache of its own; what it says."""
    environment = {**os.environ, "ATTNC_NVRTC": "/none", "ATTNC_REMOTE": server.address.replace("tcp:", "http://", 1),
                   "ATTNC_CACHE_DIR": tempfile.mkdtemp(dir=folder),
                   "ATTNC_REMOTE_KEY_FILE": str(server.key_file),
                   "ATTNC_REMOTE_TOKEN_FILE": str(token)}
    ended = subprocess.run([arguments.attnc, "run", spec, "--target", arguments.target, "--check",
                            "--json"], env=environment, capture_output=True, text=True)
    said = json.loads(ended.stdout) if ended.stdout else {}
    return {"exit": ended.returncode, "tier": said.get("tier"), "ok": said.get("ok"),
            "seconds": said.get("ready_seconds", said.get("compile_seconds")),
            "error": ended.stderr.strip()[-300:] if ended.returncode else None}


def describe(rows, which):
    times = sorted(row[which]["seconds"] for row in rows if row[which]["exit"] == 0)
    return {"programs": len(times), "median_s": round(statistics.median(times), 4),
            "longest_s": round(times[-1], 4)}


def main():
    parser = argparse.ArgumentParser()
    for name in ("attnc", "attncd", "specs", "out"):
        parser.add_argument(name)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--jobs", type=int, default=4)
    arguments = parser.parse_args()
    specs = sorted(map(str, pathlib.Path(arguments.specs).glob("*.json")))
    with tempfile.TemporaryDirectory() as folder, Attncd(arguments.attncd) as server:
        token = server.write("token", server.tokens["all"])

        def both(spec):
            return {"spec": pathlib.Path(spec).stem,
                    "first": run(arguments, server, token, spec, folder),
                    "second": run(arguments, server, token, spec, folder)}
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            rows = list(pool.map(both, specs))
    gpu = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                         capture_output=True, text=True).stdout.strip()
    report = {"what": "programs of the library, compiled by attncd for processes without NVRTC",
              "machine": gpu, "cpus": os.cpu_count(), "commit": arguments.commit,
              "target": arguments.target, "at_a_time": arguments.jobs,
              "compiled_by_attncd": describe(rows, "first"),
              "found_there": describe(rows, "second"),
              "wrong": [row for row in rows if not all(
                  row[which]["ok"] and row[which]["tier"] == "remote"
                  for which in ("first", "second"))],
              "rows": rows}
    pathlib.Path(arguments.out).write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps({k: v for k, v in report.items() if k != "rows"}, indent=1))
    return 1 if report["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
