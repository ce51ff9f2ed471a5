#!/usr/bin/env python3
"""How much longer a spec with gradients takes from text to cubin than without. Each compilation is a
process of its own, with the cache off; a figure is the least user time of all its threads of
several rounds, so that other work on the machine counts little. The backward program is what both
take less what the forward program takes alone: what it saves counts as the backward program's.
Needs NVRTC, no GPU.
usage: backward_compile_time.py [--attnc build/bin/attnc] [--commit C] [--output FILE] [--rounds N]"""
import argparse
import datetime
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

from compile_time import ROOT, machine

TARGETS = ("sm_80", "sm_90a")
SPECS = (("causal", []), ("full", ["d=64", "e=64"]), ("full", ["d=128", "e=128"]), ("gqa", []),
         ("alibi", []), ("softcap", []), ("nystrom", []))
AIM = 2.5  # times the forward program


def user_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(command, capture_output=True, text=True,
                          env={**os.environ, "ATTNC_CACHE": "off"})
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, json.loads(done.stdout)


def measure(attnc, spec, settings, target, rounds, folder):
    command = [attnc, "compile", str(ROOT / f"kernels_spec/{spec}.json"), "--target", target,
               "--emit", "cubin", "--json", "-o", f"{folder}/cubin"]
    for setting in settings:
        command += ["--set", setting]
    both = command + ["--grad", "all"]
    times = {"forward": [], "both": []}
    for _ in range(rounds):
        for name, one in ("forward", command), ("both", both):
            seconds, answer = user_seconds(one)
            times[name].append(seconds)
    forward, total = min(times["forward"]), min(times["both"])
    return {"spec": spec, "set": settings, "target": target, "forward": round(forward, 3),
            "both": round(total, 3), "backward": round(total - forward, 3),
            "ratio": round((total - forward) / forward, 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--attnc", default=str(ROOT / "build/bin/attnc"))
    parser.add_argument("--commit", default="")
    parser.add_argument("--output")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for spec, settings in SPECS:
            for target in TARGETS:
                row = measure(arguments.attnc, spec, settings, target, arguments.rounds, folder)
                rows.append(row)
                print(f"{spec:10} {','.join(settings):12} {target:7} forward {row['forward']:6.2f} s   "
                      f"backward {row['backward']:6.2f} s   {row['ratio']:.2f} times", flush=True)
    result = {"kind": "backward compile time", "machine": machine(arguments.attnc),
              "commit": arguments.commit, "date": datetime.date.today().isoformat(),
              "rounds": arguments.rounds, "unit": "seconds of user time", "aim": AIM, "specs": rows}
    if arguments.output:
        pathlib.Path(arguments.output).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
