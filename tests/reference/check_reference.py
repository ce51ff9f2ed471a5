#!/usr/bin/env python3
"""Compares the specs of kernels_spec/ with formulas that NumPy evaluates.

The frontend does not mark its own work: formulas.py and the files that extend it are written from the
papers, and neither read a spec nor use code of attnc. Every spec is run on fresh random inputs, at
several shapes, by the evaluator and on the processor with inputs of bf16 and of f32. The seed is
printed; --seed repeats a run. Then faults are planted in specs (faults.py): each has to be found, within a few draws of inputs.

Tolerances. Let u be the unit roundoff of the arithmetic, d the length of a head, n a bound of
the number of keys. A logit is a sum of d products, scaled, plus what the variant adds; with

    M >= scale * sum |q| |k| + |added|     (Cauchy and Schwarz: scale * |q| * |k| in norms)

it is off by at most (d + 4) u M, and so is the maximum. exp(s - m) then has the relative error

    r = 2 (d + 4) u M + 2 u M + 4 u        (s, m and their difference; exp itself)

and the weights, of sum g, 2 r + (n + 1) u. An output is off by at most

    (2 r + (2 n + 2) u) g max |v| + u_out |o|

u_out being the unit roundoff of its type. A logarithm of a sum of exponentials is off by
r + (n + 1) u + 4 u M + u_out |lse|. Other bounds stand with their formulas. The evaluator's numbers are not rounded to the type of an
output: u_out is 0, and the bound is doubled because NumPy's arithmetic has the same unit.

usage: check_reference.py ATTNC KERNELS_SPEC_DIR
"""
import argparse
import concurrent.futures
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from formulas import FORMULAS
    # Each adds its formulas.
    import landmarks, several_weights, structures, wide  # noqa: F401
    from faults import FAULTS
except ModuleNotFoundError as missing:
    sys.exit(f"{sys.executable}: {missing}. ./dev setup installs python3-numpy for /usr/bin/python3; "
             "then configure anew: cmake --preset default --fresh")

UNIT = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
# Head lengths that are not equal, and not those of the specs.
STATIC = {"d": 32, "e": 48}
# Of inputs, for a planted fault: every one of them is found in three draws of four.
DRAWS = 12


@functools.cache
def load_spec(attnc, name):
    """A spec of the library, with what it extends."""
    shown = subprocess.run([attnc, "show", name, "--whole"], capture_output=True, text=True,
                           check=True)
    return json.loads(shown.stdout)


def static_dims(spec, formula):
    extents = {**STATIC, **formula.static}
    return {dim: extents.get(dim, extent) for dim, extent in spec.get("dims", {}).items()
            if isinstance(extent, int)}


def bf16_bits(x):
    """Nearest even, for finite numbers."""
    bits = np.asarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


class Inputs:
    """Random inputs: as they are on disk, and as the numbers that they stand for."""

    def __init__(self, spec, formula, sizes, reals, generator):
        self.stored, self.numbers = {}, {}
        for name, text in spec["inputs"].items():
            dtype, dims = re.fullmatch(r"(\w+)\[(.*)\]", text.replace(" ", "")).groups()
            dtype = reals if dtype in spec.get("types", {}) else dtype
            # A packed dim has rows, of all sequences together.
            shape = tuple(sizes.get(dim + "_rows") or sizes[dim] for dim in dims.split(",") if dim)
            values = (formula.inputs[name](sizes, generator) if name in formula.inputs
                      else generator.standard_normal(shape))
            if np.issubdtype(values.dtype, np.integer):
                self.stored[name] = self.numbers[name] = values
                continue
            values = values.astype(np.float32)
            if dtype == "bf16":
                self.stored[name] = bf16_bits(values)
                values = from_bf16(self.stored[name])
            else:
                self.stored[name] = values
            self.numbers[name] = values.astype(np.float64)


