#!/usr/bin/env python3
"""Measures attention forward on the GPU of this machine: attnc and beside it, in one process and
in turns, cuDNN and Flash through PyTorch's scaled_dot_product_attention, and FlexAttention.

Per cell: every candidate is compiled, run, and compared with float64 at all elements; attnc is run
again for bitwise equality; then, in rounds and in another order in each, a batch of launches of
each candidate is timed by device events. The launches of a batch are queued behind a kernel that
waits, so the host's time does not count. Inputs are random; those of one set exceed the L2 cache,
or several sets take turns.

usage: attention.py --commit COMMIT --output FILE.json [--cells REGEX] [--rounds N] [--quick]
                    [--schedules FOLDER] [--trials FOLDER] [--limit SECONDS]
       attention.py --dry-run [--cells REGEX] [--schedules FOLDER]    needs no GPU and no PyTorch

FOLDER of --schedules: NAME.json is tried on every cell, CELL/NAME.json on one, each beside the
schedule that attnc chooses. --trials: hand-written kernels, see trial_kernels.py.
"""
import argparse
import datetime
import functools
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
for folder in (HERE, HERE.parent / "api/python", HERE.parent / "python"):
    sys.path.insert(0, str(folder))

import attention_cells as cells  # noqa: E402
import attention_machine  # noqa: E402
import attention_peers  # noqa: E402
import attention_reference  # noqa: E402
import attnc  # noqa: E402
import queued_launches  # noqa: E402
import trial_kernels  # noqa: E402

TARGET = cells.TARGET
BATCH_MS, BATCH_LAUNCHES = 5.0, (4, 20)
LACKING = 4  # the exit code where the machine lacks something, as that of attnc itself
REPEATS = 3  # runs that have to give the same bits
COLD_SPECS = ("full", "causal", "softcap")
COLD_SIZE = (128, 4096, "bf16")
COLD_REPEATS = 3
ERROR_SLACK = 1.05  # how much larger than cuDNN's the error of attnc may be


class Candidate:
    """One way to compute a cell: `call(index)` queues it on input set `index` and returns its
    outputs; `record` is what becomes of it in the results."""

    def __init__(self, name, call, **record):
        self.name, self.call, self.record = name, call, record
        self.rounds = []  # milliseconds of each launch, by round


# --- candidates --------------------------------------------------------------------------------


def schedules_for(folder, name):
    """(label, path) of the schedule files that are to be tried on a cell."""
    if folder is None:
        return []
    files = sorted(folder.glob("*.json")) + sorted((folder / name).glob("*.json"))
    return [("attnc:" + path.stem, path) for path in files]


def compile_cell(c, target, schedule=None):
    return attnc.compile(c.spec, target=target, set=c.set, schedule=schedule)


def kernel_records(program):
    return [{"name": k.name, "form": k.form, "schedule": k.schedule, "threads": k.threads,
             "shared_bytes": k.shared_bytes, "registers": k.registers,
             "spill_bytes": k.spill_store_bytes + k.spill_load_bytes, "notes": k.notes}
            # Not the copies of unaligned tensors, nor what is compiled when a launch needs it.
            for k in program.kernels if k.form and k.registers >= 0]


def make_inputs(torch, c, seed):
    """Inputs and further tensors of one set; normal, as queries and keys after a layer norm."""
    generator = torch.Generator("cuda").manual_seed(seed)
    dtype = {"bf16": torch.bfloat16, "f16": torch.float16}[c.dtype]

    def normal(*shape):
        return torch.randn(*shape, generator=generator, device="cuda", dtype=dtype)
    inputs = {"q": normal(c.b, c.h, c.queries, c.d), "k": normal(c.b, c.hk, c.n, c.d),
              "v": normal(c.b, c.hk, c.n, c.d)}
    extra = {}
    if c.kind == "alibi":
        extra["slope"] = 2.0 ** (-8 * torch.arange(1, c.h + 1, device="cuda").float() / c.h)
    if c.kind == "bias":
        extra["bias"] = normal(c.b, c.h, c.queries, c.n)
    return inputs, extra


