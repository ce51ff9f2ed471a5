#!/usr/bin/env python3
"""Measures the forward and backward programs of specs on the GPU of this machine, PyTorch's attention
beside them in the same run: times by events, errors against float64, memory, and a training run.

TFLOP/s of a backward are counted at 2.5 times the products of the forward, those of FlashAttention-2's
paper, whatever is computed again.

usage: backward.py --commit COMMIT --output FILE.json     (PYTHONPATH has the package, ATTNC_LIBRARY the library)
"""
import argparse
import collections
import datetime
import json
import statistics

import torch

import attention_cells
import attention_machine
import attnc

Cell = collections.namedtuple("Cell", "mask dtype d b h n target peers")
CELLS = [Cell(mask, "bf16", d, 4, 2048 // d, 4096, target, ("cudnn", "flash"))
         for target, widths in (("sm_90a", (64, 96, 128, 192, 256)), ("sm_80", (64, 128)))
         for d in widths for mask in ("full", "causal")]
CELLS += [Cell(mask, "bf16", d, 1, h, 4096, "sm_90a", ("efficient",))
          for d, h in ((320, 32), (512, 32), (1024, 16)) for mask in ("full", "causal")]
CELLS += [Cell("full", "f32", 64, 1, 8, 16384, "sm_90a", ("efficient",))]
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
WARM, RUNS = 3, 10


def compiled(mask, dtype, d, target):
    """The program of a library spec with the gradients of q, k and v."""
    spec = attention_cells.LIBRARY / f"{mask}.json"
    text = json.loads(spec.read_text())
    text["grad"] = ["q", "k", "v"]
    return attnc.compile(text, target=target, set={"T": dtype, "d": d, "e": d})


def draw(c, n=None, seed=0):
    generator = torch.Generator(device="cuda").manual_seed(seed)
    return [torch.randn(c.b, c.h, n or c.n, c.d, device="cuda", generator=generator)
            .to(TYPES[c.dtype]) for _ in range(4)]


def milliseconds(call):
    for _ in range(WARM):
        call()
    times = []
    for _ in range(RUNS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


class Ours:
    """Both programs bound to tensors; results lie in `forward.outputs` and `gradients`."""

    def __init__(self, program, q, k, v, grad_o):
        self.saved = program.launch({"q": q, "k": k, "v": v})
        known = {"q": q, "k": k, "v": v, "grad_o": grad_o, **self.saved}
        back = program.backward
        self.gradients = back.launch({t.name: known[t.name] for t in back.inputs})
        self.forward = program.bind(q=q, k=k, v=v, out=self.saved)
        self.backward = back.bind(**{t.name: known[t.name] for t in back.inputs},
                                  out=self.gradients)

    def bytes(self):
        """What lies in memory beside q, k, v and grad_o."""
        results = [*self.saved.values(), *self.gradients.values()]
        return (sum(t.nbytes for t in results) +
                max(self.forward.workspace_bytes, self.backward.workspace_bytes))


def peer(name, c, q, k, v, grad_o):
    """Forward and backward calls of PyTorch, or the reason why it has none."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    backend = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION,
               "efficient": SDPBackend.EFFICIENT_ATTENTION}[name]
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]

    def forward():
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(
                *leaves, is_causal=c.mask == "causal")
    o = forward()
    return forward, lambda: torch.autograd.grad(o, leaves, grad_o, retain_graph=True)


def products(c):
    visible = c.n * (c.n + 1) // 2 if c.mask == "causal" else c.n * c.n
    return 4 * c.b * c.h * c.d * visible


def row(c, who, forward_ms, backward_ms):
    return {"who": who, **c._asdict(), "peers": None, "forward_ms": forward_ms,
            "backward_ms": backward_ms, "backward_tflops": 2.5 * products(c) / backward_ms / 1e9,
            "both_ms": forward_ms + backward_ms}


def timings():
    rows = []
    for c in CELLS:
        tensors = draw(c)
        ours = Ours(compiled(c.mask, c.dtype, c.d, c.target), *tensors)
        rows.append(row(c, "attnc", milliseconds(ours.forward), milliseconds(ours.backward)))
        print(rows[-1], flush=True)
        for name in c.peers if c.target != "sm_80" else ():
            forward, backward = peer(name, c, *tensors)
            rows.append(row(c, name, milliseconds(forward), milliseconds(backward)))
            print(rows[-1], flush=True)
    return rows


# Specs of the library whose backward is more than that of a softmax, at B4 H16 N4096 D64 in bf16.
VARIANTS = ("causal", "alibi", "softcap", "sliding_window", "sink", "dropout", "lse", "entropy",
            "column_sums", "gqa", "bias")
EXTENTS = {"b": 4, "h": 16, "hk": 4, "i": 4096, "j": 4096, "d": 64, "e": 64}


def fill(program):
    """Random tensors for the inputs of a program."""
    generator = torch.Generator(device="cuda").manual_seed(2)
    return {t.name: torch.randn([EXTENTS[d] for d in t.dims], device="cuda", generator=generator)
            .to(TYPES[t.dtype]) for t in program.inputs}


def variants():
    """Forward and backward with the gradients of all inputs and of `scale`."""
    rows = []
    for name in VARIANTS:
        text = json.loads((attention_cells.LIBRARY / f"{name}.json").read_text())
        text["grad"] = [*text["inputs"], "scale"]
        program = attnc.compile(text, target="sm_90a", set={"d": 64, "e": 64})
        known = fill(program)
        results = program.launch(known)
        back = program.backward
        known |= results
        known |= {n: t for n, t in fill(back).items() if n.startswith("grad_")}
        gradients = back.launch({t.name: known[t.name] for t in back.inputs})
        forward = program.bind(out=results, **{t.name: known[t.name] for t in program.inputs})
        backward = back.bind(out=gradients, **{t.name: known[t.name] for t in back.inputs})
        rows.append({"spec": name, **EXTENTS, "forward_ms": milliseconds(forward),
                     "backward_ms": milliseconds(backward)})
        print(rows[-1], flush=True)
        del known, results, gradients, forward, backward
        torch.cuda.empty_cache()
    return rows


def exact(c, q, k, v, grad_o):
    leaves = [x.double().requires_grad_() for x in (q, k, v)]
    s = leaves[0] @ leaves[1].transpose(-1, -2) / c.d ** 0.5
    if c.mask == "causal":
        s = s.masked_fill(torch.ones_like(s, dtype=torch.bool).triu(1), -torch.inf)
    return torch.autograd.grad(torch.softmax(s, -1) @ leaves[2], leaves, grad_o.double())


def errors():
    """|gradient - exact| / |exact| (Frobenius), at 2048 keys and queries."""
    rows = []
    for c in CELLS:
        c = c._replace(b=1, h=4, n=2048)
        tensors = draw(c, seed=1)
        truth = exact(c, *tensors)
        ours = Ours(compiled(c.mask, c.dtype, c.d, c.target), *tensors)
        results = {"attnc": [ours.gradients[f"grad_{x}"] for x in "qkv"]}
        for name in c.peers:
            results[name] = peer(name, c, *tensors)[1]()
        for who, gradients in results.items():
            off = {f"grad_{x}": ((g.double() - t).norm() / t.norm()).item()
                   for x, g, t in zip("qkv", gradients, truth)}
            rows.append({"who": who, **c._asdict(), "peers": None, **off})
            print(rows[-1], flush=True)
    return rows


def memory():
    """Bytes of results, of what is saved and of the workspace, one head of D 128 in bf16."""
    rows = []
    program = compiled("causal", "bf16", 128, "sm_90a")
    for n in (16384, 32768, 65536):
        c = Cell("causal", "bf16", 128, 1, 1, n, "sm_90a", ())
        tensors = draw(c)
        free = torch.cuda.mem_get_info()[0]
        ours = Ours(program, *tensors)
        ours.forward(), ours.backward()
        torch.cuda.synchronize()
        rows.append({"n": n, "inputs": sum(t.nbytes for t in tensors), "beside": ours.bytes(),
                     "free_fell_by": free - torch.cuda.mem_get_info()[0]})
        del ours
        torch.cuda.empty_cache()
        print(rows[-1], flush=True)
    return rows


class Attend(torch.autograd.Function):
    program = None

    @staticmethod
    def forward(ctx, q, k, v):
        results = Attend.program.launch({"q": q, "k": k, "v": v})
        ctx.save_for_backward(q, k, v, *results.values())
        ctx.names = ("q", "k", "v", *results)
        return results["o"]

    @staticmethod
    def backward(ctx, grad_o):
        known = dict(zip(ctx.names, ctx.saved_tensors), grad_o=grad_o.contiguous())
        back = Attend.program.backward
        gradients = back.launch({t.name: known[t.name] for t in back.inputs})
        return tuple(gradients[f"grad_{x}"] for x in "qkv")


class Block(torch.nn.Module):
    def __init__(self, width, heads, attend):
        super().__init__()
        self.heads, self.attend = heads, attend
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(),
                                       torch.nn.Linear(4 * width, width))

    def forward(self, x):
        b, n, width = x.shape
        parts = self.qkv(self.norms[0](x)).bfloat16().view(b, n, 3, self.heads, -1)
        q, k, v = (part.transpose(1, 2).contiguous() for part in parts.unbind(2))
        o = self.attend(q, k, v).transpose(1, 2).reshape(b, n, width).float()
        x = x + self.out(o)
        return x + self.mlp(self.norms[1](x))


def losses(attend, seed, steps=200):
    """Of a transformer of 4 layers that learns which token stood 7 places before."""
    torch.manual_seed(seed)
    vocabulary, width = 64, 256
    model = torch.nn.Sequential(torch.nn.Embedding(vocabulary, width),
                                *(Block(width, 4, attend) for _ in range(4)),
                                torch.nn.Linear(width, vocabulary)).cuda()
    positions = torch.randn(256, width, device="cuda") * 0.1
    step = torch.optim.AdamW(model.parameters(), lr=1e-3)
    curve = []
    for _ in range(steps):
        tokens = torch.randint(vocabulary, (16, 256), device="cuda")
        x = model[0](tokens) + positions
        for layer in model[1:]:
            x = layer(x)
        loss = torch.nn.functional.cross_entropy(x[:, 7:].flatten(0, 1), tokens[:, :-7].flatten())
        step.zero_grad()
        loss.backward()
        step.step()
        curve.append(loss.item())
    return curve


def training():
    """Losses of both from the same seed; PyTorch's with another seed says what noise is."""
    Attend.program = compiled("causal", "bf16", 64, "sm_90a")
    sdpa = lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    curves = {"attnc": losses(Attend.apply, 0), "pytorch": losses(sdpa, 0),
              "pytorch_other_seed": losses(sdpa, 1)}
    for who, curve in curves.items():
        print(who, [round(x, 4) for x in curve[::40] + curve[-1:]], flush=True)
    return curves


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()
    results = {"commit": arguments.commit,
               "date": datetime.datetime.now(datetime.timezone.utc).isoformat(),
               "machine": attention_machine.describe(torch, "sm_90a")}
    for part in (timings, variants, errors, memory, training):
        results[part.__name__] = part()
        with open(arguments.output, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
