#!/usr/bin/env python3
"""Runs the rules of the language that docs/spec.md states.

A fenced block marked `attnc-rules` declares what it needs, a line each, and gives cases:

    dims i = 4, d = 2               extents, as the spec's `dims`
    dim j = {"extent": "len[b]"}    the same for one dim, in JSON
    shape m = 3                     an extent that the caller says
    types T = f16                   named types
    let w = size(i) // 2            also `require EXPRESSION` and `param NAME: f32 > 0 = 2`
    pass NAME = 3                   a param that the caller passes
    x: f32[i] = [1, 2, 3, 4]        an input and what it holds
    y[i] = 2 * x                    a statement; also {"repeat": ...}
    ["y =", "2 * x"]                a statement over lines; also "y =\\n2 * x"
    sum(i, y) -> 20.0               a case: an expression (or a statement) and its value
    sum(k, y) -> error: text        a case that is refused with this text
    sum(d, y) -> 8.0 (warning: text)

Each case becomes a spec with the block's declarations, those of its statements that stand above,
and the case's value as the output. It is run by the evaluator, on the processor, and by the tile
interpreter (the kernels of a GPU). The value says the type: `2` is an integer, `2.0`, `inf` and
`nan` are real, `true` and `false` conditions; `f16: 2.0` stores the result as f16.

Integers, conditions, infinities, NaN and zeros have to match exactly, the other reals to a relative
1e-6: the unit roundoff of f32 is 6e-8, no function of the language loses more than 8 of them, and
no case puts more than two after each other.

usage: check_rules.py ATTNC FILE.md...
"""
import argparse
import array
import concurrent.futures
import dataclasses
import json
import math
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

TARGETS = {
    "evaluator": ["--target", "reference"],
    "cpu": ["--target", "cpu"],
    "interpreter": ["--target", "sm_80", "--interpret"],
    "gpu": ["--target", "native"],
}
EVERYWHERE = ["evaluator", "cpu", "interpreter"]
RELATIVE = 1e-6
FENCE = re.compile(r"^```\w* *attnc-rules *$")
INPUT = re.compile(r"^(?P<name>\w+): *(?P<type>\w+) *\[(?P<dims>[^\]]*)\] *= *(?P<value>.+)$")
STATEMENT = re.compile(r"^(?P<name>\w+) *(\[[\w, ]*\])? *=(?!=)")
CASE = re.compile(r"^(?P<left>.+?) +-> +(?P<right>.+?)( +\(warning: (?P<warning>.+)\))?$")
TYPED = re.compile(r"^(?P<type>[a-z]\w*): (?P<value>.+)$")
# NumPy's code of a type on disk, the code of Python's struct, and bf16, which is cut from f32.
DISK = {"f16": ("<f2", "e"), "f32": ("<f4", "f"), "f64": ("<f8", "d"), "i8": ("|i1", "b"),
        "i32": ("<i4", "i"), "i64": ("<i8", "q"), "u8": ("|u1", "B"), "bool": ("|b1", "?")}


class RuleError(Exception):
    """A block that cannot be read."""


@dataclasses.dataclass
class Case:
    line: int
    text: str
    spec: dict
    arrays: dict  # name -> (type, value)
    passed: dict  # param -> text
    shape: dict  # dim -> text
    output: str
    storage: str = ""
    value: object = None
    error: str = ""
    warning: str = ""


def values(text):
    """JSON in which inf and nan are numbers."""
    text = re.sub(r"\binf\b", "Infinity", re.sub(r"\bnan\b", "NaN", text))
    return json.loads(text)


def flat(value):
    return [x for part in value for x in flat(part)] if isinstance(value, list) else [value]


def shape_of(value):
    if not isinstance(value, list):
        return ()
    return (len(value), *(shape_of(value[0]) if value else ()))


def storage_of(value):
    """The type that a value is written as."""
    elements = flat(value)
    if any(isinstance(x, bool) for x in elements):
        return "bool"
    return "f32" if any(isinstance(x, float) for x in elements) else "i64"


