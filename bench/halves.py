#!/usr/bin/env python3
"""Times f32 attention, whose products are halves of f16, and landmark attention, where these stand beside
f16, and compares both with float64.

usage: halves.py [--commit C] [--target sm_90a] [--output FILE]

PyTorch's memory-efficient kernel runs beside f32 attention, plain PyTorch beside landmarks. Errors are
Frobenius norms relative to that of the result, of heads that fit. Needs an H100 and PyTorch.
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
from torch.nn.attention import SDPBackend, sdpa_kernel

# What the cells are to take, in ms.
ATTENTION = [(64, 4096, False, 0.18), (64, 16384, False, 2.7), (64, 65536, False, 39), (64, 16384, True, 1.4),
             (128, 16384, False, 4.9), (256, 4096, False, None)]
LANDMARKS = [("nystrom", 4, 16, 16384, 128, 64, 0.60), ("nystrom", 4, 16, 131072, 128, 64, 3.9),
             ("nystrom", 1, 4, 65536, 64, 32, 0.11), ("nystrom", 1, 4, 524288, 64, 32, 0.53),
             ("nystrom", 1, 4, 2097152, 64, 32, 1.95), ("nystrom", 4, 16, 16384, 128, 256, 1.3 * 0.60),
             ("nystrom_conv", 4, 16, 16384, 128, 64, 1.3 * 0.60), ("nystrom_conv", 4, 16, 131072, 128, 64, 1.3 * 3.9)]
COMPARED = 16384   # the longest sequence that is computed in float64, and by PyTorch
BLOCK = 2048       # rows of a float64 score matrix at a time


def spec(name):
    return json.loads((attention_cells.LIBRARY / f"{name}.json").read_text(encoding="utf-8"))


def milliseconds(call):
    first = queued_launches.milliseconds(torch, [call] * 3)[-1]
    count = max(5, min(60, int(200 / max(first, 1e-3))))
    return statistics.median(queued_launches.milliseconds(torch, [call] * count))


def exact(q, k, v, causal):
    """In float64, some rows of a head at a time."""
    o = torch.empty(q.shape, dtype=torch.float64, device="cuda")
    for head in range(q.shape[1]):
        for first in range(0, q.shape[2], BLOCK):
            rows = q[0, head, first:first + BLOCK].double()
            s = rows @ k[0, head].double().T / q.shape[3] ** 0.5
            if causal:
                at = torch.arange(first, first + len(rows), device="cuda")
                s.masked_fill_(torch.arange(k.shape[2], device="cuda") > at[:, None], -float("inf"))
            o[0, head, first:first + BLOCK] = torch.softmax(s, -1) @ v[0, head].double()
    return o


def efficient(q, k, v, causal):
    with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)


def error(o, reference):
    return ((o.double() - reference).norm() / reference.norm()).item()


def run(program, **tensors):
    """The result, and a call that computes it once more."""
    o = torch.full_like(tensors["q"], float("nan"))
    plan = program.bind(out={"o": o}, **tensors)
    plan()
    torch.cuda.synchronize()
    return o, plan


def attention(target):
    for d, n, causal, aim in ATTENTION:
        program = attnc.compile(spec("causal" if causal else "full"), target, set={"T": "f32", "d": d, "e": d})
        generator = torch.Generator(device="cuda").manual_seed(1)
        q, k, v = (torch.randn(1, 8, n, d, device="cuda", generator=generator) for _ in range(3))
        o, plan = run(program, q=q, k=k, v=v)
        cell = {"d": d, "n": n, "causal": causal, "aim_ms": aim, "ms": milliseconds(plan),
                "same_bits": bool((run(program, q=q, k=k, v=v)[0] == o).all())}
        if n <= COMPARED:
            reference = exact(q, k, v, causal)
            cell.update(error=error(o, reference), efficient_error=error(efficient(q, k, v, causal), reference),
                        efficient_ms=milliseconds(lambda: efficient(q, k, v, causal)))
        yield cell
        del q, k, v, o
        torch.cuda.empty_cache()


def kinds(d, n=4096):
    """Inputs on which f32 is hard to keep."""
    generator = torch.Generator(device="cuda").manual_seed(3)

    def normal():
        return [torch.randn(1, 8, n, d, device="cuda", generator=generator) for _ in range(3)]

    def decades(shape, count):
        return 10 ** (count * (torch.rand(shape, device="cuda", generator=generator) - 0.5))
    yield ("normal", *normal())
    q, k, v = normal()
    yield "queries times 8", 8 * q, k, v
    q, k, v = normal()
    k[:, :, 77] = 12 * d ** 0.5 * q[:, :, 5] / q[:, :, 5].square().sum(-1, keepdim=True)
    yield "a planted key", q, k, v
    q, k, v = normal()
    yield "keys and values times 1000", q, 1e3 * k, 1e3 * v
    q, k, v = normal()
    rows = decades((1, 8, n, 1), 6)
    yield "keys and values over 6 decades", q, 1e-3 * rows * k, rows * v
    q, k, v = normal()
    columns = decades((1, 8, 1, d), 9)
    yield "channels over 9 decades", q / columns, k * columns, v * columns


def inputs(target):
    for d in 64, 128:
        program = attnc.compile(spec("full"), target, set={"T": "f32", "d": d, "e": d})
        for name, q, k, v in kinds(d):
            reference = exact(q, k, v, False)
            yield {"d": d, "inputs": name, "error": error(run(program, q=q, k=k, v=v)[0], reference),
                   "efficient_error": error(efficient(q, k, v, False), reference)}


def plain(q, k, v, m, c=None):
    """Landmark attention in the types of its inputs, as Nystromformer computes it; `c` convolves the values."""
    b, h, n, d = q.shape
    q, k = q * d ** -0.25, k * d ** -0.25
    mean = [x.reshape(b, h, m, n // m, d).mean(3) for x in (q, k)]
    f = torch.softmax(q @ mean[1].transpose(-1, -2), -1)
    a = torch.softmax(mean[0] @ mean[1].transpose(-1, -2), -1)
    g = torch.softmax(mean[0] @ k.transpose(-1, -2), -1)
    eye = torch.eye(m, device=q.device, dtype=q.dtype)
    z = a.transpose(-1, -2) / (a.sum(-1).max() * a.sum(-2).max())
    for _ in range(6):
        az = a @ z
        z = 0.25 * z @ (13 * eye - az @ (15 * eye - az @ (7 * eye - az)))
    o = f @ (z @ (g @ v))
    if c is not None:
        columns = v.transpose(-1, -2).reshape(b, h * d, n)
        near = torch.nn.functional.conv1d(columns, c[:, None].repeat_interleave(d, 0), groups=h * d,
                                          padding=c.shape[1] // 2)
        o += near.reshape(b, h, d, n).transpose(-1, -2)
    return o


def landmarks(target):
    for name, b, h, n, d, m, aim in LANDMARKS:
        program = attnc.compile(spec(name), target, set={"T": "f16", "d": d, "e": d, "m": m})
        generator = torch.Generator(device="cuda").manual_seed(2)
        q, k, v = (torch.randn(b, h, n, d, device="cuda", generator=generator).half() for _ in range(3))
        more = {"c": torch.randn(h, 33, device="cuda", generator=generator).half()} if name == "nystrom_conv" else {}
        o, plan = run(program, q=q, k=k, v=v, **more)
        cell = {"spec": name, "b": b, "h": h, "n": n, "d": d, "m": m, "aim_ms": aim, "ms": milliseconds(plan)}
        if n <= 4 * COMPARED:
            head = [x[:1, :1].double() for x in (q, k, v)]
            reference = plain(*head, m, *(c[:1].double() for c in more.values()))
            theirs = plain(q, k, v, m, **more)[:1, :1]
            cell.update(error=error(o[:1, :1], reference), plain_error=error(theirs, reference),
                        plain_ms=milliseconds(lambda: plain(q, k, v, m, **more)))
        yield cell
        del q, k, v, o
        torch.cuda.empty_cache()


SECTIONS = {"attention": attention, "inputs": inputs, "landmarks": landmarks}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS),
                        help="what to measure; the report in docs/performance.md takes all")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    report = {"kind": "halves", "machine": attention_machine.describe(torch, options.target),
              "date": str(datetime.date.today()), "commit": options.commit}
    for name in options.only:
        report[name] = []
        for cell in SECTIONS[name](options.target):
            report[name].append(cell)
            print(json.dumps(cell), flush=True)
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