def run_attnc(attnc, path, formula, case, inputs, folder):
    """The outputs by name, of the spec at `path`."""
    target, reals, sizes, params = case
    command = [attnc, "run", path, "--target", target, "--json"]
    spec = load_spec(attnc, path.stem)
    for name in spec.get("types", {}):
        command += ["--set", f"{name}={reals}"]
    for dim, extent in sizes.items():
        command += ["--set" if dim in static_dims(spec, formula) else "--shape", f"{dim}={extent}"]
    for name, value in params.items():
        command += ["--param", f"{name}={value}"]
    for name, array in inputs.stored.items():
        np.save(folder / f"{name}.npy", array)
        command += ["--input", f"{name}={folder / name}.npy"]
    for name in spec["outputs"]:
        command += ["--output", f"{name}={folder / name}.out.npy"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if ended.returncode:
        raise RuntimeError(f"attnc ends with {ended.returncode}\n{ended.stderr}")
    outputs = {}
    for name in spec["outputs"]:
        array = np.load(folder / f"{name}.out.npy")
        outputs[name] = (from_bf16(array) if array.dtype == np.uint16 else array).astype(np.float64)
    return outputs


def compare(attnc, path, case, seed, fault=None):
    """What is wrong, or nothing, and the largest difference in units of its tolerance. With a fault,
    the spec has the second text in place of the first."""
    target, reals, sizes, params = case
    spec, formula = load_spec(attnc, path.stem), FORMULAS[path.stem]
    sizes = {**static_dims(spec, formula), **sizes}
    inputs = Inputs(spec, formula, sizes, reals, np.random.default_rng(seed))
    with tempfile.TemporaryDirectory() as folder:
        if fault:
            text = path.read_text(encoding="utf-8")
            assert fault[0] in text, f"{path.name} does not hold {fault[0]}"
            path = pathlib.Path(folder) / path.name
            path.write_text(text.replace(*fault), encoding="utf-8")
        case = (target, reals, sizes, params)
        actual = run_attnc(attnc, path, formula, case, inputs, pathlib.Path(folder))
    # A param holds an f32.
    params = {name: float(np.float32(value)) if isinstance(value, float) else value
              for name, value in params.items()}
    expected = formula.function(inputs.numbers, params)
    worst = 0.0
    for name in spec["outputs"]:
        exact = target == "reference"
        stored = spec["outputs"][name]
        stored = reals if stored in spec.get("types", {}) else stored
        bound = formula.tolerance(formula, name, expected[name], inputs.numbers, params,
                                  UNIT["f64"] if exact else UNIT["f32"])
        bound = 2 * bound if exact else bound + UNIT[stored] * np.abs(expected[name])
        if actual[name].shape != expected[name].shape:
            return f"{name} has the shape {actual[name].shape}, not {expected[name].shape}", worst
        # Rows that see no key are 0 on both sides, whatever the tolerance.
        difference = np.abs(actual[name] - expected[name])
        ratio = np.where(difference == 0, 0, difference / np.maximum(bound, 1e-300))
        worst = max(worst, float(np.max(ratio)))
        if not worst <= 1:
            at = np.unravel_index(np.argmax(np.nan_to_num(ratio, nan=np.inf)), ratio.shape)
            place = ", ".join(str(int(k)) for k in at)
            return f"{name}[{place}] is {actual[name][at]:.9g}, the formula gives " \
                   f"{expected[name][at]:.9g} +- {np.broadcast_to(bound, ratio.shape)[at]:.2g}; " \
                   f"{np.sum(~(ratio <= 1))} of {ratio.size} elements fail", worst
    return None, worst


def cases_of(formula):
    for params in formula.params:
        for sizes in formula.sizes:
            for target, reals in formula.runs:
                yield target, reals, sizes, params


def noticed_by(attnc, path, fault, seed):
    """How many draws of inputs it takes until a comparison finds the fault; None if none does. One draw
    is not enough: a fault may move every element of small inputs by less than the tolerance."""
    case = ("cpu", "f32", FORMULAS[path.stem].sizes[0], {})
    return next((draw for draw in range(1, DRAWS + 1)
                 if compare(attnc, path, case, (seed, draw), fault)[0] is not None), None)


def find_faults(attnc, folder, pool, seed):
    """The draws that each planted fault took, by spec and fault."""
    jobs = {(name, fault): pool.submit(noticed_by, attnc, folder / f"{name}.json", fault, seed)
            for name, faults in FAULTS.items() for fault in faults}
    return {fault: job.result() for fault, job in jobs.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    parser.add_argument("attnc", type=pathlib.Path)
    parser.add_argument("specs", type=pathlib.Path)
    options = parser.parse_args()
    paths = sorted(options.specs.rglob("*.json"))
    missing = sorted({p.stem for p in paths} ^ FORMULAS.keys())
    for name in missing:
        print(f"{name}: a spec without a formula in tests/reference/formulas.py, or a formula without "
              "a spec", file=sys.stderr)
    failures = len(missing)
    print(f"seed {options.seed}")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [(path, case, pool.submit(compare, options.attnc.resolve(), path, case, options.seed))
                for path in paths if path.stem not in missing
                for case in cases_of(FORMULAS[path.stem])]
        worst = {}
        for path, (target, reals, sizes, params), job in jobs:
            try:
                said, ratio = job.result()
            except (RuntimeError, AssertionError) as error:
                said, ratio = str(error), float("inf")
            worst[path.stem, target] = max(ratio, worst.get((path.stem, target), 0.0))
            if said:
                failures += 1
                print(f"{path.stem} on {target} in {reals} at {sizes} {params}: {said}",
                      file=sys.stderr)
        draws = find_faults(options.attnc.resolve(), options.specs, pool, options.seed)
    for (name, (old, new)), taken in draws.items():
        if taken is None:
            failures += 1
            print(f"{name} with {new} for {old}: no comparison of {DRAWS} draws finds this fault",
                  file=sys.stderr)
        elif taken > 1:
            print(f"{name} with {new} for {old}: found at draw {taken}")
    for (name, target), ratio in worst.items():
        print(f"{name:20} {target:10} largest difference {ratio:.2g} of its tolerance")
    print(f"{len(jobs)} comparisons, {len(draws)} planted faults, {failures} failures")
    sys.exit(1 if failures or not jobs else 0)


if __name__ == "__main__":
    main()
