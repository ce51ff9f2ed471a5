#!/usr/bin/env python3
"""The first call of flex_attention in a process, for some functions of scores and masks: with an
empty cache (cold) and with the cache that a process before has filled (warm), each in processes of
their own, in turns; on a GPU beside PyTorch's compiled FlexAttention, with its own caches empty and
filled.

usage: first_call.py [--device cpu|cuda] [--rounds N] [--commit C] [--output FILE]

Figures are medians over the processes, in seconds. `call` is the time of the first call until its
result is there, with its modules imported and the tensors made; `process` is that of the whole
process, with Python's start and the imports, of which PyTorch's own is `import_torch` and that of
attnc.torch, or of FlexAttention, `import_own`. `again` is a second call, and `other` the first call
with another function. `call_cpu` is the time of processors in `call`: on a busy machine the
clock's time says little.
"""
import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
# What is aimed at for `call`, in seconds.
AIMS = {"cold": 1.0, "warm": 0.05}
SHAPE = {"cpu": (1, 2, 128, 64), "cuda": (4, 16, 4096, 64)}
CASES = ("plain", "causal", "alibi, causal", "soft cap", "documents, causal")


def functions(torch, name, device, batch, heads, length):
    """score_mod and mask_mod."""
    slopes = torch.exp2(-8 * torch.arange(1, heads + 1, device=device) / heads)
    document = torch.arange(length, device=device).expand(batch, -1) * 4 // length

    def causal(b, h, i, j):
        return i >= j

    def documents(b, h, i, j):
        return (document[b, i] == document[b, j]) & (i >= j)

    def alibi(s, b, h, i, j):
        return s + slopes[h] * (j - i)

    def soft_cap(s, b, h, i, j):
        return 20 * torch.tanh(s / 20)
    return {"plain": (None, None), "causal": (None, causal), "alibi, causal": (alibi, causal),
            "soft cap": (soft_cap, None), "documents, causal": (None, documents)}[name]


# --- a process that calls for the first time ------------------------------------------------------


def timed(torch, device, call):
    started = time.perf_counter()
    call()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - started


def own_call(torch, device):
    import attnc.torch

    def call(q, k, v, score_mod, mask_mod):
        return attnc.torch.flex_attention(q, k, v, score_mod, mask_mod=mask_mod)
    return call


def peers_call(torch, device):
    """As its documentation has it: compiled, with a mask of blocks."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    compiled = torch.compile(flex_attention)

    def call(q, k, v, score_mod, mask_mod):
        mask = mask_mod and create_block_mask(mask_mod, q.shape[0], None, q.shape[2], k.shape[2],
                                              device=device)
        return compiled(q, k, v, score_mod, mask)
    return call


def child(way, device, name):
    times, started = {}, time.perf_counter()
    import torch
    times["import_torch"] = time.perf_counter() - started
    started = time.perf_counter()
    call = {"attnc": own_call, "peer": peers_call}[way](torch, device)
    times["import_own"] = time.perf_counter() - started
    shape = SHAPE[device]
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    q, k, v = (torch.randn(*shape, device=device).to(dtype) for _ in range(3))
    chosen = functions(torch, name, device, *shape[:3])
    other = functions(torch, CASES[CASES.index(name) - 1], device, *shape[:3])
    timed(torch, device, lambda: q.sum().item())  # the GPU is open
    started = time.process_time()
    times["call"] = timed(torch, device, lambda: call(q, k, v, *chosen))
    times["call_cpu"] = time.process_time() - started
    times["again"] = timed(torch, device, lambda: call(q, k, v, *chosen))
    times["other"] = timed(torch, device, lambda: call(q, k, v, *other))
    print(json.dumps(times))


# --- the processes --------------------------------------------------------------------------------


def run(way, device, name, caches):
    environment = {**os.environ, "ATTNC_CACHE_DIR": f"{caches}/attnc",
                   "TORCHINDUCTOR_CACHE_DIR": f"{caches}/inductor",
                   "TRITON_CACHE_DIR": f"{caches}/triton"}
    started = time.perf_counter()
    ended = subprocess.run([sys.executable, "-W", "ignore", __file__, "--child", way, device, name],
                           capture_output=True, text=True, env=environment)
    process = time.perf_counter() - started
    if ended.returncode:
        sys.exit(ended.stderr)
    return {**json.loads(ended.stdout.splitlines()[-1]), "process": process}


def cell(way, device, name, rounds):
    samples = {"cold": [], "warm": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as caches:
            for temperature in samples:
                samples[temperature].append(run(way, device, name, caches))
    return {"name": name, "way": way,
            **{temperature: {what: round(statistics.median(s[what] for s in taken), 4)
                             for what in taken[0]} for temperature, taken in samples.items()}}


def describe(device):
    if device == "cuda":
        import attention_machine
        import torch
        return attention_machine.describe(torch, "sm_90a")
    import call_path
    import torch
    return {**call_path.describe(None, "cpu"), "torch": torch.__version__}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--device", choices=SHAPE, default="cpu")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child)
        return
    cells = []
    for name in arguments.cases:
        for way in ("attnc", "peer") if arguments.device == "cuda" else ("attnc",):
            cells.append(cell(way, arguments.device, name, arguments.rounds))
            print(f"{name:18} {way:6}" + "".join(
                f"  {temperature}: call {times['call']:7.3f} s, process {times['process']:6.2f}"
                for temperature, times in list(cells[-1].items())[2:]), flush=True)
    document = {"date": datetime.date.today().isoformat(), "commit": arguments.commit,
                "kind": "first_call", "machine": describe(arguments.device),
                "device": arguments.device, "shape": SHAPE[arguments.device],
                "rounds": arguments.rounds, "aims_s": AIMS, "cells": cells}
    if arguments.output:
        arguments.output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
