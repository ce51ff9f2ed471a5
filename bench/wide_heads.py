#!/usr/bin/env python3
"""Compares schedules of attention with wide heads on the GPU of this machine.

Each line is ffpa or ffpa_causal by one schedule: a check against the evaluator at a small shape, then
the median of many launches by device events. TFLOP/s are 4 B H N N D (half for causal masks) over the
time: scores that a schedule computes again do not count.

usage: wide_heads.py --attnc build/bin/attnc [--dtype bf16] [--width 512] [--output FILE.json]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

HEADS = {320: 48, 512: 32, 1024: 16}
LENGTHS = (4096, 16384)
LIMIT_S = 120


def warpgroups(groups, tile, columns, depth, slots, **more):
    return {"form": "warpgroups", "groups": groups, "stream_tile": tile, "stages": 2,
            "columns": columns, "depth": depth, "depth_stages": slots, **more}


def portable(rows, tile, warps, columns, depth):
    return {"form": "stream", "row_tile": rows, "stream_tile": tile, "warps": warps, "stages": 2,
            "columns": columns, "depth": depth}


# The choice of the model first.
SCHEDULES = {
    320: {
        "model": {},
        "one accumulator, whole keys, 48": warpgroups(2, 48, 0, 0, 0),
        "one accumulator, parts of 64, 64": warpgroups(2, 64, 0, 64, 8),
        "one accumulator, 64, no turns": warpgroups(2, 64, 0, 64, 8, alternate=False),
        "scores twice, 3 groups": warpgroups(3, 32, 192, 64, 5, alternate=False),
        "portable": portable(64, 32, 4, 0, 0),
    },
    512: {
        "model": {},
        "scores twice, 64, 2 parts of 128": warpgroups(2, 64, 256, 128, 2, alternate=False),
        "scores twice, 64, 4 parts of 64": warpgroups(2, 64, 256, 64, 4, alternate=False),
        "scores twice, 48, in turns": warpgroups(2, 48, 256, 64, 8, alternate=True),
        "scores twice, 32, whole keys": warpgroups(2, 32, 256, 0, 0),
        "scores twice, 1 group, 96": warpgroups(1, 96, 256, 64, 4, alternate=False),
        "portable, 128 rows": portable(128, 64, 8, 256, 128),
        "portable, 64 rows": portable(64, 64, 4, 256, 128),
    },
    1024: {
        "model": {},
        "scores 4 times, 64, 4 parts of 64": warpgroups(1, 64, 256, 64, 4, alternate=False),
        "scores 4 times, 48, 8 parts of 64": warpgroups(1, 48, 256, 64, 8, alternate=False),
        "scores 4 times, 32, parts of 128": warpgroups(1, 32, 256, 128, 6, alternate=False),
        "portable, 64 rows": portable(64, 64, 4, 256, 128),
    },
}


def measure(attnc, spec, width, dtype, length, schedule):
    heads, batch = HEADS[width], max(1, 8192 // length)
    command = [attnc, "run", spec, "--json", "--set", f"d={width}", "--set", f"e={width}",
               "--set", f"T={dtype}"]
    shapes = [["--check", "--shape", "b=1,h=2,i=300,j=300"],
              ["--time", "--shape", f"b={batch},h={heads},i={length},j={length}"]]
    with tempfile.TemporaryDirectory() as folder:
        if schedule:
            path = pathlib.Path(folder, "schedule.json")
            path.write_text(json.dumps(schedule))
            command += ["--schedule", str(path)]
        for shape in shapes:
            result = subprocess.run(command + shape, capture_output=True, text=True,
                                    timeout=LIMIT_S)
            if result.returncode:
                lines = (result.stderr or result.stdout).strip().splitlines()
                return None, lines[0] if lines else "failed"
    report = json.loads(result.stdout)
    flops = 4 * batch * heads * length * length * width / (2 if spec.endswith("causal") else 1)
    milliseconds = report["milliseconds"]
    return {"milliseconds": milliseconds, "tflops": flops / milliseconds / 1e9}, None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--attnc", required=True)
    parser.add_argument("--dtype", default="bf16")
    parser.add_argument("--width", type=int, choices=sorted(SCHEDULES))
    parser.add_argument("--output")
    arguments = parser.parse_args()
    cells = []
    for width in [arguments.width] if arguments.width else sorted(SCHEDULES):
        for spec in ("ffpa", "ffpa_causal"):
            for length in LENGTHS:
                for name, schedule in SCHEDULES[width].items():
                    cell = {"spec": spec, "width": width, "length": length, "name": name,
                            "dtype": arguments.dtype, "schedule": schedule}
                    try:
                        found, why = measure(arguments.attnc, spec, width, arguments.dtype, length,
                                             schedule)
                    except subprocess.TimeoutExpired:
                        found, why = None, f"more than {LIMIT_S} s"
                    cell.update(found or {"failure": why})
                    cells.append(cell)
                    figure = f"{found['tflops']:7.1f} TFLOP/s" if found else f"failed: {why}"
                    print(f"{width:5} {spec:12} {length:6} {name:38} {figure}", flush=True)
    if arguments.output:
        pathlib.Path(arguments.output).write_text(json.dumps(cells, indent=1) + "\n")
    return 0 if all("tflops" in cell for cell in cells) else 1


if __name__ == "__main__":
    sys.exit(main())
