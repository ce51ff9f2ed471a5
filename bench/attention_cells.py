"""The cells of the attention benchmark: what is computed, by which spec, at which size.

A cell's mathematics is written three times, so that a mistake in one of them shows as an error:
in its spec, for attnc; as `score` and `mask` here, for FlexAttention and for the reference; and,
for masks, as a count of visible pairs, for the throughput.
"""
import collections
import pathlib

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
LIBRARY = REPOSITORY / "kernels_spec"
OWN = pathlib.Path(__file__).resolve().parent / "specs"

# `against` and `share`: the aim as a share of another cell's throughput; `aim`: in TFLOP/s, by
# target. `n` keys, and as many queries unless `queries` says otherwise.
Cell = collections.namedtuple(
    "Cell", "name spec kind mask dtype b h hk n queries d set params peers aim against share")

TARGET = "sm_90a"
SDPA = ("cudnn", "flash", "flex")
CAP, WINDOW, PREFIX = 30.0, 1024, 256


def cell(name, spec, d, *, n=4096, b=None, h=None, hk=None, kind="plain", mask="full",
         dtype="bf16", set=None, params=None, peers=SDPA, aim=None, against=None, share=None,
         queries=None):
    h = h or {64: 32, 128: 16, 256: 8}[d]
    b = b or 16384 // n
    aim = {TARGET: aim} if not isinstance(aim, dict) else aim
    folder = OWN if (OWN / f"{spec}.json").exists() else LIBRARY
    return Cell(name, folder / f"{spec}.json", kind, mask, dtype, b, h, hk or h, n,
                queries or n, d, {"d": d, "e": d, "T": dtype, **(set or {})}, params or {}, peers,
                aim, against, share)


def variants(d):
    """At B4 H16 N4096, beside the plain and the causal kernel of the same size."""
    plain, causal = f"d{d}-h16", f"d{d}-h16-causal"
    own = {"h": 16, "b": 4}
    if d == 128:
        plain, causal = "d128-n4096", "d128-n4096-causal"
    else:
        yield cell(plain, "full", d, **own)
        yield cell(causal, "causal", d, mask="causal", **own)
    flex = ("flex",)
    yield cell(f"d{d}-alibi", "alibi_full", d, kind="alibi", peers=flex, against=plain, share=0.95,
               **own)
    yield cell(f"d{d}-alibi-causal", "alibi", d, kind="alibi", mask="causal", peers=flex,
               against=causal, share=0.95, **own)
    yield cell(f"d{d}-softcap", "softcap", d, kind="softcap", params={"cap": CAP}, peers=flex,
               against=plain, share=0.75, **own)
    yield cell(f"d{d}-window", "sliding_window", d, mask="window", set={"w": WINDOW}, peers=flex,
               against=causal, share=0.85, **own)
    yield cell(f"d{d}-prefix", "prefix_lm", d, mask="prefix", params={"prefix": PREFIX}, peers=flex,
               against=causal, share=0.95, **own)
    yield cell(f"d{d}-bias", "bias", d, kind="bias", peers=("cudnn", "flex"), against=plain,
               share=0.8, **own)


def wide(d, mask="full", aim=None):
    """Heads that no peer but PyTorch's memory-efficient kernel takes, at FFPA's size."""
    spec = {"full": "ffpa", "causal": "ffpa_causal"}[mask]
    name = f"wide-d{d}" + ("" if mask == "full" else "-" + mask)
    return cell(name, spec, d, n=8192, b=1, h=48, dtype="f16", mask=mask, peers=("efficient",),
                aim=aim)


def decode(b, n, queries=1, aim=None):
    """A few queries of 32 heads on 8 key heads; the aim in GB/s of keys and values."""
    h, hk = 32, 8
    name = f"decode-b{b}-n{n}" + (f"-q{queries}" if queries > 1 else "")
    return cell(name, "gqa", 128, b=b, h=h, hk=hk, n=n, queries=queries, peers=("cudnn", "flash"),
                aim=aim and aim * queries * h / hk / 1000)


def paged(d, page, n=8192, queries=1, h=32, hk=8, b=16, aim=None, **more):
    """Keys in pages of so many, in any order."""
    name = f"paged{page}-d{d}-b{b}-n{n}" + ("" if queries == 1 else f"-q{queries}")
    return cell(name, "paged", d, kind="paged", set={"t": page}, b=b, h=h, hk=hk, n=n,
                queries=queries, peers=(), aim=aim, **more)


