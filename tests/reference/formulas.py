"""The variants of kernels_spec/ as their papers define them, in float64 and one query at a time.

They are written from the papers, not from the specs: a query attends to a list of keys, where a spec
masks logits; so a mistake in a spec, in the language or in the evaluator is not made here again.
Whatever a paper leaves open (the output of a query that sees no key) is 0, as FlashAttention-2
defines it.

Each formula takes the inputs by their names in the spec (real ones as float64) and the params, and
returns the outputs by name, in the order of axes of the spec.
"""
import dataclasses
import math
import typing

import numpy as np


@dataclasses.dataclass(frozen=True)
class Formula:
    function: typing.Callable
    sizes: list  # of the dims: the shapes at which it is compared
    params: list  # dicts of params that are passed, beside the defaults
    static: dict  # static extents that are not STATIC's
    runs: list  # (target, type) at which it is compared
    inputs: dict  # what inputs hold that are not normal: name -> (sizes, generator) -> array
    pairs: list  # (name of the queries, name of the keys), of each softmax
    values: str
    # Bounds, of (inputs, params): what is added to the scaled products, the sum of the weights of
    # the values, and the scale.
    added: typing.Callable
    gain: typing.Callable
    scale: typing.Callable
    # Of (name of an output, its value, inputs, params, unit roundoff): what it may be off by beside
    # the rounding to its type.
    tolerance: typing.Callable


FORMULAS = {}


def scale_of(x, p):
    """1 / sqrt(d): "we scale the dot products" (Vaswani et al. 2017, section 3.2.1). A param of a
    spec holds an f32, its default too."""
    return p.get("scale", float(np.float32(1 / math.sqrt(x["q"].shape[-1]))))


def exponential_error(d, m, unit):
    """The relative error of exp(s - max(s)), s being a sum of d products of magnitude m, scaled."""
    error = 2 * (d + 4) * unit * m + 2 * unit * m + 4 * unit
    assert error < 0.01, "the bound is of first order"
    return error


def logit_bound(f, x, p):
    """What the magnitude of a logit, and of what is summed up to it, cannot exceed."""
    products = [norm(x[q]) * norm(x[k]) for q, k in f.pairs]
    return f.scale(x, p) * max(products) + f.added(x, p)


def norm(array):
    return np.max(np.linalg.norm(array, axis=-1))


def softmax_tolerance(f, name, expected, x, p, unit):
    """Of an output that is weighted values, or the logarithm of a sum of exponentials (the module
    check_reference derives both)."""
    query, keys = x[f.pairs[0][0]], x[f.pairs[0][1]]
    d, n, m = query.shape[-1], keys.size // keys.shape[-1], logit_bound(f, x, p)
    r = exponential_error(d, m, unit)
    if name == "lse":
        return r + (n + 1) * unit + 4 * unit * m
    return (2 * r + (2 * n + 2) * unit) * f.gain(x, p) * np.max(np.abs(x[f.values]))


RUNS = [("reference", "bf16"), ("cpu", "bf16"), ("cpu", "f32")]
# Where only the formula is new, or only one type makes sense.
SHORT_RUNS, F32_RUNS = RUNS[:2], [("reference", "f32"), ("cpu", "f32")]


def formula(sizes, params=(), static=None, runs=None, inputs=None, pairs=(("q", "k"),), values="v",
            added=lambda x, p: 0.0, gain=lambda x, p: 1.0, scale=scale_of,
            tolerance=softmax_tolerance):
    def register(function):
        FORMULAS[function.__name__] = Formula(
            function, sizes, [{}, *params], static or {}, runs or RUNS, inputs or {}, list(pairs),
            values, added, gain, scale, tolerance)
        return function
    return register


LENGTHS = [dict(b=2, h=3, i=19, j=33), dict(b=1, h=2, i=1, j=21), dict(b=1, h=2, i=7, j=1)]


def weights(logits):
    """The softmax of some logits; nothing for none."""
    if len(logits) == 0:
        return logits
    exponentials = np.exp(logits - np.max(logits))
    return exponentials / np.sum(exponentials)


