#!/usr/bin/env python3
"""Keeps docs/tutorial.md true: what it shows is done in an empty folder, from top to bottom.

A block marked `tutorial: FILE` is written to that file. One marked `tutorial` alone is a session:
each line after `$ ` is a command, and what it prints, errors too, follows. Figures with a decimal
point depend on the machine, and are not compared; all else is.

usage: check_tutorial.py [--update] BIN_DIR PAGE.md
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```\w+ tutorial(?:: (?P<file>\S+))?\n(?P<text>.*?)^```$", re.M | re.S)
FIGURE = re.compile(r" *\d+\.\d+(e[-+]\d+)?")


def printed(command, folder, environment):
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, timeout=300,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return f"$ {command}\n" + "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def session(text, folder, environment):
    commands = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
    return "".join(printed(command, folder, environment) for command in commands)


def without_figures(text):
    return FIGURE.sub(" N", text)


def redone(page, folder, environment):
    """The page with what its sessions print now, and the sessions that differ: (shown, printed)."""
    parts, end, differ, count = [], 0, [], 0
    for match in BLOCK.finditer(page):
        count += 1
        text = match["text"]
        if match["file"]:
            (folder / match["file"]).write_text(text, encoding="utf-8")
            continue
        now = session(text, folder, environment)
        if without_figures(now) != without_figures(text):
            differ.append((text, now))
            parts += [page[end:match.start("text")], now]
            end = match.end("text")
    return "".join([*parts, page[end:]]), differ, count


def main():
    bin_dir, path = map(pathlib.Path, sys.argv[-2:])
    page = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        before = [str(bin_dir.resolve()), str(pathlib.Path(sys.executable).parent)]
        environment = {**os.environ, "PATH": os.pathsep.join([*before, os.environ["PATH"]]),
                       "ATTNC_CACHE_DIR": f"{folder}/cache", "PYTHONWARNINGS": "ignore"}
        now, differ, count = redone(page, pathlib.Path(folder), environment)
    if "--update" in sys.argv:
        path.write_text(now, encoding="utf-8")
        return
    for shown, actual in differ:
        sys.stderr.writelines(difflib.unified_diff(
            shown.splitlines(True), actual.splitlines(True), str(path), "printed"))
    if differ or not count:
        sys.exit(f"{path} is not true ({count} blocks). To accept: {sys.argv[0]} --update ...")
    print(f"{count} blocks")


if __name__ == "__main__":
    main()
