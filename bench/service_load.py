#!/usr/bin/env python3
"""attncd under load: 200 clients that keep their connections ask for entries that are there, first at
a stated rate, then as fast as answers come. Exits with 1 if a request was not answered as it should
be, if attncd counts others than the clients do, or if its memory grows. The latencies are in the
report alone: what else runs on a machine decides them.

usage: service_load.py [--attncd FILE] [--load FILE] [--compiled] [--seconds S] [--rate R]
                       [--clients N] [--output FILE] [--commit C]
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/service"))
import attncd  # noqa: E402

SPECS = ("full", "causal", "gqa", "alibi", "bias", "softcap", "sliding_window", "lse")
TARGETS = ("sm_80", "sm_90a")
ENTRIES, ENTRY_BYTES = 16, 86000  # where they are not compiled: as if they were
GROWTH_BYTES = 16 << 20  # what memory may gain in the second half of a run


def compiled(daemon):
    """The paths of real programs, and their mean size."""
    paths, sizes = [], []
    for spec in SPECS:
        for target in TARGETS:
            answer = daemon.request("POST", "/v1/compile",
                                    json.dumps({"spec": spec, "target": target}),
                                    headers={"Accept": "application/vnd.attnc.entry"})
            if answer.status != 200:
                sys.exit(f"{spec} for {target}: {answer.body}")
            paths.append(f"/v1/program/{answer.headers['Attnc-Key']}")
            sizes.append(len(answer.body))
    return paths, round(sum(sizes) / len(sizes))


def put(daemon):
    keys = [daemon.put(number, value=os.urandom(ENTRY_BYTES)) for number in range(ENTRIES)]
    return [f"/v1/program/{key}" for key, _ in keys], len(keys[0][1])


def run(daemon, arguments, paths, rate, seconds):
    ended = subprocess.run(
        [arguments.load, daemon.address.partition(":")[2], str(daemon.folder / "token"),
         str(arguments.clients), str(rate), str(seconds), str(daemon.process.pid), *paths],
        stdout=subprocess.PIPE, text=True, timeout=seconds + 60, check=False)
    if not ended.stdout:
        sys.exit(f"service_load ended with {ended.returncode}")
    return json.loads(ended.stdout)


def served(metrics):
    """What attncd says of GETs of programs, by status, and of hits."""
    return {name: value for name, value in metrics.items()
            if 'route="program"' in name and 'method="GET"' in name and "_total" in name or
            name.startswith("attncd_entries_total")}


def wrong_things(report):
    for name in ("paced", "closed"):
        result = report[name]
        for what in ("failed", "wrong", "unanswered"):
            if result[what]:
                yield f"{name}: {result[what]} {what}"
        memory = result["resident_bytes"]
        if memory and memory["most_of_second_half"] - memory["middle"] > GROWTH_BYTES:
            yield f"{name}: memory grows: {memory}"
    if report["paced"]["answers"] != report["paced"]["rate"] * report["paced"]["seconds"]:
        yield "paced: not every request was sent"
    answers = report["paced"]["answers"] + report["closed"]["answers"]
    counted = sum(value for name, value in report["metrics"].items() if 'status="200"' in name)
    hits = sum(value for name, value in report["metrics"].items() if 'event="hit"' in name)
    if counted != answers or hits != answers:
        yield f"the clients have {answers} answers, attncd counts {counted} and {hits} hits"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--attncd", default=str(ROOT / "build/bin/attncd"))
    parser.add_argument("--load", default=str(ROOT / "build/bin/service_load"))
    parser.add_argument("--compiled", action="store_true", help="real programs; needs NVRTC")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rate", type=int, default=2000, help="requests per second")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--commit", default="")
    arguments = parser.parse_args()
    with attncd.Attncd(arguments.attncd) as daemon:
        daemon.write("token", daemon.tokens["reader"] + "\n")
        paths, entry_bytes = (compiled if arguments.compiled else put)(daemon)
        report = {"kind": "service_load", "date": datetime.date.today().isoformat(),
                  "commit": arguments.commit,
                  "machine": f"{platform.machine()}, {len(os.sched_getaffinity(0))} processors",
                  "processors": len(os.sched_getaffinity(0)), "load": round(os.getloadavg()[0], 1),
                  "real_time": os.sched_getscheduler(0) != os.SCHED_OTHER,
                  "entries": len(paths), "entry_bytes": entry_bytes,
                  "compiled": arguments.compiled,
                  "paced": run(daemon, arguments, paths, arguments.rate, arguments.seconds),
                  "closed": run(daemon, arguments, paths, 0, max(2, arguments.seconds // 3))}
        report["metrics"] = served(daemon.metrics())
    text = json.dumps(report, indent=1) + "\n"
    if arguments.output:
        arguments.output.write_text(text, encoding="utf-8")
    print(text, end="")
    wrong = list(wrong_things(report))
    print("\n".join(wrong), file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