def write_npy(path, dtype, value):
    elements = flat(value)
    if dtype == "bf16":
        code, data = "<u2", b"".join(struct.pack("<f", x)[2:] for x in elements)
    else:
        code, letter = DISK[dtype]
        data = struct.pack(f"<{len(elements)}{letter}", *elements)
    header = f"{{'descr': '{code}', 'fortran_order': False, 'shape': {shape_of(value)!r}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def read_npy(path):
    """Shape and elements, row by row."""
    data = path.read_bytes()
    length = struct.unpack_from("<H", data, 8)[0]
    header = data[10 : 10 + length].decode()
    code = re.search(r"'descr': '([^']+)'", header)[1]
    shape = tuple(int(n) for n in re.findall(r"\d+", re.search(r"\(([^)]*)\)", header)[1]))
    data = data[10 + length :]
    if code == "<u2":  # the bits of bf16
        wide = b"".join(b"\0\0" + data[i : i + 2] for i in range(0, len(data), 2))
        return shape, list(array.array("f", wide))
    letter = next(l for c, l in DISK.values() if c == code)
    return shape, [x[0] for x in struct.iter_unpack("<" + letter, data)]


def case_of(number, match, spec, arrays, passed, shape):
    spec = json.loads(json.dumps(spec))
    left, right = match["left"], match["right"]
    statement = STATEMENT.match(left)
    output = statement["name"] if statement else "result_"
    spec["body"].append(left if statement else f"{output} = {left}")
    case = Case(number, match[0], spec, dict(arrays), dict(passed), dict(shape), output,
                warning=match["warning"] or "")
    typed = TYPED.match(right)
    storage = typed["type"] if typed and typed["type"] in DISK else None
    if storage:
        right = typed["value"]
    if right.startswith("error: "):
        case.error = right[len("error: "):]
    else:
        case.value = values(right)
    case.storage = storage or (storage_of(case.value) if case.value is not None else "f32")
    spec["outputs"] = {output: case.storage}
    return case


def assignments(text):
    return [(name.strip(), value.strip()) for name, value in
            (part.split("=", 1) for part in text.split(","))]


def cases_of(lines, first):
    """The cases of a block whose first line has the number `first`."""
    spec = {"attnc": 1, "name": "rule", "types": {}, "dims": {}, "let": {}, "params": {},
            "require": [], "inputs": {}, "body": [], "outputs": {}}
    arrays, passed, shape = {}, {}, {}
    for number, line in enumerate(lines, start=first):
        line = line.split("#")[0].strip()
        word, _, rest = line.partition(" ")
        if not line:
            continue
        if match := CASE.match(line):
            yield case_of(number, match, spec, arrays, passed, shape)
        elif match := INPUT.match(line):
            spec["inputs"][match["name"]] = f"{match['type']}[{match['dims']}]"
            arrays[match["name"]] = (match["type"], values(match["value"]))
        elif word == "dims":
            spec["dims"].update((n, int(v)) for n, v in assignments(rest))
        elif word == "dim":
            name, _, extent = rest.partition("=")
            spec["dims"][name.strip()] = json.loads(extent)
        elif word == "shape":
            shape.update(assignments(rest))
        elif word == "types":
            spec["types"].update(assignments(rest))
        elif word == "pass":
            passed.update(assignments(rest))
        elif word == "let":
            spec["let"].update((n, int(v) if v.isdigit() else v) for n, v in assignments(rest))
        elif word == "require":
            spec["require"].append(rest)
        elif word == "param":
            name, _, declaration = rest.partition(":")
            spec["params"][name.strip()] = declaration.strip()
        elif STATEMENT.match(line):
            spec["body"].append(line)
        elif line.startswith(("{", "[", '"')):
            spec["body"].append(json.loads(line))
        else:
            raise RuleError(f"line {number} is neither a declaration nor a case: {line}")


