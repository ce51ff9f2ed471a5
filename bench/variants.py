#!/usr/bin/env python3
"""Measures the variants of the library on the GPU of this machine, each beside what PyTorch has for it:
masks, few queries, wide heads, float32, and formulas that no peer has a kernel for.

Each candidate of a cell runs once; rows of every head are compared with PyTorch in float64. Then all run
in turns, as in attention.py.

usage: variants.py --commit COMMIT --output FILE.json [--cells REGEX] [--rounds N] [--no-peers]
                   [--limit SECONDS]
"""
import argparse
import datetime
import json
import pathlib
import re
import statistics
import sys
import time

import attention
import attention_machine
import attention_peers
import attnc
import torch
import variant_cells

TARGET = "sm_90a"
ROWS = 48  # of each head that are compared, the first and the last among them
# The root mean square error relative to that of the output: two roundings of half an ulp each, of the
# weights and of the output, and as much again for what is between. In float32, products of three parts.
BOUNDS = {"bf16": 2.0 ** -7, "f16": 2.0 ** -10, "f32": 2.0 ** -16}


def chosen_rows(n):
    generator = torch.Generator().manual_seed(1)
    some = torch.randperm(n, generator=generator)[:ROWS]
    return torch.unique(torch.cat([some, torch.tensor([0, n - 1])])).cuda()


def rows_of(tensor, rows, dim):
    return tensor.index_select(dim, rows)


def row_dim(cell, tensor):
    """Which dim of an output holds the rows: the one of as many elements, the last such before a head."""
    return next(at for at, size in enumerate(tensor.shape) if size == cell.shape["i"])


def errors(cell, outputs, reference, rows):
    found = {}
    for name, expected in reference.items():
        if name not in outputs:
            continue
        actual = rows_of(outputs[name], rows, row_dim(cell, outputs[name])).double()
        difference = actual - expected
        found[name] = {
            "relative_rms": float(difference.square().mean().sqrt() / expected.square().mean().sqrt()),
            "max_abs": float(difference.abs().max())}
    return found


def made(cell, inputs, peers):
    """(candidates, errors by name of those that cannot be made)."""
    candidates, failed = [], {}

    def attempt(name, make):
        try:
            candidate = attention.Candidate(name, *make())
            candidate.outputs = {key: value.clone() for key, value in candidate.call(0).items()}
            torch.cuda.synchronize()
            candidates.append(candidate)
        except Exception as error:  # whatever a peer raises, the others are measured
            failed[name] = f"{type(error).__name__}: {error}".splitlines()[0]

    def ours(path, schedule):
        program = attnc.compile(path, target=TARGET, set=cell.set, schedule=schedule)
        plan = program.bind(**inputs, **cell.params)
        return (lambda index: plan()),

    def theirs(peer):
        call = peer(inputs)
        return (lambda index: call()),
    for name, (path, schedule) in cell.programs.items():
        attempt(name, lambda path=path, schedule=schedule: ours(path, schedule))
    for name, peer in cell.peers.items() if peers else ():
        attempt(name, lambda peer=peer: theirs(peer))
    return candidates, failed


def measure(cell, options):
    torch.manual_seed(1)
    inputs = cell.inputs()
    candidates, failed = made(cell, inputs, not options.no_peers)
    rows = chosen_rows(cell.shape["i"])
    reference = cell.reference(inputs, rows)
    records = {name: {"error": text} for name, text in failed.items()}
    for candidate in candidates:
        records[candidate.name] = {"errors": errors(cell, candidate.outputs, reference, rows)}
        del candidate.outputs
    attention.time_in_turns(torch, candidates, [inputs], options.rounds)
    flops = cell.flops() if cell.flops else None
    for candidate in candidates:
        times = sorted(t for batch in candidate.rounds for t in batch)
        low, _, high = statistics.quantiles(times, n=4)
        record = records[candidate.name]
        record.update(ms=statistics.median(times), ms_low=low, ms_high=high, launches=len(times))
        if flops:
            record["tflops"] = flops / (record["ms"] * 1e9)
    ours = [records[name] for name in cell.programs]
    right = all("errors" in record and record["errors"] and
                all(x["relative_rms"] <= BOUNDS[cell.dtype] for x in record["errors"].values())
                for record in ours)
    return {"section": cell.section, "name": cell.name, "dtype": cell.dtype, "shape": cell.shape,
            "spec": next(iter(cell.programs.values()))[0].stem, "flops": flops,
            "read": sum(t.numel() * t.element_size() for t in inputs.values()),
            "ours": list(cell.programs), "ok": right, "candidates": records}


def show(row):
    print(f"== {row['section']}: {row['name']}{'' if row['ok'] else '   NOT RIGHT'}")
    for name, x in row["candidates"].items():
        if "error" in x:
            print(f"   {name:28} {x['error'][:130]}")
            continue
        speed = f"{x['tflops']:7.1f} TFLOP/s" if "tflops" in x else " " * 15
        found = ", ".join(f"{key} {value['relative_rms']:.1e}" for key, value in x["errors"].items())
        print(f"   {name:28} {1e3 * x['ms']:10.1f} us {speed}  {found}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--commit", required=True, help="of libattnc.so")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--cells", default="", help="a regular expression on sections and names")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--no-peers", action="store_true", help="attnc only")
    parser.add_argument("--limit", type=float, default=480, metavar="SECONDS",
                        help="start no cell after that")
    options = parser.parse_args()
    began = time.monotonic()
    report = {"kind": "variants", "machine": attention_machine.describe(torch, TARGET),
              "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
              "commit": options.commit, "rounds": options.rounds, "cells": []}
    with torch.no_grad(), attention_peers.quiet():
        for cell in variant_cells.cells():
            if not re.search(options.cells, f"{cell.section}: {cell.name}"):
                continue
            if time.monotonic() - began > options.limit:
                print(f"{cell.name}: not measured, the time is up")
                continue
            report["cells"].append(measure(cell, options))
            show(report["cells"][-1])
            torch.cuda.empty_cache()
            options.output.write_text(json.dumps(report, indent=1) + "\n")
    wrong = [row["name"] for row in report["cells"] if not row["ok"]]
    print(f"{len(report['cells'])} cells in {time.monotonic() - began:.0f} s; "
          f"not right: {', '.join(wrong) or 'none'}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
