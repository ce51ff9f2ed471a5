"""The cells of the benchmark of variants: what is computed, by which spec, at which size, beside whom.

A cell's mathematics is written twice, so that a mistake in one of them shows as an error: in its spec,
for attnc, and as `reference` here, in PyTorch. Everything is made when the cell is measured.
"""
import collections
import math
import pathlib

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
LIBRARY = REPOSITORY / "kernels_spec"
OWN = pathlib.Path(__file__).resolve().parent / "specs"
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION,
            "efficient": SDPBackend.EFFICIENT_ATTENTION}

# `inputs()`: tensors by name. `programs`: (spec, schedule) by the name of the candidate. `peers`: by name,
# peer(inputs) -> call() -> outputs by name. `reference(inputs, rows)`: outputs of some rows in float64.
# `flops`: of the products over what the masks leave, or None where the formula has another count.
Cell = collections.namedtuple(
    "Cell", "section name dtype shape set params inputs programs peers reference flops")

AUTO = {"attnc": None}


def spec(name):
    own = OWN / f"{name}.json"
    return own if own.exists() else LIBRARY / f"{name}.json"


def normal(*shape, dtype="bf16"):
    return torch.randn(*shape, device="cuda", dtype=torch.float32).to(DTYPES[dtype])


def weights(q, k, rows, mask=None, scale=None):
    """Of rows of all heads, in float64."""
    s = (q[:, :, rows].double() @ k.double().transpose(-1, -2)) * (scale or q.shape[-1] ** -0.5)
    if mask:
        i = rows[:, None]
        j = torch.arange(k.shape[2], device=k.device)[None, :]
        s = s.masked_fill(~mask(i, j), -math.inf)
    return torch.softmax(s, -1)


def sdpa(backend, causal=False):
    def peer(inputs):
        q, k, v = (inputs[name] for name in "qkv")

        def call():
            with sdpa_kernel(BACKENDS[backend]):
                return {"o": functional.scaled_dot_product_attention(q, k, v, is_causal=causal)}
        return call
    return peer


def flex(mask=None, score=None, finish=None):
    """`mask(i, j)` of index tensors; `score(inputs)` gives a score_mod; `finish(o, lse, inputs)`."""
    def peer(inputs):
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
        torch._dynamo.reset()  # else the kernels of earlier cells count against its limit
        compiled = torch.compile(flex_attention, dynamic=False)
        q, k, v = (inputs[name] for name in "qkv")
        block_mask = mask and create_block_mask(lambda b, h, i, j: mask(i, j), None, None,
                                                q.shape[-2], k.shape[-2], device="cuda")
        score_mod = score and score(inputs)

        def call():
            result = compiled(q, k, v, score_mod=score_mod, block_mask=block_mask,
                              return_lse=finish is not None)
            return {"o": finish(*result, inputs) if finish else result}
        return call
    return peer


def visible(n, mask):
    """Pairs of one head that a mask leaves, counted a stripe of rows at a time."""
    j = torch.arange(n, device="cuda")[None, :]
    return sum(int(mask(torch.arange(first, min(n, first + 1024), device="cuda")[:, None], j)
                   .expand(-1, n).sum())
               for first in range(0, n, 1024))


def attention(section, name, spec_name, *, b=1, h=16, i=None, n=4096, d=128, dtype="bf16", mask=None,
              set=None, params=None, extra=None, schedules=None, peers=None, output=None):
    """Softmax attention under a mask."""
    rows = i or n

    def inputs():
        made = {"q": normal(b, h, rows, d, dtype=dtype), "k": normal(b, h, n, d, dtype=dtype),
                "v": normal(b, h, n, d, dtype=dtype)}
        return {**made, **(extra() if extra else {})}

    def reference(given, some):
        p = weights(given["q"], given["k"], some, mask)
        return {"o": p @ given["v"].double(), **(output(p) if output else {})}

    def flops():
        return 4 * b * h * d * (visible(n, mask) if mask else rows * n)
    programs = {label: (spec(spec_name), schedule)
                for label, schedule in {**AUTO, **(schedules or {})}.items()}
    return Cell(section, name, dtype, {"b": b, "h": h, "i": rows, "j": n, "d": d},
                {"d": d, "e": d, "T": dtype, **(set or {})}, params or {}, inputs, programs,
                peers or {}, reference, flops)


# --- masks ---------------------------------------------------------------------------------------

DOCUMENT, WINDOW, GLOBALS, BLOCK = 1024, 512, 64, 256


