#!/usr/bin/env python3
"""Measures what has an aim, and says which cells miss it, worst first.

usage: aims.py [--results DIR] [--commit C] [NAME...]

Without --results each benchmark runs, on the GPU of this machine, and its JSON goes to build/bench. With it
nothing runs: the JSONs of that directory are read, bench/results for the committed ones. NAMEs choose among the
benchmarks. Ends with 1 if an aim is missed, and with 4 if there is nothing to measure on.
"""
import argparse
import json
import pathlib
import subprocess
import sys

from cliff import peers

HERE = pathlib.Path(__file__).resolve().parent
LEAST_SHARE = 0.5  # of its roofline, for each spec of the library

# Benchmarks by the name of what they write: NAME-h100.json.
BENCHMARKS = {
    "attention": ["attention.py", "--cells", "^d[0-9]"],
    "few-rows": ["attention.py", "--cells", "^(decode|paged|d128-n4096$)"],
    "wide-heads": ["attention.py", "--cells", "^wide"],
    "halves": ["halves.py"],
    "short-sequences": ["short_sequences.py"],
    "cliffs": ["cliffs.py", "--only", "library/", "--peers", "--peer-limit", "1800"],
}


def title(cell):
    words = [f"{key}{cell[key]}" for key in ("b", "h", "n", "d", "m") if cell.get(key) is not None]
    words += [cell["spec"]] if cell.get("spec") else ["causal"] * bool(cell.get("causal"))
    return cell.get("name") or " ".join(words)


def of_attention(cell, cells):
    """(unit, aim, measured) of a cell with an aim in TFLOP/s, or as a share of another cell's."""
    def speed(of):
        return of.get("candidates", {}).get("attnc", {}).get("tflops") if of else None
    if cell.get("aim"):
        return "TFLOP/s", cell["aim"], speed(cell)
    if cell.get("share"):
        base = speed(cells.get(cell["against"]))
        return "TFLOP/s", cell["share"] * base if base else None, speed(cell)
    return None


def of_cell(cell, cells):
    """The same of any cell; None if it has no aim."""
    if "candidates" in cell:
        return of_attention(cell, cells)
    if cell.get("aim_ms"):
        return "ms", cell["aim_ms"], cell.get("ms")
    if cell.get("group") == "library":
        return of_library(cell)
    return None


def of_library(cell):
    """The same of a spec of the library, which has to reach a share of its roofline and to be no slower than
    torch.compile: of the two aims the one that is further away."""
    peer = peers.compiled(cell)
    if peer and cell.get("ms") and peer["ms"] / cell["ms"] < cell["fraction"] / LEAST_SHARE:
        return "ms beside torch.compile", peer["ms"], cell["ms"]
    return "of the roofline", LEAST_SHARE, cell.get("fraction")


def aims_of(report):
    """(title, unit, aim, measured, how much of the aim is reached) of each cell that has one."""
    for cells in (value for value in report.values() if isinstance(value, list)):
        named = {cell["name"]: cell for cell in cells if isinstance(cell, dict) and "name" in cell}
        for cell in cells:
            found = of_cell(cell, named) if isinstance(cell, dict) else None
            if found:
                yield title(cell), *found, reached(*found)


def reached(unit, aim, measured):
    """How much of an aim is reached; times are to be short."""
    if not aim or not measured:
        return 0
    return aim / measured if unit.startswith("ms") else measured / aim


def measure(names, commit):
    out = HERE.parent / "build" / "bench"
    out.mkdir(parents=True, exist_ok=True)
    for name in names:
        script, *arguments = BENCHMARKS[name]
        subprocess.run([sys.executable, HERE / script, *arguments, "--commit", commit,
                        "--output", out / f"{name}-h100.json"], check=True)
    return out


def has_gpu():
    try:
        import torch
        return torch.cuda.is_available()
    except ImportError:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--commit", default="?")
    options = parser.parse_args()
    names = options.names or list(BENCHMARKS)
    if unknown := set(names) - set(BENCHMARKS):
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    if not options.results and not has_gpu():
        print("aims: no GPU that PyTorch can use: nothing to measure on; --results reads what was measured",
              file=sys.stderr)
        return 4
    where = options.results or measure(names, options.commit)
    missed = count = 0
    for name in names:
        report = json.loads((where / f"{name}-h100.json").read_text(encoding="utf-8"))
        rows = sorted(aims_of(report), key=lambda row: row[-1])
        count += len(rows)
        for what, unit, aim, measured, reached in rows:
            if reached < 1:
                missed += 1
                got = "not measured" if measured is None else f"{measured:.3g}"
                print(f"{name:16} {what:32} {got} {unit}, aim {aim:.3g}: {100 * reached:.0f} %" if aim else
                      f"{name:16} {what:32} {got} {unit}, and no cell to compare it with")
    print(f"{count - missed} of {count} aims are reached")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
