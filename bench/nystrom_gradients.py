#!/usr/bin/env python3
"""How exact gradients through an iteration are, by its number of turns: the figures that the test
IteratedGradients records, on the processor.
usage: nystrom_gradients.py [--test build/bin/e2e_test] [--attnc build/bin/attnc] [--commit C] [--output FILE]"""
import argparse
import datetime
import json
import pathlib
import subprocess
import tempfile

from compile_time import ROOT, machine


def figures(test):
    """Errors in units of the arithmetic, 2^-24 and 2^-53, of the largest element of a gradient."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "figures.json"
        subprocess.run([test, "--gtest_brief=1", "--gtest_filter=*IteratedGradients*",
                        f"--gtest_output=json:{path}"], check=True, stdout=subprocess.DEVNULL)
        suites = json.loads(path.read_text())["testsuites"]
    names = ("compiled", "naive", "float64", "bound", "condition")
    return [{"turns": int(case["name"].split("/")[-1])}
            | {name: round(float(case[name]), 1) for name in names}
            for suite in suites for case in suite["testsuite"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--test", default=str(ROOT / "build/bin/e2e_test"))
    parser.add_argument("--attnc", default=str(ROOT / "build/bin/attnc"))
    parser.add_argument("--commit", default="")
    parser.add_argument("--output")
    arguments = parser.parse_args()
    rows = figures(arguments.test)
    for row in rows:
        print("   ".join(f"{name} {value}" for name, value in row.items()))
    result = {"kind": "nystrom gradients", "machine": machine(arguments.attnc),
              "commit": arguments.commit, "date": datetime.date.today().isoformat(),
              "unit": "of the arithmetic, relative to the largest element of a gradient",
              "turns": rows}
    if arguments.output:
        pathlib.Path(arguments.output).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
