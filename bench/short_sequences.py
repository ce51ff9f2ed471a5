#!/usr/bin/env python3
"""Times attention over many short sequences: rows of the Evoformer, windows of vision transformers, and
plain attention of up to 1024 positions; each beside PyTorch, and compared with float64.

usage: short_sequences.py [--commit C] [--target sm_90a] [--output FILE]

The peer is cuDNN; where a bias is added, PyTorch's memory-efficient kernel, which reads it from memory.
Errors are Frobenius norms relative to that of the result, of some sequences. Needs an H100 and PyTorch.
"""
import argparse
import datetime
import json
import pathlib
import statistics

import attention_cells
import attention_machine
import attnc
import queued_launches
import torch
import variant_cells
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

# Head dims and what the cells are to take, in ms: 4 x 256 rows of 256 positions, 4 heads.
EVOFORMER = [(32, 0.17), (64, 0.26), (128, 0.49)]
WINDOWS = [49, 64]                        # positions; 4096 windows, 4 heads of 32
LENGTHS = [64, 128, 256, 384, 512, 1024]  # 64 sequences, of 1024 positions 16; 16 heads
COMPARED = 4                              # sequences that are computed in float64
DTYPE = torch.bfloat16


def spec(name):
    return json.loads(variant_cells.spec(name).read_text(encoding="utf-8"))


def normal(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.float32).to(DTYPE)


def milliseconds(call):
    """Of few calls at a time: PyTorch takes longer to queue the smallest than the GPU to compute them."""
    call()
    return statistics.median(time for _ in range(8)
                             for time in queued_launches.milliseconds(torch, [call] * 15))


def attention(q, k, v, bias=None, causal=False):
    """In float64."""
    s = q.double() @ k.double().transpose(-1, -2) * q.shape[-1] ** -0.5
    if bias is not None:
        s = s + bias
    if causal:
        s = s.masked_fill(torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).triu(1), -float("inf"))
    return torch.softmax(s, -1) @ v.double()


def measured(program, tensors, reference, backend, peer, **about):
    """`reference()`: the first sequences in float64. `peer()`: what PyTorch's backend computes, of all."""
    o = torch.full_like(tensors["q"], float("nan"))
    plan = program.bind(out={"o": o}, **tensors)
    plan()
    torch.cuda.synchronize()
    exact = reference()

    def error(result):
        return ((result.double() - exact).norm() / exact.norm()).item()
    cell = {**about, "ms": milliseconds(plan), "error": error(o.flatten(0, -4)[:len(exact)])}
    with sdpa_kernel(backend):
        cell.update(peer_ms=milliseconds(peer),
                    peer_error=error(peer().reshape(o.shape).flatten(0, -4)[:len(exact)]))
    torch.cuda.empty_cache()
    return cell


def evoformer(target):
    b, n, h, length = 4, 256, 4, 256
    for d, aim in EVOFORMER:
        q, k, v, gate = (normal(b, n, h, length, d) for _ in range(4))
        mask, pair = normal(b, n, length), normal(b, h, length, length)
        bias = (mask[:, :, None, None] + pair[:, None]).flatten(0, 1)
        program = attnc.compile(spec("evoformer"), target, set={"T": "bf16", "d": d, "e": d})

        def reference():
            some = slice(0, COMPARED)
            exact = attention(q[0, some], k[0, some], v[0, some],
                              mask[0, some, None, None].double() + pair[0].double())
            return torch.sigmoid(gate[0, some].double()) * exact

        def peer():
            o = scaled_dot_product_attention(*(x.flatten(0, 1) for x in (q, k, v)), attn_mask=bias)
            return torch.sigmoid(gate) * o.view(gate.shape)
        tensors = {"q": q, "k": k, "v": v, "gate": gate, "mask": mask, "pair": pair}
        yield measured(program, tensors, reference, SDPBackend.EFFICIENT_ATTENTION, peer, d=d, aim_ms=aim)


def windows(target):
    b, h, d = 4096, 4, 32
    for length in WINDOWS:
        q, k, v = (normal(b, h, length, d) for _ in range(3))
        bias = normal(h, length, length)
        # PyTorch wants rows of the bias aligned.
        room = torch.zeros(1, h, length, -(-length // 8) * 8, device="cuda", dtype=DTYPE)
        room[..., :length] = bias
        of_all = room[..., :length].expand(b, h, length, length)
        program = attnc.compile(spec("window"), target)

        yield measured(program, {"q": q, "k": k, "v": v, "bias": bias},
                       lambda: attention(q[:COMPARED], k[:COMPARED], v[:COMPARED], bias.double()),
                       SDPBackend.EFFICIENT_ATTENTION,
                       lambda: scaled_dot_product_attention(q, k, v, attn_mask=of_all), length=length)


def plain(target):
    h = 16
    for d in 64, 128:
        for causal in False, True:
            program = attnc.compile(spec("causal" if causal else "full"), target,
                                    set={"T": "bf16", "d": d, "e": d})
            for length in LENGTHS:
                b = 64 if length < 1024 else 16
                q, k, v = (normal(b, h, length, d) for _ in range(3))
                cell = measured(program, {"q": q, "k": k, "v": v},
                                lambda: attention(q[:COMPARED], k[:COMPARED], v[:COMPARED], causal=causal),
                                SDPBackend.CUDNN_ATTENTION,
                                lambda: scaled_dot_product_attention(q, k, v, is_causal=causal),
                                d=d, length=length, causal=causal, b=b)
                scores = length * (length + 1) / 2 if causal else length ** 2
                yield {**cell, "tflops": 4 * b * h * d * scores / cell["ms"] / 1e9}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    torch.manual_seed(1)
    report = {"kind": "short", "machine": attention_machine.describe(torch, options.target),
              "date": str(datetime.date.today()), "commit": options.commit}
    for name, cells in (("evoformer", evoformer), ("windows", windows), ("plain", plain)):
        report[name] = []
        for cell in cells(options.target):
            report[name].append(cell)
            print(json.dumps(cell), flush=True)
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
