#!/usr/bin/env python3
"""Keeps the times in README true: they are those of bench/results.

usage: check_figures.py [--update] REPOSITORY
"""
import difflib
import json
import pathlib
import sys

HEAD = ["| ms on an H200, bf16 | attnc | FlexAttention | SDPA | measured in |",
        "|---|---|---|---|---|"]
SHAPES = {"attention-h200.json": "D128", "functions-h200.json": "D64"}
CELLS = [("attention-h200.json", "d128-n4096", "softmax attention"),
         ("attention-h200.json", "d128-n4096-causal", "causal"),
         ("attention-h200.json", "d128-alibi-causal", "causal, ALiBi"),
         ("attention-h200.json", "d128-window", "sliding window"),
         ("functions-h200.json", "documents, causal", "causal, documents"),
         ("functions-h200.json", "soft cap, causal", "causal, soft cap")]


def times(cell):
    """ms of attnc, of FlexAttention, and of the fastest of PyTorch's SDPA where it was measured."""
    if "candidates" not in cell:
        return cell["ms"], cell["peer_ms"], None
    ms = {name: record["ms"] for name, record in cell["candidates"].items() if "ms" in record}
    sdpa = min((ms[name] for name in ("cudnn", "flash") if name in ms), default=None)
    return ms["attnc"], ms["flex"], sdpa


def table(repository):
    yield from HEAD
    for file, name, what in CELLS:
        report = json.loads((repository / "bench/results" / file).read_text(encoding="utf-8"))
        cell = next(c for c in report["cells"] if c["name"] == name)
        shown = ["-" if ms is None else f"{ms:.2f}" for ms in times(cell)]
        row = [f"{what}, {SHAPES[file]}", *shown, f"[{file}](bench/results/{file})"]
        yield f"| {' | '.join(row)} |"


def main():
    repository = pathlib.Path(sys.argv[-1])
    page = repository / "README.md"
    lines = page.read_text(encoding="utf-8").splitlines()
    first = lines.index(HEAD[0])
    end = next(n for n in range(first, len(lines)) if not lines[n].startswith("|"))
    wanted = [*lines[:first], *table(repository), *lines[end:]]
    if "--update" in sys.argv:
        page.write_text("\n".join(wanted) + "\n", encoding="utf-8")
    elif wanted != lines:
        sys.stderr.writelines(f"{line}\n" for line in difflib.unified_diff(
            lines, wanted, "README.md", "bench/results", lineterm=""))
        sys.exit("README's times are not those of bench/results. "
                 f"To accept: {sys.argv[0]} --update .")


if __name__ == "__main__":
    main()