def in_pages(torch, c, inputs):
    """The same keys and values in pages that lie in any order, and a table that names them."""
    page = c.set["t"]
    count = c.b * c.n // page
    order = torch.randperm(count, generator=torch.Generator("cuda").manual_seed(count),
                           device="cuda")

    def pages(x):
        lie = x.view(c.b, c.hk, c.n // page, page, c.d).permute(0, 2, 3, 1, 4)
        return torch.empty_like(lie.reshape(count, page, c.hk, c.d)).index_copy_(
            0, order, lie.reshape(count, page, c.hk, c.d))
    return {"q": inputs["q"], "kp": pages(inputs["k"]), "vp": pages(inputs["v"]),
            "table": order.view(c.b, -1).int()}


def make_sets(torch, c):
    first = make_inputs(torch, c, 0)
    size = sum(t.numel() * t.element_size() for group in first for t in group.values())
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    return [first] + [make_inputs(torch, c, seed) for seed in range(1, -(-2 * cache // size))]


def poisoned(torch, program, sizes):
    dtypes = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
    return {t.name: torch.full([sizes[dim] for dim in t.dims], float("nan"),
                               dtype=dtypes[t.dtype], device="cuda") for t in program.outputs}


def attnc_candidate(torch, name, c, target, sets, schedule=None):
    program = compile_cell(c, target, schedule)
    start = time.perf_counter()
    program.load(0)
    load = time.perf_counter() - start
    sizes = {"b": c.b, "h": c.h, "i": c.queries, "e": c.d}
    named = [in_pages(torch, c, inputs) if c.kind == "paged" else inputs for inputs, _ in sets]
    plans = [program.bind(out=poisoned(torch, program, sizes), **inputs, **extra, **c.params)
             for inputs, (_, extra) in zip(named, sets)]
    return Candidate(name, lambda index: plans[index](), kernels=kernel_records(program),
                     compile_s=program.seconds, nvrtc_s=program.nvrtc_seconds, load_s=load)


def trial_candidate(torch, name, folder, meta, c, sets):
    kernel = trial_kernels.load(torch, folder, meta)
    launches = []
    for inputs, _ in sets:
        o = torch.full_like(inputs["q"], float("nan"))
        lse = torch.empty(c.b, c.h, c.queries, dtype=torch.float32, device="cuda")
        launches.append(kernel.bind(inputs, o, lse, meta.get("cap", 0.0)))
    return Candidate(name, lambda index: launches[index]())


def candidates_of(torch, c, sets, options):
    """(candidates, errors by name of those that cannot be made)."""
    made, failed = [], {}

    def attempt(name, make):
        try:
            candidate = make()
            candidate.outputs = candidate.call(0)
            torch.cuda.synchronize()
            made.append(candidate)
        except Exception as error:  # whatever a peer raises, the other candidates are measured
            failed[name] = f"{type(error).__name__}: {error}".splitlines()[0]
    attempt("attnc", lambda: attnc_candidate(torch, "attnc", c, options.target, sets))
    for label, path in schedules_for(options.schedules, c.name):
        attempt(label, lambda label=label, path=path:
                attnc_candidate(torch, label, c, options.target, sets, path))
    for peer in c.peers if not options.no_peers else ():
        attempt(peer, lambda peer=peer:
                Candidate(peer, attention_peers.make_peer(torch, peer, c, sets)))
    for meta in trial_kernels.entries(options.trials, c) if options.trials else ():
        name = "trial:" + meta["name"]
        attempt(name, lambda name=name, meta=meta:
                trial_candidate(torch, name, options.trials, meta, c, sets))
    return made, failed


# --- measuring ---------------------------------------------------------------------------------


def batch_ms(torch, candidate, sets, count):
    """Milliseconds of each of `count` launches, queued while the GPU waits."""
    calls = [functools.partial(candidate.call, index % len(sets)) for index in range(count)]
    return queued_launches.milliseconds(torch, calls)


def time_in_turns(torch, candidates, sets, rounds):
    low, high = BATCH_LAUNCHES
    counts = {}
    for candidate in candidates:  # warm-up, and how long one takes
        usual = statistics.median(batch_ms(torch, candidate, sets, low))
        counts[candidate.name] = max(low, min(high, int(BATCH_MS / max(usual, 1e-3))))
    for number in range(rounds):
        order = list(candidates)
        random.Random(number).shuffle(order)
        for candidate in order:
            candidate.rounds.append(batch_ms(torch, candidate, sets, counts[candidate.name]))


def same_bits(torch, candidate):
    """Whether further runs give the bits of the first."""
    first = {name: t.clone() for name, t in candidate.call(0).items()}
    for _ in range(REPEATS):
        again = candidate.call(0)
        if not all(torch.equal(first[name].view(torch.uint8), again[name].view(torch.uint8))
                   for name in first):
            return False
    return True


def summarise(c, candidate, reference):
    """The times of a candidate, and its speed relative to `reference` round by round, which the
    drift of the clocks does not touch."""
    times = sorted(t for batch in candidate.rounds for t in batch)
    quartiles = statistics.quantiles(times, n=4)
    medians = [statistics.median(batch) for batch in candidate.rounds]
    record = {"ms": statistics.median(times), "ms_low": quartiles[0], "ms_high": quartiles[2],
              "ms_min": times[0], "launches": len(times)}
    for key in ("ms", "ms_low", "ms_high"):
        record[key.replace("ms", "tflops", 1)] = cells.flops(c) / (record[key] * 1e9)
    record["tflops_low"], record["tflops_high"] = record["tflops_high"], record["tflops_low"]
    record["stream_gb_s"] = cells.stream_bytes(c) / (record["ms"] * 1e6)
    if reference:
        record["speed_of_attnc"] = statistics.median(
            own / base for own, base in zip(
                medians, (statistics.median(batch) for batch in reference.rounds)))
    return record


def measure_cell(torch, c, options):
    row = {"name": c.name, "spec": c.spec.stem, "kind": c.kind, "mask": c.mask, "dtype": c.dtype,
           "b": c.b, "h": c.h, "hk": c.hk, "n": c.n, "queries": c.queries,
           "d": c.d, "aim": c.aim.get(options.target), "against": c.against,
           "share": c.share, "target": options.target, "candidates": {}}
    sets = make_sets(torch, c)
    candidates, failed = candidates_of(torch, c, sets, options)
    row["candidates"] = {name: {"error": text} for name, text in failed.items()}
    outputs = {candidate.name: candidate.outputs for candidate in candidates}
    for name, error in attention_reference.errors(torch, c, *sets[0], outputs).items():
        row["candidates"][name] = {"errors": error}
    for candidate in candidates:
        if candidate.name.startswith("attnc"):
            row["candidates"][candidate.name]["same_bits"] = same_bits(torch, candidate)
    time_in_turns(torch, candidates, sets, options.rounds)
    ours = next((x for x in candidates if x.name == "attnc"), None)
    for candidate in candidates:
        row["candidates"][candidate.name].update(summarise(c, candidate, ours), **candidate.record)
    row["ok"] = is_right(row["candidates"])
    return row


def is_right(candidates):
    """Whether attnc ran, repeats its bits, left nothing unwritten, and errs no more than cuDNN, or
    than the least of the peers where cuDNN does not compute the cell."""
    ours = candidates.get("attnc", {})
    if "errors" not in ours or ours["errors"]["not_finite"] or not ours["same_bits"]:
        return False
    peers = {name: x["errors"]["relative_rms"] for name, x in candidates.items()
             if "errors" in x and not name.startswith(("attnc", "trial"))}
    if not peers:
        return True
    bound = peers.get("cudnn", min(peers.values()))
    return ours["errors"]["relative_rms"] <= ERROR_SLACK * bound


def print_row(row):
    mark = "" if row["ok"] else "   NOT RIGHT"
    few = row["queries"] < row["n"]
    queries = f"Q{row['queries']} " if few else ""
    print(f"== {row['name']}  {row['dtype']} B{row['b']} H{row['h']}/{row['hk']} {queries}"
          f"N{row['n']} D{row['d']} {row['kind']} {row['mask']}{mark}")
    ranked = sorted(row["candidates"].items(), key=lambda x: -x[1].get("tflops", 0))
    for name, x in ranked:
        if "error" in x:
            print(f"   {name:24} {x['error'][:120]}")
            continue
        kernels = "; ".join(f"{k['registers']} registers, {k['spill_bytes']} spilled, "
                            f"{k['shared_bytes']} shared" for k in x.get("kernels", []))
        lse = f" lse {x['errors']['lse_max_abs']:.1e}" if "lse_max_abs" in x["errors"] else ""
        rate = f" {x['stream_gb_s']:.0f} GB/s" if few else ""
        print(f"   {name:24} {x['tflops']:6.1f} ({x['tflops_low']:.0f}-{x['tflops_high']:.0f}) "
              f"{x['ms']:.4f} ms{rate}  attnc x{x.get('speed_of_attnc', 1):.3f}  "
              f"rms {x['errors']['relative_rms']:.2e} max {x['errors']['max_abs']:.1e}{lse}"
              f"{'' if x.get('same_bits', True) else ' BITS DIFFER'}  {kernels}", flush=True)


# --- the whole ---------------------------------------------------------------------------------


def cold(c, target):
    """Seconds from the text of the spec to loaded kernels, in new processes without caches."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "ATTNC_CACHE": "off", "CUDA_CACHE_DISABLE": "1",
                       "CUDA_CACHE_PATH": cache}
        command = [sys.executable, str(HERE / "cold_compile.py"), str(c.spec), target,
                   json.dumps(c.set)]
        runs = [json.loads(subprocess.run(command, capture_output=True, text=True, check=True,
                                          env=environment, timeout=120).stdout)
                for _ in range(COLD_REPEATS)]
    seconds = [run["seconds"] for run in runs]
    print(f"cold {c.name}: {statistics.median(seconds):.3f} s")
    return {"spec": c.spec.stem, "dtype": c.dtype, "d": c.d, "seconds": seconds,
            "median": statistics.median(seconds),
            "nvrtc": statistics.median(run["nvrtc"] for run in runs)}


def dry_run(chosen, options):
    failures = 0
    for c in chosen:
        for label, path in [("attnc", None), *schedules_for(options.schedules, c.name)]:
            try:
                program = compile_cell(c, options.target, path)
            except attnc.Unavailable as error:
                print(error)
                sys.exit(LACKING)
            except attnc.Error as error:
                print(f"{c.name:22} {label}: {error.message.splitlines()[0]}")
                failures += label == "attnc"
                continue
            for k in kernel_records(program):
                print(f"{c.name:22} {label:10} {program.seconds:.2f} s  {k['form']}, "
                      f"{k['registers']} registers, {k['spill_bytes']} spilled, "
                      f"{k['shared_bytes']} shared  {k['notes']} {k['schedule']}", flush=True)
    print(f"{len(chosen)} cells, {failures} failed")
    return failures


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--commit", help="of libattnc.so")
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--cells", default="", help="a regular expression on cells' names")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--quick", action="store_true", help="3 rounds, no cold compilations")
    parser.add_argument("--schedules", type=pathlib.Path, help="folder of schedules to try")
    parser.add_argument("--trials", type=pathlib.Path, help="folder of hand-written kernels")
    parser.add_argument("--no-peers", action="store_true", help="attnc and trials only")
    parser.add_argument("--limit", type=float, default=480, metavar="SECONDS",
                        help="start no cell after that")
    parser.add_argument("--target", default=TARGET)
    parser.add_argument("--dry-run", action="store_true",
                        help="compile every cell, measure nothing")
    options = parser.parse_args()
    if options.quick:
        options.rounds = 3
    if not options.dry_run and not (options.commit and options.output):
        parser.error("--commit and --output are needed to measure")
    return options


def main():
    options = parse()
    began = time.monotonic()
    chosen = [c for c in cells.CELLS if re.search(options.cells, c.name)]
    if not chosen:
        sys.exit(f"no cell matches {options.cells}")
    if options.dry_run:
        sys.exit(1 if dry_run(chosen, options) else 0)
    import torch
    report = {"kind": "attention", "machine": attention_machine.describe(torch, options.target),
              "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
              "commit": options.commit, "rounds": options.rounds, "cells": []}

    def save():
        options.output.write_text(json.dumps(report, indent=1) + "\n")
    if not options.quick:
        report["cold"] = [cold(c, options.target) for c in chosen
                          if c.spec.stem in COLD_SPECS and (c.d, c.n, c.dtype) == COLD_SIZE]
    report["host_us"] = attention_machine.host_times(torch, options.target)
    with torch.no_grad(), attention_peers.quiet():
        for c in chosen:
            if time.monotonic() - began > options.limit:
                print(f"{c.name}: not measured, the time is up")
                continue
            report["cells"].append(measure_cell(torch, c, options))
            print_row(report["cells"][-1])
            torch.cuda.empty_cache()
            save()  # what is measured stays if something brings the process down
    save()
    wrong = [row["name"] for row in report["cells"] if not row["ok"]]
    print(f"{len(report['cells'])} cells in {time.monotonic() - began:.0f} s; "
          f"not right: {', '.join(wrong) or 'none'}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