def blocks(path):
    """Yields the number of the first line and the lines of each block of rules."""
    start, lines = None, path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        if start is None and FENCE.match(line):
            start = number + 1
        elif start is not None and line.startswith("```"):
            yield start, lines[start - 1 : number - 1]
            start = None
    if start is not None:
        raise RuleError(f"the block in line {start - 1} is not closed")


def matches(expected, actual):
    if isinstance(expected, (bool, int)):
        return int(expected) == int(actual)
    if math.isnan(expected) or math.isinf(expected) or expected == 0:
        return math.isnan(expected) and math.isnan(actual) or expected == actual
    return abs(expected - actual) <= RELATIVE * abs(expected)


def as_stored(x, dtype):
    """A number of the evaluator, which is not rounded, in the type of the output."""
    if dtype not in ("f16", "f32"):
        return x
    try:
        return struct.unpack(DISK[dtype][1], struct.pack(DISK[dtype][1], x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def complaint(case, shape, elements):
    expected = flat(case.value)
    elements = [as_stored(x, case.storage) for x in elements]
    if shape != shape_of(case.value):
        return f"has the shape {shape}, expected {shape_of(case.value)}"
    if all(map(matches, expected, elements)):
        return None
    return f"is {elements}, expected {expected}"


def findings(said):
    """What attnc has said, but for what a case leaves alone of its block's declarations."""
    parts = re.split(r"^(?=\S*: ?(?:warning|error): |error: )", said, flags=re.MULTILINE)
    return "".join(part for part in parts if not part.split("\n")[0].endswith("is never used"))


def warns_as_expected(case, said):
    return ("warning: " in said) == bool(case.warning) and case.warning in said


def run(case, target, attnc):
    """What is wrong with one case on one target, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        spec = folder / "rule.json"
        spec.write_text(json.dumps(case.spec), encoding="utf-8")
        command = [attnc, "run", spec, *TARGETS[target], "--output",
                   f"{case.output}={folder / 'output.npy'}"]
        types = case.spec["types"]
        for name, (dtype, value) in case.arrays.items():
            write_npy(folder / f"{name}.npy", types.get(dtype, dtype), value)
            command += ["--input", f"{name}={folder / name}.npy"]
        for option, values_ in (("--param", case.passed), ("--shape", case.shape)):
            for name, value in values_.items():
                command += [option, f"{name}={value}"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        said = findings(ended.stderr.replace(str(spec), "rule"))
        if case.error:
            right = ended.returncode in (2, 3) and case.error in said
            return None if right else f"is not refused with this text, but (exit code " \
                                      f"{ended.returncode}):\n{said}"
        if ended.returncode:
            return f"is refused (exit code {ended.returncode}):\n{said}"
        if not warns_as_expected(case, said):
            return f"warns otherwise:\n{said}"
        return complaint(case, *read_npy(folder / "output.npy"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--target", action="append", choices=TARGETS, help="only this one; a gpu where there is one")
    parser.add_argument("attnc", type=pathlib.Path)
    parser.add_argument("files", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    targets = options.target or EVERYWHERE
    try:
        cases = [(path, case) for path in options.files
                 for first, lines in blocks(path) for case in cases_of(lines, first)]
    except (RuleError, ValueError) as error:
        sys.exit(f"check_rules.py: {error}")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [(path, case, target, pool.submit(run, case, target, options.attnc.resolve()))
                for path, case in cases for target in targets]
        wrong = 0
        for path, case, target, job in jobs:
            if said := job.result():
                wrong += 1
                print(f"{path}:{case.line}: on the {target}, `{case.text}` {said}", file=sys.stderr)
    print(f"{len(cases)} rules on {len(targets)} targets, {wrong} mistakes")
    if not cases:
        print("no rules were found: the marker may have changed", file=sys.stderr)
    sys.exit(1 if wrong or not cases else 0)


if __name__ == "__main__":
    main()
