#!/usr/bin/env python3
"""10,000 processes that start at once, with and without the cache service: when they are ready, how
often something was compiled, and what the servers had to carry. fleet.py is the model.

usage: fleet_simulation.py [--machines N] [--seed N] [--output FILE] [--commit C]
"""
import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import random

import fleet

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
KEYS = 200  # specs at several sizes
SPREAD = 0.6  # of the logarithm of an entry's size
CONNECTIONS = 16384  # more than there are processes

# What differs from the parameters of all.
SCENARIOS = {
    "nothing": dict(shards=0, shares_disk=False),
    "disk": dict(shards=0),
    "cold": dict(),
    "cold_without_nvrtc": dict(has_nvrtc=False),
    "warm": dict(warm=True),
    "warm_without_disk": dict(warm=True, shares_disk=False),
    "cold_4": dict(shards=4),
    "cold_4_without_nvrtc": dict(shards=4, has_nvrtc=False),
    "warm_4": dict(shards=4, warm=True),
    "warm_4_one_dead": dict(shards=4, dead_shards=1, warm=True),
    "cold_4_without_nvrtc_one_dead": dict(shards=4, dead_shards=1, has_nvrtc=False),
    "warm_1024_connections": dict(warm=True, max_connections=1024),
    "cold_without_nvrtc_1024_connections": dict(has_nvrtc=False, max_connections=1024),
}


def read(name):
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def measured():
    """Parameters that come from measurements, and where each one is from."""
    specs = [spec["all_total"] for spec in read("compile-time.json")["specs"]
             if spec["target"] == "sm_90a"]
    load = read("service-load.json")
    draw = random.Random(1)
    sizes = [draw.lognormvariate(0, SPREAD) for _ in range(KEYS)]
    scale = load["entry_bytes"] * KEYS / sum(sizes)
    values = {"compile_seconds": tuple(specs[key % len(specs)] for key in range(KEYS)),
              "entry_bytes": tuple(int(size * scale) for size in sizes),
              "get_seconds": load["processors"] / load["closed"]["requests_per_second"]}
    origins = {"compile_seconds": "compile-time.json: all_total of sm_90a, spec by spec",
               "entry_bytes": "service-load.json: the mean size; the spread is assumed",
               "get_seconds": "service-load.json: processors / requests per second in a closed "
                              "loop, so the clients' part is in it"}
    return values, origins


def described(parameters):
    """As JSON, long lists as what matters of them."""
    values = dataclasses.asdict(parameters)
    for name in ("compile_seconds", "entry_bytes"):
        numbers = values[name]
        values[name] = {"count": len(numbers), "min": min(numbers), "max": max(numbers),
                        "mean": round(sum(numbers) / len(numbers), 3)}
    return values


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--machines", type=int, default=1250)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--commit", default="")
    arguments = parser.parse_args()
    values, origins = measured()
    base = fleet.Parameters(machines=arguments.machines, max_connections=CONNECTIONS, **values)
    assumed = [field.name for field in dataclasses.fields(base) if field.name not in origins]
    report = {"kind": "fleet_simulation", "date": datetime.date.today().isoformat(),
              "commit": arguments.commit,
              "machine": f"{platform.machine()}, {os.cpu_count()} processors",
              "seed": arguments.seed, "processes": base.processes(), "measured": origins,
              "assumed": assumed, "parameters": described(base), "scenarios": {}}
    for name, difference in SCENARIOS.items():
        result = fleet.simulate(dataclasses.replace(base, **difference), arguments.seed)
        report["scenarios"][name] = {"parameters": difference, **result}
        print(f"{name:36} ready {result['seconds_until_ready']}, "
              f"{result['compilations']} compilations", flush=True)
    if arguments.output:
        arguments.output.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
