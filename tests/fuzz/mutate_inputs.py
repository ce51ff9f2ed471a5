#!/usr/bin/env python3
"""Programs in the attn dialect and schedules, broken at random, through the command line: each has
to end with a result or an error that is said, never with a crash, an internal error or not at all.

usage: mutate_inputs.py ATTNC [--seconds N] [--seed N] [--report FILE] [--commit C]
"""
import argparse
import collections
import datetime
import json
import os
import pathlib
import platform
import random
import subprocess
import sys
import tempfile
import time

SPECS = ("full", "causal", "paged", "ragged", "documents", "linear", "nystrom", "entropy", "dropout")
SCHEDULE = {"form": "portable", "rows": 64, "head_dim_tile": 64, "stages": 2, "warps": 4, "fold": "two_pass",
            "splits": 4, "groups": 2, "pack": 2, "full_o": {"stages": 3}, "tiles": [64, 64],
            "registers": [24, 240], "min_blocks": 1, "dynamic_scheduler": True}
WORDS = ["-1", "0", "1", "18446744073709551616", "1e400", "nan", "null", "true", "[", "]", "{", "}", '"',
         "\\", "#", "%0", "@x", "i64", "f32", "tensor<", "loc(", "->", ":", "=", "attn.", "red.", "\0"]
SECONDS = 60  # after which a command hangs
SAID = {0: "done", 2: "usage", 3: "spec", 4: "environment"}


def mutated(text, others, draw):
    for _ in range(draw.choice((1, 1, 1, 2, 4, 8))):
        at, size = draw.randrange(len(text) + 1), draw.choice((1, 2, 5, 20, 100))
        other = draw.choice(others)
        start = draw.randrange(len(other))
        middle = draw.choice(("", draw.choice(WORDS), other[start:start + size],
                              text[at:at + size] * draw.choice((2, 3, 50)),
                              chr(draw.randrange(1, 256)), str(draw.randrange(-9, 10 ** 10))))
        text = text[:at] + middle + text[at + draw.choice((0, 0, 1, size)):]
    return text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("attnc")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", type=pathlib.Path)
    parser.add_argument("--commit", default="")
    arguments = parser.parse_args()
    draw, counts, findings = random.Random(arguments.seed), collections.Counter(), []

    def run(*command):
        try:
            ended = subprocess.run([arguments.attnc, *command], capture_output=True, timeout=SECONDS)
            return ended.returncode, ended.stdout.decode(errors="replace")
        except subprocess.TimeoutExpired:
            return None, ""

    with tempfile.TemporaryDirectory() as folder:
        program, schedule = (os.path.join(folder, name) for name in ("x.mlir", "x.json"))
        programs = [run("compile", spec, "--target", "cpu", "--emit", "attn")[1] for spec in SPECS]
        schedules = [json.dumps({key: SCHEDULE[key] for key in keys}) for keys in
                     (draw.sample(sorted(SCHEDULE), 4) for _ in range(20))]
        end = time.monotonic() + arguments.seconds
        while time.monotonic() < end:
            target = draw.choice(("cpu", "sm_80", "sm_90a"))
            emit = "red" if target == "cpu" else draw.choice(("tile", "cuda"))
            tail = ("--target", target, "--emit", emit, "-o", os.path.join(folder, "out"))
            is_program = draw.random() < 0.6
            of = programs if is_program else schedules
            path, text = (program if is_program else schedule), mutated(draw.choice(of), of, draw)
            pathlib.Path(path).write_text(text, encoding="utf-8", errors="surrogatepass")
            spec = (path,) if is_program else (draw.choice(SPECS), "--schedule", path)
            code = run("compile", *spec, *tail)[0]
            kind = "programs" if is_program else "schedules"
            counts[f"{kind}: {SAID.get(code, 'finding')}"] += 1
            if code not in SAID:
                findings.append({"code": code, "command": [*spec[1:], *tail[:4]], "text": text})
    report = {"kind": "mutated_inputs", "seconds": arguments.seconds, "seed": arguments.seed,
              "commit": arguments.commit, "date": datetime.date.today().isoformat(),
              "machine": f"{platform.machine()}, {os.cpu_count()} processors",
              "ended": dict(sorted(counts.items())), "findings": findings}
    text = json.dumps(report, indent=1) + "\n"
    if arguments.report:
        arguments.report.write_text(text)
    print(text if findings else json.dumps(report["ended"]))
    if len(counts) < 3:
        sys.exit("the mutants are all alike: they test nothing")
    sys.exit(1 if findings else 0)


main()
