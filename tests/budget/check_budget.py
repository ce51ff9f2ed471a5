#!/usr/bin/env python3
"""Watches what it takes to compile specs, in counts that no load of the machine moves.

Two for each spec of the table and each target: the instructions that attnc runs up to CUDA C++,
which valgrind counts, and the bytes of the CUDA C++, with which NVRTC's time goes. More than MARGIN
times as much fails, and so does less than that part of it: a table that is far too high notices
nothing.

usage: check_budget.py COMPILE_EACH SPEC_FOLDER TABLE.json [--update]
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

# Between two versions of clang, libc or LLVM counts differ by some per cent.
MARGIN = 1.3
TOTALS = re.compile(r"^totals: (\d+)$", re.MULTILINE)


def measure(binary, folder, table):
    """The table with what is found; callgrind writes its counts after each compileOne."""
    kernels = [(target, name) for target, rows in table.items() for name in rows]
    # The first fills what a process makes once.
    specs = [f"{target}={folder / name}.json" for target, name in [kernels[0], *kernels]]
    with tempfile.TemporaryDirectory() as out:
        command = ["valgrind", "--tool=callgrind", "--toggle-collect=compileOne",
                   "--dump-after=compileOne", f"--callgrind-out-file={out}/counts", str(binary),
                   *specs]
        try:
            run = subprocess.run(command, capture_output=True, text=True)
        except FileNotFoundError:
            sys.exit("valgrind is missing: ./dev setup installs it")
        if run.returncode:
            sys.exit(f"{' '.join(command)}\n{run.stdout}{run.stderr}")
        counts = [int(TOTALS.search(pathlib.Path(f"{out}/counts.{i}").read_text()).group(1))
                  for i in range(1, len(specs) + 1)]
    found = {target: {} for target in table}
    for (target, name), count, size in zip(kernels, counts[1:], run.stdout.split()[1:]):
        found[target][name] = {"instructions": count, "cuda_bytes": int(size)}
    return found


def compare(target, name, budget, found):
    """What is wrong, a sentence for each count."""
    for what, limit in budget.items():
        ratio = found[what] / limit
        if not 1 / MARGIN <= ratio <= MARGIN:
            yield (f"{name} for {target}: {found[what]} {what}, {ratio:.2f} times the {limit} of "
                   "the table")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("specs", type=pathlib.Path)
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("--update", action="store_true", help="write what is measured to the table")
    args = parser.parse_args()
    table = json.loads(args.table.read_text())
    found = measure(args.binary, args.specs, table)
    if args.update:
        args.table.write_text(json.dumps(found, indent=1) + "\n")
        return 0
    wrong = [line for target, rows in table.items() for name, budget in rows.items()
             for line in compare(target, name, budget, found[target][name])]
    for line in wrong:
        print(line)
    if wrong:
        print(f"If it is meant: {sys.argv[0]} {args.binary} {args.specs} {args.table} --update")
        print("Else callgrind_annotate says which functions grew.")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
