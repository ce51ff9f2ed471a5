#!/usr/bin/env python3
"""Keeps the examples in the docs true.

A fenced block whose info string holds `attnc-example: ARGUMENTS` shows what `attnc ARGUMENTS`
prints on stdout, run from the repository root. With `| from REGEX to REGEX` behind it, it shows the
lines from the first match to the next match of the other.
`attnc-example(3): ARGUMENTS` is a command that exits with 3, shown with what it writes to stderr.
The text of the block has to equal the output, trailing space aside. One marked
`attnc-excerpt: FILE | from REGEX to REGEX` shows lines of a file. A block marked `attnc-spec` is a
spec that attnc accepts. Links to files have to lead somewhere.

usage: check_examples.py [--update] BIN_DIR FILE.md...
"""
import argparse
import difflib
import pathlib
import re
import shlex
import subprocess
import sys

LINK = re.compile(r"\]\((?!https?:)(?P<path>[^)#\s]+)")
FENCE = re.compile(r"^```\w* *attnc-(?P<kind>example|excerpt)(\((?P<code>\d+)\))?: *"
                   r"(?P<command>.+?) *$")
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


class ExampleError(Exception):
    """A command that cannot be run, or that fails."""


def selection(text, words):
    if len(words) != 4 or words[0] != "from" or words[2] != "to":
        raise ExampleError("`| from REGEX to REGEX` is all that may follow")
    lines = text.splitlines()
    first = next((i for i, l in enumerate(lines) if re.search(words[1], l)), None)
    if first is None:
        raise ExampleError(f"no line matches {words[1]}")
    last = next((i for i in range(first, len(lines)) if re.search(words[3], lines[i])), None)
    if last is None:
        raise ExampleError(f"no line from there on matches {words[3]}")
    indent = min(len(l) - len(l.lstrip()) for l in lines[first : last + 1] if l.strip())
    return "\n".join(l[indent:] for l in lines[first : last + 1])


def excerpt_of(command):
    file, _, part = command.partition(" | ")
    text = (REPOSITORY / file).read_text(encoding="utf-8")
    return selection(text, shlex.split(part)).splitlines()


def output_of(command, code, bin_dir):
    arguments, _, part = command.partition(" | ")
    run = subprocess.run([bin_dir / "attnc"] + shlex.split(arguments), cwd=REPOSITORY,
                         capture_output=True, text=True, timeout=120, check=False)
    if run.returncode != code:
        raise ExampleError(f"attnc {arguments} exits with {run.returncode}\n{run.stderr}")
    text = run.stdout + (run.stderr if code else "")
    if part:
        text = selection(text, shlex.split(part))
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def examples(lines):
    """Yields (line of the fence, line of the closing fence, the match of its mark)."""
    start = None
    for number, line in enumerate(lines):
        if start is None and (match := FENCE.match(line)):
            start, mark = number, match
        elif start is not None and line.startswith("```"):
            yield start, number, mark
            start = None
    if start is not None:
        raise ExampleError(f"the block in line {start + 1} is not closed")


def specs(lines):
    """Yields (line, text) for every block that holds a spec."""
    start = None
    for number, line in enumerate(lines):
        if start is None and re.match(r"^```\w* *attnc-spec$", line):
            start = number + 1
        elif start is not None and line.startswith("```"):
            yield start, "\n".join(lines[start:number])
            start = None


def complaint(spec, bin_dir):
    """What attnc says against a spec, or nothing."""
    run = subprocess.run([bin_dir / "attnc", "compile", "-", "--emit", "red"], input=spec,
                         capture_output=True, text=True, timeout=120, check=False)
    return run.stderr if run.returncode else None


def links(lines):
    """Yields (line, path) for every link to a file outside of code blocks."""
    inside = False
    for number, line in enumerate(lines, start=1):
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            for match in LINK.finditer(line):
                yield number, match["path"]


def check(path, bin_dir, update):
    """The number of examples in a file, and that of examples and links which are wrong."""
    lines = path.read_text(encoding="utf-8").splitlines()
    result, copied, wrong, count = [], 0, 0, 0
    for start, end, mark in examples(lines):
        count += 1
        try:
            expected = (excerpt_of(mark["command"]) if mark["kind"] == "excerpt" else
                        output_of(mark["command"], int(mark["code"] or 0), bin_dir))
        except ExampleError as error:
            print(f"{path}:{start + 1}: {error}", file=sys.stderr)
            wrong += 1
            continue
        shown = [line.rstrip() for line in lines[start + 1 : end]]
        if shown != expected and not update:
            wrong += 1
            print(f"{path}:{start + 1}: {mark['command']} is something else:", file=sys.stderr)
            sys.stderr.writelines(f"{line}\n" for line in difflib.unified_diff(
                shown, expected, "in the docs", "printed", lineterm=""))
        result += lines[copied : start + 1] + expected
        copied = end
    result += lines[copied:]
    for number, spec in specs(result):
        count += 1
        if said := complaint(spec, bin_dir):
            print(f"{path}:{number}: attnc refuses this spec:\n{said}", file=sys.stderr)
            wrong += 1
    for number, target in links(result):
        if not (path.parent / target).exists():
            print(f"{path}:{number}: no file {target}", file=sys.stderr)
            wrong += 1
    if update:
        path.write_text("\n".join(result) + "\n", encoding="utf-8")
    return count, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--update", action="store_true", help="write what the commands print")
    parser.add_argument("bin_dir", type=pathlib.Path)
    parser.add_argument("files", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    counts = [check(p, options.bin_dir.resolve(), options.update) for p in options.files]
    total, wrong = (sum(column) for column in zip(*counts))
    print(f"{total} examples, {wrong} mistakes")
    if total == 0:
        print("no examples were found: the marker may have changed", file=sys.stderr)
    sys.exit(1 if wrong or total == 0 else 0)


if __name__ == "__main__":
    main()