def queries(x):
    """All (batch, head, query), with the number of keys."""
    b, h, i, _ = x["q"].shape
    return ((n, m, r) for n in range(b) for m in range(h) for r in range(i))


def attention(x, p, keys, change=lambda s, place, i, js: s, drop=lambda w, place, i, js: w):
    """softmax(q k^T / sqrt(d)) v, each query i over keys(i, number of keys). `change` is what a
    variant does to the logits of a query at (batch, head) and of the keys js, `drop` what it does
    to the weights."""
    result = np.zeros((*x["q"].shape[:3], x["v"].shape[-1]))
    for b, h, i in queries(x):
        js = list(keys(i, x["k"].shape[2]))
        logits = scale_of(x, p) * (x["k"][b, h, js] @ x["q"][b, h, i])
        probabilities = weights(change(logits, (b, h), i, js))
        result[b, h, i] = drop(probabilities, (b, h), i, js) @ x["v"][b, h, js]
    return result


def every_key(i, count):
    return range(count)


def keys_until(i, count):
    return range(min(i + 1, count))


@formula(LENGTHS, [dict(scale=0.3)])
def full(x, p):
    """Vaswani et al. 2017, equation 1: softmax(Q K^T / sqrt(d_k)) V."""
    return {"o": attention(x, p, every_key)}


@formula(LENGTHS)
def cross(x, p):
    """Vaswani et al. 2017, section 3.2.3: "every position in the decoder attends over all positions
    in the input sequence"."""
    return {"o": attention(x, p, every_key)}


@formula(LENGTHS)
def causal(x, p):
    """Vaswani et al. 2017, section 3.2.3: "all positions in the decoder up to and including that
    position"."""
    return {"o": attention(x, p, keys_until)}


@formula(LENGTHS + [dict(b=1, h=1, i=30, j=12)])
def causal_bottom_right(x, p):
    """FlashAttention-2, release 2.1: the mask is aligned to the bottom right corner, and "if a row of
    the mask is all zero, the output will be zero"."""
    queries_ = x["q"].shape[2]
    return {"o": attention(x, p, lambda i, n: range(max(0, n - (queries_ - 1 - i))))}


@formula([dict(b=1, h=2, i=150, j=90), dict(b=1, h=1, i=1, j=21), dict(b=1, h=2, i=70, j=1)])
def sliding_window(x, p):
    """Mistral 7B, section 2: a token attends to itself and to the W - 1 before it (figure 1); W is
    64."""
    return {"o": attention(x, p, lambda i, n: range(max(0, i - 63), min(i + 1, n)))}


@formula(LENGTHS + [dict(b=1, h=1, i=20, j=50)], [dict(prefix=0), dict(prefix=5),
                                                 dict(prefix=1000)])
def prefix_lm(x, p):
    """T5, section 3.2.1: causal, but "fully-visible masking during the prefix portion"."""
    prefix = p.get("prefix", 32)
    return {"o": attention(x, p, lambda i, n: range(min(n, max(i + 1, prefix))))}


def largest_alibi(x, p):
    return np.max(np.abs(x["slope"])) * max(x["q"].shape[2], x["k"].shape[2])


@formula(LENGTHS, added=largest_alibi)
def alibi(x, p):
    """ALiBi, section 3: softmax(q_i K^T + m [-(i-1), ..., -2, -1, 0])."""
    def biased(logits, place, i, js):
        return logits + x["slope"][place[1]] * np.array([-(i - j) for j in js], dtype=float)
    return {"o": attention(x, p, keys_until, biased)}


@formula(LENGTHS, [dict(cap=2.0)], added=lambda x, p: 8 * p.get("cap", 50))
def softcap(x, p):
    """Gemma 2, section 2: logits <- soft_cap * tanh(logits / soft_cap). tanh may lose 8 units of
    a result up to cap."""
    cap = p.get("cap", 50)
    return {"o": attention(x, p, every_key, lambda s, place, i, js: cap * np.tanh(s / cap))}


