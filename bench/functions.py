#!/usr/bin/env python3
"""Times functions of PyTorch that attnc computes as one program: flex_attention with functions of
scores and masks beside PyTorch's own compiled one, and attention in plain PyTorch beside
torch.compile; and the host time of a call by each way in.

usage: functions.py [--commit C] [--output FILE]

Errors are Frobenius norms of the difference to the same in float64, relative to that of the
result; of flex_attention they are of one head. Needs a GPU and PyTorch; PYTHONPATH has
the package, and tests/python for the plain functions.
"""
import argparse
import datetime
import functools
import json
import pathlib
import statistics
import time

import attention_machine
import attnc
import attnc.torch
import plain_attention
import queued_launches
import torch
import torch.nn.functional as F
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

DTYPE = torch.bfloat16
FLEX = {"batch": 4, "heads": 16, "length": 4096, "depth": 64}
PLAIN = {"batch": 4, "heads": 8, "queries": 1024, "depth": 64}
CALLS = 2000  # of which the host's time is the median


def normal(*shape, dtype=DTYPE):
    return torch.randn(*shape, device="cuda").to(dtype)


def milliseconds(call):
    call()
    return statistics.median(ms for _ in range(6)
                             for ms in queued_launches.milliseconds(torch, [call] * 10))


def error(own, exact):
    own, exact = (torch.cat([t.double().flatten() for t in torch.utils._pytree.tree_leaves(x)])
                  for x in (own, exact))
    return ((own - exact).norm() / exact.norm()).item()


# --- functions of scores and masks, as FlexAttention's examples have them -----------------------


def flex_cases(batch, heads, length):
    slopes = torch.exp2(-8 * torch.arange(1, heads + 1, device="cuda") / heads)
    bias = torch.randn(2 * length, device="cuda")
    document = torch.randint(0, 8, (batch, length), device="cuda").sort(-1).values

    def causal(b, h, i, j):
        return i >= j

    def window(b, h, i, j):
        return (i >= j) & (i - j <= 1024)

    def prefix(b, h, i, j):
        return (i >= j) | (j <= 512)

    def documents(b, h, i, j):
        return (document[b, i] == document[b, j]) & (i >= j)

    def alibi(s, b, h, i, j):
        return s + slopes[h] * (j - i)

    def distances(s, b, h, i, j):
        return s + (i - j)

    def soft_cap(s, b, h, i, j):
        return 20 * torch.tanh(s / 20)

    def relative(s, b, h, i, j):
        return s + bias[i - j + length]
    return [("plain", None, None), ("causal", None, causal), ("sliding window", None, window),
            ("prefix", None, prefix), ("documents, causal", None, documents),
            ("alibi, causal", alibi, causal), ("relative distance", distances, None),
            ("soft cap", soft_cap, None), ("soft cap, causal", soft_cap, causal),
            ("relative bias", relative, None)]


def flex_exact(q, k, v, score_mod, mask_mod, b, h):
    """One head in float64."""
    i = torch.arange(q.shape[2], device="cuda")[:, None]
    j = torch.arange(k.shape[2], device="cuda")[None]
    b, h = (torch.tensor(x, device="cuda") for x in (b, h))
    s = q[b, h].double() @ k[b, h].double().mT * q.shape[-1] ** -0.5
    if score_mod is not None:
        s = score_mod(s, b, h, i, j)
    if mask_mod is not None:
        s = torch.where(mask_mod(b, h, i, j), s, -torch.inf)
    return torch.softmax(s, -1) @ v[b, h].double()


def flex_cells():
    batch, heads, length, depth = FLEX.values()
    for name, score_mod, mask_mod in flex_cases(batch, heads, length):
        torch._dynamo.reset()
        q, k, v = (normal(batch, heads, length, depth) for _ in range(3))
        mask = mask_mod and create_block_mask(mask_mod, batch, None, length, length)
        own = functools.partial(attnc.torch.flex_attention, q, k, v, score_mod, mask)
        compiled = torch.compile(flex_attention, dynamic=False)
        peer = functools.partial(compiled, q, k, v, score_mod, mask)
        started = time.perf_counter()
        result = own()
        torch.cuda.synchronize()
        first = time.perf_counter() - started
        exact = flex_exact(q, k, v, score_mod, mask_mod, 1, heads - 3)
        cell = {"kind": "flex", "name": name, "shape": FLEX, "first_call_s": first,
                "error": error(result[1, heads - 3], exact)}
        started = time.perf_counter()
        try:
            expected = peer()
            torch.cuda.synchronize()
            cell["peer_first_call_s"] = time.perf_counter() - started
            cell["peer_error"] = error(expected[1, heads - 3], exact)
            cell["peer_ms"] = milliseconds(peer)
        except Exception as reason:  # the peer's own
            cell["peer_why"] = str(reason).splitlines()[0][:200]
        cell["ms"] = milliseconds(own)
        yield cell