def masks():
    def document_ids(n):
        return (torch.arange(n, device="cuda") // DOCUMENT).to(torch.int32)[None]
    n = 16384
    for name, spec_name, mask, more in (
            ("causal", "causal", lambda i, j: j <= i, {}),
            ("window of 1024", "sliding_window", lambda i, j: (j <= i) & (j > i - 1024),
             {"set": {"w": 1024}}),
            ("prefix of 1024", "prefix_lm", lambda i, j: (j <= i) | (j < 1024),
             {"params": {"prefix": 1024}}),
            ("16 documents", "documents",
             lambda i, j: (i // DOCUMENT == j // DOCUMENT) & (j <= i),
             {"extra": lambda: {"di": document_ids(n), "dj": document_ids(n)}}),
            ("window of 512 both ways, 64 global", "global_window",
             lambda i, j: ((i - j).abs() < WINDOW) | (j < GLOBALS) | (i < GLOBALS), {}),
            ("every fourth block of 256", "strided_blocks",
             lambda i, j: ((i // BLOCK - j // BLOCK) % 4 == 0) & (j <= i), {}),
            ("every third key", "third_keys", lambda i, j: (j % 3 == 0) & (i >= 0), {})):
        peers = {"flex": flex(mask)}
        if name == "causal":
            peers["cudnn"] = sdpa("cudnn", causal=True)
        yield attention("masks", name, spec_name, n=n, mask=mask, peers=peers, **more)


# --- wide heads ----------------------------------------------------------------------------------

def wide():
    for d, h in ((320, 48), (512, 32), (1024, 16)):
        for name, mask in (("ffpa", None), ("ffpa_causal", lambda i, j: j <= i)):
            yield attention("wide heads", f"{name} D{d}", name, b=2, h=h, d=d, mask=mask,
                            peers={"efficient": sdpa("efficient", causal=mask is not None),
                                   "flex": flex(mask)})


def ffpa(d, h=48, n=8192):
    """FFPA's variants beside its plain forward, at the size of its own figures."""
    own = {"d": d, "h": h, "n": n, "dtype": "f16"}

    def make(name, spec_name, **more):
        return attention("FFPA's variants", f"{name} D{d}", spec_name, **{**own, **more})

    def masked(given, rows):
        s = given["q"][:, :, rows].double() @ given["k"].double().transpose(-1, -2) * d ** -0.5
        return {"o": torch.softmax(s + given["mask"][:, :, rows].double(), -1) @ given["v"].double()}

    def grouped(heads):
        def inputs():
            return {"q": normal(1, h, n, d, dtype="f16"),
                    **{x: normal(1, heads, n, d, dtype="f16") for x in "kv"}}

        def reference(given, rows):
            k, v = (given[x].repeat_interleave(h // heads, 1) for x in "kv")
            return {"o": weights(given["q"], k, rows) @ v.double()}
        return make("8 query heads to a key head", "ffpa_gqa")._replace(
            inputs=inputs, reference=reference)
    yield make("plain", "ffpa")
    yield make("causal", "ffpa_causal", mask=lambda i, j: j <= i)
    yield make("a mask that is added", "ffpa_mask", extra=lambda: {
        "mask": normal(1, h, n, n, dtype="f16")})._replace(reference=masked)
    # All are kept, so that there is a reference; the numbers are drawn and compared all the same.
    yield make("dropout", "ffpa_dropout", params={"keep": 1.0})
    yield grouped(h // 8)
    yield make("2048 queries beside 8192 keys", "ffpa_cross", i=2048)
    yield make("1 query beside 8192 keys", "ffpa", i=1)


# --- few queries ---------------------------------------------------------------------------------

def decode():
    folds = {"one pass": {"fold": "one_pass"}, "4 parts": {"fold": "two_pass", "splits": 4},
             "16 parts": {"fold": "two_pass", "splits": 16}}
    for b, h, i, n in ((1, 32, 1, 32768), (1, 8, 1, 32768), (8, 32, 1, 8192), (1, 32, 16, 32768)):
        yield attention("few queries", f"{i} beside {n}, B{b} H{h}", "full", b=b, h=h, i=i, n=n,
                        schedules=folds, peers={"cudnn": sdpa("cudnn"), "flash": sdpa("flash")})


# --- other formulas --------------------------------------------------------------------------------

def with_sink(o, lse, inputs):
    return o * torch.sigmoid(lse - inputs["sink"][None, :, None])[..., None].to(o)


def sink():
    base = attention("formulas", "a sink, causal", "sink", b=4, mask=lambda i, j: j <= i,
                     extra=lambda: {"sink": torch.randn(16, device="cuda")},
                     peers={"flex, rescaled": flex(lambda i, j: j <= i, finish=with_sink)})

    def reference(given, rows):
        q, k, v = (given[name].double() for name in "qkv")
        s = q[:, :, rows] @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        j = torch.arange(k.shape[2], device="cuda")[None, :]
        s = s.masked_fill(j > rows[:, None], -math.inf)
        extra = given["sink"].double()[None, :, None, None].expand(*s.shape[:-1], 1)
        return {"o": torch.softmax(torch.cat([s, extra], -1), -1)[..., :-1] @ v}
    return base._replace(reference=reference)


def differential(b=4, h=16, n=4096):
    def inputs():
        return {**{name: normal(b, h, n, 64) for name in ("q1", "q2", "k1", "k2")},
                "v": normal(b, h, n, 128), "lambda": torch.rand(h, device="cuda")}

    def two(backend):
        def peer(given):
            first, second = (sdpa(backend)({"q": given[f"q{x}"], "k": given[f"k{x}"],
                                            "v": given["v"]}) for x in (1, 2))
            share = given["lambda"][None, :, None, None].to(given["v"])
            return lambda: {"o": first()["o"] - share * second()["o"]}
        return peer

    def reference(given, rows):
        p1, p2 = (weights(given[f"q{x}"], given[f"k{x}"], rows) for x in (1, 2))
        share = given["lambda"].double()[None, :, None, None]
        return {"o": (p1 - share * p2) @ given["v"].double()}
    return Cell("formulas", "differential", "bf16", {"b": b, "h": h, "i": n, "j": n, "d": 64, "e": 128},
                {"T": "bf16"}, {}, inputs, {"attnc": (spec("differential"), None)},
                {"two of flash": two("flash"), "two of cudnn": two("cudnn")}, reference,
                lambda: b * h * n * n * (4 * 64 + 2 * 128))


def entropy():
    return attention("formulas", "entropy of the weights", "entropy", b=4, schedules=None,
                     output=lambda p: {"ent": -torch.special.xlogy(p, p).sum(-1)},
                     peers={})


def normed():
    """Softmax of scores less their mean, over their deviation: two passes over the keys."""
    def logits(q, k):
        s = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        mean = s.mean(-1, keepdim=True)
        return (s - mean) / ((s - mean).square().mean(-1, keepdim=True) + 0.01).sqrt()

    def eager(given):
        q, k, v = (given[name] for name in "qkv")
        return lambda: {"o": torch.softmax(logits(q, k).float(), -1).to(v) @ v}

    def reference(given, rows):
        q, k, v = (given[name].double() for name in "qkv")
        return {"o": torch.softmax(logits(q[:, :, rows], k), -1) @ v}
    base = attention("formulas", "scores over their deviation", "normed_scores", peers={"eager": eager})
    # The first product twice: the mean is known only when its pass has ended.
    return base._replace(reference=reference, flops=None)


def linear():
    def features(x):
        return torch.where(x > 0, x + 1, torch.exp(x))

    def ordered(q, k, v):
        fq, fk = features(q), features(k)
        return (fq @ (fk.transpose(-1, -2) @ v)) / (fq @ fk.sum(-2)[..., None])

    def eager(given):
        q, k, v = (given[name] for name in "qkv")
        return lambda: {"o": ordered(q, k, v)}
    base = attention("formulas", "linear", "linear", b=4, n=16384, peers={"eager": eager})

    def reference(given, rows):
        q, k, v = (given[name].double() for name in "qkv")
        return {"o": ordered(q[:, :, rows], k, v)}
    return base._replace(reference=reference, flops=None)


def evoformer(b=1, n=128, h=8, i=384, d=32):
    def inputs():
        return {**{name: normal(b, n, h, i, d) for name in ("q", "k", "v", "gate")},
                "mask": normal(b, n, i), "pair": normal(b, h, i, i)}

    def efficient(given):
        q, k, v, gate = (given[name].flatten(0, 1) for name in ("q", "k", "v", "gate"))
        bias = (given["mask"][:, :, None, None] + given["pair"][:, None]).flatten(0, 1)

        def call():
            with sdpa_kernel(BACKENDS["efficient"]):
                o = functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
            return {"o": (torch.sigmoid(gate) * o).view(b, n, h, i, d)}
        return call

    def reference(given, rows):
        q, k, v, gate, mask, pair = (given[name].double()
                                     for name in ("q", "k", "v", "gate", "mask", "pair"))
        s = q[..., rows, :] @ k.transpose(-1, -2) * d ** -0.5
        s = s + mask[:, :, None, None] + pair[:, None, :, rows]
        return {"o": torch.sigmoid(gate[..., rows, :]) * (torch.softmax(s, -1) @ v)}
    return Cell("formulas", "evoformer, bias of pairs and gate", "bf16",
                {"b": b, "n": n, "h": h, "i": i, "j": i, "d": d}, {"T": "bf16"}, {}, inputs,
                {"attnc": (spec("evoformer"), None)}, {"efficient, bias in memory": efficient},
                reference, lambda: 4 * b * n * h * i * i * d)


def points(b=1, n=512, h=12):
    """Invariant point attention; the widths are those of the paper."""
    d, c, p, r = 16, 128, 4, 8

    def inputs():
        shapes = {"q": (b, n, h, d), "k": (b, n, h, d), "v": (b, n, h, d), "qp": (b, n, h, p, 3),
                  "kp": (b, n, h, p, 3), "vp": (b, n, h, r, 3), "bias": (b, n, n, h),
                  "z": (b, n, n, c), "gamma": (h,)}
        return {name: normal(*shape, dtype="f32") for name, shape in shapes.items()}

    def formula(x, rows):
        near = ((x["qp"][:, rows, None] - x["kp"][:, None]) ** 2).sum((-1, -2))
        near = near * x["gamma"] * math.sqrt(2 / (9 * p)) / 2
        s = math.sqrt(1 / 3) * (torch.einsum("bihd,bjhd->bijh", x["q"][:, rows], x["k"]) * d ** -0.5
                                + x["bias"][:, rows] - near)
        a = torch.softmax(s, 2)
        return {"o": torch.einsum("bijh,bjhe->bihe", a, x["v"]),
                "op": torch.einsum("bijh,bjhrx->bihrx", a, x["vp"]),
                "oz": torch.einsum("bijh,bijc->bihc", a, x["z"][:, rows])}

    def eager(given):
        everything = torch.arange(n, device="cuda")
        return lambda: formula(given, everything)

    def reference(given, rows):
        return formula({name: tensor.double() for name, tensor in given.items()}, rows)
    return Cell("formulas", "invariant points", "f32", {"b": b, "h": h, "i": n, "j": n}, {}, {}, inputs,
                {"attnc": (spec("ipa"), None)}, {"eager": eager}, reference, None)


def nystrom(m, n=16384, b=4, h=16, d=128):
    def segments(x):
        length = n // m
        parts = [x[:, :, s * length:(s + 1) * length if s < m - 1 else n].mean(-2) for s in range(m)]
        return torch.stack(parts, -2)

    def formula(q, k, v, rows):
        q, k = q * d ** -0.25, k * d ** -0.25
        ql, kl = segments(q), segments(k)
        f = torch.softmax(q[:, :, rows] @ kl.transpose(-1, -2), -1)
        a = torch.softmax(ql @ kl.transpose(-1, -2), -1)
        g = torch.softmax(ql @ k.transpose(-1, -2), -1)
        z = a.transpose(-1, -2) / (a.sum(-2).amax(-1) * a.sum(-1).amax(-1))[..., None, None]
        one = torch.eye(m, device=q.device, dtype=q.dtype)
        for _ in range(6):
            az = a @ z
            z = z @ (13 * one - az @ (15 * one - az @ (7 * one - az))) / 4
        return {"o": f @ (z @ (g @ v))}

    def reference(given, rows):
        return formula(*(given[name].double() for name in "qkv"), rows)

    def eager(given):
        q, k, v = (given[name] for name in "qkv")
        everything = slice(None)
        return lambda: formula(q, k, v, everything)
    base = attention("formulas", f"{m} landmarks, f32", "nystrom", b=b, h=h, n=n, d=d, dtype="f32",
                     set={"m": m}, peers={"eager": eager})
    return base._replace(reference=reference, flops=None)


def single():
    for causal in (False, True):
        yield attention("float32", "elsa" + "_causal" * causal, "elsa" + "_causal" * causal, h=8, d=64,
                        n=4096, dtype="f32", mask=(lambda i, j: j <= i) if causal else None,
                        schedules={"one pass": {"fold": "one_pass"}},
                        peers={"efficient": sdpa("efficient", causal=causal)})


def cells():
    yield from masks()
    yield from decode()
    yield from wide()
    for d in (512, 1024):
        yield from ffpa(d)
    yield from single()
    yield sink()
    yield differential()
    yield entropy()
    yield normed()
    yield linear()
    yield evoformer()
    yield points()
    for landmarks in (32, 64):
        yield nystrom(landmarks)