def paged_decode(page):
    """The aim is 0.11 ms."""
    return paged(64, page, aim=4 * 16 * 32 * 64 * 8192 / 0.11e9)


CELLS = [
    cell("d64-n4096", "full", 64, aim=560),
    cell("d64-n4096-causal", "causal", 64, mask="causal"),
    cell("d64-n16384-causal", "causal", 64, n=16384, mask="causal"),
    cell("d128-n1024", "full", 128, n=1024, aim=615),
    cell("d128-n1024-causal", "causal", 128, n=1024, mask="causal"),
    cell("d128-n4096", "full", 128, aim=740),
    cell("d128-n4096-f16", "full", 128, dtype="f16"),
    cell("d128-n4096-causal", "causal", 128, mask="causal", aim=660),
    cell("d128-n16384", "full", 128, n=16384, aim=740),
    cell("d128-n16384-causal", "causal", 128, n=16384, mask="causal", aim=710),
    cell("d256-n4096", "full", 256, aim={TARGET: 760, "sm_80": 325}),
    cell("d256-n4096-causal", "causal", 256, mask="causal"),
    cell("d256-n16384-causal", "causal", 256, n=16384, mask="causal", aim=745),
    cell("d128-gqa", "gqa", 128, h=32, hk=8, against="d128-n4096", share=1),
    cell("d128-gqa-causal", "gqa_causal", 128, h=32, hk=8, mask="causal",
         against="d128-n4096-causal", share=1),
    cell("d128-lse", "lse", 128, kind="lse"),
    decode(1, 8192, aim=1600),
    decode(16, 8192, aim=2950),
    decode(1, 131072, aim=2900),
    decode(16, 131072, aim=3100),
    *(decode(b, 8192, queries) for b in (1, 16) for queries in (4, 16)),
    *(paged_decode(page) for page in (16, 64, 256)),
    paged(128, 64),
    *(paged(128, page, n=4096, queries=4096, h=16, hk=16, b=4, against="d128-n4096", share=0.9)
      for page in (16, 256)),
    *variants(128),
    *variants(64),
    wide(320, aim={TARGET: 710, "sm_80": 280}),
    wide(320, "causal", aim=660),
    wide(384, aim=600),
    wide(448),
    wide(512, aim={TARGET: 615, "sm_80": 215}),
    wide(512, "causal", aim=575),
    wide(576),
    wide(640, aim={TARGET: 600, "sm_80": 200}),
    wide(640, "causal", aim=540),
    wide(768, aim=420),
    wide(1024, aim={TARGET: 455, "sm_80": 180}),
    wide(1024, "causal", aim=425),
]


def visible_pairs(mask, n, queries=None):
    """The (query, key) pairs of one head that the mask leaves."""
    rows = {
        "full": lambda i: n,
        "causal": lambda i: i + 1,
        "window": lambda i: min(i + 1, WINDOW),
        "prefix": lambda i: max(i + 1, min(PREFIX, n)),
    }[mask]
    return sum(map(rows, range(n if queries is None else queries)))


def flops(c):
    """Two products, two operations for each element of a product, over the visible pairs."""
    return 4 * c.b * c.h * c.d * visible_pairs(c.mask, c.n, c.queries)


def stream_bytes(c):
    """Of the keys and the values, in 16 bits: what few queries wait for."""
    return 4 * c.b * c.hk * c.n * c.d


def mask_function(c):
    """mask(b, h, i, j) in tensors of indices, or None: FlexAttention's mask_mod."""
    return {
        "full": None,
        "causal": lambda b, h, i, j: i >= j,
        "window": lambda b, h, i, j: (i >= j) & (i - j < WINDOW),
        "prefix": lambda b, h, i, j: (i >= j) | (j < PREFIX),
    }[c.mask]


def score_function(c, extra):
    """score(s, b, h, i, j) of the scaled product s, or None: FlexAttention's score_mod."""
    if c.kind == "alibi":
        slope = extra["slope"]
        return lambda s, b, h, i, j: s + slope[h] * (j - i)
    if c.kind == "softcap":
        import torch
        return lambda s, b, h, i, j: CAP * torch.tanh(s / CAP)
    if c.kind == "bias":
        bias = extra["bias"]
        return lambda s, b, h, i, j: s + bias[b, h, i, j]
    return None