def plain_cells():
    for function, arguments in plain_attention.cases(normal, **PLAIN):
        torch._dynamo.reset()
        fused, compiled = attnc.torch.fuse(function), torch.compile(function)
        started = time.perf_counter()
        result = fused(*arguments)
        torch.cuda.synchronize()
        cell = {"kind": "plain", "name": function.__name__, "shape": PLAIN,
                "first_call_s": time.perf_counter() - started}
        exact = function(*(a.double() if torch.is_tensor(a) else a for a in arguments))
        cell.update(error=error(result, exact), peer_error=error(function(*arguments), exact),
                    eager_ms=milliseconds(functools.partial(function, *arguments)),
                    peer_ms=milliseconds(functools.partial(compiled, *arguments)),
                    ms=milliseconds(functools.partial(fused, *arguments)))
        yield cell


# --- what a call costs the host -------------------------------------------------------------------


def host_microseconds(call):
    for _ in range(50):
        call()
    torch.cuda.synchronize()
    times = []
    for _ in range(CALLS):
        started = time.perf_counter()
        call()
        times.append(1e6 * (time.perf_counter() - started))
        if len(times) % 100 == 0:
            torch.cuda.synchronize()
    return statistics.median(times)


def host_times():
    q, k, v = (normal(1, 8, 128, 64) for _ in range(3))
    operator = attnc.torch.op("causal")
    program = operator.program(q, k, v)
    plan = program.bind(q=q, k=k, v=v)
    compiled = torch.compile(lambda: operator(q, k, v), fullgraph=True)
    peer = torch.compile(flex_attention)
    fused = attnc.torch.fuse(plain_attention.plain)

    def bias(s, b, h, i, j):
        return s + (i - j)
    ways = {"plan": plan, "program": lambda: program(q=q, k=k, v=v),
            "op": lambda: operator(q, k, v), "op, compiled": compiled,
            "op, through the dispatcher": lambda: operator._forward(q, k, v, None),
            "attention": lambda: attnc.torch.attention(q, k, v, is_causal=True),
            "flex_attention": lambda: attnc.torch.flex_attention(q, k, v, bias),
            "fuse": lambda: fused(q, k, v),
            "PyTorch's scaled_dot_product_attention":
                lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True),
            "PyTorch's flex_attention, compiled": lambda: peer(q, k, v, bias)}
    return {name: host_microseconds(way) for name, way in ways.items()}


def captured_in_a_graph():
    """True if an operator that a CUDA graph replays computes what a call does, of other inputs."""
    operator = attnc.torch.op("causal")
    q, k, v = (normal(1, 8, 256, 64) for _ in range(3))
    operator(q, k, v)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        o = operator(q, k, v)
    q.copy_(normal(*q.shape))
    graph.replay()
    return torch.equal(o, operator(q, k, v))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("functions.json"))
    arguments = parser.parse_args()
    torch.manual_seed(0)
    cells = []
    for cell in (*flex_cells(), *plain_cells()):
        cells.append(cell)
        print(f"{cell['kind']:6} {cell['name']:20} {cell['ms']:8.3f} ms, peer "
              f"{cell.get('peer_ms', float('nan')):8.3f}, error {cell['error']:.1e}, peer's "
              f"{cell.get('peer_error', float('nan')):.1e}", flush=True)
    host = host_times()
    for name, us in host.items():
        print(f"host   {name:40} {us:6.1f} us", flush=True)
    document = {"date": datetime.date.today().isoformat(), "commit": arguments.commit,
                "kind": "functions", "machine": attention_machine.describe(torch, "sm_90a"),
                "graph": captured_in_a_graph(), "host_us": host, "cells": cells}
    print("in a CUDA graph:", document["graph"])
    arguments.output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
