#!/usr/bin/env python3
"""How long specs take from text to cubin, and how much of that is attnc's own passes. Needs NVRTC,
no GPU. Each compilation is a process of its own; the figures are medians. Without SPEC the whole
library for both targets, some minutes a round.
usage: compile_time.py [--attnc build/bin/attnc] [--commit C] [--output FILE] [--rounds N] [SPEC...]"""
import argparse
import datetime
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGETS = ("sm_80", "sm_90a")
SUMS = ("nvrtc", "kernels", "ours", "total")  # of the times that attnc reports, those of no pass


def machine(attnc):
    cpu = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    version = subprocess.run([attnc, "--version"], capture_output=True, text=True, check=True)
    return {"cpu": f"{cpu[1] if cpu else 'unknown'}, {os.cpu_count()} threads",
            "attnc": version.stdout.strip().split()[-1]}


def compile_once(attnc, spec, target, folder):
    """Seconds by stage of what a first launch waits for, the passes of all variants and the kernels
    of the first, and of a program with the kernels of all (`all_`)."""
    run = compile_to("cubin", attnc, spec, target, folder)
    every = compile_to("program", attnc, spec, target, folder)
    passes = every["ours"] - run["ours"]
    run |= {name: run[name] + passes for name in ("ours", "total", "cpu")}
    run["passes"] = every.pop("passes")
    return run | {f"all_{name}": every[name] for name in ("total", "cpu", "repeats")}


def compile_to(stage, attnc, spec, target, folder):
    """Seconds by stage; `cpu` is what all threads of the process took together, `passes` what each
    of attnc's own took, `count` the number of kernels, `repeats` how many of them spilled and were
    compiled once more."""
    start, before = time.perf_counter(), processor_seconds()
    done = subprocess.run([attnc, "compile", str(spec), "--target", target, "--emit", stage,
                           "--mlir-timing", "--json", "-o", f"{folder}/{stage}"],
                          capture_output=True, text=True,
                          env={**os.environ, "ATTNC_CACHE": "off"})
    if done.returncode:
        sys.exit(f"{spec} for {target}: {done.stderr.strip()}")
    answer = json.loads(done.stdout)
    times = {t["name"]: t["seconds"] for t in answer["timing"]}
    return {"count": len(answer["kernels"]), "repeats": answer["repeats"],
            "passes": {name: seconds for name, seconds in times.items() if name not in SUMS},
            "ours": times["ours"], "nvrtc": times["nvrtc"],
            "kernels": times["kernels"],
            "total": times["total"], "process": time.perf_counter() - start,
            "cpu": processor_seconds() - before}


def medians(runs):
    """Of each figure, and of those of a table by their names."""
    return {name: medians([run[name] for run in runs]) if isinstance(value, dict)
            else round(statistics.median(run[name] for run in runs), 5)
            for name, value in runs[0].items()}


def processor_seconds():
    """Of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--attnc", default=str(ROOT / "build/bin/attnc"))
    parser.add_argument("--commit", default="")
    parser.add_argument("--output")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("specs", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    specs = arguments.specs or sorted((ROOT / "kernels_spec").rglob("*.json"))
    rows = []
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        for spec in specs:
            for target in TARGETS:
                runs = [compile_once(arguments.attnc, spec, target, folder)
                        for _ in range(arguments.rounds)]
                row = {"spec": spec.stem, "target": target}
                row |= medians(runs)
                rows.append(row)
                print(f"{row['spec']:24} {target:8} {row['count']:2.0f} kernels   ours {1e3 * row['ours']:6.0f} ms   nvrtc "
                      f"{row['nvrtc']:6.2f} s ({row['kernels']:.2f} s of kernels)   total "
                      f"{row['total']:6.2f} s (cpu {row['cpu']:.2f} s)", flush=True)
    worst = {name: max(rows, key=lambda row: row[name]) for name in ("ours", "total")}
    result = {"kind": "compile", "machine": machine(arguments.attnc), "commit": arguments.commit,
              "date": datetime.date.today().isoformat(), "rounds": arguments.rounds,
              "load": round(load, 1),
              "worst": {name: {"spec": row["spec"], "target": row["target"], "seconds": row[name]}
                        for name, row in worst.items()},
              "specs": rows}
    if arguments.output:
        pathlib.Path(arguments.output).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