@formula(LENGTHS, added=lambda x, p: np.max(np.abs(x["bias"])))
def bias(x, p):
    """T5, section 2.1: a scalar "added to the corresponding logit"; AlphaFold 2, algorithm 7: a =
    softmax(q^T k / sqrt(c) + b)."""
    def biased(logits, place, i, js):
        return logits + x["bias"][place][i, js]
    return {"o": attention(x, p, every_key, biased)}


@formula([dict(b=2, h=6, hk=2, i=19, j=33), dict(b=1, h=4, hk=4, i=1, j=21),
          dict(b=1, h=4, hk=1, i=7, j=1)])
def gqa(x, p):
    """GQA, section 2.2: query heads are divided into G groups, each of which shares a key head and a
    value head; neighbouring heads form a group (figure 2)."""
    group = x["q"].shape[1] // x["k"].shape[1]
    shared = {name: np.stack([x[name][:, head // group] for head in range(x["q"].shape[1])], axis=1)
              for name in ("k", "v")}
    return {"o": attention({**x, **shared}, p, every_key)}


@formula(LENGTHS)
def lse(x, p):
    """FlashAttention-2, section 3.1.1: L = m + log(l), m the row's maximum and l the sum of
    exp(S - m)."""
    logsum = np.zeros(x["q"].shape[:3])
    for b, h, i in queries(x):
        s = scale_of(x, p) * (x["k"][b, h] @ x["q"][b, h, i])
        logsum[b, h, i] = np.max(s) + math.log(np.sum(np.exp(s - np.max(s))))
    return {"o": attention(x, p, every_key), "lse": logsum}


def t5_bucket(distance):
    """T5, section 2.1: "32 embeddings ... with ranges that increase in size logarithmically up to an
    offset of 128 beyond which we assign all relative positions to the same embedding"; as in its
    code, the first half is exact."""
    if distance < 16:
        return distance
    return min(31, 16 + int(math.log(distance / 16) / math.log(128 / 16) * 16))


def t5_buckets(sizes, generator):
    return np.array([t5_bucket(distance) for distance in range(sizes["i"])], np.int32)


@formula([dict(b=2, h=3, i=19, j=33), dict(b=1, h=2, i=1, j=21), dict(b=1, h=1, i=150, j=140),
          dict(b=1, h=2, i=7, j=1)], inputs={"bucket": t5_buckets}, scale=lambda x, p: 1.0,
         added=lambda x, p: np.max(np.abs(x["w"])))
def relative_bias(x, p):
    """T5, section 2.1: each bucket of distances has a scalar for each head, added to the logit; the
    logits are not scaled (Mesh TensorFlow folds 1 / sqrt(d) into the weights)."""
    def biased(logits, place, i, js):
        return logits + np.array([x["w"][t5_bucket(i - j), place[1]] for j in js])
    return {"o": attention(x, {"scale": 1.0}, keys_until, biased)}


def philox(counter, key):
    """Philox 4x32-10 (Salmon et al. 2011, section 3.3 and table 2): counter and key are lists of
    words of 32 bits."""
    c, k = list(counter), list(key)
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * c[0], 1 << 32)
        high1, low1 = divmod(0xCD9E8D57 * c[2], 1 << 32)
        c = [high1 ^ c[1] ^ k[0], low1, high0 ^ c[3] ^ k[1], low0]
        k = [(k[0] + 0x9E3779B9) % (1 << 32), (k[1] + 0xBB67AE85) % (1 << 32)]
    return c


# The published vectors (Random123 1.09, kat_vectors) of the all-zero and the all-one block.
assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
assert philox([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


@formula(LENGTHS, [dict(seed=7), dict(seed=-2, keep=0.5), dict(keep=1.0)],
         gain=lambda x, p: 1 / p.get("keep", 0.9))
def dropout(x, p):
    """Srivastava et al. 2014, section 4 and 10: a unit is kept with probability p and then scaled by
    1 / p; here the units are the weights of attention (Vaswani et al. 2017, section 5.4). Whether a
    weight is kept is what the language says of rand: word j % 2 + 2 * (j // 8 % 2) of Philox 4x32-10 at
    the counter (b, h, i, j // 16 * 4 + j % 8 // 2), its upper 24 bits as a fraction."""
    keep, seed = p.get("keep", float(np.float32(0.9))), p.get("seed", 0) % (1 << 64)

    def drop(probabilities, place, i, js):
        words = [philox([*place, i, j // 16 * 4 + j % 8 // 2], [seed % (1 << 32), seed >> 32])[j % 2 + 2 * (j // 8 % 2)]
                 for j in js]
        kept = np.array([word // 256 / 2**24 < keep for word in words])
        return np.where(kept, probabilities / keep, 0)
    return {"o": attention(x, p, every_key, drop=drop)}


def some_lengths(sizes, generator):
    """From nothing to everything."""
    lengths = generator.integers(0, sizes["j"] + 1, sizes["b"])
    lengths[:2] = [0, sizes["j"]][: sizes["b"]]
    return lengths.astype(np.int32)


@formula([dict(b=4, h=2, i=9, j=33), dict(b=3, h=1, i=1, j=21), dict(b=2, h=2, i=7, j=1)],
         inputs={"len": some_lengths})
def varlen(x, p):
    """Vaswani et al. 2017 on each sequence without its padding."""
    result = np.zeros((*x["q"].shape[:3], x["v"].shape[-1]))
    for b, length in enumerate(x["len"]):
        one = {"q": x["q"][[b]], "k": x["k"][[b], :, :length], "v": x["v"][[b], :, :length]}
        result[b] = attention(one, p, every_key)[0]
    return {"o": result}


def some_offsets(sizes, generator):
    """Sequences that fill all rows, the first of them empty."""
    inner = np.sort(generator.integers(0, sizes["i_rows"] + 1, sizes["n"] - 3))
    return np.array([0, 0, *inner, sizes["i_rows"]], np.int32)


@formula([dict(n=6, h=3, i_rows=33, j_rows=33), dict(n=3, h=2, i_rows=1, j_rows=1),
          dict(n=9, h=1, i_rows=150, j_rows=150)], inputs={"cu": some_offsets})
def ragged(x, p):
    """The packed layout of FlashAttention's varlen functions: rows cu[b] to cu[b + 1] are sequence b,
    and each attends causally to itself."""
    result = np.zeros((*x["q"].shape[:2], x["v"].shape[-1]))
    for start, end in zip(x["cu"][:-1], x["cu"][1:]):
        one = {name: np.swapaxes(x[name][start:end], 0, 1)[None] for name in ("q", "k", "v")}
        result[start:end] = np.swapaxes(attention(one, p, keys_until)[0], 0, 1)
    return {"o": result}


def some_blocks(sizes, generator):
    """Blocks in any order, of which no two sequences share one, and fewer for some sequences."""
    table = generator.permutation(sizes["n"])[: sizes["b"] * sizes["w"]]
    table = table.reshape(sizes["b"], sizes["w"])
    used = generator.integers(1, sizes["w"] + 1, sizes["b"])
    return np.where(np.arange(sizes["w"]) < used[:, None], table, -1).astype(np.int32)


@formula([dict(b=3, h=6, hk=2, i=5, n=20, w=4), dict(b=2, h=2, hk=1, i=1, n=7, w=3),
          dict(b=1, h=2, hk=2, i=3, n=1, w=1)],
         inputs={"table": some_blocks}, pairs=[("q", "kp")], values="vp")
def paged(x, p):
    """PagedAttention, section 4.1, equation 4: the keys and values of a sequence lie in blocks that
    need not be neighbours; its block table says where each is, and lists no block that is not
    filled. Heads as in GQA."""
    b, h, i, _ = x["q"].shape
    group = h // x["kp"].shape[2]
    result = np.zeros((b, h, i, x["vp"].shape[-1]))
    for n in range(b):
        blocks = [block for block in x["table"][n] if block >= 0]
        keys, values = (np.concatenate([x[name][block] for block in blocks])
                        for name in ("kp", "vp"))
        for m in range(h):
            one = {"q": x["q"][[n]][:, [m]], "k": keys[None, None, :, m // group],
                   "v": values[None, None, :, m // group]}
            result[n, m] = attention(one, p, every_key)[0, 0]
    return {"o": result}
