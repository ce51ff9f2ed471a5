#!/usr/bin/env python3
"""One query and many keys: the variant in parts beside one pass and PyTorch's backends; and the
entropy of the weights beside plain attention. Needs a GPU, PyTorch and libattnc.so.
usage: decode.py [--commit C] [--output FILE] [--rounds N]"""
import argparse
import datetime
import json
import math
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
for folder in (HERE.parent / "runtime/api/python", HERE.parent / "python"):
    sys.path.insert(0, str(folder))

import torch  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

import attention_machine  # noqa: E402
import attnc  # noqa: E402

LIBRARY = HERE.parent / "kernels_spec"
D = 128
DECODE = [(1, 32, 1, 32768), (1, 8, 1, 32768), (8, 32, 1, 8192), (1, 32, 16, 32768)]
ENTROPY = [(4, 16, 4096, 4096)]
PEERS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}


def milliseconds(calls, rounds):
    """Medians by name. The calls take turns, so that all see the same clocks."""
    times = {name: [] for name in calls}
    for round_ in range(rounds + 3):
        for name, call in calls.items():
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(200_000)  # so that the launch is queued when the GPU gets there
            start.record()
            call()
            stop.record()
            torch.cuda.synchronize()
            if round_ >= 3:
                times[name].append(start.elapsed_time(stop))
    return {name: statistics.median(values) for name, values in times.items()}


def tensors(b, h, i, j):
    return {name: torch.randn(b, h, rows, D, device="cuda", dtype=torch.bfloat16)
            for name, rows in (("q", i), ("k", j), ("v", j))}


def reference(inputs):
    q, k, v = (inputs[name].double() for name in "qkv")
    p = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(D), -1)
    return p @ v, -torch.special.xlogy(p, p).sum(-1)


def program(spec, fold=None):
    return attnc.compile(LIBRARY / f"{spec}.json", target="sm_90a",
                         set={"d": D, "e": D, "T": "bf16"}, schedule=fold)


def measure(shape, programs, peers, rounds):
    inputs = tensors(*shape)
    outputs, calls = {}, {}
    for name, made in programs.items():
        plan = made.bind(**inputs)
        outputs[name] = {key: value.clone() for key, value in plan().items()}
        calls[name] = plan
    for name, backend in peers.items():
        def call(backend=backend):
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(*inputs.values())
        try:
            outputs[name] = {"o": call()}
            calls[name] = call
        except RuntimeError as error:
            print(f"{name}: {str(error).splitlines()[0]}")
    torch.cuda.synchronize()
    rows = min(shape[2], 64)  # of the reference, which has all scores in memory
    expected = reference({**inputs, "q": inputs["q"][:, :, :rows]})
    times = milliseconds(calls, rounds)
    table = []
    for name, ms in times.items():
        errors = {key: float((value[:, :, :rows].double() - want).abs().max())
                  for (key, want) in zip(("o", "ent"), expected)
                  for value in [outputs[name].get(key)] if value is not None}
        table.append({"name": name, "ms": ms, "errors": errors})
        print(f"  {name:12} {1e3 * ms:9.1f} us   errors {errors}", flush=True)
    read = sum(t.numel() * t.element_size() for t in inputs.values())
    return {"shape": dict(zip("bhij", shape)), "d": D, "bytes": read, "candidates": table}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--commit", default="")
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    result = {"kind": "decode", "machine": attention_machine.describe(torch, "sm_90a"),
              "commit": options.commit, "date": datetime.date.today().isoformat()}
    full = program("full")
    folds = {"auto": full, "one pass": program("full", {"fold": "stream"}),
             "4 parts": program("full", {"fold": "two_pass", "splits": 4}),
             "16 parts": program("full", {"fold": "two_pass", "splits": 16})}
    for section, shapes, programs, peers in (
            ("decode", DECODE, folds, PEERS),
            ("entropy", ENTROPY, {"full": full, "entropy": program("entropy")}, {})):
        result[section] = []
        for shape in shapes:
            print(section, dict(zip("bhij", shape)))
            result[section].append(measure(shape, programs, peers, options.rounds))
    if options.output:
        options.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
