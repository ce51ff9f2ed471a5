#!/usr/bin/env python3
"""Reductions over dims whose lengths differ along each other, against their definition.

j has the length len[b], u the length at[b, j]. Every reduction is run over every choice of dims, of
operands with and without these dims, and compared with the same reduction of the list of all tuples
of indices within their lengths, which Python's floats add up.

f32 rounds a sum of at most 36 numbers of size below 2 with an error below 36 * 36 * 2 * 2^-24 < 2e-4,
and a product of numbers of which each factor is off by 2^-24 much less.

usage: length_reductions.py ATTNC
"""
import itertools
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

import check_rules

EXTENTS = {"b": 3, "j": 3, "u": 4}
OPERANDS = {"z": "b", "y": "bj", "v": "u", "w": "bju", "s": "j", "f": "ju", "1.5": ""}
ALONG = {"b": "", "j": "b", "u": "bj"}  # what the length of a dim differs along
REDUCED = ["bj", "bju", "ju", "ub", "u", "j"]
TOLERANCE = 2e-4
OUTPUTS_OF_A_SPEC = 12

REDUCTIONS = {
    "sum": sum,
    "prod": math.prod,
    "max": lambda values: max(values, default=-math.inf),
    "min": lambda values: min(values, default=math.inf),
    "mean": lambda values: sum(values) / len(values) if values else math.nan,
    "logsumexp": lambda values: math.log(sum(map(math.exp, values))) if values else -math.inf,
}


def tuples(dims):
    return itertools.product(*(range(EXTENTS[d]) for d in dims))


def nested(dims, element, at=()):
    """An array as lists of lists."""
    if len(at) == len(dims):
        return element(dict(zip(dims, at)))
    return [nested(dims, element, at + (i,)) for i in range(EXTENTS[dims[len(at)]])]


def element_of(array, indices):
    for i in indices:
        array = array[i]
    return array


class Problem:
    def __init__(self, seed):
        rng = random.Random(seed)
        self.arrays = {
            "len": [rng.randint(-1, 4) for _ in range(EXTENTS["b"])],
            "at": nested("bj", lambda _: rng.randint(-1, 5)),
        }
        for name, dims in OPERANDS.items():
            if dims:
                self.arrays[name] = nested(dims, lambda _: rng.uniform(-2, 2))

    def within(self, at):
        """Whether all indices are within their lengths, as far as those of the others are known."""
        if "b" in at and "j" in at and at["j"] >= self.arrays["len"][at["b"]]:
            return False
        return not {"b", "j", "u"} <= at.keys() or at["u"] < self.arrays["at"][at["b"]][at["j"]]

    def expected(self, name, reduced, operand, free):
        def element(at):
            if not self.within(at):
                return 0.0  # what an output stores beyond a length
            values = []
            for indices in tuples(reduced):
                here = {**at, **dict(zip(reduced, indices))}
                if self.within(here):
                    dims = OPERANDS[operand]
                    values.append(element_of(self.arrays[operand], [here[d] for d in dims])
                                  if dims else float(operand))
            return REDUCTIONS[name](values)

        return nested(free, element)


def free_dims(reduced, operand):
    """The dims of the result: those of the operand, and of the lengths that count."""
    dims = set(OPERANDS[operand]) | set(reduced)
    while True:
        counting = {d for d in dims if d in reduced or set(ALONG[d]) & set(reduced)}
        wider = dims.union(*(ALONG[d] for d in counting))
        if wider == dims:
            return "".join(sorted(dims - set(reduced)))
        dims = wider


def cases():
    for name, reduced, operand in itertools.product(REDUCTIONS, REDUCED, OPERANDS):
        free = free_dims(reduced, operand)
        if all(set(ALONG[d]) <= set(free) for d in free):  # else the output is refused
            yield name, reduced, operand, free


def run(attnc, folder, problem, group, target):
    spec = {"attnc": 1, "dims": {"j": {"extent": "len[b]"}, "u": {"extent": "at[b, j]"}},
            "inputs": {"len": "i32[b]", "at": "i32[b, j]"}, "body": [], "outputs": {}}
    command = [attnc, "run", folder / "spec.json", *target]
    for name, dims in OPERANDS.items():
        if dims:
            spec["inputs"][name] = f"f32[{', '.join(dims)}]"
    for k, (name, reduced, operand, free) in enumerate(group):
        spec["body"].append(f"o{k}[{', '.join(free)}] = {name}(({', '.join(reduced)},), {operand})")
        spec["outputs"][f"o{k}"] = "f32"
        command += ["--output", f"o{k}={folder / f'o{k}.npy'}"]
    for name in spec["inputs"]:
        dtype = spec["inputs"][name].split("[")[0]
        check_rules.write_npy(folder / f"{name}.npy", dtype, problem.arrays[name])
        command += ["--input", f"{name}={folder / name}.npy"]
    (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if ended.returncode:
        sys.exit(f"exit code {ended.returncode} of {spec['body']}:\n{ended.stderr}")
    for k, (name, reduced, operand, free) in enumerate(group):
        shape, got = check_rules.read_npy(folder / f"o{k}.npy")
        expected = check_rules.flat([problem.expected(name, reduced, operand, free)])
        right = shape == tuple(EXTENTS[d] for d in free) and all(
            math.isnan(e) and math.isnan(g) or e == g or abs(e - g) <= TOLERANCE * max(1, abs(e))
            for e, g in zip(expected, got, strict=True))
        if not right:
            yield f"{' '.join(target)}: {spec['body'][k]} is {got}, expected {expected}, with " \
                  f"len = {problem.arrays['len']}, at = {problem.arrays['at']}"


def main():
    attnc = pathlib.Path(sys.argv[1]).resolve()
    all_cases = list(cases())
    mistakes = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(2):
            problem = Problem(seed)
            for first in range(0, len(all_cases), OUTPUTS_OF_A_SPEC):
                group = all_cases[first : first + OUTPUTS_OF_A_SPEC]
                for target in ("evaluator", "cpu"):
                    mistakes += run(attnc, pathlib.Path(folder), problem, group,
                                    check_rules.TARGETS[target])
    print("\n".join(mistakes[:10]), file=sys.stderr)
    print(f"{len(all_cases)} reductions, {len(mistakes)} mistakes")
    sys.exit(1 if mistakes else 0)


if __name__ == "__main__":
    main()
