#!/usr/bin/env python3
"""Random expressions of the language, evaluated, on the processor and as kernels of a GPU.

Each seed gives a spec of one or two statements over dims of 2 to 4: reads with windows, data as
subscripts, masks, reductions over dims that the result keeps or not, a softmax that others use.
Inputs are small finite numbers, so that what differs is a mistake and not a rounding: `attnc run
--check` compares every element under the tolerance that the evaluator derives. Where that leaves
every element open, nothing is learned and nothing is wrong.

usage: random_rules.py [--seeds FIRST LAST] ATTNC
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

from check_rules import TARGETS, write_npy

EXTENTS = {"i": 3, "j": 4, "d": 2}
INPUTS = {"x": ("f32", "id"), "y": ("f32", "jd"), "r": ("f32", "i"), "s": ("bf16", "j"),
          "n": ("i64", "i"), "m": ("i32", "j"), "u": ("u8", "d"), "b": ("bool", "i"),
          "t": ("i32", "j")}
REAL_LEAVES = ["x", "y", "r", "s", "1.5", "0.0", "-2.0", "x[i,d]", "s[j+1] else 0",
               "r[i-1] else -3", "s[t[j]]", "x[m[j] % 3,d]", "y[n[i]%4,d] else 1", "r[t[j]] else 2"]
INTEGER_LEAVES = ["n", "m", "u", "i", "j", "d", "3", "-2", "size(j)", "n[i]", "m[j+1] else 7",
                  "t[m[j]%4]"]
CONDITION_LEAVES = ["b", "j <= i", "i < 2", "d == 1", "n > 0", "u >= 1", "x > 0", "m != 2"]


class Expressions:
    """Texts of a type, nested at most `depth` deep."""

    def __init__(self, random_):
        self.random = random_

    def pick(self, *weighted):
        """One of (weight, function)."""
        return self.random.choices([f for _, f in weighted], [w for w, _ in weighted])[0]()

    def one(self, *texts):
        return self.random.choice(texts)

    def real(self, depth):
        if depth <= 0:
            return self.one(*REAL_LEAVES)
        a, n, c = (lambda f=f: f(depth - 1) for f in (self.real, self.integer, self.condition))
        return self.pick(
            (15, lambda: self.one(*REAL_LEAVES)),
            (30, lambda: f"({a()} {self.one('+', '-', '*', '-')} {a()})"),
            (12, lambda: f"where({c()}, {a()}, {a()})"),
            (10, lambda: f"{self.one('abs', 'relu', 'tanh', 'sigmoid', 'floor')}({a()})"),
            (8, lambda: f"{self.one('maximum', 'minimum')}({a()}, {a()})"),
            (6, lambda: f"({n()} * {a()})"),
            (15, lambda: f"{self.one('sum', 'max', 'min', 'mean', 'logsumexp')}"
                         f"({self.one(*EXTENTS)}, {a()})"),
            (3, lambda: f"cast({a()}, {self.one('bf16', 'f16')})"))

    def integer(self, depth):
        if depth <= 0:
            return self.one(*INTEGER_LEAVES)
        a, c = (lambda f=f: f(depth - 1) for f in (self.integer, self.condition))
        return self.pick(
            (30, lambda: self.one(*INTEGER_LEAVES)),
            (40, lambda: f"({a()} {self.one('+', '-', '*', '//', '%')} {a()})"),
            (10, lambda: f"where({c()}, {a()}, {a()})"),
            (12, lambda: f"{self.one('sum', 'max', 'min')}({self.one(*EXTENTS)}, {a()})"),
            (5, lambda: f"cast({self.real(depth - 1)}, i32)"))

    def condition(self, depth):
        if depth <= 0:
            return self.one(*CONDITION_LEAVES)
        n, x, c = (lambda f=f: f(depth - 1) for f in (self.integer, self.real, self.condition))
        return self.pick(
            (25, lambda: self.one(*CONDITION_LEAVES)),
            (25, lambda: f"({n()} {self.one('<', '<=', '==', '!=', '>')} {n()})"),
            (15, lambda: f"({x()} {self.one('<', '<=', '>')} {x()})"),
            (20, lambda: f"({c()} {self.one('and', 'or')} {c()})"),
            (8, lambda: f"(not {c()})"),
            (7, lambda: f"{self.one('any', 'all')}({self.one(*EXTENTS)}, {c()})"))


def body_of(random_):
    """Statements, the last of which computes `o`, and the type of o."""
    expressions = Expressions(random_)
    kind = random_.choice(["real", "real", "real", "integer", "condition"])
    value = getattr(expressions, kind)(random_.randint(1, 4))
    body = []
    if kind == "real" and random_.random() < 0.5:
        logits = "x + y + r + s" if random_.random() < 0.5 else f"{expressions.real(2)} + x + s"
        body.append(f"p = softmax({random_.choice('ijd')}, {logits})")
        value = f"p * {value}"
        if random_.random() < 0.6:
            value = f"sum({random_.choice('ijd')}, {value})"
    return [*body, f"o = {value}"], {"real": "f32", "integer": "i64", "condition": "bool"}[kind]


def held(random_, dtype, dims):
    if dims:
        return [held(random_, dtype, dims[1:]) for _ in range(EXTENTS[dims[0]])]
    if dtype in ("f32", "bf16"):
        return random_.randint(-8, 8) / 4
    if dtype == "bool":
        return random_.random() < 0.5
    return random_.choice([0, 1, 2, 255]) if dtype == "u8" else random_.randint(-3, 5)


def run(seed, target, attnc):
    """What is wrong with one spec on one target, or nothing."""
    random_ = random.Random(seed)
    body, storage = body_of(random_)
    spec = {"attnc": 1, "name": "random", "dims": EXTENTS, "body": body, "outputs": {"o": storage},
            "inputs": {k: f"{dtype}[{','.join(dims)}]" for k, (dtype, dims) in INPUTS.items()}}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
        command = [attnc, "run", folder / "spec.json", *TARGETS[target], "--check", "--json"]
        for name, (dtype, dims) in INPUTS.items():
            write_npy(folder / f"{name}.npy", dtype, held(random_, dtype, dims))
            command += ["--input", f"{name}={folder / name}.npy"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if ended.returncode == 0 or (ended.returncode == 1 and "decides none" in ended.stdout):
        return None
    return f"seed {seed} on the {target}: {body}\n(exit code {ended.returncode})\n" \
           f"{ended.stdout[-1500:]}{ended.stderr[-500:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seeds", type=int, nargs=2, default=[0, 120], metavar=("FIRST", "LAST"))
    parser.add_argument("attnc", type=pathlib.Path)
    options = parser.parse_args()
    seeds, wrong = range(*options.seeds), 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(run, seed, target, options.attnc.resolve())
                for seed in seeds for target in ("cpu", "interpreter")]
        for job in jobs:
            if said := job.result():
                wrong += 1
                print(said, file=sys.stderr)
    print(f"{len(seeds)} specs on 2 targets, {wrong} mistakes")
    sys.exit(1 if wrong or not seeds else 0)


if __name__ == "__main__":
    main()
