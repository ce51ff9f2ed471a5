#!/usr/bin/env python3
"""Keeps the table of docs/library.md true: it is made of the specs, of the formulas that they are
compared with, and of tests/golden/nests.json, which tests/e2e keeps true.

usage: check_library.py [--update] REPOSITORY
"""
import ast
import collections
import difflib
import json
import pathlib
import re
import sys

TARGETS = ["sm_80", "sm_90a"]
HEAD = ["| Spec | What | Paper | Formula | sm_80 | sm_90a |", "|---|---|---|---|---|---|"]


def docs(folder):
    """name -> (what it is, its paper), of every spec."""
    for path in sorted(folder.glob("*.json")):
        text = re.sub(r"^\s*//.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        what, _, paper = json.loads(text)["doc"].partition("; ")
        yield path.stem, what, paper


def formula_files(folder):
    """name -> the file whose formula it is."""
    files = {}
    for path in folder.glob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and any(
                    isinstance(made, ast.Call) and getattr(made.func, "id", "") == "formula"
                    for made in node.decorator_list):
                files[node.name] = path.name
    return files


def forms(nests, target):
    """"1 stream, 2 generic", of the kernels on a target."""
    count = collections.Counter(nest["forms"][target] for nest in nests if target in nest["forms"])
    return ", ".join(f"{number} {form}" for form, number in sorted(count.items(), reverse=True))


def table(repository):
    nests = json.loads((repository / "tests/golden/nests.json").read_text(encoding="utf-8"))
    files = formula_files(repository / "tests/reference")
    yield from HEAD
    for name, what, paper in docs(repository / "kernels_spec"):
        yield "| " + " | ".join([
            f"[{name}](../kernels_spec/{name}.json)", what, paper,
            f"[{pathlib.Path(files[name]).stem}](../tests/reference/{files[name]})",
            *(forms(nests[name]["nests"], target) for target in TARGETS)]) + " |"


def main():
    update = "--update" in sys.argv
    repository = pathlib.Path(sys.argv[-1])
    page = repository / "docs/library.md"
    lines = page.read_text(encoding="utf-8").splitlines()
    rows = [number for number, line in enumerate(lines) if line.startswith("|")]
    before, after = lines[:rows[0]], lines[rows[-1] + 1:]
    wanted = [*before, *table(repository), *after]
    if update:
        page.write_text("\n".join(wanted) + "\n", encoding="utf-8")
    elif wanted != lines:
        sys.stderr.write("\n".join(difflib.unified_diff(lines, wanted, "docs/library.md", "as it is",
                                                        lineterm="")) + "\n")
        sys.exit(f"docs/library.md is not true. To accept: {sys.argv[0]} --update .")


if __name__ == "__main__":
    main()
